"""What a command did on one side, and what of it differs between two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from benchvise.documents import in_json


class Activity(StrEnum):
    """What a command's time goes to."""

    USER = "CPU time"
    SYSTEM_CALLS = "CPU time in system calls"
    PAGE_FAULTS = "CPU time in page faults"
    INTERRUPTS = "interrupts"
    RUNNABLE = "waiting for a CPU"
    DISK = "waiting for a disk"
    NETWORK = "waiting for the network"
    RESOLVER = "waiting for a name server"
    LOCK = "waiting for a lock"
    TIMER = "waiting for a timer"
    PROCESS = "waiting for another process"
    OTHER = "waiting"
    UNSEEN = "not seen"


# -- one side --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpentTime:
    """A part of the time that a command took, by the way from its begin to its end.

    ``how`` is ``user``, ``kernel``, ``interrupts``, ``runnable``, ``waiting``, or ``unseen`` where
    events are missing; ``call`` the system call that it was in, ``program`` the name of the
    process, ``by`` who ended the waiting.
    """

    how: str
    call: str
    program: str
    by: str
    seconds: float


@dataclass(frozen=True, slots=True)
class CallsAbout:
    """The system calls of one name about one thing: a path, an address, empty for none. ``errno``
    is the error of most that failed."""

    name: str
    target: str
    count: int
    errors: int
    seconds: float
    longest_s: float
    errno: int = 0


@dataclass(frozen=True, slots=True)
class ProcessConfinement:
    """What processes of the command may not do: values of ``/proc/PID/status`` by their names, and
    the ``profile`` of a security module. ``program`` is the first that had these."""

    program: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NeighbourActivity:
    """What the processes of one program did beside the command: how often they went to sleep and
    woke again, what memory they have in MB, how many locks of files they hold, how many they are,
    how many CPUs they and their children took, and how many descriptors of files and sockets they
    have (0: nobody knows)."""

    name: str
    wakes_per_s: float
    resident_mb: float
    locks: int
    processes: int = 1
    cpus: float = 0.0
    descriptors: int = 0


@dataclass(frozen=True, slots=True)
class Partner:
    """A program on the board that the command talks to, or that is busy beside it.

    ``targets`` are the paths and addresses by which it does. ``state`` are limits of its control
    groups (``cpu.max``), of its process, its scheduling and variables, each by its name. ``files``
    may configure it, ``program`` is what it runs (itself and its libraries), ``opened`` are the
    files that it holds open, ``directories`` those that it names, in which it may keep files.
    ``started`` are the programs and files that the words of its helpers named, which it started
    while the command ran, with the seconds for which these ran; ``leading`` are those of ``files``
    that name these, or a module that does. ``limited_by`` are the files of control groups by what
    they limit, where one group alone does so, or by what the innermost one could. ``through`` is
    the program that asks it, where the command does not do so itself. ``busy`` are the CPUs that
    one took which the command does not talk to. ``held`` are files and directories, each with the
    part of the time (0 to 1) in which it had that, or anything below it, open for the command.
    ``running_since`` is when it was started, in seconds since 1970; 0 where nobody knows.
    """

    name: str
    targets: tuple[str, ...] = ()
    state: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    through: str = ""
    started: Mapping[str, float] = field(default_factory=dict)
    leading: tuple[str, ...] = ()
    limited_by: Mapping[str, str] = field(default_factory=dict)
    busy: float = 0.0
    held: Mapping[str, float] = field(default_factory=dict)
    running_since: float = 0.0

    @property
    def role(self) -> str:
        """What it has to do with the command."""
        return "which is busy beside the command" if self.busy else "which the command talks to"


@dataclass(frozen=True, slots=True)
class DatabaseSchema:
    """What a database holds beside its rows: tables, indices, constraints, settings.

    ``kind`` is the product, ``name`` the file, or what the server calls it. ``partner`` is the
    program that keeps it, empty where the command opens the file itself. ``entries`` are what it
    holds, each by its kind and name (``index a_by_b on a``) with its definition or value. ``tool``
    is the line of shell that takes statements, empty where nobody knows one.
    """

    kind: str
    name: str
    partner: str = ""
    entries: Mapping[str, str] = field(default_factory=dict)
    tool: str = ""


