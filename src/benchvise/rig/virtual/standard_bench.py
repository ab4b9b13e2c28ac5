"""``benchvise rig virtual``: simulated boards, started, shown, disturbed and stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchvise.board.sanitise import printable
from benchvise.errors import UsageError
from benchvise.rig.virtual import bench as bench
from benchvise.rig.virtual.injectable import INJECTABLE
from benchvise.rig.virtual.kinds import BENCH, KINDS, missing
from benchvise.rig.virtual.kinds import image as card_image

__all__ = ["COLUMNS", "INJECTABLE", "Shown", "down", "fault", "image", "status", "up"]

COLUMNS = ("name", "kind", "power", "mux", "console", "ssh", "faults")
"""What is shown of each board, in this order."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A virtual bench that runs: where it is, and its boards as ``COLUMNS`` says."""

    directory: Path
    rig_file: Path
    boards: tuple[Mapping[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        """As the commands' ``--json`` shows it."""
        return {
            "directory": str(self.directory),
            "rig_file": str(self.rig_file),
            "simulated": True,
            "boards": [dict(board) for board in self.boards],
        }


def up(boards: str, directory: Path | None) -> Shown:
    """Starts a bench, or finds the one that runs; the images of its cards are built if need be.

    UsageError for boards that there are not, or programs that this machine lacks.
    """
    chosen = _chosen(boards)
    lacking = sorted({package for _, kind in chosen for package in missing(KINDS[kind])})
    if lacking:
        raise UsageError(
            f"the virtual bench needs what is not installed: {', '.join(lacking)}",
            f"apt-get install -y --no-install-recommends {' '.join(lacking)}",
        )
    images = {kind: card_image(KINDS[kind]) for _, kind in chosen}
    bench.up(directory, chosen, images=images)
    return status(directory)


def status(directory: Path | None) -> Shown:
    """The bench that runs; UsageError when none does."""
    said = bench.status(directory)
    if said is None:
        raise UsageError("no virtual bench runs", "start one: benchvise rig virtual up")
    place = directory or bench.default_directory()
    return Shown(place, place / "rig.yaml", tuple(_board(board) for board in said["boards"]))


def down(directory: Path | None) -> None:
    """Switches everything off and ends the bench; UsageError when none runs."""
    if not bench.down(directory):
        raise UsageError("no virtual bench runs", "there is nothing to stop")


def fault(board: str, name: str, value: str, directory: Path | None) -> None:
    """Has a board do something wrong, or takes that back."""
    bench.inject(board, name, value, directory)


def image(name: str, variant: str = "a") -> Path:
    """A card image for a board of the standard bench, or for a kind; built when it is not there."""
    kinds = dict(BENCH)
    kind = KINDS.get(kinds.get(name, name))
    if kind is None:
        raise UsageError(
            f"'{printable(name)}' is no simulated board and no kind of one",
            f"boards: {', '.join(kinds)}; kinds: {', '.join(KINDS)}",
        )
    return card_image(kind, variant=variant)


def _chosen(boards: str) -> tuple[tuple[str, str], ...]:
    if boards.isdecimal():
        count = int(boards)
        if not 1 <= count <= len(BENCH):
            raise UsageError(
                f"--boards {boards}: there are {len(BENCH)} standard boards",
                "name others with their kinds: NAME=KIND,NAME=KIND",
            )
        return tuple(BENCH[:count])
    pairs = []
    for word in boards.split(","):
        name, equals, kind = word.partition("=")
        if not equals or kind not in KINDS:
            raise UsageError(
                f"--boards: '{printable(word)}' is not NAME=KIND",
                f"kinds: {', '.join(KINDS)}",
            )
        pairs.append((name, kind))
    return tuple(pairs)


def _board(said: Mapping[str, Any]) -> dict[str, Any]:
    faults = said.get("faults") or {}
    listed = ", ".join(f"{k}={v}" for k, v in faults.items()) if isinstance(faults, Mapping) else ""
    power = "on" if said["relay"] else "off"
    if said["relay"] and not said["running"]:
        power = f"on, but its machine has ended ({printable(str(said['ended']), 60)})"
    ports = {"console": said["console_port"], "ssh": said["ssh_port"]}
    return {**said, "power": power, **ports, "faults": listed or "-"}
