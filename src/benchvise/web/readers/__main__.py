"""``python -m benchvise.web.readers PROGRAM PLACE…``: a reader, which confines itself first.

Before anything else is imported: libraries start threads of their own, which would stay free.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path

from benchvise.confinement import (
    DEVICES,
    Confinement,
    confine,
    dies_before_others,
    import_no_table_libraries,
    python_places,
    share_of_memory,
)
from benchvise.trace.manifest import confined_files
from benchvise.web.readers.passing import reader_control

_SHARES = {"process": 0.35, "queries": 0.2}
"""Of the machine's memory: what each program may take. All of it is never theirs: a reader, another
one that is asked alone, and the query process leave a tenth."""


def main() -> None:
    """Standard input leads to the server; the arguments are the program and its places."""
    program, places = sys.argv[1], [Path(place) for place in sys.argv[2:]]
    control = reader_control()
    key, kept = confined_files()
    dies_before_others()
    confine(
        Confinement(
            readable=[*python_places(), key],
            writable=[*places, *DEVICES, kept, Path(os.environ["TMPDIR"])],
            programs=program == "process",  # sigrok-cli
            memory=share_of_memory(_SHARES[program]),
        )
    )
    import_no_table_libraries()
    gc.disable()  # as in ``cli.main``: nearly all that an import makes stays
    imported = importlib.import_module(f"benchvise.web.readers.{program}")
    gc.enable()
    imported.serve(control)


if __name__ == "__main__":
    main()
