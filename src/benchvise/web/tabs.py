"""Tabs of a page: their part of its document, and the charts that they draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from benchvise.report.figures import Figures


@dataclass(frozen=True, slots=True)
class PageTab:
    """A tab's part of the page's document, and what its template needs besides."""

    document: Mapping[str, Any]
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
