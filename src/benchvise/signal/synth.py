"""Sound from a radio's four frequencies: direct digital synthesis and delta-sigma modulation.

A 4-FSK transmitter sends one of four frequencies a symbol. A receiver for FM hears the running
mean of them, so any sound can be sent as two bits a symbol when what each symbol misses is carried
over to the next ones: the error goes to where nobody hears it, above the sound.

Sources: J. Tierney, C. Rader, B. Gold, "A Digital Frequency Synthesizer", IEEE Trans. Audio
Electroacoustics 19 (1971) 48; S. Norsworthy, R. Schreier, G. Temes, *Delta-Sigma Data Converters*
(1996), chapters 1 and 4 (error feedback).
"""

from __future__ import annotations

import math
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchvise.errors import CaptureError, UsageError

LEVELS = np.array([-1.0, -1 / 3, 1 / 3, 1.0])
"""The four frequencies, in units of the deviation, from the lowest."""

CODES = {"cc1101": (0b01, 0b00, 0b10, 0b11)}
"""The symbols that send them, from the lowest frequency: CC1101 data sheet (SWRS061), 16.1."""

_PHASE_BITS = 32
_TABLE_BITS = 12
_MOST_SECONDS = 600.0
_WIDTHS = {1: "u1", 2: "<i2", 4: "<i4"}
_MOST_SYMBOLS = 50_000_000

Samples = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Synthesised:
    """Two-bit symbols, and what a receiver makes of them.

    ``levels`` are places in ``LEVELS``; ``hertz`` and ``decibel`` the predicted spectrum of the
    demodulated signal, relative to full scale; ``signal_to_noise_db`` within the audio band up to
    ``band``.
    """

    rate: float
    levels: npt.NDArray[np.uint8]
    hertz: Samples
    decibel: Samples
    band: float
    signal_to_noise_db: float


def tone(rate: float, frequency: float, seconds: float, amplitude: float = 0.5) -> Samples:
    """A tone by direct digital synthesis: a 32-bit phase accumulator and a table of 4096 sines.

    ``rate`` in samples a second, amplitude relative to the deviation.
    """
    return amplitude * _looked_up(_accumulated(rate, np.full(_count(rate, seconds), frequency)))


def sweep(
    rate: float, first: float, last: float, period: float, seconds: float, amplitude: float = 0.5
) -> Samples:
    """A sine whose frequency rises from ``first`` to ``last`` Hz in each ``period`` and falls back
    at once: a sawtooth sweep."""
    times = np.arange(_count(rate, seconds)) / rate
    frequency = first + (last - first) * np.modf(times / period)[0]
    return amplitude * _looked_up(_accumulated(rate, frequency))


def _count(rate: float, seconds: float) -> int:
    if not 0 < seconds <= _MOST_SECONDS or rate <= 0 or rate * seconds > _MOST_SYMBOLS:
        raise UsageError(
            f"{seconds:g} s at {rate:g} symbols a second",
            f"up to {_MOST_SECONDS:g} s and {_MOST_SYMBOLS} symbols",
        )
    return max(1, round(rate * seconds))


def _accumulated(rate: float, frequency: Samples) -> npt.NDArray[np.uint32]:
    """The phase, as a 32-bit accumulator has it."""
    if float(np.abs(frequency).max()) >= rate / 2:
        raise UsageError(
            f"{float(np.abs(frequency).max()):g} Hz at {rate:g} symbols a second",
            "a tone lies below half of the symbol rate",
        )
    steps = np.rint(frequency / rate * 2**_PHASE_BITS).astype(np.int64)
    phase = np.cumsum(steps) - steps
    return np.asarray(phase & (2**_PHASE_BITS - 1), dtype=np.uint32)


def _looked_up(phase: npt.NDArray[np.uint32]) -> Samples:
    table = np.sin(2 * math.pi * np.arange(2**_TABLE_BITS) / 2**_TABLE_BITS)
    return np.asarray(table[phase >> np.uint32(_PHASE_BITS - _TABLE_BITS)], dtype=np.float64)


