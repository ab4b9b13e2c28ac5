"""What ``benchvise signal`` does with captures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.errors import CaptureError, UsageError
from benchvise.measure.model import RunStatus, Sample, SeriesSpec, SeriesStatus
from benchvise.output_files import check_output_file, write_output
from benchvise.signal import psk, synth
from benchvise.signal.aligning import Discrepancy, discrepancies
from benchvise.signal.capture import Capture
from benchvise.signal.clock import ClockFigures, clock_figures
from benchvise.signal.decoders import Annotation, Decoder, decode
from benchvise.signal.distribution import Difference, Distribution, Effect, difference
from benchvise.signal.distribution import distribution as figures
from benchvise.signal.distribution import effects as factor_effects
from benchvise.signal.flow_control import Excess, control_lines, excess
from benchvise.signal.fsk import Keying, keying
from benchvise.signal.infrared import Infrared, infrared
from benchvise.signal.radio import CRYSTALS, Explained, data_rate, explain
from benchvise.signal.readers.options import ReadOptions
from benchvise.signal.reading import open_capture
from benchvise.signal.response import Edge, Responses, is_list, read_list, responses
from benchvise.signal.uart import SerialLine, decode_line

if TYPE_CHECKING:
    from benchvise.store import Store

MOST_SAVED = 100_000
"""Responses of one configuration that go into the store; of more, evenly chosen ones."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One file of response times: its name, the levels of its factors, and what it says."""

    name: str
    levels: tuple[str, ...]
    found: Responses
    figures: Distribution
    relative: Difference | None
    """To the first configuration."""


@dataclass(frozen=True, slots=True)
class Answered:
    """All configurations, and what each factor does."""

    configurations: tuple[Configuration, ...]
    factors: tuple[str, ...]
    effects: tuple[Effect, ...]
    saved: tuple[str, ...]
    """Ids of the runs in the store."""


def info(path: Path, options: ReadOptions) -> Capture:
    """Opens a capture."""
    return open_capture(path, options)


def response(
    files: Sequence[str],
    options: ReadOptions,
    *,
    stimulus: str | None,
    answer: str | None,
    window_s: float | None,
    factors: Sequence[str],
    save: str | None,
    store: str | None,
) -> Answered:
    """Response times of each file, beside each other; kept in the store under the label ``save``.

    A file is a capture or a list of response times, named ``NAME=FILE`` or ``FILE``; with factors
    the name is a level of each, joined by slashes. UsageError, CaptureError, StoreError.
    """
    edges = edges_of(stimulus, answer)
    found = answered([_named(text) for text in files], options, edges, window_s, factors)
    saved: tuple[str, ...] = ()
    if save is not None:
        from benchvise.store import Store  # late: most answers are not kept

        words = {"from": stimulus or "", "to": answer or ""}
        with Store.open(store) as opened:
            saved = tuple(_saved(opened, one, save, words) for one in found.configurations)
    return replace(found, saved=saved)


def edges_of(stimulus: str | None, answer: str | None) -> tuple[Edge, Edge] | None:
    """Both edges; None where they are not named. UsageError for what names none."""
    if stimulus is None or answer is None:
        return None
    return Edge.parse(stimulus), Edge.parse(answer)


def answered(
    named: Sequence[tuple[str, Path]],
    options: ReadOptions,
    edges: tuple[Edge, Edge] | None,
    window_s: float | None,
    factors: Sequence[str],
) -> Answered:
    """Response times of each file, by name; nothing is kept. See ``response``."""
    if len({name for name, _ in named}) != len(named):
        raise UsageError("two files have the same name", "name them: NAME=FILE")
    levels = {name: _levels(name, factors) for name, _ in named}
    configurations: list[Configuration] = []
    for name, path in named:
        found = _responses(path, options, edges, window_s)
        first = configurations[0].found.seconds if configurations else None
        configurations.append(
            Configuration(
                name,
                levels[name],
                found,
                figures(found.seconds),
                None if first is None else difference(found.seconds, first),
            )
        )
    effects = (
        factor_effects({c.levels: c.found.seconds for c in configurations}, factors)
        if factors
        else ()
    )
    return Answered(tuple(configurations), tuple(factors), effects, ())


def _responses(
    path: Path, options: ReadOptions, edges: tuple[Edge, Edge] | None, window_s: float | None
) -> Responses:
    """Of a capture or a list; UsageError where nothing was answered, or nobody said which edges."""
    if is_list(path):
        found = read_list(path)
    elif edges is None:
        raise UsageError(
            f"{path} is a capture: which edges are meant?",
            "say --from LINE:rising --to LINE:rising; `benchvise signal info` lists the lines",
        )
    else:
        found = responses(open_capture(path, options), *edges, window_s)
    if found.seconds.size == 0:
        raise UsageError(
            f"{path}: none of {found.shots} stimuli was answered",
            "look at --from, --to and --window",
        )
    return found


def _named(text: str) -> tuple[str, Path]:
    name, equals, file = text.rpartition("=")
    if equals and name and not Path(text).exists():
        return name, Path(file)
    return Path(text).stem, Path(text)


