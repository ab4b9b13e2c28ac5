"""The witness of a diagnosis: where a command's time goes, what differs, and whom it accuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from why_bench import MemoryBench, diagnose, losses

from benchvise.board.channel import NotAvailable
from benchvise.documents import decode, encode
from benchvise.errors import BoardUnreachable, MeasurementError
from benchvise.measure.model import SeriesSpec
from benchvise.state.catalogue import items_by_id, knobs
from benchvise.state.model import Snapshot, StateEntry
from benchvise.why import events
from benchvise.why.case import DiagnosisOptions
from benchvise.why.experiments.evidence import EvidenceLog
from benchvise.why.model import (
    DiagnosisVerdict,
    Layer,
    Metric,
    ProcessMeans,
    Side,
    Stop,
    Suspect,
    Term,
)
from benchvise.why.witness.compare import MeasuredTimes, compare
from benchvise.why.witness.kinds import named_call, waited_for
from benchvise.why.witness.model import (
    Activity,
    CallsAbout,
    NeighbourActivity,
    Partner,
    SideWatch,
    SpentTime,
    Witness,
    WitnessCall,
    WitnessPart,
)
from benchvise.why.witness.neighbours import (
    ProcessSample,
    activities,
    busiest,
    parse_sample,
    put_active_first,
)
from benchvise.why.witness.path import spent_times
from benchvise.why.witness.spans import spans_of
from benchvise.why.witness.touching import NAME, put_first, setting_programs, touches
from benchvise.why.witness.untouched import put_last, touched_paths

MS = 1_000_000
UNKNOWN = MeasuredTimes(None, None, {}, {})

# -- the way through a command ---------------------------------------------------------------------

# A shell (1) starts a program (2), which resolves a name, computes and writes; milliseconds.
SHELL: list[Sequence[object]] = [
    ("task", 1, 0, 1000 * MS, 1, "sh"),
    ("task", 2, 100 * MS, 990 * MS, 0, "getent"),
    ("run", 1, 0, 100 * MS, 100 * MS, ""),
    ("call", 1, 100 * MS, 990 * MS, 0, "wait4"),
    ("wait", 1, 100 * MS, 990 * MS, 0, "waiting"),
    ("wake", 1, 990 * MS, 992 * MS, 2, "task:getent"),
    ("wait", 1, 990 * MS, 992 * MS, 0, "runnable"),
    ("run", 1, 992 * MS, 1000 * MS, 8 * MS, ""),
    ("run", 2, 100 * MS, 200 * MS, 90 * MS, ""),
    ("call", 2, 200 * MS, 900 * MS, 0, "poll"),
    ("wait", 2, 200 * MS, 900 * MS, 0, "waiting"),
    ("wake", 2, 900 * MS, 900 * MS, -1, "softirq:NET_RX"),
    ("run", 2, 900 * MS, 990 * MS, 90 * MS, ""),
    ("call", 2, 950 * MS, 980 * MS, 0, "write"),
    ("short", 2, 40, 20 * MS, 0, "brk"),
]


def spent(rows: Iterable[Sequence[object]]) -> dict[tuple[str, str, str], float]:
    found = spent_times(spans_of(rows))  # type: ignore[arg-type]
    return {(one.how, one.call, one.program): round(one.seconds * 1000, 6) for one in found}


def test_the_way_of_a_command_leads_through_its_children() -> None:
    found = spent(SHELL)
    assert found["waiting", "poll", "getent"] == 700
    assert found["kernel", "write", "getent"] == 30
    assert found["interrupts", "", "getent"] == 10
    assert found["user", "", "sh"] == 108
    assert found["runnable", "", "sh"] == 2
    # short calls are taken from the CPU time of the task that made them
    assert found["kernel", "brk", "getent"] == 20
    assert found["user", "", "getent"] == 130
    assert ("waiting", "wait4", "sh") not in found


def test_the_parts_of_a_command_are_all_of_its_time() -> None:
    assert sum(spent(SHELL).values()) == pytest.approx(1000)


def test_a_wait_that_nobody_of_the_command_ends_stays_one() -> None:
    rows = [row for row in SHELL if row[:2] != ("wake", 1)]
    assert spent(rows)["waiting", "wait4", "sh"] == 890


def test_processes_that_wait_for_each_other_come_to_an_end() -> None:
    rows: list[Sequence[object]] = [
        ("task", 1, 0, 100 * MS, 1, "a"),
        ("task", 2, 0, 100 * MS, 0, "b"),
    ]
    for actor, other in ((1, 2), (2, 1)):
        rows += [
            ("call", actor, 0, 100 * MS, 0, "read"),
            ("wait", actor, 0, 100 * MS, 0, "waiting"),
            ("wake", actor, 100 * MS, 100 * MS, other, "task:x"),
        ]
    assert sum(spent(rows).values()) == pytest.approx(100)


def test_a_timer_that_fires_while_a_child_runs_is_no_wait_for_the_child() -> None:
    rows = [("call", *row[1:5], "clock_nanosleep") if row[5] == "wait4" else row for row in SHELL]
    assert spent(rows)["waiting", "clock_nanosleep", "sh"] == 890


def test_a_trace_without_the_command_says_so() -> None:
    with pytest.raises(MeasurementError, match="does not hold the command"):
        spans_of([("task", 1, 0, 10, 0, "kworker")])


def test_time_that_no_event_tells_of_is_not_known() -> None:
    rows: list[Sequence[object]] = [("task", 1, 0, 100 * MS, 1, "sh"), ("run", 1, 0, MS, MS, "")]
    assert spent(rows)["unseen", "", "sh"] == 99


# -- what a call waits for -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "target", "by", "activity"),
    [
        ("connect", "192.0.2.53:53", "", Activity.RESOLVER),
        ("poll", "[2001:db8::1]:53", "softirq:NET_RX", Activity.RESOLVER),
        ("recvfrom", "192.0.2.1:5353", "", Activity.NETWORK),
        ("connect", "192.0.2.1:443", "", Activity.NETWORK),
        ("recvfrom", "socket", "", Activity.NETWORK),
        ("connect", "/run/nscd/socket", "", Activity.PROCESS),
        ("poll", "pipe", "", Activity.PROCESS),
        ("poll", "", "", Activity.TIMER),
        ("clock_nanosleep", "", "", Activity.TIMER),
        ("fsync", "/data/x", "", Activity.DISK),
        ("write", "/data/x", "", Activity.DISK),
        ("write", "/data/x", "task:kworker/u8:2", Activity.DISK),
        ("write", "/run/app.log", "task:log-driver", Activity.PROCESS),  # moby/moby#41714
        ("read", "", "softirq:BLOCK", Activity.DISK),
        ("read", "pipe", "", Activity.PROCESS),
        ("flock", "/run/xtables.lock", "", Activity.LOCK),
        ("futex", "", "", Activity.LOCK),
        ("wait4", "", "", Activity.PROCESS),
        ("ioctl", "/dev/ttyS0", "", Activity.OTHER),
        ("read", "/proc/kmsg", "", Activity.OTHER),
    ],
)
def test_what_a_call_waits_for(call: str, target: str, by: str, activity: Activity) -> None:
    assert waited_for(call, target, by) is activity


# -- both sides ------------------------------------------------------------------------------------


def about(name: str, target: str, count: int, seconds: float, errors: int = 0) -> CallsAbout:
    return CallsAbout(name, target, count, errors, seconds, seconds)


def side(poll_s: float, user_s: float, *calls: CallsAbout) -> SideWatch:
    return SideWatch(
        seconds=poll_s + user_s,
        spent=(
            SpentTime("waiting", "poll", "getent", "softirq:NET_RX", poll_s),
            SpentTime("user", "", "getent", "", user_s),
        ),
        followed_s=poll_s + user_s + 0.1,
        calls=calls,
        counts={"processes": 2.0},
        trace="/somewhere/trace.dat",
        cost_s=1.0,
    )


GOOD = side(0.01, 0.02, about("poll", "192.0.2.1:53", 1, 0.01))
BAD = side(
    5.01, 0.03, about("poll", "192.0.2.53:53", 1, 5.0), about("poll", "192.0.2.1:53", 1, 0.01)
)


def test_the_answer_names_call_address_and_kind() -> None:
    found = compare(GOOD, BAD, UNKNOWN)
    assert found.sentence == "100 % of the gap is waiting in poll to 192.0.2.53:53: name server"
    assert [part.activity for part in found.parts] == [Activity.RESOLVER]
    assert found.parts[0].share == pytest.approx(5.0 / 5.01)
    assert (found.good_s, found.bad_s) == (0.03, 5.04)
    assert found.bad_trace == "trace.dat"


def test_a_run_that_does_not_show_the_gap_tells_nothing_of_it() -> None:
    measured = MeasuredTimes(0.03, 20.0, {}, {})
    found = compare(GOOD, side(0.1, 0.02), measured)
    assert not found.parts
    assert found.is_doubtful
    assert "did not show the gap" in found.sentence


def test_sides_that_trials_do_not_tell_apart_are_blamed_for_nothing() -> None:
    assert compare(GOOD, BAD, MeasuredTimes(1.0, 0.9, {}, {})).is_doubtful


def test_programs_are_told_before_libraries() -> None:
    files = ("/lib/libz.so.1", "/usr/local/bin/gzip", "/etc/x")
    bad = side(0.0, 2.0, *(about("openat", file, 1, 0.0) for file in files))
    found = compare(side(0.0, 1.0), bad, UNKNOWN)
    assert found.bad_files == ("/usr/local/bin/gzip", "/lib/libz.so.1", "/etc/x")


def test_words_and_numbers_of_the_system_are_names_and_what_a_run_makes_is_none() -> None:
    """What only the bad side has in a directory of parts was taken for the other part of it."""
    both = ("/etc/lost.d/10-system", "/run/sort.Xa81bQ", "/var/spool/job.4711")
    new = ("/etc/lost.d/50-packages", "/usr/lib/locale/de/LC_CTYPE", "/srv/notes-weekly")
    aside = ("/usr/lib/python3/__pycache__/x.cpython-311.pyc.139872364772", "/run/sort.Yb72cR")
    good = side(0.0, 1.0, *(about("openat", file, 1, 0.0) for file in (*both, aside[0] + "9")))
    bad = side(0.0, 2.0, *(about("openat", file, 1, 0.0) for file in (*both, *new, *aside)))
    found = compare(good, bad, UNKNOWN)
    assert found.bad_files == (new[0], new[2], new[1])
    assert not found.good_files


def test_of_places_with_more_files_than_are_told_none_is_of_one_side() -> None:
    def went_through(begin: int, *more: str) -> SideWatch:
        files = (f"/usr/share/doc/part{number}/x" for number in range(begin, begin + 300))
        calls = (about("openat", file, 1, 0.0) for file in (*files, *more))
        return side(0.0, 1.0 + begin, *calls)

    good, bad = went_through(0), went_through(100, "/etc/parts")
    assert len(compare(good, bad, UNKNOWN).bad_files) > 1
    found = compare(replace(good, is_cut=True), bad, UNKNOWN)
    assert (found.good_files, found.bad_files) == ((), ("/etc/parts",))


def test_equal_sides_are_blamed_for_nothing() -> None:
    found = compare(GOOD, GOOD, UNKNOWN)
    assert not found.parts
    assert not found.bad_files
    assert "as long on both sides" in found.sentence


def test_a_file_that_is_looked_at_over_and_over_accuses_what_decides_about_it() -> None:
    """A recording that was full before the command ended told that the bad side was faster."""
    stat = about("newfstatat", "/etc/localtime", 231_778, 5.0)
    good = SideWatch(0.3, followed_s=0.3, calls=(about("read", "/x", 30, 0.001),))
    bad = SideWatch(None, followed_s=9.0, calls=(*good.calls, stat))
    counted = {"user_ns": 0.1e9, "sys_ns": 0.0}, {"user_ns": 0.1e9, "sys_ns": 0.72e9}
    found = compare(good, bad, MeasuredTimes(0.3, 1.1, *counted))
    assert found.sentence == (
        "90 % of the gap is CPU time in the kernel; "
        "newfstatat of /etc/localtime 231778 times on bad, 0 on good"
    )
    names = ("process.environment:EDITOR", "process.environment:TZ")
    suspects = [Suspect(name, "", Layer.PROCESS, name, "", "") for name in names]
    assert put_first(suspects, found)[0].id == "process.environment:TZ"


def test_what_could_not_be_watched_is_told_with_its_reason() -> None:
    none = SideWatch(missing={"recording of the kernel": "no tracefs"})
    found = compare(GOOD, none, UNKNOWN)
    assert found.sentence == "The command could not be watched on both sides: no tracefs"
    assert [(gap.side, gap.reason) for gap in found.missing] == [("bad", "no tracefs")]


def test_without_a_recording_the_calls_that_were_followed_tell() -> None:
    good, bad = (replace(one, seconds=None, spent=()) for one in (GOOD, BAD))
    found = compare(good, bad, UNKNOWN)
    assert found.sentence == "100 % of the gap is waiting in poll to 192.0.2.53:53: name server"


def test_without_a_recording_the_trials_tell_of_the_cpu() -> None:
    same = replace(GOOD, seconds=None, spent=(), followed_s=1.0)
    measured = MeasuredTimes(1.0, 3.0, {"user_ns": 0.9e9}, {"user_ns": 2.8e9})
    found = compare(same, same, measured)
    assert found.parts[0].activity is Activity.USER
    assert found.parts[0].share == pytest.approx(0.95)


def test_files_that_one_side_alone_opens_are_told_with_cpu_time() -> None:
    shared = about("openat", "/lib/libc.so.6", 1, 0.0)
    failed = about("openat", "/usr/local/lib/libz.so.1", 1, 0.0, errors=1)
    good = side(0.0, 1.0, shared, failed, about("openat", "/run/x1234", 1, 0.0))
    bad = side(
        0.0,
        2.0,
        shared,
        about("openat", "/usr/local/lib/libz.so.1", 1, 0.0),
        about("openat", "/run/x9876", 1, 0.0),
        about("openat", "/proc/77/stat", 1, 0.0),
    )
    found = compare(good, bad, UNKNOWN)
    assert found.bad_files == ("/usr/local/lib/libz.so.1",)
    assert found.good_files == ()
    assert found.sentence == (
        "100 % of the gap is CPU time of getent; only bad opens /usr/local/lib/libz.so.1"
    )


def test_cpu_time_that_the_kernel_spends_outside_of_calls_is_that_of_faults() -> None:
    good, bad = side(0.0, 1.0), side(0.0, 2.0)
    counted = [
        {"sys_ns": 0.1e9, "user_ns": 0.9e9, "faults_minor": 500.0},
        {"sys_ns": 1.1e9, "user_ns": 0.9e9, "faults_minor": 30_000.0},
    ]
    found = compare(good, bad, MeasuredTimes(1.0, 2.0, *counted))
    assert found.parts[0].activity is Activity.PAGE_FAULTS
    assert next(count.name for count in found.counts) == "faults_minor"


def test_counts_that_overlap_or_only_grow_with_the_time_are_no_difference() -> None:
    """Context switches of a busy machine were told as a difference of the command."""
    counted = (
        {"faults_minor": 500.0, "switches_waiting": 40.0, "stat.ctxt": 2e3, "vmstat.pgfault": 1e3},
        {"faults_minor": 900.0, "switches_waiting": 90.0, "stat.ctxt": 8e3, "vmstat.pgfault": 9e4},
    )
    apart = ("faults_minor", "stat.ctxt", "vmstat.pgfault")
    found = compare(side(0.0, 1.0), side(0.0, 4.0), MeasuredTimes(1.0, 4.0, *counted, apart))
    assert [count.name for count in found.counts] == ["faults_minor", "vmstat.pgfault"]


def loaded(user_s: float, runnable_s: float) -> SideWatch:
    spent = (
        SpentTime("user", "", "sort", "", user_s),
        SpentTime("runnable", "", "sort", "", runnable_s),
    )
    return SideWatch(seconds=user_s + runnable_s, spent=spent, followed_s=1.0)


def test_waiting_for_a_cpu_among_busy_neighbours_belongs_to_what_was_computed() -> None:
    found = compare(loaded(1.0, 2.0), loaded(3.0, 4.0), UNKNOWN)
    assert found.sentence == "100 % of the gap is CPU time of sort"


def test_waiting_for_a_cpu_that_one_side_alone_does_is_a_part_of_its_own() -> None:
    found = compare(loaded(1.0, 0.1), loaded(1.0, 4.0), UNKNOWN)
    assert found.sentence == "100 % of the gap is waiting for a CPU"


def test_who_computes_no_longer_waits_for_a_cpu_also_among_busy_neighbours() -> None:
    """A service that took the CPU was told as CPU time of the command, which was the same."""
    counted = {"user_ns": 0.4e9, "sys_ns": 0.02e9}
    measured = MeasuredTimes(0.5, 0.9, counted, counted)
    found = compare(loaded(0.4, 0.1), loaded(0.42, 0.46), measured)
    assert found.parts[0].activity is Activity.RUNNABLE
    longer = MeasuredTimes(0.5, 0.9, counted, {"user_ns": 0.75e9, "sys_ns": 0.02e9})
    assert compare(loaded(0.4, 0.1), loaded(0.75, 0.2), longer).parts[0].activity is Activity.USER


def test_what_is_spread_over_files_is_told_by_their_directory() -> None:
    files = [about("fsync", f"/data/d/f{n}", 1, 1.0) for n in range(5)]
    waited = SpentTime("waiting", "fsync", "dd", "", 5.0)
    bad = SideWatch(seconds=5.1, spent=(waited,), followed_s=5.2, calls=tuple(files))
    found = compare(side(0.0, 0.1), bad, UNKNOWN)
    assert found.parts[0].target == "/data/d/"
    assert found.sentence == "100 % of the gap is waiting in fsync of files below /data/d: disk"


def test_a_target_that_differs_by_a_trifle_is_not_named_before_that_with_the_time() -> None:
    """Followed, dd took no longer for its file; a message to /dev/null took a microsecond more."""
    waited = SpentTime("waiting", "write", "dd", "", 0.7)
    good = [about("write", "/data/out", 150, 0.30), about("write", "/dev/null", 3, 1e-6)]
    bad = [about("write", "/data/out", 150, 0.28), about("write", "/dev/null", 3, 2e-6)]
    found = compare(side(0.0, 0.4, *good), SideWatch(seconds=1.2, spent=(waited,), followed_s=1.2,
                    calls=tuple(bad)), UNKNOWN)  # fmt: skip
    assert (found.parts[0].target, found.parts[0].activity) == ("/data/out", Activity.DISK)


def test_files_without_a_directory_in_common_are_counted_and_not_one_of_them_named() -> None:
    """As where a compiler reads headers, libraries and plug-ins from everywhere."""
    places = ("/usr/lib/gcc", "/etc/ld", "/home/build", "/var/cache")
    files = [about("read", f"{places[n % 4]}/f{n}", 1, 0.1) for n in range(60)]
    waited = SpentTime("waiting", "read", "cc1", "", 6.0)
    bad = SideWatch(seconds=6.1, spent=(waited,), followed_s=6.2, calls=tuple(files))
    answer = compare(side(0.0, 0.1), bad, UNKNOWN)
    assert answer.parts[0].target == "60 files"
    assert "in read of 60 files" in answer.sentence
    files = [about("poll", f"192.0.2.{n}:53", 1, 0.1) for n in range(60)]
    bad = side(6.0, 0.1, *files)
    assert "60 targets" in compare(side(0.0, 0.1), bad, UNKNOWN).sentence


def test_no_share_in_the_answer_is_above_the_whole() -> None:
    """The bad side waits 6 s longer and computes 2 s less: the gap is 4 s."""
    answer = compare(side(0.0, 3.0), side(6.0, 1.0), UNKNOWN)
    assert answer.parts[0].share == pytest.approx(1.5)
    assert answer.sentence.startswith("100 % of what takes longer on bad is waiting in poll")


def test_calls_that_differ_in_number_or_time_are_listed() -> None:
    good = side(0.0, 1.0, about("close", "", 900, 0.001), about("read", "/x", 5, 0.1))
    bad = side(0.0, 2.0, about("close", "", 20_000, 0.9), about("read", "/x", 5, 0.1))
    found = compare(good, bad, UNKNOWN)
    assert [(call.name, call.good, call.bad) for call in found.calls] == [("close", 900, 20_000)]


def test_a_watch_is_the_same_after_the_evidence_log() -> None:
    assert decode(SideWatch, encode(BAD)) == BAD


def test_a_witness_is_a_document() -> None:
    found = compare(GOOD, BAD, UNKNOWN)
    assert decode(Witness, encode(found)).sentence == found.sentence


# -- whom it accuses -------------------------------------------------------------------------------


def suspect(name: str, points: float, *, item: str = "", title: str = "") -> Suspect:
    return Suspect(
        id=name,
        title=title or name,
        layer=Layer.RUN_TIME,
        item=item or name,
        good="a",
        bad="b",
        means=ProcessMeans({name: "a"}, {name: "b"}),
        terms=(Term("prior", points, "given"),),
    )


def witness(
    *parts: tuple[Activity, str, str], bad_files: tuple[str, ...] = (), share: float = 0.97
) -> Witness:
    return Witness(
        "given",
        1.0,
        9.0,
        tuple(
            WitnessPart(activity, call, target, "x", 0.0, 8.0, share, "what it does")
            for activity, call, target in parts
        ),
        bad_files=bad_files,
    )


LIKELY = suspect("cpu.governor", 3.0)


@pytest.mark.parametrize(
    ("touched", "seen"),
    [
        ("mount.sync", witness((Activity.DISK, "write", "/data/x"))),
        ("net.somaxconn", witness((Activity.NETWORK, "connect", "127.0.0.1:80"))),
        ("process.files:/etc/resolv.conf", witness((Activity.RESOLVER, "poll", "10.0.0.3:53"))),
        ("timer.resolution:slack", witness((Activity.TIMER, "clock_nanosleep", ""))),
        ("process.inherited:limit.nofile", witness((Activity.SYSTEM_CALLS, "close", ""))),
        ("cgroup.cpu_max", witness((Activity.RUNNABLE, "", ""))),
        ("vm.nr_overcommit_hugepages", witness((Activity.PAGE_FAULTS, "", ""))),
        ("irq.affinity", witness((Activity.INTERRUPTS, "", ""))),
        ("process.environment:LC_ALL", witness(bad_files=("/usr/lib/locale/C.utf8/LC_CTYPE",))),
        (
            "process.environment:TZ",
            witness((Activity.SYSTEM_CALLS, "newfstatat", "/etc/localtime")),
        ),
        ("libc.preload", witness(bad_files=("/usr/lib/shim.so",))),
        ("process.environment:PATH", witness(bad_files=("/usr/local/bin/gzip",))),
        ("userland:libz.so.1", witness(bad_files=("/usr/local/lib/libz.so.1",))),
    ],
)
def test_a_suspect_that_touches_what_differs_comes_first(touched: str, seen: Witness) -> None:
    others = (LIKELY, suspect("kernel.rcu_expedited", -2.0), suspect("devfreq.governor", -2.2))
    before = (*others, suspect(touched, -4.0))
    assert before[0] is LIKELY
    after = put_first(before, seen)
    assert after[0].id == touched
    assert after[0].terms[-1].name == NAME
    assert {one.id for one in after} == {one.id for one in before}


def test_a_place_that_the_call_is_about_tells_mounts_apart() -> None:
    data = suspect("mount.sync", -3.0, title="options of /data")
    home = replace(data, id="mount.sync:home", title="options of /home")
    found = put_first((home, data), witness((Activity.DISK, "fsync", "/data/x")))
    assert [one.title for one in found] == [data.title, home.title]


def test_what_is_about_the_very_call_comes_before_what_is_about_all_cpu_time() -> None:
    seen = witness((Activity.USER, "", ""), (Activity.SYSTEM_CALLS, "close", ""), share=0.45)
    before = (
        suspect("process.environment:PATH", -3.0),
        suspect("process.inherited:limit.nofile", -3.0),
    )
    assert put_first(before, seen)[0].id == "process.inherited:limit.nofile"


@pytest.mark.parametrize(
    ("target", "blamed"),
    [
        ("169.254.169.254:80", "net.routes:169.254.0.0/16"),
        ("192.0.2.7:80, 198.51.100.7:443", "net.routes:198.51.100.0/24 in table 100"),
        ("[2001:db8::7]:53", "net.routes:2001:db8::/32"),
        ("203.0.113.9:53", "net.filter"),
    ],
)
def test_the_route_or_rule_about_the_address_comes_first(target: str, blamed: str) -> None:
    names = ("default", "169.254.0.0/16", "198.51.100.0/24 in table 100", "2001:db8::/32", "1.2/99")
    routes = [suspect(f"net.routes:{name}", 2.0 - n) for n, name in enumerate(names)]
    rules = replace(suspect("net.filter", -3.0), bad="ip daddr 203.0.113.0/24 drop, 0.0.0.0/0")
    seen = witness((Activity.NETWORK, "connect", target))
    first = put_first((*routes, rules, suspect("net.arp_ignore", 3.0)), seen)[0]
    assert first.id == blamed
    assert blamed.partition(":")[2].partition(" ")[0] in first.terms[-1].reason


def test_a_variable_that_leads_to_the_slow_directory_comes_first() -> None:
    name = "process.environment:"
    home = replace(suspect(f"{name}HOME", -3.0, item=name[:-1]), good="/root", bad="/data/root")
    near = replace(suspect(f"{name}TMPDIR", 1.0, item=name[:-1]), good="/srv", bad="/data/roo")
    search = suspect(f"{name}PATH", 2.0, item=name[:-1])
    seen = witness(
        (Activity.DISK, "openat", "/data/root/.x/part0"), bad_files=("/usr/bin/python3",)
    )
    assert put_first((search, near, home), seen)[0].id == f"{name}HOME"


def test_the_file_that_is_waited_for_comes_before_one_that_is_opened_besides() -> None:
    beside, slow = (suspect(f"userland.file:/var/log/{name}", 0.0) for name in ("wtmp", "btmp"))
    logs = ("/var/log/btmp", "/var/log/wtmp")
    seen = witness((Activity.DISK, "read", "/var/log/btmp"), bad_files=logs, share=0.96)
    assert put_first((beside, LIKELY, slow), seen)[0] is not beside
    assert put_first((beside, LIKELY, slow), seen)[0].id == slow.id


def test_a_small_part_accuses_nobody() -> None:
    before = (LIKELY, suspect("mount.sync", -4.0))
    assert put_first(before, witness((Activity.DISK, "write", "/x"), share=0.1)) == before


def test_without_a_witness_nothing_changes() -> None:
    before = (suspect("a", 1.0), suspect("b", 2.0))
    assert put_first(before, None) == before


def test_what_cannot_be_tested_stays_behind_what_can() -> None:
    fixed = replace(suspect("mount.sync", -1.0), means=None)
    assert put_first((LIKELY, fixed), witness((Activity.DISK, "write", "/x")))[0] is LIKELY


# -- in a diagnosis --------------------------------------------------------------------------------

NAMES = ("cpu.governor", "vm.swappiness", "mount.sync", "kernel.randomize_va_space")
POINTS = {"cpu.governor": 2.0, "vm.swappiness": 1.0, "mount.sync": -2.0}


class Watched(MemoryBench):
    """Its command waits for a disk on the bad side, by ``watch``; ``watches`` counts."""

    watches = 0
    lost: BaseException | None = None

    @property
    def metric(self) -> Metric:
        spec = SeriesSpec("command.output", (("run", "work"),), "command.output")
        return Metric.of(spec, "1/s", "higher", command="work")

    def watch(self, side: Side, trace: Path | None) -> SideWatch:
        self.watches += 1
        if self.lost is not None:
            raise self.lost
        waited = SpentTime("waiting", "fsync", "work", "", 1.0 if side is Side.BAD else 0.01)
        computed = SpentTime("user", "", "work", "", 0.1)
        return SideWatch(
            seconds=waited.seconds + 0.1,
            spent=(waited, computed),
            calls=(about("fsync", "/data/x", 9, waited.seconds),),
            followed_s=2.0,
            trace="" if trace is None else str(trace),
        )


def watched(**more: object) -> Watched:
    return Watched(NAMES, losses(**{"mount.sync": 0.7}), **more)  # type: ignore[arg-type]


def test_a_diagnosis_watches_each_side_once_and_tries_first_what_touches_it() -> None:
    bench = watched()
    seen: list[events.Event] = []
    found = diagnose(bench, points=POINTS, events=seen)
    assert bench.watches == 2
    assert found.witness is not None
    assert found.witness.sentence == "100 % of the gap is waiting in fsync of /data/x: disk"
    (ranked,) = [event for event in seen if isinstance(event, events.SuspectsRanked)]
    assert ranked.suspects[0].id == "mount.sync"
    assert found.suspects[0].terms[-1].name == NAME
    assert [cause.name for cause in found.causes] == ["mount.sync"]
    (told,) = [event for event in seen if isinstance(event, events.CommandWatched)]
    assert told.witness == found.witness


def test_watching_is_no_trial() -> None:
    bench = watched()
    found = diagnose(bench, points=POINTS)
    assert len(found.trials) == bench.done
    without = diagnose(MemoryBench(NAMES, losses(**{"mount.sync": 0.7})), points=POINTS)
    assert without.witness is None
    assert found.gap is not None and without.gap is not None
    assert [t.value for t in found.trials[:10]] == [t.value for t in without.trials[:10]]


def test_what_was_watched_is_in_the_evidence_and_not_watched_again(tmp_path: Path) -> None:
    log = EvidenceLog.create(tmp_path)
    before = diagnose(watched(), points=POINTS, log=log)
    log.close()
    log = EvidenceLog.resume(tmp_path)
    bench = watched()
    after = diagnose(bench, points=POINTS, log=log)
    log.close()
    assert bench.watches == 0
    assert encode(after) == encode(before)
    assert before.witness is not None
    assert before.witness.bad_trace == "command-bad.dat"


def test_a_small_budget_is_for_the_search() -> None:
    bench = watched(trial_seconds=0.5)
    diagnose(bench, points=POINTS, options=DiagnosisOptions(seed=3, budget=1.2))
    assert bench.watches == 0


def test_a_board_that_is_lost_meanwhile_ends_the_diagnosis() -> None:
    bench = watched()
    bench.lost = BoardUnreachable("it is gone", "")
    assert diagnose(bench, points=POINTS).stopped is Stop.UNREACHABLE


def test_a_command_that_cannot_be_watched_is_diagnosed_all_the_same() -> None:
    bench = watched()
    bench.lost = NotAvailable("there is no second connection")
    found = diagnose(bench, points=POINTS)
    assert [cause.name for cause in found.causes] == ["mount.sync"]
    assert found.witness is not None
    assert {gap.reason for gap in found.witness.missing} == {"there is no second connection"}


def test_where_nothing_is_found_the_headline_says_what_the_command_does() -> None:
    bench = Watched(NAMES, losses(), rest=0.7)
    found = diagnose(bench)
    assert found.verdict is DiagnosisVerdict.UNEXPLAINED
    assert "waiting in fsync of /data/x: disk" in found.headline


def test_a_command_that_does_not_show_its_gap_is_watched_once_more() -> None:
    class Same(Watched):
        def watch(self, side: Side, trace: Path | None) -> SideWatch:
            return super().watch(Side.GOOD, trace)

    bench = Same(NAMES, losses(**{"mount.sync": 0.7}))
    found = diagnose(bench, points=POINTS)
    assert bench.watches == 4
    assert found.witness is not None
    assert found.witness.is_doubtful
    assert found.suspects[0].id == "cpu.governor"


# -- the table -------------------------------------------------------------------------------------

_FROM_DIFFERENCES = (
    *("process.environment:", "process.inherited:", "process.files", "userland", "libc.", "nic."),
    *("kernel.command_line:", "timer.resolution:", "process.confined:", "file."),
)


def test_who_waits_does_not_matter_where_all_wait_for_the_same() -> None:
    spent = (SpentTime("waiting", "clock_nanosleep", name, "", 1.0) for name in ("sh", "true"))
    found = compare(side(0.0, 1.0), replace(side(0.0, 3.0), spent=tuple(spent)), UNKNOWN)
    assert found.sentence == "100 % of the gap is waiting in clock_nanosleep: timer"


def test_where_the_same_is_asked_as_often_what_the_command_reads_comes_last() -> None:
    """Thousands of rules make each answer late: the list of hosts, read once, does not."""
    hosts = suspect("userland.file:/etc/hosts", -1.5, item="userland.file")
    rules = suspect("nft.table:inet/bans", -4.1, item="net.filter")
    seen = witness((Activity.NETWORK, "recvfrom", "10.0.0.1:5003"))

    def order(good: int, bad: int) -> list[str]:
        call = WitnessCall("recvfrom", "10.0.0.1:5003", good, bad, 0.02, 0.2)
        return [s.item for s in put_first((hosts, rules), replace(seen, calls=(call,)))]

    assert order(1200, 1200) == ["net.filter", "userland.file"]
    (_, last) = put_first(
        (hosts, rules),
        replace(seen, calls=(WitnessCall("recvfrom", "10.0.0.1:5003", 9, 9, 0.02, 0.2),)),
    )
    assert "as often on both sides" in last.terms[-1].reason
    # where more is asked, what was read may be why
    (_, last) = put_first(
        (rules, hosts),
        replace(seen, calls=(WitnessCall("recvfrom", "10.0.0.1:5003", 9, 90, 0.02, 0.2),)),
    )
    assert all("as often" not in term.reason for term in last.terms)


def test_every_touch_is_about_something_that_there_is() -> None:
    known = {*knobs(), *items_by_id()}
    for touch in touches():
        assert touch.activities or touch.files or touch.fails or touch.errors, touch
        for pattern in touch.names:
            is_known = any(fnmatchcase(name, pattern) for name in known)
            assert is_known or pattern.startswith(_FROM_DIFFERENCES), pattern
    named = [name for record in setting_programs() for name in record.names]
    assert all(name in known or name.startswith(_FROM_DIFFERENCES) for name in named)


@pytest.mark.parametrize(
    ("bad", "failing", "first"),
    [
        ((about("mq_open", "/calls", 3, 0.0, errors=1),), ("mq_open",), "limit.msgqueue"),
        # who looks for files on the way to them fails everywhere
        ((about("openat", "/lib/libc.so.6", 30, 0.0, errors=9),), (), "environment:PATH"),
        ((about("mq_open", "/calls", 2, 0.0),), (), "environment:PATH"),
    ],
)
def test_what_is_refused_on_the_bad_side_leads_to_what_refuses_it(
    bad: tuple[CallsAbout, ...], failing: tuple[str, ...], first: str
) -> None:
    """osvenskan/posix_ipc#21: RLIMIT_MSGQUEUE, and the program takes a shorter queue."""
    of_good = (about("mq_open", "/calls", 2, 0.0), about("openat", "/lib/libc.so.6", 2, 0.0))
    good, other = loaded(0.4, 0.1), loaded(0.4, 9.0)
    found = compare(
        replace(good, calls=of_good), replace(other, calls=bad), MeasuredTimes(0.5, 9.4, {}, {})
    )
    assert found.failing == failing
    assert ("mq_open fails on bad only" in found.sentence) == bool(failing)
    names = ("process.environment:PATH", "process.inherited:limit.msgqueue")
    suspects = [
        Suspect(name, "", Layer.PROCESS, name.partition(":")[0], "1", "2") for name in names
    ]
    assert put_first(suspects, found)[0].id.endswith(first)


