"""A recording in a few lines: what is in it, what is not, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from benchvise.quantities import format_size
from benchvise.trace.recording import Recorded

_WHY = {
    "size": "its size is at its limit (--size)",
    "memory": "the board has no more memory",
    "signal": "somebody ended the recorder there",
}


def summary(recorded: Recorded) -> str:
    """Events, time, and losses, in one sentence."""
    lost = f"{recorded.lost} events lost" if recorded.lost else "no event lost"
    return f"{recorded.events} events in {recorded.seconds:.2f} s, {lost}"


def recording_lines(recorded: Recorded) -> Iterator[Text]:
    """What a person is told after a recording."""
    if "events" in recorded.ended:
        yield Text(summary(recorded), style="bold red" if recorded.lost else "bold")
        yield Text(
            f"the recorder took {recorded.overhead:.2%} of one CPU, beside what each event costs "
            "where it happens"
        )
    if recorded.reason in _WHY:
        yield Text(f"ended early: {_WHY[recorded.reason]}", style="yellow")
    for sentence in recorded.caveats:
        yield Text(sentence, style="yellow")
    status = recorded.ended.get("command")
    if isinstance(status, int) and status:
        yield Text(f"the command ended with exit {status}", style="yellow")
    if recorded.absent:
        yield Text(f"not in this kernel: {', '.join(recorded.absent)}", style="dim")
    yield Text(
        f"\nKept in {recorded.path} ({format_size(recorded.file_bytes)}). Next: "
        f"benchvise trace info {recorded.path}",
        style="dim",
    )
