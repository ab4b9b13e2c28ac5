"""Protocol decoding by libsigrokdecode, through ``sigrok-cli``."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from benchvise.errors import CaptureError, UsageError
from benchvise.signal.capture import Capture
from benchvise.signal.readers.sigrok import FORM, session_rate, session_step, write_session
from benchvise.text import NO_TEXT, Untrusted, last_line, printable

SECONDS = 120.0
MOST_ANNOTATIONS = 2_000_000

_PROGRAM = "sigrok-cli"
_ANNOTATION = re.compile(r"(\d{1,18})-(\d{1,18}) ([^:]{1,100}): (.*)")
_NO_LINE = re.compile(r'No channel with name "([^"]{0,100})" found')
_WORD = re.compile(r"[A-Za-z0-9_+.#\- ]{1,60}")


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a decoder says of a span, in ticks of the capture's clock. ``row`` is the decoder's own
    name for what belongs together (``MISO data``); empty where it was not asked for."""

    begin: int
    end: int
    decoder: Untrusted
    text: Untrusted
    row: Untrusted = NO_TEXT


@dataclass(frozen=True, slots=True)
class Decoder:
    """A protocol decoder: its name, which line each of its inputs is, and its options."""

    name: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)

    def as_argument(self) -> str:
        """What follows ``-P``; UsageError for what does not belong there."""
        parts = [self.name]
        for key, value in (*self.inputs.items(), *self.options.items()):
            for word in (key, value):
                if not _WORD.fullmatch(word):
                    raise UsageError(
                        f"'{word}' cannot be given to a decoder",
                        "rename the line in the capture: letters, digits and _+.#- pass",
                    )
            parts.append(f"{key}={value}")
        return ":".join(parts)


def parse_decoder(text: str) -> Decoder:
    """A decoder as ``-P`` of sigrok-cli takes it: ``spi:clk=CLK``; UsageError for what is none."""
    name, *pairs = text.split(":")
    options: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"'{pair}' is no option of a decoder", "write NAME:KEY=VALUE:…")
        options[key] = value
    return Decoder(name, {}, options)


def available() -> bool:
    """Whether sigrok-cli is on this machine."""
    return shutil.which(_PROGRAM) is not None


def decode(
    capture: Capture, stack: Sequence[Decoder], annotations: Sequence[str] = ()
) -> list[Annotation]:
    """What a stack of decoders says of a capture, in the order in which sigrok-cli says it.

    ``annotations`` are those wanted, as ``-A`` takes them (``uart=rx-data``); none for all.
    CaptureError when sigrok-cli is not there, refuses, or takes longer than two minutes.
    """
    capture, stack = _rename_lines(capture, stack)
    with _session(capture) as (path, step):
        argv = [
            _PROGRAM,
            "-i",
            str(path),
            "-P",
            ",".join(decoder.as_argument() for decoder in stack),
        ]
        if annotations:
            argv += ["-A", ",".join(annotations)]
        return list(_annotations(_run([*argv, "--protocol-decoder-samplenum"], capture), step))


def decode_by_row(capture: Capture, stack: Sequence[Decoder]) -> list[Annotation]:
    """All that a stack of decoders says, with its rows; raises as ``decode``."""
    capture, stack = _rename_lines(capture, stack)
    # Always as we write it: times are told by the session's own rate, and not in samples.
    with _written(capture) as (path, step):
        argv = [
            _PROGRAM,
            "-i",
            str(path),
            "-P",
            ",".join(decoder.as_argument() for decoder in stack),
        ]
        text = _run([*argv, "--protocol-decoder-jsontrace"], capture)
        return list(_of_trace(text, session_rate(capture, step), step))


def _rename_lines(capture: Capture, stack: Sequence[Decoder]) -> tuple[Capture, Sequence[Decoder]]:
    """Both with other names for lines whose own, such as ``bus[7]``, do not pass to sigrok-cli."""
    plain = {
        line.name: f"benchvise-{number}"
        for number, line in enumerate(capture.lines)
        if not _WORD.fullmatch(line.name)
    }
    named = {v for d in stack for v in (*d.inputs.values(), *d.options.values())}
    if named.isdisjoint(plain):
        return capture, stack
    lines = tuple(replace(line, name=plain.get(line.name, line.name)) for line in capture.lines)

    def renamed(words: Mapping[str, str]) -> dict[str, str]:
        return {key: plain.get(value, value) for key, value in words.items()}

    decoders = [replace(d, inputs=renamed(d.inputs), options=renamed(d.options)) for d in stack]
    return replace(capture, lines=lines, form="renamed"), decoders


def _of_trace(text: str, rate: int, step: int) -> Iterator[Annotation]:
    """Annotations as events of a trace: a line for its begin, and the next for its end."""
    begun: tuple[object, ...] | None = None
    begin = 0
    for line in islice(text.splitlines(), 2 * MOST_ANNOTATIONS):
        try:
            event = json.loads(line.rstrip(","))
            tick = round(float(event["ts"]) * 1e-6 * rate) * step
            what = (event["pid"], event["tid"], event["name"])
        except (ValueError, KeyError, TypeError):
            continue  # the frame around the events
        if event["ph"] == "B":
            begun, begin = what, tick
        elif begun == what:
            decoder, row, name = (Untrusted(f"{part}") for part in what)
            yield Annotation(begin, tick, decoder, name, row)


def _annotations(text: str, step: int) -> Iterator[Annotation]:
    for line in islice(text.splitlines(), MOST_ANNOTATIONS):
        if match := _ANNOTATION.fullmatch(line):
            begin, end = int(match[1]) * step, int(match[2]) * step
            yield Annotation(begin, end, Untrusted(match[3]), Untrusted(match[4]))


def _run(argv: Sequence[str], capture: Capture) -> str:
    if not available():
        raise CaptureError(
            f"{capture.path}: it cannot be decoded: there is no sigrok-cli here",
            "install it: apt install sigrok-cli",
        )
    try:
        done = subprocess.run(argv, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise CaptureError(
            f"{capture.path}: decoding took longer than {SECONDS:.0f} s", "cut the capture"
        ) from error
    if match := _NO_LINE.search(done.stderr.decode("utf-8", "replace")):
        # It would decode a line that it picks itself.
        raise CaptureError(
            f"{capture.path}: there is no line '{printable(match[1])}'",
            f"its lines are {', '.join(line.name for line in capture.lines)}",
        )
    complaint = last_line(done.stderr)
    if done.returncode or (complaint and not done.stdout):
        reason = complaint or f"exit {done.returncode}"
        raise CaptureError(
            f"{capture.path}: sigrok-cli refused: {reason}", "see sigrok-cli -P NAME --show"
        )
    return done.stdout.decode("utf-8", "replace")


@contextmanager
def _session(capture: Capture) -> Iterator[tuple[Path, int]]:
    """The capture as a session that sigrok-cli reads, and how many ticks each sample takes.

    One that is a session already is given as it is.
    """
    if capture.form == FORM:
        yield capture.path, 1
        return
    with _written(capture) as written:
        yield written


@contextmanager
def _written(capture: Capture) -> Iterator[tuple[Path, int]]:
    """The capture as a session that is written anew."""
    with tempfile.TemporaryDirectory(prefix="benchvise-") as directory:
        path = Path(directory) / "capture.sr"
        step = session_step(capture)
        write_session(capture, path, step)
        yield path, step
