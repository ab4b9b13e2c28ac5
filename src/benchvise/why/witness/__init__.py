"""The command itself as a witness: what it does on both sides, and what of that differs.

    stages.watch ── lab.watch ──→ LiveBench.watch, on each side once
        │                           watch     records it (trace) and follows its system calls
        │                           ├ spans       what the trace tells of its processes, by SQL
        │                           ├ path        where its time goes: run, or wait for what
        │                           └ partners    the programs that it talks to (program_files:
        │                                         what configures them; polled: who makes the file
        │                                         that it looks for; started: what they run for it)
        ├ compare   both sides to one ``Witness``: parts of the gap, calls, files, counts
        ├ opened    files that it opens and that are not the same (layout: how they lie on the
        │           disk; trees: names below a directory, and names that are only looked for)
        └ touching  suspects that touch what differs come first (``touches.toml``)

Its runs are no trials: nothing is measured by them. What a board cannot do is left out, and said
with its reason. ``model`` has the types; ``kinds`` knows what a system call waits for.
"""
