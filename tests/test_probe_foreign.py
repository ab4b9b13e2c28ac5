"""The probe on every other architecture, by user-mode emulation: what it does, not how fast."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import skips
from probe_programs import (
    HUGE,
    IN_BVIO,
    IN_MEMORY,
    MEASURABLE,
    PLAUSIBLE,
    PROGRAMS,
    QUICK,
    ROOT,
    RUNNER,
    SMALL,
    WITH_REMOTE,
    Result,
    Running,
    build,
    is_evidence,
    run,
)
from remote_hosts import measure, sink
from waiting import PATIENCE

pytest_plugins = ["probe_fixtures"]

SIZE_LIMIT = 300_000


@dataclass(frozen=True)
class Machine:
    """A CPU to be emulated: whose binaries it runs, and which kernels it can execute.

    ``libc`` is where its C library is installed, when the emulated CPU can run that.
    """

    name: str
    arch: str
    emulator: tuple[str, ...]
    kernels: frozenset[str]
    libc: str = ""

    @property
    def probes(self) -> Path:
        return ROOT / "src" / "benchvise" / "board" / "probes" / self.arch

    def command(self, program: Path, *before: str) -> tuple[str | Path, ...]:
        return (*self.emulator, *before, program)


ARM = "qemu-arm-static"
RISCV = "qemu-riscv64-static"
CORTEX_A72 = Machine(
    "cortex-a72",
    "aarch64",
    ("qemu-aarch64-static", "-cpu", "cortex-a72"),
    frozenset({"neon", "neon_nt", "zva", "words"}),
    "/usr/aarch64-linux-gnu",
)
CORTEX_A7 = Machine(
    "cortex-a7",
    "armv7hf",
    (ARM, "-cpu", "cortex-a7"),
    frozenset({"neon", "ldm", "words"}),
    "/usr/arm-linux-gnueabihf",
)
NO_NEON = Machine(  # as NVIDIA's Tegra 2 and Marvell's Armada were
    "cortex-a9-no-neon",
    "armv7hf",
    (ARM, "-cpu", "cortex-a9,neon=off"),
    frozenset({"ldm", "words"}),
    "/usr/arm-linux-gnueabihf",
)
ARM1176 = Machine("arm1176", "armv6hf", (ARM, "-cpu", "arm1176"), frozenset({"ldm", "words"}))
RV64 = Machine("rv64", "riscv64", (RISCV,), frozenset({"words"}), "/usr/riscv64-linux-gnu")
RV64_VECTOR = Machine(
    "rv64-vector",
    "riscv64",
    (RISCV, "-cpu", "rv64,v=true,vext_spec=v1.0"),
    frozenset({"rvv", "words"}),
)
# Of an architecture, the one that can do least comes first.
MACHINES = (CORTEX_A72, NO_NEON, CORTEX_A7, ARM1176, RV64, RV64_VECTOR)
ARCHITECTURES = tuple({machine.arch: machine for machine in reversed(MACHINES)}.values())
# Debian's armhf library is made for ARMv7, so the helper for ARMv6 shows its worth on such a CPU.
WITH_LIBC = (
    CORTEX_A72,
    CORTEX_A7,
    NO_NEON,
    Machine("armv6-on-cortex-a7", "armv6hf", CORTEX_A7.emulator, frozenset(), CORTEX_A7.libc),
    RV64,
)


def names(value: Machine | str) -> str:
    return value.name if isinstance(value, Machine) else value


@pytest.fixture(scope="session", autouse=True)
def probes() -> None:
    build(ROOT / "probe" / "build.py", *(f"--arch={machine.arch}" for machine in ARCHITECTURES))


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> Machine:
    """The machine that the test is parametrised with, if its emulator is here."""
    wanted: Machine = request.param
    skips.need(wanted.emulator[0])
    return wanted


every_machine = pytest.mark.parametrize("machine", MACHINES, indirect=True, ids=names)
every_architecture = pytest.mark.parametrize("machine", ARCHITECTURES, indirect=True, ids=names)
# What ran where less can be done runs there too: only what takes another kernel is looked at.
OTHER_CPUS = tuple(machine for machine in MACHINES if machine not in ARCHITECTURES)
BENCHMARKS = [
    *((machine, name) for machine in ARCHITECTURES for name in MEASURABLE),
    *((machine, name) for machine in OTHER_CPUS for name in IN_MEMORY),
]
EXECUTED = [
    # no huge pages are emulated
    *((machine, name) for machine in ARCHITECTURES for name in PROGRAMS if name != "huge_pages"),
    *((machine, "kernels") for machine in OTHER_CPUS),
]


def probe(machine: Machine, *words: str, **options: Any) -> Result:
    """The emulator starts no further programs, so what bvprobe would hand over goes to bvio."""
    program = "bvio" if words[0] == "run" and words[1] in IN_BVIO else "bvprobe"
    return run([*machine.command(machine.probes / program), *words], **options)


def check_measured(result: Result) -> None:
    assert [line["type"] for line in result.lines] == ["host", "begin", "sample", "sample", "end"]
    begin = result.one("begin")
    low, high = PLAUSIBLE[begin["unit"]]
    for sample in result.all("sample"):
        # a difference of two, which noise may turn around
        assert low < sample["value"] < high or begin["benchmark"] == HUGE
        assert sample["iterations"] == begin["iterations"] > 0
        assert sample["elapsed_ns"] > 0
        assert all(is_evidence(value) for value in sample["counters"].values())


@pytest.mark.parametrize(("machine", "name"), BENCHMARKS, indirect=["machine"], ids=names)
def test_benchmark(machine: Machine, name: str) -> None:
    sizes = ("--size", "1M") if name in IN_MEMORY else SMALL.get(name, ())
    words = (*sizes, *QUICK, "--warm_ms", "0")  # warming is a program's and the ladder's to prove
    result = probe(machine, "run", name, *words, code=None)
    if result.code:
        assert result.failure(77)
        # programs that the emulator does not start; huge pages, which it does not have
        assert name in ("memory.libc_copy", "os.exec", HUGE)
        return
    check_measured(result)
    assert result.one("host")["arch"] == machine.arch


@every_architecture
@pytest.mark.parametrize("reader", ["read", "splice"])
@pytest.mark.parametrize("writer", ["line", "stdio", "write", "vmsplice"])
def test_pipe_ladder(machine: Machine, writer: str, reader: str) -> None:
    words = ("--writer", writer, "--reader", reader, "--block", "64K", "--pipe", "64K")
    short = (*QUICK, "--warm_ms", "0")
    result = probe(machine, "run", "pipe.throughput", *words, *short, code=None)
    if result.code:
        assert "vmsplice" in (writer, "vmsplice" if reader == "splice" else "")
        skips.skip("benchmark", result.failure(77))
    assert result.one("begin")["verified_bytes"] >= 32768
    assert all(sample["value"] > 0 for sample in result.all("sample"))


@every_machine
def test_kernels(machine: Machine) -> None:
    """The one that `auto` takes, and of those named the ones that this CPU has."""
    usable = set()
    for kernel in ("auto", "words", "neon", "neon_nt", "ldm", "zva", "rvv", "sse2"):
        for name in ("memory.copy", "memory.fill", "memory.read"):
            words = ("run", name, "--size", "64K", "--kernel", kernel, "--batches", "1")
            result = probe(machine, *words, "--warm_ms", "0", "--batch_ms", "1", code=None)
            if result.code:
                assert f"kernel={kernel}" in result.failure(77)
            else:
                usable.add(result.one("begin")["kernel"])
    assert usable == machine.kernels


def programs(machine: Machine) -> Path:
    build(RUNNER, "--build", "--arch", machine.arch)
    return ROOT / "build" / f"probe-{machine.arch}"


@pytest.mark.parametrize(("machine", "name"), EXECUTED, indirect=["machine"], ids=names)
def test_program(machine: Machine, name: str) -> None:
    done = subprocess.run(
        machine.command(programs(machine) / name),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "EMULATED": "1"},
    )
    if done.returncode == 77:
        skips.skip("emulator", done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    if name == "kernels":  # says which it has proved right
        assert set(done.stdout.split()) == machine.kernels


@every_architecture
def test_list_is_that_of_every_architecture(machine: Machine, static: Path) -> None:
    native, foreign = run([static, "list"]).one("list"), probe(machine, "list").one("list")
    assert foreign.pop("arch") == machine.arch
    native.pop("arch")
    assert "bvio" in foreign.pop("incomplete")
    native["benchmarks"] = [b for b in native["benchmarks"] if b["id"] not in IN_BVIO]
    assert foreign == native


@every_architecture
def test_serve(machine: Machine) -> None:
    with Running(*machine.command(machine.probes / "bvprobe"), "serve") as served:
        assert served.until("ready")["arch"] == machine.arch
        served.request(1, "run", "pipe.latency", *QUICK)
        served.until("end")
        assert served.until("done") == {"type": "done", "request": 1, "exit": 0}
        served.request(2, "read", given=["/proc/sys/kernel/ostype"])
        assert served.until("value")["value"] == "Linux\n"
        assert served.until("done")["exit"] == 0
        served.input.close()
        assert served.process.wait(PATIENCE) == 0


@every_architecture
@pytest.mark.parametrize("name", WITH_REMOTE)
def test_with_a_remote(machine: Machine, static: Path, name: str) -> None:
    """Against a sink of this machine's own architecture: both speak the same, byte for byte."""
    command = machine.command(machine.probes / "bvio")
    with sink(static, "--bind", "127.0.0.1") as own:
        result = measure(command, name, own.endpoint)
    begin = result.one("begin")
    assert begin["network"]["interface"] == "lo"
    assert all(sample["value"] > 0 for sample in result.all("sample"))


