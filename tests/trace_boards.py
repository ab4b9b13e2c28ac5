"""What tests of recording share: the kernel's trace files as they are, and a stand-in for them."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import skips
from probe_programs import ROOT

PAGE = 4096
HEADER_PAGE = (
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
    "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"
)
STATS = "entries: 0\noverrun: 0\ncommit overrun: 0\ndropped events: 0\nread events: 7\n"
# what mounts tracefs for itself, whether anybody has mounted it or not
_LOOK = (
    "mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing; "
    "cd /sys/kernel/tracing && ls instances && cat tracing_on trace_clock buffer_size_kb "
    "current_tracer set_event && cat events/enable"
)


def can_record() -> str:
    """Why nothing can be recorded here, or nothing."""
    if os.geteuid() != 0:
        return str(skips.reason("root"))
    if missing := skips.lacking("unshare"):
        return missing
    looked = subprocess.run(
        ["unshare", "-m", "sh", "-c", _LOOK], capture_output=True, text=True, check=False
    )
    return "" if looked.returncode == 0 else str(skips.reason("tracefs", looked.stderr))


@contextmanager
def recording() -> Iterator[None]:
    """Skips the test, with the reason, where nothing can be recorded. Tests about recorders run one
    at a time; other tests may record meanwhile.
    """
    if why := can_record():
        skips.skip_for(why)
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / ".tests-recording").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def tracing_state() -> str:
    """All of tracefs that a recorder could leave changed, instances of other tests left out."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", _LOOK], capture_output=True, text=True, check=True
    )
    return re.sub(r"(?m)^benchvise-\S+\n", "", done.stdout)


def left_behind() -> list[str]:
    """The instances whose recorder is no more. Those of a living one may be another test's: `why`
    records, and so do the commands of the guide.
    """
    return [name for name in instances() if not Path(f"/proc/{_recorder(name)}").exists()]


def instance_of(program: int) -> str:
    """The instance of the recorder that this program has started on this machine, or nothing."""
    return next((name for name in instances() if _descends(_recorder(name), program)), "")


def _recorder(instance: str) -> int:
    return int(instance.split("-")[1])


def _descends(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def instances() -> list[str]:
    """The instances of recorders that there are, of this test and of others."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", _LOOK], capture_output=True, text=True, check=True
    )
    return re.findall(r"(?m)^benchvise-\d+-\d+$", done.stdout)


def reported(path: Path) -> int:
    """Events of a trace.dat by trace-cmd, which must have nothing to complain of."""
    skips.need("trace-cmd")
    done = subprocess.run(
        ["trace-cmd", "report", str(path)], capture_output=True, text=True, check=True
    )
    assert "error" not in done.stderr.lower(), done.stderr
    return len(re.findall(r"(?m)^ .*-\d+ +\[\d+\]", done.stdout))


def page(stamp: int, events: int, *, lost: bool = False) -> bytes:
    """A sub-buffer of that many records of four bytes of data each."""
    record = (1).to_bytes(4, "little") + b"\x01\x00\x00\x00"
    data = record * events
    commit = len(data) | (1 << 31 if lost else 0)
    head = stamp.to_bytes(8, "little") + commit.to_bytes(8, "little")
    return (head + data).ljust(PAGE, b"x")  # what lies behind is left over


def stand_in(root: Path, pages: tuple[bytes, ...], *, instances: bool = False) -> Path:
    """A directory with the files of tracefs; the kernel behind them makes no instances."""
    files = {
        "tracing_on": "1\n",
        "trace": "old\n",
        "trace_clock": "[local] global mono\n",
        "buffer_size_kb": "7 (expanded: 1408)\n",
        "current_tracer": "nop\n",
        "set_event": "",
        "trace_marker": "",
        "printk_formats": "",
        "saved_cmdlines": "1 init\n",
        "events/header_page": HEADER_PAGE,
        "events/header_event": "# compressed entry header\n",
        "events/ftrace/print/format": "name: print\nID: 5\n",
        "events/sched/enable": "0\n",
        "events/sched/sched_switch/enable": "0\n",
        "events/sched/sched_switch/format": "name: sched_switch\nID: 300\n",
        "per_cpu/cpu0/stats": STATS,
        "per_cpu/cpu1/stats": STATS,
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "per_cpu/cpu0/trace_pipe_raw").write_bytes(b"".join(pages))
    (root / "per_cpu/cpu1/trace_pipe_raw").write_bytes(b"")
    if instances:
        (root / "instances").mkdir()
    return root
