"""The probe as a program: `list`, `version`, `run` and every benchmark.

As built for boards and with sanitizers. What is inside is tested by the C programs in
``probe/tests``, of which each is one case here.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import skips
from probe_programs import (
    BENCHMARKS,
    HUGE,
    IN_MEMORY,
    MEASURABLE,
    ON_ONE_CPU,
    PLAUSIBLE,
    PROGRAMS,
    QUICK,
    ROOT,
    SMALL,
    TWO_ENDS,
    Line,
    is_evidence,
    least_costs,
    run,
)
from waiting import PATIENCE

pytest_plugins = ["probe_fixtures"]

PROTOCOL = (ROOT / "docs" / "probe-protocol.md").read_text()


# --- the inside -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(sanitized: Path, name: str) -> None:
    done = subprocess.run(
        [sanitized.with_name(name)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if done.returncode == 77:
        skips.skip("benchmark", done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


# --- list and version -------------------------------------------------------------------------


def size(text: str) -> int:
    """Bytes of a size as it is on the wire."""
    return int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1], 0)


def check_parameter(parameter: Line) -> None:
    assert re.fullmatch(r"[a-z_]+", parameter["name"])
    assert len(parameter["summary"]) > 10
    default = parameter["default"]
    if parameter["type"] == "choice":
        assert default in parameter["choices"]
        assert len(set(parameter["choices"])) == len(parameter["choices"]) > 1
        assert "min" not in parameter
        return
    assert parameter["type"] in ("size", "integer", "text")
    assert parameter["min"] < parameter["max"]
    if parameter["type"] == "text":
        assert parameter["min"] <= len(default) <= parameter["max"]
        return
    if default != "auto":
        number = size(default) if parameter["type"] == "size" else int(default)
        assert parameter["min"] <= number <= parameter["max"]


def test_list_describes_every_benchmark(probe: Path) -> None:
    line = run([probe, "list"]).one("list")
    assert set(line) == {
        "type",
        "probe",
        "protocol",
        "arch",
        "cpus_allowed",
        "common",
        "attributes",
        "benchmarks",
    }
    assert set(line["cpus_allowed"]) == os.sched_getaffinity(0)
    assert line["protocol"] == 1
    assert tuple(item["id"] for item in line["benchmarks"]) == BENCHMARKS
    common = {parameter["name"] for parameter in line["common"]}
    assert common == {"cpu", "batches", "batch_ms", "warm_ms", "counters", "paced", "marker"}
    for attribute in line["attributes"]:
        assert set(attribute) == {"name", "values", "summary"}
        assert f"| `{attribute['name']}` |" in PROTOCOL
    for item in line["benchmarks"]:
        assert item["unit"] in PLAUSIBLE
        assert item["better"] == ("lower" if item["unit"] == "ns" else "higher")
        for key in ("summary", "method", "pitfalls", "not_measured", "peer"):
            assert len(item[key]) > 20, f"{item['id']}: {key}"
        assert item["counted"]
        for figure in item["figures"]:
            assert set(figure) == {"key", "unit", "better", "pool", "summary"}
            assert figure["better"] in ("higher", "lower", "")
            assert figure["pool"] in ("median", "max", "min", "sum")
            assert len(figure["summary"]) > 10
        names = [parameter["name"] for parameter in item["parameters"]]
        assert len(set(names)) == len(names)
        assert not common & set(names)
        for parameter in (*item["parameters"], *line["common"]):
            check_parameter(parameter)


def test_every_default_and_choice_is_accepted(static: Path, registry: dict[str, Line]) -> None:
    """An unknown CPU ends each run after its parameters were parsed."""
    for name, item in registry.items():
        for parameter in item["parameters"]:
            for value in parameter.get("choices", [parameter["default"]]):
                if (parameter["name"], value) == ("place", "free"):
                    continue
                words = (f"--{parameter['name']}", value, "--cpu", "1023")
                message = run([static, "run", name, *words], code=2).failure(2)
                assert "CPU 1023 cannot be used" in message


def test_version(probe: Path) -> None:
    line = run([probe, "version"]).one("version")
    assert line["protocol"] == 1
    assert re.fullmatch(r"\d+\.\d+\.\d+", line["probe"])
    assert line["arch"] == {"arm64": "aarch64"}.get(platform.machine(), platform.machine())


# --- run --------------------------------------------------------------------------------------


def documented(kind: str) -> set[str]:
    """The keys of that line in docs/probe-protocol.md."""
    section = re.search(rf"^- `{kind}`.*?(?=^- `|^## |\Z)", PROTOCOL, re.MULTILINE | re.DOTALL)
    assert section
    return set(re.findall(r"`(\w+)`", section[0]))


def check_sample(line: Line, begin: Line) -> None:
    low, high = PLAUSIBLE[begin["unit"]]
    # a difference of two, which noise may turn around
    assert low < line["value"] < high or begin["benchmark"] == HUGE
    assert line["iterations"] == begin["iterations"] > 0
    # How long a batch lasts is proved by probe/tests/calibration.c, where no neighbour changes it.
    assert line["elapsed_ns"] > 0
    assert line["window_ns"] >= line["elapsed_ns"] * 0.99
    assert line["ticks_per_second"] > 0
    for key in set(line) - {"type", "flags", "counters", "detail"}:
        assert is_evidence(line[key]), key
    assert {"cycles", "instructions", "context_switches", "page_faults"} <= set(line["counters"])
    assert all(is_evidence(value) for value in line["counters"].values())
    assert set(line["flags"]) <= {
        "preempted",
        "waited",
        "migrated",
        "faulted",
        "stolen",
        "neighbour",
        "clock",
    }


@pytest.mark.parametrize("name", MEASURABLE)
def test_benchmark(probe: Path, registry: dict[str, Line], name: str) -> None:
    result = run([probe, "run", name, *SMALL.get(name, ()), *QUICK], code=None)
    if result.code == 77 and name == HUGE:
        skips.skip("benchmark", result.failure(77))
    kinds = [line["type"] for line in result.lines]
    assert kinds == ["host", "begin", "sample", "sample", "end"]
    host, begin, first, second, end = result.lines
    item = registry[name]

    assert host["page_size"] >= 4096
    assert host["timer_resolution_ns"] > 0
    assert host["timer_cost_ns"] > 0
    assert host["uid"] == os.getuid()
    assert abs(host["time_realtime_ns"] / 1e9 - time.time()) < 60
    assert set(host["cpus_allowed"]) == os.sched_getaffinity(0)

    assert begin["benchmark"] == name
    for key in ("unit", "better", "counted"):
        assert begin[key] == item[key]
    taken = {parameter["name"] for parameter in item["parameters"]}
    assert set(begin["params"]) == taken | {
        "cpu",
        "batches",
        "batch_ms",
        "warm_ms",
        "counters",
        "paced",
        "marker",
    }
    assert begin["params"]["batches"] == "2"
    assert begin["batches"] == end["batches"] == 2
    assert begin["cpu"] in os.sched_getaffinity(0)
    assert begin["partner_cpu"] == (
        begin["cpu"] if name in TWO_ENDS + ON_ONE_CPU else {"na": "one process only"}
    )
    assert begin["caveats"] == []
    assert [first["index"], second["index"]] == [0, 1]
    assert second["start_ns"] > first["start_ns"] + first["elapsed_ns"]
    for sample in (first, second):
        check_sample(sample, begin)
        assert sample["cpu"] == begin["cpu"]
        for figure in item["figures"]:
            assert is_evidence(sample["detail"][figure["key"]])
    for line in result.lines:
        undocumented = set(line) - documented(line["type"]) - {"type"}
        assert not undocumented, f"{line['type']}: {undocumented}"


def test_documented_keys_exist(static: Path, registry: Mapping[str, Line]) -> None:
    """The protocol's page names no key of `host`, `begin` and `sample` that no line has."""
    said: dict[str, set[str]] = {"host": set(), "begin": set(), "sample": set()}
    for name in MEASURABLE:
        for line in run([static, "run", name, *SMALL.get(name, ()), *QUICK], code=None).lines:
            if line["type"] in said:
                said[line["type"]] |= set(line)
    for kind, keys in said.items():
        section = re.search(rf"^- `{kind}`: (.*)$", PROTOCOL, re.MULTILINE)
        assert section
        listed = re.findall(r"`(\w+)`", section[1].split(". ")[0])
        assert set(listed) <= keys, kind


