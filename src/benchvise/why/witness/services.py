"""Files of services that run on both sides, and of what start files call.

A service that runs on both boards is no difference, and nothing that is seen of the command need
lead to it: it shaped the network or moved files when the board booted, or it does so now and then.
Its start script, its settings and the script that it runs are found by its name, others by the
start files that name them. What only one side has is left to the difference in what runs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from benchvise.state.model import Snapshot
from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.witness.opened import OPENED_FILE, identity_points, is_data

_SERVICE = "system.services/service "
_START_FILES = "boot.init_settings"
_NUMBERED = re.compile(r"^S\d\d(?=.)")
_PLACES = (
    *("/etc/init.d/{name}", "/etc/init.d/{base}", "/etc/default/{base}", "/etc/conf.d/{base}"),
    *("/etc/sysconfig/{base}", "/etc/config/{base}", "/etc/{base}.conf", "/etc/{base}/{base}.conf"),
    *("/usr/local/sbin/{base}", "/usr/local/bin/{base}"),
)
_NAMED = re.compile(r"(?<![\w/.-])/(?:usr/local|opt|srv|home|root|etc)/[\w./+-]*\w", re.ASCII)
_OF_RUN_LEVEL = re.compile(r"/etc/rc\w\.d/S")
_PLAIN = re.compile(r"[\w.+-]{1,60}", re.ASCII)
_MOST_NAMED = 60
_MOST = 300
_DIGITS = 12
_STARTED = "it is read when the service or the board starts: change it there, and start that anew"
_TERM = Term("service", -2.6, "what runs on both sides is told by it, and it is not the same")


def service_files(snapshots: Mapping[Side, Snapshot]) -> tuple[str, ...]:
    """The files that may tell services of both sides what to do, each once."""
    if len(snapshots) < len(Side):
        return ()
    running = [{*_running(snapshots[side]), *_started(snapshots[side])} for side in Side]
    named = [_named(snapshots[side]) for side in Side]
    both = [path for path in named[0] if path in named[1]]
    places = (
        place.format(name=name, base=_NUMBERED.sub("", name.removesuffix(".service")))
        for name in sorted(running[0] & running[1])
        for place in _PLACES
    )
    return tuple(dict.fromkeys((*both[:_MOST_NAMED], *places)))[:_MOST]


def _running(snapshot: Snapshot) -> Iterator[str]:
    for entry in snapshot.entries():
        name = entry.name.removeprefix(_SERVICE)
        if entry.name.startswith(_SERVICE) and entry.value == "running" and _PLAIN.fullmatch(name):
            yield name


def _started(snapshot: Snapshot) -> Iterator[str]:
    """The scripts that links in the directories of run levels lead to: some do their work at boot
    and leave no process."""
    for entry in snapshot.entries():
        if entry.item == _START_FILES and _OF_RUN_LEVEL.match(entry.key):
            name = str(entry.value).rpartition("/")[2]
            if _PLAIN.fullmatch(name):
                yield name


def _named(snapshot: Snapshot) -> dict[str, None]:
    """The paths in the lines of start files."""
    texts = (e.value for e in snapshot.entries() if e.item == _START_FILES)
    lines = (str(line) for value in texts if isinstance(value, list) for line in value)
    return dict.fromkeys(path for line in lines for path in _NAMED.findall(line))


def service_suspects(
    paths: Iterable[str], digests: Mapping[Side, Mapping[str, str]], taken: Collection[str]
) -> Iterator[Suspect]:
    """Those of these files that both sides have and that are not the same, without those whose ids
    are ``taken``."""
    for path in paths:
        name = f"{OPENED_FILE}{path}"
        good, bad = (digests[side].get(path, "") for side in (Side.GOOD, Side.BAD))
        values = [text.partition(" ")[0] for text in (good, bad)]
        if not all(values) or values[0] == values[1] or name in taken or is_data(path):
            continue
        points = identity_points(path, good, bad)
        yield Suspect(
            name,
            f"the file {path}, which starts or configures what runs on both sides",
            Layer.USERLAND,
            "userland.file",
            values[0][:_DIGITS],
            values[1][:_DIGITS],
            members=(name,),
            untestable=_STARTED,
            terms=(
                _TERM,
                *((Term("file", points, "it is made for each machine"),) if points else ()),
            ),
        )
