"""Reading the kernel log of a board: through the probe, else from its journal."""

from __future__ import annotations

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.health.model import LogMark, LogReading
from benchvise.kernel_log import LogEvents
from benchvise.state.commands import run_commands
from benchvise.text import NO_TEXT, Untrusted

JOURNAL = "journalctl -k -b -o short-monotonic --no-pager -q -n 4000"
REMEDY = (
    "read it as root, set kernel.dmesg_restrict=0, or put the user into the group systemd-journal"
)


def read_log(
    board: Board,
    channel: ProbeChannel,
    boot_id: str,
    mark: LogMark | None,
    *,
    commands: bool = True,
) -> LogReading:
    """What the log says since the mark; all of it without one, or after another boot."""
    if mark is not None and mark.boot_id != boot_id:
        mark = None
    text, source, reason = _probe_log(channel)
    if not text and commands:
        journal = run_commands(board, [JOURNAL])[JOURNAL]
        if journal.text.strip() and "No entries" not in journal.text:
            text, source = journal.text, "journal"
    if not text:
        return LogReading(missing=f"{reason or 'it is empty'}: {REMEDY}", mark=mark)
    return summed(text, source, boot_id, mark)


def summed(text: str, source: str, boot_id: str, mark: LogMark | None) -> LogReading:
    """A log's text as its events."""
    since, seen = (None, 0) if mark is None else (mark.until, mark.seen)
    events = LogEvents.of(text, since=since, seen=seen)
    following = (
        mark if events.until is None else LogMark(boot_id, events.until, max(events.at_until, 1))
    )
    whole = mark is None or LogEvents.reaches_back(text, mark.until)
    return LogReading(events.events, events.lines, source, mark=following, gap=not whole)


def _probe_log(channel: ProbeChannel) -> tuple[str, str, Untrusted]:
    """The text, how it was read, and why there is none."""
    pieces: list[str] = []
    reason = NO_TEXT
    for fact in channel.facts("log"):
        if fact.name == "kernel_log":
            if isinstance(fact.value, str):
                pieces.append(fact.value)
            else:
                reason = fact.reason
    return "".join(pieces), "probe", reason