@pytest.mark.parametrize("name", IN_MEMORY)
def test_memory_is_what_was_asked_for(static: Path, name: str) -> None:
    begin = run([static, "run", name, "--size", "1M", *QUICK]).one("begin")
    assert {buffer["bytes"] for buffer in begin["memory"]} == {1 << 20}
    buffers = {"memory.copy": 2, "memory.libc_copy": 2, "memory.triad": 3}
    assert len(begin["memory"]) == buffers.get(name, 1)


def test_two_ends_switch(static: Path) -> None:
    """Two processes on one CPU: each round trip is two voluntary or involuntary switches."""
    sample = run([static, "run", "os.context_switch", *QUICK]).all("sample")[0]
    switches = sample["voluntary_switches"] + sample["involuntary_switches"]
    assert switches >= sample["iterations"] * 0.9
    assert sample["detail"]["pipe_ns"] > 0


def test_context_switch_across_cpus_says_that_it_is_none(static: Path) -> None:
    result = run([static, "run", "os.context_switch", "--place", "core", *QUICK], code=None)
    if result.code == 77:
        skips.skip("benchmark", result.failure(77))
    begin = result.one("begin")
    assert begin["partner_cpu"] != begin["cpu"]
    (caveat,) = begin["caveats"]
    assert "not a context switch" in caveat


