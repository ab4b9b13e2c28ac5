"""What a command does differently on the bad side than on the good one.

The difference in time is split by what the command did in it. Where the kernel was recorded, that
is the way through its processes, of which following them tells what each call was about; else it
is the time in the calls that were followed, and the CPU time of the trials.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from benchvise.quantities import format_value
from benchvise.why.explain.counters import COUNTERS, OF_THE_SYSTEM
from benchvise.why.witness.failures import as_sentence, failures
from benchvise.why.witness.kinds import CHILDREN, FILE_CALLS, waited_for
from benchvise.why.witness.model import (
    Activity,
    CallsAbout,
    SideWatch,
    SpentTime,
    Witness,
    WitnessCall,
    WitnessCount,
    WitnessGap,
    WitnessPart,
)

LEAST_SHARE = 0.1
"""Of the difference in time: smaller parts are not told."""

_MOST_PARTS = 6
_MOST_CALLS = 12
_MOST_FILES = 20
_MOST_COUNTS = 12
_NAMED_FILES = 3
_SHOWN = 0.5  # of the measured gap or of its logarithm: so much a run that was watched has to show
_LITTLE = 0.2  # of the time of a call
_APART = 0.1  # of the good side's time
_RATIO = 1.5
_FEW_CALLS = 20
_MOVED_S = 0.001
_MOVED = 0.1  # of the difference in time: calls that take less of it are not listed
_MUCH_LONGER = 3.0
_ORDINARY_LOAD = 0.3  # waiting for a CPU to having one
_LEAST_CPU_S = 1e-4
_WHOLE = 1.05  # of the difference in time: parts that are more together have shorter ones beside


@dataclass(frozen=True, slots=True)
class MeasuredTimes:
    """What trials tell: the wall time of a run on either side, in seconds, where that is the metric
    (None otherwise), and the medians of what was counted. ``apart`` are the counters whose trials
    tell the sides apart, None where that is not known."""

    good_s: float | None
    bad_s: float | None
    good: Mapping[str, float]
    bad: Mapping[str, float]
    apart: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class _Key:
    how: str
    call: str
    program: str


def compare(good: SideWatch, bad: SideWatch, measured: MeasuredTimes) -> Witness:
    """What differs between the two, with the answer in a sentence."""
    good_s, bad_s = _times(good, bad, measured)
    files = _comparable(good, bad, (_files(good.calls), _files(bad.calls)))
    bad_files = _only(files[1], files[0], _own_programs(bad.calls))
    good_files = _only(files[0], files[1], _own_programs(good.calls))
    doubt = _doubt(good_s, bad_s, measured, good, bad)
    least_s = max(_MOVED_S, _MOVED * abs((bad_s or 0.0) - (good_s or 0.0)))
    calls = tuple(_calls(good.calls, bad.calls, least_s))[:_MOST_CALLS]
    parts: tuple[WitnessPart, ...] = ()
    if not doubt and good_s is not None and bad_s is not None:
        parts = tuple(_parts(good, bad, bad_s - good_s, measured))[:_MOST_PARTS]
    failing = tuple(_failing(good.calls, bad.calls))[:_MOST_CALLS]
    failed = failures(good.calls, bad.calls, lambda target: _OF_A_RUN.sub("#", target))
    return Witness(
        sentence=(doubt or _sentence(parts))
        + _many(calls, parts)
        + _opened(good_files, bad_files)
        + (as_sentence(failed) or _refused(failing)),
        good_s=good_s,
        bad_s=bad_s,
        parts=parts,
        calls=calls,
        good_files=tuple(good_files[:_MOST_FILES]),
        bad_files=tuple(bad_files[:_MOST_FILES]),
        failing=failing,
        failures=failed,
        counts=tuple(_counts(good, bad, measured, good_s, bad_s))[:_MOST_COUNTS],
        missing=tuple(
            WitnessGap(side, means, reason)
            for side, seen in (("good", good), ("bad", bad))
            for means, reason in seen.missing.items()
        ),
        remarks=tuple(
            f"{side} side: {remark}"
            for side, seen in (("good", good), ("bad", bad))
            for remark in seen.remarks
        ),
        good_trace=PurePath(good.trace).name,
        bad_trace=PurePath(bad.trace).name,
        seconds=round(good.cost_s + bad.cost_s, 3),
        is_doubtful=bool(doubt) and good_s is not None,
    )


def _times(
    good: SideWatch, bad: SideWatch, measured: MeasuredTimes
) -> tuple[float | None, float | None]:
    """How long the command took on both sides, by the same means."""
    if good.seconds is not None and bad.seconds is not None:
        return good.seconds, bad.seconds
    if good.followed_s is None or bad.followed_s is None:
        return None, None
    if measured.good_s is not None and measured.bad_s is not None:
        return measured.good_s, measured.bad_s
    return good.followed_s, bad.followed_s


def _doubt(
    good_s: float | None,
    bad_s: float | None,
    measured: MeasuredTimes,
    good: SideWatch,
    bad: SideWatch,
) -> str:
    """Why nothing can be told of the gap; empty where something can."""
    if good_s is None or bad_s is None:
        reasons = [*good.missing.values(), *bad.missing.values()]
        return f"The command could not be watched on both sides: {reasons[0] if reasons else ''}"
    took = f"{format_value(good_s, 's')} on good, {format_value(bad_s, 's')} on bad"
    if measured.good_s is not None and measured.bad_s is not None:
        gap = measured.bad_s - measured.good_s
        ratio = math.log(measured.bad_s / measured.good_s)
        seen = max((bad_s - good_s) / gap, math.log(bad_s / good_s) / ratio) if gap > 0 else 0.0
        if seen < _SHOWN:
            return f"While it was watched, the command did not show the gap: {took}"
    if bad_s - good_s < _APART * good_s:
        return f"The command takes as long on both sides, or longer on good: {took}"
    return ""


# -- parts of the gap ------------------------------------------------------------------------------


def _parts(
    good: SideWatch, bad: SideWatch, gap_s: float, measured: MeasuredTimes
) -> Iterator[WitnessPart]:
    """The largest first; what is less on the bad side, or too little, is left out."""
    is_recorded = good.seconds is not None and bad.seconds is not None
    if is_recorded:
        before, after = _with_load_shared(_recorded(good), _recorded(bad), measured)
    else:
        before, after = _followed(good, measured.good), _followed(bad, measured.bad)
    by = {_key(part): part.by for part in (*good.spent, *bad.spent) if part.by}
    faults = _is_of_faults(before, after, measured) if is_recorded else False
    described = [
        _part(key, by.get(key, ""), before.get(key, 0.0), after[key], gap_s, good, bad, faults)
        for key in after
    ]
    large = [part for part in described if part.share >= LEAST_SHARE]
    return iter(sorted(large, key=lambda part: -part.share))


def _recorded(side: SideWatch) -> dict[_Key, float]:
    times: defaultdict[_Key, float] = defaultdict(float)
    for part in side.spent:
        times[_key(part)] += part.seconds
    return times


def _key(part: SpentTime) -> _Key:
    """What is added up: CPU time by the program, waiting whoever does it."""
    return _Key(part.how, part.call, part.program if part.how in ("user", "kernel") else "")


_RUNNABLE = _Key("runnable", "", "")
_ON_CPU = ("user", "kernel")


def _with_load_shared(
    good: Mapping[_Key, float], bad: Mapping[_Key, float], measured: MeasuredTimes
) -> tuple[dict[_Key, float], dict[_Key, float]]:
    """The times, with waiting for a CPU counted to what it was wanted for.

    Where others keep the CPUs busy on both sides, whoever computes longer waits longer. Only where
    the bad side waits much longer for the same work, or by the trials computes no longer, is that a
    part of its own.
    """
    ratios = [side.get(_RUNNABLE, 0.0) / max(_on_cpu(side), _LEAST_CPU_S) for side in (good, bad)]
    is_much = ratios[1] > _MUCH_LONGER * max(ratios[0], _ORDINARY_LOAD)
    if is_much or (ratios[1] > ratios[0] and _computes_as_long(measured)):
        return dict(good), dict(bad)
    return _shared(good), _shared(bad)


def _computes_as_long(measured: MeasuredTimes) -> bool:
    """Whether the trials' CPU time is far from longer by as much as their time is."""
    if measured.good_s is None or measured.bad_s is None or measured.bad_s <= measured.good_s:
        return False
    cpu = [
        sum(counted.get(name, 0.0) for name in ("user_ns", "sys_ns"))
        for counted in (measured.good, measured.bad)
    ]
    if not all(cpu):
        return False
    return math.log(cpu[1] / cpu[0]) < _SHOWN * math.log(measured.bad_s / measured.good_s)


