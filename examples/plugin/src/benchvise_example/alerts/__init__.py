"""When the lab wants to be told."""
