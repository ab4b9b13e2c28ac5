"""What a rig file gets by ``imports: [benchvise.rig.drivers]``: the strategy, and the virtual
bench's resource and drivers.
"""

from __future__ import annotations

from benchvise.rig.strategy import CardStrategy
from benchvise.rig.virtual.drivers import VirtualSDMux, VirtualSDMuxDriver, VirtualStorageDriver

__all__ = ["CardStrategy", "VirtualSDMux", "VirtualSDMuxDriver", "VirtualStorageDriver"]
