"""A tab of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class View:
    """Its part of the page's document, and what its template needs besides."""

    document: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)
