"""Boards: those that were measured, and those of the rig."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from benchvise.errors import UsageError
from benchvise.rig.environment import PREFIX, Rig, find_rig_file, load_rig
from benchvise.store import RunInfo
from benchvise.web.answers import both, page
from benchvise.web.context import Context, context


def boards(request: Request) -> Response:
    """All boards that are known."""
    shared = context(request)
    runs: defaultdict[str, list[RunInfo]] = defaultdict(list)
    for run in shared.store.runs(None):
        runs[run.board].append(run)
    rig = rig_of(shared)
    names = dict.fromkeys([*(f"{PREFIX}{name}" for name in (rig.names if rig else ())), *runs])
    document = {
        "boards": [_board(name, runs[name]) for name in names],
        "rig": {"path": str(rig.path) if rig else None, "names": rig.names if rig else []},
    }
    return page(request, "boards", document, title="Boards")


def rig_of(shared: Context) -> Rig | None:
    """The rig that is meant; None when none is named and no virtual bench runs."""
    try:
        path = find_rig_file(shared.settings.rig)
    except UsageError:
        if shared.settings.rig:
            raise
        return None
    return load_rig(path)


def _board(name: str, runs: list[RunInfo]) -> dict[str, Any]:
    return {"name": name, "runs": len(runs), "newest": asdict(runs[0]) if runs else None}


routes = both("/boards", boards)
