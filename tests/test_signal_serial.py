"""A serial line that lies is found out, and a clean one is not accused."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import tty
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
import serial_relay
import skips
from waiting import PATIENCE

from benchvise.cli.main import run
from benchvise.errors import UsageError
from benchvise.signal.serial.classify import classify, tally
from benchvise.signal.serial.flow import Flow
from benchvise.signal.serial.port import Port
from benchvise.signal.serial.soak import FarEnd, plug, port_of_this_machine, soak

pytest_plugins = ["probe_fixtures"]

RUNS = 10 if skips.LONG else 2
"""Of each fault."""
BYTES = 100_000_000 if skips.LONG else 10_000_000
"""That a clean line carries before it is believed."""

FAULTS: dict[str, tuple[serial_relay.Fault, str, tuple[Flow, ...]]] = {
    "takes XON and XOFF out": (
        serial_relay.drops_flow_bytes,
        "software flow control in the path",
        (Flow.NONE,),
    ),
    "halts for ever": (
        serial_relay.halts_for_ever,
        "software flow control in the path",
        (Flow.NONE,),
    ),
    "doubles bytes": (
        serial_relay.duplicates,
        "hardware flow control duplicates",
        (Flow.RTSCTS,),
    ),
    "hurts the other way": (
        serial_relay.loses_while_receiving,
        "traffic in one direction hurts the other",
        (Flow.NONE,),
    ),
    "garbles": (serial_relay.garbles, "baud mismatch", (Flow.NONE,)),
    "cuts the high bit off": (serial_relay.strips_the_high_bit, "seven bits", (Flow.NONE,)),
    "translates line ends": (
        serial_relay.translates_line_ends,
        "line ends translated",
        (Flow.NONE,),
    ),
    "swaps blocks": (serial_relay.swaps_blocks, "reordered", (Flow.NONE,)),
}


def causes(fault: serial_relay.Fault, flows: tuple[Flow, ...], seed: int) -> list[str]:
    with serial_relay.line(fault, seed) as (near, far):
        found = soak(
            near,
            port_of_this_machine(far),
            flows=flows,
            bauds=[115200],
            chunks=[256],
            size=8192,
            seed=seed,
        )
    return [cause.word for cause in classify(found)]


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_named_every_time(name: str) -> None:
    fault, word, flows = FAULTS[name]
    for seed in range(RUNS):
        assert causes(fault, flows, seed)[:1] == [word], seed


def test_bytes_lost_in_haste_are_an_overrun() -> None:
    with serial_relay.line(serial_relay.overruns, block=4096) as (near, far):
        found = soak(
            near,
            port_of_this_machine(far),
            flows=[Flow.NONE],
            bauds=[115200],
            chunks=[4096],
            size=16384,
            seed=3,
        )
    assert [cause.word for cause in classify(found)] == ["overrun"]


@pytest.mark.parametrize("flow", list(Flow))
def test_a_clean_line_is_not_accused(flow: Flow) -> None:
    with serial_relay.line() as (near, far):
        found = soak(
            near,
            port_of_this_machine(far),
            flows=[flow],
            bauds=[9600, 115200],
            chunks=[64],
            size=4096,
            seed=1,
        )
    assert classify(found) == ()
    with serial_relay.loop() as port:
        found = soak(port, plug, flows=[flow], bauds=[115200], chunks=[256], size=4096, seed=1)
    assert classify(found) == ()


def test_a_loop_back_shows_faults_too() -> None:
    with serial_relay.loop(serial_relay.drops_flow_bytes) as port:
        found = soak(port, plug, flows=[Flow.NONE], bauds=[9600], chunks=[256], size=4096, seed=1)
    assert classify(found)[0].word == "software flow control in the path"


@pytest.mark.long
def test_no_false_alarm_over_many_bytes() -> None:
    with serial_relay.line(block=65536) as (near, far):
        found = soak(
            near,
            port_of_this_machine(far),
            flows=[Flow.NONE],
            bauds=[4000000],
            chunks=[4096],
            size=BYTES // 6,
            seed=2,
        )
    ways = [way for exchange in found[0].exchanges for way in exchange.ways]
    counts = tally(ways)
    assert counts.sent > 0.7 * BYTES
    assert counts.wrong == counts.stalls == 0
    assert classify(found) == ()


# -- findings of October, signals: no plug (14), and faults without a name -------------------------


def words_of(fault: serial_relay.Fault, *, looped: bool = False, seconds: float = 0.0) -> list[str]:
    far: FarEnd = plug
    with ExitStack() as stack:
        if looped:
            near = stack.enter_context(serial_relay.loop(fault))
        else:
            near, end = stack.enter_context(serial_relay.line(fault))
            far = port_of_this_machine(end)
        found = soak(
            near,
            far,
            flows=[Flow.NONE],
            bauds=[115200],
            chunks=[256],
            size=4096,
            seed=5,
            seconds=seconds,
        )
    return [cause.word for cause in classify(found)]


def test_signals_health_14_without_a_plug_nothing_comes_back() -> None:
    assert words_of(serial_relay.dead, looped=True) == ["nothing came back"]


def test_dead_lines_are_named_by_their_direction() -> None:
    assert words_of(serial_relay.dead) == ["nothing came through"]
    assert words_of(serial_relay.dead_there) == ["one direction dead"]
    assert words_of(serial_relay.dead_back) == ["one direction dead"]


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (serial_relay.loses_zeros, "zeros lost"),
        (serial_relay.flips_a_bit, "bit flipped"),
        (serial_relay.swaps_neighbours, "neighbours swapped"),
        (serial_relay.duplicates, "bytes doubled"),
    ],
)
def test_what_happens_to_single_bytes_has_a_name(fault: serial_relay.Fault, word: str) -> None:
    assert words_of(fault) == [word]


def test_a_soak_goes_on_until_its_time_is_over() -> None:
    with serial_relay.loop() as port:
        found = soak(
            port,
            plug,
            flows=[Flow.NONE],
            bauds=[115200],
            chunks=[256],
            size=256,
            seed=1,
            seconds=4.0,
        )
    names = [exchange.pattern.name for exchange in found[0].exchanges]
    assert names.count("random") == names.count("XOFF alone") >= 2
    randoms = {one.pattern.data for one in found[0].exchanges if one.pattern.name == "random"}
    assert len(randoms) == names.count("random")
    assert classify(found) == ()


def test_replies_of_a_module_that_lose_their_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """The ZigBee module of the stories: OK arrives without its line end, or as O."""
    words = ["--request", "AT\\r", "--reply", "OK\\r\\n", "--flow", "none", "--size", "140"]
    with serial_relay.loop(serial_relay.replies) as port:
        assert run(["signal", "serial", port, *words, "--timeout", "10"]) == 0
        capsys.readouterr()
    with serial_relay.loop(serial_relay.replies_cut_short) as port:
        assert run(["signal", "serial", port, *words, "--timeout", "0.5", "--json"]) == 1
        data = json.loads(capsys.readouterr().out)["data"]
    (cause,) = data["causes"]
    assert cause["word"] == "replies lose bytes"
    assert "13 of 20 replies came whole; 7 cut short" in cause["evidence"][0]
    (exchange,) = data["exchanges"]
    assert exchange["ways"][0]["lost"] == 4 * 1 + 3 * 3
    with serial_relay.loop(serial_relay.dead) as port:
        assert run(["signal", "serial", port, *words, "--timeout", "0.05"]) == 1
    assert "NOTHING CAME BACK" in capsys.readouterr().out
    assert run(["signal", "serial", "/dev/null", "--request", "AT"]) == 2


# -- the command -----------------------------------------------------------------------------------


def test_the_command_shows_patterns_causes_and_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--size", "4096", "--baud", "115200", "--chunk", "256", "--flow", "none"]
    with serial_relay.line(serial_relay.drops_flow_bytes) as (near, far):
        assert run(["signal", "serial", near, "--far", far, *words]) == 1
        shown = " ".join(capsys.readouterr().out.split())
        assert "SOFTWARE FLOW CONTROL IN THE PATH" in shown
        assert "stty -ixon" in shown
        assert run(["signal", "serial", near, "--far", far, *words, "--json"]) == 1
        data = json.loads(capsys.readouterr().out)["data"]
    assert data["causes"][0]["word"] == "software flow control in the path"
    assert {one["pattern"] for one in data["exchanges"]} >= {"every byte", "XOFF alone"}
    with serial_relay.line() as (near, far):
        assert run(["signal", "serial", near, "--far", far, *words]) == 0
        assert "nothing went wrong" in capsys.readouterr().out


def test_the_probe_of_a_board_is_the_other_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Its end is the second of two ptys; the board is this machine."""
    words = ["--size", "2048", "--chunk", "256", "--flow", "none", "--on", "local"]
    with serial_relay.line() as (near, far):
        assert run(["signal", "serial", near, "--far", far, *words]) == 0
    with serial_relay.line(serial_relay.drops_flow_bytes) as (near, far):
        assert run(["signal", "serial", near, "--far", far, *words]) == 1
    assert "SOFTWARE FLOW CONTROL" in capsys.readouterr().out
    with serial_relay.line() as (near, _):
        assert run(["signal", "serial", near, "--far", "/dev/nothing", *words]) == 1
        assert "cannot be opened" in " ".join(capsys.readouterr().err.split())
        assert run(["signal", "serial", near, "--on", "local"]) == 2


