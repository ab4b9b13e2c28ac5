"""The boards of a rig on pages: their live state, and actions where they are allowed."""
