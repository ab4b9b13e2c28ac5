"""Asking a board how it is: one reading, as data.

Cheap enough to be done again and again: files of /proc and /sys and the kernel's log over the
channel that is open anyway; only ``smart`` starts programs (``smartctl``).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.board.messages import FileError, FileValue
from benchvise.health import counters, sensors, sensors_config, throttling
from benchvise.health.log import read_log
from benchvise.health.model import Disk, HealthReading, LogMark, LogReading
from benchvise.health.sensors_config import SensorsConfig
from benchvise.health.smart import MISSING, ask_disks, smart_disks
from benchvise.state.commands import run_commands
from benchvise.state.globs import ByPath
from benchvise.text import printable

UPTIME = "/proc/uptime"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
_OWNER = "/proc/self/status"
_DISKS = "/sys/block/*"


def read(
    board: Board,
    channel: ProbeChannel,
    *,
    mark: LogMark | None = None,
    config: SensorsConfig | None = None,
    commands: bool = True,
) -> HealthReading:
    """A reading of a board by the probe that runs there.

    ``mark`` is where an earlier reading left off in the kernel log: only newer lines are in this
    one, all where the board was booted anew since. ``config`` takes the place of the board's own
    sensors3.conf. Without ``commands`` no program is started on the board: no SMART, no vcgencmd.

    Raises what the board and the channel raise; whatever the board answers, there is a reading.
    """
    taken = datetime.now(UTC).isoformat(timespec="milliseconds")
    globs = [UPTIME, BOOT_ID, _OWNER, *sensors.GLOBS, *throttling.GLOBS, *counters.globs()]
    wanted = globs if config is not None else [*globs, *sensors.CONFIG]
    files = ByPath(channel.read(wanted))
    links = ByPath(channel.links([*sensors.LINKS, _DISKS]))
    boot_id = _text(files.get(BOOT_ID), 60)
    log = read_log(board, channel, boot_id, mark, commands=commands)
    config = config if config is not None else board_config(files)
    found = counters.read_counters(files)
    disks, said = _programs(board, links) if commands else ((), "")
    seen = sensors.read_sensors(files, links, config)
    return HealthReading(
        board=board.name,
        taken=taken,
        boot_id=boot_id,
        uptime=_uptime(files),
        privilege="root" if _is_root(files) else "user",
        log=log,
        counters=found,
        sensors=seen,
        disks=disks,
        held_down=throttling.held_down(files),
        flags=throttling.firmware_flags(files, said),
        missing=_missing(log, disks, bool(seen), counters.unreadable(files), commands=commands),
        notes=config.errors,
    )


def board_config(files: ByPath[FileValue | FileError]) -> SensorsConfig:
    """The board's own configuration of lm-sensors; empty where it has none."""
    texts = {
        path: file.value
        for glob in sensors.CONFIG
        for path, _, file in files.matching(glob)
        if isinstance(file, FileValue) and isinstance(file.value, str)
    }
    return sensors_config.parse(texts)


def _programs(board: Board, links: ByPath[str | FileError]) -> tuple[tuple[Disk, ...], str]:
    names = [
        path.rpartition("/")[2]
        for path, _, target in links.matching(_DISKS)
        if isinstance(target, str)
    ]
    throttled = run_commands(board, [throttling.COMMAND])[throttling.COMMAND]
    return tuple(ask_disks(board, smart_disks(names))), throttled.text


def _text(file: FileValue | FileError | None, limit: int) -> str:
    return printable(file.value, limit) if isinstance(file, FileValue) else ""


def _uptime(files: ByPath[FileValue | FileError]) -> float | None:
    word = _text(files.get(UPTIME), 60).partition(" ")[0]
    try:
        seconds = float(word)
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e12 else None


def _is_root(files: ByPath[FileValue | FileError]) -> bool:
    file = files.get(_OWNER)
    text = file.value if isinstance(file, FileValue) and isinstance(file.value, str) else ""
    return any(line.split()[2:3] == ["0"] for line in text.splitlines() if line.startswith("Uid:"))


def _missing(
    log: LogReading,
    disks: tuple[Disk, ...],
    has_sensors: bool,
    unreadable: Mapping[str, str],
    *,
    commands: bool,
) -> Mapping[str, str]:
    """What could not be read, by section, and how it could."""
    found: dict[str, Any] = {}
    if log.missing:
        found["kernel log"] = log.missing
    if disks and all(disk.missing == MISSING for disk in disks):
        found["SMART"] = MISSING
    elif not disks and commands:
        found["SMART"] = "the board has no disk of a kind that has it"
    if not has_sensors:
        found["sensors"] = "the board has neither hwmon chips nor thermal zones"
    if unreadable:
        names = ", ".join(sorted(unreadable))
        found["counters"] = f"only root may read {names}"
    return found
