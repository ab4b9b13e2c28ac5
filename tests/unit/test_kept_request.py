"""Requests of long work that ``--resume`` reads: a diagnosis, a bisection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchvise.errors import UsageError
from benchvise.flows.bisect_request import BisectOptions, BisectRequest, resumed_request
from benchvise.flows.why import WhyRequest, resumed
from benchvise.flows.why_sides import Sides
from benchvise.kept_request import REQUEST, keep_request

BISECTION = BisectRequest("local", "versions", ("a", "b"), "memory.copy", None, 0.95, 0.01)
DIAGNOSIS = WhyRequest(Sides("ssh://good", "ssh://bad", "memory.copy"), allow=("cpu.governor",))


def test_what_was_kept_is_read(tmp_path: Path) -> None:
    keep_request(tmp_path, BISECTION)
    assert resumed_request(BisectOptions(resume=tmp_path)) == BISECTION
    keep_request(tmp_path, DIAGNOSIS)
    assert resumed(tmp_path) == DIAGNOSIS


def test_diagnoses_that_allowed_all_settings_or_none(tmp_path: Path) -> None:
    keep_request(tmp_path, DIAGNOSIS)
    document = json.loads((tmp_path / REQUEST).read_text())
    for risky, allow in ((True, ("all",)), (False, ())):
        older = {**document, "risky": risky, "allow": []}
        (tmp_path / REQUEST).write_text(json.dumps(older))
        assert resumed(tmp_path).allow == allow


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 99}', "[" * 100_000, "\xff"]
)
def test_damaged_requests_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / REQUEST).write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=r"request\.json is not what this version writes"):
        resumed(tmp_path)
    with pytest.raises(UsageError, match=r"request\.json is not what this version writes"):
        resumed_request(BisectOptions(resume=tmp_path))


def test_a_directory_without_a_request_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no diagnosis to resume in"):
        resumed(tmp_path)
    with pytest.raises(UsageError, match="there is no bisection to resume in"):
        resumed_request(BisectOptions(resume=tmp_path))
