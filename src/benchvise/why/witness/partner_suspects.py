"""Suspects in the programs that a command talks to (``witness.partners``).

A limit of another program's control group, its scheduling, a file that configures it, the libraries
that it runs: what differs there between the sides is a suspect where the command waits for that
program. A limit of a control group is a setting (``cgroup.other_*``). A program reads most of the
rest when it starts, and others talk to it too. So its files are tried with consent, where it is a
service that may be started anew (``service.file``); of all else the answer says where it is set,
and how it is tried by hand.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchvise.errors import UsageError
from benchvise.state.catalogue import knobs
from benchvise.state.knobs import Setting, canonical
from benchvise.state.model import Knob
from benchvise.state.places import may_be_written
from benchvise.text import Untrusted
from benchvise.why.model import (
    NOT_KNOWN,
    SERVICE_FILE_LAYER,
    Layer,
    LayerMeans,
    Origin,
    SettingMeans,
    Side,
    Suspect,
    Term,
)
from benchvise.why.witness.held import held_places, held_suspects
from benchvise.why.witness.layout import DIRECTORY, directory_suspects
from benchvise.why.witness.model import Activity, Partner, SideWatch, Witness
from benchvise.why.witness.opened import (
    NOT_THERE,
    OPENED_FILE,
    identity_points,
    is_data,
    larger_data,
)
from benchvise.why.witness.outdated import outdated_suspects
from benchvise.why.witness.partners import ARGUMENTS
from benchvise.why.witness.polled import polled_places
from benchvise.why.witness.touching import NAME

STATE = "partner.state:"
"""What begins the id of a suspect about a limit or another value of a partner."""

PROGRAM = "partner.program:"
"""What begins the id of a suspect about what a partner runs."""

SERVICE_FILE = "service.file"
"""The setting by which a service is started anew with another file."""

_READS = "{name} reads it when it starts, and others talk to it too: change it there, start it anew"
_READS_ANEW = "{name} reads it when it starts, for which it is started anew: {why}"
_HOLDS = "it holds for {name}, and not for the command: change it there"
_RUNS = "it takes the other side's program: install that, and start it anew"

_OF_PARTNER = "it is data of {name}, which no experiment takes to the other board"
_NO_FILES = ("/dev/", "/proc/", "/sys/")
_MOST_KEPT = 10
_DIGITS = 12
_SHOWN = 3
_AHEAD = 0.5
_LEAST_SHARE = 0.25
_PRIOR = -2.5
_ONE_SIDE = 0.3  # more for a file that one side alone has
_OUTDATED = 1.2  # more for what a program has not read again
_LEADING = 0.8  # of what is known of a script is believed of a file that names it
_OWN_NAME = 0.5  # more for a file that is called as the program is
_BEHIND = 0.5  # less for who is asked by another program
_POINTS = 3.0
_OF_STATE = {
    "limit of open files": -1.0,
    "limit of core file size": -2.0,
    "THP_enabled": -1.0,
    "variable TZ": -0.6,
    "variable HOME": -1.0,
    ARGUMENTS: 0.3,
}
_OF_SHELL = re.compile(
    r"variable (?:PATH|SHELL|CHARSET|TERM|EDITOR|VISUAL|PAGER|LESS|LS_COLORS|PS1|MAIL|"
    r"(?:MAN|INFO)PATH|HIST\w+)$"
)
"""Decide seldom how fast a server is: they are for who types commands. So they are not put before
what was seen to be at work beside the command."""
_OF_LANGUAGE = re.compile(r"variable (?:LC_\w+|LANG|LANGUAGE)$")
"""Decide how it puts texts in order, and seldom more."""
_FOR_LOGINS = re.compile(
    r"/etc/(?:environment$|environment\.d/|profile|bash|security/|default/locale$|login\.defs$)"
)
_STRONG = re.compile(r"cpu\.(?:max|cfs_quota_us)|memory\.(?:high|max|limit)|io\.max|blkio\.|nice")
_OF_OTHERS = (
    *(Activity.RESOLVER, Activity.NETWORK, Activity.PROCESS, Activity.LOCK, Activity.OTHER),
)
_WHILE_POLLING = (Activity.TIMER, Activity.PROCESS)
_VARIABLE = "variable "
_ADDRESSES = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_FEW_VARIABLES = 2
_OF_CALLER = re.compile(r"limit of (?:pending signals|processes)|variable (?:USER|LOGNAME)$")


@dataclass(frozen=True, slots=True)
class ServiceRestarts:
    """Which services run on each side, and why none is started anew with files of the other side;
    empty where that may be tried."""

    running: Mapping[Side, frozenset[str]] = field(default_factory=dict)
    refused: str = ""

    def service_of(self, side: Side, partner: Partner) -> str:
        """The service that a program is: by its name, by its unit, or by the only script that
        starts it; empty where nobody knows."""
        running = self.running.get(side, frozenset())
        called = {name for name in running if _NUMBERED.sub("", name) == partner.name}
        called |= {f"{partner.name}.service"} & running
        started = {path.rpartition("/")[2] for path in partner.files if _STARTS.match(path)}
        services = (called, started & running)
        return next((min(names) for names in services if len(names) == 1), "")


NO_RESTARTS = ServiceRestarts()
"""Where no service is known."""

_NUMBERED = re.compile(r"^S\d\d(?=.)")
_STARTS = re.compile(
    r"/etc/(?:init|rc)\.d/|/(?:etc|run|lib|usr/lib)/systemd/system/[^/]+\.service$"
)


def partner_files(watches: Mapping[Side, SideWatch]) -> tuple[str, ...]:
    """The files of the partners that are compared, each once."""
    partners = [partner for watch in watches.values() for partner in watch.partners]
    named = (
        path
        for partner in partners
        for path in (*partner.files, *partner.program, *partner.directories, *_kept_by(partner))
    )
    return tuple(dict.fromkeys((*named, *(p for of in partners for p in held_places(of)))))


def _kept_by(partner: Partner) -> list[str]:
    """Data that it holds open."""
    held = [path for path in partner.opened if is_data(path) and not path.startswith(_NO_FILES)]
    return held[:_MOST_KEPT]


def partner_suspects(
    watches: Mapping[Side, SideWatch],
    digests: Mapping[Side, Mapping[str, str]],
    others: Sequence[Suspect],
    restarts: ServiceRestarts = NO_RESTARTS,
    may_set: Collection[Side] = (),
) -> tuple[Suspect, ...]:
    """What differs in programs of one name that the command talks to on both sides. ``digests``
    lead from a file to its checksum; files that ``others`` are about are left to these. ``may_set``
    are the sides on which settings can be made."""
    good, bad = ({p.name: p for p in watches[side].partners} for side in (Side.GOOD, Side.BAD))
    polled = set(polled_places(watches[Side.BAD].calls)) if Side.BAD in watches else set()
    for name in bad.keys() - good.keys():
        if polled & set(bad[name].targets) or bad[name].busy:
            # Who has it done at once does not look again and again, and of who is not busy nothing
            # was read: its files are compared.
            good[name] = replace(bad[name], program=())
    taken = {suspect.id for suspect in others}
    suspects: dict[str, Suspect] = {}
    for name in [name for name in bad if name in good]:
        pair = good[name], bad[name]
        of_files = (*_files(*pair, digests, restarts), *_programs(*pair, digests))
        of_directories = _directories(*pair, digests)
        of_held = held_suspects(*pair, digests, partner_term(pair[1], 0.0))
        outdated = outdated_suspects(*pair, digests, partner_term(pair[1], _OUTDATED))
        of_states = _states(*pair, may_set)
        for suspect in (*of_held, *outdated, *of_states, *of_files, *of_directories):
            if suspect.id not in taken:
                suspects.setdefault(suspect.id, suspect)
    return tuple(suspects.values())


def _states(good: Partner, bad: Partner, may_set: Collection[Side]) -> Iterator[Suspect]:
    counts = [sum(key.startswith(_VARIABLE) for key in of.state) for of in (good, bad)]
    is_gone = not min(counts) and max(counts) > _FEW_VARIABLES
    for key in dict.fromkeys((*good.state, *bad.state)):
        if is_gone and key.startswith(_VARIABLE):
            continue  # one has written over what it was given, as programs do to show their state
        values = [side.state.get(key, "none") for side in (good, bad)]
        if values[0] == values[1] or _OF_CALLER.match(key):
            continue
        if key == ARGUMENTS and len({_ADDRESSES.sub("", value) for value in values}) == 1:
            continue  # the board's own address
        kinds = ((_STRONG, 1.0), (_OF_SHELL, -1.0), (_OF_LANGUAGE, -0.3))
        usual = next((points for kind, points in kinds if kind.match(key)), 0.0)
        points = _OF_STATE.get(key, usual)
        means, not_on_good = _of_group(good, bad, key, may_set)
        yield Suspect(
            f"{STATE}{bad.name}:{key}",
            f"{key} of {bad.name}, {bad.role}",
            Layer.RUN_TIME,
            "partner.state",
            good=values[0],
            bad=values[1],
            members=(f"{STATE}{bad.name}:{key}", *bad.files),
            means=means,
            untestable="" if means else _HOLDS.format(name=bad.name),
            not_on_good=not_on_good,
            terms=(partner_term(bad, points),),
        )


def _of_group(
    good: Partner, bad: Partner, key: str, may_set: Collection[Side]
) -> tuple[SettingMeans | None, str]:
    """The means to give a program's control group the limit of the other side, where one file has
    it that may be written, and why the good side cannot be given the bad one."""
    if Side.BAD not in may_set:
        return None, ""
    to_good = _limit(bad, key, good)
    if to_good is None:
        return None, ""
    to_bad = _limit(good, key, bad) if Side.GOOD in may_set else None
    why_not = "" if to_bad else "there is no such group, or it may not be set"
    return SettingMeans((to_good,), (to_bad,) if to_bad else ()), why_not


def _limit(partner: Partner, key: str, other: Partner) -> Setting | None:
    """The other side's limit as a setting for a program's group; None where it cannot be set."""
    path = partner.limited_by.get(key, "")
    knob = next((knob for knob in _limits() if may_be_written(knob.path, path)), None)
    if knob is None:
        return None
    value = other.state.get(key)
    if value is None:
        value = knob.empty or _UNLIMITED.get(key, "")
    try:
        value = canonical(knob, value)
    except UsageError:
        return None
    # Disks have numbers, which mean others on another board.
    return None if knob.empty and value != knob.empty else Setting(knob, value, (path,))


def _limits() -> tuple[Knob, ...]:
    return tuple(knob for name, (_, knob) in knobs().items() if name.startswith("cgroup.other_"))


def _files(
    good: Partner,
    bad: Partner,
    digests: Mapping[Side, Mapping[str, str]],
    restarts: ServiceRestarts,
) -> Iterator[Suspect]:
    service = restarts.service_of(Side.BAD, bad)
    is_tried = service and not restarts.refused
    why_not = _READS.format(name=bad.name)
    if service and restarts.refused:
        why_not = _READS_ANEW.format(name=bad.name, why=restarts.refused)
    on_good = restarts.service_of(Side.GOOD, good) == service
    for path in dict.fromkeys((*good.files, *bad.files, *_kept_by(good), *_kept_by(bad))):
        both = [digests[side].get(path, "") for side in (Side.GOOD, Side.BAD)]
        values = [text.partition(" ")[0] for text in both]
        if values[0] == values[1] or DIRECTORY in values:
            continue
        if is_data(path):
            yield from _grown(path, bad, *both)
            continue
        usual = _of_file(path, bad.name)
        usual += 0.0 if all(values) else _ONE_SIDE
        yield Suspect(
            f"{OPENED_FILE}{path}",
            f"the file {path} of {bad.name}, {bad.role}",
            Layer.USERLAND,
            "userland.file",
            values[0][:_DIGITS] or NOT_THERE,
            values[1][:_DIGITS] or NOT_THERE,
            members=(f"{OPENED_FILE}{path}",),
            means=LayerMeans(SERVICE_FILE_LAYER, f"{service}{path}") if is_tried else None,
            untestable="" if is_tried else why_not,
            not_on_good="" if on_good else f"{service} is none of the services there",
            terms=(partner_term(bad, usual + identity_points(path, *both)),),
        )


def _of_file(path: str, program: str) -> float:
    """A program's own file decides more than one of the whole system, and least of all one for
    logins, which many name and few read."""
    if _FOR_LOGINS.match(path):
        return -0.5
    own = _OWN_NAME if program in path else 0.0
    return own + (0.5 if own or path.startswith("/etc/") else 0.0)


def _grown(path: str, bad: Partner, of_good: str, of_bad: str) -> Iterator[Suspect]:
    """Data of which one side has far more; all else of data differs by itself."""
    if (term := larger_data(of_good, of_bad)) is None:
        return
    good_size, bad_size = (f"{text.partition(' ')[2]} bytes" for text in (of_good, of_bad))
    yield Suspect(
        f"{OPENED_FILE}{path}",
        f"the data in {path} of {bad.name}, {bad.role}",
        Layer.USERLAND,
        "userland.file",
        good_size,
        bad_size,
        members=(f"{OPENED_FILE}{path}",),
        untestable=_OF_PARTNER.format(name=bad.name),
        terms=(term, partner_term(bad, -0.5)),
    )


def _directories(
    good: Partner, bad: Partner, digests: Mapping[Side, Mapping[str, str]]
) -> Iterator[Suspect]:
    """Directories that it names, in which one side has many more files: a spool, sessions."""
    for path in dict.fromkeys((*good.directories, *bad.directories)):
        of_good, of_bad = (digests[side].get(path, "") for side in (Side.GOOD, Side.BAD))
        if of_good.startswith(DIRECTORY) and of_bad.startswith(DIRECTORY):
            who, name = f"{bad.name} names", f"{OPENED_FILE}{path}"
            for suspect in directory_suspects(path, of_good, of_bad, name, who):
                yield replace(suspect, terms=(*suspect.terms, partner_term(bad, 0.5)))


def is_service_file(suspect: Suspect) -> bool:
    """Whether a suspect is flipped by starting a service anew with a file of the other side."""
    return isinstance(suspect.means, LayerMeans) and bool(suspect.means.service)


def _programs(
    good: Partner, bad: Partner, digests: Mapping[Side, Mapping[str, str]]
) -> Iterator[Suspect]:
    """Programs and libraries whose files are not the same, as one suspect."""
    first, second = (digests[side] for side in (Side.GOOD, Side.BAD))
    named = [p for p in dict.fromkeys((*good.program, *bad.program)) if not is_data(p)]
    other = [path for path in named if first.get(path) != second.get(path)]
    if other:
        listed = ", ".join(other[:_SHOWN]) + (" and others" if len(other) > _SHOWN else "")
        values = [listed if any(p in of for p in other) else NOT_THERE for of in (first, second)]
        yield Suspect(
            f"{PROGRAM}{bad.name}",
            f"what {bad.name} runs, {bad.role}",
            Layer.USERLAND,
            "partner.program",
            good=values[0],
            bad=values[1],
            members=tuple(f"{PROGRAM}{path}" for path in other),
            untestable=_RUNS,
            terms=(partner_term(bad, -0.5),),
        )


def partner_term(partner: Partner, points: float) -> Term:
    """What it speaks for that something is about a partner: ``points`` more than usual."""
    if partner.busy:
        reason = f"{partner.name} takes {partner.busy:.1f} CPU beside the command"
        return Term("partner", _PRIOR + points, reason)
    about = ", ".join(partner.targets[:_SHOWN])
    if partner.through:
        about, points = f"way of {partner.through}", points - _BEHIND
    return Term("partner", _PRIOR + points, f"the command talks to {partner.name} by {about}")


# -- how likely ------------------------------------------------------------------------------------


def put_partners_first(
    suspects: Sequence[Suspect], witness: Witness | None, watches: Mapping[Side, SideWatch]
) -> tuple[Suspect, ...]:
    """The suspects in their new order: where the command waits for a program, what differs in that
    program, or whether it runs, comes before all else that cannot be tried."""
    if witness is None or Side.BAD not in watches:
        return tuple(suspects)
    waited = {p.name: _waited(p, watches[Side.BAD], witness) for p in watches[Side.BAD].partners}
    beside = {p.name for p in watches[Side.BAD].partners if p.busy}
    longer = _longer(watches, witness)
    waits = {name: share for name, share in waited.items() if share >= _LEAST_SHARE}
    touching = {
        s: name for s in suspects if not _OF_SHELL.search(s.id) and (name := _partner_of(s, waits))
    }
    if not touching:
        return tuple(suspects)
    untried = [s.log_odds for s in suspects if s.means is None and s not in touching]
    mine = [s.log_odds + _POINTS * waits[name] for s, name in touching.items()]
    runs = {s: longer[path] for s in touching if (path := _path_of(s)) in longer}
    lift = max(0.0, max(untried, default=max(mine)) - max(mine) + _AHEAD)
    scored = []
    for suspect in suspects:
        if name := touching.get(suspect, ""):
            way = "waits beside" if name in beside else "waits for"
            reason = f"the command {way} {name}: {waits[name]:.0%} of the gap"
            points = _POINTS * waits[name] + lift
            term = Term(NAME, points, reason.replace("%", " %"))
            terms = [*suspect.terms, term]
            if share := runs.get(suspect, 0.0):
                reason = f"what {name} runs longer by it is {share:.0%} of the gap"
                terms.append(Term(NAME, _POINTS * share, reason.replace("%", " %")))
            suspect = replace(suspect, terms=tuple(terms))
        scored.append(suspect)
    return tuple(sorted(scored, key=lambda s: (s.means is None, -s.log_odds)))


def _path_of(suspect: Suspect) -> str:
    return suspect.id.removeprefix(OPENED_FILE) if suspect.id.startswith(OPENED_FILE) else ""


def _longer(watches: Mapping[Side, SideWatch], witness: Witness) -> dict[str, float]:
    """The files that helpers of partners run for longer on the bad side, by the share of the gap
    that this is; for a little less those that lead there."""
    gap_s = (witness.bad_s or 0.0) - (witness.good_s or 0.0)
    if gap_s <= 0.0:
        return {}
    times: dict[Side, dict[str, float]] = {
        side: {path: s for partner in watch.partners for path, s in partner.started.items()}
        for side, watch in watches.items()
    }
    before = times.get(Side.GOOD, {})
    shares = {path: (s - before.get(path, 0.0)) / gap_s for path, s in times[Side.BAD].items()}
    longer = {path: min(1.0, share) for path, share in shares.items() if share >= _LEAST_SHARE}
    for partner in watches[Side.BAD].partners:
        most = max((longer[path] for path in partner.started if path in longer), default=0.0)
        for path in partner.leading if most else ():
            longer.setdefault(path, _LEADING * most)
    return longer


def _waited(partner: Partner, watch: SideWatch, witness: Witness) -> float:
    """The share of the gap that the command waits for a partner: in calls about its targets, where
    its waking ended the wait, or asleep between two looks at one of its targets."""
    if partner.busy:
        return min(1.0, sum(p.share for p in witness.parts if p.activity is Activity.RUNNABLE))
    is_polled = bool(set(partner.targets) & set(polled_places(watch.calls)))
    by_name = {
        (part.call, part.program)
        for part in watch.spent
        if part.by.removeprefix("task:").rpartition("-")[0] == partner.name[:15]
        or part.by == f"task:{partner.name[:15]}"
    }
    return min(
        1.0,
        sum(
            part.share
            for part in witness.parts
            if part.share > 0.0
            and (
                (is_polled and part.activity in _WHILE_POLLING)
                or (
                    part.activity in _OF_OTHERS
                    and (
                        any(_is_about(part.target, target) for target in partner.targets)
                        or (part.call, part.program) in by_name
                    )
                )
            )
        ),
    )


def _is_about(targets: str, target: str) -> bool:
    """Whether what a part of the gap is about, one place or several, or a directory with a slash at
    its end, is or holds a target."""
    return target in targets.split(", ") or (targets.endswith("/") and target.startswith(targets))


def _partner_of(suspect: Suspect, waits: Mapping[str, float]) -> str:
    """The name of the program that a suspect is about and that the command waits for."""
    about = {term.reason.partition(" talks to ")[2].partition(" by ")[0] for term in suspect.terms}
    about |= {t.reason.partition(" takes ")[0] for t in suspect.terms if t.name == "partner"}
    running = {member.rpartition(" ")[2] for member in suspect.members if " " in member}
    return next((name for name in waits if name in about or name in running), "")


# -- where it is set -------------------------------------------------------------------------------

_CALLED = {
    "cpu.max": ("cpu.cfs_quota_us", "CPUQuota"),
    "cpu.cfs_quota_us": ("cpu.max", "CPUQuota"),
    "cpu.shares": ("cpu.weight", "CPUWeight", "CPUShares"),
    "cpu.weight": ("cpu.shares", "CPUWeight"),
    "memory.high": ("MemoryHigh",),
    "Seccomp": ("SystemCallFilter",),
    "profile": ("AppArmorProfile", "SELinuxContext"),
    "memory.max": ("memory.limit_in_bytes", "MemoryMax"),
    "memory.limit_in_bytes": ("memory.max", "MemoryMax", "MemoryLimit"),
    "memory.soft_limit_in_bytes": ("memory.high", "MemoryHigh", "MemorySoftLimit"),
    "pids.max": ("TasksMax", "pids-limit"),
    **{
        f"blkio.throttle.{way}_{amount}_device": (
            f"{way[0]}{amount}=",
            f"IO{way.title()}{of_systemd}",
            f"device-{way}-{amount}",
            f"device_{way}_{amount}",
        )
        for way in ("read", "write")
        for amount, of_systemd in (("bps", "BandwidthMax"), ("iops", "IOPSMax"))
    },
    "io.max": (
        *("rbps=", "wbps=", "riops=", "wiops=", "IOReadBandwidthMax", "IOWriteBandwidthMax"),
        *("IOReadIOPSMax", "IOWriteIOPSMax", "blkio.throttle."),
    ),
    "nice": ("Nice", "renice"),
    "scheduling": ("CPUSchedulingPolicy", "chrt"),
    "CPUs": ("CPUAffinity", "AllowedCPUs", "taskset", "cpuset.cpus"),
    "limit of open files": ("LimitNOFILE", "nofile", "ulimit -n"),
    "limit of locked memory": ("LimitMEMLOCK", "memlock", "ulimit -l"),
    "limit of stack size": ("LimitSTACK", "ulimit -s"),
    "limit of msgqueue size": ("LimitMSGQUEUE", "msgqueue", "ulimit -q"),
}


def origins_of_state(
    side: Side, suspect: Suspect, contents: Mapping[str, bytes | None]
) -> tuple[Origin, ...]:
    """The first line of the partner's files that names the value; not certain, as what reads these
    is not known. ``contents`` are the texts of the suspect's files on that side."""
    key = suspect.id.rpartition(":")[2]
    value = suspect.good if side is Side.GOOD else suspect.bad
    if value in ("none", NOT_KNOWN):
        return ()
    names = (key.removeprefix("variable "), *_CALLED.get(key, ()))
    if key == ARGUMENTS:
        other = (suspect.bad if side is Side.GOOD else suspect.good).split()
        names = tuple(w for w in value.split() if w not in other and len(w) > 1) or (value,)
    for path, data in contents.items():
        lines = (data or b"").decode("utf-8", "replace").splitlines()
        for number, line in enumerate(lines, 1):
            if any(name in line for name in names) and not line.lstrip().startswith(("#", ";")):
                note = Untrusted("what reads this file is not known")
                text = Untrusted(line.strip()[:300])
                return (
                    Origin(
                        side, "a line that names it", Untrusted(path), number, text,
                        certain=False, note=note,
                    ),
                )  # fmt: skip
    return ()


