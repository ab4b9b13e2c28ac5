"""The end of a run: which tests were left out and why, which needed a second try, which took
longest; and whether that will do.

With ``STRICT=1`` in the environment a run fails that left tests out for a reason that ``skips``
does not allow, or tried more than ``MOST_RETRIES`` a second time. Of a suite in several runs
(``suite_parts``) each keeps its account in ``build/suite-record``; the last reports for all, and
where one has kept none, that fails too.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest
from skips import parse
from suite_parts import PARTS

LOCK = Path(__file__).parents[1] / "requirements-dev.lock"
RECORDS = Path(__file__).parents[1] / "build" / "suite-record"
MOST_RETRIES = 3
SLOWEST = 10
_MOST_OF_FAILURE = 500
_MOST_DETAILS = 3


def is_strict() -> bool:
    return os.environ.get("STRICT", "") not in ("", "0")


@dataclass
class SuiteRecord:
    """What one run, or several, came to."""

    skipped: dict[str, str] = field(default_factory=dict)
    """Test (or module) to the reason that it was left out for."""
    retried: dict[str, str] = field(default_factory=dict)
    """Test to where and how it failed at the first try."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Test to the time it took, with its fixtures, all tries together."""

    def add(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped:
            self.skipped[report.nodeid] = _reason_of(report)
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]
            self.retried[report.nodeid] = _failure_of(report)
        if isinstance(report, pytest.TestReport):
            self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def update(self, other: SuiteRecord) -> None:
        self.skipped |= other.skipped
        self.retried |= other.retried
        self.seconds |= other.seconds

    def faults(self) -> list[str]:
        """What a strict run does not accept, a line each."""
        lines = []
        for text, tests in sorted(self._by_reason().items()):
            reason = parse(text)
            if reason is None:
                lines.append(f"no reason of tests/skips.py: {text!r}: {tests[0]}")
            elif not reason.is_allowed:
                lines.append(f"{len(tests)} left out for {text}: {reason.remedy}")
        if len(self.retried) > MOST_RETRIES:
            lines.append(f"{len(self.retried)} tests needed a second try: at most {MOST_RETRIES}")
        return lines

    def lines(self) -> Iterator[str]:
        """The tables, as text."""
        if self.skipped:
            yield f"left out: {len(self.skipped)} tests or modules"
            grouped: dict[str, Counter[str]] = {}
            for text in self.skipped.values():
                reason = parse(text)
                name = f"{reason.kind.value}: {reason.name}" if reason else f"unlisted: {text}"
                grouped.setdefault(name, Counter())[reason.detail if reason else ""] += 1
            for name, details in sorted(grouped.items(), key=lambda g: (-g[1].total(), g[0])):
                reason = parse(name)
                remedy = reason.remedy if reason else "give it a reason of tests/skips.py"
                yield f"  {details.total():4}  {name:36} {remedy}"
                for detail, count in details.most_common(_MOST_DETAILS):
                    if detail:
                        yield f"        {count:4} x {detail}"
        if self.retried:
            yield f"second try: {len(self.retried)} tests, which are to be mended"
            for test, why in sorted(self.retried.items()):
                yield f"        {test}: {why}"
        slowest = sorted(self.seconds.items(), key=lambda item: -item[1])[:SLOWEST]
        if len(self.seconds) > SLOWEST:
            yield f"slowest: {SLOWEST} of {len(self.seconds)}, {sum(self.seconds.values()):.0f} s"
            yield from (f"  {seconds:6.1f} s  {test}" for test, seconds in slowest)

    def _by_reason(self) -> dict[str, list[str]]:
        tests: dict[str, list[str]] = {}
        for test, text in self.skipped.items():
            tests.setdefault(text, []).append(test)
        return tests


def _reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return text.removeprefix("Skipped: ")


def _failure_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The line that failed, and what was wrong there: the second try hides it otherwise."""
    lines = report.longreprtext.strip().splitlines() or [""]
    said = " ".join(line[1:].strip() for line in lines if line.startswith("E "))
    return f"{lines[-1]} {said[:_MOST_OF_FAILURE]}".rstrip()


class SuiteReport:
    """The plugin, of the process that gathers what the others found."""

    def __init__(self, part: str, records: Path = RECORDS) -> None:
        self._part = part
        self._records = records
        self._record = SuiteRecord()
        self._faults: list[str] = []
        if part == PARTS[0]:
            for other in PARTS:
                self._kept(other).unlink(missing_ok=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._record.add(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._record.add(report)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._part in PARTS[:-1]:
            self._records.mkdir(parents=True, exist_ok=True)
            self._kept(self._part).write_text(json.dumps(asdict(self._record)))
            return
        missing = []
        for part in PARTS[:-1] if self._part else ():
            if (kept := self._kept(part)).exists():
                self._record.update(SuiteRecord(**json.loads(kept.read_text())))
            else:
                missing.append(f"part {part} was not run: make test-{part}")
        self._faults = [*missing, *self._record.faults()]
        green = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if self._faults and is_strict() and green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _kept(self, part: str) -> Path:
        return self._records / f"{part}.json"

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        if self._part in PARTS[:-1] and exitstatus == pytest.ExitCode.OK:
            return
        if lines := list(self._record.lines()):
            terminalreporter.section("about this run")
            for line in lines:
                terminalreporter.write_line(line)
        if self._faults:
            terminalreporter.section("fails" if is_strict() else "would fail with STRICT=1")
            for line in self._faults:
                terminalreporter.write_line(line)
        if exitstatus != pytest.ExitCode.OK and (differing := unlike_lock(LOCK.read_text())):
            terminalreporter.section("not the environment of requirements-dev.lock: make install")
            terminalreporter.write_line(", ".join(differing))


def unlike_lock(lock: str) -> list[str]:
    """Packages that this environment lacks, or has in another version than the lock's."""
    differing = []
    for name, version in re.findall(r"^([\w.-]+)==(\S+) \\$", lock, re.MULTILINE):
        try:
            installed = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            installed = "absent"
        if installed != version:
            differing.append(f"{name} {installed} (locked: {version})")
    return differing
