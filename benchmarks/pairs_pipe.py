"""The pipe ladder beside GNU yes, each with both ends on one CPU."""

from __future__ import annotations

import math
import shlex
import shutil
from pathlib import Path

from benchmarks.pairs import Pair, build_reference, measured_cpu

BYTES = 1 << 30
BATCHES = ("--batches", "40")
# GNU yes writes buffers of 8 KiB (until version 9.6) or 16 KiB into a pipe of 64 KiB.
LIKE_YES = ("--block", "8K", *BATCHES)
PAGES = ("--writer", "vmsplice", "--block", "1M", "--pipe", "1M", *BATCHES)
# What is claimed where the reference tool's own reader or writer is half of the figure.
ORDER = (1 / 3, 3.0)


def from_yes(reader: str, *, sized: bool = False) -> tuple[str, ...]:
    """A shell that prints bytes a second of yes into that reader, both on the measured CPU.

    A reader that does not say so itself is timed, as it is given just so many bytes.
    """
    command = f"yes | {reader}"
    if sized:
        command = f'begin=$(date +%s%N); {command}; end=$(date +%s%N); echo "$begin $end"'
    return ("taskset", "-c", str(measured_cpu()), "sh", "-c", command)


def timed(text: str) -> float:
    """Bytes a second from the two times that such a shell prints."""
    begin, end = map(int, text.split())
    return BYTES / (end - begin) * 1e9


def drained(program: Path, how: str, block: int) -> tuple[str, ...]:
    return from_yes(f"{shlex.quote(str(program))} {how} {BYTES} {block}")


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot.

    Only what both sides do alike is claimed to agree; with dd and pv, which read in their own way,
    the order is. That passing pages beats GNU yes at least four times is claimed for the same
    reader in the same round.
    """
    found: list[Pair] = []
    missing: list[str] = []
    drain = build_reference("drain")
    if drain:
        found += [
            Pair(
                "pipe vmsplice to splice : GNU yes to splice",
                ("pipe.throughput", "--reader", "splice", *PAGES),
                drained(drain, "splice", 1 << 20),
                float,
                0,
                bounds=(4, math.inf),
            ),
            Pair(
                "pipe vmsplice to read : GNU yes to read",
                ("pipe.throughput", *PAGES),
                drained(drain, "read", 1 << 20),
                float,
                0,
                bounds=(1, math.inf),
            ),
            Pair(
                "pipe write 8K to read : GNU yes to read",
                ("pipe.throughput", *LIKE_YES),
                drained(drain, "read", 8 << 10),
                float,
                0.20,
            ),
        ]
    else:
        missing.append("GNU yes into our own reader: gcc is not installed")
    found.append(
        Pair(
            "pipe write 8K to read : GNU yes to dd",
            ("pipe.throughput", *LIKE_YES),
            from_yes(
                # without fullblock, dd takes a block that came in part for a whole one
                f"dd of=/dev/null bs=64K count={BYTES >> 16} iflag=fullblock status=none",
                sized=True,
            ),
            timed,
            0,
            bounds=ORDER,
        )
    )
    if shutil.which("pv"):
        found.append(
            Pair(
                "pipe write 8K to splice : GNU yes to pv",
                ("pipe.throughput", "--reader", "splice", *LIKE_YES),
                from_yes(f"pv -q -S -s {BYTES} > /dev/null", sized=True),
                timed,
                0,
                bounds=ORDER,
            )
        )
    else:
        missing.append("pv: not installed (Debian: pv)")
    return found, missing
