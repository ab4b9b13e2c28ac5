"""The kernel's tracers timerlat and osnoise: what a recording sets of them while it lasts.

timerlat arms a timer on each CPU and measures how late its interrupt and its thread are; osnoise
runs a thread on each CPU and measures what interrupts it. The probe writes the settings below
tracefs, and restores them. Files, units and bounds are those of the kernel's documentation
(Documentation/trace/timerlat-tracer.rst, osnoise-tracer.rst).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum

from benchvise.errors import UsageError
from benchvise.quantities import format_cpus, parse_cpus
from benchvise.text import printable


class KernelTracer(StrEnum):
    """A tracer that measures by itself."""

    TIMERLAT = "timerlat"
    OSNOISE = "osnoise"


TRACER_EVENTS = ("osnoise",)
"""What is recorded with them where no events are named: who ran meanwhile."""

_SHORTEST_PERIOD_US = 100
"""Of timerlat's timer: the kernel refuses less."""

_LONGEST_LIST = 127
"""Characters that the probe takes."""


@dataclass(frozen=True, slots=True)
class TracerOptions:
    """What a recording asks of a tracer, times in us; None leaves what the kernel has set.

    Of timerlat, ``stop`` is a latency of the timer's interrupt and ``stop_total`` one of its
    thread; of osnoise, ``stop`` is one noise and ``stop_total`` all noise of a period. Tracing
    stops with the first that is longer. ``threshold`` is the shortest noise that counts, ``stack``
    the latency of the thread from which timerlat saves the stack at its interrupt.
    """

    period: int | None = None
    runtime: int | None = None
    stop: int | None = None
    stop_total: int | None = None
    threshold: int | None = None
    stack: int | None = None
    cpus: str | None = None


FLAGS: Mapping[str, str] = {
    "period": "--period-us",
    "runtime": "--runtime-us",
    "stop": "--stop-us",
    "stop_total": "--stop-total-us",
    "threshold": "--threshold-us",
    "stack": "--stack-us",
    "cpus": "--cpus",
}
"""The options of ``trace record``."""

_COMMON = {
    "stop": "osnoise/stop_tracing_us",
    "stop_total": "osnoise/stop_tracing_total_us",
    "cpus": "osnoise/cpus",
}
_FILES: Mapping[KernelTracer, Mapping[str, str]] = {
    KernelTracer.TIMERLAT: {
        "period": "osnoise/timerlat_period_us",
        "stack": "osnoise/print_stack",
        **_COMMON,
    },
    KernelTracer.OSNOISE: {
        "period": "osnoise/period_us",
        "runtime": "osnoise/runtime_us",
        "threshold": "tracing_thresh",
        **_COMMON,
    },
}


def tracer_settings(tracer: KernelTracer | None, options: TracerOptions) -> tuple[str, ...]:
    """The files below tracefs that are written for the options, each FILE=VALUE.

    Without a limit, tracing goes on however late a timer is: one that somebody left set is cleared.

    Raises:
        UsageError: an option is of another tracer or of none, or its value cannot be.
    """
    values = {f.name: getattr(options, f.name) for f in fields(options)}
    values = {name: value for name, value in values.items() if value is not None}
    if tracer is None:
        if values:
            raise UsageError(
                f"{FLAGS[next(iter(values))]} is of the kernel's tracers",
                "add --tracer timerlat or --tracer osnoise",
            )
        return ()
    files = _FILES[tracer]
    for name in values:
        if name not in files:
            flags = ", ".join(FLAGS[each] for each in FLAGS if each in files)
            raise UsageError(f"{tracer.value} has no {FLAGS[name]}", f"it has {flags}")
    _check(tracer, options)
    if options.cpus is not None:
        values["cpus"] = _cpus(options.cpus)
    if tracer is KernelTracer.OSNOISE and options.period is not None:
        values.setdefault("runtime", options.period)
    values = {"stop": 0, "stop_total": 0, **values}
    return tuple(f"{files[name]}={value}" for name, value in values.items())


def _check(tracer: KernelTracer, options: TracerOptions) -> None:
    period, runtime = options.period, options.runtime
    if tracer is KernelTracer.TIMERLAT and period is not None and period < _SHORTEST_PERIOD_US:
        raise UsageError(
            f"timerlat has no period below {_SHORTEST_PERIOD_US} us", "give a longer one"
        )
    if period is not None and runtime is not None and runtime > period:
        raise UsageError(
            "osnoise cannot run for longer than its period", "give --runtime-us at most --period-us"
        )


def _cpus(text: str) -> str:
    try:
        cpus = format_cpus(parse_cpus(text))
    except ValueError:
        cpus = ""
    if not cpus or len(cpus) > _LONGEST_LIST:
        raise UsageError(f"'{printable(text, 60)}' is not a list of CPUs", "write 1 or 0-3,7")
    return cpus


def tracer_remedy(tracer: str, error: str) -> str:
    """What to do where a kernel refuses a tracer with an error, as ``EBUSY``."""
    if error == "ENOENT":
        return (
            f"it takes a kernel with CONFIG_{tracer.upper()}_TRACER, as Debian's is from 6.12 on, "
            "or record without --tracer"
        )
    if error == "EBUSY":
        return "another tracer of this kind is at work there: end it (rtla, trace-cmd)"
    return "choose values within the kernel's bounds (Documentation/trace/osnoise-tracer.rst)"
