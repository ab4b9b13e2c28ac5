"""What a command is given differs between the boards: each is tried for the command alone.

The files are those of the reports named beside them.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from root_trees import build
from why_boards import BOTH, metric, side, with_value

from benchvise.board.messages import REQUEST_LIMIT
from benchvise.state.model import Snapshot, StateEntry
from benchvise.why.cards import load_cards, named
from benchvise.why.explain.remedies import remedies
from benchvise.why.model import NOT_FOUND, Layer, ProcessMeans, Side, Suspect
from benchvise.why.provenance import find_origins
from benchvise.why.provenance.sources import DirectoryFiles
from benchvise.why.suspects.command_suspects import TRACER
from benchvise.why.suspects.find import find
from benchvise.why.suspects.ranking import prior_of

COMMAND = metric("command.time", "getent ahostsv4 web.lab")

# kubernetes/kubernetes#14051
RESOLV = "nameserver 10.77.0.4\n"
SEARCHED = RESOLV + "search a.svc.cluster svc.cluster cluster.local\noptions ndots:5\n"
HOSTS = "127.0.0.1 localhost\n127.0.1.1 {name}\n"


VARIABLES = "process.environment/variables"


def board(files: Mapping[str, str], name: str = "") -> Snapshot:
    taken = side(dict(files))
    entry = StateEntry("process.files", "host name", value=name)
    return replace(taken, observations=(*taken.observations, entry)) if name else taken


def tried(good: Snapshot, bad: Snapshot) -> dict[str, Suspect]:
    suspects = find(good, bad, COMMAND, may_set=BOTH).suspects
    return {s.id: s for s in suspects if isinstance(s.means, ProcessMeans)}


def means(suspect: Suspect) -> ProcessMeans:
    assert isinstance(suspect.means, ProcessMeans)
    return suspect.means


def test_a_file_of_name_lookup_is_another_one_for_the_command(tmp_path: Path) -> None:
    good, bad = (board({"/etc/resolv.conf": text}) for text in (RESOLV, SEARCHED))
    (suspect,) = tried(good, bad).values()
    assert suspect.id == "process.files:/etc/resolv.conf"
    assert means(suspect).to_good == {"file./etc/resolv.conf": "nameserver 10.77.0.4%0A"}
    assert means(suspect).to_bad["file./etc/resolv.conf"].endswith("%0Aoptions ndots:5%0A")
    assert suspect.good == "not there"
    assert suspect.bad == "search a.svc.cluster svc.cluster cluster.local; options ndots:5"
    source = DirectoryFiles(build({"/etc/resolv.conf": SEARCHED}, tmp_path), "tree")
    (origin,) = find_origins(source, suspect, Side.BAD)
    assert (origin.where, origin.text.raw) == ("/etc/resolv.conf:3", "options ndots:5")
    assert "/etc/resolv.conf:2 belongs to it, too" in origin.note.raw
    values = {Side.GOOD: suspect.good, Side.BAD: suspect.bad}
    first, now = remedies(suspect, origins=[origin], side_values=values)
    assert first.text.startswith("remove line 3 of /etc/resolv.conf: options ndots:5")
    assert "# /etc/resolv.conf: take away options ndots:5" in now.text
    prior = prior_of(suspect.id)
    assert prior is not None and "process.files" in prior.names


def test_only_the_probe_s_own_benchmarks_look_up_no_names() -> None:
    good, bad = (board({"/etc/resolv.conf": text}) for text in (RESOLV, SEARCHED))
    suspects = find(good, bad, metric("cpu.clock"), may_set=BOTH).suspects
    assert not any(isinstance(suspect.means, ProcessMeans) for suspect in suspects)


def test_each_board_has_its_own_name_in_its_files() -> None:
    good, bad = (board({"/etc/hosts": HOSTS.format(name=n)}, n) for n in ("rack-1", "rack-2"))
    assert tried(good, bad) == {}
    lacking = board({"/etc/hosts": "127.0.0.1 localhost\n"}, "rack-2")
    (suspect,) = tried(good, lacking).values()
    assert means(suspect).to_good == {
        "file./etc/hosts": "127.0.0.1 localhost%0A127.0.1.1 rack-2%0A"
    }
    assert suspect.good == "127.0.1.1 rack-1"


def test_a_file_that_is_too_long_is_only_taken_away() -> None:
    """bugs.gentoo.org/917400: a list against advertisements."""
    names = "".join(f"0.0.0.0 ads-{number}.example.com\n" for number in range(1000))
    good = board({"/etc/hosts": HOSTS.format(name="lab")})
    (suspect,) = tried(good, board({"/etc/hosts": HOSTS.format(name="lab") + names})).values()
    assert means(suspect).to_bad == {}
    assert "too long" in suspect.not_on_good
    assert tried(board({"/etc/hosts": names}), good) == {}


def test_all_files_of_name_lookup_together_fit_into_a_request() -> None:
    paths = ("resolv.conf", "nsswitch.conf", "hosts", "gai.conf", "host.conf")
    good = {f"/etc/{name}": "ü,=# ü,=#\n" * 200 for name in paths}
    suspects = tried(board(good), board(dict.fromkeys(good, "# nothing\nx\n")))
    assert len(suspects) == len(paths)
    sent = "".join(value for s in suspects.values() for value in means(s).to_good.values())
    assert len(sent) < REQUEST_LIMIT - 20_000


def test_a_file_that_the_bad_side_lacks_cannot_be_covered() -> None:
    assert tried(board({"/etc/gai.conf": "precedence ::ffff:0:0/96 100\n"}), board({})) == {}


def zone(name: str) -> Snapshot:
    return with_value(side(), "process.files/time zone", f"/usr/share/zoneinfo/{name}")


def test_the_time_zone_is_another_one_for_the_command(tmp_path: Path) -> None:
    suspect = tried(zone("UTC"), zone("Europe/Berlin"))["process.files:/etc/localtime"]
    assert means(suspect).to_good == {"bind./etc/localtime": "/usr/share/zoneinfo/UTC"}
    tree = build({"/usr/share/zoneinfo/Europe/Berlin": ""}, tmp_path)
    (tree / "etc").mkdir(exist_ok=True)
    (tree / "etc/localtime").symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    (origin,) = find_origins(DirectoryFiles(tree, "tree"), suspect, Side.BAD)
    assert (origin.where, origin.certain) == ("/etc/localtime", True)
    values = {Side.GOOD: suspect.good, Side.BAD: suspect.bad}
    first = remedies(suspect, origins=[origin], side_values=values)
    assert "ln -sf /usr/share/zoneinfo/UTC /etc/localtime" in [r.text for r in first]


# -- directories in memory -------------------------------------------------------------------------

ROOT = "36 35 98:0 / / rw,relatime - ext4 /dev/sda1 rw\n"
SCRATCH = "40 36 0:30 / /scratch rw,relatime - {} rw\n"


def test_a_directory_in_memory_is_tried(tmp_path: Path) -> None:
    """matrix-org/synapse#1315."""
    good = side({"/proc/self/mountinfo": ROOT + SCRATCH.format("tmpfs tmpfs")})
    bad = side({"/proc/self/mountinfo": ROOT + SCRATCH.format("ext4 /dev/sda3")})
    suspects = tried(good, bad)
    suspect = suspects.pop("storage.mounts:/scratch")
    assert suspects == {}
    assert means(suspect) == ProcessMeans({"directory./scratch": "copy"}, {})
    assert suspect.not_on_good
    fstab = "/dev/sda1 / ext4 defaults 0 1\n/dev/sda3 /scratch ext4 defaults 0 2\n"
    source = DirectoryFiles(build({"/etc/fstab": fstab}, tmp_path), "tree")
    assert [o.where for o in find_origins(source, suspect, Side.BAD)] == ["/etc/fstab:2"]
    values = {Side.GOOD: suspect.good, Side.BAD: suspect.bad}
    first = remedies(suspect, origins=[], side_values=values)[0]
    assert first.text == "mount -t tmpfs -o mode=1777 tmpfs /scratch"
    assert "DATA" in first.cost
    assert not tried(bad, good), "memory cannot be slower"


