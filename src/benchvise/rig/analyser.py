"""The logic analyser of a board in a rig: a sigrok device among its resources."""

from __future__ import annotations

from typing import Any

import attr
from labgrid.driver import SigrokDriver

from benchvise.rig.faults import Fault, RigError


@attr.s(eq=False)
class AnalyserDriver(SigrokDriver):
    """labgrid's driver, asked how its analyser is reached, here or at an exporter.

    Its own ``stop`` makes a Python dictionary of each sample, which takes more memory than there
    is for a second of an analyser's.
    """

    def reached(self) -> dict[str, list[str]]:
        """Words that run a program where it is plugged in, and sigrok-cli with the device."""
        prefix = list(self.sigrok.command_prefix)
        return {"prefix": prefix, "words": self._get_sigrok_prefix()[len(prefix) :]}


def analyser_of(target: Any, name: str) -> dict[str, list[str]]:
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
    found: dict[str, list[str]] = driver.reached()
    return found
