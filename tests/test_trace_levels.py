"""The timeline of real traces: against the spans that the analysis tells, looked at one by one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import skips
from trace_data import trace

from benchvise.trace.analysis.containers import containers
from benchvise.trace.levels import Levels, TimelineRow, shift_of, states
from benchvise.trace.loaded import LoadedTrace, load_trace

skips.need_decoder()

BACKGROUND = {"sleeping", "stopped", "idle"}
WAITS = ["runnable", "preempted", "sleeping", "uninterruptible", "stopped"]


@pytest.fixture(scope="module", params=["f100k", "vm-small"])
def loaded(request: pytest.FixtureRequest) -> LoadedTrace:
    return load_trace(trace(request.param), cache=False)


@pytest.fixture(scope="module")
def levels(loaded: LoadedTrace) -> Levels:
    return Levels(loaded.trace)


@pytest.fixture(scope="module")
def rows(loaded: LoadedTrace, levels: Levels) -> list[TimelineRow]:
    return levels.rows(loaded.analysis.actors, containers(loaded.analysis))


def spans_of(loaded: LoadedTrace, row: TimelineRow) -> list[tuple[int, int, str]]:
    """What a thread did, in order of time: (begin, end, state)."""
    analysis, origin = loaded.analysis, loaded.analysis.whole.begin
    found = []
    for table, state in ((analysis.fragments, None), (analysis.waits, "state")):
        for at in np.flatnonzero(table["actor"] == row.actor):
            name = "running" if state is None else WAITS[int(table[state][at])]
            found.append((int(table["begin"][at]) - origin, int(table["end"][at]) - origin, name))
    return sorted(found)


def test_rows_are_all_cpus_handlers_and_threads(
    loaded: LoadedTrace, rows: list[TimelineRow]
) -> None:
    analysis = loaded.analysis
    assert [row.id for row in rows] == list(range(len(rows)))
    assert [row.cpu for row in rows if row.kind == "cpu"] == analysis.cpus
    seen = {row.actor for row in rows if row.actor is not None}
    busy = set(np.unique(analysis.fragments["actor"])) | set(np.unique(analysis.waits["actor"]))
    assert seen == {actor for actor in busy if analysis.actors[actor].kind != "idle"}
    for row in rows:
        if row.kind == "thread":
            assert row.actor is not None
            assert row.tid == analysis.actors[row.actor].tid
            assert row.instances == int((analysis.instances["actor"] == row.actor).sum())
        elif row.kind != "cpu":
            of_actor = analysis.instances["actor"] == row.actor
            assert row.instances == int((of_actor & (analysis.instances["cpu"] == row.cpu)).sum())
    cpus = sum(row.instances for row in rows if row.kind == "cpu")
    assert cpus == len(analysis.instances)


def test_a_threads_row_is_what_it_did(
    loaded: LoadedTrace, levels: Levels, rows: list[TimelineRow]
) -> None:
    whole = loaded.analysis.whole
    duration = whole.end - whole.begin
    threads = [row for row in rows if row.kind == "thread"]
    for row in [*threads[:6], *random.Random(1).sample(threads, min(30, len(threads)))]:
        spans = spans_of(loaded, row)
        assert row.busy == sum(end - begin for begin, end, state in spans if state == "running")
        every = pa.table(levels.items([row.id], 0, duration + 1, 0)).to_pydict()
        apart = [
            (at, span) for at, span in enumerate(spans)
            if not at or spans[at - 1][0] < span[0]
        ]  # fmt: skip
        assert every["begin"] == [float(span[0]) for _, span in apart]
        assert sum(every["count"]) == len(spans)


def drawn(spans: list[tuple[int, int, str]], begin: int, end: int, shift: int) -> list[Any]:
    """What stands for each bucket that a span begins in: the definition, as it reads."""
    buckets: dict[tuple[int, bool], list[tuple[int, int, str]]] = {}
    for span in spans:
        bucket = span[0] >> shift
        if begin >> shift <= bucket <= (end - 1) >> shift:
            covers_the_next = span[1] >> shift >= bucket + 2
            buckets.setdefault((bucket, covers_the_next), []).append(span)
    found = []
    for _, inside in sorted(buckets.items()):
        best = max(range(len(inside)), key=lambda at: (is_active(inside[at]), length(inside[at])))
        active = [at for at, span in enumerate(inside) if is_active(span)]
        kept = {best, 0, len(inside) - 1, *active[:1], *active[-1:]}
        for at in sorted(kept):
            found.append((*inside[at], len(inside) - len(kept) + 1 if at == best else 1))
    return found


def is_active(span: tuple[int, int, str]) -> bool:
    return span[2] not in BACKGROUND


def length(span: tuple[int, int, str]) -> int:
    return span[1] - span[0]


def test_each_bucket_shows_what_ranks_highest(
    loaded: LoadedTrace, levels: Levels, rows: list[TimelineRow]
) -> None:
    chance = random.Random(2)
    duration = loaded.analysis.whole.end - loaded.analysis.whole.begin
    threads = [row for row in rows if row.kind == "thread"]
    for row in [*threads[:4], *chance.sample(threads, min(10, len(threads)))]:
        spans = spans_of(loaded, row)
        for _ in range(20):
            length = int(duration ** chance.random()) + 1
            begin = chance.randrange(duration)
            shift = shift_of(begin, begin + length, chance.choice([100, 2000]))
            table = levels.items([row.id], begin, begin + length, shift).to_pylist()
            shown = [
                (int(i["begin"]), int(i["end"]), states()[i["state"]], i["count"])
                for i in table
                if int(i["begin"]) >= begin >> shift << shift
            ]
            assert shown == drawn(spans, begin, begin + length, shift)
            for item in table[: len(table) - len(shown)]:
                assert item["end"] > begin >> shift << shift, "it reaches into the first bucket"


def test_no_pixel_is_blank_in_which_anything_ran(
    loaded: LoadedTrace, levels: Levels, rows: list[TimelineRow]
) -> None:
    """At any zoom, against all that ran, pixel by pixel."""
    analysis, origin = loaded.analysis, loaded.analysis.whole.begin
    duration = analysis.whole.end - origin
    fragments = analysis.fragments
    runs = ~analysis.of_kind("idle")[fragments["actor"]]
    chance = random.Random(4)
    shown_state = np.array([state not in BACKGROUND for state in states()])
    handlers = [row for row in rows if row.kind in ("irq", "softirq")][:4]
    for row in [*(row for row in rows if row.kind == "cpu"), *handlers]:
        here = runs & (fragments["cpu"] == row.cpu)
        if row.actor is not None:
            here &= fragments["actor"] == row.actor
        begins, ends = fragments["begin"][here] - origin, fragments["end"][here] - origin
        for width in (390, 857, 1440, 1920, 2880):
            pixel = duration * 2.0 ** -chance.uniform(0, 6) / width
            first = chance.uniform(0, duration - width * pixel)
            bucket = 1 << int(np.log2(pixel))
            begin, end = int(first) // bucket * bucket, int(first + width * pixel) + bucket
            table = levels.items([row.id], begin, end, bucket.bit_length() - 1)
            items = table.filter(shown_state[table["state"].values()])
            drawn_pixels = pixels(
                items["begin"].values(), items["end"].values(), first, pixel, width
            )
            np.testing.assert_array_equal(
                drawn_pixels, pixels(begins, ends, first, pixel, width), f"{row.name} {width}"
            )


def pixels(begins: Any, ends: Any, first: float, pixel: float, width: int) -> Any:
    """Which pixels of ``pixel`` ns have a part of a span."""
    left = np.floor((begins - first) / pixel)
    right = np.maximum(np.ceil((ends - first) / pixel), left + 1)
    here = (left < width) & (right > 0)
    borders = np.zeros(width + 1)
    np.add.at(borders, np.maximum(left[here], 0).astype(int), 1)
    np.add.at(borders, np.minimum(right[here], width).astype(int), -1)
    return np.cumsum(borders)[:-1] > 0


def test_a_cpus_row_is_the_innermost_that_ran(
    loaded: LoadedTrace, levels: Levels, rows: list[TimelineRow]
) -> None:
    analysis, origin = loaded.analysis, loaded.analysis.whole.begin
    fragments = analysis.fragments
    chance = random.Random(3)
    for row in (row for row in rows if row.kind == "cpu"):
        here = fragments["cpu"] == row.cpu
        for _ in range(300):
            time = chance.randrange(analysis.whole.begin, analysis.whole.end)
            holds = here & (fragments["begin"] <= time) & (time < fragments["end"])
            item = levels.at(row.id, time - origin)
            if not holds.any():
                assert item is None
                continue
            assert item is not None
            innermost = int(fragments["begin"][holds].max())
            among = holds & (fragments["begin"] == innermost)
            assert item.actor in fragments["actor"][among]
            assert item.begin <= time - origin < item.end


def test_marks_at_the_closest_are_the_events(
    loaded: LoadedTrace, levels: Levels, rows: list[TimelineRow]
) -> None:
    index, origin = pa.table(loaded.trace.index).to_pydict(), loaded.analysis.whole.begin
    for row in (row for row in rows if row.kind == "cpu"):
        begin = index["time"][1000] - origin
        end = index["time"][1400] - origin + 1
        table, only_rare = levels.marks([row.id], begin, end, 0)
        assert not only_rare
        wanted: dict[int, int] = {}
        for time, cpu in zip(index["time"], index["cpu"], strict=True):
            if cpu == row.cpu and begin <= time - origin < end:
                wanted[time - origin] = wanted.get(time - origin, 0) + 1
        marks = pa.table(table).to_pydict()
        assert dict(zip(map(int, marks["time"]), marks["count"], strict=True)) == wanted
        for time, event, place in zip(marks["time"], marks["event"], marks["index"], strict=True):
            assert (index["time"][place] - origin, index["event"][place]) == (time, event)


def test_what_is_kept_is_the_same(tmp_path: Path) -> None:
    copy = tmp_path / "trace.dat"
    copy.write_bytes(trace("f100k").read_bytes())
    found = []
    for _ in range(2):
        opened = load_trace(copy, cache=True)
        levels = Levels(opened.trace)
        duration = opened.analysis.whole.end - opened.analysis.whole.begin
        items = levels.items(list(range(levels.row_count)), 0, duration, 14)
        shown = (pa.table(items), pa.table(levels.overview(500)))
        analysis = opened.analysis
        found.append((levels.rows(analysis.actors, containers(analysis)), *shown))
    assert (copy.parent / "trace.dat.benchvise-cache" / "levels").is_dir()
    assert found[0] == found[1]


@pytest.mark.parametrize("first", [0, 3, 1 << 20])
def test_rows_that_were_prepared_show_the_same(
    loaded: LoadedTrace, levels: Levels, first: int
) -> None:
    """A page draws the first of them while the others are still to be made."""
    fresh = Levels(loaded.trace)
    fresh.prepare(first)
    rows, duration = list(range(levels.row_count)), loaded.analysis.whole.duration
    for shift in (10, 14, 20):
        shown, prepared = (each.items(rows, 0, duration, shift) for each in (levels, fresh))
        assert pa.table(prepared) == pa.table(shown)


def test_buckets_are_a_pixel_or_a_little_less() -> None:
    assert shift_of(0, 2000, 2000) == 0
    assert shift_of(0, 2048 << 10, 2048) == 10
    assert shift_of(5, 5 + 3 * 2000, 2000) == 1
    assert shift_of(0, 1, 2000) == 0
    assert shift_of(-(2**62), 2**62, 1) == 62
