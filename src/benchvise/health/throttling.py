"""What holds clocks down: the firmware's flags, cooling devices, and limits of cpufreq."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from benchvise.board.messages import FileError, FileValue
from benchvise.state.globs import ByPath
from benchvise.text import printable

COMMAND = "vcgencmd get_throttled"
_FIRMWARE = "/sys/devices/platform/soc/soc:firmware/get_throttled"
GLOBS = [
    _FIRMWARE,
    "/sys/class/thermal/cooling_device*/type",
    "/sys/class/thermal/cooling_device*/cur_state",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq",
    "/sys/devices/system/cpu/cpufreq/policy*/cpuinfo_max_freq",
]

# Bits of the Raspberry Pi's firmware: now, and 16 higher what was once since boot.
_BITS = ("under-voltage", "frequency capped", "throttled", "soft temperature limit")
_CLOCKS = ("cpufreq", "devfreq", "processor", "gpu", "intel_powerclamp")

Files = ByPath[FileValue | FileError]


def firmware_flags(files: Files, said: str) -> Mapping[str, bool]:
    """Each flag that is set: whether now (True), or only since boot (False).

    ``said`` is what ``vcgencmd get_throttled`` says, "" where there is none.
    """
    found = files.get(_FIRMWARE)
    text = said or (str(found.value) if isinstance(found, FileValue) else "")
    match = re.fullmatch(r"(?:throttled=)?(?:0x)?([0-9a-fA-F]{1,8})", text.strip())
    if match is None:
        return {}
    bits = int(match[1], 16)
    return {
        name: bool(bits >> number & 1)
        for number, name in enumerate(_BITS)
        if bits >> number & 1 or bits >> (number + 16) & 1
    }


def held_down(files: Files) -> tuple[str, ...]:
    """What holds clocks down now, a phrase each."""
    return (*_cooling(files), *_limits(files))


def _cooling(files: Files) -> Iterator[str]:
    for path, _, file in files.matching("/sys/class/thermal/cooling_device*/type"):
        state = files.get(path.replace("/type", "/cur_state"))
        kind = printable(file.value, 40) if isinstance(file, FileValue) else ""
        now = printable(state.value, 10) if isinstance(state, FileValue) else "0"
        if any(word in kind.lower() for word in _CLOCKS) and now.isdecimal() and int(now) > 0:
            yield f"cooling device {kind} at step {now}"


def _limits(files: Files) -> Iterator[str]:
    for path, wild, file in files.matching(
        "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq"
    ):
        most = files.get(path.replace("scaling_max_freq", "cpuinfo_max_freq"))
        allowed, possible = _kilohertz(file), _kilohertz(most)
        if allowed and possible and allowed < possible:
            yield f"policy{wild[0]} may run at {allowed // 1000} of {possible // 1000} MHz"


def _kilohertz(file: FileValue | FileError | None) -> int | None:
    text = printable(file.value, 20) if isinstance(file, FileValue) else ""
    return int(text) if re.fullmatch(r"\d{1,12}", text) else None
