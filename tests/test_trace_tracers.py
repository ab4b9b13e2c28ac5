"""The tracers osnoise and timerlat: on what the kernel's documentation prints of them, and on
recordings of a guest beside what rtla says of the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import skips
from trace_data import recorded
from web_client import Client

from benchvise.trace.analysis.noise import OsNoise, osnoise
from benchvise.trace.analysis.timerlat import LatencyPart, Timerlat, timerlat
from benchvise.trace.catalogue.flame import FLAME
from benchvise.trace.catalogue.functions import FUNCTIONS
from benchvise.trace.catalogue.noise import OSNOISE, TIMERLAT
from benchvise.trace.catalogue.scheduling import SCHED
from benchvise.trace.loaded import LoadedTrace, load_trace
from benchvise.trace.query import ask
from benchvise.web.file_index import key_of

skips.need_decoder()

DATA = Path(__file__).parent / "data" / "tracers"


def said(name: str) -> str:
    """Lines of tracefs's ``trace``.

    They are those of Documentation/trace/osnoise-tracer.rst (``osnoise``, ``sources``) and
    timerlat-tracer.rst (``latencies``, ``qxl``, ``insmod``) of Linux 6.18; ``before`` is made up.
    ``rtla`` is what ``rtla timerlat top -a 300`` of Linux 6.12 saved.
    """
    return (DATA / f"{name}.txt").read_text()


def opened(text: str, directory: Path) -> LoadedTrace:
    path = directory / "trace.txt"
    path.write_text(text)
    return load_trace(path, cache=False)


def noise_of(text: str, directory: Path) -> OsNoise:
    return osnoise(opened(text, directory).analysis)


def latency_of(text: str, directory: Path, worst: int = 1) -> Timerlat:
    return timerlat(opened(text, directory).analysis, lambda _: None, worst=worst)


def listed(parts: tuple[LatencyPart, ...]) -> list[tuple[str, str, int]]:
    return [(part.what, part.who, part.time) for part in parts]


def test_noise_is_summed_up_by_cpu(tmp_path: Path) -> None:
    first, second = noise_of(
        said("osnoise") + said("osnoise").replace("81.6", "82.6"), tmp_path
    ).cpus
    assert (first.cpu, first.periods, first.runtime, first.noise) == (0, 2, 2 * 10**9, 380_000)
    assert first.available == pytest.approx(0.99981)
    assert (first.most, first.longest) == (190_000, 9_000)
    assert (first.hardware, first.nmi, first.irq, first.softirq, first.thread) == (
        *(36, 0, 2014, 36, 2),
    )
    assert second.cpu == 2
    assert second.available == pytest.approx(0.994325)
    assert second.most_at == 81_638_193_000


def test_who_interfered_is_named(tmp_path: Path) -> None:
    timer, migration = noise_of(said("sources"), tmp_path).sources
    assert (timer.name, timer.duration.count, timer.duration.total) == (
        *("irq:local_timer/236", 2, 1845 + 2848),
    )
    assert (timer.worst_at, timer.worst_cpu) == (5_789_858_404_871, 8)
    assert (migration.kind, migration.name, migration.duration.maximum) == (
        *("task", "task:migration/8/54", 3068),
    )


def test_latencies_are_those_of_each_context_and_cpu(tmp_path: Path) -> None:
    found = latency_of(said("latencies"), tmp_path, worst=2)
    rows = {(row.context, row.cpu): row.latency for row in found.latencies}
    assert list(rows) == [(c, cpu) for c in ("irq", "thread") for cpu in (None, 0, 1)]
    thread = rows["thread", 1]
    assert (thread.count, thread.minimum, thread.mean, thread.maximum) == (2, 4351, 7085.5, 9820)
    assert rows["irq", None].maximum == 2833
    assert [(worst.cpu, worst.activation, worst.latency) for worst in found.worst] == [
        *((0, 1, 11700), (1, 1, 9820)),
    ]
    # Without osnoise's events nobody tells who ran: only the interrupt's part is known.
    assert listed(found.worst[0].parts) == [
        ("IRQ handler delay", "idle:0", 932),
        ("not told", "", 11700 - 932),
    ]
    assert not found.has_noises


def test_a_latency_is_made_of_parts_that_add_up(tmp_path: Path) -> None:
    """As the documentation says of it: the interrupt was late by 13 us, its handler took 7597 ns,
    qxl's 7139 and cc1 blocked for 9909; latencies are gross, so the switch is in them, too."""
    [worst] = latency_of(said("qxl"), tmp_path).worst
    assert (worst.latency, worst.running, worst.incomplete) == (39960, "task:cc1/87882", False)
    delay = 548_771_077_442 - (548_771_078_000 - 13585)
    assert listed(worst.parts) == [
        ("IRQ handler delay", "task:cc1/87882", delay),
        ("timer interrupt", "irq:local_timer/236", 7597),
        ("interference", "irq:qxl/21", 7139),
        ("blocking thread", "task:cc1/87882", 9909),
        ("not told", "", 39960 - delay - 7597 - 7139 - 9909),
    ]
    assert sum(part.time for part in worst.parts) == worst.latency


