"""``benchvise why``: find out why two boards differ, keep the evidence, and put everything back.

A diagnosis has a directory: ``request.json`` says what was asked, ``evidence.jsonl`` every answer
that its boards gave, ``diagnosis.json`` and ``index.html`` what came of it. One that was stopped
or killed goes on from there.
"""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchvise.errors import BenchviseError, Interrupted, StoreError, UsageError
from benchvise.flows.boards import RigObserver
from benchvise.flows.why_sides import Sides, open_bench
from benchvise.report import why_page
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.journal import state_directory
from benchvise.store import Store
from benchvise.why import loop
from benchvise.why.bench import Bench
from benchvise.why.budget import Budget
from benchvise.why.events import Event
from benchvise.why.evidence import EvidenceLog
from benchvise.why.live_board import still_set
from benchvise.why.model import Diagnosis, Side, Stop, Verdict

REQUEST = "request.json"
DOCUMENT = "diagnosis.json"
PAGE = "index.html"
_FORMAT = 1

_GOOD_ENDS = frozenset({Verdict.EXPLAINED, Verdict.PARTLY, Verdict.NO_DIFFERENCE})


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """What the user asks for. ``budget_min`` is in minutes; ``seed`` None: any."""

    sides: Sides
    budget_min: float | None = None
    layers: bool = True
    seed: int | None = None

    def as_json(self) -> dict[str, Any]:
        """For the directory of evidence."""
        return {"format": _FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> WhyRequest:
        """The request of ``as_json``; KeyError, TypeError or ValueError when it is not one."""
        if data.pop("format") != _FORMAT:
            raise ValueError("another format")
        return cls(sides=Sides.from_json(data.pop("sides")), **data)


@dataclass(frozen=True, slots=True)
class Answer:
    """A diagnosis, where its evidence is, and its id in the store.

    ``unkept`` says why it is in no store.
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
    observe_rig: RigObserver | None = None,
) -> Answer:
    """Makes the diagnosis; on Ctrl-C or a lost board it is as far as it got.

    Raises what opening the sides raises, StoreError when the evidence cannot be kept, and
    UsageError when what is to be resumed is not there or not the same.
    """
    where = directory or _new_directory()
    with deferred(), ExitStack() as stack:
        log = _open_log(where, request, resume=resume)
        stack.callback(log.close)
        try:
            with let_through():
                bench = open_bench(request.sides, stack, store, observe_rig)
        except KeyboardInterrupt:
            raise Interrupted("interrupted before anything was measured; nothing was set") from None
        options = loop.Options(
            budget=Budget.of(request.budget_min), layers=request.layers, seed=request.seed or 0
        )
        found = loop.diagnose(bench, options, log, observe)
        bench.close()
        left = [name for name in names(bench) if still_set(name)]
        if left:
            found = replace(found, restored=False)
        return _keep(found, where, store)


def plan(
    request: WhyRequest, store: str | None, observe_rig: RigObserver | None = None
) -> tuple[Bench, loop.Plan]:
    """What the diagnosis would do, without setting anything."""
    with ExitStack() as stack:
        bench = open_bench(request.sides, stack, store, observe_rig)
        options = loop.Options(
            budget=Budget.of(request.budget_min), layers=request.layers, seed=request.seed or 0
        )
        return bench, loop.plan(bench, options)


def names(bench: Bench) -> list[str]:
    """Of its live boards, each once."""
    return list(dict.fromkeys(bench.name(side) for side in Side if bench.is_live(side)))


def seeded(request: WhyRequest) -> WhyRequest:
    """The request with a seed, so that the order of its trials can be had again."""
    if request.seed is not None:
        return request
    return replace(request, seed=random.SystemRandom().randrange(1 << 31))


def resumed(directory: Path) -> WhyRequest:
    """What the diagnosis in a directory was asked; UsageError where there is none."""
    path = directory / REQUEST
    try:
        return WhyRequest.from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(
            f"there is no diagnosis to resume in {directory} ({path.name}: {error.strerror})",
            "name the directory that -o was given, or that was printed",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} is not what this version writes", "begin anew in another directory"
        ) from error


def _new_directory() -> Path:
    """Beside the journals of settings, as it belongs to what is going on on this host."""
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    return state_directory() / "why" / name


def _open_log(where: Path, request: WhyRequest, *, resume: bool) -> EvidenceLog:
    if resume:
        return EvidenceLog.resume(where)
    log = EvidenceLog.create(where)
    try:
        _write(where / REQUEST, json.dumps(request.as_json(), indent=1) + "\n")
    except BaseException:
        log.close()
        raise
    return log


def _keep(found: Diagnosis, where: Path, store: str | None) -> Answer:
    """In its directory and in the store; a store that fails must not hide the answer."""
    document = found.as_json()
    unkept = []
    for name, text in (
        (DOCUMENT, lambda: json.dumps(document, indent=1) + "\n"),
        (PAGE, lambda: why_page.page(document)),
    ):
        try:
            _write(where / name, text())
        except StoreError as error:
            unkept.append(str(error))
    identity = ""
    try:
        with Store.open(store) as results:
            identity = results.keep_diagnosis(document)
    except BenchviseError as error:
        unkept.append(f"not kept in the store: {error}")
    return Answer(found, where, identity, "; ".join(unkept))


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    unfinished = path.with_name(f".{path.name}.part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise StoreError(
            f"{path} cannot be written: {error.strerror}",
            f"make room; --resume {path.parent} goes on with what is there",
        ) from error
