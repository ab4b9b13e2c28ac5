"""What ``benchvise signal capture`` does: a logic analyser, recording while something happens."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchvise.errors import CaptureError, Interrupted
from benchvise.output_files import OutputTarget
from benchvise.rig.environment import PREFIX, find_rig_file, load_rig
from benchvise.signal.capture import Capture
from benchvise.signal.reading import open_capture
from benchvise.signal.recording import Analyser, Recorder, Recording, local_analyser


@dataclass(frozen=True, slots=True)
class Captured:
    """What was recorded, and how the command that ran meanwhile ended."""

    capture: Capture
    exit_code: int | None
    interrupted: bool


def record(
    output: Path,
    recording: Recording,
    *,
    device: str | None,
    channels: str | None,
    board: str | None,
    rig_file: str | None,
    command: Sequence[str],
    observe: Callable[[], None] = lambda: None,
) -> Captured:
    """Records with an analyser of this machine, or with that of a board of the rig.

    With a ``command`` of this machine until that ends; ``observe`` is told when samples come. On
    Ctrl-C what was recorded is kept. CaptureError, OutputError, UsageError; RigError for a rig's.
    """
    interrupted, code = False, None
    target = OutputTarget(output, "the capture")
    with target.draft() as draft:
        with (
            _reached(device, channels, board, rig_file) as analyser,
            Recorder(analyser, recording, draft) as recorder,
        ):
            try:
                recorder.started()
                observe()
                if command:
                    code = _run(command)
                    recorder.end()
                else:
                    recorder.wait()
            except (KeyboardInterrupt, Interrupted):
                interrupted = True
                recorder.end()
        # What goes to a device or a FIFO cannot be read there afterwards.
        passed_on = None if target.replaced else replace(open_capture(draft), path=output)
    return Captured(passed_on or open_capture(output), code, interrupted)


@contextmanager
def _reached(
    device: str | None, channels: str | None, board: str | None, rig_file: str | None
) -> Iterator[Analyser]:
    if board is None:
        yield local_analyser(device or "", channels)
        return
    from benchvise.rig.hold.client import HeldBoard  # labgrid takes its time to be imported

    rig = load_rig(find_rig_file(rig_file))
    # Only looked at: somebody else may boot it meanwhile, which is what one wants to record.
    with HeldBoard(rig, board.removeprefix(PREFIX), "") as held:
        found = held.request("analyser")
        yield Analyser(tuple(found["words"]), tuple(found["prefix"]))


def _run(command: Sequence[str]) -> int:
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as error:
        raise CaptureError(f"{command[0]}: {error.strerror}", "name a program") from error
