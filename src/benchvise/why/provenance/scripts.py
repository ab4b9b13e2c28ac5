"""Scripts that a system starts: rc.local, init.d, rcS.d, inittab, OpenRC, local.d, cron @reboot.

Which of them are run, and in which order, is told by what starts the system: the links in
``/etc/rc*.d`` (sysvinit), ``/etc/inittab`` (sysvinit, busybox), ``/etc/runlevels`` (OpenRC).
Without one of these everything counts that has a usual name, as uncertain.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchvise.state.places import SERVICES
from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.files import Init, SettingFiles, Tree, init_of
from benchvise.why.provenance.shell import Run

_RC_LOCAL = ("/etc/rc.local", "/etc/rc.d/rc.local", "/etc/init.d/rc.local", "/etc/boot.local",
            "/etc/init.d/boot.local")  # fmt: skip
_LEVELS = "0123456S"

CRON = (
    "/etc/crontab",
    "/etc/cron.d/*",
    "/var/spool/cron/crontabs/*",
    "/var/spool/cron/root",
    "/etc/crontabs/root",
)
INTERFACES = ("/etc/network/interfaces", "/etc/network/interfaces.d/*")
HOOKS = (
    "/etc/network/if-pre-up.d/*",
    "/etc/network/if-up.d/*",
    "/etc/NetworkManager/dispatcher.d/*",
    "/etc/networkd-dispatcher/routable.d/*",
)
_GLOBS = (
    *_RC_LOCAL,
    "/etc/inittab",
    "/etc/init.d/*",
    "/etc/rc[S2345].d/S*",
    "/etc/conf.d/*",
    "/etc/local.d/*.start",
    *CRON,
    *INTERFACES,
    *HOOKS,
)
_CALLERS = (
    *((path, "rc.local") for path in _RC_LOCAL),
    *((glob, "cron") for glob in CRON),
    ("/etc/inittab", "inittab"),
    ("/etc/local.d/*.start", "local.d"),
    ("/etc/init.d/*", "init.d"),
)
_LINKS = ("/etc/service/*", "/etc/rc[S2345].d/S*", "/etc/init.d/*", "/etc/rc.local")

_RUN_LEVEL = re.compile(r"[^:]{0,20}:([0-9S]{1,8}):initdefault:")
_RC = re.compile(r"(?:^|/)(?:rcS|rc|rc\.sysinit|rc\.init)(?:\s|$)")
_CRON = re.compile(r"@reboot\s+(.*)")
_USER_FIELD = ("/etc/crontab", "/etc/cron.d/")
_INTERFACE = re.compile(r"\s*(?:pre-up|up|post-up)\s+(.*)")
_IFACE = re.compile(r"\s*iface\s+(\S+)")


def _find(tree: Tree) -> Iterator[Assignment]:
    """What every script sets that is started at boot."""
    init = init_of(tree)
    if init in (Init.SYSVINIT, Init.BUSYBOX):
        yield from _inittab(tree, init)
    elif init is Init.OPENRC:
        yield from _openrc(tree)
    elif init is Init.SYSTEMD:
        yield from _links(tree, ("S", "5", "3", "2"), generated=True)
    else:
        for path, target in tree.links("/etc/service/*"):  # runit
            name = posixpath.basename(path)
            yield _starts(path, name, (Stage.RUN_LEVEL, 0), f"leads to {target}")
        doubt = "what starts this system could not be told"
        for start in _links(tree, ("S", "2", "3", "5"), generated=False):
            if start.target.startswith(SERVICES):
                yield replace(start, certain=False, note=doubt)
        yield from _init_d(tree, doubt)
    for path in _RC_LOCAL[:2] if init is Init.SYSTEMD else _RC_LOCAL:
        if tree.has(path):
            yield from _script(tree, path, "rc.local", (Stage.RC_LOCAL, 0), ("start",))
    yield from _cron(tree)
    yield from _interfaces(tree)
    for rank, glob in enumerate(HOOKS):
        for path in tree.paths(glob):
            yield from _script(tree, path, "network script", (Stage.LATE, 2, rank), ("*", "up"))


def lines_that_call(tree: Tree, name: str) -> Iterator[tuple[str, Line]]:
    """The lines of scripts, of cron and of inittab that name a program, with their kinds."""
    called = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
    for glob, kind in _CALLERS:
        for path in tree.paths(glob):
            for line in tree.lines(path):
                if called.search(line.text) and not line.text.lstrip().startswith("#"):
                    yield kind, line


def _starts(path: str, name: str, when: tuple[int, ...], text: str = "") -> Assignment:
    """That a link or a file has a service started."""
    line = Line(path, 0, text)
    return Assignment("init.d", line, f"{SERVICES}{name}", "running", when)


def _script(
    tree: Tree,
    path: str,
    kind: str,
    when: tuple[int, ...],
    arguments: Sequence[str] = ("start",),
    function: str = "",
    sources: Sequence[str] = (),
    doubt: str = "",
) -> Iterator[Assignment]:
    run = Run(tree)
    for source in sources:
        run.source(source)
    run.script(path, arguments, function)
    yield from run.assignments(kind, when, doubt)


# -- sysvinit and busybox --------------------------------------------------------------------------


def _inittab(tree: Tree, init: Init) -> Iterator[Assignment]:
    """The lines of inittab in order; ``rcS`` and ``rc`` stand for the directories that they run."""
    level = "5"
    started = False
    for line in tree.lines("/etc/inittab"):
        text = line.text.strip()
        if not text or text.startswith("#"):
            continue
        default = _RUN_LEVEL.match(text)
        if default is not None:
            level = default[1][:1]
            continue
        fields = text.split(":", 3)
        if len(fields) != 4 or fields[2] not in ("sysinit", "wait", "once", "boot", "bootwait",
                                                 "respawn", "sysinit"):  # fmt: skip
            continue
        if _RC.search(fields[3]):
            if not started:
                yield from _directories(tree, level)
            started = True
            continue
        if fields[1] and init is Init.SYSVINIT and level not in fields[1] and "S" not in fields[1]:
            continue
        if fields[2] == "respawn":
            continue
        run = Run(tree)
        run.text(line, fields[3])
        yield from run.assignments("inittab", (Stage.INIT, line.number))
    if not started:
        yield from _directories(tree, level)


def _directories(tree: Tree, level: str) -> Iterator[Assignment]:
    if tree.paths("/etc/rcS.d/S*") or tree.paths(f"/etc/rc{level}.d/S*"):
        yield from _links(tree, ("S", level), generated=False)
    else:  # Buildroot: rcS runs every S* beside itself
        for rank, path in enumerate(tree.paths("/etc/init.d/S*")):
            yield _starts(path, posixpath.basename(path), (Stage.INIT, 1000 + rank))
            yield from _script(tree, path, "init.d", (Stage.INIT, 1000 + rank))
    path = "/etc/init.d/rcS"
    if tree.has(path):
        run = Run(tree)
        run.script(path, ("S",))
        settings = run.assignments("init.d", (Stage.INIT, 2000))
        yield from (setting for setting in settings if setting.line.file == path)


def _links(tree: Tree, levels: Sequence[str], *, generated: bool) -> Iterator[Assignment]:
    """The scripts that links in ``/etc/rcN.d`` name, as ``/etc/init.d/NAME`` where they lead
    there."""
    seen: set[str] = set()
    for rank, level in enumerate(levels):
        for path in tree.paths(f"/etc/rc{level}.d/S*"):
            target = tree.link(path) or path
            name = posixpath.basename(target)
            if target in seen or (generated and _has_unit(tree, name)):
                continue
            seen.add(target)
            stage = (Stage.INIT, 1000) if level == "S" else (Stage.RUN_LEVEL, rank)
            script = target if tree.need(target) else path
            order = re.match(r"S(\d{1,3})", posixpath.basename(path))
            when = (*stage, int(order[1]) if order else 99, len(seen))
            yield _starts(path, name, when, f"leads to {target}")
            yield from _script(tree, script, "init.d", when)


def _has_unit(tree: Tree, name: str) -> bool:
    """Whether systemd has a unit of its own for a script, or masks it."""
    unit = f"{name.removesuffix('.sh')}.service"
    places = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system",
              "/lib/systemd/system")  # fmt: skip
    return any(tree.has(f"{place}/{unit}") or tree.link(f"{place}/{unit}") for place in places)


def _init_d(tree: Tree, doubt: str) -> Iterator[Assignment]:
    for rank, path in enumerate(tree.paths("/etc/init.d/*")):
        if path not in _RC_LOCAL:
            yield from _script(tree, path, "init.d", (Stage.INIT, rank), doubt=doubt)


# -- OpenRC ----------------------------------------------------------------------------------------


def _openrc(tree: Tree) -> Iterator[Assignment]:
    """Services of the run levels, each with its file of conf.d, and local.d."""
    levels = {"sysinit": 0, "boot": 1, "default": 2}
    services: list[tuple[int, str]] = []
    for path, target in tree.links("/etc/runlevels/*/*"):
        level = path.split("/")[3]
        if level in levels:
            when = (Stage.RUN_LEVEL, levels[level])
            yield _starts(path, posixpath.basename(path), when, f"leads to {target}")
            services.append((levels[level], target))
    for rank, target in sorted(services):
        name = posixpath.basename(target)
        if name == "local":
            for index, path in enumerate(tree.paths("/etc/local.d/*.start")):
                yield from _script(tree, path, "local.d", (Stage.RC_LOCAL, index))
            continue
        sources = [path for path in ("/etc/rc.conf", f"/etc/conf.d/{name}") if tree.has(path)]
        if tree.need(target):
            when = (Stage.INIT if rank < 2 else Stage.RUN_LEVEL, rank)
            yield from _script(tree, target, "OpenRC", when, ("start",), "start", sources)


# -- others ----------------------------------------------------------------------------------------


def _cron(tree: Tree) -> Iterator[Assignment]:
    for glob in CRON:
        for path in tree.paths(glob):
            for line in tree.lines(path):
                match = _CRON.match(line.text.strip())
                if match is None:
                    continue
                command = match[1]
                if path.startswith(_USER_FIELD):
                    command = command.partition(" ")[2].strip()
                run = Run(tree)
                run.text(line, command.split("\\%")[0])
                yield from run.assignments("cron", (Stage.LATE, 1, line.number))


def _interfaces(tree: Tree) -> Iterator[Assignment]:
    """ifupdown: the commands and a few settings that stand with an interface."""
    for glob in INTERFACES:
        for path in tree.paths(glob):
            interface = ""
            for line in tree.lines(path):
                named = _IFACE.match(line.text)
                if named is not None:
                    interface = named[1]
                command = _INTERFACE.match(line.text)
                when = (Stage.LATE, 0, line.number)
                if command is not None:
                    run = Run(tree)
                    run.text(line, command[1].replace("$IFACE", interface or "*")
                             .replace("${IFACE}", interface or "*"))  # fmt: skip
                    yield from run.assignments("network interfaces", when)
                fields = line.text.split()
                if len(fields) == 2 and fields[0] == "mtu" and interface:
                    target = f"/sys/class/net/{interface}/mtu"
                    yield Assignment("network interfaces", line, target, fields[1], when)


SCRIPTS = SettingFiles("init scripts, rc.local and cron", _GLOBS, _find, _LINKS)
