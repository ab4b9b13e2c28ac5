"""Where a line of source could hold a fault, by kind: what a tired programmer gets wrong.

Lines are read without a parser, as one rule has to do for four languages. What is inside strings
and comments is blanked first, so a fault is always one in code. What would not compile, or would
change nothing that a user sees, is left to whoever draws to turn down (``draw``).
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Rewrite = Callable[[re.Match[str]], str]


@dataclass(frozen=True)
class Operator:
    """One way to make a line wrong: where it applies, and what replaces the text."""

    kind: str
    languages: str
    """Suffixes of the files, without dots, separated by spaces."""

    pattern: re.Pattern[str]
    rewrite: Rewrite


def operator(kind: str, languages: str, pattern: str, rewrite: str | Rewrite) -> Operator:
    """An operator whose ``rewrite`` is a template of ``re``, or a function of the match."""
    if isinstance(rewrite, str):
        template = rewrite
        return Operator(kind, languages, re.compile(pattern), lambda match: match.expand(template))
    return Operator(kind, languages, re.compile(pattern), rewrite)


ALL = "py c rs ts"
BRACED = "c rs ts"
TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
TURNED |= {"===": "!==", "!==": "==="}
FACTORS = {
    "1e9": "1e6", "1e6": "1e3", "1e3": "1e6", "1e-9": "1e-6", "1e-6": "1e-3", "1e-3": "1e-6",
    "1000000000": "1000000", "1000000": "1000", "1000": "1024", "1024": "1000",
    "1048576": "1000000",
}  # fmt: skip
ESCAPES = (
    "printable|printable_lines|aligned|harmless|quoted|quote|escape|escaped|clean_text|clean_json"
    "|without_escapes|last_line|encodeURIComponent|sanitise|sanitize"
)
STEPS = (
    "restore|undo|release|remove|unlink|delete|clear|reset|flush|commit|fsync|sync|discard|cancel"
    "|stop|kill|terminate|rollback|truncate|revert|abort|put_back|forget|replace|disable|free"
)
LOCKS = "close|unlock|lock|acquire|join|shutdown|detach|munmap|disconnect|flock|finish|end|drop"


def _other_index(match: re.Match[str]) -> str:
    number = int(match[1])
    return f"[{number - 1 if number < 0 else number + 1}]"


def _other_number(match: re.Match[str]) -> str:
    other = {"True": "False", "False": "True", "true": "false", "false": "true"}
    if (value := match[2]) in other:
        return match[1] + other[value]
    return match[1] + (f"1{value}" if value[0] in "0123456789" else value)


_NUMBER = r"(\d[\d_]*(?:\.\d+)?|True|False|true|false)\b(?![.\w])"
_SIMPLE = r"[A-Za-z_][\w.]*"

OPERATORS = (
    operator(
        "comparison", ALL, r"(?<=[\w\])] )(<=?|>=?|[!=]==?)(?= [\w(\[\"'-])", lambda m: TURNED[m[1]]
    ),
    operator("off by one", ALL, r" [+-] 1\b(?![.\w])", ""),
    operator("off by one", ALL, r"\[(-?\d)\]", _other_index),
    operator("off by one", "py", r"\[1:\]", "[2:]"),
    operator("off by one", "py", r"\brange\(1, ", "range(2, "),
    operator("off by one", "rs", r"\b1\.\.", "2.."),
    operator(
        "escape",
        "py ts",
        rf"(?<!def )(?:\w+(?:\.|::))*\b(?:{ESCAPES})\(({_SIMPLE})(?:, [^()]*)?\)",
        r"\1",
    ),
    operator(
        "unit",
        ALL,
        r"\b(1e-?\d|1(?:_?000)+|1024|1048576)(?=(?:LL|ULL|UL|L|U|u64|i64|\.0)?\b)",
        lambda m: FACTORS.get(m[1].replace("_", ""), m[1]),
    ),
    operator("unit", ALL, r"<< 10\b", "* 1000"),
    operator("unit", ALL, r"<< 20\b", "* 1000000"),
    operator(
        "arguments", ALL, rf"(?:(?<=[\w)][(])|(?<=\w, ))({_SIMPLE}), ({_SIMPLE})(?=[,)])", r"\2, \1"
    ),
    operator(
        "sign",
        ALL,
        r"(?<=[\w\])]) ([+-])(=?) (?=[\w(])(?!1\b)",
        lambda m: f" {'-' if m[1] == '+' else '+'}{m[2]} ",
    ),
    operator(
        "dropped step", "py", rf"^(\s*)(?:await )?(?:\w[\w.]*[._])?(?:{STEPS})\w*\(.*\)$", r"\1pass"
    ),
    operator(
        "dropped step", BRACED, rf"^(\s*)(?:\w[\w.>:-]*[._>:])?(?:{STEPS})\w*\(.*\);$", r"\1;"
    ),
    operator("lock or close", "py", rf"^(\s*)(?:\w[\w.]*[._])?(?:{LOCKS})\(.*\)$", r"\1pass"),
    operator("lock or close", "py", r"^(\s*)with [\w.]*lock\w*(?:\(.*\))?:$", r"\1if True:"),
    operator("lock or close", BRACED, rf"^(\s*)(?:\w[\w.>:-]*[._>:])?(?:{LOCKS})\(.*\);$", r"\1;"),
    operator("missing not", "py", r"(?<!is )\bnot (?!in\b)", ""),
    operator("missing not", "py", r"\bnot in\b", "in"),
    operator("missing not", "py", r"\bis not None\b", "is None"),
    operator("missing not", BRACED, r"(?<![\w!])!(?=[\w(])", ""),
    operator("default", "py", rf"(\w: [\w |]+ = ){_NUMBER}", _other_number),
    operator("default", "py", rf"(\.get\([^(),]+, ){_NUMBER}", _other_number),
    operator("default", "py", rf"( or ){_NUMBER}(?=$|[),:])", _other_number),
    operator("default", "py", rf"(^_?[A-Z][A-Z_]+ = ){_NUMBER}", _other_number),
    operator("default", "py", rf"( else ){_NUMBER}(?=$|[),:])", _other_number),
    operator("default", "c", rf"^(#define [A-Z_]+ ){_NUMBER}", _other_number),
    operator("default", "c", rf"( : ){_NUMBER}(?=;|\))", _other_number),
    operator("default", "rs", rf"(unwrap_or\(){_NUMBER}", _other_number),
    operator("default", "rs ts", rf"(const [A-Z_]+(?:: \w+)? = ){_NUMBER}", _other_number),
    operator("default", "ts", rf"( \?\? ){_NUMBER}", _other_number),
    operator("default", "ts", rf"(\w: \w+ = |\w = ){_NUMBER}(?=[,)])", _other_number),
    operator("ignored error", "py", r"^(\s*)raise .*\)$", r"\1pass"),
    operator("ignored error", "c", r"\breturn -[\w.>-]+;", "return 0;"),
    operator("ignored error", "c", rf"\bif \(({_SIMPLE}|\w+\([^()]*\)) (?:< 0|!= 0)\)", "if (0)"),
    operator("ignored error", "rs", r"\?;$", ".ok();"),
    operator("ignored error", "rs", r"^(\s*)return Err\(.*\);$", r"\1;"),
    operator("ignored error", "ts", r"\bthrow .*;$", ";"),
    operator("ignored error", "ts", r"\bif \(!\w+\.ok\)", "if (false)"),
    operator("last element", "py", r"^(\s*)for (.+) in (.+):$", r"\1for \2 in list(\3)[:-1]:"),
    operator("last element", "py", r"\[:-1\]", "[:-2]"),
    operator("last element", "c", r"(?<=; )(\w+) < (?=[\w.>-]+; )", r"\1 + 1 < "),
    operator(
        "last element",
        "rs",
        r"(?<= in )(&[\w.]+)(?= \{)",
        r"{ let all = \1; &all[..all.len().saturating_sub(1)] }",
    ),
    operator("last element", "rs", r"(?<=\b0\.\.)([\w.()]+)(?= \{)", r"\1 - 1"),
    operator("last element", "ts", r"(\bfor \(const .+ of )(.+)\) ", r"\1[...\2].slice(0, -1)) "),
    operator("last element", "ts", r"(?<=; )(\w+) < (?=[\w.]+; )", r"\1 + 1 < "),
    operator("rounding", "py", r"\bmath\.ceil\(", "math.floor("),
    operator("rounding", "py", r"\bmath\.floor\(", "math.ceil("),
    operator("rounding", "py", r"(?<![\w.])round\((?=[^(),]*\))", "int("),
    operator(
        "rounding",
        "py",
        r"(?<![-*] )(?<![\w.])([A-Za-z_][\w.]*) // ([\w.]+)(?![\w(.])",
        r"-(-\1 // \2)",
    ),
    operator(
        "rounding",
        "c rs",
        r"(?<![\w.] )(?<![\w.])([A-Za-z_][\w.]*) / (\d\w*)\b",
        r"(\1 + \2 - 1) / \2",
    ),
    operator("rounding", "c", r"\bl?l?r(ound|int)\(", "floor("),
    operator("rounding", "rs", r"\.round\(\)", ".floor()"),
    operator("rounding", "rs", r"\bdiv_ceil\((\w+)\)", r"div_euclid(\1)"),
    operator("rounding", "ts", r"\bMath\.(round|ceil)\(", "Math.floor("),
    operator("rounding", "ts", r"\bMath\.floor\(", "Math.ceil("),
)

KINDS = tuple(dict.fromkeys(each.kind for each in OPERATORS))


@dataclass(frozen=True)
class Site:
    """A line that could be wrong: its number from 1, as it is, and as the fault makes it."""

    kind: str
    line: int
    old: str
    new: str


def sites(source: str, suffix: str) -> Iterator[Site]:
    """Every fault that ``source`` (a file that ends in ``suffix``, without dot) could have."""
    lines = source.splitlines()
    masked = (_code_of_python(source) if suffix == "py" else _code_of_braces(source)).splitlines()
    for number, (line, code) in enumerate(zip(lines, masked, strict=True), 1):
        for each in OPERATORS:
            if suffix not in each.languages.split():
                continue
            for match in each.pattern.finditer(code):
                if real := each.pattern.match(line, match.start()):
                    start, end = real.span()
                    new = line[:start] + each.rewrite(real) + line[end:]
                    if new != line:
                        yield Site(each.kind, number, line, new)


def _code_of_python(source: str) -> str:
    """``source`` with strings and comments blanked, each character where it was."""
    lines = source.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            _blank(lines, token.start, token.end)
    return "".join(lines)


def _blank(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> None:
    for row in range(start[0], end[0] + 1):
        line = lines[row - 1]
        first = start[1] if row == start[0] else 0
        last = end[1] if row == end[0] else len(line.rstrip("\n"))
        lines[row - 1] = line[:first] + "\0" * (last - first) + line[last:]


_QUOTED = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\])*" | '(?:\\[^\n]|[^'\\\n])' | `(?:\\.|[^`\\])*`
    | (?<==\s)'[^'\n]*' | (?<=[(,\[]) '[^'\n]*' | \#\[cfg\(test\)\].*\Z""",
    re.VERBOSE | re.DOTALL,
)


def _code_of_braces(source: str) -> str:
    """``source`` (C, Rust, TypeScript) without comments, strings and, in Rust, its own tests."""
    return _QUOTED.sub(lambda match: re.sub(r"[^\n]", "\0", match[0]), source)
