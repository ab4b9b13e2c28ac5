"""What must be said of a run, from the snapshots around it: each rule, and silence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchvise.state.conditions import Condition, conditions
from benchvise.state.model import Family, Missing, Snapshot, StateEntry
from benchvise.text import Untrusted

SECOND = 10**9


def snapshot(at: float = 0.0, settings: Any = (), **observed: Any) -> Snapshot:
    """``observed`` are items with ``_`` for the dot: a table of keys and values each."""
    return Snapshot(
        board="local",
        taken="2026-01-02T03:04:05.000+00:00",
        boot_id="one",
        privilege="root",
        settings=tuple(settings),
        observations=tuple(
            StateEntry(item.replace("__", "."), key, value)
            for item, table in observed.items()
            for key, value in table.items()
        ),
        board_time_ns=int((100 + at) * SECOND),
        host_time_ns=int((7 + at) * SECOND),
    )


def rules(before: Snapshot, after: Snapshot) -> list[str]:
    return [condition.rule for condition in conditions(before, after)]


def only(before: Snapshot, after: Snapshot) -> Condition:
    (condition,) = conditions(before, after)
    return condition


def test_a_quiet_board_has_no_conditions() -> None:
    table = {"traffic": {"pswpin": 5, "pswpout": 6, "oom_kill": 0}}
    assert conditions(snapshot(memory__swap=table), snapshot(10, memory__swap=table)) == ()
    assert conditions(snapshot(), snapshot(10)) == ()


def test_throttling_is_told_by_counters_flags_and_cooling() -> None:
    def counted(count: int) -> Any:
        return {"cpu0 core_throttle_count": count}

    first = snapshot(power__throttling=counted(3))
    assert "5 times" in only(first, snapshot(10, power__throttling=counted(8))).sentence
    flags = {
        "flags": {"throttled now": True, "under-voltage now": False, "throttled since boot": True}
    }
    assert only(snapshot(), snapshot(10, power__throttling=flags)).sentence.endswith("throttled")
    cooling = {
        "device0 type": "thermal-cpufreq-0",
        "device0 cur_state": 2,
        "device1 type": "pwm-fan",
        "device1 cur_state": 4,
    }
    found = only(snapshot(), snapshot(10, thermal__cooling=cooling))
    assert found.rule == "throttled" and "fan" not in found.sentence


def test_swapping_and_kills() -> None:
    before = snapshot(memory__swap={"traffic": {"pswpin": 5, "pswpout": 6, "oom_kill": 0}})
    after = snapshot(10, memory__swap={"traffic": {"pswpin": 7, "pswpout": 6, "oom_kill": 1}})
    swapped, killed = conditions(before, after)
    assert swapped.sentence == "the board swapped: 2 pages in, 0 out"
    assert killed.rule == "out of memory"


def test_counters_that_went_back_count_as_nothing() -> None:
    before = snapshot(memory__swap={"traffic": {"pswpin": 500}})
    assert rules(before, snapshot(10, memory__swap={"traffic": {"pswpin": 1}})) == []


def test_a_quota_that_struck() -> None:
    before = snapshot(system__cgroup={"cpu.stat": {"nr_throttled": 1}})
    after = snapshot(10, system__cgroup={"cpu.stat": {"nr_throttled": 31}})
    assert only(before, after).rule == "CPU quota"


@pytest.mark.parametrize("online", ["0-1,3", [0, 1, 3]])
def test_fewer_cpus(online: Any) -> None:
    present = "0-3" if isinstance(online, str) else [0, 1, 2, 3]
    settings = [
        StateEntry("cpu.present", "present", present),
        StateEntry("cpu.present", "online", online),
    ]
    found = only(snapshot(settings=settings), snapshot(10, settings=settings))
    assert found.sentence == "3 of 4 CPUs are online, not 2"


def test_a_clock_below_what_is_said() -> None:
    def clocks(hertz: float) -> Any:
        return {"policy0 scaling_cur_freq": 1_500_000, "cpu0": {"best_hz": hertz, "first_hz": 1e8}}

    after = snapshot(10, cpu__measured_clock=clocks(1.2e9))
    assert "1200 MHz" in only(snapshot(), after).sentence
    assert rules(snapshot(), snapshot(10, cpu__measured_clock=clocks(1.49e9))) == []


def busy(name: str, ticks: int) -> Any:
    processes = [{"name": name, "pid": 7, "ticks": ticks}, {"name": "idle", "pid": 8, "ticks": 1}]
    return {"busy": {"window_ns": SECOND // 5, "ticks_per_second": 100, "processes": processes}}


def test_background_load_is_that_of_others() -> None:
    found = only(snapshot(system__processes=busy("apt-get", 18)), snapshot(10))
    assert found.sentence == "other processes were busy: apt-get (0.9 CPU)"
    assert rules(snapshot(system__processes=busy("bvprobe", 18)), snapshot(10)) == []
    assert rules(snapshot(system__processes=busy("cron", 2)), snapshot(10)) == []


def test_steal() -> None:
    def ticks(idle: int, steal: int) -> Any:
        return {"cpu": {"user": 10, "idle": idle, "steal": steal}}

    before = snapshot(system__load=ticks(1000, 5))
    assert "4.8 %" in only(before, snapshot(10, system__load=ticks(2000, 55))).sentence
    assert rules(before, snapshot(10, system__load=ticks(2000, 6))) == []


def log(until: float, **classes: list[float]) -> Any:
    return {
        "classes": {
            "until": until,
            "lines": 10,
            "classes": {
                name.replace("_", " "): {"count": len(times), "times": times, "last": ["[9] it"]}
                for name, times in classes.items()
            },
        }
    }


def test_lines_of_the_kernel_log_count_when_they_are_new() -> None:
    before = snapshot(log__classes=log(5.0, MMC_error=[1.0, 4.0]))
    after = snapshot(10, log__classes=log(9.0, MMC_error=[1.0, 4.0, 8.0], RCU_stall=[2.0]))
    found = only(before, after)
    assert found.families == (Family.STORAGE,)
    assert found.sentence == "MMC error: 1 line meanwhile, the last one: [9] it"
    assert rules(snapshot(), after) == [], "nothing is known of the time before"


def test_lines_of_the_kernel_log_are_told_by_device_and_meaning() -> None:
    before = snapshot(log__classes=log(5.0, ATA_error=[]))
    told = log(9.0, ATA_error=[8.0, 8.5])
    told["classes"]["classes"]["ATA error"]["last"] = ["[8.500000] ata1: hard resetting link"]
    found = only(before, snapshot(10, log__classes=told))
    assert found.families == (Family.STORAGE,)
    assert found.sentence == (
        "ATA error (ata1: the link was reset): 2 lines meanwhile, "
        "the last one: [8.500000] ata1: hard resetting link"
    )


@pytest.mark.parametrize(
    ("drift", "false"), [(0.2, False), (-0.2, False), (1.0, True), (-5.0, True)]
)
def test_a_clock_that_does_not_run_true(drift: float, false: bool) -> None:
    after = replace(snapshot(20), board_time_ns=int((120 + drift) * SECOND))
    assert rules(snapshot(), after) == (["false clock"] if false else [])


def test_a_reboot_is_told_and_explains_its_clock() -> None:
    after = replace(snapshot(60), boot_id="two", board_time_ns=3 * SECOND)
    assert rules(snapshot(), after) == ["rebooted"]


def test_settings_that_changed_are_named() -> None:
    def governor(value: str) -> list[StateEntry]:
        lost = StateEntry(
            "cpu.boost", "boost", missing=Missing.UNREADABLE, reason=Untrusted("EACCES")
        )
        return [StateEntry("cpu.governor", "policy0", value), lost]

    before, after = (
        snapshot(settings=governor("ondemand")),
        snapshot(10, settings=governor("powersave")),
    )
    assert only(before, after).sentence == "changed meanwhile: cpu.governor/policy0"


def test_what_only_counts_is_no_setting() -> None:
    def passes(count: int) -> list[StateEntry]:
        return [StateEntry("kernel.modules", "page_reporting.passes", count)]

    assert rules(snapshot(settings=passes(3)), snapshot(10, settings=passes(9))) == []
    assert rules(snapshot(settings=passes(9)), snapshot(10, settings=passes(3))) != []


@pytest.mark.parametrize(
    "garbage", [None, "x", 7, [], [1, None], {"classes": 3}, {"processes": {}}]
)
def test_garbage_from_a_board_is_no_condition(garbage: Any) -> None:
    items = ["memory__swap", "system__cgroup", "cpu__present", "cpu__measured_clock"]
    items += ["system__processes", "system__load", "log__classes", "thermal__cooling"]
    keys = ["traffic", "busy", "classes", "flags", "online", "device0 type", "cpu0"]
    observed: Any = {item: dict.fromkeys(keys, garbage) for item in [*items, "power__throttling"]}
    assert conditions(snapshot(**observed), snapshot(10, **observed)) == ()
