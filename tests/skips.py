"""Why a test may be left out: the whole list.

Every skip goes through this module, so its reason is one of those below, with how to get what is
missing. ``suite_report`` prints them as a table, and in strict runs judges them by their kind.
``test_skips`` looks for skips that go round the list.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"

LONG = os.environ.get("BENCHVISE_LONG", "") not in ("", "0")
"""Whether there is time for everything. Tests that do more then are marked ``long``, so that
``make test-nightly`` finds them."""


class SkipKind(Enum):
    """What is missing. Where strict, only the last two are always allowed."""

    PACKAGE = "package"
    """A program of a Debian package: allowed where apt does not have the package."""
    BUILD = "build"
    """Something that ``make`` builds or fetches."""
    DATA = "data"
    """Real recordings beside the checkout: allowed where there is no ``../shared`` at all."""
    MACHINE = "machine"
    """What this machine's hardware, kernel or user do not allow."""
    REQUEST = "request"
    """Runs only when asked for."""


PACKAGES: Mapping[str, str] = {
    "babeltrace2": "babeltrace2",
    "bmaptool": "bmap-tools",
    "busybox": "busybox-static",
    "bzip2": "bzip2",
    "c++filt": "binutils",
    "cc": "gcc",
    "chromium-headless-shell": "chromium-headless-shell",
    "dash": "dash",
    "debugfs": "e2fsprogs",
    "dmsetup": "dmsetup",
    "dtc": "device-tree-compiler",
    "dumpe2fs": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "fish": "fish",
    "gcc": "gcc",
    "groff": "groff-base",
    "gzip": "gzip",
    "initdb": "postgresql",
    "ip": "iproute2",
    "iperf3": "iperf3",
    "lbzip2": "lbzip2",
    "losetup": "mount",
    "lttng": "lttng-tools",
    "lttng-gen-tp": "liblttng-ust-dev",
    "lttng-sessiond": "lttng-tools",
    "mcopy": "mtools",
    "mdir": "mtools",
    "mke2fs": "e2fsprogs",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.vfat": "dosfstools",
    "mksh": "mksh",
    "mkswap": "util-linux",
    "mmd": "mtools",
    "mount": "mount",
    "nft": "nftables",
    "nm": "binutils",
    "node": "nodejs",
    "pbzip2": "pbzip2",
    "perf": "linux-perf",
    "pigz": "pigz",
    "pkill": "procps",
    "readelf": "binutils",
    "setpriv": "util-linux",
    "sfdisk": "fdisk",
    "sigrok-cli": "sigrok-cli",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "stat": "coreutils",
    "strace": "strace",
    "sysctl": "procps",
    "systemd-sysctl": "systemd",
    "systemd-tmpfiles": "systemd",
    "tc": "iproute2",
    "tcsh": "tcsh",
    "timeout": "coreutils",
    "trace-cmd": "trace-cmd",
    "unshare": "util-linux",
    "wrk": "wrk",
    "xz": "xz-utils",
    "zsh": "zsh",
    "zstd": "zstd",
}
"""Programs that tests start, and the Debian package of each. Emulators: see ``package_of``."""

BUILDS: Mapping[str, str] = {
    "trace decoder": "make install (takes Rust: https://rustup.rs)",
    "probe": "make probes",
    "web pages": "make web",
    "guest kernel": "make guest-kernel",
    "board image": "make demo says what fails",
    "uv": "make install",
}

DATA: Mapping[str, str] = {
    "traces": "unpack the data beside the checkout: ../shared/data/traces",
    "captures": "unpack the data beside the checkout: ../shared/data/captures",
}

MACHINE: Mapping[str, str] = {
    "perf events": "sysctl kernel.perf_event_paranoid=2, on a kernel with perf events",
    "root": "run the tests as root",
    "address space randomisation": "sysctl kernel.randomize_va_space=2",
    "benchmark": "another machine: this one's probe says why not",
    "board": "nothing: what the simulated board does not do",
    "byte limits": "sysctl vm.dirty_background_bytes=0",
    "confinement": "a kernel with Landlock (5.13) and seccomp filters",
    "cpu_dma_latency": "a kernel that lets this user write /dev/cpu_dma_latency",
    "device nodes": "a directory that is not mounted nodev",
    "/dev/full": "mount /dev",
    "memory file system": "mount a tmpfs on /dev/shm",
    "disk": "a root file system on a block device",
    "emulator": "a real board: the emulator would be tested",
    "fault": "another kernel: strace's fault did not strike where it should",
    "foreign programs": "a machine without binfmt_misc for this architecture",
    "git checkout": "git clone",
    "huge pages": "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    "IPv6": "a kernel with IPv6 on the loopback interface",
    "kernel configuration": "a kernel with CONFIG_IKCONFIG_PROC",
    "loop devices": "root, and a kernel (or container) with /dev/loop-control",
    "mount": "root, and a container that may mount (CAP_SYS_ADMIN)",
    "mount entry of /": "a system that is not a bare chroot",
    "namespaces": "root, and a container that may make them (CAP_SYS_ADMIN)",
    "page size": "a kernel with pages of 4 KiB",
    "postgres user": "adduser --system postgres",
    "ptrace": "a container that may trace (CAP_SYS_PTRACE)",
    "qdisc": "a kernel with this queueing discipline (modprobe)",
    "root directory": "a container that may change it (CAP_SYS_CHROOT)",
    "settings": "a container that may write this setting",
    "SMT": "a CPU without SMT siblings",
    "storage tool": "root, and a kernel that has what this tool sets up",
    "strace": "a container that may trace (CAP_SYS_PTRACE)",
    "tracefs": "root, and a kernel with tracefs",
    "two CPUs": "a machine with several",
    "vDSO": "a CPU whose clock the vDSO reads",
    "veth": "a kernel with veth",
    "wide pipes": "sysctl fs.pipe-max-size=1048576",
}