def audio(path: Path, rate: float, amplitude: float = 0.8) -> Samples:
    """A WAV file (8, 16 or 32 bits a sample, channels mixed), at ``rate`` samples a second.

    CaptureError says what is wrong with it. Between its samples lines are drawn: what that adds
    lies above half of its own rate.
    """
    try:
        with wave.open(str(path), "rb") as file:
            width, channels, own = file.getsampwidth(), file.getnchannels(), file.getframerate()
            frames = file.readframes(min(file.getnframes(), int(own * _MOST_SECONDS)))
        whole = len(frames) - len(frames) % (width * channels)
        raw = np.frombuffer(frames[:whole], dtype=_WIDTHS[width]).astype(np.float64)
    except (wave.Error, EOFError, KeyError, OSError, ZeroDivisionError) as error:
        raise CaptureError(
            f"{path}: no WAV file that can be read ({error})",
            "convert it: sox FILE -b 16 OUT.wav",
        ) from error
    mixed = raw.reshape(-1, channels).mean(axis=1)
    mixed -= mixed.mean()
    top = float(np.abs(mixed).max()) if mixed.size else 0.0
    if top == 0.0:
        raise CaptureError(f"{path}: it is silent", "take another file")
    times = np.arange(_count(rate, mixed.size / own)) * (own / rate)
    resampled = np.interp(times, np.arange(mixed.size), mixed / top)
    return np.asarray(amplitude * resampled, dtype=np.float64)


def delta_sigma(samples: Samples, order: int = 2) -> npt.NDArray[np.uint8]:
    """Two-bit symbols of samples from -1 to 1: places in ``LEVELS``.

    Error feedback: what a symbol misses is taken off the next one (order 1), or twice from the
    next and once back from that after it (order 2), which moves noise further up. UsageError for
    another order, or for samples so loud that order 2 overflows.
    """
    if order not in (1, 2):
        raise UsageError(f"order {order}", "delta-sigma of order 1 or 2")
    symbols = np.empty(samples.size, dtype=np.uint8)
    last = before = 0.0
    second = order == 2
    for place, sample in enumerate(samples.tolist()):
        wanted = sample - (2 * last - before if second else last)
        level = min(3, max(0, round((wanted + 1) * 1.5)))
        error = level / 1.5 - 1 - wanted
        # Clipped, so that a loud passage ends in distortion and not in endless oscillation.
        last, before = max(-1.0, min(1.0, error)), last
        symbols[place] = level
    return symbols


def synthesise(samples: Samples, rate: float, band: float, order: int = 2) -> Synthesised:
    """Symbols for samples at ``rate`` a second, and the spectrum that a receiver with an audio
    ``band`` in Hz will have; noise is all that was not in the samples."""
    if not 0 < band <= rate / 2:
        raise UsageError(f"an audio band of {band:g} Hz", "it lies below half of the symbol rate")
    levels = delta_sigma(samples, order)
    sent = LEVELS[levels]
    hertz, power = _power(sent, rate)
    _, wanted = _power(samples, rate)
    _, noise = _power(sent - samples, rate)
    heard = hertz <= band
    ratio = wanted[heard].sum() / max(noise[heard].sum(), 1e-30)
    full = power / _full_scale(power.size)
    return Synthesised(
        rate,
        levels,
        hertz,
        10 * np.log10(np.maximum(full, 1e-15)),
        band,
        10 * math.log10(max(ratio, 1e-30)),
    )


def packed(levels: npt.NDArray[np.uint8], codes: tuple[int, ...] = CODES["cc1101"]) -> bytes:
    """Symbols as bytes, four in each, the first in the highest bits."""
    symbols = np.array(codes, dtype=np.uint8)[levels]
    missing = -symbols.size % 4
    filled = np.concatenate((symbols, np.repeat(symbols[-1:], missing))).reshape(-1, 4)
    return np.asarray(
        filled[:, 0] << 6 | filled[:, 1] << 4 | filled[:, 2] << 2 | filled[:, 3], dtype=np.uint8
    ).tobytes()


def _full_scale(points: int) -> float:
    """The power of a sine of amplitude 1 in its bin."""
    window = np.hanning(2 * (points - 1))
    return float(window.sum() ** 2 / (2 * (window**2).sum()))


def _power(samples: Samples, rate: float) -> tuple[Samples, Samples]:
    """One-sided power by frequency, by Welch's method."""
    size = min(8192, 1 << int(math.log2(max(16, samples.size))))
    if samples.size < size:
        samples = np.concatenate((samples, np.zeros(size - samples.size)))
    window = np.hanning(size)
    scale = 2 / (window**2).sum()
    parts = [
        np.abs(np.fft.rfft(window * samples[at : at + size])) ** 2 * scale
        for at in range(0, samples.size - size + 1, size // 2)
    ]
    hertz = np.fft.rfftfreq(size, 1 / rate).astype(np.float64)
    return hertz, np.asarray(np.mean(parts, axis=0), dtype=np.float64)
