"""Benchmarks driven from this machine, against a board, a probe and a wrk that are scripts."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshd import processes_with
from test_registry import LINE, listing
from waiting import PATIENCE

from benchvise.board import Board
from benchvise.board.channel import NotAvailable, ProbeChannel
from benchvise.board.messages import (
    BeginMessage,
    EndMessage,
    FileError,
    FileValue,
    HostMessage,
    Message,
    SampleMessage,
    SeriesMessage,
)
from benchvise.documents import object_at, reason_at, texts_at
from benchvise.errors import MeasurementError, UsageError
from benchvise.measure.hostside import HOST_BENCHMARKS, command_output, matcher, wrk
from benchvise.measure.hostside.base import Load, Order, busy_ns, evidence, read_load
from benchvise.measure.hostside.command_output import CommandOutput, find_number
from benchvise.measure.hostside.http_requests import (
    FirstAnswer,
    HttpRequests,
    first_answer,
    resolved_url,
    split_url,
)
from benchvise.measure.model import MetricKind, SeriesSpec, measured_kind
from benchvise.measure.registry import Registry
from benchvise.measure.runner import Sources

REGISTRY = Registry.of_probe(listing(LINE), HOST_BENCHMARKS)


class FakeBoard:
    name = "ssh://board"

    def __init__(self, host: str | None = "192.0.2.1", own: str | None = "192.0.2.7") -> None:
        self.host, self.own = host, own

    def host_address(self) -> str | None:
        return self.host

    def board_address(self) -> str | None:
        return self.own


class FakeChannel:
    """Answers every run with a process of ``batches`` samples, and reads with ``files``."""

    def __init__(self, outputs: Sequence[str] = (), files: dict[str, str] | None = None) -> None:
        self.outputs = list(outputs)
        self.files = files or {}
        self.asked: list[list[str]] = []
        self.acknowledged = 0
        self.is_open = True

    def request(
        self, args: Sequence[str], *, paced: bool = False, silence_timeout: float = 0
    ) -> Iterator[Message]:
        self.asked.append(list(args))
        yield HostMessage({"machine": "fake"})
        yield BeginMessage(args[1], {"unit": "ns", "params": {}, "caveats": ["c"]})
        detail = {"wall_ns": 5, "output": self.outputs.pop(0) if self.outputs else ""}
        yield SampleMessage(0, 5.0, {"ticks_per_second": 100, "flags": [], "detail": detail})
        if paced:
            assert self.acknowledged == len([a for a in self.asked if "command.time" in a])
        yield EndMessage(1)

    def acknowledge(self) -> None:
        self.acknowledged += 1

    def read(self, globs: Sequence[str]) -> dict[str, FileValue | FileError]:
        found: dict[str, FileValue | FileError] = {
            path: FileValue(text) for path, text in self.files.items()
        }
        return found or {path: FileError(2, "ENOENT") for path in globs}


def taken_apart(
    messages: Sequence[SeriesMessage],
) -> tuple[HostMessage, BeginMessage, list[SampleMessage]]:
    """What a source gives of three batches, in the order that it has to come in."""
    host, begin, *batches, end = messages
    samples = [message for message in batches if isinstance(message, SampleMessage)]
    assert isinstance(host, HostMessage) and isinstance(begin, BeginMessage)
    assert len(samples) == len(batches) == 3 and isinstance(end, EndMessage)
    return host, begin, samples


def order(
    benchmark: str, board: FakeBoard, channel: FakeChannel, batches: int = 3, **params: str
) -> Order:
    spec = REGISTRY.spec(benchmark, params)
    return Order(cast(Board, board), cast(ProbeChannel, channel), dict(spec.params), batches)


# --- the registry -----------------------------------------------------------------------------


def test_they_stand_beside_those_of_the_probe() -> None:
    assert [b.id for b in REGISTRY.benchmarks] == ["memory.copy", "command.output", "http.requests"]
    assert [b.driven_by for b in REGISTRY.benchmarks] == ["probe", "host", "host"]


def test_they_take_none_of_the_probes_parameters() -> None:
    names = dict(REGISTRY.spec("http.requests", {}).params)
    assert names == {
        "url": "http://{board}/",
        "concurrency": "8",
        "keepalive": "yes",
        "batch_s": "1",
    }
    with pytest.raises(UsageError, match="no parameter 'cpu'"):
        REGISTRY.spec("http.requests", {"cpu": "1"})


def test_every_one_is_described_as_well_as_the_probes() -> None:
    for benchmark in HOST_BENCHMARKS:
        description = benchmark.description
        for text in ("summary", "counted", "method", "pitfalls", "not_measured", "peer"):
            assert len(getattr(description, text)) > 10
        assert set(description.defaults) == {"batches"}
        assert len({figure.key for figure in description.figures}) == len(description.figures)
        for parameter in description.parameters:
            assert parameter.summary
            REGISTRY.spec(description.id, {parameter.name: parameter.default})


# --- command.output ---------------------------------------------------------------------------


def test_a_command_is_looked_at_only_when_that_is_asked_for() -> None:
    for observe in ("nothing", "pages"):
        channel = FakeChannel("1\n")
        list(
            CommandOutput().messages(
                order("command.output", FakeBoard(), channel, 1, observe=observe)
            )
        )
        (asked,) = channel.asked
        assert asked[asked.index("--observe") + 1] == observe


@pytest.mark.parametrize(
    ("pattern", "text", "number"),
    [
        ("([0-9.]+) GB/sec", "1.0 GB/sec\n  5.87 GB/sec\n", 5.87),  # the last one counts
        ("[0-9]+", "a 1 b 22 c", 22),  # no group: all of it
        ("^real ([0-9.]+)$", "user 1\nreal 2.5\nsys 3\n", 2.5),  # ends of lines
        ("(?:x|y)=(-?[0-9.e+-]+)", "x=1 y=-3e-2", -0.03),
        ("([0-9]+)%", "1%\r50%\r100%\r\n", 100),  # progress over itself
        ("([0-9]+)", "\x1b[32m7\x1b[0m \ufffd\x1b]0;9\x07", 7),  # colours are no numbers
        ("last: +([0-9]+)", "last:   12", 12),
    ],
)
def test_a_number_is_found(pattern: str, text: str, number: float) -> None:
    found, where = find_number(pattern, text)
    assert found == number
    assert str(found).removesuffix(".0") in where or "e-2" in where


@pytest.mark.parametrize(
    ("pattern", "text", "named"),
    [
        ("([0-9]+)", "one\ntwo\nthree\nfour\n\n", "ends with 'two | three | four'"),
        ("([0-9]+)", "", "which is empty"),
        ("([0-9]+)", "\x1b[31m\x1b]0;evil\x07", "which is empty"),
        ("(.*)x", "nanx", "finds 'nan', which is no number, in 'nanx'"),
        ("(.*)x", "infx", "no number"),
        ("(.*)x", "1_0x", "no number"),
        ("(.*)x", "0x1fx", "no number"),
        ("a(b)?", "a", "finds ''"),
    ],
)
def test_what_is_no_number_is_refused(pattern: str, text: str, named: str) -> None:
    with pytest.raises(MeasurementError) as caught:
        find_number(pattern, text)
    assert named in str(caught.value)
    assert str(caught.value).isprintable()


@given(st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=30))
def test_every_number_that_python_writes_is_found_by_default(number: float, noise: str) -> None:
    text = f"{noise}\nresult {number!r} end"
    found = matcher.last_match(REGISTRY.get("command.output").parameters[1].default, text)
    assert found is not None
    assert float(found[0]) == number


def test_a_pattern_without_end_is_given_up_and_its_process_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command_output, "MATCH_SECONDS", 0.5)  # it computes until then
    with pytest.raises(MeasurementError, match=r"longer than 0\.5 s"):
        find_number("(a+)+$", "a" * 60000 + "b")


def test_a_pattern_has_its_time_however_late_it_is_given_a_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A matcher that stood still for longer than all of its time was taken for one without end."""
    monkeypatch.setattr(command_output, "MATCH_SECONDS", 0.5)
    late = tmp_path / "python"
    script(late, f'sleep 1; exec {sys.executable} "$@"')
    monkeypatch.setattr(sys, "executable", str(late))
    assert find_number(r"(\d+)", "17\n") == (17.0, "17")


