"""The benchmarks of a board, and the checking of what a user asks of them.

The probe's ``list`` line describes its own, and those that this machine drives describe
themselves: nothing about a benchmark is written down twice.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from benchvise.board.messages import ListMessage
from benchvise.documents import JsonObject, array_at, decode
from benchvise.errors import ProbeError, UsageError
from benchvise.measure.model import Benchmark, Parameter, SeriesSpec
from benchvise.names import NamedEntry, search
from benchvise.quantities import parse_size, spell_size

# Set by the plan for all series alike, so they are no part of what a series is.
PLAN_PARAMETERS = frozenset({"batches", "paced", "warm_ms", "marker"})

_FAMILY_WORDS = {
    "cpu": "processor core frequency",
    "memory": "RAM DRAM caches bandwidth",
    "net": "network Ethernet wifi WLAN LAN",
    "storage": "disk eMMC SD card SSD NVMe USB drive flash block device",
    "timer": "jitter real-time",
    "gpio": "pin interrupt",
}
"""What people search for who want a benchmark of that family, where no text of its own says it."""


class Described(Protocol):
    """A benchmark that is not the probe's: ``check`` raises UsageError for values it refuses."""

    @property
    def description(self) -> Benchmark:
        """What the probe says of its own benchmarks."""

    def check(self, params: Mapping[str, str]) -> None:
        """Refuses values that fit their parameters' types but make no sense."""


class Registry:
    """Benchmarks by id: the probe's in its order, then the others."""

    def __init__(
        self,
        benchmarks: Iterable[Benchmark],
        common: Iterable[Parameter],
        others: Iterable[Described] = (),
        cpus: Iterable[int] = (),
    ) -> None:
        self._others = {other.description.id: other for other in others}
        self._benchmarks = {benchmark.id: benchmark for benchmark in benchmarks}
        self._benchmarks |= {name: other.description for name, other in self._others.items()}
        self.common = tuple(common)
        self.cpus = tuple(cpus)
        """The CPUs that the probe may use on its board."""

    @classmethod
    def of_probe(cls, listing: ListMessage, others: Iterable[Described] = ()) -> Registry:
        """The benchmarks that the probe lists, and others; ProbeError when it makes no sense."""
        try:
            return cls(
                [_benchmark(item) for item in listing.benchmarks],
                [_parameter(item) for item in listing.common],
                others,
                listing.cpus_allowed,
            )
        except ValueError as error:
            raise ProbeError(
                f"the probe describes its benchmarks in a way not understood ({error})",
                "remove it from the board and run again",
            ) from error

    @property
    def benchmarks(self) -> Sequence[Benchmark]:
        """All benchmarks, in the registry's order."""
        return tuple(self._benchmarks.values())

    def common_to(self, benchmark: Benchmark) -> Sequence[Parameter]:
        """The common parameters that a benchmark takes; ``defaults`` may have other defaults."""
        return tuple(
            parameter
            for parameter in self.common
            if benchmark.driven_by == "probe" or parameter.name in benchmark.defaults
        )

    def get(self, benchmark_id: str) -> Benchmark:
        """The benchmark of that id; UsageError names those that may be meant."""
        benchmark = self._benchmarks.get(benchmark_id)
        if benchmark is None:
            meant = [entry.name for entry in search(benchmark_id, self.named_entries(), limit=3)]
            raise UsageError(
                f"there is no benchmark {benchmark_id!r}",
                (f"did you mean {' or '.join(meant)}?" if meant else "")
                or _did_you_mean(benchmark_id, self._benchmarks)
                or f"`benchvise bench` lists all, `benchvise find {shlex.quote(benchmark_id)}` "
                "searches the rest",
            )
        return benchmark

    def named_entries(self) -> Iterator[NamedEntry]:
        """The benchmarks for a search by name: reference tools and methods are searched, too."""
        for benchmark in self.benchmarks:
            yield NamedEntry(
                "benchmark",
                benchmark.id,
                benchmark.summary,
                f"benchvise bench show {benchmark.id}",
                text=" ".join(
                    (
                        _FAMILY_WORDS.get(benchmark.family, ""),
                        benchmark.peer,
                        benchmark.method,
                        *(p.summary for p in benchmark.parameters),
                        *(choice for p in benchmark.parameters for choice in p.choices),
                    )
                ),
            )

    def parameter_names(self, benchmark_id: str) -> frozenset[str]:
        """The parameters that a series of that benchmark has; UsageError when there is none."""
        return frozenset(p.name for p in self._parameters(self.get(benchmark_id)))

    def _parameters(self, benchmark: Benchmark) -> list[Parameter]:
        """Those that make a series what it is: the plan's are left out."""
        common = (p for p in self.common_to(benchmark) if p.name not in PLAN_PARAMETERS)
        return [*benchmark.parameters, *common]

    def expand(self, name: str, value: str) -> Sequence[str]:
        """The values that a value stands for: ``cpu=each`` is every CPU that the probe may use."""
        if (name, value) != ("cpu", "each"):
            return (value,)
        if not self.cpus:
            raise UsageError("cpu=each: the board does not say which CPUs there are", "name them")
        return tuple(str(cpu) for cpu in self.cpus)

    def spec(self, benchmark_id: str, params: Mapping[str, str]) -> SeriesSpec:
        """A checked series with all its parameters; UsageError names what does not fit."""
        benchmark = self.get(benchmark_id)
        parameters = self._parameters(benchmark)
        names = {parameter.name: parameter for parameter in parameters}
        for name in params:
            if name not in names:
                raise UsageError(
                    f"{benchmark_id} has no parameter {name!r}",
                    _did_you_mean(name, names) or f"it has {', '.join(names)}",
                )
        values = {
            p.name: canonical_value(
                benchmark_id, p, params.get(p.name, benchmark.defaults.get(p.name, p.default))
            )
            for p in parameters
        }
        if benchmark_id in self._others:
            self._others[benchmark_id].check(values)
        special = ",".join(f"{p.name}={values[p.name]}" for p in parameters if p.name in params)
        return SeriesSpec(
            benchmark=benchmark_id,
            params=tuple(values.items()),
            key=f"{benchmark_id}:{special}" if special else benchmark_id,
        )


