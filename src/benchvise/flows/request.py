"""What is to be measured on boards, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchvise.errors import BenchviseError, UsageError
from benchvise.measure.plan import PROCESSES, Plan, make_plan
from benchvise.measure.registry import Registry
from benchvise.measure.suite import SuiteEntry, load_suite, parse_bench, parse_params
from benchvise.trace.recording import RecordingPlan


@dataclass(frozen=True, slots=True)
class UserCommand:
    """A command of the user's to be measured on the boards.

    Its time, or with ``match``, a regular expression, the number that it prints.
    """

    line: str
    match: str | None = None
    better: str | None = None
    unit: str | None = None

    def entry(self) -> SuiteEntry:
        """The benchmark that measures it."""
        if self.match is None:
            if self.better or self.unit:
                raise UsageError("--better and --unit describe a number", "give a --match for it")
            return SuiteEntry("command.time", {"run": (self.line,)})
        if not self.better:
            raise UsageError("--match finds a number", "say which is --better: higher or lower")
        params = {"run": self.line, "match": self.match, "better": self.better, "unit": self.unit}
        return SuiteEntry(
            "command.output", {name: (text,) for name, text in params.items() if text}
        )


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the user asks for, not yet checked against any probe.

    A suite that is a file is looked for in ``suite_directory``, and kept by its name alone.
    ``rig`` is the rig file, ``image`` what is written to the cards of its boards first;
    ``keep_on`` leaves them switched on. With ``trace``, what the kernels do meanwhile is recorded.
    ``parallel`` is how many boards that share nothing are measured at once (auto, none, N).
    """

    boards: tuple[str, ...] = ("local",)
    suite: str | None = None
    suite_directory: str = ""
    benches: tuple[str, ...] = ()
    command: UserCommand | None = None
    params: tuple[str, ...] = ()
    label: str = ""
    processes: int = PROCESSES
    batches: int | None = None
    seed: int | None = None
    time_s: float | None = None
    remove_probe: bool = False
    settings: tuple[str, ...] = ()
    snapshots: bool = True
    rig: str | None = None
    image: str | None = None
    keep_on: bool = False
    trace: RecordingPlan | None = None
    parallel: str = "auto"

    def entries(self) -> list[SuiteEntry]:
        """The benchmarks asked for; the quick suite when none is."""
        entries = [parse_bench(text) for text in self.benches]
        if self.command is not None:
            entries.append(self.command.entry())
        if self.suite or not entries:
            entries = [*load_suite(self._suite_source).entries, *entries]
        return entries

    def entries_for(self, registry: Registry) -> list[SuiteEntry]:
        """The same with ``params`` set where they belong; UsageError for one that no series has."""
        params = parse_params(self.params)
        entries = self.entries()
        names = {name for entry in entries for name in registry.parameter_names(entry.benchmark)}
        for name in params:
            if name not in names:
                raise UsageError(
                    f"--param {name}: nothing that is to be measured has that parameter",
                    "see `benchvise bench show` of what the suite measures",
                )
        return [entry.with_params(params, registry) for entry in entries]

    @property
    def _suite_source(self) -> str:
        """What is loaded: a name that Benchvise knows, or a file."""
        name = self.suite or "quick"
        return str(Path(self.suite_directory, name)) if name.endswith(".toml") else name

    @property
    def suite_name(self) -> str:
        """The suite's name as kept with the run; empty for single benchmarks."""
        return self.suite or ("" if self.benches or self.command else "quick")


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run as it ended; ``failures`` has a line for each series that failed.

    ``error`` is why the board could not be measured, or not to the end, while others could;
    ``run_id`` is empty when it did not come to a run.
    """

    run_id: str
    board: str
    failures: tuple[str, ...]
    error: BenchviseError | None = None


def plan_for(request: RunRequest, registry: Registry) -> Plan:
    """The plan of a request, checked against what the board's probe offers."""
    entries = request.entries_for(registry)
    specs = [spec for entry in entries for spec in entry.specs(registry)]
    return make_plan(
        specs,
        seed=request.seed,
        processes=request.processes,
        batches=request.batches,
        time_s=request.time_s,
    )
