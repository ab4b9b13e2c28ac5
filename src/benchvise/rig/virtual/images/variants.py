"""Images that differ from a kind's usual one in one thing, and what that does to the board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchvise.errors import UsageError


@dataclass(frozen=True, slots=True)
class Variant:
    """What is different. ``files`` are scripts of the root file system, by path.

    ``append`` are more words for the kernel, ``root`` is another partition number to look for the
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
)

VARIANTS: dict[str, Variant] = {variant.name: variant for variant in _ALL}
"""All variants by name."""


def variant(name: str) -> Variant:
    """The variant of that name. UsageError when there is none."""
    found = VARIANTS.get(name)
    if found is None:
        raise UsageError(
            f"there is no image variant '{name}' of the simulated boards",
            f"choose one of {', '.join(VARIANTS)}",
        )
    return found
