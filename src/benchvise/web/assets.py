"""Scripts and style sheets as Vite built them, by the names of its manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchvise.errors import BenchviseError

DIRECTORY = Path(__file__).parent / "assets"
ENTRY = "src/pages/main.ts"


@dataclass(frozen=True)
class Built:
    """What a page takes in: file names below ``/assets``."""

    directory: Path = DIRECTORY

    @cached_property
    def script(self) -> str:
        """The script of all pages; it loads what a page needs besides."""
        return str(self._entry["file"])

    @cached_property
    def styles(self) -> tuple[str, ...]:
        """The style sheets of all pages."""
        return tuple(str(name) for name in self._entry.get("css", ()))

    @cached_property
    def _entry(self) -> Mapping[str, Any]:
        try:
            manifest = json.loads((self.directory / "manifest.json").read_text(encoding="utf-8"))
            entry: Mapping[str, Any] = manifest[ENTRY]
        except (OSError, ValueError, KeyError) as error:
            raise BenchviseError(
                "the scripts of the workbench are not built",
                "run `make` in the source tree, or install Benchvise again",
            ) from error
        return entry
