"""``make test-nightly``: every part runs, one table tells all, a failure fails the night."""

from __future__ import annotations

import os
import re
from pathlib import Path

import newest_python
import nightly
import pytest
from waiting import has_ended, wait_until

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "LOGS", tmp_path)


def parts(**commands: str) -> list[nightly.Part]:
    return [nightly.Part(name, f"what {name} does", text) for name, text in commands.items()]


def test_a_failing_part_stops_no_other_and_fails_the_night(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = parts(
        first="echo working; echo '== 3 passed in 1 s =='",
        broken="echo 2 failed >&2; exit 3",
        absent="echo 'not available: no such Python'; exit 77",
        last="echo {seconds} seconds",
    )
    assert nightly.main(["--fuzz-seconds", "7"], chosen) == 1
    kept = (tmp_path / "table.txt").read_text()
    assert kept in capsys.readouterr().out
    rows = [re.split(r"\s{2,}", line) for line in kept.splitlines()[2:]]
    assert rows[:4] == [
        ["first", "passed", "0 min", "0", "3 passed in 1 s"],
        ["broken", "FAILED", "0 min", "0", "2 failed"],
        ["absent", "not available", "0 min", "0", "not available: no such Python"],
        ["last", "passed", "0 min", "0", "7 seconds"],
    ]
    assert len(rows) == 5 and rows[4][0].endswith("broken.log"), "only what failed is to be read"
    assert (tmp_path / "first.log").read_text() == "working\n== 3 passed in 1 s ==\n"


def test_what_cannot_run_here_fails_no_night() -> None:
    assert nightly.main([], parts(absent="exit 77", silent="true")) == 0


def test_parts_are_run_by_name(tmp_path: Path) -> None:
    chosen = parts(one="exit 1", two="echo 2")
    assert nightly.main(["two"], chosen) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.txt", "two.log"]
    with pytest.raises(SystemExit) as ended:
        nightly.main(["three"], chosen)
    assert ended.value.code == 2


def test_what_a_part_left_running_is_ended(tmp_path: Path) -> None:
    chosen = parts(leaves="trap '' TERM; sleep 600 & echo $!")
    assert nightly.main([], chosen) == 0
    left = int((tmp_path / "leaves.log").read_text())
    wait_until(lambda: has_ended(left), "what was left is ended")


def test_the_parts_name_what_there_is() -> None:
    """Programs of the checkout and of make; the words of pytest's marks."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    settings = (ROOT / "pyproject.toml").read_text()
    for part in nightly.PARTS:
        words = [word for word in part.command.format(seconds=1).split() if "=" not in word]
        if words[0] == "make":
            assert words[2] in targets
        elif words[0].startswith("scripts/"):
            assert os.access(ROOT / words[0], os.X_OK)
        elif words[0] == ".venv/bin/pytest":
            assert f'"{words[2]}: ' in settings or words[2] == "hypothesis"
        else:
            assert (
                words[:2] == [".venv/bin/python", "-m"] and (ROOT / words[2].split(".")[0]).is_dir()
            )


def test_whatever_takes_longer_at_night_is_marked_for_it() -> None:
    """A test that asks for the time there is, in a file without the mark, would not be run."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        if "skips.LONG" in text:
            assert "mark.long" in text, path.name


def test_unfinished_and_foreign_pythons_are_not_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [
        ("3.16.0a2", 16, "cpython", "default"),
        ("3.15.2", 15, "cpython", "freethreaded"),
        ("3.14.10", 14, "cpython", "default"),
        ("3.13.0", 13, "cpython", "default"),
        ("3.17.1", 17, "pypy", "default"),
        ("3.11.2", 11, "cpython", "default"),
    ]
    entries = ",".join(
        f'{{"version": "{version}", "version_parts": {{"minor": {minor}}},'
        f' "implementation": "{kind}", "variant": "{variant}"}}'
        for version, minor, kind, variant in listed
    )
    monkeypatch.setattr(newest_python, "uv", lambda *words: f"[{entries}]")
    assert newest_python.releases_newer_than("3.11.7") == ["3.14", "3.13"]


def test_no_newer_python_is_not_available_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:

    def refuse(release: str, environment: Path) -> None:
        raise newest_python.NotAvailableError("no wheel for it")

    monkeypatch.setattr(newest_python, "version_of", lambda python: "3.11.2")
    monkeypatch.setattr(newest_python, "releases_newer_than", lambda version: ["3.14", "3.13"])
    monkeypatch.setattr(newest_python, "install", refuse)
    assert newest_python.main() == newest_python.NOT_AVAILABLE == 77
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "not available: Python 3.14: no wheel for it; Python 3.13: no wheel for it"
