"""The health of boards: what a watch has seen over weeks, and how a board is right now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Literal, cast
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.health.judging import HealthVerdict, Judgement
from benchvise.health.watch.history import By, History, tabulate
from benchvise.quantities import in_utc, seconds_or_none
from benchvise.report.health_figures import health_figures
from benchvise.report.health_tables import history_tables, iso, watch_history_data
from benchvise.rig.environment import PREFIX, is_rig
from benchvise.store import RunFilter, RunInfo
from benchvise.web.answers import Crumb, both, page
from benchvise.web.context import Context, context
from benchvise.web.http import NotFound, Refused

_DAY = 86400.0
_LIST_DAYS = 14
_RECENT_DAYS = 7
_RISING = 3
"""Days in a row in which a counter rose."""
_OVERDUE = 2.5
"""So many intervals after the last look, nobody watches any more."""
_PERIODS = {"day": 62, "week": 60}
_RUNS = 40
_EVENTS = 500
_SPANS = (("30d", "30 days"), ("90d", "90 days"), ("365d", "a year"), ("", "all"))

Standing = Literal["failing", "warning", "good", "not watched"]


def overview(request: Request) -> Response:
    """Every board that is known, those with a raised alert first."""
    shared = context(request)
    document = {
        "boards": sorted(boards_health(shared), key=lambda board: _ORDER[board["standing"]])
    }
    return page(request, "health", document, title="Health")


def board(request: Request) -> Response:
    """One board: its counters by day or week, what happened, its sensors."""
    shared = context(request)
    name = _known_board(shared, request.path_params["board"])
    by = cast(By, request.query_params.get("by", "week"))
    if by not in _PERIODS:
        raise UsageError(f"by={by} is no period", "ask for day or week")
    now = time.time()
    since = _since(request.query_params.get("since", "90d"), now)
    history = shared.store.watches.history(name, since, now)
    judged = shared.readings.newest(name)
    parts = _history_parts(history, by)
    parts["standing"] = _worse(parts["standing"], judged)
    runs = shared.store.runs(_RUNS, RunFilter(board=name))
    document: dict[str, Any] = {
        "board": name,
        "history": None if history is None else encode(watch_history_data(history, by)),
        "now": None if judged is None else encode(judged),
        "runs": [asdict(run) for run in runs if _in(run, since)],
    }
    crumbs = (Crumb("Health", "/health"),)
    return page(
        request,
        "health_board",
        document,
        title=name,
        crumbs=crumbs,
        by=by,
        spans=_SPANS,
        since=request.query_params.get("since", "90d"),
        judged=judged,
        may_look=_may_look(shared, name),
        **parts,
    )


def look(request: Request) -> Response:
    """Looks at a board now, and goes back to its page."""
    shared = context(request)
    name = _known_board(shared, request.query_params.get("board", ""))
    if not _may_look(shared, name):
        raise Refused(
            f"to look at {name}, it may have to be switched on",
            "start the workbench with --allow-control, or look with benchvise health",
        )
    shared.readings.read(name, shared.settings.rig)
    return RedirectResponse(f"/health/{quote(name, safe='')}#now", 303)


def _history_parts(history: History | None, by: By) -> dict[str, Any]:
    """What the template shows of a history."""
    if history is None:
        return {"tables": [], "figures": None, "island": None, "standing": "not watched"}
    table = tabulate(history, by)
    figures = health_figures(history, table, by)
    return {
        "tables": history_tables(history, by, _PERIODS[by]),
        "figures": figures,
        "island": figures.document,
        "standing": _standing(history, time.time()),
        "events": history.events[-_EVENTS:][::-1],
        "events_all": len(history.events),
        "alerts": history.open_alerts,
        "last": max((span.until for span in history.spans), default=None),
        "watching": _is_watching(history, time.time()),
        "simulated": history.simulated,
    }


def boards_health(shared: Context) -> Iterator[dict[str, Any]]:
    """How each board that is known is, as the overview lists it."""
    now = time.time()
    watched = shared.store.watches.boards()
    for name in watched:
        history = shared.store.watches.history(name, now - _LIST_DAYS * _DAY, now)
        if history is not None:
            yield _listed(history, now, shared.readings.newest(name))
    for name in _names(shared):
        if name not in watched:
            yield _listed_unwatched(name, shared.readings.newest(name))


def _listed_unwatched(name: str, judged: Judgement | None) -> dict[str, Any]:
    """A board without a history; its standing is that of the last look, if there was one."""
    return {
        "board": name,
        "standing": _worse("not watched", judged),
        "simulated": False,
        "watching": False,
        "last": None,
        "alerts": [],
        "events": None,
        "rising": [],
        "now": _last_look(judged),
    }


def _listed(history: History, now: float, judged: Judgement | None) -> dict[str, Any]:
    table = tabulate(history, "day")
    recent = [event for event in history.events if event.last > now - _RECENT_DAYS * _DAY]
    counts = {
        severity: sum(event.count for event in recent if event.severity == severity)
        for severity in ("failing", "warning")
    }
    last = max((span.until for span in history.spans), default=None)
    return {
        "board": history.board,
        "standing": _worse(_standing(history, now), judged),
        "simulated": history.simulated,
        "watching": _is_watching(history, now),
        "now": _last_look(judged),
        "last": None if last is None else iso(last),
        "alerts": [
            {"rule": rule, "subject": subject, "since": iso(since)}
            for rule, subject, since in history.open_alerts
        ],
        "events": counts,
        "rising": [row.metric.name for row in table.counters if row.rising >= _RISING],
    }


_ORDER: dict[Standing, int] = {"failing": 0, "warning": 1, "good": 2, "not watched": 3}


def _standing(history: History, now: float) -> Standing:
    """The worst that is known: a raised alert, something that happened lately, or nothing."""
    if history.open_alerts:
        return "failing"
    if not history.spans and not history.events:
        return "not watched"
    since = now - _RECENT_DAYS * _DAY
    recent = {event.severity for event in history.events if event.last > since}
    return "warning" if recent & {"failing", "warning", "alert"} else "good"


_STANDINGS: dict[HealthVerdict, Standing] = {
    HealthVerdict.FAILING: "failing",
    HealthVerdict.WARNING: "warning",
    HealthVerdict.GOOD: "good",
}


def _worse(standing: Standing, judged: Judgement | None) -> Standing:
    """The worse of what a watch has seen and what the last look found."""
    latest = None if judged is None else _STANDINGS.get(judged.verdict)
    return standing if latest is None else min(standing, latest, key=_ORDER.__getitem__)


def _last_look(judged: Judgement | None) -> dict[str, Any] | None:
    """The verdict of the last look, and how many parts of the board have each."""
    if judged is None:
        return None
    verdicts = [section.verdict.value for section in judged.sections]
    return {
        "verdict": judged.verdict.value,
        **{verdict: verdicts.count(verdict) for verdict in ("failing", "warning")},
    }


def _is_watching(history: History, now: float) -> bool:
    return any(
        not span.ending and now - span.until <= _OVERDUE * span.interval for span in history.spans
    )


def _may_look(shared: Context, name: str) -> bool:
    """A board of a rig is booted to be looked at, where it is off: that switches its power."""
    return shared.settings.control or not is_rig(name)


def _known_board(shared: Context, name: str) -> str:
    """The board of that name; NotFound for one that nobody has measured, watched or in a rig: a
    page cannot make this machine reach for any address."""
    if name in shared.store.watches.boards() or name in _names(shared):
        return name
    raise NotFound(f"no board '{name}' is known", f"benchvise watch {name}")


def _names(shared: Context) -> list[str]:
    """Of boards that can be looked at: measured ones, those of the rig, and this machine."""
    rig = shared.rig()
    measured = (board.name for board in shared.store.boards())
    names = ["local", *(f"{PREFIX}{name}" for name in (rig.names if rig else ())), *measured]
    return [name for name in dict.fromkeys(names) if not name.startswith("capture ")]


def _since(text: str, now: float) -> float:
    if not text:
        return 0.0
    seconds = seconds_or_none(text)
    if seconds is None:
        raise UsageError(f"since={text} is no time", "ask for 30d, 24h, 90d")
    return now - seconds


def _in(run: RunInfo, since: float) -> bool:
    return in_utc(run.started).timestamp() >= since


routes = [
    *both("/health", overview),
    Route("/health/look", look, methods=["POST"]),
    *both("/health/{board:path}", board),
]
