"""Two traces against each other: what each actor does differently."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.text import aligned
from benchvise.trace.analysis.compare import METRICS
from benchvise.web.answers import Crumb, both, page
from benchvise.web.cache import RecentValues
from benchvise.web.file_index import IndexedFile, listed
from benchvise.web.http import Query
from benchvise.web.readers.desertion import route_while_awaited
from benchvise.web.readers.open_files import open_files
from benchvise.web.workspace import comparison
from benchvise.web.workspace.comparison import SideBySide, UsualPlace
from benchvise.web.workspace.served import ServedTrace
from benchvise.web.workspace.worst_links import WorstLinks

_KEPT = 8
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="trace-comparison")
_TITLES = {
    "execution": "Execution time",
    "response": "Response time",
    "latency": "Start latency",
    "period": "Period",
}
_NAMES = {"all": "All", "irq": "Interrupts", "softirq": "Softirqs", "task": "Tasks"}


def trace_compare(request: Request) -> Response:
    """``?a=KEY&b=KEY``; ``kind`` leaves actors out, ``actor`` shows one more closely.

    ``?t=KEY&t=KEY``, as the list of traces asks (the page of a trace: ``?t=KEY&with=KEY``), goes on
    to the older one as ``a``.
    """
    index = open_files(request).traces
    picked = request.query_params.getlist("t")
    if picked:
        picked += request.query_params.getlist("with")
        return RedirectResponse(_address(request, _in_order([index.find(key) for key in picked])))
    query = Query(request.query_params)
    if not query.text("a") or not query.text("b"):
        raise UsageError("a comparison has two traces", "choose two in the list of traces")
    files = index.find(query.text("a")), index.find(query.text("b"))
    sides = [open_files(request).served_traces.get(file.path) for file in files]
    compared = _compared(sides[0], sides[1])
    kind = query.choice("kind", comparison.KINDS)
    document = {
        "a": listed(files[0]),
        "b": listed(files[1]),
        "kind": kind,
        **encode(compared.of_kind(kind)),
        "detail": _detail(files, sides, compared, query.text("actor")),
    }
    return page(
        request,
        "trace_compare",
        document,
        title=f"{files[1].name} against {files[0].name}",
        crumbs=[Crumb("Traces", "/traces")],
        kind_names=_NAMES,
        figures=_figures(document),
        worst=[
            WorstLinks(f"/traces/{file.key}", side) for file, side in zip(files, sides, strict=True)
        ],
        titles=_TITLES,
        others=[listed(file) for file in index.files()],
    )


def _in_order(files: list[IndexedFile]) -> list[IndexedFile]:
    """Two different traces, the older first.

    Raises:
        UsageError: they are not two.
    """
    if len({file.key for file in files}) != 2:
        raise UsageError(
            f"a comparison has two traces, not {len({file.key for file in files})}",
            "tick two in the list of traces",
        )
    return sorted(files[:2], key=lambda file: file.changed)


def _address(request: Request, files: list[IndexedFile]) -> str:
    twin = ".json" if getattr(request.state, "twin", False) else ""
    return f"/traces/compare{twin}?{urlencode({'a': files[0].key, 'b': files[1].key})}"


def _detail(
    files: tuple[IndexedFile, IndexedFile],
    sides: list[ServedTrace],
    compared: SideBySide,
    actor: str,
) -> dict[str, Any] | None:
    """One actor more closely: its distributions in both, and where to see it at work."""
    if not actor:
        return None
    row = next((row for row in compared.rows if aligned(row.actor) == aligned(actor)), None)
    if row is None:
        raise UsageError(f"no actor of both traces is {actor}", "choose one of the table")
    return {
        "actor": row.actor,
        "verdict": row.verdict,
        "lines": _lines(files, sides, row.actor),
        "figures": {
            name: encode(comparison.shapes_of([side.loaded for side in sides], row.actor, name))
            for name in METRICS
            if name in row.metrics
        },
    }


def _lines(
    files: tuple[IndexedFile, IndexedFile], sides: list[ServedTrace], actor: str
) -> dict[str, str | None]:
    """Addresses of the timelines where the actor is at its usual work: of each trace, and of both
    beside each other, moved so that the two instances stand at the same place."""
    places = [comparison.usual_place(side.loaded, actor) for side in sides]
    lengths = [place.end - place.begin for place in places if place is not None]
    span = 2 * max(1, *lengths) if lengths else 0
    views = [
        None if place is None else _at(side, place, span)
        for side, place in zip(sides, places, strict=True)
    ]
    pages = [f"/traces/{file.key}" for file in files]
    alone = [
        f"{page}?{urlencode(at)}" if at else None for page, at in zip(pages, views, strict=True)
    ]
    if views[0] is None or views[1] is None:
        return {"a": alone[0], "b": alone[1], "both": None}
    both = {
        "with": files[1].key,
        **views[0],
        **{f"{name}2": text for name, text in views[1].items()},
        "shift": places[1].begin - places[0].begin if places[0] and places[1] else 0,
    }
    return {"a": alone[0], "b": alone[1], "both": f"{pages[0]}?{urlencode(both)}"}


def _at(side: ServedTrace, place: UsualPlace, span: int) -> dict[str, str]:
    """What of the workspace's address shows a place in the middle of twice ``span`` ns."""
    middle = (place.begin + place.end) // 2
    parameters = {"view": f"{middle - span},{middle + span}", "actor": str(place.actor)}
    rows = [row for row in side.rows if row.actor == place.actor]
    own = [row for row in rows if row.cpu in (None, place.cpu)] or rows
    return parameters | ({"at": f"{own[0].id}:{place.begin}"} if own else {})


def _figures(document: dict[str, Any]) -> dict[str, Any]:
    """What the charts of the report draw: both distributions of each figure that has any."""
    detail = document["detail"] or {"figures": {}}
    names = [document["a"]["name"], document["b"]["name"]]
    figures = []
    for name, shapes in detail["figures"].items():
        lines = [
            {"name": of, "style": style, "latencies": shape}
            for style, (of, shape) in enumerate(zip(names, shapes, strict=True))
            if shape is not None
        ]
        if lines:
            title = _TITLES[name]
            figure = {"id": f"of-{name}", "title": title, "x_name": title.lower()}
            figures.append({**figure, "lines": lines})
    empty: list[Any] = []
    return {"format": 1, "curves": empty, "latencies": figures, "samples": empty, "changes": empty}


_comparisons: RecentValues[SideBySide] = RecentValues(_KEPT)


def _compared(a: ServedTrace, b: ServedTrace) -> SideBySide:
    """The comparison, made once for what both traces hold now."""
    return _comparisons.get((a.tag, b.tag), lambda: comparison.compare_traces(a.loaded, b.loaded))


def _open_both(request: Request) -> tuple[str, ...]:
    """Opens what is to be compared, so that it is there at once when the page is made; returns the
    tags of both."""
    files = open_files(request)
    keys = (request.query_params.get("a"), request.query_params.get("b"))
    return tuple(files.trace(key).tag for key in keys if key)


routes = [
    route_while_awaited(route, _THREADS, _open_both)
    for route in both("/traces/compare", trace_compare)
]
