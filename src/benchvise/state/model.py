"""The words of state: item, knob, entry, snapshot.

Everything here is plain immutable data; nothing here reads a board or writes to one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from benchvise.documents import JsonObject, computed, decode, encode, in_json
from benchvise.text import NO_TEXT, Untrusted

FORMAT = 1
"""Raised when the meaning of a snapshot's fields changes."""


class Family(StrEnum):
    """What an item of state can affect."""

    MEMORY = "MEM"
    CPU = "CPU"
    LATENCY = "LAT"
    NETWORK = "NET"
    STORAGE = "STO"
    SYSTEM = "SYS"
    SERIAL = "SER"
    GRAPHICS = "GFX"
    POWER = "PWR"
    BOOT = "BOOT"


class Flip(StrEnum):
    """How an item can be changed to test whether it is a cause."""

    PROCESS = "P"
    RUN_TIME = "R"
    RISKY = "R!"
    REBOOT = "B"
    REFLASH = "F"
    OBSERVE = "O"


@dataclass(frozen=True, slots=True)
class Read:
    """One place where an item's values come from.

    ``source`` is ``file`` (``path`` is a glob on the board), ``fact`` (``path`` names what
    ``bvprobe facts`` says), ``link`` (``path`` is a glob of symbolic links, whose target's last
    part is the value) or ``command`` (``path`` is a command line without side effects, run where
    the board has the program). ``{root_disk}``, ``{default_nic}`` and other roles in a path stand
    for the board's own device; they are named in ``benchvise.state.roles``. ``normaliser`` names
    the function that makes the text comparable.

    ``key`` is what the value is called within the item; ``{name}`` in it stands for the last part
    of the path, ``{1}``, ``{2}`` … for what the glob's wildcards matched, or the role of the
    device that they matched; of a fact ``{1}`` is its subject. ``only`` and ``drop`` are patterns:
    of a table, just these keys are kept, or all but these. ``limit`` is how many bytes of a file
    are read when that is more than usual. The values of ``volatile`` reads are observations also
    where the rest of the item is a setting. A read of the ``rest`` leaves out the files that other
    items have.
    """

    source: Literal["file", "fact", "link", "command"]
    path: str
    normaliser: str = "text"
    key: str = "{name}"
    only: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    limit: int = 0
    volatile: bool = False
    rest: bool = False


@dataclass(frozen=True, slots=True)
class Knob:
    """A setting that may be written at run time: all that is ever written is listed here.

    ``path`` is a glob, with roles as in ``Read``: each file that it matches is set. ``kind`` says
    how a value is checked before it is written: ``choice`` (of ``choices``, or of what the file
    offers when that is empty), ``integer`` from ``minimum`` to ``maximum``, or ``text`` that
    matches the regular expression ``pattern`` as a whole.

    The kernel may set other knobs anew along with this one: those of the same item, and those
    whose names, with wildcards, are in ``resets``. They are put back too. Whatever else changes
    makes an intervention fail.

    ``empty`` is the word for what is set where a file is empty.

    Of some kinds a board has the files that are in use and no others: services that run, areas of
    swap. ``absent`` is the value that one has which is not among them; it can be asked for by its
    path. Where ``each`` is set, every file is a setting of its own, which has nothing to do with
    the others; without ``absent`` these are the files of a family that both sides have. Files of
    one that is ``fleeting`` come and go by themselves, and are only looked at where they are set.
    """

    name: str
    path: str
    kind: Literal["choice", "integer", "text"]
    summary: str
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = (1 << 63) - 1
    pattern: str = ""
    risky: bool = False
    resets: tuple[str, ...] = ()
    empty: str = ""
    absent: str = ""
    each: bool = False
    fleeting: bool = False

    @property
    def is_family(self) -> bool:
        """Whether it stands for files that are settings of their own, and are always there."""
        return self.each and not self.absent

    @property
    def family_directory(self) -> str:
        """The directory below which its files differ in name, with a slash at its end."""
        return re.split(r"[*?\[{]", self.path, maxsplit=1)[0].rpartition("/")[0] + "/"


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the catalogue. ``number`` is its place there; 0 for those without one.

    ``volatile`` items are evidence and not suspects: they are taken before and after a run and
    used as differences. ``places`` are files and settings that set the item persistently.
    ``restore`` says how a change is undone.
    """

    number: int
    id: str
    title: str
    summary: str
    families: tuple[Family, ...]
    flips: tuple[Flip, ...]
    reads: tuple[Read, ...]
    knobs: tuple[Knob, ...] = ()
    volatile: bool = False
    restore: str = ""
    places: tuple[str, ...] = ()


class Missing(StrEnum):
    """Why an entry has no value: two different things, and both are not "different"."""

    ABSENT = "absent"
    UNREADABLE = "unreadable"


def _has_no_value(entry: StateEntry) -> bool:
    return entry.missing is not None


def _has_a_value(entry: StateEntry) -> bool:
    return entry.missing is None


@dataclass(frozen=True, slots=True)
class StateEntry:
    """One value of a snapshot, or why there is none.

    ``value`` is normalised JSON data; ``raw`` is the text as the board gave it, bounded, kept
    where it differs from the value. ``path`` is where it was read. When ``missing`` is set,
    ``reason`` says why (``ENOENT``, ``EACCES: needs root``, …) and ``value`` is None.
    """

    item: str
    key: str
    path: str = field(default="", kw_only=True)
    value: Any = field(default=None, metadata=in_json(omit_if=_has_no_value))
    raw: str | None = field(default=None, metadata=in_json(omit_default=True))
    missing: Missing | None = field(default=None, metadata=in_json(omit_default=True))
    reason: Untrusted = field(default=NO_TEXT, metadata=in_json(omit_if=_has_a_value))

    @property
    def name(self) -> str:
        """``item/key``: what the entry is matched by across snapshots."""
        return f"{self.item}/{self.key}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All entries of a board at a time.

    ``taken`` is ISO 8601 in UTC by the host's clock. ``settings`` are what the board is set to and
    made of; ``observations`` are the volatile items. ``board_time_ns`` is the board's
    CLOCK_MONOTONIC and ``host_time_ns`` the host's, read together, so that two snapshots tell
    whether the board's clock runs true. ``privilege`` is ``root`` or ``user``. ``roles`` says
    which device has which role there, ``seconds`` how long it took.
    """

    board: str
    taken: str
    boot_id: str
    privilege: str
    board_time_ns: int | None = field(default=None, kw_only=True)
    host_time_ns: int | None = field(default=None, kw_only=True)
    seconds: float = field(default=0.0, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    roles: Mapping[str, str] = field(default_factory=dict, hash=False, kw_only=True)
    settings: tuple[StateEntry, ...]
    observations: tuple[StateEntry, ...]

    @computed.before("board")
    def format(self) -> int:
        """The version of this document."""
        return FORMAT

    @computed.before("notes")
    def digest(self) -> str:
        """SHA-256 over the settings, whatever board and time: equal states have equal digests."""
        content = json.dumps(
            [encode(entry) for entry in self.settings], sort_keys=True, ensure_ascii=False
        )
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def entries(self) -> Iterator[StateEntry]:
        """Settings first, then observations."""
        yield from self.settings
        yield from self.observations


def snapshot_of(document: JsonObject) -> Snapshot:
    """The snapshot of a document; ValueError when it is none, or one of another format."""
    if "format" not in document:
        raise ValueError("no 'format'")
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']} instead of {FORMAT}")
    return decode(Snapshot, document)
