"""Takes the pictures of the documentation from real pages: ``make pictures``.

Those of traces show the two of ``tests/story_traces.py``, those of a report the last two runs that
``make demo`` measured. ``images/outlines.json`` keeps what is on each page, so that a test finds
pictures that are out of date.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
IMAGES = HERE / "images"
OUTLINES = IMAGES / "outlines.json"
DEMO = HERE.parent / "build" / "demo" / "report" / "index.html"

sys.path.insert(0, str(HERE.parent / "tests"))

from browser import browse  # noqa: E402
from report_runs import demonstration_run, other_run  # noqa: E402
from story_traces import story  # noqa: E402
from web_server import serving  # noqa: E402

from benchvise.report.html import write_report  # noqa: E402


def look(directory: Path, report: Path, *options: str | Path) -> dict[str, Any]:
    """The outline of each page with a picture, by its name; options are those of the script."""
    story(directory / "traces", 6)
    with serving(directory / "store.db", "--traces", directory / "traces") as server:
        outlines: dict[str, Any] = browse("pictures.js", server.url(""), report, *options)
    return outlines


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
        look(directory / "pictures", DEMO if DEMO.is_file() else made, "--shots", directory)
        for picture in sorted(directory.glob("*.png")):
            if picture.name.startswith("report-") and not DEMO.is_file():
                print(f"{picture.name} is left as it is: `make demo` measures what it shows")
                continue
            (IMAGES / picture.name).write_bytes(picture.read_bytes())
            print(f"docs/images/{picture.name}: {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
