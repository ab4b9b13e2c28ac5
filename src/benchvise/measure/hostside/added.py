"""Benchmarks that users add: checked when they are read, and held to the errors of a benchmark.

What code of somebody else raises while it measures is the failure of its series; the others of the
run go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from benchvise.board.messages import BeginMessage, EndMessage, HostMessage, SampleMessage
from benchvise.board.messages import SeriesMessage as Message
from benchvise.errors import BenchviseError, MeasurementError, UsageError
from benchvise.extensions import ExtensionError, ExtensionSource, foreign_code
from benchvise.measure.hostside.base import HostBenchmark, Order
from benchvise.measure.model import Benchmark

T = TypeVar("T")


class AddedBenchmark:
    """A benchmark of somebody else; ``origin`` is its file or package."""

    def __init__(self, benchmark: HostBenchmark, origin: str) -> None:
        self._benchmark, self._origin = benchmark, origin
        self.description = benchmark.description

    def check(self, params: Mapping[str, str]) -> None:
        """UsageError for values that it refuses."""
        try:
            self._benchmark.check(params)
        except BenchviseError:
            raise
        except Exception as error:  # whatever code of somebody else does
            raise UsageError(self._problem(error), f"correct it in {self._origin}") from error

    def messages(self, order: Order) -> Iterator[Message]:
        """Its messages. MeasurementError for what is none, and for whatever it raises."""
        messages = self._guarded(lambda: iter(self._benchmark.messages(order)))
        while (message := self._guarded(lambda: next(messages, None))) is not None:
            if not isinstance(message, HostMessage | BeginMessage | SampleMessage | EndMessage):
                raise self._failure(TypeError(f"{type(message).__name__} is no message"))
            yield message

    def _guarded(self, call: Callable[[], T]) -> T:
        try:
            with foreign_code():
                return call()
        except BenchviseError:
            raise
        except Exception as error:  # as above
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> MeasurementError:
        return MeasurementError(self._problem(error), f"correct it in {self._origin}")

    def _problem(self, error: Exception) -> str:
        return f"{self.description.id} failed: {type(error).__name__}: {error}"


def read_benchmarks(source: ExtensionSource) -> Iterator[HostBenchmark]:
    """The benchmarks of an extension: objects, or classes of such."""
    for value in source.objects():
        benchmark: Any = value() if isinstance(value, type) else value
        description = getattr(benchmark, "description", None)
        if not isinstance(description, Benchmark):
            raise ExtensionError(f"{value!r:.90} is no benchmark: its description is no Benchmark")
        if not str(description.defaults.get("batches", "")).isdecimal():
            raise ExtensionError(f"{description.id}: its defaults have no number of batches")
        if not all(callable(getattr(benchmark, name, None)) for name in ("check", "messages")):
            raise ExtensionError(f"{description.id} has no functions check and messages")
        yield AddedBenchmark(benchmark, source.origin)
