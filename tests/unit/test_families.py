"""A family's test runs to its end and names whatever failed."""

from __future__ import annotations

from pathlib import Path

import pytest
from families import every


@every("number", range(5))
def test_a_fixture_comes_with_each(number: int, tmp_path: Path) -> None:
    assert not (tmp_path / str(number)).exists()
    (tmp_path / str(number)).touch()


def test_all_failures_are_named_at_once() -> None:
    tried = []

    @every("number", range(5), name_of=lambda number: f"number {number}")
    def fails(number: int) -> None:
        tried.append(number)
        if number == 3:
            pytest.fail("by hand")
        assert number % 2 == 0, "odd"
        if number == 4:
            raise KeyError("four")

    with pytest.raises(pytest.fail.Exception) as caught:
        fails()
    assert tried == [0, 1, 2, 3, 4]
    message = str(caught.value)
    assert message.startswith("3 of 5 fail\nnumber 1: odd")
    assert "number 3: by hand" in message and "number 4: 'four'" in message


def test_a_family_without_members_fails() -> None:
    @every("number", ())
    def nothing(number: int) -> None:
        raise AssertionError(number)

    with pytest.raises(AssertionError, match="without members"):
        nothing()
