"""``command.output``: a number that a command on the board prints.

The probe runs the command (``command.time`` with ``output=keep``), one run a request, so that a
run whose output does not match leaves nothing half done; here the number is taken out of the text.
"""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchvise.board.channel import SILENCE_SECONDS
from benchvise.board.messages import (
    BeginMessage,
    EndMessage,
    HostMessage,
    SampleMessage,
    SeriesMessage,
    first_of,
)
from benchvise.documents import decode, object_at, text_at
from benchvise.errors import MeasurementError, UsageError
from benchvise.measure.hostside import matcher
from benchvise.measure.hostside.base import Order, described
from benchvise.measure.model import Benchmark, Figure, Parameter
from benchvise.text import printable, without_escapes

ID = "command.output"
NUMBER = r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?"

MATCH_SECONDS = 3.0
"""CPU time for a regular expression over 64 KiB: a thousand times what an ordinary one takes."""

_GIVEN_UP_SECONDS = 600.0  # for the process that has that time, however many others compute

_LINE = 200  # characters of the matched line that are kept
_TAIL_LINES = 3

DESCRIPTION = Benchmark(
    id=ID,
    summary="a number that a command on the board prints",
    unit="",
    better="lower",
    counted="what the regular expression finds in one run's output",
    method="a batch is one run of `sh -c` with the command; the last 64 KiB of its standard "
    "output and standard error, without colours and other escapes, are searched on this machine "
    "by Python's re with MULTILINE; of all matches the last counts, as programs print progress "
    "first and results at the end, of this the first group, or all of it where there is no group; "
    "a run that fails or that does not match is an error and no sample",
    pitfalls="the command's own method is as good or bad as it is: one interval, a mean without "
    "spread, a rounded value; units and prefixes are those of the command (perf says GB and "
    "means GiB); numbers with separators (1,234) are refused, so match without them",
    not_measured="what the command does not print; the command's own warm-up",
    peer="the command by hand: equal",
    parameters=(
        Parameter("run", "text", "nproc", "the command line, for `sh -c` on the board", 1, 4096),
        Parameter(
            "match",
            "text",
            NUMBER,
            "a regular expression that finds the number; without one, the last number printed",
            1,
            1000,
        ),
        Parameter("better", "choice", "lower", "which way is better", choices=("lower", "higher")),
        Parameter("unit", "text", "", "the number's unit, for the tables", 0, 20),
        Parameter("warmup", "integer", "1", "runs before the first that counts", 0, 100),
        Parameter("timeout_s", "integer", "600", "seconds after which a run is stopped", 1, 86400),
        Parameter(
            "observe",
            "choice",
            "nothing",
            "pages: read what the memory of the command is made of, as command.time does; reading "
            "disturbs, so do not compare values that were taken with it",
            choices=("nothing", "pages"),
        ),
    ),
    defaults={"batches": "5"},
    figures=(
        Figure("wall_ns", "ns", "lower", "median", "wall time of a run"),
        Figure("user_ns", "ns", "lower", "median", "its CPU time in user space"),
        Figure("sys_ns", "ns", "lower", "median", "its CPU time in the kernel"),
    ),
    driven_by="host",
)


class CommandOutput:
    """The benchmark, as a source of messages."""

    description = DESCRIPTION

    def check(self, params: Mapping[str, str]) -> None:
        """Refuses what is no regular expression."""
        try:
            with warnings.catch_warnings(action="ignore"):  # a pattern's style is its author's
                re.compile(params["match"])
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(
                f"{ID}: '{params['match']}' is no regular expression ({error})",
                "Python's syntax holds: put a backslash before a character meant as itself",
            ) from error

    def messages(self, order: Order) -> Iterator[SeriesMessage]:
        """One run of the command for each batch, a process of the probe each."""
        for index in range(order.batches):
            host, begin, sample = _one_run(order, warmup=index == 0)
            if index == 0:
                yield host
                yield _begin(begin, order)
            yield _sample(sample, index, order.params["match"])
        yield EndMessage(order.batches)