def _on_cpu(side: Mapping[_Key, float]) -> float:
    return sum(time for key, time in side.items() if key.how in _ON_CPU)


def _shared(side: Mapping[_Key, float]) -> dict[_Key, float]:
    computed, waited = _on_cpu(side), side.get(_RUNNABLE, 0.0)
    if not computed:
        return dict(side)
    return {
        key: time * (1.0 + waited / computed) if key.how in _ON_CPU else time
        for key, time in side.items()
        if key != _RUNNABLE
    }


def _followed(side: SideWatch, counted: Mapping[str, float]) -> dict[_Key, float]:
    """What is in calls beyond what a call takes by being followed, and the trials' CPU time."""
    times: defaultdict[_Key, float] = defaultdict(float)
    means = [call.seconds / call.count for call in side.calls if call.count >= _FEW_CALLS]
    overhead = min(means, default=0.0)
    for call in side.calls:
        if call.name not in CHILDREN:
            beyond = max(0.0, call.seconds - overhead * call.count)
            times[_Key("waiting", call.name, "")] += beyond
    times[_Key("user", "", "")] = counted.get("user_ns", 0.0) / 1e9
    times[_Key("kernel", "", "")] = counted.get("sys_ns", 0.0) / 1e9
    return times


def _is_of_faults(
    before: Mapping[_Key, float], after: Mapping[_Key, float], measured: MeasuredTimes
) -> bool:
    """Whether CPU time outside of calls is the kernel's: then it is in page faults."""

    def more(how: str) -> float:
        return sum(t for k, t in after.items() if k.how == how) - sum(
            t for k, t in before.items() if k.how == how
        )

    system = (measured.bad.get("sys_ns", 0.0) - measured.good.get("sys_ns", 0.0)) / 1e9
    outside = more("user")
    faults = [side.get("faults_minor", 0.0) for side in (measured.good, measured.bad)]
    return outside > 0 and system - more("kernel") > outside / 2 and faults[1] > _RATIO * faults[0]


