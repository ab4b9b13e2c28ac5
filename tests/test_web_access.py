"""Who may use the workbench: other users of this machine, other hosts, pages of other sites.

The numbers of findings (D7 to D9) are those of the security review that these tests come from.
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import skips
from browser import browse, missing
from remote_hosts import BOARD_ADDRESS, namespaces
from waiting import PATIENCE, wait_until
from web_routes import requests
from web_server import Serving, serving

from benchvise.web.security import BODY_LIMIT

OTHER_USER = 65534
ACTION = "/rig/one/power/off"
RIG = """
targets:
  one: {features: [simulated]}
"""
JSON = {"Accept": "application/json", "Content-Type": "application/json"}
BOARD = {"name": "one", "what": "power", "to": "off"}
QUESTIONS = [path for _, path in requests(safe=True, **BOARD)] + ["/nothing", "/assets/x.js"]
ACTIONS = [path for _, path in requests(safe=False, **BOARD)]
"""All that there is, from the route table."""
SECRET = [path for path in QUESTIONS if path != "/login" and not path.startswith("/assets/")]
CLOSED = [path for path in ACTIONS if path != "/login"]
"""Without what anybody may ask to log in."""

ASK = """
import json, sys, urllib.error, urllib.request
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_): return None
def lower(headers): return {name.lower(): text for name, text in headers.items()}
opener = urllib.request.build_opener(Stay)
answers = []
for method, url, headers in json.load(sys.stdin):
    try:
        request = urllib.request.Request(url, method=method, headers=headers)
        with opener.open(request, timeout=180) as answer:
            answers.append([answer.status, lower(answer.headers), ""])
    except urllib.error.HTTPError as error:
        answers.append([error.code, lower(error.headers), error.read().decode()])
    except OSError as error:
        answers.append([0, {}, str(error)])
print(json.dumps(answers))
"""
"""A client that depends on nothing of ours: another user may not be able to read it."""


@dataclass(frozen=True)
class Asked:
    status: int
    headers: Mapping[str, str]
    text: str


def ask_as(prefix: tuple[str, ...], *requests: tuple[str, str, Mapping[str, str]]) -> list[Asked]:
    """What requests come to that are made by a program behind ``prefix``."""
    done = subprocess.run(
        [*prefix, "/usr/bin/env", "python3", "-c", ASK],
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
        cwd="/",
    )
    return [Asked(*answer) for answer in json.loads(done.stdout)]


def as_user(user: int) -> tuple[str, ...]:
    """The command that runs another as this user."""
    skips.need_root()
    skips.need("setpriv")
    return ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "benchvise"


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    path = tmp_path / "rig.yaml"
    path.write_text(RIG)
    return path


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("plain") / "store.db") as server:
        yield server


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Path]]:
    """A server that may switch a board, and where what it logs is kept."""
    place = tmp_path_factory.mktemp("controlled")
    (place / "rig.yaml").write_text(RIG)
    words = ("--rig", place / "rig.yaml", "--allow-control")
    with contextlib.ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:  # of this server, not of those after it
            patch.setenv("XDG_STATE_HOME", str(place / "state"))
            server = stack.enter_context(serving(place / "store.db", *words))
        yield server, place / "state" / "benchvise"


def log(state: Path, kind: str, least: int = 0) -> list[dict[str, Any]]:
    """Its lines, as soon as there are ``least``: one is written when its answer has been sent."""
    path = state / "audit" / f"{kind}.jsonl"

    def lines() -> list[str] | None:
        found = path.read_text().splitlines() if path.exists() else []
        return found if len(found) >= least else None

    wait_until(lambda: lines() is not None, f"{least} lines in {path}")
    return [json.loads(line) for line in lines() or []]


def login(server: Serving) -> str:
    """The cookie that a browser of this user gets."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request("GET", f"/?token={server.token}")
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        return answer.headers["Set-Cookie"].partition(";")[0]


# -- other users of this machine -------------------------------------------------------------------