@pytest.mark.parametrize("name", TWO_ENDS)
def test_not_pinned(probe: Path, name: str) -> None:
    result = run([probe, "run", name, "--place", "free", *QUICK])
    begin = result.one("begin")
    assert begin["cpu"] == begin["partner_cpu"] == {"na": "not pinned"}
    for sample in result.all("sample"):
        check_sample(sample, begin)
        assert 0 <= sample["detail"]["same_cpu"] <= 1


@pytest.mark.parametrize(
    "call",
    [
        "getppid",
        "read",
        "write",
        "stat",
        "fstat",
        "open",
        "bad_close",
        "poll",
        "clock",
        "vdso",
    ],
)
def test_system_calls(probe: Path, call: str) -> None:
    result = run([probe, "run", "os.syscall", "--call", call, *QUICK])
    for sample in result.all("sample"):
        check_sample(sample, result.one("begin"))


@skips.needs("strace")
@pytest.mark.parametrize(
    ("call", "names"),
    [
        ("open", ("openat", "close")),
        ("stat", ("newfstatat",)),
        ("fstat", ("fstat",)),
        ("read", ("read",)),
        ("poll", ("poll",)),
        ("clock", ("clock_gettime",)),
        ("bad_close", ("close",)),
    ],
)
def test_only_the_named_calls_are_timed(
    static: Path, tmp_path: Path, call: str, names: tuple[str, ...]
) -> None:
    """Between the two looks at the clock (which the vDSO answers) there is nothing else."""
    log = tmp_path / "log"
    words = ["run", "os.syscall", "--call", call, "--batches", "1"]
    traced = subprocess.run(
        ["strace", "-o", log, static, *words, "--warm_ms", "0"], capture_output=True, check=False
    )
    if traced.returncode:
        skips.skip("ptrace")
    made = re.findall(r"^(\w+)\(", log.read_text(), re.MULTILINE)
    longest = max(re.findall(rf"(?:\b{' '.join(names)} )+", " ".join(made)), key=len).split()
    assert len(longest) > 20 * len(names)


def test_kernels_of_this_cpu(probe: Path, registry: dict[str, Line]) -> None:
    (kernels,) = [p for p in registry["memory.copy"]["parameters"] if p["name"] == "kernel"]
    used = set()
    for kernel in kernels["choices"]:
        words = ["run", "memory.copy", "--size", "64K", "--kernel", kernel, *QUICK]
        result = run([probe, *words], code=None)
        if result.code:
            assert kernel in result.failure(77)
        else:
            used.add(result.one("begin")["kernel"])
    assert "words" in used
    assert "auto" not in used


# --- what the memory benchmarks say about their memory ----------------------------------------


def test_an_untouched_source_overstates_and_says_so(static: Path) -> None:
    words = (static, "run", "memory.copy", "--size", "64M", "--source")
    (caveat,) = run([*words, "untouched", *QUICK]).one("begin")["caveats"]
    assert caveat.startswith("not a bandwidth")
    assert run([*words, "random", *QUICK]).one("begin")["caveats"] == []
    untouched, written = least_costs((*words, "untouched"), (*words, "random"))
    assert untouched * 1.2 < written


def test_huge_pages_are_reported_as_granted(probe: Path) -> None:
    mode = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    for name in IN_MEMORY:
        words = ["run", name, "--size", "16M", "--pages", "huge", *QUICK]
        begin = run([probe, *words]).one("begin")
        granted = [buffer["huge_bytes"] for buffer in begin["memory"]]
        assert all(0 <= number <= 16 << 20 for number in granted)
        assert bool(begin["caveats"]) == (min(granted) < 16 << 20)
        if mode.exists() and "[never]" not in mode.read_text():
            assert max(granted) > 0
    begin = run([probe, "run", "memory.copy", "--pages", "4k", *QUICK]).one("begin")
    assert [buffer["huge_bytes"] for buffer in begin["memory"]] == [0, 0]