def _levels(name: str, factors: Sequence[str]) -> tuple[str, ...]:
    if not factors:
        return (name,)
    levels = tuple(part.strip() for part in name.split("/"))
    if len(levels) != len(factors) or not all(levels):
        raise UsageError(
            f"'{name}' does not have a level of each of {', '.join(factors)}",
            f"name the file {'/'.join(factor.upper() for factor in factors)}=FILE",
        )
    return levels


def _saved(store: Store, one: Configuration, label: str, words: Mapping[str, str]) -> str:
    """Keeps a configuration as a run, so that ``compare`` and the reports work on it."""
    spec = SeriesSpec("signal.response", tuple(words.items()), "signal.response")
    run = store.begin_run(
        label=f"{label} {one.name}".strip(),
        board=f"capture {one.found.source.name}",
        suite="",
        seed=0,
        plan={"capture": one.found.source.name, "group": ""},
        host={},
        simulated=False,
        series=[(spec, "ns", "lower", "from an edge of the stimulus to the edge of the answer")],
    )
    step = -(-one.found.seconds.size // MOST_SAVED)
    process = store.begin_process(run, 0, 0, {"caveats": list(one.found.notes)})
    values = one.found.seconds[::step]
    store.add_samples(process, [Sample(i, float(value) * 1e9) for i, value in enumerate(values)])
    store.end_process(process, complete=True)
    store.end_series(run, 0, SeriesStatus.MEASURED, "")
    store.end_run(run, RunStatus.COMPLETE)
    return run


@dataclass(frozen=True, slots=True)
class Clocked:
    """A clock line beside what it should be."""

    capture: Capture
    figures: ClockFigures
    nominal: float | None
    explained: Explained | None
    tolerance: float

    @property
    def off_ppm(self) -> float | None:
        """How far it is from its nominal frequency."""
        return None if self.nominal is None else (self.figures.frequency / self.nominal - 1) * 1e6


def clock(
    path: Path,
    options: ReadOptions,
    line: str | None,
    *,
    nominal: float | None,
    radio: str | None,
    registers: str | None,
    crystal: float | None,
    bits: float,
    ppm: float,
) -> Clocked:
    """Figures of a clock line; with ``radio``, which registers explain its rate.

    ``registers`` is ``MDMCFG4,MDMCFG3``; ``bits`` are bits a period of the line. ``ppm`` is what
    crystal and sampling clock may be off together.
    """
    capture = open_capture(path, options)
    found = clock_figures(capture, line or _busiest(capture))
    tolerance = ppm * 1e-6 + 3 * found.error / found.frequency
    explained = None
    if radio is not None:
        if radio.lower() not in CRYSTALS:
            raise UsageError(f"no radio '{radio}' is known", f"one of {', '.join(CRYSTALS)}")
        if registers is None:
            raise UsageError("which registers were set?", "say --registers 0x8a,0x83")
        set_to = _registers(registers)
        at = crystal or CRYSTALS[radio.lower()]
        wanted = data_rate(*set_to, at)
        explained = explain(wanted, found.frequency * bits, at, tolerance)
        nominal = wanted.rate / bits
    return Clocked(capture, found, nominal, explained, tolerance)


def _registers(text: str) -> tuple[int, int]:
    try:
        high, low = (int(word, 0) for word in text.split(","))
    except ValueError:
        raise UsageError(
            f"'{text}' is no pair of registers", "write MDMCFG4,MDMCFG3: 0x8a,0x83"
        ) from None
    return high, low


def _busiest(capture: Capture) -> str:
    """The line that changes most."""
    return max(capture.lines, key=lambda line: line.edges.size).name


@dataclass(frozen=True, slots=True)
class Serial:
    """The serial lines of a capture; with a host's log what of one of them it got."""

    capture: Capture
    lines: tuple[SerialLine, ...]
    skipped: tuple[str, ...]
    excesses: tuple[Excess, ...]
    beside: str | None
    differences: tuple[Discrepancy, ...]
    logged: int


def uart(
    path: Path,
    options: ReadOptions,
    names: Sequence[str],
    *,
    baud: float | None,
    frame: str | None,
    inverted: bool | None,
    log: Path | None,
) -> Serial:
    """Decodes the serial lines of a capture and lays a host's log beside the first of them."""
    return serial_lines(
        open_capture(path, options), names, baud=baud, frame=frame, inverted=inverted, log=log
    )


def serial_lines(
    capture: Capture,
    names: Sequence[str] = (),
    *,
    baud: float | None = None,
    frame: str | None = None,
    inverted: bool | None = None,
    log: Path | None = None,
) -> Serial:
    """``uart`` of a capture that is open."""
    bits, parity = _frame(frame)
    lines, skipped = [], []
    controls = control_lines(capture)
    talking = [o.name for o in capture.lines if o.edges.size > 0 and o.name not in controls]
    for name in names or talking:
        try:
            lines.append(
                decode_line(
                    capture, name, baud=baud, data_bits=bits, parity=parity, inverted=inverted
                )
            )
        except CaptureError as error:
            if names:
                raise
            skipped.append(f"{name}: {error.message}")
    beside, differences, logged = None, list[Discrepancy](), 0
    if log is not None and lines:
        try:
            received = log.read_bytes()
        except OSError as error:
            raise UsageError(f"{log}: {error.strerror}", "name the host's log") from error
        beside, logged = lines[0].line, len(received)
        differences = discrepancies(lines[0].content, received)
    excesses = tuple(excess(capture, line, control) for control in controls for line in lines)
    return Serial(
        capture, tuple(lines), tuple(skipped), excesses, beside, tuple(differences), logged
    )


def _frame(text: str | None) -> tuple[int | None, str | None]:
    """``8n1`` as data bits and parity."""
    if text is None:
        return None, None
    parities = {"n": "none", "e": "even", "o": "odd"}
    word = text.lower()
    if len(word) != 3 or word[0] not in "56789" or word[1] not in parities or word[2] not in "12":
        raise UsageError(f"'{text}' is no frame", "write 8n1, 7e1, 8e2")
    return int(word[0]), parities[word[1]]


def remote(path: Path, options: ReadOptions, line: str | None, protocol: str | None) -> Infrared:
    """Pulses, spaces and codes of a remote control."""
    capture = open_capture(path, options)
    return infrared(capture, line or _busiest(capture), protocol)


def decoded(
    path: Path, options: ReadOptions, stack: Sequence[str], annotations: Sequence[str]
) -> tuple[Capture, list[Annotation]]:
    """What decoders of libsigrokdecode say: ``spi:clk=CLK:mosi=MOSI``, stacked."""
    capture = open_capture(path, options)
    return capture, decode(capture, [decoder_of(text) for text in stack], annotations)


def decoder_of(text: str) -> Decoder:
    """A decoder as ``-P`` of sigrok-cli takes it; UsageError for what is none."""
    name, *pairs = text.split(":")
    options: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"'{pair}' is no option of a decoder", "write NAME:KEY=VALUE:…")
        options[key] = value
    return Decoder(name, {}, options)


