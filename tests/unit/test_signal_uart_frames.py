"""Which frame a serial line has, from its edges alone."""

from __future__ import annotations

import capture_data
import numpy as np
import pytest

from benchvise.signal.capture import Capture
from benchvise.signal.serial_lines import parse_frame
from benchvise.signal.uart import decode_line
from benchvise.signal.uart_frames import FoundFrame, find_frame, names

RATE = 400_000
BAUD = 9600.0


def sent(words: np.ndarray, bits: int, parity: str, stop: float, rests: bool) -> Capture:
    """Words as the frame has them, with rests of any length between some of them."""
    random = np.random.default_rng(9)
    levels: list[tuple[float, int]] = [(15.0, 1)]
    for word in words:
        data = [int(word) >> place & 1 for place in range(bits)]
        check = [] if parity == "n" else [(sum(data) + (parity == "o")) % 2]
        levels += [(1.0, level) for level in (0, *data, *check)]
        pause = random.exponential(4.0) if rests and random.random() < 0.7 else 0.0
        levels.append((stop + pause, 1))
    levels.append((20.0, 1))
    ends = np.rint(np.cumsum([length for length, _ in levels]) * RATE / BAUD).astype(int)
    line = np.repeat([level for _, level in levels], np.diff(np.concatenate(([0], ends))))
    return capture_data.sampled(RATE, TX=line)


def found(capture: Capture) -> FoundFrame:
    return find_frame(capture, capture.lines[0], BAUD)


@pytest.mark.parametrize("rests", [False, True])
@pytest.mark.parametrize("parity", "neo")
@pytest.mark.parametrize("bits", range(5, 10))
def test_signals_health_8_frames_are_found_without_hints(
    bits: int, parity: str, rests: bool
) -> None:
    """A clean 7n1 line was blamed for frame errors as 8n1, 5n2 as well."""
    words = np.random.default_rng(bits).integers(0, 1 << bits, 120)
    for stop in (1, 2):
        frame = found(sent(words, bits, parity, stop, rests))
        assert frame.frame.bits == f"{bits}{parity}{stop}"
        assert frame.errors == 0


def test_other_frames_that_fit_as_well_are_named() -> None:
    """8n1 whose highest bit is always one is 7n1 with a longer rest: nobody can tell."""
    words = np.random.default_rng(1).integers(0, 128, 60) | 128
    frame = found(sent(words, 8, "n", 1, False))
    assert {frame.frame.bits, *(other.bits for other in frame.also_fits)} >= {"7n2", "8n1"}


def test_signals_health_8_one_byte_over_and_over_is_no_proof_of_parity() -> None:
    """Ties preferred 7e1 to 8n1: 0x55 has its even parity in bit 7."""
    frame = found(sent(np.full(100, 0x55), 8, "n", 1, False))
    assert frame.frame.bits == "8n1"
    assert "7e1" in [other.bits for other in frame.also_fits]


def test_a_line_with_errors_keeps_the_usual_frame() -> None:
    capture = sent(np.random.default_rng(2).integers(0, 256, 200), 8, "n", 1, True)
    levels = capture.lines[0].is_high(np.arange(capture.ticks))
    for at in range(5000, capture.ticks, 40_000):
        levels[at : at + 60] ^= True
    frame = found(capture_data.sampled(RATE, TX=levels))
    assert frame.frame.bits == "8n1"
    assert frame.errors > 0


def test_frames_are_written_with_one_and_a_half_stop_bits() -> None:
    assert parse_frame("5N1.5") == (5, "none", 1.5)
    assert parse_frame("9e2") == (9, "even", 2.0)


def paused(words: bytes, rest: float, baud: float = BAUD) -> Capture:
    """8n1 with the same rest, in bits, after each word."""
    levels: list[tuple[float, int]] = [(15.0, 1)]
    for word in words:
        levels += [(1.0, level) for level in (0, *(word >> place & 1 for place in range(8)))]
        levels.append((1 + rest, 1))
    levels.append((20.0, 1))
    ends = np.rint(np.cumsum([length for length, _ in levels]) * RATE / baud).astype(int)
    line = np.repeat([level for _, level in levels], np.diff(np.concatenate(([0], ends))))
    return capture_data.sampled(RATE, TX=line)


@pytest.mark.parametrize("rest", [1.37, 2.34, 4.31])
def test_rests_of_one_odd_length_do_not_make_a_faster_rate(rest: float) -> None:
    """Rests of a third of a bit made three times the rate the likeliest, with errors in a third of
    its words."""
    words = np.random.default_rng(31).integers(0, 256, 50).astype(np.uint8).tobytes()
    line = decode_line(paused(words, rest), "TX")
    assert line.rate.standard == BAUD
    assert line.frame.bits == "8n1"
    assert line.content == words
    assert not line.marks


def test_the_other_rate_that_a_few_words_fit_is_named() -> None:
    """Half bits of the rests are whole bits at twice the rate: nobody can tell, so both are."""
    line = decode_line(paused(b"\x4d\x3a\x0d\x0a", 3.5), "TX")
    assert line.rate.standard == BAUD
    assert any(abs(frame.baud / (2 * BAUD) - 1) < 0.01 for frame in line.also_fits)
    assert "19" in names(line.also_fits, line.frame.baud)


@pytest.mark.parametrize("rest", [2.88, 1.12, 0.9])
def test_rests_near_a_whole_bit_do_not_pull_the_rate(rest: float) -> None:
    """A healthy sender of 9600 Bd that rests 2.88 bits between words was called 1.2 % off."""
    levels: list[tuple[float, int]] = [(15.0, 1)]
    for byte in b"Hello\r\n":
        levels += [(1.0, level) for level in (0, *(byte >> place & 1 for place in range(8)))]
        levels.append((1.0 + rest, 1))
    levels.append((20.0, 1))
    ends = np.rint(np.cumsum([length for length, _ in levels]) * RATE / BAUD).astype(int)
    line = np.repeat([level for _, level in levels], np.diff(np.concatenate(([0], ends))))
    decoded = decode_line(capture_data.sampled(RATE, TX=line), "TX")
    assert decoded.content == b"Hello\r\n"
    assert decoded.rate.measured == pytest.approx(BAUD, rel=0.002)
