"""``benchvise signal`` on captures made here and, where they are, on real ones."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import capture_data
import numpy as np
import pytest
import skips
from in_process import benchvise

from benchvise.cli.main import run
from benchvise.errors import CaptureError
from benchvise.report.data import one_run
from benchvise.report.responses import responses_of_runs
from benchvise.signal.decoders import Decoder, decode, decode_by_row
from benchvise.signal.infrared import infrared
from benchvise.signal.readers.sigrok import write_session
from benchvise.signal.reading import open_capture
from benchvise.signal.serial_lines import control_lines, excess, is_periodic, serial_lines
from benchvise.signal.uart import SerialFault, decode_line, find_rate
from benchvise.store import Store

needs_decoders = skips.needs("sigrok-cli")


def document(*words: str | Path) -> dict[str, object]:
    done = benchvise(*words, "--json")
    assert done.code == 0, done.err
    data: dict[str, object] = done.data
    return data


# -- serial lines ----------------------------------------------------------------------------------

TEXT = b"The quick brown fox jumps over the lazy dog. \x00\x11\x13\x7f\r\n" * 3


@needs_decoders
@pytest.mark.parametrize("baud", [300, 9600, 31250, 115200, 921600, 12345])
def test_rate_and_bytes_are_found(tmp_path: Path, baud: int) -> None:
    rate = max(1_000_000, baud * 12)
    levels = capture_data.sent_serially(TEXT, rate, baud * 1.004)
    capture = capture_data.sampled(rate, TX=levels)
    found = decode_line(capture, "TX")
    assert found.rate.measured == pytest.approx(baud * 1.004, rel=0.003)
    assert found.rate.standard == (baud if baud != 12345 else None)
    assert found.content == TEXT
    assert not found.marks


@needs_decoders
@pytest.mark.parametrize(("bits", "parity"), [(7, "even"), (7, "odd"), (8, "even"), (8, "odd")])
def test_the_frame_is_found(bits: int, parity: str) -> None:
    text = bytes(byte & 0x7F for byte in TEXT)
    levels = capture_data.sent_serially(text, 1_000_000, 19200, parity=parity, bits=bits)
    found = decode_line(capture_data.sampled(1_000_000, TX=levels), "TX")
    assert (found.frame.data_bits, found.frame.parity) == (bits, parity)
    assert found.content == text


@needs_decoders
def test_an_inverted_line_is_seen_as_such() -> None:
    levels = 1 - capture_data.sent_serially(TEXT, 1_000_000, 9600)
    found = decode_line(capture_data.sampled(1_000_000, TX=levels), "TX")
    assert found.frame.inverted
    assert found.content == TEXT


@needs_decoders
def test_a_glitch_and_a_bad_stop_bit_are_marked() -> None:
    levels = capture_data.sent_serially(TEXT, 1_000_000, 9600)
    levels[100:103] = 0  # three microseconds on a line of 104 a bit
    capture = capture_data.sampled(1_000_000, TX=levels)
    assert decode_line(capture, "TX", baud=9600).faults()[SerialFault.GLITCH] >= 1


def test_no_rate_is_made_up() -> None:
    random = np.random.default_rng(7)
    edges = np.cumsum(random.integers(30, 900, 400))
    levels = np.zeros(edges[-1] + 10, dtype=np.uint8)
    for begin, end in zip(edges[::2], edges[1::2], strict=False):
        levels[begin:end] = 1
    capture = capture_data.sampled(1_000_000, A=levels)
    with pytest.raises(Exception, match="no multiples of any bit"):
        find_rate(capture, capture.lines[0])


@needs_decoders
def test_what_the_host_got_is_laid_beside_the_line(tmp_path: Path) -> None:
    levels = capture_data.sent_serially(TEXT, 1_000_000, 115200)
    write_session(capture_data.sampled(1_000_000, RX=levels), tmp_path / "x.sr")
    log = tmp_path / "got.bin"
    log.write_bytes(TEXT.replace(b"\x11", b"").replace(b"\x13", b""))
    data = document("signal", "uart", tmp_path / "x.sr", "--line", "RX", "--log", log)
    changes = data["differences"]
    assert isinstance(changes, list)
    assert [(one["change"], one["sent"]) for one in changes] == [("lost", "1113")] * 3
    shown = benchvise("signal", "uart", tmp_path / "x.sr", "--log", log).out
    assert "6 bytes lost at 3 places" in shown


@needs_decoders
@capture_data.needs_captures
@pytest.mark.parametrize(
    ("name", "line", "options"),
    [
        ("uart/hello_world/8n1/hello_world_8n1_9600.sr", "TX", "baudrate=9600"),
        ("uart/hello_world/8n1/hello_world_8n1_115200.sr", "TX", "baudrate=115200"),
        (
            "uart/hello_world/7e1/hello_world_7e1_115200.sr",
            "TX",
            "baudrate=115200:data_bits=7:parity=even",
        ),
        ("uart/gps/mtk3339/mtk3339_8n1_9600.sr", "TX", "baudrate=9600"),
        ("uart/flow_control/uart_rts_1_excess_bytes_long_run.sr", "RX", "baudrate=115200"),
        ("uart/errors/ampel64_4800_8n1_ok.sr", "TX", "baudrate=4800"),
        ("uart/errors/ampel64_4800_8n1_frame_errors.sr", "TX", "baudrate=4800"),
    ],
)
def test_real_serial_lines_say_what_sigrok_says(name: str, line: str, options: str) -> None:
    """Rate and frame are given to sigrok-cli, and found by us."""
    path = capture_data.CAPTURES / name
    words = ["sigrok-cli", "-i", str(path), "-P", f"uart:rx={line}:{options}"]
    said = subprocess.run(
        [*words, "-A", "uart=rx-data"], capture_output=True, text=True, check=True
    ).stdout
    theirs = bytes(int(row.rpartition(" ")[2], 16) & 0xFF for row in said.splitlines())
    assert decode_line(open_capture(path), line).content == theirs


@needs_decoders
@capture_data.needs_captures
@pytest.mark.parametrize(
    ("name", "clocks"),
    [
        ("pwm/alsa_test/pwmtest_snippet.sr", ["4", "5"]),
        ("spi/cc1101/cc1101-read-write.sr", ["CLK"]),
        ("spi/cc1101/cc1101-burst-read.sr", ["CLK"]),
    ],
)
def test_real_clocks_and_pulse_widths_are_no_serial_lines_unless_named(
    name: str, clocks: list[str]
) -> None:
    """They were decoded as thousands of bytes without an error."""
    capture = open_capture(capture_data.CAPTURES / name)
    found = serial_lines(capture)
    told = [one.partition(":")[0] for one in found.skipped if "like a clock" in one]
    assert told == clocks
    assert not {line.line for line in found.lines} & set(clocks)
    assert [line.line for line in serial_lines(capture, clocks[:1]).lines] == clocks[:1]


@needs_decoders
@capture_data.needs_captures
def test_no_real_serial_line_is_taken_for_a_clock() -> None:
    paths = sorted((capture_data.CAPTURES / "uart").rglob("*.sr"))
    assert len(paths) >= 7
    for path in paths:
        capture = open_capture(path)
        controls = control_lines(capture)
        serial = [line for line in capture.lines if line.edges.size and line.name not in controls]
        assert serial and not any(is_periodic(line.edges) for line in serial), path


@needs_decoders
@capture_data.needs_captures
def test_captures_with_faults_are_flagged() -> None:
    errors = capture_data.CAPTURES / "uart/errors"
    bad = decode_line(open_capture(errors / "ampel64_4800_8n1_frame_errors.sr"), "TX")
    good = decode_line(open_capture(errors / "ampel64_4800_8n1_ok.sr"), "TX")
    assert bad.faults()[SerialFault.FRAME] >= 3
    assert not good.marks
    assert good.content == b"AMPEL 64\n"


@needs_decoders
def test_bytes_after_stop_are_excess() -> None:
    rate, baud = 1_000_000, 100_000
    levels = capture_data.sent_serially(bytes(range(20)), rate, baud)
    rts = np.zeros_like(levels)
    frame = round(11.2 * rate / baud)  # ten bits, and the rest before the next byte
    begin = round(12 * rate / baud)
    rts[begin + 5 * frame + 30 : begin + 8 * frame - 20] = 1  # within the sixth, to the eighth
    capture = capture_data.sampled(rate, **{"RTS#": rts, "RX": levels})
    assert control_lines(capture) == ["RTS#"]
    found = excess(capture, decode_line(capture, "RX"), "RTS#")
    assert (found.stops, found.overrun, found.most, found.total) == (1, 1, 2, 2)


@needs_decoders
@capture_data.needs_captures
@pytest.mark.parametrize(
    ("name", "stops", "most"),
    [("uart_rts_0_excess_bytes", 1, 0), ("uart_rts_1_excess_bytes_long_run", 35, 1)],
)
def test_real_captures_with_excess_bytes_are_flagged(name: str, stops: int, most: int) -> None:
    """Their names say how many bytes come after each stop."""
    path = capture_data.CAPTURES / f"uart/flow_control/{name}.sr"
    excesses = document("signal", "uart", path)["excess"]
    assert isinstance(excesses, list)
    (found,) = excesses
    assert (found["control"], found["stops"], found["most"]) == ("RTS#", stops, most)
    shown = benchvise("signal", "uart", path, "--bytes", "0").out
    assert ("EXCESS BYTES" in shown) == (most > 0)


# -- other protocols -------------------------------------------------------------------------------


@needs_decoders
@capture_data.needs_captures
def test_remote_controls_are_named_and_decoded_with_and_without_carrier() -> None:
    nec = open_capture(
        capture_data.CAPTURES
        / "ir/nec/hama_8in1/tv_matsui_0001/tv_matsui_0001_button_mute_hold_3x.sr"
    )
    rc5 = open_capture(capture_data.CAPTURES / "ir/rc-5/hama_8in1/vcr_philips_0082_button1_hold.sr")
    for line in ("IR Toy IRRX", "IR Toy IRDETECT"):
        one, other = infrared(nec, line), infrared(rc5, line)
        assert one.protocol is not None
        assert other.protocol is not None
        assert (one.protocol.name, other.protocol.name) == ("NEC", "RC-5")
        assert any(said.text.raw == "Command: 0x10" for said in one.decoded)
        assert any(said.text.raw.startswith("Address: 5") for said in other.decoded)
        assert (one.carrier_hz is None) == (line == "IR Toy IRRX")
    detected = infrared(nec, "IR Toy IRDETECT")
    assert detected.carrier_hz == pytest.approx(38e3, rel=0.02)


@needs_decoders
@capture_data.needs_captures
@pytest.mark.parametrize(
    ("name", "stack"),
    [
        ("spi/cc1101/cc1101-burst-read.sr", ["spi:clk=CLK:mosi=MOSI:miso=MISO:cs=CS", "cc1101"]),
        ("pwm/alsa_test/pwmtest_snippet.sr", ["pwm:data=4"]),
    ],
)
def test_other_decoders_say_what_sigrok_cli_prints(name: str, stack: list[str]) -> None:
    path = capture_data.CAPTURES / name
    said = subprocess.run(
        ["sigrok-cli", "-i", str(path), "-P", ",".join(stack), "--protocol-decoder-samplenum"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    words = [word for one in stack for word in ("-P", one)]
    found = document("signal", "decode", path, *words)["annotations"]
    assert isinstance(found, list)
    assert len(found) == len(said.splitlines()) > 20
    texts = [line.partition(": ")[2] for line in said.splitlines()]
    assert [one["text"] for one in found] == texts


@needs_decoders
def test_signals_health_18_a_decoder_gets_the_line_that_is_named_or_none(tmp_path: Path) -> None:
    """Findings of October, signals, 18: -P uart:rx=NOPE decoded another line."""
    levels = capture_data.sent_serially(b"Hello", 1_000_000, 9600)
    write_session(capture_data.sampled(1_000_000, TX=levels), tmp_path / "x.sr")
    capture = open_capture(tmp_path / "x.sr")
    for name in ("NOPE", "7"):
        with pytest.raises(CaptureError, match=f"no line '{name}'"):
            decode(capture, [Decoder("uart", {"rx": name}, {"baudrate": "9600"})])
    assert decode(capture, [Decoder("uart", {"rx": "TX"}, {"baudrate": "9600"})])


@needs_decoders
def test_a_line_of_a_bus_is_decoded_by_its_name() -> None:
    """``bus[7]``, as value change dumps have it, was refused, and with it the whole file."""
    levels = capture_data.sent_serially(b"Hello", 1_000_000, 9600)
    capture = capture_data.sampled(1_000_000, **{"clk": levels[::-1], "bus[7]": levels})
    assert decode_line(capture, "bus[7]").content == b"Hello"
    assert decode(capture, [Decoder("uart", {}, {"rx": "bus[7]", "baudrate": "9600"})])


@needs_decoders
def test_a_log_without_flow_bytes_has_software_flow_control_named(tmp_path: Path) -> None:
    """Findings of October, signals: XON/XOFF as the cause, from a capture beside the log."""
    data = bytes(range(256)) * 4
    levels = capture_data.sent_serially(data, 1_000_000, 57600)
    write_session(capture_data.sampled(1_000_000, TX=levels), tmp_path / "x.sr")
    log = tmp_path / "x.log"
    by_loss = {
        b"\x11\x13": "software flow control in the host's port",
        b"\0": "zeros lost",
    }
    for gone, word in by_loss.items():
        log.write_bytes(bytes(byte for byte in data if byte not in gone))
        found = document("signal", "uart", tmp_path / "x.sr", "--log", log)
        causes = found["causes"]
        assert isinstance(causes, list)
        assert [cause["word"] for cause in causes] == [word]
    log.write_bytes(data)
    assert document("signal", "uart", tmp_path / "x.sr", "--log", log)["causes"] == []


@needs_decoders
def test_a_dump_is_decoded_as_the_session_is(tmp_path: Path) -> None:
    levels = capture_data.sent_serially(TEXT, 1_000_000, 57600)
    write_session(capture_data.sampled(1_000_000, TX=levels), tmp_path / "x.sr")
    subprocess.run(
        ["sigrok-cli", "-i", tmp_path / "x.sr", "-O", "vcd", "-o", tmp_path / "x.vcd"], check=True
    )
    assert decode_line(open_capture(tmp_path / "x.vcd"), "TX").content == TEXT


# -- commands --------------------------------------------------------------------------------------


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    random = np.random.default_rng(8)
    made = np.zeros((2, 200_000), dtype=np.uint8)
    for begin in range(500, 199_000, 1000):
        made[0, begin : begin + 300] = 1
        answer = begin + int(random.integers(10, 20))
        made[1, answer : answer + 50] = 1
    write_session(capture_data.sampled(1_000_000, IN=made[0], OUT=made[1]), tmp_path / "shots.sr")
    return tmp_path / "shots.sr"


def test_responses_are_shown_compared_and_kept(
    shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "results.db"))
    (tmp_path / "list.out").write_text(
        "".join(f"{n}\t{(30 + n % 7) * 1e-6}\n" for n in range(99)) + "99\tnan\n"
    )
    words = [f"idle={shots}", f"busy={tmp_path / 'list.out'}", "--from", "IN", "--to", "OUT"]
    data = document("signal", "response", *words, "--save", "board A")
    configurations = data["configurations"]
    assert isinstance(configurations, list)
    first, second = configurations
    assert first["missed"] == first["extra"] == 0
    assert len(first["responses"]) == 199
    assert second["relative"]["shown"]
    done = benchvise("compare", "board A idle", "board A busy")
    assert "signal.response" in done.out
    assert "slower" in done.out
    shown = benchvise("signal", "response", *words, "--histogram").out
    assert "Response times" in shown
    assert "█" in shown


def test_signals_health_7_missed_shots_are_kept_with_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--save dropped them: the report had "missed": 0."""
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "results.db"))
    for name, missed in (("idle", 0), ("busy", 3)):
        times = "".join(f"{n}\t{(30 + n % 7) * 1e-6}\n" for n in range(97))
        lost = "".join(f"{n}\tnan\n" for n in range(97, 97 + missed))
        (tmp_path / f"{name}.out").write_text(times + lost)
    words = [f"{name}={tmp_path / name}.out" for name in ("idle", "busy")]
    document("signal", "response", *words, "--save", "board A")
    with Store.open(str(tmp_path / "results.db")) as store:
        kept = [one_run(store.load(f"board A {name}")) for name in ("idle", "busy")]
    figures = [responses_of_runs([run]) for run in kept]
    assert [line.missed for (figure,) in figures for row in figure.rows for line in row.lines] == [
        0,
        3,
    ]


