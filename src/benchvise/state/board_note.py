"""A note on the board itself of what is set on it, so that every user and host sees it.

A journal is on the disk of one host and belongs to one user. A session that changes a board also
leaves a copy of its journal there, in ``/run/benchvise-settings``: who, from where, since when,
which files, their old values. Whoever finds the note of another session sets nothing. Like what it
tells of, it does not outlive a boot.

The note is one file, which comes to be whole or not at all::

    benchvise-settings 1 TOKEN PID PROGRAM       for the shell: the session, its probe's process
    {"record": "maker", "user", "host"}
    the lines of the journal
    benchvise-settings end

The probe's process says whether the session goes on: it ends with the connection to it. A script
on the board writes and reads the note; it needs mkdir, ls, id, cat, mv and rm, as ``deploy`` does.
Only a directory that root or the user owns, and nobody else may write, is believed.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchvise.board.protocol import Board
from benchvise.errors import BoardUnusable, SettingError, UsageError
from benchvise.state.journal import Journal, JournalSession, parse_session, state_directory
from benchvise.text import last_line, printable

DIRECTORY_VARIABLE = "BENCHVISE_BOARD_NOTES"
_DIRECTORY = "/run/benchvise-settings"

_FORMAT = "benchvise-settings 1"
_END = "benchvise-settings end"
_SIZE_LIMIT = 1 << 20  # bytes; of real ones a kilobyte or two
_SHOWN = 3
_IDENTITY = "host-id"


@dataclass(frozen=True, slots=True)
class BoardNote:
    """A session that has settings of the board, as its note there tells it.

    ``alive``: its probe still runs on the board. ``user`` and ``host`` are what the session said
    of itself. ``session`` has no changes when it was only about to set something; its ``damage``
    says why the note cannot be understood.
    """

    token: str
    alive: bool
    user: str
    host: str
    session: JournalSession

    @property
    def maker(self) -> str:
        """Whose settings these are: ``ann@desk, process 4711``."""
        return f"{self.user}@{self.host}, process {self.session.pid}"

    @property
    def what(self) -> str:
        """What is set, with the values before."""
        named = {change.knob: change for change in self.session.changes if change.new is not None}
        texts = [
            f"{name} (was {printable(change.old, 40)})" for name, change in sorted(named.items())
        ]
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        return ", ".join(texts[:_SHOWN]) + more or "nothing yet"

    def refusal(self, board: str) -> SettingError:
        """Why nothing is set on the board meanwhile, and what to do."""
        since = self.session.started[:16].replace("T", " ")
        if self.session.damage:
            return SettingError(
                f"{board}: the note of what is set there cannot be read ({self.session.damage})",
                f"see what is changed there, then remove {self.session.file} on the board",
            )
        if self.alive:
            probe = self.session.probe
            return SettingError(
                f"{board}: {self.maker}, has set {self.what} since {since} UTC",
                "wait until that has ended"
                + (f"; its probe there is process {probe[0]}" if probe else ""),
            )
        return SettingError(
            f"{board}: {self.what} was set by {self.maker}, at {since} UTC and is not put back; "
            "its connection to the board has ended",
            f"restore it there (benchvise restore), or here: benchvise restore {board} --take-over",
        )


class BoardNotes:
    """The note of one board: claimed before anything is set, released when all is as before.

    Every method raises BoardUnreachable and BoardUnusable as ``Board.run`` does.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._directory = directory()
        self._token = ""
        self.reason = ""
        """Why the board has no note of this session although it was to have one."""

    def claim(self, journal: Journal, boot_id: str, probe: tuple[int, str] | None) -> None:
        """Leaves the note of a session that is about to set something.

        SettingError when the board has the note of another session. Where a note cannot be left,
        ``reason`` says why, and other users and hosts do not see what is set.
        """
        if self._board.kind == "console":
            self.reason = "the board is reached by its console, which has room for one session"
            return
        token = session_token(journal.file)
        replaced = ""
        for _ in range(3):  # what is of no use any more is replaced, unless another was faster
            answer = self._run("claim", token, replaced, text=_content(token, probe, journal))
            if answer[0] == "unavailable":
                self.reason = answer[1]
                return
            if answer[0] == "made":
                self._token = token
                return
            other = self._note(answer)
            if other.session.boot_id != boot_id and boot_id and not other.session.damage:
                replaced = other.token  # the boot has put everything back
            elif _is_leftover(other.token) and not other.alive:
                replaced = other.token
            else:
                raise other.refusal(self._board.name)
        raise other.refusal(self._board.name)

    def update(self, journal: Journal, probe: tuple[int, str] | None) -> None:
        """Has the note tell what the journal tells now."""
        if not self._token:
            return
        answer = self._run("update", self._token, text=_content(self._token, probe, journal))
        if answer[0] != "made":
            self.reason = f"{answer[1] or answer[0]}, so that it does not tell the old values"

    def release(self) -> None:
        """Removes the note of this session, if it is there."""
        if self._token:
            self._run("release", self._token)
            self._token = ""

    def find(self) -> BoardNote | None:
        """The note that is there; None where none is, or none can be."""
        if self._board.kind == "console":
            return None
        answer = self._run("look", "")
        return self._note(answer) if answer[0] == "held" else None

    def remove(self, token: str) -> None:
        """Removes the note of a session that has ended."""
        self._run("release", token)

    def _note(self, answer: Sequence[str]) -> BoardNote:
        file = Path(self._directory) / "note"
        head, _, rest = answer[2].partition("\n")
        fields = head.split(" ", 4)
        first, _, lines = rest.partition("\n")
        whole = lines.endswith(f"{_END}\n")
        try:
            if " ".join(fields[:2]) != _FORMAT or len(fields) != 5:
                raise ValueError("its first line is not of this format")
            if not whole:
                raise ValueError("its end is missing")
            maker = json.loads(first)
            user, host = (printable(str(maker[key]), 40) for key in ("user", "host"))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            damaged = JournalSession(file, damage=printable(str(error), 80))
            token = fields[2] if len(fields) > 2 else ""
            return BoardNote(token, answer[1] == "alive", "unknown", "unknown", damaged)
        session = replace(
            parse_session(file, lines.removesuffix(f"{_END}\n").encode()),
            alive=answer[1] == "alive",
        )
        return BoardNote(fields[2], answer[1] == "alive", user, host, session)

    def _run(self, action: str, token: str, replaced: str = "", *, text: str = "") -> list[str]:
        """The status of an action, the reason for it, and the note where it is held."""
        command = [action, self._directory, token, replaced]
        result = self._board.run(["sh", "-c", _SCRIPT, "sh", *command], input=text.encode())
        if len(result.stdout) > _SIZE_LIMIT:
            raise BoardUnusable(
                f"{self._board.name}: the note of what is set there is over 1 MiB",
                f"look at {self._directory} on the board",
            )
        output = result.stdout.decode("utf-8", "replace")
        line, _, note = output.partition("\n")
        status, _, reason = line.partition(" ")
        if status not in ("made", "unavailable", "held", "none", "released", "other"):
            why = last_line(result.stderr) or printable(output, 80) or f"exit {result.returncode}"
            return ["unavailable", f"{self._directory}: {why}", ""]
        return [status, printable(reason, 200), note]


