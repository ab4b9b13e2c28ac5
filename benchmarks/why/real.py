"""Real plants: both states measured, ``benchvise why`` asked about them, its answer scored.

What a plant does is measured here and not by ``why``, before it is asked: processes of
``benchvise run`` in the good and in the bad state, in turn. That decides beforehand whether the
plant counts. One that counts and is not named is a miss, whatever the answer says instead.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.why.places import NotHere, chosen
from benchmarks.why.plants import PLANTS, Plant, Scene
from benchmarks.why.score import Result
from benchmarks.why.virtual_plants import VIRTUAL
from benchvise.errors import UsageError
from benchvise.why.model import DiagnosisVerdict

_PROCESSES = 12
"""Of the recorded good state, which ``why`` is given."""
_TURNS = 3
_PROCESSES_A_TURN = 4
"""Of each state, for what the plant does."""
_TIMEOUT_S = 3 * 3600  # fifty boots on a busy machine
_FLOORS = 3.0
"""A plant counts when its effect is beyond so many of its floors."""

Document = Mapping[str, Any]


def named(only: Sequence[str], *, here: bool = True, virtual: bool = False) -> list[Plant]:
    """The plants of these names; where none is given all of this machine (``here``), of simulated
    boards, or both. UsageError for a name there is not."""
    known = {plant.name: plant for plant in (*PLANTS, *VIRTUAL)}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise UsageError(f"there is no plant {unknown[0]}", f"there are {', '.join(known)}")
    chosen = (*(PLANTS if here else ()), *(VIRTUAL if virtual else ()))
    return [known[name] for name in only] or list(chosen)


def run(plant: Plant, keep: Path | None = None) -> Result:
    """Plants it, asks and scores; ``left_out`` of the result says why it could not be done here."""
    begin = time.monotonic()
    try:
        with _workplace() as place:
            effect = _measured(plant, place)
            document, changed = _ask(plant, place, keep)
    except NotHere as error:
        return Result("real", plant.name, left_out=str(error))
    except _Fell as error:
        return Result(
            "real", plant.name, problems=(str(error),), hit=False if plant.expected else None
        )
    if plant.turned is not None and document["verdict"] == DiagnosisVerdict.REVERSED:
        return run(plant.turned, None if keep is None else keep.with_name(f"{keep.name}-turned"))
    return judge(plant, document, changed, time.monotonic() - begin, effect)


@dataclass(frozen=True, slots=True)
class PlantedEffect:
    """What a plant does: the logarithm of bad over good, and half its 95 % interval."""

    size: float
    floor: float

    @property
    def counts(self) -> bool:
        """Whether it has to be named."""
        return abs(self.size) > _FLOORS * self.floor


def effect_of(good: Sequence[float], bad: Sequence[float]) -> PlantedEffect:
    """The effect by the medians of processes, and its floor by their scatter (Welch's error)."""
    logs = [[math.log(value) for value in side] for side in (good, bad)]
    error = math.sqrt(sum(statistics.variance(side) / len(side) for side in logs))
    size = statistics.median(logs[1]) - statistics.median(logs[0])
    return PlantedEffect(size, 1.96 * error)


class _Fell(Exception):  # noqa: N818
    """A command that should have worked ended otherwise."""


@contextmanager
def _workplace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="benchvise-why-") as name:
        yield Path(name)


def _environment(scene: Scene, place: Path) -> dict[str, str]:
    return {
        **os.environ,
        **scene.environment,
        "BENCHVISE_STATE": str(place / "state"),
        "BENCHVISE_STORE": str(place / "results.db"),
    }


def _measured(plant: Plant, place: Path) -> PlantedEffect:
    """What the plant does, both states in turn; of two boards both are measured while it is
    made."""
    good: list[float] = []
    bad: list[float] = []
    with plant.scene() as scene:
        environment = _environment(scene, place)
        for _ in range(_TURNS):
            if not scene.good:
                good += _medians(scene, scene.bad, (), environment)
            with plant.make(scene) as words:
                if scene.good:
                    good += _medians(scene, scene.good, words, environment)
                bad += _medians(scene, scene.bad, words, environment)
    return effect_of(good, bad)


def _medians(
    scene: Scene, board: str, words: Sequence[str], environment: Mapping[str, str]
) -> list[float]:
    """The median of each of some processes of the metric on a board."""
    run = ["run", board, *scene.metric, "--processes", str(_PROCESSES_A_TURN), "--json"]
    done = _run([*words, *_benchvise(scene), *run], environment)
    if done.returncode:
        raise _Fell(f"the plant's effect cannot be measured: {_last(done)}")
    (record,) = json.loads(done.stdout)["data"]
    return process_medians(record)


def process_medians(record: Document) -> list[float]:
    """The median of each process of a recorded run's first series."""
    samples: defaultdict[int, list[float]] = defaultdict(list)
    for sample in record["series"][0]["samples"]:
        samples[sample["process"]].append(sample["value"])
    return [statistics.median(values) for values in samples.values()]


