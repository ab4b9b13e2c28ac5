"""Making what a board says comparable: small functions from a text to JSON data, by their names in
the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from benchvise.state.normalise import devices, fdt, kernel, network, programs, storage, values
from benchvise.state.roles import DeviceNames


@dataclass(frozen=True, slots=True)
class Normaliser:
    """A function that makes what a board says comparable.

    It takes ``text``, ``bytes`` or ``data`` (of a fact), with the board's names where
    ``with_names`` is set, and returns JSON data. What it cannot make sense of is a ValueError.
    ``keeps_raw`` is set where the text says more than the value, as the choices do that are not
    active.
    """

    function: Callable[..., Any]
    takes: Literal["text", "bytes", "data"] = "text"
    with_names: bool = False
    keeps_raw: bool = False

    def apply(self, content: Any, names: DeviceNames) -> Any:
        """The value; ValueError when there is none in it."""
        return self.function(content, names) if self.with_names else self.function(content)


NORMALISERS: dict[str, Normaliser] = {
    "text": Normaliser(values.text),
    "first_line": Normaliser(values.first_line),
    "lines": Normaliser(values.lines),
    "config_lines": Normaliser(values.config_lines),
    "integer": Normaliser(values.integer),
    "vector": Normaliser(values.vector),
    "frequencies": Normaliser(values.frequencies),
    "size": Normaliser(values.size),
    "bracket": Normaliser(values.bracket, keeps_raw=True),
    "word_set": Normaliser(values.word_set),
    "comma_list": Normaliser(values.comma_list),
    "presence": Normaliser(values.presence),
    "cpu_list": Normaliser(values.cpu_list),
    "cpu_mask": Normaliser(values.cpu_mask, keeps_raw=True),
    "colon_table": Normaliser(values.colon_table),
    "equals_table": Normaliser(values.equals_table),
    "space_table": Normaliser(values.space_table),
    "pressure": Normaliser(values.pressure),
    "loadavg": Normaliser(values.loadavg),
    "uptime": Normaliser(values.uptime),
    "stat_cpu": Normaliser(values.stat_cpu),
    "stat_totals": Normaliser(values.stat_totals),
    "buddyinfo": Normaliser(values.buddyinfo),
    "cpuinfo": Normaliser(devices.cpuinfo),
    "interrupts": Normaliser(devices.interrupts, with_names=True),
    "irq_threads": Normaliser(programs.irq_threads, takes="data", with_names=True),
    "command_line": Normaliser(kernel.command_line, with_names=True),
    "kernel_config": Normaliser(kernel.kernel_config, takes="bytes"),
    "modules": Normaliser(kernel.modules),
    "features": Normaliser(kernel.features),
    "preemption": Normaliser(kernel.preemption),
    "consoles": Normaliser(kernel.consoles),
    "cgroups": Normaliser(kernel.cgroups),
    "crypto": Normaliser(kernel.crypto),
    "mounts": Normaliser(storage.mounts, with_names=True),
    "file_systems": Normaliser(storage.file_systems),
    "network_mounts": Normaliser(storage.network_mounts),
    "swaps": Normaliser(storage.swaps, with_names=True),
    "disk_stat": Normaliser(storage.disk_stat),
    "ext4_header": Normaliser(storage.ext4_header),
    "hdparm": Normaliser(storage.hdparm),
    "smart": Normaliser(storage.smart),
    "softnet": Normaliser(network.softnet),
    "snmp": Normaliser(network.snmp),
    "qdiscs": Normaliser(network.qdiscs, takes="data"),
    "boot_entries": Normaliser(programs.boot_entries),
    "routes": Normaliser(network.routes, keeps_raw=True),
    "fixed_neighbours": Normaliser(network.fixed_neighbours),
    "routing_rules": Normaliser(network.routing_rules, keeps_raw=True),
    "filter_rules": Normaliser(network.filter_rules),
    "wifi_devices": Normaliser(network.wifi_devices),
    "wifi_link": Normaliser(network.wifi_link),
    "clk_summary": Normaliser(devices.clk_summary),
    "tty_driver": Normaliser(devices.tty_driver),
    "throttled": Normaliser(devices.throttled),
    "cells": Normaliser(devices.cells, takes="bytes"),
    "strings": Normaliser(devices.strings, takes="bytes"),
    "device_tree": Normaliser(fdt.device_tree, takes="bytes"),
    "processes": Normaliser(programs.processes, takes="data"),
    "libc_banner": Normaliser(programs.libc_banner),
    "glibc_hwcaps": Normaliser(programs.glibc_hwcaps),
    "systemd_timers": Normaliser(programs.systemd_timers),
    "systemd_blame": Normaliser(programs.systemd_blame),
    "kernel_log": Normaliser(kernel.kernel_log, takes="data"),
    "firmware_lines": Normaliser(kernel.firmware_lines, takes="data"),
}
