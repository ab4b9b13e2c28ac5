"""Normalisers of what kernels say of themselves, with real texts."""

from __future__ import annotations

import gzip

import pytest

from benchvise.state.normalise import devices, kernel
from benchvise.state.roles import DeviceNames, names_from

PI = DeviceNames(roles={"root_disk": "mmcblk0", "root_part": "mmcblk0p2", "default_nic": "eth0"})

CMDLINE = (
    "coherent_pool=1M 8250.nr_uarts=0 smsc95xx.macaddr=DC:A6:32:01:02:03 "
    "vc_mem.mem_base=0x3ec00000 console=ttyS0,115200 console=tty1 root=PARTUUID=738a4d67-02 "
    'rootfstype=ext4 fsck.repair=yes rootwait quiet dyndbg="file drivers/mmc/* +p" -- --verbose\n'
)


def test_command_line() -> None:
    table = kernel.command_line(CMDLINE, PI)
    assert table["root"] == "root_part"
    assert table["console"] == ["ttyS0,115200", "tty1"]
    assert table["quiet"] is True
    assert table["smsc95xx.macaddr"] == "<mac>"
    assert table["dyndbg"] == "file drivers/mmc/* +p"
    assert table["--"] == "--verbose"


@pytest.mark.parametrize(
    "root", ["/dev/mmcblk0p2", "/dev/root", "UUID=0b2e-11", "PARTUUID=738a4d67-02", "LABEL=root"]
)
def test_root_stands_by_its_role(root: str) -> None:
    assert str(kernel.command_line(f"root={root} ro", PI)["root"]).endswith("root_part")


CONFIG = """#
# Automatically generated file; DO NOT EDIT.
# Linux/arm64 6.6.31 Kernel Configuration
#
CONFIG_CC_VERSION_TEXT="aarch64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0"
CONFIG_HZ_250=y
CONFIG_HZ=250
# CONFIG_PREEMPT_NONE is not set
CONFIG_PREEMPT=y
CONFIG_BTRFS_FS=m
"""


def test_kernel_config_packed_or_not() -> None:
    table = kernel.kernel_config(gzip.compress(CONFIG.encode()))
    assert table == kernel.kernel_config(CONFIG.encode())
    assert table["HZ"] == "250"
    assert table["CC_VERSION_TEXT"] == "aarch64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0"
    assert "PREEMPT_NONE" not in table


def test_broken_kernel_configs_are_refused() -> None:
    packed = gzip.compress(CONFIG.encode())
    for broken in (b"", b"\0" * 100, packed[:-20], b"\x1f\x8b" + b"\xff" * 50):
        with pytest.raises(ValueError):
            kernel.kernel_config(broken)


def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b"CONFIG_X=y\n" * 2_000_000)
    with pytest.raises(ValueError, match="too long"):
        kernel.kernel_config(bomb)


def test_modules_features_consoles() -> None:
    text = "brcmfmac 356352 0 - Live 0xffffffc000a3b000\nipv6 540672 30 [permanent], Live 0x0\n"
    assert kernel.modules(text) == {"brcmfmac": "Live", "ipv6": "Live"}
    assert kernel.features("GENTLE_FAIR_SLEEPERS NO_HRTICK WA_BIAS\n") == {
        "GENTLE_FAIR_SLEEPERS": True,
        "HRTICK": False,
        "WA_BIAS": True,
    }
    text = "ttyS0                -W- (EC  p a)    4:64\ntty0                 -WU (E   p  )    4:7\n"
    assert kernel.consoles(text) == {"ttyS0": "EC p a", "tty0": "E p"}


@pytest.mark.parametrize(
    ("version", "model"),
    [
        ("#1 SMP PREEMPT Debian 1:6.6.31-1+rpt1 (2024-05-29)", "PREEMPT"),
        ("#1 SMP PREEMPT_DYNAMIC Debian 6.1.90-1", "PREEMPT_DYNAMIC"),
        ("#1 SMP PREEMPT_RT Tue Jan 1", "PREEMPT_RT"),
        ("#1 SMP Tue Jan 1", "none or voluntary"),
    ],
)
def test_preemption(version: str, model: str) -> None:
    assert kernel.preemption(version) == model


def test_sessions_of_cgroups_are_masked() -> None:
    text = "0::/user.slice/user-1000.slice/session-42.scope\n1:name=systemd:/x\n"
    assert kernel.cgroups(text) == {
        "v2": "/user.slice/user-*.slice/session-*.scope",
        "name=systemd": "/x",
    }


