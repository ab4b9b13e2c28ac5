"""The list of reasons to leave a test out: nothing goes round it, and its kinds are judged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import skips
from skips import SkipKind, SkipReason

TESTS = Path(__file__).parents[1]
MAKEFILE = (TESTS.parent / "Makefile").read_text()
BESIDES = {"skip", "skipif", "importorskip", "xfail"}
IN_EVERY_DEBIAN = {
    *("coreutils", "dash", "gzip", "mount", "util-linux"),
    *("nodejs", "binutils"),  # web/ needs the one, gcc brings the other
}


def calls_in(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of what is called or taken from pytest itself that leaves tests out."""
    text = path.read_text()
    if not any(name in text for name in BESIDES):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in BESIDES:
            if not (isinstance(node.value, ast.Name) and node.value.id == "skips"):
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and node.module == "pytest":
            yield from ((node.lineno, name.name) for name in node.names if name.name in BESIDES)


def test_no_test_is_left_out_for_a_reason_of_its_own() -> None:
    round_the_list = [
        f"{path.relative_to(TESTS)}:{line}: {name}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.name != "skips.py"
        for line, name in calls_in(path)
    ]
    assert not round_the_list, f"use tests/skips.py: {round_the_list}"


def test_a_skip_that_goes_round_the_list_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import pytest\nfrom pytest import skip\npytest.importorskip('x')\n"
        "@pytest.mark.skipif(True, reason='')\ndef test(): skips.skip('root')\n"
    )
    assert [line for line, _ in calls_in(tmp_path / "a.py")] == [2, 3, 4]


def test_every_name_that_tests_give_is_in_the_list() -> None:
    """Those of skips that no machine of ours has met."""
    for path in set(TESTS.rglob("*.py")) - {Path(__file__)}:
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "skips." in text else ():
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "skips":
                names = [
                    word.value
                    for word in node.args
                    if isinstance(word, ast.Constant) and isinstance(word.value, str)
                ]
                match node.func.attr:
                    case "skip" | "reason" | "needs_that" if names:
                        assert skips.reason(names[0]).remedy
                    case "need" | "needs" | "lacking":
                        assert all(skips.package_of(name) for name in names)
                    case "skip_packages" | "packages":
                        assert all(name in MAKEFILE for name in names), names


def test_names_are_in_one_list_only() -> None:
    listed = [name for names in skips.NAMES.values() for name in names]
    assert len(listed) == len(set(listed))


def test_the_packages_are_those_that_the_suite_installs() -> None:
    installed = set(re.findall(r"[a-z0-9][a-z0-9.+-]+", MAKEFILE))
    assert set(skips.PACKAGES.values()) <= installed | IN_EVERY_DEBIAN


@pytest.mark.parametrize("name", [name for names in skips.NAMES.values() for name in names])
def test_what_is_reported_is_understood(name: str) -> None:
    reason = skips.reason(name, "with (brackets)\nand: lines")
    assert skips.parse(str(reason)) == reason
    assert skips.parse(str(skips.reason(name))) == skips.reason(name)


@pytest.mark.parametrize(
    "text",
    ["", "no gcc here", "machine: weather", "package: cowsay", "colour: red", "package: "],
)
def test_a_reason_of_no_list_is_not(text: str) -> None:
    assert skips.parse(text) is None


def test_an_unknown_name_fails_the_test() -> None:
    with pytest.raises(KeyError, match="is no reason to skip a test"):
        skips.skip("weather")


def test_what_a_strict_run_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skips, "is_installable", lambda name: name == "strace")
    assert not SkipReason(SkipKind.PACKAGE, "strace").is_allowed
    assert SkipReason(SkipKind.PACKAGE, "wrk").is_allowed, "apt does not have it here"
    assert not skips.reason("guest kernel").is_allowed
    assert skips.reason("root").is_allowed and skips.reason("long").is_allowed
    monkeypatch.setattr(skips, "SHARED", tmp_path)
    assert not skips.reason("traces").is_allowed, "the directory is there, and empty"
    monkeypatch.setattr(skips, "SHARED", tmp_path / "missing")
    assert skips.reason("traces").is_allowed


def test_apt_is_asked_for_what_can_be_installed() -> None:
    assert not skips.is_installable("benchvise-no-such-package")
