"""Lining a trace.dat up with this host's clock: by the marks in it, for all who read it.

The option TIME_SHIFT of the format says how stamps are moved to the clock of another recording;
trace-cmd writes it for guests that it records with their host. ``offset_at`` between two times that
it names is on a line.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from benchvise.documents import object_at, whole_at
from benchvise.errors import BenchviseError, TraceError
from benchvise.trace.clock_alignment import Knot, Mark, RoundTrip, line_up, offset_at, shortest_of
from benchvise.trace.recording import Recorded
from benchvise.trace.recording_set import SetMember

if TYPE_CHECKING:
    from benchvise.trace import native

CLOCK_MARK = "benchvise: clock "
"""Begins the texts that the recorder puts into a trace for round trips."""

_HEAD = b"\x17\x08\x44tracing7\0"
_OPTIONS, _DONE, _OFFSET, _TIME_SHIFT = 0, 0, 7, 12
_INTERPOLATED = 1
_MOST_SECTIONS = 1000


def line_up_recording(
    board: str, recorded: Recorded, trips: Sequence[RoundTrip], clock: str, wall_offset_ns: int
) -> SetMember:
    """Lines a trace.dat up with this host's clock, by the marks in it; its file says so then.

    ``clock`` and ``wall_offset_ns`` are those of the set. Where it cannot be lined up, the answer
    has the reason.
    """
    path = recorded.path
    member = SetMember(
        board,
        path.name,
        recorded.events,
        recorded.lost,
        recorded.reason,
        command=whole_at(recorded.ended, "command"),
        caveats=tuple(f"{sentence:600}" for sentence in recorded.caveats),
    )
    try:
        span, marks, cpus = _read_marks(path, trips)
        if span is None or not marks:
            reason = "it holds no event" if span is None else _why_no_mark(trips)
            return replace(member, not_lined_up=reason)
        alignment, knots = line_up(marks, *span)
        add_time_shift(path, int(clock, 16), knots, cpus, wall_offset_ns)
    except OSError as error:
        return replace(member, not_lined_up=error.strerror or str(error))
    except BenchviseError as error:
        return replace(member, not_lined_up=error.message)
    at = whole_at(object_at(recorded.ended, "condition"), "at_ns") or 0
    moved = offset_at(knots, at) + wall_offset_ns
    return replace(
        member,
        met=replace(recorded, ended={**recorded.ended, "wall_offset_ns": moved}).met,
        first=span[0] + alignment.offset_begin_ns + wall_offset_ns,
        last=span[1] + alignment.offset_end_ns + wall_offset_ns,
        clock=alignment,
        round_trips=tuple(shortest_of(marks)),
    )


def _read_marks(
    path: Path, trips: Sequence[RoundTrip]
) -> tuple[tuple[int, int] | None, list[Mark], int]:
    """From when to when a trace is, on its own clock; the marks of round trips in it; its CPUs."""
    from benchvise.trace.decoder import open_native, translated

    trace = open_native(path)
    with translated():
        decoded = trace.decode({"print": None}, index=False)
        cpus = json.loads(trace.outline())["environment"].get("cpu_count", "1")
        return trace.span(), list(_marks(decoded, trips)), int(cpus)


def _why_no_mark(trips: Sequence[RoundTrip]) -> str:
    if trips:
        return "none of its marks is left in the trace: newer events took their place"
    return "it ended before the first round trip was over, or its kernel takes no marks"


def _marks(decoded: native.Decoded, trips: Iterable[RoundTrip]) -> Iterator[Mark]:
    """The marks of round trips, with their stamps."""
    by_number = {trip.number: trip for trip in trips}
    try:
        table = decoded.table("print")
    except KeyError:
        return
    for stamp, text in zip(table["time"].to_pylist(), table["buf"].to_pylist(), strict=True):
        if isinstance(text, str) and text.startswith(CLOCK_MARK):
            number = text.removeprefix(CLOCK_MARK).strip()
            trip = by_number.pop(int(number), None) if number.isdecimal() else None
            if trip is not None:
                yield Mark(trip.sent, trip.received, stamp)


def add_time_shift(
    path: Path, clock: int, knots: Sequence[Knot], cpus: int, wall_offset_ns: int
) -> None:
    """Has a trace.dat say how its stamps are moved to the clock of another recording.

    A further section of options is put behind all, and then the chain of them goes on to it: until
    then the file is as it was. ``wall_offset_ns`` is added to the times of all CPUs.

    Raises TraceError for a file that this cannot be added to, and OSError.
    """
    with path.open("r+b") as file:
        order, at = _end_of_options(file, path)
        options = _option(order, _TIME_SHIFT, _time_shift(order, clock, knots, cpus))
        if wall_offset_ns:
            options += _option(order, _OFFSET, b"%d\0" % wall_offset_ns)
        options += _option(order, _DONE, struct.pack(f"{order}Q", 0))
        section = file.seek(0, 2)
        file.write(struct.pack(f"{order}HHIQ", _OPTIONS, 0, 0, len(options)) + options)
        file.flush()
        file.seek(at)
        file.write(struct.pack(f"{order}Q", section))


def _time_shift(order: str, clock: int, knots: Sequence[Knot], cpus: int) -> bytes:
    count = len(knots)
    of_cpu = struct.pack(
        f"{order}I{count}Q{count}q{count}Q",
        count,
        *(knot.stamp for knot in knots),
        *(knot.offset for knot in knots),
        *(1 for _ in knots),
    )
    fractions = struct.pack(f"{order}{count}Q", *(0 for _ in knots))
    head = struct.pack(f"{order}QII", clock, _INTERPOLATED, cpus)
    return head + of_cpu * cpus + fractions * cpus


def _option(order: str, number: int, data: bytes) -> bytes:
    return struct.pack(f"{order}HI", number, len(data)) + data


def _end_of_options(file: IO[bytes], path: Path) -> tuple[str, int]:
    """The byte order, and where the last options say that there are no more."""
    head = file.read(len(_HEAD) + 6)
    if not head.startswith(_HEAD) or len(head) < len(_HEAD) + 6:
        raise _unsuitable(path, "it is no trace.dat of version 7")
    order = ">" if head[len(_HEAD)] else "<"

    def number(kind: str) -> int:
        raw = file.read(struct.calcsize(kind))
        if len(raw) < struct.calcsize(kind):
            raise _unsuitable(path, "it ends within its options")
        return int(struct.unpack(order + kind, raw)[0])

    for _ in range(2):  # name and version of the compression
        while file.read(1) not in (b"\0", b""):
            pass
    at = number("Q")
    for _ in range(_MOST_SECTIONS):
        file.seek(at)
        section, flags = number("H"), number("H")
        if section != _OPTIONS or flags:
            raise _unsuitable(path, "its options are compressed")
        file.seek(12, 1)
        while number("H") != _DONE:
            file.seek(number("I"), 1)
        number("I")
        at = file.tell()
        following = number("Q")
        if not following:
            return order, at
        at = following
    raise _unsuitable(path, "its options do not end")


def _unsuitable(path: Path, why: str) -> TraceError:
    return TraceError(f"{path}: its clock cannot be lined up ({why})")