_UNLIMITED = {
    **dict.fromkeys(("cpu.max", "cpu.uclamp.max", "pids.max"), "max"),
    **dict.fromkeys(("memory.high", "memory.max", "memory.swap.max"), "max"),
    **dict.fromkeys(("memory.limit_in_bytes", "memory.soft_limit_in_bytes"), "-1"),
    "cpu.cfs_quota_us": "-1",
    "cpu.weight": "100",
    "cpu.shares": "1024",
}
_GROUP_VALUE = re.compile(r"(?:max|-?\d{1,20})(?: \d{1,7})?")
_PRLIMIT = {
    "open files": "nofile",
    "processes": "nproc",
    "locked memory": "memlock",
    "stack size": "stack",
    "core file size": "core",
    "file size": "fsize",
    "data size": "data",
    "address space": "as",
    "cpu time": "cpu",
    "realtime priority": "rtprio",
    "realtime timeout": "rttime",
    "nice priority": "nice",
    "resident set": "rss",
    "msgqueue size": "msgqueue",
}
_LIMIT_VALUE = re.compile(r"\d{1,20}|unlimited")
_CPU_LIST = re.compile(r"\d{1,4}(?:[-,]\d{1,4}){0,30}")
_NICE = re.compile(r"-?\d{1,2}")
_PLAIN_PATH = re.compile(r"/sys/fs/cgroup/[\w./@-]{1,300}", re.ASCII)
_PLAIN_NAME = re.compile(r"[\w.-]{1,60}", re.ASCII)


