"""Which device a line of the kernel log is about, where its rule does not take it out itself.

The kernel names devices in few ways: in front of the text (``driver device: ``), behind the name of
a file system (``EXT4-fs (sda1): ``), or in the text as ``device sda1``. The most certain is tried
first.
"""

from __future__ import annotations

import re

_DISK = (
    r"(?:[hsv]d[a-z]{1,3}\d{0,3}|xvd[a-z]\d{0,3}|nvme\d+(?:c\d+)?(?:n\d+(?:p\d+)?)?"
    r"|mmcblk\d+(?:boot\d|rpmb|p\d+)?|(?:dm-|md|loop|ram|zram|nbd|mtdblock|sr)\d+(?:p\d+)?|fd\d(?![\w.])"
    r"|mapper/[\w.-]{1,40})"
)
_NUMBERED = (
    r"(?:ata\d+|mmc\d+|usb\d+(?:-port\d+)?|hci\d+|v?x?can\d+|eth\d+|en[opsx]\w{1,12}|end\d+"
    r"|wlan\d+|wl[opx]\w{1,12}|phy\d+|ubi\d+(?:[:_]\d+)?|mtd\d+|hwmon\d+|thermal_zone\d+"
    r"|watchdog\d+|spi\d+(?:\.\d+)?|i2c-\d+|tty[A-Z]\w{0,8}\d+|cpu\s?\d+|rtc\d+|host\d+"
    r"|target\d+(?::\d+)*|regulator\.\d+|video\d+|card\d+|remoteproc\d+|tpm\d+|input\d+"
    r"|gpiochip\d+|tap\d+|tun\d+|br\d+|bond\d+|ppp\d+|rpmsg\d+|iio:device\d+)"
)
# On a bus: 0000:01:00.0, 0:0:0:0, 1-1.4:1.0, 1-003c, 1-1.4, fe300000.mmc, coretemp.0, mmc@7e300000,
# soc:gpu, stmmac-0:01
_ON_BUS = (
    r"(?:[\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.[\da-f]|\d+:\d+:\d+:\d+"
    r"|\d{1,3}-(?:0|\d+(?:\.\d+)*):\d+\.\d+|\d{1,3}-[\da-f]{4}|\d{1,3}-\d+(?:\.\d+)*(?:-port\d+)?"
    r"|[\da-f]{4,16}\.[\w@:-]{1,40}|[\w-]{2,40}\.\d{1,3}(?:\.auto)?|[\w-]{1,30}@[\da-f]{1,16}"
    r"|(?:soc|platform|firmware|axi|amba|i2c|spi)[\w@-]{0,30}:[\w@:.-]{1,60}"
    r"|[\w-]{2,30}-\d:[\da-f]{2})"
)
_FIND = tuple(
    re.compile(pattern)
    for pattern in (
        # the disk below a file system of several: BTRFS error (device sda1): bdev /dev/sdb errs:
        rf"^BTRFS .{{0,80}}(?:\bbdev|\bon) (?:/dev/)?(?P<device>{_DISK})\b",
        # file systems: EXT4-fs error (device sda1), XFS (sda1), UBIFS error (ubi0:0 pid 1)
        rf"^[\w .-]{{2,30}}? \((?:device )?(?P<device>{_DISK}|ubi\d+[:_]\d+|\d{{1,3}}:\d{{1,3}})"
        r"(?:\)| |[:-])",
        # a disk of SCSI: sd 0:0:0:0: [sda]
        rf"^\w{{2,8}} \d+:\d+:\d+:\d+: \[(?P<device>{_DISK})\]",
        # a network port behind its driver and bus: r8169 0000:03:00.0 eth0:
        r"^[\w.-]{1,40} \S{1,60} (?P<device>[a-z][\w.-]{1,14}\d[\w.-]{0,4})(?: \([^)]{1,20}\))?: ",
        # driver device: text
        rf"^[\w.+-]{{1,40}}(?: [\w.+-]{{1,20}})? (?P<device>{_ON_BUS}|{_NUMBERED}|{_DISK}):",
        rf"^(?P<device>{_ON_BUS}|{_NUMBERED}|{_DISK})(?:\.\d{{1,2}})?(?: \w{{1,10}})?: ",
        # in the text
        r"\b(?:on |for )?(?:dev(?:ice)?|disk|bdev|partition|array)[ =:]{1,2}(?:/dev/)?"
        rf"(?P<device>{_DISK})\b",
        rf"(?:^|[\s(\[\"'])/dev/(?P<device>{_DISK}|[a-z]\w{{1,20}}\d)\b",
        rf"\b(?:on|for) (?P<device>{_DISK})(?:-\d+)?(?![\w.])",
        # by its place on the bus: Request device [02:00.0], device=0000:02:00.0
        r"\bdevice[ =]\[?(?P<device>(?:[\da-f]{4}:)?[\da-f]{2}:[\da-f]{2}\.[\da-f])\b",
        rf"(?:^|: )(?P<device>{_NUMBERED}|{_DISK}|\S{{1,30}}:(?P<array>md\d+))(?:\.\d{{1,2}})?: ",
        rf"^\S{{1,40}}: (?P<device>{_ON_BUS})(?:: |$)",
        # the driver alone, where it names no device: EDAC i7core:, brcmfmac4:
        r"^(?:EDAC (?P<edac>\w{1,12})|(?P<device>[a-z][\w-]{1,30}\d)): ",
        # a CPU, a clock or a reserved area of memory in the text
        r"\b[Cc]locksource:? '?(?P<device>[a-z]\w{1,20})'? (?:as unstable|is not|unstable)",
        r"\b(?P<device>(?:CPU|cpu)[ #]?\d{1,4})\b(?! PID)",
        r"^cma: \w{1,30}: (?P<device>[\w@.,-]{1,40}): ",
    )
)


# _set_opp_voltage, mmc_wait_for_cmd(), bch_count_io_errors(): where a line is from, not about what
_FUNCTION = re.compile(
    r"_\w+|\w+\(\)|[a-z]\w*_(?:set|get|enable|disable|init|probe|read|write|wait|send|recv|start"
    r"|stop|check|handle|request|config|update|irq|isr|interrupt|work|alloc)(?:_\w+)?"
)


def is_function(name: str) -> bool:
    """Whether a name is a function of the kernel, which drivers write before what they say."""
    return _FUNCTION.fullmatch(name.rstrip(": ")) is not None


def plain_device(name: str) -> str:
    """A device without its driver or bus in front: ``eth0`` of ``fe300000.ethernet eth0``."""
    name = name.rstrip(": ")
    return name if name[:3].lower() == "cpu" else name.rpartition(" ")[2]


def device_of(text: str) -> str:
    """The device that a line is about as the kernel calls it; "" where it names none."""
    for pattern in _FIND:
        match = pattern.search(text)
        if match is not None:
            names = match.groupdict()
            return names.get("array") or names.get("edac") or names["device"] or ""
    return ""