@dataclass(frozen=True, slots=True)
class Keyed:
    """Data as MSK symbols that make BPSK: what is sent, and how it is received."""

    data: bytes
    symbols: psk.Bits
    packed: bytes
    waveform: psk.Waveform
    phases: Sequence[float]
    spectrum: psk.Spectrum
    received: bytes
    errors: tuple[psk.ErrorRate, ...]


def keyed(
    data: bytes,
    *,
    rate: float,
    per_symbol: int,
    differential: bool,
    levels_db: Sequence[float],
    bits: int,
    output: Path | None,
) -> Keyed:
    """Makes the symbols for an MSK transmitter of ``rate`` baud and simulates what becomes of
    them; writes them to ``output`` as bytes for its FIFO."""
    if output is not None:
        check_output_file(output, "the symbols")
    wanted = psk.bits_of(data)
    symbols = psk.msk_symbols(wanted, per_symbol=per_symbol, differential=differential)
    waveform = psk.waveform(symbols)
    got = psk.demodulated(waveform, per_symbol=per_symbol, differential=differential)
    content = psk.packed(symbols)
    if output is not None:
        write_output(output, content, "the symbols")
    return Keyed(
        data,
        symbols,
        content,
        waveform,
        [float(phase) for phase in psk.phases(waveform, per_symbol)],
        psk.spectrum(waveform, rate),
        psk.packed(got)[: len(data)],
        tuple(psk.error_rates(levels_db, bits=bits, per_symbol=per_symbol)),
    )


def synthesised(
    source: str,
    *,
    rate: float,
    band: float,
    order: int,
    seconds: float,
    amplitude: float,
    output: Path | None,
) -> tuple[synth.Synthesised, bytes]:
    """Two-bit symbols for ``tone:HZ``, ``sweep:HZ,HZ,PERIOD`` or a WAV file."""
    if output is not None:
        check_output_file(output, "the symbols")
    kind, _, rest = source.partition(":")
    try:
        if kind == "tone" and rest:
            samples = synth.tone(rate, float(rest), seconds, amplitude)
        elif kind == "sweep" and rest:
            first, last, period = map(float, rest.split(","))
            samples = synth.sweep(rate, first, last, period, seconds, amplitude)
        else:
            samples = synth.audio(Path(source), rate, amplitude)
    except ValueError:
        raise UsageError(
            f"'{source}' is no source", "write tone:1000, sweep:300,3000,0.5 or a WAV file"
        ) from None
    found = synth.synthesise(samples, rate, band, order)
    content = synth.packed(found.levels)
    if output is not None:
        write_output(output, content, "the symbols")
    return found, content


def shifted(
    path: Path,
    options: ReadOptions,
    line: str | None,
    *,
    baud: float,
    levels: int | None,
    sent: str,
) -> Keying:
    """The frequencies of a keyed line and their symbols; ``sent`` are symbols in hexadecimal."""
    try:
        symbols = tuple(int(digit, 16) for digit in sent)
    except ValueError:
        raise UsageError(f"'{sent}' are no symbols", "write them as digits: 0132") from None
    capture = open_capture(path, options)
    return keying(capture, line or _busiest(capture), baud, levels=levels, sent=symbols)
