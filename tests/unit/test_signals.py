"""What is asked of captures: response times, clocks, radios, what a host got."""

from __future__ import annotations

import wave
from pathlib import Path
from typing import Any

import capture_data
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchvise.errors import CaptureError, UsageError
from benchvise.signal import fsk, psk, synth
from benchvise.signal.aligning import ByteChange, discrepancies
from benchvise.signal.capture import Capture, SignalLine, clock_of_rate, edges_of
from benchvise.signal.clock import compare_registers, data_rate, measure_clock
from benchvise.signal.commands.radio import FSK, FskOptions
from benchvise.signal.configurations import compare_configurations
from benchvise.signal.distribution import difference, distribution, effects, histogram
from benchvise.signal.readers.options import ReadOptions
from benchvise.signal.response import Edge, is_list, read_list, responses
from benchvise.signal.serial import exchange

# -- response times --------------------------------------------------------------------------------


def pulses(length: int, *spans: tuple[int, int]) -> np.ndarray:
    levels = np.zeros(length, dtype=np.uint8)
    for begin, end in spans:
        levels[begin:end] = 1
    return levels


def test_each_stimulus_has_its_first_answer_the_rest_is_extra_and_none_is_missed() -> None:
    capture = capture_data.sampled(
        1_000_000,
        IN=pulses(1000, (100, 150), (300, 350), (500, 550), (700, 750)),
        OUT=pulses(1000, (20, 30), (112, 120), (140, 145), (511, 520), (707, 720)),
    )
    found = responses(capture, Edge("IN"), Edge("OUT"))
    assert found.seconds == pytest.approx([12e-6, 11e-6, 7e-6])
    assert found.at == pytest.approx([100e-6, 500e-6, 700e-6])
    assert found.missed_at == pytest.approx([300e-6])
    assert found.extra_at == pytest.approx([140e-6])
    assert found.stray == 1
    assert found.shots == 4
    assert found.resolution_s == pytest.approx(1e-6)


def test_polarity_window_and_the_end_of_the_capture() -> None:
    capture = capture_data.sampled(
        1_000_000, IN=pulses(400, (100, 150), (380, 390)), OUT=pulses(400, (170, 180))
    )
    falling = responses(capture, Edge.parse("IN:falling"), Edge.parse("OUT:falling"))
    assert falling.seconds == pytest.approx([30e-6])
    assert falling.notes == ("the last stimulus is left out: the capture ends before its answer",)
    short = responses(capture, Edge("IN"), Edge("OUT"), window_s=20e-6)
    assert short.seconds.size == 0
    assert short.missed_at == pytest.approx([100e-6, 380e-6])
    assert short.extra_at == pytest.approx([170e-6])


def test_an_answer_within_the_same_sample_counts() -> None:
    capture = capture_data.sampled(1000, IN=pulses(100, (10, 20)), OUT=pulses(100, (10, 12)))
    assert responses(capture, Edge("IN"), Edge("OUT")).seconds == pytest.approx([0.0])


@pytest.mark.parametrize("text", ["", "A:up", ":"])
def test_what_is_no_edge(text: str) -> None:
    with pytest.raises(UsageError):
        Edge.parse(text)


def test_an_edge_may_have_colons_in_its_name() -> None:
    assert Edge.parse("a:b:falling") == Edge("a:b", "falling")


def test_lines_and_edges_that_are_not_there() -> None:
    capture = capture_data.sampled(1000, IN=pulses(100), OUT=pulses(100, (10, 12)))
    with pytest.raises(CaptureError, match="there is no rising edge on IN"):
        responses(capture, Edge("IN"), Edge("OUT"))
    with pytest.raises(CaptureError, match=r"no line 'X'.*IN, OUT"):
        responses(capture, Edge("X"), Edge("OUT"))
    with pytest.raises(CaptureError, match="same edge"):
        responses(capture, Edge("OUT"), Edge("OUT"))


def test_lists_of_response_times(tmp_path: Path) -> None:
    path = tmp_path / "shots.out"
    path.write_text("0\t9.1E-6\n1\t8.9E-6\n2\t-1\n\n3\t9.0e-6\n")
    assert is_list(path)
    found = read_list(path)
    assert found.seconds == pytest.approx([9.1e-6, 8.9e-6, 9.0e-6])
    assert found.missed_at.size == 1
    path.write_text("0\t9.1E-6\nhello\n")
    with pytest.raises(CaptureError, match=":2: 'hello'"):
        read_list(path)


