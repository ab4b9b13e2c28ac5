"""What users of any Unix program try first: --version, -h, help, --color, a pipe to head."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.color import Color
from rich.default_styles import DEFAULT_STYLES

from benchvise import __version__, terminal_colors
from benchvise.cli.color import color_options, take_color_option
from benchvise.cli.commands import PROGRAM, Group
from benchvise.cli.extras import missing_extra
from benchvise.cli.main import run
from benchvise.cli.output import stderr
from benchvise.errors import UsageError

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "benchvise"
TRACE = ROOT / "tests" / "data" / "traces" / "small.dat"


def output(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(list(words)) == code
    return capsys.readouterr().out


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "--version") == f"benchvise {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--time", "nan"], "--time: nan"),
        (["run", "--time", "1e999"], "--time: inf"),
        (["run", "--suite="], "--suite is empty"),
        (["runs", "--store", ""], "--store is empty"),
        (["run", ""], "BOARD]... is empty"),
        (["run", "--bench", "memory.copy:size=4K,size=8K"], "size is given twice"),
        (["trace", "list"], "No such command 'list': see benchvise trace --help"),
        (["signal", "uart"], "Missing argument 'CAPTURE': see benchvise signal uart --help"),
        (["trcae"], "Did you mean 'trace'"),
        (["run", "--batches", "x"], "'--batches': 'x' is no number: see benchvise run --help"),
        (["run", "--bench", "memory.copy:size=4Q"], "size=4Q is no size: it takes a size from 4K"),
    ],
)
def test_what_is_refused_and_what_to_do(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert run(words) == 2
    assert said in capsys.readouterr().err


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


COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")
"""A sequence that sets a colour, beside others that set bold or faint."""

TABLES = (
    "suites", "suites show quick", "knobs", "knobs show memory.thp", "bench",
    "bench show gpio.response", "find thp", "next", "config", "doctor", "runs", "run local --plan",
    "restore", "rig virtual status", "health --log LOG", "trace info TRACE", "trace stats TRACE",
    "trace actors TRACE", "diff LOG LOG", "show nothing", "compare a b", "report a", "tag a b",
    "note a b", "watch --show", "rig status", "signal info LOG", "why --resume nowhere",
    "snapshot ssh://192.0.2.7:1 -o x/y", "serve --port 99999999",
)  # fmt: skip
"""A line for each command that needs no board: a table, a page, or an error with its prefix."""

ALWAYS_COLOURED = ("find thp", "doctor", "health --log LOG", "show nothing", "trace info LOG")


def test_every_command_keeps_to_the_colours_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    log, trace = tmp_path / "log.txt", tmp_path / "small.dat"
    log.write_text("[    1.234567] ata1.00: failed command: READ FPDMA QUEUED\n")
    shutil.copy(TRACE, trace)

    def printed(line: str, *more: str) -> str:
        words = line.replace("LOG", str(log)).replace("TRACE", str(trace)).split()
        run([*words, *more])
        return "".join(capsys.readouterr())

    commands = [" ".join(path) for path in paths(PROGRAM)]
    for line in (*(f"{name} --help" for name in commands), *ALWAYS_COLOURED):
        assert COLOUR.search(printed(line, "--color", "always")), line
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    for line in TABLES:
        assert not re.search(r"\x1b\[[0-9;]*m", printed(line, "--color", "never")), line
    monkeypatch.setenv("NO_COLOR", "1")
    for line in (*(f"{name} --help" for name in commands), *TABLES):
        assert not COLOUR.search(printed(line)), line


def paths(group: Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command and group."""
    for entry in group.entries:
        yield (*path, entry.name)
        if isinstance(entry, Group):
            yield from paths(entry, (*path, entry.name))


def test_colours_can_be_read_on_black_and_on_white() -> None:
    styles = [value for name, value in vars(terminal_colors).items() if name.isupper()]
    numbers = {int(n) for style in styles for n in re.findall(r"color\((\d+)\)", str(style))}
    assert numbers
    for number in numbers:
        light = luminance(Color.from_ansi(number).get_truecolor())
        assert min((light + 0.05) / 0.05, 1.05 / (light + 0.05)) >= 4.0, number
    drawn = {name for name in DEFAULT_STYLES if name.startswith(("bar.", "progress."))}
    for name in drawn - {"progress.description"}:
        color = stderr().get_style(name).color
        assert color is None or color.number in numbers, name
    named = re.compile(r"[\"'](?:bold )?(?:red|green|yellow|blue|magenta|cyan)[\"']")
    sources = [*(SOURCE / "cli").rglob("*.py"), *(SOURCE / "report").glob("*.py")]
    assert [path.name for path in sources if named.search(path.read_text())] == []


def luminance(color: tuple[int, int, int]) -> float:
    """Relative luminance, 0 to 1 (WCAG 2.1)."""

    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = map(linear, color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


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
        ("duckdb", "trace"),
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
