"""Simulated histories with one slow version: is it found, how often, with how many samples?

``python -m benchmarks.bisect`` prints the tables. The reference is git-bayesect 1.2 (class
``Bisector``), which knows outcomes only: it gets each value as above or below the best threshold,
the middle between the true levels. Both see the same history: the same place of the change, and the
same noise at the same turn. To have it: install it into an environment of its own and put that
one's site-packages at the end of PYTHONPATH.
"""
