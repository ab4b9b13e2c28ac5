"""What a mechanism predicts, computed from the case: in words, and where possible as a factor.

One function a prediction reads what it needs from the two snapshots, the metric and what was
counted, and puts it into one of the ``laws``. Nothing is fitted to the effect that was measured:
``mechanism`` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchvise.why import predictions_io as io
from benchvise.why import predictions_system as system
from benchvise.why.card_case import Case, Prediction

PREDICTIONS: Mapping[str, Callable[[Case], Prediction]] = {
    "zero_page": system.zero_page,
    "tlb_reach": system.tlb,
    "dram_clock": system.dram_clock,
    "governor_ramp": system.governor_ramp,
    "frequency_limit": system.frequency_limit,
    "cpu_count": system.cpu_count,
    "quota": system.quota,
    "idle_exit": system.idle_exit,
    "printk": system.printk,
    "timer_slack": system.timer_slack,
    "rt_throttling": system.rt_throttling,
    "clock_source": system.clock_source,
    "tick": system.tick,
    "read_ahead": io.read_ahead,
    "dirty_limit": io.dirty_limit,
    "mmc_bus": io.mmc_bus,
    "bandwidth_delay": io.bandwidth_delay,
    "queue_delay": io.queue_delay,
    "packets": io.packets,
    "coalescing": io.coalescing,
    "link_speed": io.link_speed,
    "pipe_capacity": io.pipe_capacity,
    "serial_batching": io.serial_batching,
}
