"""Files that the user names: written whole, and never in the place of a device, a FIFO or a link.

Devices are nodes made for the test, with the numbers of /dev/null and /dev/full: a defect must not
cost the machine its own.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import skips
from report_runs import demonstration_run
from state_boards import PI, PI_LINKS, answers, snapshot
from trace_data import trace
from waiting import PATIENCE
from web_store import keep_run

from benchvise import output_files
from benchvise.cli.main import run
from benchvise.errors import OutputError, UsageError
from benchvise.store import Store
from benchvise.trace.recording import RecordingPlan, TraceRecorder

NULL, FULL = os.makedev(1, 3), os.makedev(1, 7)
FAKE_RECORDER = Path(__file__).parent / "fakerecorder.py"
RECORDED = b"what the kernel did\n" * 1000


def node(path: Path, device: int) -> Path:
    """A character device of our own; skips where none can be made or opened."""
    skips.need_root()
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, device)
        path.open("wb").close()
    except OSError as error:
        skips.skip("device nodes", error.strerror)
    return path


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@contextmanager
def read_from(fifo: Path) -> Iterator[list[bytes]]:
    """What comes through a FIFO until its writers are gone; it has come when the context ends."""
    os.mkfifo(fifo)
    pieces: list[bytes] = []
    reader = threading.Thread(target=lambda: pieces.append(fifo.read_bytes()))
    reader.start()
    try:
        yield pieces
    finally:
        # Where nobody wrote, this lets the reader go.
        os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))
        reader.join(PATIENCE)


# -- the commands that write a file ----------------------------------------------------------------


@dataclass(frozen=True)
class Command:
    """``words`` write to the file named after them; ``work`` must not begin if they are refused."""

    words: tuple[str, ...]
    work: str
    prepare: Callable[[pytest.MonkeyPatch, Path], tuple[str, ...]] = lambda _patch, _path: ()


def prepared_snapshot(monkeypatch: pytest.MonkeyPatch, _path: Path) -> tuple[str, ...]:
    taken = snapshot(answers(PI, PI_LINKS))
    monkeypatch.setattr("benchvise.flows.state.snapshot", lambda _board: taken)
    return ()


def prepared_recorder(monkeypatch: pytest.MonkeyPatch, path: Path) -> tuple[str, ...]:
    def lines(*parts: dict[str, object] | bytes) -> bytes:
        return b"".join(
            part if isinstance(part, bytes) else json.dumps(part).encode() + b"\n" for part in parts
        )

    file = {"type": "file", "bytes": len(RECORDED)}
    ended = {"type": "recorded", "ended": "time", "events": 1, "recorded_ns": 1, "caveats": []}
    (path / "first").write_bytes(lines({"type": "recording", "marker": "/proc/1/fd/9"}))
    (path / "second").write_bytes(lines(file, RECORDED, ended))
    argv = [str(FAKE_RECORDER), str(path / "first"), str(path / "second")]
    program = SimpleNamespace(path=sys.executable)
    monkeypatch.setattr("benchvise.flows.tracing.deploy", lambda _board: program)
    wait = TraceRecorder.wait
    monkeypatch.setattr(TraceRecorder, "wait", lambda recorder: [recorder.stop(), wait(recorder)])
    monkeypatch.setattr(
        RecordingPlan,
        "arguments",
        lambda _plan, *, controlled, held=False: [] if held or not controlled else argv,
    )
    return ()


def prepared_trace(monkeypatch: pytest.MonkeyPatch, path: Path) -> tuple[str, ...]:
    skips.need_decoder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(path / "cache"))
    return (str(trace("f100k")),)


def prepared_run(monkeypatch: pytest.MonkeyPatch, path: Path) -> tuple[str, ...]:
    store = str(path / "results.db")
    monkeypatch.setenv("BENCHVISE_STORE", store)
    run_id = keep_run(store, demonstration_run(series=()))
    (path / "kept.dat").write_bytes(RECORDED)
    with Store.open(store) as opened:
        opened.attach(run_id, "trace", json.dumps({"file": str(path / "kept.dat")}).encode())
    return (run_id,)


def prepared_analyser(_patch: pytest.MonkeyPatch, _path: Path) -> tuple[str, ...]:
    skips.need("sigrok-cli")
    return ()


EXPORT = "benchvise.trace.export.load_opened"
COMMANDS = {
    "snapshot": Command(("snapshot", "local"), "benchvise.flows.state.snapshot", prepared_snapshot),
    "trace record": Command(
        ("trace", "record", "local", "--for", "1"),
        "benchvise.flows.tracing.open_boards",
        prepared_recorder,
    ),
    "trace export perfetto": Command(
        ("trace", "export", "--to", "perfetto"), EXPORT, prepared_trace
    ),
    "trace export chrome": Command(("trace", "export", "--to", "chrome"), EXPORT, prepared_trace),
    "show --trace": Command(
        ("show", "--trace"), "benchvise.flows.results.Store.open", prepared_run
    ),
    "signal psk": Command(("signal", "psk", "Hi", "--bits", "100"), "benchvise.signal.psk.bits_of"),
    "signal synth": Command(
        ("signal", "synth", "tone:1000", "--for", "0.01"), "benchvise.signal.synth.tone"
    ),
    "signal capture": Command(
        ("signal", "capture", "--driver", "demo", "--samples", "10000"),
        "benchvise.flows.signal.local_analyser",
        prepared_analyser,
    ),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty directory for what is written."""
    directory = tmp_path / "outputs"
    directory.mkdir()
    return directory


