"""A serial line put to the test: what goes in on one end, and what comes out at the other."""
