#!/usr/bin/env python3
"""What takes too long for every change: ``make test-nightly``.

Each part runs even where an earlier one failed. What it prints is kept in ``build/nightly``; at the
end one table says what ran, how long, and how it ended. Ends with 1 where a part failed. A part
that ends with 77 cannot run here, and its last line says why.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "nightly"
FUZZ_SECONDS = 600
NOT_AVAILABLE = 77
_REST_SECONDS = 30


@dataclass(frozen=True)
class Part:
    """A command of the shell, run in the root of the checkout."""

    name: str
    summary: str
    command: str


PARTS = (
    Part(
        "long",
        "all layers of two images, every moment of being killed, long serial soaks",
        "BENCHVISE_LONG=1 .venv/bin/pytest -m long",
    ),
    Part(
        "explore",
        "a thousand new examples of each property",
        ".venv/bin/pytest -m hypothesis --hypothesis-profile=explore -n 2",
    ),
    Part("why", "planted causes on simulated boards", ".venv/bin/python -m benchmarks.why"),
    Part(
        "bench",
        "each benchmark beside its reference tool; a claim that does not hold fails",
        "make --no-print-directory bench",
    ),
    Part("mutation", "faults put into the product", ".venv/bin/python -m benchmarks.mutation"),
    Part(
        "hostile",
        "ten thousand hostile queries and two thousand damaged files; memory, and who is alive",
        ".venv/bin/python -m benchmarks.hostile",
    ),
    Part("fuzz", "decoders on damaged input", "scripts/fuzz {seconds}"),
    Part("dist", "wheels of both architectures", "make --no-print-directory dist"),
    Part("newest-python", "the suite on the newest Python", "scripts/newest_python.py"),
)


@dataclass(frozen=True)
class Outcome:
    """How a part ended. ``detail`` is the last line that it printed."""

    name: str
    code: int
    seconds: float
    detail: str
    log: Path

    @property
    def word(self) -> str:
        """One word for a table."""
        return {0: "passed", NOT_AVAILABLE: "not available"}.get(self.code, "FAILED")

    @property
    def is_failed(self) -> bool:
        """Whether this fails the night."""
        return self.code not in (0, NOT_AVAILABLE)


def main(words: Sequence[str] | None = None, parts: Sequence[Part] = PARTS) -> int:
    """Runs the parts named, or all. Returns the exit status."""
    listed = "\n".join(f"  {part.name:14} {part.summary}" for part in parts)
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"parts:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", nargs="*", help="run only these parts")
    parser.add_argument(
        "--fuzz-seconds",
        type=int,
        default=FUZZ_SECONDS,
        metavar="N",
        help=f"for each target ({FUZZ_SECONDS})",
    )
    arguments = parser.parse_args(words)
    known = {part.name: part for part in parts}
    if unknown := [name for name in arguments.part if name not in known]:
        parser.error(f"there is no part {unknown[0]}; there are {', '.join(known)}")
    chosen = [known[name] for name in arguments.part] or parts
    LOGS.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for part in chosen:
        print(f"{time.strftime('%H:%M:%S')} {part.name}: {part.summary}", flush=True)
        outcomes.append(run(part, {"seconds": arguments.fuzz_seconds}))
        print(f"         {outcomes[-1].word}: {outcomes[-1].detail}", flush=True)
    print(table(outcomes))
    (LOGS / "table.txt").write_text(table(outcomes))
    return int(any(outcome.is_failed for outcome in outcomes))


def run(part: Part, values: Mapping[str, object]) -> Outcome:
    """Runs a part to its end. What it started and left running is ended."""
    log = LOGS / f"{part.name}.log"
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["/bin/sh", "-c", part.command.format(**values)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(_REST_SECONDS)
            raise
        finally:
            end_group(process.pid)
    lines = log.read_text(errors="replace").split("\n")
    detail = next((line.strip(" =") for line in reversed(lines) if re.search(r"\w", line)), "")
    return Outcome(part.name, code, time.monotonic() - began, detail, log)


def end_group(group: int) -> None:
    """Ends what is left of a process group."""
    try:
        os.killpg(group, signal.SIGTERM)
        time.sleep(1)
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def table(outcomes: Sequence[Outcome]) -> str:
    """What ran, how long, how it ended."""
    lines = [f"{'part':14} {'result':14} {'time':>9}  last line"]
    for outcome in outcomes:
        minutes, seconds = divmod(round(outcome.seconds), 60)
        time_ = f"{minutes} min {seconds:2}"
        lines.append(f"{outcome.name:14} {outcome.word:14} {time_:>9}  {outcome.detail[:100]}")
    failed = [outcome for outcome in outcomes if outcome.is_failed]
    lines += [f"see {shlex.quote(os.path.relpath(outcome.log, ROOT))}" for outcome in failed]
    return "\n".join([f"nightly of {time.strftime('%Y-%m-%d')}", *lines]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