def test_temporary_file_systems_of_the_system_are_none_of_programs() -> None:
    good = side({"/proc/self/mountinfo": ROOT + "41 36 0:31 / /sys/fs/x rw - tmpfs tmpfs rw\n"})
    assert find(good, side({"/proc/self/mountinfo": ROOT}), COMMAND, may_set=BOTH).suspects == ()


# -- limits and variables --------------------------------------------------------------------------


def limits(soft: object, hard: object) -> Snapshot:
    process = {"uid": 0, "nice": 0, "limits": {"nofile": soft}, "hard_limits": {"nofile": hard}}
    return with_value(side(), "process.inherited/process", process)


def test_hard_limits_go_with_soft_ones_or_alone() -> None:
    (suspect,) = tried(limits(1024, 4096), limits(20000, 524288)).values()
    assert suspect.id == "process.inherited:limit.nofile"
    assert means(suspect) == ProcessMeans(
        {"limit.nofile": "1024:4096"}, {"limit.nofile": "20000:524288"}
    )
    (alone,) = tried(limits(1024, 4096), limits(1024, 524288)).values()
    assert (alone.id, alone.good) == ("process.inherited:hard_limit.nofile", "4096")
    assert means(alone).to_good == {"limit.nofile": "1024:4096"}
    values = {Side.GOOD: alone.good, Side.BAD: alone.bad}
    told = [remedy.text for remedy in remedies(alone, origins=[], side_values=values)]
    assert told[0] == "prlimit --nofile=:4096 --pid $$"
    assert any("* hard nofile 4096" in text for text in told)


