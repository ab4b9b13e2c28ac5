"""Words before a command that leave it what it is: sudo, env, nice, busybox and the like."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from benchvise.why.provenance.shell.text import Text

# How many words follow before the command, and which options take a word of their own.
_WRAPPERS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "sudo": (0, ("-u", "-g", "-p")), "nohup": (0, ()), "exec": (0, ("-a",)),
    "command": (0, ()), "builtin": (0, ()), "time": (0, ()), "setsid": (0, ()),
    "env": (0, ("-u",)), "timeout": (1, ("-k", "-s")), "busybox": (0, ()),
    "nice": (0, ("-n",)), "ionice": (0, ("-c", "-n")), "doas": (0, ("-u",)),
    "eatmydata": (0, ()), "unshare": (0, ()), "setpriv": (0, ()),
}  # fmt: skip


def unwrapped(words: Sequence[Text]) -> Sequence[Text]:
    """The command behind such words; nothing where there is none."""
    while words and (name := posixpath.basename(words[0].text)) in _WRAPPERS:
        skip, options = _WRAPPERS[name]
        at = 1
        while at < len(words) and (words[at].text.startswith("-") or "=" in words[at].text):
            at += 2 if words[at].text in options else 1
        words = words[at + skip :]
    return words
