"""Options that the commands on captures share, each defined once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from benchvise.command import CommandArgument, CommandOption
from benchvise.quantities import format_range, format_value
from benchvise.signal.readers.options import ReadOptions, parse_rate

if TYPE_CHECKING:
    from benchvise.signal.capture import Capture


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """What the file of a capture does not say."""

    threshold: Annotated[
        float | None,
        CommandOption(
            "--threshold",
            "Voltage at which a line becomes high.",
            metavar="V",
            default_text="the middle of what occurs",
        ),
    ] = None
    hysteresis: Annotated[
        float | None,
        CommandOption(
            "--hysteresis",
            "Voltage by which it must fall to become low again.",
            metavar="V",
            default_text="a tenth of its range",
        ),
    ] = None
    rate: Annotated[
        Fraction | None,
        CommandOption(
            "--rate",
            "Samples a second, for a file that does not say: 24M, 1000000.",
            metavar="HZ",
            parse=parse_rate,
        ),
    ] = None

    @property
    def reading(self) -> ReadOptions:
        """For the readers."""
        return ReadOptions((), self.threshold, self.hysteresis, self.rate)


@dataclass(frozen=True, kw_only=True)
class CaptureOptions(ReadingOptions):
    """Which capture is read, and how."""

    capture: Annotated[
        Path,
        CommandArgument("CAPTURE", "A capture: a sigrok session (.sr), a VCD dump, a CSV table."),
    ]

    def open(self) -> Capture:
        """Reads the capture. CaptureError where it cannot be read."""
        from benchvise.signal.reading import open_capture

        return open_capture(self.capture, self.reading)


@dataclass(frozen=True, kw_only=True)
class LineOptions(CaptureOptions):
    """One line of a capture."""

    line: Annotated[
        str | None,
        CommandOption(
            "--line",
            "The line, by name or number.",
            metavar="LINE",
            default_text="the one that changes most",
        ),
    ] = None


def format_seconds(seconds: float) -> str:
    """A time in its handiest unit: ``1.25 us``."""
    return format_value(seconds * 1e9, "ns")


def format_seconds_range(low: float, high: float) -> str:
    """``1.20 to 1.31 us``."""
    return format_range(low * 1e9, high * 1e9, "ns")
