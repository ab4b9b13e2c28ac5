"""Captures are read as what they are, and damaged ones are named."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import capture_data
import numpy as np
import pytest

from benchvise.errors import CaptureError
from benchvise.signal.capture import Capture
from benchvise.signal.readers.options import ReadOptions
from benchvise.signal.readers.sigrok import session_step, write_session
from benchvise.signal.reading import open_capture


def shape(capture: Capture) -> list[tuple[str, bool, list[int]]]:
    return [(line.name, line.starts_high, line.edges.tolist()) for line in capture.lines]


def test_a_session_is_read_line_by_line(tmp_path: Path) -> None:
    path = capture_data.session(
        tmp_path / "x.sr", capture_data.ONE_DEVICE, logic_1_1=bytes([0, 1, 3, 3, 2, 2])
    )
    found = open_capture(path)
    assert found.clock.rate == 1e6
    assert found.ticks == 6
    assert shape(found) == [("A", False, [1, 4]), ("B", False, [2])]


def test_blocks_follow_each_other_by_number_and_a_change_between_them_is_an_edge(
    tmp_path: Path,
) -> None:
    members = {f"logic_1_{n}": bytes([n % 2] * 3) for n in range(1, 12)}
    path = capture_data.session(tmp_path / "x.sr", capture_data.ONE_DEVICE, **members)
    assert shape(open_capture(path))[0] == ("A", True, list(range(3, 33, 3)))


@pytest.mark.parametrize("unit", [1, 2, 3, 4, 5, 8])
def test_samples_of_any_width(tmp_path: Path, unit: int) -> None:
    metadata = (
        "[device 1]\ncapturefile=logic-1\ntotal probes=8\nsamplerate=1000\n"
        f"probe{unit * 8}=TOP\nunitsize={unit}\n"
    )
    low, high = bytes(unit), bytes(unit - 1) + b"\x80"
    path = capture_data.session(tmp_path / "x.sr", metadata, logic_1=low + high + high + low)
    assert shape(open_capture(path)) == [("TOP", False, [1, 3])]


def test_only_the_lines_asked_for_and_by_number_too(tmp_path: Path) -> None:
    path = capture_data.session(
        tmp_path / "x.sr", capture_data.ONE_DEVICE, logic_1_1=bytes([0, 2, 0])
    )
    assert shape(open_capture(path, ReadOptions(lines=("B",)))) == [("B", False, [1, 2])]
    assert shape(open_capture(path, ReadOptions(lines=("1",)))) == [("B", False, [1, 2])]
    with pytest.raises(CaptureError, match=r"none of the lines.*A, B"):
        open_capture(path, ReadOptions(lines=("C",)))


def test_a_voltage_becomes_levels_with_hysteresis(tmp_path: Path) -> None:
    metadata = "[device 1]\nsamplerate=1 kHz\ntotal analog=1\nanalog1=IN\n"
    volts = [0.0, 1.0, 2.0, 3.3, 1.7, 1.6, 1.7, 0.2, 0.0, 3.0]  # noise around the middle
    path = capture_data.session(
        tmp_path / "x.sr", metadata, analog_1_1_1=struct.pack("<10f", *volts)
    )
    found = open_capture(path)
    assert shape(found) == [("IN", False, [2, 7, 9])]
    assert "high from 1.815" in found.notes[0]
    picky = open_capture(path, ReadOptions(threshold=2.5, hysteresis=0.0))
    assert shape(picky) == [("IN", False, [3, 4, 9])]


def test_a_dump_with_vectors_comments_and_unknown_levels(tmp_path: Path) -> None:
    path = tmp_path / "x.vcd"
    path.write_text(
        "$date now $end\n$timescale 10 ns $end\n$scope module m $end\n"
        "$var wire 1 ! IR Toy $end\n$var reg 2 # bus [1:0] $end\n$upscope $end\n"
        "$enddefinitions $end\n#10\n$dumpvars 0! bxx # $end\n#12 1! b1 #\n"
        "$comment nothing 1! $end\n#15 x!\n#20 0! b11 #\n#25\n"
    )
    found = open_capture(path)
    assert found.clock.tick_s == pytest.approx(1e-8)
    assert not found.clock.sampled
    assert found.ticks == 16
    assert shape(found) == [
        ("IR Toy", False, [2, 10]),
        ("bus[1]", False, [10]),
        ("bus[0]", True, []),
    ]


def test_there_and_back_within_one_tick_is_no_edge(tmp_path: Path) -> None:
    path = tmp_path / "x.vcd"
    path.write_text(
        "$timescale 1 us $end $var wire 1 a A $end $enddefinitions $end #0 0a #5 1a 0a #9 1a #10"
    )
    assert shape(open_capture(path)) == [("A", False, [9])]


TABLES = {
    "sigrok": "; Channels (2/2): A, B\n; Samplerate: 1 kHz\nlogic,logic\n0,1\n1,1\n1,0\n0,0\n",
    "times": "Time [s],A,B\n0.000,0,1\n0.001,1,1\n0.002,1,0\n0.003,0,0\n",
    "semicolons": "t (ms);A;B\n0;0;1\n1;1;1\n2;1;0\n3;0;0\n",
    "decimal commas": "Zeit;A;B\n0,000;0;1\n0,001;1;1\n0,002;1;0\n0,003;0;0\n",
    "preamble": (
        "Model,MSO24\nRecord Length,4\nSample Interval,1e-3\nVertical Units,V,V\n\n"
        "TIME,CH1,CH2\n-1e-3,0,1\n0,1,1\n1e-3,1,0\n2e-3,0,0\n"
    ),
    "increment": (
        "X,CH1,CH2,Start,Increment,\nSequence,Volt,Volt,0.000e+00,1.000e-03\n"
        "0,0,1,\n1,1,1,\n2,1,0,\n3,0,0,\n"
    ),
    "no head": "0.000,0,1\n0.001,1,1\n0.002,1,0\n0.003,0,0\n",
}


@pytest.mark.parametrize("form", TABLES)
def test_tables_of_every_style_say_the_same(tmp_path: Path, form: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(TABLES[form])
    found = open_capture(path)
    assert found.clock.rate == pytest.approx(1000.0)
    assert [(high, edges) for _, high, edges in shape(found)] == [(False, [1, 3]), (True, [2])]


def test_a_table_of_changes_keeps_their_times(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("Time [s],Channel 0\n0,0\n0.0000123,1\n0.5000004,0\n1.25,1\n")
    found = open_capture(path)
    assert not found.clock.sampled
    times = found.lines[0].edges * found.clock.tick_s
    assert times == pytest.approx([0.0000123, 0.5000004, 1.25], abs=1e-9)


@pytest.mark.parametrize("cell", ["", "nan", "NA", "#N/A", "null", "-1.#IND", '"NaN"', " N/A "])
def test_a_sample_without_a_value_changes_nothing(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"Time [s],A,B\n0.000,0,1\n0.001,1,1\n0.002,{cell},0\n0.003,0,0\n")
    found = open_capture(path)
    assert [(high, edges) for _, high, edges in shape(found)] == [(False, [1, 3]), (True, [2])]


def test_a_written_session_is_read_as_it_was(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    lines = {f"L{n}": np.repeat(random.integers(0, 2, 400), 3) for n in range(11)}
    capture = capture_data.sampled(1_000_000, **lines)
    write_session(capture, tmp_path / "x.sr", session_step(capture))
    assert shape(open_capture(tmp_path / "x.sr")) == shape(capture)


BROKEN = {
    "empty": (b"", "is empty"),
    "binary": (b"\x00\x01\x02" * 50, "no capture"),
    "text": (b"hello\nworld\n", "no numbers in its first 100 lines"),
    "truncated zip": (b"PK\x03\x04" + b"\0" * 30, "damaged"),
    "dump without end": (b"$timescale 1 ns $end $var wire 1 ! A $end", "no end"),
    "dump without scale": (b"$date $end $var wire 1 ! A $end $enddefinitions $end #1 1!", "times"),
    "time goes back": (
        b"$timescale 1 ns $end $var wire 1 ! A $end $enddefinitions $end #9 1! #5 0!",
        "goes back",
    ),
    "no change of a value": (
        b"$timescale 1 ns $end $var wire 1 ! A $end $enddefinitions $end #9 1! hello",
        "'hello'",
    ),
    "a time beyond all": (
        b"$timescale 1 ns $end $var wire 1 ! A $end $enddefinitions $end #99999999999999999999 1!",
        "no time",
    ),
    "too many lines": (
        b"$timescale 1 ns $end $var wire 99999 ! A $end $enddefinitions $end #9 1!",
        "more than 1024",
    ),
    "ragged table": (b"0,1\n1,0\n1\n", "cannot be read"),
    "words in a table": (b"t (s),A\n0,1\n1,x\n", "cannot be read"),
    "no rate": (b"0,1\n1,0\n0,1\n", "neither a column of times nor a sample rate"),
    "times go back": (b"Time [s],A\n5,1\n1,0\n3,1\n", "go back"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_capture_is_named(tmp_path: Path, kind: str) -> None:
    content, said = BROKEN[kind]
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(CaptureError) as caught:
        open_capture(path)
    message = str(caught.value)
    assert str(path) in message
    assert said in message or kind == "dump without scale"
    assert "\n" not in message
    assert caught.value.remedy


METADATA = {
    "no rate": ("[device 1]\nprobe1=A\n", "sample rate ''"),
    "rate of zero": ("[device 1]\nsamplerate=0 Hz\nprobe1=A\n", "rate of 0"),
    "width": ("[device 1]\nsamplerate=1 Hz\nunitsize=99\n", "unitsize 99"),
    "probe beyond": ("[device 1]\nsamplerate=1 Hz\nprobe9=A\n", "probe9 with unitsize 1"),
    "no device": ("[global]\n", "device 1"),
    "not a number": ("[device 1]\nsamplerate=1 Hz\nunitsize=x\n", "damaged"),
    "nothing in it": ("[device 1]\nsamplerate=1 Hz\nprobe1=A\n", "no samples"),
}


@pytest.mark.parametrize("kind", METADATA)
def test_damaged_metadata_is_named(tmp_path: Path, kind: str) -> None:
    text, said = METADATA[kind]
    with pytest.raises(CaptureError, match=said):
        open_capture(capture_data.session(tmp_path / "x.sr", text))


def test_every_truncation_of_a_session_is_an_error_in_one_line(tmp_path: Path) -> None:
    whole = capture_data.session(
        tmp_path / "x.sr", capture_data.ONE_DEVICE, logic_1_1=bytes(range(4)) * 50
    ).read_bytes()
    path = tmp_path / "cut.sr"
    for end in range(1, len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(CaptureError):
            open_capture(path)


def test_damaged_bytes_of_a_session_never_end_in_anything_else(tmp_path: Path) -> None:
    whole = capture_data.session(
        tmp_path / "x.sr", capture_data.ONE_DEVICE, logic_1_1=bytes(range(4)) * 50
    ).read_bytes()
    path = tmp_path / "bad.sr"
    random = np.random.default_rng(5)
    for _ in range(300):
        data = bytearray(whole)
        for place in random.integers(0, len(whole), 3):
            data[place] = random.integers(0, 256)
        path.write_bytes(data)
        try:
            open_capture(path)
        except CaptureError as error:
            assert "\n" not in str(error)


def test_a_claim_of_ten_gigabytes_takes_no_memory(tmp_path: Path) -> None:
    """The directory of the zip says what is not there; and what is there is only zeros."""
    path = tmp_path / "x.sr"
    capture_data.session(path, capture_data.ONE_DEVICE, logic_1_1=bytes(100))
    data = bytearray(path.read_bytes())
    central = data.rindex(b"PK\x01\x02")
    data[central + 24 : central + 28] = struct.pack("<I", 0xFFFFFFF0)
    path.write_bytes(data)
    assert open_capture(path).ticks == 100
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("metadata", capture_data.ONE_DEVICE)
        with archive.open("logic-1-1", "w", force_zip64=True) as file:
            block = bytes(4 << 20)
            for _ in range(64):
                file.write(block)
    assert open_capture(path).ticks == 64 * (4 << 20)


@capture_data.needs_captures
def test_real_sessions_have_lines_and_lengths() -> None:
    found = open_capture(
        capture_data.CAPTURES / "uart/flow_control/uart_rts_1_excess_bytes_long_run.sr"
    )
    assert [line.name for line in found.lines] == ["RTS#", "RX"]
    assert found.ticks == 11_713_197
    assert found.line("rx").edges.size == 5632
    old = open_capture(capture_data.CAPTURES / "uart/gps/mtk3339/mtk3339_8n1_9600.sr")
    assert [line.name for line in old.lines] == ["TX"]
    assert old.clock.rate == 200_000
