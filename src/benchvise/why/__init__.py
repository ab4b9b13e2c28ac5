"""The diagnosis: why is one side slower, with proof.

    flows.why ── opens ──→ bench: two sides      live boards, a record, images (benches)
        │                     │
        └──→ loop ──→ stages, in order, typed results; nothing is set but by bench.measure
                look         suspects.admissibility: may the two be compared?
                gap          experiments.gap: both sides in turn, the A/A noise floor
                watch        witness: what the command does differently, and so whom to try first
                suspects     suspects: found, bundled, reduced, ranked (printed terms)
                search       experiments.search: all at once, then halved by weight
                confirm      experiments.confirm: fresh data, repaired, broken, as before → share
                layers       the same search over layers of images, then inside one
                together     two causes in a 2x2; the unexplained rest
                explain      explain: mechanism (cards, counters), remedies · provenance (file:line)
                try          trying: one suspect that a user names (--try), whatever the search did
                untested     the likeliest differences that are open, with line and command
                conclude     verdict: the answer, its headline, what would be needed to know more;
                             spending: whether the gap is waiting or CPU time
                │
                ├ evidence.jsonl: every answer of a board, flushed; --resume replays it
                └ progress.jsonl: what is known so far (progress_log), read while it is written

The loop knows boards by the protocol in ``bench`` only, so that ``benchmarks/why`` can score it on
simulated ones. ``model`` has the types of a diagnosis; as a document it is their JSON, and what is
shown is always made of the document: a stored diagnosis looks as it did when it was made.
"""
