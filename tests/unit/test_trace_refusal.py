"""Why a kernel refuses its tracers of functions, as far as it tells."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchvise.board.protocol import Completed
from benchvise.trace.recording import refusal_reason

MISSING = Completed(1, b"", b"cat: /sys/kernel/security/lockdown: No such file or directory\n")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Completed(0, b"none integrity [confidentiality]\n", b""), "locked down (confidentiality)"),
        (Completed(0, b"hello of a login\nnone [integrity] confidentiality\n", b""), "(integrity)"),
        (Completed(0, b"[none] integrity confidentiality\n", b""), "says none"),
        (Completed(0, b"\x1b]0;x\x07" * 100, b""), "is not there"),
        (MISSING, "is not there"),
    ],
)
def test_lockdown_is_the_reason_only_where_the_kernel_says_so(
    answer: Completed, reason: str
) -> None:
    board = SimpleNamespace(run=lambda _argv: answer)
    told = refusal_reason(board)
    assert reason in told
    assert ("it is locked down" in told) == ("says none" not in told and "is not" not in told)
    assert told.isprintable()
