"""The words of a command line that are programs to be run, and where they stand in it; its paths.

What these programs start themselves is not known, nor what a word with a variable in it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchvise.why.provenance.shell.tokens import REDIRECTS, Token, tokens

_SHELL_VARIABLE = re.compile(r"[A-Za-z_]\w*=")

_BEFORE_A_COMMAND = {"if", "then", "elif", "else", "while", "until", "do", "!", "{"}
_AFTER_A_COMMAND = {"done", "fi", "esac", "}"}
_BEFORE_A_LIST = {"for", "select", "case"}

# These run the program that comes after their options.
_WRAPPERS = {
    *("env", "nice", "ionice", "chrt", "taskset", "time", "timeout", "sudo", "nohup", "setsid"),
    *("stdbuf", "exec", "command", "numactl", "setarch"),
}
_STARTERS = {"xargs"}
"""The same, and they do work of their own."""


@dataclass(frozen=True, slots=True)
class ProgramWord:
    """A word that calls a program: without its quotes, and which part of the command it is."""

    text: str
    begin: int
    end: int


def program_words(command: str) -> Iterator[ProgramWord]:
    """The words in their order; none where quotes or brackets are not closed."""
    expected, wrapped, listing, in_case, redirected = True, False, False, False, False
    for token in tokens([command], 1):
        if token.sign == "fd":
            continue
        if token.sign in REDIRECTS:
            redirected = True
            continue
        if token.sign:
            expected, wrapped, listing = True, False, in_case and token.sign == ";;"
            continue
        if redirected or listing:
            redirected = False
            continue
        if not expected or (not wrapped and token.plain in _BEFORE_A_COMMAND):
            continue
        if not wrapped and token.plain in _AFTER_A_COMMAND | _BEFORE_A_LIST:
            expected, listing = False, token.plain in _BEFORE_A_LIST
            in_case = token.plain == "case" or (in_case and token.plain != "esac")
            continue
        text = _text_of(token)
        if text is None:
            expected = wrapped
            continue
        if _is_assignment(token) or text.startswith("-"):
            continue
        name = text.rpartition("/")[2]
        is_number = text[:1].isdigit() and text.replace(".", "").isalnum()
        wrapped = wrapped or name in _WRAPPERS | _STARTERS
        # Options of wrappers take values that look like programs: those do not exist.
        expected = name in _WRAPPERS | _STARTERS or is_number
        if name not in _WRAPPERS and not text[:1].isdigit():
            yield ProgramWord(text, token.begin, token.end)


_PATH = re.compile(r"(?<![\w./-])/[\w.@+:-]+(?:/[\w.@+:-]+)*")
_NO_FILES = ("/dev/", "/proc/", "/sys/")


def paths_in(command: str) -> tuple[str, ...]:
    """The files and directories that a command names by their whole paths, each once."""
    paths = dict.fromkeys(_PATH.findall(command))
    return tuple(path for path in paths if not path.startswith(_NO_FILES))


def _text_of(token: Token) -> str | None:
    """The word without quotes; None where something in it is only known when it runs."""
    if any(piece.kind != "text" for piece in token.word):
        return None
    return "".join(piece.text for piece in token.word)


def _is_assignment(token: Token) -> bool:
    first = token.word[0] if token.word else None
    return first is not None and not first.quoted and bool(_SHELL_VARIABLE.match(first.text))
