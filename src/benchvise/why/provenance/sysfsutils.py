"""sysfsutils: /etc/sysfs.conf and /etc/sysfs.d, ``path/below/sys = value``.

After sysfs.conf's own comments in Debian's package: the path is below /sys; ``mode`` and ``owner``
lines set no value.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchvise.why.provenance.assignment import Assignment, Stage
from benchvise.why.provenance.files import Tree

GLOBS = ("/etc/sysfs.conf", "/etc/sysfs.d/*.conf")
LINKS: tuple[str, ...] = ()


def find(tree: Tree) -> Iterator[Assignment]:
    """The lines of all files in order; the last one wins."""
    paths = [path for glob in GLOBS for path in tree.paths(glob)]
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
