"""Benchvise: hold a board still, measure it, and find out why."""

__version__ = "0.2.0"