def _part(
    key: _Key,
    by: str,
    good_s: float,
    bad_s: float,
    gap_s: float,
    good: SideWatch,
    bad: SideWatch,
    faults: bool,
) -> WitnessPart:
    longest, target = _target(key.call, good.calls, bad.calls) if key.call else ("", "")
    activity = _activity(key, longest, by, faults=faults)
    return WitnessPart(
        activity=activity,
        call=key.call,
        target=target,
        program=key.program,
        good_s=good_s,
        bad_s=bad_s,
        share=(bad_s - good_s) / gap_s,
        text=_text(activity, key, target, good, bad),
    )


def _activity(key: _Key, target: str, by: str, *, faults: bool) -> Activity:
    match key.how:
        case "user":
            return Activity.PAGE_FAULTS if faults else Activity.USER
        case "kernel":
            return Activity.SYSTEM_CALLS
        case "interrupts":
            return Activity.INTERRUPTS
        case "runnable":
            return Activity.RUNNABLE
        case "unseen":
            return Activity.UNSEEN
        case _:
            return waited_for(key.call, target, by)


def _target(call: str, good: Sequence[CallsAbout], bad: Sequence[CallsAbout]) -> tuple[str, str]:
    """What the calls of a name were about in which most of the bad side's time more was: the one
    with the most of it, and what is to be named.

    That is a directory, with a slash at its end, where the time is spread over files below it, and
    their number where they have no directory in common.
    """
    more: defaultdict[str, float] = defaultdict(float)
    for calls, sign in ((good, -1), (bad, 1)):
        for about in calls:
            if about.name == call:
                more[about.target] += sign * about.seconds
    whole = sum(about.seconds for about in bad if about.name == call)
    if sum(time for time in more.values() if time > 0) < _LITTLE * whole:
        # While it was followed, it did not differ.
        more = defaultdict(float)
        for about in bad:
            more[about.target] += about.seconds if about.name == call else 0.0
    best = max(more, key=lambda target: more[target], default="")
    longer = {target: time for target, time in more.items() if time > 0}
    if more and more[best] < sum(longer.values()) / 2:
        paths = [target for target in longer if target.startswith("/")]
        below = os.path.commonpath(paths) if len(paths) > 1 else "/"
        kind = "files" if len(paths) == len(longer) else "targets"
        return best, f"{below}/" if below != "/" else f"{len(longer)} {kind}"
    return best, best


