"""What a rig file gets by ``imports: [benchvise.rig.drivers]``: the strategy, a driver that
labgrid's own cannot stand in for, and the virtual bench's resource and drivers.
"""

from __future__ import annotations

from benchvise.rig.sdwire3 import LocalSDWire3Driver
from benchvise.rig.strategy import CardStrategy
from benchvise.rig.virtual.drivers import VirtualSDMux, VirtualSDMuxDriver, VirtualStorageDriver

__all__ = [
    "CardStrategy",
    "LocalSDWire3Driver",
    "VirtualSDMux",
    "VirtualSDMuxDriver",
    "VirtualStorageDriver",
]
