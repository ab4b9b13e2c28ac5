#!/usr/bin/env python3
"""``make pins``: simulated boards and the tests' kernel are made of what Debian has now.

Rewrites ``packages.json`` beside ``benchvise.rig.virtual.recipes.pins``. Images are then built
anew, so run the tests of the rig before the list is committed.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import guest_kernel

from benchvise.documents import encode
from benchvise.rig.virtual.kinds import KINDS
from benchvise.rig.virtual.recipes.build import package_sets
from benchvise.rig.virtual.recipes.pins import LIST, Pin, PinnedSet


def main() -> None:
    """Downloads all and writes the list."""
    time = datetime.now(UTC).strftime("%Y%m%dT000000Z")
    wanted = {
        (archive, alone, whole): None
        for kind in KINDS.values()
        for archive, alone, whole in package_sets(kind.recipe)
    }
    wanted[guest_kernel.ARCHIVE, guest_kernel.PACKAGES, ()] = None
    sets = []
    for archive, alone, whole in sorted(wanted, key=lambda key: (key[0].name, key[1:])):
        packages = archive.newest(alone, whole)
        pins = tuple(Pin(p.name, p.version, p.architecture, p.sha256) for p in packages)
        sets.append(PinnedSet(archive.name, alone, whole, pins))
        print(f"{archive.name}: {', '.join(f'{pin.name} {pin.version}' for pin in pins)}")
    LIST.write_text(as_text(time, sets))


def as_text(time: str, sets: list[PinnedSet]) -> str:
    """The list as JSON, a package a line, so that a change shows what changed."""
    blocks = []
    for one in sets:
        document = encode(one)
        packages = ",\n".join(f"    {json.dumps(pin)}" for pin in document.pop("packages"))
        head = json.dumps(document)[:-1]
        blocks.append(f'  {head}, "packages": [\n{packages}]}}')
    return f'{{"time": "{time}", "sets": [\n' + ",\n".join(blocks) + "\n]}\n"


if __name__ == "__main__":
    main()
