"""sysctl.d and sysctl.conf: what ``systemd-sysctl``, ``sysctl --system`` and others read at boot.

After sysctl.d(5) of systemd 252 and sysctl(8) of procps 4.0: the files of all directories in the
order of their names; of equal names that of the first directory (/etc before /run before
/usr/local/lib before /usr/lib); the last line wins, but a name beats a pattern. systemd reads
/etc/sysctl.conf only where a link in sysctl.d names it (as Debian has it); procps, OpenRC and
busybox read it last.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.files import Tree
from benchvise.why.provenance.globs import is_pattern, overlap
from benchvise.why.provenance.inits import Init, init_of

DIRECTORIES = (
    "/etc/sysctl.d",
    "/run/sysctl.d",
    "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d",
    "/lib/sysctl.d",
)
MAIN = "/etc/sysctl.conf"

GLOBS = (MAIN, *(f"{directory}/*.conf" for directory in DIRECTORIES))
LINKS = tuple(f"{directory}/*.conf" for directory in DIRECTORIES)

_NOT_READ = "systemd does not read this file, unless a link in /etc/sysctl.d leads to it"


def find(tree: Tree) -> Iterator[Assignment]:
    """Every line that is read at boot, in order."""
    init = init_of(tree)
    order = tree.in_order(DIRECTORIES, "*.conf")
    linked = {path for path in order if tree.link(path) == MAIN}
    found: list[Assignment] = []
    for rank, path in enumerate(order):
        file = MAIN if path in linked else path
        note = f"read by way of {path}" if path in linked else ""
        found += _file(tree, file, rank, note)
    if not linked and tree.has(MAIN):
        is_read = init is not Init.SYSTEMD
        for assignment in _file(tree, MAIN, len(order), "" if is_read else _NOT_READ):
            if is_read:
                found.append(assignment)
            else:
                yield _unread(assignment)
    named = [a.target for a in found if not is_pattern(a.target)]
    excluded = list(dict.fromkeys([*named, *(t for path in order for t in _excluded(tree, path))]))
    for assignment in found:
        if is_pattern(assignment.target):
            but = tuple(t for t in excluded if overlap(assignment.target, t))
            yield Assignment(
                assignment.kind, assignment.line, assignment.target, assignment.value,
                assignment.when, assignment.certain, assignment.note, but,
            )  # fmt: skip
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


def _file(tree: Tree, path: str, rank: int, note: str) -> Iterator[Assignment]:
    for line in tree.lines(path):
        found = setting_of(line)
        if found is not None:
            when = (Stage.SYSCTL, rank, line.number)
            yield Assignment("sysctl.d" if path != MAIN else "sysctl.conf", line, *found, when,
                             note=note)  # fmt: skip


def _unread(assignment: Assignment) -> Assignment:
    return Assignment(
        assignment.kind, assignment.line, assignment.target, assignment.value,
        (Stage.KERNEL_DEFAULT, 0), False, assignment.note,
    )  # fmt: skip


def _excluded(tree: Tree, path: str) -> Iterator[str]:
    """``-name`` without a value: no pattern sets that one."""
    for line in tree.lines(path):
        text = line.text.strip()
        if text.startswith("-") and "=" not in text:
            yield path_of(text[1:])
