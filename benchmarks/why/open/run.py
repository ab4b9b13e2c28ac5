"""Runs cases: boards are made, the effect is measured, ``why`` is asked as a user asks it."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.why.open import decoys, effect, kill
from benchmarks.why.open.answer import Answer, read
from benchmarks.why.open.boards import Board, laboratory
from benchmarks.why.open.case import Case
from benchmarks.why.open.decoys import Decoys
from benchmarks.why.open.effect import Effects
from benchmarks.why.open.load import busy, measured_load
from benchmarks.why.open.result import ENDED_BEFORE, EQUAL, NO_ANSWER, CaseResult, judge
from benchmarks.why.open.state import changed, own_changes, state
from benchmarks.why.open.virtual import virtual_boards
from benchmarks.why.places import NotHere
from benchmarks.why.real import PlantedEffect
from benchvise.errors import BenchviseError

_DRAWS = 3
"""So often other decoys are drawn where some turn out to matter."""
_A_WHILE_S = 2.0
_SETTLED_S = 10.0
_LOADED_S = 30.0
"""So long busy processes run before ``why`` is asked: the load average shows them by then."""
_NUMBERS = {"good": 11, "clean": 12, "bad": 13}
_BREAKS = (
    *(OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError, AttributeError),
    *(AssertionError, RuntimeError, BenchviseError),
)


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: minutes for each diagnosis, where evidence is kept, whether only the effect is
    measured, the seed of a random moment at which ``why`` is killed (None: it is not), what it is
    allowed beyond its options (``--allow``, empty for nothing), and how many busy processes run
    while it is asked."""

    minutes: float = 12
    evidence: Path | None = None
    only_effects: bool = False
    kill: int | None = None
    allow: str = ""
    busy: int = 0


def run(case: Case, options: Options) -> CaseResult:
    """One case; what breaks is in the result."""
    begin = time.monotonic()
    untouched = CaseResult(case.name, case.kind, case.held_out, case.report)
    with tempfile.TemporaryDirectory(prefix="bvopen-why-") as name:
        place = Path(name)
        if options.evidence is not None:
            place = options.evidence / case.name
            place.mkdir(parents=True, exist_ok=True)
        try:
            _check(case)
            if case.machine == "qemu":
                return _on_virtual_boards(case, options, place, untouched)
            return _on_boards(case, options, place, untouched)
        except NotHere as error:
            return replace(untouched, left_out=str(error))
        except _BREAKS as error:
            seconds = time.monotonic() - begin
            return replace(untouched, problem=f"{type(error).__name__}: {error} ({seconds:.0f} s)")


def _check(case: Case) -> None:
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    missing = [name for name in case.needs if shutil.which(name, path=path) is None]
    if missing:
        raise NotHere(f"it takes {', '.join(missing)}")


def equal(case: Case) -> Case:
    """The same command with nothing planted."""
    return replace(case, name=f"equal-{case.name}", kind=EQUAL, plant="", truth=(), where="")


def _on_boards(case: Case, options: Options, place: Path, untouched: CaseResult) -> CaseResult:
    for draw in range(_DRAWS):
        drawn = decoys.draw(f"{case.name}/{draw}", case.avoids)
        with laboratory() as lab:
            boards = {
                name: lab.start_board(
                    name, number, _scripts(case, drawn, name), disk_mb=case.disk_mb
                )
                for name, number in _NUMBERS.items()
            }
            asked_about = ("good", "bad")
            states = {name: [state(boards[name])] for name in asked_about}
            effects = _NOT_MEASURED
            if options.kill is None:
                effects = effect.measure(boards, case.command)
                if effects.decoys_matter:
                    continue
                if options.only_effects or not (effects.counts or case.kind == EQUAL):
                    return judge(case, _NOTHING, effects, printed="", origin="", changes=())
            lab.stop_board("clean")
            for name in asked_about:
                _add_states(states[name], boards[name], case.command, ran=options.kill is None)
            asked = _Asked(case, options, place, lab.inside, lab.environment, states=states)
            return _ask(asked, boards["good"], boards["bad"], effects)
    return replace(untouched, left_out=f"decoys matter in {_DRAWS} draws")


def _add_states(states: list[frozenset[str]], board: Board, command: str, *, ran: bool) -> None:
    """The state after what was run there (``ran``), after one more run, since some commands change
    something and the next run changes it back, and after a while in which nothing is run."""
    if ran:
        states.append(state(board))
    effect.seconds(board, command, 1)
    states.append(state(board))
    time.sleep(_A_WHILE_S)
    states.append(state(board))


def _on_virtual_boards(
    case: Case, options: Options, place: Path, untouched: CaseResult
) -> CaseResult:
    drawn = decoys.draw(case.name, case.avoids, only=("sysctl",))
    with virtual_boards(case, drawn) as virtual:
        effects = virtual.measured(case.command)
        if effects.decoys_matter:
            return replace(untouched, left_out="the decoys matter")
        if options.only_effects or not effects.counts:
            return judge(case, _NOTHING, effects, printed="", origin="", changes=())
        asked = _Asked(case, options, place, (), virtual.environment, virtual.switch_on)
        return _ask(asked, virtual.boards["good"], virtual.boards["bad"], effects)


