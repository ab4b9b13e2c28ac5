"""A boot that is traced from its first program on shows which script wrote a setting."""

from __future__ import annotations

from pathlib import Path

import rig_guest
import rig_images
import skips
from root_trees import suspect_of
from waiting import BOOT_PATIENCE

from benchvise.rig.virtual import kinds
from benchvise.rig.virtual.recipes import build
from benchvise.rig.virtual.recipes.recipe import Variant
from benchvise.why.model import Side
from benchvise.why.provenance import find_origins
from benchvise.why.provenance.boot_trace import TRACE, tracing_arguments, with_proof, written_in
from benchvise.why.provenance.sources import image_files

KIND = "arm64-direct"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
RC_LOCAL = (
    f"#!/bin/sh\n# echo never > {THP}\necho madvise > {THP}\necho 7 > /proc/sys/vm/swappiness\n"
)

pytestmark = rig_images.needs_all


def test_a_traced_boot_names_the_script_that_wrote(tmp_path: Path) -> None:
    kind = kinds.kind(KIND)
    lacking = kinds.missing(kind)
    if lacking:
        skips.skip_packages(*lacking)
    traced = Variant(
        "traced", "", append=tracing_arguments(kind.arch), files={"etc/rc.local": RC_LOCAL}
    )
    image = build.image(kind.name, kind.recipe, kind.card_bytes, traced)
    with image_files(image) as files:
        origins = {
            knob: find_origins(files, suspect_of(knob, value), Side.BAD)[0]
            for knob, value in (("memory.thp", "madvise"), ("vm.swappiness", "7"))
        }
    assert [origin.where for origin in origins.values()] == ["/etc/rc.local:3", "/etc/rc.local:4"]
    with rig_guest.Guest(kind, image, tmp_path) as guest:
        guest.log_in(BOOT_PATIENCE)
        guest.run("mountpoint -q /sys/kernel/tracing || mount -t tracefs t /sys/kernel/tracing")
        trace = guest.run(f"grep -e bv_ -e process_exec {TRACE[0]} | grep -e rc.local -e exec")
    for path, origin in zip((THP, "/proc/sys/vm/swappiness"), origins.values(), strict=True):
        (writer,) = written_in(trace, path)
        assert writer.program.raw == "/etc/rc.local"
        assert writer.seconds > 0
        proven = with_proof(origin, [writer])
        assert proven.certain
        assert "/etc/rc.local" in proven.note.raw
