"""Who may ask the workbench what, and what of an answer is somebody else's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from report_runs import demonstration_run
from web_client import HOST, Client
from web_store import keep_run

from benchvise.errors import UsageError
from benchvise.report.sinks import with_commands
from benchvise.web.context import Settings
from benchvise.web.security import BODY_LIMIT, URL_LIMIT

TOKEN = "a-token-that-is-long-enough"  # noqa: S105
ATTACK = "<img src=http://attacker.invalid/x onerror=alert(1)>\x1b]0;title\x07\u202egnp.exe"


@pytest.fixture
def local(tmp_path: Path) -> Client:
    return Client.of(store=str(tmp_path / "store.db"))


@pytest.fixture
def remote(tmp_path: Path) -> Client:
    return Client.of(store=str(tmp_path / "store.db"), host="0.0.0.0", token=TOKEN)  # noqa: S104


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:8765", "LOCALHOST"])
def test_names_of_this_machine_are_answered(local: Client, host: str) -> None:
    assert local.get("/index.json", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example:8765",
        "127.0.0.1.attacker.example",
        "localhost.attacker.example",
        "10.0.0.7:8765",
        "user@127.0.0.1",
        "127.0.0.1:port",
        "127.0.0.1/..",
        "[::1",
        "",
    ],
)
def test_a_name_that_was_made_to_mean_this_machine_is_not(local: Client, host: str) -> None:
    """DNS rebinding."""
    answer = local.get("/index.json", host=host)
    assert answer.status == 421
    assert set(answer.json) == {"error"} and set(answer.json["error"]) == {"message", "remedy"}


def test_elsewhere_addresses_are_answered_and_foreign_names_are_not(remote: Client) -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert remote.get("/index.json", host="192.168.1.5:8765", **bearer).status == 200
    assert remote.get("/index.json", host="attacker.example", **bearer).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://attacker.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "file://127.0.0.1:8765"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"content_type": "text/plain"},
        {"content_type": "application/x-www-form-urlencoded"},
        {},
    ],
)
def test_what_changes_something_comes_from_a_page_of_ours(
    local: Client, headers: dict[str, str]
) -> None:
    answer = local.ask("POST", "/rig/one/power/on", headers)
    assert answer.status == 403
    assert "Another site" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": f"http://{HOST}"},
        {"sec_fetch_site": "same-origin"},
        {"content_type": "application/json"},
    ],
)
def test_and_then_it_is_looked_at(local: Client, headers: dict[str, str]) -> None:
    answer = local.ask("POST", "/rig/one/power/on", {"accept": "application/json", **headers})
    assert answer.status == 403
    assert "--allow-control" in answer.json["error"]["remedy"]


def test_a_script_or_picture_elsewhere_gets_nothing_but_a_link_leads_here(local: Client) -> None:
    elsewhere = {"sec_fetch_site": "cross-site"}
    assert local.get("/runs.json", sec_fetch_mode="no-cors", **elsewhere).status == 403
    assert local.get("/", sec_fetch_mode="navigate", **elsewhere).status == 200


def test_without_the_token_nothing_is_said(remote: Client) -> None:
    for path in ("/", "/index.json", "/nothing", "/live/rig", "/assets"):
        assert remote.get(path).status == 401
    assert remote.get("/?token=another-token-as-long-as").status == 401
    assert remote.get("/", cookie="benchvise-8765=wrong").status == 401
    assert remote.get("/", cookie="benchvise-8765=\x80\xff").status == 401
    assert remote.get("/", authorization="Bearer ").status == 401


def test_an_error_page_is_made_of_sentences_and_commands(remote: Client) -> None:
    shown = remote.get("/").text
    assert "<h1>A token is needed here</h1>" in shown
    assert "Open the address that <code>benchvise serve</code> printed" in shown
    assert "`" not in shown
    # A program is told as every command says it.
    assert remote.get("/index.json").json["error"]["message"] == "a token is needed here"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see `benchvise rig --help`", "see <code>benchvise rig --help</code>"),
        ("`benchvise` or `benchvise x`", "<code>benchvise</code> or <code>benchvise x</code>"),
        ("`benchvise <img src=x>`", "<code>benchvise &lt;img src=x&gt;</code>"),
        ("there is no board `one` <b>", "there is no board `one` &lt;b&gt;"),
        ("`benchvise is not closed", "`benchvise is not closed"),
        ("\x1b[31mred", "red"),
        ("", ""),
    ],
)
def test_commands_in_a_text_are_set_as_such_and_the_rest_is_text(text: str, shown: str) -> None:
    assert str(with_commands(text)) == shown


def test_the_token_of_the_address_becomes_a_cookie(remote: Client) -> None:
    answer = remote.get(f"/runs?board=a%26b&token={TOKEN}")
    assert answer.status == 303
    assert answer.headers["location"] == "/runs?board=a%26b"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie
    assert remote.get("/", cookie=cookie.partition(";")[0]).status == 200


def test_the_way_back_stays_on_this_server(remote: Client) -> None:
    answer = remote.get(f"//attacker.example/x?token={TOKEN}")
    assert answer.headers["location"] == "/attacker.example/x"


def test_a_door_is_not_left_open() -> None:
    with pytest.raises(UsageError, match="can be reached from elsewhere"):
        Settings(host="0.0.0.0").checked()  # noqa: S104
    with pytest.raises(UsageError, match="too short"):
        Settings(token="1234").checked()  # noqa: S106
    assert Settings(host="::1").checked().is_local


def test_requests_are_short(local: Client) -> None:
    json = {"content_type": "application/json"}
    assert local.get("/runs?" + "x" * URL_LIMIT).status == 414
    assert local.post("/rig/a/b/c", b"x" * (BODY_LIMIT + 1), **json).status == 413
    assert local.post("/rig/a/b/c", b"", content_length="1e9", **json).status == 413


def test_a_method_that_is_not_for_an_address_is_refused_in_the_one_shape(local: Client) -> None:
    answer = local.post("/runs.json", content_type="application/json")
    assert answer.status in (404, 405)
    assert set(answer.json["error"]) == {"message", "remedy"}


@pytest.mark.parametrize("path", ["/", "/index.json", "/nothing", "/live/rig"])
def test_every_answer_says_what_a_browser_may_do_with_it(local: Client, path: str) -> None:
    headers = local.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../settings.py",
        "/assets/%2e%2e/settings.py",
        "/assets/..%2fsettings.py",
        "/assets/%2fetc/passwd",
        "/assets//etc/passwd",
        "/assets/..\\settings.py",
        "/assets/%00",
        "/traces/..%2f..%2fetc%2fpasswd",
        "/boards/rig:..%2f..%2fetc?boot=..%2f..",
        "/live/console/..%2f..",
    ],
)
def test_no_address_leads_out_of_what_may_be_seen(local: Client, path: str) -> None:
    answer = local.get(path)
    assert answer.status in (400, 404)
    assert b"root:" not in answer.body and b"dataclass" not in answer.body


def test_names_from_outside_are_text_on_every_page(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    traces = tmp_path / "traces"
    traces.mkdir()
    name = "<script>alert(1)<_script>\x1b[31m.dat"
    (traces / name).write_bytes(b"\x17\x08\x44tracing" + b"\0" * 100)
    keep_run(store, demonstration_run(series=()), board=ATTACK * 200, label=ATTACK)
    client = Client.of(store=store, traces=(traces,))
    for path in ("/", "/boards", "/traces", f"/boards/{'x' * 10}", "/%3Cscript%3Ealert(1)"):
        answer = client.get(path)
        assert answer.status in (200, 404)
        assert "<img" not in answer.text
        assert not re.search(r"<script(?! type=)", answer.text), path
        assert "\x1b" not in answer.text and "\u202e" not in answer.text
        assert len(answer.body) < 200_000
