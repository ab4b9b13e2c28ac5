"""Self-contained pages: tables that need no script, and charts that the script draws.

One about runs (``write_report``), one about response times (``write_response_page``); that of a
diagnosis is ``why.page``. Nothing in a page makes a request. Every value of a template is made
harmless by ``sinks.html`` and escaped by jinja2; the charts' data is JSON in an inert script
element.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import benchvise
from benchvise import quantities
from benchvise.errors import BenchviseError
from benchvise.measure.compare import SeriesVerdict
from benchvise.measure.model import RunRecord
from benchvise.measure.validity import Summary
from benchvise.output_files import output_directory, write_output
from benchvise.report.data import (
    ChangeData,
    Fact,
    ReportData,
    RunData,
    SeriesData,
    report_data,
    to_json,
)
from benchvise.report.figures import Figures, figures, response_figures_document
from benchvise.report.rendering import Table
from benchvise.report.responses import ConfigurationTimes, response_figure
from benchvise.report.sinks import CELL_LIMIT, Asset, cell, embedded, html, json_text
from benchvise.report.tables import tail_rows

PAGE = "index.html"
DATA = "data.json"
SCRIPT = "report.js"
STYLE = "report.css"
_ASSETS = Path(__file__).parent / "assets"
_MARKS = "\u2020\u2021\u00a7\u00b6"

SPREAD_REACH = 0.10
"""The axis goes from this share below the median to as much above it."""

SPREAD_WIDTH = 96
_MIDDLE = SPREAD_WIDTH / 2
_NARROWEST = 1.5


def write_report(runs: Sequence[RunRecord], directory: Path) -> Path:
    """Writes ``index.html`` and ``data.json`` into ``directory`` and returns the page's path.

    Each file is replaced as a whole: a reader sees the old page or the new one.
    """
    data = report_data(runs)
    return _write(directory, "the report", render_page(data, load_assets()), to_json(data))


def _write(directory: Path, content: str, page: str, data: str) -> Path:
    with output_directory(directory, content):
        write_output(directory / DATA, data)
        write_output(directory / PAGE, page)
    return directory / PAGE


def render_page(
    data: ReportData, assets: Assets | LinkedAssets, *, heading: str = "", home: str = ""
) -> str:
    """The page of runs as text.

    ``heading`` is what it is called instead of its runs, ``home`` the address of the page that it
    belongs to.
    """
    page_figures = figures(data)
    return (
        _templates()
        .get_template("report.html.j2")
        .render(
            data=data,
            figures=page_figures,
            curves_by_family=_by_family(page_figures),
            sample_groups=sample_groups(data.runs),
            every={figure.id: figure.every for figure in page_figures.samples},
            facts=facts(data.runs),
            tails=tails(data),
            title=heading or title(data),
            lede=lede(data.runs[0]),
            home=home,
            series_url=None,
            spread_width=SPREAD_WIDTH,
            spread_reach=quantities.format_percent(SPREAD_REACH),
            **assets.around(page_figures.document),
        )
    )


def title(data: ReportData) -> str:
    """What the page is called: the run, or the runs that it compares."""
    first, *others = data.runs
    if not others:
        return f"{first.label or first.suite or first.id} on {first.board}"
    if len(others) == 1:
        return f"{others[0].name} against {first.name}"
    return f"{len(others)} runs against {first.name}"


def lede(run: RunData) -> str:
    """One line that says what was measured, for a reader who sees nothing else."""
    facts = {fact.name: fact.text for fact in run.facts if fact.known}
    kernel = facts.get("Kernel")
    parts = [facts.get("Model"), facts.get("CPU"), f"Linux {kernel}" if kernel else None]
    return ", ".join(part for part in [*parts, facts["Started"]] if part)


def write_response_page(
    samples: Sequence[ConfigurationTimes],
    tables: Sequence[Table],
    document: Mapping[str, Any],
    directory: Path,
) -> Path:
    """Writes the page of several configurations' response times and its data; returns its path.

    OutputError where the directory cannot be written.
    """
    page = render_response_page(samples, tables)
    return _write(directory, "the page", page, json_text(document, indent=1) + "\n")


def render_response_page(samples: Sequence[ConfigurationTimes], tables: Sequence[Table]) -> str:
    """The page of response times as text."""
    figure = response_figure(samples)
    return (
        environment()
        .get_template("responses_page.html.j2")
        .render(
            title="Response times",
            figure=figure,
            tables=tables,
            version=benchvise.__version__,
            **load_assets().around(response_figures_document([figure] if figure else [])),
        )
    )


# -- what the templates are given ------------------------------------------------------------------


def _by_family(page_figures: Figures) -> list[tuple[str, list[object]]]:
    curves = sorted(page_figures.curves, key=lambda curve: curve.family)
    return [(name, list(group)) for name, group in groupby(curves, lambda curve: curve.family)]


def sample_groups(
    runs: Sequence[RunData], only: Collection[str] | None = None
) -> list[tuple[str, list[list[tuple[RunData, SeriesData]]]]]:
    """Measured series by benchmark, in rows: all of them, or what the runs have of each series.

    ``only`` are the ids of the series that are meant, None for all.
    """
    groups: defaultdict[str, defaultdict[str, list[tuple[RunData, SeriesData]]]]
    groups = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for series in run.series:
            if series.summary and (only is None or series.id in only):
                row = series.key if len(runs) > 1 else ""
                groups[series.benchmark][row].append((run, series))
    return [(benchmark, list(rows.values())) for benchmark, rows in groups.items()]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the runs have in common, and what differs with one entry a run."""

    common: list[Fact]
    differing: list[tuple[str, list[Fact | None]]]


