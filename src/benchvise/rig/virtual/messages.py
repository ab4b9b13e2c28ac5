"""What the daemon of a virtual bench writes to bench.json and answers to /status, typed."""

from __future__ import annotations

from dataclasses import dataclass

from benchvise.rig.virtual.injectable import FaultValue

FORMAT = 1


@dataclass(frozen=True, slots=True)
class BoardPorts:
    """A board in bench.json: what stays as it is while the bench runs."""

    index: int
    name: str
    kind: str
    arch: str
    card_bytes: int
    console_port: int
    ssh_port: int


@dataclass(frozen=True, slots=True)
class BenchFile:
    """bench.json: where the daemon ``pid`` is reached, and its boards."""

    format: int
    pid: int
    url: str
    port: int
    boards: tuple[BoardPorts, ...]


@dataclass(frozen=True, slots=True)
class VirtualBoardStatus:
    """A board as it is now.

    ``on_for_s`` are the seconds since the relay was switched on, ``ended`` how the machine ended by
    itself, empty while it runs. Of the console: readers that are connected, bytes that were lost
    to readers and to the log. ``faults`` are those that were ordered.
    """

    index: int
    name: str
    kind: str
    arch: str
    simulated: bool
    relay: int
    on_for_s: float | None
    running: bool
    pid: int | None
    ended: str
    mux: str
    card_bytes: int
    console_port: int
    console_readers: int
    console_overrun_bytes: int
    console_log_lost_bytes: int
    ssh_port: int
    faults: dict[str, FaultValue]


@dataclass(frozen=True, slots=True)
class BenchStatus:
    """The bench in ``directory`` as it is now; ``pid`` is that of its daemon."""

    simulated: bool
    pid: int
    directory: str
    boards: tuple[VirtualBoardStatus, ...]
