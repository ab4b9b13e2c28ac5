"""``benchvise why``: find out why two boards differ, keep the evidence, and put everything back.

A diagnosis has a directory: ``request.json`` holds what was asked, ``evidence.jsonl`` every answer
of its boards, ``progress.jsonl`` what is known so far, for those who follow it; the answer is in
``diagnosis.json``, ``diagnosis.md`` and ``index.html``. One that was stopped or killed goes on from
there.
"""

from __future__ import annotations

import contextlib
import random
import secrets
import shlex
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchvise.documents import computed, encode
from benchvise.errors import BenchviseError, Interrupted, UsageError
from benchvise.flows.boards import command_line
from benchvise.flows.boots import reported_boots
from benchvise.flows.why_sides import Sides, open_bench
from benchvise.kept_request import REQUEST, keep_request, kept_request
from benchvise.output_files import check_output_directory
from benchvise.report.why.page import write_page
from benchvise.state.catalogue import knobs
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.model import Snapshot
from benchvise.store import Store
from benchvise.text import printable
from benchvise.why import loop
from benchvise.why.bench import Bench
from benchvise.why.benches.live_board import still_set
from benchvise.why.case import DiagnosisOptions
from benchvise.why.events import Event
from benchvise.why.experiments.evidence import FILE, EvidenceLog
from benchvise.why.model import Diagnosis, DiagnosisVerdict, Side, Stop
from benchvise.why.plan import DiagnosisPlan
from benchvise.why.plan import plan as make_plan
from benchvise.why.progress_log import ProgressWriter, directories
from benchvise.why.rules import DiagnosisRules
from benchvise.why.suspects.find import ALL
from benchvise.why.untested import with_consent
from benchvise.why.witness.model import Witness

if TYPE_CHECKING:
    from benchvise.rig.hold.connection import EventObserver

_FORMAT = 1

# Of the probe, and so without the compiler and the libc of either side: a command is held against
# memory, the CPU's clock and the kernel.
_CROSS_CHECKS = ("memory.copy:size=64M", "cpu.clock", "os.syscall")

_RUNS = 200  # of the store that are looked at for other boards

_GOOD_ENDS = frozenset(
    {DiagnosisVerdict.EXPLAINED, DiagnosisVerdict.PARTLY, DiagnosisVerdict.NO_DIFFERENCE}
)


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """What the user asks for. ``budget_min`` is in minutes; ``seed`` None: any; ``allow``: the
    settings that can disturb all of a board and are tried all the same. ``corpus`` are runs whose
    boards tell what is usual.
    """

    sides: Sides
    budget_min: float | None = None
    layers: bool = True
    seed: int | None = None
    allow: tuple[str, ...] = ()
    corpus: tuple[str, ...] = ()

    @computed.before("sides")
    def format(self) -> int:
        """Raised when the meaning of a field changes."""
        return _FORMAT

    def command_line(self) -> str:
        """What makes the same diagnosis anew."""
        arguments = ["benchvise", "why", *self.sides.as_arguments()]
        if self.budget_min is not None:
            arguments += ["--budget", f"{self.budget_min:g}"]
        if not self.layers:
            arguments += ["--no-layers"]
        if self.allow:
            arguments += ["--allow", ",".join(self.allow)]
        if self.seed is not None:
            arguments += ["--seed", str(self.seed)]
        return shlex.join(arguments)


@dataclass(frozen=True, slots=True)
class DiagnosisAnswer:
    """A diagnosis, where its evidence is, and its id in the store; ``unkept`` says why it is not
    in the one or the other.
    """

    diagnosis: Diagnosis
    directory: Path
    identity: str = ""
    unkept: str = ""

    @property
    def exit_code(self) -> int:
        """0 explained or no difference, 1 otherwise, 3 contact lost, 4 interrupted."""
        match self.diagnosis.stopped:
            case Stop.INTERRUPTED:
                return 4
            case Stop.UNREACHABLE:
                return 3
        if not self.diagnosis.restored:
            return 1
        return 0 if self.diagnosis.verdict in _GOOD_ENDS else 1


