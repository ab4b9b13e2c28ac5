"""Boot configurations: read as boot loaders read them, and changed in nothing but what is meant."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchvise.rig.compose.layers import root as tables
from benchvise.rig.compose.layers.kernel import combined
from benchvise.rig.images import ImageError
from benchvise.rig.images.boot_files import STYLES, raspberry, style, uboot
from benchvise.rig.images.boot_files.style import BootSide, BootStyle
from benchvise.rig.images.filesystems import absolute


class Memory:
    """A file system that is a mapping."""

    def __init__(self, where: str, files: dict[str, bytes]) -> None:
        self._where, self.files = where, dict(files)

    @property
    def where(self) -> str:
        return self._where

    def names(self, directory: str) -> dict[str, bool]:
        top = directory.rstrip("/") + "/"
        below = [path[len(top) :] for path in self.files if path.startswith(top)]
        return {path.split("/")[0]: "/" in path for path in below}

    def is_file(self, path: str) -> bool:
        return path in self.files

    def read(self, path: str, limit: int = 1 << 30) -> bytes:
        if path not in self.files:
            raise ImageError(f"no {path}")
        return self.files[path][:limit]

    def put(self, path: str, data: bytes) -> None:
        self.files[path] = data

    def remove(self, path: str) -> None:
        for known in list(self.files):
            if known == path or known.startswith(path.rstrip("/") + "/"):
                del self.files[known]


def side(name: str, files: dict[str, bytes]) -> tuple[BootSide, BootStyle]:
    memory = Memory(name, files)
    for known in STYLES:
        boot = known.find(memory)
        if boot is not None:
            return BootSide(memory, boot), style(boot.style)
    raise AssertionError("nothing boots there")


def contents(given_side: BootSide) -> dict[str, bytes]:
    assert isinstance(given_side.files, Memory)
    return given_side.files.files


TWO = """\
# by hand
DEFAULT second
MENU TITLE boards
LABEL first
    KERNEL /vmlinuz-1
    INITRD /initrd-1
    APPEND root=/dev/mmcblk0p2 one

