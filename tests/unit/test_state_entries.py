"""From what a board says to entries: keys, what is missing and why, and garbage survived."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from state_boards import EACCES, ENOENT, PC, PC_LINKS, PI, PI_LINKS, answers, entries, snapshot

from benchvise.board.messages import FileError, FileValue
from benchvise.documents import encode
from benchvise.state.answers import Answers
from benchvise.state.catalogue import load_catalogue
from benchvise.state.commands import CommandAnswer
from benchvise.state.globs import ByPath
from benchvise.state.model import Missing, snapshot_of
from benchvise.state.snapshot import TEXT_LIMIT, entries_of

THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def test_devices_stand_by_role() -> None:
    pi, pc = entries(answers(PI, PI_LINKS)), entries(answers(PC, PC_LINKS))
    for found, disk in ((pi, "mmcblk0"), (pc, "sda")):
        entry = found["storage.queue/root_disk read_ahead_kb"]
        assert (entry.value, entry.path) == (128, f"/sys/block/{disk}/queue/read_ahead_kb")
        assert found["net.link/default_nic mtu"].value == 1500
    assert pc["storage.queue/sdb read_ahead_kb"].value == 256
    assert not any("loop0" in name for name in pi)
    assert pi["kernel.command_line/options"].value["root"] == "root_part"
    assert pc["kernel.command_line/options"].value["root"] == "/dev/root_part"


def test_the_raw_text_is_kept_where_it_says_more() -> None:
    entry = entries(answers(PI, PI_LINKS))["memory.thp/mode"]
    assert (entry.value, entry.raw) == ("madvise", "always [madvise] never")
    assert entries(answers(PI, PI_LINKS))["net.link/default_nic mtu"].raw is None


@pytest.mark.parametrize(
    ("name", "missing", "reason"),
    [
        ("ENOENT", Missing.ABSENT, "ENOENT"),
        ("EINVAL", Missing.ABSENT, "EINVAL"),
        ("EOPNOTSUPP", Missing.ABSENT, "EOPNOTSUPP"),
        ("EACCES", Missing.UNREADABLE, "EACCES: needs root"),
        ("EPERM", Missing.UNREADABLE, "EPERM: needs root"),
        ("EIO", Missing.UNREADABLE, "EIO"),
        ("ETIMEDOUT", Missing.UNREADABLE, "ETIMEDOUT"),
    ],
)
def test_absent_and_unreadable_are_two_things(name: str, missing: Missing, reason: str) -> None:
    entry = entries(answers({THP: FileError(1, name)}))["memory.thp/mode"]
    assert (entry.missing, entry.reason.raw, entry.value) == (missing, reason, None)


def test_root_is_not_told_to_become_root() -> None:
    given = answers({THP: EACCES}, facts={"process": {"": {"uid": 0}}})
    assert entries(given)["memory.thp/mode"].reason.raw == "EACCES: refused even to root"


def test_debugfs_that_is_not_mounted_is_unreadable_and_not_absent() -> None:
    path = "/sys/kernel/debug/sched/features"
    mounts = {"/proc/self/mountinfo": "23 1 0:22 / /sys rw - sysfs sysfs rw\n"}
    entry = entries(answers({**mounts, path: ENOENT}))["sched.features/features"]
    assert (entry.missing, entry.reason.raw) == (Missing.UNREADABLE, "debugfs is not mounted")
    debug = "24 23 0:7 / /sys/kernel/debug rw - debugfs debugfs rw\n"
    mounted = {"/proc/self/mountinfo": mounts["/proc/self/mountinfo"] + debug}
    assert entries(answers({**mounted, path: ENOENT}))["sched.features/features"].missing is (
        Missing.ABSENT
    )


def test_what_reading_would_mount_is_not_read() -> None:
    given = answers({"/proc/self/mountinfo": "9 1 0:9 / /boot rw - autofs systemd-1 rw,fd=1\n"})
    entry = entries(given)["firmware.raspberry_pi/config.txt"]
    assert (entry.missing, entry.reason.raw) == (Missing.UNREADABLE, "looking at it would mount it")
    assert given.names.is_automount("/boot/config-6.1") and not given.names.is_automount("/etc/x")


def test_a_glob_without_match_is_one_entry() -> None:
    entry = entries(answers({}))["cpu.governor/policy* scaling_governor"]
    assert entry.missing is Missing.ABSENT


def test_of_alternatives_the_first_with_a_value_counts() -> None:
    release: dict[str, str | bytes | FileError] = {"/proc/sys/kernel/osrelease": "6.1.0\n"}
    given = {**release, "/proc/config.gz": ENOENT, "/boot/config-6.1.0": "CONFIG_HZ=250\n"}
    entry = entries(answers(given))["kernel.config/options"]
    assert (entry.value, entry.path) == ({"HZ": "250"}, "/boot/config-6.1.0")
    refused = {**release, "/boot/config-6.1.0": EACCES}
    assert entries(answers(refused))["kernel.config/options"].missing is Missing.UNREADABLE


def test_only_and_drop() -> None:
    found = entries(answers({"/proc/meminfo": "MemTotal: 1000 kB\nMemFree: 5 kB\n"}))
    assert found["memory.size/meminfo"].value == {"MemTotal": 1024000}
    assert found["memory.size/use"].value == {"MemFree": 5120}


def test_the_end_of_a_file_that_was_cut_is_left_out() -> None:
    given = answers({})
    modules: FileValue | FileError = FileValue("a 1 0 - Live 0x0\nb 1 0 - Li", truncated=True)
    cut = Answers(names=given.names, files=ByPath({"/proc/modules": modules}))
    assert entries(cut, "kernel.modules")["kernel.modules/modules"].value == {"a": "Live"}


def test_facts() -> None:
    facts: dict[str, dict[str, Any]] = {
        "vdso": {"": "in use"},
        "page_size": {"": 16384},
        "nic_pause": {"eth0": {"na": "EOPNOTSUPP"}, "wlan0": {"autoneg": 1}},
        "kernel_log": {"": {"na": "EPERM: kernel.dmesg_restrict forbids it"}},
        "hypervisor": {"": {"na": "this architecture has no instruction that tells"}},
        "elf": {"/bin/sh": {"class": 32, "machine": 40, "flags": "0x5000400"}},
    }
    found = entries(answers(PI, PI_LINKS, facts))
    assert found["timer.clocksource/vdso"].value == "in use"
    assert found["memory.page_size/bytes"].value == 16384
    assert found["net.link/default_nic pause"].missing is Missing.ABSENT
    assert found["net.link/wlan0 pause"].value == {"autoneg": 1}
    assert found["log.classes/classes"].missing is Missing.UNREADABLE
    assert found["system.load/hypervisor"].missing is Missing.ABSENT
    assert found["kernel.word_size//bin/sh"].value["class"] == 32
    assert found["process.environment/variables"].reason.raw == "the probe does not tell"


def test_commands() -> None:
    line = "vcgencmd get_throttled"
    given = answers(PI, PI_LINKS, commands={line: CommandAnswer("throttled=0x5")})
    entry = entries(given)["power.throttling/flags"]
    assert entry.value["under-voltage now"] is True
    assert entry.path == line
    late = CommandAnswer(missing=Missing.UNREADABLE, reason="no answer within 1.5 s")
    entry = entries(answers(PI, PI_LINKS, commands={line: late}))["power.throttling/flags"]
    assert (entry.missing, entry.reason.raw) == (Missing.UNREADABLE, "no answer within 1.5 s")
    assert entries(answers({}))["storage.file_systems/root_part header"].missing is Missing.ABSENT


def test_interrupts_stand_by_handler_and_not_by_number() -> None:
    table = "           CPU0\n 26:   100  GICv2 189 Level  eth0\n 35:  0  GICv2  66 Level\n"
    given = answers(
        {
            **PI,
            "/proc/interrupts": table,
            "/proc/irq/26/smp_affinity_list": "0-3\n",
            "/proc/irq/35/smp_affinity_list": "0\n",
        },
        PI_LINKS,
    )
    found = entries(given, "irq.affinity")
    assert found["irq.affinity/default_nic"].value == "0-3"
    assert not any("35" in name or "26" in name for name in found)


GARBAGE: st.SearchStrategy[str | bytes] = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=60),
    st.sampled_from(
        [
            *(
                "",
                "\n",
                "\0\0\0\0",
                "-1",
                "1e999",
                "[",
                "[]",
                "(",
                "a: b\nc",
                "=",
                ":\n::",
                "x" * 70_000,
            ),
            *("0-99999999999", "f" * 40_000, "cpu " + "9" * 5000, "[\x1b]31m] x", "\u202e"),
            *(b"\xd0\x0d\xfe\xed" * 12, b"\x1f\x8b\x08" + b"\0" * 30, b"\xff" * 300),
        ]
    ),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_garbage_gives_entries_and_nothing_else(data: st.DataObject) -> None:
    """Whatever files, links, facts and commands hold, every item has its entries."""
    text, fact = data.draw(GARBAGE), data.draw(JSON)
    names = answers(PI, PI_LINKS).names
    if isinstance(text, str):
        names = answers({**PI, "/proc/interrupts": text, "/proc/self/status": text}, PI_LINKS).names
    reads = [read for item in load_catalogue() for read in item.reads]
    paths = {
        read.path: (names.fill(read.path) or read.path).replace("*", "7").replace("[1-9]", "1")
        for read in reads
    }
    given = Answers(
        names=names,
        files=ByPath({path: FileValue(text) for path in paths.values()}),
        links=ByPath(dict.fromkeys(paths.values(), str(text))),
        facts={read.path: {"": fact, "eth0": fact} for read in reads if read.source == "fact"},
        commands={path: CommandAnswer(str(text)) for path in paths.values()},
    )
    for item in load_catalogue():
        for entry, _ in entries_of(item, given):
            assert "\0" not in entry.key and "\n" not in entry.key and len(entry.key) <= 200
            document = json.loads(json.dumps(encode(entry), allow_nan=False))
            assert "\\u0000" not in json.dumps(document)
            assert (entry.missing is None) != bool(entry.reason)
            assert longest(entry.value) <= TEXT_LIMIT
    assert snapshot_of(encode(snapshot(given))).digest == snapshot(given).digest


def longest(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    members = [*value, *value.values()] if isinstance(value, dict) else value
    return max(map(longest, members), default=0) if isinstance(members, list) else 0


def test_a_flood_is_refused_and_not_stored() -> None:
    many = "".join(f"m{n} 1 0 - Live 0x0\n" for n in range(40_000))
    entry = entries(answers({"/proc/modules": many}))["kernel.modules/modules"]
    assert (entry.missing, entry.reason.raw) == (
        Missing.UNREADABLE,
        "not understood: too much of it",
    )


def test_globs() -> None:
    table = ByPath(
        {"/a/1/x": 1, "/a/22/x": 2, "/a/b/y": 3, "/a/1/x/z": 4, "/c/*": 5, "/lit[e]ral": 6}
    )
    assert [(p, m) for p, m, _ in table.matching("/a/*/x")] == [
        ("/a/1/x", ("1",)),
        ("/a/22/x", ("22",)),
    ]
    assert [m for _, m, _ in table.matching("/a/[0-9]*/x")] == [("1", ""), ("2", "2")]
    assert [m for _, m, _ in table.matching("/a/[!0-9]/y")] == [("b",)]
    assert [(p, m) for p, m, _ in table.matching("/c/*")] == [("/c/*", ())]
    assert list(table.matching("/d/*")) == []
    assert [v for _, _, v in table.matching("/a/b/y")] == [3]
    assert table.get("/a/b/y") == 3 and table.get("/none") is None
