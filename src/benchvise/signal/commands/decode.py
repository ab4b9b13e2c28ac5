"""``benchvise signal decode``: any protocol that libsigrokdecode knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from benchvise.command import CommandOption, CommandRecord
from benchvise.signal.commands.options import CaptureOptions
from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.text import Untrusted

if TYPE_CHECKING:
    from benchvise.signal.capture import Capture
    from benchvise.signal.decoders import Annotation


@dataclass(frozen=True, kw_only=True)
class DecodeOptions(CaptureOptions):
    """Which decoders, and which of their annotations."""

    stack: Annotated[
        tuple[str, ...],
        CommandOption(
            "--decoder",
            "A decoder as sigrok-cli has it; repeat it to stack another on it.",
            metavar="NAME:KEY=VALUE:…",
            short="-P",
        ),
    ]
    annotations: Annotated[
        tuple[str, ...],
        CommandOption("--annotation", "Only these.", metavar="DECODER=CLASS", short="-A"),
    ] = ()
    limit: Annotated[
        int, CommandOption("--limit", "Greatest number of rows to show.", metavar="N", minimum=1)
    ] = 100


@dataclass(frozen=True, slots=True)
class AnnotationDocument:
    """What a decoder says of a span; times in seconds."""

    at: float
    seconds: float
    decoder: Untrusted
    text: Untrusted


@dataclass(frozen=True, slots=True)
class DecodedAnnotations:
    """All annotations of a capture, in the order in which the decoders say them."""

    name: str
    annotations: tuple[AnnotationDocument, ...]


@dataclass(frozen=True, slots=True)
class AnnotationsDocument:
    """All annotations as JSON."""

    annotations: tuple[AnnotationDocument, ...]


def run(options: DecodeOptions) -> DecodedAnnotations:
    """What a stack of decoders says of a capture. UsageError, CaptureError."""
    from benchvise.signal.decoders import decode, parse_decoder

    capture = options.open()
    stack = [parse_decoder(text) for text in options.stack]
    return decoded_annotations(capture, decode(capture, stack, options.annotations))


def decoded_annotations(capture: Capture, annotations: Sequence[Annotation]) -> DecodedAnnotations:
    """Annotations with their times in seconds."""
    return DecodedAnnotations(
        capture.path.name,
        tuple(
            AnnotationDocument(
                capture.time(item.begin),
                capture.time(item.end - item.begin),
                item.decoder,
                item.text,
            )
            for item in annotations
        ),
    )


COLUMNS: tuple[ColumnSpec[AnnotationDocument], ...] = (
    ColumnSpec("At", ValueUnit.SECONDS, lambda row: row.at),
    ColumnSpec("For", ValueUnit.SECONDS, lambda row: row.seconds, "muted", key="length_s"),
    ColumnSpec("By", ValueUnit.TEXT, lambda row: row.decoder, "muted", key="decoder"),
    ColumnSpec("Says", ValueUnit.TEXT, lambda row: row.text, key="text"),
)


def table(decoded: DecodedAnnotations, limit: int) -> TableSpec[AnnotationDocument]:
    """The first annotations in the order of time."""
    rows = sorted(decoded.annotations, key=lambda row: row.at)
    title = f"{decoded.name}: {len(rows)} annotations"
    return TableSpec(title, COLUMNS, rows).first(limit, "more (--limit N, --json)")


DECODE = CommandRecord(
    name="decode",
    kind="signal-decode",
    summary="Decode any protocol that libsigrokdecode knows, from any kind of capture.",
    example="benchvise signal decode radio.sr -P spi:clk=CLK:mosi=MOSI:miso=MISO:cs=CS -P cc1101",
    options=DecodeOptions,
    run=run,
    document=lambda decoded: AnnotationsDocument(decoded.annotations),
    tables=lambda decoded, options: [table(decoded, options.limit)],
    columns=COLUMNS,
    rows=lambda decoded: decoded.annotations,
)