def test_a_thread_that_disabled_preemption_has_most_of_the_latency(tmp_path: Path) -> None:
    [worst] = latency_of(said("insmod"), tmp_path).worst
    by_what = {part.what: part for part in worst.parts}
    assert by_what["blocking thread"].who == "task:insmod/1026"
    assert by_what["blocking thread"].share == pytest.approx(0.975, abs=0.001)
    assert by_what["interference"].time == 7318  # not the interrupt 650 us before
    assert sum(part.time for part in worst.parts) == worst.latency


def test_only_what_lies_within_a_latency_is_part_of_it(tmp_path: Path) -> None:
    """An interrupt that began before the timer was due counts from there, a softirq that the
    timer's interrupt interrupted from the handler's end."""
    [worst] = latency_of(said("before"), tmp_path).worst
    assert (worst.context, worst.latency, worst.due) == ("user-ret", 110_000, 1_000_060_000)
    assert listed(worst.parts) == [
        ("interrupt before", "irq:eth0/24", 40_000),
        ("IRQ handler delay", "task:7", 10_000),
        ("timer interrupt", "irq:local_timer/236", 10_000),
        ("interference", "softirq:NET_RX", 30_000),
        ("interference", "nmi", 5_000),
        ("return to user space", "", 5_000),
        ("not told", "", 10_000),
    ]


def test_a_latency_is_taken_apart_as_rtla_does(tmp_path: Path) -> None:
    """Of the same activation it printed: IRQ handler delay 60.65 us (stamps of the text are rounded
    to 1 us), timerlat IRQ 201.34, blocking thread swapper/0:0 8.86, thread latency 330.70."""
    [worst] = latency_of(said("rtla"), tmp_path).worst
    assert worst.latency == 330_700
    spent = {part.what: 0 for part in worst.parts}
    for part in worst.parts:
        spent[part.what] += part.time
    delay = spent["interrupt before"] + spent["IRQ handler delay"]
    assert delay == pytest.approx(60_650, abs=1500)
    assert spent["timer interrupt"] == 201_341
    assert spent["leaving idle"] == 8_863


def test_an_activation_beside_lost_events_is_incomplete(tmp_path: Path) -> None:
    lines = said("qxl").splitlines(keepends=True)
    [worst] = latency_of(
        "".join([*lines[:3], "CPU:5 [LOST 7 EVENTS]\n", *lines[3:]]), tmp_path
    ).worst
    assert worst.incomplete
    [worst] = latency_of(lines[-1], tmp_path).worst
    assert worst.incomplete
    assert listed(worst.parts) == [("not told", "", 39960)]


def test_texts_of_trace_cmd_tell_the_same(tmp_path: Path) -> None:
    """Its print formats have numbers for contexts, and no runtime."""
    text = (
        "  <idle>-0  [001]  54.029346: timerlat:  seq:1\tcontext:0\ttimer_latency:2833\n"
        "  timerlat/1-868  [001]  54.029353: timerlat:  seq:1\tcontext:1\ttimer_latency:9820\n"
        "  osnoise/1-9  [001]  55.000001: osnoise:  noise:190\tmax_sample:9\thw:18\tnmi:0\t"
        "irq:1007\tsoftirq:18\tthread:1\n"
    )
    loaded = opened(text, tmp_path)
    [worst] = timerlat(loaded.analysis, lambda _: None).worst
    assert (worst.activation, worst.context, worst.latency) == (1, "thread", 9820)
    [cpu] = osnoise(loaded.analysis).cpus
    assert (cpu.noise, cpu.irq, cpu.runtime, cpu.available) == (190_000, 1007, None, None)


