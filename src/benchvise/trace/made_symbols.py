"""Names of functions that a program made at run time, from the files that it wrote of them.

Such a file is ``perf-PROCESS.map``, with a line ``START SIZE NAME`` for each, numbers in base 16.
It is read where it lies beside the trace or in a directory ``symbols`` there, and not in ``/tmp``,
where another program may have written it since.

Source: tools/perf/Documentation/jit-interface.txt of Linux.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from pathlib import Path

_LARGEST = 64 << 20
_LONGEST_NAME = 400


class MadeSymbols:
    """The functions that the processes of a trace made."""

    def __init__(self, trace: Path) -> None:
        directory = trace if trace.is_dir() else trace.parent
        self._places = (directory / "symbols", directory)
        self._known: dict[int, tuple[list[int], list[tuple[int, str]]]] = {}

    def name(self, process: int, address: int) -> str | None:
        """The function of a process at an address; None where no file tells one."""
        if process not in self._known:
            self._known[process] = _read(self._places, f"perf-{process}.map")
        starts, functions = self._known[process]
        at = bisect_right(starts, address) - 1
        if at < 0 or address >= functions[at][0]:
            return None
        return functions[at][1]


def _read(places: tuple[Path, ...], name: str) -> tuple[list[int], list[tuple[int, str]]]:
    """Where functions begin, ascending; where each ends, and its name. Of several at one place, the
    last that was written."""
    functions: dict[int, tuple[int, str]] = {}
    for place in places:
        with suppress(OSError):
            if not (place / name).is_file():
                continue
            with (place / name).open("rb") as file:
                text = file.read(_LARGEST).decode(errors="replace")
            for line in text.splitlines():
                with suppress(ValueError):
                    start, size, function = line.split(maxsplit=2)
                    begin = int(start, 16)
                    functions[begin] = (begin + int(size, 16), function[:_LONGEST_NAME])
            break
    starts = sorted(functions)
    return starts, [functions[start] for start in starts]
