"""The boards that a command names: reached one by one, or held in a rig all at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.board import Board, full_name, open_board, register_kind
from benchvise.documents import JsonObject, encode
from benchvise.errors import BenchviseError, UsageError
from benchvise.rig.environment import PREFIX, Rig, find_rig_file, is_rig, load_rig

if TYPE_CHECKING:
    from benchvise.rig.hold.client import EventObserver

_ATTACHED_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Prepared:
    """How a board was brought to where it can be measured; empty for one that was there.

    ``about`` is kept with the run's plan (image, boot), ``files`` are kept with the run by name.
    """

    about: JsonObject = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    simulated: bool = False


def open_boards(
    names: Sequence[str],
    stack: ExitStack,
    *,
    rig_file: str | None = None,
    image: str | None = None,
    keep_on: bool = False,
    observe: EventObserver | None = None,
) -> tuple[list[tuple[Board, Prepared]], list[tuple[str, BenchviseError]]]:
    """Opens the boards, in their order; those of a rig are brought to their shells all at once.

    Returns the open ones, which ``stack`` closes, and those of a rig that failed with the reason.
    Raises when a board that is in no rig cannot be opened, or when none can.
    """
    rig, names = _expanded(names, rig_file)
    in_rig = [name.removeprefix(PREFIX) for name in names if is_rig(name)]
    if image is not None and not in_rig:
        raise UsageError("--image is written to cards of a rig", "name boards by rig:NAME")
    opened: dict[str, tuple[Board, Prepared]] = {}
    failed: list[tuple[str, BenchviseError]] = []
    for name in names:
        if not is_rig(name):
            opened[name] = (stack.enter_context(open_board(name)), Prepared())
    if rig is not None and in_rig:
        from benchvise.rig.hold.board import open_all  # late: most boards are in no rig

        brought = open_all(
            rig, in_rig, purpose=_purpose(), image=image, keep_on=keep_on, observe=observe
        )
        for name, board, error in brought:
            if board is not None:
                stack.enter_context(board)
                about = {"boot": encode(board.start.report)}
                if board.start.card is not None:
                    card = encode(board.start.card)
                    about |= {"image": card.pop("image"), "written": card}
                files = {"console": Path(board.start.report.console)}
                opened[board.name] = (board, Prepared(about, files, board.simulated))
            elif error is not None:
                failed.append((f"{PREFIX}{name}", error))
    if failed and not opened:
        raise failed[0][1] if len(failed) == 1 else _all_failed(failed)
    return [opened[name] for name in names if name in opened], failed


def read_end(path: Path) -> bytes:
    """A file's content, of a large one its end."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _ATTACHED_BYTES))
        return file.read(_ATTACHED_BYTES)


def _expanded(names: Sequence[str], rig_file: str | None) -> tuple[Rig | None, list[str]]:
    """Full names, with ``rig:all`` and ``rig:tag=…`` replaced by those of the boards, each once."""
    names = [full_name(name) for name in names]
    if not any(map(is_rig, names)):
        return None, list(names)
    rig = load_rig(find_rig_file(rig_file))
    expanded: dict[str, None] = {}
    for name in names:
        if is_rig(name):
            for board in rig.select([name.removeprefix(PREFIX)]):
                expanded[f"{PREFIX}{board}"] = None
        else:
            expanded[name] = None
    return rig, list(expanded)


def _purpose() -> str:
    import sys

    command = " ".join(Path(word).name if i == 0 else word for i, word in enumerate(sys.argv))
    return command[:200] or "benchvise"


def _all_failed(failed: Sequence[tuple[str, BenchviseError]]) -> BenchviseError:
    """The first error, which says that it was not the only one."""
    first = failed[0][1]
    names = ", ".join(name for name, _ in failed[1:])
    first.message = f"{first.message}; and {names} failed too"
    return first


def _open_rig_board(name: str) -> Board:
    from benchvise.rig.hold.board import open_board as open_rig_board

    return open_rig_board(name)


register_kind("rig", _open_rig_board)
