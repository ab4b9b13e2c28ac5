"""Response times of several files beside each other: implementations, loads, governors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchvise.errors import UsageError
from benchvise.signal.distribution import (
    Distribution,
    FactorEffect,
    TimesDifference,
    difference,
    distribution,
    effects,
    histogram,
)
from benchvise.signal.readers.options import ReadOptions
from benchvise.signal.reading import open_capture
from benchvise.signal.response import Edge, Responses, is_list, list_head, read_list, responses
from benchvise.tails import CountedTimes, TailDifference, tail_differences

_BLOCKS = "▁▂▃▄▅▆▇█"
_SPARKS = 16


@dataclass(frozen=True, slots=True)
class Configuration:
    """One file of response times: its name, the levels of its factors, its times and their
    distribution; ``relative`` and ``tails`` are to the first configuration."""

    name: str
    levels: tuple[str, ...]
    responses: Responses
    distribution: Distribution
    relative: TimesDifference | None
    tails: tuple[TailDifference, ...] = ()


@dataclass(frozen=True, slots=True)
class ResponseComparison:
    """All configurations, and what each factor does."""

    configurations: tuple[Configuration, ...]
    factors: tuple[str, ...]
    effects: tuple[FactorEffect, ...]


def compare_configurations(
    files: Sequence[tuple[str, Path]],
    reading: ReadOptions,
    edges: tuple[Edge, Edge] | None,
    window_s: float | None,
    factors: Sequence[str],
) -> ResponseComparison:
    """Response times of each file, by name: captures, or lists of times.

    With factors the name is a level of each, joined by slashes. UsageError for two files of one
    name, for a capture without edges, and where no stimulus was answered; CaptureError.
    """
    if len({name for name, _ in files}) != len(files):
        raise UsageError("two files have the same name", "name them: NAME=FILE")
    levels = {name: _levels(name, factors) for name, _ in files}
    configurations: list[Configuration] = []
    for name, path in files:
        times = _read_responses(path, reading, edges, window_s)
        reference = configurations[0].responses.seconds if configurations else None
        configurations.append(
            Configuration(
                name,
                levels[name],
                times,
                distribution(times.seconds),
                None if reference is None else difference(times.seconds, reference),
                ()
                if reference is None
                else tail_differences(
                    CountedTimes.of(times.seconds.tolist()),
                    CountedTimes.of(reference.tolist()),
                    len(files) - 1,
                ),
            )
        )
    by_levels = {item.levels: item.responses.seconds for item in configurations}
    return ResponseComparison(
        tuple(configurations), tuple(factors), effects(by_levels, factors) if factors else ()
    )


def _read_responses(
    path: Path, reading: ReadOptions, edges: tuple[Edge, Edge] | None, window_s: float | None
) -> Responses:
    if is_list(path):
        times = read_list(path)
    elif edges is None:
        list_head(path)  # what cannot be read at all is no capture either
        raise UsageError(
            f"{path} is no list of times, so it is taken for a capture: which edges are meant?",
            "say --from LINE:rising --to LINE:rising; `benchvise signal info` lists the lines. "
            "A list has a time in seconds a line, with or without a running number before it",
        )
    else:
        times = responses(open_capture(path, reading), *edges, window_s)
    if times.seconds.size == 0:
        raise UsageError(
            f"{path}: none of {times.shots} stimuli was answered",
            "look at --from, --to and --window",
        )
    return times


def _levels(name: str, factors: Sequence[str]) -> tuple[str, ...]:
    if not factors:
        return (name,)
    levels = tuple(part.strip() for part in name.split("/"))
    if len(levels) != len(factors) or not all(levels):
        raise UsageError(
            f"'{name}' does not have a level of each of {', '.join(factors)}",
            f"name the file {'/'.join(factor.upper() for factor in factors)}=FILE",
        )
    return levels


@dataclass(frozen=True, slots=True)
class HistogramDocument:
    """Counts between edges in seconds."""

    edges: list[float]
    counts: list[int]


@dataclass(frozen=True, slots=True)
class ResponsesDocument:
    """One configuration as JSON, with all its times in seconds."""

    name: str
    source: str
    resolution: float | None
    missed: int
    extra: int
    stray: int
    notes: tuple[str, ...]
    figures: Distribution
    relative: TimesDifference | None
    tails: tuple[TailDifference, ...]
    histogram: HistogramDocument
    responses: list[float]
    at: list[float]
    missed_at: list[float | None]
    extra_at: list[float]


@dataclass(frozen=True, slots=True)
class ResponseComparisonDocument:
    """All configurations as JSON; ``saved`` are the ids of their runs in the store."""

    configurations: tuple[ResponsesDocument, ...]
    effects: tuple[FactorEffect, ...]
    saved: tuple[str, ...]


def responses_document(
    name: str,
    times: Responses,
    shape: Distribution,
    relative: TimesDifference | None = None,
    tails: tuple[TailDifference, ...] = (),
) -> ResponsesDocument:
    """One configuration as JSON."""
    edges, counts = histogram(times.seconds)
    return ResponsesDocument(
        name,
        str(times.source),
        times.resolution_s,
        int(times.missed_at.size),
        int(times.extra_at.size),
        times.stray,
        times.notes,
        shape,
        relative,
        tails,
        HistogramDocument(edges.tolist(), counts.tolist()),
        times.seconds.tolist(),
        times.at.tolist(),
        times.missed_at.tolist(),
        times.extra_at.tolist(),
    )


def comparison_document(
    comparison: ResponseComparison, saved: Sequence[str] = ()
) -> ResponseComparisonDocument:
    """All configurations as JSON."""
    return ResponseComparisonDocument(
        tuple(
            responses_document(
                item.name, item.responses, item.distribution, item.relative, item.tails
            )
            for item in comparison.configurations
        ),
        comparison.effects,
        tuple(saved),
    )


def sparkline(seconds: npt.NDArray[np.float64]) -> str:
    """The middle 98 % as a little histogram."""
    low, high = np.quantile(seconds, (0.01, 0.99))
    if low == high:
        return _BLOCKS[-1]
    counts, _ = np.histogram(seconds, bins=_SPARKS, range=(float(low), float(high)))
    top = counts.max()
    return "".join(
        " " if n == 0 else _BLOCKS[min(7, int(8 * n / (top + 1)))] for n in counts
    ).rstrip()