def test_every_command_says_what_is_wrong(
    shots: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.sr").touch()
    for words, said, code in (
        (["info", tmp_path / "none.sr"], "No such file", 1),
        (["info", tmp_path / "empty.sr"], "is empty", 1),
        (["response", shots], "which edges are meant", 2),
        (["response", shots, "--from", "IN", "--to", "NOTHING"], "there is no line", 1),
        (["response", f"a/b/c={shots}", "--factors", "x,y"], "level of each", 2),
        (["clock", shots, "--radio", "cc9999"], "no radio", 2),
        (["clock", shots, "--radio", "cc1101", "--registers", "x"], "pair of registers", 2),
        (["uart", shots, "--frame", "9q9"], "no frame", 2),
        (["synth", "tone:x"], "no source", 2),
        (["psk", "xyz", "--hex"], "48656c6c6f", 2),
        (["info", shots, "--rate", "fast"], "no sample rate", 2),
    ):
        assert run(["signal", *map(str, words)]) == code, words
        assert said in " ".join(capsys.readouterr().err.split()), words


def test_radio_commands_write_symbols(tmp_path: Path) -> None:
    data = document("signal", "psk", "Hi", "--bits", "500", "-o", tmp_path / "psk.bin")
    assert data["received"] is True
    assert (tmp_path / "psk.bin").read_bytes().hex() == data["symbols"]
    assert len(str(data["symbols"])) == 2 * 2 * 10
    made = document("signal", "synth", "sweep:300,3000,0.2", "--for", "0.4", "-o", tmp_path / "s")
    assert (tmp_path / "s").stat().st_size == 0.4 * 100e3 / 4
    assert made["signal_to_noise_db"] > 20  # type: ignore[operator]


def test_signals_health_16_the_two_modes_of_psk_differ_as_they_must() -> None:
    """Both had the same bit errors. A differential bit takes two phases, so it has nearly twice."""
    words = ("signal", "psk", "Hi", "--noise", "3,5", "--bits", "40000")
    modes: dict[str, Any] = {
        mode: document(*words, f"--{mode}") for mode in ("coherent", "differential")
    }
    one, other = modes["coherent"], modes["differential"]
    assert one["received"] is other["received"] is True
    assert one["symbols"] != other["symbols"]
    assert document(*words) == other  # as --help says
    for coherent, differential in zip(one["errors"], other["errors"], strict=True):
        p = coherent["ideal"]
        assert differential["ideal"] == pytest.approx(2 * p * (1 - p))
        q = coherent["rate"]
        # Both count hundreds of errors, of random bits that are the same each time.
        assert differential["rate"] == pytest.approx(2 * q * (1 - q), rel=0.25)
        assert differential["low"] > coherent["high"]


@needs_decoders
@capture_data.needs_captures
def test_decoders_say_in_which_row_they_say_it() -> None:
    capture = open_capture(capture_data.CAPTURES / "spi/cc1101/cc1101-read-write.sr")
    stack = [Decoder("spi", {"clk": "CLK", "mosi": "MOSI", "miso": "MISO", "cs": "CS"})]
    by_row = decode_by_row(capture, stack)
    assert sorted((one.begin, one.end, one.text) for one in by_row) == sorted(
        (one.begin, one.end, one.text) for one in decode(capture, stack)
    )
    assert {one.row.raw for one in by_row} >= {"MOSI data", "MISO data", "MOSI bits"}
