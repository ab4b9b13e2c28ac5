"""``benchvise signal``: what a logic analyser or an oscilloscope recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli import signal_capture, signal_radio, signal_serial
from benchvise.cli.output import JsonOption, StoreOption, print_json, stderr, stdout
from benchvise.cli.signal_options import (
    CaptureArgument,
    HysteresisOption,
    LineOption,
    LinesOption,
    RateOption,
    ThresholdOption,
    read_options,
)
from benchvise.flows import signal as flow
from benchvise.output_files import check_output_directory
from benchvise.report import response_page, signal_json, signal_tables
from benchvise.report.response_figures import Sample
from benchvise.report.terminal import rendered

app = typer.Typer(
    help="Captures: electrical signals, and what they say of a board.", no_args_is_help=True
)


@app.command("info")
def info(
    capture: CaptureArgument,
    threshold: ThresholdOption = None,
    hysteresis: HysteresisOption = None,
    rate: RateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a capture holds: its lines, their edges, the clock.

    Example: benchvise signal info capture.sr
    """
    found = flow.info(capture, read_options(None, threshold, hysteresis, rate))
    if as_json:
        print_json("signal-info", signal_json.capture(found))
        return
    for table in signal_tables.capture_rows(found):
        stdout().print(rendered(table))
        stdout().print()


