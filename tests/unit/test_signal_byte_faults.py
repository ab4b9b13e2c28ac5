"""What happened to single bytes: which of several names a fault has, by bytes made here."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from benchvise.signal.aligning import ByteChange, discrepancies
from benchvise.signal.serial.byte_faults import log_causes
from benchvise.signal.serial.classify import MeasuredSetting, classify
from benchvise.signal.serial.exchange import Exchange, Way, patterns
from benchvise.signal.serial.flow import Flow

SENT = random.Random(11).randbytes(900)


def words(received: bytes) -> list[str]:
    return [cause.word for cause in log_causes(discrepancies(SENT, received), Counter(SENT))]


def test_a_log_without_bit_7_has_seven_bits_named() -> None:
    """It was called one bit flipped now and then, and sent people to the memory."""
    assert words(bytes(byte & 0x7F for byte in SENT)) == ["seven bits"]


def test_bit_7_gone_now_and_then_is_a_flipped_bit() -> None:
    maker = random.Random(5)
    received = bytes(byte & 0x7F if maker.random() < 0.05 else byte for byte in SENT)
    assert words(received) == ["bit flipped"]


@pytest.mark.parametrize("count", [3, 40, 90])
def test_doubled_bytes_are_duplicated_whichever_copy_is_the_first(count: int) -> None:
    """A copy taken for the first of the two was called added, and so no cause was found."""
    received = bytearray(SENT)
    for place in sorted(random.Random(count).sample(range(len(SENT)), count), reverse=True):
        received.insert(place, received[place])
    found = discrepancies(SENT, bytes(received))
    assert {difference.change for difference in found} == {ByteChange.DUPLICATED}
    assert sum(len(difference.received) for difference in found) == count
    assert words(bytes(received)) == ["bytes doubled"]


def test_a_byte_that_repeats_nothing_beside_it_is_added() -> None:
    received = SENT[:300] + bytes([(SENT[299] ^ SENT[300] ^ 0xFF) or 1]) + SENT[300:]
    (difference,) = discrepancies(SENT, received)
    assert received[300] not in (SENT[299], SENT[300])
    assert difference.change is ByteChange.ADDED


@pytest.mark.parametrize("size", [1024, 4096, 16384])
def test_zeros_taken_out_are_no_overrun_where_the_slow_pattern_has_none(size: int) -> None:
    """The few bytes sent at leisure had no zero in them, so none of them was lost."""
    done = []
    for pattern in patterns(Flow.NONE, size, 1):
        data = pattern.data.replace(b"\x00", b"\x01") if pattern.pause_s else pattern.data
        received = data.replace(b"\x00", b"")
        way = Way(
            "there",
            len(data),
            len(received),
            tuple(discrepancies(data, received)),
            stalled=False,
            stalled_at=0,
            resumed=False,
            dead=False,
            seconds=1.0,
        )
        done.append(Exchange(replace(pattern, data=data), 16, (way,), None))
    setting = MeasuredSetting(Flow.NONE, 115200, 16, tuple(done))
    assert classify([setting])[0].word == "zeros lost"
