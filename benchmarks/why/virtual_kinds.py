"""The kinds of simulated boards that causes are planted on: the usual one, and with what no image
can hold. A module of kinds for ``benchvise.rig.virtual.bench``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from benchvise.rig.virtual import kinds
from benchvise.rig.virtual.kinds import BoardKind
from benchvise.rig.virtual.recipes import build
from benchvise.rig.virtual.recipes.recipe import Variant

_SLOW_BYTES = 4 << 20  # a second


@dataclass(frozen=True)
class WithSlowCard(BoardKind):
    """A board whose card gives and takes so many bytes a second."""

    def command(
        self,
        *,
        card: Path | None,
        console: Path,
        monitor: Path,
        gdb: Path | None,
        ssh_port: int,
        workdir: Path,
    ) -> list[str]:
        """See BoardKind; QEMU holds the card back."""
        words = super().command(
            card=card, console=console, monitor=monitor, gdb=gdb, ssh_port=ssh_port, workdir=workdir
        )
        if "-drive" in words:
            words[words.index("-drive") + 1] += f",throttling.bps-total={_SLOW_BYTES}"
        return words


# Time by instructions: a figure of theirs is the same however busy this machine is, and what costs
# instructions (not caches) shows.
_STEADY = ("-icount", "shift=1")

_USUAL = kinds.KINDS["arm64-direct"]
_PLAIN = replace(_USUAL, machine=(*_USUAL.machine, *_STEADY))

KINDS: dict[str, BoardKind] = {
    "plain": _PLAIN,
    "two-cpus": replace(_PLAIN, cpus=2),
    "usual": _USUAL,  # beside the slow card, which answers in its own time
    "slow-card": WithSlowCard(
        **{name: getattr(_USUAL, name) for name in BoardKind.__dataclass_fields__}
    ),
}
BENCH = (("one", "plain"),)

missing = kinds.missing
ssh_key = kinds.ssh_key


def newer_image() -> Path:
    """An image of a later release of the distribution. RigError when it cannot be built."""
    later = _USUAL.recipe.other_archive
    assert later is not None, "64-bit ARM has one"
    recipe = replace(_USUAL.recipe, archive=later, firmware=None, firmware_edits=())
    variant = Variant("why-later", "of the planted-cause bench: a later release")
    return build.image(_USUAL.name, recipe, _USUAL.card_bytes, variant)


def image(variant: Variant) -> Path:
    """The card image of all these boards, built if need be. RigError when it cannot be built."""
    return build.image(_PLAIN.name, _PLAIN.recipe, _PLAIN.card_bytes, variant)
