"""Takes away from Python what Windows or macOS has not, before a program begins.

``STAND_IN_SYSTEM`` names the system. Whoever has this directory first in ``PYTHONPATH`` gets
a Python that, as far as imports and calls of the program can tell, runs there. It is no such
system: paths, code pages, sharing of open files and what libraries do there are not tried.
"""

import builtins
import ctypes
import enum
import os
import signal
import struct
import subprocess
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

SYSTEM = os.environ.get("STAND_IN_SYSTEM", "")

NOT_ON_MACOS = {
    "os": (
        "sched_getaffinity", "sched_setaffinity", "pidfd_open", "O_PATH", "memfd_create", "eventfd",
        "posix_fadvise", "splice", "setns", "unshare", "getrandom",
    ),
    "socket": ("AF_NETLINK", "SO_PEERCRED", "AF_PACKET", "AF_VSOCK", "AF_CAN"),
    "select": ("epoll",),
    "signal": ("pidfd_send_signal", "SIGRTMIN", "SIGRTMAX"),
}  # fmt: skip

NOT_ON_WINDOWS = {
    "os": (
        *NOT_ON_MACOS["os"], "fork", "forkpty", "killpg", "setsid", "getuid", "geteuid", "getgid",
        "getegid", "getgroups", "getpgid", "uname", "chown", "lchown", "fchown", "statvfs",
        "fstatvfs", "pread", "pwrite", "preadv", "O_NOFOLLOW", "O_CLOEXEC", "O_NOCTTY",
        "O_NONBLOCK", "O_DIRECTORY", "O_SYNC", "mkfifo", "mknod", "nice", "sysconf", "openpty",
        "ttyname", "WIFSIGNALED", "WTERMSIG", "WEXITSTATUS", "WIFEXITED", "getloadavg", "sendfile",
        "ST_RDONLY", "lockf", "posix_spawn", "posix_openpt", "wait", "wait3", "wait4", "sync",
    ),
    "socket": (*NOT_ON_MACOS["socket"], "AF_UNIX", "send_fds", "recv_fds", "CMSG_LEN"),
    "select": ("epoll", "poll"),
    "signal": (
        *NOT_ON_MACOS["signal"], "SIGKILL", "SIGHUP", "SIGBUS", "SIGALRM", "SIGPIPE", "SIGUSR1",
        "SIGUSR2", "SIGCHLD", "SIGWINCH", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGQUIT", "SIGTRAP",
        "pthread_sigmask", "setitimer", "getitimer", "alarm", "pause", "sigwait", "pthread_kill",
        "ITIMER_REAL", "sigpending", "siginterrupt",
    ),
}  # fmt: skip

NO_MODULES = ("fcntl", "grp", "pwd", "pty", "readline", "resource", "syslog", "termios", "tty")

LINUX_PLACES = ("/proc/", "/sys/")


def take_away(absent: Mapping[str, Sequence[str]]) -> None:
    """Deletes names of modules, which stay gone for whoever imports them later."""
    for module, names in absent.items():
        imported = __import__(module)
        for name in names:
            for holder in (imported, sys.modules.get("_" + module), sys.modules.get("posix")):
                if holder is not None and hasattr(holder, name):
                    delattr(holder, name)


def put(holder: object, name: str, value: object) -> None:
    """Has a module or class say something else."""
    setattr(holder, name, value)


def be_macos() -> None:
    """No Linux calls, no /proc, and the name."""
    uname = os.uname()
    named = os.uname_result(("Darwin", uname.nodename, "24.0.0", "made up", uname.machine))
    put(os, "uname", lambda: named)
    take_away(NOT_ON_MACOS)
    hide_places()


def be_windows() -> None:
    """Nor what Unix has."""
    standard_signal = signal.SIGKILL
    locking = stand_in_for_msvcrt()
    # Those of the standard library that need what goes away are imported before it does.
    for module in ("asyncio", "multiprocessing", "tempfile", "uuid"):
        __import__(module)
    import shutil
    import socket

    statvfs = os.statvfs

    def disk_usage(path: str) -> Any:
        status = statvfs(path)
        block = status.f_frsize
        return shutil._ntuple_diskusage(
            status.f_blocks * block,
            (status.f_blocks - status.f_bfree) * block,
            status.f_bavail * block,
        )

    put(shutil, "disk_usage", disk_usage)
    os.environ["NUMPY_MADVISE_HUGEPAGE"] = "1"  # else numpy for Linux asks for the kernel's version
    take_away(NOT_ON_WINDOWS)
    signals = {
        member.name: member.value
        for member in signal.Signals
        if member.name not in NOT_ON_WINDOWS["signal"]
    }
    put(signal, "Signals", enum.IntEnum("Signals", list(signals.items())))
    put(socket, "socketpair", loopback_pair)
    for name in NO_MODULES:
        vars(sys)["modules"][name] = None
    sys.modules["msvcrt"] = locking

    def killed(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            os.kill(process.pid, standard_signal)

    put(subprocess.Popen, "kill", killed)
    hide_places()
    library = ctypes.CDLL

    def no_program_itself(name: str | None, *arguments: Any, **options: Any) -> Any:
        if name is None:
            raise TypeError("a program has no symbols here")
        return library(name, *arguments, **options)

    put(ctypes, "CDLL", no_program_itself)


def loopback_pair(*_arguments: object) -> tuple[Any, Any]:
    """As ``socket.socketpair`` makes one on Windows."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    return near, far


def stand_in_for_msvcrt() -> types.ModuleType:
    """``locking`` as Windows has it: one byte at the position, of the open file."""
    import errno
    import fcntl

    open_file_lock = 37  # F_OFD_SETLK
    module = types.ModuleType("msvcrt")
    unlock = 0
    vars(module).update(LK_UNLCK=unlock, LK_LOCK=1, LK_NBLCK=2)

    def locking(descriptor: int, mode: int, size: int) -> None:
        kind = fcntl.F_UNLCK if mode == unlock else fcntl.F_WRLCK
        start = os.lseek(descriptor, 0, os.SEEK_CUR)
        lock = struct.pack("hhqqi4x", kind, os.SEEK_SET, start, size, 0)
        try:
            fcntl.fcntl(descriptor, open_file_lock, lock)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    vars(module)["locking"] = locking
    return module


def hide_places() -> None:
    """Opening or listing what only Linux has fails, for Python's own calls."""

    def look(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir") and arguments:
            place = arguments[0]
            if isinstance(place, str) and f"{place}/".startswith(LINUX_PLACES):
                raise builtins.FileNotFoundError(2, "No such file or directory", place)

    sys.addaudithook(look)


if SYSTEM == "Darwin":
    be_macos()
elif SYSTEM == "Windows":
    be_windows()
