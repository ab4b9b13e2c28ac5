"""A saved kernel log as a reading of a board's health, which has nothing else."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.health.model import HealthReading, LogReading
from benchvise.kernel_log.saved import BYTES, CHUNK, NoLogError, SavedLog, check_text, read_saved
from benchvise.text import printable

STANDARD_INPUT = Path("-")


def read_saved_log(path: Path) -> HealthReading:
    """The reading of a file, of standard input where it is ``-``. Raises UsageError."""
    name = "standard input" if path == STANDARD_INPUT else printable(str(path), 60)
    notes: list[str] = []
    try:
        standard = path == STANDARD_INPUT
        saved = read_saved(sys.stdin.buffer) if standard else _read_file(path, notes)
    except NoLogError as error:
        remedy = error.remedy.replace("FILE", str(path) if path != STANDARD_INPUT else "FILE")
        raise UsageError(f"{name}: {error}", remedy) from error
    except OSError as error:
        raise UsageError(
            f"{name}: cannot be read ({error.strerror})", "check its name and permissions"
        ) from error
    if saved.cut:
        notes.append(f"only the first {BYTES >> 20} MiB were read")
    if saved.passed_over:
        lines = "1 line" if saved.passed_over == 1 else f"{saved.passed_over} lines"
        notes.append(f"{lines} of other programs passed over")
    log = LogReading(
        saved.events.events, saved.events.lines, "file", boots=saved.boots, notes=tuple(notes)
    )
    taken = datetime.now(UTC).isoformat(timespec="milliseconds")
    return HealthReading(name, taken, boot_id="", uptime=None, privilege="", log=log)


def _read_file(path: Path, notes: list[str]) -> SavedLog:
    """The newest part of a file; of one that is too long, what it is shows its beginning first."""
    with path.open("rb") as stream:
        size = path.stat().st_size if path.is_file() else 0
        if size > BYTES:
            check_text(stream.read(CHUNK))
            stream.seek(size - BYTES)
            stream.readline(BYTES)
            notes.append(f"only the newest {BYTES >> 20} of {size >> 20} MiB were read")
        return read_saved(stream)
