"""Names that the command's own scripts and a difference have in common.

A start file may make what the command works with: a bridge, a device, a table. Nothing that is seen
of the command leads there, but both name it: ``br-lan``. Words of a language and of shells are in
many texts; names with a digit, a dash or an underscore, which few other differences have, tell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchvise.board.protocol import Board
from benchvise.errors import BoardUnusable
from benchvise.why.model import Suspect, Term
from benchvise.why.witness.compare import opened_in
from benchvise.why.witness.model import CallsAbout
from benchvise.why.witness.touching import NAME

_READ_S = 20.0
_MOST_SCRIPTS = 20
_MOST_NAMES = 2000
_FEW = 2
_POINTS = 2.5
_NAME = re.compile(r"(?<![\w./-])[A-Za-z]\w*(?:[.-]\w+)*(?![\w/])", re.ASCII)
_TELLING = re.compile(r"(?=.*[\d_-]).{3,60}$")
_OF_USER = re.compile(r"/(?:opt|srv|home|usr/local)/")
_TEXTS = (
    'for f in "$@"; do [ -f "$f" ] && head -c 65536 "$f" | grep -aq . && '
    'head -c 65536 "$f" | tr -d "\\0"; echo; done 2>/dev/null; true'
)


def own_names(board: Board, command: str, calls: Iterable[CallsAbout]) -> tuple[str, ...]:
    """The names in a command and in the scripts of the user that it opens. Raises
    BoardUnreachable."""
    opened = [p for p in opened_in(calls) if _OF_USER.match(p) or p in command.split()]
    scripts = opened[:_MOST_SCRIPTS]
    text = ""
    if scripts:
        try:
            done = board.run(["sh", "-c", _TEXTS, "sh", *scripts], timeout=_READ_S)
            text = done.stdout.decode("utf-8", "replace")
        except BoardUnusable:
            text = ""
    return tuple(dict.fromkeys(_names_in(f"{command}\n{text}")))[:_MOST_NAMES]


def _names_in(text: str) -> list[str]:
    return [name for name in _NAME.findall(text) if _TELLING.match(name)]


def put_named_first(suspects: Sequence[Suspect], names: Iterable[str]) -> tuple[Suspect, ...]:
    """The suspects in their new order, with a term for those whose differing text has a name which
    the command and few others have."""
    own = set(names)
    if not own:
        return tuple(suspects)
    texts = {s: own & set(_names_in(f"{s.title}\n{s.good}\n{s.bad}")) for s in suspects}
    common = Counter(name for of in texts.values() for name in of)
    scored = []
    for suspect in suspects:
        rare = sorted(name for name in texts[suspect] if common[name] <= _FEW)
        if rare:
            term = Term(NAME, _POINTS, f"it is about {rare[0]}, which the command names")
            suspect = replace(suspect, terms=(*suspect.terms, term))
        scored.append(suspect)
    return tuple(sorted(scored, key=lambda s: (s.means is None, -s.log_odds)))
