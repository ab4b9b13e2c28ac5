"""The size of the terminal that a board asks for: answered at once, and not without end."""

from __future__ import annotations

import pytest

from benchvise.web.rig.size_query import ANSWERS_PER_SECOND, SizeQuery

ANSWER = b"\x1b[24;80R"
U_BOOT = b"=> eficonfig\r\n\x1b7\x1b[r\x1b[999;999H\x1b[6n\x1b8     efi_var_to_file()"
BUSYBOX_VI = b"\x1b[?1049h\x1b[999;999H\x1b[6n"


@pytest.mark.parametrize("output", [U_BOOT, BUSYBOX_VI])
def test_it_is_answered_however_the_output_is_cut(output: bytes) -> None:
    for cut in range(len(output) + 1):
        query = SizeQuery(lambda: 10.0)
        assert query.answer(output[:cut]) + query.answer(output[cut:]) == ANSWER
        assert query.answer(b"more") == b""
    query = SizeQuery(lambda: 10.0)
    assert b"".join(query.answer(bytes([byte])) for byte in output) == ANSWER


@pytest.mark.parametrize(
    "output",
    [b"", b"\x1b[6n", b"\x1b[5;10H\x1b[6n", b"\x1b[999;9H\x1b[6n", b"\x1b[999;999H\x1b[5n"],
)
def test_other_questions_are_the_terminals(output: bytes) -> None:
    assert SizeQuery().answer(output) == b""


def test_a_board_that_asks_without_end_gets_few_answers() -> None:
    now = 5.0
    query = SizeQuery(lambda: now)
    answers = b"".join(query.answer(BUSYBOX_VI * 100) for _ in range(10))
    assert answers == ANSWER * ANSWERS_PER_SECOND
    now += 1.0
    assert query.answer(BUSYBOX_VI * 100) == ANSWER * ANSWERS_PER_SECOND
