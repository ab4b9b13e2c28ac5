"""Running the few commands that tell of a board what no file does: all at once, with a time limit.

The command lines come from the catalogue. They are run where the board has the program, without
input, one after the other in one session, and with nothing of that session's environment but the
path: a variable that changes what a program says of the board (GLIBC_TUNABLES, MALLOC_ARENA_MAX)
is the session's, not the board's. What did not end in time is missing, no more.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchvise.board import Board, process
from benchvise.state.model import Missing

SECONDS = 15.0
"""For all commands together, which take a fifth of one where no other process computes: a command
that is given up is a difference between two snapshots of which one was taken of a busy board."""

_EACH_SECONDS = 3  # for one that waits for hardware, which does not answer

OUTPUT_LIMIT = 256 << 10
"""Bytes of a command's output that are kept."""

_TOTAL_LIMIT = 4 << 20
_LAST_WORDS = 2  # ip says why, and then that it ends

# "$1" is the mark, each other argument a command line of words without any special character. The
# unquoted $line is what splits it into words; -f keeps wildcards from being expanded.
_SCRIPT = f"""
set -f
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin:/opt/vc/bin LC_ALL=C
export PATH LC_ALL
mark=$1
shift
limit=
timeout {_EACH_SECONDS} true </dev/null >/dev/null 2>&1 && limit='timeout {_EACH_SECONDS}'
clean=env
env -i true </dev/null >/dev/null 2>&1 && clean='env -i'
for line
do
    if command -v "${{line%% *}}" >/dev/null 2>&1
    then
        echo "$mark begin"
        $limit $clean PATH="$PATH" LC_ALL=C $line </dev/null 2>&1
        echo "
$mark $?"
    else
        echo "$mark none"
    fi
done
"""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command said on both its outputs, or why there is nothing."""

    text: str = ""
    missing: Missing | None = None
    reason: str = ""


def run_commands(
    board: Board, lines: Sequence[str], *, seconds: float = SECONDS
) -> Mapping[str, CommandAnswer]:
    """Command line to what it said. Raises BoardUnusable when the board starts nothing at all."""
    if not lines:
        return {}
    mark = f"benchvise-{secrets.token_hex(8)}"
    answers = _parse(_collect(board, mark, lines, seconds), mark)
    late = CommandAnswer(missing=Missing.UNREADABLE, reason=f"no answer within {seconds:g} s")
    return {line: answers[i] if i < len(answers) else late for i, line in enumerate(lines)}


def _collect(board: Board, mark: str, lines: Sequence[str], seconds: float) -> str:
    deadline = time.monotonic() + seconds
    child = board.spawn(["sh", "-c", _SCRIPT, "sh", mark, *lines])
    pipes = process.Pipes(child)
    try:
        pipes.end_input()
        while not pipes.at_end and len(pipes.stdout) < _TOTAL_LIMIT:
            if not pipes.pump(deadline - time.monotonic()):
                break
    finally:
        process.end(child)
    return pipes.stdout.decode("utf-8", "replace")


def _parse(output: str, mark: str) -> list[CommandAnswer]:
    """The answers that are complete, in their order."""
    answers: list[CommandAnswer] = []
    for part in output.split(f"{mark} ")[1:]:
        word, _, text = part.partition("\n")
        if word == "none":
            answers.append(CommandAnswer(missing=Missing.ABSENT, reason="the program is not there"))
        elif word == "begin":
            unfinished = text
        elif word.isdecimal():
            answers.append(_output(int(word), unfinished))
    return answers


def _output(status: int, text: str) -> CommandAnswer:
    kept = text[:OUTPUT_LIMIT].rstrip("\n")
    if status == 0:
        return CommandAnswer(kept)
    if status in (124, 143):
        return CommandAnswer(
            missing=Missing.UNREADABLE, reason=f"no answer within {_EACH_SECONDS} s"
        )
    lines = [line.strip() for line in kept.splitlines() if line.strip()]
    refusal = next((line for line in lines[-_LAST_WORDS:] if _refuses(line)), "")
    why = refusal or "".join(lines[-1:])
    return CommandAnswer(
        missing=Missing.UNREADABLE if refusal else Missing.ABSENT,
        reason=f"exit {status}: {why[:120]}" if why else f"exit {status}",
    )


def _refuses(line: str) -> bool:
    return any(word in line.lower() for word in ("permission", "not permitted", "root"))
