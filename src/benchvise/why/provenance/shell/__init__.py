"""What shell scripts set: read, and run in the head, without running anything.

``tokens`` and ``syntax`` make a tree of a script, ``run`` walks it with what is known of its
variables (``state``); ``builtins`` are the shell's own commands, and ``commands`` knows what the
words of ``sysctl``, ``tc``, ``blockdev`` and others set.
"""

from __future__ import annotations

from benchvise.why.provenance.shell.run import Run

__all__ = ["Run"]
