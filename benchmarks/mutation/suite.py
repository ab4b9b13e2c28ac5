"""Runs tests of the suite in a work tree, and says which of them fails first."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

LIMIT_S = 900.0
"""Seconds for the tests of one name; whoever takes longer hangs."""

_PR_SET_CHILD_SUBREAPER = 36
_KIND_SECONDS = 5.0
"""What is left has so long to give back what it holds; then it is killed."""

_PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_CARGO_FAILED = re.compile(r"^test (\S+) \.\.\. FAILED$", re.MULTILINE)
_VITEST_FAILED = re.compile(r"^ *FAIL +(.+)$", re.MULTILINE)


def first_failure(tree: Path, test: str) -> str | None:
    """What fails of ``test`` in ``tree``, None when nothing does.

    ``test`` is a file or an identity of pytest (``tests/...``), a file of vitest (``web/src/...``),
    or tests of a crate: ``crates/tracefile --test ctf_made``. RuntimeError where there is no
    such test, or where it cannot be built.
    """
    command, failed = _command(test)
    # Colours would stand between the words that are looked for.
    environment = {**os.environ, "NO_COLOR": "1", "CARGO_TERM_COLOR": "never"}
    where = tree / "web" if test.startswith("web/") else tree
    try:
        result = subprocess.run(
            command, cwd=where, env=environment, capture_output=True, text=True, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return f"{test} (does not end)"
    said = result.stdout + result.stderr
    if result.returncode == 0:
        return None
    if match := failed.search(said):
        return match[1]
    if "error: could not compile" in said or "no tests ran" in said or "not found:" in said:
        raise RuntimeError(f"{test}: cannot be run\n{said[-2000:]}")
    return test


def adopt_orphans() -> None:
    """Makes processes whose parents ended children of this one: see prctl(2)."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_children() -> None:
    """Ends all children of this process, and what becomes a child of it by that.

    A program with a fault in it may leave processes behind, and those what they hold: a recorder
    its buffer in the kernel. The next run would fail for them and not for its fault.
    """
    kind_until = time.monotonic() + _KIND_SECONDS
    while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for child in map(int, children):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
                os.kill(child, signal.SIGCONT)
                if time.monotonic() > kind_until:
                    os.kill(child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)
        time.sleep(0.05)


def _command(test: str) -> tuple[list[str], re.Pattern[str]]:
    if test.startswith("tests/"):
        pytest = (".venv/bin/pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider")
        return [*pytest, test], _PYTEST_FAILED
    if test.startswith("web/"):
        return ["npx", "vitest", "run", "--bail=1", test.removeprefix("web/")], _VITEST_FAILED
    crate, *selection = test.removeprefix("crates/").split()
    return ["cargo", "test", "--locked", "--package", crate, *selection], _CARGO_FAILED
