"""Boards are made of the same packages everywhere, or it is said that they are not."""

from __future__ import annotations

import hashlib
import json
import logging
import lzma
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import guest_kernel
import pin_packages
import pytest

from benchvise.documents import encode
from benchvise.rig.images import ImageError
from benchvise.rig.virtual.kinds import KINDS
from benchvise.rig.virtual.recipes import build, packages, pins
from benchvise.rig.virtual.recipes.pins import Pin, PinList, PinnedSet

MIRROR = "http://mirror.example/debian"
PAST = f"{packages.SNAPSHOT}/20260101T000000Z"
OLD, NEW = b"u-boot of the list", b"u-boot of today"


class FakeArchives:
    """apt, in front of archives that have one version of each package."""

    def __init__(self) -> None:
        self.archives: dict[str, dict[str, tuple[str, bytes]]] = {}
        """By address: versions and files by the package's name."""
        self.reached: list[str] = []
        self.refusals = 0
        """How often the lists are refused before they are had."""

    def __call__(
        self, argv: Sequence[str], cwd: Path | None = None, own: Mapping[str, str] | None = None
    ) -> str:
        if "indextargets" in argv:
            return f"{MIRROR} bookworm main\n"
        if own is None or "apt-config" in argv:
            return ""
        assert cwd is not None
        source = (Path(own["APT_CONFIG"]).parent / "sources.list").read_text().split()
        address = source[2]
        self.reached.append(address)
        if "update" in argv and self.refusals:
            self.refusals -= 1
            raise ImageError("E: the file has an unexpected size", "is the mirror being changed?")
        if address not in self.archives:
            raise ImageError("E: no answer", "is the network there?")
        printed = ""
        for word in argv[argv.index("download") + 1 :] if "download" in argv else ():
            name, _, wanted = word.partition("=")
            version, data = self.archives[address][name]
            if wanted not in ("", version):
                raise ImageError(f"E: Version '{wanted}' for '{name}' was not found", "")
            if "--print-uris" in argv:
                printed += f"'{address}/x' {name}_{version}_all.deb 1 SHA256:0\n"
            else:
                (cwd / f"{name}_{version}_all.deb").write_bytes(data)
        return printed


