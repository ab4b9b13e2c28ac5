"""What the kernel begins with: firmware settings, its configuration, command line and modules.

``defaults.toml`` says which files of the kernel an option of its configuration or a word of its
command line decides.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from benchvise.rig.images.boot_files.uboot import chosen
from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.direct import path_of
from benchvise.why.provenance.files import FILE_LIMIT, SettingFiles, Tree, lines_of, split_words
from benchvise.why.provenance.shell import Run

# -- firmware and device tree ----------------------------------------------------------------------

_CONFIG_TXT = ("/boot/firmware/config.txt", "/boot/config.txt", "/config.txt",
          "/boot/firmware/usercfg.txt", "/boot/usercfg.txt")  # fmt: skip
_OVERLAY_FILES = ("/boot/armbianEnv.txt", "/boot/uEnv.txt", "/boot/orangepiEnv.txt", "/uEnv.txt")


_FIRMWARE_SETTING = re.compile(r"\s*([a-z0-9_]{1,60})\s*=\s*(.*)", re.IGNORECASE)
_OVERLAY_KEYS = frozenset({"overlays", "user_overlays", "fdtfile", "dtbo", "uboot_overlay_addr4"})


def _find_firmware_settings(tree: Tree) -> Iterator[Assignment]:
    """The settings of the firmware, with the filters that they stand under.

    The live device tree is compiled: it names no line. The property is named as it is, and where
    it may have been set: an overlay of config.txt or armbianEnv.txt, or the tree that came with
    the kernel.
    """
    for rank, path in enumerate(_CONFIG_TXT):
        under = ""
        for line in tree.lines(path):
            text = line.text.split("#")[0].strip()
            if text.startswith("[") and text.endswith("]"):
                under = "" if text.lower() == "[all]" else text
                continue
            match = _FIRMWARE_SETTING.fullmatch(text)
            if match is None:
                continue
            name, value = match[1].lower(), match[2].strip()
            target = f"firmware:{name}"
            if name in ("dtoverlay", "dtparam", "device_tree_param"):
                target = f"firmware:{name}={value.partition('=')[0].partition(',')[0]}"
            note = f"only on {under}" if under else ""
            yield Assignment("config.txt", line, target, value,
                             (Stage.DEVICE_TREE, rank, line.number), not under, note)  # fmt: skip
    for rank, path in enumerate(_OVERLAY_FILES):
        for line in tree.lines(path):
            match = _FIRMWARE_SETTING.fullmatch(line.text.strip())
            if match is not None and match[1].lower() in _OVERLAY_KEYS:
                for name in match[2].split():
                    yield Assignment("device tree overlay", line, f"overlay:{name}", name,
                                     (Stage.DEVICE_TREE, rank, line.number))  # fmt: skip


FIRMWARE = SettingFiles(
    "firmware settings and overlays", (*_CONFIG_TXT, *_OVERLAY_FILES), _find_firmware_settings
)


# -- the kernel's configuration --------------------------------------------------------------------

_RUNNING = "/proc/config.gz"
_INSTALLED = (
    "/boot/config",
    "/boot/config-*",
    "/lib/modules/*/config",
    "/usr/lib/modules/*/config",
    "/lib/modules/*/build/.config",
)

_SET = re.compile(r"(CONFIG_[A-Za-z0-9_]{1,80})=(.*)")
_UNSET = re.compile(r"# (CONFIG_[A-Za-z0-9_]{1,80}) is not set")


def _find_options(tree: Tree) -> Iterator[Assignment]:
    """Every option, and what the files of the kernel begin with for it."""
    path = _configuration(tree)
    if not path:
        return
    for line in lines_of(path, _config_text(tree, path)):
        match = _SET.fullmatch(line.text.strip()) or _UNSET.fullmatch(line.text.strip())
        if match is None:
            continue
        name, setting = match[1], match[2] if match.re is _SET else "n"
        when = (Stage.KERNEL_DEFAULT, 1, line.number)
        yield Assignment("kernel config", line, f"config:{name}", setting.strip('"'), when)
        for option in options():
            if option.name == name:
                value = option.file_value(setting)
                if value is not None:
                    yield Assignment("kernel config", line, option.path, value, when)


def _configuration(tree: Tree) -> str:
    """The configuration of the kernel that runs, or of the only one that is installed; empty when
    there is none."""
    if tree.has(_RUNNING):
        return _RUNNING
    kernel = tree.source.roles.get("kernel", "")
    all_paths = [path for glob in _INSTALLED for path in tree.paths(glob)]
    if kernel:
        return next((path for path in all_paths if kernel in path), "")
    return all_paths[-1] if all_paths else ""


def _config_text(tree: Tree, path: str) -> bytes:
    data = tree.data(path)
    if not path.endswith(".gz"):
        return data
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, FILE_LIMIT)
    except zlib.error:
        return b""


CONFIGURATION = SettingFiles("the kernel's configuration", (_RUNNING, *_INSTALLED), _find_options)


# -- the command line ------------------------------------------------------------------------------

_HOMES = ("", "/boot", "/boot/firmware", "/boot/efi", "/efi", "/flash", "/uboot")
_EXTLINUX = tuple(
    f"{home}{name}"
    for home in _HOMES
    for name in ("/extlinux/extlinux.conf", "/extlinux.conf", "/syslinux.cfg",
                 "/syslinux/syslinux.cfg")
)  # fmt: skip
_GRUB = (
    "/boot/grub/grub.cfg", "/boot/grub2/grub.cfg", "/boot/efi/EFI/*/grub.cfg",
    "/boot/grub/menu.lst",
    "/boot/EFI/BOOT/grub.cfg", "/EFI/BOOT/grub.cfg",
)  # fmt: skip
_GRUB_DEFAULTS = ("/etc/default/grub", "/etc/default/grub.d/*.cfg")
_PLAIN = (*(f"{home}/cmdline.txt" for home in _HOMES), "/etc/kernel/cmdline",
         "/usr/lib/kernel/cmdline")  # fmt: skip
_LOADER = tuple(f"{home}/loader/entries/*.conf" for home in _HOMES)
_ENVIRONMENTS = (*(f"{home}/{name}" for home in _HOMES for name in
                  ("uEnv.txt", "armbianEnv.txt", "orangepiEnv.txt", "extra-uEnv.txt")),
                "/etc/default/u-boot", "/etc/default/flash-kernel")  # fmt: skip
_SCRIPTS = tuple(f"{home}/{name}" for home in _HOMES for name in ("boot.scr", "boot.scr.uimg",
                                                                 "boot.cmd"))  # fmt: skip
_LIVE = ("/proc/cmdline", "/proc/device-tree/chosen/bootargs")


_GRUB_LINE = re.compile(r"\s*(?:linux|linux16|linuxefi|kernel)\s+\S+\s+(.*)")
_GRUB_DEFAULT = re.compile(r"\s*GRUB_CMDLINE_LINUX(?:_DEFAULT)?\s*\+?=\s*(.*)")
_OPTIONS = re.compile(r"\s*options\s+(.*)")
_ENVIRONMENT = re.compile(
    r"\s*(bootargs|optargs|extraargs|cmdline|kernel_args|append|extra_bootargs|console"
    r"|LINUX_KERNEL_CMDLINE(?:_DEFAULTS)?|U_BOOT_PARAMETERS|loglevel|verbosity)\s*=\s*(.*)"
)
_BOOTARGS = re.compile(r"\s*(?:setenv|env\s+set)\s+(bootargs|\w*args)\s+(.*)")
_SCRIPT_MAGIC = b"\x27\x05\x19\x56"  # of mkimage; the text begins behind two lengths


def _find_words(tree: Tree) -> Iterator[Assignment]:
    """Every word, with what it sets; the running kernel's command line only where no file has it.

    What the boot loader reads is looked at: extlinux.conf (the entry that boots), grub.cfg (its
    first entry), cmdline.txt, boot.scr, uEnv.txt, armbianEnv.txt, loader entries.
    ``/etc/default/grub`` and the like, of which others are made, come behind these, and last what
    the running kernel says.
    """
    rank = 0
    running = set(tree.text("/proc/cmdline").split())
    for line, text, edited in _boot_lines(tree):
        rank += 1
        when = (Stage.COMMAND_LINE, int(not edited), rank)
        for at, word in enumerate(_kernel_words(text)):
            if "$" in word:
                continue
            doubt = ""
            if running and word not in running:
                doubt = "the kernel that runs was not told this"
            for target, value in _set_by_word(word):
                note = doubt or ("what the boot loader reads is made of it" if edited else "")
                yield Assignment("command line", line, target, value, (*when, at), not doubt, note)
    yield from _of_running(tree)


def _of_running(tree: Tree) -> Iterator[Assignment]:
    """What the kernel was told, the weakest answer: the place that it came from is not in it."""
    for path in _LIVE:
        text = tree.text(path).rstrip("\0\n")
        if text:
            line = Line(path, 1, text)
            for at, word in enumerate(_kernel_words(text)):
                for target, value in _set_by_word(word):
                    yield Assignment(
                        "command line", line, target, value,
                        (Stage.COMMAND_LINE, -1, _LIVE.index(path), at), True,
                        "no file was found that the boot loader takes it from",
                    )  # fmt: skip


def _set_by_word(word: str) -> Iterator[tuple[str, str]]:
    """What a word sets: the word itself, and the file of the kernel where there is one.

    ``sysctl.NAME=`` sets that setting and ``MODULE.NAME=`` a module's parameter.
    """
    name, equals, value = word.partition("=")
    name = name.replace('"', "")
    if not name:
        return
    yield f"word:{name}", value
    if name.startswith("sysctl."):
        yield path_of(name.removeprefix("sysctl.")), value
        return
    boot_word = boot_words().get(name.replace("-", "_"))
    if boot_word is not None:
        yield from boot_word.files(value)
    module, dot, parameter = name.replace("-", "_").partition(".")
    if boot_word is None and dot and module.isidentifier() and parameter:
        yield f"/sys/module/{module}/parameters/{parameter}", value if equals else "Y"


def _kernel_words(text: str) -> list[str]:
    """The words for the kernel: what follows ``--`` is for init."""
    arguments = split_words(text)
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _boot_lines(tree: Tree) -> Iterator[tuple[Line, str, bool]]:
    """Lines with the part of them that goes to the kernel, and whether the boot loader does not
    read that file itself."""
    for path in _EXTLINUX:
        if tree.has(path):
            yield from _extlinux(tree, path)
    for glob in _GRUB:
        for path in tree.paths(glob):
            yield from _first_match(tree.lines(path), _GRUB_LINE)
    for glob in _LOADER:
        for path in tree.paths(glob):
            yield from _first_match(tree.lines(path), _OPTIONS)
    for path in _PLAIN:
        edited = not path.endswith("cmdline.txt")
        for line in tree.lines(path)[:1]:
            yield line, line.text, edited
    for path in _SCRIPTS:
        yield from _boot_script(tree, path)
    for path in _ENVIRONMENTS:
        for line in tree.lines(path):
            match = _ENVIRONMENT.match(line.text)
            if match is not None and not line.text.lstrip().startswith("#"):
                edited = path.startswith("/etc/")
                value = match[2].strip().strip('"')
                own = match[1] in ("loglevel", "console", "verbosity")
                if match[1] != "console":  # names what boot.cmd adds, not a word
                    yield line, f"loglevel={value}" if own else value, edited
    for glob in _GRUB_DEFAULTS:
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


def _first_match(
    lines: tuple[Line, ...], pattern: re.Pattern[str]
) -> Iterator[tuple[Line, str, bool]]:
    for line in lines:
        match = pattern.match(line.text)
        if match is not None and not line.text.lstrip().startswith("#"):
            yield line, match[1], False
            return


def _boot_script(tree: Tree, path: str) -> Iterator[tuple[Line, str, bool]]:
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


COMMAND_LINE = SettingFiles(
    "the boot loader's command line",
    (*_EXTLINUX, *_GRUB, *_GRUB_DEFAULTS, *_PLAIN, *_LOADER, *_ENVIRONMENTS, *_SCRIPTS, *_LIVE),
    _find_words,
)


# -- modules ---------------------------------------------------------------------------------------

_MODPROBE = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
           "/usr/lib/modprobe.d", "/lib/modprobe.d")  # fmt: skip
_MODULES_LOAD = ("/etc/modules-load.d", "/run/modules-load.d", "/usr/local/lib/modules-load.d",
          "/usr/lib/modules-load.d", "/lib/modules-load.d")  # fmt: skip
_MODULE_FILES = tuple(f"{directory}/*.conf" for directory in (*_MODPROBE, *_MODULES_LOAD))


def _find_modules(tree: Tree) -> Iterator[Assignment]:
    """Options, bans and loads, in order.

    After modprobe.d(5) of kmod 30 and modules-load.d(5): the files of all directories by name, of
    equal names that of the first directory; options of several lines add up, the later one of a
    name wins.
    """
    for rank, path in enumerate([*tree.in_order(_MODPROBE, "*.conf"), "/etc/modprobe.conf"]):
        for line in tree.lines(path):
            yield from _modprobe_line(tree, line, (Stage.MODULES, 0, rank, line.number))
    for rank, path in enumerate([*tree.in_order(_MODULES_LOAD, "*.conf"), "/etc/modules"]):
        for line in tree.lines(path):
            fields = line.text.split()
            if not fields or fields[0][0] in "#;":
                continue
            when = (Stage.MODULES, 1, rank, line.number)
            module = fields[0].replace("-", "_")
            yield Assignment("modules-load.d", line, f"module:{module}", "loaded", when)
            for word in fields[1:]:  # /etc/modules allows options
                yield from _module_option(line, module, word, when, "modules-load.d")


def _modprobe_line(tree: Tree, line: Line, when: tuple[int, ...]) -> Iterator[Assignment]:
    fields = split_words(line.text.strip())
    if len(fields) < 2 or fields[0].startswith("#"):
        return
    module = fields[1].replace("-", "_")
    if fields[0] == "options":
        for word in fields[2:]:
            yield from _module_option(line, module, word, when, "modprobe.d")
    elif fields[0] == "blacklist":
        yield Assignment("modprobe.d", line, f"module:{module}", "not loaded", when, False,
                         "unless it is asked for by name")  # fmt: skip
    elif fields[0] == "install" and len(fields) > 2:
        if fields[2] in ("/bin/true", "/bin/false", "/usr/bin/true", "/usr/bin/false"):
            yield Assignment("modprobe.d", line, f"module:{module}", "not loaded", when)
            return
        run = Run(tree)
        run.text(line, line.text.strip().split(None, 2)[2])
        yield from run.assignments("modprobe.d", when, f"only when {module} is loaded")


def _module_option(
    line: Line, module: str, word: str, when: tuple[int, ...], kind: str
) -> Iterator[Assignment]:
    name, equals, value = word.partition("=")
    if name:
        target = f"/sys/module/{module}/parameters/{name.replace('-', '_')}"
        yield Assignment(kind, line, target, value if equals else "Y", when)


MODULES = SettingFiles(
    "modprobe.d and modules-load.d",
    ("/etc/modprobe.conf", "/etc/modules", *_MODULE_FILES),
    _find_modules,
    _MODULE_FILES,
)


# -- what options and words decide -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the command line, and the files that it decides."""

    name: str
    paths: tuple[str, ...]
    values: Mapping[str, str] = field(default_factory=dict)

    def files(self, value: str) -> Iterator[tuple[str, str]]:
        """Each file with what it holds for this value of the word."""
        if self.values and value not in self.values:
            return
        for path in self.paths:
            yield path, self.values.get(value, value)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the kernel's configuration, and what a file begins with for it."""

    name: str
    path: str
    state: str = "y"
    value: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    def file_value(self, setting: str) -> str | None:
        """What the file holds when the option has this setting; None when it does not decide."""
        if self.values:
            return self.values.get(setting)
        if self.value:
            return self.value if setting == self.state else None
        return setting.strip('"')


@cache
def boot_words() -> Mapping[str, Word]:
    """The words of the command line, by name."""
    return {
        record["name"]: Word(record["name"], tuple(record["paths"]), record.get("values", {}))
        for record in _data()["word"]
    }


@cache
def options() -> tuple[Option, ...]:
    """The options, in the order of the file."""
    return tuple(
        Option(
            record["name"], record["path"], record.get("is", "y"), record.get("value", ""),
            record.get("values", {}),
        )
        for record in _data()["option"]
    )  # fmt: skip


@cache
def _data() -> Mapping[str, list[Mapping[str, Any]]]:
    text = (files(__package__) / "defaults.toml").read_text(encoding="utf-8")
    data: Mapping[str, list[Mapping[str, Any]]] = tomllib.loads(text)
    return data
