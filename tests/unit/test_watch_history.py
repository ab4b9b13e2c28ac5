"""Weeks that take no time: the table of story 7, gaps, reboots, and what the store keeps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from watch_boards import DAY, HOUR, MONDAY, WEEK, PlayedBoard, PlayedClock, play

from benchvise.documents import encode
from benchvise.errors import StoreError
from benchvise.health.watch.history import History, tabulate
from benchvise.report.health_tables import history_tables, watch_cost, watch_history_data
from benchvise.report.rendering import rendered
from benchvise.store import Store

CRC = "disk sda/UDMA_CRC_Error_Count"
RISES = (0, 2, 5, 9, 16, 31)
"""What story 7's cable does, week by week."""


def crc_of(now: float) -> float:
    weeks, rest = divmod(now - MONDAY, WEEK)
    whole = sum(RISES[: int(weeks)])
    # Within a week it rises in the middle of it.
    return 14 + whole + (RISES[int(weeks)] if weeks < len(RISES) and rest > WEEK / 2 else 0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(str(tmp_path / "weeks.db")) as opened:
        yield opened


def seen(store: Store) -> History:
    found = store.watches.history("ssh://played", 0, 4e9)
    assert found is not None
    return found


def shown(store: Store, by: str = "week") -> str:
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    for table in history_tables(seen(store), "week" if by == "week" else "day"):
        console.print(rendered(table))
    return console.export_text()


def test_less_than_a_tick_of_cpu_time_is_not_nothing() -> None:
    assert watch_cost(0.0, 3.0) == "under 0.01 s of one CPU"
    assert watch_cost(0.01, 4.0) == "0.25 % of one CPU"


def test_a_crc_count_that_rises_week_by_week(store: Store) -> None:
    """Story 7: the cable goes, week by week; in the fifth week the file system turns read-only."""
    clock = PlayedClock()
    line = "EXT4-fs (sda1): Remounting filesystem read-only"
    board = PlayedBoard(
        clock,
        sensors={"SoC": lambda now: 50 + 10 * (now % DAY) / DAY, "+12V": lambda _: 12.1},
        lasting={CRC: crc_of},
        log=((MONDAY + 4.4 * WEEK, "file system", line),),
        boots=(MONDAY - DAY, MONDAY + 2.2 * WEEK),
        away=((MONDAY + 3.1 * WEEK, MONDAY + 3.4 * WEEK),),
    )
    _, told = play(board, store, MONDAY + 6 * WEEK - HOUR, every=2 * HOUR)

    table = tabulate(seen(store), "week")
    [crc] = [one for one in table.counters if one.metric.name == CRC]
    assert crc.rises == RISES
    assert crc.now == 14 + sum(RISES)
    assert crc.rising == 5
    # On the Monday after, the new week does not end the row before it is over.
    for rises, is_over, rising in (((2.0, 3.0, 0.0), False, 2), ((2.0, 3.0, 0.0), True, 0)):
        assert replace(crc, rises=rises, is_last_over=is_over).rising == rising
    assert [round(share, 1) for share in table.watched] == [1, 1, 1, 0.7, 1, 1]
    [gap] = table.gaps
    assert gap.why == "played: no answer"
    assert abs(gap.began - (MONDAY + 3.1 * WEEK)) <= 2 * HOUR
    assert dict(table.events)["file system"] == (0, 0, 0, 0, 1, 0)
    assert dict(table.events)["rebooted"] == (0, 0, 1, 0, 0, 0)

    alerts = [one.what for one in told if one.alert and one.alert.raised]
    assert alerts.count("link errors") == 1, "hysteresis: it rises again within seven days"
    assert "read-only" in alerts

    text = shown(store)
    assert f"{CRC}: rises week by week, 5 in a row: +2, +5, +9, +16, +31" in " ".join(
        text.split()
    ).replace("UDMA_CRC_Error_Count rises", "UDMA_CRC_Error_Count: rises")
    assert "Remounting filesystem read-only" in text
    data = encode(watch_history_data(seen(store), "week"))
    assert data["simulated"] is True


def test_a_watch_that_is_killed_goes_on_where_it_was(store: Store) -> None:
    clock = PlayedClock()
    board = PlayedBoard(clock, rates={"ioerr": 1 / HOUR}, lasting={CRC: lambda now: now // HOUR})
    play(board, store, MONDAY + DAY)
    clock.at = MONDAY + 3 * DAY  # nobody watched
    play(board, store, MONDAY + 4 * DAY)
    history = seen(store)
    table = tabulate(history, "day")
    by_name = {one.metric.name: one for one in table.counters}
    assert [round(share, 2) for share in table.watched] == [1, 0.04, 0, 1, 0.04]
    # Nothing is lost, nothing counted twice; what rose meanwhile stands where it was seen.
    assert by_name["ioerr"].total == by_name[CRC].total == 96
    assert by_name[CRC].rises == (23, 1, None, 49 + 22, 1)
    assert by_name[CRC].over_gap[3]
    [gap] = table.gaps
    assert (gap.began, gap.ended) == (MONDAY + DAY, MONDAY + 3 * DAY)
    text = shown(store, "day")
    assert "+71*" in text and "not watched" in text


def test_a_reboot_nobody_saw_gives_no_negative_delta(store: Store) -> None:
    clock = PlayedClock()
    board = PlayedBoard(clock, rates={"n": 1 / HOUR}, boots=(MONDAY - DAY, MONDAY + 1.5 * DAY))
    play(board, store, MONDAY + DAY)
    clock.at = MONDAY + 2 * DAY
    play(board, store, MONDAY + 2.25 * DAY)
    [one] = tabulate(seen(store), "day").counters
    assert one.rises == (23, 1, 12 + 6)
    assert all(change.delta is None or change.delta >= 0 for change in one.metric.changes)
    events = [event for event in seen(store).events if event.what == "rebooted"]
    assert [event.at for event in events] == [MONDAY + 1.5 * DAY]


def test_a_board_that_is_lost_is_found_again(store: Store) -> None:
    clock = PlayedClock()
    minutes = 60.0
    board = PlayedBoard(clock, away=((MONDAY + 600, MONDAY + 3000),))
    watch, told = play(board, store, MONDAY + HOUR, every=minutes)
    assert [one.what for one in told] == ["contact lost", "contact again"]
    assert watch.outcome.lost == 1 and watch.outcome.error is None
    lost, again = seen(store).spans
    assert lost.ending == "played: no answer" and again.ending == "stopped"
    # It is tried less and less often, but at least every five minutes.
    assert again.began - (MONDAY + 3000) <= 300


def test_a_board_out_of_reach_at_first_is_waited_for(store: Store) -> None:
    board = PlayedBoard(PlayedClock(), away=((MONDAY, MONDAY + 600),))
    watch, told = play(board, store, MONDAY + HOUR, every=60)
    assert [one.what for one in told] == ["contact lost", "contact again"]
    assert watch.outcome.polls > 40


def test_what_is_unchanged_is_not_written_again(store: Store, tmp_path: Path) -> None:
    clock = PlayedClock()
    names = [f"sensor {i}" for i in range(20)]
    still = PlayedBoard(
        clock,
        sensors={name: lambda _: 12.0 for name in names},
        lasting={f"counter {i}": lambda _: 3.0 for i in range(50)},
    )
    play(still, store, MONDAY + HOUR / 2, every=60)
    before = rows(tmp_path / "weeks.db")
    play(still, store, MONDAY + 2 * HOUR, every=60)
    after = rows(tmp_path / "weeks.db")
    assert after["watch_range"] == before["watch_range"] == 0
    assert after["watch_change"] == before["watch_change"] == 50
    assert after["watch_event"] == before["watch_event"]
    # And what changes at each look is bounded.
    busy = PlayedBoard(
        clock,
        sensors={name: lambda now: now % 777 for name in names},
        rates={"n": 1.0},
        log=tuple((clock.at + i, "flood", "x" * (i % 500)) for i in range(0, 7000, 10)),
    )
    play(busy, store, clock.at + 2 * HOUR, every=60)
    last = rows(tmp_path / "weeks.db")
    assert last["watch_range"] <= 20 * 5
    assert last["watch_change"] <= 50 + 2 * 8
    assert last["watch_event"] - after["watch_event"] <= 3 * 201


def rows(file: Path) -> dict[str, int]:
    with sqlite3.connect(file) as connection:
        return {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in ("watch_range", "watch_change", "watch_event", "watch_span")
        }


def test_a_store_that_fails_for_a_while_loses_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = PlayedClock()
    board = PlayedBoard(
        clock,
        lasting={CRC: lambda now: now // HOUR},
        log=((MONDAY + 3.5 * HOUR, "ATA error", "ata1: reset"),),
    )
    real = type(store.watches).step

    def sometimes(self: object, watched: object, make: object) -> object:
        if MONDAY + 3 * HOUR <= clock.at <= MONDAY + 5 * HOUR:
            raise StoreError("the store is full", "free some")
        return real(self, watched, make)  # type: ignore[arg-type]

    monkeypatch.setattr(type(store.watches), "step", sometimes)
    _, told = play(board, store, MONDAY + 10 * HOUR)
    assert [one.what for one in told if one.severity == "error"] == ["not stored"]
    history = seen(store)
    [one] = tabulate(history, "day").counters
    assert one.total == 10
    assert [event.text for event in history.events if event.what == "ATA error"] == ["ata1: reset"]


def test_a_history_without_anything_has_no_periods(store: Store) -> None:
    store.watches.begin("ssh://played", simulated=False)
    table = tabulate(seen(store), "day")
    assert not table.periods and not table.gaps
    assert "not watched in that time" in " ".join(shown(store).split())
