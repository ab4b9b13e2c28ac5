"""The sinks: where text leaves the package, and how each makes it harmless by itself.

A sink takes any text, ours or from outside (``benchvise.text.Untrusted``), and whoever hands it one
calls no sanitiser. Whatever it is, in

* a terminal it neither moves the cursor nor colours anything, and is no markup of rich's;
* Markdown it is no markup, no HTML and no link;
* HTML (every value of a template) it is text, and what a browser would not show is U+FFFD;
* CSV it is one cell of one line, and no formula of the program that opens it;
* JSON (``--json``, the pages' twins, data in pages) it is the text as it is, whole, but for those
  characters which would act on whoever prints or shows it unescaped: they are U+FFFD there too.

A cell, a heading and a remark are one line each, and bounded.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape
from rich.console import (
    Console,
    ConsoleOptions,
    HighlighterType,
    JustifyMethod,
    OverflowMethod,
    RenderableType,
)
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from benchvise.text import SENTENCE_LIMIT, AnyText, Untrusted, aligned, harmless, raw

CELL_LIMIT = SENTENCE_LIMIT
"""Characters of a cell, a heading, a name."""

LINE_LIMIT = 2000
"""Characters of a remark or an error: several names and a sentence."""

PAGE_LIMIT = 4000
"""Characters of a line of the workbench's pages, which show logs and files as well."""

_SCREEN_LIMIT = 20_000  # characters that are printed at once: what is longer is no text of ours


def cell(text: AnyText) -> str:
    """One bounded line, with its spaces: a cell of a table, a heading."""
    return aligned(text, CELL_LIMIT)


def sentence(text: AnyText) -> str:
    """One bounded line, as long as a remark or an error may be."""
    return aligned(text, LINE_LIMIT)


# -- terminal --------------------------------------------------------------------------------------


class Terminal(Console):
    """A console that prints every text as it is, whatever it holds: no markup, nothing that acts.

    That a reader goes away (``| head``) is left to ``main``.
    """

    def on_broken_pipe(self) -> None:
        """As Python has it."""
        raise BrokenPipeError

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Every text on its way to the screen comes through here, whatever holds it."""
        if isinstance(renderable, Text):
            renderable = _on_screen(renderable)
        return super().render(renderable, options)

    def render_str(
        self,
        text: str,
        *,
        style: str | Style = "",
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        emoji: bool | None = None,  # noqa: ARG002 - rich's own signature
        markup: bool | None = None,  # noqa: ARG002
        highlight: bool | None = None,  # noqa: ARG002
        highlighter: HighlighterType | None = None,  # noqa: ARG002
    ) -> Text:
        """Without rich's markup, which would be searched for in text from outside too."""
        return _on_screen(Text(text, style=style, justify=justify, overflow=overflow))


def _on_screen(text: Text) -> Text:
    plain = text.plain
    if len(plain) <= _SCREEN_LIMIT and plain.isprintable():
        return text
    safe = text.copy()
    safe.plain = harmless(plain[:_SCREEN_LIMIT], kept="\n\t")
    return safe


# -- Markdown --------------------------------------------------------------------------------------

# Everything that Markdown, or HTML inside of it, could take for more than a letter.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$@])")
_ADDRESS = re.compile(r"\b(www)\.", re.IGNORECASE)


def markdown(text: AnyText, limit: int = LINE_LIMIT) -> str:
    """One line of text with everything that Markdown would act on disarmed."""
    escaped = _SPECIAL.sub(r"\\\1", aligned(text, limit))
    # A colon after http, a point after www would make a link of what a board calls itself.
    return _ADDRESS.sub("\\1\\\\.", escaped).replace("://", ":\u200b//")


# -- HTML ------------------------------------------------------------------------------------------


class Asset(Markup):
    """A part of a page that was made here and stays as it is, to the letter."""


