"""Where a setting is made persistently: the file and line, on a board, in an image, a directory.

    a board, an image, a directory (sources) ─→ Tree (files): all globs at once
                                                  │
                      kernel, udev, direct, units, scripts, daemons, session: a kind of file each
                         │        └─ scripts that a line runs ←─ shell (followed, never executed)
                         ↓
    suspect ─→ targets: kernel files, command line words ─→ origins: the last line that sets it

``origins`` reads the files in the order of a boot, and finds among their lines the one that made a
suspect what it is. Nothing is run and nothing is written. What a script finds out only when it runs
makes an origin uncertain; ``boot_trace`` proves one: kernel probes of a single boot show who wrote
the file.
"""

from __future__ import annotations

from benchvise.why.provenance.files import FileSource
from benchvise.why.provenance.origins import find_origins, settings_of
from benchvise.why.provenance.sources import DirectoryFiles, ProbedFiles

__all__ = [
    "DirectoryFiles",
    "FileSource",
    "ProbedFiles",
    "find_origins",
    "settings_of",
]
