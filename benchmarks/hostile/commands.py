"""What only commands read: each try in a process of its own, forked from this one.

An answer is status 0; a refusal another one that the product has, with a sentence on standard
error, and no trace of the interpreter.
"""

from __future__ import annotations

import importlib
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from benchmarks.hostile.outcomes import Answer, Outcome
from benchvise.board import open_board
from benchvise.board.channel import ProbeChannel
from benchvise.cli.main import run
from benchvise.errors import BenchviseError

for _commands in ("measure", "results", "rig", "state"):  # once, not in each process
    importlib.import_module(f"benchvise.cli.{_commands}")

_CPU_SECONDS, _SECONDS = 60, 600
"""That a command may compute, which is what it takes on an idle machine, and that it may wait."""
_MOST_LINES = 3
"""Of standard error: a sentence may be broken over lines."""
_REPLAY = 'cat "$0"; sleep 0.3'
"""A probe that says what the file holds, whatever it is asked, and ends."""


def read_file(file: Path, whole: Path) -> tuple[Answer, int]:
    """What the command says that reads files called so, and the highest memory of its process,
    bytes. ``whole`` is a snapshot that is none of the damaged ones."""
    place = file.parent
    words = {
        "store.db": ["show", "@", "--store", str(file)],
        "snapshot.json": ["diff", str(whole), str(file)],
        "rig.yaml": ["rig", "status", "--rig", str(file), "no-such-board"],
        "suite.toml": ["run", "--plan", "--suite", str(file), "--store", str(place / "plan.db")],
    }
    kind = file.name.partition("-")[2]
    if kind == "answers.jsonl":
        return _in_child(lambda: _ask_probe(file))
    return _in_child(lambda: run(words[kind]))


def _ask_probe(file: Path) -> int:
    try:
        with ProbeChannel(open_board("local"), ["sh", "-c", _REPLAY, str(file)]) as channel:
            list(channel.request(["run", "os.syscall"]))
    except BenchviseError as error:
        print(error.message, error.remedy, sep=": ", file=sys.stderr)
        return error.exit_code
    return 0


def _in_child(call: Callable[[], int]) -> tuple[Answer, int]:
    with tempfile.TemporaryFile() as said:
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            os.dup2(said.fileno(), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
            signal.alarm(_SECONDS)
            code = 70
            try:
                code = call()
            except BaseException:  # noqa: BLE001 - it is what is looked for
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status, used = os.wait4(pid, 0)
        said.seek(0)
        text = said.read().decode(errors="replace")
    return judged(os.waitstatus_to_exitcode(status), text), used.ru_maxrss * 1024


def judged(code: int, text: str) -> Answer:
    """What a command's end is; its status is negative where a signal ended it."""
    if code < 0:
        return Answer(Outcome.BAD, f"ended by {signal.strsignal(-code)}: {text[-300:]}")
    if code == 0:
        return Answer(Outcome.ANSWERED)
    lines = text.strip().splitlines()
    if "Traceback" in text or not 0 < len(lines) <= _MOST_LINES or code > 10:
        return Answer(Outcome.BAD, f"status {code}: {text[-600:]}")
    return Answer(Outcome.REFUSED, lines[0])