@app.command("response")
def response(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]FILE...",
            help="Captures, or lists of response times in seconds, one a line.",
        ),
    ],
    stimulus: Annotated[
        str | None,
        typer.Option("--from", metavar="EDGE", help="The stimulus: LINE:rising|falling|any."),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option("--to", metavar="EDGE", help="The answer: LINE:rising|falling|any."),
    ] = None,
    window: Annotated[
        float | None,
        typer.Option("--window", metavar="S", min=0, help="An answer later than this is missed."),
    ] = None,
    factors: Annotated[
        str,
        typer.Option(
            "--factors",
            metavar="A,B",
            help="What the names are made of: with load,governor a file is busy/ondemand=FILE.",
        ),
    ] = "",
    histogram: Annotated[
        bool, typer.Option("--histogram", help="Draw a histogram of each.")
    ] = False,
    save: Annotated[
        str | None,
        typer.Option("--save", metavar="LABEL", help="Keep each in the store, as a run."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", metavar="DIR", help="Write a page with the histograms side by side."),
    ] = None,
    store: StoreOption = None,
    threshold: ThresholdOption = None,
    hysteresis: HysteresisOption = None,
    rate: RateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how fast a board answers: from an edge on one line to the next on another.

    Several files are compared with the first.

    Example: benchvise signal response idle.sr busy.sr --from IN:rising --to OUT:rising
    """
    if output is not None:
        check_output_directory(output, "the page")
    found = flow.response(
        files,
        read_options(None, threshold, hysteresis, rate),
        stimulus=stimulus,
        answer=answer,
        window_s=window,
        factors=[word.strip() for word in factors.split(",") if word.strip()],
        save=save,
        store=store,
    )
    rows = [(one.name, one.found, one.figures, one.relative) for one in found.configurations]
    tables = [signal_tables.response_rows(rows)]
    if found.effects:
        tables.append(signal_tables.effect_rows(found.effects))
    document = {
        "configurations": [signal_json.responses(*row) for row in rows],
        "effects": signal_json.effects(found.effects),
        "saved": list(found.saved),
    }
    if output is not None:
        path = response_page.write_page(
            [Sample(name, one.seconds, int(one.missed_at.size)) for name, one, _, _ in rows],
            tables,
            document,
            output,
        )
        stderr().print(f"to be mailed: {path}", soft_wrap=True, markup=False)
    if as_json:
        print_json("signal-response", document)
        return
    if histogram:
        tables += [signal_tables.histogram_rows(name, one) for name, one, _, _ in rows]
    for table in tables:
        stdout().print(rendered(table))
        stdout().print()
    if found.saved:
        stderr().print(f"kept as runs {' '.join(found.saved)}: benchvise compare … …")


@app.command("clock")
def clock(
    capture: CaptureArgument,
    line: LineOption = None,
    nominal: Annotated[
        float | None,
        typer.Option("--nominal", metavar="HZ", help="The frequency that it should have."),
    ] = None,
    radio: Annotated[
        str | None,
        typer.Option(
            "--radio", metavar="CHIP", help="It is the data clock of a cc1100, cc1101 or cc2500."
        ),
    ] = None,
    registers: Annotated[
        str | None,
        typer.Option(
            "--registers", metavar="A,B", help="MDMCFG4 and MDMCFG3 as they were set: 0x8a,0x83."
        ),
    ] = None,
    crystal: Annotated[
        float | None,
        typer.Option("--crystal", metavar="HZ", help="The radio's crystal.", show_default="26e6"),
    ] = None,
    bits: Annotated[
        float, typer.Option("--bits", metavar="N", help="Bits that each period of the line takes.")
    ] = 1.0,
    ppm: Annotated[
        float,
        typer.Option(
            "--ppm", metavar="PPM", min=0, help="What crystal and analyser may be off together."
        ),
    ] = 100.0,
    threshold: ThresholdOption = None,
    hysteresis: HysteresisOption = None,
    rate: RateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a clock: frequency, jitter, duty cycle, drift; and what its registers should give.

    Example: benchvise signal clock radio.sr --line CLK --radio cc1101 --crystal 27e6 --registers 0x8a,0x83
    """  # noqa: E501
    found = flow.clock(
        capture,
        read_options(None, threshold, hysteresis, rate),
        line,
        nominal=nominal,
        radio=radio,
        registers=registers,
        crystal=crystal,
        bits=bits,
        ppm=ppm,
    )
    if as_json:
        document = signal_json.clock(found.figures, found.nominal, found.off_ppm, found.explained)
        print_json("signal-clock", document)
        return
    stdout().print(
        rendered(
            signal_tables.clock_rows(
                found.figures, found.nominal, found.off_ppm, found.explained, found.tolerance
            )
        )
    )


@app.command("uart")
def uart(
    capture: CaptureArgument,
    lines: LinesOption = None,
    baud: Annotated[
        float | None,
        typer.Option("--baud", metavar="N", min=1, help="The rate.", show_default="found"),
    ] = None,
    frame: Annotated[
        str | None,
        typer.Option("--frame", metavar="8n1", help="Bits, parity, stops.", show_default="found"),
    ] = None,
    inverted: Annotated[
        bool | None,
        typer.Option("--inverted/--not-inverted", help="The level at rest.", show_default="found"),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log", metavar="FILE", help="What the host got of the first line, byte for byte."
        ),
    ] = None,
    rows: Annotated[
        int, typer.Option("--bytes", metavar="N", min=0, help="Rows of sixteen bytes to show.")
    ] = 8,
    threshold: ThresholdOption = None,
    hysteresis: HysteresisOption = None,
    rate: RateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decode serial lines: rate and frame found, errors and glitches marked, beside a host's log.

    Example: benchvise signal uart capture.sr --line RX --log received.bin
    """
    found = flow.uart(
        capture,
        read_options(None, threshold, hysteresis, rate),
        lines or [],
        baud=baud,
        frame=frame,
        inverted=inverted,
        log=log,
    )
    if as_json:
        document = signal_json.serial(
            found.capture,
            found.lines,
            found.skipped,
            found.excesses,
            found.beside,
            found.differences,
        )
        print_json("signal-uart", document)
        return
    tables = [signal_tables.serial_rows(found.lines, found.skipped, found.excesses)]
    if rows:
        tables += [signal_tables.byte_rows(found.capture, one, rows) for one in found.lines]
    if found.beside is not None:
        tables.append(
            signal_tables.discrepancy_rows(
                found.beside, found.differences, len(found.lines[0].data), found.logged
            )
        )
    for table in tables:
        stdout().print(rendered(table))
        stdout().print()


@app.command("infrared")
def infrared(
    capture: CaptureArgument,
    line: LineOption = None,
    protocol: Annotated[
        str | None,
        typer.Option("--protocol", metavar="NAME", help="NEC, RC-5, …", show_default="found"),
    ] = None,
    frames: Annotated[
        int, typer.Option("--frames", metavar="N", min=0, help="Frames to show pulse by pulse.")
    ] = 1,
    threshold: ThresholdOption = None,
    hysteresis: HysteresisOption = None,
    rate: RateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read a remote control: pulses and spaces, the protocol named and decoded.

    Example: benchvise signal infrared remote.sr
    """
    found = flow.remote(capture, read_options(None, threshold, hysteresis, rate), line, protocol)
    if as_json:
        print_json("signal-infrared", signal_json.remote(found))
        return
    for table in signal_tables.infrared_rows(found, frames):
        stdout().print(rendered(table))
        stdout().print()


@app.command("decode")
def decode(
    capture: CaptureArgument,
    stack: Annotated[
        list[str],
        typer.Option(
            "--decoder",
            "-P",
            metavar="NAME:KEY=VALUE:…",
            help="A decoder as sigrok-cli has it; repeat it to stack another on it.",
        ),
    ],
    annotations: Annotated[
        list[str] | None,
        typer.Option("--annotation", "-A", metavar="DECODER=CLASS", help="Only these."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="At most this many rows.")
    ] = 100,
    threshold: ThresholdOption = None,
    hysteresis: HysteresisOption = None,
    rate: RateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decode any protocol that libsigrokdecode knows, from any kind of capture.

    Example: benchvise signal decode radio.sr -P spi:clk=CLK:mosi=MOSI:miso=MISO:cs=CS -P cc1101
    """
    opened, said = flow.decoded(
        capture, read_options(None, threshold, hysteresis, rate), stack, annotations or []
    )
    if as_json:
        print_json("signal-decode", signal_json.decoded(opened, said))
        return
    stdout().print(rendered(signal_tables.annotation_rows(opened, said, limit)))


app.command("psk")(signal_radio.psk)
app.command("synth")(signal_radio.synth)
app.command("fsk")(signal_radio.fsk)
app.command("serial")(signal_serial.serial)
app.command("capture")(signal_capture.capture)
app.command("analysers")(signal_capture.analysers)
