"""Looking at the processes of a command, as an arm has them: does the experiment count?

The first time that a suspect is flipped on a side, the command is run once more for it, followed by
the probe, which is no trial. What the processes were given is held against two runs on the board as
it is (``experiments.verification``).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from benchvise.board.channel import NotAvailable, ProbeChannel
from benchvise.board.messages import ProcessMessage
from benchvise.errors import ProbeError, UsageError
from benchvise.measure.model import SeriesSpec
from benchvise.measure.runner import attribute_words
from benchvise.why.bench import ArmRefused
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.experiments.verification import Baseline, verify
from benchvise.why.model import Arm, Finding, Grade, Side

LONGEST_S = 60.0
"""A command that takes longer is not run once more for this."""

_TIMES = 3.0  # what it takes otherwise, after which a run is ended
_LEAST_S = 10.0
_GRACE_S = 30.0
_RUNS = 2


class OtherChange(ArmRefused):
    """Something that no flip is meant to change differs: by the arm, or by somebody else since the
    command was looked at on the board as it is (a login, a file system that was mounted)."""


class ProcessChecks:
    """The checks of one diagnosis. ``is_command`` and a privilege to follow are needed; without
    them nothing is checked, which ``findings`` says."""

    def __init__(self) -> None:
        self._baselines: dict[Side, tuple[int, Baseline]] = {}
        self._valid: set[tuple[Side, str]] = set()
        self._impossible: dict[Side, str] = {}

    def prepare(self, side: Side, board: LiveBoard, spec: SeriesSpec, usual_s: float) -> None:
        """Runs the command on the board as it is, where that was not done in this boot.

        Raises BoardUnreachable and ProbeError when contact is lost.
        """
        if not board.is_command or side in self._impossible:
            return
        if usual_s > LONGEST_S:
            self._impossible[side] = f"a run takes {usual_s:.0f} s"
            return
        boots, _ = self._baselines.get(side, (-1, None))
        if boots == board.boots:
            return
        try:
            runs = [_processes(board.channel, spec, {}, usual_s) for _ in range(_RUNS)]
            self._baselines[side] = board.boots, Baseline.of(runs)
        except (NotAvailable, UsageError, ProbeError, ValueError) as error:
            if not board.channel.is_open:
                raise
            self._impossible[side] = str(error)

    def forget(self, side: Side) -> None:
        """The next ``prepare`` looks at the board anew."""
        self._baselines.pop(side, None)

    def check(
        self,
        arm: Arm,
        board: LiveBoard,
        spec: SeriesSpec,
        attributes: Mapping[str, str],
        usual_s: float,
    ) -> None:
        """Raises ArmRefused where the arm, which is made, is not what was meant; OtherChange where
        that may be somebody else's doing.

        Raises BoardUnreachable and ProbeError when contact is lost.
        """
        if arm.side not in self._baselines or arm.side in self._impossible:
            return
        if all((arm.side, suspect.id) in self._valid for suspect in arm.flipped):
            return
        with suppress(NotAvailable, UsageError):  # the trial meets it too, and says whose it is
            processes = _processes(board.channel, spec, attributes, usual_s)
            if processes:
                self._judge(arm, processes)

    def _judge(self, arm: Arm, processes: tuple[ProcessMessage, ...]) -> None:
        verification = verify(arm, self._baselines[arm.side][1], processes)
        if verification.is_valid:
            self._valid.update((arm.side, suspect.id) for suspect in arm.flipped)
            return
        if verification.unreached:
            ids = [suspect.id for suspect in verification.unreached]
            raise ArmRefused(verification.reason, "", ids)
        raise OtherChange(verification.reason, "", arm.ids if len(arm.flipped) == 1 else ())

    def findings(self) -> list[Finding]:
        """Why experiments were not checked, where they were not."""
        reasons = dict.fromkeys(self._impossible.values())
        return [
            Finding("experiments not checked", Grade.NOTES, "the processes of the command were "
                    "not looked at while settings were flipped", reason)
            for reason in reasons
        ]  # fmt: skip


def _processes(
    channel: ProbeChannel, spec: SeriesSpec, attributes: Mapping[str, str], usual_s: float
) -> tuple[ProcessMessage, ...]:
    """The processes of one run of the command, each as it was just before it ended."""
    limit_s = max(_LEAST_S, _TIMES * usual_s)
    words = ["follow", "--run", dict(spec.params)["run"], "--show", "state"]
    words += ["--limit_ms", str(round(limit_s * 1000)), *attribute_words(attributes)]
    messages = channel.request(words, silence_timeout=limit_s + _GRACE_S)
    return tuple(message for message in messages if isinstance(message, ProcessMessage))
