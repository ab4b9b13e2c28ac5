"""The built script and style sheet that a page takes in whole."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

from benchvise.errors import BenchviseError

_DIRECTORY = Path(__file__).parent / "assets"


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


def load_assets(directory: Path = _DIRECTORY) -> Assets:
    """Reads what ``make`` built from ``web/``."""
    try:
        script = (directory / "report.js").read_text(encoding="utf-8")
        style = (directory / "report.css").read_text(encoding="utf-8")
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