def _scripts(case: Case, drawn: Decoys, name: str) -> list[str]:
    scripts = [drawn.script(bad=name != "good"), case.both]
    return [*scripts, case.plant] if name == "bad" else scripts


# -- asking ----------------------------------------------------------------------------------------

_NOTHING = Answer("", "", (), 0, 0.0, True, frozenset())
_NOT_MEASURED = Effects(PlantedEffect(0.0, 0.0), PlantedEffect(0.0, 0.0))
"""Of a case whose diagnosis is ended: what it would have answered does not count."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked where: ``inside`` are the words before ``benchvise``; ``switch_on`` has the
    boards reached by ssh. ``states`` are those of each board before anybody asked, in their
    order."""

    case: Case
    options: Options
    place: Path
    inside: Sequence[str]
    environment: Mapping[str, str]
    switch_on: Callable[[], None] = lambda: None
    states: Mapping[str, Sequence[frozenset[str]]] = field(default_factory=dict)

    @property
    def benchvise(self) -> list[str]:
        return [*self.inside, sys.executable, "-m", "benchvise"]

    @property
    def known(self) -> dict[str, str]:
        return {
            **os.environ,
            **self.environment,
            "BENCHVISE_STATE": str(self.place / "state"),
            "BENCHVISE_STORE": str(self.place / "results.db"),
        }


def _ask(asked: _Asked, good: Board, bad: Board, effects: Effects) -> CaseResult:
    asked.switch_on()
    known = {b.name: asked.states.get(b.name) or (state(b),) for b in (good, bad)}
    evidence = asked.place / "evidence"
    shutil.rmtree(evidence, ignore_errors=True)  # of an earlier run
    words = [*asked.benchvise, "why", good.url, bad.url, "--command", asked.case.command]
    words += ["--budget", str(asked.options.minutes), "-o", str(evidence), *asked.case.options]
    words += ["--allow", asked.options.allow] if asked.options.allow else []
    with busy(asked.options.busy):
        if asked.options.busy:
            time.sleep(_LOADED_S)
        with measured_load() as load:
            printed, said, killed = _told(asked, words)
    (asked.place / "answer.txt").write_text(f"{printed}\n{said}")
    was_set = kill.set_then(asked.place / "state")
    restored = subprocess.run(
        [*asked.benchvise, "restore"], env=asked.known, capture_output=True, text=True, check=False
    )
    answer = _NOTHING
    if (evidence / "diagnosis.json").exists():
        answer = read(json.loads((evidence / "diagnosis.json").read_text()))
    elif asked.options.kill is None:
        answer = replace(_NOTHING, verdict=NO_ANSWER)
    answer = replace(answer, written=answer.written | was_set)
    asked.switch_on()
    changes = _changes(asked, (good, bad), known, answer)
    if changes:  # what comes and goes by itself, such as a worker of a server, has ended by then
        time.sleep(_SETTLED_S)
        later = set(_changes(asked, (good, bad), known, answer))
        changes = [change for change in changes if change in later]
    if restored.returncode:
        changes.append(f"benchvise restore: {restored.stderr.strip()[-200:]}")
    origin = _origin(asked.case, bad)
    judged = judge(asked.case, answer, effects, printed=printed, origin=origin, changes=changes)
    if asked.options.kill is not None:
        judged = replace(judged, left_out="", killed=killed or ENDED_BEFORE)
    if judged.verdict == NO_ANSWER:  # it took no part in how long answers take
        judged = replace(judged, experiments=None, minutes=None)
    return replace(judged, load=load.mean, busy=asked.options.busy)


def _changes(
    asked: _Asked,
    boards: Sequence[Board],
    known: Mapping[str, Sequence[frozenset[str]]],
    answer: Answer,
) -> list[str]:
    """What is not as before on these boards."""
    return [
        f"{board.name}: {change}"
        for board in boards
        for change in changed(
            known[board.name][-1],
            state(board),
            answer.written,
            shared=asked.case.machine == "ssh",
            own=own_changes(known[board.name]),
        )
    ]


def _told(asked: _Asked, words: Sequence[str]) -> tuple[str, str, str]:
    """What it prints and says, once it has ended or was killed, and how it was killed."""
    process = subprocess.Popen(
        words, env=asked.known, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    seconds = asked.options.minutes * 60 + 600
    try:
        if asked.options.kill is not None:
            rng = random.Random(f"{asked.options.kill}/{asked.case.name}")  # noqa: S311 - repeatable
            ended = kill.end(process, rng, asked.place / "state")
            return ended.printed, ended.said, ended.how
        return *process.communicate(timeout=seconds), ""
    except subprocess.TimeoutExpired:
        return "", f"it did not end within {seconds:.0f} s", ""
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def _origin(case: Case, bad: Board) -> str:
    """The file and line that sets it, as an answer writes it."""
    file, _, word = case.where.partition(":")
    if not word:
        return file
    line = bad.said(f"grep -n -m 1 -e '{word}' {file} | cut -d: -f1").strip()
    return f"{file}:{line}"