def test_files_decide_nothing_about_the_cpu_that_others_take() -> None:
    """A time zone that one side alone opens came before the weight of the control group."""
    good, bad = loaded(0.4, 0.1), loaded(0.4, 9.0)
    zone = about("openat", "/usr/share/zoneinfo/UTC", 1, 0.0)
    found = compare(good, replace(bad, calls=(zone,)), MeasuredTimes(0.5, 9.4, {}, {}))
    assert found.parts[0].activity is Activity.RUNNABLE
    names = ("process.environment:TZ", "cgroup.cpu_shares")
    suspects = [Suspect(name, "", Layer.PROCESS, name, "", "") for name in names]
    assert put_first(suspects, found)[0].id == "cgroup.cpu_shares"


def test_a_service_that_left_takes_nothing_from_the_command() -> None:
    """It came before the setting of the neighbours that the command waited for."""
    left, came = (
        replace(suspect(f"service.state:{name}", -1.0, item="system.services"), good=good, bad=bad)
        for name, good, bad in (("gone", "running", "not there"), ("new", "not there", "running"))
    )
    setting = suspect("net.neigh_sysctl:eth0/mcast_solicit", -2.0)
    seen = witness((Activity.NETWORK, "connect", "10.77.0.200:5003"))
    order = [one.id for one in put_first((left, came, setting), seen)]
    assert order == [came.id, setting.id, left.id]


