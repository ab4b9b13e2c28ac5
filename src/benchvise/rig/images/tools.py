"""Running the programs that images are read, changed and made with.

Those that know file systems (mtools, e2fsprogs, dosfstools) run in one directory, on images that
are named relative to it: what these programs read into a file name (``?offset=``, ``@@``) then
never meets a path of the user's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchvise.rig.images import ImageError
from benchvise.text import last_line

PACKAGES = {
    "apt-cache": "apt",
    "apt-config": "apt",
    "apt-get": "apt",
    "debugfs": "e2fsprogs",
    "dpkg-deb": "dpkg",
    "dumpe2fs": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "mcopy": "mtools",
    "mdel": "mtools",
    "mdeltree": "mtools",
    "mdir": "mtools",
    "mke2fs": "e2fsprogs",
    "mkfs.vfat": "dosfstools",
    "mmd": "mtools",
    "mtype": "mtools",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-arm": "qemu-system-arm",
    "qemu-system-riscv64": "qemu-system-misc",
    "qemu-system-x86_64": "qemu-system-x86",
    "resize2fs": "e2fsprogs",
    "ssh-keygen": "openssh-client",
    "tune2fs": "e2fsprogs",
}
"""Which Debian package has a program."""

EPOCH = 1_700_000_000
"""Seconds since 1970 that every file of a new image is dated: equal input gives equal bytes."""

_EARLIEST = 1_577_836_800  # 2020-01-01, for images without any date
_SECONDS = 3600.0  # a check of the largest card there is; no run of them hangs by itself
_PATH = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin")  # not all in everybody's


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a program left: its exit status and its two streams."""

    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def complaint(self) -> str:
        """The last line that it printed."""
        return last_line(self.stderr or self.stdout) or f"exit status {self.returncode}"

    @property
    def text(self) -> str:
        """What it printed on its standard output."""
        return self.stdout.decode(errors="replace")


@dataclass(slots=True)
class Tools:
    """Runs programs in ``directory``.

    ``clock`` (seconds since 1970) is the time that they take for the present, so that the same
    images always compose to the same bytes. ``remedy`` is what to try when one fails.
    """

    directory: Path
    clock: int = _EARLIEST
    remedy: str = "check the image with e2fsck or fsck.vfat"
    _serial: int = field(default=0, init=False)

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        input: bytes = b"",  # noqa: A002 - named as in subprocess.run
        allowed: Collection[int] = (0,),
        environment: Mapping[str, str] | None = None,
    ) -> ToolOutput:
        """Runs a program to its end; ``environment`` adds to what it gets, which is little.

        ImageError when it is not installed, or ends with another status than those allowed.
        """
        name = str(argv[0])
        own = {
            "PATH": _search_path(),
            "HOME": str(self.directory),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "MTOOLSRC": os.devnull,
            "MTOOLS_SKIP_CHECK": "1",  # the sizes that some firmware writes are odd but harmless
            "E2FSPROGS_FAKE_TIME": str(self.clock),
            "E2FSCK_TIME": str(self.clock),
            "SOURCE_DATE_EPOCH": str(self.clock),
        }
        try:
            completed = subprocess.run(
                [find_program(name), *argv[1:]], input=input, capture_output=True,
                cwd=self.directory, env={**(environment or {}), **own}, timeout=_SECONDS,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise ImageError(
                f"{name} did not end within {_SECONDS:.0f} s", "check the disk it works on"
            ) from error
        output = ToolOutput(completed.returncode, completed.stdout, completed.stderr)
        if output.returncode not in allowed:
            raise ImageError(f"{name} failed ({output.complaint})", self.remedy)
        return output

    def scratch(self, data: bytes | None = None) -> str:
        """The name of a new file in the directory, with these contents if any are given."""
        self._serial += 1
        name = f"scratch-{self._serial}"
        if data is not None:
            (self.directory / name).write_bytes(data)
        return name

    def forget(self, name: str) -> None:
        """Removes a file that ``scratch`` named."""
        (self.directory / name).unlink(missing_ok=True)


def installed(program: str) -> bool:
    """Whether a program is installed here."""
    return shutil.which(program, path=_search_path()) is not None


def find_program(name: str) -> str:
    """The path of a program. ImageError, with the package that has it, when it is not here."""
    path = shutil.which(name, path=_search_path())
    if path is None:
        package = PACKAGES.get(name, name)
        raise ImageError(
            f"{name} is not installed",
            f"install it: apt-get install --no-install-recommends {package}",
        )
    return path


def _search_path() -> str:
    """Where programs are looked for: also where only administrators look."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *_PATH])
