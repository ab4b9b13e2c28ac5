"""Benchvise: hold a board still, measure it, and find out why.

For Python, ``import benchvise as bv`` has ``open_store``, ``compare``, ``open_trace`` and
``Board``; ``benchvise.api`` describes them. They are imported when they are first named, as
commands start faster without.
"""

import importlib
from typing import Any

__all__ = ["Board", "__version__", "compare", "open_store", "open_trace"]

try:
    # The version of the tag, which scripts/wheel.py writes into a wheel.
    from benchvise._version import __version__
except ModuleNotFoundError:
    __version__ = "0.2.0"

_PLACES = {
    "Board": "boards",
    "compare": "results",
    "open_store": "results",
    "open_trace": "traces",
}
"""Modules of ``benchvise.api`` by the name that they have."""


def __getattr__(name: str) -> Any:
    """A name of the interface for Python. ImportError where an extra is missing, with its name."""
    if name not in _PLACES:
        raise AttributeError(f"module 'benchvise' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"benchvise.api.{_PLACES[name]}"), name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{name} needs {error.name}, which is not installed: pip install 'benchvise[trace]'"
        ) from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
