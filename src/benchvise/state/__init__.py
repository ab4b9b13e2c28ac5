"""The state of a board: what it is set to, what may be set, and how it is put back."""
