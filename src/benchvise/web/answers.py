"""Pages with their tabs, their twins in JSON, and errors in their one shape.

A page is made of a *document*: JSON with the numbers as they are, or what ``documents`` encodes.
Its twin, the same address with ``.json``, is ``{"benchvise": VERSION, "kind": KIND, "data":
DOCUMENT}``, as ``--json`` prints it. The template gets the encoded document as ``d``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, FileSystemLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

import benchvise
from benchvise.documents import encode
from benchvise.errors import BenchviseError
from benchvise.quantities import format_ago, format_duration, format_size, format_stamp
from benchvise.report.figures import Figures
from benchvise.report.html import environment
from benchvise.report.sinks import PAGE_LIMIT, embedded, with_commands
from benchvise.text import printable
from benchvise.web.http import JsonAnswer, error_document, status_of

NAME_LIMIT = 120
"""Characters of a name in a list (``| short``)."""

Page: TypeAlias = Callable[[Request], Response]


@dataclass(frozen=True, slots=True)
class Crumb:
    """A step on the way from the home page to this one."""

    name: str
    url: str


def both(path: str, handler: Page, twin: str = "") -> list[Route]:
    """The routes of a page and of its twin, which the handler serves too."""

    def as_json(request: Request) -> Response:
        request.state.twin = True
        return handler(request)

    return [Route(twin or f"{path}.json", as_json), Route(path, handler)]


def page(
    request: Request,
    kind: str,
    document: Mapping[str, object],
    *,
    title: str,
    crumbs: Sequence[Crumb] = (),
    status: int = 200,
    **more: object,
) -> Response:
    """The page ``pages/KIND.html.j2``, or its twin where that is asked for.

    ``more`` are things that only the template needs: objects that the document was made of.
    """
    if wants_json(request):
        return shaped(kind, document, status)
    template = templates().get_template(f"pages/{kind}.html.j2")
    text = template.render(
        d=encode(document),
        title=title,
        crumbs=crumbs,
        section=f"/{request.url.path.split('/')[1]}",
        twin=_twin_url(request),
        query=request.query_params,
        built=Built(),
        version=benchvise.__version__,
        csrf=csrf_token(request),
        **more,
    )
    return HTMLResponse(text, status, {"Cache-Control": "no-store"})


def shaped(kind: str, document: object, status: int = 200) -> Response:
    """A document as JSON, in the shape that commands have with ``--json``."""
    data = {"benchvise": benchvise.__version__, "kind": kind, "data": document}
    return JsonAnswer(data, status, {"Cache-Control": "no-store"})


def failure(request: Request, error: BenchviseError, status: int | None = None) -> Response:
    """``{"error": {"message", "remedy"}}``, or a page that says it to people."""
    document = error_document(error)
    code = status or status_of(error)
    if wants_json(request):
        return JsonAnswer(document, code, {"Cache-Control": "no-store"})
    where = request.scope["raw_path"].decode("ascii", "replace")
    where += f"?{request.url.query}" if request.url.query else ""
    document_of_page = {**document, "status": code}
    return page(request, "failure", document_of_page, title="Error", status=code, here=where)


def csrf_token(request: Request) -> str:
    """What forms of this visitor's pages post besides; empty for who is not let in."""
    visitor = getattr(request.state, "visitor", None)
    return "" if visitor is None else str(visitor.csrf_token)


def wants_json(request: Request) -> bool:
    """Whether a program asks: for a twin, the API, or with JSON as what it accepts."""
    path = request.url.path
    if getattr(request.state, "twin", False) or path.startswith(("/api/", "/live/")):
        return True
    accepted = request.headers.get("accept", "")
    return path.endswith(".json") or accepted.startswith("application/json")


@cache
def templates() -> Environment:
    """The report's templates and filters, and those of the pages here."""
    own = environment(PAGE_LIMIT)
    assert own.loader is not None  # noqa: S101 - given by environment()
    own.loader = ChoiceLoader([FileSystemLoader(Path(__file__).parent / "templates"), own.loader])
    filters: Mapping[str, Callable[..., object]] = {
        "ago": format_ago,
        "stamp": format_stamp,
        "span": format_duration,
        "bytes": format_size,
        "segment": lambda text: quote(str(text), safe=""),
        "printable": printable,
        "short": lambda text: printable(str(text), NAME_LIMIT),
        "island_data": embedded,
        "capitalised": _capitalised,
        "commands": with_commands,
    }
    own.filters |= filters
    return own


def _capitalised(text: str) -> str:
    """An error as the sentence that it is. Names of files at its begin stay as they are."""
    return text[0].upper() + text[1:] if re.match("[a-z]+ ", text) else text


def _twin_url(request: Request) -> str:
    path = request.url.path
    twin = "/index.json" if path == "/" else f"{path}.json"
    return f"{twin}?{request.url.query}" if request.url.query else twin


# -- tabs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageTab:
    """A tab's part of the page's document, and what its template needs besides."""

    document: Mapping[str, object]
    more: Mapping[str, Any] = field(default_factory=dict)


def chart_context(figures: Figures, **more: object) -> dict[str, Any]:
    """The figures for the report's templates, and ``charts``, the data of the island."""
    return {
        "figures": figures,
        "curves_by_family": by_family(figures),
        "charts": {**asdict(figures), **more},
    }


def by_family(figures: Figures) -> list[tuple[str, list[object]]]:
    """Curves by the family of their benchmarks."""
    curves = sorted(figures.curves, key=lambda curve: curve.family)
    return [(name, list(group)) for name, group in groupby(curves, lambda curve: curve.family)]


# -- what Vite built -------------------------------------------------------------------------------


ASSETS = Path(__file__).parent / "assets"
_ENTRY = "src/pages/main.ts"


@dataclass(frozen=True)
class Built:
    """What a page takes in: file names below ``/assets``."""

    directory: Path = ASSETS

    @cached_property
    def script(self) -> str:
        """The script of all pages; it loads what a page needs besides."""
        return str(self._entry["file"])

    @cached_property
    def styles(self) -> tuple[str, ...]:
        """The style sheets of all pages."""
        return tuple(str(name) for name in self._entry.get("css", ()))

    @cached_property
    def _entry(self) -> Mapping[str, Any]:
        try:
            manifest = json.loads((self.directory / "manifest.json").read_text(encoding="utf-8"))
            entry: Mapping[str, Any] = manifest[_ENTRY]
        except (OSError, ValueError, KeyError) as error:
            raise BenchviseError(
                "the scripts of the workbench are not built",
                "run `make` in the source tree, or install Benchvise again",
            ) from error
        return entry
