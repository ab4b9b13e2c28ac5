"""Normalisers of disks, networks, serial ports, clocks and programs, with real texts."""

from __future__ import annotations

import struct

import pytest

from benchvise.state.normalise import devices, network, programs, storage
from benchvise.state.roles import DeviceNames

PI = DeviceNames(roles={"root_disk": "mmcblk0", "root_part": "mmcblk0p2", "default_nic": "eth0"})

MOUNTINFO = r"""21 27 0:20 / /proc rw,relatime - proc proc rw
27 1 179:2 / / rw,noatime - ext4 /dev/root rw,commit=600
30 27 179:1 / /boot rw,relatime - vfat /dev/mmcblk0p1 rw,errors=remount-ro
31 27 0:30 / /run rw,nosuid - tmpfs tmpfs rw,size=1024k,nr_inodes=100
32 27 0:31 / /sys/fs/cgroup ro - tmpfs tmpfs ro
33 27 0:45 / /mnt/my\040disk rw,relatime shared:1 - nfs4 10.0.0.1:/x rw,vers=4.2,rsize=1048576
34 27 0:46 / /merged rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/c,workdir=/d
"""


def test_mounts_stand_by_role() -> None:
    assert storage.mounts(MOUNTINFO, PI) == {
        "/": "root_part ext4 commit=600,noatime,rw",
        "/boot": "mmcblk0p1 vfat errors=remount-ro,relatime,rw",
        "/run": "tmpfs tmpfs nosuid,rw",
        "/mnt/my disk": "10.0.0.1:/x nfs4 relatime,rsize=1048576,rw,vers=4.2",
        "/merged": "overlay overlay rw,lowerdir(2),upperdir(ext4)",
    }
    assert storage.file_systems(MOUNTINFO)["/boot"] == "vfat"
    assert storage.network_mounts(MOUNTINFO) == {
        "/mnt/my disk": "nfs4 relatime,rsize=1048576,rw,vers=4.2"
    }


def test_layers_of_an_overlay_are_counted_however_they_are_given() -> None:
    layers = ",".join(f"lowerdir+=/l{number}" for number in range(100))
    text = f"9 1 0:9 / /srv/app ro - overlay overlay ro,{layers}\n"
    assert storage.mounts(text, PI) == {"/srv/app": "overlay overlay ro,lowerdir(100)"}


def test_mounts_of_logins_and_containers_come_and_go() -> None:
    text = "".join(
        f"9 1 0:9 / {point} rw - ext4 /dev/sda1 rw\n"
        for point in ("/run/user/1000", "/run/netns", "/var/lib/docker/overlay2/x/merged", "/data")
    )
    assert list(storage.mounts(text, PI)) == ["/data"]


def test_a_flood_of_mounts_is_bounded() -> None:
    text = "".join(f"{n} 1 179:2 / /m{n} rw - ext4 /dev/x rw\n" for n in range(5000))
    assert len(storage.mounts(text, PI)) == storage.MOUNTS


def test_swaps_and_disk_stat() -> None:
    text = (
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
        "/dev/mmcblk0p3                          partition\t102396\t\t5000\t\t-2\n"
        "/dev/zram0                              partition\t512000\t\t0\t\t100\n"
    )
    assert storage.swaps(text, DeviceNames(roles={"root_disk": "mmcblk0"})) == [
        "mmcblk0p3 partition 102396 kB, priority -2",
        "zram0 partition 512000 kB, priority 100",
    ]
    stat = storage.disk_stat("   100  5 2000 30 10 1 80 9 0 40 39 0 0 0 0 3 1\n")
    assert (stat["reads"], stat["sectors_written"], stat["flushes"]) == (100, 80, 3)
    with pytest.raises(ValueError):
        storage.disk_stat("1 2 3")


DUMPE2FS = """dumpe2fs 1.47.0 (5-Feb-2023)
Filesystem volume name:   rootfs
Last mounted on:          /
Filesystem UUID:          93c89e92-8f2e-4522-ad32-68faed883d2f
Filesystem features:      has_journal ext_attr resize_inode dir_index filetype extent
Filesystem flags:         unsigned_directory_hash
Default mount options:    user_xattr acl
Filesystem state:         clean
Inode count:              1894080
Block count:              7753216
Block size:               4096
Mount count:              12
Lifetime writes:          61 GB
Inode size:               256
"""


