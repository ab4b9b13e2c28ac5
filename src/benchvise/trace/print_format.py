"""The kernel's print format of an event: how its fields become one line of text.

``events/SYSTEM/NAME/format`` of tracefs ends in ``print fmt: "prev_pid=%d …", REC->prev_pid, …``:
a printf format and C expressions of the event's fields. This module parses what tracepoints use:
fields, casts, arithmetic, comparisons, ``?:``, ``__get_str``, ``__print_symbolic``,
``__print_flags``. What it does not know makes the whole format unknown: the fields are listed by
their names then. Formats come from the trace, so nothing in them is run as a program.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]
Evaluator: TypeAlias = Callable[[Row], Any]

_LONGEST = 20_000
"""Characters of a format that is parsed; tracepoints with many flags have a few thousand."""

_DEEPEST = 60
_WIDEST = 2
"""Digits of a width: a format may come from anywhere, and be as wide as the memory."""

_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>0[xX][0-9a-fA-F]+|\d+)[uUlL]*'
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign><<|>>|->|==|!=|<=|>=|&&|\|\||[-+*/%&|^~!?:()\[\]{},<>]))"
)
_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<precision>\d+))?(?P<length>hh|h|ll|l|L|z|t|j)?"
    r"(?P<kind>[%cdiuxXosp])(?P<pointer>[sSfFB]?)"
)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "0": ""}
_TYPE_NAMES = frozenset(
    {"void", "char", "short", "int", "long", "unsigned", "signed", "const", "struct", "enum"}
    | {
        f"{prefix}{sign}{bits}"
        for prefix in ("", "__")
        for sign in "us"
        for bits in (8, 16, 32, 64)
    }
    | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    | {"size_t", "ssize_t", "bool", "pid_t", "dev_t", "sector_t", "gfp_t", "loff_t", "uintptr_t"}
    | {"uint", "ulong"}
)
_MASK = {"hh": 0xFF, "h": 0xFFFF, None: 0xFFFF_FFFF}


def _divide(a: int, b: int) -> int:
    return 0 if b == 0 else int(a / b) if abs(a) < 1 << 52 else a // b


def _remainder(a: int, b: int) -> int:
    return 0 if b == 0 else a - b * _divide(a, b)


def _shift(a: int, b: int) -> int:
    return a << b if 0 <= b < 64 else 0


_LEVELS: tuple[Mapping[str, Callable[[Any, Any], Any]], ...] = (
    {"||": lambda a, b: int(bool(a) or bool(b))},
    {"&&": lambda a, b: int(bool(a) and bool(b))},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"<<": _shift, ">>": lambda a, b: a >> min(max(b, 0), 64)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": _divide, "%": _remainder},
)
"""Binary operators from the loosest to the tightest."""


class UnknownFormat(Exception):  # noqa: N818
    """The print format has something that is not known here."""


@dataclass(frozen=True, slots=True)
class PrintArgument:
    """What stands for one conversion; ``evaluate`` gets the values of the fields at ``places``."""

    evaluate: Evaluator
    places: tuple[int, ...]
    is_field: bool
    """Whether it is a field as it is, and nothing made of it."""
    is_signed: bool = False

    def column(self, columns: Sequence[Sequence[Any]], count: int) -> Sequence[Any]:
        """The values for ``count`` events; ``columns`` are those of all fields."""
        if self.is_field and self._fits(columns[self.places[0]]):
            return columns[self.places[0]]
        if not self.places:
            return [self.evaluate(())] * count
        # A thousand events have a few different states and flags.
        values: dict[Row, Any] = {}
        width = 1 + max(self.places)
        made = []
        for key in zip(*(columns[place] for place in self.places), strict=True):
            if key not in values:
                row: list[Any] = [None] * width
                for place, value in zip(self.places, key, strict=True):
                    row[place] = value
                values[key] = self.evaluate(tuple(row))
            made.append(values[key])
        return made

    def _fits(self, column: Sequence[Any]) -> bool:
        """Whether Python's conversion writes the values as the kernel's does."""
        kinds = set(map(type, column))
        return kinds == {str} or (kinds <= {int, bool} and (self.is_signed or min(column) >= 0))


@dataclass(frozen=True, slots=True)
class PrintFormat:
    """A parsed print format: ``render`` makes the texts of many events."""

    template: str
    """For Python's ``%``."""
    arguments: tuple[PrintArgument, ...]
    fields: tuple[str, ...]
    """The fields that a row has to hold, in this order."""

    def render(self, columns: Sequence[Sequence[Any]]) -> list[str]:
        """The text of each event; ``columns`` are the values of ``fields``."""
        if not self.fields:
            return []
        count = len(columns[0])
        if not count or not self.arguments:
            return [self.template % ()] * count
        # Lists, as of a system call's arguments, are no keys.
        hashable = [
            [tuple(value) for value in column] if isinstance(column[0], list) else column
            for column in columns
        ]
        values = [argument.column(hashable, count) for argument in self.arguments]
        return [self.template % row for row in zip(*values, strict=True)]