def test_latency_grows_with_the_memory_it_runs_through(static: Path) -> None:
    words = (static, "run", "memory.latency", "--size")
    near, far = least_costs((*words, "16K"), (*words, "256M"), rounds=2)
    assert near * 3 < far


def test_too_much_memory_is_refused(static: Path) -> None:
    words = ("run", "memory.copy", "--size", "1G")
    result = run([static, *words], code=77, preexec_fn=limit_address_space)
    assert "choose a smaller size" in result.failure(77)


def limit_address_space() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


# --- usage and what is not possible -----------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), "the commands are "),
        (("fly",), "the commands are "),
        (("run",), "which benchmark"),
        (("run", "memory.teleport"), "no benchmark 'memory.teleport'"),
        (("run", "cpu.clock", "--size", "1M"), "cpu.clock has no parameter '--size'"),
        (("run", "memory.copy", "--size"), "--size needs a value"),
        (("run", "memory.copy", "--size", "2G"), "size=2G is not a size"),
        (("run", "memory.copy", "--size", "4095"), "size=4095"),
        (("run", "memory.copy", "--kernel", "magic"), "kernel=magic is none of"),
        (("run", "memory.libc_copy", "--size", "1"), "size=1 is not a size"),
        (("run", "memory.latency", "--stride", "48"), "stride=48 is not a power of two"),
        (("run", "cpu.clock", "--batches", "0"), "batches=0"),
        (("run", "cpu.clock", "--cpu", "1024"), "cpu=1024"),
        (("run", "cpu.clock", "--cpu", "1023"), "CPU 1023 cannot be used"),
        (("run", "pipe.latency", "--place", "free", "--cpu", "0"), "contradicts place=free"),
        (("write", "/etc/hostname"), "takes a path and a value"),
    ],
)
def test_usage(probe: Path, words: tuple[str, ...], named: str) -> None:
    result = run([probe, *words], code=2)
    assert [line["type"] for line in result.lines if line["type"] != "host"] == ["error"]
    assert named in result.failure(2)


def test_the_commands_it_names_are_those_documented(probe: Path) -> None:
    named = run([probe], code=2).failure(2).partition("the commands are ")[2]
    documented = re.findall(r"^\| `bvprobe (\w+)", PROTOCOL, re.MULTILINE)
    assert sorted(re.split(r", | and ", named)) == sorted(documented)


# --- attributes -------------------------------------------------------------------------------

ASKED = "nice; cat /proc/self/timerslack_ns /proc/self/personality; grep THP_en /proc/self/status"
COMMAND = ("command.time", "--run", ASKED, "--output", "keep", "--batches", "1", "--warmup", "0")


