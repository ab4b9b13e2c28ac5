"""What composing an image refuses."""

from __future__ import annotations

from benchvise.errors import BenchviseError


class ComposeError(BenchviseError):
    """Images that cannot be read, or layers that do not fit together. Nothing was written."""