CRYPTO = """name         : sha256
driver       : sha256-ce
module       : sha2_ce
priority     : 200
refcnt       : 1

name         : sha256
driver       : sha256-generic
module       : kernel
priority     : 100

name         : aes
driver       : aes-generic
priority     : 100
"""


def test_crypto_is_the_driver_that_wins() -> None:
    assert kernel.crypto(CRYPTO) == {"aes": "aes-generic", "sha256": "sha256-ce"}


CPUINFO_ARM = "".join(
    f"""processor\t: {n}
BogoMIPS\t: 48.00
Features\t: fp asimd evtstrm aes
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: {variant}
CPU part\t: {part}
CPU revision\t: 4

"""
    for n, variant, part in [(n, "0x0", "0xd03") for n in range(4)]
    + [(4, "0x2", "0xd09"), (5, "0x2", "0xd09")]
)


def test_cpuinfo_has_the_kinds() -> None:
    kinds = devices.cpuinfo(
        CPUINFO_ARM + "Hardware\t: BCM2835\nRevision\t: c03115\nSerial\t\t: 1000\nModel\t\t: Pi\n"
    )
    assert kinds["0-3"]["CPU part"] == "0xd03"
    assert kinds["4-5"]["CPU part"] == "0xd09"
    assert kinds["board"]["Model"] == "Pi"
    assert "Serial" not in kinds["board"]
    assert "BogoMIPS" not in kinds["0-3"]


INTERRUPTS = """           CPU0       CPU1
 11:      12345        678     GICv2  30 Level     arch_timer
 26:        100          0     GICv2 189 Level     eth0
 27:         50          0     GICv2 190 Level     eth0
 35:          0          0     GICv2  66 Level
 56:          0          5  PCI-MSIX-0000:00:05.0   0-edge      virtio0-config
IPI0:       900        800       Rescheduling interrupts
Err:          0
"""


def test_interrupts_stand_by_their_handlers() -> None:
    names = names_from(
        {
            "/proc/interrupts": INTERRUPTS,
            "/proc/net/route": "Iface\neth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n",
        },
        {"/sys/class/net/eth0": "../../devices/platform/scb/fd580000.ethernet/net/eth0"},
    )
    table = devices.interrupts(INTERRUPTS, names)
    assert table["default_nic"] == [100, 0]
    assert table["default_nic #2"] == [50, 0]
    assert table["arch_timer"] == [12345, 678]
    assert table["virtio0-config"] == [0, 5]
    assert table["IPI0"] == [900, 800]
    assert len(table) == 6  # nobody handles 35
    assert names.called("irq", "26") == "default_nic"
    assert names.called("irq", "35") is None


LOG = """<6>[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd083]
<6>[    0.000000] psci: PSCIv1.1 detected in firmware.
<6>[    2.345678][    T1] mmc0: new high speed SDHC card at address aaaa
<4>[   12.100000] hwmon hwmon1: Undervoltage detected!
<3>[   30.000001] ata1.00: exception Emask 0x10 SAct 0x0 SErr 0x400000 action 0x6 frozen
<6>[   30.000002] ata1: hard resetting link
<4>[   31.000000] EXT4-fs error (device mmcblk0p2): ext4_lookup:1855: inode #2: comm ls
<3>[   40.000000] rcu: INFO: rcu_sched self-detected stall on CPU
<4>[   41.000000] sched: RT throttling activated
<4>[   42.000000] hrtimer: interrupt took 51234 ns
<4>[   43.000000] clocksource: watchdog on CPU1: Marking clocksource 'tsc' as unstable
<3>[   44.000000] Out of memory: Killed process 4242 (stress) total-vm:1
<4>[   45.000000] NETDEV WATCHDOG: eth0 (bcmgenet): transmit queue 0 timed out
<6>[   46.000000] bcmgenet fd580000.ethernet eth0: Link is Down
<6>[   46.500000] ata2: SATA link down (SStatus 0 SControl 300)
<4>[   47.000000] printk: messages dropped
<3>[   48.000000] mmc1: Timeout waiting for hardware interrupt.
<6>[   49.000000] usb 1-1.4: reset high-speed USB device number 5 using xhci_hcd
<3>[   50.000000] pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0
<4>[   51.000000] CPU1: Core temperature above threshold, cpu clock throttled (total events = 1)
<3>[   52.000000] blk_update_request: I/O error, dev mmcblk0, sector 2048
"""