@pytest.mark.parametrize(
    "content",
    [
        "shot,seconds\n0,0.0025\n1,0.004\n",
        "n;response [ms]\n0;2,5\n1;4\n",
        "time_us\n2500\n4e3\n",
        "0;2,5e-3\n1;4,0e-3\n",
        "0,0025\n0,0040\n",
        "0, 0.0025\r\n1, 0.004\r\n",
    ],
)
def test_lists_with_headings_units_and_decimal_commas(tmp_path: Path, content: str) -> None:
    path = tmp_path / "shots.csv"
    path.write_text(content)
    assert is_list(path)
    assert read_list(path).seconds == pytest.approx([0.0025, 0.004])


@pytest.mark.parametrize("content", ["sample,D0\n0,1\n1,0\n", "Time [s],D0\n0.1,1\n0.2,0\n"])
def test_tables_of_levels_are_no_lists(tmp_path: Path, content: str) -> None:
    path = tmp_path / "capture.csv"
    path.write_text(content)
    assert not is_list(path)


@capture_data.needs_captures
@pytest.mark.parametrize(
    ("name", "median"),
    [
        ("rpi_c_kmod", 13.0),
        ("rpi_c_kmod_busy", 7.8),
        ("rpi_c_userspace", 273.8),
        ("rpi_c_userspace_busy", 208.8),
        ("rpi_python", 208.3),
        ("rpi_python_busy", 162.4),
        ("arduino_irq", 9.0),
    ],
)
def test_the_medians_of_the_published_measurements(name: str, median: float) -> None:
    found = read_list(capture_data.RESPONSES / f"01_{name}.out")
    figures = distribution(found.seconds)
    assert figures.median.value * 1e6 == pytest.approx(median, abs=0.1)


def test_factors_are_compared_with_all_else_equal() -> None:
    random = np.random.default_rng(1)

    def times(middle: float) -> np.ndarray:
        return middle * np.exp(random.normal(0, 0.05, 300))

    found = effects(
        {
            ("kernel", "idle"): times(13e-6),
            ("kernel", "busy"): times(7.8e-6),
            ("python", "idle"): times(208e-6),
            ("python", "busy"): times(208e-6),
        },
        ("where", "load"),
    )
    said = {
        (effect.factor, effect.level, what.setting): (
            what.significant,
            what.ratio and what.ratio.value,
        )
        for effect in found
        for what in effect.where
    }
    assert said["load", "busy", "kernel"][0]
    assert said["load", "busy", "kernel"][1] == pytest.approx(0.6, rel=0.03)
    assert not said["load", "busy", "python"][0]
    assert said["where", "python", "idle"][1] == pytest.approx(16, rel=0.03)


def test_few_times_do_not_bound_far_quantiles() -> None:
    found = distribution(np.linspace(1e-6, 2e-6, 30))
    assert {q.share: q.interval is not None for q in found.quantiles}[0.99] is False
    assert found.median.interval is not None


def test_a_histogram_holds_every_time() -> None:
    values = np.geomspace(1e-6, 1e-3, 1000)
    edges, counts = histogram(values)
    assert counts.sum() == 1000
    assert edges[1] / edges[0] == pytest.approx(edges[-1] / edges[-2])
    assert histogram(np.full(5, 3e-6))[1].sum() == 5


def test_a_difference_needs_more_than_chance() -> None:
    random = np.random.default_rng(2)
    assert not difference(random.normal(10, 1, 40), random.normal(10, 1, 40)).significant


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), ("", "empty"), ("1\t\n2\t9e-6\n", "is no response time")],
)
def test_signals_health_17_a_list_that_is_none_is_refused(
    tmp_path: Path, content: str | None, said: str
) -> None:
    """A missing or empty file was called a capture, a running number alone was read as 1.00 s."""
    path = tmp_path / "list.out"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CaptureError, match=said):
        compare_configurations([("one", path)], ReadOptions(), None, None, ())


def test_signals_health_17_nan_in_a_list_is_a_missed_shot(tmp_path: Path) -> None:
    path = tmp_path / "list.out"
    path.write_text("1\tnan\n2\t9e-6\n3\tNaN\n")
    assert is_list(path)
    found = read_list(path)
    assert found.seconds == pytest.approx([9e-6])
    assert found.missed_at.size == 2