def test_d7_another_user_of_this_machine_reads_nothing_and_does_nothing(
    controlled: tuple[Serving, Path],
) -> None:
    other = as_user(OTHER_USER)
    server, state = controlled
    done = log(state, "control")
    cookie = login(server)
    proofs: list[dict[str, str]] = [{}, server.bearer, {"Cookie": cookie}]
    tried = [("GET", server.url(path), proof) for path in QUESTIONS for proof in proofs]
    tried += [("GET", server.address, {})]
    tried += [
        ("POST", server.url(path), {**proof, "Content-Type": "application/json"})
        for path in ACTIONS
        for proof in proofs
    ]
    answers = ask_as(other, *tried)
    assert len(answers) == len(tried) > 100
    assert {answer.status for answer in answers} == {403}
    assert all("another user" in answer.text for answer in answers)
    assert not any("set-cookie" in answer.headers for answer in answers)
    assert log(state, "control") == done
    assert {line["user"] for line in log(state, "refused")} == {"nobody"}
    # The same requests of the user who started it, but for the one without proof.
    own = ask_as((), *tried[:3])
    assert [answer.status for answer in own] == [401, 200, 200]


def test_d7_the_kept_token_is_for_the_user_alone() -> None:
    other = as_user(OTHER_USER)
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        check_kept_token(Path(name), other)


def check_kept_token(runtime: Path, other: tuple[str, ...]) -> None:
    """In a runtime directory that others may look into."""
    program = (
        "from benchvise.web.access import kept_token; print(kept_token());"
        "from benchvise.user_directories import token_file; print(token_file())"
    )
    source = str(Path(__file__).parents[1] / "src")
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "PYTHONPATH": source}
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    said = {process.communicate(timeout=PATIENCE)[0] for process in begun}
    assert len(said) == 1, "servers that begin together have one token"
    token, name = said.pop().split()
    kept = Path(name)
    assert kept.read_text().strip() == token and len(token) >= 32
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in kept.parent.iterdir()] == ["token"]
    (runtime / "readable").write_text("by all")
    for path, code in ((kept, 1), (runtime / "readable", 0)):
        read = subprocess.run([*other, "cat", path], capture_output=True, text=True, check=False)
        assert read.returncode == code and token not in read.stdout


def test_d7_a_cookie_is_good_for_one_user_or_address_only(tmp_path: Path, state: Path) -> None:
    """Browsers send cookies to every port: another user's server may have been sent it."""
    other = as_user(OTHER_USER)
    with serving(tmp_path / "store.db", "--host", "0.0.0.0") as server:  # noqa: S104
        url = f"http://127.0.0.1:{server.port}/index.json"
        cookie = {"Cookie": login(server)}
        assert ask_as((), ("GET", url, cookie))[0].status == 200
        assert ask_as(other, ("GET", url, cookie), ("GET", url, server.bearer))[0].status == 401


def test_without_a_token_all_users_of_this_machine_may_and_it_is_said(
    tmp_path: Path, state: Path
) -> None:
    other = as_user(OTHER_USER)
    with serving(tmp_path / "store.db", "--no-token") as server:
        assert server.token == ""
        assert ask_as(other, ("GET", server.url("/index.json"), {}))[0].status == 200
        assert server.interrupt() == 0
        assert server.process.stderr is not None
        said = server.process.stderr.read()
    assert "all users of this machine can read everything" in said


# -- other hosts -----------------------------------------------------------------------------------


