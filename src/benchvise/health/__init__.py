"""How well a board is: its kernel log, disks, network, memory, sensors and clocks, read at a time.

``reading.read`` asks a board, ``judging.judge`` says what of it is failing and what to do.
"""