def test_kernel_log_classes() -> None:
    found = kernel.kernel_log(LOG)
    classes = {name: entry["count"] for name, entry in found["classes"].items()}
    assert classes == {
        "under-voltage": 1,
        "throttling": 1,
        "MMC error": 1,
        "ATA error": 2,
        "USB error": 1,
        "I/O error": 1,
        "file system error": 1,
        "RCU stall": 1,
        "real-time throttling": 1,
        "slow timer interrupt": 1,
        "clock source unstable": 1,
        "out of memory": 1,
        "NETDEV WATCHDOG": 1,
        "link lost": 1,
        "printk dropped": 1,
        "PCI error": 1,
    }
    assert found["until"] == 52.0
    assert found["lines"] == 21
    first = found["classes"]["under-voltage"]
    assert first["first"] == ["[12.100000] hwmon hwmon1: Undervoltage detected!"]
    assert first["times"] == [12.1]


def test_kernel_log_is_bounded_and_needs_no_times() -> None:
    text = "".join(
        f"<4>[{n:5}.000000] sched: RT throttling activated {'x' * 500}\n" for n in range(1000)
    )
    entry = kernel.kernel_log(text)["classes"]["real-time throttling"]
    assert entry["count"] == 1000
    assert (len(entry["first"]), len(entry["last"]), len(entry["times"])) == (5, 5, 100)
    assert entry["times"][-1] == 999.0
    assert all(len(line) < 350 for line in entry["first"])
    found = kernel.kernel_log("<4>hrtimer: interrupt took 1 ns\n")
    assert found["until"] is None
    assert found["classes"]["slow timer interrupt"]["count"] == 1


BOOT = """[    0.000000] Linux version 6.6.31 (serge@dom5)
[    0.500000] mmc0: SDHCI controller on fe300000.mmc [fe300000.mmc] using ADMA
[    1.000000] mmc0: new DDR50 SDXC card at address aaaa
[    1.100000] usb 1-1: new high-speed USB device number 2 using xhci_hcd
[    1.200000] ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)
[    1.300000] ata1.00: configured for UDMA/133
[    1.400000] EXT4-fs (mmcblk0p2): mounted filesystem with ordered data mode.
[    1.500000] clocksource: Switched to clocksource arch_sys_counter
[    1.600000] EXT4-fs (mmcblk0p2): re-mounted r/w. Quota mode: none.
[    1.700000] bcmgenet fd580000.ethernet eth0: Link is Up - 1Gbps/Full
[    1.800000] thermal_sys: Registered thermal governor 'step_wise'
[    1.900000] rcu: Preemptible hierarchical RCU implementation.
[    2.000000] EDAC MC: Ver: 3.0.0
[    2.100000] audit: type=1400 audit(1): apparmor="STATUS"
[    2.200000] pcieport 0000:00:00.0: PME: Signaling with IRQ 30
"""


def test_an_ordinary_boot_is_of_no_class() -> None:
    assert kernel.kernel_log(BOOT)["classes"] == {}


def test_firmware_lines() -> None:
    text = (
        LOG + "[    1.0] raspberrypi-firmware soc:firmware: Attached to firmware from 2024-05-24\n"
    )
    assert kernel.firmware_lines(text) == [
        "psci: PSCIv1.1 detected in firmware.",
        "raspberrypi-firmware soc:firmware: Attached to firmware from 2024-05-24",
    ]


def test_each_kind_of_firmware_line_is_found() -> None:
    lines = [
        *("psci: PSCIv1.1 detected", "psci: SMC by firmware", "optee: revision 3.20"),
        *("U-Boot 2024.01", "raspberrypi-firmware soc: Attached", "arm-scmi: SCMI Protocol v2.0"),
        *("arm_ffa: driver version 1.2", "SBI specification v2.0", "SBI implementation ID=0x1"),
        *("efi: EFI v2.9 by EDK II", "DMI: ACME Board/X1", "firmware version 1.5"),
        *("usb: firmware revision 7", "nic: FW version 4", "i915: Loaded firmware guc.bin"),
        "rpi: the bootloader of 2024",
    ]
    assert kernel.firmware_lines("".join(f"[    1.0] {line}\n" for line in lines)) == sorted(lines)
