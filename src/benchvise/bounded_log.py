"""A log that never fills the disk: a file, and the one before it."""

from __future__ import annotations

import os
from pathlib import Path

from benchvise.host_system import open_flags

LOG_BYTES = 4 << 20
"""At this size NAME becomes NAME.1, so that both together are bounded."""


class BoundedLog:
    """A file of bytes for the user alone, turned over when it is full. Each write is at once on
    the file.

    A full disk must not take down what writes: what cannot be written is counted in ``lost``.
    """

    def __init__(self, file: Path, limit: int = LOG_BYTES) -> None:
        self.lost = 0
        self._file = file
        self._limit = limit
        self._descriptor = self._open()

    def write(self, data: bytes) -> None:
        """Appends ``data``."""
        try:
            if os.fstat(self._descriptor).st_size + len(data) > self._limit:
                os.close(self._descriptor)
                self._file.replace(self._file.with_name(f"{self._file.name}.1"))
                self._descriptor = self._open()
            written = os.write(self._descriptor, data)
        except OSError:
            written = 0
        self.lost += len(data) - written

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | open_flags("O_CLOEXEC", "O_NOFOLLOW")
        return os.open(self._file, flags, 0o600)
