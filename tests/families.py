"""Tests of a whole family, as the knobs of the catalogue: one test, which names all that fail."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

_MOST_SHOWN = 20


def every(
    argument: str, values: Iterable[Any], name_of: Callable[[Any], str] = str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Calls the test once with each value of that argument, to the last one; then fails with the
    values that it failed for. A case of its own for each would cost more than most of them take.
    """
    family = list(values)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def of_all(*instance: Any, **fixtures: Any) -> None:
            assert family, "a family without members proves nothing"
            faults = []
            for value in family:
                try:
                    test(*instance, **fixtures, **{argument: value})
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
                    text = str(error).strip() or type(error).__name__
                    faults.append(f"{name_of(value)}: {text}")
            if faults:
                shown = "\n".join(faults[:_MOST_SHOWN])
                pytest.fail(f"{len(faults)} of {len(family)} fail\n{shown}", pytrace=False)

        signature = inspect.signature(test)
        rest = [p for p in signature.parameters.values() if p.name != argument]
        del of_all.__wrapped__
        of_all.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return of_all

    return decorate
