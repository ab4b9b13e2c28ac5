"""This machine's turn: of the commands that measure boards on it, one goes on at a time.

Simulated boards and boards at an address of this machine take its CPUs as ``local`` does: what two
commands measure there at once is worth nothing, though each has boards of its own. One that waits
for the machine holds no board meanwhile, and one that has it may wait for boards, so that no two
commands wait for each other. The command keeps it until its last board is closed: the boards that
share the machine are measured in turn anyway, and nobody comes between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from benchvise.errors import BenchviseError
from benchvise.rig.environment import PREFIX, BoardRequest, Rig, is_rig
from benchvise.rig.faults import RigError
from benchvise.rig.sharing import on_this_machine

if TYPE_CHECKING:
    from benchvise.rig.hold.choice import Hold
    from benchvise.rig.hold.connection import EventObserver
    from benchvise.rig.locks import Holder

_TUNNEL = "one behind a tunnel is no board of this machine: name it in a rig file, with shares: []"


class MachineTurn:
    """The lock of this machine for a command, ``what``, until ``stack`` is closed."""

    def __init__(
        self, rig: Rig | None, stack: ExitStack, what: str, observe: EventObserver | None = None
    ) -> None:
        self._rig, self._stack, self._what, self._observe = rig, stack, what, observe
        self._is_taken = False

    def take_for(self, names: Sequence[str]) -> dict[str, BenchviseError]:
        """Takes it where one of these boards is on this machine, in turn with other commands.

        Where it is refused, returns those boards with the reason; raises RigError (board-busy) if
        no others are left.
        """
        here = on_this_machine(names, self._rig)
        if not here:
            return {}
        try:
            self._take(here)
        except RigError as error:
            if len(here) == len(names):
                raise
            return dict.fromkeys(here, error)
        return {}

    def choose(self, request: BoardRequest, *, measures: bool) -> list[Hold]:
        """Boards that are free, held until ``stack`` is closed; and if this ``measures``, with this
        machine where one is on it.

        Where the machine is in use, it is waited for without these boards: others are chosen then.
        """
        from benchvise.rig.hold.choice import choose, release  # late: labgrid

        assert self._rig is not None  # noqa: S101 - a request is one of a rig
        for waits in (False, True):
            chosen = choose(self._rig, request, self._what, self._observe)
            with ExitStack() as own:
                own.callback(release, chosen)
                here = on_this_machine([f"{PREFIX}{hold.name}" for hold in chosen], self._rig)
                try:
                    if here and measures:
                        self._take(here, wait_s=0.0)
                except RigError:
                    if waits:
                        raise
                else:
                    self._stack.push(own.pop_all())
                    return chosen
            self._take(here)
        raise AssertionError  # the second time, it is ours

    def _take(self, here: Sequence[str], *, wait_s: float | None = None) -> None:
        if self._is_taken:
            return
        from benchvise.rig import this_machine  # late: most boards are others
        from benchvise.rig.hold.messages import BoardAwaited

        def tell(holder: Holder) -> None:
            if self._observe is not None:
                self._observe(here[0], BoardAwaited(holder.what, holder.since))

        name = f"this machine, on which {here[0]} runs,"
        if here[0] == "local":
            name = "local (this machine)"
        try:
            self._stack.enter_context(this_machine.held(self._what, tell, name=name, wait_s=wait_s))
        except RigError as error:
            if here[0] != "local" and not is_rig(here[0]):
                error.remedy = f"{error.remedy}; {_TUNNEL}"
            raise
        self._is_taken = True
