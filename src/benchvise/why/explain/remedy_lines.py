"""Lines of remedies in the syntax of each program that reads them, and the files they go to.

sysctl.d(5), tmpfiles.d(5), udev(7), modprobe.d(5), systemd.resource-control(5), the kernel's
command line and configuration, recipes of Yocto and overlays of Buildroot. ``fixes.toml`` has what
belongs to single knobs.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

NOW, DEBIAN, YOCTO, BUILDROOT = "now", "Debian", "Yocto", "Buildroot"
COMMAND_LINE, KERNEL = "command line", "kernel configuration"

SYSCTL = "/proc/sys/"
_MODULE = re.compile(r"/sys/module/([\w-]+)/parameters/(\w+)")
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Fix:
    """What the kernel or systemd offers for a knob, besides its file; see ``fixes.toml``."""

    knob: str
    word: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, list[str]] = field(default_factory=dict)
    unit: str = ""
    module: str = ""


@cache
def fixes() -> Mapping[str, Fix]:
    """Every fix by its knob."""
    text = files(__package__).joinpath("fixes.toml").read_text(encoding="utf-8")
    return {record["knob"]: Fix(**record) for record in tomllib.loads(text)["fix"]}


def sysctl_key(path: str) -> str:
    """``net.ipv4.tcp_rmem`` for its file; with slashes where a part has a dot in its name."""
    parts = path.removeprefix(SYSCTL)
    return parts if "." in parts else parts.replace("/", ".")


def sysctl_line(path: str, value: str) -> str:
    """A line of sysctl.d(5)."""
    return f"{sysctl_key(path)} = {value}"


def tmpfiles_line(path: str, value: str) -> str:
    """A line of tmpfiles.d(5) that writes a file which is there; wildcards are its own too."""
    return f"w {path.replace('%', '%%')} - - - - {value.replace('%', '%%')}"


def modprobe_line(path: str, value: str) -> str:
    """A line of modprobe.d(5) for a parameter's file; empty where it is none."""
    match = _MODULE.fullmatch(path)
    return f"options {match[1]} {match[2]}={value}" if match else ""


def udev_line(path: str, value: str) -> str:
    """A rule of udev(7) that sets a device's attribute as the device comes; empty where the file
    belongs to no kind of device that rules are known to see."""
    for pattern, match in _DEVICES:
        device = re.fullmatch(pattern, path)
        if device is None:
            continue
        kernel = device.groupdict().get("kernel") or "*"
        named = "" if kernel == "*" else f', KERNEL=="{kernel}"'
        attribute = device["attribute"]
        return f'ACTION=="add|change", {match}{named}, ATTR{{{attribute}}}="{value}"'
    return ""


_DEVICES = (
    (r"/sys/block/(?P<kernel>[^/]+)/(?P<attribute>[^*]+)", 'SUBSYSTEM=="block"'),
    (r"/sys/class/net/(?P<kernel>[^/]+)/(?P<attribute>[^/*]+)", 'SUBSYSTEM=="net"'),
    (r"/sys/class/devfreq/(?P<kernel>[^/]+)/(?P<attribute>[^*]+)", 'SUBSYSTEM=="devfreq"'),
    (r"/sys/bus/pci/devices/(?P<kernel>[^/]+)/(?P<attribute>[^*]+)", 'SUBSYSTEM=="pci"'),
    (r"/sys/bus/mmc/devices/(?P<kernel>[^/]+)/(?P<attribute>[^*]+)", 'SUBSYSTEM=="mmc"'),
    (r"/sys/bus/sdio/devices/(?P<kernel>[^/]+)/(?P<attribute>[^*]+)", 'SUBSYSTEM=="sdio"'),
    (
        r"/sys/bus/usb/devices/(?P<kernel>[^/]+)/(?P<attribute>[^*]+)",
        'SUBSYSTEM=="usb", ENV{DEVTYPE}=="usb_device"',
    ),
    (r"/sys/bus/usb-serial/devices/(?P<kernel>[^/]+)/(?P<attribute>.+)", 'SUBSYSTEM=="usb-serial"'),
    (r"/sys/class/scsi_host/(?P<kernel>[^/]+)/(?P<attribute>[^*]+)", 'SUBSYSTEM=="scsi_host"'),
)


def command_word(knob: str, path: str, value: str) -> str:
    """A word of the kernel command line; empty where there is none. Those for parameters of
    modules hold for modules and for what is built in; ``sysctl.`` words since Linux 5.8."""
    fix = fixes().get(knob, Fix(knob))
    fields = value.split() or [""]
    if value in fix.words:
        return fix.words[value]
    if fix.word:
        return fix.word.format(value=value, first=fields[0])
    match = _MODULE.fullmatch(path)
    if match is not None:
        return f"{match[1]}.{match[2]}={value}"
    if path.startswith(SYSCTL):
        word = f"sysctl.{sysctl_key(path)}={value}"
        return f'"{word}"' if " " in word else word
    return ""


