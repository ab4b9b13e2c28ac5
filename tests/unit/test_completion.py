"""Completion scripts, tried in their shells, and man pages."""

from __future__ import annotations

import re
import subprocess

import pytest
import skips

from benchvise.cli.commands import PROGRAM
from benchvise.cli.reference.completion import ShellName, completion_script
from benchvise.cli.reference.manual import manual_pages
from benchvise.errors import BenchviseError

LINES = [
    ("benchvise ru", "run"),
    ("benchvise rig b", "boot"),
    ("benchvise rig virtual u", "up"),
    ("benchvise run --suite q", "quick"),
    ("benchvise run --set memory.thp_d", "memory.thp_defrag="),
    ("benchvise knobs show vm.swappin", "vm.swappiness"),
    ("benchvise run local --bett", "--better"),
    ("benchvise run --better h", "higher"),
    ("benchvise --versi", "--version"),
    ("benchvise --color al", "always"),
]


@pytest.fixture(scope="module")
def scripts() -> dict[ShellName, str]:
    return {shell: completion_script(shell) for shell in ShellName}


def test_bash_completes(scripts: dict[ShellName, str]) -> None:
    tried = [
        f'COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _benchvise; echo "$COMPREPLY"'
        for line, _ in LINES
    ]
    program = "\n".join(["compopt() { :; }", scripts[ShellName.BASH], *tried])
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [completed for _, completed in LINES]


def test_fish_completes(scripts: dict[ShellName, str]) -> None:
    skips.needs("fish")
    tried = [f"complete -C '{line}' | head -1" for line, _ in LINES]
    program = "\n".join([scripts[ShellName.FISH], *tried])
    done = subprocess.run(
        ["fish", "--no-config"], input=program, capture_output=True, text=True, check=True
    )
    firsts = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert firsts == [completed for _, completed in LINES]


def test_zsh_completes(scripts: dict[ShellName, str]) -> None:
    skips.needs("zsh")
    shown = 'compadd() { shift $@[(i)--]; for w in $@; [[ $w == "$PREFIX"* ]] && print -- $w }'
    tried = [
        f"words=({line}); CURRENT=$#words; PREFIX=$words[-1]; _benchvise | head -1"
        for line, _ in LINES
    ]
    program = "\n".join(["compdef() { }; _files() { }", shown, scripts[ShellName.ZSH], *tried])
    done = subprocess.run(["zsh", "-f"], input=program, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [completed for _, completed in LINES]


def test_every_command_has_a_man_page_that_can_be_set() -> None:
    pages = manual_pages()
    assert {"benchvise.1", "benchvise-rig-virtual-up.1"} <= set(pages)
    assert len(pages) > len(PROGRAM.entries)
    errors: list[type[BenchviseError]] = [BenchviseError, *BenchviseError.__subclasses__()]
    codes = {error.exit_code for error in errors}
    assert all(f".B {code}\n" in pages["benchvise-gate.1"] for code in codes | {0})
    assert (
        ".B \\-\\-version" in pages["benchvise.1"] and ".B \\-\\-color WHEN" in pages["benchvise.1"]
    )
    assert "record BOARD [OPTIONS] [\\-\\- CMD...]" in pages["benchvise-trace-record.1"]
    skips.needs("groff")
    for name in ("benchvise.1", "benchvise-run.1", "benchvise-rig-virtual-up.1"):
        done = subprocess.run(
            ["groff", "-man", "-Kutf8", "-Tascii", "-ww"],
            input=pages[name], capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stderr == ""
        assert "EXIT STATUS" in re.sub(r".\x08", "", done.stdout)
