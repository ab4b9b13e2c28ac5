"""The recorder, reports, what is shown of them, and trying a console out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import skips
from hypothesis import given, settings
from hypothesis import strategies as st
from labgrid import Target
from labgrid.driver import SerialDriver
from labgrid.resource import NetworkSerialPort
from rich.console import RenderableType
from rig_consoles import console_text, watched
from rig_shells import Wire
from waiting import PATIENCE

from benchvise.documents import decode, encode
from benchvise.report.boot_tables import timeline_view, timelines_view
from benchvise.report.sinks import Terminal
from benchvise.rig.boot.timeline import replay
from benchvise.rig.boot.verdict import BootReport
from benchvise.rig.console.quality import check_console, compare
from benchvise.rig.console.recorder import ConsoleRecorder, attach, detach, read_log, times_path
from benchvise.rig.faults import Fault
from benchvise.text import Untrusted

SPEAKER = """
import sys
from pathlib import Path
from benchvise.rig.console.recorder import ConsoleRecorder
recorder = ConsoleRecorder(Path(sys.argv[1]))
n = 0
while True:
    recorder.received(b"line %d of what a board says\\r\\n" % n)
    recorder.note_input(b"x" * 7)
    n += 1
    print(n, flush=True)
"""


@contextlib.contextmanager
def labgrid_console() -> Iterator[tuple[Any, socket.socket]]:
    """A stock serial driver over a raw TCP port, and the board's end of it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        target = Target("board")
        port = server.getsockname()[1]
        NetworkSerialPort(target, "port", host="127.0.0.1", port=port, protocol="raw")
        driver = SerialDriver(target, "console")
        target.activate(driver)
        board, _ = server.accept()
        with board:
            yield driver, board
        target.deactivate(driver)


def rendered(view: RenderableType, width: int = 110) -> str:
    out = io.StringIO()
    Terminal(file=out, width=width, force_terminal=False).print(view)
    return out.getvalue()


