"""The account of a run: what it prints, and when a strict run fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LONG, TIMING, WAITING
from suite_parts import ALONE, BESIDE, PARTS, SETTINGS, UNITS, may_hold, part_of
from suite_report import LOCK, SuiteRecord, unlike_lock

TESTS = Path(__file__).parents[1]
CONFTEST = """
import os, sys
from pathlib import Path
import conftest_of_the_suite, suite_report
conftest_of_the_suite.RETRY_DELAY_S = 0
from conftest_of_the_suite import pytest_collection_modifyitems, pytest_ignore_collect
from conftest_of_the_suite import pytest_unconfigure
def pytest_configure(config):
    part = os.environ.get("SUITE_PART", "")
    records = Path(os.environ["RECORDS"])
    config.pluginmanager.register(suite_report.SuiteReport(part, records))
"""
LEFT_OUT = """
import pytest, skips
def test_here(): pass
def test_root(): skips.skip("root", "to mount")
"""
UNLISTED = "import pytest\ndef test_odd(): pytest.skip('it rains')\n"
KERNEL = "import skips\n@skips.needs_that(False, 'guest kernel')\ndef test_it(): pass\n"
WHOLE = "import skips\nskips.skip('guest kernel', module=True)\n"
UNSTABLE = """
import pytest
from pathlib import Path
def once(name):
    seen = Path(name)
    if not seen.exists():
        seen.touch()
        assert False, "the first try"