def test_ext4_header_has_what_was_decided_when_it_was_made() -> None:
    table = storage.ext4_header(DUMPE2FS)
    assert table["Block size"] == 4096
    assert "has_journal" in str(table["Filesystem features"])
    assert not {"Mount count", "Lifetime writes", "Filesystem UUID"} & table.keys()


SMART = """smartctl 7.3 2022-02-28 r5338
=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED
ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       0
190 Airflow_Temperature_Cel 0x0032   067   052   000    Old_age   Always       -       33
199 UDMA_CRC_Error_Count    0x003e   099   099   000    Old_age   Always       -       14
"""

SMART_NVME = """SMART/Health Information (NVMe Log 0x02)
Critical Warning:                   0x00
Temperature:                        41 Celsius
Available Spare:                    100%
Percentage Used:                    3%
Media and Data Integrity Errors:    0
Unsafe Shutdowns:                   1,028
Warning  Comp. Temperature Time:    7
"""


def test_smart() -> None:
    table = storage.smart(SMART)
    assert table["199 UDMA_CRC_Error_Count"] == 14
    assert table["SMART overall-health self-assessment test result"] == "PASSED"
    nvme = storage.smart(SMART_NVME)
    assert nvme["Unsafe Shutdowns"] == 1028
    assert nvme["Warning  Comp. Temperature Time"] == 7
    with pytest.raises(ValueError):
        storage.smart("smartctl: cannot open")


HDPARM = """
/dev/sda:

ATA device, with non-removable media
\tModel Number:       Samsung SSD 850 EVO 120GB
\tFirmware Revision:  EMT02B6Q
\tTransport:          Serial, ATA8-AST, SATA Rev 3.1
\tDMA: mdma0 mdma1 mdma2 udma0 udma1 udma2 udma3 udma4 udma5 *udma6
Commands/features:
\tEnabled\tSupported:
\t   *\tSMART feature set
\t    \tSecurity Mode feature set
\t   *\tWrite cache
"""


def test_hdparm() -> None:
    table = storage.hdparm(HDPARM)
    assert str(table["DMA"]).endswith("*udma6")
    assert table["Write cache"] is True
    assert "Security Mode feature set" not in table


def test_softnet_and_snmp() -> None:
    text = "0000272d 00000000 00000001 00000000\n000034d9 00000002 00000001 00000000\n"
    assert network.softnet(text)[1] == {"processed": 0x34D9, "dropped": 2, "squeezed": 1}
    text = "Tcp: RtoMin RetransSegs\nTcp: 200 17\nUdp: InErrors\nUdp: 3\n"
    assert network.snmp(text) == {"Tcp.RtoMin": 200, "Tcp.RetransSegs": 17, "Udp.InErrors": 3}
    with pytest.raises(ValueError):
        network.snmp("Tcp: a b\nUdp: 1 2\n")
    with pytest.raises(ValueError):
        network.snmp("Tcp: a b\nTcp: 1\n")


def attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", 4 + len(content), kind) + content


def test_qdiscs() -> None:
    rate = bytes(8) + struct.pack("<I", 125_000)
    token_bucket = attribute(1, rate + bytes(12) + struct.pack("<III", 3000, 1, 0))
    told = network.qdiscs(
        [
            {
                "handle": 0x80010000,
                "parent": 0xFFFFFFFF,
                "kind": "tbf",
                "options": token_bucket.hex(),
            },
            {"handle": 0, "parent": 0x80010001, "kind": "fq_codel", "options": "0a"},
            {"handle": 0, "parent": 0x10002, "kind": "pfifo"},
        ]
    )
    assert told == [
        "tbf root rate 125000 B/s limit 3000 B",
        "fq_codel parent auto:1 0a",
        "pfifo parent 1:2",
    ]
    with pytest.raises(ValueError):
        network.qdiscs("text")


