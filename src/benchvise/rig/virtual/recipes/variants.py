"""Images that differ from a kind's usual one in one thing, and what that does to the board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchvise.errors import UsageError


@dataclass(frozen=True, slots=True)
class Variant:
    """What is different. ``files`` are scripts of the root file system, by path.

    ``append`` are more options for the kernel, ``root`` is another partition number to look for the
    root file system on, ``login`` is root's shell.
    """

    name: str
    summary: str
    append: str = ""
    root: int = 2
    login: str = "/bin/sh"
    blank_boot: bool = False
    other_kernel: bool = False
    files: Mapping[str, str] = field(default_factory=dict)


_TRACEFS = "#!/bin/sh\nmount -t tracefs tracefs /sys/kernel/tracing\n"

_ALL = (
    Variant("a", "what every board boots from unless told otherwise"),
    Variant("b", "another kernel version, where Debian has one for the board", other_kernel=True),
    Variant(
        "panic",
        "the kernel panics as soon as it has started the first program",
        append="init=/sbin/crash",
        files={
            "usr/sbin/crash": "#!/bin/sh\nmount -t proc proc /proc\necho c > /proc/sysrq-trigger\n"
        },
    ),
    Variant("no-root", "the kernel is told of a root partition that is not there", root=9),
    Variant(
        "slow",
        "a start script waits for a minute before there is a login",
        files={"etc/rc.local": "#!/bin/sh\necho 'rc.local: waiting for a device'\nsleep 60\n"},
    ),
    Variant("blank-boot", "the boot partition is empty", blank_boot=True),
    Variant("login-loop", "whoever logs in is out again at once", login="/bin/false"),
    Variant(
        "rc-thp",
        "a start script allows transparent huge pages only to those who ask for them",
        files={
            "etc/rc.local": "#!/bin/sh\n"
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled\n"
        },
    ),
    Variant(
        "lean",
        "as a vendor may ship it: the kernel's page tables are not kept apart from programs'",
        append="kpti=0 audit=0",
        files={"etc/rc.local": f"{_TRACEFS}echo 10 > /proc/sys/vm/swappiness\n"},
    ),
    Variant(
        "traced",
        "another kernel and command line than lean's, and a start script leaves a tracer on",
        append="kpti=0 audit=1 nowatchdog",
        other_kernel=True,
        files={
            "etc/rc.local": f"{_TRACEFS}"
            "echo 60 > /proc/sys/vm/swappiness\n"
            "# to see what the driver does\n"
            "echo function > /sys/kernel/tracing/current_tracer\n"
            "echo 500 > /proc/sys/vm/dirty_writeback_centisecs\n"
        },
    ),
    Variant(
        "shielded",
        "another kernel than lean's, other settings, and the kernel's page tables are kept apart",
        append="audit=1 nowatchdog kpti=1",
        other_kernel=True,
        files={
            "etc/rc.local": f"{_TRACEFS}"
            "echo 60 > /proc/sys/vm/swappiness\n"
            "echo 200 > /proc/sys/vm/vfs_cache_pressure\n"
        },
    ),
)

VARIANTS: dict[str, Variant] = {variant.name: variant for variant in _ALL}
"""All variants by name."""


def variant(name: str) -> Variant:
    """The variant of that name. UsageError when there is none."""
    if name not in VARIANTS:
        raise UsageError(
            f"there is no image variant '{name}' of the simulated boards",
            f"choose one of {', '.join(VARIANTS)}",
        )
    return VARIANTS[name]
