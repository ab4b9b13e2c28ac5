"""``benchvise health``: how a board is."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from benchvise.board.channel import open_channel
from benchvise.errors import UsageError
from benchvise.flows.boards import open_boards
from benchvise.health.judging import Judgement, judge
from benchvise.health.reading import read
from benchvise.health.sensors_config import BYTES, SensorsConfig, parse


def health(board: str, sensors: Path | None = None, rig: str | None = None) -> Judgement:
    """Reads a board and judges what was read; ``sensors`` takes the place of its sensors3.conf.

    A board of a rig is brought to its shell, by the rig file that is named or the usual one.
    """
    config = None if sensors is None else sensors_config(sensors)
    with ExitStack() as stack:
        [(reached, _)], _ = open_boards([board], stack, rig_file=rig)
        channel = stack.enter_context(open_channel(reached))
        return judge(read(reached, channel, config=config))


def sensors_config(path: Path) -> SensorsConfig:
    """The configuration in a file of this machine. Raises UsageError, also for one that is wrong:
    whoever names a file wants to know."""
    try:
        if path.stat().st_size > BYTES:
            raise UsageError(f"{path}: it has over {BYTES >> 20} MiB", "name a sensors3.conf")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror})", "check its name and permissions"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path}: no text", "name a sensors3.conf") from error
    config = parse({path.name: text})
    if config.errors:
        raise UsageError(config.errors[0], "correct that line; see sensors.conf(5)")
    return config
