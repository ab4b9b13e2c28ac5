"""Finding out why two boards differ: from a gap to its causes, proven on both sides and undone.

    loop ── stages, in order ─→ verdict ─→ model.Diagnosis
      │        suspects/      what differs, what of it may matter, what is tested first
      │        experiments/   trials in blocks, the search, the proof in both directions
      │        explain/       mechanism, predictions, remedies (cards/: what is known of mechanisms)
      │        provenance/    which file and line sets a value
      └ bench: two sides that can be set, measured and put back; benches/ are the real ones

``loop.diagnose`` is the main flow. It knows boards only as a ``bench.Bench``, on which it makes
experiments; every decision goes into the evidence log before the next one is made.
"""
