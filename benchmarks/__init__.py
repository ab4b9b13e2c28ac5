"""Benchvise beside its peers on this machine, in turn, with ratios."""
