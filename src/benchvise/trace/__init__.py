"""Kernel traces: opening, analyses, comparison, export."""
