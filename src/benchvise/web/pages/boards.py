"""Boards: those that were measured, and those of the rig with their live state."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import count

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from benchvise.documents import encode
from benchvise.rig.boot.patterns import PHASES
from benchvise.rig.environment import PREFIX, SIMULATED, Rig
from benchvise.store import RunFilter
from benchvise.web.answers import Crumb, both, page, wants_json
from benchvise.web.audit import log_end
from benchvise.web.context import context
from benchvise.web.http import JsonAnswer, NotFound, Refused, posted_text
from benchvise.web.rig import console, watching
from benchvise.web.rig.control import ACTIONS

_RUNS = 15

_stream_numbers = count(1)


def boards(request: Request) -> Response:
    """All boards that are known. The twin asks the rig; the page does so live."""
    shared = context(request)
    measured = {board.name: board for board in shared.store.boards()}
    rig = shared.rig()
    states = watching.board_states(rig) if rig is not None and wants_json(request) else {}
    own = (f"{PREFIX}{name}" for name in (rig.names if rig else ()))
    names = dict.fromkeys([*own, *measured, *shared.store.watches.boards()])
    document = {
        "rig": None if rig is None else {"path": str(rig.path), "boards": len(rig.names)},
        "boards": [
            {
                "name": name,
                "rig": _in_rig(rig, name),
                "state": states.get(name.removeprefix(PREFIX)),
                "measured": asdict(measured[name]) if name in measured else None,
            }
            for name in names
        ],
    }
    return page(request, "boards", document, title="Boards")


def board(request: Request) -> Response:
    """One board: in a rig its state, console and boots; of all the runs."""
    shared = context(request)
    name = request.path_params["name"]
    rig = shared.rig() if name.startswith(PREFIX) else None
    own = _in_rig(rig, name)
    runs = shared.store.runs(_RUNS, RunFilter(board=name))
    if own is None and not runs and name not in shared.store.watches.boards():
        raise NotFound(f"there is no board '{name}'", "see the list of boards")
    key = request.query_params.get("boot")
    listed = console.logs(own.name) if own else []
    chosen = console.find(own.name, key) if own and key else None
    lines, cut = console.text(chosen) if chosen else ([], False)
    document = {
        "name": name,
        "rig": own,
        "control": shared.settings.control,
        "attended": shared.console_sessions.state(own.name) if own else None,
        "last": shared.control.last.get(own.name) if own else None,
        "boots": [console.summary(log) for log in listed[: console.LISTED]],
        "boots_more": max(len(listed) - console.LISTED, 0),
        "boot": {**encode(console.summary(chosen)), "lines": lines, "cut": cut} if chosen else None,
        "runs": [asdict(run) for run in runs],
    }
    return page(
        request,
        "board",
        document,
        title=name,
        crumbs=[Crumb("Boards", "/boards")],
        phases=PHASES,
        actions=ACTIONS,
    )


async def live_rig(request: Request) -> Response:
    """Power, cards and holders of all boards of the rig, as they change."""
    shared = context(request)
    rig = await run_in_threadpool(shared.rig)
    if rig is None:
        raise NotFound("there is no rig", "name one: benchvise serve --rig FILE")
    source = watching.watching(rig, shared.control.last)
    return shared.hub.stream(request, f"rig {rig.path}", source)


async def live_console(request: Request) -> Response:
    """What a board's console says, from a little before now on."""
    shared = context(request)
    rig = await run_in_threadpool(shared.rig)
    name = request.path_params["name"]
    if rig is None or name not in rig.names:
        raise NotFound("there is no such board in the rig", "see the list of boards")
    # One for each page, as each begins with the end of the log.
    topic = f"console {name} {next(_stream_numbers)}"
    return shared.hub.stream(request, topic, console.following(name))


def act(request: Request) -> Response:
    """Does something to a board of the rig; see ``rig.control``."""
    shared = context(request)
    if not shared.settings.control:
        raise Refused(
            "pages may not act on boards here", "start it with --allow-control to let them"
        )
    rig = shared.rig()
    if rig is None:
        raise NotFound("there is no rig", "name one: benchvise serve --rig FILE")
    name, what, to = (request.path_params[part] for part in ("name", "what", "to"))
    state = shared.control.act(rig, name, what, to, lambda end: log_end(request, end.outcome))
    request.state.outcome = state.outcome
    if wants_json(request):
        return JsonAnswer(state)
    return RedirectResponse(f"/boards/{PREFIX}{name}", 303)


async def attend(request: Request) -> Response:
    """``POST`` to ``begin``, ``type`` (``{"text": "..."}``), ``cycle`` or ``end`` typing on a
    board's console; says whether it goes on."""
    shared = context(request)
    if not shared.settings.control:
        raise Refused(
            "pages may not type on consoles here", "start it with --allow-control to let them"
        )
    name, consoles = request.path_params["name"], shared.console_sessions
    match request.path_params["to"]:
        case "begin":
            rig = await run_in_threadpool(shared.rig)
            if rig is None:
                raise NotFound("there is no rig", "name one: benchvise serve --rig FILE")
            outcome = await run_in_threadpool(consoles.begin, rig, name)
        case "type":
            text = await posted_text(request, "text")
            outcome = await run_in_threadpool(consoles.type, name, text)
            request.state.outcome = f"{len(text)} characters"
        case "cycle":
            outcome = await run_in_threadpool(consoles.cycle, name)
        case "end":
            outcome = await run_in_threadpool(consoles.end, name)
        case _:
            raise NotFound("this cannot be done on a console", "begin, type, cycle or end")
    return JsonAnswer(outcome, headers={"Cache-Control": "no-store"})


@dataclass(frozen=True, slots=True)
class RigMember:
    """A board of the rig, by the name that the rig has for it."""

    name: str
    features: list[str]
    simulated: bool
    place: str | None


def _in_rig(rig: Rig | None, name: str) -> RigMember | None:
    own = name.removeprefix(PREFIX)
    if rig is None or not name.startswith(PREFIX) or own not in rig.names:
        return None
    features = rig.features[own]
    return RigMember(
        own, sorted(features - {SIMULATED}), SIMULATED in features, rig.places.get(own)
    )


routes = [
    *both("/boards", boards),
    # A path, as boards have names like ssh://root@10.0.0.7.
    *both("/boards/{name:path}", board),
    Route("/live/rig", live_rig),
    Route("/live/console/{name}", live_console),
    Route("/rig/{name}/console/{to}", attend, methods=["POST"]),
    Route("/rig/{name}/{what}/{to}", act, methods=["POST"]),
]
