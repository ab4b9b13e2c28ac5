"""Reading how a board is: one reading, as data.

Cheap enough to be done again and again: files of /proc and /sys and the kernel's log over the
channel that is open anyway; only ``smart`` starts programs (``smartctl``). The kernel's log and
what holds clocks down are read here; ``counters``, ``sensors`` and ``smart`` read the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.board.messages import FileError, FileValue, content_text
from benchvise.health import counters, sensors, sensors_config
from benchvise.health.model import Disk, HealthReading, LogMark, LogReading
from benchvise.health.sensors_config import SensorsConfig
from benchvise.health.smart import MISSING, ask_disks, smart_disks
from benchvise.kernel_log import LogEvents, newest_boot
from benchvise.state.commands import run_commands
from benchvise.state.globs import ByPath
from benchvise.text import NO_TEXT, Untrusted, printable

UPTIME = "/proc/uptime"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
_OWN_STATUS = "/proc/self/status"
_DISKS = "/sys/block/*"

_THROTTLED = "vcgencmd get_throttled"
_FIRMWARE_FLAGS = "/sys/devices/platform/soc/soc:firmware/get_throttled"
_COOLING_DEVICES = "/sys/class/thermal/cooling_device*/type"
_CLOCK_LIMITS = "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq"
_CLOCK_FILES = (
    _FIRMWARE_FLAGS,
    _COOLING_DEVICES,
    "/sys/class/thermal/cooling_device*/cur_state",
    _CLOCK_LIMITS,
    "/sys/devices/system/cpu/cpufreq/policy*/cpuinfo_max_freq",
)


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
    globs = [UPTIME, BOOT_ID, _OWN_STATUS, *sensors.GLOBS, *_CLOCK_FILES, *counters.globs()]
    wanted = globs if config is not None else [*globs, *sensors.CONFIG]
    files = ByPath(channel.read(wanted))
    links = ByPath(channel.links([*sensors.LINKS, _DISKS]))
    boot_id = _line(files.get(BOOT_ID))
    log = read_log(board, channel, boot_id, mark, _uptime(files), commands=commands)
    config = config if config is not None else board_config(files)
    disks, throttled = _run_programs(board, links) if commands else ((), "")
    sensor_values = sensors.read_sensors(files, links, config)
    return HealthReading(
        board=board.name,
        taken=taken,
        boot_id=boot_id,
        uptime=_uptime(files),
        privilege="root" if _is_root(files) else "user",
        log=log,
        counters=counters.read_counters(files),
        sensors=sensor_values,
        disks=disks,
        held_down=held_down(files),
        flags=firmware_flags(files, throttled),
        missing=_missing(
            log, disks, bool(sensor_values), counters.unreadable(files), commands=commands
        ),
        notes=config.errors,
    )


def board_config(files: ByPath[FileValue | FileError]) -> SensorsConfig:
    """The board's own configuration of lm-sensors; empty where it has none."""
    return sensors_config.parse(
        {
            path: content_text(file)
            for glob in sensors.CONFIG
            for path, _, file in files.matching(glob)
        }
    )


def _run_programs(board: Board, links: ByPath[str | FileError]) -> tuple[tuple[Disk, ...], str]:
    """The disks as smartctl describes them, and what vcgencmd prints."""
    names = [
        path.rpartition("/")[2]
        for path, _, target in links.matching(_DISKS)
        if isinstance(target, str)
    ]
    throttled = run_commands(board, [_THROTTLED])[_THROTTLED]
    return tuple(ask_disks(board, smart_disks(names))), throttled.text


def _line(file: FileValue | FileError | None) -> str:
    """The text of a file as one line, for names that are kept and shown."""
    return printable(content_text(file), 60)


def _uptime(files: ByPath[FileValue | FileError]) -> float | None:
    try:
        seconds = float(content_text(files.get(UPTIME)).partition(" ")[0])
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e12 else None


def _is_root(files: ByPath[FileValue | FileError]) -> bool:
    lines = content_text(files.get(_OWN_STATUS)).splitlines()
    return any(line.split()[2:3] == ["0"] for line in lines if line.startswith("Uid:"))


def _missing(
    log: LogReading,
    disks: tuple[Disk, ...],
    has_sensors: bool,
    unreadable: Mapping[str, str],
    *,
    commands: bool,
) -> Mapping[str, str]:
    """What could not be read, by section, and how it could."""
    reasons: dict[str, str] = {}
    if log.missing:
        reasons["kernel log"] = log.missing
    if disks and all(disk.missing == MISSING for disk in disks):
        reasons["SMART"] = MISSING
    elif not disks and commands:
        reasons["SMART"] = "the board has no disk of a kind that has it"
    if not has_sensors:
        reasons["sensors"] = "the board has neither hwmon chips nor thermal zones"
    if unreadable:
        names = ", ".join(sorted(unreadable))
        reasons["counters"] = f"only root may read {names}"
    return reasons


# -- the kernel log: through the probe, else from the journal or a file of syslog -----------------

JOURNAL = "journalctl -k -b -o short-monotonic --no-pager -q -n 2000"
SYSLOGS = ("tail -c 250000 /var/log/kern.log", "tail -c 250000 /var/log/messages")
REMEDY = (
    "read it as root, set kernel.dmesg_restrict=0, or put the user into the group systemd-journal"
)
_OVERLAP_SECONDS = 3
"""How much of the journal before a mark is read again, so that the line of the mark is in it."""


