"""The channel to the probe and its faults, on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import skips
from hypothesis import given
from hypothesis import strategies as st
from waiting import PATIENCE, has_ended, wait_until

from benchvise.board import messages, probes
from benchvise.board.channel import AS_IN_A_LOGIN, NotAvailable, ProbeChannel
from benchvise.board.local import LocalBoard
from benchvise.board.messages import (
    BeginMessage,
    EndMessage,
    FileError,
    FileValue,
    FileWritten,
    SampleMessage,
    UnknownMessage,
    read_message,
)
from benchvise.board.probes import load_probe, packaged_architectures
from benchvise.errors import BenchviseError, ProbeError, UsageError

FAKE = str(Path(__file__).parents[1] / "fakeprobe.py")


class TestLines:
    @pytest.mark.parametrize(
        "line",
        [
            *(b"", b"{", b"1", b"null", b'"x"', b"\xff{}", b'{"type": 1}', b'{"type": "done"}'),
            *(b'{"type":"done","request":true}', b'{"type":"error","exit":1}'),
            *(b'{"type":"list"}', b'{"type":"list","benchmarks":[],"common":1}'),
            b'{"type":"sample","index":0,"value":true,"flags":[]}',
            b'{"type":"sample","index":0,"value":-Infinity,"flags":[]}',
            b'{"type":"sample","index":0,"value":{"no":1},"flags":[]}',
            b'{"type":"x","text":"\\uDfff"}',
        ],
    )
    def test_that_are_not_of_the_protocol_are_refused(self, line: bytes) -> None:
        with pytest.raises(ValueError):
            read_message(line)

    @given(st.binary(max_size=60) | st.text().map(str.encode))
    def test_of_any_kind_are_parsed_or_refused(self, line: bytes) -> None:
        try:
            message = read_message(line)
        except ValueError:
            return
        assert isinstance(json.loads(line)["type"], str) and message is not None

    def test_may_have_more_than_is_known(self) -> None:
        line = '{"type":"new","text":"Zürich \\ud83d\\ude00"}'.encode()
        assert messages.parse(line)["text"]
        assert read_message(line) == UnknownMessage("new")
        line = (
            b'{"type":"sample","index":0,"value":{"na":"why"},"flags":[],"t":18446744073709551615}'
        )
        message = read_message(line)
        assert message == SampleMessage(0, None, {"flags": [], "t": 2**64 - 1})

    def test_requests_carry_bytes_that_are_no_text(self) -> None:
        assert messages.request(1, ["read"], [os.fsdecode(b"/\xff")]) == (
            b'{"request":1,"args":["read"],"input":["/\xff"]}\n'
        )

    @pytest.mark.parametrize("word", ["x" * 70_000, "\ud800"])
    def test_requests_that_the_probe_cannot_take_are_refused(self, word: str) -> None:
        with pytest.raises(ValueError):
            messages.request(1, [word], [])


def channel(fault: str = "none", ready_timeout: float = 10) -> ProbeChannel:
    command = [sys.executable, FAKE, fault]
    return ProbeChannel(LocalBoard(), command, ready_timeout=ready_timeout)


@pytest.fixture
def good() -> Iterator[ProbeChannel]:
    with channel() as opened:
        yield opened


class TestChannel:
    def test_yields_lines_up_to_done(self, good: ProbeChannel) -> None:
        kinds = [type(message) for message in good.request(["run", "x"])]
        assert kinds == [BeginMessage, SampleMessage, SampleMessage, SampleMessage, EndMessage]
        assert good.is_open
        assert good.list_benchmarks().benchmarks == ()

    def test_lets_the_probe_go_on_only_when_told(self, good: ProbeChannel) -> None:
        seen = 0
        for message in good.request(["run", "x"], paced=True):
            if isinstance(message, SampleMessage):
                seen += 1
                time.sleep(0.05)
                assert not good._pipes.pump(0), "the probe did not wait"
                good.acknowledge()
        assert seen == 3

    def test_wants_each_sample_acknowledged_once(self, good: ProbeChannel) -> None:
        with pytest.raises(RuntimeError, match="no sample"):
            good.acknowledge()
        with pytest.raises(RuntimeError, match="not acknowledged"):
            list(good.request(["run", "x"], paced=True))

    def test_reads_more_files_than_a_request_takes(self, good: ProbeChannel) -> None:
        globs = [f"/sys/{'x' * 200}/{i}" for i in range(1200)]
        found = good.read(globs)
        assert list(found) == globs
        assert found[globs[0]] == FileValue("<1>")
        assert found[globs[-1]] != FileValue("<1>")
        assert good.read([]) == {}

    def test_wants_to_hear_what_became_of_a_write(self, good: ProbeChannel) -> None:
        with pytest.raises(ProbeError, match="does not say what became of '/sys/x'"):
            good.write("/sys/x", "1")
        assert not good.is_open

    def test_takes_no_request_while_another_is_under_way(self, good: ProbeChannel) -> None:
        lines = good.request(["run", "x"])
        next(lines)
        assert not good.is_open
        with pytest.raises(ProbeError, match="takes no more requests"):
            good.request(["list"])

    def test_refuses_a_request_that_is_too_long(self, good: ProbeChannel) -> None:
        with pytest.raises(UsageError, match="too long"):
            good.request(["write", "/x", "y" * 70_000])
        assert good.is_open

    def test_passes_over_what_a_login_shell_says(self) -> None:
        with channel("talkative") as opened:
            assert opened.ready.probe == "fake"
            assert len(list(opened.request(["run", "x"]))) == 5

    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            ("endless-lines", r"does not get ready, but says much else, at last 'spam \d+'"),
            ("endless-line", "does not get ready, but says much else"),
            ("never-ready", "has been silent for 0.5 s"),
            ("not-found", r"ended by itself \(exit 127\)"),
            ("other-protocol", "speaks version 2 of the protocol, not 1"),
        ],
    )
    def test_says_why_the_probe_does_not_get_ready(self, fault: str, message: str) -> None:
        timeout = 0.5 if fault == "never-ready" else 10
        with pytest.raises(ProbeError, match=message):
            channel(fault, timeout)

    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            ("garbage", r"not its protocol: 'Segmentation fault\ufffd \(core dumped\)'"),
            ("binary", "not its protocol"),
            ("not-an-object", r"not its protocol: '\[1\]'"),
            ("no-type", "not its protocol"),
            ("type-is-a-list", "not its protocol"),
            ("nan", "not its protocol"),
            ("infinite", "not its protocol"),
            ("huge-integer", "not its protocol"),
            ("value-is-text", "not its protocol"),
            ("surrogate", "not its protocol"),
            ("deep", "not its protocol"),
            ("long-line", "a line of more than 1 MiB: 'xxx"),
            ("silent", "has been silent for 0.5 s"),
            ("killed", r"the probe on local was killed by signal 9 \(SIGKILL\).*memory"),
            ("ends", r"ended by itself \(exit 1\): fakeprobe: out of ideas"),
            ("closes-output", "closed its output"),
            ("wrong-number", "answers request 7 instead of 1"),
        ],
    )
    def test_is_closed_by_what_breaks_the_protocol(self, fault: str, message: str) -> None:
        with channel(fault) as opened:
            pid = opened._process.pid
            with pytest.raises(ProbeError, match=message) as caught:
                limit = 0.5 if fault == "silent" else PATIENCE
                list(opened.request(["run", "x"], silence_timeout=limit))
            assert not opened.is_open
            wait_until(lambda: has_ended(pid), "the probe has ended")
            assert len(str(caught.value)) < 300
            with pytest.raises(ProbeError, match="no more requests"):
                opened.request(["list"])

    @pytest.mark.parametrize(
        ("fault", "kind", "message"),
        [
            ("unavailable", NotAvailable, "no counters here: load the module"),
            ("usage", UsageError, "size=7 is too small: use 4096"),
            ("fails", ProbeError, "cannot map memory: free some"),
            ("child-killed", ProbeError, r"process on local was killed by signal 9 \(SIGKILL\)"),
            ("unknown-signal", ProbeError, "killed by signal 99"),
            ("fails-silently", ProbeError, r"failed on local without saying why \(exit 1\)"),
        ],
    )
    def test_stays_open_when_only_the_request_fails(
        self, fault: str, kind: type[BenchviseError], message: str
    ) -> None:
        with channel(fault) as opened:
            with pytest.raises(kind, match=message) as caught:
                list(opened.request(["run", "x"]))
            assert type(caught.value) is kind
            assert opened.is_open

    @pytest.mark.parametrize("fault", ["no-value", "bad-hex"])
    def test_refuses_files_without_a_value(self, fault: str) -> None:
        with channel(fault) as opened, pytest.raises(ProbeError, match="without a value for '/x'"):
            opened.read(["/x"])

    def test_says_when_the_probe_lists_nothing(self) -> None:
        with channel("no-list") as opened, pytest.raises(ProbeError, match="does not list"):
            opened.list_benchmarks()

    def test_ends_a_probe_that_does_not_listen(self) -> None:
        opened = channel("deaf")
        pid = opened._process.pid
        opened.close()
        opened.close()
        wait_until(lambda: has_ended(pid), "the probe has ended")

    def test_ends_the_probe_in_the_middle_of_a_request_at_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waited: list[float] = []
        with channel("silent") as opened:
            for _ in zip(range(2), opened.request(["run", "x"]), strict=False):
                pass
            pid = opened._process.pid
            # before it kills, as it does with a probe at rest
            monkeypatch.setattr(opened, "_exits_within", waited.append)
        assert waited == []
        wait_until(lambda: has_ended(pid), "the probe has ended")


class TestRealProbe:
    @pytest.fixture
    def real(self) -> Iterator[ProbeChannel]:
        arch = probes.identify(LocalBoard()).arch
        if arch not in packaged_architectures():
            skips.skip("probe", arch)
        probe = load_probe(arch)
        with ProbeChannel(LocalBoard(), [str(probe.directory / "bvprobe")]) as opened:
            yield opened

    def test_lists_measures_and_reads(self, real: ProbeChannel, tmp_path: Path) -> None:
        assert real.list_benchmarks().benchmarks
        words = ["run", "cpu.clock", "--batches", "3", "--warm_ms", "0", "--batch_ms", "1"]
        indexes = []
        for message in real.request(words, paced=True):
            if isinstance(message, SampleMessage):
                indexes.append(message.index)
                real.acknowledge()
        assert indexes == [0, 1, 2]
        odd = tmp_path / "ä\udcff"
        odd.write_bytes(b"\xff\0")
        (tmp_path / "long").write_bytes(b"x" * 70_000)
        found = real.read([str(tmp_path / "*"), "/no/such/file", "/proc"])
        assert found["/no/such/file"] == FileError(2, "ENOENT")
        assert found["/proc"] == FileError(21, "EISDIR")
        assert found[str(tmp_path / "long")] == FileValue("x" * 65536, truncated=True)
        assert FileValue(b"\xff\0") in found.values()

    def test_writes_and_says_what_was_refused(self, real: ProbeChannel, tmp_path: Path) -> None:
        knob = tmp_path / "knob"
        knob.write_text("old\n")
        assert real.write(str(knob), "new") == FileWritten("new")
        assert knob.read_text().startswith("new")
        assert real.write(str(tmp_path / "none"), "1") == FileWritten(None, "ENOENT")
        assert real.is_open

    def test_ends_another_probe_and_nothing_else(self, real: ProbeChannel) -> None:
        assert real.place is not None
        _, program = real.place
        with ProbeChannel(LocalBoard(), [program]) as other:
            assert other.place is not None
            number, _ = other.place
            real.end_other(number, "/no/such/program")
            assert other.list_benchmarks()
            real.end_other(*other.place)
            wait_until(lambda: has_ended(number), "the probe has ended")
        assert real.list_benchmarks()

    def test_refuses_what_is_wrong_and_goes_on(self, real: ProbeChannel) -> None:
        with pytest.raises(UsageError, match="no benchmark"):
            list(real.request(["run", "no.such"]))
        with pytest.raises(UsageError, match=r"cpu\.clock"):
            list(real.request(["run", "cpu.clock", "--batches", "0"]))
        assert real.is_open

    def test_survives_the_death_of_a_benchmark(self, real: ProbeChannel) -> None:
        words = ["run", "cpu.clock", "--batches", "100000", "--warm_ms", "0"]
        lines = real.request(words)
        children = Path(f"/proc/{real._process.pid}/task/{real._process.pid}/children")
        with pytest.raises(ProbeError, match="SIGKILL"):
            for message in lines:
                if isinstance(message, SampleMessage) and message.index == 0:
                    os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        assert real.is_open
        assert real.list_benchmarks().benchmarks


@pytest.mark.parametrize("shell", ["sh", "bash", "busybox sh"])
def test_what_is_started_is_as_deep_in_shells_as_what_a_user_starts(shell: str) -> None:
    words = shell.split()
    path = os.environ["PATH"]
    if words[0] == "busybox":
        skips.need("busybox")
    words += ["-c", AS_IN_A_LOGIN, "sh", "env"]
    for environment in ({"PATH": path}, {"PATH": path, "SHLVL": "0"}):
        told = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        assert "SHLVL=1" in told.stdout.splitlines(), environment
