"""Boards in a rig: power, card, console, network; described by a labgrid environment file.

    rig file (labgrid's own syntax) ─→ environment      names, features, options
                                           │
    hold.client ── one process a board ─→ hold.worker ─→ strategy (labgrid: CardStrategy)
       │  typed lines, all at once         │               ├ power      outlet: read back, in turn
       │                                   │               ├ card.mux   the card's side, read back
       │                                   │               ├ card.flash image → card → read back
       │                                   │               └ boot       console: timeline, verdict
       │                                locks              board, relay box, muxes: released by the
       ↓                                                   kernel after kill -9
    hold.board: a Board over SSH, or over the console (console.board), measured like any other
         └ hold.network   without console and power: its lock, or its place, which hold.keeper keeps

labgrid keeps one global stack of steps, so each board has a process of its own, forked by
``hold.forks`` from one that has imported labgrid already; it switches its board off when the one
that asked is gone. ``virtual`` is a daemon outside labgrid with QEMU boards behind the endpoints of
hardware: only the rig file differs. ``images`` is the workshop under ``compose`` (images of layers
of others) and ``virtual``; ``soak`` boots a board many times; ``faults`` names what can go wrong.
``lanes`` says which boards are measured at once, by what they share (``sharing``); of commands on
one machine, ``machine_turn`` has one go on at a time.

Imports run one way: ``hold`` → ``drivers`` → ``strategy`` → ``power``, ``environment`` →
``virtual`` → ``soak`` → ``boot``, ``card`` → ``console``, ``locks`` → ``faults``, ``zstd``. Only
this package imports labgrid.
"""
