"""A board: measured, recorded, set and restored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchvise.api.results import StoredRun
from benchvise.board import full_name, open_board
from benchvise.board.channel import open_channel
from benchvise.configuration import default_store
from benchvise.errors import MeasurementError, UsageError
from benchvise.flows import run as flow
from benchvise.flows import settings, state
from benchvise.flows.request import RunRequest, UserCommand
from benchvise.flows.settings import Reached
from benchvise.measure.plan import PROCESSES, Plan
from benchvise.measure.runner import Event
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.knobs import parse_setting_requests
from benchvise.state.model import Snapshot
from benchvise.state.roles import find_roles
from benchvise.store import Store


class BoardHandle:
    """A board by its name: ``local``, ``ssh://user@host``, ``rig:NAME``. Reached when asked."""

    def __init__(self, name: str = "local", *, store: str | None = None) -> None:
        self.name = full_name(name)
        self.store_url = store or default_store()

    def __repr__(self) -> str:
        return f"<board {self.name}>"

    def run(
        self,
        *,
        suite: str | None = None,
        bench: Sequence[str] | str = (),
        command: str | None = None,
        params: Sequence[str] = (),
        set: Sequence[str] | str = (),  # noqa: A002 - as the option
        label: str = "",
        processes: int = PROCESSES,
        batches: int | None = None,
        snapshots: bool = True,
    ) -> StoredRun:
        """Measures the board and keeps the run, as ``benchvise run`` does; the quick suite by
        default.

        Raises UsageError, BoardUnreachable, ProbeError; MeasurementError where a series failed:
        what was measured is in the store then. One combination of settings at a time.
        """
        request = RunRequest(
            boards=(self.name,),
            suite=suite,
            benches=(bench,) if isinstance(bench, str) else tuple(bench),
            command=None if command is None else UserCommand(command),
            params=tuple(params),
            settings=(set,) if isinstance(set, str) else tuple(set),
            label=label,
            processes=processes,
            batches=batches,
            snapshots=snapshots,
        )
        with Store.open(self.store_url) as store:
            ended = flow.run(request, store, _ignore)
            if len(ended) != 1:
                raise UsageError(
                    f"these settings make {len(ended)} runs, all in the store",
                    "measure one combination of values at a time",
                )
            (result,) = ended
            if result.error is not None:
                raise result.error
            if result.failures:
                raise MeasurementError(result.failures[0], f"the rest is in run {result.run_id}")
            return StoredRun(store.load(result.run_id), self.store_url)

    def snapshot(self) -> Snapshot:
        """The board's state, as ``benchvise snapshot`` records it."""
        return state.snapshot(self.name)

    @contextmanager
    def setting(self, knob: str, value: str) -> Iterator[None]:
        """Within this context the board has this setting; afterwards what it had before.

        Journalled as for ``run --set``: ``benchvise restore`` puts it back should this process be
        killed. UsageError and SettingError where it cannot be set.
        """
        requests = parse_setting_requests([f"{knob}={value}"])
        with deferred(), open_board(self.name) as board, open_channel(board) as channel:
            reached = [Reached(board, channel, find_roles(channel).roles)]
            (combination,) = settings.combinations(requests, reached)
            with settings.applied_to_all(combination, reached), let_through():
                yield


Board = BoardHandle
"""As ``bv.Board``; the protocol ``benchvise.board.Board`` is what is opened."""


def _ignore(_board: str, _plan: Plan, _event: Event) -> None:
    """Nobody watches."""
