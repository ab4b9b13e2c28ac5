"""What a recording sets of the kernel's tracers, and what it refuses."""

from __future__ import annotations

import pytest
from in_process import benchvise

from benchvise.errors import UsageError
from benchvise.trace.recording import RecordingPlan
from benchvise.trace.tracers import KernelTracer, TracerOptions, tracer_settings

NO_LIMIT = ("osnoise/stop_tracing_us=0", "osnoise/stop_tracing_total_us=0")


def test_options_become_files_of_tracefs() -> None:
    timerlat = tracer_settings(
        KernelTracer.TIMERLAT,
        TracerOptions(period=200, stop=100, stop_total=150, stack=50, cpus="3,1,2"),
    )
    assert timerlat == (
        "osnoise/stop_tracing_us=100",
        "osnoise/stop_tracing_total_us=150",
        "osnoise/timerlat_period_us=200",
        "osnoise/print_stack=50",
        "osnoise/cpus=1-3",
    )
    osnoise = tracer_settings(KernelTracer.OSNOISE, TracerOptions(period=5000, threshold=1))
    assert osnoise == (
        *NO_LIMIT,
        *("osnoise/period_us=5000", "tracing_thresh=1", "osnoise/runtime_us=5000"),
    )
    assert tracer_settings(KernelTracer.OSNOISE, TracerOptions()) == NO_LIMIT
    assert tracer_settings(None, TracerOptions()) == ()


def test_the_probe_is_told_of_them() -> None:
    words = RecordingPlan(tracer="timerlat", settings=NO_LIMIT).arguments(controlled=True)
    at = words.index("--tracer")
    assert words[at : at + 4] == ["--tracer", "timerlat", "--settings", ";".join(NO_LIMIT)]


@pytest.mark.parametrize(
    ("tracer", "options", "reason"),
    [
        (None, TracerOptions(stop=5), "--stop-us is of the kernel's tracers"),
        (KernelTracer.TIMERLAT, TracerOptions(runtime=5), "timerlat has no --runtime-us"),
        (KernelTracer.OSNOISE, TracerOptions(stack=5), "osnoise has no --stack-us"),
        (KernelTracer.TIMERLAT, TracerOptions(period=50), "no period below 100 us"),
        (KernelTracer.OSNOISE, TracerOptions(period=5, runtime=6), "longer than its period"),
        (KernelTracer.OSNOISE, TracerOptions(cpus="3-1"), "not a list of CPUs"),
        (KernelTracer.OSNOISE, TracerOptions(cpus=""), "not a list of CPUs"),
    ],
)
def test_what_cannot_be_is_refused(
    tracer: KernelTracer | None, options: TracerOptions, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        tracer_settings(tracer, options)


def test_the_command_refuses_before_it_reaches_a_board() -> None:
    record = ("trace", "record", "ssh://nowhere.invalid", "-o", "x.dat")
    for words, reason in (
        (("--period-us", "5"), "add --tracer timerlat"),
        (("--tracer", "osnoise", "--functions", "vfs_read"), "one tracer at a time"),
        (("--tracer", "lttng", "--stop-us", "5"), "of the kernel's tracers"),
    ):
        ran = benchvise(*record, *words)
        assert ran.code == 2
        assert reason in " ".join(ran.err.split())
