"""Speaking to a recorder, and what it must not get away with."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchvise.board.channel import NotAvailable
from benchvise.board.local import LocalBoard
from benchvise.board.protocol import Completed
from benchvise.cli.trace import recording_lines
from benchvise.errors import BenchviseError, ProbeError, UsageError
from benchvise.flows.tracing import recording_summary
from benchvise.trace import recording
from benchvise.trace.recording import (
    Recorded,
    RecordingPlan,
    TraceRecorder,
    check_events,
    check_filters,
    check_functions,
    parse_condition,
)

FAKE = Path(__file__).parents[1] / "fakerecorder.py"
BEGUN = {"type": "recording", "marker": "/proc/1/fd/9", "absent": ["napi", "\x1b[31mred"]}
ENDED = {
    "type": "recorded",
    "ended": "time",
    "events": 10,
    "lost": 2,
    "left": 1,
    "recorded_ns": 2_000_000_000,
    "file_bytes": 5,
    "overhead": {"cpu_ns": 10, "wall_ns": 1000},
    "caveats": [],
}


def said(*parts: dict[str, Any] | bytes) -> bytes:
    return b"".join(
        part if isinstance(part, bytes) else json.dumps(part).encode() + b"\n" for part in parts
    )


def words_for(path: Path, first: bytes, second: bytes | None) -> list[str]:
    (path / "first").write_bytes(first)
    if second is not None:
        (path / "second").write_bytes(second)
    return [str(FAKE), str(path / "first"), str(path / "second")]


def recorder(
    monkeypatch: pytest.MonkeyPatch, path: Path, first: bytes, second: bytes | None = None
) -> TraceRecorder:
    given = words_for(path, first, second)
    monkeypatch.setattr(
        RecordingPlan,
        "arguments",
        lambda _self, *, controlled, **_held: given if controlled else [],
    )
    return TraceRecorder(LocalBoard(), sys.executable, RecordingPlan())


def test_a_recording_is_fetched_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytes(range(256)) * 1000 + b'\n{"type":"recorded"}\n'
    progress = {"type": "progress", "bytes": 1}
    file = {"type": "file", "bytes": len(data)}
    out = tmp_path / "out.dat"
    with recorder(
        monkeypatch, tmp_path, said(b"motd {\n", BEGUN), said(progress, file, data, ENDED)
    ) as under_way:
        assert under_way.marker == "/proc/1/fd/9"
        under_way.stop()
        found = under_way.fetch(out)
    assert out.read_bytes() == data
    assert (found.events, found.lost, found.seconds, found.overhead) == (10, 3, 2.0, 0.01)
    assert tuple(map(str, found.absent)) == ("napi", "red")
    assert "3 events lost" in recording_summary(found)
    assert {path.name for path in tmp_path.iterdir()} == {"first", "second", "out.dat"}


@pytest.mark.parametrize(
    ("exit_code", "kind"), [(77, NotAvailable), (2, UsageError), (1, ProbeError)]
)
def test_why_it_cannot_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_code: int, kind: type[BenchviseError]
) -> None:
    error = {"type": "error", "exit": exit_code, "message": "no \x1b[1mtracefs"}
    with pytest.raises(kind, match="no tracefs"):
        recorder(monkeypatch, tmp_path, said(error))


@pytest.mark.parametrize(
    "second",
    [
        said({"type": "file", "bytes": 1000}, b"too little"),
        said({"type": "file", "bytes": 4}, b"what", b"no line\n"),
        said({"type": "file", "bytes": 4}, b"what", {"type": "other"}),
        said(b"\xff\n"),
        b"",
    ],
)
def test_half_a_recording_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: bytes
) -> None:
    out = tmp_path / "out.dat"
    with recorder(monkeypatch, tmp_path, said(BEGUN), second) as under_way:
        under_way.stop()
        with pytest.raises(ProbeError):
            under_way.fetch(out)
    assert {path.name for path in tmp_path.iterdir()} == {"first", "second"}


def test_one_that_never_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProbeError, match="ended by itself"):
        recorder(monkeypatch, tmp_path, b"hello\n")
    with pytest.raises(ProbeError, match="does not begin"):
        recorder(monkeypatch, tmp_path, b"hello\n" * 200)


def test_a_silent_one_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorder(monkeypatch, tmp_path, said(BEGUN), b"") as under_way:
        monkeypatch.setattr(recording, "SILENCE_SECONDS", 0.2)  # it may have taken longer to begin
        with pytest.raises(ProbeError, match="silent"):
            under_way.wait()


def test_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = said({"type": "file", "bytes": 4}, b"what", ENDED)
    with recorder(monkeypatch, tmp_path, said(BEGUN), second) as under_way:
        under_way.stop()
        with pytest.raises(UsageError, match="nowhere"):
            under_way.fetch(tmp_path / "nowhere" / "out.dat")


class ConsoleOnly(LocalBoard):
    """Commands come back whole, and nothing can be said to them."""

    kind = "console"

    def __init__(self, output: bytes) -> None:
        self.output, self.asked = output, [""]

    def run(self, argv: Sequence[str], **_options: Any) -> Completed:
        self.asked = list(argv)
        return Completed(0, self.output, b"")


def test_over_a_console_everything_comes_at_the_end(tmp_path: Path) -> None:
    out = tmp_path / "out.dat"
    board = ConsoleOnly(said(BEGUN, {"type": "file", "bytes": 5}, b"a\nb\nc", ENDED))
    found = recording.record_over_console(board, "/bvprobe", RecordingPlan(seconds=1), out)
    assert out.read_bytes() == b"a\nb\nc"
    assert found.events == 10
    assert "--control" not in board.asked
    assert board.asked[:2] == ["/bvprobe", "trace"]
    with pytest.raises(UsageError, match="--for"):
        recording.record_over_console(board, "/bvprobe", RecordingPlan(), out)
    board.output = said(BEGUN, {"type": "file", "bytes": 500}, b"cut")
    with pytest.raises(ProbeError, match="end"):
        recording.record_over_console(board, "/bvprobe", RecordingPlan(seconds=1), out)


def test_what_is_asked_for_becomes_words() -> None:
    plan = RecordingPlan(
        ("sched", "irq/irq_handler_entry"), 1.5, ("ls", "-l"), "boot", 64, "4M", False, False
    )
    words = plan.arguments(controlled=True)
    at = words.index("--")
    assert words[at + 1 :] == ["ls", "-l"]
    pairs = dict(zip(words[1:at:2], words[2:at:2], strict=True))
    assert pairs == {
        "--events": "sched,irq/irq_handler_entry",
        "--progress_ms": "1000",
        "--control": "1",
        "--for_ms": "1500",
        "--clock": "boot",
        "--size": "4M",
        "--buffer_kb": "64",
        "--kallsyms": "off",
        "--wall_time": "off",
    }


def test_names_of_events() -> None:
    assert check_events(()) == ("sched", "irq", "timer")
    assert check_events(["sched,irq", "net:net_dev_xmit"]) == ("sched", "irq", "net:net_dev_xmit")
    with pytest.raises(UsageError, match=r"\.\."):
        check_events(["..;reboot"])


def test_what_a_person_is_told() -> None:
    ended = {**ENDED, "ended": "size", "command": 3, "caveats": ["a \x1b[2Jcaveat"]}
    text = "\n".join(map(str, recording_lines(Recorded(Path("f.dat"), BEGUN, ended))))
    for part in ("3 events lost", "1.00% of one CPU", "--size", "a caveat", "exit 3", "napi"):
        assert part in text


def test_names_of_functions_are_checked() -> None:
    assert check_functions(["vfs_*,do_sys_openat2", "__x64_sys_read"], graph=True, depth=3) == (
        "vfs_*",
        "do_sys_openat2",
        "__x64_sys_read",
    )
    assert check_functions([], graph=False, depth=0) == ()
    # Filters of the kernel take commands and modules too, behind other characters.
    for hostile in ("!vfs_read", "vfs_read:traceoff", "a b", "\n", "vfs_\u00e9", "x>y", "#"):
        with pytest.raises(UsageError):
            check_functions([hostile], graph=False, depth=0)
    for names, graph, depth in (((), True, 0), ((), False, 2), (("f",), False, 2)):
        with pytest.raises(UsageError):
            check_functions(names, graph=graph, depth=depth)
    words = RecordingPlan(seconds=1, functions=("f", "g*"), graph=True, depth=2).arguments(
        controlled=False
    )
    at = words.index("--functions")
    assert words[at : at + 6] == ["--functions", "f,g*", "--graph", "on", "--depth", "2"]


def test_conditions_are_read() -> None:
    assert parse_condition("wakeup>500us") == "wakeup>500000"
    assert parse_condition("wakeup:iperf3 > 2 ms") == "wakeup:iperf3>2000000"
    assert parse_condition("osnoise:sample_threshold") == "osnoise/sample_threshold"
    for text in ("", "wakeup", "wakeup>", "wakeup>5 bananas", "wakeup>0us", "a b/c", "../x",
                 "wakeup:a_name_of_sixteen>1us", "wakeup>1e400s"):  # fmt: skip
        with pytest.raises(UsageError):
            parse_condition(text)


def test_filters_are_checked_before_the_board_is_asked() -> None:
    filters = ("sched/sched_switch:prev_pid > 0 && next_pid > 0", 'sched:comm ~ "a*"')
    assert check_filters(filters) == filters
    plan = RecordingPlan(filters=filters, ring=True, until="wakeup>500", after=0.5)
    words = plan.arguments(controlled=False)
    assert words[words.index("--filter") + 1] == ";".join(filters)
    assert words[-6:] == ["--ring", "on", "--until", "wakeup>500", "--after_ms", "500"]
    for text in ("sched/sched_switch", "sched/sched_switch: ", ":x", "sched/a;b:x", "a/b:x;c/d:y"):
        with pytest.raises(UsageError):
            check_filters([text])


def test_what_met_a_condition_is_told(tmp_path: Path) -> None:
    cpus = [{"overwritten": 700}, {"overwritten": 34}]
    met = {"at_ns": 1_000_000_005, "thread": 77, "waited_ns": 1_200_000}
    ended = ENDED | {"ended": "condition", "condition": met, "per_cpu": cpus, "wall_offset_ns": 5}
    lines = [str(line) for line in recording_lines(Recorded(tmp_path, BEGUN, ended))]
    assert "thread 77 waited 1.20 ms for a CPU, until 1.000000010" in lines
    assert any(line.startswith("734 older events") for line in lines)
    ended = ENDED | {"condition": {"na": "it was not met"}}
    lines = [str(line) for line in recording_lines(Recorded(tmp_path, BEGUN, ended))]
    assert "the condition was not met" in lines
