"""Where the user's own files lie: configuration, data, state and caches, by the XDG base directory
specification.

The only place that reads its variables, so that a user who moves one moves all that belongs there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from benchvise.host_system import own_user

_DEFAULTS = {
    "cache": ".cache",
    "config": ".config",
    "data": ".local/share",
    "state": ".local/state",
}


def user_directory(
    kind: Literal["cache", "config", "data", "state"], environment: Mapping[str, str] = os.environ
) -> Path:
    """``benchvise`` below ``$XDG_CACHE_HOME``, ``$XDG_CONFIG_HOME`` and so on.

    It may not be there yet. A relative path in a variable is ignored, as the specification says.
    """
    base = Path(environment.get(f"XDG_{kind.upper()}_HOME", ""))
    return (base if base.is_absolute() else Path.home() / _DEFAULTS[kind]) / "benchvise"


def runtime_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """``benchvise`` below ``$XDG_RUNTIME_DIR``, which ends with the session; else below the state.

    It is made for the user alone. OSError when it cannot be, or belongs to somebody else.
    """
    base = Path(environment.get("XDG_RUNTIME_DIR", ""))
    has_runtime = base.is_absolute() and base.is_dir() and os.access(base, os.W_OK)
    path = base / "benchvise" if has_runtime else user_directory("state", environment) / "runtime"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or own_user() not in (None, status.st_uid):
        raise OSError(f"{path} belongs to somebody else")
    path.chmod(0o700)
    return path


def token_file() -> Path:
    """Where the access token of the user's own workbenches is kept. OSError as above."""
    return runtime_directory() / "token"


def audit_directory() -> Path:
    """Where the workbench logs what pages and programs do: ``control.jsonl``, ``refused.jsonl``,
    and their older halves."""
    return user_directory("state") / "audit"