_JOINED = {
    Activity.RESOLVER: "to",
    Activity.NETWORK: "to",
    Activity.DISK: "of",
    Activity.LOCK: "of",
}
_NAMES = {
    Activity.RESOLVER: "name server",
    Activity.NETWORK: "network",
    Activity.DISK: "disk",
    Activity.LOCK: "lock",
    Activity.TIMER: "timer",
    Activity.PROCESS: "another process",
}


def _text(activity: Activity, key: _Key, target: str, good: SideWatch, bad: SideWatch) -> str:
    """``waiting in connect to 192.0.2.53:53: name server``."""
    of = f" of {key.program}" if key.program else ""
    match activity:
        case Activity.USER | Activity.PAGE_FAULTS:
            return f"{activity}{of}" + ("" if key.program else " in user space")
        case Activity.SYSTEM_CALLS:
            if not key.call:
                return "CPU time in the kernel"
            counts = [sum(c.count for c in s.calls if c.name == key.call) for s in (good, bad)]
            times = f" ({counts[1]} calls against {counts[0]})" if any(counts) else ""
            return f"CPU time{of} in {key.call}{times}"
        case Activity.RUNNABLE | Activity.INTERRUPTS:
            return f"{activity}{of}"
        case Activity.UNSEEN:
            return "not known, as events of the trace are missing"
    what = f"waiting in {key.call}" if key.call else "waiting outside of system calls"
    files = "files below " if target.endswith("/") else ""
    about = f" {_JOINED.get(activity, 'on')} {files}{target.rstrip('/')}" if target else ""
    name = _NAMES.get(activity, "")
    return f"{what}{about}{f': {name}' if name else ''}"


def _sentence(parts: Sequence[WitnessPart]) -> str:
    """``97 % of the gap is waiting in connect to 192.0.2.53:53: name server.``

    Where parts are longer by more than the whole command is, others are shorter: then the shares
    are of what takes longer, and not of the gap.
    """
    longer = sum(part.share for part in parts)
    is_more = longer > _WHOLE
    shares = [part.share / longer if is_more else min(part.share, 1.0) for part in parts[:3]]
    texts = [f"{s:.0%}".replace("%", " % ") + p.text for s, p in zip(shares, parts, strict=False)]
    if not texts:
        return "The difference in time is spread over many small parts"
    whole = "what takes longer on bad" if is_more else "the gap"
    texts[0] = texts[0].replace(" % ", f" % of {whole} is ", 1)
    return ", ".join(texts)


def _many(calls: Sequence[WitnessCall], parts: Sequence[WitnessPart]) -> str:
    """``; newfstatat of /etc/localtime 231778 times on bad, 0 on good``: what is done many times
    more on bad, and is in no part that is told."""
    told_calls = {part.call for part in parts}
    many = [call for call in calls if call.is_much_more and call.name not in told_calls]
    if not many:
        return ""
    call = max(many, key=lambda call: call.bad)
    about = f" of {call.target}" if call.target else ""
    return f"; {call.name}{about} {call.bad} times on bad, {call.good} on good"


def _opened(good_files: Sequence[str], bad_files: Sequence[str]) -> str:
    """``; only bad opens /usr/lib/shim.so``."""
    sentences = []
    for side, files in (("bad", bad_files), ("good", good_files)):
        if files:
            more = len(files) - _NAMED_FILES
            rest = f" and {more} more" if more > 0 else ""
            sentences.append(f"only {side} opens {', '.join(files[:_NAMED_FILES])}{rest}")
    return "".join(f"; {text}" for text in sentences)


def _refused(failing: Sequence[str]) -> str:
    """``; mq_open fails on bad only``."""
    if not failing:
        return ""
    verb = "fails" if len(failing) == 1 else "fail"
    return f"; {', '.join(failing[:_NAMED_FILES])} {verb} on bad only"


# -- calls, files and counts -----------------------------------------------------------------------


