"""Command lines for a remote login shell of any kind.

ssh hands the board one string, and what reads it may be sh, bash, zsh, fish, csh or busybox. So
the string is kept to what all of them read alike: ``exec sh -c '…' sh '…' '…'``, where nothing
between the single quotes is special to any. The arguments are decoded by that POSIX sh and are
never parsed by a shell.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

# Single quotes end a quotation everywhere, csh looks for "!" and line ends within them, fish for
# backslashes; bytes that are no ASCII depend on locales.
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b"'\\!")

# The "x" keeps line ends at an argument's end, which $(…) would take away. The exit status 255
# is kept for ssh itself: without that, a command's 255 would look like a lost connection.
_DECODE_AND_RUN = (
    'for a do a=$(printf "%bx" "$a"); set -- "$@" "${a%x}"; shift; done; '
    '"$@"; s=$?; case $s in 255) s=254;; esac; exit $s'
)

# What precedes the mark was said by the login shell.
_MARK = 'echo; echo "$1"; { echo; echo "$1"; } >&2; shift; '


def _quoted(word: str) -> str:
    """An argument in single quotes, in the escapes of ``printf %b`` where it is not plain."""
    data = os.fsencode(word)
    if b"\0" in data:
        raise ValueError("an argument cannot hold a NUL character")
    return "'" + "".join(chr(b) if b in _PLAIN else f"\\0{b:03o}" for b in data) + "'"


def command_line(argv: Sequence[str], mark: str = "") -> str:
    """What to give to ssh so that the board runs ``argv``, whatever its login shell.

    With a ``mark``, a line with just that precedes the command's output on both streams. A
    command that a signal ended gives 128 + its number; 255 of a command becomes 254.
    """
    script = (_MARK if mark else "") + _DECODE_AND_RUN
    words = [mark, *argv] if mark else argv
    return f"exec sh -c '{script}' sh " + " ".join(map(_quoted, words))


def after_mark(output: bytes, mark: str) -> bytes | None:
    """The output without what the login shell said; None when the mark is not there."""
    _, found, rest = output.partition(f"\n{mark}\n".encode())
    return rest if found else None
