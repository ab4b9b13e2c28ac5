"""The commands that README and guide show, in the order of a page.

A block of a page is one of commands when its first line is one; in a block that begins with ``$``,
only lines with it are. Commands within a sentence or a table count too, once they have arguments:
``benchvise trace sched`` alone is the name of a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchvise.cli.main import program

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FOLDERS = ("tutorials", "how-to", "coming-from", "explanation", "reference")

_BEGINNINGS = re.compile(
    r"benchvise |echo |export |pip |python |make |curl |journalctl |IMAGE=|remote\$ |you\$ |\$ "
)
_PROMPT = re.compile(r"(?:remote|you)?\$ +")
_DATA = ("toml", "yaml", "json", "text")
_ELSEWHERE = "remote$"


@dataclass(frozen=True, slots=True)
class GuideCommand:
    """A command as it stands on a page. ``text`` is without prompt and remark."""

    page: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}: {self.text}"


def guide_pages() -> tuple[Path, ...]:
    """README and all pages that somebody wrote for users."""
    return (
        ROOT / "README.md",
        *(page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))),
    )


def commands_of(page: Path) -> Iterator[GuideCommand]:
    """All commands of a page, from top to bottom."""
    lines = page.read_text().splitlines()
    fenced = list[str]()
    begin = 0
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if begin:
                for offset, text in _of_block(fenced):
                    yield GuideCommand(page, begin + 1 + offset, text)
                begin, fenced = 0, []
            else:
                begin, fenced = number, [line[3:].strip()]
        elif begin:
            fenced.append(line)
        else:
            for text in re.findall(r"`(benchvise [^`]+)`", line):
                if _has_arguments(text := text.replace(r"\|", "|")):
                    yield GuideCommand(page, number, text)


def _of_block(block: list[str]) -> Iterator[tuple[int, str]]:
    """Commands of a block, each with its offset; the first item of ``block`` is its language."""
    language, *lines = block
    if language in _DATA or not lines or not _BEGINNINGS.match(lines[0]):
        assert not any(line.startswith("benchvise ") for line in lines), f"what is this? {lines}"
        return
    prompted = _PROMPT.match(lines[0]) is not None
    for offset, line in enumerate(lines):
        if prompted != (_PROMPT.match(line) is not None) or not line:
            continue  # output
        if not line.startswith(_ELSEWHERE):
            yield offset, re.sub(r"\s+#\s.*", "", _PROMPT.sub("", line)).strip()


def _has_arguments(text: str) -> bool:
    words = text.split()[1:]
    command: object = program()
    while words and words[0] in (getattr(command, "commands", None) or {}):
        command = command.commands[words.pop(0)]  # type: ignore[attr-defined]
    is_elided = any("…" in word or "..." in word for word in words)
    return bool(words) and not is_elided
