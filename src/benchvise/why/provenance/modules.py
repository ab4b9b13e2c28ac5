"""Options of kernel modules (modprobe.d) and modules that are loaded at boot (modules-load.d).

After modprobe.d(5) of kmod 30 and modules-load.d(5): the files of all directories by name, of equal
names that of the first directory; options of several lines add up, the later one of a name wins.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.files import Tree
from benchvise.why.provenance.quoting import split
from benchvise.why.provenance.shell import Run

OPTIONS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
           "/usr/lib/modprobe.d", "/lib/modprobe.d")  # fmt: skip
LOADED = ("/etc/modules-load.d", "/run/modules-load.d", "/usr/local/lib/modules-load.d",
          "/usr/lib/modules-load.d", "/lib/modules-load.d")  # fmt: skip
SINGLE = ("/etc/modprobe.conf", "/etc/modules")

GLOBS = (*SINGLE, *(f"{directory}/*.conf" for directory in (*OPTIONS, *LOADED)))
LINKS = tuple(f"{directory}/*.conf" for directory in (*OPTIONS, *LOADED))


def find(tree: Tree) -> Iterator[Assignment]:
    """Options, bans and loads, in order."""
    for rank, path in enumerate([*tree.in_order(OPTIONS, "*.conf"), "/etc/modprobe.conf"]):
        for line in tree.lines(path):
            yield from _configured(tree, line, (Stage.MODULES, 0, rank, line.number))
    for rank, path in enumerate([*tree.in_order(LOADED, "*.conf"), "/etc/modules"]):
        for line in tree.lines(path):
            words = line.text.split()
            if not words or words[0][0] in "#;":
                continue
            when = (Stage.MODULES, 1, rank, line.number)
            module = words[0].replace("-", "_")
            yield Assignment("modules-load.d", line, f"module:{module}", "loaded", when)
            for word in words[1:]:  # /etc/modules allows options
                yield from _option(line, module, word, when, "modules-load.d")


def _configured(tree: Tree, line: Line, when: tuple[int, ...]) -> Iterator[Assignment]:
    words = split(line.text.strip())
    if len(words) < 2 or words[0].startswith("#"):
        return
    module = words[1].replace("-", "_")
    if words[0] == "options":
        for word in words[2:]:
            yield from _option(line, module, word, when, "modprobe.d")
    elif words[0] == "blacklist":
        yield Assignment("modprobe.d", line, f"module:{module}", "not loaded", when, False,
                         "unless it is asked for by name")  # fmt: skip
    elif words[0] == "install" and len(words) > 2:
        if words[2] in ("/bin/true", "/bin/false", "/usr/bin/true", "/usr/bin/false"):
            yield Assignment("modprobe.d", line, f"module:{module}", "not loaded", when)
            return
        run = Run(tree)
        run.text(line, line.text.strip().split(None, 2)[2])
        for index, found in enumerate(run.written):
            yield Assignment("modprobe.d", found.line, found.target, found.value,
                             (*when, index), False, f"only when {module} is loaded")  # fmt: skip


def _option(
    line: Line, module: str, word: str, when: tuple[int, ...], kind: str
) -> Iterator[Assignment]:
    name, equals, value = word.partition("=")
    if name:
        target = f"/sys/module/{module}/parameters/{name.replace('-', '_')}"
        yield Assignment(kind, line, target, value if equals else "Y", when)
