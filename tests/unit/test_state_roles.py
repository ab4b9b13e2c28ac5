"""Which device has which role, on boards of several kinds."""

from __future__ import annotations

from pathlib import Path

import pytest
import skips

from benchvise.state.roles import (
    ROLES,
    DeviceNames,
    mount_of,
    names_from,
    parse_interrupts,
    parse_mounts,
)

ROUTE = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"


def block(*devices: tuple[str, str]) -> dict[str, str]:
    """Links of /sys/dev/block: number to path."""
    return {f"/sys/dev/block/{number}": f"../../devices/{path}" for number, path in devices}


def root_on(device: str, source: str, kind: str = "ext4", options: str = "rw") -> str:
    return f"27 1 {device} / / rw,relatime - {kind} {source} {options}\n"


PI_BLOCK = block(
    ("179:0", "platform/emmc2bus/fe340000.mmc/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0"),
    ("179:1", "platform/emmc2bus/fe340000.mmc/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0/mmcblk0p1"),
    ("179:2", "platform/emmc2bus/fe340000.mmc/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0/mmcblk0p2"),
    ("8:0", "pci0000:00/usb2/host0/target0:0:0/0:0:0:0/block/sda"),
)


@pytest.mark.parametrize(
    ("mounts", "links", "part", "disk"),
    [
        (root_on("179:2", "/dev/root"), PI_BLOCK, "mmcblk0p2", "mmcblk0"),
        (
            root_on("259:2", "/dev/nvme0n1p2"),
            block(
                ("259:0", "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1"),
                ("259:2", "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p2"),
            ),
            "nvme0n1p2",
            "nvme0n1",
        ),
        (root_on("254:0", "/dev/vda"), block(("254:0", "virtio1/block/vda")), "vda", "vda"),
        (  # btrfs has a device number of its own making
            root_on("0:25", "/dev/sda2", "btrfs"),
            block(("8:0", "ata1/block/sda"), ("8:2", "ata1/block/sda/sda2")),
            "sda2",
            "sda",
        ),
        (  # an encrypted logical volume
            root_on("253:1", "/dev/mapper/vg-root"),
            block(
                ("253:1", "virtual/block/dm-1"),
                ("253:0", "virtual/block/dm-0"),
                ("8:0", "ata1/block/sda"),
                ("8:3", "ata1/block/sda/sda3"),
            )
            | {"/sys/block/dm-1/slaves/dm-0": "../../dm-0", "/sys/block/dm-0/slaves/sda3": "x"},
            "dm-1",
            "sda",
        ),
        (  # a mirror lies on two disks, so it is the disk itself
            root_on("9:0", "/dev/md0"),
            block(("9:0", "virtual/block/md0"))
            | {"/sys/block/md0/slaves/sda1": "x", "/sys/block/md0/slaves/sdb1": "x"},
            "md0",
            "md0",
        ),
        (  # a read-only image with a layer to write to, as OpenWrt and many products have it
            "20 1 179:3 / /overlay rw - f2fs /dev/mmcblk0p3 rw\n"
            + root_on(
                "0:30", "overlayfs:/overlay", "overlay", "rw,lowerdir=/,upperdir=/overlay/upper"
            ),
            PI_BLOCK | block(("179:3", "x/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0/mmcblk0p3")),
            "mmcblk0p3",
            "mmcblk0",
        ),
    ],
    ids=["pi", "nvme", "whole-disk", "btrfs", "dm-crypt", "mirror", "overlay"],
)
def test_root(mounts: str, links: dict[str, str], part: str, disk: str) -> None:
    names = names_from({"/proc/self/mountinfo": mounts}, links)
    assert (names.roles["root_part"], names.roles["root_disk"]) == (part, disk)


@pytest.mark.parametrize(
    "mounts",
    [
        root_on("0:20", "10.0.0.1:/export", "nfs4"),
        root_on("0:20", "overlay", "overlay", "rw,upperdir=/var/lib/docker/x"),
        root_on("0:15", "ubi0:rootfs", "ubifs"),
        "",
        "nonsense\n - - -\n",
    ],
)
def test_a_root_on_no_disk_has_no_role(mounts: str) -> None:
    names = names_from({"/proc/self/mountinfo": mounts}, PI_BLOCK)
    assert not {"root_disk", "root_part"} & names.roles.keys()
    assert names.fill("/sys/block/{root_disk}/queue/scheduler") is None