def test_a_service_that_was_seen_idle_takes_nothing_from_the_command() -> None:
    """Daemons that slept stood before the variable that was the cause, as the network was waited
    for, which others can take."""
    came = suspect("service.state:new", -2.0, item="system.services")
    idle, awake = (
        replace(came, bad="running"),
        replace(came, id="service.state:sends", bad="running"),
    )
    slept = Term("busy", -0.5, "took no CPU there")
    idle = replace(idle, terms=(*idle.terms, slept))
    awake = replace(awake, terms=(*awake.terms, slept, Term("witness", 2.0, "woke 90 times")))
    other = suspect("process.environment:MAKEFLAGS", -2.2)
    seen = witness((Activity.NETWORK, "poll", "10.77.0.1:3128"))
    order = [one.id for one in put_first((idle, awake, other), seen)]
    assert order == [awake.id, other.id, idle.id]


def test_a_line_of_a_start_file_touches_what_it_sets() -> None:
    """A line that loads packet filters came behind mounts that the command never touched."""
    seen = compare(
        side(0.1, 0.1, about("recvfrom", "192.0.2.1:80", 9, 0.1)),
        side(5.1, 0.1, about("recvfrom", "192.0.2.1:80", 9, 5.1)),
        UNKNOWN,
    )
    seen = replace(seen, parts=(replace(seen.parts[0], activity=Activity.NETWORK),))
    lines = [
        Suspect(
            f"boot.init_settings:{file}", "", Layer.INIT_SETTINGS, "boot.init_settings", "", text
        )
        for file, text in (
            ("/etc/sysctl.conf", "vm.swappiness = 1"),
            ("/etc/rc.local", '["nft -f /etc/nftables.conf"]'),
        )
    ]
    assert put_first(lines, seen)[0].id == "boot.init_settings:/etc/rc.local"
    fragments = replace(lines[0], id="boot.init_settings:60", bad='["net.ipv4.ipfrag_low_thresh"]')
    first, last = put_first((lines[0], fragments), seen)
    assert (first.id, last.id) == ("boot.init_settings:60", lines[0].id)


