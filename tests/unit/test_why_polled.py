"""Who makes the file that a command looks for again and again, asleep in between."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
import skips

from benchvise.board.local import LocalBoard
from benchvise.board.protocol import RUN_SECONDS, Completed
from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.witness.model import (
    Activity,
    CallsAbout,
    Partner,
    SideWatch,
    Witness,
    WitnessPart,
)
from benchvise.why.witness.opened import OPENED_FILE
from benchvise.why.witness.partner_suspects import partner_suspects, put_partners_first
from benchvise.why.witness.partners import find_partners
from benchvise.why.witness.polled import place_users, polled_places

SLEEPS = CallsAbout("clock_nanosleep", "", 40, 0, 2.0, 0.05)


def looks(path: str, count: int = 40, name: str = "newfstatat") -> CallsAbout:
    return CallsAbout(name, path, count, count - 1, 0.001, 0.0001)


@pytest.mark.parametrize(
    ("calls", "places"),
    [
        ([SLEEPS, looks("/srv/out/job-1")], ("/srv/out/job-1",)),
        ([SLEEPS, looks("/srv/out", name="getdents64")], ("/srv/out",)),
        ([SLEEPS, looks("127.0.0.1:8080", name="connect")], ("127.0.0.1:8080",)),
        # by its name in the directory that the command went to
        ([SLEEPS, looks("out/1"), CallsAbout("chdir", "/srv/x", 1, 0, 0, 0)], ("/srv/x/out/1",)),
        ([looks("/srv/out/job-1")], ()),  # it never sleeps
        ([SLEEPS, looks("/srv/out/job-1", 3)], ()),
        # each sleep is a program, which opens its libraries
        ([SLEEPS, looks("/lib/libc.so.6", name="openat"), looks("/etc/ld.so.cache")], ()),
        ([SLEEPS, looks("/srv")], ()),
    ],
)
def test_what_is_looked_at_again_and_again(
    calls: Sequence[CallsAbout], places: tuple[str, ...]
) -> None:
    assert polled_places(calls) == places


DAEMON = """import configparser, os, time
here = os.path.dirname(os.path.abspath(__file__))
settings = configparser.ConfigParser()
settings.read(os.path.join(here, "collector.conf"))
print("on", flush=True)
while True:
    time.sleep(60)
"""


class InsideBoard(LocalBoard):
    """This machine as a process with a mount namespace of its own sees it."""

    def __init__(self, process: int) -> None:
        super().__init__()
        self._enter = ["nsenter", f"--mount=/proc/{process}/ns/mnt", "--"]

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        return super().run([*self._enter, *argv], input=input, timeout=timeout)


@contextmanager
def collector(lines: str, *words: str) -> Iterator[InsideBoard]:
    """A program in /opt that is configured by a file beside it, whose path nothing names."""
    skips.need_root()
    script = (
        "mount -t tmpfs none /opt && mkdir /opt/collector /opt/other && cd /opt/collector && "
        'printf %s "$1" >collector.py && printf %s "$2" >collector.conf && '
        "echo level = 3 >../other/other.conf && shift 2 && "
        f'exec {sys.executable} /opt/collector/collector.py "$@"'
    )
    argv = ["unshare", "-m", "sh", "-c", script, "sh", DAEMON, lines, *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        try:
            yield InsideBoard(process.pid)
        finally:
            process.kill()


OWN = "/opt/collector/collector.conf"


@pytest.mark.parametrize(
    "lines",
    [
        "[watch]\ndirectory = /srv/drop/in\nseconds = 30\n",
        "[watch]\nbase = /srv/drop\nseconds = 30\n",
        "[watch]\nready: '/srv/drop/in/%s.done'\nseconds = 30\n",
    ],
)
def test_who_looks_into_a_directory_now_and_then_is_found_by_its_configuration(
    lines: str,
) -> None:
    """archivematica/Issues#916: transfers lie for up to an interval until they are seen."""
    with collector(lines) as board:
        calls = [SLEEPS, looks("/srv/drop/in/transfer-7")]
        (found,) = find_partners(board, calls)
    assert (found.name, found.targets) == ("collector.py", ("/srv/drop/in/transfer-7",))
    assert {OWN, "/opt/collector/collector.py"} <= set(found.files)
    assert "/opt/other/other.conf" not in found.files


def test_a_directory_that_only_begins_alike_is_none_of_it() -> None:
    with collector("[watch]\ndirectory = /srv/drop-box/in\nbase = /srv/dropped\n") as board:
        assert place_users(board, ["/srv/drop/in/transfer-7"]) == ()


def test_who_is_told_the_directory_when_it_starts_is_found() -> None:
    with collector("[watch]\nseconds = 30\n", "--directory=/srv/drop/in") as board:
        (user,) = place_users(board, ["/srv/drop/in/transfer-7"])
        (found,) = find_partners(board, [SLEEPS, looks("/srv/drop/in/transfer-7")])
    assert user.place == "/srv/drop/in/transfer-7"
    assert OWN in found.files  # beside its script


SERVICE = Suspect(
    "service.state:cron",
    "a service",
    Layer.RUN_TIME,
    "system.services",
    "running",
    "not there",
    untestable="it takes consent",
    terms=(Term("prior", 2.0, ""),),
)


def asleep(share: float) -> Witness:
    part = WitnessPart(Activity.TIMER, "clock_nanosleep", "", "sleep", 0.1, 9.0, share, "asleep")
    return Witness("", 0.2, 9.1, (part,))


def watched(calls: Sequence[CallsAbout], *partners: Partner) -> SideWatch:
    return SideWatch(calls=tuple(calls), partners=partners)


PLACE = "/srv/drop/in/transfer-7"
COLLECTOR = Partner("collector.py", (PLACE,), {"nice": "5"}, (OWN,), ("/usr/bin/python3.11",))
DIGESTS = {Side.GOOD: {OWN: "aaaa 40"}, Side.BAD: {OWN: "bbbb 41"}}


def test_its_configuration_comes_before_services_that_differ() -> None:
    both = {side: watched([SLEEPS, looks(PLACE)], COLLECTOR) for side in Side}
    (suspect,) = partner_suspects(both, DIGESTS, ())
    assert suspect.id == f"{OPENED_FILE}{OWN}"
    ranked = put_partners_first((SERVICE, suspect), asleep(0.9), both)
    assert ranked[0].id == suspect.id
    assert ranked[0].terms[-1].reason == "the command waits for collector.py: 90 % of the gap"
    # asleep for another reason: nothing is looked at meanwhile
    alone = {side: watched([SLEEPS], COLLECTOR) for side in Side}
    assert put_partners_first((SERVICE, suspect), asleep(0.9), alone)[0].id == SERVICE.id


def test_a_good_side_that_finds_the_file_at_its_first_look_has_the_partner_too() -> None:
    sides = {
        Side.GOOD: watched([looks(PLACE, 1)]),
        Side.BAD: watched([SLEEPS, looks(PLACE)], COLLECTOR),
    }
    (suspect,) = partner_suspects(sides, DIGESTS, ())
    assert (suspect.id, suspect.good, suspect.bad) == (f"{OPENED_FILE}{OWN}", "aaaa", "bbbb")
