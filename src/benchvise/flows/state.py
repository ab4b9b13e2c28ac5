"""``benchvise snapshot`` and ``benchvise diff``: the state of boards, taken, kept and compared."""

from __future__ import annotations

import json
from pathlib import Path

from benchvise import __version__
from benchvise.board import full_name, open_board
from benchvise.board.channel import open_channel
from benchvise.documents import JsonObject, encode
from benchvise.errors import UsageError
from benchvise.output_files import write_output
from benchvise.state.diff import StateDiff, diff_snapshots
from benchvise.state.model import Snapshot, snapshot_of
from benchvise.state.snapshot import take_snapshot

FILE_LIMIT = 64 << 20
"""Bytes of a file that is looked at as a snapshot; real ones have under 2 MiB."""


CONTENT = "the snapshot"
"""What errors call the file that is written."""


def snapshot(board: str) -> Snapshot:
    """Takes a snapshot of the board of that name."""
    with open_board(board) as reached, open_channel(reached) as channel:
        return take_snapshot(reached, channel)


def document(taken: Snapshot) -> JsonObject:
    """A snapshot as a file holds it: the shape of every ``--json``."""
    return {"benchvise": __version__, "kind": "snapshot", "data": encode(taken)}


def write(taken: Snapshot, path: Path) -> None:
    """Writes a snapshot to a file, whole or not at all; OutputError when it cannot."""
    write_output(path, json.dumps(document(taken), indent=1) + "\n", CONTENT)


def diff(a: str, b: str, store_url: str | None) -> StateDiff:
    """Compares two snapshots, each a file, a board or a run of the store."""
    return diff_snapshots(resolve(a, store_url), resolve(b, store_url))


def resolve(reference: str, store_url: str | None) -> Snapshot:
    """The snapshot that a word of the command line means: a file's, a board's, or that before a
    run.

    Raises UsageError when it means nothing, and what taking or reading it raises.
    """
    if Path(reference).is_file():
        return read(Path(reference))
    if is_board(reference):
        return snapshot(reference)
    try:
        from benchvise.store import Store  # late: it takes longer than a snapshot's own words

        with Store.open(store_url) as store:
            taken = store.snapshot(reference)
    except UsageError as error:
        raise UsageError(
            f"'{reference}' is no file, no board and no run ({error.message})",
            "name a file of `benchvise snapshot BOARD -o FILE`, `local`, ssh://user@host, or a run",
        ) from error
    if taken is None:
        raise UsageError(
            f"the run {reference} was measured without recording the board's state",
            "measure again without --no-snapshot",
        )
    return taken


def read(path: Path) -> Snapshot:
    """The snapshot that a file holds; UsageError when it holds none."""
    try:
        if path.stat().st_size > FILE_LIMIT:
            raise ValueError(f"it has over {FILE_LIMIT >> 20} MiB")
        content = json.loads(path.read_text(encoding="utf-8"))
        data = content.get("data", content)
        return snapshot_of(data)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror})", "check its name and permissions"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path}: no snapshot ({_short(error)})",
            "take one: benchvise snapshot BOARD -o FILE",
        ) from error


def _short(error: Exception) -> str:
    word = f"no {error}" if isinstance(error, KeyError) else str(error)
    return word[:100] or type(error).__name__


def is_board(reference: str) -> bool:
    """Whether a word of the command line is of a board's form."""
    reference = full_name(reference)
    return reference == "local" or "://" in reference or reference.startswith(("rig:", "console:"))
