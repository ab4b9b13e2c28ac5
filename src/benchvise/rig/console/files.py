"""Files to and from a board through a shell on its console, in pieces that prove they are whole.

A small script is put on the board first; then each piece is one call of it. Pieces are base64 (or
what else the board has), carry a checksum, and are sent again when it does not fit. A piece that
fails is halved, one that succeeds lets the next be larger: so a console that loses one byte in a
thousand is slow, but carries.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import re
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from benchvise.board.probes import posix_cksum
from benchvise.errors import BoardUnusable
from benchvise.rig.console.link import (
    ANSWER_SECONDS,
    ConsoleResult,
    Damaged,
    Link,
    NoAnswer,
    new_word,
)

FILE_LIMIT = 16 << 20
"""Bytes of a file that are fetched at most."""

_BLOCK = 96  # bytes; pieces are multiples of it
_PIECE_FIRST, _PIECE_MOST = 1536, 6144
_LINE = 57  # bytes that make 76 characters of base64
_OCTAL_LINE = 60
_TYPED_MOST = 400  # characters; line editors take at least a thousand
_WORTH_PACKING = 2048
_NOWHERE = "/nowhere/benchvise-console-bv00000000"
_SEAL_TRIES = 3
_PUT_TRIES = 2
_SECONDS_A_KIB = 2.0  # a console of 9600 Bd, both ways
_MARGIN, _PACE_LEAST = 4.0, 0.1
_GROW_AFTER = 3
_BYTES_A_SECOND = 200_000
_PARENTS = ("${TMPDIR:-/tmp}", "/var/tmp", "/dev/shm", "/run", "$HOME", "/root")  # noqa: S108
_NAME = re.compile(r"[a-z0-9.]{1,40}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{1,76}={0,2}")
_HEX = re.compile(r"(?: *[0-9a-f]{2}){1,32} *")
_CKSUM = re.compile(r"\d{1,10} \d{1,12}")
_MD5SUM = re.compile(r"[0-9a-f]{32}(?:  ?-)?")
_OWN_PLACE = re.compile(r"/[\w./-]{1,200}/benchvise-console-bv[0-9a-f]{8}")

T = TypeVar("T")

_TOOLS = ("base64", "openssl", "od", "cksum", "md5sum", "gzip", "stty", "setsid", "sed")

# Typed line by line: no single quotes, no "!" (history), no tabs (completion). Arguments: verb,
# a random word for the answer, how many characters all of that is (one that was lost on the way
# must not name another file), then the verb's own. %…% is filled in with what the board has.
_SCRIPT = """\
cd "${0%/*}" || exit 1
LC_ALL=C; export LC_ALL; umask 077
v=$1 w=$2 n=$3; shift 3
a="$v $w $*"; [ ${#a} -eq "$n" ] || exit
[ $v = run ] || echo "B$w"
case $v in
put) %STTY% -echo 2>/dev/null
 echo "R$w"
 %TAKE% %DECODE%> "$1"
 %STTY% echo 2>/dev/null
 %SUM% < "$1";;
join) n=0
 while [ $n -lt $2 ]; do cat "$1.$n"; n=$((n+1)); done > "$1"
 %SUM% < "$1";;
unpack) gzip -d -c < "$1" > "$2" && %SUM% < "$2";;
pack) gzip -1 -c < "$1" > "$2" && wc -c < "$2";;
get) dd if="$1" bs=%BLOCK% skip=$2 count=$3 of=piece 2>/dev/null
 %ENCODE% < piece; echo
 %SUM% < piece;;
run) mkdir "$1.x" 2>/dev/null || exit
 %SETSID% sh -c "echo \\$\\$ > $1.p; exec sh ./$1.c" < $1.i > $1.o 2> $1.e
 echo $? > $1.s; rm -f $1.p; printf "\\nD%s\\n" "$w"; exit;;
