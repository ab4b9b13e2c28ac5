"""What can go wrong with a request, beyond what can go wrong with what it asks for."""

from __future__ import annotations

from benchvise.errors import (
    BenchviseError,
    BoardUnreachable,
    CaptureError,
    StoreError,
    TraceError,
    UsageError,
)


class NotFound(UsageError):  # noqa: N818
    """There is nothing at this address."""


class Refused(BenchviseError):  # noqa: N818
    """The request may not be made, by this page or by anybody."""


class Busy(BenchviseError):  # noqa: N818
    """The server has too much to do already."""


_STATUS: tuple[tuple[type[BenchviseError], int], ...] = (
    (NotFound, 404),
    (Refused, 403),
    (Busy, 503),
    (UsageError, 400),
    (TraceError, 422),
    (CaptureError, 422),
    (StoreError, 503),
    (BoardUnreachable, 502),
)


def status_of(error: BenchviseError) -> int:
    """The HTTP status that says what kind of error it is."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
