"""What is wrong with a serial line, by how its bytes went wrong, with what supports it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchvise.signal.aligning import ByteChange, Discrepancy
from benchvise.signal.serial.byte_faults import SerialCause, byte_causes, seven_bits
from benchvise.signal.serial.exchange import Exchange, Way
from benchvise.signal.serial.flow import XOFF, XON, Flow

_FLOW_BYTES = frozenset({XON, XOFF})
_MOSTLY = 0.9
_GARBLED = 0.2
_FEW = 3
_PICKED = 3.0  # times as often as other bytes
_EXPECTED = 3.0  # losses: none of so many comes by chance once in twenty times


@dataclass(frozen=True, slots=True)
class MeasuredSetting:
    """All patterns of one setting of the line."""

    flow: Flow
    baud: int
    chunk: int
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """Bytes of one kind over some ways."""

    sent: int
    lost: int
    duplicated: int
    added: int
    altered: int
    stalls: int

    @property
    def wrong(self) -> int:
        """All that is not as sent."""
        return self.lost + self.duplicated + self.added + self.altered


def tally(ways: Iterable[Way]) -> Tally:
    """Counts over ways."""
    counts: Counter[ByteChange] = Counter()
    sent = stalls = 0
    for way in ways:
        sent += way.sent
        stalls += way.stalled
        for difference in way.discrepancies:
            counts[difference.change] += max(len(difference.sent), len(difference.received))
    return Tally(
        sent,
        counts[ByteChange.LOST],
        counts[ByteChange.DUPLICATED],
        counts[ByteChange.ADDED],
        counts[ByteChange.ALTERED],
        stalls,
    )


def reordered(differences: Sequence[Discrepancy], least: int = 8) -> int:
    """Bytes that are missing in one place and come in another: spans of eight and more."""
    lost = {
        difference.sent
        for difference in differences
        if difference.change is ByteChange.LOST and len(difference.sent) >= least
    }
    arrived = [
        difference.received
        for difference in differences
        if difference.change in (ByteChange.ADDED, ByteChange.DUPLICATED)
        and len(difference.received) >= least
    ]
    return sum(len(data) for data in arrived if data in lost)


def classify(tested: Sequence[MeasuredSetting]) -> tuple[SerialCause, ...]:
    """The causes that the patterns show, the surest first; none where nothing went wrong."""
    ways = [way for setting in tested for exchange in setting.exchanges for way in exchange.ways]
    if not tally(ways).wrong and not tally(ways).stalls:
        return ()
    silent = _silent_directions(ways)
    if silent:
        return (_silence(tested, silent),)
    causes = [
        cause
        for look in (
            _seven_bits,
            _garbled,
            _software_flow,
            _line_ends,
            _reordering,
            _hardware_flow,
            _overrun,
            _collision,
        )
        if (cause := look(tested)) is not None
    ]
    # What spoils nearly every byte makes everything else look wrong too.
    if causes and causes[0].word in ("seven bits", "baud mismatch"):
        return (causes[0],)
    if not causes:
        causes = byte_causes(_changes(tested), _bytes_sent(tested))
    return tuple(causes) or (_unknown(ways),)


def _silent_directions(ways: Sequence[Way]) -> list[str]:
    """The directions of which no byte ever arrived."""
    received: Counter[str] = Counter()
    for way in ways:
        received[way.name] += way.received
    return [name for name, count in received.items() if not count]


def _silence(tested: Sequence[MeasuredSetting], silent: Sequence[str]) -> SerialCause:
    """Nothing arrives in some direction: no question of single bytes."""
    sent: Counter[str] = Counter()
    received: Counter[str] = Counter()
    for _, _, way in _all(tested):
        sent[way.name] += way.sent
        received[way.name] += way.received
    names = {"there": "from PORT to the other end", "back": "from the other end to PORT"}
    evidence = tuple(
        f"{names.get(name, name)}: {received[name]} of {count} bytes arrived"
        for name, count in sent.items()
    )
    if len(silent) < len(sent):
        return SerialCause(
            "one direction dead",
            f"nothing arrives {names[silent[0]]}; the other direction carries",
            evidence,
            "check the one wire of that direction (TX of the sender to RX of the receiver), its "
            "driver, and its level shifter",
        )
    if len(sent) > 1:
        return SerialCause(
            "nothing came through",
            "nothing arrives in either direction",
            evidence,
            "check the cable, that TX and RX are crossed, the ground, and that both are the ports "
            "you mean",
        )
    return SerialCause(
        "nothing came back",
        "of all that was sent nothing came back: is the loop-back plug in?",
        evidence,
        "connect TX and RX of the port (pins 2 and 3 of a DE-9), or name the port at the other "
        "end with --far; with RTS/CTS, connect these two as well",
    )


def _all(tested: Sequence[MeasuredSetting]) -> list[tuple[MeasuredSetting, Exchange, Way]]:
    return [(setting, ex, way) for setting in tested for ex in setting.exchanges for way in ex.ways]


def _changes(tested: Sequence[MeasuredSetting], *kinds: ByteChange) -> list[Discrepancy]:
    return [
        difference
        for _, _, way in _all(tested)
        for difference in way.discrepancies
        if not kinds or difference.change in kinds
    ]


def _garbled(tested: Sequence[MeasuredSetting]) -> SerialCause | None:
    """Nearly all bytes altered, or the driver counts framing errors with bytes gone."""
    by_rate: dict[int, list[Way]] = {}
    frames: Counter[int] = Counter()
    for setting, exchange, way in _all(tested):
        by_rate.setdefault(setting.baud, []).append(way)
        frames[setting.baud] += (exchange.counted or {}).get("frame", 0)
    bad = []
    for baud, ways in by_rate.items():
        counts = tally(ways)
        if counts.sent and counts.altered + counts.added > _GARBLED * counts.sent:
            bad.append((baud, counts, frames[baud]))
    if not bad:
        return None
    evidence = [
        f"{baud} baud: {100 * (counts.altered + counts.added) / counts.sent:.0f} % of the bytes "
        "came as others" + (f", {count} framing errors counted" if count else "")
        for baud, counts, count in bad
    ]
    good = [baud for baud, ways in by_rate.items() if not tally(ways).wrong]
    if good:
        evidence.append(f"nothing is wrong at {', '.join(map(str, good))} baud")
    return SerialCause(
        "baud mismatch",
        "the two ends do not keep the same rate or frame",
        tuple(evidence),
        "set both ends to the same rate; measure it: benchvise signal uart CAPTURE",
    )


def _software_flow(tested: Sequence[MeasuredSetting]) -> SerialCause | None:
    """XON and XOFF are taken out of what is sent, or nothing follows a lone XOFF.

    Judged by the patterns that were made for it: in the others a halt takes all kinds of bytes.
    """
    gone: Counter[bool] = Counter()
    sent: Counter[bool] = Counter()
    halts = []
    for _, exchange, way in _all(tested):
        data = exchange.pattern.data
        if exchange.pattern.name in ("XON alone", "XOFF and XON"):
            sent.update(byte in _FLOW_BYTES for byte in data[: way.sent])
            for difference in way.discrepancies:
                if difference.change is ByteChange.LOST:
                    gone.update(byte in _FLOW_BYTES for byte in difference.sent)
        if _ends_at_xoff(way):
            halts.append(way)
    lost = gone[True] / max(1, sent[True])
    picked = (
        gone[True] >= _FEW and lost > 0.5 and lost > _PICKED * gone[False] / max(1, sent[False])
    )
    if not picked and not halts:
        return None
    evidence = []
    if gone[True]:
        evidence.append(f"{gone[True]} of {sent[True]} bytes 0x11 and 0x13 did not arrive")
        evidence.append(
            f"{gone[False]} of {sent[False]} other bytes beside them were lost too"
            if gone[False]
            else "no other byte beside them was lost"
        )
    if halts:
        again = not any(way.dead for way in halts)
        evidence.append(
            "nothing came after a lone 0x13"
            + ("; after 0x11 the line carried again" if again else ", and 0x11 did not help")
        )
    return SerialCause(
        "software flow control in the path",
        "something on the way takes XON (0x11) and XOFF (0x13) for commands: binary data cannot "
        "pass",
        tuple(evidence),
        "switch XON/XOFF off there (stty -ixon -ixoff; the module's own setting), or escape both "
        "bytes",
    )


def _ends_at_xoff(way: Way) -> bool:
    """Whether nothing came from a byte 0x13 on, to the end of what was sent."""
    last = way.discrepancies[-1] if way.discrepancies else None
    return (
        last is not None
        and last.change is ByteChange.LOST
        and last.sent[:1] == bytes([XOFF])
        and last.sent_at + len(last.sent) == way.sent
        and len(last.sent) > _FEW
    )


def _seven_bits(tested: Sequence[MeasuredSetting]) -> SerialCause | None:
    return seven_bits(_changes(tested), _bytes_sent(tested))


def _bytes_sent(tested: Sequence[MeasuredSetting]) -> Counter[int]:
    """How often each byte was sent."""
    sent = Counter[int]()
    for _, exchange, way in _all(tested):
        sent.update(exchange.pattern.data[: way.sent])
    return sent


def _line_ends(tested: Sequence[MeasuredSetting]) -> SerialCause | None:
    altered = sum(
        {a, b} == {0x0D, 0x0A}
        for difference in _changes(tested, ByteChange.ALTERED)
        for a, b in zip(difference.sent, difference.received, strict=True)
    )
    added = sum(
        difference.received.count(0x0D)
        for difference in _changes(tested, ByteChange.ADDED, ByteChange.DUPLICATED)
        if set(difference.received) <= {0x0D, 0x0A}
    )
    if altered + added < _FEW:
        return None
    return SerialCause(
        "line ends translated",
        "a terminal on the way turns line ends into others",
        (f"{altered} bytes 0x0d and 0x0a exchanged, {added} bytes 0x0d added",),
        "set the terminal to raw: stty raw -icrnl -onlcr",
    )


def _reordering(tested: Sequence[MeasuredSetting]) -> SerialCause | None:
    moved = sum(reordered(way.discrepancies) for _, _, way in _all(tested))
    if not moved:
        return None
    return SerialCause(
        "reordered",
        "parts of the data overtake each other",
        (f"{moved} bytes came in another place than they were sent",),
        "look for a gateway that sends by several connections, or a driver with two queues",
    )


def _hardware_flow(tested: Sequence[MeasuredSetting]) -> SerialCause | None:
    """Bytes are doubled under RTS/CTS and not without it, or anywhere bytes are only doubled."""
    with_it = tally(way for setting, _, way in _all(tested) if setting.flow is Flow.RTSCTS)
    without = tally(way for setting, _, way in _all(tested) if setting.flow is not Flow.RTSCTS)
    if with_it.duplicated < _FEW:
        return None
    rate = with_it.duplicated / max(1, with_it.sent)
    other = without.duplicated / max(1, without.sent)
    if without.sent and other > 0.5 * rate:
        return None
    if with_it.duplicated < 0.5 * with_it.wrong:
        return None
    evidence = [f"{with_it.duplicated} of {with_it.sent} bytes came twice under RTS/CTS"]
    if without.sent:
        evidence.append(f"without it {without.duplicated} of {without.sent}")
    else:
        evidence.append("it was not tested without: --flow none tells whether it is that")
    return SerialCause(
        "hardware flow control duplicates",
        "a sender stopped by CTS sends its last byte again when it goes on",
        tuple(evidence),
        "switch RTS/CTS off in the module, or put a protocol with sequence numbers above it",
    )


def _overrun(tested: Sequence[MeasuredSetting]) -> SerialCause | None:
    """Bytes are lost in haste and not at leisure, or the driver says so."""
    counted: Counter[str] = Counter()
    for setting in tested:
        for exchange in setting.exchanges:
            counted.update(exchange.counted or {})
    fast = tally(
        way for _, ex, way in _all(tested) if ex.pattern.pause_s == 0 and not ex.pattern.both_ways
    )
    slow = tally(way for _, ex, way in _all(tested) if ex.pattern.pause_s > 0)
    flow_bytes = sum(
        difference.sent.count(XON) + difference.sent.count(XOFF)
        for difference in _changes(tested, ByteChange.LOST)
    )
    evidence = []
    counted_losses = counted["overrun"] + counted["buffer_overrun"]
    if counted_losses:
        evidence.append(f"the driver counted {counted_losses} overruns")
    lost = fast.lost - flow_bytes
    runs = [
        len(difference.sent)
        for _, ex, way in _all(tested)
        if ex.pattern.pause_s == 0 and not ex.pattern.both_ways
        for difference in way.discrepancies
        if difference.change is ByteChange.LOST and not set(difference.sent) <= _FLOW_BYTES
    ]
    # Few bytes at leisure say nothing of a loss so rare that it would not have struck them either,
    # nor of one that strikes only values that are not among them.
    expected = _expected_at_leisure(tested)
    if lost >= _FEW and not slow.lost and expected > _EXPECTED and not fast.stalls:
        evidence.append(
            f"{lost} of {fast.sent} bytes lost in haste, in runs of "
            f"{min(runs, default=0)} to {max(runs, default=0)}; none of {slow.sent} at leisure"
        )
    if not evidence:
        return None
    return SerialCause(
        "overrun",
        "a receiver does not keep up: bytes are lost when they come without a pause",
        tuple(evidence),
        "use flow control that works at both ends, a lower rate, or larger FIFO and buffers",
    )


def _expected_at_leisure(tested: Sequence[MeasuredSetting]) -> float:
    """How many bytes the slow patterns would lose if each value were lost as often as in haste."""
    sent, lost, slowly = Counter[int](), Counter[int](), Counter[int]()
    for _, exchange, way in _all(tested):
        pattern = exchange.pattern
        if pattern.pause_s > 0:
            slowly.update(pattern.data[: way.sent])
        elif not pattern.both_ways:
            sent.update(pattern.data[: way.sent])
            for difference in way.discrepancies:
                if difference.change is ByteChange.LOST:
                    lost.update(difference.sent)
    return sum(
        count * lost[value] / sent[value]
        for value, count in slowly.items()
        if sent[value] and value not in _FLOW_BYTES
    )


def _collision(tested: Sequence[MeasuredSetting]) -> SerialCause | None:
    """Bytes suffer only where both directions talk at the same time."""
    both = tally(way for _, ex, way in _all(tested) if ex.pattern.both_ways and len(ex.ways) > 1)
    one_way = tally(
        way
        for _, ex, way in _all(tested)
        if not ex.pattern.both_ways and "XO" not in ex.pattern.name
    )
    if both.wrong < _FEW or not one_way.sent:
        return None
    if both.wrong / max(1, both.sent) < 5 * one_way.wrong / one_way.sent:
        return None
    return SerialCause(
        "traffic in one direction hurts the other",
        "bytes are lost or altered while something comes in from the other side",
        (
            f"both ways at once: {both.wrong} of {both.sent} bytes wrong "
            f"({both.lost} lost, {both.altered} altered)",
            f"one way at a time: {one_way.wrong} of {one_way.sent}",
        ),
        "wait for a reply before the next request; check each reply and ask again; newer firmware",
    )


def _unknown(ways: Sequence[Way]) -> SerialCause:
    counts = tally(ways)
    return SerialCause(
        "unclear",
        "bytes go wrong in no way that points to one cause",
        (
            f"{counts.lost} lost, {counts.duplicated} duplicated, {counts.added} added, "
            f"{counts.altered} altered of {counts.sent}; {counts.stalls} halts",
        ),
        "record the line with a logic analyser and lay both beside each other: "
        "benchvise signal uart CAPTURE --log FILE",
    )
