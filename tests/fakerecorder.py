"""A recorder that says what a test wants: standard output is the file named first, and then it
waits for an order or the end of its input, and says the file named second."""

from __future__ import annotations

import sys
from pathlib import Path

first, second, *_ = sys.argv[1:]
sys.stdout.buffer.write(Path(first).read_bytes())
sys.stdout.buffer.flush()
if Path(second).exists():
    sys.stdin.readline()
    sys.stdout.buffer.write(Path(second).read_bytes())
    sys.stdout.buffer.flush()
