"""What fails on the bad side alone, and with which error; what processes may not do there."""

from __future__ import annotations

import errno
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from probe_programs import run

from benchvise.board.messages import CallMessage, ConfinementMessage, read_message
from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.witness.compare import MeasuredTimes, compare
from benchvise.why.witness.confinement import (
    CONFINED,
    SESSION,
    confinement_suspects,
    started_free,
    without_session,
)
from benchvise.why.witness.failures import error_name
from benchvise.why.witness.model import CallsAbout, ProcessConfinement, SideWatch, Witness
from benchvise.why.witness.touching import put_first

pytest_plugins = ["probe_fixtures"]
UNTIMED = MeasuredTimes(None, None, {}, {})


def test_errors_are_called_as_this_kernel_calls_them() -> None:
    wrong = {
        number: (name, error_name(number))
        for number, name in errno.errorcode.items()
        if error_name(number) not in (name, f"error {number}")
        and getattr(errno, error_name(number), 0) != number  # EAGAIN is EWOULDBLOCK
    }
    assert not wrong
    assert error_name(512) == error_name(0) == ""


def call(name: str, target: str, count: int, errors: int, number: int = 0) -> CallsAbout:
    return CallsAbout(name, target, count, errors, 0.0, 0.0, number)


def witness(good: tuple[CallsAbout, ...], bad: tuple[CallsAbout, ...]) -> Witness:
    sides = [SideWatch(calls=calls, followed_s=time) for calls, time in ((good, 1.0), (bad, 2.0))]
    return compare(sides[0], sides[1], UNTIMED)


def test_a_file_that_is_missing_on_the_bad_side_is_told_with_the_error() -> None:
    good = (call("openat", "/x/y", 400, 0), call("wait4", "", 2, 1, errno.ECHILD))
    bad = (call("openat", "/x/y", 400, 400, errno.ENOENT), call("wait4", "", 2, 2, errno.ECHILD))
    told = witness(good, bad)
    assert "; openat fails 400 times with ENOENT on bad alone: /x/y" in told.sentence
    (row,) = told.failures
    assert (row.error, row.good, row.bad, row.is_granted) == ("ENOENT", 0, 400, True)


def test_what_every_program_is_refused_is_not_told() -> None:
    """The linker looks for libraries in several places; who polls is told to come again."""
    calls = (
        call("openat", "/lib/a.so", 1, 1, errno.ENOENT),
        call("recvmsg", "socket", 900, 400, errno.EAGAIN),
        call("ioctl", "", 3, 3, errno.ENOTTY),
        call("poll", "", 3, 3, 516),
    )
    assert witness((), calls).failures == ()


def test_a_name_that_is_new_in_each_run_is_not_told_to_be_missing() -> None:
    """Git makes a directory for the first object whose name begins so."""
    bad = (call("openat", "/srv/x/objects/17", 3, 3, errno.ENOENT),)
    assert witness((call("openat", "/srv/x/objects/42", 3, 0),), bad).failures == ()
    once = witness(
        (call("openat", "/etc/x", 1, 0),), (call("openat", "/etc/x", 1, 1, errno.ENOENT),)
    )
    assert len(once.failures) == 1 and "ENOENT" not in once.sentence  # "only good opens" says it


def test_a_program_that_one_side_alone_runs_comes_before_what_that_opens() -> None:
    hook = (call("execve", "/usr/share/hooks/pre-commit", 1, 0), call("execve", "/bin/git", 1, 0))
    told = witness((), (*(call("openat", f"/usr/lib/{n}.so", 1, 0) for n in "abc"), *hook))
    assert told.bad_files[:2] == ("/usr/share/hooks/pre-commit", "/bin/git")


def test_many_files_of_one_directory_are_one_failure() -> None:
    bad = tuple(call("openat", f"/srv/cache/{n}x", 9, 9, errno.EACCES) for n in "abcdef")
    good = tuple(call("openat", f"/srv/cache/{n}x", 9, 0) for n in "abcdef")
    (row,) = witness(good, bad).failures
    assert (row.target, row.bad, row.error) == ("/srv/cache/", 54, "EACCES")


def likely(name: str, item: str = "") -> Suspect:
    return Suspect(name, name, Layer.RUN_TIME, item or name, "1", "2", terms=(Term("p", 0, ""),))