def test_a_tracer_that_only_the_bad_side_has_is_told_with_what_starts_it(tmp_path: Path) -> None:
    """B. Gregg, strace Wow Much Syscall; it cannot be tried, as nothing attaches it again."""
    bad = with_value(side(), "process.inherited/tracer", "strace")
    (suspect,) = find(side(), bad, COMMAND, may_set=BOTH).suspects
    assert (suspect.id, suspect.good, suspect.bad) == (TRACER, "not there", "strace")
    assert suspect.means is None and "end the tracer" in suspect.untestable
    script = "#!/bin/sh\nexec strace -f -o /dev/null -p $(pidof sshd)\n"
    tree = build({"/etc/init.d/trace-sessions": script}, tmp_path)
    (link := tree / "etc/rc2.d/S60trace").parent.mkdir(parents=True)
    link.symlink_to("../init.d/trace-sessions")
    (origin,) = find_origins(DirectoryFiles(tree, "tree"), suspect, Side.BAD)
    assert origin.where == "/etc/init.d/trace-sessions:2"
    values = {Side.GOOD: suspect.good, Side.BAD: suspect.bad}
    told = [remedy.text for remedy in remedies(suspect, origins=[origin], side_values=values)]
    assert told[0].startswith("remove line 2 of /etc/init.d/trace-sessions")
    assert "pkill -x strace" in told


def test_a_snapshot_without_hard_limits_says_nothing_of_them() -> None:
    process = {"uid": 0, "nice": 0, "limits": {"nofile": 1024}}
    old = with_value(side(), "process.inherited/process", process)
    assert find(old, limits(1024, 4096), COMMAND, may_set=BOTH).suspects == ()


def test_a_variable_whose_value_is_not_told_is_only_taken_away() -> None:
    """wiktorn/Overpass-API#107, with a password in the address."""
    good, bad = (
        with_value(side(), "process.environment/variables", {"LANG": "C"} | more)
        for more in ({}, {"http_proxy": "given (#0a1b)"})
    )
    (suspect,) = tried(good, bad).values()
    assert means(suspect) == ProcessMeans({"env.http_proxy": "%"}, {})
    assert (suspect.good, suspect.bad) == ("not there", "given (#0a1b)")
    assert "secret" in suspect.not_on_good
    assert tried(bad, good) == {}