def test_a_mount_that_the_command_never_touches_comes_last() -> None:
    calls = (about("openat", "/data/x", 1, 0.0), about("connect", "/var/run/a", 1, 0.0))
    both = (side(0.0, 1.0, *calls), side(0.0, 2.0, *calls))
    paths = touched_paths(both)
    assert paths is not None and sorted(paths) == ["/data/x", "/run/a"]
    assert touched_paths((both[0], replace(both[1], remarks=("12 calls are in no sum",)))) is None

    def mounted(points: Sequence[str]) -> Snapshot:
        table = {"/": "a ext4 rw", **{point: f"{point} tmpfs rw" for point in points}}
        entry = StateEntry("storage.mounts", "mounts", value=table, path="/proc/self/mountinfo")
        return Snapshot("board", "2026-01-01T00:00:00Z", "boot", "root", (entry,), ())

    def order(*differing: str) -> list[str]:
        sides = {Side.GOOD: mounted([]), Side.BAD: mounted(differing)}
        mounts = Suspect(
            "storage.mounts", "", Layer.RUN_TIME, "storage.mounts", "", "",
            ("storage.mounts/mounts",),
        )  # fmt: skip
        other = Suspect(
            "kernel.x", "", Layer.KERNEL, "kernel.x", "", "", terms=(Term("a", -1, ""),)
        )
        return [one.id for one in put_last((mounts, other), sides, paths)]

    assert order("/media/ram", "/srv") == ["kernel.x", "storage.mounts"]
    assert order("/media/ram", "/run") == ["storage.mounts", "kernel.x"]
    assert order("/data") == ["storage.mounts", "kernel.x"]


