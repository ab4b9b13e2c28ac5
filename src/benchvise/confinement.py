"""A process that takes away its own rights before it reads what strangers made, and its own life
when there is nobody any more whom it works for.

- **Memory**: ``RLIMIT_DATA``, so that what asks for too much is refused instead of the machine.
- **Files**: Landlock (Linux 5.13). What is not named may be neither read nor written.
- **Network and more**: a seccomp filter. Sockets of the network, tracing and loading of kernel
  code, and where nothing may be started also that, fail with EPERM.

What the kernel does not have is not enforced, and ``confine`` says so. A process cannot take any
of it back, nor can what it starts.

Sources: landlock(7), seccomp(2), getrlimit(2); include/uapi/linux/landlock.h, audit.h, filter.h.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.abc import MetaPathFinder
from pathlib import Path

from benchvise.host_system import SIGKILL, supports, system_name
from benchvise.text import last_line

if supports("linux"):
    _libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a process may still do. ``readable`` and ``writable`` are files, or directories with
    all below them; a writable one may be read. With ``programs`` it may start what it can read,
    use UNIX sockets, and hear of devices. ``memory`` is in bytes, beyond what the process has when
    it is confined.
    """

    readable: Sequence[Path] = ()
    writable: Sequence[Path] = ()
    programs: bool = False
    memory: int | None = None


def confine(confinement: Confinement) -> list[str]:
    """Confines this process, from now on; returns what this kernel does not enforce.

    Threads that run already are not held by Landlock and seccomp: call it before there are any.
    """
    if not supports("linux"):
        return [f"nothing is confined: {system_name()} has neither Landlock nor seccomp"]
    missing = []
    if confinement.memory is not None:
        limit_memory(confinement.memory)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if reason := _restrict_files(confinement):
        missing.append(f"files beyond those named can be opened: {reason}")
    if reason := _filter_calls(programs=confinement.programs):
        missing.append(f"the network can be used: {reason}")
    return missing


def dies_before_others() -> None:
    """Where the machine's memory ends all the same, the kernel takes this process first.

    See proc_pid_oom_score_adj(5). Before ``confine``: it is a file.
    """
    if supports("linux"):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def share_of_memory(share: float) -> int | None:
    """A part of the machine's memory, bytes; None where nothing is confined."""
    if not supports("linux"):
        return None
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * share)


def python_places() -> list[Path]:
    """What a Python program has to read: the system's libraries, the interpreter's, ours."""
    imported = [Path(entry) for entry in sys.path if entry]
    return [*_SYSTEM, Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1], *imported]


def import_no_table_libraries() -> None:
    """Makes pandas and polars not importable in this process.

    PyArrow and DuckDB look for them when they first meet a list or a table. That takes 0.3 s where
    they are installed, fails halfway once no file may be read any more, and nothing here uses them.
    """
    sys.meta_path.insert(0, _NoTableLibraries())


class _NoTableLibraries(MetaPathFinder):
    """Finds nothing, loudly. A module that is None in ``sys.modules`` would be taken for one by
    what Cython compiled."""

    def find_spec(self, fullname: str, *_: object) -> None:
        """Raises ModuleNotFoundError for what is not to be found."""
        if fullname in ("pandas", "polars"):
            raise ModuleNotFoundError(f"{fullname} is not used in this process", name=fullname)


DEVICES = tuple(map(Path, ("/dev/null", "/dev/urandom", "/dev/shm")))  # noqa: S108 - none is made
"""What libraries write to, or read random numbers of."""

