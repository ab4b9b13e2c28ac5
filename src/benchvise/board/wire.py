"""The JSON of the probe protocol: lines as objects, bounded, and requests as lines.

What the objects mean is typed by ``benchvise.board.messages``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TypeAlias

from benchvise.documents import JsonObject

Line: TypeAlias = JsonObject

LINE_LIMIT = 1 << 20
"""Bytes of a line; the longest that the probe writes is under half of that."""

REQUEST_LIMIT = 65535
"""Bytes of a request that the probe takes."""

_DIGITS = 20  # of the largest 64-bit integer: more are no number of the probe's


def parse(raw: bytes) -> Line:
    """The line as an object with a ``type``.

    Raises ValueError for everything else: no JSON, no UTF-8, numbers that are not finite or not
    in 64 bits, text that cannot be stored or printed, no type.
    """
    text = raw.decode("utf-8")
    try:
        line = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_integer
        )
        if "\\ud" in text.lower():
            json.dumps(line, ensure_ascii=False).encode()  # lone surrogates fail here
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(line, dict):
        raise ValueError("not an object")
    if not isinstance(line.get("type"), str):
        raise ValueError("no type")
    return line


def request(number: int, args: Sequence[str], inputs: Sequence[str]) -> bytes:
    """A request as a line. ValueError when the probe could not take it.

    Bytes of a path that are no UTF-8 go as they are (as ``os.fsdecode`` has them).
    """
    content: dict[str, object] = {"request": number, "args": list(args)}
    if inputs:
        content["input"] = list(inputs)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    line = text.encode("utf-8", "surrogateescape")
    if len(line) > REQUEST_LIMIT:
        raise ValueError(f"a request of {len(line)} bytes is too long")
    return line + b"\n"


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError("a number is too large")
    return int(digits)