def test_a_variable_that_has_two_values_neither_of_which_is_told_is_a_suspect() -> None:
    """Was: options of the JVM that only one side had were no difference (apache/zookeeper#301)."""
    good, bad = (
        with_value(side(), VARIABLES, {"LANG": "C", "APP_MODE": f"given (#{digest})"})
        for digest in ("0a1b", "c2d3")
    )
    (suspect,) = find(good, bad, COMMAND, may_set=BOTH).suspects
    assert suspect.id == "process.environment:APP_MODE"
    assert (suspect.good, suspect.bad) == ("given (#0a1b)", "given (#c2d3)")
    assert suspect.means is None


def test_a_search_path_of_many_directories_is_tried_until_it_fills_a_request() -> None:
    """microsoft/WSL#5696, with each directory of another system in PATH."""
    for directories, is_tried in ((260, True), (600, False)):
        path = ":".join(f"/opt/sdk/{number}/bin" for number in range(directories))
        values = ("/bin", path)
        good, bad = (with_value(side(), VARIABLES, {"PATH": value}) for value in values)
        assert [suspect.means for suspect in tried(good, bad).values()] == (
            [ProcessMeans({"env.PATH": "/bin"}, {"env.PATH": path})] if is_tried else []
        )


# -- where it is set -------------------------------------------------------------------------------


def given(name: str, item: str, member: str, good: str, bad: str) -> Suspect:
    flip = ProcessMeans({"timer_slack": good}, {"timer_slack": bad})
    return Suspect(name, name, Layer.PROCESS, item, good, bad, (member,), means=flip)


CONFIGURATION = "CONFIG_HIGH_RES_TIMERS=y\nCONFIG_HZ=250\nCONFIG_NO_HZ_IDLE=y\n"


@pytest.mark.parametrize(
    ("suspect", "line"),
    [
        (
            given("timer.resolution:slack", "timer.resolution", "timer.resolution/of the probe",
                  "50000", "4000000"),
            "echo 4000000 > /proc/$$/timerslack_ns",
        ),
        (
            given("process.inherited:sched", "process.inherited", "process.inherited/process",
                  "other", "idle"),
            'SSHD_WRAPPER="chrt --idle 0"',
        ),
        (
            given("process.inherited:limit.nofile", "process.inherited",
                  "process.inherited/process", "1024", "1000000"),
            "ulimit -n 1000000",
        ),
    ],
)  # fmt: skip
def test_a_process_has_its_settings_of_whoever_started_it(
    suspect: Suspect, line: str, tmp_path: Path
) -> None:
    """Never of the kernel's configuration, also where nothing that is read sets it."""
    files = {"/proc/config.gz": gzip.compress(CONFIGURATION.encode())}
    source = DirectoryFiles(build(files, tmp_path / "bare"), "tree")
    (nowhere,) = find_origins(source, suspect, Side.BAD)
    assert nowhere.kind == NOT_FOUND
    assert "the login or the service that starts the command gives" in nowhere.note.raw
    files |= {"/etc/default/ssh": f"# options of the server\n{line}\n".encode()}
    source = DirectoryFiles(build(files, tmp_path / "set"), "tree")
    assert [o.where for o in find_origins(source, suspect, Side.BAD)] == ["/etc/default/ssh:2"]


@pytest.mark.parametrize(
    ("variable", "card"),
    [
        ("LANG", "locale"),
        ("LC_ALL", "locale"),
        ("ZSTD_CLEVEL", "environment-of-programs"),
        ("LD_PRELOAD", "preloaded-library"),
    ],
)
def test_variables_have_the_mechanism_that_they_are_about(variable: str, card: str) -> None:
    suspect = Suspect(
        f"process.environment:{variable}", "", Layer.PROCESS, "process.environment", "C", "x",
        ("process.environment/variables",),
    )  # fmt: skip
    assert max(load_cards(), key=lambda c: named(c, suspect)).id == card
