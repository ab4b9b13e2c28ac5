"""``benchvise trace query``: a query or a file may end a process; the answer is a sentence."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import skips
from trace_data import trace
from waiting import PATIENCE, has_ended, wait_until

from benchvise import confinement
from benchvise.cli.main import run
from benchvise.errors import TraceError, UsageError
from benchvise.trace import confined_query, opening
from benchvise.trace.confined_query import ask_confined
from benchvise.trace.opening import open_trace
from benchvise.trace.query_limits import QueryLimits, cause_of_death

skips.need_decoder()

ENDLESS = "SELECT sum(sin(range)) FROM range(1000000000000)"
"""It keeps nothing."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.dat"
    shutil.copy(trace("f100k"), path)
    return path


@pytest.mark.parametrize(
    ("hostile", "says"),
    [
        ("SELECT length(repeat('x', 4000000000))", "the query needs more than 64 MB of memory"),
        ("SELECT list_sort(range(200000000))", "the query needs more than 64 MB of memory"),
        ("SELECT " + "CASE WHEN 1 THEN " * 600 + "1" + " END" * 600, "nested too deeply"),
    ],
)
def test_d1_a_hostile_query_is_answered_with_a_sentence(
    file: Path, capfd: pytest.CaptureFixture[str], hostile: str, says: str
) -> None:
    arguments = ["trace", "query", str(file), hostile, "--memory", "64", "--time", "100"]
    assert run(arguments) == 2
    seen = capfd.readouterr()
    assert seen.out == "" and len(seen.err.splitlines()) <= 2 and says in seen.err


def test_d1_a_query_that_does_not_end_is_ended(file: Path) -> None:
    with pytest.raises(UsageError, match=r"the query takes longer than 0\.5 s"):
        ask_confined(file, ENDLESS, QueryLimits(seconds=0.5))


@pytest.mark.parametrize(
    ("number", "kind", "says"),
    [
        (signal.SIGBUS, TraceError, "t.dat became shorter while it was read"),
        (signal.SIGKILL, UsageError, "the query needs more than 512 MB of memory"),
        (signal.SIGALRM, UsageError, "the query takes longer than 60 s"),
        (signal.SIGSEGV, UsageError, "the query is nested too deeply"),
    ],
)
def test_what_a_query_dies_of_is_its_answer(
    file: Path, number: signal.Signals, kind: type[Exception], says: str
) -> None:
    """Ended while it runs a query: when its limit of memory has been lowered for that."""

    def end() -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                if b"confined_query" not in Path(f"/proc/{child}/cmdline").read_bytes():
                    continue
                lines = Path(f"/proc/{child}/limits").read_text().splitlines()
                limit = next(line.split()[3] for line in lines if line.startswith("Max data"))
                if limit != "unlimited" and int(limit) < (confinement.share_of_memory(0.5) or 0):
                    os.kill(int(child), number)
                    return
            time.sleep(0.01)

    killer = threading.Thread(target=end)
    killer.start()
    with pytest.raises(kind) as raised:
        ask_confined(file, ENDLESS, QueryLimits(memory_mb=512, seconds=60))
    killer.join()
    assert says in str(raised.value)


CUTTING = """
import os, sys
from pathlib import Path
from benchvise.cli import main
from benchvise.trace import loaded
decode = loaded.open_on_demand
def cut(path, **more):
    opened = decode(path, **more)
    for kept in CUT:
        os.truncate(kept, 8)
    opened.tables["sched_switch"]["time"].values().sum()
    return opened
loaded.open_on_demand = cut
main.entry()
"""
"""A command that is made to read what was cut a moment ago."""


