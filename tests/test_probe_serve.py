"""The probe and whoever listens to it: pacing, `serve`, and what is left when one goes away."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
import skips
from probe_programs import QUICK, TWO_ENDS, Running, parse, run
from waiting import PATIENCE

pytest_plugins = ["probe_fixtures"]


def children(pid: int) -> list[int]:
    """Processes below that one, at any depth."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = parents.get(pid, [])
    return found + [deeper for child in found for deeper in children(child)]


def wait_until_gone(pids: Iterable[int]) -> None:
    """Nobody waits for orphans here, so a zombie counts as gone."""
    left = set(pids)
    limit = time.monotonic() + PATIENCE
    while left:
        for pid in tuple(left):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                left.discard(pid)
            else:
                if fields[0] == "Z":
                    left.discard(pid)
        assert time.monotonic() < limit, f"still running: {left}"
        time.sleep(0.01)


# --- pacing, being killed, nobody listening ---------------------------------------------------


def test_paced_waits_for_each_sample_to_be_stored(probe: Path) -> None:
    words = ("run", "os.syscall", *QUICK, "--batches", "3", "--paced", "1")
    with Running(probe, *words) as running:
        for index in range(3):
            assert running.until("sample")["index"] == index
            assert running.silent(0.2)
            running.say("\n")
        assert running.until("end")["batches"] == 3
        assert running.line() is None
        assert running.process.wait(PATIENCE) == 0


def test_paced_ends_when_the_host_goes_away(probe: Path) -> None:
    with Running(probe, "run", "pipe.latency", *QUICK, "--paced", "1") as running:
        running.until("sample")
        partner = children(running.process.pid)
        assert len(partner) == 1
        running.input.close()
        error = running.until("error")
        assert "acknowledged" in error["message"]
        assert running.line() is None
        assert running.process.wait(PATIENCE) == 1
        wait_until_gone(partner)


@pytest.mark.parametrize("name", ["memory.copy", "pipe.throughput"])
def test_killed_in_the_middle_leaves_whole_lines_and_no_process(probe: Path, name: str) -> None:
    with Running(probe, "run", name, "--batches", "100000", "--batch_ms", "1") as running:
        for _ in range(3):
            running.until("sample")
        below = children(running.process.pid)
        assert len(below) == (name in TWO_ENDS)
        running.process.kill()
        while line := running.line():
            assert line["type"] == "sample"
        wait_until_gone(below)


def test_the_partner_is_killed(probe: Path) -> None:
    with Running(probe, "run", "pipe.latency", "--batches", "100000", "--batch_ms", "1") as running:
        running.until("sample")
        (partner,) = children(running.process.pid)
        os.kill(partner, signal.SIGKILL)
        assert "the other process went away" in running.until("error")["message"]
        assert running.process.wait(PATIENCE) == 1


def test_nobody_reads(probe: Path) -> None:
    with Running(probe, "run", "pipe.latency", "--batches", "100000", "--batch_ms", "1") as running:
        running.until("sample")
        below = children(running.process.pid)
        running.output.close()
        assert running.process.wait(PATIENCE) == 1
        wait_until_gone(below)
    for command in ("list", "version"):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [probe, command], stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert (done.returncode, done.stderr) == (1, b"")