def facts(runs: Sequence[RunData]) -> Facts:
    """What is known of the runs, apart by whether all have it."""
    names = dict.fromkeys(fact.name for run in runs for fact in run.facts)
    sorted_facts = Facts([], [])
    for name in names:
        items = [next((f for f in run.facts if f.name == name), None) for run in runs]
        if items[0] is not None and len(set(items)) == 1:
            sorted_facts.common.append(items[0])
        else:
            sorted_facts.differing.append((name, items))
    return sorted_facts


def tails(data: ReportData) -> list[Table | None]:
    """The table of tails of each comparison; None where no series keeps single times."""
    names = [run.name for run in data.runs]
    return [tail_rows(c.tails, (names[c.base], names[c.other])) for c in data.comparisons]


# -- the templates and their filters ---------------------------------------------------------------


def environment(limit: int = CELL_LIMIT) -> Environment:
    """The templates, with the filters that all pages use; a line is cut at ``limit``."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=partial(html, limit=limit),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "quantity": _quantity,
        "range": _range,
        "plain": _plain,
        "footnotes": _footnotes,
        "ratio": quantities.format_ratio,
        "change": quantities.format_change,
        "grouped": quantities.format_count,
        "percent": quantities.format_percent,
        "time": quantities.format_time,
        "by_family": _families,
        "by_benchmark": _benchmarks,
        "spread": spread_bar,
        "slug": _slug,
        "breakable": _breakable,
        "p_value": _p_value,
        "needs_reason": _needs_reason,
        "micro": _micro,
    }
    return templates


_templates = cache(environment)
"""For pages that are written by the hundred: templates are compiled once."""


def _quantity(value: float | None, unit: str) -> Markup:
    """Number and unit apart, so that a column of them can be aligned."""
    number, name = quantities.split_value(value, unit)
    return Markup('<span class="number">{}</span> <span class="unit">{}</span>').format(
        number, _micro(cell(name))
    )


def _range(low: float, high: float, unit: str) -> Markup:
    """Both ends of an interval with the unit once, aligned like a quantity."""
    (start, first), (end, second) = (
        quantities.split_value(low, unit),
        quantities.split_value(high, unit),
    )
    between = "" if first == second else f" {_micro(cell(first))}"
    return Markup(
        '<span class="number">{}{}\u2009\u2013\u2009{}</span> <span class="unit">{}</span>'
    ).format(start, between, end, _micro(cell(second)))


def _plain(value: float | None, unit: str) -> str:
    return _micro(quantities.format_value(value, unit))


def _micro(text: str) -> str:
    """A page can show the micro sign, which a terminal may not."""
    return f"{text[:-2]}\u00b5s" if text == "us" or text.endswith(" us") else text


def _families(series: Sequence[SeriesData]) -> list[tuple[str, list[SeriesData]]]:
    """Series by family, families in the order in which they first appear."""
    names = dict.fromkeys(member.family for member in series)
    return [(name, [member for member in series if member.family == name]) for name in names]


def _benchmarks(series: Sequence[SeriesData]) -> list[tuple[SeriesData, list[SeriesData]]]:
    """Series by benchmark and what they count, each with one of them to say what they share."""
    names = dict.fromkeys((member.benchmark, member.counted) for member in series)
    groups = [
        [member for member in series if (member.benchmark, member.counted) == name]
        for name in names
    ]
    return [(group[0], group) for group in groups]


def _footnotes(rows: Sequence[SeriesData | ChangeData]) -> dict[str, str]:
    """A mark for each caveat among ``rows``: most tables have one, few have more than four."""
    sentences = dict.fromkeys(caveat for row in rows for caveat in row.caveats)
    return {
        sentence: _MARKS[number % len(_MARKS)] * (1 + number // len(_MARKS))
        for number, sentence in enumerate(sentences)
    }


def _p_value(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def _needs_reason(change: ChangeData) -> bool:
    """Whether the verdict alone would puzzle: of a series where nothing was shown, p and noise
    floor say it all, and why it is noisy stands among the results."""
    if change.base is None or change.other is None:
        return True
    if change.verdict == SeriesVerdict.NO_DIFFERENCE:
        return False
    return not (change.base.stable and change.other.stable) or "; " in change.reason


_BREAKS = re.compile(r"(?<=[:,])(?![:,]|$)|(?<=[a-z][._])(?=[a-z])")


def _breakable(key: str) -> Markup:
    """A key that may be broken between its parameters and words, and there first."""
    return Markup("<wbr>").join(_BREAKS.split(cell(key)))


def _slug(text: str) -> str:
    """A name that is safe in an id or a class."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())[:60]


