"""Somebody who types every command of README and guide, page by page, gets what it says.

Each page begins in a fresh home (``guide_world``) and its commands are executed as they stand, in
order. ``guide_walk.toml`` lists those that are not, each with its reason. All pages take ten
minutes of one worker, so every change walks those that a newcomer reads first, and
`make test-nightly` all.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import rig_bench
import skips
import yaml
from guide_commands import ROOT, GuideCommand, commands_of, guide_pages
from guide_world import GuideWorld, install_quick_probe, make_template, new_world
from sshd import SshServer, ssh_server
from trace_boards import can_record

pytest_plugins = ["board_fixtures"]
skips.need_decoder()

READ_FIRST = ("README", "five-minutes", "compare", "state", "health", "traces", "signals")
WALKED = tuple(
    page
    for page in guide_pages()
    if any(commands_of(page)) and (skips.LONG or page.stem in READ_FIRST)
)
RIG_BOARDS = ("pi4", "zero", "one", "arm64-1")
SUCCESS = frozenset({0})


@dataclass(frozen=True, slots=True)
class WalkEntry:
    """What the list says of a command."""

    kind: str
    reason: str = ""
    codes: frozenset[int] = SUCCESS
    says: str = ""
    sign: str = ""


@cache
def entries() -> dict[str, WalkEntry]:
    listed = tomllib.loads(Path(__file__).with_name("guide_walk.toml").read_text())
    return {
        command: WalkEntry(
            kind,
            entry.get("reason", ""),
            frozenset(entry.get("codes", SUCCESS)),
            entry.get("says", ""),
            entry.get("sign", ""),
        )
        for kind, group in listed.items()
        for entry in group
        for command in entry["commands"]
    }


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh_server(tmp_path_factory.mktemp("guide-board")) as server:
        yield server


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("guide") / "home"
    make_template(home)
    return home


@pytest.fixture
def world(
    request: pytest.FixtureRequest, template: Path, board: SshServer, tmp_path: Path
) -> Iterator[GuideWorld]:
    """The home of the page that the test is about."""
    page: Path = request.param
    text = page.read_text()
    if "root@" in text:
        skips.need_root("the guide's boards are reached as root")
    if "trace record" in text and (why := can_record()):
        skips.skip_for(why)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        rig = None
        if "benchvise rig " in text or "rig:" in text:
            place = tmp_path / "r"
            place.mkdir()
            rig = stack.enter_context(
                rig_bench.running(
                    place,
                    [(name, "stand-in") for name in RIG_BOARDS],
                    images={"stand-in": template / "work" / "core.wic"},
                )
            )
            described = yaml.safe_load(rig.rig_file.read_text())
            described["targets"]["pi4"]["features"] = ["aarch64"]
            rig.rig_file.write_text(yaml.safe_dump(described, sort_keys=False))
        install_quick_probe(tmp_path / "probes", patch)
        yield new_world(template, tmp_path / "home", board, rig)


@pytest.mark.long
@pytest.mark.parametrize(
    ("page", "world"),
    [(page, page) for page in WALKED],
    indirect=["world"],
    ids=[page.stem for page in WALKED],
)
def test_every_command_of_a_page_does_what_it_says(page: Path, world: GuideWorld) -> None:
    wrong = []
    for command in commands_of(page):
        entry = entries().get(command.text, WalkEntry("runs"))
        if entry.kind != "left_out" and (fault := fault_of(world, command, entry)):
            wrong.append(fault)
    assert not wrong, "\n\n".join(wrong)


def fault_of(world: GuideWorld, command: GuideCommand, entry: WalkEntry) -> str:
    """What went wrong; empty if nothing did."""
    if entry.kind == "interrupted":
        ran = world.until_interrupted(command.text, entry.sign)
    else:
        ran = world.perform(command.text)
    printed = ran.out + ran.err
    if "Traceback (most recent call last)" in printed or ran.code not in entry.codes:
        return f"{command}\nended with {ran.code}:\n{printed[-1500:]}"
    if ran.code and entry.says not in printed:
        return f"{command}\ndoes not say '{entry.says}':\n{printed[-1500:]}"
    return ""


def test_the_pages_that_are_read_first_are_there() -> None:
    assert set(READ_FIRST) <= {page.stem for page in guide_pages() if any(commands_of(page))}


def test_every_entry_of_the_list_is_still_on_a_page() -> None:
    shown = {command.text for page in guide_pages() for command in commands_of(page)}
    assert not set(entries()) - shown, "take them out of guide_walk.toml"
    for command, entry in entries().items():
        assert entry.reason or entry.sign, command


def test_tests_that_the_list_names_exist() -> None:
    """A command is left out because something else covers it."""
    modules = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    for entry in entries().values():
        for word in entry.reason.replace(",", " ").replace(";", " ").split():
            assert not word.startswith("test_") or word in modules, entry.reason


def test_the_tutorial_leads_to_a_first_comparison(
    template: Path, board: SshServer, tmp_path: Path
) -> None:
    """With the real probe: what its commands print is what the page promises."""
    world = new_world(template, tmp_path / "home", board, None)
    (world.home / ".config/benchvise/benchvise.toml").write_text("[run]\nbatches = 5\n")
    page = ROOT / "docs" / "tutorials" / "five-minutes.md"
    printed = {}
    for command in commands_of(page):
        entry = entries().get(command.text, WalkEntry("runs"))
        if entry.kind == "runs" and "root@" not in command.text:
            ran = world.perform(command.text)
            assert ran.code == 0, f"{command}\n{ran.out}{ran.err}"
            printed[command.text] = ran.out
    assert "memory.latency:size=64M" in printed["benchvise run --label first"]
    compared = printed["benchvise compare before after"]
    # On a busy machine the two may overlap: then their values are marked, and what disturbed
    # them is told in further lines.
    jobs = [line for line in compared.splitlines() if line.startswith("command.time:run=sh")]
    assert any(" -" in job for job in jobs), "a third of the work takes less time"
    assert any("faster" in job or "unstable" in job or "⚠" in job for job in jobs), compared
    assert (world.work / "report" / "index.html").is_file()