@dataclass(frozen=True, slots=True)
class SideWatch:
    """What was seen of a command on one side.

    ``seconds`` and ``spent`` are of the run that was recorded, ``followed_s`` and ``calls`` of the
    one whose system calls were followed, which makes each call longer; None and empty where that
    was not possible, for the reason in ``missing``, by means. ``counts`` are of either.
    ``trace`` is the file of the recording, empty where it was not kept. ``cost_s`` is what all of
    it took. ``remarks`` must be known with it. ``neighbours`` are the other programs, ``partners``
    those of them that the command talks to. ``names`` are those in the command and its scripts,
    ``databases`` those that it or a partner opens, ``confinements`` what its processes had.
    ``is_cut`` is whether there were more calls than are told: those of places that are gone through
    by thousands.
    """

    seconds: float | None = None
    spent: tuple[SpentTime, ...] = ()
    followed_s: float | None = None
    calls: tuple[CallsAbout, ...] = ()
    counts: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    trace: str = ""
    cost_s: float = 0.0
    neighbours: tuple[NeighbourActivity, ...] = ()
    partners: tuple[Partner, ...] = ()
    names: tuple[str, ...] = ()
    databases: tuple[DatabaseSchema, ...] = ()
    confinements: tuple[ProcessConfinement, ...] = ()
    is_cut: bool = False


# -- both sides ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WitnessPart:
    """A part of the gap by what the command did in it."""

    activity: Activity
    """What the time goes to."""
    call: str
    """The system call, where it is one."""
    target: str
    """What most of these calls were about: a path, an address."""
    program: str
    """The process."""
    good_s: float = field(metadata=in_json(digits=6))
    """Its time on the good side, in seconds."""
    bad_s: float = field(metadata=in_json(digits=6))
    """Its time on the bad side."""
    share: float = field(metadata=in_json(digits=4))
    """Their difference as a part of that of the whole command: 0.97 is 97 %."""
    text: str
    """The part in words."""


@dataclass(frozen=True, slots=True)
class WitnessCall:
    """A system call whose number or time differs between the sides."""

    name: str
    """The system call."""
    target: str
    """What it is about, empty for nothing that has a name."""
    good: int
    """How often on the good side."""
    bad: int
    """How often on the bad side."""
    good_s: float = field(metadata=in_json(digits=6))
    """From entry to return, in seconds; while it is followed, each takes longer."""
    bad_s: float = field(metadata=in_json(digits=6))
    """The same on the bad side."""

    @property
    def is_much_more(self) -> bool:
        """Whether the bad side does it far more often."""
        return self.bad >= _MANY and self.bad > _TIMES * self.good


_MANY = 100
_TIMES = 10


@dataclass(frozen=True, slots=True)
class WitnessFailure:
    """System calls that fail on the bad side only, or far more often there."""

    name: str
    """The system call."""
    target: str
    """What it is about: of many files their directory, with a slash at its end; empty for none."""
    error: str
    """With what most of them fail: ``ENOENT``."""
    good: int
    """How many fail on the good side."""
    bad: int
    """How many on the bad side."""
    is_granted: bool
    """Whether the same succeeds on the good side."""


@dataclass(frozen=True, slots=True)
class WitnessCount:
    """Something else that was counted, and differs."""

    name: str
    """The counter."""
    summary: str
    """What it counts."""
    good: float
    """On the good side."""
    bad: float
    """On the bad side."""


@dataclass(frozen=True, slots=True)
class WitnessGap:
    """Something that could not be watched."""

    side: str
    """On which side."""
    means: str
    """What was to be used."""
    reason: str
    """Why that was not possible."""


@dataclass(frozen=True, slots=True)
class Witness:
    """What the command does differently on the bad side than on the good one."""

    sentence: str
    """The answer in one sentence."""
    good_s: float | None
    """How long the command took on the good side while it was watched; null where unknown."""
    bad_s: float | None
    """The same on the bad side."""
    parts: tuple[WitnessPart, ...] = ()
    """Where the difference in time lies, the largest part first."""
    calls: tuple[WitnessCall, ...] = ()
    """System calls that differ in number or time."""
    good_files: tuple[str, ...] = ()
    """Files that were opened or executed on the good side only."""
    bad_files: tuple[str, ...] = ()
    """Files that were opened or executed on the bad side only."""
    failing: tuple[str, ...] = ()
    """System calls that fail on the bad side only, or far more often there."""
    failures: tuple[WitnessFailure, ...] = ()
    """With what calls fail on the bad side only, and what they are about."""
    counts: tuple[WitnessCount, ...] = ()
    """What else was counted and differs."""
    missing: tuple[WitnessGap, ...] = ()
    """What could not be watched, and why."""
    remarks: tuple[str, ...] = ()
    """What must be known with it."""
    good_trace: str = ""
    """The recording of the good side: the name of a file beside the evidence; empty for none."""
    bad_trace: str = ""
    """That of the bad side."""
    seconds: float = field(default=0.0, metadata=in_json(digits=3))
    """What watching took."""
    is_doubtful: bool = False
    """Whether the command did not show the gap while it was watched."""
