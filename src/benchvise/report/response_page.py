"""Response times of several configurations as one self-contained page, to be mailed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import benchvise
from benchvise.output_files import output_directory, write_output
from benchvise.report.assets import load_assets
from benchvise.report.figures import NO_FIGURES
from benchvise.report.html import DATA, PAGE, environment
from benchvise.report.response_figures import ConfigurationTimes, ResponseFigure, response_figure
from benchvise.report.sinks import Asset, embedded, json_text
from benchvise.report.tables import Table


def write_page(
    samples: Sequence[ConfigurationTimes],
    tables: Sequence[Table],
    document: Mapping[str, Any],
    directory: Path,
) -> Path:
    """Writes ``index.html`` and ``data.json``; returns the page's path.

    Each file is replaced as a whole. OutputError where the directory cannot be written.
    """
    text = page(samples, tables)
    data = json_text(document, indent=1) + "\n"
    with output_directory(directory, "the page"):
        write_output(directory / DATA, data)
        write_output(directory / PAGE, text)
    return directory / PAGE


def page(samples: Sequence[ConfigurationTimes], tables: Sequence[Table]) -> str:
    """The page as text."""
    assets = load_assets()
    figure = response_figure(samples)
    return (
        environment()
        .get_template("responses_page.html.j2")
        .render(
            title="Response times",
            figure=figure,
            tables=tables,
            version=benchvise.__version__,
            policy=assets.policy,
            # Hashed in the policy: no character may be changed.
            script=Asset(assets.script),
            style=Asset(assets.style),
            figures_json=embedded(figures_document([figure] if figure else [])),
        )
    )


def figures_document(figures: Sequence[ResponseFigure]) -> dict[str, Any]:
    """What the page's script reads."""
    return {**NO_FIGURES, "responses": [asdict(figure) for figure in figures]}