REQUEST: Mapping[str, str] = {
    "long": "BENCHVISE_LONG=1",
    "nothing to do": "nothing: this combination says nothing new",
}

NAMES: Mapping[SkipKind, Mapping[str, str]] = {
    SkipKind.BUILD: BUILDS,
    SkipKind.DATA: DATA,
    SkipKind.MACHINE: MACHINE,
    SkipKind.REQUEST: REQUEST,
}


@dataclass(frozen=True, slots=True)
class SkipReason:
    """A reason of the list. ``detail`` is free text that this machine gave."""

    kind: SkipKind
    name: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.name}" + (f" ({self.detail})" if self.detail else "")

    @property
    def remedy(self) -> str:
        """What to do so that the test runs."""
        if self.kind is SkipKind.PACKAGE:
            return f"apt install {self.name}"
        return NAMES[self.kind][self.name]

    @property
    def is_allowed(self) -> bool:
        """Whether a strict run may leave tests out for it on this machine."""
        match self.kind:
            case SkipKind.PACKAGE:
                return not is_installable(self.name)
            case SkipKind.DATA:
                return not SHARED.is_dir()
            case kind:
                return kind in (SkipKind.MACHINE, SkipKind.REQUEST)


def package_of(program: str) -> str:
    """The Debian package of a program that tests start. KeyError: add it to ``PACKAGES``."""
    if program.startswith("qemu-system-"):
        family = program.removeprefix("qemu-system-")
        known = {"aarch64": "arm", "arm": "arm", "x86_64": "x86", "i386": "x86"}
        return f"qemu-system-{known.get(family, 'misc')}"
    if program.startswith("qemu-"):
        return "qemu-user-static"
    return PACKAGES[program]


@cache
def is_installable(package: str) -> bool:
    """Whether apt has the package: installed already, or to be had."""
    try:
        policy = subprocess.run(
            ["apt-cache", "policy", package], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return False
    return "Candidate: " in policy and "Candidate: (none)" not in policy


def reason(name: str, detail: object = "") -> SkipReason:
    """The reason of that name. KeyError: it is in none of the lists above."""
    line = " ".join(str(detail).split())[:200]
    for kind, names in NAMES.items():
        if name in names:
            return SkipReason(kind, name, line)
    raise KeyError(f"{name!r} is no reason to skip a test: see {Path(__file__).name}")


def parse(text: str) -> SkipReason | None:
    """The reason that a test reports as having been skipped for; None if it is not of the list."""
    kind, _, rest = text.partition(": ")
    name, _, detail = rest.partition(" (")
    try:
        reason = SkipReason(SkipKind(kind), name, detail.removesuffix(")"))
    except ValueError:
        return None
    listed = {*PACKAGES.values(), "qemu-user-static"}
    if reason.kind is SkipKind.PACKAGE:
        return reason if name in listed or name.startswith(("qemu-system-", "libc6-")) else None
    return reason if name in NAMES[reason.kind] else None


def skip(name: str, detail: object = "", *, module: bool = False) -> NoReturn:
    """Leaves the test out, or the whole ``module``, for a reason of the list."""
    pytest.skip(str(reason(name, detail)), allow_module_level=module)


def skip_for(text: str) -> NoReturn:
    """Leaves the test out for a reason that was found before."""
    assert parse(text), text
    pytest.skip(text)


def packages(name: str, *others: str) -> str:
    """The reason of missing Debian packages; the first stands for all."""
    return str(SkipReason(SkipKind.PACKAGE, name, ", ".join(others)))


def skip_packages(name: str, *others: str) -> NoReturn:
    """Leaves the test out as these Debian packages are missing."""
    pytest.skip(packages(name, *others))


def lacking(*programs: str, path: str | None = None) -> str:
    """The reason that the first missing program gives; empty when all are there."""
    for program in programs:
        if shutil.which(program, path=path) is None:
            return packages(package_of(Path(program).name))
    return ""


def need(*programs: str) -> None:
    """Leaves the test out unless all these programs are there."""
    if missing := lacking(*programs):
        pytest.skip(missing)


def needs(*programs: str) -> pytest.MarkDecorator:
    """Marks tests that need these programs."""
    return unless_missing(lacking(*programs))


def unless_missing(missing: str) -> pytest.MarkDecorator:
    """Marks tests that are left out for this reason, if there is one."""
    return pytest.mark.skipif(bool(missing), reason=missing or "nothing is missing")


def needs_that(condition: object, name: str, detail: object = "") -> pytest.MarkDecorator:
    """Marks tests that are left out, for a reason of the list, unless the condition holds."""
    return unless_missing("" if condition else str(reason(name, detail)))


def need_root(purpose: str = "") -> None:
    """Leaves the test out for a plain user."""
    if os.geteuid() != 0:
        skip("root", purpose)


def need_namespaces(*options: str) -> None:
    """Leaves the test out where ``unshare`` with these options is refused, as in a container."""
    need("unshare")
    tried = subprocess.run(
        ["unshare", *options, "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        skip("namespaces", tried.stderr)


needs_root = needs_that(os.geteuid() == 0, "root")


def need_decoder() -> None:
    """Leaves a module out where the trace decoder is not built."""
    if importlib.util.find_spec("benchvise.trace.native") is None:
        skip("trace decoder", module=True)
