"""What `trace-cmd report` says of a trace, read line by line: slow, plain, and none of our code."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import skips

_LINE = re.compile(
    r"\s*(?P<comm>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}):"
    r"\s+(?P<event>\w+):\s+(?P<rest>.*)"
)
_SWITCH = re.compile(r"(?P<prev>\d+) \[-?\d+\] (?P<state>\S+) ==> .*:(?P<next>\d+) \[-?\d+\]$")


@dataclass(frozen=True, slots=True)
class Line:
    """One event as the report prints it; the time in nanoseconds."""

    time: int
    cpu: int
    pid: int
    event: str
    rest: str

    @property
    def fields(self) -> dict[str, str]:
        """What stands there as ``name=value``."""
        return dict(re.findall(r"(\w+)=(\S+)", self.rest))

    @property
    def switch(self) -> tuple[int, str, int]:
        """Who left, in which state, and who came."""
        found = _SWITCH.search(self.rest)
        assert found, self.rest
        return int(found["prev"]), found["state"], int(found["next"])


def report(path: Path, *events: str) -> list[Line]:
    """All events, or those of some types, in order of time; skipped without trace-cmd."""
    skips.need("trace-cmd")
    words = tuple(f" {event}:" for event in events)
    return list(_lines(_printed(path), words))


@lru_cache(maxsize=1)  # it takes seconds, and the tests of a file ask about the same trace in turn
def _printed(path: Path) -> str:
    return subprocess.run(
        ["trace-cmd", "report", "-t", str(path)], capture_output=True, text=True, check=True
    ).stdout


def _lines(text: str, words: tuple[str, ...]) -> Iterator[Line]:
    for line in text.splitlines():
        if words and not any(word in line for word in words):
            continue
        found = _LINE.fullmatch(line)
        if found:
            time = int(found["s"]) * 1_000_000_000 + int(found["ns"])
            yield Line(time, int(found["cpu"]), int(found["pid"]), found["event"], found["rest"])