# -- files that only one side has ------------------------------------------------------------------


class WithFiles(Watched):
    """The bad side has a hook of an interpreter that the good one does not have."""

    def watch(self, side: Side, trace: Path | None) -> SideWatch:
        seen = super().watch(side, trace)
        opened = ["/usr/lib/a.so", "/var/cache/x", "/usr/lib/python3/hook.py"]
        if side is Side.BAD:
            opened += ["/usr/lib/python3/agent.pth"]
        return replace(seen, calls=(*seen.calls, *(about("openat", f, 1, 0.0) for f in opened)))

    def digests(self, side: Side, paths: Sequence[str]) -> Mapping[str, str]:
        assert "/data/x" not in paths
        mine = {"/usr/lib/a.so": "a", "/var/cache/x": str(side), "/usr/lib/python3/hook.py": "h"}
        return mine | ({"/usr/lib/python3/agent.pth": "p"} if side is Side.BAD else {})


def test_a_file_that_only_one_side_has_and_the_command_opens_is_told_first() -> None:
    """What an interpreter loads by itself was in no list of settings, and so was never named."""
    bench = WithFiles(NAMES, losses(), rest=0.7)
    found = diagnose(bench, points=POINTS)
    assert found.verdict is DiagnosisVerdict.UNEXPLAINED
    first, *others = found.untested
    assert first.suspect == "userland.file:/usr/lib/python3/agent.pth"
    assert (first.good, first.bad) == ("not there", "p")
    assert first.command == "mv -- /usr/lib/python3/agent.pth /usr/lib/python3/agent.pth.away"
    assert all("a.so" not in other.suspect for other in others)


