"""A composed image boots on a simulated board: a kernel of one image, settings of another."""

from __future__ import annotations

from pathlib import Path

import rig_guest
import rig_images
import skips
from waiting import BOOT_PATIENCE

from benchvise.rig.compose.compose import compose
from benchvise.rig.images.workplace import describe
from benchvise.rig.virtual import kinds

KIND = "arm64-uboot"

pytestmark = rig_images.needs_all


def test_a_composed_image_boots(tmp_path: Path) -> None:
    kind = kinds.kind(KIND)
    lacking = kinds.missing(kind)
    if lacking:
        skips.skip_packages(*lacking)
    base, newer = kinds.image(kind), kinds.image(kind, variant="b")
    settings = kinds.image(kind, variant="rc-thp")
    out = tmp_path / "mix.img"
    made = compose(base, {"kernel": newer, "init-settings": settings}, out)
    version = made.layout.kernels[0][1].version
    assert version == describe(newer).kernels[0][1].version
    assert version != describe(base).kernels[0][1].version
    with rig_guest.Guest(kind, out, tmp_path) as guest:
        guest.log_in(BOOT_PATIENCE)
        assert guest.run("uname -r") == version
        assert guest.run("ls /lib/modules") == version
        assert "[madvise]" in guest.run("cat /sys/kernel/mm/transparent_hugepage/enabled")
