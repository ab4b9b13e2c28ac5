"""Every action of the workbench: what proves that it is meant, and that it is logged.

The actions are those of the route table: one that is added is held to all of this, too. What they
do is replaced by a note that they were reached.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from web_client import HOST, Answer, Client
from web_routes import SAFE, requests, routes

from benchvise.web.readers import forwarding

TOKEN = "a-token-that-is-long-enough"  # noqa: S105
HOST_OF_ALL = "0.0.0.0"  # noqa: S104
"""Requests of these tests come through no connection, so it is nobody's of this machine."""
FORM = "application/x-www-form-urlencoded"


ACTIONS = requests(safe=False)
CHANGING = [(method, path) for method, path in ACTIONS if not path.startswith("/api/")]
"""Without questions that are posted for their length: those change nothing, see below."""
BROWSER = {"origin": f"http://{HOST}", "sec_fetch_site": "same-origin", "sec_fetch_mode": "cors"}
"""What browsers add to the requests of a page of ours."""


@dataclass
class Watched:
    """A workbench whose actions are only noted."""

    client: Client
    audit: Path
    done: list[tuple[str, str]] = field(default_factory=list)

    async def note(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.done.append((scope["method"], scope["path"]))
        await Response(status_code=204)(scope, receive, send)

    def log(self, kind: str) -> list[dict[str, Any]]:
        path = self.audit / f"{kind}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def login(self) -> dict[str, str]:
        entered = self.client.get(f"/?token={TOKEN}")
        return {**BROWSER, "cookie": entered.headers["set-cookie"].partition(";")[0]}

    def csrf_token(self, cookie: str) -> str:
        shown = self.client.get("/login", cookie=cookie).text
        found = re.search(r'name="csrf-token" content="(\w+)"', shown)
        assert found
        return found[1]

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Answer:
        """With the header that ``Client`` would add by itself only where it is in ``headers``."""
        return self.client.ask(method, path, {"x_csrf_token": "", **headers}, body)


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    store = str(tmp_path / "store.db")
    client = Client.of(store=store, token=TOKEN, control=True, host=HOST_OF_ALL)
    watched = Watched(client, tmp_path / "audit")
    for route in client.app.routes:
        if isinstance(route, Route) and (route.methods or set()) - SAFE:
            # The routes are those of the module, and of every other test in this process.
            monkeypatch.setattr(route, "app", watched.note)
    return watched


def test_there_are_actions() -> None:
    assert len(ACTIONS) >= 6 and ("POST", "/rig/x/x/x") in CHANGING


@pytest.mark.parametrize(("method", "path"), ACTIONS)
def test_an_action_needs_the_csrf_token_of_its_visitor(
    watched: Watched, method: str, path: str
) -> None:
    """A cookie comes along with any page's request."""
    page = watched.login()
    own = watched.csrf_token(page["cookie"])
    token = f"{TOKEN}-of-another"
    another = Client.of(store=str(watched.audit / "other.db"), token=token, host=HOST_OF_ALL)
    entered = another.get(f"/?token={token}").headers["set-cookie"].partition(";")[0]
    theirs = Watched(another, watched.audit).csrf_token(entered)
    assert own != theirs
    for wrong in ("", "0" * 64, theirs, own[:-1], page["cookie"].partition("=")[2]):
        for attempt, body in (
            ({"x_csrf_token": wrong}, b""),
            ({"content_type": FORM}, f"csrf={wrong}".encode()),
            ({"content_type": "application/json"}, json.dumps({"csrf": wrong}).encode()),
        ):
            answer = watched.ask(method, path, {**page, **attempt}, body)
            assert answer.status == 403 and "a page of the workbench made it" in answer.text
    assert watched.done == [] and watched.log("control") == []
    assert [line["action"] for line in watched.log("refused")] == [f"{method} {path}"] * 15

    assert watched.ask(method, path, {**page, "x_csrf_token": own}).status == 204
    as_form = {**page, "content_type": FORM}
    assert watched.ask(method, path, as_form, f"csrf={own}".encode()).status == 204
    assert watched.done == [(method, path)] * 2


@pytest.mark.parametrize(("method", "path"), ACTIONS)
@pytest.mark.parametrize(
    "elsewhere",
    [
        {"origin": "http://attacker.example"},
        {"origin": "http://127.0.0.1:9999", "sec_fetch_site": "same-site"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"},
        {"host": "attacker.example:8765", "origin": "http://attacker.example:8765"},
    ],
)
def test_another_site_does_nothing_even_with_all_that_proves_it(
    watched: Watched, method: str, path: str, elsewhere: dict[str, str]
) -> None:
    page = watched.login()
    stolen = {
        "cookie": page["cookie"],
        "x_csrf_token": watched.csrf_token(page["cookie"]),
        "authorization": f"Bearer {TOKEN}",
    }
    assert watched.ask(method, path, {**stolen, **elsewhere}).status in (403, 421)
    assert watched.done == [] and watched.log("control") == []


@pytest.mark.parametrize(("method", "path"), ACTIONS)
def test_who_proves_nothing_does_nothing(watched: Watched, method: str, path: str) -> None:
    """But log in, which takes the token itself."""
    answer = watched.ask(method, path, {"content_type": "application/json"})
    if path == "/login":
        assert answer.status == 204
        return
    assert answer.status == 401 and watched.done == [] and watched.log("control") == []


@pytest.mark.parametrize(("method", "path"), CHANGING)
def test_each_action_that_changes_anything_has_a_line_in_the_audit_log(
    watched: Watched, method: str, path: str
) -> None:
    page = watched.login()
    own = {**page, "x_csrf_token": watched.csrf_token(page["cookie"])}
    watched.ask(method, f"{path}?token=secret", own)
    program = {"authorization": f"Bearer {TOKEN}", "content_type": "application/json"}
    watched.ask(method, path, program)
    assert watched.done == [(method, path)] * 2
    lines = watched.log("control")
    assert [line["action"] for line in lines] == [f"{method} {path}"] * 2
    assert [line["by"] for line in lines] == ["cookie", "token"]
    assert [line["status"] for line in lines] == [204, 204]


@pytest.mark.parametrize(("method", "path"), CHANGING)
def test_an_action_that_cannot_be_logged_is_not_done(
    watched: Watched, method: str, path: str
) -> None:
    watched.audit.mkdir()
    (watched.audit / "control.jsonl").mkdir()
    program = {"authorization": f"Bearer {TOKEN}", "content_type": "application/json"}
    assert watched.ask(method, path, program).status == 503
    assert watched.done == []


def test_what_is_posted_and_not_logged_is_answered_by_a_process_without_rights() -> None:
    """A question, which changes nothing: its process has no store, rig or network."""
    for route in routes():
        if (route.methods or set()) - SAFE:
            is_forwarded = route in forwarding.routes
            assert is_forwarded == route.path.startswith("/api/"), route.path