@pytest.mark.parametrize("as_json", [False, True])
def test_d2_each_command_says_which_file_became_shorter(
    file: Path, tmp_path: Path, as_json: bool
) -> None:
    open_trace(file)
    kept = f"Path({str(tmp_path)!r}).glob('*.benchvise-cache/*/*.arrow')"
    program = CUTTING.replace("CUT:", f"{kept}:")
    words = [sys.executable, "-c", program, "trace", "stats", str(file)]
    done = subprocess.run(
        [*words, *(["--json"] if as_json else [])], capture_output=True, text=True, check=False
    )
    assert done.returncode == TraceError.exit_code, done
    says = "t.dat became shorter while it was read"
    if as_json:
        assert json.loads(done.stdout)["data"]["message"] == says
        assert done.stderr == ""
    else:
        assert (done.stdout, done.stderr) == ("", f"benchvise: {says}: open it again\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_a_command_ends_what_runs_it(file: Path, number: signal.Signals) -> None:
    program = """
import time
from benchvise.cli import main
def slow(arguments):
    print("runs", flush=True)
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        return 4
main.run = slow
main.entry()
"""
    words = [sys.executable, "-c", program, "trace", "stats", str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == "runs\n"
        children = Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
        assert len(children) == 1
        command.send_signal(number)
        assert command.wait(PATIENCE) == (4 if number == signal.SIGINT else -number)
        wait_until(lambda: has_ended(int(children[0])), "the end of its child")


def test_a_command_whose_child_was_killed_fails_as_process_1_of_a_container(file: Path) -> None:
    """That ignores the signal by which it would end as its child did."""
    program = """
import os, signal
from benchvise.cli import main
first, kill = os.getpid(), os.kill
os.kill = lambda process, number: kill(process, number) if process != first else None
main.run = lambda _arguments: os.kill(os.getpid(), signal.SIGKILL)
main.entry()
"""
    words = [sys.executable, "-c", program, "trace", "stats", str(file)]
    assert subprocess.run(words, check=False).returncode == 128 + signal.SIGKILL


def test_d2_a_trace_that_becomes_shorter_is_said(file: Path, tmp_path: Path) -> None:
    """What is kept of it is mapped; the process waits on a pipe until that is cut."""
    open_trace(file)
    whole = "SELECT sum(prev_prio) FROM sched_switch"
    assert ask_confined(file, whole, QueryLimits()).rows
    program = f"""
import os, sys
from pathlib import Path
from benchvise.trace.opening import open_trace
opened = open_trace(Path({str(file)!r}))
for kept in Path({str(tmp_path)!r}).glob("*.benchvise-cache/*/*.arrow"):
    os.truncate(kept, 8)
opened.tables["sched_switch"]["time"].values().sum()
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGBUS  # what is translated here
    assert "became shorter" in str(cause_of_death(-done.returncode, "t.dat", QueryLimits()))
    # And what was cut is not mapped again, but read from the trace.
    assert ask_confined(file, whole, QueryLimits()).rows


@pytest.mark.parametrize("megabytes", [24, 64])
def test_too_little_memory_to_open_a_trace_is_said(
    file: Path, monkeypatch: pytest.MonkeyPatch, megabytes: int
) -> None:
    """So little that it ends while libraries are imported, each of which says it its own way."""

    limited = ("prlimit", f"--data={megabytes << 20}", *confined_query.PROGRAM)
    monkeypatch.setattr(confined_query, "PROGRAM", limited)
    with pytest.raises(TraceError, match="needs more memory than there is"):
        ask_confined(file, "SELECT 1", QueryLimits())


@pytest.mark.parametrize("error", [MemoryError()])
def test_memory_that_ends_while_a_trace_is_opened_is_said(
    file: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object, **_more: object) -> None:
        raise error

    monkeypatch.setattr(opening, "open_on_demand", fails)
    request = confined_query._Request(
        file, "SELECT 1", QueryLimits(), cache=False, asker=os.getpid()
    )
    answer = confined_query._answered(request)
    assert answer.error == "reading t.dat needs more memory than there is"
    assert answer.exit_code == TraceError.exit_code


def test_a_file_that_cannot_be_read_is_said(
    tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.dat"
    cut.write_bytes(file.read_bytes()[:3000])
    assert run(["trace", "query", str(cut), "SELECT 1"]) == 1
    assert "cut.dat is damaged" in capfd.readouterr().err
    assert run(["trace", "query", str(tmp_path / "none"), "SELECT 1", "--json"]) == 2
    assert json.loads(capfd.readouterr().out)["data"]["exit"] == 2


# -- confinement -----------------------------------------------------------------------------------

_CONFINED = """
import os, socket, subprocess, sys
from pathlib import Path
from benchvise.confinement import Confinement, confine, python_places
place, programs = Path(sys.argv[1]), sys.argv[2] == "programs"
confine(Confinement([*python_places(), place / "read"], [place / "write"], programs, 64 << 20))

def attempt(name, call):
    try:
        call()
    except (OSError, MemoryError) as error:
        print(name, type(error).__name__)
    else:
        print(name, "done")

attempt("read", lambda: (place / "read" / "a").read_bytes())
attempt("read elsewhere", lambda: (place / "a").read_bytes())
attempt("write", lambda: (place / "write" / "b").write_bytes(b""))
attempt("write to what is read", lambda: (place / "read" / "b").write_bytes(b""))
attempt("network", lambda: socket.socket(socket.AF_INET))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("local socket", lambda: socket.socket(socket.AF_UNIX))
attempt("program", lambda: os.execv("/bin/true", ["true"]) if not programs else
    subprocess.run(["/bin/true"], check=True))
attempt("memory", lambda: bytearray(256 << 20))
attempt("some memory", lambda: bytearray(16 << 20))
"""


@pytest.mark.parametrize("programs", [True, False])
def test_a_confined_process_has_what_it_was_given(tmp_path: Path, programs: bool) -> None:
    if missing := confinement.what_is_missing():
        skips.skip("confinement", "; ".join(missing))
    (tmp_path / "a").write_text("")
    for name in ("read", "write"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", _CONFINED, str(tmp_path), "programs" if programs else ""],
        capture_output=True,
        text=True,
        check=True,
    )
    seen = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    with_programs = "done" if programs else "PermissionError"
    assert seen == {
        "read": "done",
        "read elsewhere": "PermissionError",
        "write": "done",
        "write to what is read": "PermissionError",
        "network": "PermissionError",
        "netlink": "PermissionError",
        "local socket": with_programs,
        "program": with_programs,
        "memory": "MemoryError",
        "some memory": "done",
    }


def test_what_the_kernel_does_not_have_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tried by doctor, in a process of its own: where that fails, the reason is its."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    from benchvise.flows.doctor import CheckState, _confinement

    check = _confinement()
    assert check.state is CheckState.LIMITED and check.detail.startswith("not available: ")


def test_sockets_of_the_machine_do_not_change_for_us() -> None:
    """What is confined is the process that asked for it, and its children."""
    socket.socket(socket.AF_INET).close()
