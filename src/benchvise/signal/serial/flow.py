"""Flow control of serial lines, apart from the port: captures and logs are judged by it too, and
they are read where there is no such port (``port`` takes calls of Linux).
"""

from __future__ import annotations

from enum import StrEnum

XON, XOFF = 0x11, 0x13


class Flow(StrEnum):
    """How a sender is told to wait."""

    NONE = "none"
    XONXOFF = "xonxoff"
    RTSCTS = "rtscts"
