"""Classes of mistakes that an examination of ``health --log`` found, on lines of the same formats.

A class is more than its line: each case has others that the same mistake would have hit.
"""

from __future__ import annotations

import pytest
from test_kernel_log import CORPUS
from test_kernel_log_formats import ROWS, filled

from benchvise.kernel_log import LogEvents, classify, log_rules
from benchvise.kernel_log.rules import Severity

WARNING, FAILING = Severity.WARNING, Severity.FAILING


@pytest.mark.parametrize(
    "line",
    [
        # what a part can do
        "pcieport 0000:00:02.4: DPC: enabled with IRQ 47",
        "pcieport 0000:00:02.4: DPC: error containment capabilities: Int Msg #3, RPExt-",
        "pcieport 0000:00:02.4: AER: enabled with IRQ 48",
        # how the kernel was started
        "Kernel command line: root=/dev/sda2 oops=panic hung_task_panic=1 fault=error",
        'Unknown kernel command line parameters "BOOT_IMAGE=/error crash=timeout", will be passed',
        "Booting paravirtualized kernel with error on bare hardware",
        # a port before its first link
        "IPv6: ADDRCONF(NETDEV_UP): wlan0: link is not ready",
        "eth1: link is not ready",
        # counts of nothing
        "ubi1: good PEBs: 4096, bad PEBs: 0, corrupted PEBs: 0",
        "jffs2: notice: (77) jffs2_build_xattr_subsystem: complete building xattr subsystem, 2 of "
        "xdatum (0 unchecked, 1 orphan) and 3 of xref (1 dead, 0 orphan) found.",
        "foo 1-0050: self test: errors: 0",
        "BTRFS info (device sdc1): bdev /dev/sdd errs: wr 0, rd 0, flush 0, corrupt 0, gen 0",
        # what the board itself asked for
        "wlan1: deauthenticating from 02:00:00:00:00:0a by local choice (Reason: 3=LEAVING)",
        # the factory's bad blocks
        "nand_read_bbt: bad block at 0x000002f40000",
        "Bad eraseblock 12 at 0x000000180000",
        "ubi1: good PEBs: 4090, bad PEBs: 6, corrupted PEBs: 0",
    ],
)
def test_what_is_said_at_every_boot_is_no_alarm(line: str) -> None:
    match = classify(line)
    assert match is None or match.rule.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("line", "rule", "severity", "device"),
    [
        # beside those that are no alarm: the same parts when something happened
        (
            "pcieport 0000:00:02.4: DPC: containment event, status:0x1f01 source:0x0000",
            "aer-uncorrected",
            FAILING,
            "0000:00:02.4",
        ),
        ("ubi1: good PEBs: 4090, bad PEBs: 0, corrupted PEBs: 3", "ubi-warning", WARNING, "ubi1"),
        ("ubi1: mark PEB 12 as bad", "ubi-warning", WARNING, "ubi1"),
        ("nvme nvme1: I/O 7 QID 0 timeout, completion polled", "nvme-timeout", WARNING, "nvme1"),
        # names of drivers against addresses and other drivers
        ("v3d fec04000.v3d: Resetting GPU for hang.", "gpu", WARNING, "fec04000.v3d"),
        ("fec 30be0000.ethernet eth0: MDIO read timeout", "phy", WARNING, "eth0"),
        ("xilinx-vdma ena00000.dma: Reset timeout", "dma", FAILING, "ena00000.dma"),
        (
            "am65-cpsw-nuss 8000000.ethernet: DMA engine init fail",
            "net-device",
            WARNING,
            "8000000.ethernet",
        ),
        ("Bluetooth: hci1: command 0x2003 tx timeout", "bluetooth", WARNING, "hci1"),
        ("Bluetooth: hci1: Opcode 0x2003 failed: -110", "bluetooth", WARNING, "hci1"),
        (
            "igc 0000:04:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Data Link Layer",
            "aer-uncorrected",
            FAILING,
            "0000:04:00.0",
        ),
        (
            "igc 0000:04:00.0: AER: aer_status: 0x00001000, aer_mask: 0x00002000",
            "aer-corrected",
            WARNING,
            "0000:04:00.0",
        ),
        ("refcount_t: saturated; leaking memory.", "kernel-bug", FAILING, ""),
        ("refcount_t: addition on 0; use-after-free.", "kernel-bug", FAILING, ""),
        # the device, by older and newer kernels
        (
            "NETDEV WATCHDOG: lan3 (dsa): transmit queue 2 timed out",
            "netdev-watchdog",
            FAILING,
            "lan3",
        ),
        (
            "NETDEV WATCHDOG: CPU: 1: eth2 (macb): transmit queue 0 timed out 5120 ms",
            "netdev-watchdog",
            FAILING,
            "eth2",
        ),
        (
            "igc 0000:04:00.0 enp4s0: NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out 5120 ms",
            "netdev-watchdog",
            FAILING,
            "enp4s0",
        ),
        (
            "cpu cpu6: _set_opp_voltage: failed to set voltage (1 1 1 mV): -22",
            "regulator-refused",
            WARNING,
            "cpu6",
        ),
        ("tty ttyAMA2: 9 input overrun(s)", "serial-overrun", WARNING, "ttyAMA2"),
        (
            "BTRFS error (device sdc1): bdev /dev/sdd errs: wr 2, rd 0, flush 0, corrupt 0, gen 0",
            "fs-error",
            FAILING,
            "sdd",
        ),
        ("watchdog: Watchdog detected hard LOCKUP on cpu 5", "hard-lockup", FAILING, "cpu 5"),
        (
            "mce: [Hardware Error]: CPU 6: Machine Check: 0 Bank 1: be0000",
            "machine-check",
            FAILING,
            "CPU 6",
        ),
        ("tsc: Marking clocksource 'hpet' as unstable", "clocksource", WARNING, "hpet"),
        (
            "DMAR: [DMA Write NO_PASID] Request device [00:1f.2] fault addr 0x7000",
            "dma",
            FAILING,
            "00:1f.2",
        ),
        (
            "JBD2: Error -5 detected when updating journal superblock for sdb2-8.",
            "fs-error",
            FAILING,
            "sdb2",
        ),
        ("usb 2-1-port4: cannot reset (err = -110)", "usb-address", FAILING, "2-1-port4"),
        (
            "INFO: task kworker/u4:0:31 blocked for more than 241 seconds.",
            "hung-task",
            WARNING,
            "kworker/u4:0",
        ),
        (
            "cma: cma_alloc: linux,cma: alloc failed, req-size: 4 pages, ret: -16",
            "page-allocation",
            WARNING,
            "linux,cma",
        ),
        # missed
        ("BUG dentry (Tainted: G        W): Poison overwritten", "kernel-bug", FAILING, "dentry"),
        (
            "kernel tried to execute NX-protected page - exploit attempt? (uid: 100)",
            "oops-execute",
            FAILING,
            "",
        ),
        (
            "md/raid:md5: raid level 5 active with 2 out of 3 devices, algorithm 2",
            "raid",
            FAILING,
            "md5",
        ),
        ("md/raid10:md6: active with 11 out of 12 devices", "raid", FAILING, "md6"),
        ("Memory cgroup out of memory and no killable processes...", "oom-nobody", FAILING, ""),
        (
            "foo_mod: version magic '6.1.1 ' should be '6.6.2 '",
            "module-refused",
            WARNING,
            "foo_mod",
        ),
        ("mmc2: card 59b4 removed", "mmc-reset", WARNING, "mmc2"),
        ("mmc2: running CQE recovery", "mmc-reset", WARNING, "mmc2"),
        (
            "Micrel KSZ9031 stmmac-1:03: Downshift occurred from negotiated speed 1Gbps to 100Mbps",
            "phy-slower",
            WARNING,
            "stmmac-1:03",
        ),
        ("br1: received packet on lan2 with own address as source", "net-loop", WARNING, "br1"),
        (
            "IPv6: eth1: IPv6 duplicate address fe80::9 used by 02:00:00:00:00:09 detected!",
            "net-duplicate",
            WARNING,
            "eth1",
        ),
        ("rtc-rv3028 2-0052: Voltage low, data loss detected.", "rtc-lost", WARNING, "2-0052"),
        (
            "tpm tpm1: A TPM error (7) occurred attempting to read a pcr",
            "device-fault",
            WARNING,
            "tpm1",
        ),
        ("foo-regulator 1-0060: Failed to get chip ID!", "device-transfer", WARNING, "1-0060"),
        (
            "vmap allocation for size 4198400 failed: use vmalloc=<size> to increase size",
            "page-allocation",
            WARNING,
            "",
        ),
        ("Uhhuh. NMI received for unknown reason 31 on CPU 2.", "nmi", WARNING, "CPU 2"),
        (
            "unregister_netdevice: waiting for veth1 to become free. Usage count = 1",
            "net-held",
            WARNING,
            "veth1",
        ),
        ("ftdi_sio ttyUSB3: urb failed to set flow control", "usb-protocol", WARNING, "ttyUSB3"),
        ("do_IRQ: 0.41 No irq handler for vector", "irq-stray", WARNING, ""),
        ("hwmon hwmon3: gpu-thermal critical alarm", "thermal-critical", FAILING, "hwmon3"),
        # severity
        ("ata2.01: disable device", "ata-gone", FAILING, "ata2"),
        (
            "sd 5:0:0:0: Device offlined - not ready after error recovery",
            "disk-offline",
            FAILING,
            "5:0:0:0",
        ),
        (
            "iwlwifi 0000:05:00.0: no suitable firmware found!",
            "firmware-needed",
            WARNING,
            "0000:05:00.0",
        ),
    ],
)
def test_rule_severity_and_device_of_a_line(
    line: str, rule: str, severity: Severity, device: str
) -> None:
    match = classify(line)
    assert match is not None
    assert (match.rule.id, match.rule.severity, match.device) == (rule, severity, device)