def html(value: object, limit: int = CELL_LIMIT) -> object:
    """What a template shows of a value (jinja2's ``finalize``); jinja2 escapes it afterwards.

    ``limit`` is that of a line.
    Line breaks stay: whether they mean anything is the template's affair.
    """
    if isinstance(value, Untrusted):
        return aligned(value, limit)
    if not isinstance(value, str) or isinstance(value, Asset):
        return value
    if value.isprintable() and len(value) <= limit:
        return value  # most are
    if isinstance(value, Markup):  # by a filter, of values that jinja2 did not see
        return Markup(harmless(value, kept="\n\t\u00a0\u2009"))  # noqa: S704 - as safe as before
    return "\n".join(aligned(line, limit) for line in value.split("\n"))


_COMMAND = re.compile(r"`(benchvise(?: [^`]*)?)`")


def with_commands(text: AnyText) -> Markup:
    """A line as HTML, with our own commands that stand between backticks in it set as such. What
    else stands between some may be what a file or a board is called."""
    pieces = _COMMAND.split(aligned(text, LINE_LIMIT))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if number % 2 else escape(piece)
        for number, piece in enumerate(pieces)
    )


def embedded(document: object) -> Asset:
    """A document as JSON in an inert script element, which it can neither end nor confuse.

    Its texts are labels of charts: what is longer than a cell is cut.
    """
    text = json_text(_cut(document), tight=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Asset(text)


def _cut(value: Any) -> Any:
    match value:
        case str() if len(value) > CELL_LIMIT:
            return f"{value[: CELL_LIMIT - 1]}…"
        case dict():
            return {_cut(key): _cut(item) for key, item in value.items()}
        case list() | tuple():
            return [_cut(item) for item in value]
    return value


# -- CSV -------------------------------------------------------------------------------------------

_CSV_LIMIT = 1 << 15  # characters of a cell; programs that open such files take no more
_FORMULA = ("=", "+", "-", "@")


def csv_text(
    columns: Iterable[AnyText], rows: Iterable[Iterable[object]], delimiter: str = ","
) -> str:
    """Rows as RFC 4180 has them, below a line of names; None is empty.

    With a tab as ``delimiter``, no cell has one of its own.

    A text that a spreadsheet would calculate begins with an apostrophe; numbers stay numbers.
    """
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(map(_csv_cell, columns))
    writer.writerows(map(_csv_cell, row) for row in rows)
    return out.getvalue()


def _csv_cell(value: object) -> object:
    if not isinstance(value, str | Untrusted):
        return value
    text = aligned(value, _CSV_LIMIT)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- JSON ------------------------------------------------------------------------------------------

# Two halves of a character beyond the first plane; a joiner between letters; one character; one of
# the short escapes.
_ESCAPED = re.compile(
    r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}"
    r"|(?<=\\u[0-9a-f]{4})(\\u200[cd])(?=\\u[0-9a-f])"
    r"|\\u[0-9a-f]{4}|\\."
)
_JOINER = 1
"""Its group: what it is without letters around it, the next alternative says."""
_BLANKS = "\u00a0\u2009\u2028\u2029\u202f\u3000"


def json_text(document: Any, *, tight: bool = False, indent: int | None = None) -> str:
    """A document as strict JSON, in ASCII; ValueError for a number that JSON has not."""
    text = json.dumps(
        document,
        allow_nan=False,
        default=_untrusted,
        indent=indent,
        separators=(",", ":") if tight else None,
    )
    return _ESCAPED.sub(_unescaped, text) if "\\" in text else text


def _untrusted(value: object) -> str:
    if isinstance(value, Untrusted):
        return raw(value)
    raise TypeError(f"{type(value).__name__} is no value of JSON")


def _unescaped(match: re.Match[str]) -> str:
    return match[0] if match.lastindex == _JOINER else _harmless_escape(match[0])


@lru_cache(maxsize=4096)  # megabytes of them are mostly the same few
def _harmless_escape(escape: str) -> str:
    if escape[1] != "u":
        return escape if escape[1] not in "bf" else "\\ufffd"
    character = bytes.fromhex(escape.replace("\\u", "")).decode("utf-16-be", "surrogatepass")
    return escape if character.isprintable() or character in _BLANKS else "\\ufffd"
