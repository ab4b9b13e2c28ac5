"""A real browser, driven by the scripts in ``web/scripts``."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import skips

_ROOT = Path(__file__).parents[1]
_ASSETS = _ROOT / "src" / "benchvise"
SCRIPTS = _ROOT / "web" / "scripts"
# The shell is the same engine without the windows around it: a page takes a third of the CPU time.
CHROMIUM = Path(
    os.environ.get("BENCHVISE_CHROMIUM")
    or shutil.which("chromium-headless-shell")
    or "/usr/bin/chromium"
)
REPORT = _ASSETS / "report" / "assets" / "report.js"
WORKBENCH = _ASSETS / "web" / "assets" / "manifest.json"
SERIOUS = ("serious", "critical")
"""Faults of accessibility that nobody may be shut out by."""


@cache
def missing(assets: Path = WORKBENCH) -> str:
    """Why the pages with these assets cannot be looked at here; empty when they can."""
    if not CHROMIUM.exists():
        return skips.packages("chromium-headless-shell")
    if not shutil.which("node") or not (SCRIPTS.parent / "node_modules/playwright-core").exists():
        return str(skips.reason("web pages", "no node, or no web/node_modules"))
    if not assets.exists():
        return str(skips.reason("web pages"))
    return ""


def environment() -> dict[str, str]:
    """For the scripts: the browser that they are to start."""
    return {**os.environ, "BENCHVISE_CHROMIUM": str(CHROMIUM)}


class ScriptRunner:
    """Runs scripts one after another, with one browser. It ends with this process."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            ["node", SCRIPTS / "in-turn.js"],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )

    def run(self, script: str, words: list[str], timeout_s: float) -> str:
        """What the script printed. Fails with what went wrong, the runner having ended then."""
        assert self.process.stdin is not None and self.process.stdout is not None
        login = os.environ.get("BENCHVISE_LOGIN", "")
        order = {"script": script, "words": words, "login": login}
        try:
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            answer, limit = b"", time.monotonic() + timeout_s
            while not answer.endswith(b"\n"):
                left = max(limit - time.monotonic(), 0)
                ready = select.select([self.process.stdout], [], [], left)[0]
                assert ready, f"{script} takes longer than {timeout_s:g} s"
                more = os.read(self.process.stdout.fileno(), 1 << 16)
                assert more, f"{script} has ended the process that runs it"
                answer += more
            said = json.loads(answer)
            assert not said["error"], said["error"]
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        output: str = said["output"]
        return output


_runners: list[ScriptRunner] = []


def browse(script: str, *words: str | Path, timeout_s: float = 1200) -> Any:
    """What one of the scripts saw; words are those that it takes."""
    if not _runners or _runners[-1].process.poll() is not None:
        _runners.append(ScriptRunner())
    return json.loads(_runners[-1].run(script, [*map(str, words)], timeout_s))
