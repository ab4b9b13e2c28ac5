"""What a watch keeps, on both kinds of database, and what runs say of it."""

from __future__ import annotations

import threading
import time

import pytest
from store_places import Place
from watch_boards import DAY, HOUR, MONDAY, PlayedBoard, PlayedClock, play

from benchvise.errors import StoreError
from benchvise.health.model import LogMark, Observation, WatchedKind, WatchedValue, WatchEvent
from benchvise.health.watch.alerts import default_rules
from benchvise.health.watch.history import WatchSpan, tabulate
from benchvise.health.watch.tracker import WatchMemory, WatchStep, advance
from benchvise.measure.model import RunRemark, RunStatus
from benchvise.store import Store
from benchvise.store.watches import Watched

pytest_plugins = ["store_fixtures"]


def look(
    store: Store, watched: Watched, at: float, crc: float, *events: WatchEvent, boot: str = "a"
) -> WatchStep:
    """One look at a board whose disk counts."""
    memory = store.watches.memory(watched)
    seen = Observation(
        at,
        boot,
        None,
        (
            WatchedValue("sda CRC errors", WatchedKind.LASTING, crc),
            WatchedValue("SoC", WatchedKind.SENSOR, 50.5, "°C"),
        ),
        events,
        memory.mark,
        LogMark("a", at, 1),
    )
    return store.watches.step(watched, lambda m: advance(m, seen, default_rules(), 150))


