"""Captures and what was found in them as documents; times in seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchvise.signal.aligning import Discrepancy
from benchvise.signal.capture import Capture
from benchvise.signal.clock import ClockFigures
from benchvise.signal.decoders import Annotation
from benchvise.signal.distribution import Difference, Distribution, Effect, histogram
from benchvise.signal.flow_control import Excess
from benchvise.signal.fsk import Keying
from benchvise.signal.infrared import Infrared
from benchvise.signal.psk import ErrorRate, Spectrum
from benchvise.signal.radio import DataRate, Explained
from benchvise.signal.response import Responses
from benchvise.signal.synth import Synthesised
from benchvise.signal.uart import SerialLine

Document = dict[str, Any]


def plain(value: Any) -> Any:
    """Numbers of numpy as those of Python; what is no number is None."""
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _document(found: Document) -> Document:
    """The same with plain values."""
    return {key: plain(value) for key, value in found.items()}


def capture(found: Capture) -> Document:
    """What a capture holds; the edges themselves are not in it."""
    return {
        "path": str(found.path),
        "form": found.form,
        "rate": found.clock.rate,
        "sampled": found.clock.sampled,
        "resolution": found.clock.resolution_s,
        "seconds": found.seconds,
        "lines": [
            {"name": line.name, "starts_high": line.starts_high, "edges": int(line.edges.size)}
            for line in found.lines
        ],
        "notes": list(found.notes),
    }


def responses(
    name: str, found: Responses, figures: Distribution, relative: Difference | None
) -> Document:
    """One configuration, with all its times."""
    edges, counts = histogram(found.seconds)
    return _document(
        {
            "name": name,
            "source": str(found.source),
            "resolution": found.resolution_s,
            "missed": found.missed_at.size,
            "extra": found.extra_at.size,
            "stray": found.stray,
            "notes": list(found.notes),
            "figures": asdict(figures),
            "relative": None if relative is None else {**asdict(relative), "shown": relative.shown},
            "histogram": {"edges": edges, "counts": counts},
            "responses": found.seconds,
            "at": found.at,
            "missed_at": found.missed_at,
            "extra_at": found.extra_at,
        }
    )


def effects(found: Sequence[Effect]) -> list[Document]:
    """What each factor does."""
    return [
        {
            "factor": one.factor,
            "level": one.level,
            "reference": one.reference,
            "where": [
                {"with": where, **plain(asdict(what)), "shown": what.shown}
                for where, what in one.where
            ],
        }
        for one in found
    ]


def clock(
    figures: ClockFigures, nominal: float | None, off_ppm: float | None, why: Explained | None
) -> Document:
    """A clock line, and which registers explain it."""
    return _document(
        {
            **asdict(figures),
            "nominal": nominal,
            "off_ppm": off_ppm,
            "explained": None
            if why is None
            else {
                "agrees": why.agrees,
                "measured": why.measured,
                "off": why.off,
                "wanted": _rate(why.wanted),
                "by_mantissa": _rate(why.by_mantissa),
                "by_exponent": _rate(why.by_exponent),
                "nearest": _rate(why.nearest),
            },
        }
    )


def _rate(found: DataRate | None) -> Document | None:
    return None if found is None else asdict(found)


def serial(
    capture: Capture,
    lines: Sequence[SerialLine],
    skipped: Sequence[str],
    excesses: Sequence[Excess],
    beside: str | None,
    differences: Sequence[Discrepancy],
) -> Document:
    """Serial lines byte by byte, and a host's log beside one of them."""
    return _document(
        {
            "lines": [
                {
                    "line": one.line,
                    "rate": {**asdict(one.rate), "off": one.rate.off},
                    "frame": one.frame.name,
                    "content": one.content.hex(),
                    "at": [capture.time(byte.begin) for byte in one.data],
                    "faults": {str(kind): number for kind, number in one.faults().items()},
                    "marks": [
                        {
                            "at": capture.time(mark.begin),
                            "seconds": capture.time(mark.end - mark.begin),
                            "fault": str(mark.fault),
                        }
                        for mark in one.marks
                    ],
                }
                for one in lines
            ],
            "skipped": list(skipped),
            "excess": [asdict(one) for one in excesses],
            "beside": beside,
            "differences": [
                {
                    "change": str(one.change),
                    "sent_at": one.sent_at,
                    "received_at": one.received_at,
                    "sent": one.sent.hex(),
                    "received": one.received.hex(),
                }
                for one in differences
            ],
        }
    )


def remote(found: Infrared) -> Document:
    """A remote control: frames pulse by pulse, and what was decoded."""
    return _document(
        {
            "line": found.line,
            "active_low": found.active_low,
            "carrier_hz": found.carrier_hz,
            "protocol": found.protocol.name if found.protocol else None,
            "frames": [
                {
                    "at": frame.at,
                    "protocol": frame.protocol.name if frame.protocol else None,
                    "spans": [
                        ["pulse" if span.pulse else "space", span.seconds] for span in frame.spans
                    ],
                }
                for frame in found.frames
            ],
            "decoded": [one.text for one in found.decoded],
            "notes": list(found.notes),
        }
    )


def decoded(capture: Capture, said: Sequence[Annotation]) -> Document:
    """What decoders say."""
    return {
        "annotations": [
            {
                "at": capture.time(one.begin),
                "seconds": capture.time(one.end - one.begin),
                "decoder": one.decoder,
                "text": one.text,
            }
            for one in said
        ]
    }


def keyed(
    symbols: bytes,
    phases: Sequence[float],
    spectrum: Spectrum,
    errors: Sequence[ErrorRate],
    *,
    received: bool,
) -> Document:
    """BPSK from an MSK transmitter."""
    return _document(
        {
            "symbols": symbols.hex(),
            "received": received,
            "phases": phases,
            "spectrum": asdict(spectrum),
            "errors": [{**asdict(one), "rate": one.rate} for one in errors],
        }
    )


def synthesised(found: Synthesised, symbols: bytes) -> Document:
    """Two-bit symbols and their spectrum."""
    return _document(
        {
            "rate": found.rate,
            "symbols": symbols.hex(),
            "band": found.band,
            "signal_to_noise_db": found.signal_to_noise_db,
            "hertz": found.hertz,
            "decibel": found.decibel,
        }
    )


def shifted(found: Keying) -> Document:
    """Frequencies and their symbols."""
    return _document(asdict(found))
