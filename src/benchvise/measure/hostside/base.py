"""What a benchmark that this machine drives is, what it is given, and what it says of
the board.

A board's load beside what is measured from outside of it is its own account, by its probe. CPU time
comes from ``/proc/stat``, which counts in ticks of 10 ms and, on kernels without exact accounting,
by sampling: over a batch of a second or more it is good to some percent. It is that of the whole
board, interrupts included, where most of a network's cost is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Protocol

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.board.messages import FileError, FileValue, SeriesMessage, content_text
from benchvise.documents import JsonObject
from benchvise.measure.model import Benchmark


@dataclass(frozen=True, slots=True)
class Order:
    """One process to be measured: where, with which parameters, and how many batches.

    ``channel`` speaks to the board's probe, for whatever only the board itself can tell.
    ``attributes`` are the words that give what is measured attributes of its own
    (docs/probe-protocol.md), for the probe's ``run``.
    """

    board: Board
    channel: ProbeChannel
    params: Mapping[str, str]
    batches: int
    attributes: tuple[str, ...] = ()


class HostBenchmark(Protocol):
    """A benchmark that this machine drives."""

    @property
    def description(self) -> Benchmark:
        """What a reader, the registry and the documentation are told."""

    def check(self, params: Mapping[str, str]) -> None:
        """Raises UsageError for values that fit their parameters' types but make no sense."""

    def messages(self, order: Order) -> Iterator[SeriesMessage]:
        """``host``, ``begin``, ``sample`` and ``end``, as the probe would say them.

        The next batch begins only when the generator is resumed after a sample. Raises
        NotAvailable, MeasurementError, UsageError, and what the channel raises; every request to
        it has come to its end then, and no process started here is left.
        """


def described(benchmark: Benchmark, order: Order) -> JsonObject:
    """What every ``begin`` message says of the benchmark itself and of what is asked of it."""
    params = {p.name: order.params[p.name] for p in benchmark.parameters}
    return {
        "params": {**params, "batches": str(order.batches)},
        "unit": benchmark.unit,
        "better": benchmark.better,
        "counted": benchmark.counted,
        "batches": order.batches,
        "figures": [asdict(figure) for figure in benchmark.figures],
    }


# -- the board's own account of its load -----------------------------------------------------------

_STAT = "/proc/stat"
_UPTIME = "/proc/uptime"
_ZONES = "/sys/class/thermal/thermal_zone*"
_CPU_ZONES = ("cpu", "soc", "x86_pkg")  # parts of the types of zones that are the CPU's

NO_PROCESS = "measured from outside the board: there is no process of its own there"
_NO_CLOCK = "not looked at: that would have been work beside what was measured"
_OF_A_PROCESS = (
    "cpu",
    "migrations",
    "voluntary_switches",
    "involuntary_switches",
    "minor_faults",
    "major_faults",
    "wait_ns",
)

Answer = Mapping[str, FileValue | FileError]


@dataclass(frozen=True, slots=True)
class Load:
    """The board at a moment; what it does not tell is None.

    ``busy`` and ``stolen`` are ticks of all CPUs together since it booted; ``uptime_ns`` is its
    clock since then, to 10 ms; ``temperature_mc`` the CPU's in thousandths of a degree Celsius.
    """

    busy: int | None
    stolen: int | None
    uptime_ns: int | None
    temperature_mc: int | None


def read_load(channel: ProbeChannel) -> Load:
    """Asks the board; raises what the channel raises."""
    answer = channel.read([_STAT, _UPTIME, f"{_ZONES}/type", f"{_ZONES}/temp"])
    busy, stolen = _ticks(content_text(answer.get(_STAT)))
    return Load(busy, stolen, _uptime_ns(content_text(answer.get(_UPTIME))), _temperature(answer))


def evidence(before: Load, after: Load, window_ns: int, ticks_per_second: int) -> JsonObject:
    """The evidence of a sample, item by item as the probe has it; ``flags`` are the caller's."""
    return {
        "start_ns": _or_na(before.uptime_ns, "no /proc/uptime"),
        **{key: {"na": _NO_CLOCK} for key in ("clock_before_hz", "clock_after_hz")},
        **{key: {"na": NO_PROCESS} for key in _OF_A_PROCESS},
        "window_ns": window_ns,
        "steal_ticks": _or_na(_difference(before.stolen, after.stolen), "no /proc/stat"),
        "other_busy_ticks": {"na": "what was measured and the rest cannot be told apart"},
        "ticks_per_second": ticks_per_second,
        "temperature_mc": _or_na(after.temperature_mc, "no thermal zone"),
        "counters": {},
    }


def busy_ns(before: Load, after: Load, ticks_per_second: int) -> int | None:
    """CPU time of the whole board in between; None where it does not tell."""
    ticks = _difference(before.busy, after.busy)
    return None if ticks is None else ticks * 1_000_000_000 // ticks_per_second


def _or_na(number: int | None, reason: str) -> int | dict[str, str]:
    return {"na": reason} if number is None else number


def _difference(before: int | None, after: int | None) -> int | None:
    if before is None or after is None or after < before:
        return None
    return after - before


def _numbers(fields: Iterable[str]) -> list[int]:
    return [int(word[:20]) for word in fields if word.isascii() and word.isdigit()]


def _ticks(stat: str) -> tuple[int | None, int | None]:
    """Busy and stolen ticks: proc(5), user nice system idle iowait irq softirq steal."""
    for line in stat.splitlines():
        columns = line.split()
        if columns and columns[0] == "cpu":
            counts = _numbers(columns[1:])
            if len(counts) >= 8:
                return sum(counts[:3]) + counts[5] + counts[6], counts[7]
    return None, None


def _uptime_ns(text: str) -> int | None:
    whole, dot, hundredths = text.partition(" ")[0].partition(".")
    numbers = _numbers([whole, hundredths])
    if not dot or len(numbers) != 2 or len(hundredths) != 2:
        return None
    return (numbers[0] * 100 + numbers[1]) * 10_000_000


def _temperature(answer: Answer) -> int | None:
    """That of the zone whose type names a CPU, else of the first."""
    zones = sorted(path.removesuffix("/temp") for path in answer if path.endswith("/temp"))
    named = [
        zone
        for zone in zones
        if any(part in content_text(answer.get(f"{zone}/type")) for part in _CPU_ZONES)
    ]
    for zone in (*named, *zones):
        text = content_text(answer.get(f"{zone}/temp")).strip()
        if text.removeprefix("-").isdecimal():
            return int(text[:12])
    return None