# -- clocks ----------------------------------------------------------------------------------------


def square(rate: int, hertz: float, seconds: float, duty: float = 0.5) -> Capture:
    phase = np.arange(round(rate * seconds)) / rate * hertz
    return capture_data.sampled(rate, CLK=np.modf(phase)[0] < duty)


def test_a_frequency_is_known_better_than_one_period() -> None:
    found = measure_clock(square(1_000_000, 12_345.6, 0.5, duty=0.3), "CLK")
    assert found.error is not None
    assert abs(found.frequency - 12_345.6) < 4 * found.error
    assert found.error < 0.05
    assert found.duty == pytest.approx(0.3, abs=0.005)
    assert found.jitter_peak <= 2 * found.resolution
    assert found.pauses == ()


def test_a_pause_is_no_period() -> None:
    first, second = square(1_000_000, 10_000, 0.02), square(1_000_000, 10_000, 0.05)
    edges = np.concatenate((first.lines[0].edges, second.lines[0].edges + 120_000))
    capture = Capture(
        Path("x"), "", clock_of_rate(1_000_000), 170_000, (SignalLine("C", True, edges),)
    )
    found = measure_clock(capture, "C")
    assert found.frequency == pytest.approx(10_000, rel=1e-5)
    assert len(found.pauses) == 1


def test_too_few_edges_for_a_frequency() -> None:
    with pytest.raises(CaptureError, match="too few"):
        measure_clock(square(1000, 2, 1.0), "CLK")


def test_the_register_that_explains_a_rate() -> None:
    """CC1101 data sheet, section 12: R = (256 + M) * 2^E / 2^28 * f."""
    wanted = data_rate(0x8A, 0x83, 27e6)
    assert wanted.rate == pytest.approx((256 + 0x83) * 2**10 / 2**28 * 27e6)
    found = compare_registers(wanted, data_rate(0x8A, 0x22, 27e6).rate * 1.00005, 27e6, 1e-4)
    assert not found.agrees
    assert found.by_mantissa is not None
    assert found.by_mantissa.mdmcfg3 == 0x22
    assert found.by_exponent is None
    other = compare_registers(wanted, data_rate(0x8C, 0x83, 27e6).rate, 27e6, 1e-4)
    assert other.by_exponent is not None
    assert other.by_exponent.mdmcfg4 == 0x8C
    assert compare_registers(wanted, wanted.rate * 1.00009, 27e6, 1e-4).agrees


@pytest.mark.parametrize(("meant", "there"), [(26e6, 27e6), (27e6, 26e6), (26e6, 24e6)])
def test_another_crystal_that_explains_a_rate_is_suggested(meant: float, there: float) -> None:
    """It was seen that no register explains it, and nothing was suggested."""
    measured = data_rate(0x2D, 0x3B, there).rate * 1.00003
    found = compare_registers(data_rate(0x2D, 0x3B, meant), measured, meant, 1e-4)
    assert found.by_crystal == there
    assert found.by_exponent is None
    none = compare_registers(data_rate(0x2D, 0x3B, meant), measured * 1.003, meant, 1e-4)
    assert none.by_crystal is None


# -- what a host got -------------------------------------------------------------------------------


def test_lost_added_altered_and_duplicated_bytes_are_told_apart() -> None:
    sent = bytes(np.random.default_rng(4).integers(0, 256, 30_000, dtype=np.uint8))
    got = sent[:500] + sent[501:900] + sent[890:2000] + b"xyz" + sent[2003:9000] + sent[8999:]
    found = discrepancies(sent, got)
    assert [(one.change, one.sent_at) for one in found] == [
        (ByteChange.LOST, 500),
        (ByteChange.DUPLICATED, 900),
        (ByteChange.ALTERED, 2000),
        (ByteChange.DUPLICATED, 9000),
    ]


def test_what_is_alike_has_no_discrepancy_and_ends_may_be_missing() -> None:
    data = bytes(range(256)) * 40
    assert discrepancies(data, data) == []
    assert [one.change for one in discrepancies(data, data[:-7])] == [ByteChange.LOST]
    assert [one.change for one in discrepancies(data, data + b"!")] == [ByteChange.ADDED]
    assert [one.change for one in discrepancies(data, b"")] == [ByteChange.LOST]


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_discrepancies_turn_one_into_the_other(sent: bytes, received: bytes) -> None:
    found = discrepancies(sent, received)
    made = bytearray()
    at = 0
    for one in found:
        made += sent[at : one.sent_at] + one.received
        at = one.sent_at + len(one.sent)
    assert bytes(made + sent[at:]) == received


