"""Every page of the workbench: each form that changes anything proves that a page of ours has it.

The pages are those of the route table. Those that a reader makes, which may have been taken over by
what it read, never get the proof, so they must not need it either.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest
import skips
from report_runs import demonstration_run
from starlette.routing import Match, Route
from web_client import Client
from web_routes import routes
from web_store import keep_run
from why_documents import EACH

from benchvise.store import Store
from benchvise.web.file_index import key_of
from benchvise.web.pages import metrics
from benchvise.web.readers import forwarding

TRACE = Path(__file__).parents[1] / "data" / "traces" / "small.dat"
SOURCES = Path(__file__).parents[2] / "web" / "src"


def page_routes() -> list[Route]:
    """All that a browser shows as a page."""
    readable = [route for route in routes() if "GET" in (route.methods or ())]
    return [
        route
        for route in readable
        if not route.path.startswith(("/api/", "/live/")) and not route.path.endswith(".json")
    ]


# Of all that people open; metrics are read by programs.
PAGES = {route.path: route for route in page_routes() if route not in metrics.routes}


@dataclass
class Form:
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class Parts(HTMLParser):
    """What of a page may act."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.meta: dict[str, str] = {}
        self.islands: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get").lower()))
        if tag == "input" and "name" in given and self.forms:
            self.forms[-1].fields[given["name"]] = given.get("value", "")
        if tag == "meta" and "name" in given:
            self.meta[given["name"]] = given.get("content", "")
        if "data-island" in given:
            self.islands.add(given["data-island"])

    @property
    def posting(self) -> list[Form]:
        return [form for form in self.forms if form.method != "get"]


@dataclass(frozen=True)
class Workbench:
    client: Client
    addresses: dict[str, str]
    """Of each page one that shows something."""

    def shown(self, path: str) -> Parts:
        answer = self.client.get(self.addresses.get(path, path))
        assert answer.status == 200, answer.text
        return Parts(answer.text)


@pytest.fixture(scope="module")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    skips.need_decoder()
    place = tmp_path_factory.mktemp("workbench")
    (place / "rig.yaml").write_text("targets:\n  one: {features: [simulated]}\n")
    files = place / "files"
    files.mkdir()
    for name in ("a.dat", "b.dat"):
        shutil.copy(TRACE, files / name)
    for name in ("c.out", "d.out"):
        (files / name).write_text("".join(f"{n}\t{9e-6 + n * 1e-9}\n" for n in range(50)))
    store = str(place / "store.db")
    run = keep_run(store, demonstration_run())
    with Store.open(store) as opened:
        opened.tag(run, ["nightly"])
        diagnosis = opened.keep_diagnosis(next(iter(EACH.values()))())
    client = Client.of(
        store=store, rig=str(place / "rig.yaml"), traces=(files,), captures=(files,), control=True
    )
    keys = {file.name: key_of(file.resolve()) for file in files.iterdir()}
    addresses = {
        "/boards/{name:path}": "/boards/rig:one",
        "/runs/{run}": f"/runs/{run}",
        "/diagnoses/{id}": f"/diagnoses/{diagnosis}",
        "/health/{board:path}": "/health/rig:one",
        "/traces/{key}": f"/traces/{keys['a.dat']}",
        "/captures/{key}": f"/captures/{keys['c.out']}",
        "/traces/compare": f"/traces/compare?a={keys['a.dat']}&b={keys['b.dat']}",
        "/captures/responses": f"/captures/responses?file={keys['c.out']}&file={keys['d.out']}",
    }
    yield Workbench(client, addresses)
    client.app.state.context.close()


@pytest.mark.parametrize("path", [path for path in PAGES if PAGES[path] not in forwarding.routes])
def test_a_page_of_the_server_has_the_proof_that_its_actions_need(
    workbench: Workbench, path: str
) -> None:
    seen = workbench.shown(path)
    token = workbench.client.csrf_token
    assert len(token) == 64 and seen.meta["csrf-token"] == token
    for form in seen.posting:
        assert form.fields["csrf"] == token, form
        assert action_of(workbench, form), f"{form.action} is no action"


def action_of(workbench: Workbench, form: Form) -> str:
    """The route that a form posts to."""
    path = form.action.partition("?")[0]
    scope = {"type": "http", "method": form.method.upper(), "path": path, "root_path": ""}
    for route in workbench.client.app.routes:
        if isinstance(route, Route) and route.matches(scope)[0] is Match.FULL:
            return route.path
    return ""


def test_every_form_of_a_template_was_looked_at(workbench: Workbench) -> None:
    """Else the test of the pages would hold of none."""
    seen = {action_of(workbench, form) for path in PAGES if PAGES[path] not in forwarding.routes
            for form in workbench.shown(path).posting}  # fmt: skip
    assert seen == {"/login", "/runs/{run}/said", "/rig/{name}/{what}/{to}", "/health/look"}


@pytest.mark.parametrize("path", [path for path in PAGES if PAGES[path] in forwarding.routes])
def test_a_page_of_a_reader_has_no_proof_and_no_action(workbench: Workbench, path: str) -> None:
    seen = workbench.shown(path)
    assert seen.posting == [] and "csrf-token" not in seen.meta
    assert workbench.client.csrf_token not in workbench.client.get(workbench.addresses[path]).text
    for island in seen.islands:
        assert posting_scripts(island) == set(), island


# -- scripts ---------------------------------------------------------------------------------------

_POST = re.compile(r'method: "POST"')


def posting_scripts(island: str) -> set[str]:
    """Of the modules that an island loads those that post. The list of islands starts others only
    where a page has them."""
    islands = SOURCES / "pages" / "islands.ts"
    (name,) = re.findall(rf'"?{island}"?: \(\) => import\("(.+)"\)', islands.read_text())
    pending, loaded = [module(islands, name)], set[Path]()
    while pending:
        path = pending.pop()
        if path not in loaded and path != islands:
            loaded.add(path)
            names = re.findall(r'(?:from|import\()\s*"(\.[^"]+)"', path.read_text())
            pending += [module(path, one) for one in names if not one.endswith(".css")]
    return {path.name for path in loaded if _POST.search(path.read_text())}


def module(importer: Path, name: str) -> Path:
    path = (importer.parent / name).resolve()
    beside = path.with_name(f"{path.name}.ts")
    return path if path.is_file() else beside if beside.is_file() else path / "index.ts"


def test_every_script_that_posts_sends_the_proof() -> None:
    posting = [
        path for path in SOURCES.rglob("*.ts")
        if _POST.search(path.read_text()) and not path.name.endswith(".test.ts")
    ]  # fmt: skip
    assert len(posting) >= 3
    for path in posting:
        for begin in _POST.finditer(path.read_text()):
            assert "csrfHeader(" in path.read_text()[begin.start() :].partition("}")[0], path


def test_islands_that_post_are_known() -> None:
    """What the test of readers' pages looks for is found where it is."""
    assert posting_scripts("board") == {"board.ts"}
    assert posting_scripts("workspace") == {"notes.ts", "sql.ts"}
    assert posting_scripts("console") == {"typing.ts"}


def test_a_pressed_button_keeps_its_text_under_the_pointer() -> None:
    """The rule for any button under the pointer gave the text the colour of its ground."""
    rules = (Path(__file__).parents[2] / "web/src/styles/forms.css").read_text()
    pressed = rules.index('.workbench button[aria-pressed="true"]:not(.copy):hover')
    assert pressed > rules.index(".workbench button:not(.copy):not(:disabled):hover")
    assert "color: var(--page)" in rules[pressed : rules.index("}", pressed)]