def test_a_matcher_whose_parent_was_killed_ends_by_itself() -> None:
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", matcher.__file__, "0.5"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert child.stdin
    child.stdin.write(b'{"pattern": "(a+)+$", "text": "' + b"a" * 5000 + b'b"}')
    child.stdin.close()
    assert child.wait(PATIENCE) == -signal.SIGPROF


def test_a_run_is_a_process_of_the_probe_and_warms_up_once() -> None:
    channel = FakeChannel(["1 s", "2 s", "3 s"])
    given = order("command.output", FakeBoard(), channel, run="prog", match="(.) s", unit="s")
    lines = list(CommandOutput().messages(given))
    _, begun, samples = taken_apart(lines)
    assert [sample.value for sample in samples] == [1, 2, 3]
    assert [sample.index for sample in samples] == [0, 1, 2]
    assert [words[words.index("--warmup") + 1] for words in channel.asked] == ["1", "0", "0"]
    assert all(words[words.index("--run") + 1] == "prog" for words in channel.asked)
    begin = cast(dict[str, Any], begun.begin)
    assert (begun.benchmark, begin["unit"], begin["better"]) == ("command.output", "s", "lower")
    assert begin["params"]["match"] == "(.) s" and begin["caveats"] == ["c"]
    assert [figure["key"] for figure in begin["figures"]] == ["wall_ns", "user_ns", "sys_ns"]
    detail = samples[0].evidence["detail"]
    assert detail == {"wall_ns": 5, "matched": "1 s"}  # not the whole output


