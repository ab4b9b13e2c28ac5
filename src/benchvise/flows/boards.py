"""The boards that a command names: reached one by one, or held in a rig all at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from benchvise.board import Board, full_name, open_board, register_kind
from benchvise.documents import JsonObject, encode
from benchvise.errors import BenchviseError, UsageError
from benchvise.flows.boots import reported_boots
from benchvise.rig.environment import (
    PREFIX,
    BoardRequest,
    Rig,
    find_rig_file,
    is_rig,
    load_rig,
)
from benchvise.rig.machine_turn import MachineTurn
from benchvise.text import printable

if TYPE_CHECKING:
    from benchvise.rig.hold.board import RigBoard
    from benchvise.rig.hold.choice import Hold
    from benchvise.rig.hold.connection import EventObserver
    from benchvise.rig.hold.messages import BoardEvent

_ATTACHED_BYTES = 8 << 20
_LINE = 200


@dataclass(frozen=True, slots=True)
class Prepared:
    """How a board was brought to where it can be measured; empty for one that was there.

    ``about`` is kept with the run's plan (image, boot), ``files`` are kept with the run by name.
    """

    about: JsonObject = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class NamedBoards:
    """The boards that a command names, each once, in order; ``rig`` is read where one is of it.

    ``holds`` are those of the rig that were chosen because they were free, and are held already;
    ``refused`` are those on this machine while another command measures there, with the reason.
    """

    names: tuple[str, ...]
    rig: Rig | None = None
    holds: Mapping[str, Hold] = field(default_factory=dict)
    refused: Mapping[str, BenchviseError] = field(default_factory=dict)

    def some(self, names: Sequence[str]) -> Self:
        """Those of them alone."""
        return replace(self, names=tuple(names))

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        rig_file: str | None,
        stack: ExitStack,
        observe: EventObserver | None = None,
        *,
        measures: bool = True,
    ) -> Self:
        """Full names, with ``rig:all`` and ``rig:tag=…`` replaced by those of the boards, and
        ``rig:any=…`` and ``rig:N=…`` by those that are free, which ``stack`` releases.

        Of boards on this machine, one command at a time has them that ``measures``; others may look
        on. The machine is taken before any board, so that nobody waits for it who holds one.
        """
        names = [full_name(name) for name in names]
        rig = load_rig(find_rig_file(rig_file)) if any(map(is_rig, names)) else None
        selected = [_selected(name, rig) for name in names]
        machine = MachineTurn(rig, stack, command_line(), observe)
        fixed = [name for some in selected if not isinstance(some, BoardRequest) for name in some]
        refused = machine.take_for(fixed) if measures else {}
        expanded: dict[str, None] = {}
        holds: dict[str, Hold] = {}
        for some in selected:
            if not isinstance(some, BoardRequest):
                expanded.update(dict.fromkeys(some))
                continue
            chosen = machine.choose(some, measures=measures)
            holds |= {hold.name: hold for hold in chosen}
            expanded.update((f"{PREFIX}{hold.name}", None) for hold in chosen)
        return cls(tuple(expanded), rig, holds, refused)


def _selected(name: str, rig: Rig | None) -> list[str] | BoardRequest:
    """The boards that a name names, or what one has to have that is to be chosen."""
    if rig is None or not is_rig(name):
        return [name]
    selector = name.removeprefix(PREFIX)
    request = BoardRequest.parse(selector)
    if request is not None and selector not in rig.features:
        return request
    return [f"{PREFIX}{board}" for board in rig.select([selector])]


def open_boards(
    names: Sequence[str],
    stack: ExitStack,
    *,
    rig_file: str | None = None,
    image: str | None = None,
    keep_on: bool = False,
    measures: bool = True,
    observe: EventObserver | None = None,
) -> tuple[list[tuple[Board, Prepared]], list[tuple[str, BenchviseError]]]:
    """Opens the boards, as ``open_named`` does, to be measured unless ``measures`` is False."""
    named = NamedBoards.of(names, rig_file, stack, observe, measures=measures)
    return open_named(named, stack, image=image, keep_on=keep_on, observe=observe)


def open_named(
    named: NamedBoards,
    stack: ExitStack,
    *,
    image: str | None = None,
    keep_on: bool = False,
    observe: EventObserver | None = None,
) -> tuple[list[tuple[Board, Prepared]], list[tuple[str, BenchviseError]]]:
    """Opens the boards, in their order; those of a rig are brought to their shells all at once.

    Returns the open ones, which ``stack`` closes, and those that failed with the reason. Raises
    when none can be opened, and for a name that is wrong.
    """
    names = [name for name in named.names if name not in named.refused]
    in_rig = [name.removeprefix(PREFIX) for name in names if is_rig(name)]
    if image is not None and not any(map(is_rig, named.names)):
        raise UsageError("--image is written to cards of a rig", "name boards by rig:NAME")
    opened: dict[str, tuple[Board, Prepared]] = {}
    failed = [(name, named.refused[name]) for name in named.names if name in named.refused]
    for name in names:
        if not is_rig(name):
            try:
                opened[name] = (stack.enter_context(open_board(name)), Prepared())
            except UsageError:
                raise
            except BenchviseError as reason:
                failed.append((name, reason))
    if named.rig is not None and in_rig:
        from benchvise.rig.hold.board import open_all  # late: most boards are in no rig

        with reported_boots(None, command_line()):
            brought = open_all(
                named.rig,
                in_rig,
                purpose=command_line(),
                image=image,
                keep_on=keep_on,
                observe=observe,
                holds=named.holds,
            )
        for name, board, error in brought:
            if board is not None:
                stack.enter_context(board)
                opened[board.name] = (board, _prepared(board))
            elif error is not None:
                failed.append((f"{PREFIX}{name}", error))
    if failed and not opened:
        raise all_failed(failed)
    return [opened[name] for name in named.names if name in opened], failed


def observe_waits(tell: Callable[[str], None]) -> EventObserver:
    """What tells a line where a board is waited for, and nothing of what else happens."""
    from benchvise.rig.hold.messages import BoardAwaited  # late: most commands wait for nothing

    def observe(name: str, event: BoardEvent) -> None:
        if isinstance(event, BoardAwaited):
            tell(f"{name}: in use: {printable(event.what, _LINE)}; waiting")

    return observe


def _prepared(board: RigBoard) -> Prepared:
    if board.start is None:
        return Prepared(simulated=board.simulated)
    about = {"boot": encode(board.start.report)}
    if board.start.card is not None:
        card = encode(board.start.card)
        about |= {"image": card.pop("image"), "written": card}
    files = {"console": Path(board.start.report.console)}
    return Prepared(about, files, board.simulated)


def read_end(path: Path) -> bytes:
    """A file's content, of a large one its end."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _ATTACHED_BYTES))
        return file.read(_ATTACHED_BYTES)


def command_line() -> str:
    """The command that this process is, as others see it who want a board."""
    import sys

    command = " ".join(Path(word).name if i == 0 else word for i, word in enumerate(sys.argv))
    return command[:200] or "benchvise"


_NAMED = 5


def all_failed(failed: Sequence[tuple[str, BenchviseError]]) -> BenchviseError:
    """The first error, which says that it was not the only one."""
    first = failed[0][1]
    others = [name for name, _ in failed[1:]]
    names = ", ".join(others[:_NAMED])
    if len(others) > _NAMED:
        names += f" and {len(others) - _NAMED} more"
    if others:
        first.message = f"{first.message}; and {names} failed too"
    return first


def _open_rig_board(name: str) -> Board:
    from benchvise.rig.hold.board import open_board as open_rig_board

    with reported_boots(None, command_line()):
        return open_rig_board(name)


register_kind("rig", _open_rig_board)
