"""Finds a number in a text by a user's regular expression, in a process of its own.

A pattern such as ``(a+)+$`` can take years over a line. Python cannot give up a match, but a
process can be ended: by the kernel, with SIGPROF, after so many seconds of its own CPU time, which
no other process changes.

    matcher.py SECONDS
    {"pattern": ..., "text": ...} on standard input; {"digits": ..., "line": ...} or null comes back
"""

from __future__ import annotations

import json
import re
import signal
import sys


def last_match(pattern: str, text: str) -> tuple[str, str] | None:
    """The last match's first group (or all of it, without groups) and the line it begins in.

    ``^`` and ``$`` are the ends of a line. re.error for a pattern that is none.
    """
    last = None
    for match in re.finditer(pattern, text, re.MULTILINE):
        last = match
    if last is None:
        return None
    begin = text.rfind("\n", 0, last.start()) + 1
    line = text[begin:].partition("\n")[0]
    digits = last.group(1) if last.re.groups else last.group()
    return digits or "", line


def main() -> None:
    """Answers one question."""
    signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))
    question = json.load(sys.stdin)
    match = last_match(question["pattern"], question["text"])
    json.dump(match and {"digits": match[0], "line": match[1]}, sys.stdout)


if __name__ == "__main__":
    main()
