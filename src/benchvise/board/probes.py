"""The probes that come with this package, three programs for each architecture, and which of them a
board can run: by its ``uname -m``, with what contradicts that.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from benchvise.board.protocol import Board
from benchvise.errors import BenchviseError, BoardUnusable
from benchvise.text import last_line, printable

PROBES = Path(__file__).parent / "probes"

PROBE = "bvprobe"
HELPERS = ("bvio", "bvlibc")
"""What lies beside it: storage and network, and what measures the board's own C library."""

ARCHITECTURES = ("x86_64", "aarch64", "armv7hf", "armv6hf", "riscv64")

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


@dataclass(frozen=True, slots=True)
class ProbeFile:
    """One file as it has to be on the board; ``checksum`` is that of POSIX ``cksum``."""

    name: str
    data: bytes
    checksum: int


@dataclass(frozen=True, slots=True)
class Probe:
    """The files of one architecture. ``digest`` names this very build of them."""

    arch: str
    directory: Path
    files: tuple[ProbeFile, ...]
    digest: str

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(len(file.data) for file in self.files)


def posix_cksum(data: bytes) -> int:
    """What POSIX ``cksum`` prints for ``data``.

    It is zlib's CRC-32 with all bits mirrored, begun at 0 and followed by the length.
    """
    length = len(data)
    tail = length.to_bytes((length.bit_length() + 7) // 8, "little")
    mirrored = zlib.crc32((data + tail).translate(_REVERSED), 0xFFFFFFFF)
    return int(f"{mirrored:032b}"[::-1], 2)


def packaged_architectures() -> tuple[str, ...]:
    """The architectures that this installation has a probe for."""
    return tuple(
        arch
        for arch in ARCHITECTURES
        if all((PROBES / arch / name).is_file() for name in (PROBE, *HELPERS))
    )


def load_probe(arch: str) -> Probe:
    """The packaged probe of an architecture; BenchviseError when it was not built."""
    directory = PROBES / arch
    try:
        contents = [(name, (directory / name).read_bytes()) for name in (PROBE, *HELPERS)]
    except OSError as error:
        raise BenchviseError(
            f"this installation has no probe for {arch} ({error.strerror})",
            "run `make probes` in the source tree, or install a released package",
        ) from error
    digest = hashlib.sha256()
    for _, data in contents:
        digest.update(hashlib.sha256(data).digest())
    files = tuple(ProbeFile(name, data, posix_cksum(data)) for name, data in contents)
    return Probe(arch, directory, files, digest.hexdigest()[:16])


_BY_MACHINE = {
    "x86_64": "x86_64",
    "amd64": "x86_64",
    "aarch64": "aarch64",
    "arm64": "aarch64",
    "armv8l": "armv7hf",  # a 64-bit processor under a 32-bit kernel
    "armv7l": "armv7hf",
    "armv6l": "armv6hf",
    "riscv64": "riscv64",
}

_VFP3 = frozenset({"vfpv3", "vfpv3d16", "vfpv4", "vfpd32", "neon"})

# Machine numbers of ELF headers: of programs that a kernel of that architecture can run.
_ELF_MACHINES = {
    "x86_64": (62, 3),
    "aarch64": (183, 40),
    "armv7hf": (40,),
    "armv6hf": (40,),
    "riscv64": (243,),
}
_ELF_NAMES = {
    2: "sparc", 3: "i386", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390", 40: "arm", 42: "sh",
    62: "x86_64", 94: "xtensa", 183: "aarch64", 243: "riscv", 258: "loongarch",
}  # fmt: skip
_ELF_HEADER = 20
_ELF_MARK = b"\nelf\n"

# The header of a program that certainly runs there, dd itself, tells when uname does not tell
# the truth. It has to be found out before the probe is started: several shells take a program
# that the kernel refuses for a script of theirs.
_SURVEY = f"""
uname -m || exit
case $(uname -m) in arm*) cat /proc/cpuinfo;; esac
echo; echo elf
dd if=/proc/self/exe bs={_ELF_HEADER} count=1 2>/dev/null
exit 0
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a board says it is, and the probe's architecture that follows from it."""

    machine: str
    arch: str


def choose(machine: str, cpuinfo: str) -> str | None:
    """The probe's architecture for what uname and, on 32-bit ARM, /proc/cpuinfo say.

    None when there is none: another architecture, or an ARM without floating-point unit.
    """
    arch = _BY_MACHINE.get(machine)
    features = _features(cpuinfo)
    # armv8l shows 64-bit names of its features, which say nothing here.
    if machine not in ("armv7l", "armv6l") or not features:
        return arch
    if machine == "armv7l" and features & _VFP3:
        return "armv7hf"
    return "armv6hf" if "vfp" in features or features & _VFP3 else None


def identify(board: Board) -> Identity:
    """Asks a board what it is.

    Raises BoardUnusable when no probe is built for it or when its answers contradict each other.
    """
    result = board.run(["sh", "-c", _SURVEY])
    if result.returncode == 127:
        raise BoardUnusable(
            f"{board.name}: there is no 'sh' or no 'uname' ({last_line(result.stderr)})",
            "put a shell and uname on the board, busybox's will do, and their directory into PATH",
        )
    text, _, header = result.stdout.partition(_ELF_MARK)
    first, _, cpuinfo = text.decode("utf-8", "replace").partition("\n")
    machine = printable(first, 40)
    if result.returncode != 0 or not machine:
        raise BoardUnusable(
            f"{board.name}: 'uname -m' does not say what it is ({last_line(result.stderr)})",
            "run it there by hand",
        )
    arch = choose(machine, cpuinfo)
    if arch is None:
        raise BoardUnusable(
            f"{board.name}: no probe is built for '{machine}'"
            + (" without a floating-point unit" if machine in _BY_MACHINE else ""),
            f"there are probes for {', '.join(ARCHITECTURES)}",
        )
    actual = _contradiction(arch, header)
    if actual:
        raise BoardUnusable(
            f"{board.name}: uname says '{machine}', but the programs there are for {actual}",
            "see what answers to 'uname -m' there: a wrapper or an emulation hides the processor",
        )
    return Identity(machine, arch)


def _features(cpuinfo: str) -> frozenset[str]:
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "Features":
            return frozenset(value.split())
    return frozenset()


def _contradiction(arch: str, header: bytes) -> str:
    """What the ELF header is for if that is not ``arch``; nothing when it tells nothing."""
    if len(header) != _ELF_HEADER or not header.startswith(b"\x7fELF"):
        return ""
    big_endian = header[5] == 2
    number = int.from_bytes(header[18:20], "big" if big_endian else "little")
    if number in _ELF_MACHINES[arch] and not big_endian:
        return ""
    name = _ELF_NAMES.get(number, f"a processor of number {number}")
    return f"{name}, big-endian" if big_endian else name
