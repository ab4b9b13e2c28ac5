"""The published score: what each run of the bench gave, as JSON, and the page made of that.

``docs/reference/diagnosis-score.md`` is written here and nowhere else. A run is kept with its date,
commit, seeds and machine, so that it can be made again; what was not run says why.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.why import report
from benchmarks.why.open import case as cases
from benchmarks.why.open import table as case_table
from benchmarks.why.open.result import EQUAL, CaseResult
from benchmarks.why.score import Result
from benchvise.documents import decode, encode

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "diagnosis-score.md"
RUNS = Path(__file__).parent / "scores"
INTERVALS = ("gap", "share", "rest")

GROUPS = {
    "simulated": (
        "Simulated boards",
        "Who changes the diagnosis sees these scenarios: expect it to do better here than on what "
        "it has never met.",
    ),
    "held-out": (
        "Simulated boards, held out",
        "Seeds from 900000 on, which no run, test or change has seen before, and classes of causes "
        "that were written when the diagnosis was finished, after public reports of slow boards: "
        "*supply limit*, *interrupts on the CPU*, *another memcpy*, *mitigations*, *leak scanner*. "
        "Who wrote them had read the diagnosis, and chose them by the reports. Run once; these are "
        "the results of that run, whatever they are.",
    ),
    "real": (
        "Causes planted on a real system",
        "Settings and neighbours that slow this machine down, effect and noise floor measured "
        "before `why` is asked.",
    ),
    "virtual": (
        "Causes planted in images",
        "Kernels, libraries, command lines and start scripts on boards that QEMU simulates.",
    ),
    "open": (
        "Causes as integrators meet them",
        "Each from a public report, planted by scripts that share nothing with the diagnosis "
        "(`benchmarks/why/open`), on boards in namespaces or simulated by QEMU, among ten real "
        "differences between two distributions. The effect is measured beforehand and decides "
        "whether a case counts.",
    ),
    "open-under-load": (
        "Causes as integrators meet them, on a busy machine",
        "Cases of every class that boards in namespaces have, drawn at random, while busy "
        "processes of normal priority share the CPUs with both boards. The load counts all that "
        "this machine runs, also at idle priority. The effect is measured before, without "
        "these processes. Not to know the cause is no error here; to blame or exclude a "
        "wrong one is, and so is to deny a gap that the answer's own interval does not allow.",
    ),
    "open-equal": (
        "Equal sides",
        "The same boards, decoys and commands with nothing planted.",
    ),
    "open-killed": (
        "Diagnoses that are killed",
        "Each is ended by SIGKILL or SIGINT (Ctrl-C) at a random moment of its first minute, "
        "or within 0.4 seconds after it has set something. Then `benchvise restore` is called, and "
        "both boards are held against what they were.",
    ),
    "open-held-out": (
        "Causes as integrators meet them, held out",
        "A third of the same cases, drawn before any was run. Run once; these are the results of "
        "that run, whatever they are. Since then they are cases like the others.",
    ),
    "open-held-out-second": (
        "Causes as integrators meet them, second set held out",
        "Written after public reports by somebody who had not read the diagnosis, when the first "
        "set had been run. Run once; these are the results of that run, whatever they are. Since "
        "then they are cases like the others.",
    ),
    "open-held-out-third": (
        "Causes as integrators meet them, third set held out",
        "Written in the same way when the second set had been run. Run once; these are the results "
        "of that run, whatever they are. Since then they are cases like the others.",
    ),
    "open-held-out-fourth": (
        "Causes as integrators meet them, fourth set held out",
        "Written in the same way when the third set had been run. Run once; these are the results "
        "of that run, whatever they are. Since then they are cases like the others.",
    ),
    "open-held-out-fifth": (
        "Causes as integrators meet them, fifth set held out",
        "Written in the same way when the fourth set had been run. Run once; these are the results "
        "of that run, whatever they are. Since then they are cases like the others.",
    ),
    "open-held-out-sixth": (
        "Causes as integrators meet them, sixth set held out",
        "Written in the same way when the fifth set had been run. Run once; these are the results "
        "of that run, whatever they are. Since then they are cases like the others.",
    ),
    "open-held-out-seventh": (
        "Causes as integrators meet them, seventh set held out",
        "Written in the same way when the sixth set had been run. Run once; these are the results "
        "of that run, whatever they are. Since then they are cases like the others.",
    ),
    "open-held-out-eighth": (
        "Causes as integrators meet them, eighth set held out",
        "Written in the same way when the seventh set had been run. Each case was run once: 15 of "
        "them first (commit 75bc0643), the other 13 after what those had missed was mended. "
        "Changes between these 13 are of other parts.",
    ),
    "open-held-out-ninth": (
        "Causes as integrators meet them, ninth set held out",
        "Written in the same way when the eighth set had been run. Run once; these are the results "
        "of that run, whatever they are. Since then they are cases like the others.",
    ),
    "open-held-out-tenth": (
        "Causes as integrators meet them, tenth set held out",
        "Written in the same way when the ninth set had been run. Run once, each cause once; two "
        "were asked about first (commit 691b4751), then the run was stopped, and changes of other "
        "parts and of the diagnosis came between, by somebody who had seen one command and one "
        "file's name of these two. These are the results, whatever they are. Since then they are "
        "cases like the others.",
    ),
    "open-held-out-eleventh": (
        "Causes as integrators meet them, eleventh set held out",
        "Written in the same way when the tenth set had been run. Each cause was asked about once, "
        "by one commit, with nothing beside. Of the 20 of 36 that came first the rows were lost "
        "with their machine before they were published; what was noted of them is that all 20 were "
        "named first, 10 of them proven, none wrongly, none excluded, all restored, in medians of "
        "0.6 minutes and 3 experiments. The table has the other 16. Since then they are cases like "
        "the others.",
    ),
    "open-held-out-twelfth": (
        "Causes as integrators meet them, twelfth set held out",
        "Written in the same way when the eleventh set had been run. Run once; these are the "
        "results of that run, whatever they are. Since then they are cases like the others.",
    ),
}
"""The groups of runs by the name of their file, with title and explanation."""

UNSEEN = "open-held-out-twelfth"
"""The group of the set that is held out now."""

NO_SET = (
    "There is none at present: every set that was written has been run, and whoever changes the "
    "diagnosis may read it. How well it does on causes that it has never met is what the sets "
    "above gave in their one run; what it gives since then takes a new set."
)
"""What the page says of :data:`UNSEEN` where no case is held out."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the bench ran on."""

    cpu: str
    cpus: int
    kernel: str
    virtualised: bool


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of the stated intervals hold the truth."""

    what: str
    held: int
    stated: int


@dataclass(frozen=True, slots=True)
class ClassScore:
    """The score of one class; ``counted`` had something that must be found."""

    name: str
    plants: int
    counted: int
    hits: int
    misses: int
    false: int
    right: int
    restored: int
    experiments: float | None
    coverage: tuple[Coverage, ...]


@dataclass(frozen=True, slots=True)
class BarScore:
    """A bar as it came out; ``held`` is None where nothing was seen."""

    name: str
    wanted: str
    seen: str
    held: bool | None


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """One run of a group. ``not_run`` says why there are no results, where there are none;
    ``cases`` are those of the open bench, one by one, of so many that are ``known``."""

    date: str
    not_run: str = ""
    commit: str = ""
    seeds: str = ""
    first_seed: int = 0
    machine: Machine | None = None
    minutes: float = 0.0
    classes: tuple[ClassScore, ...] = ()
    bars: tuple[BarScore, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    known: int = 0


# -- from results to scores -----------------------------------------------------------------------


def summarised(
    results: Sequence[Result], seeds: range | None = None, *, commit: str = ""
) -> PublishedRun:
    """The score of results, with what they were made by; simulated boards have ``seeds``."""
    kinds = dict.fromkeys(result.kind for result in results)
    bars = report.bars(results, report.HITS if seeds else report.REAL_HITS)
    return PublishedRun(
        date=today(),
        commit=commit,
        seeds=f"seeds {seeds.start} to {seeds.stop - 1}" if seeds else "no seeds",
        first_seed=seeds.start if seeds else 0,
        machine=machine(),
        minutes=round(sum(result.seconds for result in results) / 60, 1),
        classes=tuple(_class(kind, [r for r in results if r.kind == kind]) for kind in kinds),
        bars=tuple(BarScore(bar.name, bar.wanted, bar.seen, bar.held) for bar in bars),
    )


def not_run(reason: str) -> PublishedRun:
    """A run that there is not."""
    return PublishedRun(date=today(), not_run=reason)


def _class(name: str, results: Sequence[Result]) -> ClassScore:
    counted = [r for r in results if r.hit is not None and not r.left_out]
    hits = sum(bool(r.hit) for r in counted)
    ended = [r.experiments for r in results if r.ended]
    intervals = [interval for r in results for interval in r.intervals]
    return ClassScore(
        name=name,
        plants=len(results),
        counted=len(counted),
        hits=hits,
        misses=len(counted) - hits,
        false=sum(r.false > 0 for r in results),
        right=sum(r.is_right for r in results),
        restored=sum(r.is_restored for r in results),
        experiments=statistics.median(ended) if ended else None,
        coverage=tuple(
            Coverage(
                what,
                sum(i.side == "in" for i in intervals if i.what == what),
                sum(i.what == what for i in intervals),
            )
            for what in INTERVALS
        ),
    )


def machine() -> Machine:
    """This one."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    lines = [line.partition(":") for line in cpuinfo.splitlines()]
    models = [value.strip() for key, _, value in lines if key.strip() in ("model name", "Model")]
    return Machine(
        cpu=models[0] if models else platform.machine(),
        cpus=os.cpu_count() or 1,
        kernel=platform.release(),
        virtualised=" hypervisor" in cpuinfo,
    )


