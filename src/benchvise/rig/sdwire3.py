"""SDWire3 on this machine.

labgrid 26's USBSDWire3Driver wants the serial number of the SDWire3 when it is made. A device of
this machine is told its number by udev, later, and may not be given one in the file either: so the
driver works for exported devices only. This one asks when it is activated, the device being there.
"""

from __future__ import annotations

import attr
from labgrid.driver import USBSDWire3Driver
from labgrid.driver.common import Driver
from labgrid.factory import target_factory


@target_factory.reg_driver
@attr.s(eq=False)
class LocalSDWire3Driver(USBSDWire3Driver):
    """The stock driver, which looks for its device when it is activated."""

    def __attrs_post_init__(self) -> None:
        Driver.__attrs_post_init__(self)  # and not that of the stock driver
        config = self.target.env.config if self.target.env else None
        self.tool = config.get_tool("sdwire") if config else "sdwire"
        self.control_serial = ""

    def on_activate(self) -> None:
        """Finds the device in what the program lists."""
        self.control_serial = self.match_control_serial()
