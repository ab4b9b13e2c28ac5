"""The extension module, and its errors as this program's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from benchvise.errors import TraceError, UsageError

if TYPE_CHECKING:
    from benchvise.trace import native

_REMEDIES = {
    "NotATrace": "it takes a trace.dat, a perf.data, or a directory with CTF metadata",
    "Unreadable": "check the path and its permissions",
    "Unsupported": "the recording tool may be able to write it in another way",
    "Damaged": "its head or metadata is beyond use; copy it again from where it was recorded",
    "TooMuch": "",
}


def decoder() -> ModuleType:
    """The extension module.

    Raises:
        UsageError: it is not built, or for another Python.
    """
    try:
        from benchvise.trace import native
    except ImportError as error:
        built = any(Path(__file__).parent.glob("native.*.so"))
        raise UsageError(
            f"the trace decoder cannot be loaded ({error})"
            if built
            else "the trace decoder is not built",
            "make install builds it; it needs Rust",
        ) from error
    return native


def open_native(path: Path) -> native.Trace:
    """Opens a trace; see ``native.open``.

    Raises:
        UsageError: there is no decoder, or no such trace.
        TraceError: the trace cannot be read.
    """
    module = decoder()
    with translated():
        trace: native.Trace = module.open(str(path))
        return trace


@contextmanager
def translated() -> Iterator[None]:
    """Turns the decoder's exceptions into this program's."""
    module = decoder()
    try:
        yield
    except module.TraceError as error:
        kind = type(error).__name__
        raised = UsageError if kind in ("NotATrace", "Unreadable", "UnknownName") else TraceError
        raise raised(str(error), _REMEDIES.get(kind, "")) from error
