"""Latency from any point of a trace to any other, stage by stage.

``ends`` finds the points, ``links`` and ``pairs`` which of them belong together and the stages
between them, ``boards`` those of different boards; ``answer`` puts it together and holds it against
limits.
"""

from benchvise.trace.analysis.latency.answer import (
    Assertion,
    CheckedAssertion,
    Latency,
    LatencyHop,
    LatencyStage,
    LatencyWay,
    Occurrence,
    latency,
    latency_of_boards,
    parse_assertion,
)
from benchvise.trace.analysis.latency.boards import AlignedTrace, BoardEnd
from benchvise.trace.analysis.latency.ends import parse_end
from benchvise.trace.analysis.latency.links import Method
from benchvise.trace.analysis.latency.pairs import PairedField, parse_pair

__all__ = [
    "AlignedTrace",
    "Assertion",
    "BoardEnd",
    "CheckedAssertion",
    "Latency",
    "LatencyHop",
    "LatencyStage",
    "LatencyWay",
    "Method",
    "Occurrence",
    "PairedField",
    "latency",
    "latency_of_boards",
    "parse_assertion",
    "parse_end",
    "parse_pair",
]