def test_only_what_rests_on_tasks_is_cautioned_without_switches(tmp_path: Path) -> None:
    """A caution that sends to the command whose answer stands below it."""
    loaded = opened(said("qxl"), tmp_path)
    [caution] = SCHED.cautions((loaded,))
    assert caution.startswith("no sched_switch: ")
    assert caution.endswith("benchvise trace timerlat")
    for analysis in (TIMERLAT, OSNOISE, FUNCTIONS, FLAME):
        assert analysis.cautions((loaded,)) == []


def test_sql_has_activations_and_noises(tmp_path: Path) -> None:
    trace = opened(said("qxl"), tmp_path).trace
    answer = ask(
        trace,
        "SELECT activation, irq_latency, thread_latency, user_latency FROM timerlat_activations",
    )
    assert answer.rows == [(402268, 13585, 39960, None)]
    answer = ask(trace, "SELECT kind, name, duration FROM noises ORDER BY begin")
    assert answer.rows[-1] == ("irq", "irq:qxl/21", 7139)
    listed_tables = dict(ask(trace, "SELECT name, rows FROM tables").rows)
    assert (listed_tables["noises"], listed_tables["timerlat_activations"]) == (3, 1)


def test_the_workspace_has_the_same_with_moments_since_the_first_event(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    path = tmp_path / "traces" / "qxl.txt"
    path.write_text(said("qxl"))
    client = Client.of(traces=(tmp_path / "traces",), store=str(tmp_path / "store.db"))
    api = f"/api/traces/{key_of(path)}"
    assert client.get(f"{api}/info").json["has_noise"] is True
    answer = client.get(f"{api}/noise").json
    [worst] = answer["worst"]
    assert (worst["due"], worst["at"], worst["latency"]) == (-13585, 26_000, 39960)
    assert [row["context"] for row in answer["latencies"]] == ["irq", "thread"]
    assert [source["name"] for source in answer["sources"]] == [
        *("task:cc1/87882", "irq:local_timer/236", "irq:qxl/21"),
    ]
    assert client.get(f"{api}/noise?begin=22000").json["sources"][0]["name"] == "task:cc1/87882"


# Of each context and CPU: n, least, mean and greatest latency in ns, summed up from the lines of
# `trace-cmd report` of the recording.
REPORTED = {
    ("irq", 0): (72, 32_327, 6_038_961.541666667, 74_915_528),
    ("irq", 1): (78, 13_458, 4_977_511.294871795, 43_098_932),
    ("thread", 0): (72, 106_466, 6_641_219.944444444, 75_048_868),
    ("thread", 1): (78, 100_628, 5_214_892.269230769, 43_329_607),
}


def test_a_recording_has_the_latencies_of_trace_cmd(tmp_path: Path) -> None:
    loaded = load_trace(recorded("guest-timerlat.dat", tmp_path), cache=False)
    found = timerlat(loaded.analysis, loaded.trace.source.symbol, worst=150)
    latencies = {
        (row.context, row.cpu): (
            *(row.latency.count, row.latency.minimum, row.latency.mean, row.latency.maximum),
        )
        for row in found.latencies
        if row.cpu is not None
    }
    assert latencies == {key: pytest.approx(value) for key, value in REPORTED.items()}
    assert len(found.worst) == 150
    for worst in found.worst:
        assert sum(part.time for part in worst.parts) == worst.latency
    longest = found.worst[0]
    assert (longest.cpu, longest.activation, longest.latency) == (0, 31, 75_048_868)
    by_what = {part.what: part for part in longest.parts}
    assert by_what["blocking thread"].who == by_what["IRQ handler delay"].who == longest.running
    assert by_what["timer interrupt"].who == "irq:local_timer/236"
    assert longest.stack[:3] == ("timerlat_irq", "__hrtimer_run_queues", "hrtimer_interrupt")


def test_a_recording_has_the_noise_of_trace_cmd(tmp_path: Path) -> None:
    loaded = load_trace(recorded("guest-osnoise.dat", tmp_path), cache=False)
    found = osnoise(loaded.analysis)
    assert [
        (cpu.noise, cpu.longest, cpu.hardware, cpu.nmi, cpu.irq, cpu.softirq, cpu.thread)
        for cpu in found.cpus
    ] == [
        (282_617_000, 90_176_000, 5, 0, 8, 0, 6),
        (339_094_000, 172_581_000, 3, 0, 13, 0, 15),
    ]
    timer = next(source for source in found.sources if source.name == "irq:local_timer/236")
    assert (timer.kind, timer.cpus, timer.duration.count) == ("irq", (0, 1), 18)
