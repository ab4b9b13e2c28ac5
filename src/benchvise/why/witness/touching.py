"""Suspects that touch what a command does differently come first (``touches.toml``)."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from benchvise.why.cards import knobs_of
from benchvise.why.model import Layer, Suspect, Term
from benchvise.why.suspects.places import is_at, places_in
from benchvise.why.suspects.ranking import BUSY
from benchvise.why.suspects.reduction import VARIABLES
from benchvise.why.witness.layout import OF_ENTRIES
from benchvise.why.witness.model import Activity, Witness, WitnessPart
from benchvise.why.witness.naming import NamedPlace
from benchvise.why.witness.opened import LOOKED_FOR, OPENED_FILE
from benchvise.why.witness.times import NEWER

NAME = "witness"
"""Of the term."""

_FILE_POINTS = 6.0
_PART_POINTS = 4.0
_BROAD_POINTS = 2.5  # where it can change more than some system calls
_DECIDED_POINTS = 5.0
_BUSY_POINTS = 6.5
_AHEAD = 0.5
_OF_GOOD_ALONE = 0.6
"""What the good side opens alone takes it time: by itself that is no reason for less."""

_LEAST_SHARE = 0.25
_MOST = 0.8  # of the part of the gap that is the command's own
_AS_OFTEN = 0.9
_SHORTEST = 4  # characters of a name of a file that a suspect's text is searched for
_VERSION = re.compile(r"\.so(?:\.[0-9.]+)?$")


@dataclass(frozen=True, slots=True)
class Touch:
    """Suspects with these names can change what these activities take, or which files are opened.

    ``calls``, where there are any, are the system calls that it is about, ``fails`` those that it
    can make fail, ``errors`` with what. With ``takes`` it is
    about what programs take from the command: those that the good side alone has, or that were seen
    idle on the bad one, take nothing.
    """

    names: tuple[str, ...]
    why: str
    activities: tuple[Activity, ...] = ()
    calls: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    takes: bool = False
    errors: tuple[str, ...] = ()

    def names_suspect(self, suspect: Suspect) -> bool:
        """Whether it is about a suspect, or about what a line of a start file sets."""
        if self.takes and _takes_nothing(suspect):
            return False
        return _any((suspect.id, suspect.item, *_set_by_lines(suspect)), self.names)

    def is_about(self, part: WitnessPart) -> bool:
        """Whether it is about what a command does in a part of the gap."""
        return part.activity in self.activities and (
            not self.calls or _any((part.call,), self.calls)
        )


def _takes_nothing(suspect: Suspect) -> bool:
    """Whether a program runs on the good side alone, or took no CPU on the bad one and did nothing
    else that was seen."""
    if suspect.good == "running" and suspect.bad != "running":
        return True
    is_idle = any(term.name == BUSY and term.points < 0 for term in suspect.terms)
    return is_idle and not any(term.name == NAME and term.points > 0 for term in suspect.terms)


def _any(names: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


@cache
def touches() -> tuple[Touch, ...]:
    """The table."""
    text = (files(__package__) / "touches.toml").read_text(encoding="utf-8")
    return tuple(
        Touch(
            tuple(record["names"]),
            record["why"],
            tuple(Activity[name] for name in record.get("activities", ())),
            tuple(record.get("calls", ())),
            tuple(record.get("files", ())),
            tuple(record.get("fails", ())),
            bool(record.get("takes")),
            tuple(record.get("errors", ())),
        )
        for record in tomllib.loads(text)["touch"]
    )


@dataclass(frozen=True, slots=True)
class SettingProgram:
    """Programs that a line of a start file may call, and what they set."""

    programs: tuple[str, ...]
    names: tuple[str, ...]


@cache
def setting_programs() -> tuple[SettingProgram, ...]:
    """The table."""
    text = (files(__package__) / "touches.toml").read_text(encoding="utf-8")
    return tuple(
        SettingProgram(tuple(record["programs"]), tuple(record["names"]))
        for record in tomllib.loads(text)["line"]
    )


_LINES = "boot.init_settings"
_WORD = re.compile(r"[\w.+-]+")
_SYSCTL = re.compile(r"(?:net|vm|fs|kernel)\.\w")


@cache
def _set_by_lines(suspect: Suspect) -> tuple[str, ...]:
    """The names of what the lines of a start file set, by the files and programs in them."""
    if suspect.item != _LINES and suspect.layer is not Layer.INIT_SETTINGS:
        return ()
    mentioned = set(_WORD.findall("\n".join((suspect.title, suspect.good, suspect.bad))))
    named = [word for word in mentioned if _SYSCTL.match(word)]
    named += [
        name
        for record in setting_programs()
        if any(fnmatchcase(word, program) for word in mentioned for program in record.programs)
        for name in record.names
    ]
    return (*knobs_of(suspect), *named)


def put_first(
    suspects: Sequence[Suspect],
    witness: Witness | None,
    named: Mapping[str, NamedPlace] | None = None,
) -> tuple[Suspect, ...]:
    """The suspects with a term for what they touch, in their new order. ``named`` are the places
    that suspects name in lines which differ, by their ids (``witness.naming``)."""
    if witness is None:
        return tuple(suspects)
    touching: dict[Suspect, Term] = {}
    spared = _that_no_reading_changes(witness)
    for suspect in suspects:
        terms = [
            *_of_named(named.get(suspect.id) if named else None, witness),
            *_of_files(suspect, witness),
            *_of_parts(suspect, witness),
            *_of_calls(suspect, witness),
            *_of_failures(suspect, witness),
            *_of_errors(suspect, witness),
        ]
        if terms:
            touching[suspect] = max(terms, key=lambda term: term.points)
        elif spared is not None and _any((suspect.id, suspect.item), _READ):
            touching[suspect] = spared
    _put_places_ahead(touching, suspects, witness, named or {})
    lift = _lift(suspects, touching)
    scored = [
        replace(s, terms=(*s.terms, _lifted(touching[s], lift))) if s in touching else s
        for s in suspects
    ]
    return tuple(sorted(scored, key=lambda s: (s.means is None, -s.log_odds)))


def _lift(suspects: Sequence[Suspect], touching: Mapping[Suspect, Term]) -> float:
    """What the likeliest of those that touch it lacks to be before all others."""
    touched = [s for s, term in touching.items() if term.points > 0 and s.means is not None]
    others = [s.log_odds for s in suspects if s not in touching and s.means is not None]
    mine = [s.log_odds + touching[s].points for s in touched]
    return max(0.0, max(others) - max(mine) + _AHEAD) if others and mine else 0.0


def _lifted(term: Term, lift: float) -> Term:
    return replace(term, points=term.points + lift) if term.points > 0 else term


_READ = ("userland.file:*", "process.environment", "process.files", "userland.*", "libc.*")
"""What a command reads, and decides by what it asks of the kernel."""
_ELSEWHERE = (Activity.NETWORK, Activity.DISK)


def _that_no_reading_changes(witness: Witness) -> Term | None:
    """For what a command reads: where it asks the same of the network or a disk as often, and each
    answer takes longer, what it has read before is hardly why."""
    share = 0.0
    for part in witness.parts:
        counts = [c for c in witness.calls if (c.name, c.target) == (part.call, part.target)]
        if part.activity in _ELSEWHERE and counts:
            low, high = sorted((counts[0].good, counts[0].bad))
            share += part.share if low >= _AS_OFTEN * high else 0.0
    own = _of_own_making(witness)
    if share < max(_LEAST_SHARE, _MOST * own):
        return None
    reason = "the command asks the same as often on both sides, and each answer takes longer"
    return Term(NAME, -_BROAD_POINTS * min(share / own, 1.0), reason)


def _of_parts(suspect: Suspect, witness: Witness) -> Iterator[Term]:
    for part in witness.parts:
        if part.share < _LEAST_SHARE:
            continue
        for touch in touches():
            if touch.names_suspect(suspect) and touch.is_about(part):
                reason = f"{touch.why}: {part.text} is {min(part.share, 1.0):.0%} of the gap"
                points = _PART_POINTS if touch.calls else _BROAD_POINTS
                yield Term(NAME, points * min(1.0, part.share), reason.replace("%", " %"))
            if touch.names_suspect(suspect) and part.target and _any((part.target,), touch.files):
                reason = f"{touch.why}: {part.text}"
                yield Term(NAME, _DECIDED_POINTS * min(1.0, part.share), reason)
        is_own = suspect.id.partition(":")[2] == part.target
        is_spread = suspect.untestable == OF_ENTRIES and _SPREAD.fullmatch(part.target)
        is_below = part.target.startswith("/") and (is_own or _is_below(part.target, suspect))
        if is_below or is_spread:
            reason = f"it is about {part.target}: {part.text}"
            yield Term(NAME, _FILE_POINTS * min(1.0, part.share), reason)


_SPREAD = re.compile(r"\d+ (?:files|targets)")
_OF_NETWORK = (Activity.NETWORK, Activity.RESOLVER)
_TARGET_ADDRESS = re.compile(r"\[?([0-9a-fA-F.:]+?)\]?:\d+")
_NETWORK = re.compile(r"(?<![\w.:/-])(?:\d+(?:\.\d+){3}|[0-9a-f]*:[0-9a-f:]+)(?:/\d+)?(?![\w.:/-])")
_OF_ADDRESSES = ("net.routes:*", "net.filter*", "nft.*")


def _put_places_ahead(
    touching: dict[Suspect, Term],
    suspects: Sequence[Suspect],
    witness: Witness,
    named: Mapping[str, NamedPlace],
) -> None:
    """What is about the very address, file or directory that the command waits for (a route, a
    rule, that file, a variable that leads there) comes before what is about all of them."""
    about = {
        suspect: (place, part)
        for part in witness.parts
        if part.share >= _LEAST_SHARE
        for suspect in suspects
        if (place := _place_of(part, suspect))
    }
    reasons = {
        suspect: f"it is about {place}: {part.text}" for suspect, (place, part) in about.items()
    }
    for suspect in suspects:
        place_named = named.get(suspect.id)
        if place_named is not None and place_named.waits:
            reasons.setdefault(suspect, _reason_of(place_named))
    first = max(
        (s.log_odds + t.points for s, t in touching.items() if s not in reasons), default=0.0
    )
    for suspect, reason in reasons.items():
        ahead = max(_FILE_POINTS, first + _AHEAD - suspect.log_odds)
        touching[suspect] = Term(NAME, ahead, reason)


def _reason_of(place: NamedPlace) -> str:
    return f"it names {place.word} in a line that differs: {place.reason}"


def _of_named(place: NamedPlace | None, witness: Witness) -> Iterator[Term]:
    """A suspect that names a file which only the bad side opens."""
    if place is not None and not place.waits:
        yield Term(NAME, _FILE_POINTS * _of_own_making(witness), _reason_of(place))


def _place_of(part: WitnessPart, suspect: Suspect) -> str:
    """The network, file or directory of a suspect that a part is about; empty where it is none."""
    if part.activity in _OF_NETWORK and (network := _network_around(part.target, suspect)):
        return network
    if part.target.startswith("/") and suspect.id == f"{OPENED_FILE}{part.target}":
        return part.target
    return _place_of_variable(part, suspect)


def _place_of_variable(part: WitnessPart, suspect: Suspect) -> str:
    """The place that a variable leads to on the bad side alone and that a part is about."""
    targets = part.target.split(", ")
    new = _new_places(suspect)
    return next((place for place in new if any(is_at(target, place) for target in targets)), "")


def _new_places(suspect: Suspect) -> list[str]:
    """Where a variable leads on the bad side alone; nothing for other suspects."""
    if suspect.item != VARIABLES.partition("/")[0]:
        return []
    name = suspect.id.partition(":")[2]
    others = places_in(name, suspect.good)
    return [place for place in places_in(name, suspect.bad) if place not in others]


def _leads_to(target: str, suspect: Suspect) -> bool:
    return any(is_at(target, place) for place in _new_places(suspect))


def _network_around(targets: str, suspect: Suspect) -> str:
    """The narrowest network that a route or rule of a suspect names and that one of the addresses
    is in, as it is written there; empty where there is none."""
    if not _any((suspect.id, suspect.item), _OF_ADDRESSES):
        return ""
    addresses = [
        address
        for target in targets.split(", ")
        if (match := _TARGET_ADDRESS.fullmatch(target)) and (address := _network_of(match[1]))
    ]
    text = " ".join((suspect.id.partition(":")[2], suspect.good, suspect.bad))
    around = [
        network
        for network in map(_network_of, _NETWORK.findall(text))
        if network is not None
        and network.prefixlen
        and any(network.version == a.version and network.overlaps(a) for a in addresses)
    ]
    return str(max(around, key=lambda network: network.prefixlen, default=""))


def _network_of(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _of_files(suspect: Suspect, witness: Witness) -> Iterator[Term]:
    """A suspect that names a file which only one side opens, or that decides which is opened."""
    text = "\n".join((suspect.id, suspect.title, suspect.good, suspect.bad, *suspect.members))
    part = _of_own_making(witness)
    for side, opened in (("bad", witness.bad_files), ("good", witness.good_files)):
        if suspect.untestable in (LOOKED_FOR, NEWER) and opened:
            reason = f"it can decide what the command does: only the {side} side opens {opened[0]}"
            yield Term(NAME, _DECIDED_POINTS * part, reason)
        for file in opened:
            reason = f"only the {side} side opens {file}"
            is_about = file in text or _is_in_tree(file, suspect) or _leads_to(file, suspect)
            if is_about or _is_named(_VERSION.sub("", file.rpartition("/")[2]), text):
                yield Term(NAME, _FILE_POINTS * part, reason)
            for touch in touches():
                if touch.names_suspect(suspect) and _any((file,), touch.files):
                    points = _DECIDED_POINTS * (part if side == "bad" else _OF_GOOD_ALONE * part)
                    yield Term(NAME, points, f"{touch.why}: {reason}")


_OF_OTHERS = (Activity.RUNNABLE, Activity.INTERRUPTS, Activity.UNSEEN)


def _of_own_making(witness: Witness) -> float:
    """The part of the gap that may be of what the command itself does: which files it opens
    decides nothing about the CPU that others take."""
    shares = sum(part.share for part in witness.parts if part.activity in _OF_OTHERS)
    return max(0.0, 1.0 - shares)


def _of_calls(suspect: Suspect, witness: Witness) -> Iterator[Term]:
    """A suspect that is about a file which the bad side is busier with, or decides about it."""
    for call in witness.calls:
        if call.bad > call.good and suspect.id == f"{OPENED_FILE}{call.target}":
            reason = f"{call.name} {call.target} {call.bad} times on bad, {call.good} on good"
            points = _BUSY_POINTS if call.is_much_more else _DECIDED_POINTS
            yield Term(NAME, points, f"it holds something else: {reason}")
        if call.bad > call.good and _leads_to(call.target, suspect):
            reason = f"{call.name} {call.target} {call.bad} times on bad, {call.good} on good"
            yield Term(NAME, _DECIDED_POINTS, f"it leads there: {reason}")
        for touch in touches() if call.is_much_more else ():
            if touch.names_suspect(suspect) and _any((call.target,), touch.files):
                reason = f"{touch.why}: {call.name} {call.target} {call.bad} times on bad"
                yield Term(NAME, _DECIDED_POINTS, f"{reason}, {call.good} on good")


def _of_failures(suspect: Suspect, witness: Witness) -> Iterator[Term]:
    """A suspect that decides whether the command is granted what it is refused on the bad side."""
    for touch in touches() if witness.failing else ():
        if touch.errors:
            continue
        refused = [name for name in witness.failing if _any((name,), touch.fails)]
        if refused and touch.names_suspect(suspect):
            errors = [row.error for row in witness.failures if row.name == refused[0]]
            of = f" with {errors[0]}" if errors else ""
            reason = f"{touch.why}: {refused[0]} fails{of} on the bad side only"
            yield Term(NAME, _DECIDED_POINTS, reason)


def _of_errors(suspect: Suspect, witness: Witness) -> Iterator[Term]:
    """A suspect about a place where calls fail on the bad side alone, or that can make them fail
    with such an error."""
    for failure in witness.failures:
        what = f"{failure.name} of {failure.target}" if failure.target else failure.name
        reason = f"{what} fails with {failure.error} on the bad side"
        if failure.target.startswith("/"):
            place = failure.target.rstrip("/")
            is_own = suspect.id.partition(":")[2] == place or _is_below(place, suspect)
            if is_own or _leads_to(place, suspect) or _is_in_tree(place, suspect):
                points = _DECIDED_POINTS if failure.is_granted else _BROAD_POINTS
                yield Term(NAME, points, f"it is about that place: {reason}")
        for touch in touches():
            is_about = failure.error in touch.errors and touch.names_suspect(suspect)
            if is_about and (not touch.fails or _any((failure.name,), touch.fails)):
                points = _PART_POINTS if failure.is_granted else _BROAD_POINTS
                yield Term(NAME, points, f"{touch.why}: {reason}")


def _is_in_tree(path: str, suspect: Suspect) -> bool:
    """Whether a path is below the directory that a suspect is about as a whole."""
    tree = suspect.id.removeprefix(OPENED_FILE) if suspect.untestable == OF_ENTRIES else ""
    return bool(tree) and path.startswith(f"{tree}/")


def _is_named(name: str, text: str) -> bool:
    pattern = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    return len(name) >= _SHORTEST and re.search(pattern, text) is not None


_PLACE = re.compile(r"/[\w./-]+")


def _is_below(path: str, suspect: Suspect) -> bool:
    """Whether a path lies in a place that a suspect is called by: a mount point."""
    places = _PLACE.findall(" ".join((suspect.id, suspect.title, *suspect.members)))
    return any(path.startswith(f"{place.rstrip('/')}/") for place in places if len(place) > 1)
