"""The runner against a channel that answers from a script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest
from test_registry import LINE, listing

from benchvise.board.channel import NotAvailable, ProbeChannel
from benchvise.board.messages import (
    BeginMessage,
    EndMessage,
    HostMessage,
    Message,
    SampleMessage,
)
from benchvise.errors import BoardUnreachable, ProbeError
from benchvise.measure.model import SeriesStatus
from benchvise.measure.plan import Plan, make_plan
from benchvise.measure.registry import Registry
from benchvise.measure.runner import (
    Event,
    HostSeen,
    ProcessEnded,
    SampleTaken,
    SeriesEnded,
    measure,
)
from benchvise.measure.suite import parse_bench

REGISTRY = Registry.of_probe(listing(LINE))


def plan(bench: str = "memory.copy:size=4K+8K", **options: Any) -> Plan:
    return make_plan(parse_bench(bench).specs(REGISTRY), seed=1, **options)


class ScriptedChannel:
    """Yields two samples a request unless ``fault`` says otherwise for that size."""

    def __init__(self, faults: dict[str, Exception] | None = None) -> None:
        self.faults = faults or {}
        self.is_open = True
        self.log: list[str] = []

    def request(self, args: Sequence[str], *, paced: bool = False) -> Iterator[Message]:
        assert paced
        size = args[args.index("--size") + 1]
        self.log.append(f"run {size}")
        yield HostMessage({"machine": "test"})
        fault = self.faults.get(size)
        if isinstance(fault, NotAvailable):
            raise fault
        yield BeginMessage("memory.copy", {"iterations": 3})
        for index in range(2):
            yield SampleMessage(index, 1.5, {"cpu": 1})
            if fault:
                raise fault
        yield EndMessage(2)

    def acknowledge(self) -> None:
        self.log.append("ack")


def run(channel: ScriptedChannel, what: Plan) -> list[Event]:
    return list(measure(cast(ProbeChannel, channel), what))


def test_the_probe_waits_until_the_sample_was_taken() -> None:
    channel = ScriptedChannel()
    events = measure(cast(ProbeChannel, channel), plan("memory.copy:size=4K"))
    for event in events:
        if isinstance(event, SampleTaken):
            break
    assert channel.log == ["run 4K"], "acknowledged before the consumer was done with the sample"
    next(events)
    assert channel.log == ["run 4K", "ack"]


def test_every_series_is_measured_in_every_round() -> None:
    events = run(ScriptedChannel(), plan())
    assert sum(isinstance(e, SampleTaken) for e in events) == 2 * 3 * 2
    assert sum(isinstance(e, HostSeen) for e in events) == 1
    ends = [e for e in events if isinstance(e, SeriesEnded)]
    assert [e.status for e in ends] == [SeriesStatus.MEASURED] * 2


def test_what_is_not_possible_is_asked_once_and_the_rest_goes_on() -> None:
    channel = ScriptedChannel({"4K": NotAvailable("no such memory")})
    ends = [e for e in run(channel, plan()) if isinstance(e, SeriesEnded)]
    assert {(e.status, e.reason) for e in ends} == {
        (SeriesStatus.NOT_AVAILABLE, "no such memory"),
        (SeriesStatus.MEASURED, ""),
    }
    assert channel.log.count("run 4K") == 1 and channel.log.count("run 8K") == 3


def test_a_process_that_dies_keeps_its_samples_and_the_rest_goes_on() -> None:
    events = run(ScriptedChannel({"4K": ProbeError("killed by SIGKILL")}), plan())
    assert ProcessEnded(0, 0, complete=False) in events
    failed = [e for e in events if isinstance(e, SeriesEnded) and e.status == "failed"]
    assert [e.reason for e in failed] == ["killed by SIGKILL"]
    assert any(isinstance(e, SampleTaken) and e.position == 0 for e in events)


def test_a_lost_connection_ends_the_run() -> None:
    with pytest.raises(BoardUnreachable):
        run(ScriptedChannel({"4K": BoardUnreachable("gone")}), plan())


def test_a_dead_probe_ends_the_run() -> None:
    channel = ScriptedChannel({"4K": ProbeError("no more lines")})
    channel.is_open = False
    with pytest.raises(ProbeError):
        run(channel, plan())


def test_a_sample_without_a_number_is_a_failure() -> None:
    class Nonsense(ScriptedChannel):
        def request(self, args: Sequence[str], *, paced: bool = False) -> Iterator[Message]:
            yield BeginMessage("memory.copy", {})
            yield SampleMessage(0, None, {})

    ends = [e for e in run(Nonsense(), plan("memory.copy")) if isinstance(e, SeriesEnded)]
    assert ends[0].status is SeriesStatus.FAILED and "without a number" in ends[0].reason


def test_time_ends_after_a_whole_round() -> None:
    channel = ScriptedChannel()
    events = run(channel, plan(time_s=1e-9))
    assert channel.log.count("run 4K") == channel.log.count("run 8K") == 1
    assert sum(isinstance(e, SeriesEnded) for e in events) == 2
