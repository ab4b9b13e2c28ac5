"""A kind of simulated board that boots in less than a second without QEMU; see rig_stand_in.py."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).with_name("rig_stand_in.py")
CARD_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class StandIn:
    name: str
    arch: str = "x86_64"
    card_bytes: int = CARD_BYTES

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
        given = [str(card)] if card is not None else []
        words = [str(console), str(ssh_port), workdir.name, *given]
        return [sys.executable, "-E", "-S", str(PROGRAM), *words]


KINDS = {"stand-in": StandIn("stand-in")}
BENCH = (("one", "stand-in"), ("two", "stand-in"))


def missing(kind: StandIn) -> list[str]:
    return []


def ssh_key() -> Path:
    return Path("/no/such/key")
