"""What a request asks for: the parameters of its query, read with bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchvise.errors import UsageError

TEXT_LIMIT = 2000
"""Characters of one parameter."""

_QUOTED = 40
"""Characters of a parameter that an error repeats."""


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of one request."""

    parameters: Mapping[str, str]

    def text(self, name: str, default: str = "", *, limit: int = TEXT_LIMIT) -> str:
        """A text; ``default`` when it is not there.

        Raises:
            UsageError: it has more than ``limit`` characters.
        """
        value = self.parameters.get(name, default)
        if len(value) > limit:
            raise UsageError(f"{name} has {len(value)} characters", f"say at most {limit}")
        return value.strip()

    def items(self, name: str) -> list[str]:
        """A list of texts with commas between, without empty ones."""
        return [item.strip() for item in self.text(name).split(",") if item.strip()]

    def lines(self, name: str) -> list[str]:
        """A list of texts, a line each, without empty ones: for texts that may hold commas."""
        return [line.strip() for line in self.text(name).splitlines() if line.strip()]

    def whole(self, name: str, default: int | None, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``; without a default it has to be there.

        Raises:
            UsageError: it is none, or beyond them.
        """
        text = self.text(name)
        if not text and default is not None:
            return default
        try:
            value = int(text)
        except ValueError:
            raise UsageError(
                f"{name}={text[:_QUOTED]} is no whole number", f"say {low} to {high}"
            ) from None
        if not low <= value <= high:
            raise UsageError(f"{name}={value} is out of range", f"say {low} to {high}")
        return value

    def flag(self, name: str) -> bool:
        """Whether something is asked for: ``1`` or ``true``."""
        return self.text(name) in ("1", "true", "yes", "on")

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of the choices; the first of them when nothing is said.

        Raises:
            UsageError: it is none of them.
        """
        text = self.text(name) or choices[0]
        if text not in choices:
            raise UsageError(f"{name}={text[:_QUOTED]} is unknown", f"say {', '.join(choices)}")
        return text

    def nanoseconds(self, name: str) -> int | None:
        """Nanoseconds since the first event; None when nothing is said.

        Raises:
            UsageError: it is no number.
        """
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not abs(value) < 2**62:
            raise UsageError(
                f"{name}={text[:_QUOTED]} is no moment", "say nanoseconds since the first event"
            )
        return round(value)
