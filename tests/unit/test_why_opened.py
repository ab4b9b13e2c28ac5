"""Files that the command opens: their attributes, and caches that one side lacks."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchvise.board.local import LocalBoard
from benchvise.text import Untrusted
from benchvise.why.benches.file_digests import digests_on
from benchvise.why.model import Layer, Origin, Side, Suspect, Term
from benchvise.why.untested import line_as_on_good
from benchvise.why.witness.layout import LAYOUT, written_anew
from benchvise.why.witness.model import (
    Activity,
    CallsAbout,
    SideWatch,
    Witness,
    WitnessCall,
    WitnessPart,
)
from benchvise.why.witness.opened import (
    ATTRIBUTES,
    LEADS,
    OF_ATTRIBUTES,
    OPENED_FILE,
    file_suspects,
    is_data,
    link_as_on_good,
    opened_files,
    origins_of_link,
)
from benchvise.why.witness.times import CHANGED, MODIFIED
from benchvise.why.witness.touching import put_first

SERVICE = Suspect(
    "service.state:cron", "a service", Layer.RUN_TIME, "system.services", "running", "not there",
    untestable="it takes consent", terms=(Term("prior", 2.0, ""),),
)  # fmt: skip


def test_modes_are_read_with_checksums(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "a").chmod(0o640)
    path = str(tmp_path / "a")
    found = digests_on(LocalBoard(), [path, str(tmp_path / "b")])
    about = (ATTRIBUTES, LAYOUT, MODIFIED, CHANGED)
    assert found.keys() == {path, *(f"{kind}{path}" for kind in about)}
    assert found[path].endswith(" 1")
    assert found[f"{ATTRIBUTES}{path}"].startswith("640:")


def test_links_on_the_way_are_read(tmp_path: Path) -> None:
    (tmp_path / "card").mkdir()
    (tmp_path / "data").symlink_to("card")
    path = str(tmp_path / "data" / "log")  # is made by the command, and gone
    found = digests_on(LocalBoard(), [path])
    assert found == {f"{LEADS}{path}": str(tmp_path / "card" / "log")}


def test_a_link_that_leads_to_another_disk_is_a_difference() -> None:
    """What is opened, and how file systems are mounted, is the same on both sides."""
    seen = {
        side: SideWatch(
            calls=tuple(CallsAbout("openat", f"/srv/data/{n}/x", 1, 0, 0.1, 0.1) for n in "ab")
        )
        for side in Side
    }
    digests: dict[Side, dict[str, str]] = {side: {} for side in Side}
    digests[Side.BAD] = {f"{LEADS}/srv/data/{n}/x": f"/mnt/card/{n}/x" for n in "ab"}
    (link,) = file_suspects(seen, digests, (), can_swap=True)
    assert (link.id, link.good, link.bad) == ("file.link:/srv/data", "/srv/data", "/mnt/card")
    assert not origins_of_link(Side.GOOD, link)  # a directory there: no line makes it one again
    assert not link_as_on_good(link)
    (origin,) = origins_of_link(Side.BAD, link)
    assert (str(origin.file), str(origin.text)) == ("/srv/data", "/srv/data -> /mnt/card")
    led = replace(link, good="/mnt/ram disk")
    assert link_as_on_good(led) == "ln -sfn -- '/mnt/ram disk' /srv/data"
    for target in ("/srv/data/a/x", "/mnt/card/a/x"):
        part = WitnessPart(Activity.DISK, "write", target, "dd", 0.0, 1.0, 0.9, "waiting")
        ranked = put_first((SERVICE, link), Witness("", 1.0, 2.0, (part,)))
        assert ranked[0].id == link.id
    swapped = {side: {f"{LEADS}/bin/sh": f"/usr/bin/{side}"} for side in Side}
    sh = {
        side: SideWatch(calls=(CallsAbout("execve", "/bin/sh", 1, 0, 0.1, 0.1),)) for side in Side
    }
    assert not file_suspects(sh, swapped, (), can_swap=True)


@pytest.mark.parametrize(
    ("good", "bad", "is_likely"),
    [("644:0:0", "644:0:0 S", True), ("755:0:0 cap_sys_nice=ep", "755:0:0", True),
     ("755:0:0", "700:0:0", False)],
)  # fmt: skip
def test_attributes_of_a_file_are_a_difference_of_its_own(
    good: str, bad: str, is_likely: bool
) -> None:
    """A log that is written synchronously by ``chattr +S`` holds the same on both sides."""
    call = CallsAbout("openat", "/var/log/events", 1, 0, 0.1, 0.1)
    seen = {side: SideWatch(calls=(call,)) for side in Side}
    digests = {
        side: {"/var/log/events": "aa 1", f"{ATTRIBUTES}/var/log/events": text}
        for side, text in ((Side.GOOD, good), (Side.BAD, bad))
    }
    (suspect,) = file_suspects(seen, digests, (), can_swap=True)
    assert (suspect.id, suspect.good, suspect.bad) == (
        f"{OF_ATTRIBUTES}/var/log/events", good, bad,
    )  # fmt: skip
    assert suspect.means is None
    assert (suspect.log_odds > 0) is is_likely
    part = WitnessPart(Activity.DISK, "write", "/var/log/events", "dd", 0.0, 1.0, 0.9, "waiting")
    ranked = put_first((SERVICE, suspect), Witness("", 1.0, 2.0, (part,)))
    assert ranked[0].id == suspect.id


def test_data_that_the_bad_side_reads_many_times_comes_first() -> None:
    """A table without an index is of the same size, and is read from its begin to its end."""
    path = "/var/lib/store.db"
    call = CallsAbout("openat", path, 1, 0, 0.1, 0.1)
    seen = {side: SideWatch(calls=(call,)) for side in Side}
    digests = {Side.GOOD: {path: "aa 9000"}, Side.BAD: {path: "bb 9000"}}
    (store,) = file_suspects(seen, digests, (), can_swap=True)
    busy = WitnessCall("pread64", path, 12, 4000, 0.0, 0.1)
    ranked = put_first((SERVICE, store), Witness("", 1.0, 2.0, calls=(busy,)))
    assert (ranked[0].id, ranked[0].means) == (store.id, None)
    idle = WitnessCall("pread64", path, 4000, 12, 0.1, 0.0)
    assert put_first((SERVICE, store), Witness("", 1.0, 2.0, calls=(idle,)))[0].id == SERVICE.id


def test_files_that_are_opened_by_their_name_in_a_directory_are_compared() -> None:
    """azlux/log2ram#138: a file of holes, empty on good, which tar reads by its name in /var."""
    path = "/var/log/lastlog"
    calls = {Side.GOOD: 1, Side.BAD: 14500}
    seen = {
        side: SideWatch(
            calls=(
                CallsAbout("openat", "log/lastlog", 1, 0, 0.0, 0.0),
                CallsAbout("read", path, count, 0, 0.1, 0.1),
                CallsAbout("read", "/proc/self/maps", 3, 0, 0.1, 0.1),
            )
        )
        for side, count in calls.items()
    }
    assert opened_files(seen.values()) == (path,)
    digests = {Side.GOOD: {path: "aaaa 0"}, Side.BAD: {path: "bbbb 152043520"}}
    (suspect,) = file_suspects(seen, digests, (), can_swap=True)
    assert suspect.id == f"{OPENED_FILE}{path}"
    assert "of 0 bytes on good and 152043520 on bad" in suspect.terms[0].reason
    call = WitnessCall("read", path, 1, 14500, 0.1, 0.1)
    ranked = put_first((SERVICE, suspect), Witness("", 1.0, 2.0, calls=(call,)))
    assert ranked[0].id == suspect.id


