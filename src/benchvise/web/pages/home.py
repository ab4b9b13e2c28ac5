"""The first page: what is new."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from benchvise.rig.environment import PREFIX
from benchvise.web.answers import both, page
from benchvise.web.context import context
from benchvise.web.file_index import listed

_NEWEST = 6
_BOARDS = 12


def home(request: Request) -> Response:
    """The newest runs, diagnoses and traces."""
    shared = context(request)
    rig = shared.rig()
    in_rig = {f"{PREFIX}{name}" for name in (rig.names if rig else ())}
    document = {
        "store": shared.store.name,
        "rig": None if rig is None else {"path": str(rig.path), "boards": rig.names[:_BOARDS]},
        "boards": [
            {**asdict(board), "in_rig": board.name in in_rig}
            for board in shared.store.boards(_BOARDS)
        ],
        "runs": [asdict(run) for run in shared.store.runs(_NEWEST)],
        "diagnoses": [asdict(diagnosis) for diagnosis in shared.store.diagnoses(_NEWEST)],
        "traces": [listed(file) for file in shared.traces.files()[:_NEWEST]],
    }
    return page(request, "home", document, title="Workbench")


routes = both("/", home, twin="/index.json")
