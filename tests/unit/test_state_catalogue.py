"""The catalogue holds together: its records are the source of snapshot, allow-list and docs."""

from __future__ import annotations

import re
from importlib.resources import files

from families import every

from benchvise.state import catalogue
from benchvise.state.catalogue import expand, items_by_id, knobs, load_catalogue
from benchvise.state.model import Flip, Item, Knob
from benchvise.state.normalise import NORMALISERS
from benchvise.state.roles import ROLES, DeviceNames
from benchvise.state.snapshot import _KEY

ITEMS = load_catalogue()
KNOBS = [knob for _, knob in knobs().values()]

# Device nodes are not among them: opening one is enough for some to act.
READABLE = ("/proc/", "/sys/", "/etc/", "/boot/", "/lib/modules/", "/usr/lib/modules/", "/run/",
            "/var/spool/cron/")  # fmt: skip


def by_id(item: Item) -> str:
    return item.id


def test_all_numbers_are_there_and_ids_are_unique() -> None:
    assert sorted(item.number for item in ITEMS if item.number) == list(range(1, 103))
    assert len(items_by_id()) == len(ITEMS)
    unnumbered = {"process.environment", "process.files", "system.limits", "system.services"}
    unnumbered |= {
        "boot.settings",
        "net.protocols",
        "net.routes",
        "net.interfaces",
        "kernel.sysctls",
    }
    unnumbered |= {"net.sysctls", "net.interface_settings", "kernel.families"}
    assert unnumbered == {i.id for i in ITEMS if i.number == 0}


def test_files_are_short() -> None:
    for file in files(catalogue).iterdir():
        if file.name.endswith(".toml"):
            assert len(file.read_text(encoding="utf-8").splitlines()) < 500, file.name


@every("item", ITEMS, name_of=by_id)
def test_an_item_says_what_it_is(item: Item) -> None:
    assert re.fullmatch(r"[a-z]+(\.[a-z0-9_]+)?", item.id)
    assert item.title and item.summary and not item.summary.endswith(".")
    assert item.families and item.flips and item.reads and item.places
    assert len(set(item.families)) == len(item.families)
    assert item.restore or set(item.flips) == {Flip.OBSERVE}


@every("item", ITEMS, name_of=by_id)
def test_reads_can_be_done(item: Item) -> None:
    for read in item.reads:
        assert read.normaliser in NORMALISERS, read
        assert all(role in ROLES for role in re.findall(r"\{(\w+)\}", read.path)), read
        if read.source in ("file", "link"):
            assert read.path.startswith(READABLE), read
            assert ".." not in read.path
        if read.source == "command":
            assert re.fullmatch(r"[\w./{}-]+( [\w./{}-]+)*", read.path), read
        wildcards = len(re.findall(r"\*|\?|\[[^\]]*\]", read.path))
        subjects = 1 if read.source == "fact" else wildcards
        for match in _KEY.finditer(read.key):
            numbers = [int(number) for number in (match[3] or "").split(":") if number]
            assert all(1 <= number <= subjects for number in numbers), read
            if match[2]:  # a kind of device that roles know
                DeviceNames().called(match[2], *["0"] * len(numbers))
        rest = _KEY.sub("", read.key)
        assert "{" not in rest and "}" not in rest, read
        if wildcards and read.source in ("file", "link"):
            assert "{" in read.key, f"{read}: all its files would have the same key"


def test_each_fact_is_one_that_the_probe_tells() -> None:
    """That the probe tells them is tested with the probe; here that no name is misspelt."""
    told = {
        *("time", "uname", "personality", "page_size", "auxv", "timers", "clock_cost", "vdso"),
        *("process", "hypervisor", "perf", "environment", "processes", "irq_threads", "termios"),
        *("filesystem", "elf", "libc", "busy", "cpu_clock", "qdisc", "kernel_log", "nic_driver"),
        *("nic_link", "nic_rings", "nic_coalesce", "nic_pause", "nic_channels", "nic_eee"),
        *("nic_features", "nic_statistics"),
    }
    asked = {read.path for item in ITEMS for read in item.reads if read.source == "fact"}
    assert asked <= told
    assert told - asked == {"time"}


def test_items_of_the_reference_that_are_evidence_are_volatile() -> None:
    numbers = {item.number for item in ITEMS if item.volatile}
    assert {26, 27, 35, 36, 37, 55, 64, 82, 99, 102} <= numbers


