"""The root file system of a board: programs from Debian packages, and a few scripts of our own.

busybox is init, shell and tools, and linked statically: a board starts in an emulator, where each
program that has to be linked as it starts takes its time. dropbear comes with the C library that
it is linked to, so that there is a real one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

from benchvise.rig.images.tools import EPOCH
from benchvise.rig.virtual.recipes.packages import Package

_MERGED = ("bin", "lib", "lib32", "lib64", "libo32", "libx32", "sbin")  # they lie below /usr
_MOUNTED = ("dev", "proc", "root", "run", "sys", "tmp", "var/log", "var/tmp")
_PLUG_INS = ("/gconv/", "/audit/", "/engines-3/", "/ossl-modules/")
_OF_NO_USE = ("usr/share/", "usr/lib/systemd", "etc/init.d", "etc/default", "usr/lib/udev")
_USEFUL = ("usr/sbin/dropbear", "usr/bin/cksum")

_INITTAB = """\
::sysinit:/etc/init.d/rcS
{tty}::respawn:/sbin/getty -L 115200 {tty} vt100
::ctrlaltdel:/sbin/reboot
::shutdown:/bin/umount -a -r
"""

_RCS = """\
#!/bin/sh
# Brings the board up. Its login prompt comes when this has ended.
PATH=/usr/sbin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=0755 tmpfs /run
mount -t tmpfs tmpfs /tmp
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
hostname -F /etc/hostname
modprobe -a {modules}
ifconfig lo 127.0.0.1 up
ifconfig eth0 up
udhcpc -i eth0 -s /etc/udhcpc.script -p /run/udhcpc.pid -t 3 -T 1 -A 1 -b
[ -x /etc/rc.local ] && /etc/rc.local
dropbear -s -r /etc/dropbear/host_key -P /run/dropbear.pid
"""

_UDHCPC = """\
#!/bin/sh
# What udhcpc calls when it has an address, or none any more.
case $1 in
  deconfig) ifconfig "$interface" 0.0.0.0 up;;
  bound|renew)
    ifconfig "$interface" "$ip" netmask "${subnet:-255.255.255.0}"
    [ -z "$router" ] || route add default gw "${router%% *}" 2>/dev/null
    for server in $dns; do echo "nameserver $server"; done > /etc/resolv.conf;;
esac
"""

_PROFILE = """\
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
PS1='root@\\h:${PWD/$HOME/\\~}# '
"""


def make(
    tree: Path,
    packages: Iterable[Package],
    *,
    hostname: str,
    tty: str,
    login: str,
    modules: Iterable[str],
    kernel_files: Mapping[str, bytes],
    release: Mapping[str, str],
    keys: tuple[bytes, str],
    scripts: Mapping[str, str],
) -> None:
    """Lays the files of the root file system into the directory ``tree``.

    ``kernel_files`` are those that belong to the kernel, by path from the root; ``release`` is
    what ``/etc/image-release`` says; ``keys`` are the key that the board shows and the public one
    that may log in; ``scripts`` come on top.
    """
    for name in _MERGED:
        (tree / "usr" / name).mkdir(parents=True, exist_ok=True)
        (tree / name).symlink_to(f"usr/{name}")
    for name in _MOUNTED:
        (tree / name).mkdir(parents=True, exist_ok=True)
    for package in packages:
        _unpack(package, tree)
    for applet in applets():
        program = tree / "usr" / applet
        if not program.exists() and not program.is_symlink():
            program.symlink_to("../bin/busybox")
    host_key, user_key = keys
    texts = {
        "etc/fstab": "",
        "etc/group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
        "etc/hostname": f"{hostname}\n",
        "etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {hostname}\n",
        "etc/image-release": "".join(f"{name}={value}\n" for name, value in release.items()),
        "etc/inittab": _INITTAB.format(tty=tty),
        "etc/issue": "Benchvise virtual board \\n \\l\n",
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "etc/os-release": 'ID=benchvise-virtual\nNAME="Benchvise virtual board"\n',
        "etc/passwd": f"root::0:0:root:/root:{login}\nnobody:x:65534:65534::/:/bin/false\n",
        "etc/profile": _PROFILE,
        "etc/shells": "/bin/sh\n",
        "root/.ssh/authorized_keys": user_key,
    }
    programs = {
        "etc/init.d/rcS": _RCS.format(modules=" ".join(modules)),
        "etc/udhcpc.script": _UDHCPC,
        **scripts,
    }
    for path, text in texts.items():
        _write(tree / path, text.encode(), 0o644)
    for path, text in programs.items():
        _write(tree / path, text.encode(), 0o755)
    for path, data in kernel_files.items():
        _write(tree / path, data, 0o644)
    _write(tree / "etc/dropbear/host_key", host_key, 0o600)
    for name in ("root", "root/.ssh"):
        (tree / name).chmod(0o700)
    _date(tree)


def applets() -> list[str]:
    """The paths below ``/usr`` that are busybox's."""
    text = resources.files(__package__).joinpath("applets.txt").read_text()
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return [word for line in lines for word in line.split()]


def _unpack(package: Package, tree: Path) -> None:
    for member, data in package.members(lambda path: _wanted(_merged(path))):
        target = tree / _merged(member.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if member.issym():
            target.unlink(missing_ok=True)
            target.symlink_to(member.linkname)
        elif member.isreg():
            _write(target, data, member.mode & 0o777)


def _merged(path: str) -> str:
    return f"usr/{path}" if path.split("/")[0] in _MERGED else path


def _wanted(path: str) -> bool:
    """Programs that a board uses, and libraries without their plug-ins."""
    if path.startswith(_OF_NO_USE) or any(part in path for part in _PLUG_INS):
        return False
    if path.startswith(("usr/bin/", "usr/sbin/")):
        return path in _USEFUL or path.endswith("/busybox")
    return path.startswith("usr/lib")


def _write(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def _date(tree: Path) -> None:
    """Gives everything the same age, the directories last since writing into them changes it."""
    for directory, below, files in os.walk(tree, topdown=False):
        for name in (*files, *below):
            os.utime(Path(directory) / name, (EPOCH, EPOCH), follow_symlinks=False)
    os.utime(tree, (EPOCH, EPOCH))