def test_weeks_come_back_as_they_were_seen(store: Store) -> None:
    board = PlayedBoard(
        PlayedClock(),
        sensors={"SoC": lambda now: 50 + (now % DAY) / HOUR},
        lasting={"crc": lambda now: (now - MONDAY) // DAY},
        log=((MONDAY + DAY * 1.5, "ATA error", "ata1: \0 reset ✓"),),
        boots=(MONDAY - DAY, MONDAY + DAY * 2.5),
    )
    play(board, store, MONDAY + 4 * DAY, every=4 * HOUR)
    history = store.watches.history("ssh://played", MONDAY, MONDAY + 9 * DAY)
    assert history is not None
    table = tabulate(history, "day")
    [crc] = table.counters
    assert crc.rises == (0, 1, 1, 1, 1)
    assert {event.what for event in history.events} == {"alert", "ATA error", "rebooted"}
    [logged] = [event for event in history.events if event.what == "ATA error"]
    assert (logged.text, logged.at) == ("ata1: \ufffd reset ✓", MONDAY + DAY * 1.5)
    assert [(span.polls, span.ending) for span in history.spans] == [
        (15, "the board was booted anew"),
        (10, "stopped"),
    ]
    [soc] = table.sensors
    assert soc.ranges[1] is not None and soc.ranges[1][0] == 50 and soc.ranges[1][2] == 70
    assert history.open_alerts == (("link errors", "crc", MONDAY + DAY),)
    later = store.watches.history("ssh://played", MONDAY + 3 * DAY, MONDAY + 9 * DAY)
    assert later is not None
    [crc] = tabulate(later, "day").counters
    assert crc.total == 2 and crc.now == 4


def test_a_step_is_kept_whole_or_not_at_all(store: Store, place: Place) -> None:
    watched = store.watches.begin("ssh://pi", simulated=False)
    look(store, watched, MONDAY, 1)

    def fails(memory: WatchMemory) -> WatchStep:
        step = advance(memory, Observation(MONDAY + 60, "a", None), (), 150)
        bad = WatchEvent("x", "y", MONDAY, MONDAY, count="many")  # type: ignore[arg-type]
        return WatchStep(step.memory, events=(WatchEvent("good", "", MONDAY, MONDAY), bad))

    with pytest.raises((StoreError, TypeError)):
        store.watches.step(watched, fails)
    assert store.watches.memory(watched).at == MONDAY
    assert place.query("SELECT count(*) FROM watch_event") == [(0,)]


def test_a_board_is_watched_once_however_often_it_is_begun(store: Store) -> None:
    numbers = {store.watches.begin("ssh://pi", simulated=False).number for _ in range(3)}
    assert len(numbers) == 1
    assert store.watches.begin("local", simulated=False).number not in numbers
    assert store.watches.boards() == ["ssh://pi", "local"]
    assert store.watches.history("ssh://other", 0, 1e10) is None


def test_two_watches_at_the_same_time_count_once(place: Place) -> None:
    """Both look at the same counter and the same log; what rose is in the store once."""
    with Store.open(place.url) as first, Store.open(place.url) as second:
        watched = first.watches.begin("ssh://pi", simulated=False)
        look(first, watched, MONDAY, 0)

        def run(store: Store, offset: float) -> None:
            for i in range(1, 30):
                at = MONDAY + 60 * i + offset
                memory = store.watches.memory(watched)
                line = WatchEvent(
                    "ATA error", "ata1: reset", MONDAY + 30, MONDAY + 30, 1, "failing"
                )
                lines = () if memory.mark != LogMark("a", MONDAY, 1) else (line,)
                seen = Observation(
                    at, "a", None, (WatchedValue("sda CRC errors", WatchedKind.LASTING, i),), lines,
                    memory.mark, LogMark("a", at, 1),
                )  # fmt: skip
                store.watches.step(
                    watched,
                    lambda m, seen=seen: advance(m, seen, (), 150),  # type: ignore[misc]
                )

        threads = [
            threading.Thread(target=run, args=(s, o)) for s, o in ((first, 0.0), (second, 1.0))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        history = first.watches.history("ssh://pi", 0, 1e10)
    assert history is not None
    [crc] = [m for m in history.metrics if m.name == "sda CRC errors"]
    risen = sum(c.delta for c in crc.changes if c.delta is not None)
    assert crc.changes[-1].value == 29
    # One may be looking while the other is already further: that is another device to it, never
    # a negative rise, and never more than there was from one beginning to the next.
    assert all(c.delta is None or c.delta >= 0 for c in crc.changes)
    assert risen <= 29 + sum(29 for c in crc.changes[1:] if c.delta is None)
    assert sum(e.count for e in history.events if e.what == "ATA error") == 1


class TestRuns:
    """What happened during a run stands with it, whoever saw it, and whenever."""

    def test_events_and_counters_of_that_time_are_remarks(self, store: Store) -> None:
        run = begin_on(store, "ssh://pi")
        now = time.time()
        watched = store.watches.begin("ssh://pi", simulated=False)
        look(store, watched, now - 120, 3)
        store.end_run(run, RunStatus.COMPLETE)
        assert store.load(run).remarks == ()
        line = WatchEvent("ATA error", "ata1.00: hard reset", now, now, 3, "failing")
        note = WatchEvent("taint", "module loaded", now, now, 1, "note")
        before = WatchEvent("USB error", "usb 1-1: reset", now - 900, now - 900, 1, "failing")
        look(store, watched, now + 30, 8, line, note, before)
        remarks = store.load(run).remarks
        assert remarks == (
            RunRemark("watch", "ATA error, 3 times meanwhile, the last one: ata1.00: hard reset"),
            RunRemark("watch", "counted meanwhile: sda CRC errors by 5"),
        )

    def test_the_last_event_of_a_kind_is_told_whatever_began_first(self, store: Store) -> None:
        run = begin_on(store, "ssh://pi")
        now = time.time()
        store.end_run(run, RunStatus.COMPLETE)
        watched = store.watches.begin("ssh://pi", simulated=False)
        # All of them go on during the run, which is in no state for long.
        seen = [
            WatchEvent("ATA error", "ata1: it ended last", now - 50, now + 9, 1, "failing"),
            WatchEvent("ATA error", "ata1: it ended first", now - 40, now + 1, 2, "failing"),
            WatchEvent("EXT4 error", "sda1: it began last", now - 20, now + 2, 1, "failing"),
        ]
        look(store, watched, now + 10, 0, *seen)
        assert store.load(run).remarks == (
            RunRemark("watch", "ATA error, 3 times meanwhile, the last one: ata1: it ended last"),
            RunRemark("watch", "EXT4 error, once meanwhile, the last one: sda1: it began last"),
        )

    def test_what_the_run_has_noted_itself_is_not_said_twice(self, store: Store) -> None:
        run = begin_on(store, "ssh://pi")
        now = time.time()
        watched = store.watches.begin("ssh://pi", simulated=False)
        noted = RunRemark("kernel log", "ATA error: 1 line, the last one: [9.1] ata1: reset")
        store.set_remarks(run, [noted])
        store.end_run(run, RunStatus.COMPLETE)
        look(store, watched, now, 0, WatchEvent("ATA error", "ata1: reset", now, now, 1, "failing"))
        assert store.load(run).remarks == (noted,)

    def test_another_board_has_nothing_to_do_with_it(self, store: Store) -> None:
        run = begin_on(store, "ssh://other")
        now = time.time()
        watched = store.watches.begin("ssh://pi", simulated=False)
        look(store, watched, now, 0, WatchEvent("ATA error", "ata1: reset", now, now, 1, "failing"))
        store.end_run(run, RunStatus.COMPLETE)
        assert store.load(run).remarks == ()


def begin_on(store: Store, board: str) -> str:
    return store.begin_run("", board, "quick", 7, {}, {}, False, [])


def test_spans_say_how_far_they_go_and_what_they_cost(store: Store) -> None:
    watched = store.watches.begin("ssh://pi", simulated=True)
    span = WatchSpan(MONDAY, MONDAY, 1, 60.0, "a", "", None)
    identity = store.watches.begin_span(watched, span)
    longer = WatchSpan(MONDAY, MONDAY + 600, 11, 60.0, "a", "stopped", 0.6)
    store.watches.extend_span(identity, longer)
    history = store.watches.history("ssh://pi", 0, 1e10)
    assert history is not None and history.simulated
    assert history.spans == (longer,)
    assert longer.cost == pytest.approx(0.001)
