"""For all tests: what a shell may have left to its background jobs is put right.

A job in the background ignores SIGINT, and so would every program that a test interrupts.
"""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
