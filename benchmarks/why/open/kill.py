"""Ends a diagnosis at a random moment, as a user or a kernel without memory does."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LOOK_S = 0.005
_LAST_S = 60.0
"""A diagnosis of most cases lasts longer."""
_WAITS_S = 300.0
_LASTS_S = 0.4
"""About as long as a setting is made for: the moment is drawn within."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a diagnosis printed and said until it was ended, and how and when that was: empty where
    it had ended by itself."""

    printed: str
    said: str
    how: str


def end(process: subprocess.Popen[str], rng: random.Random, journals: Path) -> Ended:
    """Ends a process by SIGKILL or SIGINT: at a moment within its first 60 s, or soon after it made
    its next setting by then, each with the same chance. ``journals`` is the directory where it
    notes what it sets; its standard output and error are pipes."""
    begin = time.monotonic()
    moment = begin + rng.uniform(2.0, _LAST_S)
    while_set, number = rng.random() < 0.5, rng.choice((signal.SIGKILL, signal.SIGINT))
    within = rng.uniform(0.0, _LASTS_S)
    if _has_ended(process, moment):
        return Ended(*_rest(process), "")
    if while_set:
        deadline = time.monotonic() + _WAITS_S
        while not any(journals.glob("*.jsonl")) and time.monotonic() < deadline:
            if _has_ended(process, time.monotonic() + _LOOK_S):
                return Ended(*_rest(process), "")
        if _has_ended(process, time.monotonic() + within):
            return Ended(*_rest(process), "")
    is_set = any(journals.glob("*.jsonl"))
    seconds = time.monotonic() - begin
    process.send_signal(number)
    what = "with a setting made" if is_set else "with nothing set"
    return Ended(*_rest(process), f"{number.name} after {seconds:.1f} s, {what}")


def set_then(journals: Path) -> frozenset[str]:
    """The files of boards that were set when a diagnosis was ended, by the journals that it left.
    A last line that was cut off was followed by no write."""
    paths = set()
    for journal in journals.glob("*.jsonl"):
        for line in journal.read_text(errors="replace").splitlines():
            with suppress(json.JSONDecodeError):
                if "path" in (record := json.loads(line)):
                    paths.add(str(record["path"]))
    return frozenset(paths)


def _has_ended(process: subprocess.Popen[str], deadline: float) -> bool:
    """Waits until a moment; its pipes are emptied meanwhile."""
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=max(0.0, deadline - time.monotonic()))
        return True
    return False


def _rest(process: subprocess.Popen[str]) -> tuple[str, str]:
    printed, said = process.communicate(timeout=_WAITS_S)
    return printed or "", said or ""
