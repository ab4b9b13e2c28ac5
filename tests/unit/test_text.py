"""Text from outside: what is left of it where it is shown."""

from __future__ import annotations

import copy
import pickle
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchvise.text import (
    NAME_LIMIT,
    Untrusted,
    aligned,
    counted,
    enumerated,
    last_line,
    printable,
    printable_lines,
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        (" two \t words\r\n and a line", "two words and a line"),
        ("\x1b[31;1mred\x1b[0m \x9b2Jcleared", "red cleared"),
        ("bench\x1b[31m-07\x07", "bench-07\ufffd"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b(Bc", "abc"),
        ("\x1b]0;never ended", "0;never ended"),
        ("a \u202e b", "a \ufffd b"),
        ("abc\u202egpj.exe", "abc\ufffdgpj.exe"),
        ("a\u202eb\u2066c\u200fd\ufeffe", "a\ufffdb\ufffdc\ufffdd\ufffde"),
        ("bell\x07 nul\0 del\x7f\ue000", "bell\ufffd nul\ufffd del\ufffd\ufffd"),
        ("a string of C\0", "a string of C"),
        ("\ufeffa file of Windows", "a file of Windows"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        (b"\xff\xfeok", "\ufffd\ufffdok"),
        ("Zürich 東京 \U0001f600", "Zürich 東京 \U0001f600"),
        ("<b>&amp;</b> ümläut 漢字", "<b>&amp;</b> ümläut 漢字"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("ad\u200dmin", "ad\ufffdmin"),
    ],
)
def test_only_what_shows_is_left(text: str | bytes, line: str) -> None:
    assert printable(text) == line


def test_a_line_is_bounded() -> None:
    assert printable("x" * 300, 10) == "x" * 9 + "…"
    assert printable("\x1b[m" * 1_000_000, 10) == "…"
    assert printable("x" * 10, 10) == "x" * 10
    assert printable(" " * 10_000 + "x", 5) == "…"
    assert len(printable("x" * 10_000, NAME_LIMIT)) == NAME_LIMIT


@given(st.text(max_size=400), st.integers(2, 200))
def test_anything_is_one_harmless_line(text: str, limit: int) -> None:
    for function in (printable, aligned):
        line = function(text, limit)
        assert len(line) <= limit
        acting = {unicodedata.category(c) for c in line if c not in "\u200c\u200d"}
        assert not acting & {"Cc", "Cf", "Cs", "Zl", "Zp"}
        assert line.splitlines() in ([], [line])
        assert function(line, limit) == line
        line.encode()


def test_an_aligned_line_keeps_its_spaces() -> None:
    assert aligned("  p99\tof \x1b[1mall\x1b[0m\n") == "  p99   of all "


def test_several_lines_keep_their_breaks_and_indents() -> None:
    assert printable_lines("a:\n\tb\x1b[2J\r\n  c\u202e ", 100) == "a:\n        b\n  c\ufffd"
    assert len(printable_lines("x\n" * 1000, 40)) <= 40


def test_the_last_line_is_the_last_that_shows_something() -> None:
    assert last_line(b"first\nsecond \x1b[0m\n\n\x1b[K\n") == "second"
    assert last_line(b"") == ""


def test_untrusted_text_stands_harmless_in_a_sentence() -> None:
    text = Untrusted("eth0\x1b[2J\n\u202e" + "x" * 5000)
    assert f"{text}".startswith("eth0 \ufffdxxx") and len(f"{text}") == 200
    assert len(f"{text:600}") == 600
    assert str(Untrusted("a\nb")) == "a b"
    assert text.raw.startswith("eth0\x1b")


def test_untrusted_text_is_a_value_and_no_text() -> None:
    a, b = Untrusted("a"), Untrusted("b")
    assert sorted([b, a]) == [a, b] and {a, Untrusted("a")} == {a}
    assert a != "a" and not isinstance(a, str)
    assert not Untrusted("") and a
    assert pickle.loads(pickle.dumps(a)) == a == copy.deepcopy(a)  # noqa: S301 - our own


def test_lists_say_how_many_more_there_are() -> None:
    assert enumerated(["a", "b", "c"], 3) == "a, b, c"
    assert enumerated([Untrusted("a\n"), "b", "c"], 1) == "a and 2 more"
    assert counted(1, "run") == "1 run"
    assert counted(2, "diagnosis", "diagnoses") == "2 diagnoses"
