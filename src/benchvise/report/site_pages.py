"""The files of a static site: the matrix, a page for each board, the comparison of any two.

    index.html            boards by metrics: values, intervals, ranks; search and sorting
    boards/NAME.html      the report of a board's runs
    compare.html#A,B      two boards, compared in the browser
    site.json             what all of them show, for programs
    assets/               the report's script and style sheet

Pages link with relative addresses, ask for nothing else, and load no data by script, so that they
work from a disk as from any web server. Without a script the matrix is a table like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchvise.documents import encode
from benchvise.output_files import output_directory, write_output
from benchvise.report.data import RunData, assembled
from benchvise.report.html import (
    PAGE,
    SCRIPT,
    STYLE,
    LinkedAssets,
    environment,
    load_assets,
    render_page,
)
from benchvise.report.sinks import json_text
from benchvise.report.site import Site, SiteBoard

COMPARE = "compare.html"
DATA = "site.json"
_ASSETS = "assets/"
_BOARDS = "boards"
_CONTENT = "the site"


def write_board(directory: Path, board: SiteBoard, runs: Sequence[RunData]) -> None:
    """Writes the page of one board; OutputError where the directory cannot be written."""
    page = render_page(
        assembled(runs, []),
        LinkedAssets(f"../{_ASSETS}"),
        heading=board.name,
        home=f"../{PAGE}",
    )
    with output_directory(directory / _BOARDS, _CONTENT):
        write_output(directory / board.page, page)


def write_site(directory: Path, site: Site) -> Path:
    """Writes all but the pages of boards, the first page last; returns its path."""
    assets = load_assets()
    templates = environment()
    templates.filters["sortable"] = lambda value: f"{value:.7g}"
    frame = LinkedAssets(_ASSETS).around(encode(site))
    with output_directory(directory / _ASSETS, _CONTENT):
        write_output(directory / _ASSETS / SCRIPT, assets.script)
        write_output(directory / _ASSETS / STYLE, assets.style)
        write_output(directory / DATA, json_text(encode(site)) + "\n")
        for name, template in ((COMPARE, "site_compare.html.j2"), (PAGE, "site.html.j2")):
            page = templates.get_template(template).render(site=site, compare=COMPARE, **frame)
            write_output(directory / name, page)
    return directory / PAGE
