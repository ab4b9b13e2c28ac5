"""What shell scripts set: read, and run in the head, without running anything.

``syntax`` makes a tree of a script, ``run`` walks it with what is known of its variables, and
``commands`` knows what the words of ``sysctl``, ``tc``, ``blockdev`` and others set.
"""

from __future__ import annotations

from benchvise.why.provenance.shell.run import Run
from benchvise.why.provenance.shell.state import Written

__all__ = ["Run", "Written"]
