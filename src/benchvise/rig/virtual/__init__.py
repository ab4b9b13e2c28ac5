"""The virtual bench: simulated boards behind the endpoints that a real bench has."""
