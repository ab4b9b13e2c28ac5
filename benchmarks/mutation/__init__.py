"""Does the suite find faults? Those of a table are put into the product, one at a time.

``python -m benchmarks.mutation`` applies each fault of ``faults.toml`` to a work tree of its own,
builds what it touches, runs the tests that should see it, and says which of them did.
``python -m benchmarks.mutation draw SEED`` draws new faults; ``draw`` says by what rule.
"""
