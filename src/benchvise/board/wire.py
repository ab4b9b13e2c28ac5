"""Lines of the probe protocol, checked: what comes from a board is not trusted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

Line = dict[str, Any]

LINE_LIMIT = 1 << 20
"""Bytes of a line; the longest that the probe writes is under half of that."""

REQUEST_LIMIT = 65535
"""Bytes of a request that the probe takes."""

_DIGITS = 20  # of the largest 64-bit integer: more are no number of the probe's

# Keys that a line of a type must have. Types and keys not named here pass as they are.
_SHAPES: Mapping[str, Mapping[str, type]] = {
    "ready": {"protocol": int, "probe": str, "arch": str},
    "list": {"benchmarks": list, "common": list},
    "begin": {"benchmark": str, "params": dict, "caveats": list},
    "sample": {"index": int, "flags": list},
    "end": {"batches": int},
    "error": {"exit": int, "message": str},
    "value": {"path": str},
    "write": {"path": str},
    "link": {"path": str},
    "fact": {"name": str},
    "done": {"request": int},
}


def parse(raw: bytes) -> Line:
    """The line as an object with a ``type``.

    Raises ValueError for everything else: no JSON, no UTF-8, numbers that are not finite or not
    in 64 bits, text that cannot be stored or printed, keys missing or of another type.
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
    shape = _SHAPES.get(line["type"]) if isinstance(line.get("type"), str) else None
    if shape is None and not isinstance(line.get("type"), str):
        raise ValueError("no type")
    for key, kind in (shape or {}).items():
        if not isinstance(line.get(key), kind) or isinstance(line[key], bool):
            raise ValueError(f"no {key}")
    if line["type"] == "sample" and not _is_value(line.get("value")):
        raise ValueError("no value")
    return line


def request(number: int, args: Sequence[str], given: Sequence[str]) -> bytes:
    """A request as a line. ValueError when the probe could not take it.

    Bytes of a path that are no UTF-8 go as they are (as ``os.fsdecode`` has them).
    """
    content: dict[str, object] = {"request": number, "args": list(args)}
    if given:
        content["input"] = list(given)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    line = text.encode("utf-8", "surrogateescape")
    if len(line) > REQUEST_LIMIT:
        raise ValueError(f"a request of {len(line)} bytes is too long")
    return line + b"\n"


def _is_value(value: object) -> bool:
    """A number, or a reason why there is none."""
    if isinstance(value, dict):
        return isinstance(value.get("na"), str)
    return isinstance(value, int | float) and not isinstance(value, bool)


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
