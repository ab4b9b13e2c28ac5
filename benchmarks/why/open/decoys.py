"""Decoys: ten real differences between two distributions, drawn at random for each case.

The good board is set as one of them and the bad one as the other. Services are stand-ins that have
the name and do nothing: what a difference does is not the question here, only that it is there.
"""

from __future__ import annotations

import random
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from benchvise.documents import decode

NUMBER = 10
_FILE = Path(__file__).parent / "differences.toml"
_PROFILE = "/etc/environment"
_LOCAL = "/etc/sysctl.d/10-default.conf"


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that distributions do differently: its values by distribution, as ``source``
    says. ``how`` it is set: sysctl, environment, limit, mount, file or service."""

    name: str
    how: str
    source: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Decoys:
    """Ten differences, and which distribution each board is set as."""

    good: str
    bad: str
    differences: tuple[Difference, ...]

    def script(self, *, bad: bool) -> str:
        """What sets a board so, for ``sh``."""
        distribution = self.bad if bad else self.good
        lines = [
            _LINES[one.how](one.name, one.values[distribution])
            for one in self.differences
            if distribution in one.values
        ]
        return "\n".join((f"# as {distribution} has it", *lines, ""))

    def sysctls(self, *, bad: bool) -> list[str]:
        """Those of the kernel, for a start script that has no more than busybox."""
        distribution = self.bad if bad else self.good
        return [
            f"sysctl -w {shlex.quote(f'{one.name}={one.values[distribution]}')}"
            for one in self.differences
            if one.how == "sysctl" and distribution in one.values
        ]


def differences() -> list[Difference]:
    """All of them."""
    return [decode(Difference, table) for table in tomllib.loads(_FILE.read_text())["difference"]]


def draw(seed: str, avoids: str = "", *, only: Sequence[str] = ()) -> Decoys:
    """Ten (or all there are) of the differences between two distributions, always the same for a
    seed; without those whose name matches ``avoids``, and of these kinds only, if any are given."""
    rng = random.Random(seed)  # noqa: S311 - a draw that can be repeated
    usable = [
        one
        for one in differences()
        if not (avoids and re.search(avoids, one.name)) and (not only or one.how in only)
    ]
    distributions = sorted({name for one in usable for name in one.values})
    pairs = {
        (good, bad): [one for one in usable if one.values.get(good) != one.values.get(bad)]
        for good, bad in permutations(distributions, 2)
    }
    most = max(len(differ) for differ in pairs.values())
    good, bad = rng.choice([p for p, differ in pairs.items() if len(differ) >= min(NUMBER, most)])
    differ = pairs[good, bad]
    return Decoys(good, bad, tuple(rng.sample(differ, min(NUMBER, len(differ)))))


def _append(file: str, line: str) -> str:
    return f"echo {shlex.quote(line)} >> {file}"


def _service(name: str, _value: str) -> str:
    program, script = f"/usr/sbin/{name}", f"/etc/init.d/{name}"
    text = f'#!/bin/sh\n[ "$1" != start ] || setsid {program} infinity < /dev/null > /dev/null &\n'
    return (
        f"cp /usr/bin/sleep {program}; printf %s {shlex.quote(text)} > {script}; "
        f"chmod 755 {script}; ln -s {script} /etc/rc2.d/S50{name}"
    )


_LINES = {
    "sysctl": lambda name, value: _append(_LOCAL, f"{name} = {value}"),
    "environment": lambda name, value: (
        f"sed -i '/^{name}=/d' {_PROFILE}; " + _append(_PROFILE, f"{name}={value}")
    ),
    "limit": lambda _name, value: _append("/etc/security/limits.conf", f"root {value}"),
    "mount": lambda name, value: f"mkdir -p {name}; " + _append("/etc/fstab", value),
    "file": lambda name, value: f"printf %s {shlex.quote(value)} > {name}",
    "service": _service,
}
