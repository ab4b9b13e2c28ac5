"""The workshop of card images: reading, changing and making them, without root or mounts.

    tools          the programs that know file systems, run with a clock that stands still
    table          partition tables, MBR and GPT
    filesystems    which file system lies where, and what each of them can do
    ext  fat       file systems through e2fsprogs and mtools
    graft          trees copied from one ext file system into another
    boot_files     how boot loaders are told what to load: extlinux.conf, config.txt, fixed names
    raw_loader     boot loaders in raw sectors
    kernel  elf    what a kernel, a program or a library is
    userland       what a root file system is
    layout         all of that of one image
    workplace      a directory in which images are opened, and one of them is changed
    sparse         copies without the empty blocks, and the map of the others
    cache          built images are kept

``rig.compose`` (layers of other images) and ``rig.virtual`` (images of simulated boards) are built
upon it.
"""

from __future__ import annotations

from benchvise.errors import BenchviseError


class ImageError(BenchviseError):
    """An image cannot be read, changed or made, or does not fit. Nothing was written."""
