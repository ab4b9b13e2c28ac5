"""/etc/fstab of a root file system that moves to another card."""

from __future__ import annotations

from collections.abc import Iterator


def merged(ours: str, theirs: str) -> str:
    """Our table, which knows this card's partitions, with their options where both mount the same.

    So a mount option that makes a difference (noatime, commit=) comes along with the root.
    """
    options = {(fields[1], fields[2]): fields[3] for fields in _entries(theirs)}
    lines = []
    for line in ours.splitlines():
        fields = _fields(line)
        if fields and (fields[1], fields[2]) in options:
            fields[3] = options[fields[1], fields[2]]
            line = "\t".join(fields)
        lines.append(line)
    return "\n".join(lines) + "\n" if lines else ""


def mount_points(text: str) -> list[str]:
    """The directories that it mounts something on."""
    return [fields[1] for fields in _entries(text) if fields[1].startswith("/")]


def _entries(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        fields = _fields(line)
        if fields:
            yield fields


def _fields(line: str) -> list[str]:
    """Device, mount point, type, options and what follows; empty for a comment."""
    fields = line.split()
    return fields if len(fields) >= 4 and not fields[0].startswith("#") else []
