"""Data rates of the CC1100, CC1101 and CC2500 radios, and which register value explains one.

R = (256 + DRATE_M) * 2^DRATE_E / 2^28 * f_XOSC, with DRATE_E in the low four bits of MDMCFG4
(register 0x10) and DRATE_M in MDMCFG3 (0x11): CC1101 data sheet (SWRS061), section 12.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchvise.documents import computed
from benchvise.errors import UsageError

CRYSTALS = {"cc1100": 26e6, "cc1101": 26e6, "cc2500": 26e6}
"""The usual crystal of each, in Hz; 27 MHz is allowed too."""


@dataclass(frozen=True, slots=True)
class DataRate:
    """A pair of registers and the rate that they set, in baud."""

    mdmcfg4: int
    mdmcfg3: int
    rate: float

    @property
    def exponent(self) -> int:
        """DRATE_E."""
        return self.mdmcfg4 & 15

    def __str__(self) -> str:
        return f"MDMCFG4 0x{self.mdmcfg4:02x}, MDMCFG3 0x{self.mdmcfg3:02x}"


@dataclass(frozen=True, slots=True)
class RegisterComparison:
    """What was set, what was measured, and which registers would give that.

    ``agrees`` is whether the rate set lies within the tolerance of the one measured.
    ``by_mantissa`` keeps MDMCFG4 as set and has the MDMCFG3 that fits, ``by_exponent`` keeps
    MDMCFG3; None where none fits within the tolerance. ``nearest`` is the best of all.
    """

    wanted: DataRate
    measured: float
    agrees: bool
    by_mantissa: DataRate | None
    by_exponent: DataRate | None
    nearest: DataRate

    @computed.before("wanted")
    def off(self) -> float:
        """Measured to set, minus one."""
        return self.measured / self.wanted.rate - 1.0


def data_rate(mdmcfg4: int, mdmcfg3: int, crystal: float) -> DataRate:
    """The rate that two registers set; UsageError for what no register holds."""
    for name, value in (("MDMCFG4", mdmcfg4), ("MDMCFG3", mdmcfg3)):
        if not 0 <= value <= 255:
            raise UsageError(f"{name} {value} is no byte", "write it as 0x8a")
    rate = (256 + mdmcfg3) * 2.0 ** (mdmcfg4 & 15) / 2.0**28 * crystal
    return DataRate(mdmcfg4, mdmcfg3, rate)


def compare_registers(
    wanted: DataRate, measured: float, crystal: float, tolerance: float
) -> RegisterComparison:
    """Compares a measured rate in baud with what the registers should give.

    ``tolerance`` is relative: of the crystal, of the sampling clock, and of the measurement.
    """

    def fits(rate: DataRate) -> bool:
        return abs(measured / rate.rate - 1.0) <= tolerance

    high = wanted.mdmcfg4 & 0xF0
    mantissas = [data_rate(wanted.mdmcfg4, m, crystal) for m in range(256)]
    exponents = [data_rate(high | e, wanted.mdmcfg3, crystal) for e in range(16)]
    every = [data_rate(high | e, m, crystal) for e in range(16) for m in range(256)]

    def best(rates: list[DataRate]) -> DataRate:
        return min(rates, key=lambda rate: abs(measured / rate.rate - 1.0))

    by_mantissa, by_exponent = best(mantissas), best(exponents)
    return RegisterComparison(
        wanted,
        measured,
        fits(wanted),
        by_mantissa if fits(by_mantissa) else None,
        by_exponent if fits(by_exponent) else None,
        best(every),
    )
