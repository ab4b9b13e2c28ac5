"""What the analyses of traces do: opening, choosing actors and a span, asking, telling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchvise.errors import UsageError
from benchvise.trace.analysis import series
from benchvise.trace.analysis.actors import (
    ActorFigures,
    Instance,
    actor_figures,
    describe,
    instances_of,
)
from benchvise.trace.analysis.block import Requests, requests
from benchvise.trace.analysis.compare import TraceComparison
from benchvise.trace.analysis.compare import compare as compare_of
from benchvise.trace.analysis.latency import Assertion, Latency, Method, parse_assertion, parse_end
from benchvise.trace.analysis.latency import latency as latency_of
from benchvise.trace.analysis.latency.assertions import Checked
from benchvise.trace.analysis.latency.ends import End
from benchvise.trace.analysis.model import Actor, Analysis, Flag, Loss, Span
from benchvise.trace.analysis.names import find_all
from benchvise.trace.analysis.scheduling import TaskScheduling
from benchvise.trace.analysis.scheduling import scheduling as scheduling_of
from benchvise.trace.analysis.stats import Stats
from benchvise.trace.analysis.stats import stats as stats_of
from benchvise.trace.analysis.syscalls import Calls
from benchvise.trace.analysis.syscalls import syscalls as syscalls_of
from benchvise.trace.analysis.timers import Timers
from benchvise.trace.analysis.timers import timers as timers_of
from benchvise.trace.analysis.wakeups import Wakeups
from benchvise.trace.analysis.wakeups import wakeups as wakeups_of
from benchvise.trace.opening import OpenTrace, open_trace

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """A trace that is ready to be asked, and what has to be said of every answer."""

    path: Path
    trace: OpenTrace
    analysis: Analysis
    cautions: tuple[str, ...]

    def chosen(self, names: Sequence[str], *, idle: bool = False) -> list[Actor]:
        """The actors of the names; without any, all (idle tasks only with ``idle``)."""
        found = find_all(self.analysis.actors, names)
        return found if names or idle else [actor for actor in found if actor.kind != "idle"]

    def told(self, answer: Any) -> dict[str, Any]:
        """The JSON of an answer: what it is of, what to beware of, and the answer itself."""
        span = self.analysis.span
        return {
            "file": str(self.path),
            "span": {"begin": span.begin, "end": span.end},
            "cautions": list(self.cautions),
            "answer": plain(answer),
        }


def load(path: Path, since: str | None, until: str | None, *, use_cache: bool) -> Loaded:
    """Opens a trace and its analysis tables.

    ``since`` and ``until`` are seconds of the trace's clock, or ``+S`` from its first event.

    Raises:
        UsageError: there is no such trace, or nothing of it lies in the span.
        TraceError: it cannot be read.
    """
    return ready(open_trace(path, use_cache=use_cache), path, since, until)


def ready(
    trace: OpenTrace, path: Path, since: str | None = None, until: str | None = None
) -> Loaded:
    """The same of a trace that is open.

    Raises:
        UsageError: it holds no event, or nothing of it lies in the span.
    """
    if trace.span is None:
        raise UsageError(f"{path} holds no event", "")
    whole = Span(trace.span[0], trace.span[1])
    within = _span(whole, since, until)

    def events(name: str) -> pa.Table | None:
        found = trace.tables.get(name)
        return found if found is not None and found.num_rows else None

    # Not the tables themselves: there are thousands, and each would be mapped.
    names = tuple(name for name in trace.tables if name in trace.counts)
    losses = tuple(_losses(trace))
    analysis = Analysis(trace.analysis, whole, losses, events, names, within)
    return Loaded(path, trace, analysis, tuple(_cautions(trace, analysis)))


def _span(whole: Span, since: str | None, until: str | None) -> Span:
    """The part asked for. An answer's span holds its last event, so the end is exclusive."""
    begin = whole.begin if since is None else _moment(since, whole)
    end = whole.end + 1 if until is None else _moment(until, whole)
    if begin >= end or begin > whole.end or end <= whole.begin:
        raise UsageError(
            "nothing of the trace lies in the span asked for",
            f"it has events from {stamp(whole.begin)} to {stamp(whole.end)} s",
        )
    return Span(max(begin, whole.begin), min(end, whole.end + 1))


def _moment(text: str, whole: Span) -> int:
    relative = text.startswith("+")
    seconds, _, fraction = text.removeprefix("+").removesuffix("s").partition(".")
    if not (seconds or fraction) or not (seconds + fraction).isdecimal() or len(fraction) > 9:
        raise UsageError(
            f"{text} is no moment", "say seconds of the trace's clock, or +S from its first event"
        )
    value = int(seconds or 0) * _NS + int(fraction.ljust(9, "0"))
    return whole.begin + value if relative else value


def _losses(trace: OpenTrace) -> list[Loss]:
    cpus = trace.outline["streams"]
    return [
        Loss(
            cpu=cpus[loss["stream"]] if loss["stream"] < len(cpus) else None,
            begin=loss["begin"],
            end=loss["end"],
            count=loss["count"],
            what=str(loss["kind"]),
        )
        for loss in trace.losses
    ]