"""
TIMED = "@pytest.mark.timing('waits')\ndef test_{0}(): once('{0}')\n"
UNTIMED = "def test_{0}(): once('{0}')\n"
TWICE = "@pytest.mark.timing('waits')\ndef test_twice():\n    once('a')\n    once('b')\n    "


def suite(
    directory: Path, text: str, *, part: str = "", strict: bool = False, name: str = "test_it.py"
) -> tuple[int, str]:
    """A run of tests of that text, with the hooks of this suite."""
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "conftest_of_the_suite.py").write_text((TESTS / "conftest.py").read_text())
    (directory / name).write_text(text)
    options = ("-q", "-p", "no:cacheprovider", "-p", "pytest_rerunfailures", "-W", "ignore")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, name],
        cwd=directory,
        env={
            **os.environ,
            "PYTHONPATH": str(TESTS),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "STRICT": "1" if strict else "",
            "SUITE_PART": part,
            "RECORDS": str(directory / "records"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("strict", [False, True])
def test_what_the_machine_forbids_is_told_and_allowed(tmp_path: Path, strict: bool) -> None:
    code, text = suite(tmp_path, LEFT_OUT, strict=strict)
    assert code == 0
    assert "left out: 1 tests or modules" in text
    assert "1  machine: root" in text and "run the tests as root" in text
    assert "1 x to mount" in text
    assert "would fail" not in text


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (UNLISTED, "no reason of tests/skips.py: 'it rains'"),
        (KERNEL, "1 left out for build: guest kernel: make guest-kernel"),
        (WHOLE, "1 left out for build: guest kernel: make guest-kernel"),
    ],
    ids=["unlisted", "not built", "a whole module"],
)
def test_what_a_strict_run_does_not_allow(tmp_path: Path, source: str, named: str) -> None:
    for strict in (False, True):
        code, text = suite(tmp_path, "def test_other(): pass\n" + source, strict=strict)
        assert named in text
        assert (code == 1, "would fail with STRICT=1" in text) == (strict, not strict), text


def test_only_what_is_marked_is_tried_again_and_once(tmp_path: Path) -> None:
    code, text = suite(tmp_path, UNSTABLE + TIMED.format("one") + UNTIMED.format("two"))
    assert code == 1 and "1 failed, 1 passed, 1 rerun" in text
    assert re.search(
        r"second try: 1 tests.*\n +test_\S+::test_one: \S+:\d+: AssertionError ", text
    ), text
    code, text = suite(tmp_path, UNSTABLE + TWICE, name="test_more.py")
    assert code == 1 and "1 failed, 1 rerun" in text


@pytest.mark.parametrize(("tests", "fails"), [(3, False), (4, True)])
def test_more_than_three_second_tries(tmp_path: Path, tests: int, fails: bool) -> None:
    source = UNSTABLE + "".join(TIMED.format(f"n{n}") for n in range(tests))
    code, text = suite(tmp_path, source, strict=True)
    assert (code == 1) == fails
    assert ("4 tests needed a second try: at most 3" in text) == fails


IN_PARTS = """
import pytest, skips
def test_unmarked(): skips.skip("root", "to mount")
@pytest.mark.settings
def test_setting(): skips.skip("root", "to mount")
@pytest.mark.settings
@pytest.mark.alone
def test_both(): pass
"""
HIDDEN = "import pytest\nmark = getattr(pytest.mark, 'alone')\n@mark\ndef test_it(): pass\n"


def test_the_last_of_several_runs_reports_for_all(tmp_path: Path) -> None:
    """And each test is in one of them, whatever their order in a file."""
    codes = [suite(tmp_path, IN_PARTS + KERNEL, part=part, strict=True) for part in PARTS]
    passed = [re.findall(r"\d+ (?:passed|skipped|deselected)", text) for _, text in codes]
    assert passed == [
        ["2 skipped", "2 deselected"],
        ["1 skipped", "3 deselected"],
        ["4 deselected"],
        ["1 passed", "3 deselected"],
    ]
    assert [code for code, _ in codes] == [0, 0, 5, 1]
    assert not any("left out" in text for _, text in codes[:-1])
    *_, (_, last) = codes
    assert "left out: 3 tests or modules" in last and "2  machine: root" in last
    assert "was not run" not in last


def test_a_part_that_was_not_run_fails_the_last(tmp_path: Path) -> None:
    code, _ = suite(tmp_path, "def test_c(): assert 0\n", part=BESIDE)
    assert code == 1
    marked = "import pytest\n@pytest.mark.alone\ndef test_c(): pass\n"
    code, text = suite(tmp_path, marked, part=ALONE, strict=True, name="test_more.py")
    assert code == 1 and "1 passed" in text
    missing = [f"part {part} was not run: make test-{part}" for part in (SETTINGS, UNITS)]
    assert re.findall(r"part \w+ was not run.*", text) == missing


def test_a_test_that_no_part_would_read_is_an_error(tmp_path: Path) -> None:
    code, text = suite(tmp_path, HIDDEN, part=BESIDE)
    assert code == 4 and "test_it would never run: it is marked alone" in text


@pytest.mark.parametrize("marks", [[], ["settings"], ["alone"], ["alone", "settings", "timing"]])
@pytest.mark.parametrize("place", ["tests", "tests/unit"])
def test_each_test_is_of_one_part_in_which_its_file_is_read(
    tmp_path: Path, marks: list[str], place: str
) -> None:
    file = tmp_path / place / "test_it.py"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"@pytest.mark.{mark}\n" for mark in marks) + "def test_it(): pass\n")
    assert may_hold(file, part_of(file, marks))
    unmarked = part_of(file, [])
    assert unmarked == (UNITS if place.endswith("unit") else BESIDE)
    assert may_hold(file, unmarked)


def test_all_parts_are_run_in_that_order() -> None:
    root = TESTS.parent
    makefile = (root / "Makefile").read_text()
    recipes = dict(re.findall(r"^(\S+):\n((?:\t.*\n)+)", makefile, re.MULTILINE))
    whole = recipes["test"].replace("tests-in-turn", recipes["tests-in-turn"])
    order = re.findall(r"(\w+)-meanwhile|test-(\w+)", whole)
    named = [part for pair in order for part in pair if part in PARTS]
    assert named == list(PARTS)
    for part in PARTS:
        assert f"\ntest-{part}:\n\tSUITE_PART={part} " in makefile
        assert f'"test-{part}"' in (root / "scripts" / "newest_python.py").read_text()


def test_the_files_that_conftest_names_are_there() -> None:
    named = {f"{name}.py" for name in (*TIMING, *LONG, *WAITING)}
    assert named <= {path.name for path in TESTS.glob("test_*.py")}


def test_the_slowest_are_named(tmp_path: Path) -> None:
    record = SuiteRecord(seconds={f"test_{n}": float(n) for n in range(13)})
    section = [line for line in record.lines() if "test_" in line]
    assert [line.split() for line in section] == [
        [f"{n}.0", "s", f"test_{n}"] for n in range(12, 2, -1)
    ]
    source = "".join(f"def test_{n}(): pass\n" for n in range(13))
    assert "slowest: 10 of 13" in suite(tmp_path, source)[1]


def test_another_environment_than_the_locked_one_is_named() -> None:
    assert unlike_lock(LOCK.read_text()) == []
    lock = f"nowhere==1.0 \\\n    --hash=sha256:0\npytest=={pytest.__version__}.1 \\\n"
    assert unlike_lock(lock) == [
        "nowhere absent (locked: 1.0)",
        f"pytest {pytest.__version__} (locked: {pytest.__version__}.1)",
    ]