class PlayedLine:
    """A line that ends where it began, and a clock that moves only while somebody waits for it.

    ``lost_from``: bytes from there on are swallowed. Whoever waits for a minute waits for ever.
    """

    def __init__(self, lost_from: int | None = None) -> None:
        self.now = 100.0
        self._under_way = b""
        self._taken = 0
        self._lost_from = lost_from

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float, *, to_write: bool) -> None:
        self.now += seconds
        assert self.now < 160.0, "the exchange does not end"

    def write(self, data: bytes) -> int:
        carried = data if self._lost_from is None else data[: max(0, self._lost_from - self._taken)]
        self._taken += len(data)
        self._under_way += carried
        return len(data)

    def read(self) -> bytes:
        came, self._under_way = self._under_way, b""
        return came

    def discard(self) -> None:
        self._under_way = b""

    resume = discard

    def counters(self) -> None:
        return None


@pytest.mark.parametrize("lost_from", [None, 300, 0])
def test_an_exchange_ends_and_says_what_came(
    lost_from: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    line: Any = PlayedLine(lost_from)
    monkeypatch.setattr(exchange, "time", line)
    pattern = exchange.Pattern("every byte", "is each carried?", bytes(range(256)) * 4)
    [way] = exchange.exchange(line, None, pattern, 64, 115200).ways
    carried = 1024 if lost_from is None else lost_from
    assert (way.sent, way.received) == (1024, carried)
    assert sum(len(one.sent) - len(one.received) for one in way.discrepancies) == 1024 - carried
    # Nothing comes through any more only where not even a question is answered.
    assert way.dead is way.stalled is (lost_from is not None)


# -- radios ----------------------------------------------------------------------------------------


@given(st.binary(min_size=1, max_size=40), st.booleans(), st.integers(2, 12))
def test_data_comes_back_from_the_waveform(data: bytes, differential: bool, per: int) -> None:
    bits = psk.bits_of(data)
    symbols = psk.msk_symbols(bits, per_symbol=per, differential=differential)
    assert symbols.size == bits.size * per
    got = psk.demodulated(psk.waveform(symbols), per_symbol=per, differential=differential)
    assert np.array_equal(got, bits)


def test_a_turn_is_half_a_circle_and_nothing_else_moves() -> None:
    symbols = psk.msk_symbols(np.array([0, 1, 0, 1, 1], dtype=np.uint8))
    phases = psk.phases(psk.waveform(symbols))
    assert np.cos(np.radians(phases)) == pytest.approx([1, -1, -1, 1, -1])


def test_differential_and_coherent_bits_differ_in_their_errors() -> None:
    """Both modes gave the same bit errors; a differential bit takes two phases."""
    (coherent,) = psk.error_rates([3], bits=20_000)
    (differential,) = psk.error_rates([3], bits=20_000, differential=True)
    assert 1.5 < differential.rate / coherent.rate < 2.2
    assert differential.ideal == pytest.approx(2 * coherent.ideal * (1 - coherent.ideal))


def test_errors_in_noise_are_those_of_bpsk_with_a_tenth_of_the_energy_unused() -> None:
    for one in psk.error_rates([0, 3], bits=40_000):
        lossy = 0.5 * _erfc((0.9 * 10 ** (one.ebn0_db / 10)) ** 0.5)
        assert one.low <= lossy * 1.03
        assert one.high >= lossy * 0.97


def _erfc(value: float) -> float:
    import math

    return math.erfc(value)


def test_packed_symbols_are_filled_up_with_the_last() -> None:
    assert psk.packed(np.array([1, 0, 1], dtype=np.uint8)) == bytes([0b10111111])
    assert synth.packed(np.array([0, 3, 1], dtype=np.uint8)) == bytes([0b01110000])


def test_a_tone_comes_through_two_bits_and_order_two_is_quieter() -> None:
    samples = synth.tone(100e3, 1000, 0.5)
    one, two = (synth.synthesise(samples, 100e3, 4000, order) for order in (1, 2))
    assert two.hertz[two.decibel.argmax()] == pytest.approx(1000, abs=15)
    assert two.decibel.max() == pytest.approx(-6, abs=0.3)  # half of full scale
    assert two.signal_to_noise_db > one.signal_to_noise_db + 6 > 26
    assert set(two.levels.tolist()) == {0, 1, 2, 3}


def test_a_sweep_goes_from_first_to_last_and_back_at_once() -> None:
    samples = synth.sweep(50e3, 500, 5000, 0.5, 1.0, amplitude=1.0)
    crossings = np.flatnonzero((samples[1:] >= 0) & (samples[:-1] < 0))
    hertz = 50e3 / np.diff(crossings)
    assert hertz[:3].mean() == pytest.approx(500, rel=0.1)
    assert hertz.max() == pytest.approx(5000, rel=0.15)


def test_sound_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8000)
        tone = (np.sin(np.arange(8000) / 8000 * 2 * np.pi * 440) * 9000).astype("<i2")
        file.writeframes(np.column_stack((tone, tone)).tobytes())
    found = synth.synthesise(synth.audio(path, 64e3), 64e3, 3000)
    assert found.hertz[found.decibel.argmax()] == pytest.approx(440, abs=10)
    path.write_bytes(b"RIFFxxxx")
    with pytest.raises(CaptureError, match="no WAV file"):
        synth.audio(path, 64e3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: synth.tone(8000, 5000, 1),
        lambda: synth.tone(8000, 100, 1e9),
        lambda: synth.delta_sigma(np.zeros(4), 3),
        lambda: synth.synthesise(np.zeros(64), 8000, 9000),
        lambda: psk.bits_of(b""),
        lambda: psk.error_rates([1], bits=1),
        lambda: data_rate(300, 0, 26e6),
    ],
)
def test_what_cannot_be_made_is_said(wrong: object) -> None:
    with pytest.raises(UsageError):
        wrong()  # type: ignore[operator]