def test_d7_another_host_reads_nothing_without_the_token(
    tmp_path: Path, state: Path, rig: Path
) -> None:
    words = ("--rig", rig, "--allow-control", "--host", BOARD_ADDRESS)
    with (
        namespaces() as link,
        serving(tmp_path / "store.db", *words, prefix=link.in_board) as server,
    ):
        guess = {"Authorization": "Bearer another-token-as-long-as-it"}
        stale = {"Cookie": f"benchvise-{server.port}={'0' * 64}"}
        tried: list[tuple[str, str, Mapping[str, str]]] = [
            ("GET", server.url(path), proof)
            for path in SECRET
            for proof in (dict[str, str](), guess, stale)
        ]
        tried += [
            ("POST", server.url(path), {**JSON, **proof})
            for path in CLOSED
            for proof in (dict[str, str](), guess, stale)
        ]
        tried += [("GET", server.url("/?token=another-token-as-long-as-it"), {})]
        answers = ask_as(link.in_remote, *tried)
        assert len(answers) == len(tried) > 100
        assert {answer.status for answer in answers} == {401}
        assert log(state, "control") == []
        refused = log(state, "refused")
        assert {line["user"] for line in refused} == {None}
        assert len({line["address"] for line in refused}) == 1

        # A phone: the address once, then the cookie, which is not good on this host.
        (entered,) = ask_as(link.in_remote, ("GET", server.address, {}))
        assert entered.status == 303
        cookie = {"Cookie": entered.headers["set-cookie"].partition(";")[0]}
        url = server.url("/index.json")
        assert ask_as(link.in_remote, ("GET", url, cookie))[0].status == 200
        assert ask_as(link.in_board, ("GET", url, cookie))[0].status == 401
        # A program.
        proof = {**server.bearer, **JSON}
        (acted,) = ask_as(link.in_remote, ("POST", server.url(ACTION), proof))
        assert acted.status == 200
        (line,) = log(state, "control", 1)
        assert (line["user"], line["by"], line["status"]) == (None, "token", 200)


# -- pages of other sites --------------------------------------------------------------------------


class Attacker(http.server.BaseHTTPRequestHandler):
    """A server of another user of this machine; what browsers send to it is kept."""

    cookies: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.cookies.append(self.headers.get("Cookie", ""))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Kittens</title><body>")

    def log_message(self, *_arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def attacker() -> Iterator[str]:
    Attacker.cookies.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Attacker)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@skips.unless_missing(missing())
def test_d7_a_hostile_page_reads_nothing_and_does_nothing(
    tmp_path: Path, state: Path, rig: Path, attacker: str
) -> None:
    with serving(tmp_path / "store.db", "--rig", rig, "--allow-control") as server:
        targets = {"questions": SECRET, "actions": CLOSED, "action": ACTION}
        seen = browse("hostile.js", server.url(""), attacker, json.dumps(targets))
        assert "Boards" in seen["home"] and server.token not in seen["address"]
        assert len(seen["read"]) == 3 and not any(seen["read"].values()), seen["read"]
        assert seen["rebound"] == 421
        # A page of ours without its CSRF token, then with it: the only one that did anything.
        assert seen["own"] == [403, 200]
        (line,) = log(state, "control", 1)
        assert (line["action"], line["by"], line["status"]) == (f"POST {ACTION}", "cookie", 200)
        posts = [line for line in log(state, "refused") if line["action"] == f"POST {ACTION}"]
        assert len(posts) >= 15, "they did try"
        refused = {line["action"].partition(" ")[2] for line in log(state, "refused")}
        assert refused >= {*SECRET, *CLOSED}, "all that there is"
        assert seen["tried"] > 300
        # What another port of this machine was sent is of no use to its user.
        stolen = next(cookie for cookie in Attacker.cookies if "benchvise" in cookie)
        assert server.token not in stolen
        other = as_user(OTHER_USER)
        assert ask_as(other, ("GET", server.url("/"), {"Cookie": stolen}))[0].status == 403


# -- logging in ------------------------------------------------------------------------------------

OPENED = """#!/bin/sh
printf '%s' "$1" > "$OPENED"
"""


