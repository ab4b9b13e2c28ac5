"""What users of any Unix program try first: --version, -h, help, --color, a pipe to head."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchvise import __version__
from benchvise.cli.color import color_options, take_color_option
from benchvise.cli.commands import PROGRAM, Group
from benchvise.cli.extras import missing_extra
from benchvise.cli.main import run
from benchvise.errors import UsageError


def output(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(list(words)) == code
    return capsys.readouterr().out


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "--version") == f"benchvise {__version__}\n"


@pytest.mark.parametrize("command", [["run"], ["rig", "virtual"], ["trace", "idle"], []])
def test_h_and_help_are_the_same(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    page = output(capsys, *command, "--help")
    assert output(capsys, *command, "-h") == page
    assert output(capsys, "help", *command) == page
    assert "Usage: " + " ".join(["benchvise", *command]) in page


def test_help_lists_every_command_once_by_subject(capsys: pytest.CaptureFixture[str]) -> None:
    listed = [entry.name for _, entries in PROGRAM.by_subject() for entry in entries]
    assert sorted(listed) == sorted(entry.name for entry in PROGRAM.entries)
    lines = output(capsys, "--help").splitlines()
    for heading, entries in PROGRAM.by_subject():
        (start,) = [at for at, line in enumerate(lines) if line.startswith(f"╭─ {heading} ")]
        end = next(at for at in range(start, len(lines)) if lines[at].startswith("╰"))
        below = [line[2:].split(" ")[0] for line in lines[start + 1 : end]]
        assert [name for name in below if name] == [entry.name for entry in entries]


def test_help_has_no_names_of_types(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "serve", "why"):
        page = output(capsys, command, "--help")
        assert not {word for word in page.split() if word.startswith(("<", "[["))}
    assert "1 to 1000; default: 3" in " ".join(output(capsys, "run", "--help").split())


def test_examples_of_help_can_be_copied(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = output(capsys, "diff", "--help").splitlines()
    (example,) = [line for line in lines if "before.json" in line]
    assert example.split() == ["benchvise", "diff", "before.json", "ssh://root@10.0.0.7"]


def test_the_program_alone_says_what_to_do_next(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    commands = [line for line in output(capsys).splitlines() if line.startswith("benchvise ")]
    assert len(commands) == 5


def test_color_stands_anywhere_before_two_dashes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert take_color_option(["show", "@", "--color", "always"]) == ["show", "@"]
    assert color_options()["color_system"] == "256"
    assert take_color_option(["--color=never", "show"]) == ["show"]
    assert color_options()["color_system"] is None
    words = ["trace", "record", "local", "--", "ls", "--color=always"]
    assert take_color_option(words) == words
    assert color_options() == {}
    with pytest.raises(UsageError, match="auto, always, never"):
        take_color_option(["--color", "yes"])


def test_colours_are_those_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in output(capsys, "suites", "--color", "always")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" not in output(capsys, "suites", "--color", "never")
    assert "\x1b[" in output(capsys, "suites", "--color", "auto")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in output(capsys, "rig", "--help")


EACH_WITHOUT_A_READER = """if True:
    import os, sys
    from benchvise.cli import main, output  # once for all
    from benchvise.cli.reference import help_page

    reader, writer = os.pipe()
    os.close(reader)
    for line in sys.argv[1:]:
        child = os.fork()
        if child == 0:
            sys.argv = ["benchvise", *line.split()]
            os.dup2(writer, 2 if "--nope" in sys.argv else 1)
            main.entry()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), line, flush=True)
"""
"""As `benchvise rig --help | head` has it, when head is fast."""


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    groups = [entry.name for entry in PROGRAM.entries if isinstance(entry, Group)]
    assert {"rig", "trace", "signal"} <= set(groups)
    lines = [f"{name} --help" for name in groups]
    lines += [
        "--help",
        "run --help",
        "knobs --json",
        "suites",
        "bench",
        "find irq",
        "config",
        "next",
    ]
    lines += ["doctor", "runs", "completion bash", "knobs show memory.thp", "--nope"]
    places = dict.fromkeys(("XDG_DATA_HOME", "XDG_STATE_HOME"), str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", EACH_WITHOUT_A_READER, *lines],
        capture_output=True, text=True, check=True, env={**os.environ, **places},
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"0 {line}" for line in lines]


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("labgrid.config", "rig"),
        ("pyarrow", "trace"),
        ("starlette", "web"),
        ("psycopg", "postgres"),
    ],
)
def test_a_missing_extra_is_one_line_with_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str, extra: str
) -> None:
    def suite_names() -> list[str]:
        raise ModuleNotFoundError(f"No module named '{module}'", name=module)

    monkeypatch.setattr("benchvise.cli.reference.suites.suite_names", suite_names)
    assert run(["suites"]) == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"pip install 'benchvise[{extra}]'" in message


def test_a_missing_module_of_no_extra_is_a_fault_of_ours() -> None:
    assert missing_extra(ModuleNotFoundError(name="benchvise.nowhere")) is None
    assert missing_extra(ModuleNotFoundError(name=None)) is None
