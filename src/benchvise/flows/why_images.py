"""The two sides of a diagnosis as images, for one board of a rig or for one each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.errors import UsageError
from benchvise.measure.suite import SuiteEntry
from benchvise.rig.environment import PREFIX, find_rig_file, is_rig, load_rig
from benchvise.why.bench import Bench
from benchvise.why.model import Side

if TYPE_CHECKING:
    from benchvise.rig.hold.client import EventObserver


def open_images(
    good: str,
    bad: str,
    boards: Sequence[str],
    entry: SuiteEntry,
    stack: ExitStack,
    *,
    rig_file: str | None = None,
    observe: EventObserver | None = None,
) -> Bench:
    """A bench of two images; ``stack`` lets the boards go, switched off.

    ``boards`` are one of a rig for both, or two: the good image's and the bad one's. Raises
    UsageError for what is no image or no board of a rig, and what booting raises.
    """
    for image in (good, bad):
        if not Path(image).is_file():
            raise UsageError(
                f"'{image}' is no file, and --board is for two images",
                "name the good image and the bad one",
            )
    rig = load_rig(find_rig_file(rig_file))
    others = [name for name in boards if not is_rig(name)]
    names = [] if others else rig.select([name.removeprefix(PREFIX) for name in boards])
    if len(names) not in (1, 2):
        raise UsageError(
            f"--board {others[0]} is no board of a rig"
            if others
            else f"--board names {len(names)} boards",
            "name one board for both images, or two: the good image's and the bad one's",
        )
    from benchvise.rig.hold.board import BootSession  # labgrid takes its time
    from benchvise.why.benches.rig import RigBench

    seats = []
    for name in names:
        seat = BootSession(rig, name, f"why {Path(good).name} {Path(bad).name}", observe)
        stack.callback(seat.close)
        seats.append(seat)
    bench = RigBench(
        {Side.GOOD: seats[0], Side.BAD: seats[-1]},
        {Side.GOOD: Path(good).resolve(), Side.BAD: Path(bad).resolve()},
        entry,
    )
    stack.callback(bench.close)
    return bench
