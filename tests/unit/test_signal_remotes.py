"""Remote controls by our own decoders: 32 remotes, each undisturbed and in each way disturbed.

Findings of October, signals: Sony failed on Debian 12 (3), JVC was called NEC (4), RC-6 listed 33
headers for 23 frames (18).
"""

from __future__ import annotations

from typing import Any

import made_remotes as made
import numpy as np
import pytest
from families import every

from benchvise.signal import infrared as module
from benchvise.signal.capture import Capture, SignalLine
from benchvise.signal.infrared import Infrared, infrared

WAYS: dict[str, dict[str, Any]] = {
    "as specified": {},
    "15 % slow": {"scale": 1.15},
    "15 % fast": {"scale": 0.85},
    "jitter": {"jitter": 40.0},
    "slow with jitter": {"scale": 1.12, "jitter": 40.0},
    "a receiver's long marks": {"longer": 90.0},
    "glitches": {"glitches": 12},
    "inverted": {"inverted": True},
}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here may need sigrok-cli."""

    def nothing(*_: object) -> list[object]:
        return []

    monkeypatch.setattr(module, "_by_sigrok", nothing)


def read(remote: Infrared) -> list[tuple[str, int | None, int | None, bool]]:
    return [
        (f.code.protocol, f.code.address, f.code.command, f.code.repeat)
        if f.code and f.code.complete
        else ("", None, None, False)
        for f in remote.frames
    ]


def wanted(frames: list[made.Sent]) -> list[tuple[str, int | None, int | None, bool]]:
    return [
        (f.protocol, f.address, f.command, f.repeat) if f.whole else ("", None, None, False)
        for f in frames
    ]


def rng(*words: object) -> np.random.Generator:
    return np.random.default_rng([ord(letter) for letter in " ".join(map(str, words))])


each_remote = every("remote", made.REMOTES, lambda remote: str(remote.name))


@pytest.mark.parametrize("way", WAYS)
@each_remote
def test_codes_and_repeats_are_right(remote: made.Remote, way: str) -> None:
    frames = remote.hold(4)
    for carrier in (None, remote.carrier):
        if carrier and way == "glitches":
            continue  # a receiver has none of the carrier, and a glitch among its edges is one more
        capture = made.capture(frames, rng(remote.name, way), carrier=carrier, **WAYS[way])
        found = infrared(capture, "IR")
        assert read(found) == wanted(frames)
        assert found.active_low is WAYS[way].get("inverted", False)
        assert (found.carrier_hz is None) == (carrier is None)


def of(protocol: str) -> list[made.Remote]:
    """The made remotes of a protocol; there are some."""
    named = [remote for remote in made.REMOTES if remote.name.startswith(protocol)]
    assert named
    return named


def test_signals_health_3_sony_needs_no_decoder_of_sigrok() -> None:
    """Remotes of Sony failed on Debian 12, whose sigrok has no ``ir_sirc``."""
    for remote in of("Sony"):
        frames = remote.hold(3)
        assert read(infrared(made.capture(frames, rng(remote.name)), "IR")) == wanted(frames)


@pytest.mark.parametrize("way", WAYS)
def test_signals_health_4_jvc_is_never_called_nec(way: str) -> None:
    for remote in of("JVC"):
        capture = made.capture(remote.hold(4), rng(remote.name, way), **WAYS[way])
        found = infrared(capture, "IR").frames
        assert [frame.code and frame.code.protocol for frame in found] == ["JVC"] * 4


def test_signals_health_18_each_frame_of_rc_6_is_one_row() -> None:
    """23 frames were listed as 33 headers."""
    for remote in of("RC-6"):
        frames = remote.hold(23)
        found = read(infrared(made.capture(frames, rng(remote.name)), "IR"))
        assert found == wanted(frames) and len(found) == 23


@each_remote
def test_a_key_held_long_is_one_key(remote: made.Remote) -> None:
    frames = remote.hold(40)
    found = read(infrared(made.capture(frames, rng(remote.name), jitter=25), "IR"))
    assert found == wanted(frames)
    assert sum(not repeat for *_, repeat in found) == 1


@each_remote
def test_a_frame_cut_short_is_never_a_code(remote: made.Remote) -> None:
    """Cut anywhere behind its header; what fits by nature says so."""
    first, second = remote.hold(2)
    for marks in range(2, (len(second.pulses) + 1) // 2):
        frames = [first, made.shortened(second, marks)]
        found = infrared(made.capture(frames, rng(remote.name, marks)), "IR")
        assert read(found)[0] == wanted(frames)[0], marks
        code = found.frames[-1].code
        if code is not None and code.complete:
            assert code.also_fits, marks


@pytest.mark.parametrize("number", range(len(made.REMOTES)))
def test_two_remotes_in_turn(number: int) -> None:
    remote, other = made.REMOTES[number], made.REMOTES[(number + 7) % len(made.REMOTES)]
    frames = made.together(remote.hold(3), other.hold(3))
    found = infrared(made.capture(frames, rng(remote.name, other.name), jitter=20), "IR")
    assert read(found) == wanted(frames)


def test_ambiguous_by_nature_is_said() -> None:
    def code(remote: made.Remote) -> tuple[str, tuple[str, ...]]:
        found = infrared(made.capture(remote.hold(1), rng(1)), "IR").frames[0].code
        assert found is not None
        return found.protocol, found.also_fits

    by_name = {remote.name: code(remote) for remote in made.REMOTES}
    assert by_name["JVC f0/f"] == ("JVC", ("NEC, cut short",))
    assert by_name["JVC 3/17"] == ("JVC", ())
    assert by_name["Denon 8/a3"] == ("Denon", ("Sharp, expansion bit 0",))
    assert by_name["Sharp 1/16"] == ("Sharp", ())


def test_pulses_of_no_protocol_have_no_code() -> None:
    random = np.random.default_rng(5)
    for _ in range(200):
        pulses = random.uniform(150, 3000, 2 * int(random.integers(3, 40)) + 1).tolist()
        frame = made.Sent(0.0, pulses, "", None, None, repeat=False)
        for one in infrared(made.capture([frame], random), "IR").frames:
            assert one.code is None or not one.code.complete


def test_what_only_begins_like_a_known_protocol_is_unknown() -> None:
    """More bits than the protocol has, or the same few again and again: neither was cut short."""
    nec = made.REMOTES[0].hold(1)[0].pulses
    few, many = nec[:19], [*nec, *nec[-16:]]
    for pulses in (few, many):
        frames = [made.Sent(n * 110_000.0, pulses, "", None, None, repeat=False) for n in range(3)]
        found = infrared(made.capture(frames, rng(len(pulses))), "IR")
        assert [frame.code for frame in found.frames] == [None] * 3
        assert found.notes


def test_a_capture_that_ends_within_a_space_is_read() -> None:
    """Of a line that is active low and has its frames cut at both ends."""
    whole = made.capture(made.REMOTES[10].hold(3), rng(1))
    line = whole.lines[0]
    for first in range(12):
        for last in range(1, 12):
            edges = line.edges[first : line.edges.size - last]
            begin = int(edges[0]) - 400
            part = SignalLine("IR", bool(first % 2), edges - begin)
            ticks = int(edges[-1]) - begin + 400
            cut = Capture(whole.path, "cut", whole.clock, ticks, (part,))
            assert ("Sony SIRC", 0x11, 0x7F, False) in read(infrared(cut, "IR"))[1:2] or first == 0
