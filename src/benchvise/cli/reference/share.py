"""The files below ``share/``: man pages, and completions where each shell looks for them.

python -m benchvise.cli.reference.share DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchvise.cli.reference.completion import ShellName, completion_script
from benchvise.cli.reference.manual import manual_pages

COMPLETIONS = {
    ShellName.BASH: "bash-completion/completions/benchvise",
    ShellName.ZSH: "zsh/site-functions/_benchvise",
    ShellName.FISH: "fish/vendor_completions.d/benchvise.fish",
}


def write_share(directory: Path) -> None:
    """Writes all files to a directory, which is made. Raises OSError."""
    files = {f"man/man1/{name}": text for name, text in manual_pages().items()}
    files |= {path: completion_script(shell) for shell, path in COMPLETIONS.items()}
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_share(Path(sys.argv[1]))