def test_the_next_run_begins_when_it_is_asked_for() -> None:
    channel = FakeChannel(["1", "2", "3"])
    lines = CommandOutput().messages(order("command.output", FakeBoard(), channel, match="."))
    while not isinstance(next(lines), SampleMessage):
        pass
    assert len(channel.asked) == 1


def test_no_match_leaves_the_channel_at_rest() -> None:
    channel = FakeChannel(["1", "nothing"])
    lines = CommandOutput().messages(order("command.output", FakeBoard(), channel, match="[0-9]"))
    with pytest.raises(MeasurementError, match="matches nothing"):
        list(lines)
    assert channel.acknowledged == len(channel.asked) == 2


def test_the_unit_and_direction_are_those_of_the_begin_line() -> None:
    described = MetricKind("ns", "lower", "x")
    assert measured_kind({}, described) == described
    assert measured_kind(
        {"unit": "B", "better": "higher", "counted": "y"}, described
    ) == MetricKind("B", "higher", "y")
    nonsense = {"unit": 7, "better": "sideways", "counted": ["z"]}
    assert measured_kind(nonsense, described) == described
    assert measured_kind({"unit": "u" * 10000}, described) == described


# --- URLs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://{board}/",
        "http://{board}:8080/a?b=c&d=%20",
        "https://192.0.2.7/index.html",
        "http://[2001:db8::7]:8080/",
        "http://board.local",
    ],
)
def test_urls_that_can_be_asked_for(url: str) -> None:
    assert split_url(url).hostname


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/",
        "file:///etc/passwd",
        "//host/path",
        "host/path",
        "http:///path",
        "http://",
        "http://host:99999/",
        "http://host:0/",
        "http://host:x/",
        "http://[::1/",
        "http://user:secret@host/",
        "http://host/#part",
        "http://host/a b",
        "http://host/\u00e4",
        'http://host/";reboot;"',
        "http://host/{x}",
        "http://host/{board}",
        "http://{board}/{board}",
        "-shttp://host/",
    ],
)
def test_urls_that_cannot(url: str) -> None:
    with pytest.raises(UsageError, match=r"http\.requests"):
        REGISTRY.spec("http.requests", {"url": url})


def test_the_boards_address_takes_its_place() -> None:
    def resolved(own: str | None) -> str:
        return resolved_url("http://{board}:81/x", cast(Board, FakeBoard(own=own)))

    assert resolved("192.0.2.7") == "http://192.0.2.7:81/x"
    assert resolved("2001:db8::7") == "http://[2001:db8::7]:81/x"
    for unknown in (None, "fe80::1%eth0"):
        with pytest.raises(NotAvailable, match="url="):
            resolved(unknown)


