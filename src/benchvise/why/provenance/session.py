"""What a login or a process is given: profile, /etc/environment, limits, mounts and swap.

After environment(7), pam_env(8), passwd(5), limits.conf(5) and fstab(5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchvise.state.catalogue import knobs
from benchvise.state.places import MOUNTS
from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.files import SettingFiles, Tree, split_words
from benchvise.why.provenance.shell.commands import LIMITS_BY_LETTER

ENVIRONMENT = ("/etc/environment", "/etc/environment.d/*.conf", "/etc/default/locale",
               "/etc/security/pam_env.conf")  # fmt: skip
PROFILES = ("/etc/profile", "/etc/profile.d/*.sh", "/etc/bash.bashrc", "/root/.profile",
            "/root/.bashrc", "/home/*/.profile",
            "/home/*/.bashrc", "/root/.ssh/environment")  # fmt: skip
LIMITS = ("/etc/security/limits.conf", "/etc/security/limits.d/*.conf")
ACCOUNTS = "/etc/passwd"
FSTAB = "/etc/fstab"
SERVERS = ("/etc/default/ssh", "/etc/default/dropbear", "/etc/conf.d/sshd", "/etc/sysconfig/sshd")
"""What the script that starts the server of logins sources: logins inherit what it sets."""

SERVER_SETTINGS = ("/etc/ssh/sshd_config.d/*.conf", "/etc/ssh/sshd_config")
"""What the server of logins reads, in its order: the first line of a kind counts."""

NAME_LOOKUP = "name lookup"
"""The kind of lines that no program runs: each is a part of what a file says."""

NAME_LOOKUP_FILES = ("/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/hosts", "/etc/gai.conf",
                     "/etc/host.conf")  # fmt: skip
LOCALTIME = "/etc/localtime"
_MOST_LINES = 2000  # of each: longer ones are lists of names


_VARIABLE = re.compile(r"\s*(?:export\s+|declare\s+-x\s+|readonly\s+)?([A-Za-z_]\w{0,60})=(.*)")
_ULIMIT = re.compile(r"\s*ulimit\s+(?:-[SH]\s+)?-[SH]*([a-z])\s+(\S+)")


def _find(tree: Tree) -> Iterator[Assignment]:
    """What these files give, in the order in which a login reads them."""
    for kind, globs, stage in (("environment", ENVIRONMENT, 0), ("profile", PROFILES, 1)):
        rank = 0
        for glob in globs:
            for path in tree.paths(glob):
                rank += 1
                yield from _variables(tree, path, kind, (Stage.LOGIN, stage, rank))
    for rank, path in enumerate(path for glob in LIMITS for path in tree.paths(glob)):
        for line in tree.lines(path):
            fields = line.text.split("#")[0].split()
            if len(fields) == 4:
                note = "" if fields[0] in ("*", "root") else f"for {fields[0]}"
                yield Assignment("limits.conf", line, f"limit:{fields[2]}", fields[3],
                                 (Stage.LOGIN, 0, rank, line.number), not note, note)  # fmt: skip
    for rank, path in enumerate(path for name in SERVERS for path in tree.paths(name)):
        yield from _of_server(tree, path, (Stage.INIT, 1, rank))
    for rank, path in enumerate(path for glob in SERVER_SETTINGS for path in tree.paths(glob)):
        yield from _of_server_settings(tree, path, rank)
    yield from _home_directories(tree)
    yield from _mounts(tree)
    yield from _name_lookup(tree)
    for path, target in tree.links(LOCALTIME):
        zone = target.rpartition("zoneinfo/")[2]
        line = Line(path, 0, f"leads to {target}")
        yield Assignment("time zone", line, path, zone, (Stage.LOGIN, 2))


_SLACK = re.compile(r"\becho\s+(\d+)\s*>\s*/proc/\S+/timerslack_ns")
_POLICY = re.compile(r"\bchrt\s+(?:-a\s+)?--?(other|batch|idle|fifo|rr|o|b|i|f|r)\b")
_POLICIES = {"o": "other", "b": "batch", "i": "idle", "f": "fifo", "r": "rr"}
_NICE = re.compile(r"\b(?:re)?nice\s+(?:-n\s*|--adjustment=)?(-?\d+)\b")
_IO_CLASS = re.compile(r"\bionice\s+(?:-c\s*|--class[ =])(\w+)")
_IO_CLASSES = {"1": "rt", "realtime": "rt", "2": "be", "best-effort": "be", "3": "idle"}
_AFFINITY = re.compile(r"\btaskset\s+(?:-a?cp?|--cpu-list)\s+([0-9,-]+)")


def _of_server(tree: Tree, path: str, when: tuple[int, ...]) -> Iterator[Assignment]:
    yield from _variables(tree, path, "environment", when)
    for line in tree.lines(path):
        if line.text.lstrip().startswith("#"):
            continue
        for target, pattern, values in (
            ("process:timer_slack", _SLACK, {}),
            ("process:policy", _POLICY, _POLICIES),
            ("process:nice", _NICE, {}),
            ("process:io_class", _IO_CLASS, _IO_CLASSES),
            ("process:affinity", _AFFINITY, {}),
        ):
            match = pattern.search(line.text)
            if match is not None:
                value = values.get(match[1], match[1])
                yield Assignment("script", line, target, value, (*when, line.number))


def _of_server_settings(tree: Tree, path: str, rank: int) -> Iterator[Assignment]:
    """The variables of ``SetEnv``, which overrides all else that a session is given:
    sshd_config(5)."""
    note = ""
    for line in tree.lines(path):
        keyword, *words = split_words(line.text) or [""]
        if keyword.lower() == "match":
            note = "it is given where the line Match before it matches"
        if keyword.lower() != "setenv":
            continue
        for name, equals, value in (word.partition("=") for word in words):
            if equals:
                when = (Stage.LOGIN, 3, -rank, -line.number)
                target = f"environment:{name}"
                yield Assignment("sshd_config", line, target, value, when, not note, note)


def _name_lookup(tree: Tree) -> Iterator[Assignment]:
    """Each line of the files that decide how names are looked up."""
    for path in NAME_LOOKUP_FILES:
        for line in tree.lines(path)[:_MOST_LINES]:
            if line.text.strip() and not line.text.lstrip().startswith(("#", ";")):
                when = (Stage.LOGIN, 2, line.number)
                yield Assignment(NAME_LOOKUP, line, path, line.text.strip(), when)


def _variables(tree: Tree, path: str, kind: str, when: tuple[int, ...]) -> Iterator[Assignment]:
    for line in tree.lines(path):
        match = _VARIABLE.match(line.text)
        if match is not None and not line.text.lstrip().startswith("#"):
            indented = line.text[:1].isspace() and kind == "profile"
            value = match[2].split(" #")[0].split(";")[0]
            unknown = "$" in value and kind == "profile"
            yield Assignment(kind, line, f"environment:{match[1]}",
                             None if unknown else " ".join(split_words(value)),
                             (*when, line.number), not indented,
                             "it may be given under a condition" if indented else "")  # fmt: skip
        limit = _ULIMIT.match(line.text)
        if limit is not None and limit[1] in LIMITS_BY_LETTER:
            yield Assignment(kind, line, f"limit:{LIMITS_BY_LETTER[limit[1]]}", limit[2],
                             (*when, line.number))  # fmt: skip


def _home_directories(tree: Tree) -> Iterator[Assignment]:
    """The accounts of passwd(5); whose session it is is not known but for root's."""
    for line in tree.lines(ACCOUNTS):
        fields = line.text.split(":")
        if len(fields) == 7 and fields[5].startswith("/"):
            note = "" if fields[0] == "root" else f"the account {fields[0]}"
            when = (Stage.LOGIN, 0, 0, line.number)
            yield Assignment("passwd", line, "environment:HOME", fields[5], when, not note, note)


