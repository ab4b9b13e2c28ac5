"""How a board is: kernel log, disks, network, memory, sensors and clocks, read at a time.

    probe: files, links, the log ─→ reading ─→ Reading ─→ judging ─→ Judgement ─→ report
    commands: smartctl, vcgencmd ──────┘  └ kernel_log: lines by rules ─→ events by device

``watch`` polls a board for weeks: Memory + Observation → Step, each step one transaction of the
store. What is remembered from one poll to the next is a value in the store, so a watch that is
killed goes on where it was, and two watches of one board count nothing twice.
"""