def directory() -> str:
    """Where notes are on boards; UsageError when BENCHVISE_BOARD_NOTES is not absolute."""
    chosen = os.environ.get(DIRECTORY_VARIABLE, "") or _DIRECTORY
    if not chosen.startswith("/") or not chosen.isprintable():
        raise UsageError(
            f"{DIRECTORY_VARIABLE}: '{chosen}' is not an absolute path",
            f"name a directory of the board, such as {_DIRECTORY}",
        )
    return chosen


def session_token(journal: Path) -> str:
    """What the note of a journal's session is known by, on all boards."""
    return f"{_host_identity()}-{journal.stem}"


def _is_leftover(token: str) -> bool:
    """Whether a note is of this user and host, whose journals have nothing of it any more."""
    own = f"{_host_identity()}-"
    stem = token.removeprefix(own)
    return token.startswith(own) and not (state_directory() / f"{stem}.jsonl").exists()


def _host_identity() -> str:
    """A random identifier of this user's journals on this host, kept in their directory.

    The host's name is part of it, as a copied system brings the file along.
    """
    file = state_directory() / _IDENTITY
    with contextlib.suppress(OSError):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(secrets.token_hex(6))
    try:
        identity = file.read_text(encoding="ascii")
    except (OSError, ValueError):
        identity = ""
    name = "".join(letter for letter in socket.gethostname() if letter.isalnum())
    return f"{identity if identity.isalnum() else '0'}-{name[:40]}"


