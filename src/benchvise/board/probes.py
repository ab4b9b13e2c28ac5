"""The probes that come with this package: three programs for each architecture."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from benchvise.board.architecture import ARCHITECTURES
from benchvise.errors import BenchviseError

PROBES = Path(__file__).parent / "probes"

PROBE = "bvprobe"
HELPERS = ("bvio", "bvlibc")
"""What lies beside it: storage and network, and what measures the board's own C library."""

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
