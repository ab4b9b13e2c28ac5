"""Changes of many series and boards become events, with what changed in the state beside them."""

from __future__ import annotations

import random
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from benchvise.errors import UsageError
from benchvise.flows.history import HistoryRequest, find_events
from benchvise.measure.model import (
    ProcessRecord,
    RunStatus,
    Sample,
    SeriesRecord,
    SeriesSpec,
    SeriesStatus,
)
from benchvise.report.history_events import (
    BoardChange,
    SeriesChange,
    StateChange,
    board_changes,
    event_rows,
    group_events,
)
from benchvise.report.history_formats import events_csv, otava_csv
from benchvise.report.rendering import table_markdown
from benchvise.store import Past, PastRun, Store
from benchvise.text import NO_TEXT

HOSTILE = "ssh://a\x1b[31m\u202e<img src=x>'; rm -rf ~ #\nb"
_NUMBERS = count(1)


def past_run(board: str, night: int, kernel: str = "6.12.9", **more: str) -> PastRun:
    number = next(_NUMBERS)
    return PastRun(
        number=number,
        id=f"{number:012x}",
        label="",
        board=board,
        suite="quick",
        status=RunStatus.COMPLETE,
        started=(datetime(2026, 11, 1, 2, tzinfo=UTC) + timedelta(days=night)).isoformat(),
        simulated=False,
        tool_version="0.2.0",
        kernel=kernel,
        settings=more,
        tags=(),
        note=NO_TEXT,
    )


def series(key: str, value: float) -> SeriesRecord:
    spec = SeriesSpec(key.partition(":")[0], (), key)
    process = ProcessRecord(0, {}, tuple(Sample(n, value) for n in range(3)), True)
    return SeriesRecord(spec, "ns", "lower", "", SeriesStatus.MEASURED, "", (process,))


def nights(
    board: str, shifts: Mapping[str, tuple[int, float]], *, nights: int = 24, kernel_at: int = 99
) -> list[Past]:
    """Each series' values, with one per cent of noise, times its factor from its night on."""
    chance = random.Random(board)
    past = []
    for night in range(nights):
        run = past_run(board, night, "6.12.10" if night >= kernel_at else "6.12.9")
        for key, (at, factor) in shifts.items():
            value = 100 * (1 + 0.01 * chance.gauss(0, 1)) * (factor if night >= at else 1)
            past.append(Past(run, series(key, value)))
    return past


def kernels(before: PastRun, after: PastRun) -> tuple[tuple[StateChange, ...] | None, str]:
    if before.kernel == after.kernel:
        return (), ""
    return (StateChange("kernel", before.kernel, after.kernel),), ""


def events_of(*boards: Sequence[Past]) -> list[tuple[str, list[str]]]:
    changes = [change for past in boards for change in board_changes(past, kernels)]
    return [(e.headline, sorted(b.board for b in e.boards)) for e in group_events(changes)]


def test_changes_of_many_series_and_boards_are_one_event() -> None:
    shifts = {f"memory.copy:size={n}K": (12, 1.2) for n in range(4)}
    boards = [nights(f"rig:{name}", shifts, kernel_at=12) for name in "abcd"]
    assert events_of(*boards) == [
        (
            "4 series of 4 boards at 2026-11-13: kernel 6.12.9 → 6.12.10",
            ["rig:a", "rig:b", "rig:c", "rig:d"],
        )
    ]


def test_the_same_change_of_the_state_joins_boards_that_got_it_on_other_days() -> None:
    shift = {"os.syscall": (10, 1.3)}
    late = {"os.syscall": (16, 1.3)}
    [(_, boards)] = events_of(
        nights("rig:a", shift, kernel_at=10), nights("rig:b", late, kernel_at=16)
    )
    assert boards == ["rig:a", "rig:b"]
    # Without a known reason they are two: only what happened at the same time belongs together.
    assert len(events_of(nights("rig:a", shift), nights("rig:b", late))) == 2
    assert len(events_of(nights("rig:a", shift), nights("rig:b", shift))) == 1


def test_other_changes_of_the_state_are_other_events_though_of_the_same_night() -> None:
    def other(before: PastRun, after: PastRun) -> tuple[tuple[StateChange, ...] | None, str]:
        return (StateChange("cpu.governor", "performance", "powersave"),) * (
            before.kernel != after.kernel
        ), ""

    shift = {"os.syscall": (10, 1.3)}
    changes = [
        *board_changes(nights("rig:a", shift, kernel_at=10), kernels),
        *board_changes(nights("rig:b", shift, kernel_at=10), other),
    ]
    assert [len(event.boards) for event in group_events(changes)] == [1, 1]


def test_a_change_of_the_state_a_run_away_is_where_it_happened() -> None:
    """Noise moves a change point by a run."""
    past = nights("rig:a", {"os.syscall": (12, 1.3)}, kernel_at=13)
    (change,) = board_changes(past, kernels)
    assert change.state == (StateChange("kernel", "6.12.9", "6.12.10"),)
    runs = list({entry.run.number: entry.run for entry in past}.values())
    assert (change.before, change.after) == (runs[12].id, runs[13].id)


def test_what_is_not_known_is_said_and_what_did_not_change_too() -> None:
    past = nights("rig:a", {"os.syscall": (12, 0.7)})
    (event,) = group_events(board_changes(past, lambda _a, _b: (None, "not recorded")))
    assert event.headline.endswith("what changed is not known")
    assert "state not known: not recorded" in event_rows(event, 10).remarks
    (event,) = group_events(board_changes(past, kernels))
    assert event.headline.endswith("nothing is known to have changed in the state")
    assert event.boards[0].series[0].verdict == "faster"
    assert events_of(nights("rig:a", {"os.syscall": (99, 1.0)})) == []


