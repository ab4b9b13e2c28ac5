"""Where the user's own files lie: data, state and caches, by the XDG base directory specification.

The only place that reads its variables, so that a user who moves one moves all that belongs there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

_DEFAULTS = {"cache": ".cache", "data": ".local/share", "state": ".local/state"}


def user_directory(
    kind: Literal["cache", "data", "state"], environment: Mapping[str, str] = os.environ
) -> Path:
    """``benchvise`` below ``$XDG_CACHE_HOME``, ``$XDG_DATA_HOME`` or ``$XDG_STATE_HOME``.

    It may not be there yet. A relative path in a variable is ignored, as the specification says.
    """
    base = Path(environment.get(f"XDG_{kind.upper()}_HOME", ""))
    return (base if base.is_absolute() else Path.home() / _DEFAULTS[kind]) / "benchvise"
