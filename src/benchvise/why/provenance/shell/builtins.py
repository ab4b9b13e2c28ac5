"""The commands that a shell, or coreutils beside it, brings along: what they print and change."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchvise.why.provenance.assignment import Line
from benchvise.why.provenance.globs import is_pattern
from benchvise.why.provenance.shell import commands
from benchvise.why.provenance.shell.state import (
    MOST_ROUNDS,
    UNKNOWABLE,
    UNKNOWN,
    Interpreter,
    Next,
    Result,
    Return,
    ScriptStop,
    Text,
    matches,
    spaced,
)

_VIRTUAL = ("/sys/", "/proc/", "/dev/")


@dataclass(frozen=True, slots=True)
class BuiltinCall:
    """A command as it is run: its words behind the name, its input, the line it stands in."""

    line: Line
    arguments: Sequence[Text]
    stdin: Text | None

    @property
    def texts(self) -> list[str]:
        """The words as texts."""
        return [word.text for word in self.arguments]


def _echo(_run: Interpreter, call: BuiltinCall) -> Result:
    arguments = list(call.arguments)
    while arguments and arguments[0].text in ("-n", "-e", "-E", "-ne", "-en"):
        arguments.pop(0)
    return Result(True, spaced(arguments))


def _printf(_run: Interpreter, call: BuiltinCall) -> Result:
    if not call.arguments:
        return Result()
    form = call.arguments[0].text.replace("\\n", "\n").replace("\\t", "\t")
    arguments = call.arguments[1:]
    if arguments and re.fullmatch(r"%[sdiu]\n?", form):
        return Result(True, spaced(arguments[:1]))
    parts = re.split(r"%[sdiux]", form)
    values = [word.text for word in arguments[: len(parts) - 1]]
    values += [""] * (len(parts) - 1 - len(values))
    out = "".join(part + value for part, value in zip(parts, [*values, ""], strict=True))
    return Result(True, Text(out.strip("\n"), spaced(call.arguments).source))


def _tee(run: Interpreter, call: BuiltinCall) -> Result:
    value = Text(UNKNOWN) if call.stdin is None else call.stdin
    for word in call.arguments:
        if not word.text.startswith("-"):
            run.note(call.line, word, Text(value.text.strip("\n"), value.source, value.also))
    return Result(True, call.stdin)


def _cat(run: Interpreter, call: BuiltinCall) -> Result:
    if not call.arguments:
        return Result(True, call.stdin)
    path = call.arguments[0].text
    if len(call.arguments) > 1 or not path.startswith("/") or path.startswith(_VIRTUAL):
        return UNKNOWABLE
    lines = run.state.tree.lines(path) if run.state.tree.need(path) else ()
    first = next((line for line in lines if line.text), None)
    return Result(True, Text(first.text, first)) if first and len(lines) <= 2 else UNKNOWABLE


def _test(_run: Interpreter, call: BuiltinCall) -> Result:
    arguments = call.texts
    return Result(holds(arguments[:-1] if arguments[-1:] in (["]"], ["]]"]) else arguments))


def _set(run: Interpreter, call: BuiltinCall) -> Result:
    if call.arguments and call.arguments[0].text == "--":
        run.state.arguments = call.arguments[1:]
    elif call.arguments and not call.arguments[0].text.startswith(("-", "+")):
        run.state.arguments = call.arguments
    return Result()


def _declare(run: Interpreter, call: BuiltinCall) -> Result:
    for word in call.arguments:
        name, equals, value = word.text.partition("=")
        if equals and name.isidentifier():
            run.state.variables[name] = Text(value, word.source or call.line)
    return Result()


def _shift(run: Interpreter, call: BuiltinCall) -> Result:
    count = call.arguments[0].text if call.arguments else "1"
    run.state.arguments = run.state.arguments[int(count[:4]) if count.isdecimal() else 1 :]
    return Result()


def _exit(_run: Interpreter, _call: BuiltinCall) -> Result:
    raise ScriptStop


def _return(_run: Interpreter, _call: BuiltinCall) -> Result:
    raise Return


def _next(_run: Interpreter, _call: BuiltinCall) -> Result:
    raise Next


def _cd(run: Interpreter, call: BuiltinCall) -> Result:
    if call.arguments:
        run.state.directory = posixpath.join(run.state.directory, call.arguments[0].text)
    return Result()


def _eval(run: Interpreter, call: BuiltinCall) -> Result:
    return run.nested_text(call.line, spaced(call.arguments), [])


def _shell(run: Interpreter, call: BuiltinCall) -> Result:
    arguments = list(call.arguments)
    while arguments and arguments[0].text.startswith(("-", "+")):
        option = arguments.pop(0).text
        if "c" in option and not option.startswith("--") and arguments:
            return run.nested_text(call.line, arguments[0], arguments[2:])
        if option == "-o" and arguments:
            arguments.pop(0)
    if arguments:
        run.nested_script(call.line, arguments[0].text, arguments[1:])
    return UNKNOWABLE


def _source(run: Interpreter, call: BuiltinCall) -> Result:
    if call.arguments and UNKNOWN not in call.arguments[0].text:
        run.sourced(posixpath.join("/", call.arguments[0].text), call.arguments[1:])
    return Result()


def _seq(_run: Interpreter, call: BuiltinCall) -> Result:
    numbers = [text for text in call.texts if text.lstrip("-").isdecimal() and len(text) < 9]
    if len(numbers) != len(call.arguments) or not 1 <= len(numbers) <= 3:
        return UNKNOWABLE
    values = [int(text) for text in numbers]
    first, step = (values[0] if len(values) > 1 else 1), (values[1] if len(values) == 3 else 1)
    if step <= 0 or (values[-1] - first) // step > MOST_ROUNDS:
        return UNKNOWABLE
    return Result(True, Text(" ".join(map(str, range(first, values[-1] + 1, step)))))


def _ls(_run: Interpreter, call: BuiltinCall) -> Result:
    paths = [word for word in call.arguments if not word.text.startswith("-")]
    are_patterns = all(p.text.startswith("/") and is_pattern(p.text) for p in paths)
    return Result(True, spaced(paths)) if paths and are_patterns else UNKNOWABLE


def _find(_run: Interpreter, call: BuiltinCall) -> Result:
    """``find DIRECTORY -name NAME``: any file of that name below it."""
    arguments = call.texts
    if len(arguments) > 2 and arguments[0].startswith("/") and "-name" in arguments[1:-1]:
        name = arguments[arguments.index("-name") + 1]
        return Result(True, Text(f"{arguments[0].rstrip('/')}/{UNKNOWN}/{name}"))
    return UNKNOWABLE


def _run_parts(run: Interpreter, call: BuiltinCall) -> Result:
    arguments = [Text(text[6:]) for text in call.texts if text.startswith("--arg=")]
    for directory in [text for text in call.texts if text.startswith("/")][:4]:
        run.state.tree.need(f"{directory}/*")
        for path in run.state.tree.paths(f"{directory}/*")[:MOST_ROUNDS]:
            run.nested_script(call.line, path, arguments)
    return Result()


def _sysctl(run: Interpreter, call: BuiltinCall) -> Result:
    """``sysctl -w name=value``; the words may hold variables of a configuration file."""
    source = spaced(call.arguments).source
    for target, value, own in commands.sysctl(call.texts, run.state.tree):
        value_source = None if own else source
        run.note(own or call.line, Text(target, value_source), Text(value, value_source))
    return Result()


BUILTINS: Mapping[str, Callable[[Interpreter, BuiltinCall], Result]] = {
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


def holds(arguments: Sequence[str], deepest: int = _DEEPEST) -> bool | None:
    """Whether a test holds; None where that is not known. Files of the kernel are there."""
    arguments = list(arguments)
    if deepest == 0:
        return None
    for sign in ("-o", "||"):
        if sign in arguments[1:-1]:
            at = arguments.index(sign, 1)
            first, second = (
                holds(arguments[:at], deepest - 1),
                holds(arguments[at + 1 :], deepest - 1),
            )
            return True if first or second else None if None in (first, second) else False
    for sign in ("-a", "&&"):
        if sign in arguments[1:-1]:
            at = arguments.index(sign, 1)
            first, second = (
                holds(arguments[:at], deepest - 1),
                holds(arguments[at + 1 :], deepest - 1),
            )
            return False if False in (first, second) else None if None in (first, second) else True
    if arguments[:1] == ["!"]:
        inner = holds(arguments[1:], deepest - 1)
        return None if inner is None else not inner
    return _single_test(arguments)


def _single_test(arguments: list[str]) -> bool | None:
    if len(arguments) == 2 and arguments[0] in _FILE_TESTS:
        if arguments[1].startswith(_CHANGING) or UNKNOWN in arguments[1].partition("/")[0]:
            return None
        return bool(arguments[1])
    if arguments == ["-n"] or arguments == ["-z"]:  # an unquoted variable without a value
        return arguments == ["-z"]
    if any(UNKNOWN in word for word in arguments):
        return None
    if len(arguments) == 2 and arguments[0] in ("-n", "-z"):
        return bool(arguments[1]) == (arguments[0] == "-n")
    if len(arguments) == 1:
        return bool(arguments[0])
    if len(arguments) == 3:
        first, sign, second = arguments
        if sign in ("=", "=="):
            return matches(first, second)
        if sign == "!=":
            return not matches(first, second)
        if sign in _NUMBERS and _is_number(first) and _is_number(second):
            return _NUMBERS[sign](int(first), int(second))
    return None


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdecimal() and len(text) < 20
