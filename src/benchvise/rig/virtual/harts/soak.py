"""Soak of the harts program: many cold boots with chosen contents of RAM.

``soak_harts("faulty", 100, "hart-ids")`` boots the faulty form a hundred times, each time with
another hart's number all over RAM, and says how often it hangs, and where each hart then stands.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.rig.faults import Fault
from benchvise.rig.soak.soak import RigFault, SoakBoot, SoakResult, run
from benchvise.rig.virtual.harts.machine import (
    RAM_BYTES,
    HartsBoot,
    HartsOutcome,
    Interleaving,
    PowerOn,
    boot,
)
from benchvise.rig.virtual.harts.program import MOST_HARTS, build, form_named
from benchvise.text import Untrusted

RANDOM = "random"
HART_IDS = "hart-ids"
KEPT = "kept:"


@dataclass(frozen=True, slots=True)
class RamFill:
    """What RAM holds at power-on.

    ``word`` all over; without one, random bytes or a random hart's number all over. With ``kept``
    only at the first boot: after that, what the boot before has left, as when the power is off so
    shortly that RAM does not lose its contents.
    """

    kind: str
    word: int | None = None
    kept: bool = False

    def contents(self, number: int, harts: int, seed: int) -> tuple[bytes, str]:
        """RAM for the boot of a number, and what to call it. The same seed makes the same RAM."""
        # Not for secrets; a generator for each boot, so that any of them can be repeated alone.
        chance = random.Random(f"{seed}/{number}")  # noqa: S311
        if self.kind == RANDOM:
            return chance.randbytes(RAM_BYTES), f"RAM random, seed {seed}/{number}"
        word = chance.randrange(harts) if self.word is None else self.word
        return struct.pack("<I", word) * (RAM_BYTES // 4), f"RAM 0x{word:08x}"


def parse_fill(text: str) -> RamFill:
    """``0x2``, ``random``, ``hart-ids``, or one of these after ``kept:``.

    Raises UsageError for anything else.
    """
    if text.startswith(KEPT):
        return replace(parse_fill(text.removeprefix(KEPT)), kept=True)
    if text in (RANDOM, HART_IDS):
        return RamFill(text)
    try:
        word = int(text, 0)
    except ValueError:
        word = -1
    if not 0 <= word <= 0xFFFFFFFF:
        raise UsageError(
            f"RAM cannot be filled with {text!r}",
            f"give a word of 32 bits (0x2), {RANDOM}, or {HART_IDS}; {KEPT} before it keeps RAM",
        )
    return RamFill("word", word)


def soak_harts(
    form: str,
    boots: int,
    ram_fill: str = HART_IDS,
    boot_hart: int = 0,
    *,
    harts: int = 4,
    seed: int = 1,
    interleaving: str = Interleaving.TURNS,
    directory: Path | None = None,
    on_boot: Callable[[SoakBoot | RigFault], None] = lambda _boot: None,
) -> SoakResult:
    """Boots a form of the program ``boots`` times.

    ``ram_fill`` is what ``parse_fill`` reads; ``seed`` decides its random contents.
    ``boot_hart`` is the hart that readies memory and calls the others, of ``harts``.
    ``interleaving`` is ``turns`` or ``parallel``. The console of each failed boot is kept in
    ``directory``. A boot that ends without all of its harts counts as a hang too: of those harts.

    Raises UsageError for what does not exist, BenchviseError without emulator or compiler.
    """
    fill = parse_fill(ram_fill)
    if not 2 <= harts <= MOST_HARTS:
        raise UsageError(
            f"the program cannot have {harts} harts", f"2 to {MOST_HARTS} are possible"
        )
    if not 0 <= boot_hart < harts:
        raise UsageError(f"there is no hart {boot_hart} of {harts}", f"use 0 to {harts - 1}")
    try:
        side_by_side = Interleaving(interleaving)
    except ValueError:
        ways = " or ".join(Interleaving)
        raise UsageError(f"harts cannot run {interleaving!r}", f"use {ways}") from None
    program = build(form_named(form))
    out_of_order = 0
    left = b""

    def boot_once(number: int) -> SoakBoot:
        nonlocal out_of_order, left
        ram, conditions = fill.contents(number, harts, seed)
        if fill.kept and left:
            ram, conditions = left, "RAM as it was left"
        power_on = PowerOn(ram, boot_hart, harts, side_by_side)
        result = boot(program, power_on)
        left = result.ram
        if not result.in_order(power_on):
            out_of_order += 1
            conditions += ", a hart came late"
        return _record(number, conditions, result, directory)

    result = run(
        boot_once,
        boots,
        board=f"harts:{program.form}",
        on_boot=on_boot,
        simulated=True,
        about={
            "boot hart": str(boot_hart),
            "harts": str(harts),
            "RAM": ram_fill,
            "seed": str(seed),
            "interleaving": str(side_by_side),
        },
    )
    late = f"in {out_of_order} of {len(result.boots)}"
    return replace(result, about={**result.about, "harts came late": late})


def _record(number: int, conditions: str, result: HartsBoot, directory: Path | None) -> SoakBoot:
    good = SoakBoot(number, phases=result.phases, conditions=conditions)
    if result.outcome is HartsOutcome.UP:
        return good
    console = ""
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"boot-{number:04d}.console"
        path.write_bytes(result.console)
        console = str(path)
    return replace(
        good,
        fault=str(Fault.HANG),
        sentence=sentence(result),
        evidence=Untrusted((result.console.splitlines() or [b""])[-1].decode("ascii", "replace")),
        console=console,
        cores=result.cores,
    )


def sentence(result: HartsBoot) -> str:
    """What a failed boot came to, in one sentence."""
    early = [
        f"hart {hart} left uncalled{' and trapped' if hart in result.trapped else ''}"
        for hart in sorted(result.left_early)
    ]
    if result.outcome is HartsOutcome.HANG:
        return ", ".join(["the boot hart waits for ever for an answer", *early])
    return ", ".join(["the boot went on without all of its harts", *early])
