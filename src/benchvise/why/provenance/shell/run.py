"""Going through a script as a shell would, with what is known, and noting what it sets.

Nothing is run. A condition that cannot be known lets its commands count as uncertain; a test
whether a file is there counts as true, as scripts ask that to be careful. Loops over files are
gone through once with the pattern itself: ``for f in /sys/…/policy*/scaling_governor``. What a
script finds out when it runs stands as ``**`` in a path, and makes a value unknown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

from benchvise.why.provenance.assignment import Assignment, Line
from benchvise.why.provenance.files import Tree
from benchvise.why.provenance.globs import ANYTHING, is_pattern
from benchvise.why.provenance.shell import commands
from benchvise.why.provenance.shell.builtins import BUILTINS, BuiltinCall
from benchvise.why.provenance.shell.state import (
    DEEPEST,
    FOLLOWED,
    LONGEST,
    MOST_ROUNDS,
    UNKNOWN,
    Expansion,
    Next,
    Result,
    Return,
    ScriptStop,
    State,
    Text,
    Written,
    matches,
)
from benchvise.why.provenance.shell.syntax import (
    Case,
    Chain,
    CompoundCommand,
    For,
    Function,
    If,
    Node,
    Pipeline,
    Redirect,
    Simple,
    While,
    parse,
)

# How many words follow before the command, and which options take a word of their own.
_WRAPPERS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "sudo": (0, ("-u", "-g", "-p")), "nohup": (0, ()), "exec": (0, ("-a",)),
    "command": (0, ()), "builtin": (0, ()), "time": (0, ()), "setsid": (0, ()),
    "env": (0, ("-u",)), "timeout": (1, ("-k", "-s")), "busybox": (0, ()),
    "nice": (0, ("-n",)), "ionice": (0, ("-c", "-n")), "doas": (0, ("-u",)),
    "eatmydata": (0, ()), "unshare": (0, ()), "setpriv": (0, ()),
}  # fmt: skip


def unwrapped(command: Sequence[Text]) -> Sequence[Text]:
    """The command behind words that leave it what it is: sudo, env, nice, busybox and the like.

    Nothing where there is none.
    """
    while command and (name := posixpath.basename(command[0].text)) in _WRAPPERS:
        skip, options = _WRAPPERS[name]
        at = 1
        while at < len(command) and (command[at].text.startswith("-") or "=" in command[at].text):
            at += 2 if command[at].text in options else 1
        command = command[at + skip :]
    return command


_SHELL = re.compile(r"#!\s*\S*?(?:sh|busybox|openrc-run|runscript|rc\.common|env\s+\w*sh)\b")
_PATHS = ("/usr/local/sbin", "/usr/local/bin")
_MORE_PATHS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
_VIRTUAL = ("/sys/", "/proc/", "/dev/")
_OF_KERNEL = ("/sys/", "/proc/", UNKNOWN, "/dev/cpuset/", "/cgroup/")
_ENDS = (ScriptStop, Return, Next, RecursionError)

_UNDER_CONDITION = "it is run only under a condition"
_IN_ONE_CASE = "it is run in one case of several"
_AFTER_ANOTHER = "whether it is run depends on how another command ends"
_ONE_OF_SEVERAL = "which of several values it is, depends on what is found then"
_AT_RUN_TIME = "for what the script finds when it runs"


class Run:
    """One script. ``written`` holds what it sets, in order."""

    def __init__(self, tree: Tree, variables: Mapping[str, Text] | None = None) -> None:
        self.written: list[Written] = []
        self.state = State(tree, dict(variables or {}))
        self._expansion = Expansion(self.state, self._captured)

    def script(self, path: str, arguments: Sequence[str] = (), function: str = "") -> None:
        """A whole script with these arguments; then, as OpenRC does, one of its functions."""
        lines = self.state.tree.lines(path)
        with self.state.inside(path, lines, [Text(word) for word in arguments]), suppress(*_ENDS):
            self._do(_parsed(lines), None)
            if function in self.state.functions:
                self._do(self.state.functions[function], None)

    def text(self, line: Line, text: str, arguments: Sequence[str] = ()) -> None:
        """Commands that stand in a line of a file of another kind."""
        body = parse(text.split("\n"), line.number)
        with self.state.inside(line.file, [line], [Text(word) for word in arguments]):
            self._quietly(lambda: self._do(body, None))

    def command(self, line: Line, command: Sequence[str]) -> None:
        """One command of a line, its words already taken apart: variables in them are filled."""
        with self.state.inside(line.file, [line], []):
            filled = [self._filled(word) for word in command]
            self._quietly(lambda: self._command(line, filled, None))

    def source(self, path: str) -> None:
        """Takes over the variables of a file."""
        self._quietly(lambda: self.sourced(path, ()))

    def assignments(
        self, kind: str, when: tuple[int, ...], doubt: str = ""
    ) -> Iterator[Assignment]:
        """What was set, as assignments of a kind; ``doubt`` says why it may not be run at all."""
        for index, setting in enumerate(self.written):
            yield Assignment(
                kind, setting.line, setting.target, setting.value, (*when, index),
                setting.certain and not doubt, "; ".join(filter(None, (setting.note, doubt))),
            )  # fmt: skip

    def note(self, line: Line, target: Text, value: Text) -> None:
        """A line sets a target, if that is one of the kernel's."""
        place = self._place(target.text)
        if not place:
            return
        where, note = line, ""
        if value.source is not None and value.source.file != line.file:
            where, note = value.source, f"written by {line.where}"
        else:  # a function that is told path or value: where it is called stands what is set
            callers = [s for s in (value.source, target.source) if s in self.state.calls]
            where = next((s for s in callers if s is not None), line)
        doubt = self.state.doubts[-1] if self.state.doubts else ""
        if UNKNOWN in place and not doubt:
            doubt = _AT_RUN_TIME
        elif value.also and not doubt:
            doubt = _ONE_OF_SEVERAL
        notes = "; ".join(part for part in (note, doubt) if part)
        for text in (value.text, *value.also):
            known_value = None if UNKNOWN in text else text.strip("\n")
            self.written.append(
                Written(where, place.replace(UNKNOWN, ANYTHING), known_value, not doubt, notes)
            )

    # Other texts and files that a command runs

    def nested_text(self, line: Line, text: Text, arguments: Sequence[Text]) -> Result:
        """``sh -c`` and ``eval``."""
        if self.state.depth >= DEEPEST:
            return Result(None)
        with self.state.inside(line.file, [line], arguments), suppress(Return, Next):
            return self._do(parse(text.text[:LONGEST].split("\n"), line.number), None)
        return Result(None)

    def nested_script(self, line: Line, name: str, arguments: Sequence[Text]) -> bool:
        """A script that is run by another one, up to two levels down; whether it is one."""
        path = posixpath.normpath(posixpath.join(self.state.directory, name))
        if self.state.followed >= FOLLOWED or UNKNOWN in name or not path.isprintable():
            return False
        if not self.state.tree.need(path) or not is_shell_script(self.state.tree, path):
            return False
        inner = Run(self.state.tree, self.state.variables)
        inner.state.followed = self.state.followed + 1
        inner.state.doubts = list(self.state.doubts)
        inner.script(path, [word.text for word in arguments])
        for setting in inner.written:
            note = "; ".join(part for part in (setting.note, f"run by {line.where}") if part)
            self.written.append(
                Written(setting.line, setting.target, setting.value, setting.certain, note)
            )
        return True

    def sourced(self, path: str, arguments: Sequence[Text]) -> None:
        """``. FILE``: what it sets, and its variables and functions from now on."""
        state = self.state
        path = posixpath.normpath(path)
        if state.depth >= DEEPEST or not state.tree.need(path):
            return
        calls, state.calls = state.calls, []
        try:
            lines = state.tree.lines(path)
            with state.inside(path, lines, arguments or state.arguments), suppress(Return, Next):
                self._do(_parsed(lines), None)
        finally:
            state.calls = calls

    # Nodes

    def _do(self, node: Node, stdin: Text | None) -> Result:
        if not self.state.tree.spend():
            raise ScriptStop
        match node:
            case Simple():
                return self._simple(node, stdin)
            case CompoundCommand():
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
                self.state.functions[node.name] = node.body
                return Result()

    def _perhaps(self, node: Node, stdin: Text | None, reason: str) -> None:
        """What may be run: if it would end the script, the script goes on all the same."""
        with self.state.doubting(reason), suppress(ScriptStop, Return, Next):
            self._do(node, stdin)

    def _group(self, node: CompoundCommand, stdin: Text | None) -> Result:
        group_input = self._input(node.redirects, stdin)
        status: bool | None = True
        out: Text | None = Text("")
        for part in node.body:
            result = self._do(part, group_input)
            status, out = result.status, result.out if result.out is not None else out
        if node.redirects:
            self._output(self.state.line(0), node.redirects, out)
        return Result(status, out)

    def _chain(self, node: Chain, stdin: Text | None) -> Result:
        result = self._do(node.first, stdin)
        for sign, part in node.rest:
            if result.status is None:
                self._perhaps(part, stdin, _AFTER_ANOTHER)
            elif result.status == (sign == "&&"):
                result = self._do(part, stdin)
        return result

    def _pipeline(self, node: Pipeline, stdin: Text | None) -> Result:
        result = Result()
        for part in node.parts:
            result = self._do(part, stdin)
            stdin = result.out if result.out is not None else Text(UNKNOWN)
        if node.negated and result.status is not None:
            return Result(not result.status, result.out)
        return result

    def _if(self, node: If, stdin: Text | None) -> Result:
        unknown = False
        for condition, body in node.branches:
            holds = True if condition is None else self._do(condition, stdin).status
            if holds and not unknown:
                return self._do(body, stdin)
            if holds is not False:
                self._perhaps(body, stdin, _UNDER_CONDITION)
                unknown = True
            if holds:
                break
        return Result(None)

    def _for(self, node: For, stdin: Text | None) -> Result:
        values = self.state.arguments if node.words is None else self._expansion.expand(node.words)
        for word in values[:MOST_ROUNDS]:
            for value in self._files(word):
                self.state.variables[node.variable] = value
                with suppress(Next):
                    self._do(node.body, stdin)
        return Result(None)

    def _files(self, word: Text) -> list[Text]:
        """The files that a word means, where it is a pattern of files that can be known."""
        path = word.text
        if not is_pattern(path) or UNKNOWN in path or not path.startswith("/"):
            return [word]
        if path.startswith(_VIRTUAL):
            return [word]
        self.state.tree.need(path)
        return [Text(file) for file in self.state.tree.paths(path)[:MOST_ROUNDS]]

    def _while(self, node: While, stdin: Text | None) -> Result:
        if self._do(node.condition, stdin).status is False:
            return Result(True)
        with suppress(Next):
            self._do(node.body, None)
        return Result(None)

    def _case(self, node: Case, stdin: Text | None) -> Result:
        subject = self._expansion.joined(node.word).text
        for patterns, body in node.branches:
            pattern_texts = [self._expansion.joined(pattern).text for pattern in patterns]
            if UNKNOWN in subject or any(UNKNOWN in pattern for pattern in pattern_texts):
                self._perhaps(body, stdin, _IN_ONE_CASE)
            elif any(matches(subject, pattern) for pattern in pattern_texts):
                return self._do(body, stdin)
        return Result(None)

    # Commands

    def _simple(self, node: Simple, stdin: Text | None) -> Result:
        line = self.state.line(node.line)
        command = self._expansion.expand(node.words)
        if not command:
            for name, word in node.assignments:
                value = self._expansion.joined(word)
                value = Text(value.text[:LONGEST], value.source or line, value.also)
                if self.state.doubts:
                    value = value.instead_of(self.state.variables.get(name))
                self.state.variables[name] = value
            return Result()
        result = self._command(line, command, self._input(node.redirects, stdin))
        if node.redirects:
            self._output(line, node.redirects, result.out)
            if any(redirect.sign[0] in ">&" for redirect in node.redirects):
                return Result(result.status, Text(""))
        return result

    def _command(self, line: Line, command: Sequence[Text], stdin: Text | None) -> Result:
        command = unwrapped(command)
        if not command:
            return Result()
        name = command[0].text
        base = posixpath.basename(name)
        if name in self.state.functions:
            return self._call(line, self.state.functions[name], command[1:], stdin)
        if base in BUILTINS:
            return BUILTINS[base](self, BuiltinCall(line, command[1:], stdin))
        if base in commands.COMMANDS:
            return self._known_program(line, base, command, stdin)
        if base in commands.UNKNOWN_OUTPUT:
            return Result(None, Text(UNKNOWN))
        self._follow(line, name, command[1:])
        return Result(None if base in commands.UNKNOWN_STATUS else True, Text(UNKNOWN))

    def _known_program(
        self, line: Line, base: str, command: Sequence[Text], stdin: Text | None
    ) -> Result:
        """A program whose words say what it sets."""
        call = commands.ProgramCall([word.text for word in command[1:]], self.state.tree)
        for setting in commands.COMMANDS[base](call):
            target = Text(setting.target, next((w.source for w in command if w.source), None))
            source = _source_of(setting.value, command[1:])
            self.note(setting.line or line, target, Text(setting.value or UNKNOWN, source))
        rest = commands.run_by(base, [word.text for word in command])
        return self._command(line, [Text(word) for word in rest], stdin) if rest else Result()

    def _call(
        self, line: Line, body: Node, arguments: Sequence[Text], stdin: Text | None
    ) -> Result:
        """A function; its arguments know the line that gave them."""
        state = self.state
        if state.depth >= DEEPEST:
            return Result(None)
        sourced = [Text(word.text, word.source or line) for word in arguments]
        state.calls.append(line)
        try:
            with state.inside(state.file, state.lines, sourced), suppress(Return):
                return self._do(body, stdin)
        finally:
            state.calls.pop()
        return Result(None)

    def _follow(self, line: Line, name: str, arguments: Sequence[Text]) -> None:
        """Another script, by its path or by where such a name is looked for."""
        if "/" in name:
            self.nested_script(line, name, arguments)
            return
        if _is_common(name):
            return
        for directory in (*_PATHS, *(_MORE_PATHS if name.endswith(".sh") else ())):
            if self.nested_script(line, f"{directory}/{name}", arguments):
                return

    # What goes in and out

    def _place(self, target: str) -> str:
        """The path of a file of the kernel, or a word and a name; empty for any other file."""
        if ":" in target.partition("/")[0]:
            return target if UNKNOWN not in target.partition(":")[0] else ""
        if UNKNOWN in posixpath.basename(target) or len(target) > LONGEST:
            return ""
        if not target.startswith(("/", UNKNOWN)):
            target = posixpath.join(self.state.directory, target)
        if ".." in target or "//" in target:
            target = posixpath.normpath(target)
        return target if target.startswith(_OF_KERNEL) else ""

    def _output(self, line: Line, redirects: Sequence[Redirect], out: Text | None) -> None:
        for redirect in redirects:
            if redirect.sign in (">", ">>", ">|", "&>", "&>>"):
                for path in self._expansion.fields(redirect.word)[:MOST_ROUNDS]:
                    value = Text(UNKNOWN) if out is None else out
                    self.note(line, path, Text(value.text.strip("\n"), value.source, value.also))

    def _input(self, redirects: Sequence[Redirect], stdin: Text | None) -> Text | None:
        for redirect in redirects:
            if redirect.sign == "<<<":
                return self._expansion.joined(redirect.word)
            if redirect.sign == "<":
                return Text(UNKNOWN)
        return stdin

    def _captured(self, text: str) -> Text:
        """What a command prints, for those few whose output can be known."""
        if self.state.depth >= DEEPEST or len(text) > LONGEST:
            return Text(UNKNOWN)
        state = self.state
        out = None
        with (
            state.inside(state.file, state.lines, state.arguments),
            suppress(ScriptStop, Return, Next),
        ):
            out = self._do(_parsed_text(text), None).out
        return Text(UNKNOWN) if out is None else Text(out.text.rstrip("\n"), out.source, out.also)

    def _filled(self, word: str) -> Text:
        """A word of a unit's command: ``$NAME`` and ``${NAME}`` alone are filled there too."""
        match = re.fullmatch(r"\$\{?([A-Za-z_]\w{0,60})\}?", word)
        value = self.state.variables.get(match[1]) if match is not None else None
        return Text(word) if value is None else value

    def _quietly(self, step: Callable[[], object]) -> None:
        with suppress(*_ENDS):
            step()


def is_shell_script(tree: Tree, path: str) -> bool:
    """Whether a file's first line says that a shell runs it."""
    lines = tree.lines(path)
    return bool(lines) and _SHELL.match(lines[0].text[:200]) is not None


def _is_common(name: str) -> bool:
    """Whether a program of this name is known to set nothing: it is not looked for."""
    return name in commands.WITHOUT_EFFECT or UNKNOWN in name or not name.isprintable()


def _source_of(value: str | None, arguments: Sequence[Text]) -> Line | None:
    """Where a value came from that a program was told: by the word that is the value, else, as
    the program has it in another unit, by the last number that a variable gave."""
    from_variables = [word for word in arguments if word.source is not None]
    same = [word.source for word in from_variables if word.text == value]
    numbers = [word.source for word in from_variables if word.text[:1].isdigit()]
    return (same or numbers[-1:] or [None])[0]


def _parsed(lines: Sequence[Line]) -> CompoundCommand:
    return parse([line.text for line in lines])


@lru_cache(maxsize=2048)
def _parsed_text(text: str) -> CompoundCommand:
    return parse(text.split("\n"), 0)
