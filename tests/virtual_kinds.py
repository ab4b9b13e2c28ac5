"""A kind of simulated board that needs no QEMU, for tests of the virtual bench."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).with_name("fake_machine.py")


@dataclass(frozen=True, slots=True)
class FakeKind:
    name: str
    arch: str = "x86_64"
    card_bytes: int = 1 << 20
    program: str = sys.executable

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
        assert workdir.is_absolute()
        assert ssh_port > 0
        given = [str(card)] if card is not None else []
        return [self.program, "-E", "-S", str(PROGRAM), str(console), *given]


KINDS = {
    "fake": FakeKind("fake"),
    "missing": FakeKind("missing", program="/no/such/emulator"),
}
BENCH = (("one", "fake"), ("two", "fake"), ("broken", "missing"))


def missing(kind: FakeKind) -> list[str]:
    return []


def ssh_key() -> Path:
    return Path("/no/such/key")
