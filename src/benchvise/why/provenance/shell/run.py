"""Going through a script as a shell would, with what is known, and noting what it sets.

Nothing is run. A condition that cannot be known lets its commands count as uncertain; a test
whether a file is there counts as true, as scripts ask that to be careful. Loops over files are
gone through once with the pattern itself: ``for f in /sys/…/policy*/scaling_governor``. What a
script finds out when it runs stands as ``**`` in a path, and makes a value unknown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase

from benchvise.why.provenance.assignment import Line
from benchvise.why.provenance.files import Tree
from benchvise.why.provenance.globs import ANYTHING, is_pattern
from benchvise.why.provenance.shell import commands, tests
from benchvise.why.provenance.shell.syntax import (
    Case,
    Chain,
    For,
    Function,
    Group,
    If,
    Node,
    Pipeline,
    Redirect,
    Simple,
    While,
    Word,
    parse,
)
from benchvise.why.provenance.shell.text import UNKNOWN, Text, expand_braces, sum_of

MOST_STEPS = 20_000
MOST_ROUNDS = 64
MOST_WORDS = 512
_DEEPEST = 12
_FOLLOWED = 2
_LONGEST = 4096

_SHELL = re.compile(
    r"#!\s*(?:/usr/bin/env\s+)?\S*?(?:sh|busybox|openrc-run|runscript|rc\.common)\b"
)
_PATHS = ("/usr/local/sbin", "/usr/local/bin")
_MORE_PATHS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
_VIRTUAL = ("/sys/", "/proc/", "/dev/")
_PARAMETER = re.compile(r"([A-Za-z_]\w*|[0-9@*#?!$-])(?:(:?[-=+?]|##?|%%?)(.*))?", re.DOTALL)
# Words before a command that leave it what it is; those with a number take as many arguments.
_WRAPPERS = {
    "sudo": 0, "nohup": 0, "exec": 0, "command": 0, "builtin": 0, "time": 0, "setsid": 0,
    "env": 0, "timeout": 1, "busybox": 0, "nice": 0, "ionice": 0, "start-stop-daemon": 0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Written:
    """What a line sets: ``value`` is None where it is not known."""

    line: Line
    target: str
    value: str | None
    certain: bool = True
    note: str = ""


class _Stop(Exception):  # noqa: N818
    """``exit``, or the steps are used up."""


class _Return(Exception):  # noqa: N818
    """``return``."""


class _Next(Exception):  # noqa: N818
    """``continue`` or ``break``."""


@dataclass(slots=True)
class _Result:
    """How a command ended, None where that is not known, and what it printed."""

    status: bool | None = True
    out: Text | None = None


class Run:
    """One script. ``written`` holds what it sets, in order."""

    def __init__(self, tree: Tree, variables: Mapping[str, Text] | None = None) -> None:
        self.written: list[Written] = []
        self._tree = tree
        self._variables: dict[str, Text] = dict(variables or {})
        self._functions: dict[str, Node] = {}
        self._arguments: list[Text] = []
        self._file = ""
        self._lines: Sequence[Line] = ()
        self._calls: list[Line] = []  # where functions and other scripts are called
        self._doubts: list[str] = []
        self._steps = 0
        self._depth = 0
        self._followed = 0
        self._directory = "/"

    def script(self, path: str, arguments: Sequence[str] = (), function: str = "") -> None:
        """A whole script with these arguments; then, as OpenRC does, one of its functions."""
        self._in_file(self._tree.lines(path), [Text(word) for word in arguments], path, function)

    def text(self, line: Line, text: str, arguments: Sequence[str] = ()) -> None:
        """Commands that stand in a line of a file of another kind."""
        lines = [Line(line.file, line.number, line.text)]
        body = parse(text.split("\n"), line.number)
        with self._inside(line.file, lines, [Text(word) for word in arguments]):
            self._whole(body)

    def words(self, line: Line, words: Sequence[str]) -> None:
        """One command of a line, its words already taken apart."""
        with self._inside(line.file, [line], []):
            self._whole_words(line, [Text(word) for word in words])

    def source(self, path: str) -> None:
        """Takes over the variables of a file."""
        self._in_file(self._tree.lines(path), [], path, "")

    # Scripts and functions

    def _in_file(
        self, lines: Sequence[Line], arguments: list[Text], path: str, function: str
    ) -> None:
        body = parse([line.text for line in lines])
        with self._inside(path, lines, arguments):
            self._whole(body)
            if function in self._functions:
                self._whole(self._functions[function])

    @contextmanager
    def _inside(self, path: str, lines: Sequence[Line], arguments: list[Text]) -> Iterator[None]:
        before = self._file, self._lines, self._arguments
        self._file, self._lines, self._arguments = path, lines, arguments
        try:
            yield
        finally:
            self._file, self._lines, self._arguments = before

    def _whole(self, body: Node) -> None:
        try:
            self._do(body, None)
        except (_Stop, _Return, _Next, RecursionError):
            return

    def _whole_words(self, line: Line, words: list[Text]) -> None:
        try:
            self._command(line, words, None)
        except (_Stop, _Return, _Next, RecursionError):
            return

    @contextmanager
    def _doubting(self, reason: str) -> Iterator[None]:
        self._doubts.append(reason)
        try:
            yield
        finally:
            self._doubts.pop()

    # Nodes

    def _do(self, node: Node, stdin: Text | None) -> _Result:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise _Stop
        match node:
            case Simple():
                return self._simple(node, stdin)
            case Group():
                return self._group(node, stdin)
            case Chain():
                return self._chain(node, stdin)
            case Pipeline():
                return self._pipeline(node, stdin)
            case If():
                return self._if(node, stdin)
            case For():
                return self._for(node, stdin)
            case While():
                return self._while(node, stdin)
            case Case():
                return self._case(node, stdin)
            case Function():
                self._functions[node.name] = node.body
                return _Result()

    def _group(self, node: Group, stdin: Text | None) -> _Result:
        given = self._input(node.redirects, stdin)
        last = _Result(True, Text(""))
        for part in node.body:
            result = self._do(part, given)
            last = _Result(result.status, result.out if result.out is not None else last.out)
        if node.redirects:
            line = self._line(0)
            self._output(line, node.redirects, last.out)
        return last

    def _chain(self, node: Chain, stdin: Text | None) -> _Result:
        result = self._do(node.first, stdin)
        for sign, part in node.rest:
            if result.status is None:
                with self._doubting("whether it is run depends on what is found then"):
                    try:
                        self._do(part, stdin)
                    except (_Stop, _Return, _Next):
                        if self._steps > MOST_STEPS:
                            raise
            elif result.status == (sign == "&&"):
                result = self._do(part, stdin)
        return result

    def _pipeline(self, node: Pipeline, stdin: Text | None) -> _Result:
        given = stdin
        result = _Result()
        for part in node.parts:
            result = self._do(part, given)
            given = result.out if result.out is not None else Text(UNKNOWN)
        if node.negated:
            return _Result(None if result.status is None else not result.status, result.out)
        return result

    def _if(self, node: If, stdin: Text | None) -> _Result:
        unknown = False
        for condition, body in node.branches:
            holds = True if condition is None else self._do(condition, stdin).status
            if holds is False:
                continue
            if holds and not unknown:
                return self._do(body, stdin)
            with self._doubting("it is run only under a condition"):
                try:
                    self._do(body, stdin)
                except (_Stop, _Return, _Next):
                    if self._steps > MOST_STEPS:
                        raise
            if holds:
                break
            unknown = True
        return _Result(None)

    def _for(self, node: For, stdin: Text | None) -> _Result:
        words = self._arguments if node.words is None else self._expanded(node.words, node.line)
        for word in words[:MOST_ROUNDS]:
            for found in self._matching(word):
                self._variables[node.variable] = found
                try:
                    self._do(node.body, stdin)
                except _Next:
                    continue
        return _Result(None)

    def _matching(self, word: Text) -> list[Text]:
        """The files that a word means, where it is a pattern of files that can be known."""
        if not is_pattern(word.text) or word.text.startswith(_VIRTUAL) or UNKNOWN in word.text:
            return [word]
        if not word.text.startswith("/"):
            return [word]
        self._tree.need(word.text)
        return [Text(path) for path in self._tree.paths(word.text)[:MOST_ROUNDS]]

    def _while(self, node: While, stdin: Text | None) -> _Result:
        status = self._do(node.condition, stdin).status
        if status is False:
            return _Result(True)
        try:
            self._do(node.body, None)
        except _Next:
            pass
        return _Result(None)

    def _case(self, node: Case, stdin: Text | None) -> _Result:
        subject = self._joined(node.word)
        for patterns, body in node.branches:
            known = [self._joined(pattern) for pattern in patterns]
            if UNKNOWN in subject.text or any(UNKNOWN in text.text for text in known):
                with self._doubting("it is run in one case of several"):
                    try:
                        self._do(body, stdin)
                    except (_Stop, _Return, _Next):
                        if self._steps > MOST_STEPS:
                            raise
            elif any(fnmatchcase(subject.text, text.text) for text in known):
                return self._do(body, stdin)
        return _Result(None)

    # Commands

    def _simple(self, node: Simple, stdin: Text | None) -> _Result:
        line = self._line(node.line)
        given = self._input(node.redirects, stdin)
        words = self._expanded(node.words, node.line)
        if not words:
            for name, word in node.given:
                value = self._joined(word)
                self._variables[name] = Text(value.text[:_LONGEST], value.source or line)
            return _Result()
        if words[0].text in ("for", "while") or len(words) > MOST_WORDS:
            return _Result(None)
        result = self._command(line, words, given)
        if node.redirects:
            self._output(line, node.redirects, result.out)
            if any(redirect.sign[0] in ">&" for redirect in node.redirects):
                return _Result(result.status, Text(""))
        return result

    def _command(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        words = self._unwrapped(words)
        if not words:
            return _Result()
        name = words[0].text
        if name in self._functions:
            return self._call(line, self._functions[name], words[1:], stdin)
        base = posixpath.basename(name)
        builtin = _BUILTINS.get(base)
        if builtin is not None:
            return builtin(self, line, words, stdin)
        known = commands.COMMANDS.get(base)
        if known is not None:
            for found in known(commands.Call([word.text for word in words[1:]], self._tree)):
                source = next(
                    (
                        w.source
                        for w in words[1:]
                        if found.value and w.source and w.text == found.value
                    ),
                    None,
                )
                self._note(found.line or line, found.target, Text(found.value or UNKNOWN, source))
            rest = commands.run_by(base, [word.text for word in words])
            if rest:
                return self._command(line, [Text(word) for word in rest], stdin)
            return _Result()
        if base in tests.UNKNOWABLE:
            return _Result(None, Text(UNKNOWN))
        self._follow(line, name, words[1:])
        return _Result(True if base not in tests.ASKING else None, Text(UNKNOWN))

    def _unwrapped(self, words: list[Text]) -> list[Text]:
        while words and (base := posixpath.basename(words[0].text)) in _WRAPPERS:
            skip = _WRAPPERS[base]
            words = words[1:]
            while words and (words[0].text.startswith("-") or "=" in words[0].text):
                if base == "start-stop-daemon" and words[0].text == "--":
                    break
                option = words.pop(0).text if isinstance(words, list) else ""
                takes = option in ("-n", "-c", "-p", "-u", "-k", "-s") and base != "busybox"
                if takes and words and (base != "exec"):
                    words = words[1:]
            words = words[skip:]
        return words

    def _call(self, line: Line, body: Node, arguments: list[Text], stdin: Text | None) -> _Result:
        if self._depth >= _DEEPEST:
            return _Result(None)
        before = self._arguments
        self._arguments = arguments
        self._calls.append(line)
        self._depth += 1
        try:
            return self._do(body, stdin)
        except _Return:
            return _Result(None)
        finally:
            self._depth -= 1
            self._calls.pop()
            self._arguments = before

    def _follow(self, line: Line, name: str, arguments: list[Text]) -> None:
        """Another script that is run, up to two levels down."""
        if self._followed >= _FOLLOWED or UNKNOWN in name or not name.isprintable():
            return
        if "/" in name:
            places: Iterable[str] = (posixpath.normpath(posixpath.join(self._directory, name)),)
        elif name.endswith(".sh"):
            places = (f"{directory}/{name}" for directory in (*_PATHS, *_MORE_PATHS))
        else:
            places = (f"{directory}/{name}" for directory in _PATHS)
        for path in places:
            if self._tree.need(path) and is_shell_script(self._tree, path):
                self._nested(line, path, arguments)
                return

    def _nested(self, line: Line, path: str, arguments: list[Text]) -> None:
        inner = Run(self._tree, self._variables)
        inner._followed = self._followed + 1
        inner._steps = self._steps
        inner._doubts = list(self._doubts)
        inner.script(path, [word.text for word in arguments])
        self._steps = inner._steps
        by = f"run by {line.where}"
        for found in inner.written:
            note = f"{found.note}; {by}" if found.note else by
            self.written.append(Written(found.line, found.target, found.value, found.certain, note))

    # What is set

    def _note(self, line: Line, target: str, value: Text) -> None:
        target = self._place(target)
        if not target:
            return
        called = self._calls[0] if self._calls and self._calls[0].file == line.file else line
        where, note = called, ""
        if value.source is not None and value.source.file != called.file:
            where, note = value.source, f"written by {called.where}"
        doubt = self._doubts[-1] if self._doubts else ""
        if UNKNOWN in target and not doubt:
            doubt = "for what the script finds when it runs"
        self.written.append(
            Written(
                where,
                target.replace(UNKNOWN, ANYTHING),
                None if UNKNOWN in value.text else value.text,
                not doubt,
                "; ".join(part for part in (note, doubt) if part),
            )
        )

    def _place(self, target: str) -> str:
        """The path of a file of the kernel; empty for any other file."""
        if ":" in target.partition("/")[0]:
            return target if UNKNOWN not in target.partition(":")[0] else ""
        if UNKNOWN in posixpath.basename(target) or len(target) > _LONGEST:
            return ""
        if not target.startswith(("/", UNKNOWN)):
            target = posixpath.join(self._directory, target)
        if ".." in target or "//" in target:
            target = posixpath.normpath(target)
        kernel = target.startswith(("/sys/", "/proc/", UNKNOWN, "/dev/cpuset/", "/cgroup/"))
        return target if kernel else ""

    def _output(self, line: Line, redirects: Sequence[Redirect], out: Text | None) -> None:
        for redirect in redirects:
            if redirect.sign in (">", ">>", ">|", "&>", "&>>"):
                for path in self._split(redirect.word)[:MOST_ROUNDS]:
                    value = Text(UNKNOWN) if out is None else out
                    self._note(line, path.text, Text(value.text.strip("\n"), value.source))

    def _input(self, redirects: Sequence[Redirect], stdin: Text | None) -> Text | None:
        for redirect in redirects:
            if redirect.sign == "<<<":
                return self._joined(redirect.word)
            if redirect.sign == "<":
                return Text(UNKNOWN)
        return stdin

    # Words

    def _line(self, number: int) -> Line:
        if len(self._lines) == 1:
            return self._lines[0]
        if 0 < number <= len(self._lines):
            return self._lines[number - 1]
        return Line(self._file, number, "")

    def _expanded(self, words: Iterable[Word], line: int) -> list[Text]:
        found: list[Text] = []
        for word in words:
            found += self._split(word)
            if len(found) > MOST_WORDS:
                return found[:MOST_WORDS]
        return found

    def _split(self, word: Word) -> list[Text]:
        """A word as the words it becomes: unquoted expansions are split at white space."""
        fields: list[Text] = []
        open_field: Text | None = None
        for piece in word:
            value = self._piece(piece.kind, piece.text)
            if piece.kind == "text" or piece.quoted:
                if piece.kind == "variable" and piece.text in ("@",) and piece.quoted:
                    fields += self._arguments
                    continue
                open_field = value if open_field is None else open_field + value
                continue
            parts = value.text.split()
            if value.text[:1].isspace() and open_field is not None:
                fields.append(open_field)
                open_field = None
            for index, part in enumerate(parts):
                if index and open_field is not None:
                    fields.append(open_field)
                    open_field = None
                text = Text(part, value.source)
                open_field = text if open_field is None else open_field + text
        if open_field is not None:
            fields.append(open_field)
        if any(piece.kind == "text" and not piece.quoted and "{" in piece.text for piece in word):
            return [Text(text, f.source) for f in fields for text in expand_braces(f.text)]
        return fields

    def _joined(self, word: Word) -> Text:
        """A word that is not split: the value of a variable, the word of a case."""
        value = Text("")
        for index, piece in enumerate(word):
            part = self._piece(piece.kind, piece.text)
            value = part if index == 0 else value + part
        return value

    def _piece(self, kind: str, text: str) -> Text:
        match kind:
            case "variable":
                return self._variable(text)
            case "command":
                return self._captured(text)
            case "sum":
                return Text(sum_of(text, {n: v.text for n, v in self._variables.items()}))
        return Text(text)

    def _variable(self, text: str) -> Text:
        match = _PARAMETER.fullmatch(text)
        if match is None:
            return Text(UNKNOWN)
        name, operator, word = match[1], match[2] or "", match[3] or ""
        value = self._value(name)
        if operator.lstrip(":") in ("-", "="):
            empty = value is None or (operator[0] == ":" and not value.text)
            value = self._of_text(word) if empty else value
        elif operator.lstrip(":") == "+":
            return self._of_text(word) if value is not None and value.text else Text("")
        elif operator and operator[0] in "#%" and value is not None:
            pattern = self._of_text(word).text
            return Text(_without(value.text, operator, pattern), value.source)
        return Text(UNKNOWN) if value is None else value

    def _value(self, name: str) -> Text | None:
        if name.isdigit():
            if name == "0":
                return Text(self._file)
            index = int(name) - 1
            return self._arguments[index] if index < len(self._arguments) else Text("")
        if name in "@*":
            return Text(" ".join(word.text for word in self._arguments))
        if name == "#":
            return Text(str(len(self._arguments)))
        return self._variables.get(name)

    def _of_text(self, text: str) -> Text:
        if "$" not in text and "`" not in text:
            return Text(text.strip("\"'"))
        body = parse([f"x={text}"])
        first = body.body[0] if body.body else None
        if isinstance(first, Simple) and first.given:
            return self._joined(first.given[0][1])
        return Text(UNKNOWN)

    def _captured(self, text: str) -> Text:
        """What a command prints, for those few whose output can be known."""
        if self._depth >= _DEEPEST or len(text) > _LONGEST:
            return Text(UNKNOWN)
        self._depth += 1
        try:
            out = self._do(parse(text.split("\n"), 0), None).out
        except (_Stop, _Return, _Next):
            return Text(UNKNOWN)
        finally:
            self._depth -= 1
        return Text(UNKNOWN) if out is None else Text(out.text.rstrip("\n"), out.source)

    # Builtins

    def _echo(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        rest = words[1:]
        while rest and rest[0].text in ("-n", "-e", "-E", "-ne", "-en"):
            rest = rest[1:]
        return _Result(True, _spaced(rest))

    def _printf(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        if len(words) < 2:
            return _Result()
        form = words[1].text.replace("\\n", "\n").replace("\\t", "\t")
        arguments = words[2:]
        if not arguments:
            return _Result(True, Text(form.strip("\n"), words[1].source))
        if re.fullmatch(r"%[sdiu]\n?", form):
            return _Result(True, _spaced(arguments[:1]))
        out = form
        for word in arguments:
            out = re.sub(r"%[sdiux]", lambda _, text=word.text: text, out, count=1)
        return _Result(True, Text(out.strip("\n")))

    def _tee(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        value = Text(UNKNOWN) if stdin is None else stdin
        for word in words[1:]:
            if not word.text.startswith("-"):
                self._note(line, word.text, Text(value.text.strip("\n"), value.source))
        return _Result(True, stdin)

    def _cat(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        if len(words) == 1:
            return _Result(True, stdin)
        path = words[1].text
        if len(words) == 2 and path.startswith("/") and not path.startswith(_VIRTUAL):
            if self._tree.need(path):
                first = next((found for found in self._tree.lines(path) if found.text), None)
                if first is not None and len(self._tree.lines(path)) <= 2:
                    return _Result(True, Text(first.text, first))
        return _Result(True, Text(UNKNOWN))

    def _test(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        given = [word.text for word in words[1:]]
        if given and given[-1] in ("]", "]]"):
            given = given[:-1]
        return _Result(tests.holds(given))

    def _set(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        rest = words[1:]
        if rest and (rest[0].text == "--" or not rest[0].text.startswith(("-", "+"))):
            self._arguments = rest[1:] if rest[0].text == "--" else rest
        return _Result()

    def _declare(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        for word in words[1:]:
            name, equals, value = word.text.partition("=")
            if equals and name.isidentifier():
                self._variables[name] = Text(value, word.source or line)
        return _Result()

    def _shift(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        count = int(words[1].text) if len(words) > 1 and words[1].text.isdecimal() else 1
        self._arguments = self._arguments[min(count, len(self._arguments)) :]
        return _Result()

    def _exit(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        raise _Stop

    def _return(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        raise _Return

    def _next(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        raise _Next

    def _cd(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        if len(words) > 1:
            self._directory = posixpath.join(self._directory, words[1].text)
        return _Result()

    def _eval(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        return self._inner(line, _spaced(words[1:]), [])

    def _shell(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        rest = words[1:]
        while rest and rest[0].text.startswith(("-", "+")):
            option = rest[0].text
            rest = rest[1:]
            if "c" in option and not option.startswith("--") and rest:
                return self._inner(line, rest[0], rest[2:])
            if option == "-o":
                rest = rest[1:]
        if rest:
            path = posixpath.normpath(posixpath.join(self._directory, rest[0].text))
            if self._followed < _FOLLOWED and self._tree.need(path):
                self._nested(line, path, rest[1:])
        return _Result(True, Text(UNKNOWN))

    def _inner(self, line: Line, text: Text, arguments: list[Text]) -> _Result:
        if self._depth >= _DEEPEST:
            return _Result(None)
        self._depth += 1
        before = self._arguments, self._lines
        self._arguments, self._lines = arguments, [line]
        try:
            return self._do(parse(text.text.split("\n"), line.number), None)
        except (_Return, _Next):
            return _Result(None)
        finally:
            self._arguments, self._lines = before
            self._depth -= 1

    def _source(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        if len(words) < 2 or self._depth >= _DEEPEST or UNKNOWN in words[1].text:
            return _Result()
        path = posixpath.normpath(posixpath.join("/", words[1].text))
        if not self._tree.need(path):
            return _Result()
        self._depth += 1
        self._calls, calls = [], self._calls
        try:
            body = parse([found.text for found in self._tree.lines(path)])
            with self._inside(path, self._tree.lines(path), words[2:] or self._arguments):
                self._do(body, None)
        except (_Return, _Next):
            pass
        finally:
            self._calls = calls
            self._depth -= 1
        return _Result()

    def _seq(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        numbers = [word.text for word in words[1:] if word.text.lstrip("-").isdecimal()]
        if len(numbers) != len(words) - 1 or not 1 <= len(numbers) <= 3:
            return _Result(True, Text(UNKNOWN))
        values = [int(number[:9]) for number in numbers]
        first, step, last = (
            (1, 1, values[0])
            if len(values) == 1
            else (values[0], 1, values[1])
            if len(values) == 2
            else (values[0], values[1], values[2])
        )
        if step <= 0 or (last - first) // step > MOST_ROUNDS:
            return _Result(True, Text(UNKNOWN))
        return _Result(True, Text(" ".join(map(str, range(first, last + 1, step)))))

    def _ls(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        paths = [word for word in words[1:] if not word.text.startswith("-")]
        whole = [p for p in paths if p.text.startswith("/") and is_pattern(p.text)]
        return _Result(
            True, _spaced(whole) if whole and len(whole) == len(paths) else Text(UNKNOWN)
        )

    def _find(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        """``find DIRECTORY -name NAME``: any file of that name below it."""
        given = [word.text for word in words]
        if len(given) > 3 and given[1].startswith("/") and "-name" in given[2:-1]:
            name = given[given.index("-name") + 1]
            return _Result(True, Text(f"{given[1].rstrip('/')}/{UNKNOWN}/{name}"))
        return _Result(True, Text(UNKNOWN))

    def _run_parts(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        directories = [w.text for w in words[1:] if w.text.startswith("/")]
        arguments = [Text(w.text[6:]) for w in words[1:] if w.text.startswith("--arg=")]
        for directory in directories[:4]:
            self._tree.need(f"{directory}/*")
            for path in self._tree.paths(f"{directory}/*")[:MOST_ROUNDS]:
                if self._followed < _FOLLOWED and is_shell_script(self._tree, path):
                    self._nested(line, path, arguments)
        return _Result()

    def _sysctl(self, line: Line, words: list[Text], stdin: Text | None) -> _Result:
        """``sysctl -w name=value``: the words may hold variables of a configuration file."""
        for target, value, own in commands.sysctl([word.text for word in words[1:]], self._tree):
            source = next((w.source for w in words[1:] if w.source), None)
            self._note(own or line, target, Text(value, None if own else source))
        return _Result()


def is_shell_script(tree: Tree, path: str) -> bool:
    """Whether a file's first line says that a shell runs it."""
    lines = tree.lines(path)
    return bool(lines) and _SHELL.match(lines[0].text[:200]) is not None


