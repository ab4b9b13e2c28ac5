"""Which programs a user's command runs on a board, so that two boards can be seen to run the same.

Only what the command line itself names: what those programs start is not known. The line comes
from the user; what the board answers is bounded and sanitised.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from benchvise.board import Board
from benchvise.errors import BoardUnusable
from benchvise.text import printable

_PROGRAMS = 8
_SECONDS = 20.0
_SEPARATORS = {"|", "||", "&", "&&", ";", "(", ")", "{", "}", "!"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_HASH = re.compile(rb"\\?([0-9a-f]{64})")

# These run the program that comes after their options.
_WRAPPERS = {
    *("env", "nice", "ionice", "chrt", "taskset", "time", "timeout", "sudo", "nohup", "setsid"),
    *("stdbuf", "exec", "command", "numactl", "setarch"),
}

# Only programs that are known to say their version so, and to do nothing else.
_VERSION_WORDS = {
    **dict.fromkeys(
        ("perf", "sysbench", "iperf3", "fio", "stress-ng", "openssl", "hyperfine", "dd"),
        "--version",
    ),
    **dict.fromkeys(("python3", "python", "gcc", "cc", "curl", "wrk", "tinymembench"), "--version"),
    "hdparm": "-V",
    "ab": "-V",
}
_VERSION_WORDS |= {"openssl": "version", "wrk": "-v"}

_FIND = 'for w in "$@"; do p=$(command -v -- "$w") && printf "%s\\n" "$w $p"; done; true'
_SUM = 'sha256sum "$1" 2>/dev/null || busybox sha256sum "$1"'


def find_programs(board: Board, command: str) -> tuple[dict[str, str], dict[str, str]]:
    """The SHA-256 of the command's programs by path, and what they say of their versions.

    What the board cannot tell is not there. BoardUnreachable when contact is lost.
    """
    words = list(dict.fromkeys(named(command)))[:_PROGRAMS]
    programs: dict[str, str] = {}
    versions: dict[str, str] = {}
    if not words:
        return programs, versions
    listing = board.run(["sh", "-c", _FIND, "sh", *words], timeout=_SECONDS).stdout
    for line in listing.decode("utf-8", "replace").splitlines()[:_PROGRAMS]:
        word, _, path = printable(line, 500).partition(" ")
        if not path.startswith("/"):  # built into the shell
            continue
        digest = _HASH.match(_ask(board, ["sh", "-c", _SUM, "sh", path]))
        if digest:
            programs[path] = digest[1].decode()
        option = _VERSION_WORDS.get(word.rpartition("/")[2])
        if option:
            answer = _ask(board, [path, option]).decode("utf-8", "replace").strip()
            if answer:
                versions[path] = printable(answer.splitlines()[0], 200)
    return programs, versions


def named(command: str) -> Iterator[str]:
    """The words of a command line that are programs to be run."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # quotes that do not match: the shell will say so
        return
    expected = True
    for word in words:
        if word in _SEPARATORS or set(word) <= set("|&;()"):
            expected = True
        elif expected and not _ASSIGNMENT.match(word) and not word.startswith("-"):
            wrapper = word.rpartition("/")[2] in _WRAPPERS
            # Options of wrappers take values that look like programs: those do not exist.
            expected = wrapper or (
                expected and word.replace(".", "").isalnum() and word[0].isdigit()
            )
            if not wrapper and not word[0].isdigit():
                yield word


def _ask(board: Board, argv: list[str]) -> bytes:
    try:
        completed = board.run(argv, timeout=_SECONDS)
    except BoardUnusable:  # too slow, or says too much
        return b""
    return completed.stdout if completed.returncode == 0 else b""