@pytest.mark.parametrize(
    ("failing", "cause"),
    [
        (call("openat", "/x", 9, 9, errno.EMFILE), "process.inherited:limit.nofile"),
        (call("clone3", "", 30, 30, errno.EAGAIN), "process.inherited:limit.nproc"),
        (call("mlock", "", 30, 30, errno.EPERM), f"{CONFINED}capabilities"),
        (call("statx", "", 30, 30, errno.ENOSYS), f"{CONFINED}seccomp"),
        (call("connect", "192.0.2.1:80", 1, 1, errno.ETIMEDOUT), "net.routes:192.0.2.0/24"),
        (call("connect", "192.0.2.1:80", 1, 1, errno.ECONNREFUSED), "service.state:httpd"),
        (call("rename", "/data/x", 9, 9, errno.EROFS), "storage.mounts:/data"),
    ],
)
def test_what_can_make_a_call_fail_so_comes_first(failing: CallsAbout, cause: str) -> None:
    told = witness((call(failing.name, failing.target, failing.count, 0),), (failing,))
    others = ("cpu.governor", "vm.swappiness", "net.tcp_sack", "process.inherited:nice")
    ranked = put_first(tuple(map(likely, (*others, cause))), told)
    assert ranked[0].id == cause
    assert errno.errorcode[failing.errno] in ranked[0].terms[-1].reason


def confined(**values: str) -> SideWatch:
    usual = {
        "Seccomp": "0",
        "Seccomp_filters": "0",
        "NoNewPrivs": "0",
        "CapEff": "1ff",
        "profile": "unconfined",
    }
    return SideWatch(confinements=(ProcessConfinement("/bin/cp", {**usual, **values}),))


@pytest.mark.parametrize(
    ("values", "name", "bad", "line"),
    [
        ({"Seccomp": "2", "Seccomp_filters": "1"}, "seccomp", "a filter", "SystemCallFilter="),
        ({"NoNewPrivs": "1"}, "no_new_privs", "1", "NoNewPrivileges=no"),
        ({"CapEff": "1fd"}, "capabilities", "without CAP_DAC_OVERRIDE", "CapabilityBoundingSet="),
        ({"profile": "cp (enforce)"}, "profile", "cp (enforce)", "aa-exec -p unconfined"),
    ],
)  # fmt: skip
def test_each_way_to_confine_the_command_is_a_suspect(
    values: Mapping[str, str], name: str, bad: str, line: str
) -> None:
    watches = {Side.GOOD: confined(), Side.BAD: confined(**values)}
    (suspect,) = confinement_suspects(watches)
    assert (suspect.id, suspect.bad, suspect.means) == (f"{CONFINED}{name}", bad, None)
    assert line in started_free(suspect, "cp a b") and "'cp a b'" in started_free(suspect, "cp a b")
    session = Suspect("kernel.security", "", Layer.RUN_TIME, "kernel.security", "", "", (SESSION,))
    assert without_session((session, suspect), (suspect,)) == (suspect,)
    assert without_session((session,), ()) == (session,)
    (freer,) = confinement_suspects({Side.GOOD: watches[Side.BAD], Side.BAD: watches[Side.GOOD]})
    assert freer.log_odds < suspect.log_odds and not started_free(freer, "cp a b")


def test_processes_that_may_the_same_are_no_suspects() -> None:
    assert not list(confinement_suspects({side: confined() for side in Side}))
    assert not list(confinement_suspects({Side.GOOD: confined(), Side.BAD: SideWatch()}))
    assert not list(confinement_suspects({}))


def test_the_probe_tells_errors_and_what_processes_may_not_do(probe: Path) -> None:
    """By prctl(2) as another language calls it, in one of two processes."""
    program = "import ctypes; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0); open('/etc/passwd')"
    python = f"{shlex.quote(sys.executable)} -S -E -c {shlex.quote(program)}"
    result = run([probe, "follow", "--run", f"cat /not/there; {python}"])
    messages = [read_message(json.dumps(line).encode()) for line in result.lines]
    failed = [m for m in messages if isinstance(m, CallMessage) and m.target.raw == "/not/there"]
    assert {error_name(message.errno) for message in failed} == {"ENOENT"}
    seen = [m for m in messages if isinstance(m, ConfinementMessage)]
    assert [m.values["NoNewPrivs"] for m in seen] == ["0", "1"]  # alike ones once
    own = subprocess.run(["grep", "CapEff", "/proc/self/status"], capture_output=True, check=True)
    assert {m.values["CapEff"] for m in seen} == {own.stdout.decode().split()[1]}