def _ask(plant: Plant, place: Path, keep: Path | None) -> tuple[Document, list[str]]:
    """The answer as a document, and the files that it wrote which are not as before."""
    with plant.scene() as scene:
        environment = _environment(scene, place)
        sides = [scene.good, scene.bad]
        if not scene.good:
            sides = ["--good", _recorded(scene, environment), scene.bad]
        with plant.make(scene) as words:
            before = _settings(scene)
            directory = keep or place / "evidence"
            command = [*words, *_benchvise(scene), "why", *sides, *scene.metric, *plant.options]
            try:
                done = _run([*command, "-o", str(directory), "--json"], environment)
            finally:
                # Of a diagnosis that was ended in the middle; else there is nothing to put back.
                _run([*_benchvise(scene), "restore"], environment)
            document = _document(done)
            changed = _changed(scene, document, before)
    return document, changed


def _recorded(scene: Scene, environment: Mapping[str, str]) -> str:
    words = ["run", scene.bad, *scene.metric, "--processes", str(_PROCESSES), "--json"]
    done = _run([*_benchvise(scene), *words], environment)
    if done.returncode:
        raise _Fell(f"the good state cannot be measured: {_last(done)}")
    (run,) = json.loads(done.stdout)["data"]
    return str(run["id"])


def _benchvise(scene: Scene) -> list[str]:
    return [*scene.before, sys.executable, "-m", "benchvise"]


def _run(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words, env=environment, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise _Fell(f"{words[-1]} took longer than {_TIMEOUT_S} s") from error


def _document(done: subprocess.CompletedProcess[str]) -> Document:
    try:
        answer = json.loads(done.stdout)
    except ValueError as error:
        raise _Fell(f"no answer (exit {done.returncode}): {_last(done)}") from error
    if answer["kind"] != "diagnosis":
        data = answer["data"]
        raise _Fell(f"{data.get('message')}: {data.get('remedy')}")
    document: Document = answer["data"]
    return document


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return ((done.stderr or done.stdout).strip().splitlines() or ["it said nothing"])[-1][:300]


# -- what was set is put back ----------------------------------------------------------------------


def _settings(scene: Scene) -> dict[str, str]:
    """This machine's settings before the diagnosis; of a board over SSH none."""
    if scene.bad != "local":
        return {}
    found = {}
    for root in ("/proc/sys", "/sys/kernel/mm", "/sys/block", "/sys/module/printk/parameters"):
        for file in Path(root).rglob("*"):
            if _is_setting(file):
                found[str(file)] = _text(file)
    return found


def _is_setting(file: Path) -> bool:
    try:
        return file.is_file() and bool(file.stat().st_mode & 0o200)
    except OSError:
        return False


def _changed(scene: Scene, document: Document, before: Mapping[str, str]) -> list[str]:
    """Files that the diagnosis wrote and that hold something else now."""
    if scene.bad != "local":
        return []
    paths = {str(write["path"]) for write in document["writes"]}
    return [
        f"{path}: {_text(Path(path))} instead of {before[path]}"
        for path in sorted(paths & before.keys())
        if _text(Path(path)) != before[path]
    ]


def _text(file: Path) -> str:
    try:
        return chosen(file.read_text())
    except (OSError, ValueError):
        return ""


def _places(cause: Mapping[str, Any]) -> list[str]:
    """Where a cause is set on the bad side, as the answer says."""
    return [f"{o['file']}:{o['line']}" for o in cause["origins"] if o["side"] == "bad"]


# -- the score -------------------------------------------------------------------------------------


def judge(
    plant: Plant,
    document: Document,
    changed: Sequence[str],
    seconds: float,
    effect: PlantedEffect,
) -> Result:
    """The score of an answer, as that of a simulated one.

    A plant that does not do enough here (``effect``) is left out, but for false attributions and
    for what was not put back. Whether it does is never taken from the answer.
    """
    found = [{str(suspect["id"]) for suspect in cause["suspects"]} for cause in document["causes"]]
    false = [ids for ids in found if not ids <= set(plant.expected)]
    problems = [f"not restored: {line}" for line in changed]
    problems += [f"false attribution: {' with '.join(sorted(ids))}" for ids in false]
    is_right = document["verdict"] in plant.verdicts
    if not is_right:
        problems.append(f"verdict {document['verdict']} instead of {' or '.join(plant.verdicts)}")
    hit = None
    if plant.expected:
        hit = bool(found) and found[0] <= set(plant.expected)
        named = " with ".join(sorted(found[0])) if found else "nothing"
        if not hit:
            problems.append(f"named {named} instead of {' or '.join(plant.expected)}")
        if hit and plant.where:
            places = _places(document["causes"][0])
            hit = plant.where in places
            if not hit:
                problems.append(f"set by {', '.join(places) or 'nobody'}, not {plant.where}")
    small = bool(plant.expected) and not effect.counts
    return Result(
        "no difference" if plant.verdicts == ("no difference shown",) else "real",
        plant.name,
        hit=hit,
        false=len(false),
        is_right=is_right,
        is_restored=not changed and bool(document["restored"]),
        problems=tuple(problems),
        ended=True,
        suspects=sum(bool(suspect["testable"]) for suspect in document["suspects"]),
        experiments=len(document["experiments"]),
        trials=len(document["trials"]),
        minutes=document["seconds"] / 60,
        seconds=seconds,
        left_out=f"its effect is {effect.size:.3f}, not beyond three floors of {effect.floor:.3f}"
        if small and not false and not changed
        else "",
    )