def test_the_disk_that_a_command_works_on_is_the_one_that_is_compared() -> None:
    """Settings of a disk beside the root's, and of any where the root is on none, were not seen."""
    data = "30 1 8:1 / /data rw - ext4 /dev/sda1 rw\n31 1 7:0 / /img ro - squashfs /dev/loop0 ro\n"
    links = PI_BLOCK | block(
        ("8:0", "ata1/block/sda"), ("8:1", "ata1/block/sda/sda1"), ("7:0", "virtual/block/loop0")
    )

    def disk(root: str, *paths: str) -> str:
        names = names_from({"/proc/self/mountinfo": root + data}, links, paths)
        assert (names.called("disk", "loop0") is None) == (names.roles["root_disk"] != "loop0")
        return names.roles["root_disk"]

    card, memory = root_on("179:2", "/dev/root"), root_on("0:20", "none", "tmpfs")
    assert disk(card) == disk(card, "/usr/bin/x", "/nowhere") == "mmcblk0"
    assert disk(card, "/data/x") == disk(card, "/usr/bin/x", "/data") == "sda"
    assert disk(memory) == disk(memory, "/opt/x") == "sda"
    assert disk(memory, "/img/x") == "loop0"


def route(nic: str, metric: int, flags: str = "0003", to: str = "00000000") -> str:
    return f"{nic}\t{to}\t0100A8C0\t{flags}\t0\t0\t{metric}\t{to}\t0\t0\t0\n"


def nics(*names: str) -> dict[str, str]:
    virtual = ("lo", "docker0", "veth12", "br-1")
    return {
        f"/sys/class/net/{name}": f"../{'virtual' if name in virtual else 'soc'}/net/{name}"
        for name in names
    }


def test_the_default_route_with_the_smallest_metric_counts() -> None:
    files = {"/proc/net/route": ROUTE + route("wlan0", 600) + route("end0", 100)}
    assert names_from(files, nics("wlan0", "end0", "lo")).roles["default_nic"] == "end0"
    files = {"/proc/net/route": ROUTE + route("end0", 0, flags="0000") + route("wlan0", 600)}
    assert names_from(files, nics("wlan0", "end0")).roles["default_nic"] == "wlan0"


def test_a_default_route_of_ipv6_alone_counts_too() -> None:
    zero = "0" * 32
    line = f"{zero} 00 {zero} 00 fe80{'0' * 27}1 00000400 00000001 00000000 00000003     eth0\n"
    other = f"{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n"
    files = {"/proc/net/ipv6_route": other + line}
    assert names_from(files, nics("eth0", "lo")).roles["default_nic"] == "eth0"


def test_no_route_no_role() -> None:
    for text in (
        "",
        ROUTE,
        ROUTE + "x\n",
        ROUTE + route("gone0", 1),
        ROUTE + route("eth0", 0, to="01"),
    ):
        assert "default_nic" not in names_from({"/proc/net/route": text}, nics("eth0")).roles


def test_names_of_network_interfaces() -> None:
    files = {"/proc/net/route": ROUTE + route("end0", 100)}
    names = names_from(files, nics("end0", "eth1", "lo", "veth12", "docker0"))
    assert names.called("nic", "end0") == "default_nic"
    assert names.called("nic", "eth1") == "eth1"
    assert names.called("nic", "lo") == "lo"
    assert names.called("nic", "veth12") is None
    assert names.called("nic", "docker0") is None


