"""Runs in Otava's Python: a request of JSON on standard input, an answer on standard output.

``{"series": [[…], …], "least": 0.01}`` gives the positions of the changes of each series, from one
per cent on;
``{"csv": FILE, "metrics": [NAME, …]}`` what Otava's importer reads and finds in a file.
"""

import json
import sys
from typing import Any

from otava.csv_options import CsvOptions  # type: ignore[import-not-found]
from otava.importer import CsvImporter  # type: ignore[import-not-found]
from otava.series import AnalysisOptions, Series  # type: ignore[import-not-found]
from otava.test_config import CsvMetric, CsvTestConfig  # type: ignore[import-not-found]


def _found(series: Any, least: float) -> dict[str, list[int]]:
    options = AnalysisOptions()
    options.min_magnitude = least
    points = series.analyze(options).change_points
    return {name: [int(point.index) for point in of_one] for name, of_one in points.items()}


def _analyse(values: list[float], least: float) -> list[int]:
    series = Series("x", None, list(range(len(values))), {}, {"m": values}, {})
    return _found(series, least)["m"]


def _import(file: str, names: list[str], least: float) -> dict[str, Any]:
    metrics = [CsvMetric(name, 1, 1.0, name) for name in names]
    config = CsvTestConfig("t", file, CsvOptions(), "time", metrics, [])
    series = CsvImporter().fetch_data(config)
    return {"values": series.data, "time": series.time, "changes": _found(series, least)}


def main() -> None:
    request = json.load(sys.stdin)
    least = request.get("least", 0.0)
    if "csv" in request:
        answer: Any = _import(request["csv"], request["metrics"], least)
    else:
        answer = [_analyse(values, least) for values in request["series"]]
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
