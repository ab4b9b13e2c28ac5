"""Writing a capture as a sigrok session, which PulseView and sigrok-cli open."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchvise.errors import CaptureError
from benchvise.signal.capture import Capture, Ticks

_CHUNK_SAMPLES = 4 << 20
_MOST_SAMPLES = 4_000_000_000
_MOST_LINES = 64


def write_session(capture: Capture, path: Path, step: int = 1) -> None:
    """Writes all lines, one sample each ``step`` ticks.

    CaptureError when it has more than 64 lines or would have more than four thousand million
    samples.
    """
    samples = -(-capture.ticks // step)
    if len(capture.lines) > _MOST_LINES or samples > _MOST_SAMPLES:
        raise CaptureError(
            f"{capture.path}: {len(capture.lines)} lines of {samples} samples are too many for a "
            "sigrok session",
            "name fewer lines, or cut the capture",
        )
    unit = -(-len(capture.lines) // 8)
    unit = 1 << (unit - 1).bit_length()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("version", "2")
        archive.writestr("metadata", _metadata(capture, session_rate(capture, step), unit))
        for number, words in enumerate(_packed_samples(capture, samples, step, unit), 1):
            archive.writestr(f"logic-1-{number}", words.tobytes())


def session_step(capture: Capture) -> int:
    """How many ticks a sample may take without hiding anything: 1 where lines were sampled, else
    a sixteenth of the shortest level, so that a decoder sees each."""
    if capture.clock.sampled:
        return 1
    shortest = min(
        (int(np.diff(line.edges).min()) for line in capture.lines if line.edges.size > 1),
        default=16,
    )
    return max(1, shortest // 16)


def session_rate(capture: Capture, step: int) -> int:
    """The samples a second that a session says it has."""
    return round(1 / (capture.clock.tick * step))


def resampled(edges: Ticks, step: int) -> Ticks:
    """The numbers of the samples at which edges are first seen."""
    return -(-edges // step)


def _metadata(capture: Capture, rate: int, unit: int) -> str:
    names = "".join(
        f"probe{number}={' '.join(line.name.split())}\n"
        for number, line in enumerate(capture.lines, 1)
    )
    return (
        "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\n"
        f"total probes={len(capture.lines)}\nsamplerate={rate} Hz\n"
        f"total analog=0\n{names}unitsize={unit}\n"
    )


def _packed_samples(
    capture: Capture, samples: int, step: int, unit: int
) -> Iterator[npt.NDArray[np.unsignedinteger]]:
    """The samples, a bit a line, in pieces."""
    kind = np.dtype(f"<u{unit}").type
    edges = [resampled(line.edges, step) for line in capture.lines]
    for begin in range(0, samples, _CHUNK_SAMPLES):
        end = min(samples, begin + _CHUNK_SAMPLES)
        words = np.zeros(end - begin, dtype=kind)
        for bit, (line, ticks) in enumerate(zip(capture.lines, edges, strict=True)):
            first, last = np.searchsorted(ticks, (begin, end))
            cuts = np.concatenate(([0], ticks[first:last] - begin, [end - begin]))
            high = line.starts_high ^ (np.arange(first, last + 1) % 2 == 1)
            words |= np.repeat(high.astype(kind) << kind(bit), np.diff(cuts))
        yield words
