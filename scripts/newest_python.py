#!/usr/bin/env python3
"""Runs the suite on the newest Python for which all that the lock names can be had.

A release newer than this checkout's Python is looked for from the newest downwards: downloaded by
uv where it can be, else one that this machine has. It gets an environment of its own below
``build/nightly``; all else is this checkout's. Ends with 77 where there is none, and says of each
release why not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UV = ROOT / "build" / "tools" / "bin" / "uv"
PLACE = ROOT / "build" / "nightly"
NOT_AVAILABLE = 77


class NotAvailableError(Exception):
    """A release cannot be had here, with the reason."""


def main() -> int:
    """Prints what was tried. Returns the exit status of the suite."""
    ours = version_of(ROOT / ".venv" / "bin" / "python")
    reasons = []
    for release in releases_newer_than(ours):
        environment = PLACE / f"python-{release}"
        try:
            install(release, environment)
        except NotAvailableError as error:
            reasons.append(f"Python {release}: {error}")
            print(reasons[-1], flush=True)
            continue
        print(f"Python {version_of(environment / 'bin' / 'python')}", flush=True)
        make = (
            "make",
            "--no-print-directory",
            "--keep-going",
            f"BIN={environment.relative_to(ROOT) / 'bin'}",
        )
        parts = ("test-beside", "test-settings", "test-units", "test-alone")
        return subprocess.run([*make, *parts], cwd=ROOT, check=False).returncode
    print("not available: " + ("; ".join(reasons) or f"no release is newer than {ours}"))
    return NOT_AVAILABLE


def version_of(python: Path) -> str:
    """Such as 3.11.2."""
    script = "import platform; print(platform.python_version())"
    return subprocess.run(
        [python, "-c", script], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def releases_newer_than(version: str) -> list[str]:
    """Such as 3.14, newest first: all that uv knows and that are finished."""
    listed = json.loads(uv("python", "list", "--output-format", "json"))
    minors = {
        entry["version_parts"]["minor"]
        for entry in listed
        if (entry["implementation"], entry["variant"]) == ("cpython", "default")
        and entry["version"].replace(".", "").isdigit()  # unlike 3.16.0a2
    }
    newer = sorted((n for n in minors if n > int(version.split(".")[1])), reverse=True)
    return [f"3.{number}" for number in newer]


def install(release: str, environment: Path) -> None:
    """Makes the environment. NotAvailableError where the release or a wheel for it is missing."""
    try:
        uv("python", "install", release)
    except NotAvailableError as error:
        print(f"Python {release} cannot be downloaded ({error}); is one installed?", flush=True)
    uv("venv", "--quiet", "--allow-existing", "--python", release, str(environment))
    sync = ("pip", "sync", "--quiet", "--python", str(environment), "--compile-bytecode")
    uv(*sync, "--require-hashes", "requirements-dev.lock")
    ourselves = ("--no-deps", "--no-build-isolation", "--editable", ".")
    uv("pip", "install", "--quiet", "--python", str(environment), *ourselves)


def uv(*words: str) -> str:
    """What uv prints. NotAvailableError with its last reason where it fails."""
    own = {"UV_PYTHON_INSTALL_DIR": str(PLACE / "pythons")}
    done = subprocess.run(
        [UV, *words],
        cwd=ROOT,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise NotAvailableError(lines[-1].removeprefix("cause: ") if lines else f"uv {words} fails")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
