"""Boards made of texts, for tests of state: what they would answer, without any board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchvise.board.messages import FileError, FileValue
from benchvise.state.answers import Answers
from benchvise.state.catalogue import load_catalogue
from benchvise.state.globs import ByPath
from benchvise.state.model import Snapshot, StateEntry
from benchvise.state.roles import names_from
from benchvise.state.snapshot import all_entries, entries_of

ENOENT, EACCES = FileError(2, "ENOENT"), FileError(13, "EACCES")

PI = {
    "/proc/self/mountinfo": "27 1 179:2 / / rw,noatime - ext4 /dev/root rw\n",
    "/proc/net/route": "Iface\neth0 00000000 0100A8C0 0003 0 0 0 00000000 0 0 0\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/sys/block/mmcblk0/queue/read_ahead_kb": "128\n",
    "/sys/block/mmcblk0/queue/scheduler": "none [mq-deadline] kyber\n",
    "/sys/block/loop0/queue/read_ahead_kb": "4096\n",
    "/sys/class/net/eth0/mtu": "1500\n",
    "/proc/cmdline": "root=PARTUUID=738a4d67-02 console=ttyS0 quiet\n",
}
PI_LINKS = {
    "/sys/dev/block/179:0": "../mmc_host/mmc0/mmc0:aaaa/block/mmcblk0",
    "/sys/dev/block/179:2": "../mmc_host/mmc0/mmc0:aaaa/block/mmcblk0/mmcblk0p2",
    "/sys/class/net/eth0": "../../devices/platform/scb/net/eth0",
}
PC = {
    "/proc/self/mountinfo": "27 1 8:2 / / rw,noatime - ext4 /dev/sda2 rw\n",
    "/proc/net/route": "Iface\nenp3s0 00000000 0100A8C0 0003 0 0 0 00000000 0 0 0\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    "/sys/block/sda/queue/read_ahead_kb": "128\n",
    "/sys/block/sda/queue/scheduler": "[none] mq-deadline kyber bfq\n",
    "/sys/block/sdb/queue/read_ahead_kb": "256\n",
    "/sys/class/net/enp3s0/mtu": "1500\n",
    "/proc/cmdline": "root=/dev/sda2 console=ttyS0 mitigations=off\n",
}
PC_LINKS = {
    "/sys/dev/block/8:0": "../../devices/pci0000:00/ata1/block/sda",
    "/sys/dev/block/8:2": "../../devices/pci0000:00/ata1/block/sda/sda2",
    "/sys/class/net/enp3s0": "../../devices/pci0000:00/net/enp3s0",
}


def answers(
    files: Mapping[str, str | bytes | FileError],
    links: Mapping[str, str] | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> Answers:
    """What a board with these files would answer; a file that is not given is not there."""
    texts = {path: text for path, text in files.items() if isinstance(text, str)}
    names = names_from(texts, links or {})
    found: dict[str, FileValue | FileError] = {
        path: value if isinstance(value, FileError) else FileValue(value)
        for path, value in files.items()
    }
    for read in (read for item in load_catalogue() for read in item.reads):
        glob = names.fill(read.path) if read.source == "file" else None
        if glob is not None and not list(ByPath(found).matching(glob)):
            found[glob] = ENOENT
    return Answers(names=names, files=ByPath(found), links=ByPath(links), facts=facts or {}, **more)


def entries(given: Answers, *items: str) -> dict[str, StateEntry]:
    """The entries of some items, or of all, by name."""
    return {
        entry.name: entry
        for item in load_catalogue()
        if not items or item.id in items
        for entry, _ in entries_of(item, given)
    }


def snapshot(given: Answers, **more: Any) -> Snapshot:
    """The snapshot of a board that answers so."""
    settings, observations = all_entries(load_catalogue(), given)
    head = {"board": "x", "taken": "2026-03-14T09:26:53+00:00", "boot_id": "b", "privilege": "root"}
    return Snapshot(
        **{**head, "roles": dict(given.names.roles), **more},
        settings=tuple(settings),
        observations=tuple(observations),
    )


def with_entries(observations: Iterable[StateEntry], **more: Any) -> Snapshot:
    """A snapshot that holds just these observations."""
    head = {"board": "x", "taken": "2026-03-14T09:26:53+00:00", "boot_id": "b", "privilege": "root"}
    return Snapshot(**{**head, **more}, settings=(), observations=tuple(observations))