OOPS = """\
Unable to handle kernel paging request at virtual address ffff800012340000
Mem abort info:
  ESR = 0x0000000096000047
  FSC = 0x07: level 3 translation fault
Internal error: Oops: 0000000096000047 [#1] PREEMPT SMP"""
PANIC = """\
Kernel panic - not syncing: Fatal exception in interrupt
---[ end Kernel panic - not syncing: Fatal exception in interrupt ]---"""
LOST_DISK = """\
md/raid1:md3: Disk failure on sdc2, disabling device.
md/raid1:md3: Operation continuing on 1 devices."""
AER = """\
pcieport 0000:00:1d.0: AER: Corrected error message received from 0000:05:00.0
igb 0000:05:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)
igb 0000:05:00.0:   device [8086:1533] error status/mask=00001000/00002000
igb 0000:05:00.0:    [12] Timeout"""
MENDED = """\
{7}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 3
{7}[Hardware Error]: It has been corrected by h/w and requires no further action
{7}[Hardware Error]: event severity: corrected
{7}[Hardware Error]:  Error 0, type: corrected
{7}[Hardware Error]:   section_type: memory error"""
LOST = """\
{8}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 3
{8}[Hardware Error]: event severity: recoverable
{8}[Hardware Error]:   section_type: memory error"""


