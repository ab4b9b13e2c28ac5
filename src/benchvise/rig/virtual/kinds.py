"""The kinds of boards that can be simulated, each with its QEMU command line and its card image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.rig.virtual import bootrom
from benchvise.rig.virtual.recipes import keys, tools
from benchvise.rig.virtual.recipes.packages import Archive
from benchvise.rig.virtual.recipes.recipe import EXT4, VIRTIO, VIRTIO_NET, Recipe
from benchvise.rig.virtual.recipes.variants import variant as variant_of

_MIB = 1 << 20
_BUILDERS = (
    "apt-get", "debugfs", "dpkg-deb", "dumpe2fs", "mcopy", "mke2fs", "mkfs.vfat", "mmd",
    "ssh-keygen",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of board.

    ``arch`` is that of the probe; ``firmware`` tells where its first program comes from: U-Boot
    that is built in (``u-boot``), none, so that the virtual bench starts the kernel from the card
    (``direct``), or all of it from the card (``card``). ``machine`` are words for QEMU.
    """

    name: str
    summary: str
    arch: str
    firmware: str
    memory_mb: int
    card_bytes: int
    cpus: int
    emulator: str
    machine: tuple[str, ...]
    recipe: Recipe

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that this machine needs to build its image and to run it."""
        return (self.emulator, *_BUILDERS)

    def command(
        self,
        *,
        card: Path | None,
        console: Path,
        monitor: Path,
        gdb: Path | None,
        ssh_port: int,
        workdir: Path,
    ) -> list[str]:
        """The QEMU command line of such a board.

        ``console`` is a unix socket that QEMU connects to, ``monitor`` (QMP) and ``gdb`` are those
        that it makes; ``ssh_port`` of this machine's loopback leads to port 22 of the board.
        ``card`` is what is in its slot, ``workdir`` is for files that live as long as the board has
        power. RigError when its bootloader cannot be had.
        """
        words = [
            tools.program(self.emulator),
            *("-nodefaults", "-no-user-config", "-display", "none"),
            *self.machine,
            *("-smp", str(self.cpus), "-m", f"{self.memory_mb}M"),
            *("-chardev", f"socket,id=console,path={_quoted(console)},server=off"),
            *("-serial", "chardev:console"),
            *("-qmp", f"unix:{_quoted(monitor)},server=on,wait=off"),
        ]
        if gdb is not None:
            words += ["-gdb", f"unix:{_quoted(gdb)},server=on,wait=off"]
        forward = f"hostfwd=tcp:127.0.0.1:{ssh_port}-:22"
        if self.firmware == "card":
            words += ["-nic", f"user,{forward}"]
            words += _drive(card, "if=sd") if card else []
            return words
        words += ["-netdev", f"user,id=net,{forward}"]
        words += ["-device", "virtio-net-pci,netdev=net,romfile="]
        words += ["-object", "rng-random,id=entropy,filename=/dev/urandom"]
        words += ["-device", "virtio-rng-pci,rng=entropy"]
        if card is not None:
            words += [*_drive(card, "if=none,id=card"), "-device", "virtio-blk-pci,drive=card"]
        return words + self._start(card, workdir)

    def _start(self, card: Path | None, workdir: Path) -> list[str]:
        # Late, here and below: what builds images would make every command on rigs start later.
        from benchvise.rig.virtual.recipes import build

        below = build.monitor(self.recipe)
        found = bootrom.read_card(card, workdir) if card and self.firmware == "direct" else None
        if found is not None:
            words = ["-kernel", str(found.kernel), "-append", found.append]
            words += ["-initrd", str(found.initrd)] if found.initrd else []
            return [*words, "-bios", str(below)] if below else words
        loader = str(build.rom(self.recipe))
        return ["-bios", str(below), "-kernel", loader] if below else ["-bios", loader]


def _drive(card: Path, how: str) -> list[str]:
    return ["-drive", f"{how},format=raw,file={_quoted(card)}"]


def _quoted(path: Path) -> str:
    """A path within an option of QEMU, where a comma ends a value unless it is doubled."""
    return str(path).replace(",", ",,")


_BOOKWORM_ARM64 = Archive("bookworm", "arm64")
_TRIXIE_ARM64 = Archive("trixie", "arm64")
_TRIXIE_RISCV64 = Archive("trixie", "riscv64")
_BOOKWORM_ARMHF = Archive("bookworm", "armhf")
_TRIXIE_AMD64 = Archive("trixie", "amd64")

_ARM64 = Recipe(
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
_RISCV64 = Recipe(
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
_ORANGEPI = Recipe(
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
_X86_64 = Recipe(
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

_ARM64_VIRT = ("-machine", "virt", "-cpu", "cortex-a57")
_RISCV64_VIRT = ("-machine", "virt")
# Without cmpxchg16b: after one, QEMU 7.2 was seen to give a kernel wrong flags, and it crashed.
_PC = ("-machine", "pc", "-cpu", "max,la57=off,cx16=off", "-accel", "tcg")

# Below 512 MiB of memory, Linux does without huge pages, which are a usual cause of a difference.
_ALL = (
    Kind("arm64-uboot", "64-bit ARM, U-Boot built in", "aarch64", "u-boot", 640, 256 * _MIB, 1,
         "qemu-system-aarch64", _ARM64_VIRT, _ARM64),
    Kind("arm64-direct", "64-bit ARM without a bootloader", "aarch64", "direct", 640, 256 * _MIB, 1,
         "qemu-system-aarch64", _ARM64_VIRT, _ARM64),
    Kind("riscv64-uboot", "64-bit RISC-V, OpenSBI and U-Boot built in", "riscv64", "u-boot", 256,
         256 * _MIB, 1, "qemu-system-riscv64", _RISCV64_VIRT, _RISCV64),
    Kind("riscv64-direct", "64-bit RISC-V, OpenSBI, no bootloader", "riscv64", "direct", 256,
         256 * _MIB, 1, "qemu-system-riscv64", _RISCV64_VIRT, _RISCV64),
    Kind("orangepi", "32-bit ARM (Allwinner H3): SPL, U-Boot and all else from the card",
         "armv7hf", "card", 1024, 256 * _MIB, 4, "qemu-system-arm",
         ("-machine", "orangepi-pc", "-accel", "tcg,thread=single"), _ORANGEPI),
    Kind("x86_64", "64-bit PC", "x86_64", "u-boot", 256, 256 * _MIB, 1,
         "qemu-system-x86_64", _PC, _X86_64),
)  # fmt: skip

KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
"""The kinds of boards by name."""

BENCH: tuple[tuple[str, str], ...] = (
    ("arm64-1", "arm64-uboot"),
    ("arm64-2", "arm64-uboot"),
    ("riscv64-1", "riscv64-uboot"),
    ("riscv64-2", "riscv64-uboot"),
    ("armv7-1", "orangepi"),
    ("x86-1", "x86_64"),
)
"""The boards of the usual virtual bench: name and kind."""


def kind(name: str) -> Kind:
    """The kind of that name. UsageError when there is none."""
    found = KINDS.get(name)
    if found is None:
        raise UsageError(
            f"there is no kind of simulated board '{name}'", f"choose one of {', '.join(KINDS)}"
        )
    return found


def missing(kind: Kind) -> list[str]:
    """The Debian packages that this machine lacks to build the image of such a board and run it."""
    lacking = {tools.PACKAGES[name] for name in kind.programs if tools.find(name) is None}
    return sorted(lacking)


def image(kind: Kind, *, variant: str = "a") -> Path:
    """The card image of such a board, built if need be, with its ``.bmap`` beside it.

    The same image is given until Benchvise itself changes. UsageError for an unknown variant,
    RigError when it cannot be built.
    """
    from benchvise.rig.virtual.recipes import build

    return build.image(kind.name, kind.recipe, kind.card_bytes, variant_of(variant))


def ssh_key() -> Path:
    """The private key that logs in to all these boards as root."""
    return keys.user_key()
