"""Proof of an origin: a boot with tracing on, told by the command line, that shows who wrote what.

tracing_arguments("aarch64") -> str              to add to the kernel's command line for one boot
written_in(trace, "/sys/…") -> (Writer, …)    which processes wrote a file during that boot, when
with_proof(origin, writers) -> Origin         the origin, with what was seen

The kernel sets probes (kprobe_event=, Documentation/trace/kprobetrace.rst) before it starts the
first program: where files are opened, with the name, and where files of /sys and /proc/sys are
written. A write is one of the file that its process opened last. It takes a kernel with
CONFIG_KPROBE_EVENTS; what it has no symbol for is left out with a line in its log, so that names
of older and newer kernels stand side by side.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchvise.errors import UsageError
from benchvise.text import NO_TEXT, Untrusted
from benchvise.why.model import Origin
from benchvise.why.provenance.globs import overlap
from benchvise.why.provenance.origins import also_noted
from benchvise.why.provenance.targets import canonical

TRACE = ("/sys/kernel/tracing/trace", "/sys/kernel/debug/tracing/trace")
"""Where the board shows it after the boot, once tracefs is mounted."""

_SECOND_ARGUMENT: Mapping[str, str] = {
    "x86_64": "%si", "aarch64": "%x1", "armv7hf": "%r1", "armv6hf": "%r1", "riscv64": "%a1",
}  # fmt: skip
# do_filp_open(directory, struct filename *, …), whose first field is the name, since Linux 3.15.
_OPEN = "p:bv_open,do_filp_open,name=+0(+0({register})):string"
_WRITES = {"bv_sys": "kernfs_fop_write_iter", "bv_sys_old": "kernfs_fop_write",
           "bv_proc": "proc_sys_write"}  # fmt: skip
_BUFFER = "trace_buf_size=4M"

_EVENT = re.compile(
    r"\s*(?P<comm>.{1,16}?)-(?P<pid>\d{1,10})\s+(?:\([ \d-]+\)\s+)?\[\d+\]\s+\S+\s+"
    r"(?P<time>\d{1,9}\.\d{1,9}): (?P<event>\w{1,40}): (?P<rest>.*)"
)
_NAME = re.compile(r'name="([^"]{1,4096})"')
_PROGRAM = re.compile(r"filename=(\S{1,4096})")
_MOST_LINES = 1_000_000
_LINE = 8192

# Who carries out the lines of files that no process is called by.
_READERS: Mapping[str, tuple[str, ...]] = {
    "sysctl.d": ("systemd-sysctl", "sysctl"),
    "sysctl.conf": ("systemd-sysctl", "sysctl"),
    "tmpfiles.d": ("systemd-tmpfile", "tmpfiles"),
    "udev": ("systemd-udevd", "(udev-worker)", "udevd", "sh"),
    "modprobe.d": ("modprobe", "systemd-modules", "(udev-worker)", "systemd-udevd", "kmod"),
    "tuned profile": ("tuned",),
    "TLP": ("tlp",),
}


@dataclass(frozen=True, slots=True)
class Writer:
    """A process that wrote a file: ``seconds`` since the kernel started, ``program`` what it
    last executed, empty where that was not seen."""

    path: Untrusted
    seconds: float
    process: Untrusted
    pid: int
    program: Untrusted = NO_TEXT


def tracing_arguments(arch: str) -> str:
    """The words to add to the command line of one boot; UsageError for an unknown architecture."""
    if arch not in _SECOND_ARGUMENT:
        raise UsageError(
            f"boot tracing does not know the registers of {arch}",
            f"it knows {', '.join(_SECOND_ARGUMENT)}",
        )
    probes = [_OPEN.format(register=_SECOND_ARGUMENT[arch])]
    probes += [f"p:{name},{symbol}" for name, symbol in _WRITES.items()]
    return f"kprobe_event={';'.join(probes)} trace_event=sched:sched_process_exec {_BUFFER}"


def written_in(trace: str, target: str = "") -> tuple[Writer, ...]:
    """Who wrote files of /sys and /proc/sys, or those that a pattern means, in the order of time.

    ``trace`` is the text of ``TRACE``; lines of anything else are passed over.
    """
    opened: dict[int, str] = {}
    programs: dict[int, Untrusted] = {}
    writers: list[Writer] = []
    for line in trace.split("\n", _MOST_LINES)[:_MOST_LINES]:
        match = _EVENT.match(line[:_LINE])
        if match is None:
            continue
        pid, event = int(match["pid"]), match["event"]
        if event == "bv_open":
            name = _NAME.search(match["rest"])
            if name is not None and name[1].startswith(("/sys/", "/proc/")):
                opened[pid] = posixpath.normpath(name[1])
        elif event == "sched_process_exec":
            executed = _PROGRAM.search(match["rest"])
            if executed is not None:
                programs[pid] = Untrusted(executed[1])
        elif event in _WRITES and pid in opened:
            if target and not overlap(canonical(opened[pid]), canonical(target)):
                continue
            path, process = Untrusted(opened[pid]), Untrusted(match["comm"].strip())
            program = programs.get(pid, NO_TEXT)
            writers.append(Writer(path, float(match["time"]), process, pid, program))
    return tuple(writers)


def with_proof(origin: Origin, writers: Sequence[Writer]) -> Origin:
    """The origin with what a traced boot showed: certain when the last one who wrote the file is
    who runs the origin's line, uncertain when it is somebody else or nobody."""
    if not writers:
        note = also_noted(origin, "nobody wrote it in a boot that was traced")
        return replace(origin, certain=False, note=note)
    last = writers[-1]
    who = f"{last.process:20} ({last.program or 'program not seen'}, process {last.pid})"
    seen = f"in a boot that was traced {who} wrote it {last.seconds:.3f} s after the start"
    if is_runner(origin, last):
        return replace(origin, certain=True, note=also_noted(origin, seen))
    return replace(origin, certain=False, note=also_noted(origin, f"{seen}, last of all"))


def is_runner(origin: Origin, writer: Writer) -> bool:
    """Whether a process is one that runs an origin's line."""
    if writer.program == origin.file:
        return True
    script = posixpath.basename(origin.file.raw)[:15]  # as much as the kernel keeps of a name
    return writer.process.raw in (script, *_READERS.get(origin.kind, ()))