@pytest.fixture(params=COMMANDS)
def write(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path], int]:
    """Has one of the commands write to a file; its exit code."""
    command = COMMANDS[request.param]
    words = [*command.words, *command.prepare(monkeypatch, tmp_path)]
    return lambda output: run([*words, "-o", str(output)])


Write = Callable[[Path], int]


def test_a_new_file_is_written(write: Write, place: Path) -> None:
    output = place / "out"
    assert write(output) == 0
    assert output.stat().st_size > 0
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(output.stat().st_mode) == 0o666 & ~mask
    assert names(place) == {"out"}


def test_a_file_is_replaced_and_keeps_its_permissions(write: Write, place: Path) -> None:
    output = place / "out"
    output.write_bytes(b"old")
    output.chmod(0o640)
    with output.open("rb") as old:
        assert write(output) == 0
        assert old.read() == b"old", "whoever reads the old file has it whole"
    assert output.read_bytes() != b"old"
    assert stat.S_IMODE(output.stat().st_mode) == 0o640
    assert names(place) == {"out"}


@pytest.mark.parametrize("exists", [True, False], ids=["to a file", "dangling"])
def test_a_link_stays_and_its_target_is_written(write: Write, place: Path, exists: bool) -> None:
    target, output = place / "target", place / "out"
    if exists:
        target.write_bytes(b"old")
    output.symlink_to("target")
    assert write(output) == 0
    assert output.is_symlink()
    assert target.is_file() and target.read_bytes() != b"old"
    assert names(place) == {"out", "target"}


def test_a_device_stays_a_device(write: Write, place: Path) -> None:
    output = node(place / "null", NULL)
    assert write(output) == 0
    assert output.is_char_device() and output.stat().st_rdev == NULL
    link = place / "link"
    link.symlink_to("null")
    assert write(link) == 0
    assert link.is_symlink() and output.is_char_device()
    assert names(place) == {"link", "null"}