def test_a_cache_that_the_bad_side_lacks_is_tried() -> None:
    path = "/etc/ld.so.cache"
    call = CallsAbout("openat", path, 1, 0, 0.1, 0.1)
    seen = {side: SideWatch(calls=(call,)) for side in Side}
    digests: dict[Side, dict[str, str]] = {Side.GOOD: {path: "aa 1"}, Side.BAD: {}}
    (lost,) = file_suspects(seen, digests, (), can_swap=True)
    assert lost.means is not None
    digests[Side.BAD] = {path: "bb 1"}
    (other,) = file_suspects(seen, digests, (), can_swap=True)
    assert other.means is None


def test_what_is_gone_through_by_thousands_hides_no_file_of_another_place() -> None:
    crowd = tuple(
        CallsAbout("openat", f"/usr/share/part{n}/x", 1, 0, 1.0, 1.0) for n in range(2000)
    )
    few = tuple(CallsAbout("openat", f"/etc/parts/{n}", 1, 0, 0.0, 0.0) for n in range(40))
    alone = CallsAbout("openat", "/usr/share/of-bad", 1, 0, 0.0, 0.0)
    files = opened_files([SideWatch(calls=(*crowd, *few)), SideWatch(calls=(*crowd, *few, alone))])
    assert {call.target for call in (*few, alone)} < set(files)
    assert 600 <= len(files) <= 660