@every_architecture
def test_the_sink(machine: Machine, static: Path) -> None:
    with sink(machine.probes / "bvio", prefix=machine.emulator) as own:
        for name in WITH_REMOTE:
            measure((static,), name, f"127.0.0.1:{own.port}")


@every_architecture
def test_write(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "knob").write_text("off")
    line = probe(machine, "write", str(tmp_path / "knob"), "on ").one("write")
    assert (line["old"], line["now"]) == ("off", "on")


@every_machine
def test_facts(machine: Machine) -> None:
    """What the emulator does not know is missing with a reason; the rest is the board's."""
    found: dict[str, list[object]] = {}
    for line in probe(machine, "facts").all("fact"):
        found.setdefault(line["name"], []).append(line["value"])
    assert {"uname", "page_size", "process", "filesystem", "processes", "busy"} <= found.keys()
    for name in ("kernel_log", "cpu_clock", "perf", "qdisc", "nic_driver", "hypervisor"):
        assert found[name]
        assert all(is_evidence(v) or (isinstance(v, str | dict) and v) for v in found[name])
    assert found["timers"][0] != {}


@every_architecture
def test_links_and_long_files(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "long").write_text("a" * 400_000)
    (tmp_path / "link").symlink_to("target")
    given = f"{tmp_path}/long".encode()
    assert (
        len(probe(machine, "read", "--limit", "400K", given=given).one("value")["value"]) == 400_000
    )
    link = probe(machine, "links", given=f"{tmp_path}/li*".encode()).one("link")
    assert link["target"] == "target"


