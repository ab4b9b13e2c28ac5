"""From the rig file to labgrid's objects for one board: its strategy, its logic analyser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attr
from labgrid.driver import SigrokDriver

from benchvise.errors import UsageError
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold.messages import AnalyserCommand

STRATEGY = "CardStrategy"


def open_target(path: Path, name: str) -> Any:
    """The board's CardStrategy with everything that it binds; nothing is activated yet.

    UsageError when the rig file does not describe the board in a way that labgrid and the
    strategy accept; RigError when a program or a coordinator that it needs is not there.
    """
    from labgrid.binding import BindingError
    from labgrid.environment import Environment
    from labgrid.exceptions import (
        InvalidConfigError,
        NoDriverFoundError,
        NoSupplierFoundError,
        RegistrationError,
    )

    import benchvise.rig.drivers  # noqa: F401 - registers ours, also for files without `imports`

    try:
        environment = Environment(str(path))
        target = environment.get_target(name)
    except (NoDriverFoundError, NoSupplierFoundError) as error:
        raise UsageError(
            f"{path}: {name}: a driver lacks what it is for ({_message(error)})",
            "name it among the board's resources and drivers, before the driver that uses it",
        ) from error
    except (
        InvalidConfigError,
        BindingError,
        RegistrationError,
        ImportError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        raise UsageError(
            f"{path}: {name}: labgrid refuses it ({_message(error)})",
            "compare with `examples/rigs`; a driver stands below those that it uses",
        ) from error
    except Exception as error:
        # Drivers start programs when they are made, and a RemotePlace asks its coordinator.
        raise RigError(
            Fault.RIG_BROKEN,
            f"{name}: labgrid cannot set it up ({_message(error)})",
            "see whether the programs, the coordinator and the exporter that it needs are there",
        ) from error

    if target is None:
        raise UsageError(f"{path}: there is no board '{name}'")
    try:
        return target.get_driver(STRATEGY, activate=False)
    except NoDriverFoundError as error:
        raise UsageError(
            f"{path}: {name} has no {STRATEGY}", f"add `{STRATEGY}: {{}}` to its drivers"
        ) from error


def _message(error: BaseException) -> str:
    """The message of an exception of labgrid's, and of what caused it."""
    message = str(getattr(error, "msg", "") or error)
    return f"{message}: {error.__cause__}" if error.__cause__ is not None else message


@attr.s(eq=False)
class AnalyserDriver(SigrokDriver):
    """labgrid's driver, asked how its analyser is reached, here or at an exporter.

    Its own ``stop`` makes a Python dictionary of each sample, which takes more memory than there
    is for a second of an analyser's.
    """

    def command(self) -> AnalyserCommand:
        """How a program is run where it is plugged in, and sigrok-cli with the device."""
        prefix = tuple(self.sigrok.command_prefix)
        return AnalyserCommand(prefix, tuple(self._get_sigrok_prefix()[len(prefix) :]))


def analyser_of(target: Any, name: str) -> AnalyserCommand:
    """How the analyser of the board is reached.

    RigError when the rig file describes none, or more than one that could be meant.
    """
    from labgrid.exceptions import NoSupplierFoundError

    make: Any = AnalyserDriver  # attrs and mypy do not agree on what it takes
    try:
        driver = make(target, None)
    except NoSupplierFoundError as error:
        raise RigError(
            Fault.RIG_BROKEN,
            f"{name} has no logic analyser in the rig file",
            "add it to the resources: `SigrokUSBDevice: {driver: fx2lafw, channels: 'D0=IN'}`",
        ) from error
    target.activate(driver)
    command: AnalyserCommand = driver.command()
    return command
