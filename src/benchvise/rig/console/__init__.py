"""Consoles: recorded, tried out, and as the only way to a board that has no network."""
