"""All that the workbench can be asked, from its route table: what is added is asked, too."""

from __future__ import annotations

import re

from starlette.routing import Mount, Route

from benchvise.web.app import create_app
from benchvise.web.context import Settings

SAFE = frozenset({"GET", "HEAD"})


def routes() -> list[Route]:
    """Those of the application; besides, there are only the files of its pages."""
    application = create_app(Settings(store="none"))
    assert [route.path for route in application.routes if isinstance(route, Mount)] == ["/assets"]
    return [route for route in application.routes if isinstance(route, Route)]


def requests(*, safe: bool, **parameters: str) -> list[tuple[str, str]]:
    """Method and path of each question, or of each action; parameters are ``x`` by default."""

    def filled(path: str) -> str:
        return re.sub(r"\{(\w+)(:\w+)?\}", lambda match: parameters.get(match[1], "x"), path)

    return [
        (method, filled(route.path))
        for route in routes()
        for method in sorted(route.methods or ())
        if (method in SAFE) == safe and method != "HEAD"
    ]
