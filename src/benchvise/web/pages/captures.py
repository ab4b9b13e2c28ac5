"""A capture: its lines on a timeline, what is decoded of it, and how fast a board answers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from benchvise.documents import encode
from benchvise.errors import BenchviseError, CaptureError, UsageError
from benchvise.report.figures import response_figures_document
from benchvise.report.rendering import Table, table_of
from benchvise.report.responses import ConfigurationTimes, response_figure
from benchvise.signal.commands import decode, info, infrared, uart
from benchvise.signal.commands import response as response_command
from benchvise.signal.configurations import (
    Configuration,
    ResponseComparison,
    compare_configurations,
    comparison_document,
    responses_document,
)
from benchvise.signal.decoders import available
from benchvise.signal.distribution import distribution
from benchvise.signal.response import is_list
from benchvise.table import TableSpec
from benchvise.text import printable
from benchvise.web.answers import Crumb, both, page
from benchvise.web.captures import timeline
from benchvise.web.captures.served import (
    INFRARED,
    NOTHING_DECODED,
    SERIAL,
    CaptureView,
    DecodedCapture,
    ServedCapture,
)
from benchvise.web.file_index import MOST_LISTS_COMPARED, IndexedFile, listed
from benchvise.web.readers.desertion import route_while_awaited
from benchvise.web.readers.open_files import open_files

_THREADS = ThreadPoolExecutor(4, thread_name_prefix="capture")
_ANNOTATIONS = 300
_FRAMES = 2
_CRUMBS = (Crumb("Captures", "/captures"),)


def capture(request: Request) -> Response:
    """One capture, or one list of response times."""
    file = open_files(request).captures.find(request.path_params["key"])
    if is_list(file.path):
        return _compared(request, [(file.path.stem, file)], file.name)
    view = CaptureView.of_query(request.query_params)
    served = open_files(request).served_captures.get(file.path, view)
    decoded, failure = _decoded(served)
    summary = served.summary
    document: dict[str, Any] = {
        **listed(file),
        "asked": view.parameters(),
        "capture": encode(replace(summary, path=file.place)),
        "decoded": [{"name": row.name, "spans": int(row.spans.begin.size)} for row in decoded.rows],
        "responses": None,
        "failure": failure,
    }
    figure = island = None
    if served.view.edges is not None:
        seen = _responses(document, served)
        if seen is not None:
            figure, island = seen
    return page(
        request,
        "capture",
        document,
        title=file.name,
        crumbs=_CRUMBS,
        api=f"/api/captures/{file.key}/{view.segment}",
        tables=[table_of(spec) for spec in info.tables(summary)],
        said=_tables(served, decoded),
        names=[line.name for line in served.capture.lines],
        presets=((SERIAL, "serial lines, rates decoded"), (INFRARED, "infrared remote control")),
        decoders=available(),
        figure=figure,
        island=island,
    )


def responses(request: Request) -> Response:
    """Response times of several files side by side: ``file=KEY`` each, named by ``as=NAME``."""
    index = open_files(request).captures
    keys = request.query_params.getlist("file")
    names = request.query_params.getlist("as")
    if not keys:
        raise UsageError("no file is chosen", "choose some in the list of captures")
    if len(keys) > MOST_LISTS_COMPARED:
        raise UsageError(f"{len(keys)} files are too many", f"choose at most {MOST_LISTS_COMPARED}")
    files = [index.find(key) for key in keys]
    chosen_names = [printable(name, 80) for name in names] + [""] * len(files)
    named_files = [
        (name or file.path.stem, file) for name, file in zip(chosen_names, files, strict=False)
    ]
    return _compared(request, named_files, "Response times")


def _compared(request: Request, named: Sequence[tuple[str, IndexedFile]], title: str) -> Response:
    view = CaptureView.of_query(request.query_params)
    factors = _factors(request, [name for name, _ in named])
    comparison = compare_configurations(
        [(name, file.path) for name, file in named],
        view.reading,
        view.edges,
        view.window,
        factors,
    )
    whole = comparison_document(comparison)
    document = {
        "asked": view.parameters(),
        "factors": factors,
        "files": [{**listed(file), "as": name} for name, file in named],
        "configurations": [
            encode(replace(item, source=Path(item.source).name)) for item in whole.configurations
        ],
        "effects": encode(whole.effects),
    }
    figure = response_figure(_samples(comparison))
    return page(
        request,
        "responses",
        document,
        title=title,
        crumbs=_CRUMBS,
        tables=[table_of(spec) for spec in response_command.tables(comparison)],
        figure=figure,
        island=response_figures_document([figure] if figure else []),
    )


def _factors(request: Request, names: Sequence[str]) -> list[str]:
    """What the parts of the names are called: as said, or by number where all have as many."""
    text = request.query_params.get("factors", "")
    if text:
        return [printable(word.strip(), 40) for word in text.split(",") if word.strip()]
    parts = {name.count("/") + 1 for name in names}
    if len(names) < 2 or parts != {2}:
        return []
    return ["implementation", "condition"]


def _samples(comparison: ResponseComparison) -> list[ConfigurationTimes]:
    return [
        ConfigurationTimes(item.name, item.responses.seconds, int(item.responses.missed_at.size))
        for item in comparison.configurations
    ]


def _responses(document: dict[str, Any], served: ServedCapture) -> tuple[Any, Any] | None:
    """Puts response times into the document; the figure and what its island is given."""
    try:
        seen = served.responses
        if seen is None or not seen.seconds.size:
            raise CaptureError("no stimulus was answered", "look at the edges and the window")
    except BenchviseError as error:
        document["failure"] = _failed(error)
        return None
    name = f"{served.view.stimulus} to {served.view.answer}"
    shape = distribution(seen.seconds)
    responses = replace(responses_document(name, seen, shape), source=document["name"])
    document["responses"] = encode(responses)
    rows = [Configuration(name, (name,), seen, shape, None)]
    table = table_of(response_command.configuration_table(rows))
    figure = response_figure([ConfigurationTimes(name, seen.seconds, int(seen.missed_at.size))])
    return (table, figure), response_figures_document([figure] if figure else [])


def _decoded(served: ServedCapture) -> tuple[DecodedCapture, dict[str, str] | None]:
    """What was decoded; where that failed, nothing and why: the lines are shown all the same."""
    try:
        return served.decoded, None
    except (CaptureError, UsageError) as error:
        return NOTHING_DECODED, _failed(error)


def _failed(error: BenchviseError) -> dict[str, str]:
    return {"message": error.message, "remedy": error.remedy}


def _tables(served: ServedCapture, decoded: DecodedCapture) -> list[Table]:
    """What was decoded, in words."""
    return [table_of(spec) for spec in _specs(served, decoded)]


def _specs(served: ServedCapture, decoded: DecodedCapture) -> list[TableSpec[Any]]:
    if decoded.serial is not None:
        lines_with_bytes = [line for line in decoded.serial.lines if line.data]
        return [
            *uart.tables(decoded.serial, 0),
            *(uart.byte_table(served.capture, line) for line in lines_with_bytes),
        ]
    if decoded.infrared is not None:
        return infrared.tables(decoded.infrared, _FRAMES)
    if decoded.annotations:
        return [
            decode.table(
                decode.decoded_annotations(served.capture, decoded.annotations), _ANNOTATIONS
            )
        ]
    return []


routes = [
    *(
        route_while_awaited(route, _THREADS)
        for route in (*both("/captures/responses", responses), *both("/captures/{key}", capture))
    ),
    *timeline.routes,
]
