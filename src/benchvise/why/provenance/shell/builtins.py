"""The commands that a shell, or coreutils beside it, brings along: what they print and change."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchvise.why.provenance.assignment import Line
from benchvise.why.provenance.globs import is_pattern
from benchvise.why.provenance.shell import commands
from benchvise.why.provenance.shell.state import (
    MOST_ROUNDS,
    UNKNOWABLE,
    UNKNOWN,
    Next,
    Result,
    Return,
    ScriptStop,
    Text,
    matches,
    spaced,
)

if TYPE_CHECKING:
    from benchvise.why.provenance.shell.run import Run


_VIRTUAL = ("/sys/", "/proc/", "/dev/")


@dataclass(frozen=True, slots=True)
class BuiltinCall:
    """A command as it is run: its words behind the name, its input, the line it stands in."""

    line: Line
    words: Sequence[Text]
    stdin: Text | None

    @property
    def texts(self) -> list[str]:
        """The words as texts."""
        return [word.text for word in self.words]


def _echo(_run: Run, call: BuiltinCall) -> Result:
    words = list(call.words)
    while words and words[0].text in ("-n", "-e", "-E", "-ne", "-en"):
        words.pop(0)
    return Result(True, spaced(words))


def _printf(_run: Run, call: BuiltinCall) -> Result:
    if not call.words:
        return Result()
    form = call.words[0].text.replace("\\n", "\n").replace("\\t", "\t")
    arguments = call.words[1:]
    if arguments and re.fullmatch(r"%[sdiu]\n?", form):
        return Result(True, spaced(arguments[:1]))
    parts = re.split(r"%[sdiux]", form)
    values = [word.text for word in arguments[: len(parts) - 1]]
    values += [""] * (len(parts) - 1 - len(values))
    out = "".join(part + value for part, value in zip(parts, [*values, ""], strict=True))
    return Result(True, Text(out.strip("\n"), spaced(call.words).source))


def _tee(run: Run, call: BuiltinCall) -> Result:
    value = Text(UNKNOWN) if call.stdin is None else call.stdin
    for word in call.words:
        if not word.text.startswith("-"):
            run.note(call.line, word, Text(value.text.strip("\n"), value.source, value.also))
    return Result(True, call.stdin)


def _cat(run: Run, call: BuiltinCall) -> Result:
    if not call.words:
        return Result(True, call.stdin)
    path = call.words[0].text
    if len(call.words) > 1 or not path.startswith("/") or path.startswith(_VIRTUAL):
        return UNKNOWABLE
    lines = run.state.tree.lines(path) if run.state.tree.need(path) else ()
    first = next((line for line in lines if line.text), None)
    return Result(True, Text(first.text, first)) if first and len(lines) <= 2 else UNKNOWABLE


def _test(_run: Run, call: BuiltinCall) -> Result:
    words = call.texts
    return Result(holds(words[:-1] if words[-1:] in (["]"], ["]]"]) else words))


def _set(run: Run, call: BuiltinCall) -> Result:
    if call.words and call.words[0].text == "--":
        run.state.arguments = call.words[1:]
    elif call.words and not call.words[0].text.startswith(("-", "+")):
        run.state.arguments = call.words
    return Result()


def _declare(run: Run, call: BuiltinCall) -> Result:
    for word in call.words:
        name, equals, value = word.text.partition("=")
        if equals and name.isidentifier():
            run.state.variables[name] = Text(value, word.source or call.line)
    return Result()


def _shift(run: Run, call: BuiltinCall) -> Result:
    count = call.words[0].text if call.words else "1"
    run.state.arguments = run.state.arguments[int(count[:4]) if count.isdecimal() else 1 :]
    return Result()


def _exit(_run: Run, _call: BuiltinCall) -> Result:
    raise ScriptStop


def _return(_run: Run, _call: BuiltinCall) -> Result:
    raise Return


def _next(_run: Run, _call: BuiltinCall) -> Result:
    raise Next


def _cd(run: Run, call: BuiltinCall) -> Result:
    if call.words:
        run.state.directory = posixpath.join(run.state.directory, call.words[0].text)
    return Result()


def _eval(run: Run, call: BuiltinCall) -> Result:
    return run.nested_text(call.line, spaced(call.words), [])


def _shell(run: Run, call: BuiltinCall) -> Result:
    words = list(call.words)
    while words and words[0].text.startswith(("-", "+")):
        option = words.pop(0).text
        if "c" in option and not option.startswith("--") and words:
            return run.nested_text(call.line, words[0], words[2:])
        if option == "-o" and words:
            words.pop(0)
    if words:
        run.nested_script(call.line, words[0].text, words[1:])
    return UNKNOWABLE


def _source(run: Run, call: BuiltinCall) -> Result:
    if call.words and UNKNOWN not in call.words[0].text:
        run.sourced(posixpath.join("/", call.words[0].text), call.words[1:])
    return Result()


def _seq(_run: Run, call: BuiltinCall) -> Result:
    given = [text for text in call.texts if text.lstrip("-").isdecimal() and len(text) < 9]
    if len(given) != len(call.words) or not 1 <= len(given) <= 3:
        return UNKNOWABLE
    values = [int(text) for text in given]
    first, step = (values[0] if len(values) > 1 else 1), (values[1] if len(values) == 3 else 1)
    if step <= 0 or (values[-1] - first) // step > MOST_ROUNDS:
        return UNKNOWABLE
    return Result(True, Text(" ".join(map(str, range(first, values[-1] + 1, step)))))


def _ls(_run: Run, call: BuiltinCall) -> Result:
    paths = [word for word in call.words if not word.text.startswith("-")]
    are_patterns = all(p.text.startswith("/") and is_pattern(p.text) for p in paths)
    return Result(True, spaced(paths)) if paths and are_patterns else UNKNOWABLE


def _find(_run: Run, call: BuiltinCall) -> Result:
    """``find DIRECTORY -name NAME``: any file of that name below it."""
    given = call.texts
    if len(given) > 2 and given[0].startswith("/") and "-name" in given[1:-1]:
        name = given[given.index("-name") + 1]
        return Result(True, Text(f"{given[0].rstrip('/')}/{UNKNOWN}/{name}"))
    return UNKNOWABLE


def _run_parts(run: Run, call: BuiltinCall) -> Result:
    arguments = [Text(text[6:]) for text in call.texts if text.startswith("--arg=")]
    for directory in [text for text in call.texts if text.startswith("/")][:4]:
        run.state.tree.need(f"{directory}/*")
        for path in run.state.tree.paths(f"{directory}/*")[:MOST_ROUNDS]:
            run.nested_script(call.line, path, arguments)
    return Result()


def _sysctl(run: Run, call: BuiltinCall) -> Result:
    """``sysctl -w name=value``; the words may hold variables of a configuration file."""
    source = spaced(call.words).source
    for target, value, own in commands.sysctl(call.texts, run.state.tree):
        given = None if own else source
        run.note(own or call.line, Text(target, given), Text(value, given))
    return Result()


BUILTINS: Mapping[str, Callable[[Run, BuiltinCall], Result]] = {
    "echo": _echo, "printf": _printf, "tee": _tee, "cat": _cat, "[": _test, "[[": _test,
    "test": _test, "set": _set, "local": _declare, "export": _declare, "readonly": _declare,
    "declare": _declare, "typeset": _declare, "shift": _shift, "exit": _exit,
    "return": _return, "continue": _next, "break": _next, "cd": _cd, "eval": _eval,
    "sh": _shell, "bash": _shell, "ash": _shell, "dash": _shell, ".": _source,
    "source": _source, "seq": _seq, "ls": _ls, "find": _find, "run-parts": _run_parts,
    "sysctl": _sysctl,
}  # fmt: skip


# -- what ``[ … ]`` says, as far as that can be known without running ------------------------------

# Commands that ask whether a program is there: it is.
_FILE_TESTS = frozenset(
    {*("-e", "-f", "-d", "-r", "-w", "-x", "-s"), *("-L", "-h", "-c", "-b", "-p", "-S")}
)
_CHANGING = ("/run/", "/tmp/", "/var/", "/dev/shm/")  # noqa: S108 - paths of a board
_NUMBERS: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b, "-ne": lambda a, b: a != b, "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b, "-gt": lambda a, b: a > b, "-ge": lambda a, b: a >= b,
}  # fmt: skip
_DEEPEST = 20


def holds(words: Sequence[str], deepest: int = _DEEPEST) -> bool | None:
    """Whether a test holds; None where that is not known. Files of the kernel are there."""
    words = list(words)
    if deepest == 0:
        return None
    for sign in ("-o", "||"):
        if sign in words[1:-1]:
            at = words.index(sign, 1)
            one, other = holds(words[:at], deepest - 1), holds(words[at + 1 :], deepest - 1)
            return True if one or other else None if None in (one, other) else False
    for sign in ("-a", "&&"):
        if sign in words[1:-1]:
            at = words.index(sign, 1)
            one, other = holds(words[:at], deepest - 1), holds(words[at + 1 :], deepest - 1)
            return False if False in (one, other) else None if None in (one, other) else True
    if words[:1] == ["!"]:
        inner = holds(words[1:], deepest - 1)
        return None if inner is None else not inner
    return _single_test(words)


def _single_test(words: list[str]) -> bool | None:
    if len(words) == 2 and words[0] in _FILE_TESTS:
        if words[1].startswith(_CHANGING) or UNKNOWN in words[1].partition("/")[0]:
            return None
        return bool(words[1])
    if words == ["-n"] or words == ["-z"]:  # an unquoted variable without a value
        return words == ["-z"]
    if any(UNKNOWN in word for word in words):
        return None
    if len(words) == 2 and words[0] in ("-n", "-z"):
        return bool(words[1]) == (words[0] == "-n")
    if len(words) == 1:
        return bool(words[0])
    if len(words) == 3:
        one, sign, other = words
        if sign in ("=", "=="):
            return matches(one, other)
        if sign == "!=":
            return not matches(one, other)
        if sign in _NUMBERS and _is_number(one) and _is_number(other):
            return _NUMBERS[sign](int(one), int(other))
    return None


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdecimal() and len(text) < 20