@pytest.fixture
def apt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeArchives:
    """u-boot 1.0 is pinned; no archive answers yet."""
    fake = FakeArchives()
    sha256 = hashlib.sha256(OLD).hexdigest()
    uboot = PinnedSet("bookworm-all", ("u-boot",), (), (Pin("u-boot", "1.0", "all", sha256),))
    monkeypatch.setattr(packages, "pin_list", lambda: PinList("20260101T000000Z", (uboot,)))
    monkeypatch.setattr(packages, "run_apt", fake)
    monkeypatch.setattr(packages, "KEYRING", tmp_path)
    monkeypatch.setattr(packages, "UPDATE_WAITS_S", (0, 0))
    monkeypatch.delenv(packages.MIRROR_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return fake


ARCHIVE = packages.Archive("bookworm", "all")


def test_the_pinned_version_comes_from_the_mirror(apt: FakeArchives) -> None:
    apt.archives = {MIRROR: {"u-boot": ("1.0", OLD)}}
    (package,) = ARCHIVE.download(["u-boot"])
    assert (package.version, package.is_pinned) == ("1.0", True)
    assert package.path.read_bytes() == OLD
    assert PAST not in apt.reached
    apt.archives.clear()  # no network any more
    assert ARCHIVE.download(["u-boot"]) == [package]


def test_a_version_that_the_mirror_has_no_longer_comes_from_the_past(
    apt: FakeArchives, caplog: pytest.LogCaptureFixture
) -> None:
    apt.archives = {MIRROR: {"u-boot": ("1.1", NEW)}, PAST: {"u-boot": ("1.0", OLD)}}
    (package,) = ARCHIVE.download(["u-boot"])
    assert (package.version, package.is_pinned) == ("1.0", True)
    assert package.path.read_bytes() == OLD
    assert not caplog.records


def test_what_no_archive_has_is_replaced_and_this_is_said_and_recorded(
    apt: FakeArchives, caplog: pytest.LogCaptureFixture
) -> None:
    apt.archives = {MIRROR: {"u-boot": ("1.1", NEW)}}
    (package,) = ARCHIVE.download(["u-boot"])
    assert (package.version, package.is_pinned) == ("1.1", False)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "u-boot 1.0) cannot be had, so boards are made of the mirror's" in record.getMessage()
    assert f"{PAST}: E: no answer" in record.getMessage(), "each reason"
    assert "'1.0' for 'u-boot' was not found" in record.getMessage()
    line = build.sources_of([package])
    assert line.endswith(f"sha256:{hashlib.sha256(NEW).hexdigest()} (not the pinned version)\n")
    apt.archives.clear()
    assert ARCHIVE.download(["u-boot"]) == [package], "kept, as pinned ones are"


def test_another_file_under_the_pinned_name_is_refused(apt: FakeArchives) -> None:
    apt.archives = {MIRROR: {"u-boot": ("1.0", b"something else")}}
    with pytest.raises(ImageError, match=r"and u-boot 1\.0 is pinned with") as raised:
        ARCHIVE.download(["u-boot"])
    assert packages.MIRROR_VARIABLE in raised.value.remedy
    apt.archives = {MIRROR: {"u-boot": ("1.0", OLD)}}
    assert ARCHIVE.download(["u-boot"])[0].is_pinned, "what was refused is not kept"


def test_a_new_list_is_heeded_although_there_is_a_cache(
    apt: FakeArchives, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt.archives = {MIRROR: {"u-boot": ("1.0", OLD)}}
    ARCHIVE.download(["u-boot"])
    pin = Pin("u-boot", "1.1", "all", hashlib.sha256(NEW).hexdigest())
    later = PinList("20260201T000000Z", (PinnedSet(ARCHIVE.name, ("u-boot",), (), (pin,)),))
    monkeypatch.setattr(packages, "pin_list", lambda: later)
    apt.archives = {MIRROR: {"u-boot": ("1.1", NEW)}}
    assert ARCHIVE.download(["u-boot"])[0].version == "1.1"


def test_lists_that_are_refused_for_a_moment_are_asked_for_again(apt: FakeArchives) -> None:
    apt.archives = {MIRROR: {"u-boot": ("1.0", OLD)}}
    apt.refusals = len(packages.UPDATE_WAITS_S)
    (package,) = ARCHIVE.download(["u-boot"])
    assert package.is_pinned
    assert PAST not in apt.reached


def test_without_any_archive_there_is_an_error(apt: FakeArchives) -> None:
    with pytest.raises(ImageError, match="E: no answer"):
        ARCHIVE.download(["u-boot"])


# -- the list --------------------------------------------------------------------------------------


def test_all_that_boards_and_guests_are_made_of_is_pinned() -> None:
    pinned = pins.pin_list()
    wanted = {one for kind in KINDS.values() for one in build.package_sets(kind.recipe)}
    wanted.add((guest_kernel.ARCHIVE, guest_kernel.PACKAGES, ()))
    unpinned = [
        f"{a.name}: {one}, {two}" for a, one, two in wanted if not pinned.of(a.name, one, two)
    ]
    assert not unpinned, "make pins"
    assert len(pinned.sets) == len(wanted), "a set that nothing asks for any more: make pins"
    for one in pinned.sets:
        for pin in one.packages:
            assert len(pin.sha256) == 64 and pin.architecture in ("all", one.archive.split("-")[1])


def test_the_list_is_written_as_it_is_read() -> None:
    pinned = pins.pin_list()
    text = pin_packages.as_text(pinned.time, list(pinned.sets))
    assert json.loads(text) == encode(pinned)
    assert text == pins.LIST.read_text()


# -- the kernel of the tests' guests ---------------------------------------------------------------


@pytest.mark.parametrize(("strict", "code"), [("", 0), ("0", 0), ("1", 1)])
def test_a_guest_kernel_that_cannot_be_fetched_is_an_error_where_strict(
    apt: FakeArchives,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    strict: str,
    code: int,
) -> None:
    monkeypatch.setattr(guest_kernel, "DIRECTORY", tmp_path / "guest-kernel")
    monkeypatch.setenv("STRICT", strict)
    assert guest_kernel.main() == code
    said = capsys.readouterr().err
    assert "no kernel for the tests in a virtual machine, which are left out" in said
    assert "E: no answer" in said
    assert not (tmp_path / "guest-kernel").exists(), "nothing is left behind"


@pytest.mark.parametrize(
    ("path", "is_wanted"),
    [
        ("boot/vmlinuz-6.1.0-50-amd64", True),
        ("boot/System.map-6.1.0-50-amd64", False),
        ("lib/modules/6.1.0-50-amd64/kernel/drivers/hid/hid.ko", True),
        ("lib/modules/6.12/kernel/drivers/hid/hid-cp2112.ko.xz", True),
        ("lib/modules/6.12/kernel/drivers/hid/usbhid/usbhid.ko.xz", False),
        ("lib/modules/6.12/kernel/drivers/hid/hid-sony.ko.xz", False),
    ],
)
def test_only_what_guests_start_is_unpacked(path: str, is_wanted: bool) -> None:
    assert guest_kernel.is_wanted(path) is is_wanted


def kernel_image(payload: bytes, size: int) -> bytes:
    """A kernel for a PC whose setup has two sectors; the program in it begins at 16."""
    head = bytearray(3 * 512 + 16)
    head[0x1F1] = 2
    struct.pack_into("<II", head, 0x248, 16, size)
    return bytes(head) + payload + b"what is behind"


def test_the_kernel_of_an_image_is_unpacked_and_what_is_cut_is_refused() -> None:
    program = b"\x7fELF" + bytes(range(256)) * 40
    packed = lzma.compress(program) + struct.pack("<I", len(program))
    assert guest_kernel.unpacked_kernel(kernel_image(packed, len(packed))) == program
    for payload, size in ((packed, len(packed) // 2), (program, len(program))):
        with pytest.raises(ImageError, match="not packed as Debian's was"):
            guest_kernel.unpacked_kernel(kernel_image(payload, size))