def state_as_on_good(suspect: Suspect, partners: Sequence[Partner]) -> str:
    """The line of shell that gives a program the good side's limit, priority or CPUs until it is
    started anew; empty where that takes more than a line, or for others."""
    if not suspect.id.startswith(STATE):
        return ""
    name, _, key = suspect.id.removeprefix(STATE).partition(":")
    path = next((p.limited_by.get(key, "") for p in partners if p.name == name), "")
    value = _UNLIMITED.get(key, "") if suspect.good == "none" else suspect.good
    if _PLAIN_PATH.fullmatch(path) and _GROUP_VALUE.fullmatch(value):
        return f"echo {value} > {path}"
    if key in ("Seccomp", "profile"):
        files = next((p.files for p in partners if p.name == name), ())
        return _without_filter(key, suspect, files)
    change = ""
    limit = _PRLIMIT.get(key.removeprefix("limit of "), "")
    if limit and _LIMIT_VALUE.fullmatch(value):
        change = f"prlimit --{limit}={value} --pid $p"
    elif key == "CPUs" and _CPU_LIST.fullmatch(value):
        change = f"taskset -acp {value} $p"
    elif key == "nice" and _NICE.fullmatch(value):
        change = f"renice -n {value} -p $p"
    if not change or not _PLAIN_NAME.fullmatch(name):
        return ""
    return f"for p in $(pgrep -f '(^|/){name}( |$)'); do {change}; done"