def line(side: Side, number: int, text: str) -> tuple[Origin, ...]:
    return (Origin(side, "file", Untrusted("/etc/a.conf"), number, Untrusted(text)),)


def test_a_line_is_made_as_the_good_side_has_it(tmp_path: Path) -> None:
    suspect = Suspect(f"{OPENED_FILE}/etc/a.conf", "", Layer.USERLAND, "userland.file", "aa", "bb")
    bad = line(Side.BAD, 2, "ttl 0")
    command = line_as_on_good(suspect, line(Side.GOOD, 2, r"ttl 3 | a & b \d"), bad)
    file = tmp_path / "a.conf"
    file.write_text("# names\nttl 0\n")
    subprocess.run(["sh", "-c", command.replace("/etc/a.conf", str(file))], check=True)
    assert file.read_text() == "# names\nttl 3 | a & b \\d\n"
    assert line_as_on_good(suspect, (), bad) == "sed -i 2d /etc/a.conf"
    assert line_as_on_good(suspect, line(Side.GOOD, 5, "ttl 3"), bad) == ""


def test_a_directory_that_was_full_once_is_a_difference() -> None:
    """ext4 keeps the room of entries that are gone, and who lists them reads it all."""
    listing = CallsAbout("getdents64", "/data/spool", 20, 0, 0.1, 0.1)
    seen = {side: SideWatch(calls=(listing,)) for side in Side}
    sizes = {Side.GOOD: "directory 5 4096", Side.BAD: "directory 5 9400320"}
    digests = {side: {"/data/spool": value} for side, value in sizes.items()}
    (suspect,) = file_suspects(seen, digests, (), can_swap=True)
    assert (suspect.id, suspect.means) == (f"{OPENED_FILE}/data/spool", None)
    assert suspect.bad == "9.40 MB of its own"
    assert written_anew(suspect) == (
        "cp -a -- /data/spool /data/spool.new && mv -- /data/spool /data/spool.away "
        "&& mv -- /data/spool.new /data/spool"
    )
    part = WitnessPart(
        Activity.SYSTEM_CALLS, "getdents64", "/data/spool", "ls", 0.0, 1.0, 0.9, "CPU time"
    )
    assert put_first((SERVICE, suspect), Witness("", 1.0, 2.0, (part,)))[0].id == suspect.id
    digests[Side.BAD] = {"/data/spool": "directory 6 8192"}  # grew by a block
    assert not file_suspects(seen, digests, ())


def test_directories_in_which_names_are_looked_for_are_compared() -> None:
    """A name that is not there is looked for in all of a directory without an index."""
    missed = CallsAbout("newfstatat", "/srv/mail/new/17", 40, 40, 0.1, 0.1)
    assert opened_files([SideWatch(calls=(missed,))]) == ("/srv/mail/new",)
    of_system = CallsAbout("newfstatat", "/usr/lib/python3/x.py", 40, 40, 0.1, 0.1)
    assert opened_files([SideWatch(calls=(of_system,))]) == ()


@pytest.mark.parametrize(
    ("good", "bad", "shown"),
    [("4194304 4194304 2", "4194304 4194304 900", "900 pieces"),
     ("4194304 4194304 1", "4194304 0 0", "0 B of 4.19 MB allocated"),
     ("4194304 4194304 0", "4194304 4194304 900", ""),
     ("4194304 4194304 1", "4096 0 1", "")],
)  # fmt: skip
def test_how_a_file_lies_on_the_disk_is_a_difference_of_its_own(
    good: str, bad: str, shown: str
) -> None:
    """Content and mode of both are the same."""
    path = "/data/image"
    seen = {side: SideWatch(calls=(CallsAbout("openat", path, 1, 0, 0.1, 0.1),)) for side in Side}
    digests = {
        side: {path: "aa 4194304", f"{LAYOUT}{path}": text}
        for side, text in ((Side.GOOD, good), (Side.BAD, bad))
    }
    found = file_suspects(seen, digests, (), can_swap=True)
    assert [(s.id, s.bad, s.means) for s in found] == (
        [(f"file.layout:{path}", shown, None)] if shown else []
    )


@pytest.mark.parametrize(
    ("path", "is_told_by"),
    [("/srv/app/config.yaml", True), ("/data/station/poll.py", True), ("/run/app/app.conf", True),
     ("/srv/app/store.json", False), ("/var/lib/app/x.py", False), ("/var/log/a.conf", False)],
)  # fmt: skip
def test_settings_are_no_data_wherever_they_lie(path: str, is_told_by: bool) -> None:
    assert is_data(path) is not is_told_by
