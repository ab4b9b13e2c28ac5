"""Benchvise for Python: ``import benchvise as bv``.

    results    bv.open_store(), bv.compare(): stored runs, samples, comparisons
    traces     bv.open_trace(): events as Arrow tables, SQL, every analysis
    diagnoses  bv.why(): what accounts for the difference of two boards
    boards     bv.Board(): measure, snapshot, set and restore
    pytest_plugin  the fixture benchvise_board of pytest
    records    rows of results as dictionaries, Arrow, pandas, polars, and as HTML in a notebook

The package ``benchvise`` has these names and imports each when it is first used. What
is here is kept stable: a name that goes warns for a version before.
Answers are the typed records that the commands print with ``--json``; ``document`` is that JSON.
Errors are ``benchvise.errors.BenchviseError``, each with a sentence and a remedy.
"""
