"""Every error that a user can meet, with its exit code.

    BenchviseError                     1  something failed
    ├── UsageError                     2  the command line or a suite asks for what does not exist
    ├── BoardUnreachable               3  no connection, connection lost, login refused
    ├── BoardUnusable                  1  the board answers but cannot run the probe
    ├── MeasurementError               1  a benchmark that this machine drives failed
    ├── ProbeError                     1  the probe died, or said something that is not its protocol
    ├── OutputError                    1  a file that the user named cannot be written
    ├── UnsupportedSystem              1  this machine's operating system lacks what is needed
    ├── StoreError                     1  the store is locked, full, read-only or not ours
    ├── TraceError                     1  a trace cannot be read, or not asked what it was asked
    ├── CaptureError                   1  a capture cannot be read, or not asked what it was asked
    ├── SettingError                   1  a setting was refused, did not hold, or is not put back
    ├── Undecided                      5  a gate is neither passed nor failed: noise may hide more
    └── Interrupted                    4  Ctrl-C or SIGTERM; what was measured is kept, what was
                                          set is put back

A message is one line that names the thing; a remedy is one line that says what to do.
"""

from __future__ import annotations

from typing import ClassVar


class BenchviseError(Exception):
    """Base of all errors that are reported to the user in one line.

    ``message`` names what is wrong and with what; ``remedy`` says what to do about it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}: {self.remedy}" if self.remedy else self.message


class UsageError(BenchviseError):
    """The user asked for something that does not exist or is out of range."""

    exit_code = 2


class BoardUnreachable(BenchviseError):  # noqa: N818
    """The board cannot be reached, or contact was lost."""

    exit_code = 3


class BoardUnusable(BenchviseError):  # noqa: N818
    """The board answers, but the probe cannot be put or run there."""


class MeasurementError(BenchviseError):
    """A benchmark that is driven from this machine, not by the probe, failed."""


class ProbeError(BenchviseError):
    """The probe died or broke its protocol."""


class UnsupportedSystem(BenchviseError):  # noqa: N818
    """What was asked for does not run on the operating system of this machine."""


class StoreError(BenchviseError):
    """The store cannot be opened, read or written."""


class OutputError(BenchviseError):
    """A file or directory that the user named cannot be written."""


class TraceError(BenchviseError):
    """A trace cannot be read, or what is asked of it cannot be had."""


class CaptureError(BenchviseError):
    """A capture cannot be read, or what is asked of it cannot be had."""


class SettingError(BenchviseError):
    """A setting of a board cannot be made, did not hold, or could not be put back."""


class Interrupted(BenchviseError):  # noqa: N818
    """The user or the system asked to stop."""

    exit_code = 4


class Undecided(BenchviseError):  # noqa: N818
    """A gate could not be decided: noise may hide a regression."""

    exit_code = 5