_SYSTEM = tuple(
    map(Path, ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc", "/proc", "/sys", "/opt"))
)


def what_is_missing() -> list[str]:
    """What this kernel does not enforce, tried in a process of its own."""
    program = "from benchvise.confinement import *; print(chr(10).join(confine(Confinement())))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return [f"a process cannot be confined: {last_line(done.stderr.encode())}"]
    return [line for line in done.stdout.splitlines() if line]


def dies_with_us(signal_number: int = SIGKILL) -> Callable[[], None]:
    """What a child has to call before its program starts, to be signalled when we end.

    See prctl(2). A parent that ended in between is noticed by having become another one.
    """
    return partial(dies_with, os.getpid(), signal_number)


def dies_with(parent: int, signal_number: int = SIGKILL) -> None:
    """This process, which ``parent`` started, is signalled when that ends, where Linux runs."""
    if not supports("linux"):
        return
    _libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


_PR_SET_PDEATHSIG = 1

# -- memory ----------------------------------------------------------------------------------------


def limit_memory(more: int) -> None:
    """Takes away all memory but what the process has now and ``more`` bytes, where Linux runs."""
    if not supports("linux"):
        return
    import resource  # Windows has none

    limit = _data_size() + more
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _data_size() -> int:
    """What counts to RLIMIT_DATA now, bytes: writable memory that is the process's own."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.split("VmData:")[1].split()[0]) * 1024


# -- files -----------------------------------------------------------------------------------------

_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_VERSION = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_FIRST_RIGHTS = (1 << 13) - 1
"""Of the first version: all that there is to do with files but linking and truncating."""
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_DEVICES = 0b111111 << 6 & ~(1 << 7 | 1 << 8)
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
"""The rights that a rule for a file, not a directory, may name."""


def _restrict_files(confinement: Confinement) -> str:
    """Why it could not be done; empty where it was."""
    version = _libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return f"this kernel has no Landlock ({os.strerror(ctypes.get_errno())})"
    rights = _FIRST_RIGHTS | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    attributes = struct.pack("Q", rights)
    rules = _libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    if rules < 0:
        return os.strerror(ctypes.get_errno())
    try:
        read = _READ_FILE | _READ_DIR | (_EXECUTE if confinement.programs else 0)
        _allow(rules, confinement.readable, read)
        _allow(rules, confinement.writable, rights & ~_DEVICES & ~_EXECUTE)
        if _libc.syscall(_LANDLOCK_RESTRICT_SELF, rules, 0) < 0:
            return os.strerror(ctypes.get_errno())
    finally:
        os.close(rules)
    return ""


def _allow(rules: int, paths: Iterable[Path], rights: int) -> None:
    for path in paths:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there needs no right
        try:
            mine = rights if path.is_dir() else rights & _OF_FILES
            rule = struct.pack("=Qi", mine, place)
            _libc.syscall(_LANDLOCK_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
        finally:
            os.close(place)


# -- system calls ----------------------------------------------------------------------------------

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_PR_SET_NO_NEW_PRIVS = 38
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1
"""What a filter answers: go on; or fail with EPERM."""
_AF_UNIX, _AF_NETLINK = 1, 16
_UEVENTS = 15
"""NETLINK_KOBJECT_UEVENT: the kernel tells of devices that come and go, and nothing can be said to
it. libusb opens it, and with it all of libsigrok, or does not start."""
_X32 = 0x40000000
"""Calls of another table by the same entry, on x86-64."""

# Audit architecture, and numbers of calls.
_SOCKET, _STARTING, _NEVER = "socket", "starting", "never"
_CALLS: dict[str, tuple[int, dict[str, tuple[int, ...]]]] = {
    "x86_64": (
        0xC000003E,
        {
            _SOCKET: (41,),
            _STARTING: (59, 322, 53),  # execve, execveat, socketpair
            # ptrace, mount, kexec_load, init_module, process_vm_*, finit_module, bpf, io_uring_*
            _NEVER: (101, 165, 246, 175, 310, 311, 313, 321, 425, 426, 427),
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            _SOCKET: (198,),
            _STARTING: (221, 281, 199),
            _NEVER: (117, 40, 104, 105, 270, 271, 273, 280, 425, 426, 427),
        },
    ),
    "riscv64": (
        0xC00000F3,
        {
            _SOCKET: (198,),
            _STARTING: (221, 281, 199),
            _NEVER: (117, 40, 104, 105, 270, 271, 273, 280, 425, 426, 427),
        },
    ),
}


def _filter_calls(*, programs: bool) -> str:
    """Why it could not be done; empty where it was."""
    machine = platform.machine()
    if machine not in _CALLS:
        return f"the numbers of its system calls are not known for {machine}"
    architecture, calls = _CALLS[machine]
    refused = (*calls[_NEVER], *(() if programs else calls[_STARTING]))
    steps = [
        _step(_LOAD, 4),  # the architecture
        _step(_EQUAL, architecture, 1, 0),
        _step(_RETURN, _REFUSE),
        _step(_LOAD, 0),  # the number of the call
        _step(_AT_LEAST, _X32, 0, 1),
        _step(_RETURN, _REFUSE),
    ]
    for number in refused:
        steps += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _REFUSE)]
    (socket,) = calls[_SOCKET]
    steps += [_step(_EQUAL, socket, 0, 6 if programs else 1)]
    if programs:  # of sockets those of this machine only: family, then protocol
        steps += [
            _step(_LOAD, 16),
            _step(_EQUAL, _AF_UNIX, 4, 0),
            _step(_EQUAL, _AF_NETLINK, 0, 2),
            _step(_LOAD, 32),
            _step(_EQUAL, _UEVENTS, 1, 0),
        ]
    steps += [_step(_RETURN, _REFUSE), _step(_RETURN, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(steps))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0) != 0:
        return f"this kernel has no seccomp filters ({os.strerror(ctypes.get_errno())})"
    return ""


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
