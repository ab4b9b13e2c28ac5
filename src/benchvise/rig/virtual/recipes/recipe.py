"""What goes into the card image of each kind of board, and the variants of these images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchvise.errors import UsageError
from benchvise.rig.virtual.recipes.packages import Archive

EXT4 = ("crc16", "mbcache", "jbd2", "crc32c_generic", "libcrc32c", "ext4")
VIRTIO = ("virtio_pci", "virtio_blk")
VIRTIO_NET = ("virtio_net", "virtio-rng")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parts of an image.

    ``kernel`` is a package or metapackage of ``archive``; ``other_kernel`` is one that differs in
    version, with its own archive. ``disk_modules`` are loaded before the root file system is
    there, ``more_modules`` after it. ``disk`` is the card's name in Linux, ``tty`` the console's.
    ``image_name`` is how the bootloader knows the kernel; ``kernel_place`` is where a ``zImage`` is
    to be copied that is not to unpack itself. ``compression`` is that of the first root file
    system.

    ``firmware`` names the package and the file of the bootloader, ``firmware_at`` the byte of the
    card at which it lies (None: it is built into the board), and ``firmware_edits`` its settings
    before and after. ``monitor`` is what runs beneath it, where there is such a thing.
    """

    archive: Archive
    kernel: str
    disk: str
    tty: str
    image_name: str
    disk_modules: tuple[str, ...]
    more_modules: tuple[str, ...]
    append: str = ""
    compression: str = ""
    device_tree: str = ""
    kernel_place: int = 0
    other_archive: Archive | None = None
    other_kernel: str = ""
    firmware: tuple[str, str] | None = None
    firmware_at: int | None = None
    firmware_edits: tuple[tuple[str, str], ...] = ()
    monitor: tuple[str, str] | None = None


_BOOKWORM_ARM64 = Archive("bookworm", "arm64")
_TRIXIE_ARM64 = Archive("trixie", "arm64")
_TRIXIE_RISCV64 = Archive("trixie", "riscv64")
_BOOKWORM_ARMHF = Archive("bookworm", "armhf")
_TRIXIE_AMD64 = Archive("trixie", "amd64")

ARM64 = Recipe(
    archive=_BOOKWORM_ARM64,
    kernel="linux-image-cloud-arm64",
    other_archive=_TRIXIE_ARM64,
    other_kernel="linux-image-cloud-arm64",
    disk="/dev/vda",
    tty="ttyAMA0",
    image_name="Image",
    disk_modules=(*VIRTIO, *EXT4),
    more_modules=VIRTIO_NET,
    append="cryptomgr.notests=1",
    firmware=("u-boot-qemu", "usr/lib/u-boot/qemu_arm64/u-boot.bin"),
    firmware_edits=(
        ("bootdelay=2", "bootdelay=1"),
        ("boot_targets=qfw usb0 scsi0 virtio0 nvme0 dhcp ", "boot_targets=virtio0"),
    ),
)
RISCV64 = Recipe(
    archive=_TRIXIE_RISCV64,
    kernel="linux-image-riscv64",
    disk="/dev/vda",
    tty="ttyS0",
    image_name="Image",
    disk_modules=(*VIRTIO, *EXT4),
    more_modules=VIRTIO_NET,
    append="no4lvl cryptomgr.notests=1",
    firmware=("u-boot-qemu", "usr/lib/u-boot/qemu-riscv64_smode/u-boot.bin"),
    firmware_edits=(
        ("bootdelay=2", "bootdelay=1"),
        ("boot_targets=nvme0 virtio0 virtio1 scsi0 dhcp ", "boot_targets=virtio0"),
    ),
    monitor=("opensbi", "usr/lib/riscv64-linux-gnu/opensbi/generic/fw_dynamic.bin"),
)
ORANGEPI = Recipe(
    archive=_BOOKWORM_ARMHF,
    kernel="linux-image-armmp",
    disk="/dev/mmcblk0p",
    tty="ttyS0",
    image_name="zImage",
    device_tree="sun8i-h3-orangepi-pc.dtb",
    kernel_place=0x40208000,
    append="maxcpus=1 cryptomgr.notests=1",
    disk_modules=("sunxi-mmc", "mmc_block", *EXT4),
    more_modules=("of_mdio", "mdio-mux", "phylink", "dwmac-sun8i"),
    firmware=("u-boot-sunxi", "usr/lib/u-boot/nanopi_neo/u-boot-sunxi-with-spl.bin"),
    firmware_at=8192,
    firmware_edits=(
        ("bootdelay=2", "bootdelay=1"),
        ("preboot=usb start", "preboot="),
        ("boot_targets=fel mmc0 usb0 pxe dhcp ", "boot_targets=mmc0"),
        ("kernel_addr_r=0x42000000", "kernel_addr_r=0x41800000"),  # the device tree is behind it
    ),
)
X86_64 = Recipe(
    archive=_TRIXIE_AMD64,
    kernel="linux-image-cloud-amd64",
    disk="/dev/vda",
    tty="ttyS0",
    image_name="vmlinuz",
    disk_modules=(*VIRTIO, *EXT4),
    more_modules=VIRTIO_NET,
    append="cryptomgr.notests=1",
    firmware=("u-boot-qemu", "usr/lib/u-boot/qemu-x86/u-boot.rom"),
    firmware_edits=(
        ("bootdelay=2", "bootdelay=1"),
        ("ramdisk_addr_r=0x4000000", "ramdisk_addr_r=0x8000000"),  # beyond where a kernel unpacks
    ),
)


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

_VARIANTS = (
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

VARIANTS: dict[str, Variant] = {variant.name: variant for variant in _VARIANTS}
"""All variants by name."""


def variant(name: str) -> Variant:
    """The variant of that name. UsageError when there is none."""
    if name not in VARIANTS:
        raise UsageError(
            f"there is no image variant '{name}' of the simulated boards",
            f"choose one of {', '.join(VARIANTS)}",
        )
    return VARIANTS[name]
