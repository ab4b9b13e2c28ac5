"""The samples of a process, packed into two values as soon as there will be no more of them.

While a process measures, each of its samples is a row, on disk before the next batch begins. When
it has ended, they become

- ``process.packed_values``: the values in the order of their indexes, as little-endian doubles;
  behind them, unless the samples are numbered 0, 1, 2 and so on, these indexes as little-endian
  integers of 32 bits;
- ``evidence.packed``: a JSON array of what else is known of each sample, compressed. Where a
  process has no row there, nothing else is known.

What a board says of one batch is nearly what it says of the next, so that a packed process takes a
thirtieth of its rows; and who wants values alone reads no evidence. Rows stay rows where their
evidence is more than ``MOST_EVIDENCE``, where an index is out of range or there twice, and beside
samples that are packed already: a process may have both kinds.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise

from sqlalchemy import Connection, delete, exists, func, insert, select, update

from benchvise.documents import JsonObject
from benchvise.measure.model import Sample
from benchvise.store.tables import EVIDENCE, PROCESS, SAMPLE
from benchvise.store.values import DamagedValueError, clean_json, dump_json

MOST_EVIDENCE = 16 << 20
"""Bytes of JSON that are packed into one value, and that one is unpacked to."""

_MOST_INDEX = 2**31 - 1
_DOUBLE, _INDEX = 8, 4

SAMPLE_COUNT = (
    PROCESS.c.packed_samples
    + select(func.count())
    .where(SAMPLE.c.process_id == PROCESS.c.id)
    .correlate(PROCESS)
    .scalar_subquery()
)
"""How many samples a process of a query has."""

HAS_SAMPLES = (PROCESS.c.packed_samples > 0) | exists().where(
    SAMPLE.c.process_id == PROCESS.c.id
).correlate(PROCESS)
"""The condition that a process of a query has a sample."""


def insert_rows(connection: Connection, process_id: int, samples: Sequence[Sample]) -> None:
    """Add samples as rows, which more can be added to."""
    rows = [
        {
            "process_id": process_id,
            "index": sample.index,
            "value": sample.value,
            "evidence": sample.evidence,
        }
        for sample in samples
    ]
    if rows:
        connection.execute(insert(SAMPLE), rows)


def insert_packed(connection: Connection, process_id: int, samples: Sequence[Sample]) -> None:
    """Add samples that are all known, packed where that can be."""
    in_order = sorted(samples, key=lambda sample: sample.index)
    evidence = pack_evidence([sample.evidence for sample in in_order])
    _insert(connection, process_id, in_order, evidence)


def _insert(
    connection: Connection, process_id: int, in_order: Sequence[Sample], evidence: bytes | None
) -> None:
    if evidence is None or not _are_numbered(in_order):
        insert_rows(connection, process_id, in_order)
        return
    unpacked = (PROCESS.c.id == process_id, PROCESS.c.packed_samples == 0)
    packed = {"packed_samples": len(in_order), "packed_values": _pack_values(in_order)}
    if not connection.execute(update(PROCESS).where(*unpacked).values(packed)).rowcount:
        insert_rows(connection, process_id, in_order)
    elif evidence:
        connection.execute(insert(EVIDENCE).values(process_id=process_id, packed=evidence))


def pack_process(connection: Connection, process_id: int) -> None:
    """Pack the samples of a process that are rows."""
    removed = delete(SAMPLE).where(SAMPLE.c.process_id == process_id)
    rows = connection.execute(removed.returning(SAMPLE.c.index, SAMPLE.c.value, SAMPLE.c.evidence))
    in_order = [Sample(*row) for row in sorted(rows, key=lambda row: row[0])]
    if in_order:  # what rows hold is clean, and to clean it again takes the most time
        _insert(
            connection, process_id, in_order, _compress([sample.evidence for sample in in_order])
        )


def has_sample(connection: Connection, process_id: int, index: int) -> bool:
    """Whether a process has a sample of that index."""
    row = select(SAMPLE.c.index).where(SAMPLE.c.process_id == process_id, SAMPLE.c.index == index)
    if connection.execute(row).first() is not None:
        return True
    packed = select(PROCESS.c.packed_samples, PROCESS.c.packed_values)
    process = connection.execute(packed.where(PROCESS.c.id == process_id)).first()
    return process is not None and any(
        sample.index == index for sample in unpack_samples(*process, None)
    )


def unpack_samples(count: int, values: bytes | None, evidence: bytes | None) -> list[Sample]:
    """The packed samples of a process, without evidence where that is None.

    DamagedValueError for values that are not of so many samples.
    """
    values = values or b""
    if len(values) == count * _DOUBLE:
        numbers = struct.unpack(f"<{count}d", values)
        indexes: Sequence[int] = range(count)
    elif len(values) == count * (_DOUBLE + _INDEX):
        both = struct.unpack(f"<{count}d{count}i", values)
        numbers, indexes = both[:count], both[count:]
    else:
        raise DamagedValueError(f"{len(values)} bytes of values for {count} samples")
    if evidence is None:
        return [Sample(*parts) for parts in zip(indexes, numbers, strict=True)]
    return [
        Sample(*parts)
        for parts in zip(indexes, numbers, unpack_evidence(count, evidence), strict=True)
    ]


def pack_evidence(evidence: Sequence[JsonObject]) -> bytes | None:
    """What is known of samples in their order: nothing where it is, None where it is too much."""
    return _compress([clean_json(item) for item in evidence])


def _compress(evidence: Sequence[object]) -> bytes | None:
    if not any(evidence):
        return b""
    text = dump_json(evidence).encode()
    return zlib.compress(text) if len(text) <= MOST_EVIDENCE else None


def unpack_evidence(count: int, packed: bytes) -> list[JsonObject]:
    """What is known of so many samples; DamagedValueError for what is no such thing."""
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(packed, MOST_EVIDENCE)
        if not unpacking.eof:
            raise DamagedValueError(f"evidence that is cut, or more than {MOST_EVIDENCE >> 20} MiB")
        evidence = json.loads(text)
    except (ValueError, RecursionError, zlib.error) as error:
        raise DamagedValueError(f"evidence that cannot be read: {error}") from error
    if not isinstance(evidence, list) or len(evidence) != count:
        raise DamagedValueError(f"evidence that is not of {count} samples")
    if not all(isinstance(item, dict) for item in evidence):
        raise DamagedValueError("evidence that is no JSON object")
    return evidence


def _are_numbered(in_order: Sequence[Sample]) -> bool:
    """Whether samples have indexes that can be packed, each another one."""
    indexes = [sample.index for sample in in_order]
    return (
        bool(indexes)
        and indexes[0] >= 0
        and indexes[-1] <= _MOST_INDEX
        and all(first < second for first, second in pairwise(indexes))
    )


def _pack_values(in_order: Sequence[Sample]) -> bytes:
    values = [sample.value + 0.0 for sample in in_order]  # no zero with a sign, as in a row
    packed = struct.pack(f"<{len(values)}d", *values)
    indexes = [sample.index for sample in in_order]
    if indexes == list(range(len(indexes))):
        return packed
    return packed + struct.pack(f"<{len(indexes)}i", *indexes)
