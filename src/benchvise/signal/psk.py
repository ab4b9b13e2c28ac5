"""BPSK from a transmitter that only knows MSK.

MSK sends each symbol as a frequency a quarter of the symbol rate above or below the centre, so
that the phase turns by +90 or -90 degrees a symbol. Sent over and over, the one symbol is a plain
carrier a quarter of the rate above the centre. Against that carrier, each occurrence of the other
symbol turns the phase by -180 degrees: that is BPSK. A BPSK symbol is ten MSK symbols here: all
alike where the phase is to stay, the first of them the other one where it is to turn.

Sources: S. Pasupathy, "Minimum Shift Keying", IEEE Communications Magazine 17 (1979) no. 4;
theory of bit errors: J. Proakis, *Digital Communications*, 4th ed., section 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchvise.documents import computed
from benchvise.errors import UsageError

PER_SYMBOL = 10
"""MSK symbols a BPSK symbol."""

_OVERSAMPLED = 8  # samples an MSK symbol
_MOST_BITS = 1_000_000
_SPECTRUM_POINTS = 4096

Bits = npt.NDArray[np.uint8]
Waveform = npt.NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """Bit errors at a signal-to-noise ratio: Eb/N0 in dB, errors of bits, with Wilson's 95 %
    interval, and what ideal BPSK would have in that mode (``error_rates``)."""

    ebn0_db: float
    bits: int
    errors: int
    low: float
    high: float
    ideal: float

    @computed
    def rate(self) -> float:
        """Errors a bit."""
        return self.errors / self.bits


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Power density in dB below the greatest, by frequency in Hz from the carrier that is keyed.

    ``occupied`` is the bandwidth that holds 99 % of the power.
    """

    hertz: npt.NDArray[np.float64]
    decibel: npt.NDArray[np.float64]
    occupied: float


@dataclass(frozen=True, slots=True)
class SpectrumDocument:
    """Power density in dB by frequency in Hz; ``occupied`` holds 99 % of the power."""

    hertz: list[float]
    decibel: list[float]
    occupied: float


@dataclass(frozen=True, slots=True)
class PskTransmission:
    """Data as MSK symbols that make BPSK, in hexadecimal; ``received`` is whether they were
    demodulated to the data. ``phases`` are those at the end of each bit, in degrees."""

    symbols: str
    received: bool
    phases: list[float]
    spectrum: SpectrumDocument
    errors: tuple[ErrorRate, ...]


def bits_of(data: bytes) -> Bits:
    """The bits of bytes, the highest first. UsageError for none or too many."""
    if not data or len(data) * 8 > _MOST_BITS:
        raise UsageError(f"{len(data)} bytes to send", f"give 1 to {_MOST_BITS // 8} bytes of data")
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8))


def msk_symbols(
    bits: Bits, *, per_symbol: int = PER_SYMBOL, differential: bool = True, carrier: int = 1
) -> Bits:
    """The symbols to be given to an MSK transmitter, so that it sends these bits as BPSK.

    ``carrier`` is the symbol that makes the plain carrier. Differential: a bit of 1 turns the
    phase, so that the receiver need not know it; else the phase itself is the bit, and it turns
    where two bits differ, against a 0 before the first.
    """
    if per_symbol < 2:
        raise UsageError(f"{per_symbol} MSK symbols a bit", "it takes at least 2")
    turns = bits if differential else bits ^ np.concatenate(([np.uint8(0)], bits[:-1]))
    symbols = np.full((bits.size, per_symbol), carrier, dtype=np.uint8)
    symbols[:, 0] ^= turns
    return symbols.reshape(-1)


def packed(symbols: Bits) -> bytes:
    """Symbols as bytes for a transmitter's FIFO, the first in the highest bit; filled up with the
    last symbol."""
    missing = -symbols.size % 8
    return np.packbits(np.concatenate((symbols, np.repeat(symbols[-1:], missing)))).tobytes()


def waveform(symbols: Bits, carrier: int = 1) -> Waveform:
    """What the transmitter sends, mixed down to the carrier that is keyed: eight samples an MSK
    symbol, of magnitude 1."""
    steps = np.where(symbols == carrier, 0.0, -math.pi) / _OVERSAMPLED
    phase = np.cumsum(np.repeat(steps, _OVERSAMPLED))
    return np.asarray(np.exp(1j * phase), dtype=np.complex128)


