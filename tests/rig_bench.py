"""A virtual bench for tests, with its commands as a user would call them."""

from __future__ import annotations

import contextlib
import os
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from in_process import Ran, benchvise
from waiting import BOOT_PATIENCE, PATIENCE

from benchvise.documents import encode
from benchvise.rig.virtual import bench as bench_control
from benchvise.rig.virtual.bench import VirtualBench, down, inject, up

HERE = Path(__file__).parent

QUICK = {
    "stagger_s": 0.0,
    "settle_s": 0.05,
    "off_s": 0.05,
    "card_s": 1.0,
    "silence_s": PATIENCE,
    "boot_limit_s": PATIENCE,
}
"""For stand-in machines, which do in tenths of a second what a board does in tens of seconds."""


@dataclass(frozen=True)
class TestBench:
    """A bench that runs, with everything of it in one directory."""

    __test__ = False

    place: Path
    bench: VirtualBench
    rig_file: Path

    def command(self, *words: str | Path) -> Ran:
        """Runs ``benchvise`` with these words and this bench's rig file."""
        return benchvise(*words, "--rig", self.rig_file)

    def console(self, run: str) -> str:
        """What the console said in a run."""
        return benchvise("show", run, "--console").out

    def told(self) -> dict[str, dict[str, Any]]:
        """What the bench itself says of its boards, by name."""
        now = bench_control.status(self.place)
        assert now is not None, "the bench has ended"
        return {board.name: encode(board) for board in now.boards}

    def status(self, *boards: str) -> dict[str, dict[str, Any]]:
        """What ``rig status`` says of these boards, or of all, by name."""
        said = self.command("rig", "status", *boards, "--json").data
        return {found["board"]: found for found in said}

    def inject(self, board: str, fault: str, value: str = "1") -> None:
        inject(board, fault, value, self.place)

    def mend(self, board: str) -> None:
        """Takes all the board's faults back, switches it off and gives it its card; by hand."""
        for path in (f"fault/{board}/clear", f"relay/{board}/0", f"mux/{board}/dut"):
            with urllib.request.urlopen(f"{self.bench.url}/{path}") as answer:  # noqa: S310
                assert answer.read() == b"ok"

    def image(self, word: str, size: int = 256 << 10) -> Path:
        """An image with which a stand-in machine boots in the way of that word."""
        file = self.place / f"{word}-{size}.img"
        if not file.exists():
            file.write_bytes(f"{word}\n".encode().ljust(size, b"."))
        return file

    def put(self, board: str, word: str) -> None:
        """Has that image on the board's card without the rig's doing."""
        with (self.place / board / "card.img").open("r+b") as card:
            card.write(self.image(word).read_bytes())

    def changed(self, name: str, change: Mapping[str, Mapping[str, Any]]) -> TestBench:
        """The same bench by a rig file in which some boards are described otherwise.

        ``change`` has for a board its resources or drivers with new arguments.
        """
        rig = yaml.safe_load(self.rig_file.read_text())
        for board, parts in change.items():
            target = rig["targets"][board]
            for part, arguments in parts.items():
                where = "resources" if part in target["resources"] else "drivers"
                target[where][part].update(arguments)
        file = self.place / f"{name}.yaml"
        file.write_text(yaml.safe_dump(rig, sort_keys=False))
        return TestBench(self.place, self.bench, file)

    def with_options(self, **options: object) -> TestBench:
        """The same bench by a rig file with other options."""
        rig = yaml.safe_load(self.rig_file.read_text())
        rig["options"]["benchvise"].update(options)
        file = self.place / f"{'-'.join(options)}.yaml"
        file.write_text(yaml.safe_dump(rig, sort_keys=False))
        return TestBench(self.place, self.bench, file)


@contextlib.contextmanager
def running(
    place: Path,
    boards: Sequence[tuple[str, str]],
    *,
    kinds: str = "rig_kinds",
    options: Mapping[str, object] = QUICK,
    login_timeout: int = int(BOOT_PATIENCE),
    images: Mapping[str, Path] | None = None,
) -> Iterator[TestBench]:
    """A bench within this context; nothing of the user's own is used or changed."""
    with pytest.MonkeyPatch.context() as patch:
        paths = [str(HERE), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        patch.setenv("XDG_STATE_HOME", str(place / "state"))
        patch.setenv("XDG_DATA_HOME", str(place / "data"))
        patch.setenv("BENCHVISE_LOCK_DIR", str(place / "locks"))
        for name in ("BENCHVISE_RIG", "BENCHVISE_STORE"):
            patch.delenv(name, raising=False)
        try:
            bench = up(place / "b", boards, kinds=kinds, images=images)
            rig = yaml.safe_load(bench.rig_file.read_text())
            rig["options"]["benchvise"].update(options)
            for target in rig["targets"].values():
                target["drivers"]["ShellDriver"]["login_timeout"] = login_timeout
            file = place / "rig.yaml"
            file.write_text(yaml.safe_dump(rig, sort_keys=False))
            yield TestBench(bench.directory, bench, file)
        finally:
            down(place / "b")
