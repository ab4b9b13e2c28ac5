"""Opening a capture: which reader a file needs, by what it holds and not by its name alone."""

from __future__ import annotations

from pathlib import Path

from benchvise.errors import CaptureError
from benchvise.signal.capture import Capture
from benchvise.signal.readers import sigrok, table, vcd
from benchvise.signal.readers.options import ReadOptions

_HEAD_BYTES = 64 << 10
_VCD_WORDS = (b"$date", b"$version", b"$timescale", b"$scope", b"$comment", b"$var")


def open_capture(path: Path, options: ReadOptions | None = None) -> Capture:
    """Reads a capture of any kind: ``.sr``, ``.vcd``, ``.csv``.

    CaptureError when it is none, is damaged, holds no samples, or has none of the lines asked for.
    """
    options = options or ReadOptions()
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if not head:
            raise CaptureError(f"{path} is empty", "name a capture that holds samples")
        if head.startswith(b"PK"):
            return sigrok.read(path, options)
        if head.lstrip()[:20].startswith(_VCD_WORDS):
            return vcd.read(path, options)
        if b"\0" in head or not head.strip():
            raise CaptureError(
                f"{path}: this is no capture",
                "sigrok sessions (.sr), value change dumps (.vcd) and tables (.csv) can be read; "
                "sigrok-cli converts others: sigrok-cli -i FILE -I FORMAT -o FILE.sr",
            )
        return table.read(path, options)
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror}", "name a capture that is there") from error
