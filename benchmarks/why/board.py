"""A board that is simulated: its files, its kernel, and a connection that may break.

Files are held in memory. Given a log, each change is in it before the next one begins, so that a
process that is killed leaves the board as it was at that moment to whoever opens the log again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.why import values
from benchvise.board.messages import FileError, FileValue, FileWritten
from benchvise.errors import BoardUnreachable
from benchvise.state import knobs as spelling
from benchvise.state.globs import ByPath
from benchvise.state.intervention import BOOT_ID
from benchvise.state.model import Knob

_THP = "/sys/kernel/mm/transparent_hugepage/enabled"
_FREE = "/proc/sys/vm/min_free_kbytes"
_RECOMMENDED_FREE = 22528  # what THP asks for; never less than was set by hand
_TUNABLE = "/sys/devices/system/cpu/cpufreq/schedutil/rate_limit_us"
_QUEUE = "/sys/block/mmcblk0/queue/"
_RESET_RATES = "2000"
_RESET_REQUESTS = {"none": "62", "mq-deadline": "64", "kyber": "256", "bfq": "128"}
_ESCAPED = re.compile(r"\\(.)")
_WILD = re.compile(r"[*?\[]")
# Writing one of a pair sets the other to zero.
_EITHER = {
    "/proc/sys/vm/dirty_ratio": "/proc/sys/vm/dirty_bytes",
    "/proc/sys/vm/dirty_background_ratio": "/proc/sys/vm/dirty_background_bytes",
    "/proc/sys/vm/overcommit_ratio": "/proc/sys/vm/overcommit_kbytes",
}
_ZEROES = {**_EITHER, **{other: one for one, other in _EITHER.items()}}
# The lower one may not be above the other.
_ORDERED = (
    (
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq",
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
    ),
    ("/sys/class/devfreq/dmc/min_freq", "/sys/class/devfreq/dmc/max_freq"),
    ("/proc/sys/kernel/sched_util_clamp_min", "/proc/sys/kernel/sched_util_clamp_max"),
)


@dataclass(frozen=True, slots=True)
class Quirk:
    """How a file behaves otherwise than its catalogue record says.

    ``error`` is the errno's name with which each write is refused. ``highest`` is what a larger
    number becomes, silently. ``resets`` are files that a write changes along, with their texts.
    ``does_not_hold``: something sets the old value again while the board is measured.
    """

    error: str = ""
    highest: int | None = None
    resets: Mapping[str, str] = field(default_factory=dict)
    does_not_hold: bool = False


class SimBoard:
    """The files of a board and the kernel behind them. ``boot_number`` counts its boots."""

    def __init__(
        self,
        name: str,
        files: Mapping[str, str],
        *,
        quirks: Mapping[str, Quirk] | None = None,
        is_root: bool = True,
        log: Path | None = None,
    ) -> None:
        self.name = name
        self.is_root = is_root
        self.boot_number = 1
        self._at_boot = dict(files)
        self.files = dict(files)
        self._quirks = dict(quirks or {})
        self._before: dict[str, str] = {}  # values of files that do not hold, while they are set
        self._found: dict[str, list[str]] = {}
        self._log = None if log is None else os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        if log is not None:
            self._replay(log)

    # -- what is done to it ------------------------------------------------------------------------

    @property
    def at_boot(self) -> Mapping[str, str]:
        """What the files hold after a boot, and held when the board was made."""
        return self._at_boot

    @property
    def boot_id(self) -> str:
        """Another one after each boot."""
        return f"{self.name}-{self.boot_number}"

    def reboot(self) -> None:
        """What was set is gone."""
        self.boot_number += 1
        self.files = dict(self._at_boot)
        self._found.clear()
        self._record({"boot": self.boot_number})

    def settle(self) -> None:
        """Time goes by: what does not hold is as before."""
        for path, old in self._before.items():
            knob = values.owner(path)
            assert knob is not None
            self._take(knob, path, old)
        self._before.clear()

    def value(self, path: str) -> str:
        """What a file is set to, in the spelling that can be written; empty where there is none."""
        text = self.files.get(path)
        knob = values.owner(path)
        if text is None:
            return ""
        return text.strip() if knob is None else spelling.present_value(knob, path, text)

    def read(self, globs: Iterable[str]) -> dict[str, FileValue | FileError]:
        """As ``bvprobe`` reads files."""
        found: dict[str, FileValue | FileError] = {}
        for glob in globs:
            if glob == BOOT_ID:
                found[glob] = FileValue(f"{self.boot_id}\n")
                continue
            paths = self._matching(glob)
            for path in paths:
                found[path] = self._content(path)
            if not paths:
                found[glob] = FileError(2, "ENOENT")
        return found

    def write(self, path: str, value: str) -> str:
        """The name of the error with which the kernel refuses, or nothing."""
        quirk = self._quirks.get(path, Quirk())
        if path not in self.files:
            return "ENOENT"
        if not self.is_root:
            return "EACCES"
        if quirk.error:
            return quirk.error
        knob = values.owner(path)
        if knob is None:
            return "EINVAL"
        before = self.value(path)
        if quirk.highest is not None and re.fullmatch(r"\d+", value):
            value = str(min(int(value), quirk.highest))
        error = self._take(knob, path, value)
        if error:
            return error
        for other, text in quirk.resets.items():
            self._set(other, text)
        if quirk.does_not_hold and self.value(path) != before:
            if path in self._before:
                del self._before[path]  # it is being put back
            else:
                self._before[path] = before
        return ""

    # -- the kernel --------------------------------------------------------------------------------

    def _take(self, knob: Knob, path: str, value: str) -> str:
        old = self.value(path)
        if knob.kind == "choice" and value not in values.VALUES[knob.name]:
            return "EINVAL"
        for low, high in _ORDERED:
            if (path == low and int(value) > int(self.value(high))) or (
                path == high and int(value) < int(self.value(low))
            ):
                return "EINVAL"
        if path in _ZEROES and value != old and _ZEROES[path] in self.files:
            self._set(_ZEROES[path], "0\n")
        if path == _THP and value != old and "never" in (value, old):
            free = int(self.value(_FREE))
            if value != "never" and free < _RECOMMENDED_FREE:
                self._set(_FREE, f"{_RECOMMENDED_FREE}\n")
        if knob.name == "cpu.governor" and "schedutil" in (value, old) and value != old:
            self._set(_TUNABLE, f"{_RESET_RATES}\n" if value == "schedutil" else None)
        if knob.name == "block.scheduler" and value != old:
            self._set(f"{_QUEUE}nr_requests", f"{_RESET_REQUESTS[value]}\n")
            if "bfq" in (value, old):
                self._set(f"{_QUEUE}wbt_lat_usec", "0\n" if value == "bfq" else "2000\n")
        self._set(path, values.as_text(knob, value))
        return ""

    def _set(self, path: str, text: str | None) -> None:
        if (text is not None) != (path in self.files):
            self._found.clear()
        if text is None:
            self.files.pop(path, None)
        else:
            self.files[path] = text
        self._record({"path": path, "text": text})

    def _content(self, path: str) -> FileValue | FileError:
        if not self.is_root and path.startswith("/sys/kernel/debug/"):
            return FileError(13, "EACCES")
        return FileValue(self.files[path])

    def _matching(self, glob: str) -> list[str]:
        plain = _ESCAPED.sub(r"\1", glob) if "\\" in glob else glob
        if plain in self.files:
            return [plain]
        if not _WILD.search(glob):
            return []
        if glob not in self._found:
            self._found[glob] = [path for path, _, _ in ByPath(self.files).matching(glob)]
        return self._found[glob]

    # -- what outlives the process -----------------------------------------------------------------

    def _record(self, change: Mapping[str, object]) -> None:
        if self._log is not None:
            os.write(self._log, f"{json.dumps(change)}\n".encode())

    def _replay(self, log: Path) -> None:
        for line in log.read_text().splitlines():
            change = json.loads(line)
            if "boot" in change:
                self.files = dict(self._at_boot)
                self.boot_number = change["boot"]
            elif change["text"] is None:
                self.files.pop(change["path"], None)
            else:
                self.files[change["path"]] = change["text"]


class SimFiles:
    """A connection to a board's files: what ``state.intervention`` takes.

    ``step`` is called before and after each request. It may raise, or end the process.
    """

    def __init__(self, board: SimBoard, step: Callable[[], None] = lambda: None) -> None:
        self._board = board
        self._step = step
        self._boot_number = board.boot_number
        self.is_open = True

    @property
    def place(self) -> tuple[int, str] | None:
        return 4711, "/tmp/bvprobe"  # noqa: S108 - only a name

    def read(self, globs: Iterable[str]) -> dict[str, FileValue | FileError]:
        with_answer = self._asked(lambda: self._board.read(globs))
        assert isinstance(with_answer, dict)
        return with_answer

    def write(self, path: str, value: str) -> FileWritten:
        def written() -> FileWritten:
            error = self._board.write(path, value)
            text = self._board.files.get(path)
            return FileWritten(None if text is None else text.rstrip(), error)

        answer = self._asked(written)
        assert isinstance(answer, FileWritten)
        return answer

    def again(self) -> SimFiles:
        """Another connection to the same board."""
        return SimFiles(self._board, self._step)

    def end_other(self, pid: int, program: str) -> None:
        """Nothing is ever left running there."""

    def close(self) -> None:
        self.is_open = False

    def _asked(self, request: Callable[[], object]) -> object:
        try:
            if not self.is_open or self._boot_number != self._board.boot_number:
                raise lost(self._board)
            self._step()
            answer = request()
            self._step()
        except BoardUnreachable:
            self.is_open = False
            raise
        return answer


def lost(board: SimBoard) -> BoardUnreachable:
    return BoardUnreachable(
        f"{board.name}: the connection was lost", "see whether the board still answers"
    )
