"""Profiles that confine what a command runs, which who runs it does not see."""

from __future__ import annotations

import pytest
from why_suspects import snapshot

from benchvise.why.model import Side
from benchvise.why.witness.model import CallsAbout, Partner, SideWatch
from benchvise.why.witness.profiles import complaining, profile_suspects

LIST = "kernel.security/profiles of AppArmor"
RUNS = CallsAbout("execve", "/usr/bin/tcpdump", 1, 0, 0.0, 0.0)
WATCH = SideWatch(calls=(RUNS,), partners=(Partner("named", program=("/usr/sbin/named",)),))


@pytest.mark.parametrize(
    ("good", "bad", "line"),
    [
        ([], ["/usr/bin/tcpdump (enforce)"], "aa-complain /usr/bin/tcpdump"),
        (["tcpdump (complain)"], ["tcpdump (enforce)"], "aa-complain tcpdump"),
        ([], ["/usr/sbin/n* (enforce)"], "aa-complain '/usr/sbin/n*'"),
        (["/usr/bin/tcpdump (enforce)"], [], ""),
        (["/usr/bin/tcpdump (enforce)"], ["/usr/bin/tcpdump (enforce)"], None),
        ([], ["/usr/bin/man (enforce)"], None),
    ],
)
def test_a_profile_of_what_the_command_runs_is_a_suspect(
    good: list[str], bad: list[str], line: str | None
) -> None:
    snapshots = {Side.GOOD: snapshot({LIST: good}), Side.BAD: snapshot({LIST: bad})}
    lines = [complaining(s) for s in profile_suspects(dict.fromkeys(Side, WATCH), snapshots)]
    assert lines == ([] if line is None else [line])