def _mounts(tree: Tree) -> Iterator[Assignment]:
    for line in tree.lines(FSTAB):
        fields = line.text.split("#")[0].split()
        if len(fields) < 4:
            continue
        when = (Stage.INIT, 0, line.number)
        if fields[2] == "swap":
            yield Assignment("fstab", line, f"swap:{fields[0]}", "on", when)
        else:
            yield Assignment("fstab", line, f"mount:{fields[1]}", fields[3], when)
            yield Assignment("fstab", line, f"mounted:{fields[1]}", fields[2], when)
            for path, option in _options(fields[1], fields[3]):
                yield Assignment("fstab", line, path, option, when)


def _options(point: str, options: str) -> Iterator[tuple[str, str]]:
    """The settings among the options of a mount: path and value of each."""
    for _, knob in knobs().values():
        if knob.path.startswith(MOUNTS):
            for option in options.split(","):
                if option in knob.choices:
                    yield knob.path.replace("*", point.replace("/", "!")), option


SESSION = SettingFiles(
    "profiles, environment, limits, fstab and files of name lookup",
    (
        *ENVIRONMENT,
        *PROFILES,
        *LIMITS,
        *SERVERS,
        *SERVER_SETTINGS,
        FSTAB,
        ACCOUNTS,
        *NAME_LOOKUP_FILES,
    ),
    _find,
    (LOCALTIME,),
)
