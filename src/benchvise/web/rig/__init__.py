"""The boards of a rig on pages: their state (``watching``), their recorded consoles (``console``),
and actions where they are allowed (``control``)."""
