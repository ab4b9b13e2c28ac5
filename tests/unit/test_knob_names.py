"""Settings by the names that people use: of forum posts, tuning guides, sysctl.conf."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from benchvise.cli.main import program, run
from benchvise.cli.reference.find import named_entries
from benchvise.errors import UsageError
from benchvise.measure.runner import local_registry
from benchvise.measure.suite import suite_names
from benchvise.names import NamedEntry, search
from benchvise.state.catalogue import knobs
from benchvise.state.knob_names import knob_entries
from benchvise.state.knobs import find_knob, parse_setting_request


@pytest.mark.parametrize(
    ("name", "knob"),
    [
        ("thp", "memory.thp"),
        ("THP", "memory.thp"),
        ("transparent_hugepage", "memory.thp"),  # kernel-parameters.txt
        ("/sys/kernel/mm/transparent_hugepage/enabled", "memory.thp"),  # Redis, MongoDB
        ("/sys/kernel/mm/transparent_hugepage/defrag", "memory.thp_defrag"),
        ("swappiness", "vm.swappiness"),
        ("/proc/sys/vm/swappiness", "vm.swappiness"),
        ("vm/swappiness", "vm.swappiness"),  # sysctl(8) takes slashes, too
        ("net.core.rmem_max", "net.rmem_max"),  # sysctl.conf of iperf3 guides
        ("net.ipv4.tcp_rmem", "net.tcp_rmem"),
        ("scaling_governor", "cpu.governor"),
        ("read_ahead_kb", "block.read_ahead_kb"),
        ("dirty_ratio", "vm.dirty_ratio"),
        ("somaxconn", "net.somaxconn"),
        ("smt", "cpu.smt"),
    ],
)
def test_one_setting_is_meant(name: str, knob: str) -> None:
    assert find_knob(name).name == knob


def test_set_takes_the_kernels_own_path() -> None:
    request = parse_setting_request("/sys/kernel/mm/transparent_hugepage/enabled=never")
    assert (request.knob.name, request.values) == ("memory.thp", ("never",))


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("transparent_hugpage", "memory.thp"),
        ("huge pages", "memory.thp"),
        ("rps", "net.rps_cpus"),
        ("governor", "cpu.governor"),
    ],
)
def test_of_several_the_nearest_are_named(name: str, nearest: str) -> None:
    with pytest.raises(UsageError, match=nearest):
        find_knob(name)


@pytest.mark.parametrize(
    ("path", "knob"),
    [
        ("/sys/block/sda/queue/scheduler", "block.scheduler"),
        ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "cpu.governor"),
    ],
)
def test_a_file_of_one_device_is_not_taken_for_all(path: str, knob: str) -> None:
    with pytest.raises(UsageError, match=f"--set {knob}=VALUE"):
        find_knob(path)


@pytest.mark.parametrize(
    "name", ["net.tcp_sysctl", "/proc/sys/net/ipv4/tcp_orphan_retries", "kernel.module_option"]
)
def test_a_family_is_not_set_to_one_value(name: str) -> None:
    """Each of its files is a setting of its own, of which no list says what it takes."""
    with pytest.raises(UsageError, match="`benchvise why` alone sets, one by one"):
        parse_setting_request(f"{name}=1")


def test_every_setting_is_its_own_name_and_its_own_file() -> None:
    by_path: dict[str, list[str]] = {}
    for name, (_, knob) in knobs().items():
        assert find_knob(name) is knob
        by_path.setdefault(knob.path, []).append(name)
    for path, names in by_path.items():
        if len(names) == 1:
            assert find_knob(path).name == names[0]


def test_the_best_match_comes_first() -> None:
    assert search("thp", knob_entries())[0].name == "memory.thp"
    assert search("what nobody has written", knob_entries()) == []
    assert search("", knob_entries()) == []
    entry = NamedEntry("benchmark", "memory.latency", "load latency", "", text="lmbench lat_mem_rd")
    assert search("lat_mem_rd", [entry]) == [entry]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("lat_mem_rd", "memory.latency"),
        ("swappiness", "vm.swappiness"),
        ("wakeups", "trace wakeups"),
        ("syscalls", "benchvise trace record BOARD --events syscalls"),
        ("lmbench", "benchvise suites show lmbench"),
        ("mitigations", "cpu.mitigations"),
        ("7z", "benchvise run BOARD --command '7z b"),
        ("geekbench", "benchvise run BOARD --command"),
        ("systemd-analyze", "benchvise rig boot"),
    ],
)
def test_find_knows_all_that_has_a_name(
    capsys: pytest.CaptureFixture[str], text: str, line: str
) -> None:
    assert run(["find", text]) == 0
    assert line in capsys.readouterr().out


def test_commands_for_other_tools_can_be_typed() -> None:
    """Options, benchmarks and suites are there; what is in capitals is the reader's own."""
    benchmarks = {benchmark.id for benchmark in local_registry().benchmarks}
    of = program()
    context = of.make_context("benchvise", [], resilient_parsing=True)
    commands = {
        entry.command: entry.kind for entry in named_entries() if entry.kind in ("tool", "state")
    }
    assert len(commands) > 10
    for text in commands:
        program_name, *words = shlex.split(text)
        assert program_name == "benchvise"
        command: Any = of
        while hasattr(command, "get_command"):
            command = command.get_command(context, words.pop(0))
            assert command is not None, text
        options = {name for param in command.params for name in param.opts}
        assert {word for word in words if word.startswith("--")} <= options, text
        for option, known in (("--bench", benchmarks), ("--suite", set(suite_names()))):
            chosen = {words[at + 1] for at, word in enumerate(words) if word == option}
            assert chosen <= known, text


@pytest.mark.settings
def test_the_value_on_this_machine_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["knobs", "show", "swappiness", "--board", "local"]) == 0
    with open("/proc/sys/vm/swappiness") as file:  # noqa: PTH123
        assert f"/proc/sys/vm/swappiness: {file.read().strip()}" in capsys.readouterr().out
