"""Benchvise beside its references on this machine, in turn, with ratios."""
