"""The files of a board that runs, through its probe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from benchvise.board.messages import FileError, FileValue
from benchvise.text import printable
from benchvise.why.provenance.globs import is_pattern

# By these a path says that there is nothing to read: no such file, or a directory.
_NOTHING = frozenset({"ENOENT", "ENOTDIR", "EISDIR", "EINVAL"})

# What lies here is a script or a program that a line of some other file runs.
_COMMANDS = ("/bin/", "/sbin/", "/usr/", "/lib/", "/opt/")
_HEAD = 64  # bytes that tell a program from a text

_LIMIT = 64 << 10
_LARGE = ("/proc/config.gz", "/boot/", "/lib/modules/", "/usr/lib/modules/", "/sys/firmware/fdt")
_LARGE_LIMIT = 480 << 10


class Readable(Protocol):
    """What is needed of a probe's channel."""

    def read(self, globs: Iterable[str], *, limit: int = 0) -> dict[str, FileValue | FileError]:
        """See ``ProbeChannel.read``."""

    def links(self, globs: Iterable[str]) -> dict[str, str | FileError]:
        """See ``ProbeChannel.links``."""


class ProbedFiles:
    """The files of a board. ``roles`` are those of its snapshot."""

    is_live = True

    def __init__(
        self, channel: Readable, name: str, roles: Mapping[str, str] | None = None
    ) -> None:
        self._channel = channel
        self.name = name
        self.roles: Mapping[str, str] = dict(roles or {})
        self.unread: dict[str, str] = {}

    def read(self, globs: Iterable[str]) -> dict[str, bytes]:
        """The contents of all files that match, in three requests at most."""
        wanted = self._without_programs(list(globs))
        large = [glob for glob in wanted if glob.startswith(_LARGE)]
        found: dict[str, bytes] = {}
        for group, limit in (
            ([glob for glob in wanted if glob not in set(large)], _LIMIT),
            (large, _LARGE_LIMIT),
        ):
            if group:
                self._take(self._channel.read(group, limit=limit), limit, found)
        return found

    def links(self, globs: Iterable[str]) -> dict[str, str]:
        """Where the symbolic links that match lead."""
        found = self._channel.links(globs)
        return {path: target for path, target in found.items() if isinstance(target, str)}

    def _without_programs(self, globs: list[str]) -> list[str]:
        """Without the files that are commands and no text: programs are large."""
        commands = [glob for glob in globs if glob.startswith(_COMMANDS) and not is_pattern(glob)]
        if not commands:
            return globs
        heads = self._channel.read(commands, limit=_HEAD)
        programs = {
            path
            for path, head in heads.items()
            if isinstance(head, FileValue) and (isinstance(head.value, bytes) or "\0" in head.value)
        }
        return [glob for glob in globs if glob not in programs]

    def _take(
        self, answer: Mapping[str, FileValue | FileError], limit: int, found: dict[str, bytes]
    ) -> None:
        for path, content in answer.items():
            if isinstance(content, FileError):
                if content.name not in _NOTHING:
                    self.unread[path] = printable(content.name, 40)
                continue
            value = content.value
            found[path] = value if isinstance(value, bytes) else value.encode("utf-8", "replace")
            if content.truncated:
                self.unread[path] = f"only its first {limit >> 10} KiB were looked at"