@pytest.mark.parametrize("seed", range(6))
def test_every_change_of_a_series_is_in_one_event_of_its_board(seed: int) -> None:
    chance = random.Random(seed)
    past = []
    for board in range(chance.randint(1, 4)):
        shifts = {
            f"os.bench_{n}": (chance.randint(3, 13), chance.choice([0.5, 0.8, 1.0, 1.4, 3.0]))
            for n in range(chance.randint(1, 5))
        }
        kernel_at = chance.randint(0, 20)
        past.append(nights(f"b{board}-{seed}", shifts, nights=16, kernel_at=kernel_at))
    changes = [change for of_board in past for change in board_changes(of_board, kernels)]
    events = group_events(changes)
    assert sorted(map(id, changes)) == sorted(id(b) for e in events for b in e.boards)
    for event in events:
        boards = [board.board for board in event.boards]
        assert len(boards) == len(set(boards))
    started = [event.started for event in events]
    assert started == sorted(started, reverse=True)
    for change in changes:
        keys = [one.key for one in change.series]
        assert len(keys) == len(set(keys)) and keys


def test_next_steps_can_be_pasted_and_hostile_names_have_none() -> None:
    shifts = {"os.syscall:a=b c;reboot": (12, 1.5)}
    (change,) = board_changes(nights("ssh://root@pi", shifts, kernel_at=12), kernels)
    (event,) = group_events([change])
    why, compare, bisect = event.next_steps
    assert shlex.split(why) == [
        *("benchvise", "why", "--good", change.before, "ssh://root@pi"),
        *("--bench", "os.syscall:a=b c;reboot"),
    ]
    assert compare == f"benchvise compare {change.before} {change.after}"
    assert shlex.split(bisect)[2:6] == ["--good", "6.12.9", "--bad", "6.12.10"]
    (change,) = board_changes(nights(HOSTILE, shifts, kernel_at=12), kernels)
    (event,) = group_events([change])
    assert event.next_steps == ()
    text = table_markdown(event_rows(event, None))
    assert "\x1b" not in text and "\u202e" not in text
    assert "<img" not in text.replace("\\<img", "")


def test_the_largest_changes_are_listed_and_the_others_counted() -> None:
    past = nights("rig:a", {f"os.bench_{n}": (12, 1.2 + n / 10) for n in range(5)})
    (event,) = group_events(board_changes(past, kernels))
    table = event_rows(event, 2)
    assert [row[0].text for row in table.rows] == ["os.bench_4", "os.bench_3"]
    assert "3 more changes of series (--all)" in table.remarks
    assert len(event_rows(event, None).rows) == 5


def test_a_file_for_otava_has_whole_lines_only() -> None:
    past = nights("rig:a", {"os.syscall": (12, 1.2), "os,comma": (99, 1.0)}, nights=4)
    gap = past[2].run.number
    past = [e for e in past if (e.run.number, e.series.spec.key) != (gap, "os,comma")]
    head, *lines = otava_csv(past).splitlines()
    assert head == 'time,run,label,suite,kernel,os.syscall,"os,comma"'
    assert len(lines) == 3 and f"{gap:012x}" not in "".join(lines)
    assert all(len(line.split(",")) == 7 for line in lines)


# -- of a store ------------------------------------------------------------------------------------


def test_events_of_a_store_name_what_snapshots_and_settings_say(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "x.db")) as store:
        for night in range(16):
            for board in ("pi", "pi\x1b[1m"):
                plan = {"settings": {"thp": "never" if night < 8 else "always"}}
                spec = SeriesSpec("memory.copy", (), "memory.copy")
                planned = [(spec, "B/s", "higher", "")]
                run = store.begin_run("", board, "quick", 1, plan, {}, False, planned)  # type: ignore[arg-type]
                process = store.begin_process(run, 0, 0, {})
                factor = 2.0 if night >= 8 and board == "pi" else 1.0
                value = factor * (100 + night % 3)
                store.add_samples(process, [Sample(n, value, {"x": 1}) for n in range(3)])
                store.end_run(run, RunStatus.COMPLETE)
        found = find_events(store, HistoryRequest())
        (event,) = found.events
        assert event.headline == "1 series of 1 board at " + event.started[:10] + (
            ": set thp never → always"
        )
        assert event.boards[0].series[0].verdict == "faster"
        assert (found.series, set(found.boards), found.left_out) == (1, {"pi", "pi\x1b[1m"}, ())
        assert "set thp: never -> always" in events_csv(found)
        only = find_events(store, HistoryRequest(most_boards=1))
        assert len(only.left_out) == 1
        assert find_events(store, HistoryRequest(boards=("pi\x1b[1m",))).events == ()


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "x.db")) as store:
        with pytest.raises(UsageError, match="no runs in") as error:
            find_events(store, HistoryRequest())
        assert "benchvise run" in error.value.remedy
        with pytest.raises(UsageError, match=r"no run in .* has such a series"):
            find_events(store, HistoryRequest(boards=("rig:a",)))


def board_change(board: str, before: str, after: str) -> BoardChange:
    change = SeriesChange("os.syscall", "a", "b", 1.2, 1.1, 1.3, 0.001, "slower")
    return BoardChange(board, False, "a", "b", before, after, (change,), None, "not recorded")


def test_times_with_and_without_a_fraction_are_in_order() -> None:
    changes = [
        board_change("a", "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00.500+00:00"),
        board_change("b", "2026-01-03T00:00:00.000+00:00", "2026-01-04T00:00:00+00:00"),
    ]
    events = group_events(changes)
    assert [event.boards[0].board for event in events] == ["b", "a"]
