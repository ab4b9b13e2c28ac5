"""System calls that fail on the bad side alone: with what, and what they were about.

What a program is refused it does another way, looks for elsewhere, or tries again. The error says
whom to suspect: no more descriptors are a limit, "not permitted" is a filter or a capability, a
file that is not there is the file, or what leads to it.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from benchvise.why.witness.model import CallsAbout, WitnessFailure

_NAMES = """
1 EPERM 2 ENOENT 3 ESRCH 4 EINTR 5 EIO 6 ENXIO 7 E2BIG 8 ENOEXEC 9 EBADF 10 ECHILD 11 EAGAIN
12 ENOMEM 13 EACCES 14 EFAULT 16 EBUSY 17 EEXIST 18 EXDEV 19 ENODEV 20 ENOTDIR 21 EISDIR 22 EINVAL
23 ENFILE 24 EMFILE 25 ENOTTY 26 ETXTBSY 27 EFBIG 28 ENOSPC 29 ESPIPE 30 EROFS 31 EMLINK 32 EPIPE
34 ERANGE 35 EDEADLK 36 ENAMETOOLONG 37 ENOLCK 38 ENOSYS 39 ENOTEMPTY 40 ELOOP 61 ENODATA 62 ETIME
75 EOVERFLOW 84 EILSEQ 87 EUSERS 90 EMSGSIZE 92 ENOPROTOOPT 93 EPROTONOSUPPORT 95 EOPNOTSUPP
97 EAFNOSUPPORT 98 EADDRINUSE 99 EADDRNOTAVAIL 100 ENETDOWN 101 ENETUNREACH 103 ECONNABORTED
104 ECONNRESET 105 ENOBUFS 110 ETIMEDOUT 111 ECONNREFUSED 112 EHOSTDOWN 113 EHOSTUNREACH
115 EINPROGRESS 116 ESTALE 122 EDQUOT 123 ENOMEDIUM 126 ENOKEY
"""
_ERRORS: dict[int, str] = {int(number): name for number, name in re.findall(r"(\d+) (\w+)", _NAMES)}
"""asm-generic/errno.h: architectures of boards have these numbers."""

_OF_THE_KERNEL = 512

# Ends of waits, and questions to which "no" is an answer.
_ORDINARY = {"EINTR", "ECHILD", "EINPROGRESS", "ENOTTY", "ESPIPE", "ESRCH", "EEXIST", "ENODATA", ""}
_WAITS = re.compile(
    r"(?:recv|send|read|write|accept|futex|p?poll|epoll|p?select|wait|connect|flock|splice)"
)
_NETWORK = re.compile(r"connect|send(?:to|m?msg)?|bind")
_MANY = 20
_TIMES = 10
_MOST = 12
_IN_ONE_PLACE = 4


def error_name(number: int) -> str:
    """The name of an error by its number on Linux; the number itself where it is a rare one, and
    nothing for what only the kernel sees."""
    return _ERRORS.get(number, f"error {number}" if 0 < number < _OF_THE_KERNEL else "")


def failures(
    good: Sequence[CallsAbout], bad: Sequence[CallsAbout], plain: Callable[[str], str]
) -> tuple[WitnessFailure, ...]:
    """What the good side is granted and the bad one is refused, and what fails far more often
    there; those that are granted on good first, then the most frequent. ``plain`` gives a target
    without what is new in each run."""
    rows = list(_failures(good, bad, plain))
    rows = [*_in_one_place(rows)]
    return tuple(sorted(rows, key=lambda row: (not row.is_granted, -row.bad)))[:_MOST]


def _failures(
    good: Sequence[CallsAbout], bad: Sequence[CallsAbout], plain: Callable[[str], str]
) -> Iterator[WitnessFailure]:
    granted: defaultdict[tuple[str, str], int] = defaultdict(int)
    opened = {(call.name, call.target) for call in good if call.count > call.errors}
    failed: defaultdict[tuple[str, str], int] = defaultdict(int)
    for call in good:
        key = call.name, plain(call.target)
        granted[key] += call.count - call.errors
        failed[key] += call.errors
    sums: dict[tuple[str, str], WitnessFailure] = {}
    for call in bad:
        key = call.name, plain(call.target)
        error = error_name(call.errno)
        if not call.errors or error in _ORDINARY or (error == "EAGAIN" and _WAITS.match(call.name)):
            continue
        row = sums.get(key) or WitnessFailure(call.name, call.target, error, failed[key], 0, False)
        sums[key] = replace(row, bad=row.bad + call.errors)
    for key, row in sums.items():
        is_missing = row.error == "ENOENT" and (row.name, row.target) not in opened
        if granted[key] and not row.good and not is_missing:
            yield replace(row, is_granted=True)
        elif row.bad >= max(_MANY, _TIMES * row.good) or (
            not row.good and _NETWORK.match(row.name)
        ):
            yield row


def _in_one_place(rows: Sequence[WitnessFailure]) -> Iterator[WitnessFailure]:
    """The failures, many files of one directory as that."""
    places: defaultdict[tuple[str, str, str, bool], list[WitnessFailure]] = defaultdict(list)
    for row in rows:
        place = posixpath.dirname(row.target) if row.target.startswith("/") else ""
        places[row.name, row.error, place, row.is_granted].append(row)
    for (_, _, place, _), of in places.items():
        if not place or place == "/" or len(of) < _IN_ONE_PLACE:
            yield from of
        else:
            good, bad = (sum(getattr(row, side) for row in of) for side in ("good", "bad"))
            yield replace(of[0], target=f"{place}/", good=good, bad=bad)


def as_sentence(rows: Sequence[WitnessFailure]) -> str:
    """``; openat fails 400 times with ENOENT on bad alone: /x/y``; empty where nothing tells."""
    telling = [
        row
        for row in rows
        if (row.is_granted and (row.error != "ENOENT" or row.bad >= _MANY))
        or row.bad >= _TIMES * _TIMES
    ]
    if not telling:
        return ""
    row = telling[0]
    times = "once" if row.bad == 1 else f"{row.bad} times"
    only = f"{row.good} on good" if row.good else "on bad alone"
    about = f": {row.target}" if row.target else ""
    return f"; {row.name} fails {times} with {row.error} {only}{about}"
