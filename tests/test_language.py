"""The glossary holds: no identifier and no text uses a word that it replaces.

``docs/glossary.toml`` has the words, and the exceptions with their reasons.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import skips

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "glossary.toml"
PACKAGE = ROOT / "src" / "benchvise"

# The page shows the words that are not used, and this test has to name them.
LEFT_OUT = {"docs/glossary.toml", "tests/test_language.py", "docs/reference/generated"}
PROSE = {".md", ".j2", ".toml", ".html", ".css"}
CODE = {".py", ".rs", ".c", ".h", ".ts"}


@dataclass(frozen=True)
class Use:
    """A word of the right-hand column where it stands."""

    path: str
    line: int
    word: str
    term: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: '{self.word}': say {self.term}"


@dataclass(frozen=True)
class Term:
    use: str
    identifiers: tuple[re.Pattern[str], ...]
    texts: tuple[re.Pattern[str], ...]


@cache
def terms() -> tuple[Term, ...]:
    return tuple(
        Term(
            entry["use"],
            tuple(re.compile(rf"(?:^| ){word}(?: |$)") for word in entry.get("identifiers", ())),
            tuple(re.compile(pattern) for pattern in entry.get("texts", ())),
        )
        for entry in tomllib.loads(GLOSSARY.read_text())["term"]
    )


@cache
def exceptions() -> tuple[tuple[str, frozenset[str]], ...]:
    listed = tomllib.loads(GLOSSARY.read_text()).get("exception", [])
    assert all(entry["reason"] for entry in listed)
    return tuple((entry["where"], frozenset(entry["words"])) for entry in listed)


@cache
def files() -> tuple[str, ...]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False
    ).stdout.decode()
    if not listed:
        skips.skip("git checkout")
    return tuple(
        name
        for name in listed.split("\0")
        if Path(name).suffix in PROSE | CODE
        and (ROOT / name).is_file()
        and not any(name == out or name.startswith(f"{out}/") for out in LEFT_OUT)
    )


def words_of(identifier: str) -> str:
    """``timeLineOf`` and ``TIME_LINE_OF`` as ``time line of``."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", identifier)
    return " ".join(filter(None, parts.lower().split("_")))


_STRINGS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
"""Since Python 3.12 an f-string comes in pieces."""