def why(
    request: WhyRequest,
    store: str | None,
    observe: Callable[[Event], None],
    *,
    directory: Path | None = None,
    resume: bool = False,
    to_try: Sequence[str] = (),
    observe_rig: EventObserver | None = None,
) -> DiagnosisAnswer:
    """Makes the diagnosis; on Ctrl-C or a lost board it is as far as it got.

    One that is resumed tries the suspects ``to_try``, by their ids, where its evidence ends.

    Raises what opening the sides raises, OutputError when the evidence cannot be kept, and
    UsageError when what is to be resumed is not there or not the same.
    """
    where = directory or _new_directory()
    check_output_directory(where, "the evidence")
    _make_known(where)
    answer: DiagnosisAnswer | None = None
    try:
        with deferred(), ExitStack() as stack:
            stack.enter_context(reported_boots(store, command_line()))
            log = _open_log(where, request, resume=resume)
            stack.callback(log.close)
            try:
                with let_through():
                    bench = open_bench(request.sides, stack, store, observe_rig)
            except BaseException:
                if not resume:
                    _forget(where)
                raise
            options = _options(request, bench, _corpus(request, store), to_try)
            begun = _begun(request, bench, options)
            progress = ProgressWriter(where, begun, bench.now, bench.writes)
            stack.callback(progress.close)

            def note(event: Event) -> None:
                progress.observe(event)
                observe(event)

            diagnosis = loop.diagnose(bench, options, log, note, _diagnosis_rules(request))
            bench.close()
            left = [name for name in names(bench) if still_set(name)]
            diagnosis = replace(diagnosis, restored=not left, repeat=request.command_line())
            untested = with_consent(diagnosis.untested, diagnosis.repeat)
            diagnosis = replace(diagnosis, untested=untested)
            answer = _keep(diagnosis, where, store)
            progress.end(diagnosis, answer.identity)
    except KeyboardInterrupt:
        if answer is None:  # else an impatient second one
            raise Interrupted("interrupted before anything was measured; nothing was set") from None
    assert answer is not None  # noqa: S101 - or it was raised
    return answer


def plan(
    request: WhyRequest, store: str | None, observe_rig: EventObserver | None = None
) -> DiagnosisPlan:
    """What the diagnosis would do; sets nothing, and measures one process a board."""
    with ExitStack() as stack:
        stack.enter_context(reported_boots(store, command_line()))
        bench = open_bench(request.sides, stack, store, observe_rig)
        options = _options(request, bench, _corpus(request, store))
        return make_plan(bench, options, _diagnosis_rules(request))


def _begun(request: WhyRequest, bench: Bench, options: DiagnosisOptions) -> Diagnosis:
    """The diagnosis of which nothing is known yet but what was asked."""
    good, bad = bench.name(Side.GOOD), bench.name(Side.BAD)
    return Diagnosis(
        metric=bench.metric,
        good=good,
        bad=bad,
        verdict=DiagnosisVerdict.INCOMPLETE,
        headline=f"Why is {bad} worse than {good}?",
        simulated=any(bench.facts(side).simulated for side in Side),
        started=options.started,
        seed=options.seed,
        repeat=request.command_line(),
    )


def _diagnosis_rules(request: WhyRequest) -> DiagnosisRules:
    return DiagnosisRules(allowed=request.allow)


def allowed_settings(names: Sequence[str], *, all_of_them: bool = False) -> tuple[str, ...]:
    """The settings that may be tried though they can disturb a board, as they were named, commas
    between them; UsageError for one that is no setting, or disturbs nothing."""
    chosen = [word for text in names for word in text.split(",") if word]
    named = {name: (item.id, knob.risky) for name, (item, knob) in knobs().items()}
    for word in chosen:
        meant = [
            is_risky
            for name, (item, is_risky) in named.items()
            if fnmatchcase(name, word) or fnmatchcase(item, word) or word.startswith(f"{name}:")
        ]
        if word != ALL and not any(meant):
            what = "can be tried without" if meant else "is no setting that can be changed"
            raise UsageError(
                f"--allow {printable(word, 60)}: it {what}",
                f"name {', '.join(sorted(n for n, (_, at_risk) in named.items() if at_risk)[:3])}, "
                "… or all; `benchvise knobs` lists them",
            )
    return (ALL,) if all_of_them or ALL in chosen else tuple(dict.fromkeys(chosen))


def newest_directory() -> Path:
    """The directory of the diagnosis that was last at work; UsageError where there is none."""
    times: dict[Path, float] = {}
    with contextlib.suppress(OSError):
        for directory in directories().iterdir():
            with contextlib.suppress(OSError):
                times[directory.resolve()] = (directory / FILE).stat().st_mtime
    if not times:
        raise UsageError(
            "there is no diagnosis to go on with", "name its directory: --resume DIRECTORY"
        )
    return max(times, key=lambda directory: times[directory])


