"""How two texts differ, in pieces that can be taken singly, such as lines of a start script.

Which pieces there are does not depend on which text is looked at first: a piece has the same
number from both sides. A line that stands alone is a piece of its own, with the line of the other
text that sets the same thing; what only makes sense together (``if`` to ``fi``) stays together.
Comments and blank lines are no pieces, and neither is the head of a script (``#!``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from difflib import SequenceMatcher

_FIRST = r"(?:^|[;&|(!])\s*"  # where the shell takes a word for one of its own
_OPENING = re.compile(rf"{_FIRST}(?:if|case|do)(?![\w-])|\{{\s*$|<<", re.M)
_CLOSING = re.compile(rf"{_FIRST}(?:fi|esac|done|\}})(?![\w-])", re.M)
_TIED = re.compile(
    rf"{_FIRST}(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|function)(?![\w-])"
    r"|[{}]\s*$|;;|<<|\\$|^\s*\["
)
"""Shell's own words, here-documents, continued lines, and sections of unit files."""

_INTO = re.compile(r">>?\s*(\S+)")
_KEY = re.compile(r"\s*(?:export\s+)?([\w./:*-]+)\s*=")


@dataclass(frozen=True, slots=True)
class LinePiece:
    """A range of lines of each text, as positions from 0: from, and the one behind."""

    first: tuple[int, int]
    second: tuple[int, int]


def pieces(first: list[str], second: list[str]) -> list[LinePiece]:
    """What differs between two lists of lines, in their order."""
    if second < first:  # always looked at from the same side, so that it is always the same
        return [LinePiece(piece.second, piece.first) for piece in pieces(second, first)]
    blocks = [
        LinePiece((a, b), (c, d))
        for word, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        if word != "equal"
    ]
    divided = [piece for block in blocks for piece in _divided(block, first, second)]
    texts = [(first[p.first[0] : p.first[1]], second[p.second[0] : p.second[1]]) for p in divided]
    if any(not _is_whole(lines) for pair in texts for lines in pair):
        return [LinePiece((0, len(first)), (0, len(second)))]
    return divided


def mixed(here: list[str], there: list[str], chosen: Set[int]) -> list[str]:
    """``here`` with the chosen pieces, numbered as in ``pieces``, as they are ``there``.

    Empty when nothing but comments would be left of a text that one of the two does not have.
    """
    differences = pieces(here, there)
    if len(chosen) == len(differences):
        return list(there)
    result: list[str] = []
    at = 0
    for number, piece in enumerate(differences):
        result += here[at : piece.first[0]]
        result += there[slice(*piece.second)] if number in chosen else here[slice(*piece.first)]
        at = piece.first[1]
    result += here[at:]
    if not here or not there:
        head = [line for line in (here or there)[:1] if line.startswith("#!")]
        if not any(map(is_active, result)):
            return []
        return head + [line for line in result if line not in head]
    return result


def is_active(line: str) -> bool:
    """Whether a line says something: it is neither blank nor a comment."""
    stripped = line.strip()
    return bool(stripped) and stripped[0] not in "#;"


def first_active(lines: list[str], begin: int, end: int) -> int:
    """The number, from 1, of the first line of a range that says something; 0 when none does."""
    return next((n + 1 for n in range(begin, end) if is_active(lines[n])), 0)


def _divided(block: LinePiece, first: list[str], second: list[str]) -> Iterator[LinePiece]:
    """The pieces of a block in which all lines differ."""
    (a, b), (c, d) = block.first, block.second
    here, there = first[a:b], second[c:d]
    if not any(map(is_active, [*here, *there])):
        return
    if any(is_active(line) and _TIED.search(line) for line in [*here, *there]):
        yield block
        return
    keys = [_key(line) for line in here], [_key(line) for line in there]
    i = j = 0
    for match in [*SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks()]:
        yield from (
            LinePiece((a + k, a + k + 1), (c + j, c + j))
            for k in range(i, match.a)
            if is_active(first[a + k])
        )
        yield from (
            LinePiece((a + match.a, a + match.a), (c + k, c + k + 1))
            for k in range(j, match.b)
            if is_active(second[c + k])
        )
        yield from (
            LinePiece(
                (a + match.a + k, a + match.a + k + 1), (c + match.b + k, c + match.b + k + 1)
            )
            for k in range(match.size)
            if first[a + match.a + k] != second[c + match.b + k]
        )
        i, j = match.a + match.size, match.b + match.size


def _key(line: str) -> str:
    """What a line sets: the file that it writes, or the name before ``=``; else all of it."""
    if is_active(line):
        into, key = _INTO.search(line), _KEY.match(line)
        if into or key:
            return f"sets {into[1] if into else key[1] if key else ''}"
    return line


def _is_whole(lines: list[str]) -> bool:
    """Whether what is opened in these lines is closed in them too."""
    text = "\n".join(filter(is_active, lines))
    return len(_OPENING.findall(text)) == len(_CLOSING.findall(text))
