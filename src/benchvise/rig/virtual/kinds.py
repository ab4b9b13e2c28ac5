"""The kinds of boards that can be simulated, each with its QEMU command line and its card image.

Boards without a bootloader get a boot ROM of ours. It does what U-Boot does with the same card:
find ``extlinux.conf`` on the first partition, and start the kernel that its default label names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files.uboot import Extlinux
from benchvise.rig.images.fat import Fat
from benchvise.rig.images.table import read_table
from benchvise.rig.images.tools import PACKAGES, Tools, find_program, installed
from benchvise.rig.virtual.recipes import keys
from benchvise.rig.virtual.recipes.recipe import ARM64, ORANGEPI, RISCV64, X86_64, Recipe
from benchvise.rig.virtual.recipes.recipe import variant as variant_of

_MIB = 1 << 20
_BUILDERS = (
    "apt-get", "debugfs", "dpkg-deb", "dumpe2fs", "mcopy", "mke2fs", "mkfs.vfat", "mmd",
    "ssh-keygen",
)  # fmt: skip


@contextmanager
def _bench_errors() -> Iterator[None]:
    """An image that cannot be made is a fault of the virtual bench: RigError."""
    try:
        yield
    except ImageError as error:
        raise RigError(Fault.RIG_BROKEN, error.message, error.remedy) from error


@dataclass(frozen=True, slots=True)
class BoardKind:
    """A kind of board.

    ``arch`` is that of the probe; ``firmware`` tells where its first program comes from: U-Boot
    that is built in (``u-boot``), none, so that the virtual bench starts the kernel from the card
    (``direct``), or all of it from the card (``card``). ``machine`` are options of QEMU.
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

    @_bench_errors()
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
        options = [
            find_program(self.emulator),
            *("-nodefaults", "-no-user-config", "-display", "none"),
            *self.machine,
            *("-smp", str(self.cpus), "-m", f"{self.memory_mb}M"),
            *("-chardev", f"socket,id=console,path={_quoted(console)},server=off"),
            *("-serial", "chardev:console"),
            *("-qmp", f"unix:{_quoted(monitor)},server=on,wait=off"),
        ]
        if gdb is not None:
            options += ["-gdb", f"unix:{_quoted(gdb)},server=on,wait=off"]
        forward = f"hostfwd=tcp:127.0.0.1:{ssh_port}-:22"
        if self.firmware == "card":
            options += ["-nic", f"user,{forward}"]
            options += _drive(card, "if=sd") if card else []
            return options
        options += ["-netdev", f"user,id=net,{forward}"]
        options += ["-device", "virtio-net-pci,netdev=net,romfile="]
        options += ["-object", "rng-random,id=entropy,filename=/dev/urandom"]
        options += ["-device", "virtio-rng-pci,rng=entropy"]
        if card is not None:
            options += [*_drive(card, "if=none,id=card"), "-device", "virtio-blk-pci,drive=card"]
        return options + self._start(card, workdir)

    def _start(self, card: Path | None, workdir: Path) -> list[str]:
        # Late, here and below: what builds images would make every command on rigs start later.
        from benchvise.rig.virtual.recipes import build

        below = build.monitor(self.recipe)
        start = read_card(card, workdir) if card and self.firmware == "direct" else None
        if start is not None:
            options = ["-kernel", str(start.kernel), "-append", start.append]
            options += ["-initrd", str(start.initrd)] if start.initrd else []
            return [*options, "-bios", str(below)] if below else options
        loader = str(build.rom(self.recipe))
        return ["-bios", str(below), "-kernel", loader] if below else ["-bios", loader]


def _drive(card: Path, how: str) -> list[str]:
    return ["-drive", f"{how},format=raw,file={_quoted(card)}"]


def _quoted(path: Path) -> str:
    """A path within an option of QEMU, where a comma ends a value unless it is doubled."""
    return str(path).replace(",", ",,")


