"""Captures in the browser: what is open, what was decoded of it, and their timeline."""
