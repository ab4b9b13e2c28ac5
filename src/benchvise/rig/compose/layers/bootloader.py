"""The boot loader: raw sectors, partitions of its own, and files that a boot ROM loads."""

from __future__ import annotations

from benchvise.rig.compose.layers.layer import LayerSummary, Swap, digest
from benchvise.rig.images import ImageError
from benchvise.rig.images import raw_loader as raw
from benchvise.rig.images.boot_files import raspberry
from benchvise.rig.images.filesystems import Files, put_text, read_text, replace
from benchvise.rig.images.layout import OpenedImage

_FILES = {
    "boot.bin", "idbloader.img", "mlo", "spl.bin", "sysfw.itb", "tiboot3.bin", "tispl.bin",
    "u-boot.bin", "u-boot.img", "u-boot.itb", "uboot.env",
}  # fmt: skip
_IN_FILE_SYSTEM = ("/ldlinux.sys", "/boot/ldlinux.sys", "/extlinux/ldlinux.sys", "/EFI")


class Bootloader:
    """All that runs before the kernel, with U-Boot's saved environment, which lies among it."""

    name = "bootloader"

    def apply(self, swap: Swap) -> list[str]:
        """Puts raw parts at the places they had, files under the names they had."""
        target, source = swap.target, swap.source
        for opened in (target, source):
            _refuse_mapped(opened)
        theirs = _files(source)
        regions = source.loader_regions
        if not theirs and not any(raw.used(source.path, region) for region in regions):
            raise ImageError(
                f"{source.name} has no boot loader: the board brings its own",
                "leave this layer out",
            )
        if source.layout.arch != target.layout.arch:
            swap.warnings.append(
                f"the boot loader comes from an image for {source.layout.arch or 'nothing known'} "
                f"and goes into one for {target.layout.arch or 'nothing known'}"
            )
        done = raw.transplant(
            source.path, regions, target.path, target.loader_regions, (source.name, target.name)
        )
        ours = _files(target)
        if theirs and target.boot_files is not None and source.boot_files is not None:
            contents = {path: source.boot_files.read(path) for path in theirs}
            replace(target.boot_files, ours, contents)
            done += theirs
            if _has_config(source) and _has_config(target):
                _merge_config(target.boot_files, source.boot_files)
                done.append("the firmware's lines of config.txt")
        elif ours and target.boot_files is not None:
            replace(target.boot_files, ours, {})
        return done

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """What lies in raw sectors, and its files in the boot partition."""
        contents: list[bytes] = []
        with opened.path.open("rb") as stream:
            for region in opened.loader_regions:
                for begin, end in raw.used(opened.path, region):
                    stream.seek(begin)
                    contents += [str(begin).encode(), stream.read(end - begin)]
        files = opened.boot_files
        for path in _files(opened):
            contents += [path.encode(), files.read(path) if files is not None else b""]
        return LayerSummary(digest(*contents), opened.layout.boot_loader)


def _files(opened: OpenedImage) -> list[str]:
    """The boot loader's files in the boot partition, with what firmware loads in Linux's place."""
    files, boot = opened.boot_files, opened.layout.boot
    if files is None:
        return []
    paths = [f"/{name}" for name in sorted(files.names("/")) if name.lower() in _FILES]
    paths += raspberry.firmware_files(files)
    if boot is not None and boot.style != raspberry.Raspberry.name and _has_config(opened):
        under = raspberry.Raspberry().find(files)
        paths += under.kernels if under else ()
    loaded = {*boot.kernels, *boot.initrds} if boot else set()
    return sorted({path for path in paths if path not in loaded})


def _has_config(opened: OpenedImage) -> bool:
    return opened.boot_files is not None and opened.boot_files.is_file(raspberry.CONFIG)


def _merge_config(ours: Files, theirs: Files) -> None:
    text = raspberry.merged(
        read_text(ours, raspberry.CONFIG),
        read_text(theirs, raspberry.CONFIG),
        raspberry.is_firmware_key,
    )
    put_text(ours, raspberry.CONFIG, text)


def _refuse_mapped(opened: OpenedImage) -> None:
    """syslinux notes which sectors its file has, and EFI boot loaders come with their own tree."""
    files = opened.boot_files
    for name in _IN_FILE_SYSTEM:
        if files is not None and (files.is_file(name) or files.names(name)):
            raise ImageError(
                f"{opened.name} has a boot loader inside of a file system ({name}), "
                "which cannot be moved",
                "take this image as the base, and the other layers from the other one",
            )
