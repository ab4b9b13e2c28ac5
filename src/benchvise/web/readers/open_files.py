"""What the reader knows and has open: the files that requests came with, traces, captures."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.requests import Request

from benchvise.web.captures.served import CaptureView, ServedCapture, ServedCaptures
from benchvise.web.file_index import IndexedFile, no_such_file
from benchvise.web.workspace.served import ServedTrace, ServedTraces

_MOST = 4000


class KnownFiles:
    """The files of one kind that the server has told of; ``what`` is the word for one of them."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._by_key: dict[str, IndexedFile] = {}
        self._lock = threading.Lock()

    def learn(self, files: Sequence[IndexedFile], *, all_of_them: bool) -> None:
        """Takes over what a request came with."""
        with self._lock:
            if all_of_them or len(self._by_key) > _MOST:
                self._by_key = {}
            self._by_key |= {file.key: file for file in files}

    def files(self) -> list[IndexedFile]:
        """All of them, in the server's order."""
        with self._lock:
            return list(self._by_key.values())

    def find(self, key: str) -> IndexedFile:
        """The file that a key names. NotFound when there is none."""
        with self._lock:
            file = self._by_key.get(key)
        if file is None:
            raise no_such_file(self._what, key)
        return file


@dataclass
class OpenFiles:
    """What all requests of the reader share."""

    traces: KnownFiles = field(default_factory=lambda: KnownFiles("trace"), init=False)
    captures: KnownFiles = field(default_factory=lambda: KnownFiles("capture"), init=False)
    served_captures: ServedCaptures = field(default_factory=ServedCaptures, init=False)
    served_traces: ServedTraces = field(default_factory=ServedTraces, init=False)

    def trace(self, key: str) -> ServedTrace:
        """The trace that a key names, opened.

        Raises:
            NotFound: there is none of that key.
            UsageError, TraceError, Busy: as ``ServedTraces.get`` does.
        """
        return self.served_traces.get(self.traces.find(key).path)

    def capture(self, key: str, view: CaptureView) -> ServedCapture:
        """The capture that a key names, opened and decoded as ``view`` says.

        Raises:
            NotFound: there is none of that key.
            CaptureError, Busy: as ``ServedCaptures.get`` does.
        """
        return self.served_captures.get(self.captures.find(key).path, view)

    def close(self) -> None:
        """Ends what was opened."""
        self.served_traces.close()


def open_files(request: Request) -> OpenFiles:
    """What the reader that got the request has open."""
    files: OpenFiles = request.app.state.open_files
    return files