def test_calls_that_the_probe_has_no_name_for_are_named_by_the_architecture() -> None:
    """Was: "syscall 15: 1730 times on bad"."""
    assert named_call("syscall 15", "x86_64") == "rt_sigreturn"
    assert named_call("syscall 139", "aarch64") == named_call("syscall 139", "riscv64")
    assert named_call("syscall 139", "aarch64") == "rt_sigreturn"
    assert named_call("syscall 119", "arm") == "sigreturn"
    assert named_call("syscall 427", "mips") == "io_uring_register"
    for unknown in ("syscall 99999", "syscall", "openat", "syscall 1 2"):
        assert named_call(unknown, "x86_64") == unknown


# -- what other programs do meanwhile --------------------------------------------------------------


def processes(*rows: tuple[int, str, int, int], locks: Sequence[int] = ()) -> str:
    """What a board says of processes: number, name, memory in kB and wake-ups."""
    text = "".join(
        f"Name:\t{name}\nPid:\t{pid}\nVmRSS:\t  {kb} kB\nvoluntary_ctxt_switches:\t{wakes}\n"
        for pid, name, kb, wakes in rows
    )
    return text + "".join(
        f"lock 1: FLOCK  ADVISORY  WRITE {pid} 00:2f:12345 0 EOF\n" for pid in locks
    )


