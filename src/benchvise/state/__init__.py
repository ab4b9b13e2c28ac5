"""The state of a board: what it is set to, what may be set, and how it is restored.

Reading (``benchvise snapshot``, ``diff``)::

    catalogue (what to read) ─→ roles      which disk is the root disk, which port the default
                                   │
    probe: files, links, facts ────┤
    commands of the board, bounded ┤
                                   ↓
                            answers ─→ snapshot ─→ Snapshot ─→ diff
                            (texts)    (normalise)  settings + observations

What ``snapshot`` makes of the answers, and everything behind it, is pure: tests hand it texts
instead of boards.

Writing (``run --set``, ``restore``, the experiments of ``why``)::

    knobs ─→ intervention ─→ journal on the host's disk, note on the board ─→ write ─→ read back
                  │                                           └ everything else as before?
             (measuring)
                  └ undo, in reverse, until every file has its old value ─→ journal removed

``interrupts`` holds signals back from the first write until everything is undone and lets one
through while measuring. ``places`` brings files that the kernel ties to each other to their values,
there and back. ``board_note`` is what other users and hosts see of it. What is left of a journal
after a kill is ``restore``'s.
"""
