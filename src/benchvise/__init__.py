"""Benchvise: hold a board still, measure it, and find out why.

For Python, ``import benchvise as bv`` has ``open_store``, ``compare``, ``why``, ``open_trace`` and
``Board``; ``benchvise.api`` describes them. They are imported when they are first named, as
commands start faster without.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

__all__ = ["Board", "__version__", "compare", "open_store", "open_trace", "why"]

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
    "why": "diagnoses",
}
"""Modules of ``benchvise.api`` by the name that they have."""


class _CallableModule(ModuleType):
    """The package ``benchvise.why``, which is the function ``bv.why`` too."""

    def __call__(self, *sides: Any, **options: Any) -> Any:
        return _imported("why")(*sides, **options)


class _Package(ModuleType):
    """This package: whoever imports ``benchvise.why`` first, ``bv.why`` can be called."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "why" and isinstance(value, ModuleType):
            value.__class__ = _CallableModule
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """A name of the interface for Python. ImportError where an extra is missing, with its name."""
    if name not in _PLACES:
        raise AttributeError(f"module 'benchvise' has no attribute {name!r}")
    return importlib.import_module("benchvise.why") if name == "why" else _imported(name)


def _imported(name: str) -> Any:
    try:
        return getattr(importlib.import_module(f"benchvise.api.{_PLACES[name]}"), name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{name} needs {error.name}, which is not installed: pip install 'benchvise[trace]'"
        ) from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
