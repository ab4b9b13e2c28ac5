"""The boards of a rig on pages: looked at all the time, acted upon only where that is allowed."""