def test_a_service_that_holds_the_lock_or_wakes_often_comes_before_those_that_sleep() -> None:
    """Was: services that take no CPU all stood in the order of the alphabet."""
    rows = [(7, "sleeper", 900, 3), (8, "holder", 900, 3), (9, "flusher", 900, 10)]
    before = parse_sample(processes(*rows), 10.0)
    later = [(7, "sleeper", 900, 3), (8, "holder", 900, 3), (9, "flusher", 900, 250),
             (10, "new", 1, 99)]  # fmt: skip
    after = parse_sample(processes(*later, locks=[8]), 20.0)
    seen = {one.name: one for one in activities(before, after)}
    assert set(seen) == {"sleeper", "holder", "flusher"}
    assert seen["flusher"].wakes_per_s == 24.0 and seen["holder"].locks == 1
    suspects = [
        replace(
            suspect(f"service.state:{name}", -3.0, item="system.services"), bad="running",
            members=(f"system.services/program {name}",), means=None,
        )
        for name in ("sleeper", "flusher", "holder")
    ]  # fmt: skip
    watched = SideWatch(neighbours=tuple(seen.values()))
    order = [one.id for one in put_active_first(suspects, {Side.BAD: watched}, None)]
    assert order == ["service.state:flusher", "service.state:holder", "service.state:sleeper"]
    assert put_active_first(suspects, {}, None) == tuple(suspects)
    assert parse_sample("nonsense\nlock 1: x\nPid: y\n", 1.0) is None


