"""The kernel's print formats, as its tracepoints have them (Linux 6.18)."""

from __future__ import annotations

from typing import Any

import pytest

from benchvise.trace.print_format import UnknownFormat, parse_print_format

SWITCH = (
    '"prev_comm=%s prev_pid=%d prev_state=%s%s ==> next_comm=%s", REC->prev_comm, REC->prev_pid, '
    "(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002) + 1) << 1) - 1)) ? "
    '__print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002) + 1) << 1) - 1), "|"'
    ', { 0x00000001, "S" }, { 0x00000002, "D" }) : "R", '
    'REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002) + 1) << 1) ? "+" : "", '
    "REC->next_comm"
)
TIMER = (
    '"timer=%p expires=%lu [timeout=%ld] idx=%u flags=%s", REC->timer, REC->expires, '
    "(long)REC->expires - REC->now, REC->flags >> 22, "
    '__print_flags(REC->flags & (0x00040000 | 0x00080000), "|", { 0x00040000, "M" }, '
    '{ 0x00080000, "D" })'
)
CASES: tuple[tuple[str, dict[str, Any], str], ...] = (
    (
        SWITCH,
        {"prev_comm": "sh", "prev_pid": 7, "prev_state": 2, "next_comm": "100%"},
        "prev_comm=sh prev_pid=7 prev_state=D ==> next_comm=100%",
    ),
    (
        SWITCH,
        {"prev_comm": "sh", "prev_pid": -7, "prev_state": 8, "next_comm": "a"},
        "prev_comm=sh prev_pid=-7 prev_state=R+ ==> next_comm=a",
    ),
    (
        TIMER,
        {"timer": 0xFFFF8881, "expires": 90, "now": 100, "flags": 62 << 22 | 0x0C0000},
        "timer=0xffff8881 expires=90 [timeout=-10] idx=62 flags=M|D",
    ),
    ('"irq=%d name=%s", REC->irq, __get_str(name)', {"irq": 9, "name": None}, "irq=9 name=(null)"),
    (
        '"vec=%u [action=%s]", REC->vec, __print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" })',
        {"vec": 1},
        "vec=1 [action=TIMER]",
    ),
    (
        '"NR %ld (%lx, %lx)", REC->id, REC->args[0], REC->args[1]',
        {"id": -1, "args": [255, 0]},
        "NR -1 (ff, 0)",
    ),
    (
        '"target_cpu=%03d 0x%lx", REC->a, REC->b',
        {"a": 3, "b": -1},
        f"target_cpu=003 0x{2**64 - 1:x}",
    ),
    ('"%c%d%%", REC->kind, (int)(u8)REC->share', {"kind": 82, "share": 5}, "R5%"),
    # A constant of the kernel's sources, which the trace does not number.
    ('"mode=%s", __print_symbolic(REC->m, { HRTIMER_MODE_ABS, "ABS" })', {"m": 9}, "mode=0x9"),
    # The decoder's name for a field that is called as one of every event.
    ('"cpu=%u", REC->cpu', {"payload.cpu": 2}, "cpu=2"),
)


@pytest.mark.parametrize(("text", "fields", "wanted"), CASES)
def test_a_format_writes_what_the_kernel_writes(
    text: str, fields: dict[str, Any], wanted: str
) -> None:
    parsed = parse_print_format(text, list(fields))
    columns = [[fields[name]] * 3 for name in parsed.fields]
    assert parsed.render(columns) == [wanted] * 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"%s"',
        '"%d", REC->nothing',
        '"%*pbl", REC->a, REC->a',
        '"%999999999d", REC->a',
        '"%d", some_function(REC->a)',
        '"%d", REC->a, REC->a',
        '"%d", ' + "(" * 500 + "REC->a" + ")" * 500,
        '"%d", ' + "-" * 500 + "REC->a",
        '"%d", (unsigned',
        '"%d", REC->a ? 1',
        '"unfinished',
        '"%s", __print_flags(REC->a',
    ],
)
def test_what_is_not_known_is_refused_whole(text: str) -> None:
    with pytest.raises(UnknownFormat):
        parse_print_format(text, ["a"])
