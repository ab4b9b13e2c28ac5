"""The probe on a machine that lacks things, and between lines that a wire joins: a virtual one.

Everything is done in one boot. Times are those of an emulator that counts instructions: they are
repeatable and consistent with each other, and say nothing of any board.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import skips
from guest_machine import build_program, missing, run_guest
from probe_programs import BENCHMARKS, ROOT, Line, Result, build, is_figure, run

from benchvise.measure.histogram import Histogram

pytest_plugins = ["probe_fixtures"]
pytestmark = skips.unless_missing(missing())

PROBES = ROOT / "src" / "benchvise" / "board" / "probes" / "x86_64"
SHORT = "--batches 1 --batch_ms 1 --warm_ms 0"
SCENES = ("root", "plain-user", "no-proc-no-sys")

# Lines 0 and 1 are joined, and 2 and 3; 4 is in use.
JOINED = "--chip gpiochip0 --out 0 --in 1"
GPIO = {
    "chardev": JOINED,
    "chardev-by-path": "--chip /dev/gpiochip0 --out 2 --in 3",
    "sysfs": f"{JOINED} --method sysfs",
    "sysfs-by-number": "--chip gpiochip$base --out 0 --in 1 --method sysfs",
    # Few: where others wait, the emulator skips the time, but the load has it compute on.
    "loaded": f"{JOINED} --policy fifo --priority 60 --load cpu --batch_ms 400 --interval_us 40000",
    "no-wire": "--chip gpiochip0 --out 0 --in 5",
    "no-line": "--chip gpiochip0 --out 0 --in 99",
    "no-chip": "--chip gpiochip7 --out 0 --in 1",
    "no-chip-sysfs": "--chip gpiochip7 --out 0 --in 1 --method sysfs",
    "registers": f"{JOINED} --method mmap",
    "in-use": "--chip gpiochip0 --out 4 --in 1",
    "in-use-sysfs": "--chip gpiochip0 --out 4 --in 1 --method sysfs",
    "no-echo": "--chip gpiochip0 --out 2 --in 5 --mode echo",
}
# Line 0 is toggled from outside meanwhile.
ECHO = {
    "echo": "--chip gpiochip0 --out 2 --in 1 --mode echo",
    "echo-sysfs": "--chip gpiochip0 --out 2 --in 1 --mode echo --method sysfs",
}


def script(registry: dict[str, Line]) -> Iterator[str]:
    """What the guest does: shell commands, and before and after each its name and exit code."""

    def note(name: str, command: str) -> str:
        return f"echo '=== {name}'; {command}; echo \"=== $?\""

    def every(scene: str, shell: str) -> Iterator[str]:
        for name in BENCHMARKS:
            words = f"timeout 60 /bvprobe run {name} {SHORT}{small(registry[name])}"
            yield note(f"{scene}/{name}", shell.format(words))

    def gpio(runs: dict[str, str]) -> Iterator[str]:
        for name, words in runs.items():
            yield note(name, f"/bvprobe run gpio.response --batches 3 {words}")

    yield "/wired & sleep 1"
    yield from every("root", "{}")
    yield from every("plain-user", "su somebody -c '{}'")
    yield "umount /proc /sys"
    yield from every("no-proc-no-sys", "{}")
    yield "mount -t proc proc /proc; mount -t sysfs sys /sys; cd /sys/class/gpio"
    yield "base=$(cat gpiochip*/base); echo $((base + 4)) > export"
    yield from gpio(GPIO)
    yield note("exported", "ls")
    yield note("direction", "echo $base > export; cat gpio$base/direction")
    yield "echo out > gpio$base/direction"
    yield "while :; do for n in 1 0; do echo $n > gpio$base/value; sleep 0.1; done; done &"
    yield from gpio(ECHO)
    yield note("kernel", "dmesg")


def small(item: Line) -> str:
    """So little memory that an emulator is soon through it."""
    sizes = [p for p in item["parameters"] if p["name"] == "size" and p["type"] == "size"]
    return "".join(f" --size {max(1 << 20, parameter['min'])}" for parameter in sizes)


@dataclass(frozen=True)
class Outcome:
    """What a command in the guest wrote, and its exit code."""

    text: str
    code: int

    def result(self) -> Result:
        return Result(self.code, [json.loads(line) for line in self.text.splitlines()])


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Everything that was done in the guest, by name."""
    build(ROOT / "probe" / "build.py", "--arch", "x86_64")
    listed = run([PROBES / "bvprobe", "list"]).one("list")["benchmarks"]
    output = run_guest(
        tmp_path_factory.mktemp("guest"),
        "\n".join(script({item["id"]: item for item in listed})),
        {
            "bvprobe": PROBES / "bvprobe",
            "bvio": PROBES / "bvio",
            "wired": build_program("wired_gpio"),
        },
        timeout=240,
    )
    parts = f"\n{output}".split("\n=== ")[1:]
    found = {}
    for head, tail in zip(parts[::2], parts[1::2], strict=True):
        name, _, text = head.partition("\n")
        found[name] = Outcome(text, int(tail.split()[0]))
    return found


# --- what a machine may lack ------------------------------------------------------------------