def test_names_of_disks_cards_and_hosts() -> None:
    names = names_from({"/proc/self/mountinfo": root_on("179:2", "/dev/root")}, PI_BLOCK)
    assert names.called("disk", "mmcblk0") == "root_disk"
    assert names.called("disk", "mmcblk0p2") == "root_part"
    assert names.called("disk", "sda") == "sda"
    for nothing in ("loop0", "ram3", "zram0", "mmcblk0boot0", "mmcblk1rpmb", "mtdblock2"):
        assert names.called("disk", nothing) is None
    assert names.called("mmc", "0") == "root_disk host"
    assert names.called("mmc", "1") == "mmc1"
    assert names.called("card", "mmc0:aaaa") == "root_disk"
    assert names.called("card", "mmc1:0001") == "mmc1:0001"
    assert names.called("bdi", "179", "0") == "root_disk"
    assert names.called("bdi", "7", "0") is None
    assert names.text("/dev/mmcblk0p2 on mmcblk0, mmcblk0p1 and xmmcblk0") == (
        "/dev/root_part on root_disk, mmcblk0p1 and xmmcblk0"
    )


def test_the_benchmark_takes_the_fastest_cpu_of_equal_ones_the_last() -> None:
    base = "/sys/devices/system/cpu"
    allowed = {"/proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-5\n"}
    assert names_from(allowed, {}).roles["bench_cpu"] == "5"
    big = {f"{base}/cpu{n}/cpu_capacity": "1024\n" if n in (2, 3) else "400\n" for n in range(6)}
    assert names_from(allowed | big, {}).roles["bench_cpu"] == "3"
    fast = {f"{base}/cpu{n}/cpufreq/cpuinfo_max_freq": str(1_000_000 - n) for n in range(6)}
    assert names_from(allowed | fast, {}).roles["bench_cpu"] == "0"


def test_other_roles() -> None:
    links = {
        "/sys/class/devfreq/dmc": "x",
        "/sys/class/devfreq/fb000000.gpu": "x",
        "/sys/class/net/wlan0/phy80211": "../../ieee80211/phy0",
    }
    files = {
        "/proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "/proc/self/cgroup": "0::/user.slice/user-0.slice/session-3.scope\n",
        "/proc/sys/kernel/osrelease": "6.6.31-v8\n",
    }
    names = names_from(files, links)
    assert names.roles == {
        "wifi_nic": "wlan0",
        "dram": "dmc",
        "cgroup": "/user.slice/user-0.slice/session-3.scope",
        "cgroup_above": "/user.slice/user-0.slice",
        "cgroup_top": "/user.slice",
        "kernel": "6.6.31-v8",
    }
    assert names.fill("/sys/fs/cgroup{cgroup}/cpu.max").endswith("session-3.scope/cpu.max")  # type: ignore[union-attr]
    assert names.fill("/boot/config-{kernel}") == "/boot/config-6.6.31-v8"
    hybrid = {
        **files,
        "/proc/self/mountinfo": "4 3 0:9 / /sys/fs/cgroup/unified rw - cgroup2 x rw\n",
    }
    roles = names_from(hybrid, {}).roles
    assert roles["cgroup"].startswith("/unified/user.slice")
    assert roles["cgroup_top"] == "/unified/user.slice"
    service = {**hybrid, "/proc/self/cgroup": "0::/system.slice/ssh.service\n"}
    roles = names_from(service, {}).roles
    assert roles["cgroup_above"] == "/unified/system.slice"
    assert "cgroup_top" not in roles


def test_who_traces_the_login_has_a_role() -> None:
    status = "Name:\tbvprobe\nPid:\t40\nTracerPid:\t{}\nUid:\t0\n"
    traced = names_from({"/proc/self/status": status.format(117)}, {})
    assert traced.fill("/proc/{tracer}/comm") == "/proc/117/comm"
    assert "tracer" not in names_from({"/proc/self/status": status.format(0)}, {}).roles


def test_each_controller_of_version_1_has_a_group_of_its_own() -> None:
    files = {
        "/proc/self/mountinfo": "33 24 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - "
        "cgroup cgroup rw,cpu,cpuacct\n34 24 0:31 / /sys/fs/cgroup/cpuset rw - "
        "cgroup cgroup rw,cpuset\n35 24 0:32 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
        "/proc/self/cgroup": "5:blkio:/user.slice\n4:cpuset:/\n3:cpu,cpuacct:/user.slice\n0::/x\n",
    }
    names = names_from(files, {})
    assert names.roles["blkio_group"] == "/blkio/user.slice"
    assert names.roles["cpu_group"] == "/cpu,cpuacct/user.slice"
    assert names.roles["cpuset_group"] == "/cpuset" and "memory_group" not in names.roles
    assert "cgroup" not in names.roles


