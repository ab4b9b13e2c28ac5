"""Commands for debugfs of e2fsprogs, which reads and writes ext file systems without mounts.

It takes one command a line from its standard input, echoes each as ``debugfs: COMMAND``, and prints
errors on its standard error; its exit status means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchvise.rig.images import ImageError
from benchvise.rig.images.tools import Tools
from benchvise.text import Untrusted

_LONGEST = 8000  # its buffer for a line has 8192 bytes


def quoted(name: str) -> str:
    """A file name as one word of a command. ImageError for one that cannot be quoted."""
    if "\n" in name or "\0" in name or len(encoded(name)) > _LONGEST // 2:
        raise ImageError(
            f"the file name '{Untrusted(name)}' cannot be handled", "remove it from the image"
        )
    return '"' + name.replace('"', '""') + '"'


def encoded(name: str) -> bytes:
    """The bytes of a name as they lie in the file system."""
    return name.encode(errors="surrogateescape")


def execute(tools: Tools, device: str, commands: Sequence[str], *, write: bool = False) -> bytes:
    """The output of commands on a file system. ImageError when debugfs reports any error."""
    if not commands:
        return b""
    script = "".join(f"{command}\n" for command in commands)
    argv = ["debugfs", *(["-w"] if write else []), "-f", "-", device]
    output = tools.run(argv, input=encoded(script), allowed=range(256))
    complaints = [line for line in output.stderr.splitlines() if line and b"debugfs 1." not in line]
    if complaints:
        complaint = Untrusted(complaints[0].decode(errors="replace"))
        if "unsupported" in complaint.raw:
            raise ImageError(
                f"the ext file system has a feature that debugfs does not know ({complaint})",
                "install a newer e2fsprogs",
            )
        raise ImageError(
            f"the ext file system is damaged ({complaint})",
            "check the image's partition with e2fsck -f, or get the image again",
        )
    return output.stdout


def answers(output: bytes, commands: Sequence[str]) -> list[bytes]:
    """The output of each of the commands, in their order."""
    begins: list[tuple[int, int]] = []
    at = 0
    for command in commands:
        head = b"debugfs: " + encoded(command) + b"\n"
        at = output.find(head, at)
        if at < 0:
            raise ImageError("the output of debugfs cannot be parsed", "update e2fsprogs")
        begins.append((at, at + len(head)))
        at += len(head)
    ends = [*(head for head, _ in begins), len(output)][1:]
    return [output[begin:end] for (_, begin), end in zip(begins, ends, strict=True)]