@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.parametrize("scene", SCENES)
def test_every_benchmark_gives_figures_or_a_reason(
    guest: dict[str, Outcome], scene: str, name: str
) -> None:
    result = guest[f"{scene}/{name}"].result()
    if result.code:
        assert result.failure(77)
        return
    assert [line["type"] for line in result.lines] == ["host", "begin", "sample", "end"]
    sample = result.one("sample")
    assert is_figure(name, sample["value"])
    # no performance counters in this machine, and no word of zero
    assert all(set(sample["counters"][name]) == {"na"} for name in ("cycles", "cache_misses"))
    if scene == "no-proc-no-sys":
        assert set(sample["steal_ticks"]) == set(sample["wait_ns"]) == {"na"}
        assert set(result.one("host")["governor"]) == {"na"}


@pytest.mark.parametrize("scene", SCENES)
def test_few_benchmarks_are_impossible_anywhere(guest: dict[str, Outcome], scene: str) -> None:
    """What needs nothing but a CPU and memory works on the barest machine."""
    for name in ("memory.copy", "memory.latency", "os.syscall", "os.context_switch",
                 "pipe.throughput", "timer.wakeup", "timer.clock"):  # fmt: skip
        assert guest[f"{scene}/{name}"].code == 0, guest[f"{scene}/{name}"].text


# --- GPIO -------------------------------------------------------------------------------------


def check_histogram(sample: Line) -> None:
    histogram = Histogram.from_detail(sample["detail"]["histogram"])
    assert histogram
    assert histogram.count == sample["iterations"]
    assert histogram.maximum == sample["detail"]["max"]
    assert histogram.percentile(50) == pytest.approx(sample["value"], rel=1e-6)
    for percent in (90, 99):
        assert histogram.percentile(percent) == pytest.approx(sample["detail"][f"p{percent}"])


@pytest.mark.parametrize(
    "name", ["chardev", "chardev-by-path", "sysfs", "sysfs-by-number", "loaded"]
)
def test_response_over_a_wire(guest: dict[str, Outcome], name: str) -> None:
    result = guest[name].result()
    assert result.code == 0, guest[name].text
    assert result.one("begin")["gpio_label"] == "cp2112_gpio"
    samples = result.all("sample")
    assert len(samples) == 3
    for sample in samples:
        check_histogram(sample)
        detail = sample["detail"]
        assert detail["extra_edges"] == 0
        # this chip's driver looks every 40 ms whether a level has changed
        assert 1e6 < sample["value"] < 90e6
        if "sysfs" in name:
            assert set(detail["interrupt_ns"]) == set(detail["wake_ns"]) == {"na"}
            continue
        # the parts make the whole, to within the buckets that they are known to
        whole = detail["interrupt_ns"] + detail["wake_ns"]
        assert whole == pytest.approx(sample["value"], rel=0.05)
        assert 0 < detail["wake_ns"] < detail["interrupt_ns"]


def test_real_time_is_woken_sooner_than_under_load_otherwise(guest: dict[str, Outcome]) -> None:
    begin = guest["loaded"].result().one("begin")
    assert (begin["params"]["policy"], begin["params"]["load"]) == ("fifo", "cpu")
    for sample in guest["loaded"].result().all("sample"):
        assert sample["detail"]["wake_ns"] < 4e6  # less than a tick: it did not wait for the load


@pytest.mark.parametrize("name", ECHO)
def test_echo(guest: dict[str, Outcome], name: str) -> None:
    result = guest[name].result()
    assert result.code == 0, guest[name].text
    begin = result.one("begin")
    assert begin["counted"].startswith("an answer")
    assert begin["caveats"][0].startswith("echo")
    for sample in result.all("sample"):
        check_histogram(sample)
        assert 0 < sample["value"] < 40e6
        assert "interrupt_ns" not in sample["detail"]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("no-wire", 77, "line 5 of gpiochip0 does not follow line 0: join them by a wire"),
        ("no-line", 2, "in=99, but gpiochip0 (cp2112_gpio) has the lines 0 to 7"),
        ("no-chip", 77, "cannot open /dev/gpiochip7"),
        ("no-chip-sysfs", 77, "no chip gpiochip7"),
        ("registers", 77, "knows the registers of BCM2835 to BCM2711"),
        ("in-use", 77, 'line 4 of gpiochip0 is in use by "sysfs"'),
        ("in-use-sysfs", 77, "line 4 of gpiochip0 cannot be exported: it is in use"),
        ("no-echo", 77, "no edge on line 5 in 2 s"),
        ("root/gpio.response", 77, "(chips of this board: gpiochip0)"),
        ("plain-user/gpio.response", 77, "name them with chip, out and in"),
    ],
)
def test_refused_with_a_reason(guest: dict[str, Outcome], name: str, code: int, words: str) -> None:
    assert words in guest[name].result().failure(code)


def test_lines_are_given_back(guest: dict[str, Outcome]) -> None:
    """Nothing but what was exported before stays so, and what was driven is an input again."""
    assert len([word for word in guest["exported"].text.split() if word[4:].isdigit()]) == 1
    assert guest["direction"].text.strip() == "in"


def test_the_kernel_had_nothing_to_complain_about(guest: dict[str, Outcome]) -> None:
    assert "BUG:" not in guest["kernel"].text
    assert "segfault" not in guest["kernel"].text