def parse_print_format(text: str, fields: Sequence[str]) -> PrintFormat:
    """The format of an event with these fields.

    Raises:
        UnknownFormat: it has something that is not known here.
    """
    if not text or len(text) > _LONGEST:
        raise UnknownFormat("none, or too long")
    try:
        return _Parser(text, fields).parse()
    except (IndexError, ValueError, TypeError) as error:
        raise UnknownFormat(str(error)) from error


class _Parser:
    """Recursive descent over the tokens of one format."""

    def __init__(self, text: str, fields: Sequence[str]) -> None:
        self.tokens = list(_tokens(text))
        self.at = 0
        self.depth = 0
        self.fields = list(fields)
        self.used: list[str] = []
        self.touched: set[int] = set()

    def parse(self) -> PrintFormat:
        template = "".join(self._texts())
        arguments: list[PrintArgument] = []
        while self._take(","):
            self.touched.clear()
            evaluate = self._ternary()
            is_field = isinstance(evaluate, operator.itemgetter)
            arguments.append(PrintArgument(evaluate, tuple(sorted(self.touched)), is_field))
        if self.at < len(self.tokens):
            raise UnknownFormat(f"what follows {self.tokens[self.at][1]}")
        converted, wrapped = _converted(template, arguments)
        return PrintFormat(converted, tuple(wrapped), tuple(self.used) or tuple(self.fields[:1]))

    # -- tokens ------------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ("end", "")

    def _take(self, sign: str) -> bool:
        if self._peek() != ("sign", sign):
            return False
        self.at += 1
        return True

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise UnknownFormat(f"no {sign} before {self._peek()[1]}")

    def _name(self) -> str:
        kind, text = self._peek()
        if kind != "name":
            raise UnknownFormat(f"no name before {text}")
        self.at += 1
        return text

    def _texts(self) -> list[str]:
        """String literals that follow each other."""
        texts = []
        while self._peek()[0] == "text":
            texts.append(_unescaped(self._peek()[1]))
            self.at += 1
        if not texts:
            raise UnknownFormat("no text")
        return texts

    # -- expressions -------------------------------------------------------------------------------

    def _ternary(self) -> Evaluator:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UnknownFormat("nested too deep")
        condition = self._binary(0)
        if self._take("?"):
            chosen = self._ternary()
            self._expect(":")
            other = self._ternary()
            self.depth -= 1
            return lambda row: chosen(row) if condition(row) else other(row)
        self.depth -= 1
        return condition

    def _binary(self, level: int) -> Evaluator:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while (token := self._peek())[0] == "sign" and token[1] in _LEVELS[level]:
            self.at += 1
            left = _applied(_LEVELS[level][token[1]], left, self._binary(level + 1))
        return left

    def _unary(self) -> Evaluator:
        for sign, apply in (
            ("-", operator.neg),
            ("~", operator.invert),
            ("!", lambda value: int(not value)),
        ):
            if self._take(sign):
                of = self._nested(self._unary)
                return lambda row, apply=apply, of=of: apply(of(row))  # type: ignore[misc]
        if self._peek() == ("sign", "(") and self._peek(1)[1] in _TYPE_NAMES:
            while not self._take(")"):
                self.at += 1
                if self._peek()[0] == "end":
                    raise UnknownFormat("a cast without end")
            return self._nested(self._unary)
        return self._primary()

    def _nested(self, parse: Callable[[], Evaluator]) -> Evaluator:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UnknownFormat("nested too deep")
        parsed = parse()
        self.depth -= 1
        return parsed

    def _primary(self) -> Evaluator:
        kind, text = self._peek()
        if kind == "number":
            self.at += 1
            number = int(text, 16) if text[:2].lower() == "0x" else int(text)
            return lambda _row: number
        if kind == "text":
            joined = "".join(self._texts())
            return lambda _row: joined
        if self._take("("):
            inside = self._ternary()
            self._expect(")")
            return inside
        name = self._name()
        if name == "REC":
            self._expect("->")
            return self._indexed(self._field(self._name()))
        if name in ("__get_str", "__get_dynamic_array"):
            self._expect("(")
            of = self._field(self._name())
            self._expect(")")
            return of
        if name in ("__print_symbolic", "__print_flags"):
            return self._labelled(name)
        raise UnknownFormat(name)

    def _field(self, name: str) -> Evaluator:
        if name not in self.fields:
            # So the decoder calls a field that has the name of one which every event has.
            name = f"payload.{name}"
        if name not in self.fields:
            raise UnknownFormat(f"no field {name}")
        if name not in self.used:
            self.used.append(name)
        place = self.used.index(name)
        self.touched.add(place)
        return operator.itemgetter(place)

    def _indexed(self, of: Evaluator) -> Evaluator:
        if not self._take("["):
            return of
        place = self._ternary()
        self._expect("]")

        def element(row: Row) -> Any:
            values, at = of(row), place(row)
            return values[at] if values is not None and 0 <= at < len(values) else 0

        return element

    def _labelled(self, name: str) -> Evaluator:
        """``__print_flags(value, "|", {1, "A"}, …)``, ``__print_symbolic(value, {1, "A"}, …)``."""
        self._expect("(")
        value = self._ternary()
        between = ""
        if name == "__print_flags":
            self._expect(",")
            between = "".join(self._texts())
        labels: list[tuple[int, str]] = []
        while self._take(","):
            self._expect("{")
            # A constant of the kernel's sources has no number here: its value stays a number.
            is_constant = self._peek()[0] == "name" and self._peek(1) == ("sign", ",")
            number = None if is_constant else self._ternary()(())
            self.at += is_constant
            self._expect(",")
            label = "".join(self._texts())
            labels += [] if number is None else [(number, label)]
            self._expect("}")
        self._expect(")")
        if name == "__print_symbolic":
            names = dict(reversed(labels))
            return lambda row: names.get(number := value(row), f"0x{number:x}")
        return lambda row: _flags(value(row), labels, between)