def test_routes_are_told_by_destination_in_the_order_of_the_kernel() -> None:
    """A window of a route was shown by no interface; a plain route to nobody in no snapshot."""
    text = """default via 192.0.2.1 dev eth0 proto static src 192.0.2.7 mtu lock 552 advmss 128
default via inet6 fe80::1 dev wlan0 proto dhcp metric 600
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.7
unreachable 169.254.0.0/16 metric 1000
169.254.0.0/16 dev eth0 scope link
blackhole 198.51.100.0/24 linkdown
unicast 203.0.113.0/24 via 192.0.2.9 dev eth0 table 100 initcwnd 1 quickack 1
local 192.0.2.7 dev eth0 table local proto kernel scope host src 192.0.2.7
broadcast 192.0.2.255 dev eth0 table local scope link
unreachable

"""
    assert network.routes(text) == {
        "default": "via 192.0.2.1 dev eth0 mtu lock 552 advmss 128, "
        "then via fe80::1 dev wlan0 metric 600",
        "169.254.0.0/16": "dev eth0 scope link, then unreachable metric 1000",
        "198.51.100.0/24": "blackhole",
        "203.0.113.0/24 in table 100": "via 192.0.2.9 dev eth0 initcwnd 1 quickack 1",
    }


def test_routes_that_make_no_sense_are_survived() -> None:
    assert network.routes(
        "metric\ndefault metric\ndefault via\n10.0.0.0/8 table\nmetric metric"
    ) == {
        "metric": "on, then metric",
        "default": "metric, then via a gateway",
        "10.0.0.0/8": "table",
    }


def test_fixed_neighbours_are_told_by_their_address() -> None:
    text = "192.0.2.9 dev eth0 lladdr 02:00:00:00:00:09 PERMANENT\n"
    text += "fe80::9 dev eth0 lladdr 02:00:00:00:00:09 router PERMANENT \nnonsense\n"
    assert network.fixed_neighbours(text) == {
        "192.0.2.9": "dev eth0 lladdr 02:00:00:00:00:09",
        "fe80::9": "dev eth0 lladdr 02:00:00:00:00:09 router",
    }


def test_routing_rules_stand_in_their_order() -> None:
    text = "0:\tfrom all lookup local\n99:\tfrom all fwmark 0x1 lookup 100 \nnonsense\n"
    assert network.routing_rules(text) == [
        "from all lookup local",
        "from all fwmark 0x1 lookup 100",
    ]


def test_filter_rules_are_told_without_what_they_counted() -> None:
    text = "# Generated by iptables-save\n*filter\n:INPUT ACCEPT [12:345]\n"
    text += (
        "[7:9] -A INPUT -p tcp --dport 113 -j DROP\n\ttcp dport 23 counter packets 3 bytes 9 drop\n"
    )
    rules = [
        "*filter",
        ":INPUT ACCEPT",
        "-A INPUT -p tcp --dport 113 -j DROP",
        "\ttcp dport 23 drop",
    ]
    assert network.filter_rules(text) == rules


def test_of_many_filter_rules_the_rest_is_told_apart() -> None:
    long = [f"-A INPUT -s 192.0.2.{n % 250} -j DROP" for n in range(900)]
    first, second = (network.filter_rules("\n".join(of)) for of in (long, [*long[:-1], "-j LOG"]))
    assert len(first) == len(second) == 400
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]


def test_wifi_tells_no_addresses() -> None:
    text = """phy#0
\tInterface wlan0
\t\tifindex 3
\t\twdev 0x1
\t\taddr dc:a6:32:aa:bb:cc
\t\tssid home network
\t\ttype managed
\t\tchannel 36 (5180 MHz), width: 80 MHz, center1: 5210 MHz
"""
    lines = network.wifi_devices(text)
    assert "channel 36 (5180 MHz), width: 80 MHz, center1: 5210 MHz" in lines
    assert not any("home" in line or "dc:a6" in line for line in lines)
    link = network.wifi_link(
        "Connected to 00:11:22:33:44:55 (on wlan0)\n\tSSID: home\n\tfreq: 5180\n\tsignal: -52 dBm\n"
    )
    assert link == {"freq": 5180, "signal": "-52 dBm"}


