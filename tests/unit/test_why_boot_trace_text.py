"""Reading what a traced boot shows, and holding an origin against it."""

from __future__ import annotations

import pytest

from benchvise.errors import UsageError
from benchvise.text import Untrusted
from benchvise.why.model import Origin, Side
from benchvise.why.provenance.boot_trace import Writer, tracing_arguments, with_proof, written_in

THP = "/sys/kernel/mm/transparent_hugepage/enabled"

# As Linux 6.1 and 6.12 print it.
TRACE = f"""# tracer: nop
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
        rc.local-106     [000] d....     4.022682: bv_open: (do_filp_open+0x0/0x154) name="/etc/rc"
        rc.local-106     [000] .....     4.032376: sched_process_exec: filename=/etc/rc.local \
pid=106 old_pid=106
        rc.local-106     [000] d....     4.080085: bv_open: (do_filp_open+0x0/0x154) name="{THP}"
 systemd-sysctl-99       [001] d....     4.080900: bv_open: (do_filp_open+0x0/0x154) \
name="/proc/sys/vm//swappiness"
        rc.local-106     [000] d....     4.090973: bv_sys: (kernfs_fop_write_iter+0x0/0x200)
 systemd-sysctl-99       [001] d..1.     4.100000: bv_proc: (proc_sys_write+0x0/0x20)
    a - b-c (x)-12      (    12) [003] dN.2.  5.100000: bv_open: (do_filp_open+0x0/0x154) \
name="{THP}"
    a - b-c (x)-12      (    12) [003] dN.2.  5.200000: bv_sys: (kernfs_fop_write_iter+0x0/0x200)
          nobody-7      [000] d....     6.000000: bv_sys: (kernfs_fop_write_iter+0x0/0x200)
CPU:0 [LOST 12 EVENTS]
"""


def origin(file: str, kind: str = "rc.local") -> Origin:
    return Origin(Side.BAD, kind, Untrusted(file), 2, Untrusted("echo"), certain=True)


def writer(path: str, seconds: float, process: str, pid: int, program: str = "") -> Writer:
    return Writer(Untrusted(path), seconds, Untrusted(process), pid, Untrusted(program))


def test_writers_are_told_by_the_file_that_they_opened_last() -> None:
    assert written_in(TRACE) == (
        writer(THP, 4.090973, "rc.local", 106, "/etc/rc.local"),
        writer("/proc/sys/vm/swappiness", 4.1, "systemd-sysctl", 99),
        writer(THP, 5.2, "a - b-c (x)", 12),
    )
    assert [w.pid for w in written_in(TRACE, "/proc/sys/vm/*")] == [99]


def test_an_origin_is_proven_or_put_in_doubt() -> None:
    first, sysctl, last = written_in(TRACE)
    proven = with_proof(origin("/etc/rc.local"), [first])
    assert proven.certain
    assert "wrote it 4.091 s after the start" in proven.note.raw
    doubted = with_proof(origin("/etc/rc.local"), [first, last])
    assert not doubted.certain
    assert "a - b-c (x)" in doubted.note.raw
    assert with_proof(origin("/etc/sysctl.d/9.conf", "sysctl.d"), [sysctl]).certain
    assert not with_proof(origin("/etc/rc.local"), []).certain


@pytest.mark.parametrize(
    "trace", ["", "\n" * 1000, "x" * 200_000, "\0\x1b[31m", "a-1 [0] x 1.0: bv_sys: " * 20_000]
)
def test_any_text_is_survived(trace: str) -> None:
    assert written_in(trace) == ()


def test_the_words_are_those_of_an_architecture() -> None:
    assert "name=+0(+0(%x1)):string" in tracing_arguments("aarch64")
    assert " " not in tracing_arguments("riscv64").split(" trace_event=")[0]
    with pytest.raises(UsageError, match="mips"):
        tracing_arguments("mips")
