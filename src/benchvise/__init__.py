"""Benchvise: hold a board still, measure it, and find out why."""

__all__ = ["__version__"]

try:
    # The version of the tag, which scripts/wheel.py writes into a wheel.
    from benchvise._version import __version__
except ModuleNotFoundError:
    __version__ = "0.2.0"
