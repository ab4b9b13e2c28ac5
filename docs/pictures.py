"""Takes the pictures of the documentation from real pages: ``make pictures``.

Those of traces show the two of ``tests/story_traces.py``, those of a report the last two runs that
``make demo`` measured, those of a lab the nights of ``tests/lab_nights.py``, that of a board one
that QEMU simulates, while it boots.
``images/outlines.json`` keeps what is on each page, so that a test finds pictures that are out of
date; for these the board is a stand-in, which has the same page.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
IMAGES = HERE / "images"
OUTLINES = IMAGES / "outlines.json"
DEMO = HERE.parent / "build" / "demo" / "report" / "index.html"

sys.path.insert(0, str(HERE.parent / "tests"))

import rig_bench  # noqa: E402
from browser import browse  # noqa: E402
from lab_nights import keep_lab_nights  # noqa: E402
from report_runs import demonstration_run, other_run  # noqa: E402
from story_traces import story  # noqa: E402
from web_server import serving  # noqa: E402

from benchvise.errors import BenchviseError  # noqa: E402
from benchvise.report.html import write_report  # noqa: E402
from benchvise.rig.virtual import standard_bench  # noqa: E402

BOARD = "arm64-1"
BOARD_PICTURE = "workbench-board"


def look(directory: Path, report: Path, *options: str | Path) -> dict[str, Any]:
    """The outline of each page with a picture, by its name; options are those of the script."""
    directory.mkdir(parents=True, exist_ok=True)
    with rig_bench.running(directory, [(BOARD, "stand-in")]) as bench:
        return outlines_of(directory, report, bench.rig_file, *options)


def outlines_of(directory: Path, report: Path, rig: Path, *options: str | Path) -> dict[str, Any]:
    """The same, with the board of that rig."""
    story(directory / "traces", 6)
    keep_lab_nights(directory / "store.db")
    words = ("--traces", directory / "traces", "--rig", rig, "--allow-control")
    with serving(directory / "store.db", *words) as server:
        outlines: dict[str, Any] = browse("pictures.js", server.url(""), report, *options)
    return outlines


@contextmanager
def simulated_board() -> Iterator[Path | None]:
    """The rig file of a bench with one board; None, with the reason, where there can be none."""
    with tempfile.TemporaryDirectory(prefix="bv-", dir="/tmp") as name:  # short: it holds sockets
        place = Path(name) / "bench"
        try:
            bench = standard_bench.up(f"{BOARD}=arm64-uboot", place)
        except BenchviseError as error:
            print(f"{BOARD_PICTURE}.png is left as it is: {error}")
            yield None
            return
        try:
            yield bench.rig_file
        finally:
            standard_bench.down(place)


def made_report(directory: Path) -> Path:
    """A comparison that is the same each time, for outlines."""
    return write_report([demonstration_run(), other_run()], directory / "report")


def main() -> None:
    """Writes all pictures and the outlines."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        made = made_report(directory)
        outlines = look(directory / "outlines", made)
        OUTLINES.write_text(json.dumps(outlines, indent=1, ensure_ascii=False) + "\n")
        with simulated_board() as rig:
            place, shown = directory / "pictures", DEMO if DEMO.is_file() else made
            if rig is None:
                look(place, shown, "--shots", directory)
            else:
                outlines_of(place, shown, rig, "--shots", directory, "--boot")
        for picture in sorted(directory.glob("*.png")):
            if picture.name.startswith("report-") and not DEMO.is_file():
                print(f"{picture.name} is left as it is: `make demo` measures what it shows")
                continue
            (IMAGES / picture.name).write_bytes(picture.read_bytes())
            print(f"docs/images/{picture.name}: {picture.stat().st_size / 1000:.0f} kB")
        if rig is not None and not (directory / f"{BOARD_PICTURE}.png").exists():
            print(f"{BOARD_PICTURE}.png is left as it is: the board took too long to boot")


if __name__ == "__main__":
    main()