@pytest.mark.parametrize(
    "name", ["../../etc", "-rf", "a b", "a\nb", "*", "a;b", "$(id)", "x" * 5 + "?"]
)
def test_a_hostile_name_gets_no_role(name: str) -> None:
    """It would stand in paths and in the words of commands."""
    files = {
        "/proc/net/route": ROUTE + route(name, 0),
        "/proc/sys/kernel/osrelease": name,
        "/proc/self/cgroup": f"0::/{name}\n" if ".." in name or "*" in name else "",
    }
    links = {f"/sys/class/net/{name}": "x", f"/sys/class/devfreq/dmc{name}": "x"}
    assert not names_from(files, links).roles.keys() - {
        "cgroup",
        "cgroup_above",
        "cgroup_top",
        "dram",
    }
    for value in names_from(files, links).roles.values():
        assert ".." not in value and not set(value) & set("* ?;$\n")


def test_every_role_is_explained() -> None:
    assert all(text and not text.endswith(".") for text in ROLES.values())


def test_handlers_of_interrupts_on_several_machines() -> None:
    text = """           CPU0       CPU1       CPU2       CPU3
 17:         29          0          0          0     GICv2  65 Level     fe00b880.mailbox
 27:      10000       2000       3000       4000     GICv2  30 Level     arch_timer
 30:        120          0          0          0       GIC  30  twd
 38:          5          0          0          0  SiFive PLIC  39 Edge      10010000.serial
 45:          7          0          0          0  PCI-MSI 524288-edge      xhci_hcd, ehci
 46:          0          0          0          0  IR-PCI-MSI-0000:00:1f.6    0-edge      enp0s31f6
 56:          0          0          0          0  pinctrl-bcm2835  27 Edge      button
 60:          1          0          0          0     GICv3  66 Level
 61:          1          0          0          0  ITS-MSI 524288 Edge      nvme0q0
IPI0:        10         20         30         40       Rescheduling interrupts
"""
    assert dict(parse_interrupts(text)) == {
        "17": "fe00b880.mailbox",
        "27": "arch_timer",
        "30": "twd",
        "38": "10010000.serial",
        "45": "xhci_hcd, ehci",
        "46": "enp0s31f6",
        "56": "button",
        "60": "",
        "61": "nvme0q0",
    }
    assert list(parse_interrupts("")) == []


def test_mounts_of_this_machine_parse() -> None:
    mounts = parse_mounts(Path("/proc/self/mountinfo").read_text())
    assert mount_of("/proc/sys/vm", mounts).kind == "proc"  # type: ignore[union-attr]
    if all(mount.point != "/" for mount in mounts):
        skips.skip("mount entry of /")
    assert mount_of("/", mounts) is not None


def test_without_an_entry_of_the_root_directory_no_disk_is_guessed() -> None:
    """As in a bare chroot, whose /proc lists what is mounted below it alone."""
    text = "1 0 0:5 / /proc rw - proc proc rw\n2 0 8:1 / /home rw - ext4 /dev/sda1 rw\n"
    assert mount_of("/etc", parse_mounts(text)) is None
    links = {
        "/sys/dev/block/8:1": "../../devices/x/block/sda/sda1",
        "/sys/dev/block/8:0": "../../devices/x/block/sda",
    }
    roles = names_from({"/proc/self/mountinfo": text}, links).roles
    assert "root_disk" not in roles and "root_part" not in roles


def test_of_mounts_that_hide_each_other_the_last_counts() -> None:
    text = "1 0 8:1 / /mnt rw - ext4 /dev/a rw\n2 0 8:2 / /mnt rw - ext4 /dev/b rw\n"
    assert mount_of("/mnt/x", parse_mounts(text)).source == "/dev/b"  # type: ignore[union-attr]
    assert mount_of("/mntx", parse_mounts(text)) is None
    assert DeviceNames().text("plain") == "plain"