class TestRecorder:
    def test_keeps_bytes_times_and_marks(self, tmp_path: Path) -> None:
        clock = iter(range(100, 200))
        heard = []
        with ConsoleRecorder(
            tmp_path / "log", clock=lambda: next(clock), listen=lambda at, d: heard.append((at, d))
        ) as recorder:
            recorder.mark("power on\nrx 9")
            recorder.received(b"\x00\xffU-Boot\r\n")
            recorder.note_input(b"secret")
            recorder.received(b"")
            recorder.received(b"=> ")
        assert (tmp_path / "log").read_bytes() == b"\x00\xffU-Boot\r\n=> "
        assert b"secret" not in times_path(tmp_path / "log").read_bytes()
        found = list(read_log(tmp_path / "log"))
        assert [(p.mark, p.data, p.sent_bytes) for p in found] == [
            ("power onrx 9", b"", 0),
            ("", b"\x00\xffU-Boot\r\n", 0),
            ("", b"", 6),
            ("", b"=> ", 0),
        ]
        assert [at for at, _ in heard] == [found[1].at_ns, found[3].at_ns]

    def test_keeps_what_it_has_when_it_is_killed(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        for _ in range(3):
            child = subprocess.Popen([sys.executable, "-c", SPEAKER, log], stdout=subprocess.PIPE)
            assert child.stdout is not None
            said = b""
            while said.count(b"\n") < 200:
                said += os.read(child.stdout.fileno(), 65536)
            child.kill()
            said += child.stdout.read()
            child.stdout.close()
            assert child.wait() == -signal.SIGKILL
            told = said.count(b"\n")
            kept = log.read_bytes()
            assert kept.count(b"of what a board says\r\n") >= told
            assert b"".join(p.data for p in read_log(log)) == kept
            log.unlink()
            times_path(log).unlink()

    def test_goes_on_after_one_that_was_killed_between_two_writes(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        with ConsoleRecorder(log) as recorder:
            recorder.received(b"one ")
        with log.open("ab") as file:
            file.write(b"two ")
        with times_path(log).open("ab") as file:
            file.write(b"123 rx")
        assert b"".join(p.data for p in read_log(log)) == b"one two "
        with ConsoleRecorder(log) as recorder:
            recorder.received(b"three")
        found = [p.data for p in read_log(log) if p.data]
        assert found == [b"one ", b"two ", b"three"]

    def test_bounds_its_log(self, tmp_path: Path) -> None:
        with ConsoleRecorder(tmp_path / "log", limit=10) as recorder:
            for _ in range(5):
                recorder.received(b"1234")
            assert recorder.failure == "the log has reached 10 bytes"
        assert (tmp_path / "log").read_bytes() == b"1234123412"

    @skips.needs_that(Path("/dev/full").exists(), "/dev/full")
    def test_does_not_stop_a_boot_when_the_disk_is_full(self, tmp_path: Path) -> None:
        (tmp_path / "log").symlink_to("/dev/full")
        with ConsoleRecorder(tmp_path / "log") as recorder:
            recorder.received(b"x")
            recorder.received(b"y")
            assert recorder.failure is not None
            assert "No space left" in recorder.failure

    def test_tees_a_driver_and_releases_it(self, tmp_path: Path) -> None:
        class Driver:
            def _read(self, size: int = 1, timeout: float = 0.0) -> bytes:
                return b"said"

            def _write(self, data: bytes) -> int:
                return len(data)

        driver = Driver()
        with ConsoleRecorder(tmp_path / "a") as first, ConsoleRecorder(tmp_path / "b") as second:
            attach(driver, first)
            assert driver._read(size=1) == b"said"
            attach(driver, second)
            assert driver._read(timeout=1.0) == b"said"
            assert driver._write(b"typed") == 5
            detach(driver)
            driver._read()
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"said"
        assert [p.sent_bytes for p in read_log(tmp_path / "b")] == [0, 5]

    def test_tees_a_stock_labgrid_driver(self, tmp_path: Path) -> None:
        with labgrid_console() as (driver, board), ConsoleRecorder(tmp_path / "log") as recorder:
            attach(driver, recorder)
            board.sendall(b"U-Boot 2023.01\r\n=> ")
            assert driver.expect("=> ", timeout=PATIENCE)[0] == 0
            driver.sendline("boot")
            assert board.recv(10) == b"boot\n"
        assert (tmp_path / "log").read_bytes() == b"U-Boot 2023.01\r\n=> "
        assert sum(p.sent_bytes for p in read_log(tmp_path / "log")) == 5


class TestReport:
    def test_survives_the_way_through_json(self) -> None:
        timeline, outcome = watched(console_text("fail-root-panic"))
        report = BootReport.of(timeline, outcome, "/runs/1/console")
        assert not report.ok
        assert report.stage == "kernel"
        assert decode(BootReport, json.loads(json.dumps(encode(report)))) == report
        assert sum(report.durations.values()) == pytest.approx(report.phases["kernel"])

    @pytest.mark.parametrize(
        "data", [{}, {"fault": "lunch"}, {"fault": None, "phases": 1}, {"fault": None}]
    )
    def test_that_is_none_is_refused(self, data: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"fault|phases|sentence"):
            decode(BootReport, data)

    def test_can_be_made_again_from_the_log(self, tmp_path: Path) -> None:
        text = console_text("orangepi-spl")
        clock = iter(range(10**9, 10**12, 10**6))
        with ConsoleRecorder(tmp_path / "log", clock=lambda: next(clock)) as recorder:
            recorder.received(b"board login: ")  # of the boot before
            recorder.mark("power on")
            for line in text.splitlines(keepends=True):
                recorder.received(line)
        timeline = replay(tmp_path / "log")
        assert list(timeline.phases)[-1] == "login"
        assert timeline.phases["spl"] < timeline.phases["login"] < 1.0

    @settings(deadline=None, max_examples=50)
    @given(st.text(max_size=30), st.text(max_size=30))
    def test_is_shown_without_what_a_terminal_obeys(self, sentence: str, evidence: str) -> None:
        phases = {"power-on": 0.0, "spl": 1.0}
        report = BootReport(
            Fault.HANG,
            "\x1b[31m" + sentence,
            Untrusted("\x07[bold]" + evidence),
            phases,
            "/x",
            0,
            9.0,
        )
        for view in (timeline_view(report, name="b\x1b]0;x\x07"), timelines_view({"b": report})):
            text = rendered(view)
            assert "\x1b" not in text
            assert "\x07" not in text

    def test_is_shown_with_bars_and_seconds(self) -> None:
        phases = {"power-on": 0.0, "first-byte": 0.25, "bootloader": 1.0, "kernel": 4.0}
        good = BootReport(None, "it reached 'kernel'", Untrusted(""), phases, "/x", 0, 4.0)
        text = rendered(timeline_view(good, name="arm64-1"))
        rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
        assert rows["kernel"].count("█") > 2 * rows["bootloader"].count("█")
        assert "4.00 s" in rows["kernel"]
        assert "3.00 s" in rows["kernel"]
        assert "arm64-1" in text
        bad = BootReport(Fault.HANG, "it hangs", Untrusted("last"), phases, "/log", 0, 20.0)
        text = rendered(timeline_view(bad))
        assert "given up" in text
        assert "hang: it hangs" in text
        assert "/log" in text
        text = rendered(timelines_view({"a": good, "b": bad}))
        assert "booted" in text
        assert "░" in text
        empty = BootReport(Fault.NO_OUTPUT, "nothing", Untrusted(""), {"power-on": 0.0}, "/x")
        assert "no-output" in rendered(timeline_view(empty)) + rendered(timelines_view({}))


class TestCompare:
    @pytest.mark.parametrize(
        ("received", "counts"),
        [
            ("0.abc.0\n1.abc.1\n2.abc.2\n", (0, 0, 0, 0)),
            ("0.abc.0\n1.ac.1\n2.abc.2\n", (1, 0, 0, 0)),
            ("0.abc.0\n2.abc.2\n", (7, 0, 0, 0)),
            ("0.abc.0\n1.axc.1\n2.abc.2\n", (0, 1, 0, 0)),
            ("0.abc.0\n1.abbc.1\n2.abc.2\n", (0, 0, 1, 0)),
            ("0.abc.0\n1.abc.1\nnoise\n2.abc.2\n", (0, 0, 0, 5)),
            ("0.abc.0\n1.abc.1\n2.ab", (3, 0, 0, 0)),
            ("", (22, 0, 0, 0)),
        ],
    )
    def test_tells_mistakes_apart(self, received: str, counts: tuple[int, int, int, int]) -> None:
        expected = "0.abc.0\n1.abc.1\n2.abc.2\n"
        if received:
            assert compare(expected, received) == counts
        else:
            assert compare(expected, received)[0] >= 21

    @settings(deadline=None, max_examples=30)
    @given(st.text("ab\n", max_size=40), st.text("ab\n", max_size=40))
    def test_takes_anything(self, one: str, other: str) -> None:
        lost, altered, doubled, foreign = compare(one, other)
        assert min(lost, altered, doubled, foreign) >= 0
        assert compare(one, one) == (0, 0, 0, 0)


@pytest.fixture
def wires() -> Iterator[list[Wire]]:
    made: list[Wire] = []
    yield made
    for wire in made:
        wire.close()


class TestConsoleCheck:
    def test_finds_nothing_on_a_sound_one_that_the_kernel_talks_on(self, wires: list[Wire]) -> None:
        wires.append(Wire(chatter=0.3))
        found = check_console(wires[0])
        assert found.fault is None, found
        assert found.typed_whole == found.typed > 0
        assert "sound" in found.sentence

    def test_finds_lost_bytes(self, wires: list[Wire]) -> None:
        wires.append(Wire(loss=0.004))
        found = check_console(wires[0])
        assert found.fault is Fault.CONSOLE_LOSSY
        assert 0 < found.lost < 0.05 * found.expected
        assert "lost" in found.sentence

    def test_finds_lines_that_do_not_arrive_there(self, wires: list[Wire]) -> None:
        wires.append(Wire(loss_there=0.004))
        begun = time.monotonic()
        found = check_console(wires[0])
        assert time.monotonic() - begun < 90
        assert found.fault is Fault.CONSOLE_LOSSY
        assert found.typed_whole < found.typed
