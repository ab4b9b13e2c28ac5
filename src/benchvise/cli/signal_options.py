"""Arguments and options that the commands of ``benchvise signal`` share."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from benchvise.errors import UsageError
from benchvise.signal.readers.options import ReadOptions

CaptureArgument = Annotated[
    Path,
    typer.Argument(
        metavar="CAPTURE", help="A capture: a sigrok session (.sr), a VCD dump, a CSV table."
    ),
]
LinesOption = Annotated[
    list[str] | None,
    typer.Option("--line", metavar="LINE", help="Only this line, by name or number; repeatable."),
]
LineOption = Annotated[
    str | None,
    typer.Option(
        "--line",
        metavar="LINE",
        help="The line, by name or number.",
        show_default="the one that changes most",
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="V",
        help="Where a voltage becomes high.",
        show_default="the middle of what occurs",
    ),
]
HysteresisOption = Annotated[
    float | None,
    typer.Option(
        "--hysteresis",
        metavar="V",
        help="How far it must come back to become low.",
        show_default="a tenth of its range",
    ),
]
RateOption = Annotated[
    str | None,
    typer.Option(
        "--rate", metavar="HZ", help="Samples a second, for a file that does not say: 24M, 1000000."
    ),
]

_FACTORS = {"k": 10**3, "M": 10**6, "G": 10**9}


def read_options(
    lines: list[str] | None = None,
    threshold: float | None = None,
    hysteresis: float | None = None,
    rate: str | None = None,
) -> ReadOptions:
    """What the options say; UsageError for what is no rate."""
    return ReadOptions(tuple(lines or ()), threshold, hysteresis, parse_rate(rate))


def parse_rate(text: str | None) -> Fraction | None:
    """Samples a second: ``24M``; UsageError for what is no rate."""
    if text is None:
        return None
    number = text[:-1] if text[-1:] in _FACTORS else text
    try:
        rate = Fraction(number) * _FACTORS.get(text[-1:], 1)
    except (ValueError, ZeroDivisionError):
        rate = Fraction(0)
    if rate <= 0:
        raise UsageError(f"'{text}' is no sample rate", "write it in Hz: 24M, 1000000")
    return rate
