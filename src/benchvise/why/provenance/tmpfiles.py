"""tmpfiles.d: lines of type ``w`` and ``w+`` write a file when the system starts.

After tmpfiles.d(5) of systemd 252, and what that version was seen to do: of files of equal names
that of the first directory counts; all are sorted by name. A line is passed over when an earlier
one names the same path, so the *first* one counts; only lines of type ``w+`` are applied all, one
after the other. Lines with patterns come after those without.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.files import Tree
from benchvise.why.provenance.globs import is_pattern
from benchvise.why.provenance.inits import Init, init_of
from benchvise.why.provenance.quoting import split

DIRECTORIES = (
    "/etc/tmpfiles.d",
    "/run/tmpfiles.d",
    "/usr/local/lib/tmpfiles.d",
    "/usr/lib/tmpfiles.d",
    "/lib/tmpfiles.d",
)
GLOBS = tuple(f"{directory}/*.conf" for directory in DIRECTORIES)
LINKS = GLOBS

_KERNEL = ("/sys/", "/proc/")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "s": " "}


def find(tree: Tree) -> Iterator[Assignment]:
    """The lines that are applied, in order. Only systemd has them, and what stands in for it."""
    init = init_of(tree)
    doubt = "" if init in (Init.SYSTEMD, Init.OPENRC, Init.UNKNOWN) else f"{init} has no tmpfiles.d"
    named: dict[str, bool] = {}  # whether lines of that path add up
    for rank, path in enumerate(tree.in_order(DIRECTORIES, "*.conf")):
        for line in tree.lines(path):
            found = _write(line)
            if found is None:
                continue
            target, value, appends = found
            if target in named and not (appends and named[target]):
                continue
            named.setdefault(target, appends)
            when = (Stage.TMPFILES, int(is_pattern(target)), rank, line.number)
            yield Assignment("tmpfiles.d", line, target, value, when, not doubt, doubt)


def _write(line: Line) -> tuple[str, str, bool] | None:
    """Path, value, and whether others may write the same; None for lines of other types."""
    text = line.text.strip()
    if text[:1] not in ("w", "f", "F"):
        return None
    words = split(text, 7)
    kind = words[0].rstrip("!-=~^$")
    if kind not in ("w", "w+", "f", "f+", "F") or len(words) < 7:
        return None
    path = words[1].replace("%%", "%")
    if not path.startswith(_KERNEL):
        return None
    return path, _unescaped(words[6]), kind == "w+"


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
