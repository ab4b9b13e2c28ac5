"""Where a part of an image's init settings stands: the suspects of ``benchvise.rig.compose``.

Such a suspect is called by its file, ``/etc/rc.local#2``, and shows what each image has there.
"""

from __future__ import annotations

from dataclasses import replace

from benchvise.text import Untrusted
from benchvise.why.model import LayerMeans, Origin, Side, Suspect
from benchvise.why.provenance.assignment import Line
from benchvise.why.provenance.survey import Survey

LAYER = "init-settings"
KIND = "init settings"

_COMMENT = "#;"


def file_of(suspect: Suspect) -> str:
    """The file that a suspect is a part of; empty when it is none of the kind."""
    means = suspect.means
    if isinstance(means, LayerMeans) and means.layer == LAYER and means.part:
        path = means.part.rpartition("#")[0] or means.part
        return path if path.startswith("/") else f"/{path}"
    item, _, key = suspect.id.partition(":")
    return key if item == "boot.init_settings" and key.startswith("/") else ""


def origin_of_part(survey: Survey, suspect: Suspect, side: Side) -> Origin | None:
    """The line of a part on a side, and of what kind it is; None when that side has it not."""
    path = file_of(suspect)
    shown = suspect.good if side is Side.GOOD else suspect.bad
    texts = [line.strip() for line in shown.split("\n")]
    wanted = [text for text in texts if text and text[0] not in _COMMENT]
    lines = survey.tree.lines(path) if path else ()
    if not lines or not wanted:
        return None
    line = next(
        (line for line in lines if line.text.strip() == wanted[0]), Line(path, 0, wanted[0])
    )
    known = next((a for a in survey.assignments if a.line == line), None)
    kind = known.kind if known is not None else KIND
    origin = Origin(side, kind, line.file, line.number, Untrusted(line.text.strip()[:300]))
    return replace(origin, note=known.note, certain=known.certain) if known is not None else origin