# -- spread: where a series' samples lie around its median -----------------------------------------


@dataclass(frozen=True, slots=True)
class SpreadBar:
    """Positions from 0 to ``SPREAD_WIDTH``; ``cut_*`` says that the samples reach past that end."""

    minimum: float
    maximum: float
    low: float
    high: float
    cut_left: bool
    cut_right: bool

    @property
    def interval_width(self) -> float:
        """How wide the interval is drawn: never so narrow that it cannot be seen."""
        return max(self.high - self.low, _NARROWEST)


def spread_bar(summary: Summary) -> SpreadBar | None:
    """Places the values of a series; None when its median is not positive."""
    if summary.median <= 0:
        return None

    def place(value: float) -> float:
        relative = (value / summary.median - 1.0) / SPREAD_REACH
        return round(_MIDDLE * (1.0 + min(1.0, max(-1.0, relative))), 1)

    return SpreadBar(
        minimum=place(summary.minimum),
        maximum=place(summary.maximum),
        low=place(summary.low),
        high=place(summary.high),
        cut_left=summary.minimum < summary.median * (1 - SPREAD_REACH),
        cut_right=summary.maximum > summary.median * (1 + SPREAD_REACH),
    )


# -- the built script and style sheet --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assets:
    """Script and style sheet, as they go between their tags."""

    script: str
    style: str

    @property
    def policy(self) -> str:
        """A content policy that lets exactly these two act, and no request leave the page."""
        return "; ".join(
            (
                "default-src 'none'",
                f"script-src '{_digest(self.script)}'",
                f"style-src '{_digest(self.style)}'",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            )
        )

    def around(self, document: object) -> dict[str, object]:
        """What the frame of a page is given: policy, script, style, and the data of its charts."""
        return {
            "policy": self.policy,
            "assets_url": "",
            # Hashed in the policy: no character may be changed.
            "script": Asset(self.script),
            "style": Asset(self.style),
            "figures_json": embedded(document),
        }


@dataclass(frozen=True, slots=True)
class LinkedAssets:
    """Script and style sheet as files beside the pages, for sites of many pages."""

    url: str
    """The address of their directory from the page, with a slash at its end."""

    @property
    def policy(self) -> str:
        """A content policy that lets only files of the site act.

        Browsers differ in what ``'self'`` is for a page that was opened from a disk.
        """
        return "; ".join(
            (
                "default-src 'none'",
                "script-src 'self' file:",
                "style-src 'self' file:",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            )
        )

    def around(self, document: object) -> dict[str, object]:
        """What the frame of a page is given, as ``Assets.around`` gives it."""
        return {
            "policy": self.policy,
            "assets_url": self.url,
            "script": "",
            "style": "",
            "figures_json": embedded(document),
        }


def load_assets(directory: Path = _ASSETS) -> Assets:
    """Reads what ``make`` built from ``web/``."""
    try:
        script = (directory / SCRIPT).read_text(encoding="utf-8")
        style = (directory / STYLE).read_text(encoding="utf-8")
    except OSError as error:
        name = Path(error.filename or directory).name
        raise BenchviseError(
            f"the report's {name} cannot be read: {error.strerror}",
            "run `make` in the source tree, or install Benchvise again",
        ) from error
    # Between its tags a script ends at these letters, wherever they stand.
    return Assets(script.replace("</script", "<\\/script"), style)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
