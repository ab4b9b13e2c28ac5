"""Full-screen programs on a board's console in its page: a menu of U-Boot, vi and top, in QEMU."""

from __future__ import annotations

from pathlib import Path

import pytest
import skips
from browser import browse, missing
from rig_bench import running
from web_server import serving

from benchvise.errors import BenchviseError
from benchvise.rig.virtual import kinds

KIND = "x86_64"
# Its U-Boot is the newest of the simulated boards', and has a menu that is drawn by the terminal.

pytestmark = [
    pytest.mark.long,
    skips.needs_that(skips.LONG, "long"),
    pytest.mark.timing("the emulated board waits a tenth of a second for the size of a terminal"),
]


@skips.unless_missing(missing())
def test_a_menu_of_u_boot_vi_and_top(tmp_path: Path) -> None:
    if lacking := kinds.missing(kinds.kind(KIND)):
        skips.skip_packages(*lacking)
    try:
        image = kinds.image(kinds.kind(KIND))
    except BenchviseError as error:
        skips.skip("board image", error)
    options = {"stagger_s": 0.0, "settle_s": 0.1, "off_s": 0.1}
    with running(
        tmp_path / "bench",
        [("one", KIND)],
        kinds=kinds.__name__,
        options=options,
        images={KIND: image},
    ) as bench:
        assert bench.command("rig", "flash", "one", image).code == 0
        bench.inject("one", "hang-uboot", "on")
        with serving(tmp_path / "s.db", "--rig", bench.rig_file, "--allow-control") as server:
            seen = browse("console-programs.js", server.url("/boards/rig:one"))
        assert bench.command("rig", "power", "one", "off").code == 0
    # Esc of an arrow key that is late quits U-Boot's menu (10 ms): see the script.
    menu = ["Add Boot Option", "Edit Boot Option", "Change Boot Order", "Edit Boot Option"]
    assert seen["menu"] == menu
    assert "left-qemu-x86" in seen["left"]
    assert seen["vi"][:4] == ["zero", "one", "two", "~"] and "1/3" in seen["vi"][-1]
    assert seen["top"][0].startswith("Mem:") and any("top -d 1" in row for row in seen["top"])
    assert seen["overflow"] <= 0 and seen["complaints"] == []