def read_log(
    board: Board,
    channel: ProbeChannel,
    boot_id: str,
    mark: LogMark | None,
    uptime: float | None = None,
    *,
    commands: bool = True,
) -> LogReading:
    """What the log says since the mark; all of it without one, or after another boot.

    Where the kernel refuses its log, programs of the board read the journal or a file of syslog:
    with ``commands``, and where that went well before, which the mark tells. ``uptime`` allows to
    ask the journal for what is new only.
    """
    if mark is not None and mark.boot_id != boot_id:
        mark = None
    text, source, reason = _probe_log(channel)
    if not text and (commands or mark is not None):
        text, source = _logged_elsewhere(board, mark, uptime)
    if not text:
        return LogReading(missing=f"{reason or 'it is empty'}: {REMEDY}", mark=mark)
    return sum_up_log(text, source, boot_id, mark)


def _logged_elsewhere(board: Board, mark: LogMark | None, uptime: float | None) -> tuple[str, str]:
    """The kernel log as the journal or syslog keeps it, and which; "" where neither may be read."""
    if mark is not None and uptime is not None and uptime >= mark.until:
        # The clock may have been set since the mark; then the newest part has not its line.
        since = f"{JOURNAL} --since=-{int(uptime - mark.until) + _OVERLAP_SECONDS}s"
        newest = run_commands(board, [since])[since].text
        if LogEvents.reaches_back(newest, mark.until) and newest.strip():
            return newest, "journal"
    journal = run_commands(board, [JOURNAL])[JOURNAL].text
    if journal.strip() and "No entries" not in journal:
        return journal, "journal"
    for command in SYSLOGS:
        answer = run_commands(board, [command])[command]
        text = newest_boot(answer.text) if not answer.reason else ""
        if text:
            return text, command.rpartition("/")[2]
    return "", ""


def sum_up_log(text: str, source: str, boot_id: str, mark: LogMark | None) -> LogReading:
    """A log's text as its events, those after the mark."""
    since, seen = (None, 0) if mark is None else (mark.until, mark.seen)
    events = LogEvents.of(text, since=since, seen=seen)
    following = (
        mark if events.until is None else LogMark(boot_id, events.until, max(events.at_until, 1))
    )
    whole = mark is None or LogEvents.reaches_back(text, mark.until)
    return LogReading(events.events, events.lines, source, mark=following, gap=not whole)


def _probe_log(channel: ProbeChannel) -> tuple[str, str, Untrusted]:
    """The text, how it was read, and why there is none."""
    pieces: list[str] = []
    reason = NO_TEXT
    for fact in channel.facts("log"):
        if fact.name == "kernel_log":
            if isinstance(fact.value, str):
                pieces.append(fact.value)
            else:
                reason = fact.reason
    return "".join(pieces), "probe", reason


# -- what holds clocks down ------------------------------------------------------------------------

# Bits of the Raspberry Pi's firmware: now, and 16 higher what was once since boot.
_FLAGS = ("under-voltage", "frequency capped", "throttled", "soft temperature limit")
_COOLED_CLOCKS = ("cpufreq", "devfreq", "processor", "gpu", "intel_powerclamp")


def firmware_flags(files: ByPath[FileValue | FileError], throttled: str) -> Mapping[str, bool]:
    """Each flag of the firmware that is set: whether now (True), or only since boot (False).

    ``throttled`` is what ``vcgencmd get_throttled`` prints, "" where there is none.
    """
    text = throttled or content_text(files.get(_FIRMWARE_FLAGS))
    match = re.fullmatch(r"(?:throttled=)?(?:0x)?([0-9a-fA-F]{1,8})", text.strip())
    if match is None:
        return {}
    bits = int(match[1], 16)
    return {
        name: bool(bits >> number & 1)
        for number, name in enumerate(_FLAGS)
        if bits >> number & 1 or bits >> (number + 16) & 1
    }


def held_down(files: ByPath[FileValue | FileError]) -> tuple[str, ...]:
    """What holds clocks down now, a phrase each: cooling devices, then limits of cpufreq."""
    return (*_cooling(files), *_limits(files))


def _cooling(files: ByPath[FileValue | FileError]) -> Iterator[str]:
    for path, _, file in files.matching(_COOLING_DEVICES):
        kind = _line(file)
        step = content_text(files.get(path.replace("/type", "/cur_state"))).strip()
        acts_on_clocks = any(word in kind.lower() for word in _COOLED_CLOCKS)
        if acts_on_clocks and re.fullmatch(r"\d{1,9}", step) and int(step) > 0:
            yield f"cooling device {kind} at step {step}"


def _limits(files: ByPath[FileValue | FileError]) -> Iterator[str]:
    for path, wildcards, file in files.matching(_CLOCK_LIMITS):
        allowed = _kilohertz(file)
        possible = _kilohertz(files.get(path.replace("scaling_max_freq", "cpuinfo_max_freq")))
        if allowed and possible and allowed < possible:
            yield f"policy{wildcards[0]} may run at {allowed // 1000} of {possible // 1000} MHz"


def _kilohertz(file: FileValue | FileError | None) -> int | None:
    text = content_text(file).strip()
    return int(text) if re.fullmatch(r"\d{1,12}", text) else None
