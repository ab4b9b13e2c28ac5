"""Where lines go in each way of building a system, as text that can be pasted."""

from __future__ import annotations

from pathlib import PurePosixPath

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