def _one_run(order: Order, *, warmup: bool) -> tuple[HostMessage, BeginMessage, SampleMessage]:
    """What the probe says of one run."""
    timeout_s = int(order.params["timeout_s"])
    warmups = int(order.params["warmup"]) if warmup else 0
    arguments = ["run", "command.time", "--run", order.params["run"], "--timeout_s", str(timeout_s)]
    arguments += ["--output", "keep", "--warmup", str(warmups), "--batches", "1"]
    arguments += ["--observe", order.params["observe"], *order.attributes]
    silence = SILENCE_SECONDS + (warmups + 1) * timeout_s
    messages = []
    # Paced, so that the probe ends the command should this machine go away meanwhile.
    for message in order.channel.request(arguments, paced=True, silence_timeout=silence):
        messages.append(message)
        if isinstance(message, SampleMessage):
            order.channel.acknowledge()
    host, begin = first_of(HostMessage, messages), first_of(BeginMessage, messages)
    sample = first_of(SampleMessage, messages)
    if host is None or begin is None or sample is None:
        raise MeasurementError(
            f"the probe on {order.board.name} left out a part of its answer", "please report it"
        )
    return host, begin, sample


def _begin(message: BeginMessage, order: Order) -> BeginMessage:
    """What the probe says of the command, with the number's unit and direction."""
    chosen = {name: order.params[name] for name in ("unit", "better")}
    return BeginMessage(ID, {**message.begin, **described(DESCRIPTION, order), **chosen})


def _sample(message: SampleMessage, index: int, pattern: str) -> SampleMessage:
    """The number in place of the time, and the line it stands in in place of the whole output."""
    detail = object_at(message.evidence, "detail")
    number, line = find_number(pattern, text_at(detail, "output"))
    kept = {name: value for name, value in detail.items() if name != "output"}
    return SampleMessage(index, number, {**message.evidence, "detail": {**kept, "matched": line}})


def find_number(pattern: str, output: str) -> tuple[float, str]:
    """The number that the pattern finds, and the line that it stands in, to be shown.

    MeasurementError when there is none, or when the pattern takes too long.
    """
    text = without_escapes(output).replace("\r\n", "\n").replace("\r", "\n")
    match = _last_match(pattern, text)
    expression = printable(pattern, 80)
    if match is None:
        raise MeasurementError(
            f"{ID}: '{expression}' matches nothing in the output, which {_ending(text)}",
            "run the command by hand and adapt the regular expression",
        )
    line = printable(match.line, _LINE)
    try:
        number = float(match.digits)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in match.digits:
        raise MeasurementError(
            f"{ID}: '{expression}' finds '{printable(match.digits, 40)}', which is no number, "
            f"in '{line}'",
            "put just the number into a group: speed: ([0-9.]+) MB/s",
        )
    return number, line


@dataclass(frozen=True, slots=True)
class _Match:
    """What ``matcher`` answers: the text that is to be a number, and its line."""

    digits: str
    line: str


def _last_match(pattern: str, text: str) -> _Match | None:
    question = json.dumps({"pattern": pattern, "text": text})
    command = [sys.executable, "-I", "-S", matcher.__file__, str(MATCH_SECONDS)]
    try:
        answer = subprocess.run(
            command,
            input=question.encode(),
            capture_output=True,
            timeout=_GIVEN_UP_SECONDS,
            check=True,
        )
        match = json.loads(answer.stdout)
        return None if match is None else decode(_Match, match)
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        status = getattr(error, "returncode", 0)  # of one that was ended or failed
        too_long = status == -signal.SIGPROF
        what = f"takes longer than {MATCH_SECONDS:g} s" if too_long else "could not be looked for"
        raise MeasurementError(
            f"{ID}: '{printable(pattern, 80)}' {what} in an output of {len(text)} characters",
            "write it without repetitions of repetitions, such as (a+)+ or (.*)*",
        ) from error


def _ending(text: str) -> str:
    lines = [line for line in map(printable, text[-8192:].split("\n")) if line]
    if not lines:
        return "is empty"
    return "ends with '" + " | ".join(lines[-_TAIL_LINES:]) + "'"