label second
\tlinux vmlinuz-2#conf-1
\tfdt ../dtb/board.dtb
\tfdtoverlays /o/a.dtbo /o/b.dtbo
\tappend root=LABEL=x two
"""


def test_the_default_entry_is_read() -> None:
    files = {"/extlinux/extlinux.conf": TWO.encode()}
    boot = side("x", files)[0].boot
    assert boot.kernels == ("/extlinux/vmlinuz-2",)
    assert boot.initrds == ()
    assert boot.trees == ("/dtb/board.dtb", "/o/a.dtbo", "/o/b.dtbo")
    assert boot.command_line == "root=LABEL=x two"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("label a\nlinux /a\nlabel b\nlinux /b\n", "a"),
        ("default b\nlabel a\nlinux /a\nlabel b\nlinux /b\n", "b"),
        ("default none\nlabel a\nlinux /a\n", "a"),
        ("label a\nlinux /a\nlabel b\nmenu default\nlinux /b\n", "b"),
        ("DEFAULT a\nDEFAULT b\nlabel a\nlinux /a\nlabel b\nlinux /b\n", "b"),
    ],
)
def test_the_entry_that_boots(text: str, name: str) -> None:
    label = uboot.chosen(text)
    assert label is not None and label.name == name


def test_editing_changes_only_the_entry() -> None:
    label = uboot.chosen(TWO)
    assert label is not None
    text = uboot.edited(TWO, label, {"kernel": "/new", "fdtoverlays": None, "initrd": "/i"})
    assert text == TWO.replace("vmlinuz-2#conf-1", "/new").replace(
        "\tfdtoverlays /o/a.dtbo /o/b.dtbo\n", ""
    ) + ("\tinitrd /i\n")
    first = uboot.labels(text)[0]
    assert first.values["kernel"] == "/vmlinuz-1"


_words = st.text("abz/=.0", min_size=1, max_size=8)


@given(
    st.dictionaries(st.sampled_from(["kernel", "initrd", "append", "fdt"]), _words, min_size=1),
    st.dictionaries(
        st.sampled_from(["kernel", "initrd", "append", "fdtdir"]), st.none() | _words, min_size=1
    ),
)
def test_what_was_edited_reads_back(old: dict[str, str], new: dict[str, str | None]) -> None:
    entry = "".join(f"  {key} {value}\n" for key, value in old.items())
    text = f"default l\nlabel other\n  linux /x\n\nlabel l\n{entry}"
    label = uboot.chosen(text)
    assert label is not None
    after = uboot.chosen(uboot.edited(text, label, new))
    expected = {**old, **new}
    assert after is not None
    assert after.values == {key: value for key, value in expected.items() if value is not None}


def test_a_kernel_of_another_entry_is_not_removed_or_overwritten() -> None:
    ours, kind = side(
        "ours",
        {
            "/extlinux/extlinux.conf": b"default new\nlabel old\nlinux /Image-1\ninitrd /i\n"
            b"label new\nlinux /Image-2\ninitrd /i\nappend x\n",
            "/Image-1": b"one",
            "/Image-2": b"two",
            "/i": b"shared",
        },
    )
    theirs, _ = side(
        "theirs",
        {"/boot/extlinux/extlinux.conf": b"label l\nlinux /boot/Image-1\n", "/boot/Image-1": b"1"},
    )
    kind.put_kernel(ours, theirs)
    files = contents(ours)
    assert files["/Image-1"] == b"one" and files["/Image-1.layer"] == b"1"
    assert "/Image-2" not in files and files["/i"] == b"shared"
    label = uboot.chosen(files["/extlinux/extlinux.conf"].decode())
    assert label is not None
    assert label.values == {"kernel": "/Image-1.layer", "append": "x"}


def test_an_initrd_in_the_command_line_is_one() -> None:
    ours, kind = side(
        "ours", {"/syslinux.cfg": b"label l\nkernel /k\nappend initrd=/i root=/dev/sda1\n"}
    )
    assert ours.boot.initrds == ("/i",)
    assert ours.boot.command_line == "root=/dev/sda1"
    kind.put_command_line(ours, "root=/dev/sda1 quiet")
    assert b"append root=/dev/sda1 quiet initrd=/i\n" in contents(ours)["/syslinux.cfg"]


def test_a_directory_of_device_trees_is_replaced() -> None:
    ours, kind = side(
        "ours",
        {
            "/extlinux/extlinux.conf": b"label l\nlinux /k\nfdtdir /dtbs/\n",
            "/dtbs/v/a.dtb": b"old",
            "/dtbs/gone.dtb": b"old",
        },
    )
    theirs, _ = side(
        "theirs",
        {
            "/extlinux/extlinux.conf": b"label l\nlinux /k\nfdtdir /d\nfdtoverlays /o.dtbo\n",
            "/d/v/a.dtb": b"new",
            "/o.dtbo": b"overlay",
        },
    )
    kind.put_trees(ours, theirs)
    files = contents(ours)
    assert files["/dtbs/v/a.dtb"] == b"new" and "/dtbs/gone.dtb" not in files
    assert side("again", files)[0].boot.trees == ("/dtbs", "/o.dtbo")


def test_an_image_without_a_device_tree_is_refused() -> None:
    ours, kind = side("ours", {"/extlinux/extlinux.conf": b"label l\nlinux /k\n"})
    with pytest.raises(ImageError, match="ours has no device tree of its own"):
        kind.put_trees(ours, ours)


def test_lines_of_config_txt_are_split_among_the_layers() -> None:
    ours = "# ours\narm_freq=600\nkernel=ours.img\n[pi3]\ndtoverlay=ours\n[all]\ngpu_mem=16\n"
    theirs = "arm_freq=900\n[pi4]\n[hdmi:0]\nkernel=theirs.img\ndtparam=x\n[all]\nkernel=last.img\n"
    assert raspberry.merged(ours, theirs, raspberry.is_kernel_key) == (
        "# ours\narm_freq=600\n[pi3]\ndtoverlay=ours\n[all]\ngpu_mem=16\n"
        "[all]\n[pi4]\n[hdmi:0]\nkernel=theirs.img\n[all]\nkernel=last.img\n"
    )
    assert raspberry.merged(ours, theirs, raspberry.is_tree_key) == (
        "# ours\narm_freq=600\nkernel=ours.img\n[pi3]\n[all]\ngpu_mem=16\n"
        "[all]\n[pi4]\n[hdmi:0]\ndtparam=x\n[all]\n"
    )
    assert raspberry.merged(ours, "", raspberry.is_firmware_key) == (
        "# ours\nkernel=ours.img\n[pi3]\ndtoverlay=ours\n[all]\n"
    )


def test_a_prefix_of_config_txt_stays() -> None:
    ours, kind = side(
        "ours",
        {
            "/config.txt": b"os_prefix=current/\nkernel=vmlinuz\n"
            b"initramfs initrd.img followkernel\n",
            "/current/vmlinuz": b"old",
            "/current/initrd.img": b"old",
            "/current/cmdline.txt": b"root=LABEL=x\n",
        },
    )
    assert ours.boot.kernels == ("/current/vmlinuz",)
    assert ours.boot.initrds == ("/current/initrd.img",)
    theirs, _ = side("theirs", {"/config.txt": b"", "/kernel8.img": b"new", "/cmdline.txt": b""})
    kind.put_kernel(ours, theirs)
    files = contents(ours)
    assert files["/current/kernel8.img"] == b"new"
    assert files["/config.txt"] == b"os_prefix=current/\n"
    assert "/current/vmlinuz" not in files and "/current/initrd.img" not in files


def test_fixed_names_stay_fixed() -> None:
    image = b"\0" * 56 + b"ARM\x64" + b"\0Linux version 6.1 (x)"
    zimage = b"\0" * 0x24 + b"\x18\x28\x6f\x01" + bytes(64)
    ours, kind = side("ours", {"/Image": image, "/b.dtb": b"", "/uEnv.txt": b"a=b\nbootargs=x\n"})
    theirs, _ = side("theirs", {"/boot/Image": image + b"new", "/boot/b.dtb": b"new"})
    assert kind.put_kernel(ours, theirs) == ["/Image replaced"]
    kind.put_trees(ours, theirs)
    kind.put_command_line(ours, "y z")
    assert contents(ours) == {
        "/Image": image + b"new", "/b.dtb": b"new", "/uEnv.txt": b"a=b\nbootargs=y z\n"
    }  # fmt: skip
    other, _ = side("other", {"/zImage": zimage})
    with pytest.raises(ImageError, match="loads a kernel of the form Image"):
        kind.put_kernel(ours, other)
    with pytest.raises(ImageError, match="stands in U-Boot's environment"):
        kind.put_command_line(other, "x")


def test_a_script_that_decides_is_an_obstacle() -> None:
    boot = side("x", {"/boot/boot.scr": b"", "/boot/Image": b""})[0].boot
    assert "boot.scr" in boot.obstacle


@pytest.mark.parametrize(
    ("theirs", "ours", "result"),
    [
        ("a root=/dev/sda1 b", "x root=UUID=1 y", "a root=UUID=1 b"),
        ("a b", "root=/dev/vda2 rootfstype=ext4", "a b root=/dev/vda2 rootfstype=ext4"),
        ("root=/dev/vda2 sdroot=/dev/x rw", "quiet", "rw"),
        ("a root=1 rootflags=noatime", "rootflags=x root=2", "a root=2 rootflags=noatime"),
        ("sdroot=/dev/x a", "sdroot=/dev/y", "sdroot=/dev/y a"),
    ],
)
def test_places_stay_and_all_else_comes(theirs: str, ours: str, result: str) -> None:
    assert combined(theirs, ours) == result


def test_fstab_keeps_devices_and_takes_options() -> None:
    ours = "# c\nUUID=1 / ext4 defaults 0 1\n/dev/mmcblk0p1 /boot vfat ro 0 2\n"
    theirs = "UUID=9\t/\text4\tnoatime,commit=60\t0 1\n/dev/x /data ext4 rw\n"
    assert tables.merged_fstab(ours, theirs) == (
        "# c\nUUID=1\t/\text4\tnoatime,commit=60\t0\t1\n/dev/mmcblk0p1 /boot vfat ro 0 2\n"
    )
    assert tables.mount_points(ours) == ["/", "/boot"]
    assert tables.merged_fstab("", theirs) == ""


@given(st.text("ab./", max_size=12), st.text("ab./", max_size=12))
def test_paths_never_leave_the_file_system(path: str, directory: str) -> None:
    found = absolute(path, "/" + directory)
    assert found.startswith("/") and ".." not in found.split("/")
    assert not found.startswith("//") and posixpath.normpath(found) == found