def _cautions(trace: OpenTrace, analysis: Analysis) -> list[str]:
    """What makes all figures of a trace doubtful, the worst first."""
    found = []
    losses = analysis.losses
    flags = analysis.tables["instances"].column("flags").to_numpy()
    missing = int(np.count_nonzero(flags & Flag.LOSS))
    if losses:
        counts = [loss.count for loss in losses]
        known = sum(count or 0 for count in counts)
        more = " and more that were not counted" if None in counts else ""
        kinds = "/".join(sorted({loss.what for loss in losses}))
        found.append(
            f"LOST: {known} {kinds}{more} in {len(losses)} places: "
            "instances that were active then are unsure"
        )
    elif missing:
        found.append(
            f"MISSING: {missing} instances do not fit what came before them, though the trace "
            "tells of no loss: they are unsure"
        )
    if trace.damage:
        found.append(
            f"DAMAGED: {len(trace.damage)} places could not be read; trace info tells which"
        )
    if analysis.events("sched_switch") is None:
        found.append("no sched_switch: the trace does not say which task ran when")
    return [*found, *trace.remarks]


def stamp(time: int) -> str:
    """A time as ``trace-cmd report -t`` writes it: seconds with nine digits."""
    seconds, rest = divmod(time, _NS)
    return f"{seconds}.{rest:09d}"


def plain(value: Any) -> Any:
    """A value as JSON has it. Arrays are left out: they are the raw values behind an answer."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: plain(one) for name, one in pairs if not isinstance(one, np.ndarray)}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


# -- what is asked ---------------------------------------------------------------------------------


def stats(loaded: Loaded, names: Sequence[str], *, by_name: bool) -> Stats:
    """What took the CPUs."""
    return stats_of(loaded.analysis, loaded.chosen(names), by_name=by_name)


def actors(
    loaded: Loaded, names: Sequence[str], *, by_name: bool, unsure: bool, worst: int
) -> list[ActorFigures]:
    """Figures of instances; named actors have their ``worst`` instances with them."""
    return actor_figures(
        loaded.analysis,
        loaded.chosen(names),
        by_name=by_name,
        unsure=unsure,
        worst=worst if names else 1,
    )


def instances(loaded: Loaded, name: str) -> list[Instance]:
    """The instances of the actors of one name, in order of time."""
    chosen = loaded.chosen([name])
    return describe(loaded.analysis, instances_of(loaded.analysis, chosen))


def load_over_time(
    loaded: Loaded, names: Sequence[str], bins: int, *, by_name: bool
) -> series.OverTime:
    """CPU load in bins."""
    return series.load(loaded.analysis, loaded.chosen(names), bins, by_name=by_name)


def switches(loaded: Loaded, names: Sequence[str], bins: int, *, by_name: bool) -> series.OverTime:
    """Context switches in bins."""
    chosen = loaded.chosen(names, idle=True)
    return series.switches(loaded.analysis, chosen, bins, by_name=by_name)


def scheduling(loaded: Loaded, names: Sequence[str], *, by_name: bool) -> list[TaskScheduling]:
    """Waits for a CPU, time slices, preemptions, migrations."""
    return scheduling_of(loaded.analysis, loaded.chosen(names), by_name=by_name)


def wakeups(loaded: Loaded, names: Sequence[str], *, by_name: bool, unsure: bool) -> Wakeups:
    """Who wakes whom."""
    return wakeups_of(loaded.analysis, loaded.chosen(names), by_name=by_name, unsure=unsure)


def syscalls(
    loaded: Loaded, names: Sequence[str], *, by_name: bool, most: int | None = None
) -> Calls:
    """System calls; of calls by actors the ``most`` foremost, or all."""
    return syscalls_of(loaded.analysis, loaded.chosen(names), by_name=by_name, most=most)


def block(loaded: Loaded) -> list[Requests]:
    """Requests to block devices."""
    return requests(loaded.analysis)


def timers(loaded: Loaded) -> Timers:
    """Timers and tick-less periods."""
    return timers_of(loaded.analysis)


@dataclass(frozen=True, slots=True)
class Question:
    """A latency that is asked for, with the limits that it is to keep."""

    ends: tuple[End, ...]
    assertions: tuple[Assertion, ...]
    method: Method | None
    hops: int
    unsure: bool
    worst: int


def question(
    ends: Sequence[str],
    assertions: Sequence[str],
    *,
    method: str,
    hops: int,
    unsure: bool,
    worst: int,
) -> Question:
    """A question in the words of the command line, before any trace is read.

    Raises:
        UsageError: an end or an assertion is none.
    """
    return Question(
        tuple(parse_end(end) for end in ends),
        tuple(parse_assertion(text) for text in assertions),
        Method(method) if method else None,
        hops,
        unsure,
        worst,
    )


def latency(loaded: Loaded, asked: Question) -> tuple[Latency, list[Checked]]:
    """The latency, and what it is held against."""
    found = latency_of(
        loaded.analysis,
        asked.ends,
        method=asked.method,
        depth=asked.hops,
        unsure=asked.unsure,
        worst=asked.worst,
    )
    return found, [assertion.check(found) for assertion in asked.assertions]


def compare(
    loaded: tuple[Loaded, Loaded], names: Sequence[str], *, unsure: bool
) -> tuple[TraceComparison, list[str]]:
    """Two traces, actor by actor, and what makes the comparison doubtful.

    A name that only one of them knows is no error: that is an answer.
    """
    chosen = [_known(one, names) for one in loaded]
    if names and not any(chosen):
        loaded[0].chosen(names)  # says which there are
    found = compare_of(
        loaded[0].analysis, loaded[1].analysis, (chosen[0], chosen[1]), unsure=unsure
    )
    cautions = [
        f"{side} ({one.path.name}): {caution}"
        for side, one in zip("AB", loaded, strict=True)
        for caution in one.cautions
    ]
    return found, cautions


def _known(loaded: Loaded, names: Sequence[str]) -> list[Actor]:
    if not names:
        return loaded.chosen(())
    found: dict[int, Actor] = {}
    for name in names:
        with suppress(UsageError):
            found |= {actor.id: actor for actor in loaded.chosen([name])}
    return list(found.values())
