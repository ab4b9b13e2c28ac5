"""``benchvise bisect --images`` on several boards: written to their cards and booted, in QEMU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import skips
from rig_bench import running
from waiting import BOOT_PATIENCE, PATIENCE

from benchvise.errors import BenchviseError
from benchvise.rig.virtual import kinds

KIND = "arm64-uboot"
OPTIONS = {
    "stagger_s": 0.2,
    "settle_s": 0.1,
    "off_s": 0.1,
    "silence_s": PATIENCE,
    "boot_limit_s": BOOT_PATIENCE,
}
FIRST_BAD, COUNT = 2, 4

# The image says which one it is; values scatter by a few percent.
COMMAND = (
    "v=1000; grep -q ^VARIANT=b /etc/image-release && v=1300; "
    "echo took $((v + $(od -An -N1 -tu1 </dev/urandom) % 40)) ms"
)

pytestmark = [pytest.mark.long, skips.needs_that(skips.LONG, "long")]


def test_two_boards_find_the_image_together(tmp_path: Path) -> None:
    kind = kinds.kind(KIND)
    if lacking := kinds.missing(kind):
        skips.skip_packages(*lacking)
    images = tmp_path / "images"
    images.mkdir()
    for number in range(COUNT):
        try:
            image = kinds.image(kind, variant="a" if number < FIRST_BAD else "b")
        except BenchviseError as error:
            skips.skip("board image", error)
        copy = images / f"v{number}.img"
        subprocess.run(["cp", "--sparse=always", image, copy], check=True)
    boards = [("one", KIND), ("two", KIND)]
    with running(tmp_path / "bench", boards, kinds=kinds.__name__, options=OPTIONS) as bench:
        ran = bench.command(
            "bisect", "rig:one", "rig:two", "--images", images, "--good", images / "v0.img",
            "--bad", images / f"v{COUNT - 1}.img", "--command", COMMAND,
            "--match", "took ([0-9]+) ms", "--better", "lower", "--unit", "ms",
            "-o", tmp_path / "kept", "--json",
        )  # fmt: skip
        assert ran.code == 0, ran.err
        assert Path(ran.data["first_bad"]).name == f"v{FIRST_BAD}.img"
        assert [board["seen"] for board in ran.data["boards"]] == ["seen", "seen"]
        assert all(board["samples"] > 0 for board in ran.data["boards"])
        assert [board["relay"] for board in bench.told().values()] == [0, 0]
