"""Lines of shell that set by hand what holds from the next boot on: words of the kernel's command
line, what boot loaders read (``boot.settings``), and ``config.txt``; each ends with a reboot.

After sed(1), fw_setenv of U-Boot, extlinux.conf (U-Boot, doc/usage/cmd/sysboot) and the Raspberry
Pi documentation. Nobody but a user runs them: a board that does not boot is not
put back from here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from benchvise.state.model import Snapshot
from benchvise.why.model import Origin, Side, Suspect

COMMAND_LINE = "kernel.command_line"
SETTINGS = "boot.settings"
CONFIG_TXT = "firmware.raspberry_pi/config.txt"
U_BOOT = f"{SETTINGS}/U-Boot environment"

_NOT_THERE = "not there"
_GIVEN = "given"
_PLAIN = re.compile(r"[\w.,:;=+@%^/ -]{1,200}", re.ASCII)
_NAME = re.compile(r"[\w.-]{1,80}", re.ASCII)
_PATH = re.compile(r"/boot/[\w./-]{1,120}", re.ASCII)


def boot_line_as_on_good(
    suspect: Suspect, snapshots: Mapping[Side, Snapshot], origins: Sequence[Origin]
) -> str:
    """The line that makes a word or a setting as the good side has it; empty where a value has
    characters that a shell or sed takes for its own, where the place is not known, or for others.
    ``origins`` are those of the bad side."""
    if suspect.item == COMMAND_LINE:
        return _word(suspect, origins)
    if len(snapshots) < len(Side):
        return ""
    if CONFIG_TXT in suspect.members:
        return _lines(snapshots)
    if suspect.item != SETTINGS or len(suspect.members) != 1:
        return ""
    member = suspect.members[0]
    key = suspect.id.removeprefix(f"{SETTINGS}:")
    good, bad = (_value(snapshots[side], member, key) for side in (Side.GOOD, Side.BAD))
    if member == U_BOOT:
        return _variable(key, good)
    path = member.removeprefix(f"{SETTINGS}/")
    if not _PATH.fullmatch(path) or not all(_PLAIN.fullmatch(v or "0") for v in (good, bad)):
        return ""
    if path.endswith(".conf"):
        return _keyword(path, key.rpartition(" ")[2], good, bad)
    if not _NAME.fullmatch(key):
        return ""
    if bad is None:
        return f"echo {shlex.quote(f'{key}={good}')} >> {path} && reboot"
    change = f"/^{_literal(key)}=/d" if good is None else f"s|^{_literal(key)}=.*|{key}={good}|"
    return _sed(change, path)


def _word(suspect: Suspect, origins: Sequence[Origin]) -> str:
    """In the file that the boot loader takes the command line from, where that is known."""
    name = suspect.id.removeprefix(f"{COMMAND_LINE}:")
    place = next((o for o in origins if o.certain and o.line > 0), None)
    values = {_GIVEN: name, _NOT_THERE: ""}
    good, bad = (values.get(v, f"{name}={v}") for v in (suspect.good, suspect.bad))
    if place is None or not bad or not _PATH.fullmatch(str(place.file)):
        return ""
    if not all(_PLAIN.fullmatch(text or "0") and " " not in text for text in (good, bad)):
        return ""
    change = rf"{place.line}s~\(^\|[ \t\"=]\){_literal(bad)}\([ \t\"]\|$\)~\1{good}\2~"
    return _sed(change, str(place.file))


def _variable(name: str, value: str | None) -> str:
    """fw_setenv(8): without a value it takes the variable away."""
    if not _NAME.fullmatch(name) or not _PLAIN.fullmatch(value or "0"):
        return ""
    return f"{shlex.join(['fw_setenv', name, *([] if value is None else [value])])} && reboot"


def _keyword(path: str, keyword: str, good: str | None, bad: str | None) -> str:
    """A keyword of an entry of extlinux.conf, whose line is known by its value."""
    if good is None or bad is None or not _NAME.fullmatch(keyword):
        return ""
    change = rf"s|^\([ \t]*{_literal(keyword)}[ \t]\+\){_literal(bad)}[ \t]*$|\1{good}|I"
    return _sed(change, path)


def _lines(snapshots: Mapping[Side, Snapshot]) -> str:
    """The one line in which two files differ, or the settings of one name in both."""
    both = [_entry(snapshots[side], CONFIG_TXT) for side in (Side.GOOD, Side.BAD)]
    lists = [value for value in both if isinstance(value, list)]
    if len(lists) < len(both):
        return ""
    good, bad = ([line for line in a if line not in b] for a, b in (lists, lists[::-1]))
    path = next((e.path for e in snapshots[Side.BAD].entries() if e.name == CONFIG_TXT), "")
    names = {line.partition("=")[0] for line in (*good, *bad)}
    is_one = len(names) == 1 and max(len(good), len(bad)) == 1
    if not is_one or not _PATH.fullmatch(path) or not all(map(_PLAIN.fullmatch, (*good, *bad))):
        return ""
    if not bad:
        return f"echo {shlex.quote(good[0])} >> {path} && reboot"
    old = _literal(bad[0])
    return _sed(
        f"s|^[ \\t]*{old}[ \\t]*$|{good[0]}|" if good else f"/^[ \\t]*{old}[ \\t]*$/d", path
    )


def _sed(change: str, path: str) -> str:
    return f"{shlex.join(['sed', '-i', change, path])} && reboot"


def _literal(text: str) -> str:
    """What a basic regular expression takes for itself; no text here has its delimiter."""
    return re.sub(r"([.^])", r"\\\1", text)


def _entry(snapshot: Snapshot, name: str) -> object:
    return next((entry.value for entry in snapshot.entries() if entry.name == name), None)


def _value(snapshot: Snapshot, name: str, key: str) -> str | None:
    table = _entry(snapshot, name)
    value = table.get(key) if isinstance(table, Mapping) else None
    return None if value is None else str(value)
