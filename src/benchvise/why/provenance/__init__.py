"""Where a setting is made persistently: the file and line, on a board, in an image, a directory.

    a board that runs (live)  ─┐
    an image (image)          ─┼→ FileSource ─→ Tree: all globs at once ─→ a module a kind of place
    a directory (directory)   ─┘                  ↑                         (sysctl, udev, units, …)
                                                  └─ scripts that a line runs ←─ shell    │
                                                     (followed, never executed)           ↓
    suspect ─→ targets: kernel files, command line words ─→ origins: the last line that sets it

``survey`` reads the files in the order of a boot; ``origins`` finds among their lines the one that
made a suspect what it is. Nothing is run and nothing is written. What a script finds out only when
it runs makes an origin uncertain; ``boot_trace`` proves one: kernel probes of a single boot show
who wrote the file.
"""

from __future__ import annotations

from benchvise.why.provenance.directory import DirectoryFiles
from benchvise.why.provenance.files import FileSource
from benchvise.why.provenance.live import ProbedFiles
from benchvise.why.provenance.origins import find_origins, settings_of

__all__ = [
    "DirectoryFiles",
    "FileSource",
    "ProbedFiles",
    "find_origins",
    "settings_of",
]