_ARM64_VIRT = ("-machine", "virt", "-cpu", "cortex-a57")
_RISCV64_VIRT = ("-machine", "virt")
# Without cmpxchg16b: after one, QEMU 7.2 was seen to give a kernel wrong flags, and it crashed.
_PC = ("-machine", "pc", "-cpu", "max,la57=off,cx16=off", "-accel", "tcg")

# Below 512 MiB of memory, Linux does without huge pages, which are a usual cause of a difference.
_ALL = (
    BoardKind("arm64-uboot", "64-bit ARM, U-Boot built in", "aarch64", "u-boot",
              640, 256 * _MIB, 1, "qemu-system-aarch64", _ARM64_VIRT, ARM64),
    BoardKind("arm64-direct", "64-bit ARM without a bootloader", "aarch64", "direct",
              640, 256 * _MIB, 1, "qemu-system-aarch64", _ARM64_VIRT, ARM64),
    BoardKind("riscv64-uboot", "64-bit RISC-V, OpenSBI and U-Boot built in", "riscv64", "u-boot",
              256, 256 * _MIB, 1, "qemu-system-riscv64", _RISCV64_VIRT, RISCV64),
    BoardKind("riscv64-direct", "64-bit RISC-V, OpenSBI, no bootloader", "riscv64", "direct",
              256, 256 * _MIB, 1, "qemu-system-riscv64", _RISCV64_VIRT, RISCV64),
    BoardKind("orangepi", "32-bit ARM (Allwinner H3): SPL, U-Boot and all else from the card",
              "armv7hf", "card", 1024, 256 * _MIB, 4, "qemu-system-arm",
              ("-machine", "orangepi-pc", "-accel", "tcg,thread=single"), ORANGEPI),
    BoardKind("x86_64", "64-bit PC", "x86_64", "u-boot",
              256, 256 * _MIB, 1, "qemu-system-x86_64", _PC, X86_64),
)  # fmt: skip

KINDS: dict[str, BoardKind] = {kind.name: kind for kind in _ALL}
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


def kind(name: str) -> BoardKind:
    """The kind of that name. UsageError when there is none."""
    if name not in KINDS:
        raise UsageError(
            f"there is no kind of simulated board '{name}'", f"choose one of {', '.join(KINDS)}"
        )
    return KINDS[name]


def missing(kind: BoardKind) -> list[str]:
    """The Debian packages that this machine lacks to build the image of such a board and run it."""
    lacking = {PACKAGES[name] for name in kind.programs if not installed(name)}
    return sorted(lacking)


@_bench_errors()
def image(kind: BoardKind, *, variant: str = "a") -> Path:
    """The card image of such a board, built if need be, with its ``.bmap`` beside it.

    The same image is given until Benchvise itself changes. UsageError for an unknown variant,
    RigError when it cannot be built.
    """
    from benchvise.rig.virtual.recipes import build

    return build.image(kind.name, kind.recipe, kind.card_bytes, variant_of(variant))


@_bench_errors()
def ssh_key() -> Path:
    """The private key that logs in to all these boards as root."""
    return keys.user_key()


@dataclass(frozen=True, slots=True)
class StartFiles:
    """What a card has to be started: files that were copied from it, and the kernel's options."""

    kernel: Path
    initrd: Path | None
    append: str


def read_card(card: Path, directory: Path) -> StartFiles | None:
    """What a card says is to be started, copied into ``directory``; None when it says nothing."""
    try:
        table = read_table(card)
        if table.scheme == "none" or not table.partitions:
            return None
        files = Fat(
            Tools(directory), str(card.resolve()), table.partitions[0].start, f"{card.name}"
        )
        boot = Extlinux().find(files)
        if boot is None:
            return None
        kernel = directory / "kernel"
        kernel.write_bytes(files.read(boot.kernels[0]))
        initrd = directory / "initrd" if boot.initrds else None
        if initrd is not None:
            initrd.write_bytes(files.read(boot.initrds[0]))
    except (ImageError, OSError):
        return None
    return StartFiles(kernel, initrd, boot.command_line or "")