def test_open_logs_in_once_and_leaves_no_token_in_an_address(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(OPENED)
    browser.chmod(0o755)
    opened = tmp_path / "opened"
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setenv("OPENED", str(opened))
    with serving(tmp_path / "store.db", "--open") as server:
        address = wait_until(lambda: opened.read_text() if opened.exists() else "", "the browser")
        assert address.startswith(server.url("/login?code=")) and server.token not in address
        # Another user sees the arguments of programs, and may be the first.
        assert ask_as(as_user(OTHER_USER), ("GET", address, {}))[0].status == 403
        first, again = ask_as((), ("GET", address, {}), ("GET", address, {}))
        assert (first.status, first.headers["location"]) == (303, "/")
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=lax" in cookie and server.token not in cookie
        assert again.status == 401
        proof = {"Cookie": cookie.partition(";")[0]}
        assert ask_as((), ("GET", server.url("/index.json"), proof))[0].status == 200


def test_the_form_takes_the_token_and_leads_on(plain: Serving) -> None:
    for said, status, leads in (
        (plain.token, 303, "/runs?board=a%26b"),
        ("another-token-as-long-as-it-is", 401, None),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", plain.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            body = f"token={said}&next=%2Fruns%3Fboard%3Da%2526b%26token%3Dwrong"
            origin = plain.url("")
            headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": origin}
            connection.request("POST", "/login", body, headers)
            answer = connection.getresponse()
            assert (answer.status, answer.headers["Location"]) == (status, leads)
            assert (answer.headers["Set-Cookie"] is None) == (status != 303)


# -- what is too large -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [BODY_LIMIT + 1, 4 << 20, 40 << 20])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("with_token", [False, True])
def test_d9_a_body_that_is_too_large_is_answered(
    plain: Serving, size: int, chunked: bool, with_token: bool
) -> None:
    headers = {**JSON, **(plain.bearer if with_token else {})}
    body: Any = (b"x" * (64 << 10) for _ in range(size >> 16)) if chunked else b"x" * size
    if chunked:
        size = (size >> 16) << 16
    connection = http.client.HTTPConnection("127.0.0.1", plain.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request("POST", ACTION, body, headers, encode_chunked=chunked)
        answer = connection.getresponse()
        expected = 413 if with_token or not chunked else 401
        assert answer.status == (expected if size > BODY_LIMIT or expected == 401 else 403)
        assert set(json.loads(answer.read())["error"]) == {"message", "remedy"}


def test_d9_who_asks_first_is_told_before_sending(plain: Serving) -> None:
    with socket.create_connection(("127.0.0.1", plain.port), PATIENCE) as connection:
        lines = [
            f"POST {ACTION} HTTP/1.1",
            "Host: 127.0.0.1",
            "Expect: 100-continue",
            "Content-Type: application/json",
            f"Content-Length: {1 << 30}",
        ]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


# -- the audit log ---------------------------------------------------------------------------------


def test_every_control_action_is_logged_with_what_came_of_it(
    controlled: tuple[Serving, Path],
) -> None:
    server, state = controlled
    before = len(log(state, "control"))
    proof = {**server.bearer, **JSON}
    paths = (ACTION, "/rig/one/power/explode", "/rig/one/console/begin", "/health/look?board=x")
    ask_as((), *(("POST", server.url(path), proof) for path in paths))
    # Words that are typed may be passwords.
    url, secret = server.url("/rig/one/console/type"), b'{"text": "hunter2"}'
    request = urllib.request.Request(url, secret, proof, method="POST")  # noqa: S310
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(request, timeout=PATIENCE)  # noqa: S310
    lines = log(state, "control", before + 5)[before:]
    text = (state / "audit" / "control.jsonl").read_text()
    assert [line["action"] for line in lines] == [
        f"POST {path.partition('?')[0]}" for path in (*paths, "/rig/one/console/type")
    ]
    assert [line["status"] for line in lines][:2] == [200, 404]
    assert lines[0]["outcome"].startswith("failed: ")
    assert lines[1]["outcome"] == "this cannot be done to a board"
    assert all(line["by"] == "token" and line["at"] for line in lines)
    assert {line["address"] for line in lines} == {"127.0.0.1"}
    assert len({line["token"] for line in lines}) == 1
    assert server.token not in text and "hunter2" not in text
    assert (state / "audit" / "control.jsonl").stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_logged_is_not_done(tmp_path: Path, state: Path, rig: Path) -> None:
    (state / "audit").mkdir(parents=True)
    (state / "audit" / "control.jsonl").mkdir()
    with serving(tmp_path / "store.db", "--rig", rig, "--allow-control") as server:
        proof = {**server.bearer, **JSON}
        (answer,) = ask_as((), ("POST", server.url(ACTION), proof))
    assert answer.status == 503 and "audit log" in answer.text