@pytest.mark.parametrize(
    ("log", "rule", "severity"),
    [
        (OOPS, "oops", FAILING),
        (PANIC, "panic", FAILING),
        (LOST_DISK, "raid", FAILING),
        (AER, "aer-corrected", WARNING),
        (MENDED, "hardware-corrected", WARNING),
        (LOST, "machine-check", FAILING),
        ("irq 20: nobody cared (try booting with x)\nDisabling IRQ #20", "nobody-cared", FAILING),
    ],
    ids=["oops", "panic", "raid", "aer", "corrected", "recoverable", "irq"],
)
@pytest.mark.parametrize("stamped", [True, False])
def test_an_event_of_several_lines_is_one(
    log: str, rule: str, severity: Severity, stamped: bool
) -> None:
    lines = log.split("\n")
    if stamped:
        lines = [f"[   40.{number:06}] {line}" for number, line in enumerate(lines)]
    alarms = [e for e in LogEvents.of("\n".join(lines)).events if e.severity is not Severity.NOTE]
    assert [(e.rule.id, e.severity, e.count) for e in alarms] == [(rule, severity, 1)]


def test_what_comes_later_or_of_another_device_is_an_event_of_its_own() -> None:
    log = """\
[   40.000000] md/raid1:md3: Disk failure on sdc2, disabling device.
[   40.000001] md/raid1:md4: Operation continuing on 1 devices.
[   50.000000] md/raid1:md3: Operation continuing on 1 devices.
[   50.000001] md/raid1:md3: Disk failure on sdd2, disabling device."""
    found = {event.device: event.count for event in LogEvents.of(log).events}
    assert found == {"md3": 3, "md4": 1}


def test_words_keep_no_line_from_a_rule_that_knows_it() -> None:
    """Words are there for speed: without one of them the pattern of a rule is never tried."""
    lines = [
        *(line for _, line in CORPUS),
        *(filled(row[4]) for row in ROWS),
        *(line for rule in log_rules() for line in rule.lines),
    ]
    kept = []
    for line in lines:
        first = next((rule for rule in log_rules() if rule.pattern.search(line)), None)
        match = classify(line)
        if first is not None and (match is None or match.rule is not first):
            kept.append((first.id, line))
    print(f"{len(kept)} of {len(lines)} lines", *kept, sep="\n")
    assert len(kept) <= 12
