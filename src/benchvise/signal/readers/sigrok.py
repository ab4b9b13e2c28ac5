"""sigrok's session files (``.sr``), read and written: a zip with metadata and blocks of samples.

Format: sigrok's wiki, "File format:Sigrok/v2"; libsigrok's src/session_file.c.
"""

from __future__ import annotations

import configparser
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from benchvise.errors import CaptureError
from benchvise.signal.capture import Capture, SignalLine, Ticks, clock_of_rate, edges_of
from benchvise.signal.readers.options import ReadOptions
from benchvise.signal.readers.samples import (
    BlockEdges,
    Collector,
    Range,
    Slicer,
    Threshold,
    Volts,
    Words,
    block_edges,
)
from benchvise.text import printable

FORM = "sigrok session"

_METADATA_BYTES = 1 << 20
_BLOCK_BYTES = 16 << 20
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_RATE = re.compile(r"(\d{1,18})(?:\.(\d{1,9}))?\s*([kMG]?)Hz|(\d{1,18})")
_MOST_PROBES = 64
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

Block = TypeVar("Block")
Scanned = TypeVar("Scanned")


@dataclass(frozen=True, slots=True)
class _Metadata:
    """What the file says of itself."""

    rate: Fraction
    capture_file: str
    unit: int
    probes: tuple[tuple[int, str], ...]
    """Bit and name."""
    analogue: tuple[tuple[int, str], ...]
    """Number and name."""


def read(path: Path, options: ReadOptions) -> Capture:
    """Reads a session file; CaptureError says what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(path, archive, options)
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error) as error:
        raise CaptureError(
            f"{path}: the sigrok session is damaged ({error})",
            "it may have been cut short: copy it again, or record it again",
        ) from error
    except (NotImplementedError, RuntimeError) as error:
        raise CaptureError(
            f"{path}: the zip file uses what sigrok does not ({error})",
            "save it again with PulseView or sigrok-cli",
        ) from error


def _read(path: Path, archive: zipfile.ZipFile, options: ReadOptions) -> Capture:
    metadata = _metadata(path, archive, options)
    wanted = [(bit, name) for bit, name in metadata.probes if options.wants(name, bit)]
    collector = Collector(path, wanted)
    mask = collector.mask
    names = _members(archive, metadata.capture_file)

    def look(data: bytes) -> BlockEdges:
        return block_edges(_sample_numbers(data, metadata.unit), mask)

    if wanted and names:
        for block in _in_order(_blocks(archive, names, metadata.unit), look):
            collector.add(block)
    lines = list(collector.lines())
    ticks, notes = collector.ticks, list[str]()
    for number, name in metadata.analogue:
        if options.wants(name, number):
            line, length, note = _analogue(archive, number, name, options)
            lines.append(line)
            notes.append(note)
            ticks = max(ticks, length)
    if not lines:
        raise CaptureError(
            f"{path}: it has none of the lines asked for",
            "its lines are "
            + ", ".join(name for _, name in (*metadata.probes, *metadata.analogue)),
        )
    if ticks == 0:
        raise CaptureError(f"{path}: the capture holds no samples", "record it again")
    return Capture(path, FORM, clock_of_rate(metadata.rate), ticks, tuple(lines), tuple(notes))


def _metadata(path: Path, archive: zipfile.ZipFile, options: ReadOptions) -> _Metadata:
    try:
        with archive.open("metadata") as file:
            text = file.read(_METADATA_BYTES + 1)
    except KeyError as error:
        raise CaptureError(
            f"{path}: a zip file without 'metadata' is no sigrok session", "name a capture"
        ) from error
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        if len(text) > _METADATA_BYTES:
            raise ValueError("its metadata is over 1 MiB")
        # Old versions indent what belongs to a probe, which would be taken for its name's end.
        lines = text.decode("utf-8", "replace").splitlines()
        parser.read_string("\n".join(line.strip() for line in lines))
        return _understood(dict(parser["device 1"]), options)
    except (configparser.Error, KeyError, ValueError) as error:
        raise CaptureError(
            f"{path}: the metadata of the sigrok session is damaged ({error})",
            "save it again with PulseView or sigrok-cli",
        ) from error


def _understood(device: dict[str, str], options: ReadOptions) -> _Metadata:
    unit = int(device.get("unitsize", "1"))
    if not 1 <= unit <= 8:
        raise ValueError(f"unitsize {unit}")
    probes, analogue = [], []
    total = min(int(device.get("total probes", "0")), _MOST_PROBES)
    for key, value in device.items():
        if match := re.fullmatch(r"probe(\d{1,3})", key):
            bit = int(match[1]) - 1
            if not 0 <= bit < unit * 8:
                raise ValueError(f"{key} with unitsize {unit}")
            probes.append((bit, printable(value, 60)))
        elif match := re.fullmatch(r"analog(\d{1,3})", key):
            analogue.append((int(match[1]), printable(value, 60)))
    if not probes and not analogue:
        probes = [(bit, str(bit)) for bit in range(min(total, unit * 8))]
    rate = options.rate if options.rate is not None else _rate(device.get("samplerate", ""))
    return _Metadata(
        rate, device.get("capturefile", "logic-1"), unit, tuple(sorted(probes)), tuple(analogue)
    )


def _rate(text: str) -> Fraction:
    """Samples a second, as sigrok writes it: ``625 kHz``, ``12.5 MHz``, ``1000000``."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"sample rate '{text}'; say it with --rate")
    if match[4]:
        rate = Fraction(int(match[4]))
    else:
        rate = Fraction(f"{match[1]}.{match[2] or 0}") * _UNITS[match[3]]
    if rate <= 0:
        raise ValueError("a sample rate of 0; say it with --rate")
    return rate