@pytest.mark.parametrize("machine", WITH_LIBC, indirect=True, ids=names)
def test_helper(machine: Machine) -> None:
    """The helper with that architecture's own C library."""
    if not list(Path(machine.libc).glob("lib/ld-linux-*")):
        skips.skip_packages("libc6-arm64-cross", "libc6-armhf-cross", "libc6-riscv64-cross")
    command = machine.command(machine.probes / "bvlibc", "-L", machine.libc)
    result = run([*command, "--size", "1M", *QUICK])
    check_measured(result)
    begin = result.one("begin")
    assert begin["benchmark"] == "memory.libc_copy"
    assert begin["libc"] == "glibc"
    assert re.fullmatch(r"2\.\d+", begin["libc_version"])


# --- the binaries -----------------------------------------------------------------------------


def readelf(option: str, path: Path) -> str:
    skips.need("readelf")
    command = ["readelf", "--wide", option, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("machine", ARCHITECTURES, ids=names)
def test_binaries_are_small_and_the_probe_needs_nothing(machine: Machine) -> None:
    for name in ("bvprobe", "bvio", "bvlibc"):
        assert 10_000 < (machine.probes / name).stat().st_size < SIZE_LIMIT
    assert "INTERP" not in readelf("-l", machine.probes / "bvprobe")
    assert "There is no dynamic section" in readelf("-d", machine.probes / "bvprobe")
    assert not re.search(r"GNU_STACK.*RWE", readelf("-l", machine.probes / "bvprobe"))


@pytest.mark.parametrize("machine", ARCHITECTURES, ids=names)
def test_the_helper_needs_no_newer_glibc_than_debian_10_has(machine: Machine) -> None:
    needed = re.findall(r"GLIBC_2\.(\d+)", readelf("-V", machine.probes / "bvlibc"))
    assert needed
    assert max(map(int, needed)) <= 28


@pytest.mark.parametrize(
    ("machine", "architecture", "floating_point"),
    [(ARM1176, "v6", "VFPv2"), (CORTEX_A7, "v7", "VFPv3-D16")],
    ids=["armv6hf", "armv7hf"],
)
def test_arm_probes_ask_for_no_more_than_their_name_says(
    machine: Machine, architecture: str, floating_point: str
) -> None:
    """What the linker keeps: the C library's start code. The rest was executed above."""
    text = readelf("-A", machine.probes / "bvprobe")
    assert f"Tag_CPU_arch: {architecture}\n" in text
    assert f"Tag_FP_arch: {floating_point}\n" in text
    assert "Tag_Advanced_SIMD_arch" not in text
    assert "Tag_ABI_VFP_args: VFP registers\n" in text
