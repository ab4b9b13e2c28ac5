"""Which program starts a system: that decides which files are looked at when it boots."""

from __future__ import annotations

from enum import StrEnum

from benchvise.why.provenance.files import Tree

GLOBS = ("/etc/inittab", "/etc/os-release", "/etc/rc.conf")
LINKS = ("/sbin/init", "/usr/sbin/init", "/init", "/proc/1/exe", "/sbin/openrc-init",
         "/etc/runlevels/*/*")  # fmt: skip


class Init(StrEnum):
    """The programs that start systems."""

    SYSTEMD = "systemd"
    SYSVINIT = "sysvinit"
    BUSYBOX = "busybox"
    OPENRC = "openrc"
    UNKNOWN = "unknown"


def init_of(tree: Tree) -> Init:
    """What starts this system, as its links and its inittab say."""
    if next(tree.links("/etc/runlevels/*/*"), None) is not None:
        return Init.OPENRC
    for place in ("/proc/1/exe", "/sbin/init", "/usr/sbin/init", "/init"):
        target = tree.link(place) or ""
        if "systemd" in target:
            return Init.SYSTEMD
        if "busybox" in target:
            return Init.BUSYBOX
        if "openrc" in target:
            return Init.OPENRC
        if "sysvinit" in target or target.endswith("/init.sysvinit"):
            return Init.SYSVINIT
    lines = [line.text for line in tree.lines("/etc/inittab")]
    active = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if any(line.startswith("::") or "::sysinit:" in line for line in active):
        return Init.BUSYBOX
    if any("openrc" in line for line in active):
        return Init.OPENRC
    if active:
        return Init.SYSVINIT
    return Init.UNKNOWN
