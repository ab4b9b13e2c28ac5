"""What boards share, so that measuring one disturbs another.

It is declared in the rig file, or found out: simulated boards and addresses of this machine, boards
at one address, and a power budget that not all of them fit. Two names of one host that is not this
machine are not found out, nor what lies between: a switch, a USB hub, a jump host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from benchvise.board.address import numeric_address, parse_ssh
from benchvise.board.ssh import configured_host
from benchvise.errors import BenchviseError
from benchvise.rig.environment import PREFIX, SIMULATED, Rig, is_rig

THIS_MACHINE = "this machine"


def shared_by(names: Sequence[str], rig: Rig | None) -> dict[str, frozenset[str]]:
    """What each board shares with whoever has the same."""
    addresses = _addresses(names, rig) | _places(names, rig)
    budget = _over_budget(names, rig)
    return {
        name: _own(name, rig, addresses) | budget.get(name.removeprefix(PREFIX), frozenset())
        for name in names
    }


def on_this_machine(names: Sequence[str], rig: Rig | None) -> list[str]:
    """Those that run on this machine, which others there disturb; of places of a coordinator, as
    far as the rig file says."""
    addresses = _addresses(names, rig)
    return [name for name in names if THIS_MACHINE in _own(name, rig, addresses)]


def _own(name: str, rig: Rig | None, addresses: Mapping[str, str]) -> frozenset[str]:
    if rig is not None and is_rig(name):
        board = name.removeprefix(PREFIX)
        declared = rig.targets[board].shares
        if declared is not None:
            return declared
        if SIMULATED in rig.features[board]:
            return frozenset({THIS_MACHINE})
        return _of_host(addresses.get(board, ""))
    if name == "local":
        return frozenset({THIS_MACHINE})
    with suppress(BenchviseError):  # it says so itself when it is opened
        return _of_host(configured_host(parse_ssh(name)))
    return frozenset()


def _addresses(names: Sequence[str], rig: Rig | None) -> dict[str, str]:
    """The addresses of the rig's boards that its file says."""
    if rig is None:
        return {}
    boards = [name.removeprefix(PREFIX) for name in names if is_rig(name)]
    return {name: service.address for name in boards if (service := rig.targets[name].service)}


def _places(names: Sequence[str], rig: Rig | None) -> dict[str, str]:
    """The addresses of boards that only their places say, read all at once."""
    if rig is None:
        return {}
    boards = [name.removeprefix(PREFIX) for name in names if is_rig(name)]
    unknown = [
        name
        for name in boards
        if name in rig.places and not rig.targets[name].service and rig.targets[name].shares is None
    ]
    if not unknown:
        return {}
    from benchvise.rig.hold.network import place_states  # late: it starts labgrid

    addresses = {}
    with suppress(BenchviseError):  # the boards themselves say that the coordinator is missing
        states = place_states(rig)
        for name in unknown:
            state = states.get(rig.places[name])
            if state is not None and state.service is not None:
                addresses[name] = state.service.address
    return addresses


def _of_host(host: str) -> frozenset[str]:
    from benchvise.rig.boot.address import is_this_machine

    if not host:
        return frozenset()
    address = numeric_address(host)
    if host == "localhost" or (address is not None and is_this_machine(address)):
        return frozenset({THIS_MACHINE})
    return frozenset({f"the host {address or host}"})


def _over_budget(names: Sequence[str], rig: Rig | None) -> dict[str, frozenset[str]]:
    """The boards that cannot all be on at the same time."""
    if rig is None or rig.options.budget_w is None:
        return {}
    watts = {
        board: rig.targets[board].watts
        for name in names
        if is_rig(name) and rig.targets[board := name.removeprefix(PREFIX)].watts > 0
    }
    if sum(watts.values()) <= rig.options.budget_w:
        return {}
    budget = f"the power budget of {rig.options.budget_w:g} W"
    return {board: frozenset({budget}) for board in watts}
