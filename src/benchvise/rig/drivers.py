"""What a rig file gets by ``imports: [benchvise.rig.drivers]``: the strategy, a driver that
labgrid's own cannot stand in for, and the virtual bench's resource and drivers.
"""

from __future__ import annotations

import attr
from labgrid.driver import USBSDWire3Driver
from labgrid.driver.common import Driver
from labgrid.factory import target_factory

from benchvise.rig.strategy import CardStrategy
from benchvise.rig.virtual.drivers import VirtualSDMux, VirtualSDMuxDriver, VirtualStorageDriver

__all__ = [
    "CardStrategy",
    "LocalSDWire3Driver",
    "VirtualSDMux",
    "VirtualSDMuxDriver",
    "VirtualStorageDriver",
]


@target_factory.reg_driver
@attr.s(eq=False)
class LocalSDWire3Driver(USBSDWire3Driver):
    """SDWire3 on this machine: the stock driver, which looks for its device when it is activated.

    labgrid 26's USBSDWire3Driver wants the serial number of the SDWire3 when it is made. udev
    tells the number of a device of this machine later, and the file may not give one either: so
    the stock driver works for exported devices only.
    """

    def __attrs_post_init__(self) -> None:
        Driver.__attrs_post_init__(self)  # and not that of the stock driver
        config = self.target.env.config if self.target.env else None
        self.tool = config.get_tool("sdwire") if config else "sdwire"
        self.control_serial = ""

    def on_activate(self) -> None:
        """Finds the device in what the program lists."""
        self.control_serial = self.match_control_serial()
