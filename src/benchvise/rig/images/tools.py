"""Running the programs that read and write file systems: mtools and e2fsprogs.

All of them are run in one directory, on images that are named relative to it: what these programs
read into a file name (``?offset=``, ``@@``) then never meets a path of the user's.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchvise.rig.images.errors import ComposeError
from benchvise.text import printable

_SECONDS = 3600.0  # a check of the largest card there is; no run of them hangs by itself
_EARLIEST = 1577836800  # 2020-01-01, for images without any date

_PACKAGES = {
    "debugfs": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "resize2fs": "e2fsprogs",
    "tune2fs": "e2fsprogs",
    "dumpe2fs": "e2fsprogs",
    "mdir": "mtools",
    "mcopy": "mtools",
    "mtype": "mtools",
    "mdel": "mtools",
    "mdeltree": "mtools",
    "mmd": "mtools",
}


@dataclass(frozen=True, slots=True)
class Output:
    """What a program left: its exit status and its two streams."""

    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def complaint(self) -> str:
        """Its last words, fit to be printed."""
        lines = [line.strip() for line in (self.stderr or self.stdout).splitlines()]
        last = next((line for line in reversed(lines) if line), b"")
        return printable(last.decode(errors="replace")) or f"exit status {self.returncode}"


@dataclass(slots=True)
class Tools:
    """Runs programs in ``directory``.

    ``clock`` (seconds since 1970) is the time that they take for the present, so that the same
    images always compose to the same bytes.
    """

    directory: Path
    clock: int = _EARLIEST
    _serial: int = field(default=0, init=False)

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - named as in subprocess.run
        allowed: Collection[int] = (0,),
    ) -> Output:
        """Runs a program to its end.

        ComposeError when it is not installed, or ends with another status than those allowed.
        """
        environment = {
            "PATH": os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin",
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
            ended = subprocess.run(
                argv, input=input, capture_output=True, cwd=self.directory, env=environment,
                timeout=_SECONDS, check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            package = _PACKAGES.get(argv[0], argv[0])
            raise ComposeError(
                f"{argv[0]} is not installed", f"install it: apt-get install {package}"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise ComposeError(
                f"{argv[0]} did not end within {_SECONDS:.0f} s", "look at the disk it works on"
            ) from error
        output = Output(ended.returncode, ended.stdout, ended.stderr)
        if ended.returncode not in allowed:
            raise ComposeError(
                f"{argv[0]} failed ({output.complaint})", "check the image with e2fsck or fsck.vfat"
            )
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
