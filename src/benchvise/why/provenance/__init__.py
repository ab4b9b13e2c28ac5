"""Which file and line sets a value persistently: on a board that runs, in an image, in a directory.

``survey`` reads the files that set things when a system starts, one module for each kind of place;
``origins`` finds among their lines the one that made a suspect what it is.
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