def keyed_line(symbols: list[int], order: tuple[int, ...], rate: int, baud: float) -> Capture:
    """A limiter's output: symbol s is the frequency at its place in ``order``."""
    levels = np.array([order.index(symbol) for symbol in symbols])
    hertz = np.repeat(80e3 + levels * 13e3, round(rate / baud))
    phase = np.cumsum(hertz / rate)
    starts_high, edges = edges_of(np.modf(phase)[0] < 0.5)
    return Capture(
        Path("x"), "", clock_of_rate(rate), hertz.size, (SignalLine("IF", starts_high, edges),)
    )


def test_which_symbol_is_which_frequency() -> None:
    sent = [0, 1, 3, 2, 2, 0, 3, 1, 1, 2, 0, 3, 3]
    capture = keyed_line(sent * 20, (1, 0, 2, 3), 8_000_000, 2500.0)
    found = fsk.keying(capture, "IF", 2500.0, sent=(*sent[4:], *sent[:4]))
    assert [tone.symbol for tone in found.tones] == [1, 0, 2, 3]
    assert [tone.hertz for tone in found.tones] == pytest.approx(
        [80e3, 93e3, 106e3, 119e3], rel=1e-3
    )
    assert all(tone.agreement and tone.agreement > 0.98 for tone in found.tones)
    assert found.separation > 10


def test_two_frequencies_are_not_taken_for_four() -> None:
    capture = keyed_line([0, 1, 1, 0, 1, 0, 0, 0] * 20, (0, 1), 8_000_000, 2500.0)
    found = fsk.keying(capture, "IF", 2500.0)
    assert len(found.tones) == 2
    assert "--sent" in found.notes[0]


@pytest.mark.parametrize("sent", ["0012abc", "0124", "x"])
def test_signals_health_18_symbols_that_no_frequency_can_stand_for_are_refused(
    sent: str, tmp_path: Path
) -> None:
    """Findings of October, signals, 18: --sent 0012abc printed a RuntimeWarning."""
    with pytest.raises(UsageError, match="no symbols"):
        FSK.run(FskOptions(capture=(tmp_path / "none.sr"), baud=2400.0, sent=sent))


@pytest.mark.filterwarnings("error")
def test_a_carrier_slower_than_its_symbols_is_said_without_a_warning() -> None:
    edges = np.arange(400, dtype=np.int64) * 9_000
    capture = Capture(
        Path("x"), "x", clock_of_rate(1_000_000), 4_000_000, (SignalLine("IF", False, edges),)
    )
    with pytest.raises(CaptureError, match="no symbol of IF has two edges"):
        fsk.keying(capture, "IF", 2400.0)