_UNIT = re.compile(r"/(?:etc|run|lib|usr/lib)/systemd/system/([\w.@-]{1,80}\.service)", re.ASCII)
_APPARMOR = re.compile(r"([\w./-]{1,200}) \(enforce\)", re.ASCII)
_SELINUX = re.compile(r"\w+:\w+:(\w{1,60}):[\w:.,]+", re.ASCII)
_NO_FILTER = "0"


def _without_filter(key: str, suspect: Suspect, files: Sequence[str]) -> str:
    """The line that starts a service anew without a filter of its system calls, or has the profile
    by which it is confined complain and no more, as the good side does not confine it so:
    systemd.exec(5), aa-complain(8), semanage-permissive(8)."""
    if key == "Seccomp":
        unit = next((match[1] for path in files if (match := _UNIT.fullmatch(path))), "")
        if not unit or suspect.good != _NO_FILTER:
            return ""
        place = f"/run/systemd/system/{unit}.d"
        text = "'[Service]\\nSystemCallFilter=\\n'"
        return (
            f"mkdir -p {place} && printf {text} > {place}/no-filter.conf "
            f"&& systemctl daemon-reload && systemctl restart {unit}"
        )
    if profile := _APPARMOR.fullmatch(suspect.bad):
        return f"aa-complain {profile[1]}"
    domain = _SELINUX.fullmatch(suspect.bad)
    return f"semanage permissive -a {domain[1]}" if domain else ""


def state_files(suspect: Suspect) -> tuple[str, ...]:
    """The files of the partner that such a suspect is about."""
    return tuple(member for member in suspect.members if member.startswith("/"))
