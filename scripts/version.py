"""The version of what is built: that of the tag, so that nobody has to write it twice.

A tag ``v0.2.0`` on the commit makes 0.2.0; commits later make 0.2.1.dev3+g1a2b3c4. A source
distribution knows its own, and a checkout without tags is what ``benchvise.__version__`` says.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
_DESCRIBED = re.compile(r"v(\d+\.\d+)\.(\d+)-(\d+)-(g[0-9a-f]+)")


def version(root: Path = ROOT) -> str:
    """As PEP 440 has it."""
    packed = root / "PKG-INFO"
    if packed.exists():
        return _only(r"^Version: (.+)$", packed)
    return _of_tag(root) or _only(r'__version__ = "(.+)"', root / "src/benchvise/__init__.py")


def _of_tag(root: Path) -> str | None:
    """None where no tag is below the commit, and outside a checkout, which has its own ``.git``."""
    if not (root / ".git").exists():
        return None
    command = ("git", "describe", "--tags", "--long", "--match", "v[0-9]*.[0-9]*.[0-9]*")
    try:
        described = subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=False
        ).stdout.strip()
    except FileNotFoundError:
        return None
    match = _DESCRIBED.fullmatch(described)
    if match is None:
        return None
    series, patch, commits, commit = match.groups()
    if commits == "0":
        return f"{series}.{patch}"
    return f"{series}.{int(patch) + 1}.dev{commits}+{commit}"


def _only(pattern: str, path: Path) -> str:
    match = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise ValueError(f"{path} does not say a version")
    return match[1]