def test_attributes_are_given_to_commands_too(probe: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    given = ("--as", f"nice=3,thp=off,cpus={cpu}", "--as", "timer_slack=77000,aslr=off")
    result = run([probe, "run", COMMAND[0], *given, *COMMAND[1:]])
    words = result.one("sample")["detail"]["output"].split()
    assert words[:2] == ["3", "77000"] and int(words[2], 16) & 0x0040000
    assert words[3:] in ([], ["THP_enabled:", "0"])  # Linux 5.0
    assert result.one("host")["cpus_allowed"] == [cpu]


@pytest.mark.parametrize("name", ["cpu.clock", "memory.libc_copy", "storage.read"])
@pytest.mark.parametrize("attributes", ["nice=1", "nice=1,aslr=off"])
def test_attributes_hold_in_every_program_of_the_probe(
    static: Path, name: str, attributes: str, tmp_path: Path
) -> None:
    here = ("--file", str(tmp_path / "file")) if name == "storage.read" else ()
    sizes = () if name == "cpu.clock" else ("--size", "1M")
    result = run([static, "run", name, "--as", attributes, *sizes, *here, *QUICK], code=None)
    assert result.lines[0]["type"] == "host" or result.code == 77


@pytest.mark.parametrize(
    ("attribute", "code", "named"),
    [
        ("colour=red", 2, "--as colour=red: there is no such attribute"),
        ("thp", 2, "that is not NAME=VALUE"),
        ("nice=99", 2, "--as nice=99: it takes a number from -20 to 19"),
        ("cpus=1023", 77, "--as cpus=1023 is not possible here"),
    ],
)
def test_what_is_no_attribute_measures_nothing(
    probe: Path, attribute: str, code: int, named: str
) -> None:
    result = run([probe, "run", "cpu.clock", "--as", attribute], code=code)
    assert named in result.failure(code) and len(result.lines) == 1


def test_a_plain_user_may_not_take_more_than_its_share(unprivileged: dict[str, Any]) -> None:
    for attribute in ("nice=-5", "sched=fifo:1"):
        command = [unprivileged["probe"], "run", "cpu.clock", "--as", attribute]
        result = run(command, code=77, **unprivileged["options"])
        assert "takes root or a capability" in result.failure(77)
    nice = min(os.nice(0) + 1, 19)
    mild = ["--as", f"thp=off,nice={nice},timer_slack=60000,sched=batch"]
    run([unprivileged["probe"], "run", "cpu.clock", *mild, *QUICK], **unprivileged["options"])


def test_no_smt_sibling(probe: Path) -> None:
    siblings = Path("/sys/devices/system/cpu").glob("cpu*/topology/thread_siblings_list")
    if any(re.search("[-,]", path.read_text()) for path in siblings):
        skips.skip("SMT")
    message = run([probe, "run", "pipe.latency", "--place", "sibling"], code=77).failure(77)
    assert "has no SMT sibling" in message


def test_the_helper_is_missing(static: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copy(static, tmp_path))
    message = run([alone, "run", "memory.libc_copy"], code=77).failure(77)
    assert "cannot execute bvlibc, which belongs beside the probe" in message


def test_no_glibc(static: Path, tmp_path: Path) -> None:
    """The loader that the helper names is missing, as on a board with musl."""
    shutil.copy(static, tmp_path)
    loader = re.search(rb"/lib\S*/ld-linux[^\0]*", static.with_name("bvlibc").read_bytes())
    assert loader
    missing = b"/none" + loader[0][5:]
    content = static.with_name("bvlibc").read_bytes().replace(loader[0], missing)
    (tmp_path / "bvlibc").write_bytes(content)
    (tmp_path / "bvlibc").chmod(0o755)
    result = run([tmp_path / "bvprobe", "run", "memory.libc_copy"], code=77)
    assert "this board has no glibc" in result.failure(77)


# --- counters ---------------------------------------------------------------------------------


def test_counters_where_counting_does_not_disturb(static: Path) -> None:
    sample = run([static, "run", "memory.read", "--size", "1M", *QUICK]).all("sample")[0]
    assert all(is_evidence(value) for value in sample["counters"].values())
    clock = sample["counters"]["task_clock_ns"]
    if isinstance(clock, int):
        # other processes may take the CPU meanwhile, but nobody gives more of it than there is
        assert 0 < clock < sample["elapsed_ns"] * 1.5


def test_counters_are_off_where_they_would_slow_what_is_measured(static: Path) -> None:
    for words, reason in (((), "counters=on"), (("--counters", "off"), "switched off")):
        result = run([static, "run", "os.context_switch", *QUICK, *words])
        for sample in result.all("sample"):
            assert all(reason in value["na"] for value in sample["counters"].values())


def test_counters_see_both_ends(static: Path) -> None:
    result = run([static, "run", "os.context_switch", "--counters", "on", *QUICK])
    for sample in result.all("sample"):
        count = sample["counters"]["context_switches"]
        if isinstance(count, dict):
            skips.skip("benchmark", count["na"])
        assert count >= 2 * sample["iterations"]


def test_a_plain_user_gets_no_made_up_counts(unprivileged: dict[str, Any]) -> None:
    """Where only user space may be counted, what happens in the kernel would count as 0."""
    result = run(
        [unprivileged["probe"], "run", "os.context_switch", "--counters", "on", *QUICK],
        **unprivileged["options"],
    )
    scope = result.one("begin")["counters_scope"]
    for sample in result.all("sample"):
        count = sample["counters"]["context_switches"]
        assert "not permitted" in count["na"] if scope == "user" else is_evidence(count)


@pytest.mark.parametrize("name", MEASURABLE)
def test_a_plain_user_can_measure(unprivileged: dict[str, Any], name: str) -> None:
    words = ("--size", "1M") if name in IN_MEMORY else SMALL.get(name, ())
    command = [unprivileged["probe"], "run", name, *words, *QUICK]
    result = run(command, code=None, **unprivileged["options"])
    if result.code == 77 and name == HUGE:
        skips.skip("benchmark", result.failure(77))
    assert result.lines[0]["uid"] == unprivileged["options"].get("user", os.getuid())
    assert len(result.all("sample")) == 2