def test_the_far_end_says_how_much_it_was_and_ends_well(sanitized: Path) -> None:
    master, slave = pty.openpty()
    try:
        tty.setraw(slave)
        words = [str(sanitized), "echo", "--port", os.ttyname(slave), "--baud", "9600"]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
            assert child.stdout is not None
            assert json.loads(child.stdout.readline())["type"] == "echoing"
            os.write(master, b"hello\x11\x13")
            got = b""
            while len(got) < 7:
                got += os.read(master, 16)
            out, err = child.communicate(timeout=PATIENCE)
        assert got == b"hello\x11\x13"
        assert (child.returncode, err) == (0, "")
        said = json.loads(out)
        assert (said["type"], said["received"], said["returned"]) == ("echoed", 7, 7)
    finally:
        os.close(master)
        os.close(slave)


def broken_ports() -> dict[str, Callable[[], str]]:
    return {"none": lambda: "/dev/nothing", "a file": lambda: __file__, "null": lambda: "/dev/null"}


@pytest.mark.parametrize("kind", broken_ports())
def test_what_is_no_port_is_said(kind: str) -> None:
    with pytest.raises(UsageError):
        Port(broken_ports()[kind](), 9600, Flow.NONE)


def test_a_port_is_left_as_it_was_and_is_held_by_one_only() -> None:
    import termios

    master, slave = pty.openpty()
    try:
        tty.setcbreak(slave)
        before = termios.tcgetattr(slave)
        path = os.ttyname(slave)
        with Port(path, 57600, Flow.XONXOFF):
            assert termios.tcgetattr(slave) != before
            with pytest.raises(UsageError, match="another program holds it"):
                Port(path, 57600, Flow.NONE)
        assert termios.tcgetattr(slave) == before
    finally:
        os.close(master)
        os.close(slave)


def test_a_port_that_goes_is_named() -> None:
    master, slave = pty.openpty()
    path = os.ttyname(slave)
    port = Port(path, 9600, Flow.NONE)
    os.close(master)
    os.close(slave)
    assert port.read() == b""
    port.close()
    port.close()
