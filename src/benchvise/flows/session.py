"""One board being measured: what its probe says becomes a run in the store, event by event."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.documents import encode
from benchvise.errors import BenchviseError
from benchvise.flows.boards import Prepared, read_end
from benchvise.flows.settings import Combination, Reached
from benchvise.flows.tracing import Tracing
from benchvise.measure.model import MetricKind, RunRemark, RunStatus, SeriesStatus, measured_kind
from benchvise.measure.plan import Plan
from benchvise.measure.registry import Registry
from benchvise.measure.runner import (
    Event,
    HostSeen,
    ProcessBegun,
    ProcessEnded,
    SampleTaken,
    SeriesEnded,
    Sources,
    measure,
)
from benchvise.state.conditions import Condition, conditions
from benchvise.state.intervention import Intervention
from benchvise.state.model import Family, Snapshot
from benchvise.state.places import Roles
from benchvise.state.snapshot import take_snapshot

if TYPE_CHECKING:
    from benchvise.store import Moment, ProcessHandle, Store

Observer: TypeAlias = Callable[[str, Plan, Event], None]
"""Is told of each event, with the name of the board and the plan."""

# The benchmarks that an item of state can affect, by the catalogue's families.
_BENCHMARKS: Mapping[Family, tuple[str, ...]] = {
    Family.MEMORY: ("memory", "pipe", "command", "http"),
    Family.CPU: ("cpu", "command", "http"),
    Family.LATENCY: ("timer", "gpio", "os", "pipe", "socket", "net"),
    Family.NETWORK: ("net", "socket", "http"),
    Family.STORAGE: ("storage", "command"),
    Family.SYSTEM: ("os", "pipe", "socket", "command"),
}


@dataclass
class Session:
    """A board with its open connection, its plan, and its run in the store.

    ``snapshots`` says whether its state is recorded around the run. ``prepared`` is how the
    board was brought to where it can be measured. ``lost`` is why it could not be measured to
    the end while others could. ``tracing`` records what its kernel does during the run.
    """

    name: str
    board: Board
    channel: ProbeChannel
    registry: Registry
    sources: Sources
    plan: Plan
    snapshots: bool = True
    prepared: Prepared = field(default_factory=Prepared)
    lost: BenchviseError | None = None
    roles: Roles = field(default_factory=dict)
    run_id: str = ""
    failures: list[str] = field(default_factory=list)
    finished: bool = False
    intervention: Intervention | None = None
    tracing: Tracing | None = None
    _combination: Combination = field(default_factory=Combination)
    _events: Iterator[Event] = field(default_factory=lambda: iter(()))
    _handle: ProcessHandle | None = None
    _kinds: list[MetricKind] = field(default_factory=list)
    _measured: int = 0
    _before: Snapshot | None = None
    _remarks: list[RunRemark] = field(default_factory=list)

    @property
    def reached(self) -> Reached:
        """The board as one that can be set."""
        return Reached(self.board, self.channel, self.roles)

    def begin(
        self, store: Store, combination: Combination, *, label: str, suite: str, group: str
    ) -> None:
        """Begins a run with these settings; runs of one ``group`` are measured in turn."""
        self.run_id, self.failures, self.finished = "", [], False
        self._combination, self._measured, self._before = combination, 0, None
        self._remarks = []
        if self.intervention is not None and self.intervention.not_noted:
            self._remarks.append(
                RunRemark(
                    "no note on the board",
                    "a note on the board of what is set there is not available: "
                    f"{self.intervention.not_noted}; other users and hosts did not see it",
                )
            )
        benchmarks = [self.registry.get(spec.benchmark) for spec in self.plan.series]
        self.run_id = store.begin_run(
            label=combination.label(label),
            board=self.name,
            suite=suite,
            seed=self.plan.seed,
            plan={
                **encode(self.plan),
                "group": group,
                "settings": combination.values,
                **({"prepared": self.prepared.about} if self.prepared.about else {}),
            },
            host={},
            simulated=self.prepared.simulated,
            series=[
                (spec, b.unit, b.better, b.counted)
                for spec, b in zip(self.plan.series, benchmarks, strict=True)
            ],
        )
        self._attach(store)
        self._kinds = [MetricKind(b.unit, b.better, b.counted) for b in benchmarks]
        self._before = self._snapshot(store, "before")
        if self.tracing is not None:
            self.tracing.begin()
        self._events = measure(self.channel, self.plan, self.sources)

    def advance(self, store: Store, observe: Observer) -> None:
        """Measures one process, or whatever comes first; ends the run when nothing is left."""
        for event in self._events:
            self._keep(event, store)
            observe(self._combination.label(self.name), self.plan, event)
            if isinstance(event, ProcessEnded):
                return
        if self.intervention is not None:
            self.intervention.check_held()
        self._keep_trace(store)
        self._look_back(store)
        self._attach(store)
        self.finished = True
        if self._measured:
            store.end_run(self.run_id, RunStatus.COMPLETE, "")
        else:
            store.end_run(self.run_id, RunStatus.FAILED, "no series could be measured")

    def end(self, store: Store, status: RunStatus, reason: str) -> None:
        """Marks a run that did not come to its end."""
        self._events = iter(())  # what it has taken for this process is given back
        if self.run_id and not self.finished:
            self._keep_trace(store)
            if self._remarks:
                store.set_remarks(self.run_id, self._remarks)
            self._attach(store)
            store.end_run(self.run_id, status, reason)

    def _attach(self, store: Store) -> None:
        """Keeps what was recorded beside the measurement: so far, and at the end once more."""
        for name, path in self.prepared.files.items():
            with contextlib.suppress(OSError):
                store.attach(self.run_id, name, read_end(path))

    def _keep_trace(self, store: Store) -> None:
        """Ends the recording; what it is and that it was on belongs to the run."""
        if self.tracing is not None:
            self._remarks += self.tracing.end(store, self.run_id)

    def _keep(self, event: Event, store: Store) -> None:
        match event:
            case HostSeen(host):
                store.update_host(self.run_id, host)
            case ProcessBegun(position, process, begin):
                self._keep_kind(position, begin, store)
                if self.tracing is not None:
                    self.tracing.mark(f"process {process} of {self.plan.series[position].key}")
                self._handle = store.begin_process(self.run_id, position, process, begin)
            case SampleTaken(sample=sample):
                assert self._handle is not None  # noqa: S101 - the runner's order of events
                store.add_sample(self._handle, sample)
            case ProcessEnded(complete=complete):
                if self._handle is not None:
                    store.end_process(self._handle, complete)
                    self._handle = None
            case SeriesEnded(position, status, reason):
                store.end_series(self.run_id, position, status, reason)
                if status is SeriesStatus.FAILED:
                    self.failures.append(f"{self.plan.series[position].key}: {reason}")
                self._measured += status is SeriesStatus.MEASURED

    def _keep_kind(self, position: int, begin: Mapping[str, object], store: Store) -> None:
        """What the values are, where the parameters decide that: the benchmark knows only now."""
        kind = measured_kind(begin, self._kinds[position])
        if kind != self._kinds[position]:
            self._kinds[position] = kind
            store.describe_series(self.run_id, position, kind)

    def _snapshot(self, store: Store, moment: Moment) -> Snapshot | None:
        """Records the board's state. That it cannot be had is no reason to lose a measurement.

        A lost connection is one, before the run: it is raised as what it is.
        """
        if not self.snapshots:
            return None
        try:
            taken = take_snapshot(self.board, self.channel)
        except BenchviseError as error:
            if moment == "before" and not self.channel.is_open:
                raise
            sentence = f"the board's state {moment} the run is not known: {error.message}"
            self._remarks.append(RunRemark("no snapshot", sentence))
            return None
        store.add_snapshot(self.run_id, moment, taken)
        return taken

    def _look_back(self, store: Store) -> None:
        """What happened to the board while it was measured."""
        after = self._snapshot(store, "after")
        if self._before is not None and after is not None:
            measured = {spec.benchmark.partition(".")[0] for spec in self.plan.series}
            for condition in conditions(self._before, after):
                self._remarks += _remark(condition, measured)
        if self._remarks:
            store.set_remarks(self.run_id, self._remarks)


def _remark(condition: Condition, measured: set[str]) -> list[RunRemark]:
    """The condition as a remark on what was measured; none when it touches nothing of that."""
    touched = {name for family in condition.families for name in _BENCHMARKS.get(family, ())}
    if condition.families and not touched & measured:
        return []
    families = tuple(sorted(touched & measured))
    everything = not condition.families or set(families) == measured
    return [RunRemark(condition.rule, condition.sentence, () if everything else families)]
