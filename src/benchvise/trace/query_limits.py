"""What a query may use, and what a process dies of that runs one."""

from __future__ import annotations

from dataclasses import dataclass

from benchvise.errors import BenchviseError, TraceError, UsageError
from benchvise.host_system import signal_name


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What a query may use."""

    rows: int = 1000
    seconds: float = 60
    memory_mb: int = 1024
    to_have_longer: str = "say --time S to allow more"
    to_have_more: str = "say --memory MB, or let it group and filter more"
    """What whoever asks can do about the limits."""

    @property
    def too_long(self) -> UsageError:
        """The error for a query that was not done in time."""
        return UsageError(f"the query takes longer than {self.seconds:g} s", self.to_have_longer)

    @property
    def bytes_for_process(self) -> int:
        """What a process may take for a query: besides the memory that DuckDB counts there are
        threads, the answer as Python has it, and what functions allocate."""
        return (self.memory_mb << 20) + (192 << 20)

    @property
    def too_much(self) -> UsageError:
        """The error for a query that needed more memory."""
        return UsageError(
            f"the query needs more than {self.memory_mb} MB of memory", self.to_have_more
        )


def cause_of_death(signal_number: int, file: str, limits: QueryLimits) -> BenchviseError:
    """What a process died of that ran a query over a trace."""
    match signal_name(signal_number):
        case "SIGBUS":
            return became_shorter(file)
        case "SIGALRM":
            return limits.too_long
        case "SIGSEGV":  # a stack that is full, or an allocation that nobody checked
            return UsageError(
                "the query is nested too deeply, or needs more than "
                f"{limits.memory_mb} MB of memory",
                f"write it in fewer levels, or {limits.to_have_more}",
            )
        case _:
            return limits.too_much


def became_shorter(file: str) -> TraceError:
    """What a process dies of when somebody truncates a file that it has mapped."""
    return TraceError(f"{file} became shorter while it was read", "open it again")


def needs_more_than_there_is(file: str) -> TraceError:
    """What a process dies of that opens a trace with too little memory."""
    return TraceError(f"reading {file} needs more memory than there is", "record a shorter time")


def nested_too_deeply() -> UsageError:
    """What a query has come to when the stack is full."""
    return UsageError("the query is nested too deeply", "write it in fewer levels")