def _calls(
    good: Sequence[CallsAbout], bad: Sequence[CallsAbout], least_s: float
) -> Iterator[WitnessCall]:
    """Calls of another number, or longer on the bad side by ``least_s``, by name and target: those
    with the largest difference in time first."""
    sides = [{(c.name, c.target): c for c in calls} for calls in (good, bad)]
    none = CallsAbout("", "", 0, 0, 0.0, 0.0)
    rows = []
    for name, target in dict.fromkeys([*sides[1], *sides[0]]):
        before, after = (side.get((name, target), none) for side in sides)
        counts = sorted((before.count, after.count))
        is_number = counts[1] >= _FEW_CALLS and counts[1] > _RATIO * counts[0]
        times = sorted((before.seconds, after.seconds))
        is_time = after.seconds - before.seconds > least_s and times[1] > _RATIO * times[0]
        if (is_number or is_time) and name not in CHILDREN:
            rows.append(
                WitnessCall(name, target, before.count, after.count, before.seconds, after.seconds)
            )
    return iter(sorted(rows, key=lambda row: -abs(row.bad_s - row.good_s)))


# Fail wherever a name is looked for, or where nothing is there yet.
_FAIL_USUALLY = re.compile(
    r"open(?:at2?)?|l?stat(?:64)?|statx|statfs(?:64)?|fstatat64|newfstatat|f?access(?:at2?)?|"
    r"readlink(?:at)?|l?getxattr|execve(?:at)?|unlink(?:at)?|mkdir(?:at)?|chdir|ioctl|lseek|read|"
    r"recv\w*|send\w*|p?writev?\d*|accept4?|connect|futex\w*|wait\w*|rt_sig\w*|pause|kill|"
    r"epoll_p?wait\w*|p?poll\w*|p?select\w*|(?:clock_)?nanosleep\w*|restart_syscall"
)
_RATIO_OF_FAILURES = 4


def _failing(good: Sequence[CallsAbout], bad: Sequence[CallsAbout]) -> Iterator[str]:
    """What the good side is granted and the bad one is refused."""
    counts, errors = ([Counter[str](), Counter[str]()] for _ in range(2))
    for side, calls in enumerate((good, bad)):
        for call in calls:
            counts[side][call.name] += call.count
            errors[side][call.name] += call.errors
    for name, failed in errors[1].most_common():
        is_refused = failed > 0 and counts[0][name] > errors[0][name]
        is_usual = _FAIL_USUALLY.fullmatch(name) or failed <= _RATIO_OF_FAILURES * errors[0][name]
        if is_refused and not is_usual:
            yield name


_OF_A_RUN = re.compile(
    r"(?<=/)[0-9a-f]{2}/[0-9a-f]{30,62}\b|(?<![0-9A-Za-z])[0-9a-f]{16,64}(?![0-9A-Za-z])|"
    r"\d+|(?<=[./_-])(?![a-z]+$|[A-Z]+$|[A-Z][a-z]+$)[A-Za-z0-9]{6,10}$"
)
"""Numbers, what mktemp(3) makes, and names made of a checksum: what differs in them differs in
every run, or with all that is kept so. A word is none of these."""

_OF_SYSTEM = re.compile(r"/(?:etc|usr|lib\w*|s?bin|boot)/")
"""Where no run leaves files: what differs in names there is chosen, also 50-local and 60-other."""

_WRITTEN_ASIDE = re.compile(r"(?<=\.)\d{5,}$")  # and renamed: compiled files of Python

_MADE_UP = ("/proc/", "/sys/", "/dev/", "pipe:", "socket:")
_LIBRARY = re.compile(r"\.so(\.[0-9.]+)?$")


def call_targets(watches: Iterable[SideWatch]) -> frozenset[str]:
    """What the system calls of these runs were about: paths, sockets, addresses."""
    targets = (target for w in watches for call in w.calls for target in call.target.split(", "))
    return frozenset(target for target in targets if target)


def opened_in(calls: Iterable[CallsAbout]) -> tuple[str, ...]:
    """The files that were opened or executed."""
    return tuple(_files(calls).values())


def _files(calls: Iterable[CallsAbout]) -> dict[str, str]:
    """The files that were opened or executed, by their names without what is new in each run."""
    files: dict[str, str] = {}
    for call in calls:
        is_file = FILE_CALLS.fullmatch(call.name) and call.count > call.errors
        if is_file and call.target and not call.target.startswith(_MADE_UP):
            target = call.target
            files.setdefault(_without_run(target), target)
    return files


