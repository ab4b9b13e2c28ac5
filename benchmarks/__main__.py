"""``make bench``: ours and the reference tools in turn, goals of our own, and a summary.

The exit status is 0 where all claims and goals hold, 1 where one does not, 3 where none fails but
one is undecided: a busy machine, or too few rounds. What cannot be run here is named with its
reason.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys

from benchmarks import (
    levels,
    pairs_cpu,
    pairs_flash,
    pairs_host,
    pairs_lmbench,
    pairs_memory,
    pairs_net,
    pairs_os,
    pairs_pipe,
    pairs_record,
    pairs_signal,
    pairs_storage,
    pairs_timer,
    pairs_trace,
    timeline,
)
from benchmarks.pairs import PROBE, Pair, pairs, probe_median
from benchmarks.rounds import LEAST_ROUNDS, measure, ratio, value_sheet, work_sheet
from benchmarks.sheets import Report, Sheet

FAMILIES = {
    "perf": pairs,
    "cpu": pairs_cpu.pairs,
    "lmbench": pairs_lmbench.pairs,
    "triad": pairs_memory.pairs,
    "pipe": pairs_pipe.pairs,
    "host": pairs_host.pairs,
    "net": pairs_net.pairs,
    "timer": pairs_timer.pairs,
    "os": pairs_os.pairs,
    "storage": pairs_storage.pairs,
    "flash": pairs_flash.pairs,
    "record": pairs_record.pairs,
    "trace": pairs_trace.pairs,
    "answers": pairs_trace.answers,
    "signal": pairs_signal.pairs,
}
"""Where pairs come from: one module a family, each with a function `pairs`."""


def units() -> dict[str, str]:
    """The unit of each benchmark of the probe."""
    said = subprocess.run([PROBE, "list"], capture_output=True, text=True, check=True).stdout
    (listed,) = (json.loads(line) for line in said.splitlines() if '"benchmarks"' in line)
    return {str(item["id"]): str(item["unit"]) for item in listed["benchmarks"]}


def overstatement(rounds: int) -> Sheet:
    """What an unwritten source does to a copy, by size."""
    sheet = Sheet(
        "A source that was never written (not a bandwidth)",
        ("size", "written GB/s", "unwritten GB/s", "overstated", "95 %"),
    )
    for size in ("1M", "16M", "64M", "256M"):
        written: list[float] = []
        untouched: list[float] = []
        for _ in range(rounds):
            for values, source in ((written, "random"), (untouched, "untouched")):
                copy = ("memory.libc_copy", "--size", size, "--source", source, "--batches", "12")
                values.append(probe_median(copy))
        times, interval = ratio(untouched, written)
        sheet.rows.append(
            (
                size,
                f"{statistics.median(written) / 1e9:.1f}",
                f"{statistics.median(untouched) / 1e9:.1f}",
                f"{times:.2f} x",
                f"{interval.low:.2f} … {interval.high:.2f}",
            )
        )
    return sheet


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--rounds", type=int, default=15, help=f"rounds of each pair (15; {LEAST_ROUNDS} decide)"
    )
    parser.add_argument(
        "--minutes", type=float, default=10, help="start no further round of pairs after these (10)"
    )
    parser.add_argument("--markdown", action="store_true", help="print Markdown for a page")
    parser.add_argument("--list", action="store_true", help="list the pairs, measure nothing")
    parser.add_argument(
        "--family",
        action="append",
        default=[],
        choices=(*FAMILIES, "timeline"),
        help="only this family; may be given several times",
    )
    parser.add_argument("only", nargs="*", help="parts of the names of pairs: these alone")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds: at least 2, as a spread takes two readings")
    return options


def chosen_pairs(options: argparse.Namespace, report: Report) -> list[Pair]:
    """The pairs that can be run here and are asked for; the report gets what cannot."""
    chosen: list[Pair] = []
    for family, source in FAMILIES.items():
        if options.family and family not in options.family:
            continue
        found, left_out = source()
        chosen += [pair for pair in found if is_wanted(pair, options)]
        for reason in left_out:
            report.leave_out(reason)
    return chosen


def is_wanted(pair: Pair, options: argparse.Namespace) -> bool:
    """Whether its name has one of the parts that were asked for."""
    return not options.only or any(part in pair.name for part in options.only)


def further_sheets(options: argparse.Namespace, chosen: list[Pair], report: Report) -> None:
    """Goals of our own that no reference tool has, beside the pairs that were chosen."""
    rounds = min(options.rounds, 3)
    if pairs_flash.verifications:
        report.show(pairs_flash.verification())
    if any(pair.name.startswith(("trace.dat", "CTF")) for pair in chosen):
        report.show(pairs_trace.costs(rounds))
        report.show(levels.costs(rounds))
    if any(pair.name.startswith("signal") for pair in chosen):
        report.show(pairs_signal.table(rounds))
    whole = not (options.only or options.family)
    if whole or "timeline" in (*options.only, *options.family):
        reason = timeline.missing()
        if reason:
            report.leave_out(reason)
        else:
            report.show(timeline.table(rounds))
    if whole:
        report.show(overstatement(5))


def main() -> int:
    options = arguments()
    # Servers and namespaces of the scenes are taken down also when this process is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    report = Report(options.markdown)
    chosen = chosen_pairs(options, report)
    if options.list:
        for pair in chosen:
            print(f"{pair.name}  ({pair.claim})")
        for reason in report.missing:
            print(f"not available: {reason}")
        return 0
    measured = measure(chosen, options.rounds, options.minutes)
    report.show(value_sheet(measured, units()))
    report.show(work_sheet(measured))
    further_sheets(options, chosen, report)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