CLK_NEW = """                         enable  prepare  protect                        duty  hardware
   clock                  count    count    count        rate   accuracy phase  cycle    enable
-----------------------------------------------------------------------------------------------
 osc                          5        5        0    54000000          0     0  50000         Y
    plld                      1        1        0  3000000091          0     0  50000         Y
       emmc2                  0        0        0   250000000          0     0  50000         N
 emmc2                        1        1        0   100000000          0     0  50000         Y
"""

CLK_OLD = """   clock                         enable_cnt  prepare_cnt        rate   accuracy   phase
----------------------------------------------------------------------------------------
 osc24M                                   9           11    24000000          0 0
    pll-ddr                               1            1   624000000          0 0
"""


def test_clk_summary_of_new_and_old_kernels() -> None:
    assert devices.clk_summary(CLK_NEW) == {
        "osc": "54000000 Hz, on",
        "plld": "3000000091 Hz, on",
        "emmc2": "250000000 Hz, off",
        "emmc2 #2": "100000000 Hz, on",
    }
    assert devices.clk_summary(CLK_OLD)["pll-ddr"] == "624000000 Hz, on"
    assert devices.clk_summary("   clock   enable_cnt\n---------------\n") == {}
    with pytest.raises(ValueError):
        devices.clk_summary("nothing")


def test_tty_driver() -> None:
    text = (
        "serinfo:1.0 driver revision:\n"
        "0: uart:16550A port:000003F8 irq:4 tx:25064 rx:41 fe:2 oe:1 brk:3 RTS|CTS|DTR\n"
        "1: uart:unknown port:000002F8 irq:3\n"
    )
    table = devices.tty_driver(text)
    assert set(table) == {"0"}
    assert (table["0"]["oe"], table["0"]["fe"], table["0"]["uart"]) == (1, 2, "16550A")


def test_throttled() -> None:
    flags = devices.throttled("throttled=0x50005\n")
    assert [name for name, is_set in flags.items() if is_set] == [
        "under-voltage now",
        "throttled now",
        "under-voltage since boot",
        "throttled since boot",
    ]
    assert not any(devices.throttled("0").values())


def test_properties_of_the_device_tree() -> None:
    assert devices.cells(b"\x0b\xeb\xc2\x00") == 200_000_000
    assert devices.cells(bytes(8)) == [0, 0]
    assert devices.cells(b"abc") == "616263"
    assert devices.strings(b"raspberrypi,4-model-b\0brcm,bcm2711\0") == [
        "raspberrypi,4-model-b",
        "brcm,bcm2711",
    ]
    assert devices.strings(b"rgmii-rxid\0") == "rgmii-rxid"


def test_programs() -> None:
    assert programs.processes(["irqbalance", "sh", 3]) == {"irqbalance": "runs", "sh": "runs"}
    threads = [
        {"name": "irq/27-eth0", "policy": 1, "priority": 50},
        {"name": "irq/9-acpi", "policy": 99, "priority": 1},
        "nonsense",
    ]
    assert programs.irq_threads(threads, PI) == {"default_nic": "FIFO 50", "acpi": "policy 99 1"}
    assert programs.libc_banner("ldd (Debian GLIBC 2.36-9+deb12u4) 2.36\nCopyright\n").endswith(
        "2.36"
    )
    assert (
        programs.libc_banner("musl libc (aarch64)\nVersion 1.2.4\n") == "musl libc (aarch64) 1.2.4"
    )
    hwcaps = """Usage: ld.so [OPTION]...

Subdirectories of glibc-hwcaps directories, in priority order:
  x86-64-v4
  x86-64-v3 (supported, searched)
  x86-64-v2 (supported, searched)

Legacy HWCAP subdirectories under library search path directories:
"""
    assert programs.glibc_hwcaps(hwcaps) == {
        "x86-64-v4": "not supported",
        "x86-64-v3": "supported, searched",
        "x86-64-v2": "supported, searched",
    }
    timers = "Sun 2024-06-02 8h left - - apt-daily.timer apt-daily.service\nn/a fstrim.timer x\n"
    assert programs.systemd_timers(timers) == ["apt-daily.timer", "fstrim.timer"]
    blame = "    1min 2.500s NetworkManager-wait-online.service\n         15ms x.mount\n"
    assert programs.systemd_blame(blame) == {
        "NetworkManager-wait-online.service": 62.5,
        "x.mount": 0.015,
    }