def _members(archive: zipfile.ZipFile, stem: str) -> list[str]:
    """The members that hold the samples: one of this name, or numbered ones in their order."""
    names = archive.namelist()
    numbered = [
        (int(match[1]), name)
        for name in names
        if (match := re.fullmatch(re.escape(stem) + r"-(\d{1,9})", name))
    ]
    return [name for _, name in sorted(numbered)] or [name for name in names if name == stem]


def _blocks(archive: zipfile.ZipFile, names: list[str], unit: int) -> Iterator[bytes]:
    """The samples in blocks of whole words, however the members are cut."""
    size = _BLOCK_BYTES - _BLOCK_BYTES % unit
    rest = b""
    for name in names:
        with archive.open(name) as file:
            while data := file.read(size):
                if rest or len(data) % unit:
                    data = rest + data
                    whole = len(data) - len(data) % unit
                    data, rest = data[:whole], data[whole:]
                if data:
                    yield data


def _in_order(blocks: Iterator[Block], look: Callable[[Block], Scanned]) -> Iterator[Scanned]:
    """``look`` of each block, on all CPUs, in order, with few blocks in memory."""
    width = max(1, os.cpu_count() or 1)
    with ThreadPoolExecutor(width) as pool:
        waiting = [pool.submit(look, block) for block in islice(blocks, width)]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [pool.submit(look, block) for block in islice(blocks, 1)]


def _sample_numbers(data: bytes, unit: int) -> Words:
    """The samples as unsigned numbers; sizes that no number has are widened."""
    if unit in _WORDS:
        return np.frombuffer(data, dtype=np.dtype(_WORDS[unit]).newbyteorder("<"))
    wide = 4 if unit == 3 else 8
    padded = np.zeros((len(data) // unit, wide), dtype=np.uint8)
    padded[:, :unit] = np.frombuffer(data, dtype=np.uint8).reshape(-1, unit)
    return padded.view(np.dtype(_WORDS[wide]).newbyteorder("<")).reshape(-1)


def _analogue(
    archive: zipfile.ZipFile, number: int, name: str, options: ReadOptions
) -> tuple[SignalLine, int, str]:
    """A voltage as a line, its length in samples, and a note of how it became one."""
    members = _members(archive, f"analog-1-{number}")
    seen = Range()
    for values in _volts(archive, members):
        seen.take(values)
    threshold = Threshold.of(seen, options.threshold, options.hysteresis)
    slicer = Slicer(threshold)
    starts_high, length = False, 0
    previous: bool | None = None
    edges = []
    for values in _volts(archive, members):
        levels = slicer.levels(values)
        first, inside = edges_of(levels)
        if previous is None:
            starts_high = first
        elif first != previous:
            edges.append(np.array([length], dtype=np.int64))
        edges.append(inside + length)
        previous = bool(levels[-1])
        length += int(levels.size)
    ticks = np.concatenate(edges) if edges else np.empty(0, dtype=np.int64)
    return SignalLine(name, starts_high, ticks), length, threshold.note(name)


def _volts(archive: zipfile.ZipFile, members: list[str]) -> Iterator[Volts]:
    for data in _blocks(archive, members, 4):
        yield np.frombuffer(data, dtype="<f4")


# -- writing a session, which PulseView and sigrok-cli open ----------------------------------------

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
        archive.writestr("metadata", _metadata_text(capture, session_rate(capture, step), unit))
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


def _metadata_text(capture: Capture, rate: int, unit: int) -> str:
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