def test_a_server_that_nobody_promised_is_not_available() -> None:
    url = "http://127.0.0.1:1/"
    with pytest.raises(NotAvailable, match="name what to ask for"):
        first_answer(url, is_asked_for=False)
    with pytest.raises(MeasurementError, match="no web server answers"):
        first_answer(url, is_asked_for=True)


def test_an_answer_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchvise.measure.hostside.http_requests.ANSWER_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.05)

        thread = threading.Thread(target=drip)
        thread.start()
        where = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with pytest.raises(MeasurementError, match="takes longer than"):
            first_answer(where, is_asked_for=True)
        thread.join(PATIENCE)
        assert not thread.is_alive()


# --- the board's own account ------------------------------------------------------------------

STAT = "cpu  100 10 50 1000 5 3 2 7 0 0\ncpu0 1 2 3 4 5 6 7 8\nintr 5\n"


def test_load_is_read_from_what_there_is() -> None:
    zone = "/sys/class/thermal/thermal_zone"
    files = {
        "/proc/stat": STAT,
        "/proc/uptime": "12345.67 5000.00\n",
        f"{zone}0/type": "gpu-thermal\n",
        f"{zone}0/temp": "30000\n",
        f"{zone}1/type": "cpu-thermal\n",
        f"{zone}1/temp": "51500\n",
    }
    load = read_load(cast(ProbeChannel, FakeChannel(files=files)))
    assert load == Load(165, 7, 12_345_670_000_000, 51500)
    del files[f"{zone}1/type"]
    assert read_load(cast(ProbeChannel, FakeChannel(files=files))).temperature_mc == 30000


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"/proc/stat": "", "/proc/uptime": ""},
        {"/proc/stat": "cpu  1 2 three 4 5 6 7", "/proc/uptime": "x.y"},
        {"/proc/stat": "cpu  -1 2 3 4 5 6 7 8", "/proc/uptime": "1e9 3"},
    ],
)
def test_what_a_board_does_not_tell_has_a_reason(files: dict[str, str]) -> None:
    load = read_load(cast(ProbeChannel, FakeChannel(files=files)))
    assert load == Load(None, None, None, None)
    items = evidence(load, load, 5, 100)
    assert items["window_ns"] == 5
    for key in ("start_ns", "steal_ticks", "temperature_mc", "cpu", "clock_before_hz", "wait_ns"):
        assert set(object_at(items, key)) == {"na"}, key
    assert busy_ns(load, load, 100) is None


def test_cpu_time_is_a_difference_of_ticks() -> None:
    before, after = Load(100, 5, 1, 40000), Load(350, 9, 2, 41000)
    assert busy_ns(before, after, 100) == 2_500_000_000
    items = evidence(before, after, 5, 100)
    assert (items["start_ns"], items["steal_ticks"], items["temperature_mc"]) == (1, 4, 41000)
    assert busy_ns(after, before, 100) is None  # it booted in between


# --- http.requests ----------------------------------------------------------------------------

COUNTS = {
    "duration_us": 1_000_000, "requests": 1000, "bytes": 500_000, "connect": 0, "read": 0,
    "write": 0, "status": 0, "timeout": 0, "p50_us": 800, "p90_us": 900, "p99_us": 2000,
}  # fmt: skip


def counts(cpu_s: float = 0.1, **others: int) -> wrk.Counts:
    return wrk.Counts(**{**COUNTS, **others}, cpu_s=cpu_s)