def _content(token: str, probe: tuple[int, str] | None, journal: Journal) -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    pid, program = probe or (0, "-")
    maker = json.dumps({"record": "maker", "user": user, "host": socket.gethostname()})
    return f"{_FORMAT} {token} {pid} {program}\n{maker}\n{journal.content()}{_END}\n"


# Arguments: action, directory, token, the token of a note that may be replaced. What is put there
# comes as input. A link makes the note with its content in one step; where there is no `ln`, the
# shell makes it, and whoever reads it half written finds it damaged, which refuses as well.
_SCRIPT = r"""
LC_ALL=C; export LC_ALL; umask 022; set -f
action=$1 dir=$2 token=$3 replaced=$4 note=$2/note part=$2/part.$$
uid=$(id -u) || exit
believed() {
  set -- $(ls -ldn "$dir" 2>/dev/null)
  case $1 in d????-??-*) ;; *) return 1;; esac
  [ "$3" = 0 ] || [ "$3" = "$uid" ]
}
owner() {
  owner= pid= program=
  { read -r _ _ owner pid program; } 2>/dev/null < "$1"
}
held() {
  owner "$note"
  state=gone
  case $pid in ""|0|*[!0-9]*) ;; *)
    line=$({ tr "\0" " " || cat; } 2>/dev/null < "/proc/$pid/cmdline")
    case $line in *"${program:-/}"*) state=alive;; esac
  esac
  echo "held $state"
  cat "$note"
}
# What is to be the note comes as input, whose end may be that of a session that was killed: then
# all stays as it is.
take() {
  said=$({ cat > "$part"; } 2>&1) || return
  last=
  while read -r line; do last=$line; done < "$part"
  [ "$last" = "benchvise-settings end" ] || { said="it did not come whole"; return 1; }
}
make() {
  if command -v ln >/dev/null 2>&1; then ln "$part" "$note"; else
    (set -C; cat "$part" > "$note")
  fi
}
case $action in
look)
  if believed && [ -f "$note" ]; then held; else echo none; fi;;
claim)
  said=$(mkdir "$dir" 2>&1)
  [ -d "$dir" ] || { echo "unavailable" $said; exit; }
  believed || { echo "unavailable $dir may be written by others"; exit; }
  if [ -f "$note" ] && [ -n "$replaced" ]; then
    owner "$note"
    if [ "$owner" = "$replaced" ] && mv -f "$note" "$part.old" 2>/dev/null; then
      owner "$part.old"
      if [ "$owner" = "$replaced" ]; then rm -f "$part.old"; else mv "$part.old" "$note"; fi
    fi
  fi
  take || {
    rm -f "$part" 2>/dev/null
    if [ -f "$note" ]; then held; else echo "unavailable" $said; fi
    exit
  }
  said=$(make 2>&1); status=$?
  rm -f "$part"
  if [ $status = 0 ]; then echo made
  elif [ -f "$note" ]; then held
  else echo "unavailable" $said; fi;;
update)
  owner "$note"
  [ "$owner" = "$token" ] || { echo "other it belongs to another session"; exit; }
  take && said=$(mv -f "$part" "$note" 2>&1) && echo made || {
    rm -f "$part" 2>/dev/null
    echo "unavailable" $said
  };;
release)
  owner "$note"
  [ "$owner" = "$token" ] || { echo other; exit; }
  rm -f "$note" && rmdir "$dir" 2>/dev/null
  echo released;;
esac
"""
