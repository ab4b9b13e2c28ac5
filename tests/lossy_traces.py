"""Recordings with losses, made from complete ones: pages are taken out of each CPU at random.

The page behind a gap says that events were lost before it, as the kernel's ring buffer marks it. A
gap at the very beginning is told, too. One at the end could not be, as in a real recording: the
last page of each CPU stays.
"""

from __future__ import annotations

import random
import struct
from dataclasses import replace

from made_traces import LOST, PAGE, Recording

_COMMIT = 8
"""Where a page says how much it holds, behind its stamp."""


def beginning(recording: Recording, pages: int, most: int) -> Recording:
    """What so many pages of a CPU hold, up to the same time on all: a whole recording of a shorter
    time. It is on smaller pages, of ``most`` bytes: so that few events are lost with one.
    """
    until = min(struct.unpack_from("<Q", cpu[pages], 0)[0] for cpu in recording.cpus)
    return replace(recording, cpus=[_divided(cpu, most, until) for cpu in recording.cpus])


def _divided(pages: list[bytes], most: int, until: int) -> list[bytes]:
    parts: list[bytes] = []
    for page in pages:
        begin, commit = struct.unpack_from("<QQ", page, 0)
        end, at = 16 + (commit & 0xFFFFF), 16
        marks, time = commit & LOST, begin
        part_begin, part_time = at, begin
        while at < end and time < until:
            head, word = struct.unpack_from("<II", page + bytes(8), at)
            kind, delta = head & 31, head >> 5
            if kind == 30:
                size, delta = 8, delta + (word << 27)
            elif kind == 31:
                # An absolute stamp: what follows counts from it.
                size, delta = 8, delta + (word << 27) - time
            elif kind == 29:
                size = 4 + word if delta else end - at
            elif kind == 0:
                size = 4 + word
            else:
                size = 4 + 4 * kind
            if at > part_begin and kind not in (29, 30, 31) and at + size - part_begin > most:
                parts.append(_page(part_time, marks, page[part_begin:at]))
                marks, part_begin, part_time = 0, at, time
            time += delta
            if time >= until:
                break
            at += size
        if at > part_begin:
            parts.append(_page(part_time, marks, page[part_begin:at]))
        if time >= until:
            break
    return parts


def _page(begin: int, marks: int, data: bytes) -> bytes:
    return (struct.pack("<QQ", begin, len(data) | marks) + data).ljust(PAGE, b"\0")


def without_some(recording: Recording, chance: random.Random, share: float) -> Recording:
    """The recording without about that share of the pages of each CPU."""
    cpus = []
    for pages in recording.cpus:
        kept: list[bytes] = []
        lost = False
        for page in pages:
            if chance.random() < share and page is not pages[-1]:
                lost = True
                continue
            if lost:
                [commit] = struct.unpack_from("<Q", page, _COMMIT)
                page = page[:_COMMIT] + struct.pack("<Q", commit | LOST) + page[16:]
            kept.append(page)
            lost = False
        cpus.append(kept)
    return replace(recording, cpus=cpus)
