"""The charts of a page: what its template asks of them, and the island that draws them."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import Any

from benchvise.report.figures import Figures


def drawn(figures: Figures, **more: object) -> dict[str, Any]:
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