@every("knob", KNOBS, name_of=lambda knob: knob.name)
def test_a_knob_is_bounded(knob: Knob) -> None:
    assert re.fullmatch(r"[a-z]+\.[a-z0-9_]+", knob.name)
    assert knob.summary and not knob.summary.endswith(".")
    roots: tuple[str, ...] = (
        "/proc/sys/",
        "/sys/",
        "/proc/self/mountinfo/*/",
        "/proc/swaps/",
        "/proc/net/dev/*/",
    )
    roots += (
        "/proc/net/netlink/*",
        "/proc/net/route/*,",
        "/proc/1/cmdline/*",
        "/proc/1/comm/*",
        "/proc/loadavg/*",
    )
    assert knob.path.startswith(roots), "nothing else is ever written"
    is_family = knob.each and knob.path.startswith(("/proc/sys/", "/sys/"))
    assert knob.absent or is_family or not (knob.each or knob.fleeting)
    assert ".." not in knob.path
    assert all(role in ROLES for role in re.findall(r"\{(\w+)\}", knob.path))
    assert "," not in "".join(re.findall(r"\{[^}]*\}", knob.path)), "a knob has one path"
    match knob.kind:
        case "integer":
            assert knob.minimum <= knob.maximum
            assert not knob.choices and not knob.pattern
        case "text":
            assert re.compile(knob.pattern) and not knob.choices
            assert not re.fullmatch(knob.pattern, "") and not re.fullmatch(knob.pattern, "a\nb")
            assert not re.fullmatch(knob.pattern, "x" * 200)
        case "choice":
            assert not knob.pattern
            assert len(set(knob.choices)) == len(knob.choices) != 1


@every("item", ITEMS, name_of=by_id)
def test_knobs_match_the_flips(item: Item) -> None:
    for knob in item.knobs:
        assert {Flip.RUN_TIME, Flip.RISKY} & set(item.flips), f"{knob.name} cannot be flipped"
        if Flip.RUN_TIME not in item.flips:
            assert knob.risky, f"{knob.name}: what is R! only is risky"


@every("item", ITEMS, name_of=by_id)
def test_what_can_be_set_is_read_too(item: Item) -> None:
    """Else a snapshot would not show what an intervention did."""
    read = {read.path for read in item.reads if read.source == "file"}
    for knob in item.knobs:
        seen = [path for path in read if covers(path, knob.path)]
        assert seen or knob.name in UNSEEN, f"{knob.name}: {knob.path} is not read by {item.id}"


# mmc.clock: its file repeats what `ios` says.
UNSEEN = {"mmc.clock"}


def covers(glob: str, path: str) -> bool:
    """Whether a read's glob means all that a knob's does; roles count as names."""
    if glob == path:
        return True
    parts = re.split(r"(\*)", re.sub(r"\{\w+\}", "device", glob))
    pattern = "".join("[^/]*" if part == "*" else re.escape(part) for part in parts)
    example = re.sub(r"\[[^\]]*\]\*?|\*", "1", re.sub(r"\{\w+\}", "device", path))
    return re.fullmatch(pattern, example) is not None


def test_a_choice_without_choices_is_offered_by_its_file() -> None:
    """The kernel marks the active one with brackets, so the file itself says what there is."""
    for item, knob in knobs().values():
        if knob.kind == "choice" and not knob.choices:
            marked = [r.path for r in item.reads if r.normaliser == "bracket"]
            assert any(covers(path, knob.path) for path in marked), knob.name


def test_alternatives_are_expanded() -> None:
    assert list(expand("/a/{b,c}/{d,e}")) == ["/a/b/d", "/a/b/e", "/a/c/d", "/a/c/e"]
    assert list(expand("/a/{root_disk}/x")) == ["/a/{root_disk}/x"]


def test_the_names_that_a_person_would_guess_are_there() -> None:
    for name in (
        *("memory.thp", "memory.ksm", "vm.swappiness", "vm.dirty_ratio", "cpu.governor"),
        *("cpu.min_freq", "cpu.max_freq", "cpu.idle_deep_disable", "block.read_ahead_kb"),
        *("block.scheduler", "block.nr_requests", "net.tcp_rmem", "net.tcp_wmem", "net.rmem_max"),
        *("net.congestion_control", "net.rps_cpus", "kernel.printk", "sched.base_slice_ns"),
        *("kernel.timer_migration", "kernel.nmi_watchdog", "workqueue.cpumask"),
        *("fs.pipe_max_size", "kernel.randomize_va_space", "vm.min_free_kbytes"),
    ):
        assert name in knobs(), name