def phases(signal: Waveform, per_symbol: int = PER_SYMBOL) -> npt.NDArray[np.float64]:
    """The phase at the end of each BPSK symbol, in degrees from -180 to 180."""
    ends = signal[per_symbol * _OVERSAMPLED - 1 :: per_symbol * _OVERSAMPLED]
    return np.degrees(np.angle(ends))


def demodulated(
    signal: Waveform, *, per_symbol: int = PER_SYMBOL, differential: bool = True
) -> Bits:
    """The bits of a waveform: each symbol summed up without the MSK symbol in which it turns.

    Coherent; differential bits are compared with the symbol before, the first with phase 0.
    """
    length = per_symbol * _OVERSAMPLED
    blocks = signal[: signal.size // length * length].reshape(-1, length)
    sums = blocks[:, _OVERSAMPLED:].sum(axis=1)
    turned = np.asarray(sums.real < 0, dtype=np.uint8)
    if not differential:
        return turned
    before = np.concatenate((np.zeros(1, dtype=np.uint8), turned[:-1]))
    return np.asarray(turned ^ before, dtype=np.uint8)


def error_rates(
    levels_db: Sequence[float],
    *,
    bits: int = 20_000,
    per_symbol: int = PER_SYMBOL,
    differential: bool = False,
    seed: int = 1,
) -> list[ErrorRate]:
    """Bit errors of random bits in white noise, by simulation. ``ideal`` is that of BPSK with p,
    and of differential bits, of which each takes two phases, 2 p (1 - p): J. G. Proakis, *Digital
    Communications*, 4th ed., section 5.2.
    """
    if not 100 <= bits <= _MOST_BITS:
        raise UsageError(f"{bits} bits", f"simulate 100 to {_MOST_BITS}")
    random = np.random.default_rng(seed)
    data = random.integers(0, 2, bits, dtype=np.uint8)
    signal = waveform(msk_symbols(data, per_symbol=per_symbol, differential=differential))
    energy = per_symbol * _OVERSAMPLED  # a bit's, as each sample has magnitude 1
    rates = []
    for level in levels_db:
        deviation = math.sqrt(energy / 10 ** (level / 10) / 2)
        noise = random.normal(0, deviation, (2, signal.size))
        heard = signal + noise[0] + 1j * noise[1]
        got = demodulated(heard, per_symbol=per_symbol, differential=differential)
        errors = int((got != data).sum())
        low, high = _wilson(errors, bits)
        ideal = 0.5 * math.erfc(math.sqrt(10 ** (level / 10)))
        ideal = 2 * ideal * (1 - ideal) if differential else ideal
        rates.append(ErrorRate(level, bits, errors, low, high, ideal))
    return rates


def _wilson(hits: int, total: int) -> tuple[float, float]:
    """E. B. Wilson, J. Amer. Statist. Assoc. 22 (1927) 209."""
    z = 1.959964
    share = hits / total
    widened = 1 + z * z / total
    centre = (share + z * z / (2 * total)) / widened
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / widened
    return max(0.0, centre - half), min(1.0, centre + half)


def spectrum(signal: Waveform, msk_rate: float) -> Spectrum:
    """The power density of a waveform, of an MSK transmitter with this symbol rate in baud.

    P. D. Welch, IEEE Trans. Audio Electroacoustics 15 (1967) 70: Hann windows, half overlapping.
    """
    size = min(_SPECTRUM_POINTS, 1 << int(math.log2(max(16, signal.size))))
    if signal.size < size:
        signal = np.concatenate((signal, np.zeros(size - signal.size)))
    window = np.hanning(size)
    parts = [
        np.abs(np.fft.fft(window * signal[at : at + size])) ** 2
        for at in range(0, signal.size - size + 1, size // 2)
    ]
    power = np.fft.fftshift(np.mean(parts, axis=0))
    hertz = np.fft.fftshift(np.fft.fftfreq(size, 1 / (_OVERSAMPLED * msk_rate)))
    total = np.cumsum(power) / power.sum()
    low, high = np.searchsorted(total, (0.005, 0.995))
    decibel = 10 * np.log10(np.maximum(power / power.max(), 1e-12))
    return Spectrum(hertz, decibel, float(hertz[min(high, size - 1)] - hertz[low]))