def _flags(value: int, labels: Sequence[tuple[int, str]], between: str) -> str:
    """As the kernel does: each label whose bits are all set, then what is left in hexadecimal."""
    parts, left = [], value
    for mask, label in labels:
        if mask and left & mask == mask:
            parts.append(label)
            left &= ~mask
    if left:
        parts.append(f"0x{left & 0xFFFF_FFFF_FFFF_FFFF:x}")
    return between.join(parts)


def _applied(apply: Callable[[Any, Any], Any], a: Evaluator, b: Evaluator) -> Evaluator:
    return lambda row: apply(a(row), b(row))


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at, text = [], 0, text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise UnknownFormat(text[at : at + 20])
        tokens.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return tokens


def _unescaped(literal: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), literal[1:-1])


def _converted(template: str, arguments: list[PrintArgument]) -> tuple[str, list[PrintArgument]]:
    """The format as Python has it, and arguments as its conversions take them.

    Raises:
        UnknownFormat: a conversion is not known, or not each has an argument.
    """
    wrapped: list[PrintArgument] = []
    pieces, at = [], 0
    for match in _CONVERSION.finditer(template):
        between = template[at : match.start()]
        if "%" in between:
            raise UnknownFormat(between)
        pieces.append(between)
        at = match.end()
        kind, flags, width = match["kind"], match["flags"], match["width"]
        if len(width) > _WIDEST or len(match["precision"] or "") > _WIDEST:
            raise UnknownFormat(f"as wide as {match[0]}")
        if kind == "%":
            pieces.append("%%")
            continue
        argument = arguments[len(wrapped)]
        of = argument.evaluate
        if kind == "p":
            pieces.append("0x%x")
            wrapped.append(replace(argument, evaluate=_whole(of, 0xFFFF_FFFF_FFFF_FFFF)))
        elif kind == "s":
            precision = f".{match['precision']}" if match["precision"] else ""
            pieces.append(f"%{flags}{width}{precision}s")
            wrapped.append(replace(argument, evaluate=_text(of)))
        elif kind in "diuxXo":
            sign = {"i": "d", "u": "d"}.get(kind, kind)
            pieces.append(f"%{flags}{width}{sign}")
            mask = None if kind in "di" else _MASK.get(match["length"], 0xFFFF_FFFF_FFFF_FFFF)
            wrapped.append(replace(argument, evaluate=_whole(of, mask), is_signed=mask is None))
        else:
            pieces.append("%s")
            wrapped.append(replace(argument, evaluate=_character(of), is_field=False))
    if "%" in template[at:] or len(wrapped) != len(arguments):
        raise UnknownFormat("conversions and arguments do not match")
    return "".join([*pieces, template[at:]]), wrapped


def _character(of: Evaluator) -> Evaluator:
    return lambda row: chr(int(of(row)) & 0x7F)


def _whole(of: Evaluator, mask: int | None) -> Evaluator:
    def whole(row: Row) -> int:
        value = int(of(row) or 0)
        return value & mask if mask is not None and value < 0 else value

    return whole


def _text(of: Evaluator) -> Evaluator:
    def text(row: Row) -> str:
        value = of(row)
        if isinstance(value, bytes):
            return value.hex()
        return "(null)" if value is None else str(value)

    return text
