"""Boards that are held: a process a board, its client, and the boards that come of it."""
