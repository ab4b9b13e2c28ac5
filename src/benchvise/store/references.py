"""How a user names a run: an id, a beginning of an id, a label, or how far back it is.

A diagnosis is named by its id or a beginning of it, where no run is meant.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TypeAlias

from sqlalchemy import ColumnElement, Connection, func, select

from benchvise.errors import UsageError
from benchvise.store.tables import DIAGNOSIS, RUN
from benchvise.store.values import clean_text
from benchvise.text import enumerated

_LATEST = "latest"
_BACK = re.compile(r"@(\d{0,9})")
_PREFIX = re.compile(r"[0-9a-f]{1,11}")
_ID = re.compile(r"[0-9a-f]{1,12}")
_LONGEST_LABEL = 200
_SHOWN = 5
_SEARCHED = 1000  # newest runs among which a misspelt name is looked for

_Named: TypeAlias = tuple[str, str]  # id and label


def refuse_reserved(label: str) -> None:
    """Raise ``UsageError`` for a label that could never name its run."""
    if label == _LATEST or label.startswith("@") or label != label.strip():
        raise UsageError(
            f"{label!r} cannot be a label",
            f"choose one that is not '{_LATEST}', has no @ in front and no blanks around",
        )


def refuse_long(label: str) -> None:
    """Raise ``UsageError`` for a label that fills the screen. Those of older runs are read."""
    if len(label) > _LONGEST_LABEL:
        raise UsageError(
            f"a label of {len(label)} characters: a run's name has at most {_LONGEST_LABEL}",
            "say the rest in a note: benchvise note RUN TEXT",
        )


def resolve(connection: Connection, reference: str, store: str) -> str:
    """The id of the run that the reference names.

    In this order: ``latest`` or ``@`` is the run that began last and ``@N`` the Nth before it;
    an id; a label, of which the newest run wins; a beginning of exactly one id.
    Raises ``UsageError`` that lists the candidates, or the runs with the nearest names.
    """
    wanted = clean_text(reference).strip()
    back = _BACK.fullmatch("@" if wanted == _LATEST else wanted)
    if back:
        return _back(connection, int(back[1] or 0), store)
    for condition in (RUN.c.id == wanted.lower(), RUN.c.label == wanted):
        runs = _find(connection, condition, 1) if wanted else []
        if runs:
            return runs[0][0]
    if _PREFIX.fullmatch(wanted.lower()):
        runs = _find(connection, RUN.c.id.startswith(wanted.lower()), None)
        if len(runs) == 1:
            return runs[0][0]
        if runs:
            raise UsageError(
                f"{len(runs)} runs in {store} have an id that begins with '{wanted}'",
                f"say which one: {_listed(runs)}",
            )
    raise _unknown(connection, wanted, store)


def find_diagnosis(connection: Connection, reference: str, store: str) -> str | None:
    """The id of the diagnosis that the reference names; None where it names a run, or nothing.

    Raises ``UsageError`` for a beginning of several ids, those of runs counted.
    """
    wanted = clean_text(reference).strip()
    if _find(connection, (RUN.c.id == wanted.lower()) | (RUN.c.label == wanted), 1):
        return None
    wanted = wanted.lower()
    if not _ID.fullmatch(wanted):
        return None
    begins = select(DIAGNOSIS.c.id).where(DIAGNOSIS.c.id.startswith(wanted))
    diagnoses = list(connection.execute(begins.order_by(DIAGNOSIS.c.number.desc())).scalars())
    runs = _find(connection, RUN.c.id.startswith(wanted), None) if diagnoses else []
    count = len(diagnoses) + len(runs)
    if count > 1:
        candidates = [*((identity, "a diagnosis") for identity in diagnoses), *runs]
        raise UsageError(
            f"{count} runs and diagnoses in {store} have an id that begins with '{wanted}'",
            f"say which one: {_listed(candidates)}",
        )
    return diagnoses[0] if diagnoses else None


def _find(
    connection: Connection, condition: ColumnElement[bool] | None, limit: int | None
) -> list[_Named]:
    """Ids and labels, the newest first."""
    statement = select(RUN.c.id, RUN.c.label).order_by(RUN.c.number.desc()).limit(limit)
    if condition is not None:
        statement = statement.where(condition)
    return [(run_id, label) for run_id, label in connection.execute(statement)]


def _back(connection: Connection, steps: int, store: str) -> str:
    statement = select(RUN.c.id).order_by(RUN.c.number.desc()).offset(steps).limit(1)
    run_id: str | None = connection.execute(statement).scalar()
    if run_id is not None:
        return run_id
    count = connection.execute(select(func.count()).select_from(RUN)).scalar_one()
    if not count:
        raise no_runs_yet(store)
    raise UsageError(
        f"there is no run @{steps} in {store}, it has {count}", f"the oldest one is @{count - 1}"
    )


def _unknown(connection: Connection, wanted: str, store: str) -> UsageError:
    runs = _find(connection, None, _SEARCHED)
    if not runs:
        return no_runs_yet(store)
    names = list(dict.fromkeys([label for _, label in runs if label]))
    names += [run_id for run_id, _ in runs]
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    hint = f"the newest are {_listed(runs)}"
    if near:
        hint = f"did you mean {' or '.join(repr(name) for name in near)}?"
    return UsageError(f"no run {wanted!r} in {store}", f"{hint} (`benchvise runs` lists all)")


def no_runs_yet(store: str) -> UsageError:
    """What a command says that needs runs, where ``store`` has none."""
    return UsageError(f"there are no runs in {store} yet", "make one with `benchvise run`")


def _listed(runs: Iterable[_Named]) -> str:
    """The first few runs by id and label, on one line whatever the labels hold."""
    names = [f"{run_id} {label!r}" if label else run_id for run_id, label in runs]
    return enumerated(names, _SHOWN)