def test_a_device_that_is_full_is_an_error(
    write: Write, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = node(place / "full", FULL)
    assert write(output) == 1
    assert "No space left on device" in " ".join(capsys.readouterr().err.split())
    assert output.is_char_device()


def test_a_fifo_passes_it_on(write: Write, place: Path) -> None:
    output = place / "fifo"
    with read_from(output) as pieces:
        assert write(output) == 0
    assert len(b"".join(pieces)) > 0
    assert output.is_fifo()
    assert names(place) == {"fifo"}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("output", "code", "reason"),
    [
        ("", 2, "is a directory"),
        ("missing/out", 2, "missing is no directory"),
        ("file/out", 1, "Not a directory"),
        ("link", 2, "is a directory"),
        ("loop", 1, "Too many levels"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(
    name: str,
    output: str,
    code: int,
    reason: str,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (place / "file").touch()
    (place / "link").symlink_to(place)
    (place / "loop").symlink_to("loop")
    command = COMMANDS[name]
    words = [*command.words, *command.prepare(monkeypatch, tmp_path)]

    def begun(*_arguments: object, **_options: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr(command.work, begun)
    assert run([*words, "-o", str(place / output)]) == code
    assert reason in " ".join(capsys.readouterr().err.split())
    assert names(place) == {"file", "link", "loop"}


# -- commands that write a directory ---------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("report", "@"),
        ("why", "local", "ssh://nobody@192.0.2.1", "--bench", "memory.copy", "-o"),
        ("signal", "response", "none.sr", "--from", "A", "--to", "B"),
    ],
    ids=lambda words: words[0],
)
def test_pages_do_not_go_where_a_file_is(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "results.db"))
    monkeypatch.setenv("BENCHVISE_STATE", str(tmp_path / "state"))
    taken = tmp_path / "taken"
    taken.touch()
    argv = [word for word in words if word != "-o"]
    assert run([*argv, "-o", str(taken)]) == 1
    assert "taken is no directory" in " ".join(capsys.readouterr().err.split())
    assert names(tmp_path) <= {"taken", "results.db"}


def test_pages_are_written_through_links(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run_id,) = prepared_run(monkeypatch, tmp_path)
    (place / "data.json").symlink_to(tmp_path / "elsewhere.json")
    null = node(place / "index.html", NULL)
    assert run(["report", run_id, "-o", str(place)]) == 0
    assert (place / "data.json").is_symlink()
    assert json.loads((tmp_path / "elsewhere.json").read_text())
    assert null.is_char_device()


def test_parquet_makes_a_directory_of_its_own(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = prepared_trace(monkeypatch, tmp_path)
    words = ["trace", "export", file, "--to", "parquet", "-o"]
    (place / "dangling").symlink_to("nowhere")
    null = node(place / "null", NULL)
    assert run([*words, str(null)]) == 2
    assert run([*words, str(place / "dangling")]) == 2
    assert run([*words, str(place / "missing" / "out")]) == 2
    assert null.is_char_device() and (place / "dangling").is_symlink()
    assert names(place) == {"dangling", "null"}


# -- by themselves ---------------------------------------------------------------------------------


def test_nothing_is_left_of_what_fails(place: Path) -> None:
    (place / "old").write_text("old")
    for name in ("old", "new"):
        with pytest.raises(ZeroDivisionError), output_files.open_output(place / name) as file:
            file.write(b"half of it")
            1 / 0  # noqa: B018
        with pytest.raises(ZeroDivisionError), output_files.draft_output(place / name) as draft:
            draft.write_text("half of it")
            1 / 0  # noqa: B018
    with pytest.raises(ZeroDivisionError), output_files.new_directory(place / "many") as directory:
        (directory / "one").touch()
        1 / 0  # noqa: B018
    assert names(place) == {"old"}
    assert (place / "old").read_text() == "old"


def test_a_long_name_has_room_for_its_draft(place: Path) -> None:
    output_files.write_output(place / ("ä" * 127), "x")
    assert names(place) == {"ä" * 127}


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_goes_on_where_it_was(place: Path, name: str) -> None:
    """It is neither truncated, where it is a file, nor replaced."""
    code = f"""if True:
        from pathlib import Path
        from benchvise.output_files import write_output
        print("before")
        write_output(Path({name!r}), "what was asked for\\n")
        print("after")
    """
    log = place / "log"
    log.write_text("first\n")
    with log.open("ab") as appended:
        subprocess.run([sys.executable, "-c", code], stdout=appended, check=True)
    assert log.read_text() == "first\nbefore\nwhat was asked for\nafter\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"before\nwhat was asked for\nafter\n"


def test_a_descriptor_that_is_read_from_is_refused(place: Path) -> None:
    (place / "in").touch()
    with (place / "in").open() as file, pytest.raises(OutputError, match="for reading only"):
        output_files.check_output_file(Path(f"/dev/fd/{file.fileno()}"))
    with pytest.raises(OutputError, match="Bad file descriptor"):
        output_files.check_output_file(Path("/dev/fd/999"))


def test_a_file_that_was_deleted_is_written_through(place: Path) -> None:
    """Its name in /proc leads nowhere, and nothing may appear there."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=(place / "out").open("wb"),
    )
    (place / "out").unlink()
    name = Path(f"/proc/{process.pid}/fd/1")
    output_files.write_output(name, "text")
    assert name.read_bytes() == b"text"
    process.communicate()
    assert not names(place)


def test_a_socket_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.chdir(place)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with pytest.raises(UsageError, match="is a socket"):
            output_files.check_output_file(Path("socket"))


def test_a_reader_that_goes_away_is_an_error(place: Path) -> None:
    fifo = place / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OutputError, match="Broken pipe"), output_files.open_output(fifo) as file:
        os.close(reader)
        file.write(b"x" * (1 << 20))
    assert fifo.is_fifo()


def test_permissions_are_checked_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write everywhere, so the kernel's answer is made up."""
    (place / "file").touch()
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    with pytest.raises(OutputError, match="write-protected"):
        output_files.check_output_file(place / "file")
    with pytest.raises(OutputError, match="no permission"):
        output_files.check_output_file(place / "new")
    with pytest.raises(OutputError, match="no permission"):
        output_files.check_output_directory(place / "new" / "and" / "newer")
