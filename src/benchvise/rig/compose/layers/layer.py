"""What a layer is, and what it gets to work with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from benchvise.rig.compose.layout import Opened
from benchvise.rig.compose.workplace import Workplace


@dataclass(slots=True)
class Swap:
    """One layer on its way from ``source`` into ``target``, which is ours to change.

    ``warnings`` are what the user should know though nothing was refused. ``others`` are the
    names of all layers that are swapped.
    """

    target: Opened
    source: Opened
    work: Workplace
    others: frozenset[str]
    warnings: list[str] = field(default_factory=list)


class Layer(Protocol):
    """A part of an image that can be taken from another one."""

    @property
    def name(self) -> str:
        """How users call it."""

    def apply(self, swap: Swap) -> list[str]:
        """Puts the source's layer into the target; what was done, in words.

        ComposeError when it does not fit; the target is of no use then.
        """