class Wrk:
    """Takes wrk's place in the benchmark: gives one result after the other, the last for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *results: wrk.Counts) -> None:
        self.results = list(results)
        self.traffic: list[wrk.Traffic] = []
        module = "benchvise.measure.hostside.http_requests"
        monkeypatch.setattr(f"{module}.find_generator", lambda: wrk.Generator("wrk", "wrk 4"))
        monkeypatch.setattr(f"{module}.run_generator", self.run)
        monkeypatch.setattr(
            f"{module}.first_answer",
            lambda url, is_asked_for: FirstAnswer(200, 42, "nginx"),
        )

    def run(self, _generator: wrk.Generator, traffic: wrk.Traffic) -> wrk.Counts:
        self.traffic.append(traffic)
        return self.results.pop(0) if len(self.results) > 1 else self.results[0]


def http_lines(
    board: FakeBoard, files: dict[str, str] | None = None, **params: str
) -> list[SeriesMessage]:
    channel = FakeChannel(files={"/proc/stat": STAT, **(files or {})})
    return list(HttpRequests().messages(order("http.requests", board, channel, 3, **params)))


def test_requests_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Wrk(monkeypatch, counts())
    lines = http_lines(FakeBoard(), concurrency="6", batch_s="2", keepalive="no")
    _, begun, samples = taken_apart(lines)
    warm, *batches = fake.traffic
    assert warm.seconds == 1 and [traffic.seconds for traffic in batches] == [2, 2, 2]
    assert {t.url for t in fake.traffic} == {"http://192.0.2.7/"}
    assert not warm.keepalive and warm.connections == 6
    begin, sample = cast(dict[str, Any], begun.begin), cast(dict[str, Any], samples[0].evidence)
    assert begin["caveats"] == [] and begin["answer_bytes"] == 42
    assert samples[0].value == 1000
    assert sample["iterations"] == 1000
    assert sample["elapsed_ns"] == 1_000_000_000
    assert sample["flags"] == []
    detail = sample["detail"]
    assert (detail["p50_ns"], detail["p99_ns"]) == (800_000, 2_000_000)
    assert detail["bytes_per_s"] == 500_000
    assert detail["board_cpu_ns"] == 0  # the same /proc/stat twice
    assert detail["host_cpu_ns"] == pytest.approx(100_000)
    keys = {figure["key"] for figure in begin["figures"]}
    assert keys <= set(detail)


def test_a_batch_begins_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Wrk(monkeypatch, counts())
    lines = HttpRequests().messages(order("http.requests", FakeBoard(), FakeChannel()))
    while not isinstance(next(lines), SampleMessage):
        pass
    assert len(fake.traffic) == 2  # the warm-up and the first


@pytest.mark.parametrize(
    ("failures", "flagged"),
    [({"status": 100}, True), ({"read": 1}, True), ({"timeout": 1}, True), ({}, False)],
)
def test_a_failed_request_marks_its_batch(
    monkeypatch: pytest.MonkeyPatch, failures: dict[str, int], flagged: bool
) -> None:
    Wrk(monkeypatch, counts(), counts(**failures), counts())
    _, _, messages = taken_apart(http_lines(FakeBoard()))
    samples = [cast(dict[str, Any], message.evidence) for message in messages]
    assert ["errors" in sample["flags"] for sample in samples] == [flagged, False, False]
    assert messages[0].value == 1000 - failures.get("status", 0)
    assert samples[0]["detail"]["errors"] == sum(failures.values())


def test_a_batch_without_an_answer_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    Wrk(monkeypatch, counts(), counts(), counts(requests=0, connect=7, read=2))
    with pytest.raises(MeasurementError, match="7 not connected, 2 broken off"):
        http_lines(FakeBoard())
    Wrk(monkeypatch, counts(status=1000))
    with pytest.raises(MeasurementError, match="1000 answered with 400 or more"):
        http_lines(FakeBoard())


def test_a_load_generator_without_time_to_spare_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    Wrk(monkeypatch, counts(cpu_s=0.95 * wrk.threads_for(8)))
    _, _, messages = taken_apart(http_lines(FakeBoard()))
    samples = [cast(dict[str, Any], message.evidence) for message in messages]
    assert all(sample["flags"] == ["generator"] for sample in samples)


@pytest.mark.parametrize("board", [FakeBoard("127.0.0.1", "127.0.0.1"), FakeBoard("::1", "::1")])
def test_a_board_that_is_the_host_says_so(
    monkeypatch: pytest.MonkeyPatch, board: FakeBoard
) -> None:
    Wrk(monkeypatch, counts())
    _, begun, samples = taken_apart(http_lines(board))
    assert "one machine" in texts_at(begun.begin, "caveats")[0]
    assert reason_at(
        object_at(samples[0].evidence, "detail"), "board_cpu_ns"
    )  # less than wrk's own


def test_without_a_load_generator_it_is_not_available(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotAvailable, match="apt-get install wrk"):
        http_lines(FakeBoard())


def test_a_load_generator_that_does_not_run_is_not_available(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "wrk").write_bytes(b"\x7fELF of another machine")
    (tmp_path / "wrk").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotAvailable, match="does not run"):
        wrk.find_generator()


@given(st.integers(1, 1000))
def test_threads_leave_no_connection_out(connections: int) -> None:
    threads = wrk.threads_for(connections)
    assert connections % threads == 0
    assert 1 <= threads <= len(os.sched_getaffinity(0))


# --- wrk itself -------------------------------------------------------------------------------


def script(path: Path, text: str) -> wrk.Generator:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return wrk.Generator(str(path), "fake")


TRAFFIC = wrk.Traffic("http://192.0.2.7/", 4, 2, keepalive=False, seconds=1)


def test_what_wrk_is_told_and_says(tmp_path: Path) -> None:
    generator = script(
        tmp_path / "wrk",
        f"""printf '%s\\n' "$@" > {tmp_path}/words