def config_lines(knob: str, value: str) -> tuple[str, ...]:
    """Lines of a fragment of the kernel's configuration, none where there are none."""
    return tuple(fixes().get(knob, Fix(knob)).config.get(value, ()))


def unit_setting(knob: str, value: str) -> str:
    """A line of a systemd unit for a setting of a control group; empty where there is none."""
    if knob == "cgroup.cpu_max":
        return _quota(value)
    fix = fixes().get(knob, Fix(knob))
    text = {"max": "infinity", "all": ""}.get(value, value)
    return fix.unit.format(value=text, last=(text.split() or [""])[-1]) if fix.unit else ""


def _quota(value: str) -> str:
    """``CPUQuota=`` is in percent of one CPU, and empty for none."""
    quota, _, period = value.partition(" ")
    if quota == "max":
        return "CPUQuota="
    length = int(period or 100_000)
    percent = f"CPUQuota={int(quota) * 100 / length:g}%"
    return percent if length == 100_000 else f"{percent}\nCPUQuotaPeriodSec={length}us"


def now_command(path: str, value: str) -> str:
    """A line of shell that makes the setting at once, as root."""
    if path.startswith(SYSCTL):
        return f"sysctl -w {shlex.quote(f'{sysctl_key(path)}={value}')}"
    if _WILD.search(path):
        return f'for file in {path}; do echo {shlex.quote(value)} > "$file"; done'
    return f"echo {shlex.quote(value)} > {path}"


def start_script(lines: tuple[str, ...]) -> str:
    """An init script of BusyBox or SysV that runs lines of shell when the system starts."""
    return "\n".join(("#!/bin/sh", '[ "$1" = start ] || exit 0', *lines))


# -- the places that they go to --------------------------------------------------------------------


_SOURCES = "${@d.getVar('UNPACKDIR') or d.getVar('WORKDIR')}"


def debian_file(path: str, text: str) -> str:
    """A file on a running system, with the command that makes it hold without a reboot."""
    return f"# {path}\n{text}{_reload(path)}"


def _reload(path: str) -> str:
    for part, command in (
        ("/etc/sysctl", f"sysctl --load={path}"),
        ("/etc/tmpfiles", f"systemd-tmpfiles --create {path}"),
        ("/etc/udev", "udevadm control --reload && udevadm trigger --action=change"),
        ("/etc/systemd", "systemctl daemon-reload"),
    ):
        if part in path:
            return f"\n# then: {command}"
    return ""


def yocto_file(path: str, text: str) -> str:
    """A file of an image, by an append to base-files, which every image has."""
    target = PurePosixPath(path)
    below = target.parent.relative_to("/etc")
    return (
        "# meta-yours/recipes-core/base-files/base-files_%.bbappend\n"
        'FILESEXTRAPATHS:prepend := "${THISDIR}/files:"\n'
        f'SRC_URI += "file://{target.name}"\n'
        "do_install:append() {\n"
        f"    install -D -m 0644 {_SOURCES}/{target.name} "
        f"${{D}}${{sysconfdir}}/{below}/{target.name}\n"
        "}\n"
        f"# meta-yours/recipes-core/base-files/files/{target.name}\n"
        f"{text}"
    )


def yocto_kernel(name: str, text: str) -> str:
    """A fragment of the kernel's configuration, by an append to its recipe."""
    return (
        "# meta-yours/recipes-kernel/linux/linux-yocto_%.bbappend (or your kernel's recipe)\n"
        'FILESEXTRAPATHS:prepend := "${THISDIR}/files:"\n'
        f'SRC_URI += "file://{name}"\n'
        f"# meta-yours/recipes-kernel/linux/files/{name}\n"
        f"{text}"
    )


def buildroot_file(path: str, text: str) -> str:
    """A file of the root file system overlay."""
    mode = f"\n# then: chmod +x board/yours/overlay{path}" if "/init.d/" in path else ""
    return (
        f'# configs/yours_defconfig: BR2_ROOTFS_OVERLAY="board/yours/overlay"\n'
        f"# board/yours/overlay{path}\n{text}{mode}"
    )


def buildroot_kernel(name: str, text: str) -> str:
    """A fragment of the kernel's configuration."""
    return (
        f'# configs/yours_defconfig: BR2_LINUX_KERNEL_CONFIG_FRAGMENT_FILES="board/yours/{name}"\n'
        f"# board/yours/{name}\n{text}"
    )


def command_line_places(word: str, instead: str = "") -> str:
    """Where the kernel's command line is kept, as comments."""
    what = f"put {word} into" if word else f"take {instead} out of"
    return (
        f"# Debian: {what} GRUB_CMDLINE_LINUX of /etc/default/grub, then update-grub; or "
        "/boot/firmware/cmdline.txt\n"
        f"# Yocto: {what} APPEND (extlinux: UBOOT_EXTLINUX_KERNEL_ARGS; Raspberry Pi: CMDLINE)\n"
        f"# Buildroot: {what} the append line of extlinux.conf, or the U-Boot environment's "
        "bootargs"
    )