STATS = """Name:\t{name}
Pid:\t{process}
stat {process} ({name}) S {parent} 7 7 0 -1 4194560 1 0 0 0 {user} 1 {children} 0 20 0 1 0 90 1 1"""


def test_who_takes_the_cpus_beside_the_command_is_told_with_its_children() -> None:
    def told(seconds: int) -> ProcessSample:
        rows = [
            ("sshd", 10, 1, 0, 0),
            ("sh", 11, 10, 90 * seconds, 0),  # the command
            ("kswapd0", 12, 2, 90 * seconds, 0),
            ("collect (v2)", 13, 1, 0, 40 * seconds),
            ("idler", 14, 1, seconds, 0),
        ]
        lines = [
            STATS.format(name=n, process=p, parent=parent, user=user, children=children)
            for n, p, parent, user, children in rows
        ]
        return parse_sample("\n".join(lines), float(seconds)) or ProcessSample(0.0)

    assert busiest(told(10), told(20)) == {13: pytest.approx(0.4)}
    cpus = {one.name: one.cpus for one in activities(told(10), told(20))}
    assert cpus["collect (v2)"] == 0.4 and cpus["idler"] == 0.01
    assert busiest(None, told(20)) == {}


def runs(name: str, good: str, bad: str) -> Suspect:
    return replace(
        suspect(f"service.state:{name}", -3.0, item="system.services"), good=good, bad=bad,
        members=(f"system.services/program {name}",), means=None,
    )  # fmt: skip


def test_a_program_that_the_command_misses_comes_before_those_that_only_differ() -> None:
    """A cache of names that was never started: each lookup goes all the way."""
    suspects = [runs("idler", "not there", "running"), runs("nscd", "running", "not there")]
    asked = Partner("nscd", ("/run/nscd/socket",))
    watches = {Side.GOOD: SideWatch(partners=(asked,)), Side.BAD: SideWatch()}
    first = put_active_first(suspects, watches, None)[0]
    assert first.id == "service.state:nscd"
    assert "by /run/nscd/socket on good" in first.terms[-1].reason
    # one that runs on both sides is not missed, whoever asks it
    there = SideWatch(neighbours=(NeighbourActivity("nscd", 1.0, 1.0, 0),))
    again = put_active_first(suspects, {**watches, Side.BAD: there}, None)
    assert not any("talks to" in term.reason for one in again for term in one.terms)


def test_who_is_refused_a_lock_waits_for_whoever_holds_it() -> None:
    """SQLite asks for the lock, sleeps, and asks again: it never waits in the call."""
    both = [runs("idler", "not there", "running"), runs("holder", "not there", "running")]
    seen = (NeighbourActivity("idler", 1.0, 1.0, 0), NeighbourActivity("holder", 1.0, 1.0, 1))
    watches = {Side.BAD: SideWatch(neighbours=seen)}
    for failing, first in (((), "idler"), (("fcntl",), "holder")):
        witness = Witness("", None, None, failing=failing)
        assert put_active_first(both, watches, witness)[0].id == f"service.state:{first}"


def test_a_name_in_the_directory_that_a_process_is_in_is_of_the_disk() -> None:
    """Was: nothing that is known, so that no mount was touched by it."""
    assert waited_for("openat", "17") is waited_for("unlinkat", "a/b") is Activity.DISK
    assert waited_for("mkdir", "new") is Activity.DISK
    assert waited_for("openat", "/proc/stat") is Activity.OTHER
    assert waited_for("read", "pipe") is Activity.PROCESS