def python_parts(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, kind (``name`` or ``text``) and content: strings, comments, identifiers."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], "name", token.string
        elif token.type == tokenize.COMMENT or (
            token.type in _STRINGS and " " in token.string
        ):  # a string of one word is a key: of JSON, a parameter, an option
            for number, line in enumerate(token.string.splitlines()):
                yield token.start[0] + number, "text", line


_C_LIKE = re.compile(
    r"""(?P<text>//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)""",
    re.VERBOSE | re.DOTALL,
)


def c_like_parts(text: str) -> Iterator[tuple[int, str, str]]:
    line = 1
    last = 0
    for match in _C_LIKE.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        if match.lastgroup == "text" and " " not in match.group():
            continue  # a key, as in Python
        for number, part in enumerate(match.group().splitlines()):
            yield line + number, str(match.lastgroup), part


def parts(name: str) -> Iterator[tuple[int, str, str]]:
    text = (ROOT / name).read_text()
    if name.endswith(".py"):
        yield from python_parts(text)
    elif Path(name).suffix in CODE:
        yield from c_like_parts(text)
    else:
        yield from ((number, "text", line) for number, line in enumerate(text.splitlines(), 1))


@cache  # names recur
def words_in_name(identifier: str) -> tuple[tuple[str, str], ...]:
    """The replaced words in an identifier, each with the term to use."""
    return tuple(matches(words_of(identifier), lambda term: term.identifiers))


@cache
def any_text() -> re.Pattern[str]:
    """Where this finds nothing, no pattern of a text does: hardly a line has to try them all."""
    return re.compile("|".join(f"(?:{p.pattern})" for term in terms() for p in term.texts))


def words_in_text(text: str) -> Iterator[tuple[str, str]]:
    if any_text().search(lower := text.lower()):
        yield from matches(lower, lambda term: term.texts)


def matches(
    text: str, patterns: Callable[[Term], tuple[re.Pattern[str], ...]]
) -> Iterator[tuple[str, str]]:
    for term in terms():
        for pattern in patterns(term):
            if match := pattern.search(text):
                yield match.group().strip(), term.use


def uses(name: str) -> Iterator[Use]:
    for line, kind, content in parts(name):
        for word, term in words_in_name(content) if kind == "name" else words_in_text(content):
            yield Use(name, line, word, term)
    for part in Path(name).parts:
        for word, term in words_in_name(Path(part).stem):
            yield Use(name, 0, word, term)


@cache
def all_uses() -> tuple[Use, ...]:
    """Those of all files, which are read once for all tests."""
    return tuple(use for name in files() for use in uses(name))


def excepted(use: Use) -> bool:
    return any(
        (use.path == where or use.path.startswith(f"{where}/")) and use.word in words
        for where, words in exceptions()
    )


def test_names_and_texts_use_the_words_of_the_glossary() -> None:
    wrong = [str(use) for use in all_uses() if not excepted(use)]
    assert not wrong, f"{len(wrong)} words that the glossary replaces:\n" + "\n".join(wrong[:60])


def test_every_exception_is_still_needed() -> None:
    met = {(use.path, use.word) for use in all_uses()}
    for where, words in exceptions():
        for word in words:
            assert any(
                (path == where or path.startswith(f"{where}/")) and word == used
                for path, used in met
            ), f"'{word}' no longer stands in {where}: take it out of docs/glossary.toml"


@pytest.mark.parametrize(
    ("suffix", "text", "word"),
    [
        (".py", "peer_name = 1\n", "peer"),
        (".py", "class LetGo: pass\n", "let go"),
        (".py", 'x = "the time line of a trace"\n', "time line"),
        (".rs", "// the check sum of it\n", "check sum"),
        (".ts", "const unsureRows = 1;\n", "unsure"),
        (".c", 'static const char *s = "who lets go";\n', "lets go"),
        (".md", "A look at the board.\n", "a look at the board"),
    ],
)
def test_a_word_of_the_right_hand_column_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, text: str, word: str
) -> None:
    monkeypatch.setattr(__name__ + ".ROOT", tmp_path)
    (tmp_path / f"x{suffix}").write_text(text)
    assert [use.word for use in uses(f"x{suffix}")] == [word]


# -- names, one thing each -------------------------------------------------------------------------


Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def trees() -> tuple[tuple[Path, ast.Module], ...]:
    return tuple(
        (path.relative_to(PACKAGE), ast.parse(path.read_text()))
        for path in sorted(PACKAGE.rglob("*.py"))
    )


def definitions_in(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is defined in it; most nodes are expressions, which define nothing."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield from definitions_in(child)


@cache
def definitions() -> tuple[tuple[Path, ast.Module | Definition], ...]:
    """Modules, classes and functions, each with the file where it stands."""
    return tuple(
        (path, node)
        for path, tree in trees()
        for node in definitions_in(tree)
        if isinstance(node, ast.Module | Definition)
    )


# Public classes with one name where one takes the other's place.
SHARED_NAMES: dict[str, str] = {}


def test_no_two_public_classes_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for path, node in definitions():
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            places.setdefault(node.name, []).append(str(path))
    shared = {name: where for name, where in places.items() if len(where) > 1}
    assert {name: where for name, where in shared.items() if name not in SHARED_NAMES} == {}
    assert not set(SHARED_NAMES) - set(shared), "no longer shared"


# Names from which nobody can tell what they hold or do.
VAGUE = re.compile(
    r"_?(found|one|words|said|told|asked|telling|looking|attending|needed|known|given|made|shown"
    r"|drawn|sent|putting)",
    re.IGNORECASE,
)


def test_functions_classes_and_modules_have_names_that_say_what_they_are() -> None:
    vague = []
    for path, node in definitions():
        if isinstance(node, ast.Module):
            if VAGUE.fullmatch(path.stem):
                vague.append(str(path))
        elif VAGUE.fullmatch(node.name):
            vague.append(f"{path}:{node.lineno}: {node.name}")
    assert not vague, "\n".join(vague)


def test_docstrings_describe() -> None:
    stubs = []
    for path, node in definitions():
        if re.match(r"See (the )?\W*\w+\W*\.?$|TBD|TODO", ast.get_docstring(node) or ""):
            stubs.append(f"{path}:{getattr(node, 'lineno', 1)}")
    assert not stubs, "docstrings that say nothing: " + ", ".join(stubs)
