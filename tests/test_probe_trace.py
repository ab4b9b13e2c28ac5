"""``bvprobe trace``: what it takes from the kernel, what it writes, and that it leaves nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import skips
from probe_programs import ROOT, Line, Result, Running, build, run
from trace_boards import (
    PAGE,
    instances,
    page,
    recording,
    reported,
    stand_in,
    tracing_state,
)
from waiting import PATIENCE, wait_until

from benchvise.trace.loaded import load_trace

pytest_plugins = ["probe_fixtures"]

SHORT = ("--for_ms", "200", "--progress_ms", "0", "--kallsyms", "off")


def trace(probe: Path, *words: str | Path, **options: Any) -> Result:
    return run([probe, "trace", *words], **options)


def figures(line: Line) -> list[tuple[int, int]]:
    return [(cpu["events"], cpu["bytes"]) for cpu in line["per_cpu"]]


def buffer_of(content: bytes) -> dict[int, bytes]:
    """The data of each CPU by the option BUFFER of a file without other buffers."""
    (at,) = struct.unpack_from("<Q", content, 24)
    (size,) = struct.unpack_from("<Q", content, at + 8)
    at += 16
    while True:
        option, length = struct.unpack_from("<HI", content, at)
        if option == 3:
            break
        at += 6 + length
    clock_end = content.index(b"\0", at + 6 + 9)
    (count,) = struct.unpack_from("<I", content, clock_end + 5)
    found = {}
    for i in range(count):
        cpu, offset, size = struct.unpack_from("<IQQ", content, clock_end + 9 + 20 * i)
        found[cpu] = content[offset : offset + size]
    return found


class TestOfAStandIn:
    """Kernels without instances, whose top level is used and put back."""

    def record(self, probe: Path, root: Path, out: Path, *words: str) -> Result:
        return trace(probe, "--root", root, "--events", "sched", "--output", out, *SHORT, *words)

    def test_takes_whole_pages_and_clears_what_is_left_over(
        self, probe: Path, tmp_path: Path
    ) -> None:
        full, partial = page(1000, 500), page(2000, 3, lost=True)
        root = stand_in(tmp_path / "tracing", (full, partial[:100]))
        out = tmp_path / "trace.dat"
        ended = self.record(probe, root, out).one("recorded")
        data = buffer_of(out.read_bytes())
        assert set(data) == {0}
        assert data[0][: 16 + 8 * 500] == full[: 16 + 8 * 500]
        assert data[0][PAGE : PAGE + 40] == partial[:40]
        assert not any(data[0][PAGE + 40 :])
        assert figures(ended) == [(7, 2 * PAGE), (7, 0)]
        assert out.stat().st_size == ended["file_bytes"]
        assert out.stat().st_mode & 0o077 == 0

    def test_puts_everything_back(self, probe: Path, tmp_path: Path) -> None:
        root = stand_in(tmp_path / "tracing", (page(1, 1),))
        self.record(probe, root, tmp_path / "trace.dat")
        assert (root / "tracing_on").read_text() == "1"
        assert (root / "trace_clock").read_text() == "local"
        assert (root / "buffer_size_kb").read_text() == "1408"
        assert (root / "events/sched/enable").read_text() == "0"

    def test_says_that_the_top_level_was_used(self, probe: Path, tmp_path: Path) -> None:
        root = stand_in(tmp_path / "tracing", (page(1, 1),))
        result = self.record(probe, root, tmp_path / "trace.dat")
        assert result.one("recording")["instance"] == ""
        assert "what was in it is lost" in result.one("recorded")["caveats"][0]

    @pytest.mark.parametrize(
        ("file", "text"), [("set_event", "irq:*\n"), ("current_tracer", "function\n")]
    )
    def test_is_refused_while_somebody_else_uses_it(
        self, probe: Path, tmp_path: Path, file: str, text: str
    ) -> None:
        root = stand_in(tmp_path / "tracing", ())
        (root / file).write_text(text)
        result = trace(probe, "--root", root, *SHORT, code=77)
        assert str(root) in result.failure(77)
        assert (root / "tracing_on").read_text() == "1\n"

    def test_comes_over_standard_output_too(self, probe: Path, tmp_path: Path) -> None:
        root = stand_in(tmp_path / "tracing", (page(1000, 500),))
        words = ["--root", str(root), "--events", "sched", *SHORT]
        done = subprocess.run([probe, "trace", *words], capture_output=True, check=True)
        begun, file, rest = done.stdout.split(b"\n", 2)
        assert b'"recording"' in begun
        size = int(file.split(b'"bytes":')[1].rstrip(b"}"))
        assert rest[:10] == b"\x17\x08\x44tracing"
        assert buffer_of(rest[:size])[0][:100] == page(1000, 500)[:100]
        assert rest[size:].startswith(b'{"type":"recorded"')

    def test_settings_of_a_tracer_are_written_and_restored(
        self, probe: Path, tmp_path: Path
    ) -> None:
        root = stand_in(tmp_path / "tracing", (page(1, 1),))
        files = {"osnoise/cpus": "0-3", "osnoise/stop_tracing_us": "7", "tracing_thresh": "0"}
        (root / "osnoise").mkdir()
        for name, text in files.items():
            (root / name).write_text(f"{text}\n")
        (root / "available_tracers").write_text("timerlat osnoise nop\n")
        words = ("--events", "sched", "--tracer", "timerlat", "--control", "2")
        settings = "osnoise/cpus=0-1;osnoise/stop_tracing_us=0;tracing_thresh=5"
        with Running(probe, "trace", "--root", root, *words, "--settings", settings) as running:
            running.until("ready")
            assert (root / "osnoise/cpus").read_text() == "0-1"
            assert (root / "tracing_thresh").read_text() == "5"
            assert (root / "current_tracer").read_text() == "timerlat"
            assert (root / "tracing_on").read_text() == "0"
            running.say("go\n")
            running.until("recording")
            assert (root / "tracing_on").read_text() == "1"
            running.process.send_signal(signal.SIGKILL)
            running.process.wait()
            files |= {"current_tracer": "nop", "tracing_on": "1"}
            wait_until(
                lambda: {name: (root / name).read_text() for name in files} == files,
                "what it was before",
            )

    def test_ends_when_a_tracer_stops_tracing(self, probe: Path, tmp_path: Path) -> None:
        root = stand_in(tmp_path / "tracing", (page(1, 1),))
        (root / "osnoise").mkdir()
        (root / "osnoise/stop_tracing_us").write_text("0\n")
        (root / "available_tracers").write_text("osnoise\n")
        words = ["--events", "sched", "--tracer", "osnoise", "--control", "1", "--kallsyms", "off"]
        words += ["--output", str(tmp_path / "t.dat")]
        settings = "osnoise/stop_tracing_us=9"
        with Running(probe, "trace", "--root", root, *words, "--settings", settings) as running:
            running.until("recording")
            (root / "tracing_on").write_text("0\n")
            running.until("met")
            assert running.until("recorded")["ended"] == "threshold"
        assert (root / "osnoise/stop_tracing_us").read_text() == "0"

    @pytest.mark.parametrize(
        ("words", "reason"),
        [
            (("--tracer", "timerlat"), "this kernel has no tracer timerlat"),
            (("--settings", "osnoise/cpus=1"), "this kernel has no osnoise/cpus"),
        ],
    )
    def test_a_tracer_that_the_kernel_lacks(
        self, probe: Path, tmp_path: Path, words: tuple[str, ...], reason: str
    ) -> None:
        root = stand_in(tmp_path / "tracing", ())
        (root / "available_tracers").write_text("function nop\n")
        assert reason in trace(probe, "--root", root, *SHORT, *words, code=77).failure(77)
        assert (root / "current_tracer").read_text().strip() == "nop"
        assert (root / "tracing_on").read_text().strip() == "1"

    def test_killed_is_put_back_by_its_guard(self, probe: Path, tmp_path: Path) -> None:
        root = stand_in(tmp_path / "tracing", (page(1, 1),))
        words = ("--root", root, "--events", "sched", "--for_ms", "60000")
        with Running(probe, "trace", *words) as running:
            running.until("recording")
            assert (root / "tracing_on").read_text() == "1"
            running.process.send_signal(signal.SIGKILL)
            running.process.wait()
            size = root / "buffer_size_kb"  # which comes after the clock
            wait_until(lambda: size.read_text() == "1408", "what it was before")
        assert (root / "trace_clock").read_text() == "local"
        assert (root / "buffer_size_kb").read_text() == "1408"


class TestWhatCannotBe:
    def test_has_a_reason(self, probe: Path, tmp_path: Path) -> None:
        assert "no tracefs" in trace(probe, "--root", tmp_path, *SHORT, code=77).failure(77)

    def test_without_an_end_is_refused(self, probe: Path) -> None:
        assert "--for_ms" in trace(probe, code=2).failure(2)

    @pytest.mark.parametrize(
        "words", [("--clock", "sundial"), ("--size", "1"), ("--for_ms", "0"), ("--events", "")]
    )
    def test_words_are_refused(self, probe: Path, words: tuple[str, ...]) -> None:
        trace(probe, *words, code=2).failure(2)

    def test_a_plain_user_is_told(self, unprivileged: dict[str, Any]) -> None:
        result = run([unprivileged["probe"], "trace", *SHORT], code=77, **unprivileged["options"])
        assert "root" in result.failure(77)

    def test_events_that_the_kernel_does_not_have(self, probe: Path, tmp_path: Path) -> None:
        root = stand_in(tmp_path / "tracing", ())
        words = ("--root", root, "--events", "nosuch", *SHORT)
        assert "nosuch" in trace(probe, *words, code=2).failure(2)
        assert (root / "tracing_on").read_text().strip() == "1"

    def test_is_not_done_over_the_channel_of_requests(self, served: Running) -> None:
        served.request(1, "trace", "--for_ms", "10")
        assert "connection" in served.until("error")["message"]
        assert served.until("done")["exit"] == 2


class TestReal:
    """Of this machine's kernel."""

    @pytest.fixture(autouse=True)
    def _possible(self) -> Iterator[None]:
        with recording():
            yield

    def test_holds_what_the_kernel_counted(self, probe: Path, tmp_path: Path) -> None:
        out = tmp_path / "trace.dat"
        before = tracing_state()
        ended = trace(probe, *SHORT, "--output", out).one("recorded")
        assert ended["ended"] == "time"
        assert ended["lost"] == ended["left"] == 0
        assert reported(out) == ended["events"] > 0
        assert ended["overhead"]["cpu_ns"] > 0
        assert tracing_state() == before

    def test_a_command_ends_it(self, static: Path, tmp_path: Path) -> None:
        out = tmp_path / "trace.dat"
        words = ["--output", str(out), "--kallsyms", "off", "--", "sh", "-c", "echo said; exit 3"]
        done = subprocess.run([static, "trace", *words], capture_output=True, check=True)
        assert b'"ended":"command"' in done.stdout
        assert b'"command":3' in done.stdout
        assert done.stderr == b"said\n"
        assert reported(out) > 0

    def test_of_a_command_alone(self, probe: Path, tmp_path: Path) -> None:
        skips.need("trace-cmd")
        out = tmp_path / "trace.dat"
        before = tracing_state()
        words = ("--only", "command", "--events", "sched,syscalls", "--kallsyms", "off")
        command = ("sh", "-c", "sleep 0.2; true")
        ended = trace(probe, *words, "--output", out, "--", *command).one("recorded")
        assert not ended["caveats"]
        report = subprocess.run(
            ["trace-cmd", "report", str(out)], capture_output=True, text=True, check=True
        ).stdout
        begun = report.partition("benchvise: command")[2]
        assert begun
        # what calls the kernel is the command, and the recorder whose events these are too, with a
        # reader for each CPU
        names = set(re.findall(r"(?m)^ *(\S+)-\d+ .*sys_enter", begun))
        readers = {name for name in names if re.fullmatch(r"bvtrace/\d+", name)}
        assert {"sh", "sleep"} <= names - readers <= {"sh", "sleep", "true", "bvio"}
        assert tracing_state() == before

    def test_the_host_stops_and_marks_it(self, probe: Path, tmp_path: Path) -> None:
        out = tmp_path / "trace.dat"
        words = ("--control", "1", "--kallsyms", "off", "--output", out)
        with Running(probe, "trace", *words) as running:
            marker = running.until("recording")["marker"]
            running.say("mark here it is\n")
            Path(marker).write_text("and here\n")
            running.say("stop\n")
            ended = running.until("recorded")
        assert ended["ended"] == "stopped"
        content = out.read_bytes()
        assert b"here it is" in content
        assert b"and here" in content

    def test_the_end_of_the_host_ends_it(self, probe: Path) -> None:
        with Running(probe, "trace", "--control", "1") as running:
            name = running.until("recording")["instance"]
            running.input.close()
            assert running.until("error")["exit"] == 1
            running.process.wait(PATIENCE)
            assert name not in instances()

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_a_signal_ends_it_and_keeps_it(
        self, probe: Path, tmp_path: Path, number: signal.Signals
    ) -> None:
        out = tmp_path / "trace.dat"
        words = ("--for_ms", "60000", "--kallsyms", "off", "--output", out)
        with Running(probe, "trace", *words) as running:
            name = running.until("recording")["instance"]
            running.process.send_signal(number)
            ended = running.until("recorded")
        assert ended["ended"] == "signal"
        assert reported(out) == ended["events"]
        assert name not in instances()

    def test_its_guard_takes_the_instance_of_a_killed_one_away(self, probe: Path) -> None:
        with Running(probe, "trace", "--for_ms", "60000") as running:
            name = running.until("recording")["instance"]
            assert name in instances()
            running.process.send_signal(signal.SIGKILL)
            running.process.wait()
            assert self.gone(name)

    def test_its_guard_waits_for_whoever_holds_the_instance(
        self, probe: Path, tmp_path: Path
    ) -> None:
        words = ("--control", "1", "--kallsyms", "off", "--output", tmp_path / "trace.dat")
        with Running(probe, "trace", *words) as running:
            begun = running.until("recording")
            with Path(begun["marker"]).open("w"):
                running.say("stop\n")
                ended = running.until("recorded")
                assert ended["release_error"] == "EBUSY"
                assert begun["instance"] in instances()
            assert self.gone(begun["instance"])

    def test_the_next_one_does_when_the_guard_was_killed_too(
        self, probe: Path, tmp_path: Path
    ) -> None:
        before = tracing_state()
        with Running(probe, "trace", "--for_ms", "60000") as running:
            name = running.until("recording")["instance"]
            pid = running.process.pid
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            for child in (*map(int, children), pid):
                os.kill(child, signal.SIGKILL)
            running.process.wait()
        assert name in instances()
        trace(probe, *SHORT, "--output", tmp_path / "trace.dat")
        assert self.gone(name)
        assert tracing_state() == before

    def test_ends_at_its_size_and_says_so(self, static: Path, tmp_path: Path) -> None:
        out = tmp_path / "trace.dat"
        words = ["--size", "1M", "--kallsyms", "off", "--output", str(out), "--progress_ms", "0"]
        loop = ["--", str(static), "run", "os.context_switch", "--batches", "1000"]
        done = subprocess.run([static, "trace", *words, *loop], capture_output=True, check=True)
        assert b'"ended":"size"' in done.stdout
        assert out.stat().st_size < 4 << 20

    def test_a_ring_keeps_the_newest(self, static: Path, tmp_path: Path) -> None:
        """trace-cmd counts what is left; and the last of all, a mark, is there."""
        out = tmp_path / "trace.dat"
        words = ["--ring", "on", "--size", "1M", "--kallsyms", "off", "--output", str(out)]
        load = f"'{static}' run os.context_switch --batches 30; sleep 0.1"
        done = subprocess.run(
            [static, "trace", *words, "--events", "sched", "--", "sh", "-c", load],
            capture_output=True,
            check=True,
        )
        ended = json.loads(done.stdout.splitlines()[-1])
        assert ended["ended"] == "command"
        assert sum(cpu["overwritten"] for cpu in ended["per_cpu"]) > ended["events"]
        assert reported(out) == ended["events"] > 1000
        assert ended["data_bytes"] <= 1 << 20
        listed = subprocess.run(
            ["trace-cmd", "report", str(out)], capture_output=True, text=True, check=True
        ).stdout
        assert "sched_process_exit:   comm=sleep" in listed

    def test_ends_when_a_thread_has_waited_too_long(self, static: Path, tmp_path: Path) -> None:
        """Which wait it was, by the analysis of the recording, which shares no code with it."""
        out = tmp_path / "trace.dat"
        limit = 3_000_000
        words = ["--ring", "on", "--until", f"wakeup>{limit}", "--after_ms", "100"]
        words += ["--for_ms", "60000", "--kallsyms", "off", "--wall_time", "off"]
        load = (
            "for cpu in $(seq $(nproc)); do sh -c 'while :; do :; done' & done; "
            "chrt --idle 0 sh -c 'while :; do sleep 0.005; done'"
        )
        command = ["--output", str(out), "--events", "sched", "--", "sh", "-c", load]
        done = subprocess.run([static, "trace", *words, *command], capture_output=True, check=True)
        ended = json.loads(done.stdout.splitlines()[-1])
        assert ended["ended"] == "condition"
        skips.need_decoder()
        loaded = load_trace(out, cache=False)
        tables, instances = loaded.trace.tables, loaded.analysis.instances
        asleep = sorted(
            (time, thread)
            for event, name in (("sched_switch", "prev_pid"), ("sched_wakeup_new", "pid"))
            for time, thread in zip(
                *(tables[event][column].to_pylist() for column in ("time", name)), strict=True
            )
        )
        since = dict(reversed([(thread, time) for time, thread in asleep]))
        late = [
            (begin, thread, begin - ready)
            for actor, ready, begin in zip(
                *(instances[name].tolist() for name in ("actor", "ready", "begin")), strict=True
            )
            # What it was doing before is known.
            if (thread := loaded.analysis.actors[actor].tid) in since
            and since[thread] <= ready
            and begin - ready > limit
        ]
        seen = ended["condition"]
        assert (seen["at_ns"], seen["thread"], seen["waited_ns"]) == min(late)

    def test_ends_at_an_event_and_filters_others(self, static: Path, tmp_path: Path) -> None:
        out = tmp_path / "trace.dat"
        words = ["--until", "sched/sched_process_exec", "--for_ms", "60000", "--kallsyms", "off"]
        words += ["--filter", "sched/sched_switch:prev_pid > 0 && next_pid > 0"]
        words += ["--wall_time", "off", "--events", "sched", "--output", str(out)]
        load = ["--", "sh", "-c", "sleep 0.3; sleep 60"]
        done = subprocess.run([static, "trace", *words, *load], capture_output=True, check=True)
        ended = json.loads(done.stdout.splitlines()[-1])
        assert ended["ended"] == "condition"
        skips.need_decoder()
        tables = load_trace(out, cache=False).trace.tables
        assert ended["condition"]["at_ns"] == min(tables["sched_process_exec"]["time"].to_pylist())
        switches = tables["sched_switch"]
        threads = [*switches["prev_pid"].to_pylist(), *switches["next_pid"].to_pylist()]
        assert 0 not in threads

    @pytest.mark.parametrize(
        ("words", "what"),
        [
            (("--until", "sched/none"), "sched/none"),
            (("--until", "wakeup>"), "nanoseconds"),
            (("--until", "wakeup:a_name_of_sixteen>1"), "15 bytes"),
            (("--filter", "sched/sched_switch:no_such_field == 1"), "no_such_field"),
            (("--filter", "sched/none:pid == 1"), "sched/none"),
            (("--filter", "sched/sched_switch"), "SYSTEM/EVENT:FILTER"),
        ],
    )
    def test_conditions_and_filters_that_cannot_be(
        self, probe: Path, words: tuple[str, ...], what: str
    ) -> None:
        assert what in trace(probe, *SHORT, *words, code=2).failure(2)

    def test_counts_what_is_lost(self, static: Path, tmp_path: Path) -> None:
        """A reader that may not run in time, and the smallest of buffers."""
        out = tmp_path / "trace.dat"
        words = ["--buffer_kb", "16", "--kallsyms", "off", "--output", str(out)]
        loop = ["--", str(static), "run", "os.context_switch", "--batches", "20"]
        done = subprocess.run([static, "trace", *words, *loop], capture_output=True, check=True)
        ended = json.loads(done.stdout.splitlines()[-1])
        assert ended["lost"] > 0
        assert ended["lost"] == sum(
            cpu["overrun"] + cpu["commit_overrun"] + cpu["dropped"] for cpu in ended["per_cpu"]
        )
        assert reported(out) == ended["events"]

    @staticmethod
    def gone(name: str) -> bool:
        return wait_until(lambda: name not in instances(), "the end of its instance")


FOREIGN = {
    "aarch64": "qemu-aarch64-static",
    "armv7hf": "qemu-arm-static",
    "armv6hf": "qemu-arm-static",
    "riscv64": "qemu-riscv64-static",
}


@pytest.mark.parametrize("arch", FOREIGN)
def test_on_other_architectures(arch: str, tmp_path: Path) -> None:
    """Their recorders on this machine's kernel: of 32 bits, too, on one of 64."""
    skips.need(FOREIGN[arch])
    build(ROOT / "probe" / "build.py", "--arch", arch)
    program = ROOT / "src" / "benchvise" / "board" / "probes" / arch / "bvio"
    out = tmp_path / "trace.dat"
    with recording():
        ended = run([FOREIGN[arch], program, "trace", *SHORT, "--output", out]).one("recorded")
    assert reported(out) == ended["events"] > 0
    assert out.read_bytes()[13] == (4 if arch.startswith("arm") else 8)
