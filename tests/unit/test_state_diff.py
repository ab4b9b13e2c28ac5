"""What differs between snapshots, and what happened between them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from state_boards import EACCES, ENOENT, PC, PC_LINKS, PI, PI_LINKS, answers, snapshot, with_entries

from benchvise.documents import encode
from benchvise.quantities import ABSENT
from benchvise.report.state_tables import (
    diff_rows,
    observed_rows,
    snapshot_rows,
    unseen_rows,
    value_text,
)
from benchvise.state.diff import (
    DifferenceKind,
    DifferencePart,
    NewLogLines,
    delta,
    diff_snapshots,
    natural,
    new_in_log,
    parts_of,
)
from benchvise.state.model import Missing, Snapshot, StateEntry, snapshot_of
from benchvise.state.normalise.kernel import kernel_log
from benchvise.text import Untrusted

THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def names(a: Snapshot, b: Snapshot) -> dict[str, DifferenceKind]:
    result = diff_snapshots(a, b)
    return {d.entry.name: d.kind for d in (*result.differences, *result.unseen)}


def pi(**changed: Any) -> Snapshot:
    return snapshot(answers({**PI, **changed}, PI_LINKS))


def test_equal_snapshots_have_equal_digests_and_no_difference() -> None:
    a, b = pi(), replace(pi(), taken="2027-01-01T00:00:00+00:00", boot_id="other", board="y")
    result = diff_snapshots(a, b)
    assert a.digest == b.digest
    assert not result.differences and not result.unseen and result.same > 5


def test_a_change_is_seen_and_nothing_else() -> None:
    b = pi(**{THP: "[always] madvise never\n"})
    assert names(pi(), b) == {"memory.thp/mode": DifferenceKind.CHANGED}
    (difference,) = diff_snapshots(pi(), b).differences
    assert difference.parts == (DifferencePart("", "madvise", "always"),)
    assert pi().digest != b.digest


def test_boards_with_other_devices_compare_by_role() -> None:
    """mmcblk0 and sda, eth0 and enp3s0: what is the same is no difference."""
    found = names(pi(), snapshot(answers(PC, PC_LINKS)))
    assert found["storage.scheduler/root_disk scheduler"] is DifferenceKind.CHANGED
    assert found["memory.thp/mode"] is DifferenceKind.CHANGED
    assert found["storage.queue/sdb read_ahead_kb"] is DifferenceKind.ONLY_B
    assert "storage.queue/root_disk read_ahead_kb" not in found
    assert "net.link/default_nic mtu" not in found
    (line,) = [
        d
        for d in diff_snapshots(pi(), snapshot(answers(PC, PC_LINKS))).differences
        if d.entry.item == "kernel.command_line"
    ]
    assert {part.key: (part.a, part.b) for part in line.parts} == {
        "mitigations": (None, "off"),
        "quiet": (True, None),
        "root": ("root_part", "/dev/root_part"),
    }


@pytest.mark.parametrize(
    ("in_a", "in_b", "kind"),
    [
        ("1\n", "2\n", DifferenceKind.CHANGED),
        ("1\n", ENOENT, DifferenceKind.ONLY_A),
        (ENOENT, "1\n", DifferenceKind.ONLY_B),
        ("1\n", EACCES, DifferenceKind.UNREADABLE_B),
        (EACCES, "1\n", DifferenceKind.UNREADABLE_A),
        (EACCES, ENOENT, None),
        (ENOENT, EACCES, None),
        (EACCES, EACCES, None),
        ("1\n", "1\n", None),
    ],
)
def test_kinds(in_a: Any, in_b: Any, kind: DifferenceKind | None) -> None:
    path = "/proc/sys/vm/swappiness"
    found = names(pi(**{path: in_a}), pi(**{path: in_b}))
    assert found == ({} if kind is None else {"memory.swap/swappiness": kind})
    assert kind is None or kind.is_difference == kind.name.startswith(("CHANGED", "ONLY"))


def test_a_directory_that_could_not_be_searched_hides_what_is_in_it() -> None:
    """One side has a glob that was refused: what the other side found is not "only" there."""
    policy = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
    blind = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
    seen = pi(**{policy: "ondemand\n"})
    assert names(seen, pi(**{blind: EACCES})) == {
        "cpu.governor/policy0 scaling_governor": DifferenceKind.UNREADABLE_B
    }
    assert names(pi(**{blind: ENOENT}), seen) == {
        "cpu.governor/policy0 scaling_governor": DifferenceKind.ONLY_B
    }


def test_an_item_that_was_not_taken_is_not_missing() -> None:
    partial = replace(pi(), settings=tuple(e for e in pi().settings if e.item == "memory.thp"))
    result = diff_snapshots(pi(), partial)
    assert not result.differences
    assert {d.reason.raw for d in result.unseen} == {"not looked at"}


def test_what_affects_one_thing_comes_before_what_affects_all() -> None:
    changed = {
        "/proc/cmdline": "quiet mitigations=off\n",
        "/sys/class/net/eth0/mtu": "9000\n",
        THP: "[always] madvise never",
    }
    order = [d.entry.item for d in diff_snapshots(pi(), pi(**changed)).differences]
    assert order == ["memory.thp", "net.link", "kernel.command_line"]


def test_observations_are_apart() -> None:
    a = with_entries([StateEntry("system.load", "uptime", 100.0)])
    b = with_entries([StateEntry("system.load", "uptime", 200.0)])
    result = diff_snapshots(a, b)
    assert not result.differences and [d.entry.key for d in result.observed] == ["uptime"]
    assert a.digest == b.digest


def test_parts_of_tables_and_lists() -> None:
    a = {"x": 1, "y": {"deep": "old", "same": 0}, "lines": ["a", "b", "b"]}
    b = {"x": 1, "y": {"deep": "new", "same": 0}, "lines": ["b", "c"], "z": True}
    assert list(parts_of(a, b)) == [
        DifferencePart("lines", "a", None),
        DifferencePart("lines", "b", None),
        DifferencePart("lines", None, "c"),
        DifferencePart("y deep", "old", "new"),
        DifferencePart("z", None, True),
    ]
    assert list(parts_of([1, 2], [2, 1])) == [DifferencePart("", [1, 2], [2, 1])]
    assert list(parts_of(["a", "b"], ["b", "a"])) == [DifferencePart("", ["a", "b"], ["b", "a"])]
    assert list(parts_of(1, True)) == [DifferencePart("", 1, True)]


VALUES = st.recursive(
    st.integers(0, 3) | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
)


@given(VALUES, VALUES)
def test_there_are_parts_exactly_where_values_differ(a: Any, b: Any) -> None:
    assert bool(list(parts_of(a, b))) == (a != b)
    assert list(parts_of(a, a)) == []


def test_natural_order() -> None:
    assert sorted(["cpu10", "cpu9", "cpu1", "cpu11"], key=natural) == [
        "cpu1",
        "cpu9",
        "cpu10",
        "cpu11",
    ]


def test_a_snapshot_survives_its_file() -> None:
    taken = pi()
    again = snapshot_of(json.loads(json.dumps(encode(taken))))
    assert again == taken and again.digest == taken.digest and again.roles == taken.roles
    with pytest.raises(ValueError):
        snapshot_of({**encode(taken), "format": 99})


# -- between two snapshots -------------------------------------------------------------------------


def observed(*pairs: tuple[str, Any], **more: Any) -> Snapshot:
    split = [(*name.split("/", 1), value) for name, value in pairs]
    return with_entries([StateEntry(item, key, value) for item, key, value in split], **more)


def test_counters_are_differences() -> None:
    before = observed(
        ("memory.swap/traffic", {"pswpin": 1, "pswpout": 10, "oom_kill": 0}),
        ("irq.rates/interrupts", {"eth0": [5, 5], "idle": [1, 1]}),
        ("cpu.time_in_state/policy0 time_in_state", {"600000": 100, "1500000": 7}),
        ("thermal.zones/zone0 type", "cpu-thermal"),
        ("thermal.zones/zone0 temp", 50_000),
    )
    after = observed(
        ("memory.swap/traffic", {"pswpin": 1, "pswpout": 25, "oom_kill": 1}),
        ("irq.rates/interrupts", {"eth0": [8, 5], "idle": [1, 1], "new": [3, 3]}),
        ("cpu.time_in_state/policy0 time_in_state", {"600000": 100, "1500000": 107}),
        ("thermal.zones/zone0 type", "cpu-thermal"),
        ("thermal.zones/zone0 temp", 47_500),
    )
    found = delta(before, after)
    assert found.change("memory.swap", "traffic") == {"pswpout": 15, "oom_kill": 1}
    assert found.change("irq.rates", "interrupts") == {"eth0": [3, 0]}
    assert found.change("cpu.time_in_state", "policy0 time_in_state") == {"1500000": 100}
    assert found.change("thermal.zones", "zone0 temp") == -2500
    assert found.change("thermal.zones", "zone0 type") is None
    assert found.change("no", "such") is None
    assert {c["key"] for c in encode(found)["changes"]} == {
        "traffic", "interrupts", "policy0 time_in_state", "zone0 temp"
    }  # fmt: skip


def test_after_a_reboot_there_are_no_differences() -> None:
    before = observed(("memory.swap/traffic", {"pswpin": 100}), board_time_ns=9, host_time_ns=1)
    after = observed(
        ("memory.swap/traffic", {"pswpin": 1}), boot_id="c", board_time_ns=5, host_time_ns=2
    )
    found = delta(before, after)
    assert found.rebooted and found.change("memory.swap", "traffic") is None
    assert found.board_seconds is None and found.clock_error is None


def test_what_was_not_read_on_both_sides_has_no_difference() -> None:
    missing = with_entries(
        [StateEntry("x.y", "k", missing=Missing.UNREADABLE, reason=Untrusted("EACCES"))]
    )
    assert delta(missing, observed(("x.y/k", 5))).change("x.y", "k") is None
    assert delta(observed(("x.y/k", 5)), missing).change("x.y", "k") is None
    assert delta(with_entries([]), observed(("x.y/k", 5))).change("x.y", "k") is None


def test_the_clock_of_the_board_against_that_of_the_host() -> None:
    second = 1_000_000_000
    before = observed(board_time_ns=5 * second, host_time_ns=70 * second)
    after = observed(board_time_ns=16 * second, host_time_ns=80 * second)
    found = delta(before, after)
    assert (found.board_seconds, found.host_seconds) == (11.0, 10.0)
    assert found.clock_error == pytest.approx(0.1)
    assert delta(after, before).clock_error is None


def log(*lines: tuple[float, str]) -> dict[str, Any]:
    return kernel_log("".join(f"<4>[{time:12.6f}] {text}\n" for time, text in lines))


VOLTAGE, MMC = "hwmon hwmon1: Undervoltage detected!", "mmc0: error -110 whilst initialising"


def test_new_lines_of_the_kernel_log() -> None:
    before = log((1, VOLTAGE), (5, "something else"))
    after = log((1, VOLTAGE), (5, "something else"), (9, MMC), (10, VOLTAGE))
    found = delta(
        observed(("log.classes/classes", before)), observed(("log.classes/classes", after))
    )
    assert found.log == {
        "MMC error": NewLogLines(1, (f"[9.000000] {MMC}",)),
        "under-voltage": NewLogLines(1, (f"[10.000000] {VOLTAGE}",)),
    }
    assert found.change("log.classes", "classes") is None
    assert new_in_log(after, after) == {}


def test_a_log_that_overflowed_hides_nothing() -> None:
    before = log(*((n, VOLTAGE) for n in range(50)))
    after = log(*((n, VOLTAGE) for n in range(45, 55)))
    assert new_in_log(before, after)["under-voltage"].count == 5


def test_a_log_without_times_is_counted() -> None:
    before, after = kernel_log(f"<4>{VOLTAGE}\n"), kernel_log(f"<4>{VOLTAGE}\n" * 3)
    assert new_in_log(before, after)["under-voltage"].count == 2
    assert new_in_log(None, before)["under-voltage"].count == 1


@pytest.mark.parametrize(
    "value", [None, 5, "x", [], {}, {"classes": 3}, {"until": "x", "classes": {}}]
)
def test_a_log_that_is_none_is_survived(value: Any) -> None:
    assert new_in_log(value, value) == {}


# -- tables ----------------------------------------------------------------------------------------


def texts(table: Any) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_the_table_of_a_difference() -> None:
    other = snapshot(answers({**PC, "/proc/sys/vm/swappiness": EACCES}, PC_LINKS), privilege="user")
    result = diff_snapshots(pi(**{"/proc/sys/vm/swappiness": "60\n"}), other)
    table = diff_rows(result, "pi.json", "pc.json")
    assert "pc.json (B) against pi.json (A)" in table.title and "changed" in table.title
    rows = {row[0]: row[1:3] for row in texts(table)}
    assert rows["memory.thp mode"] == ["madvise", "always"]
    assert rows["kernel.command_line options mitigations"] == [ABSENT, "off"]
    assert "root_disk: mmcblk0 in A, sda in B" in table.remarks
    assert any("B was not taken as root" in str(remark) for remark in table.remarks)
    assert any("1 settings were seen on one side only" in str(remark) for remark in table.remarks)
    assert "memory.swap swappiness" not in rows
    unseen = texts(unseen_rows(result))
    assert unseen[0][:3] == ["memory.swap swappiness", "60", "unreadable: EACCES: needs root"]
    assert observed_rows(result).rows == ()


def test_long_values_are_cut_short_and_shown_with_all() -> None:
    a = pi(**{"/proc/config.gz": b"CONFIG_X=y\n"})
    b = pi(**{"/proc/config.gz": "".join(f"CONFIG_A{n}=y\n" for n in range(50)).encode()})
    result = diff_snapshots(a, b)
    short, full = diff_rows(result, "a", "b"), diff_rows(result, "a", "b", everything=True)
    assert len(full.rows) == 51
    assert len(short.rows) == 9 and short.rows[-1][1].text == "… and 43 more: --all"


def test_the_table_of_a_snapshot() -> None:
    taken = pi(**{"/proc/sys/vm/swappiness": EACCES, "/proc/sys/vm/page-cluster": EACCES})
    table = snapshot_rows(taken)
    rows = {row[0]: row[1:] for row in texts(table)}
    assert int(rows["memory"][0]) > 0
    assert int(rows["in all"][3]) == sum(
        entry.missing is Missing.UNREADABLE for entry in taken.entries()
    )
    assert "not readable: EACCES: needs root (memory.swap)" in table.remarks
    assert "root_disk: mmcblk0" in table.remarks


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        ("", "(empty)"),
        ([], "(none)"),
        ([1, 2], "1 2"),
        ({"a": 1}, '{"a": 1}'),
        ("\x1b[31mred\u202e", "red\ufffd"),
        ("x" * 500, "x" * 119 + "…"),
    ],
)
def test_values_as_text(value: Any, text: str) -> None:
    assert value_text(value) == text