def test_closed_standard_files_are_not_reused(probe: Path) -> None:
    """A pipe of the benchmark that became descriptor 1 would receive the lines."""
    script = 'exec "$0" run pipe.latency --batches 1 --batch_ms 1 --warm_ms 0'
    for closing, code in ((" <&-", 0), (" >&-", 1), (" <&- >&- 2>&-", 1)):
        done = subprocess.run(
            ["sh", "-c", script + closing, probe],
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, closing
        kinds = [line["type"] for line in parse(done.stdout)]
        assert kinds == (["host", "begin", "sample", "end"] if code == 0 else [])


# --- serve ------------------------------------------------------------------------------------


def test_serve_answers_one_request_after_another(served: Running) -> None:
    served.request(7, "run", "os.syscall", *QUICK)
    served.request(8, "list")
    kinds = []
    while (line := served.line()) and line["type"] != "done":
        kinds.append(line["type"])
    assert kinds == ["host", "begin", "sample", "sample", "end"]
    assert line == {"type": "done", "request": 7, "exit": 0}
    assert served.until("list")["benchmarks"]
    assert served.line() == {"type": "done", "request": 8, "exit": 0}
    served.input.close()
    assert served.line() is None
    assert served.process.wait(PATIENCE) == 0


def test_serve_passes_on_exit_codes(served: Running) -> None:
    for number, (args, code) in enumerate(
        (
            (("run", "memory.teleport"), 2),
            (("run", "memory.copy", "--kernel", "zva"), 77),
            (("fly",), 2),
            (("serve",), 2),
            (("write", "/proc/version", "x"), 1),
            (("version",), 0),
        )
    ):
        served.request(number, *args)
        assert served.until("done") == {"type": "done", "request": number, "exit": code}


@pytest.mark.parametrize(
    ("garbage", "named", "number"),
    [
        (b"garbage", "not a request", 0),
        (b"\x00\x01\xff\xfe\x7f", "holds a NUL", 0),
        (b'{"request":4,"args":["list"]}\x00', "holds a NUL", 0),
        (b"\xff\xfe", "not a request", 0),
        (b'{"request":4}', '"args" is missing', 4),
        (b'{"args":' + b"[" * 60000, "array of at most 64 strings", 0),
        (b'{"a":' * 10000 + b"1" + b"}" * 10000, "only the keys", 0),
        (b'{"args":["list"],"input":["' + b"x" * 65536 + b'"]}', "is at most 65535 bytes", 0),
        (b"x" * 1_000_000, "is at most 65535 bytes", 0),
    ],
)
def test_serve_survives_garbage(served: Running, garbage: bytes, named: str, number: int) -> None:
    served.request(1, "version")
    served.until("done")
    served.say(b"\n\r\n" + garbage + b"\n")
    assert named in served.until("error")["message"]
    assert served.until("done") == {"type": "done", "request": number, "exit": 2}
    served.request(2, "version")
    assert served.until("version")
    assert served.until("done")["request"] == 2


@pytest.mark.parametrize("kind", ["socket", "pipe", "file"])
def test_serve_takes_no_more_than_its_line(probe: Path, tmp_path: Path, kind: str) -> None:
    """What stands behind a request in the same packet is for the process that answers it."""
    paced = ["run", "os.syscall", *QUICK, "--paced", "1"]
    requests = b"x" * 100_000 + b"\n" + json.dumps({"request": 7, "args": paced}).encode() + b"\n"
    requests += b"\n\n" + b'{"request": 8, "args": ["version"]}\n' + b'{"request": 9, "args'
    (tmp_path / "requests").write_bytes(requests)
    own, theirs = socket.socketpair()
    with own, theirs, (tmp_path / "requests").open("rb") as file:
        descriptors = {"socket": theirs.fileno(), "pipe": subprocess.PIPE, "file": file.fileno()}
        process = subprocess.Popen(
            [str(probe), "serve"], stdin=descriptors[kind], stdout=subprocess.PIPE
        )
        if kind == "socket":
            own.sendall(requests)
            own.shutdown(socket.SHUT_WR)
        written = requests if kind == "pipe" else None
        lines = parse(process.communicate(written, timeout=PATIENCE)[0])
    assert process.returncode == 0
    done = [(line["request"], line["exit"]) for line in lines if line["type"] == "done"]
    assert done == [(0, 2), (7, 0), (8, 0)]
    assert [line["type"] for line in lines].count("sample") == 2


def test_serve_ends_at_the_end_of_input_in_the_middle_of_a_line(served: Running) -> None:
    served.say('{"request":1,"args":["li')
    served.input.close()
    assert served.line() is None
    assert served.process.wait(PATIENCE) == 0


def test_serve_survives_a_benchmark_that_is_killed(served: Running) -> None:
    served.request(1, "run", "pipe.latency", "--batches", "100000", "--batch_ms", "1")
    served.until("sample")
    below = children(served.process.pid)
    assert len(below) == 2
    os.kill(below[0], signal.SIGKILL)
    assert served.until("done") == {"type": "done", "request": 1, "signal": signal.SIGKILL}
    wait_until_gone(below)
    served.request(2, "version")
    assert served.until("done")["exit"] == 0


def layout(pid: int) -> dict[str, str]:
    """Where the kernel put the stack and the vDSO of a process."""
    text = Path(f"/proc/{pid}/maps").read_text()
    return {
        name: address for address, name in re.findall(r"^(\S+).*(\[stack\]|\[vdso\])", text, re.M)
    }


def test_serve_measures_in_fresh_processes(served: Running) -> None:
    if Path("/proc/sys/kernel/randomize_va_space").read_text().strip() == "0":
        skips.skip("address space randomisation")
    seen = []
    for number in range(2):
        served.request(number, "run", "os.syscall", *QUICK, "--paced", "1")
        served.until("sample")
        (pid,) = children(served.process.pid)
        seen.append((pid, layout(pid)))
        served.say("\n\n")
        served.until("done")
    (first_pid, first), (second_pid, second) = seen
    assert first_pid != second_pid
    assert set(first) == set(second) >= {"[stack]"}
    assert all(first[name] != second[name] for name in first)


@pytest.mark.parametrize("busy", [True, False])
def test_serve_ends_when_nobody_reads(served: Running, busy: bool) -> None:
    below = []
    if busy:
        served.request(1, "run", "pipe.latency", *QUICK, "--paced", "1")
        served.until("sample")
        below = children(served.process.pid)
        assert len(below) == 2
    served.output.close()
    assert served.process.wait(PATIENCE) in (0, 1)
    wait_until_gone(below)


def test_serve_leaves_no_process_when_it_is_killed(served: Running) -> None:
    served.request(1, "run", "pipe.latency", "--batches", "100000", "--batch_ms", "1")
    served.until("sample")
    below = children(served.process.pid)
    served.process.kill()
    wait_until_gone(below)


def test_serve_notices_its_children_whatever_signals_it_was_given(probe: Path) -> None:
    """A host may have started it with SIGCHLD blocked or ignored."""
    request = b'{"request":1,"args":["run","cpu.clock","--batches","1","--batch_ms","1"]}\n'
    for prepare in (block_child_signal, ignore_child_signal):
        result = run([probe, "serve"], given=request, preexec_fn=prepare)
        assert result.one("done")["exit"] == 0


def block_child_signal() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGALRM})


def ignore_child_signal() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