def _options(
    request: WhyRequest,
    bench: Bench,
    corpus: tuple[Snapshot, ...],
    to_try: Sequence[str] = (),
) -> DiagnosisOptions:
    return DiagnosisOptions(
        corpus=corpus,
        budget=request.budget_min,
        layers=request.layers,
        seed=request.seed or 0,
        cross_checks=_CROSS_CHECKS if bench.metric.command else (),
        may_set={side: _is_root(bench, side) for side in Side},
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        to_try=tuple(to_try),
    )


def _is_root(bench: Bench, side: Side) -> bool:
    """Whether settings can be made there: nobody else may write the kernel's files."""
    return bench.is_live(side) and bench.facts(side).host.get("uid") == 0


def names(bench: Bench) -> list[str]:
    """Of its live boards, each once."""
    return list(dict.fromkeys(bench.name(side) for side in Side if bench.is_live(side)))


def settled(request: WhyRequest, store: str | None) -> WhyRequest:
    """The request with a seed and with the runs that tell what is usual, so that the diagnosis can
    be gone on with, and made again, as it was begun."""
    seed = random.SystemRandom().randrange(1 << 31) if request.seed is None else request.seed
    newest: dict[str, str] = {}
    with contextlib.suppress(BenchviseError), Store.open(store) as results:
        for info in results.runs(_RUNS):
            newest.setdefault(info.board, info.id)
    mine = {request.sides.good, request.sides.bad}
    usual = tuple(run for board, run in newest.items() if board not in mine and run not in mine)
    return replace(request, seed=seed, corpus=usual)


def _corpus(request: WhyRequest, store: str | None) -> tuple[Snapshot, ...]:
    """The newest state of each other board that the store knows."""
    snapshots = []
    with contextlib.suppress(BenchviseError), Store.open(store) as results:
        for run in request.corpus:
            snapshots.append(results.snapshot(run))
    return tuple(snapshot for snapshot in snapshots if snapshot is not None)


def resumed(directory: Path) -> WhyRequest:
    """What the diagnosis in a directory was asked; UsageError where there is none."""
    return kept_request(directory, WhyRequest, _FORMAT, "diagnosis", _allow_all)


def _allow_all(document: dict[str, Any]) -> None:
    """Requests of older versions allowed all settings or none."""
    if document.pop("risky", False):
        document["allow"] = ["all"]


def _new_directory() -> Path:
    """Beside the journals of settings, as it belongs to what is going on on this host."""
    return directories() / _new_name()


def _new_name() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def _make_known(where: Path) -> None:
    """A link to a directory that the user chose, so that the workbench finds it too."""
    root, target = directories(), where.resolve()
    with contextlib.suppress(OSError):
        if root.resolve() in target.parents:
            return
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        links = [link for link in root.iterdir() if link.is_symlink()]
        for link in links:
            if not link.exists():  # what it led to has been removed
                link.unlink()
        if all(link.resolve() != target for link in links):
            (root / _new_name()).symlink_to(target)


def _open_log(where: Path, request: WhyRequest, *, resume: bool) -> EvidenceLog:
    if resume:
        return EvidenceLog.resume(where)
    log = EvidenceLog.create(where)
    try:
        keep_request(where, request)
    except BaseException:
        log.close()
        raise
    return log


def _forget(where: Path) -> None:
    """Takes away what was begun for a diagnosis that could not even be opened."""
    with contextlib.suppress(OSError):
        if (where / FILE).stat().st_size == 0:
            (where / FILE).unlink()
            (where / REQUEST).unlink()
            where.rmdir()


def _keep_traces(witness: Witness | None, where: Path, results: Store, identity: str) -> None:
    """The recordings of the command in the store too, where the workbench opens them."""
    traces = {"good": witness.good_trace, "bad": witness.bad_trace} if witness is not None else {}
    for side, name in traces.items():
        if name:
            with contextlib.suppress(OSError):
                shutil.copyfile(where / name, results.trace_file(f"{identity}-{side}"))


def _keep(diagnosis: Diagnosis, where: Path, store: str | None) -> DiagnosisAnswer:
    """In its directory and in the store; a store that fails must not hide the answer."""
    document = encode(diagnosis)
    unkept = []
    try:
        write_page(document, where)
    except BenchviseError as error:
        unkept.append(str(error))
    identity = ""
    try:
        with Store.open(store) as results:
            identity = results.keep_diagnosis(document)
            _keep_traces(diagnosis.witness, where, results, identity)
    except BenchviseError as error:
        unkept.append(f"not kept in the store: {error}")
    return DiagnosisAnswer(diagnosis, where, identity, "; ".join(unkept))
