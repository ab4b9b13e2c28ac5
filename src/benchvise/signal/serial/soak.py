"""A serial line under every setting asked for, pattern by pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeAlias

from benchvise.errors import UsageError
from benchvise.signal.serial.classify import TestedSetting
from benchvise.signal.serial.exchange import Exchange, exchange
from benchvise.signal.serial.far import FarEnd, plug
from benchvise.signal.serial.patterns import patterns
from benchvise.signal.serial.port import Flow, Port

Observer: TypeAlias = Callable[[Flow, int, int, Exchange], None]
"""Is told of flow control, rate, chunk, and the pattern that was just exchanged."""


def soak(
    near: str,
    far: FarEnd = plug,
    *,
    flows: Sequence[Flow],
    bauds: Sequence[int],
    chunks: Sequence[int],
    size: int,
    seed: int,
    observe: Observer = lambda _flow, _baud, _chunk, _exchange: None,
) -> list[TestedSetting]:
    """Tests the line between a port of this machine and another end.

    ``size`` is about how many bytes each pattern has. Raises UsageError for a port that cannot be
    opened, BoardUnusable for one that goes meanwhile, and what ``far`` raises.
    """
    if not 64 <= size <= 64 << 20:
        raise UsageError(f"patterns of {size} bytes", "64 bytes to 64 MiB each")
    settings = []
    for flow in flows:
        for baud in bauds:
            for chunk in chunks:
                with ExitStack() as stack:
                    near_port = stack.enter_context(Port(near, baud, flow))
                    far_port = stack.enter_context(far(baud, flow))
                    done: list[Exchange] = []
                    for pattern in patterns(flow, size, seed):
                        result = exchange(near_port, far_port, pattern, chunk, baud)
                        done.append(result)
                        observe(flow, baud, chunk, result)
                        if any(way.dead for way in result.ways):
                            break  # nothing comes through any more: nothing more to be learnt
                settings.append(TestedSetting(flow, baud, chunk, tuple(done)))
    return settings
