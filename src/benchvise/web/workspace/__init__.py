"""What the trace workspace asks for: one module a concern, below ``/api/traces/KEY/``."""
