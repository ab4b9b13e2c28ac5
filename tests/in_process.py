"""``benchvise`` in this process: what a command says and how it ends, without a cold start.

Where a process of its own is what is proved (signals, ``kill -9``, pipes, what is imported), it is
started as one.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchvise.cli import main


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has come to its end in this process."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What ``--json`` printed."""
        return json.loads(self.out)["data"]


class Printed(io.TextIOWrapper):
    """Takes text and, as its ``buffer``, bytes."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding="utf-8", write_through=True)

    def text(self) -> str:
        """All that came."""
        return self._bytes.getvalue().decode()


def benchvise(
    *words: str | Path, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Ran:
    """Runs ``benchvise`` with these words, in this environment and directory instead of ours."""
    out, err = Printed(), Printed()
    with pytest.MonkeyPatch.context() as patch:
        for name in () if environment is None else set(os.environ) - set(environment):
            patch.delenv(name)
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main.run([*map(str, words)])
    return Ran(code, out.text(), err.text())