state) s=runs; [ -s $1.s ] && s="ended $(cat $1.s)"
 [ -d $1.x ] && echo state $s $(wc -c < $1.o) $(wc -c < $1.e).;;
kill) for p in *.p; do [ -s "$p" ] && read -r n < "$p" && { kill -9 -$n || kill -9 $n; }
 done 2>/dev/null;;
drop) rm -rf "$1" "$1".*;;
esac
printf "\\nE%s %s.\\n" "$w" $?
"""


@dataclass(frozen=True, slots=True)
class ConsoleTools:
    """The directory on the board, and how bytes become text there and back."""

    directory: str
    encode: str
    decode: str
    checksum: str
    gzip: bool


class ConsoleFiles:
    """The files of one board, one thing at a time.

    Raises BoardUnusable when the board lacks what is needed, and BoardUnreachable when nothing
    gets through.
    """

    def __init__(self, link: Link, place: ConsoleTools | None = None) -> None:
        self.link = link
        self._piece = _PIECE_FIRST
        self._successes = 0
        self._pace = _SECONDS_A_KIB
        if place is None:
            place = _settle_in(link)
        elif not _OWN_PLACE.fullmatch(place.directory):
            raise ValueError("that is no place of ours")
        self.place = place

    def call(self, verb: str, *arguments: object, timeout: float = ANSWER_SECONDS) -> ConsoleResult:
        """One call of the script, put again until it is answered."""
        return self.link.patiently(
            f"'{verb}'", lambda: self._call(verb, *arguments, timeout=timeout)
        )

    def put(self, name: str, data: bytes) -> None:
        """Makes the file ``name`` in the board's directory with this content."""
        packed = b""
        if self.place.gzip and len(data) > _WORTH_PACKING:
            packed = gzip.compress(data, 6, mtime=0)
        for _ in range(_PUT_TRIES):
            if packed and len(packed) < len(data):
                damage = self._put_plain(f"{name}.gz", packed)
                damage = damage or self._seal("unpack", f"{name}.gz", name, data)
            else:
                damage = self._put_plain(name, data)
            if not damage:
                return
        raise BoardUnusable(
            f"{self.link.name}: a file of {len(data)} bytes did not arrive ({damage})",
            f"see whether {self.place.directory} there is full",
        )

    def get(self, name: str, size: int, begin: int = 0) -> bytes:
        """The content of a file from ``begin`` on, up to its size ``size``.

        Raises BoardUnusable when that is more than FILE_LIMIT.
        """
        if size - begin > FILE_LIMIT:
            raise BoardUnusable(
                f"{self.link.name}: {size} bytes are too much for the console",
                "ask for less, or give the board a network",
            )
        if self.place.gzip and begin == 0 and size > _WORTH_PACKING:
            packed = self._get_plain(f"{name}.z", self._packed(name, size), 0)
            return _unpacked(packed, size)
        return self._get_plain(name, size, begin)

    def drop(self, name: str) -> None:
        """Removes a file and what belongs to it."""
        self.call("drop", name)

    def remove(self) -> None:
        """Removes the directory."""
        directory = self.place.directory
        self.link.patiently("'rm'", lambda: self.link.ask(f"rm -rf {directory}"))

    def start(self, job: str, word: str) -> None:
        """Starts the command of ``job`` in the background; it says ``D<word>`` when it ends.

        Whether it was started is seen by ``state``; a second start of the same job does nothing.
        """
        self.link.write(b" (" + self._typed("run", word, job) + b" &)\n")

    def _packed(self, name: str, size: int) -> int:
        """Packs a file, and returns the size of that."""

        def once() -> int:
            answer = self._call("pack", name, f"{name}.z", timeout=_at_work(size))
            for line in reversed(answer.lines):
                if line.strip().isdecimal() and not answer.status:
                    return int(line)
            raise NoAnswer

        return self.link.patiently("'pack'", once)

    def _call(self, verb: str, *arguments: object, timeout: float) -> ConsoleResult:
        word = new_word()
        self.link.write(b" " + self._typed(verb, word, *arguments) + b"\n")
        return self.link.collect(word, timeout)

    def _typed(self, verb: str, word: str, *arguments: object) -> bytes:
        texts = [str(word) for word in arguments]
        if not all(map(_NAME.fullmatch, texts)):
            raise ValueError(f"not all of {texts} are names")
        length = len(" ".join([verb, word, *texts])) + (not texts)
        line = " ".join(["sh", f"{self.place.directory}/h", verb, word, str(length), *texts])
        return line.encode()

    def _put_plain(self, name: str, data: bytes) -> str:
        """Puts all pieces and joins them; what the board said if it is not whole then."""
        at = count = 0
        while at < len(data) or not count:
            at += self._adapting(partial(self._put_piece, f"{name}.{count}", data, at))
            count += 1
        return self._seal("join", name, count, data)

    def _put_piece(self, name: str, data: bytes, at: int) -> int:
        piece = data[at : at + self._piece]
        word = new_word()
        self.link.write(b" " + self._typed("put", word, name) + b"\n")
        try:
            self.link.await_line(f"R{word}")
            self.link.write(self._encoded(piece) + f".{word}\n\n".encode())
            answer = self.link.collect(word, self._seconds(len(piece)), begun=True)
        except NoAnswer:
            self.link.write(f"\n.{word}\n\n".encode())
            raise
        if not self._fits(answer, piece):
            raise Damaged
        return len(piece)

    def _get_plain(self, name: str, size: int, begin: int) -> bytes:
        content = bytearray()
        at = begin
        while at < size:
            piece = self._adapting(partial(self._get_piece, name, at, size))
            content += piece
            at += len(piece)
        return bytes(content)

    def _get_piece(self, name: str, at: int, size: int) -> bytes:
        skip = at // _BLOCK
        blocks = max(self._piece // _BLOCK, 1)
        wanted = min(size - skip * _BLOCK, blocks * _BLOCK)
        answer = self._call("get", name, skip, blocks, timeout=self._seconds(wanted))
        data = self._decoded(answer.lines[: self._checksum_at(answer.lines)])
        if len(data) < wanted or not self._fits(answer, data):
            raise Damaged
        return data[at - skip * _BLOCK : wanted]

    def _adapting(self, attempt: Callable[[], T]) -> T:
        """Tries with smaller and smaller pieces, then lets the next be larger."""

        def once() -> T:
            begun, size = time.monotonic(), self._piece
            try:
                done = attempt()
            except NoAnswer:
                self._successes = 0
                self._piece = max(self._piece // 2 // _BLOCK * _BLOCK, _BLOCK)
                raise
            seen = (time.monotonic() - begun) / size * 1024
            self._pace = min(max(_MARGIN * seen, _PACE_LEAST), _SECONDS_A_KIB)
            return done

        done = self.link.patiently("a piece of a file", once)
        self._successes += 1
        if self._successes % _GROW_AFTER == 0:
            self._piece = min(self._piece + max(self._piece // 2, _BLOCK), _PIECE_MOST)
            self._piece -= self._piece % _BLOCK
        return done

    def _seconds(self, size: int) -> float:
        """How long a piece may be on its way when nothing shows it: of ``put`` nothing is echoed.

        From how long others took; before that, as for a console of 9600 Bd.
        """
        return 1.0 + size / 1024 * self._pace

    def _encoded(self, data: bytes) -> bytes:
        if self.place.decode == "printf":
            lines = [data[i : i + _OCTAL_LINE] for i in range(0, len(data), _OCTAL_LINE)]
            return b"".join(b"".join(b"\\%03o" % byte for byte in line) + b"\n" for line in lines)
        lines = [data[i : i + _LINE] for i in range(0, len(data), _LINE)]
        return b"".join(base64.b64encode(line) + b"\n" for line in lines)

    def _decoded(self, lines: list[str]) -> bytes:
        texts = [line.strip() for line in lines]
        try:
            if self.place.encode == "od":
                return bytes.fromhex("".join(t for t in texts if _HEX.fullmatch(t)))
            encoded = "".join(t for t in texts if _BASE64.fullmatch(t))
            return base64.b64decode(encoded, validate=True)
        except (ValueError, binascii.Error):
            raise Damaged from None

    def _seal(self, verb: str, first: str, second: object, data: bytes) -> str:
        """Makes the file whole and compares its checksum; what the board said if it differs.

        The answer itself may be torn, so it is asked for more than once.
        """
        output = ""
        for _ in range(_SEAL_TRIES):
            answer = self.call(verb, first, second, timeout=_at_work(len(data)))
            if self._fits(answer, data):
                return ""
            output = " ".join(answer.lines[-2:]) or "nothing said"
        return output

    def _fits(self, answer: ConsoleResult, data: bytes) -> bool:
        """Whether the checksum in an answer is that of ``data``."""
        at = self._checksum_at(answer.lines)
        if at is None or answer.status:
            return False
        fields = answer.lines[at].split()
        if self.place.checksum == "cksum":
            return fields == [str(posix_cksum(data)), str(len(data))]
        return fields[0] == hashlib.md5(data, usedforsecurity=False).hexdigest()

    def _checksum_at(self, lines: list[str]) -> int | None:
        """Which line is the checksum: the last that looks like one."""
        form = _CKSUM if self.place.checksum == "cksum" else _MD5SUM
        matches = (i for i in reversed(range(len(lines))) if form.fullmatch(lines[i].strip()))
        return next(matches, None)


def _settle_in(link: Link) -> ConsoleTools:
    """Makes a private directory on the board and puts the script there."""
    tools = _tools(link)
    checksum = next((tool for tool in ("cksum", "md5sum") if _sums(link, tool, tools)), None)
    encode = next((tool for tool in ("base64", "openssl", "od") if tool in tools), None)
    decode = next((tool for tool in ("base64", "openssl") if tool in tools), "printf")
    if checksum is None or encode is None:
        raise BoardUnusable(
            f"{link.name}: nothing there makes text of a file, or a checksum of it",
            "the console needs cksum or md5sum, and base64, openssl or od; or a network",
        )
    place = ConsoleTools(_directory(link), encode, decode, checksum, "gzip" in tools)
    _put_script(link, place, tools)
    return place


def _tools(link: Link) -> set[str]:
    """Which of the programs are there. Each has to be answered for: a line may be torn."""
    present: dict[str, bool] = {}

    def ask() -> None:
        names = " ".join(name for name in _TOOLS if name not in present)
        question = f"for t in {names}; do command -v $t >/dev/null && echo +$t. || echo -$t.; done"
        answer = " ".join(link.ask(question).lines)
        for name in names.split():
            if f"+{name}." in answer or f"-{name}." in answer:
                present[name] = f"+{name}." in answer
        if len(present) < len(_TOOLS):
            raise Damaged

    link.patiently("the question for its programs", ask)
    return {name for name, there in present.items() if there}


def _sums(link: Link, tool: str, tools: set[str]) -> bool:
    """Whether it is there and works: a link to a BusyBox that was built without it is not rare."""
    if tool not in tools:
        return False
    files = ConsoleFiles(link, ConsoleTools(_NOWHERE, "", "", tool, False))
    for _ in range(_SEAL_TRIES):
        answer = link.patiently(f"'{tool}'", lambda: link.ask(f"printf abc | {tool}"))
        if files._fits(answer, b"abc"):
            return True
    return False


def _directory(link: Link) -> str:
    own = f"benchvise-console-{new_word()}"
    pattern = re.compile(rf"at (/[\w./-]{{1,200}}/{own})\.")
    question = (
        f'umask 077; k=0; for d in {" ".join(_PARENTS)}; do mkdir -p "$d/{own}" 2>/dev/null '
        f'&& echo > "$d/{own}/t" && k=1 && echo "at $d/{own}." && break; done; echo "found $k."'
    )

    def ask() -> str:
        lines = link.ask(question).lines
        match = next((match for line in lines if (match := pattern.search(line))), None)
        if match is None and not any("found 0." in line for line in lines):
            raise Damaged
        return match[1] if match else ""

    directory = link.patiently("the question for a directory", ask)
    if not directory:
        raise BoardUnusable(
            f"{link.name}: no directory there can be written", "mount a tmpfs on /tmp"
        )
    return directory


def _take(place: ConsoleTools, tools: set[str]) -> str:
    """What takes the lines of a piece, up to a dot and the word.

    A terminal gives one line a read, and sed takes at most one too many (BusyBox's looks ahead by
    one), which is sent empty. A shell reads byte by byte: on a small board ten times slower.
    """
    if "sed" in tools and place.decode != "printf":
        return 'sed -n "/^[.]$w/q;p"'
    line = 'printf "$l"' if place.decode == "printf" else 'echo "$l"'
    return f'while read -r l; do [ "$l" = ".$w" ] && break; {line}; done'


def _put_script(link: Link, place: ConsoleTools, tools: set[str]) -> None:
    """Types the script, some lines at a time, each time with the checksum."""
    encode = {"openssl": "openssl base64", "od": "od -An -v -tx1"}.get(place.encode, place.encode)
    decode = {"base64": "| base64 -d ", "openssl": "| openssl base64 -d "}.get(place.decode, "")
    filled = {
        "%STTY%": "stty" if "stty" in tools else ":",
        "%SETSID%": "setsid" if "setsid" in tools else "",
        "%TAKE%": _take(place, tools),
        "%DECODE%": decode,
        "%ENCODE%": encode,
        "%SUM%": place.checksum,
        "%BLOCK%": str(_BLOCK),
    }
    text = _SCRIPT
    for key, value in filled.items():
        text = text.replace(key, value)
    files = ConsoleFiles(link, place)
    lines = text.splitlines()
    directory = place.directory
    at = count = 0
    room = _TYPED_MOST

    def type_some() -> int:
        """As many lines as may be typed at once, fewer after each failure."""
        nonlocal room
        taken, size = [lines[at]], len(lines[at])
        while at + len(taken) < len(lines) and size + len(lines[at + len(taken)]) < room:
            size += len(lines[at + len(taken)])
            taken.append(lines[at + len(taken)])
        quoted = " ".join(f"'{line}'" for line in taken)
        name = f"{directory}/h.{count}"
        try:
            answer = link.ask(f"printf '%s\\n' {quoted} > {name}; {place.checksum} < {name}")
        except NoAnswer:
            room //= 2
            raise
        if not files._fits(answer, "".join(f"{line}\n" for line in taken).encode()):
            room //= 2
            raise Damaged
        return len(taken)

    while at < len(lines):
        at += link.patiently("the script for files", type_some)
        count += 1

    def join() -> None:
        answer = link.ask(
            f"n=0; while [ $n -lt {count} ]; do cat {directory}/h.$n; n=$((n+1)); done "
            f"> {directory}/h; {place.checksum} < {directory}/h"
        )
        if not files._fits(answer, text.encode()):
            raise NoAnswer

    link.patiently("the script for files", join)
    link.patiently("'rm'", lambda: link.ask(f"rm -f {directory}/h.* {directory}/t"))


def _at_work(size: int) -> float:
    """Seconds that a slow board may need to pack, unpack or sum so many bytes."""
    return 2.0 + size / _BYTES_A_SECOND


def _unpacked(packed: bytes, size: int) -> bytes:
    """``size`` bytes of gzip; more are not made, so that a few cannot become gigabytes."""
    inflate = zlib.decompressobj(wbits=31)
    try:
        data = inflate.decompress(packed, size + 1)
    except zlib.error as error:
        raise BoardUnusable(f"the board's gzip made something else ({error})") from error
    return data