echo 'benchvise {{"requests": 1}}'
echo; echo 'benchvise {{{", ".join(f'"{k}": {v}' for k, v in COUNTS.items())}}}'""",
    )
    found = wrk.run_generator(generator, TRAFFIC)
    assert found.requests == 1000 and found.errors == 0 and found.cpu_s >= 0
    words = (tmp_path / "words").read_text().splitlines()
    assert words[words.index("-c") + 1] == "4" and words[words.index("-d") + 1] == "1s"
    assert words[words.index("-H") + 1] == "Connection: close"
    assert words[-2:] == ["--", "http://192.0.2.7/"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("echo 'unable to connect to host' >&2; exit 1", "unable to connect to host"),
        ("exit 3", "exit 3"),
        ("echo hello", "did not report its counts: 'hello'"),
        ("echo; echo 'benchvise {broken'", "did not report"),
        ("""echo; echo 'benchvise {"requests": 1}'""", "did not report"),
        ("""echo; echo 'benchvise {"requests": "x"}'""", "did not report"),
        ("head -c 20000000 /dev/zero", "wrk failed"),
    ],
)
def test_a_wrk_that_fails_is_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(MeasurementError) as caught:
        wrk.run_generator(script(tmp_path / "wrk", text), TRAFFIC)
    assert named in str(caught.value)


def test_a_wrk_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrk, "_ENDING_SECONDS", 0.1)
    mark = f"85{os.getpid()}"
    with pytest.raises(MeasurementError, match="did not come to its end"):
        wrk.run_generator(script(tmp_path / "wrk", f"sleep {mark}"), TRAFFIC)
    limit = time.monotonic() + PATIENCE
    while processes_with(f"sleep {mark}"):  # killed, and gone once its new parent has looked
        assert time.monotonic() < limit
        time.sleep(0.01)


# --- where lines come from --------------------------------------------------------------------


class Recorder(FakeChannel):
    def request(
        self, args: Sequence[str], *, paced: bool = False, silence_timeout: float = 0
    ) -> Iterator[Message]:
        self.asked.append([*args, f"silence={silence_timeout:g}"])
        yield SampleMessage(0, 1.0, {"flags": []})


def asked(spec: SeriesSpec, batches: int | None = None) -> list[str]:
    channel = Recorder()
    with Sources(cast(Board, FakeBoard()), cast(ProbeChannel, channel)) as sources:
        list(sources.messages(spec, batches))
    assert channel.acknowledged == 1
    return channel.asked[0]


def test_the_probe_is_asked_for_what_is_its_own() -> None:
    words = asked(SeriesSpec("memory.copy", (("size", "4K"),), "k"), 7)
    assert words == ["run", "memory.copy", "--batches", "7", "--size", "4K", "silence=0"]


def test_a_command_may_be_silent_for_as_long_as_it_may_take() -> None:
    params: dict[str, Any] = {"warmup": "2", "timeout_s": "100"}
    words = asked(SeriesSpec("command.time", tuple(params.items()), "k"))
    assert words[-1] == "silence=420"
