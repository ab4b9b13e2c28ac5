"""Servers that were started before what tells them what to do was changed.

The file is the same on both sides by now, and so is the program; but one runs by what stood there
when it was started. When that was is told by the kernel (``starttime`` and ``btime``, proc(5)),
when the file was changed by its ctime, which no program sets as it likes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.witness.layout import DIRECTORY
from benchvise.why.witness.model import Partner
from benchvise.why.witness.times import CHANGED

OUTDATED = "program.started:"
"""What begins the id of a suspect about it."""

_MARGIN_S = 2.0
"""The time of boot is known in whole seconds."""

_MOST = 3
_BEFORE, _AFTER = "started before that", "started after that"
_UNTESTABLE = "it reads it when it starts, and others talk to it too: start it anew"
_START_SCRIPT = re.compile(r"/etc/(?:init|rc)\.d/[\w.@+-]{1,80}", re.ASCII)
_UNIT = re.compile(r"/(?:etc|run|lib|usr/lib)/systemd/system/([\w.@-]{1,80}\.service)", re.ASCII)


def outdated_suspects(
    good: Partner, bad: Partner, digests: Mapping[Side, Mapping[str, str]], term: Term
) -> Iterator[Suspect]:
    """The files of a partner that are the same on both sides, and that were changed after it was
    started on one side alone: those of its own name first. ``term`` is what that counts."""
    late: list[str] = []
    for path in (path for path in bad.files if path in good.files):
        of_good, of_bad = (digests[side].get(path, "") for side in (Side.GOOD, Side.BAD))
        if of_good != of_bad or not of_bad or of_bad.startswith(DIRECTORY):
            continue
        if _is_late(bad, path, digests[Side.BAD]) and not _is_late(good, path, digests[Side.GOOD]):
            late.append(path)
    for path in sorted(late, key=lambda path: bad.name not in path)[:_MOST]:
        yield Suspect(
            f"{OUTDATED}{bad.name}:{path}",
            f"whether {bad.name} was started after {path} was changed",
            Layer.RUN_TIME,
            "program.started",
            _AFTER,
            _BEFORE,
            (f"{OUTDATED}{bad.name}:{path}",),
            untestable=_UNTESTABLE,
            terms=(term,),
        )


def _is_late(partner: Partner, path: str, digests: Mapping[str, str]) -> bool:
    """Whether a file was changed after a program was started; not where that is not known."""
    changed = digests.get(f"{CHANGED}{path}", "")
    if not partner.running_since or not changed:
        return False
    return float(changed) > partner.running_since + _MARGIN_S


def started_anew(suspect: Suspect, kinds: Sequence[str], partners: Sequence[Partner]) -> str:
    """The line of shell that starts the program anew which a suspect is about, whose id begins with
    one of these; empty where nobody knows what starts it, or for others."""
    kind = next((kind for kind in kinds if suspect.id.startswith(kind)), "")
    name = suspect.id.removeprefix(kind).partition(":")[0] if kind else ""
    files = next((p.files for p in partners if name and p.name.startswith(name)), ())
    if unit := next((match[1] for path in files if (match := _UNIT.fullmatch(path))), ""):
        return f"systemctl restart {unit}"
    script = next((path for path in files if _START_SCRIPT.fullmatch(path)), "")
    return shlex.join([script, "restart"]) if script else ""
