"""Files whose lines write one file of the kernel each: sysctl.d, sysfs.conf, tmpfiles.d.

sysctl.d(5) of systemd 252 and sysctl(8) of procps 4.0: the files of all directories in the order of
their names; of equal names that of the first directory (/etc before /run before /usr/local/lib
before /usr/lib); the last line wins, but a name beats a pattern. systemd reads /etc/sysctl.conf
only where a link in sysctl.d names it (as Debian has it); procps, OpenRC and busybox read it last.

sysfs.conf's own comments in Debian's package: the path is below /sys, the last line wins; ``mode``
and ``owner`` lines set no value.

tmpfiles.d(5) of systemd 252, and what that version was seen to do: of files of equal names that of
the first directory counts; all are sorted by name. A line is passed over when an earlier one names
the same path, so the *first* one counts; only lines of type ``w+`` are applied all, one after the
other. Lines with patterns come after those without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.files import Init, SettingFiles, Tree, init_of, split_words
from benchvise.why.provenance.globs import is_pattern, overlap

# -- sysctl ----------------------------------------------------------------------------------------

_SYSCTL_D = (
    "/etc/sysctl.d",
    "/run/sysctl.d",
    "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d",
    "/lib/sysctl.d",
)
_SYSCTL_CONF = "/etc/sysctl.conf"

_SYSCTL_FILES = tuple(f"{directory}/*.conf" for directory in _SYSCTL_D)

_NOT_READ = "systemd does not read this file, unless a link in /etc/sysctl.d leads to it"


def _find_sysctl(tree: Tree) -> Iterator[Assignment]:
    """Every line that is read at boot, in order."""
    init = init_of(tree)
    order = tree.in_order(_SYSCTL_D, "*.conf")
    linked = {path for path in order if tree.link(path) == _SYSCTL_CONF}
    assignments: list[Assignment] = []
    for rank, path in enumerate(order):
        file = _SYSCTL_CONF if path in linked else path
        note = f"read by way of {path}" if path in linked else ""
        assignments += _sysctl_file(tree, file, rank, note)
    if not linked and tree.has(_SYSCTL_CONF):
        is_read = init is not Init.SYSTEMD
        for assignment in _sysctl_file(
            tree, _SYSCTL_CONF, len(order), "" if is_read else _NOT_READ
        ):
            if is_read:
                assignments.append(assignment)
            else:
                yield replace(assignment, when=(Stage.KERNEL_DEFAULT, 0), certain=False)
    named = [a.target for a in assignments if not is_pattern(a.target)]
    excluded = list(dict.fromkeys([*named, *(t for path in order for t in _excluded(tree, path))]))
    for assignment in assignments:
        if is_pattern(assignment.target):
            but = tuple(t for t in excluded if overlap(assignment.target, t))
            yield replace(assignment, but=but)
        else:
            yield assignment


def path_of(name: str) -> str:
    """The file of a setting: of ``.`` and ``/`` the first one in the name separates."""
    name = name.strip()
    dot, slash = name.find("."), name.find("/")
    if dot >= 0 and (slash < 0 or dot < slash):
        name = name.translate({ord("."): "/", ord("/"): "."})
    return "/proc/sys/" + name.strip("/")


def setting_of(line: Line) -> tuple[str, str] | None:
    """The file and the value that a line sets; None where it sets nothing."""
    text = line.text.strip()
    if not text or text[0] in "#;":
        return None
    name, equals, value = text.partition("=")
    name = name.strip().removeprefix("-").strip()
    if not equals or not name or " " in name:
        return None
    return path_of(name), value.strip()


def _sysctl_file(tree: Tree, path: str, rank: int, note: str) -> Iterator[Assignment]:
    kind = "sysctl.d" if path != _SYSCTL_CONF else "sysctl.conf"
    for line in tree.lines(path):
        setting = setting_of(line)
        if setting is not None:
            when = (Stage.SYSCTL, rank, line.number)
            yield Assignment(kind, line, *setting, when, note=note)


def _excluded(tree: Tree, path: str) -> Iterator[str]:
    """``-name`` without a value: no pattern sets that one."""
    for line in tree.lines(path):
        text = line.text.strip()
        if text.startswith("-") and "=" not in text:
            yield path_of(text[1:])


SYSCTL = SettingFiles(
    "sysctl.d and sysctl.conf", (_SYSCTL_CONF, *_SYSCTL_FILES), _find_sysctl, _SYSCTL_FILES
)


# -- sysfsutils ------------------------------------------------------------------------------------

_SYSFS_FILES = ("/etc/sysfs.conf", "/etc/sysfs.d/*.conf")


def _find_sysfs(tree: Tree) -> Iterator[Assignment]:
    """The lines of all files in order; the last one wins."""
    paths = [path for glob in _SYSFS_FILES for path in tree.paths(glob)]
    for rank, path in enumerate(paths):
        for line in tree.lines(path):
            text = line.text.strip()
            name, equals, value = text.partition("=")
            name = name.strip()
            if not equals or not name or text.startswith("#") or " " in name or "\t" in name:
                continue
            target = "/sys/" + name.removeprefix("/sys/").strip("/")
            when = (Stage.RUN_LEVEL, 10, rank, line.number)
            yield Assignment("sysfs.conf", line, target, value.strip(), when)


SYSFS = SettingFiles("sysfs.conf", _SYSFS_FILES, _find_sysfs)


# -- tmpfiles.d ------------------------------------------------------------------------------------

_TMPFILES_D = (
    "/etc/tmpfiles.d",
    "/run/tmpfiles.d",
    "/usr/local/lib/tmpfiles.d",
    "/usr/lib/tmpfiles.d",
    "/lib/tmpfiles.d",
)
_TMPFILES = tuple(f"{directory}/*.conf" for directory in _TMPFILES_D)

_KERNEL = ("/sys/", "/proc/")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "s": " "}


def _find_tmpfiles(tree: Tree) -> Iterator[Assignment]:
    """The lines that are applied, in order. Only systemd has them, and what stands in for it."""
    init = init_of(tree)
    doubt = "" if init in (Init.SYSTEMD, Init.OPENRC, Init.UNKNOWN) else f"{init} has no tmpfiles.d"
    adds_up: dict[str, bool] = {}  # by path: whether its lines add up
    for rank, path in enumerate(tree.in_order(_TMPFILES_D, "*.conf")):
        for line in tree.lines(path):
            write = _kernel_write(line)
            if write is None:
                continue
            target, value, appends = write
            if target in adds_up and not (appends and adds_up[target]):
                continue
            adds_up.setdefault(target, appends)
            when = (Stage.TMPFILES, int(is_pattern(target)), rank, line.number)
            yield Assignment("tmpfiles.d", line, target, value, when, not doubt, doubt)


def _kernel_write(line: Line) -> tuple[str, str, bool] | None:
    """Path, value, and whether others may write the same; None for lines of other types."""
    text = line.text.strip()
    if text[:1] not in ("w", "f", "F"):
        return None
    fields = split_words(text, 7)
    kind = fields[0].rstrip("!-=~^$")
    if kind not in ("w", "w+", "f", "f+", "F") or len(fields) < 7:
        return None
    path = fields[1].replace("%%", "%")
    if not path.startswith(_KERNEL):
        return None
    return path, _unescaped(fields[6]), kind == "w+"


def _unescaped(text: str) -> str:
    """The argument with C's escapes resolved, without the line end that the kernel ignores."""
    parts: list[str] = []
    characters = iter(text)
    for c in characters:
        if c == "\\":
            following = next(characters, "\\")
            parts.append(_ESCAPES.get(following, following))
        else:
            parts.append(c)
    return "".join(parts).replace("%%", "%").strip()


TMPFILES = SettingFiles("tmpfiles.d", _TMPFILES, _find_tmpfiles, _TMPFILES)
