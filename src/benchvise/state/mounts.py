"""The mounts of a board, as /proc/self/mountinfo has them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MADE_UP = re.compile(
    r"/run/(user|credentials|netns|docker|containerd)(/.*)?|/var/lib/(docker|containers?|containerd|"
    r"kubelet|rancher)/.*|/snap/.*|/(var/)?run/k3s/.*"
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mounted file system. ``device`` is ``major:minor``; ``options`` are those of the mount
    and of the file system together.
    """

    device: str
    point: str
    kind: str
    source: str
    options: tuple[str, ...]

    def option(self, name: str) -> str:
        """The value of ``name=value`` among the options; empty when it is not there."""
        return next((o.partition("=")[2] for o in self.options if o.startswith(f"{name}=")), "")


def parse_mounts(given: str) -> tuple[Mount, ...]:
    """All mounts in their order; lines that are none are passed over."""
    found = []
    for line in given.splitlines():
        left, there, right = line.partition(" - ")
        head, tail = left.split(" "), right.split(" ")
        if there and len(head) >= 6 and len(tail) >= 2:
            options = [*head[5].split(","), *(tail[2].split(",") if len(tail) > 2 else ())]
            found.append(
                Mount(
                    device=head[2],
                    point=_unescaped(head[4]),
                    kind=tail[0],
                    source=_unescaped(tail[1]),
                    options=tuple(dict.fromkeys(filter(None, options))),
                )
            )
    return tuple(found)


def is_made_up(point: str) -> bool:
    """Whether a mount belongs to a login, a container or a test, and so comes and goes."""
    return _MADE_UP.fullmatch(point) is not None


def mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """The mount that a path lies on: of those that hide each other the last."""
    on = [m for m in mounts if m.point == "/" or path == m.point or path.startswith(m.point + "/")]
    return max(reversed(on), key=lambda mount: len(mount.point), default=None)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)