def canonical_value(benchmark_id: str, parameter: Parameter, text: str) -> str:
    """The one spelling of a parameter's value; UsageError when it is out of range."""
    if parameter.type == "choice":
        if text in parameter.choices:
            return text
        raise UsageError(
            f"{benchmark_id}: {parameter.name}={text} is no choice",
            f"choose one of {', '.join(parameter.choices)}",
        )
    if text == parameter.default == "auto":
        return text
    if parameter.type == "text":
        return _canonical_text(benchmark_id, parameter, text)
    low, high = parameter.minimum or 0, parameter.maximum or 0
    is_size = parameter.type == "size"
    spell = spell_size if is_size else str
    fault = "is out of range"
    try:
        number = parse_size(text) if is_size else int(text)
    except (ValueError, IndexError):
        number, fault = -1, "is no size" if is_size else "is no number"
    if not low <= number <= high:
        raise UsageError(
            f"{benchmark_id}: {parameter.name}={text} {fault}",
            f"it takes {'a size' if is_size else 'a number'} from {spell(low)} to {spell(high)}"
            + (", or auto" if parameter.default == "auto" else ""),
        )
    return spell(number)


def _canonical_text(benchmark_id: str, parameter: Parameter, text: str) -> str:
    length = len(text.encode("utf-8", "surrogateescape"))
    low, high = parameter.minimum or 0, parameter.maximum or 0
    if not low <= length <= high or any(ord(c) < 32 or ord(c) == 127 for c in text):
        raise UsageError(
            f"{benchmark_id}: {parameter.name} cannot be {text[:60]!r}",
            f"it takes a text of {low} to {high} bytes without control characters",
        )
    return text


def _did_you_mean(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), n=3)
    return f"did you mean {' or '.join(near)}?" if near else ""


def _parameter(item: JsonObject) -> Parameter:
    return decode(Parameter, {**item, "minimum": item.get("min"), "maximum": item.get("max")})


def _benchmark(item: JsonObject) -> Benchmark:
    parameters = [
        _parameter(parameter)
        for parameter in array_at(item, "parameters")
        if isinstance(parameter, Mapping)
    ]
    benchmark = decode(Benchmark, {**item, "parameters": [], "driven_by": "probe"})
    return replace(benchmark, parameters=tuple(parameters))
