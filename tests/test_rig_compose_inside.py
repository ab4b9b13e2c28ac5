"""Which layers of real images differ, what inside of them, and single parts taken."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import rig_images as images
from rig_images import MIB, File, Link, Part

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.rig.compose.compose import compose
from benchvise.rig.compose.layers import configurations, device_trees, differing, layer_parts
from benchvise.rig.images import ImageError

pytestmark = images.needs_all

ROOT = 5 * MIB  # where the second partition begins

CONFIG = gzip.compress(b"CONFIG_HZ=100\n", mtime=0)

EXTLINUX = """\
label l0
    kernel /Image
    fdt /board.dtb
    append root=/dev/mmcblk0p2 {words}
"""


def image(path: Path, words: str, more: images.Tree) -> Path:
    """An image that differs from others of these in its command line and in some files."""
    boot = images.fat(
        4 * MIB,
        {
            "/Image": images.arm64_kernel("6.1.0") + b"IKCFG_ST" + CONFIG + b"IKCFG_ED",
            "/board.dtb": b"tree",
            "/extlinux/extlinux.conf": EXTLINUX.format(words=words).encode(),
        },
    )
    tree = {**images.root_tree("same", "6.1.0"), **more}
    images.mbr(path, [Part(boot, "0c", bootable=True), Part(images.ext(6 * MIB, tree), "83")])
    return path


def script(*lines: str) -> File:
    return File("".join(f"{line}\n" for line in ("#!/bin/sh", *lines)).encode(), 0o755)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("inside")
    one = image(
        place / "one.img",
        "quiet kpti=0",
        {
            "/etc/rc.local": script("echo 1 > /a", "start"),
            "/etc/sysctl.d/20-one.conf": b"kernel.x = 1\n",
            "/etc/init.d/tune": script("tune"),
        },
    )
    other = image(
        place / "other.img",
        "kpti=1 quiet",
        {
            "/etc/rc.local": script("echo 2 > /a", "start", "slow"),
            "/etc/udev": Link("/run/udev"),
            "/etc/init.d/tune": File(script("tune").data, 0o644),
        },
    )
    return one, other


def read(path: Path, file: str) -> str:
    return images.debugfs(path, ROOT, f"cat {file}").partition(f"cat {file}\n")[2]


def test_only_what_differs_is_told(pair: tuple[Path, Path]) -> None:
    found = differing(*pair)
    assert [different.layer for different in found] == ["init-settings", "command-line"]
    assert found[1].first.text == "quiet kpti=0"
    assert differing(pair[0], pair[0]) == []


def test_parts_are_words_lines_and_files(pair: tuple[Path, Path]) -> None:
    (word,) = layer_parts("command-line", *pair)
    assert (word.name, word.first, word.second, word.first_line) == ("kpti", "kpti=0", "kpti=1", 4)
    found = {part.name: part for part in layer_parts("init-settings", *pair)}
    assert set(found) == {
        "/etc/init.d/tune#mode",
        "/etc/rc.local#0",
        "/etc/rc.local#1",
        "/etc/sysctl.d/20-one.conf#0",
        "/etc/udev",
    }
    assert (found["/etc/rc.local#1"].second, found["/etc/rc.local#1"].second_line) == ("slow", 4)
    assert found["/etc/udev"].second == "link to /run/udev"
    assert {part.name for part in layer_parts("init-settings", *reversed(pair))} == set(found)


def test_parts_are_taken_alone(pair: tuple[Path, Path], tmp_path: Path) -> None:
    one, other = pair
    out = tmp_path / "out.img"
    parts = {"init-settings": ["/etc/rc.local#1"], "command-line": ["kpti"]}
    made = compose(one, dict.fromkeys(parts, other), out, parts=parts)
    assert made.layout.boot is not None
    assert made.layout.boot.command_line == "root=/dev/mmcblk0p2 quiet kpti=1"
    assert read(out, "/etc/rc.local") == "#!/bin/sh\necho 1 > /a\nstart\nslow\n"
    assert "Mode:  0755" in images.debugfs(out, ROOT, "stat /etc/rc.local")
    images.check(out, ROOT)
    assert [layer_parts(layer, one, out)[0].name for layer in parts] == ["/etc/rc.local#0", "kpti"]
    told = encode(made.manifest())["layers"]
    assert isinstance(told, list)
    assert told[0]["parts"] == ["/etc/rc.local#1"]


def test_files_of_one_side_come_and_go(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.img"
    names = ["/etc/sysctl.d/20-one.conf#0", "/etc/udev", "/etc/init.d/tune#mode"]
    layer = "init-settings"
    compose(pair[0], {layer: pair[1]}, out, parts={layer: names})
    assert [part.name for part in layer_parts(layer, out, pair[1])] == [
        "/etc/rc.local#0",
        "/etc/rc.local#1",
    ]
    images.check(out, ROOT)
    compose(pair[1], {layer: pair[0]}, out, parts={layer: names})
    assert [part.name for part in layer_parts(layer, out, pair[0])] == [
        "/etc/rc.local#0",
        "/etc/rc.local#1",
    ]
    images.check(out, ROOT)


def test_what_is_no_part_is_refused(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.img"
    for layer, name in (("command-line", "quiet"), ("init-settings", "/etc/passwd")):
        with pytest.raises(ImageError, match="do not differ in"):
            compose(pair[0], {layer: pair[1]}, out, parts={layer: [name]})
    with pytest.raises(UsageError, match="only be taken whole"):
        compose(pair[0], {"kernel": pair[1]}, out, parts={"kernel": ["x"]})
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_may_hold_its_configuration(pair: tuple[Path, Path]) -> None:
    assert [gzip.decompress(config) for config in configurations(*pair)] == [b"CONFIG_HZ=100\n"] * 2
    assert device_trees(*pair) == ({"board.dtb": b"tree"},) * 2