_BUILTINS = {
    "echo": Run._echo, "printf": Run._printf, "tee": Run._tee, "cat": Run._cat,
    "[": Run._test, "[[": Run._test, "test": Run._test, "set": Run._set,
    "local": Run._declare, "export": Run._declare, "readonly": Run._declare,
    "declare": Run._declare, "typeset": Run._declare, "shift": Run._shift,
    "exit": Run._exit, "return": Run._return, "continue": Run._next, "break": Run._next,
    "cd": Run._cd, "eval": Run._eval, "sh": Run._shell, "bash": Run._shell, "ash": Run._shell,
    "dash": Run._shell, ".": Run._source, "source": Run._source, "seq": Run._seq, "ls": Run._ls,
    "find": Run._find, "run-parts": Run._run_parts, "sysctl": Run._sysctl,
}  # fmt: skip


def _spaced(words: Sequence[Text]) -> Text:
    sources = [word.source for word in words if word.source is not None]
    return Text(" ".join(word.text for word in words), sources[0] if sources else None)


def _without(value: str, operator: str, pattern: str) -> str:
    """``${name%.*}`` and the like; what is not known stays unknown."""
    if UNKNOWN in value or UNKNOWN in pattern or len(value) > 512:
        return UNKNOWN
    ends = operator[0] == "%"
    lengths = range(len(value) + 1)
    for length in lengths if len(operator) == 1 else reversed(lengths):
        part = value[len(value) - length :] if ends else value[:length]
        if fnmatchcase(part, pattern):
            return value[: len(value) - length] if ends else value[length:]
    return value
