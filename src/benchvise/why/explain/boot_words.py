"""Lines of shell that try a word of the kernel's command line on the running board, without a boot.

Only where something that can be written while the kernel runs does the same (``boot_words.toml``);
it holds until the next boot.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from benchvise.why.explain.boot_lines import COMMAND_LINE
from benchvise.why.model import Suspect

_PLAIN = re.compile(r"[\w.,:;=+@%/-]{1,120}", re.ASCII)
_UNTIL_BOOT = "  # without a boot, until the next one"


@cache
def boot_words() -> Sequence[Mapping[str, str]]:
    """The table."""
    text = (files(__package__) / "boot_words.toml").read_text(encoding="utf-8")
    records: list[Mapping[str, str]] = tomllib.loads(text)["word"]
    return records


def boot_word_at_run_time(suspect: Suspect, command: str) -> str:
    """The line that has the bad side work as if it had been started with the good one's word; empty
    where that takes a boot, for values that a shell takes for its own, and for others."""
    if suspect.item != COMMAND_LINE or not suspect.id.startswith(f"{COMMAND_LINE}:"):
        return ""
    name = suspect.id.removeprefix(f"{COMMAND_LINE}:")
    if not _PLAIN.fullmatch(name) or ".." in name:
        return ""
    for record in boot_words():
        if not fnmatchcase(name, record["word"]) or not fnmatchcase(
            suspect.good, record.get("good", "*")
        ):
            continue
        line = record["line"]
        if "{good}" in line and not _PLAIN.fullmatch(suspect.good):
            return ""
        module, _, parameter = name.partition(".")
        values = {
            "good": suspect.good,
            "setting": name.partition(".")[2],
            "parameter": f"{module.replace('-', '_')}/parameters/{parameter}",
            "command": shlex.quote(command or "COMMAND"),
        }
        for key, value in values.items():
            line = line.replace(f"{{{key}}}", value)
        return f"{line}{_UNTIL_BOOT}"
    return ""