def today() -> str:
    """The date, in UTC."""
    return datetime.now(UTC).date().isoformat()


def commit() -> str:
    """The commit of this program, with a mark where files were changed since."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


# -- files -----------------------------------------------------------------------------------------


def save(group: str, run: PublishedRun) -> None:
    """Keeps a run as the one of its group, and writes the page anew."""
    RUNS.mkdir(exist_ok=True)
    (RUNS / f"{group}.json").write_text(json.dumps(encode(run), indent=1) + "\n")
    PAGE.write_text(page(load()))


def load() -> dict[str, PublishedRun]:
    """The runs by group."""
    return {
        group: decode(PublishedRun, json.loads((RUNS / f"{group}.json").read_text()))
        for group in GROUPS
    }


# -- the page --------------------------------------------------------------------------------------

COLUMNS = {
    "class": "what is planted",
    "plants": "scenarios, or causes planted on a system",
    "counted": "those with a cause that must be found: beyond three noise floors, and possible to "
    "set",
    "hits": "of the counted: the largest cause is named first",
    "misses": "of the counted: anything else, also no answer",
    "false": "diagnoses that name as a cause what is none",
    "right": "diagnoses with the right verdict",
    "restored": "diagnoses after which every setting is as before",
    "experiments": "median number of experiments",
    "gap": "stated 95 % intervals of the gap that hold the true value, of all",
    "share": "the same for the share of each cause",
    "rest": "the same for what no cause accounts for",
}
"""The columns of the tables, with their meaning."""

BEFORE = (
    "Before 2026-11-23 the bench gave 42 hits of 42 on 60 simulated boards (seeds from 1), no "
    "false attribution, 94.8 % of 58 intervals of the gap and 95.8 % of 48 of the share holding "
    "the truth. That bench had neither chance from boot to boot nor costs that add up in time, "
    "took every verdict in the class *small* for right, and had no held-out seeds. On the first "
    "boards with costs that add up in time the diagnosis of that day named two causes as one that "
    "only works together in 12 of 20 cases. What was changed in the bench and its scoring is "
    "listed in `benchmarks/why/CHANGES.md`."
)
"""The score before this page, in a sentence or two."""


def page(runs: dict[str, PublishedRun]) -> str:
    """The page, in Markdown."""
    return "\n".join(_lines(runs)) + "\n"


def _lines(runs: dict[str, PublishedRun]) -> Iterator[str]:
    yield "# Score of the diagnosis"
    yield ""
    yield (
        "How often [`benchvise why`](../how-to/why.md) finds a cause that was planted, how often "
        "it names a wrong one, and how often its intervals hold the true value. `make score` "
        "measures this and writes the page. A bar that is not held is a defect that is known."
    )
    yield ""
    yield from _table(("column", "meaning"), COLUMNS.items())
    for group, (title, explanation) in GROUPS.items():
        yield ""
        yield f"## {title}"
        yield ""
        if group == UNSEEN and not cases.held_out():
            yield NO_SET
            continue
        yield explanation
        yield ""
        yield from _run(runs[group])
    yield ""
    yield "## Before"
    yield ""
    yield BEFORE


def _run(run: PublishedRun) -> Iterator[str]:
    if run.not_run or run.machine is None:
        yield f"Not run on {run.date}: {run.not_run}."
        return
    made_on = run.machine
    kind = "a virtual machine" if made_on.virtualised else "not virtualised"
    yield (
        f"{run.date}, commit {run.commit}, {run.seeds}. {made_on.cpu}, {made_on.cpus} CPUs, kernel "
        f"{made_on.kernel}, {kind}; {run.minutes:g} minutes, those of all diagnoses added up."
    )
    yield ""
    yield from _table(tuple(COLUMNS), [_row(score) for score in (*run.classes, _all(run.classes))])
    yield ""
    words = {None: "—", True: "yes", False: "**no**"}
    yield from _table(
        ("bar", "wanted", "seen", "held"),
        [(bar.name, bar.wanted, bar.seen or "not seen", words[bar.held]) for bar in run.bars],
    )
    if run.cases:
        yield ""
        yield _extent(run)
        yield ""
        yield from _table(case_table.HEADINGS, map(_case, run.cases))


def _extent(run: PublishedRun) -> str:
    """How many of the known cases these are, and how busy the machine was."""
    planted = sum(result.kind != EQUAL for result in run.cases)
    part = "All" if planted == run.known else "Only a part, as far as there was time:"
    extent = f"{part} {planted} of {run.known} cases were run."
    if not planted:
        extent = f"{len(run.cases)} diagnoses."
    loads = [result.load for result in run.cases if result.load is not None]
    if loads:
        extent += f" The machine's load was {min(loads):g} to {max(loads):g} while `why` was asked."
    if any(result.busy for result in run.cases):
        numbers = sorted({result.busy for result in run.cases if result.verdict})
        extent += f" Busy processes that the bench ran meanwhile: {', '.join(map(str, numbers))}."
    return extent


def _case(result: CaseResult) -> tuple[str, ...]:
    name, *cells = (cell.replace("|", "\\|") for cell in case_table.row(result))
    return (f"[{name}]({result.report})", *cells)


def _row(score: ClassScore) -> tuple[str, ...]:
    covered = [f"{c.held}/{c.stated}" if c.stated else "—" for c in score.coverage]
    numbers = (
        *(score.plants, score.counted, score.hits, score.misses, score.false, score.right),
        score.restored,
    )
    experiments = "—" if score.experiments is None else f"{score.experiments:g}"
    return (score.name, *map(str, numbers), experiments, *covered)


def _all(scores: Sequence[ClassScore]) -> ClassScore:
    return ClassScore(
        name="**all**",
        plants=sum(s.plants for s in scores),
        counted=sum(s.counted for s in scores),
        hits=sum(s.hits for s in scores),
        misses=sum(s.misses for s in scores),
        false=sum(s.false for s in scores),
        right=sum(s.right for s in scores),
        restored=sum(s.restored for s in scores),
        experiments=None,
        coverage=tuple(
            Coverage(
                what,
                sum(c.held for s in scores for c in s.coverage if c.what == what),
                sum(c.stated for s in scores for c in s.coverage if c.what == what),
            )
            for what in INTERVALS
        ),
    )


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heading)} |"
    yield "|" + "---|" * len(heading)
    for row in rows:
        yield f"| {' | '.join(row)} |"
