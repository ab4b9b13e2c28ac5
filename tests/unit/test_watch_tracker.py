"""From look to look: deltas over reboots and devices that change, ranges, what is remembered."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from benchvise.documents import encode
from benchvise.health.model import LogMark, Observation, WatchedKind, WatchedValue, WatchEvent
from benchvise.health.watch.tracker import (
    BEYOND,
    COUNTER_RESET,
    REBOOTED,
    WatchMemory,
    WatchStep,
    advance,
    memory_of,
)

T = 1_790_000_000.0
GAP = 150.0


def seen(
    at: float,
    *figures: WatchedValue,
    boot: str = "a",
    uptime: float | None = None,
    events: Sequence[WatchEvent] = (),
    before: LogMark | None = None,
    mark: LogMark | None = None,
) -> Observation:
    return Observation(T + at, boot, uptime, figures, tuple(events), before, mark)


def follow(*looks: Observation) -> list[WatchStep]:
    """The steps of these looks; what is remembered goes through JSON, as in the store."""
    memory, steps = WatchMemory(), []
    for look in looks:
        steps.append(advance(memory, look, (), GAP))
        memory = memory_of(json.loads(json.dumps(encode(steps[-1].memory))))
        assert memory == steps[-1].memory
    return steps


def test_a_mark_of_another_version_counts_as_none() -> None:
    kept = WatchMemory(at=T, boot="a", values={"n": (1.0, T)})
    stored = {**encode(kept), "mark": {"boot": 1.5, "until": 2.0}}
    assert memory_of(stored) == kept


def deltas(kind: WatchedKind, *values: tuple[float, str]) -> list[float | None]:
    looks = [seen(60 * i, WatchedValue("n", kind, v), boot=b) for i, (v, b) in enumerate(values, 1)]
    return [c.delta for step in follow(*looks) for c in step.changes]


class TestCounters:
    def test_the_first_look_only_says_where_it_stands(self) -> None:
        assert deltas(WatchedKind.COUNTER, (7, "a")) == [None]

    def test_what_is_unchanged_is_not_written_again(self) -> None:
        assert deltas(WatchedKind.COUNTER, (7, "a"), (7, "a"), (9, "a"), (9, "a")) == [None, 2]

    def test_a_reboot_begins_at_0_and_gives_no_negative_delta(self) -> None:
        assert deltas(WatchedKind.COUNTER, (7, "a"), (9, "a"), (3, "b"), (4, "b")) == [
            None,
            2,
            3,
            1,
        ]

    def test_after_a_reboot_it_may_have_counted_further_than_before(self) -> None:
        assert deltas(WatchedKind.COUNTER, (7, "a"), (12, "b")) == [None, 12]
        assert deltas(WatchedKind.COUNTER, (7, "a"), (7, "b")) == [None, 7]

    def test_a_counter_of_the_device_goes_on_over_a_reboot(self) -> None:
        assert deltas(WatchedKind.LASTING, (7, "a"), (9, "b"), (9, "c")) == [None, 2]

    def test_another_device_is_a_new_beginning(self) -> None:
        looks = [
            seen(60, WatchedValue("n", WatchedKind.LASTING, 50)),
            seen(120, WatchedValue("n", WatchedKind.LASTING, 4)),
        ]
        step = follow(*looks)[1]
        assert [(c.delta, c.anew) for c in step.changes] == [(None, True)]
        [event] = step.events
        assert (event.what, event.text) == (COUNTER_RESET, "n went from 50 to 4")

    def test_a_driver_that_is_loaded_anew_begins_at_0(self) -> None:
        looks = [
            seen(60, WatchedValue("n", WatchedKind.COUNTER, 50)),
            seen(120, WatchedValue("n", WatchedKind.COUNTER, 4)),
        ]
        step = follow(*looks)[1]
        assert [(c.delta, c.anew) for c in step.changes] == [(4, True)]
        assert [event.what for event in step.events] == [COUNTER_RESET]

    def test_a_level_goes_down_too(self) -> None:
        assert deltas(WatchedKind.LEVEL, (0, "a"), (3, "a"), (1, "b")) == [None, 3, -2]

    def test_a_change_says_between_which_looks_it_was(self) -> None:
        looks = [
            seen(60, WatchedValue("n", WatchedKind.COUNTER, 1)),
            seen(120),  # the device was away
            seen(9000, WatchedValue("n", WatchedKind.COUNTER, 5)),
        ]
        [change] = follow(*looks)[2].changes
        assert (change.since, change.at) == (T + 60, T + 9000)

    def test_what_is_no_number_is_left_out(self) -> None:
        step = follow(seen(60, WatchedValue("n", WatchedKind.COUNTER, math.nan)))[0]
        assert not step.changes and not step.memory.values

    @given(st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), max_size=30))
    def test_the_deltas_are_what_was_counted_and_never_negative(
        self, rises: list[tuple[int, bool]]
    ) -> None:
        """Whatever happens between looks: what is lost is only what a reboot has taken along."""
        value, boot, looks, whole = (
            0,
            0,
            [seen(1, WatchedValue("n", WatchedKind.COUNTER, 0), boot="0")],
            0,
        )
        for index, (rise, reboots) in enumerate(rises, 2):
            boot += reboots
            value = rise if reboots else value + rise
            whole += rise
            looks.append(
                seen(60 * index, WatchedValue("n", WatchedKind.COUNTER, value), boot=str(boot))
            )
        found = [c.delta for step in follow(*looks) for c in step.changes if c.delta is not None]
        assert all(delta >= 0 for delta in found)
        assert sum(found) == whole


class TestReboots:
    def test_another_boot_id_is_a_reboot(self) -> None:
        first, second = follow(seen(60, boot="a", uptime=60), seen(600, boot="b", uptime=100))
        assert not first.rebooted and second.rebooted
        [event] = second.events
        assert event.what == REBOOTED
        assert event.at == T + 500  # when its uptime began

    def test_it_cannot_have_been_before_the_last_look(self) -> None:
        second = follow(seen(60, boot="a"), seen(600, boot="b", uptime=9999))[1]
        assert second.events[0].at == T + 60

    def test_without_boot_ids_the_uptime_decides(self) -> None:
        steps = follow(
            seen(60, boot="", uptime=1000),
            seen(120, boot="", uptime=1055),  # an imprecise clock
            seen(180, boot="", uptime=20),
        )
        assert [step.rebooted for step in steps] == [False, False, True]


class TestSensors:
    def test_a_range_ends_after_half_an_hour_if_it_varies(self) -> None:
        looks = [
            seen(60 * i, WatchedValue("t", WatchedKind.SENSOR, 40 + i % 3)) for i in range(1, 62)
        ]
        ended = [r for step in follow(*looks) for _, r in step.ranges]
        assert [(r.readings, r.low, r.high) for r in ended] == [(30, 40, 42), (30, 40, 42)]
        assert ended[0].total / 30 == 41

    def test_what_does_not_vary_is_one_range_however_long(self) -> None:
        looks = [seen(60 * i, WatchedValue("t", WatchedKind.SENSOR, 12.0)) for i in range(1, 500)]
        steps = follow(*looks)
        assert not any(step.ranges for step in steps)
        assert steps[-1].memory.ranges["t"].readings == 499

    def test_a_gap_ends_it(self) -> None:
        steps = follow(
            seen(60, WatchedValue("t", WatchedKind.SENSOR, 1)),
            seen(999, WatchedValue("t", WatchedKind.SENSOR, 1)),
        )
        [(name, one)] = steps[1].ranges
        assert (name, one.until) == ("t", T + 60)

    def test_a_sensor_that_went_away_is_kept(self) -> None:
        steps = follow(seen(60, WatchedValue("t", WatchedKind.SENSOR, 1)), seen(120), seen(300))
        assert [len(step.ranges) for step in steps] == [0, 0, 1]


class TestLog:
    LINE = WatchEvent("ATA error", "ata1: failed", T + 50, T + 50, 1, "failing")

    def test_the_mark_goes_on_with_what_was_read(self) -> None:
        steps = follow(
            seen(60, events=[self.LINE], mark=LogMark("a", 1, 1)),
            seen(120, before=LogMark("a", 1, 1), mark=LogMark("a", 2, 1)),
        )
        assert [len(step.events) for step in steps] == [1, 0]
        assert steps[1].memory.mark == LogMark("a", 2, 1)

    def test_two_watches_count_a_line_once(self) -> None:
        """Both read from the start; the second finds that the first was there."""
        steps = follow(
            seen(60, events=[self.LINE], mark=LogMark("a", 1, 1)),
            seen(300, events=[self.LINE], before=None, mark=LogMark("a", 1, 1)),
        )
        assert [len(step.events) for step in steps] == [1, 0]
        assert steps[1].memory.mark == LogMark("a", 1, 1)

    def test_a_look_that_another_watch_overtook_changes_nothing(self) -> None:
        figure = WatchedValue("n", WatchedKind.COUNTER, 5)
        steps = follow(seen(60, figure), seen(59, WatchedValue("n", WatchedKind.COUNTER, 4)))
        assert steps[1] == WatchStep(steps[0].memory)

    def test_a_host_clock_that_is_set_back_is_followed(self) -> None:
        steps = follow(
            seen(
                0,
                WatchedValue("n", WatchedKind.COUNTER, 5),
                WatchedValue("t", WatchedKind.SENSOR, 1),
            ),
            seen(
                -90_000,
                WatchedValue("n", WatchedKind.COUNTER, 6),
                WatchedValue("t", WatchedKind.SENSOR, 1),
            ),
        )
        [change] = steps[1].changes
        assert change.delta == 1 and change.since <= change.at
        assert len(steps[1].ranges) == 1

    def test_a_flood_is_counted_not_kept(self) -> None:
        events = [WatchEvent("oops", f"line {'x' * i}", T + 1, T + 1) for i in range(1000)]
        step = follow(seen(60, events=events, mark=LogMark("a", 1, 1)))[0]
        assert len(step.events) == 201
        assert (step.events[-1].text, step.events[-1].count) == (BEYOND, 800)

    def test_no_event_lies_in_the_future(self) -> None:
        late = WatchEvent("oops", "clock of the board runs fast", T + 500, T + 900)
        step = follow(seen(60, events=[late], mark=LogMark("a", 1, 1)))[0]
        assert (step.events[0].at, step.events[0].last) == (T + 60, T + 60)
