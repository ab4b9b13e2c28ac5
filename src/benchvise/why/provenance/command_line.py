"""The kernel's command line: the file and line that its words stand in.

What the boot loader reads is looked at: extlinux.conf (the entry that boots), grub.cfg (its first
entry), cmdline.txt, boot.scr, uEnv.txt, armbianEnv.txt, loader entries. ``/etc/default/grub`` and
the like, of which others are made, come behind these, and last what the running kernel says.

Words that set a file of the kernel are in ``defaults.toml`` beside this; ``sysctl.NAME=`` sets that
setting and ``MODULE.NAME=`` a module's parameter.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from benchvise.rig.images.boot_files.uboot import chosen
from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.defaults import boot_words
from benchvise.why.provenance.files import Tree, lines_of
from benchvise.why.provenance.quoting import split
from benchvise.why.provenance.sysctl import path_of

_HOMES = ("", "/boot", "/boot/firmware", "/boot/efi", "/efi", "/flash", "/uboot")
EXTLINUX = tuple(
    f"{home}{name}"
    for home in _HOMES
    for name in ("/extlinux/extlinux.conf", "/extlinux.conf", "/syslinux.cfg",
                 "/syslinux/syslinux.cfg")
)  # fmt: skip
GRUB = (
    "/boot/grub/grub.cfg", "/boot/grub2/grub.cfg", "/boot/efi/EFI/*/grub.cfg",
    "/boot/grub/menu.lst",
    "/boot/EFI/BOOT/grub.cfg", "/EFI/BOOT/grub.cfg",
)  # fmt: skip
GRUB_DEFAULTS = ("/etc/default/grub", "/etc/default/grub.d/*.cfg")
PLAIN = (*(f"{home}/cmdline.txt" for home in _HOMES), "/etc/kernel/cmdline",
         "/usr/lib/kernel/cmdline")  # fmt: skip
LOADER = tuple(f"{home}/loader/entries/*.conf" for home in _HOMES)
ENVIRONMENTS = (*(f"{home}/{name}" for home in _HOMES for name in
                  ("uEnv.txt", "armbianEnv.txt", "orangepiEnv.txt", "extra-uEnv.txt")),
                "/etc/default/u-boot", "/etc/default/flash-kernel")  # fmt: skip
SCRIPTS = tuple(f"{home}/{name}" for home in _HOMES for name in ("boot.scr", "boot.scr.uimg",
                                                                 "boot.cmd"))  # fmt: skip
LIVE = ("/proc/cmdline", "/proc/device-tree/chosen/bootargs")

GLOBS = (*EXTLINUX, *GRUB, *GRUB_DEFAULTS, *PLAIN, *LOADER, *ENVIRONMENTS, *SCRIPTS, *LIVE)
LINKS: tuple[str, ...] = ()

_GRUB_LINE = re.compile(r"\s*(?:linux|linux16|linuxefi|kernel)\s+\S+\s+(.*)")
_GRUB_DEFAULT = re.compile(r"\s*GRUB_CMDLINE_LINUX(?:_DEFAULT)?\s*\+?=\s*(.*)")
_OPTIONS = re.compile(r"\s*options\s+(.*)")
_ENVIRONMENT = re.compile(
    r"\s*(bootargs|optargs|extraargs|cmdline|kernel_args|append|extra_bootargs|console"
    r"|LINUX_KERNEL_CMDLINE(?:_DEFAULTS)?|U_BOOT_PARAMETERS|loglevel|verbosity)\s*=\s*(.*)"
)
_BOOTARGS = re.compile(r"\s*(?:setenv|env\s+set)\s+(bootargs|\w*args)\s+(.*)")
_SCRIPT_MAGIC = b"\x27\x05\x19\x56"  # of mkimage; the text begins behind two lengths


def find(tree: Tree) -> Iterator[Assignment]:
    """Every word, with what it sets; the running kernel's command line only where no file has
    it."""
    rank = 0
    running = set(tree.text("/proc/cmdline").split())
    for line, text, edited in _lines(tree):
        rank += 1
        when = (Stage.COMMAND_LINE, int(not edited), rank)
        for at, word in enumerate(_kernel_words(text)):
            if "$" in word:
                continue
            doubt = ""
            if running and word not in running:
                doubt = "the kernel that runs was not told this"
            for target, value in sets(word):
                note = doubt or ("what the boot loader reads is made of it" if edited else "")
                yield Assignment("command line", line, target, value, (*when, at), not doubt, note)
    yield from _of_running(tree)


def _of_running(tree: Tree) -> Iterator[Assignment]:
    """What the kernel was told, the weakest answer: the place that it came from is not in it."""
    for path in LIVE:
        text = tree.text(path).rstrip("\0\n")
        if text:
            line = Line(path, 1, text)
            for at, word in enumerate(_kernel_words(text)):
                for target, value in sets(word):
                    yield Assignment(
                        "command line", line, target, value,
                        (Stage.COMMAND_LINE, -1, LIVE.index(path), at), True,
                        "no file was found that the boot loader takes it from",
                    )  # fmt: skip


def sets(word: str) -> Iterator[tuple[str, str]]:
    """What a word sets: the word itself, and the file of the kernel where there is one."""
    name, equals, value = word.partition("=")
    name = name.replace('"', "")
    if not name:
        return
    yield f"word:{name}", value
    if name.startswith("sysctl."):
        yield path_of(name.removeprefix("sysctl.")), value
        return
    known = boot_words().get(name.replace("-", "_"))
    if known is not None:
        yield from known.files(value)
    module, dot, parameter = name.replace("-", "_").partition(".")
    if known is None and dot and module.isidentifier() and parameter:
        yield f"/sys/module/{module}/parameters/{parameter}", value if equals else "Y"


def _kernel_words(text: str) -> list[str]:
    """The words for the kernel: what follows ``--`` is for init."""
    words = split(text)
    return words[: words.index("--")] if "--" in words else words


def _lines(tree: Tree) -> Iterator[tuple[Line, str, bool]]:
    """Lines with the part of them that goes to the kernel, and whether the boot loader does not
    read that file itself."""
    for path in EXTLINUX:
        if tree.has(path):
            yield from _extlinux(tree, path)
    for glob in GRUB:
        for path in tree.paths(glob):
            yield from _first(tree.lines(path), _GRUB_LINE)
    for glob in LOADER:
        for path in tree.paths(glob):
            yield from _first(tree.lines(path), _OPTIONS)
    for path in PLAIN:
        edited = not path.endswith("cmdline.txt")
        for line in tree.lines(path)[:1]:
            yield line, line.text, edited
    for path in SCRIPTS:
        yield from _script(tree, path)
    for path in ENVIRONMENTS:
        for line in tree.lines(path):
            match = _ENVIRONMENT.match(line.text)
            if match is not None and not line.text.lstrip().startswith("#"):
                edited = path.startswith("/etc/")
                value = match[2].strip().strip('"')
                own = match[1] in ("loglevel", "console", "verbosity")
                if match[1] != "console":  # names what boot.cmd adds, not a word
                    yield line, f"loglevel={value}" if own else value, edited
    for glob in GRUB_DEFAULTS:
        for path in tree.paths(glob):
            for line in tree.lines(path):
                match = _GRUB_DEFAULT.match(line.text)
                if match is not None:
                    yield line, match[1].strip().strip("\"'"), True


def _extlinux(tree: Tree, path: str) -> Iterator[tuple[Line, str, bool]]:
    lines = tree.lines(path)
    label = chosen("\n".join(line.text for line in lines))
    if label is None:
        return
    for line in lines[label.begin : label.end]:
        key, _, rest = line.text.strip().partition(" ")
        if key.lower() == "append":
            yield line, rest.strip(), False


def _first(lines: tuple[Line, ...], pattern: re.Pattern[str]) -> Iterator[tuple[Line, str, bool]]:
    for line in lines:
        match = pattern.match(line.text)
        if match is not None and not line.text.lstrip().startswith("#"):
            yield line, match[1], False
            return


def _script(tree: Tree, path: str) -> Iterator[tuple[Line, str, bool]]:
    """``boot.scr``: the text behind its header of 72 bytes; lines count from the text's first."""
    data = tree.data(path)
    if not data:
        return
    edited = posixpath.basename(path) == "boot.cmd"
    if data.startswith(_SCRIPT_MAGIC):
        data = data[72:].rstrip(b"\0")
    for line in lines_of(path, data):
        match = _BOOTARGS.match(line.text)
        if match is not None:
            yield line, match[2].strip().strip('"'), edited
