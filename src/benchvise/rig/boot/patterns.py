"""Patterns of a console's text: the records of ``phases.toml`` and of users' files.

A user's file has the same form: that of a rig, and those which are added (``extensions``). A record
whose ``id`` is known replaces that record; with an empty ``match`` it takes it away. Records are
asked in the order of the files: the rig's, the added ones, ours.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path

from benchvise.documents import JsonObject, text_at
from benchvise.errors import UsageError
from benchvise.extensions import BOOT_PATTERNS, Extension, load_extensions, usable
from benchvise.rig.faults import Fault

PHASES = (
    "power-on",
    "first-byte",
    "spl",
    "bootloader",
    "kernel",
    "init",
    "login",
    "shell",
    "network",
)
"""The phases of a boot in their order."""

SEEN_PHASES = PHASES[2:8]
"""Those that a console shows; of the others the host knows."""

_FILE_LIMIT = 1 << 20
_RECORD_LIMIT = 2000
_KEYS = {
    "id": str,
    "match": str,
    "name": str,
    "phase": str,
    "prompt": str,
    "fault": str,
    "says": str,
    "certain": bool,
    "banner": bool,
}


class Prompt(StrEnum):
    """Who waits for input when a prompt stands at the end of what a board says."""

    BOOTLOADER = "bootloader"
    INITRAMFS = "initramfs"
    EMERGENCY = "emergency"
    LOGIN = "login"
    PASSWORD = "password"  # noqa: S105 - the kind of a prompt
    ACTIVATE = "activate"
    SHELL = "shell"

    @property
    def is_good(self) -> bool:
        """Whether a board that stands there has booted."""
        return self in (Prompt.LOGIN, Prompt.ACTIVATE, Prompt.SHELL)


@dataclass(frozen=True, slots=True)
class BootPattern:
    """A line, or the beginning of one, that means something.

    ``phase`` is the phase that has begun. With ``prompt``, it is matched with the beginning of a
    line that is not at its end. ``fault`` is what is wrong, in the words of ``says``; unless it is
    ``certain`` only when nothing better follows. A ``banner`` is said once in each boot: if it
    comes again, the board has started over.
    """

    id: str
    regex: re.Pattern[str]
    name: str
    phase: str | None = None
    prompt: Prompt | None = None
    fault: Fault | None = None
    says: str = ""
    certain: bool = False
    banner: bool = False


@dataclass(frozen=True, slots=True)
class BootPatterns:
    """Prompts and all other patterns, and the phrases that a sound console shows unharmed."""

    prompts: tuple[BootPattern, ...]
    others: tuple[BootPattern, ...]
    phrases: tuple[str, ...]

    @classmethod
    def of(cls, patterns: Iterable[BootPattern], phrases: Iterable[str]) -> BootPatterns:
        """These patterns, in this order."""
        ordered = list(patterns)
        prompts = (pattern for pattern in ordered if pattern.prompt is not None)
        others = (pattern for pattern in ordered if pattern.prompt is None)
        return cls(tuple(prompts), tuple(others), tuple(phrases))

    @property
    def all(self) -> tuple[BootPattern, ...]:
        """Every pattern."""
        return (*self.prompts, *self.others)


@dataclass(frozen=True, slots=True)
class PatternFile:
    """What a file has."""

    patterns: tuple[BootPattern, ...]
    phrases: tuple[str, ...]


@cache
def own_patterns() -> BootPatterns:
    """Those that come with Benchvise."""
    text = files(__package__).joinpath("phases.toml").read_text(encoding="utf-8")
    shipped = _parse(text, "phases.toml")
    return BootPatterns.of(shipped.patterns, shipped.phrases)


@cache
def added_patterns() -> tuple[Extension[PatternFile], ...]:
    """What users added; a file that is not right says why."""
    return load_extensions(
        BOOT_PATTERNS,
        lambda source: (_parse(source.text(), source.name),),
        lambda file: (pattern.id for pattern in file.patterns),
    )


def load_patterns(path: str | Path | None = None) -> BootPatterns:
    """Those that come with Benchvise, with the records of users' files added or put in place.

    ``path`` is the file that a rig names. Raises UsageError, which names the file and the record,
    when that cannot be used; an added one that cannot is left out.
    """
    own = own_patterns()
    added = [*usable(added_patterns())]
    users = added if path is None else [_of_rig(path), *added]
    if not users:
        return own
    by_id: dict[str, BootPattern] = {}
    for file in users:
        for pattern in file.patterns:
            by_id.setdefault(pattern.id, pattern)
    kept = [pattern for pattern in own.all if pattern.id not in by_id]
    wanted = [pattern for pattern in by_id.values() if pattern.regex.pattern]
    phrases = [phrase for file in users for phrase in file.phrases]
    return BootPatterns.of([*wanted, *kept], [*phrases, *own.phrases])


def _of_rig(path: str | Path) -> PatternFile:
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(_FILE_LIMIT + 1)
    except OSError as error:
        raise UsageError(
            f"cannot read the boot patterns '{name}' ({error.strerror})",
            "name a TOML file, or leave the option 'boot_patterns' out of the rig file",
        ) from error
    if len(data) > _FILE_LIMIT:
        raise UsageError(
            f"the boot patterns '{name}' have more than {_FILE_LIMIT >> 20} MiB",
            "keep only records that are needed",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"the boot patterns '{name}' are not UTF-8", "save them so") from error
    return _parse(text, name)


def _parse(text: str, name: str) -> PatternFile:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: not TOML ({error})", "correct that line") from error
    unknown = set(data) - {"pattern", "phrases"}
    records = data.get("pattern", [])
    phrases = data.get("phrases", [])
    if unknown or not _are(records, dict) or not _are(phrases, str):
        raise UsageError(
            f"{name}: only [[pattern]] records and a list of 'phrases' may be in it",
            "see the page about boot patterns in the documentation",
        )
    if len(records) > _RECORD_LIMIT:
        raise UsageError(f"{name}: more than {_RECORD_LIMIT} records", "keep those needed")
    patterns = [_pattern(record, name) for record in records]
    seen: set[str] = set()
    for pattern in patterns:
        if pattern.id in seen:
            raise _wrong(name, pattern.id, "is there twice", "give each its own id")
        seen.add(pattern.id)
    return PatternFile(tuple(patterns), tuple(phrases))


def _pattern(record: JsonObject, name: str) -> BootPattern:
    identity = record.get("id")
    if not isinstance(identity, str) or not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,60}", identity):
        raise UsageError(
            f"{name}: a pattern without a usable id ({identity!r})",
            "an id is made of small letters, digits and dashes",
        )
    for key, value in record.items():
        kind = _KEYS.get(key)
        if kind is None or not isinstance(value, kind):
            raise _wrong(name, identity, f"has a wrong '{key}'", _known_keys())
    if "match" not in record:
        raise _wrong(name, identity, "has no 'match'", "give it a regular expression, or ''")
    match = text_at(record, "match")
    try:
        regex = re.compile(match)
    except re.error as error:
        raise _wrong(name, identity, f"is no regular expression ({error})", "correct it") from error
    phase, prompt, fault = (text_at(record, key) for key in ("phase", "prompt", "fault"))
    if "phase" in record and phase not in SEEN_PHASES:
        raise _wrong(name, identity, "names no phase", f"phases are {', '.join(SEEN_PHASES)}")
    if "prompt" in record and prompt not in list(Prompt):
        raise _wrong(name, identity, "names no prompt", f"prompts are {', '.join(Prompt)}")
    if "fault" in record and fault not in list(Fault):
        raise _wrong(name, identity, "names no fault", f"faults are {', '.join(Fault)}")
    if match and not (phase or prompt or fault):
        raise _wrong(name, identity, "means nothing", "give it a phase, a prompt or a fault")
    if prompt and re.search(r"(?:\$|\\Z)\)*\Z", match) and not match.endswith(r"\$"):
        raise _wrong(name, identity, "ends in '$'", "leave that out: a prompt always is at the end")
    return BootPattern(
        identity,
        regex,
        text_at(record, "name") if "name" in record else identity,
        phase or None,
        Prompt(prompt) if prompt else None,
        Fault(fault) if fault else None,
        text_at(record, "says"),
        record.get("certain") is True,
        record.get("banner") is True,
    )


def _are(values: object, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _known_keys() -> str:
    return "a record has " + ", ".join(_KEYS) + " ('certain' and 'banner' are true or false)"


def _wrong(name: str, identity: str, what: str, remedy: str) -> UsageError:
    return UsageError(f"{name}: pattern '{identity}' {what}", remedy)
