"""Finding out why two boards differ: from a gap to its causes, proven on both sides and undone.

``loop.diagnose`` is the main flow. It knows boards only as a ``bench.Bench``, on which it makes
experiments; every decision goes into the evidence log before the next one is made.
"""