def _without_run(path: str) -> str:
    """A path without what is new in each run."""
    if _LIBRARY.search(path):
        return path
    return (_WRITTEN_ASIDE if _OF_SYSTEM.match(path) else _OF_A_RUN).sub("#", path)


def place_of(path: str) -> str:
    """The first two directories of a path: places that are gone through by thousands are one."""
    return "/".join(path.split("/")[:-1][:3])


def _comparable(
    good: SideWatch, bad: SideWatch, files: tuple[dict[str, str], dict[str, str]]
) -> tuple[dict[str, str], dict[str, str]]:
    """The files of both sides; where not all are told, without those of places that have so many
    that it is their lines which are missing: what is told of these on one side alone is chance."""
    if not (good.is_cut or bad.is_cut):
        return files
    sizes = [Counter(map(place_of, of_side.values())) for of_side in files]
    crowded = {place for size in sizes for place, count in size.items() if count > _CROWD}
    of_good, of_bad = (
        {name: path for name, path in of_side.items() if place_of(path) not in crowded}
        for of_side in files
    )
    return of_good, of_bad


_CROWD = 100


def _only(
    files: Mapping[str, str], other: Mapping[str, str], programs: Collection[str]
) -> list[str]:
    """Those of one side alone: what is executed there first, for it opens the rest; of that what
    lies where no shell looks for programs. Then libraries, then what others may know too; at the
    end what the C library opens by the locale, which both sides may have."""
    return sorted(
        (file for name, file in files.items() if name not in other),
        key=lambda file: (
            file not in programs,
            "/bin/" not in file,
            not _LIBRARY.search(file),
            bool(_OF_LOCALE.search(file)),
            file,
        ),
    )


_OF_LOCALE = re.compile(r"/(?:locale|gconv|i18n|zoneinfo)/")


def _own_programs(calls: Iterable[CallsAbout]) -> frozenset[str]:
    """What was executed outside of the directories of programs: hooks, helpers, scripts."""
    executed = (c.target for c in calls if c.name.startswith("execve") and c.count > c.errors)
    return frozenset(path for path in executed if not _OF_SHELLS.match(path))


_OF_SHELLS = re.compile(r"/(?:usr/(?:local/)?)?s?bin/")


_OWN_COUNTS = {
    "processes": "processes and threads of the command",
    "system_calls": "system calls of the command",
    "bytes_read": "bytes that the command had read from devices",
    "bytes_written": "bytes that the command wrote",
}


BY_TIME = OF_THE_SYSTEM | {"switches_forced", "cpu_migrations", "wait_ns", "steal_ticks"}
"""What goes on by itself: whoever takes twice as long counts twice as much of it."""


def _counts(
    good: SideWatch,
    bad: SideWatch,
    measured: MeasuredTimes,
    good_s: float | None,
    bad_s: float | None,
) -> Iterator[WitnessCount]:
    """What was counted in the trials, the command's own first, then what was while the command was
    watched.

    Left out are counters whose trials overlap, and those that differ no more than the time does.
    """
    longer = max(good_s, bad_s) / min(good_s, bad_s) if good_s and bad_s else 1.0
    rows = []
    for name in measured.good.keys() & measured.bad.keys() & COUNTERS.keys():
        if measured.apart is not None and name not in measured.apart:
            continue
        low, high = sorted((measured.good[name], measured.bad[name]))
        counter = COUNTERS[name]
        usual = longer * _RATIO if name in BY_TIME else 1.0
        # What is below the least is taken for none, but may be as much as that.
        if high > (1 + 2 * counter.margin) * usual * max(counter.least, low):
            ratio = (high + 1) / (low + 1) / usual
            row = WitnessCount(name, counter.summary, measured.good[name], measured.bad[name])
            rows.append((name in OF_THE_SYSTEM, -ratio, name, row))
    yield from (row for *_, row in sorted(rows, key=lambda row: row[:3]))
    for name, summary in _OWN_COUNTS.items():
        before, after = good.counts.get(name), bad.counts.get(name)
        if before is not None and after is not None:
            low, high = sorted((before, after))
            if high > _RATIO * low:
                yield WitnessCount(name, summary, before, after)
