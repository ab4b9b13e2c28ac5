"""What ``benchvise signal capture`` does: a logic analyser, recording while something happens."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchvise.errors import CaptureError, Interrupted, UsageError
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
    Ctrl-C what was recorded is kept. CaptureError, UsageError; RigError for a rig's.
    """
    if not output.parent.is_dir():
        raise UsageError(f"{output}: there is no such directory", "make it first")
    unfinished = output.with_name(f".{output.name}.part")
    interrupted, code = False, None
    try:
        with (
            _reached(device, channels, board, rig_file) as analyser,
            Recorder(analyser, recording, unfinished) as recorder,
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
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
    return Captured(open_capture(output), code, interrupted)


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
        command = held.find_analyser()
        yield Analyser(command.words, command.prefix)


def _run(command: Sequence[str]) -> int:
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as error:
        raise CaptureError(f"{command[0]}: {error.strerror}", "name a program") from error
