"""Which device has which role on a board, so that boards with other names compare.

The root disk is ``mmcblk0`` here and ``sda`` there, the network port ``eth0`` or ``end0``: in the
catalogue and in snapshots they stand by their role. ``find_roles`` asks a board once. Its mounts
tell which disk is the root disk, and what must not be looked at.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchvise.board.channel import ProbeChannel
from benchvise.board.messages import content_text
from benchvise.quantities import parse_cpus

ROLES: Mapping[str, str] = {
    "root_disk": (
        "the disk that holds the root file system; where that is on none, or a command that is "
        "diagnosed names files on another one, that disk"
    ),
    "root_part": "the partition that holds the root file system; the disk where there is none",
    "default_nic": "the network interface of the default route",
    "wifi_nic": "the first Wi-Fi interface",
    "bench_cpu": "the CPU that benchmarks take by themselves: the fastest, of equal ones the last",
    "dram": "the devfreq device that scales the clock of the DRAM",
    "cgroup": "the control group (version 2) of the login, as a path below /sys/fs/cgroup",
    "cgroup_above": "the group that this one lies in, as such a path; none for the root's",
    "cgroup_top": "the topmost one below the root that both lie in, as such a path",
    "cpu_group": "the group of the login under the controller cpu (version 1), as such a path",
    "blkio_group": "the same under the controller blkio",
    "memory_group": "the same under the controller memory",
    "cpuset_group": "the same under the controller cpuset",
    "kernel": "the release of the kernel that runs",
    "tracer": "the process that traces (ptrace) what the login starts; none where it does not",
}

_FILES = (
    "/proc/self/mountinfo",
    "/proc/net/route",
    "/proc/net/ipv6_route",
    "/proc/self/cgroup",
    "/proc/self/status",
    "/proc/sys/kernel/osrelease",
    "/proc/interrupts",
    "/sys/devices/system/cpu/cpu*/cpu_capacity",
    "/sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",
)
_LINKS = (
    "/sys/dev/block/*",
    "/sys/block/*/slaves/*",
    "/sys/class/net/*",
    "/sys/class/net/*/phy80211",
    "/sys/class/devfreq/*",
)

_ROLE = re.compile(r"\{(" + "|".join(ROLES) + r")\}")
# What may stand in a path: no wildcard, no way up, nothing that looks like an option.
_SAFE = re.compile(r"(?!-|.*\.\.)[\w.@:,+/\\-]*", re.ASCII)
_NO_DISK = re.compile(r"(loop|ram|zram|nbd|fd|sr|mtdblock)\d+|mmcblk\d+(boot\d|rpmb|gp\d)")
_MADE_UP_NIC = re.compile(
    r"veth|br-|cali|flannel|cni|docker|virbr|vnet|tap|ifb|dummy|gre|sit|tunl|ip6|erspan|ip_vti|teql"
)
_DRAM = re.compile(r"dmc|ddr|dram|memory-controller|mbus", re.IGNORECASE)
_CGROUPS = "/sys/fs/cgroup"
_ROUTE_UP = 1
# After the counts: the controller, its line, how that triggers; then follow the handlers.
_BEFORE_HANDLER = re.compile(
    r"\S+(?: \S+)*? (?:\d+-\S+|\d+ (?:Level|Edge|None)|\d+)(?= |$)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class DeviceNames:
    """The devices of a board, and what they are called in a snapshot.

    ``roles`` holds only the roles that some device has. ``block`` and ``nics`` lead from the name
    of a device to its path below /sys/devices, ``numbers`` from ``major:minor`` to a block
    device, ``interrupts`` from a number to what the interrupt is called.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    block: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)
    nics: Mapping[str, str] = field(default_factory=dict)
    interrupts: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()

    def fill(self, path: str) -> str | None:
        """A path of the catalogue with the board's own names; None when it has no such device."""
        if any(role not in self.roles for role in _ROLE.findall(path)):
            return None
        return _ROLE.sub(lambda match: self.roles[match[1]], path)

    def text(self, text: str) -> str:
        """A text with the names of devices replaced by their roles."""
        for role in ("root_part", "root_disk", "default_nic", "wifi_nic"):
            device = self.roles.get(role)
            if device:
                text = re.sub(rf"(?<![\w-]){re.escape(device)}(?!\w)", role, text)
        return text

    def called(self, kind: str, *matched: str) -> str | None:
        """What a device that a glob found is called in a key; None when it is left out.

        ``kind`` says what it is: ``disk``, ``nic``, ``irq``, ``mmc`` (the number of a host),
        ``card``, ``mount`` and ``path`` (with ``!`` for ``/``), ``port`` (any interface), ``bdi``
        (major and minor).
        """
        match kind:
            case "disk":
                return self._disk(matched[0])
            case "nic":
                return self._nic(matched[0])
            case "port":  # those too that containers and tunnels make
                return self._role(matched[0])
            case "path":
                return matched[0].replace("!", "/")
            case "irq":
                return self.interrupts.get(matched[0])
            case "mmc":
                return (
                    "root_disk host" if self._is_on_root(f"mmc{matched[0]}") else f"mmc{matched[0]}"
                )
            case "card":
                return "root_disk" if self._is_on_root(matched[0]) else matched[0]
            case "mount":
                point = matched[0].replace("!", "/") if matched[0][:1] == "!" else matched[0]
                return None if is_made_up(point) else point
            case "bdi":
                disk = self.numbers.get(":".join(matched))
                return None if disk is None else self._disk(disk)
        raise ValueError(f"no kind of device: {kind}")

    def is_automount(self, path: str) -> bool:
        """Whether looking at a path would mount what is to be mounted there."""
        if not any(mount.kind == "autofs" and mount.holds(path) for mount in self.mounts):
            return False  # nearly always, and asked of each path of a snapshot
        on = mount_of(path, self.mounts)
        return on is not None and on.kind == "autofs"

    def disk_of(self, part: str) -> str:
        """The disk that a partition is of, through mappings of a single device."""
        parent, _, name = self.block.get(part, "").rpartition("/")
        above = parent.rpartition("/")[2]
        return above if name and above in self.block else part

    def _disk(self, name: str) -> str | None:
        """None for what is no disk, unless files that matter are on it."""
        role = self._role(name)
        return None if role == name and _NO_DISK.fullmatch(name) else role

    def _nic(self, name: str) -> str | None:
        role = self._role(name)
        made_up = "/virtual/" in self.nics.get(name, "") and _MADE_UP_NIC.match(name)
        return None if made_up and role == name else role

    def _is_on_root(self, part_of_path: str) -> bool:
        way = self.block.get(self.roles.get("root_disk", ""), "")
        return f"/{part_of_path}/" in way

    def _role(self, name: str) -> str:
        for role in ("root_disk", "root_part", "default_nic", "wifi_nic"):
            if self.roles.get(role) == name:
                return role
        return name


def find_roles(channel: ProbeChannel, paths: Sequence[str] = ()) -> DeviceNames:
    """Asks a board for its devices and their roles; ``paths`` are files that a command works on.
    Raises what the channel raises."""
    files = {path: content_text(value) for path, value in channel.read(_FILES).items()}
    links = {path: link for path, link in channel.links(_LINKS).items() if isinstance(link, str)}
    return names_from(files, links, paths)


def names_from(
    files: Mapping[str, str], links: Mapping[str, str], paths: Sequence[str] = ()
) -> DeviceNames:
    """The names that follow from the board's files (path to text) and links (path to target)."""
    numbers, block = _block_devices(links)
    nics = {
        path.rpartition("/")[2]: target
        for path, target in links.items()
        if re.fullmatch(r"/sys/class/net/[^/]+", path)
    }
    mounts = parse_mounts(files.get("/proc/self/mountinfo", ""))
    bare = DeviceNames({}, block, numbers, nics, {}, mounts)
    roles = dict(_roles(bare, files, links, paths))
    named = DeviceNames(roles, block, numbers, nics, {}, mounts)
    interrupts = dict(_interrupt_names(files.get("/proc/interrupts", ""), named))
    return DeviceNames(roles, block, numbers, nics, interrupts, mounts)


def _block_devices(links: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    numbers, block = {}, {}
    for path, target in links.items():
        if path.startswith("/sys/dev/block/"):
            name = target.rpartition("/")[2]
            numbers[path.rpartition("/")[2]] = name
            block[name] = target
    return numbers, block


def _roles(
    names: DeviceNames,
    files: Mapping[str, str],
    links: Mapping[str, str],
    paths: Sequence[str],
) -> Iterator[tuple[str, str]]:
    """What is not understood gives no role: a board's files may hold anything."""
    part = _root_device(names)
    used = _device_of(paths, names) or part or _first_device(names)
    finders: tuple[tuple[str, Callable[[], str | None]], ...] = (
        ("root_part", lambda: part),
        ("root_disk", lambda: used and _disk_below(used, names, links)),
        ("default_nic", lambda: _default_nic(files, names)),
        ("wifi_nic", lambda: _wifi_nic(links)),
        ("bench_cpu", lambda: _bench_cpu(files)),
        ("dram", lambda: _dram(links)),
        ("cgroup", lambda: _control_group(files, names.mounts)),
        ("cgroup_above", lambda: _group_above(_control_group(files, names.mounts), 1)),
        ("cgroup_top", lambda: _group_above(_control_group(files, names.mounts), 2)),
        ("cpu_group", lambda: _controlled_group("cpu", files, names.mounts)),
        ("blkio_group", lambda: _controlled_group("blkio", files, names.mounts)),
        ("memory_group", lambda: _controlled_group("memory", files, names.mounts)),
        ("cpuset_group", lambda: _controlled_group("cpuset", files, names.mounts)),
        ("kernel", lambda: files.get("/proc/sys/kernel/osrelease", "").strip() or None),
        ("tracer", lambda: _tracer(files)),
    )
    for role, find in finders:
        with contextlib.suppress(ValueError, IndexError):
            device = find()
            if device is not None and _SAFE.fullmatch(device):
                yield role, device


def _root_device(names: DeviceNames) -> str | None:
    mount = mount_of("/", names.mounts)
    if mount is not None and mount.kind == "overlay":
        mount = mount_of(mount.option("upperdir"), names.mounts)
    return None if mount is None else _block_device(mount, names)


def _device_of(paths: Sequence[str], names: DeviceNames) -> str | None:
    """The device of the first path that lies on one, beside the root file system."""
    for path in paths:
        mount = mount_of(path, names.mounts)
        if mount is not None and mount.point != "/" and (device := _block_device(mount, names)):
            return device
    return None


def _first_device(names: DeviceNames) -> str | None:
    """That of the first file system on a disk that may be written; None where nobody knows what the
    root file system is on."""
    if mount_of("/", names.mounts) is None:
        return None
    writable = (mount for mount in names.mounts if "rw" in mount.options)
    devices = (_block_device(mount, names) for mount in writable)
    return next((device for device in devices if device is not None), None)


def _block_device(mount: Mount, names: DeviceNames) -> str | None:
    name = names.numbers.get(mount.device) or mount.source.rpartition("/")[2]
    return name if name in names.block else None


def _disk_below(part: str, names: DeviceNames, links: Mapping[str, str]) -> str:
    """Past encryption and logical volumes as long as they lie on one device."""
    for _ in range(8):
        disk = names.disk_of(part)
        slaves = [p.rpartition("/")[2] for p in links if p.startswith(f"/sys/block/{disk}/slaves/")]
        if len(slaves) != 1:
            return disk
        part = slaves[0]
    return part


def _default_nic(files: Mapping[str, str], names: DeviceNames) -> str | None:
    """Of IPv4's default routes the one with the smallest metric, else of IPv6's."""
    routes = []
    for line in files.get("/proc/net/route", "").splitlines()[1:]:
        columns = line.split()
        if len(columns) >= 8 and columns[1] == columns[7] == "00000000":
            routes.append((int(columns[6]), columns[0], int(columns[3], 16)))
    if not routes:
        for line in files.get("/proc/net/ipv6_route", "").splitlines():
            columns = line.split()
            if len(columns) == 10 and columns[0] == "0" * 32 and columns[1] == "00":
                routes.append((int(columns[5], 16), columns[9], int(columns[8], 16)))
    usable = [(metric, nic) for metric, nic, flags in routes if flags & _ROUTE_UP]
    return min((r for r in usable if r[1] in names.nics and r[1] != "lo"), default=(0, None))[1]


def _wifi_nic(links: Mapping[str, str]) -> str | None:
    ways = [path for path in links if path.endswith("/phy80211")]
    return min(ways).split("/")[-2] if ways else None


def _dram(links: Mapping[str, str]) -> str | None:
    devices = (path.rpartition("/")[2] for path in links if path.startswith("/sys/class/devfreq/"))
    return min(filter(_DRAM.search, devices), default=None)


def _tracer(files: Mapping[str, str]) -> str | None:
    """Where it is not in the login's own namespace of processes, the kernel says 0."""
    traced = re.search(r"^TracerPid:\s*([1-9]\d*)$", files.get("/proc/self/status", ""), re.M)
    return traced[1] if traced else None


def _bench_cpu(files: Mapping[str, str]) -> str | None:
    allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)", files.get("/proc/self/status", ""), re.M)
    if allowed is None:
        return None
    return str(max(parse_cpus(allowed[1]), key=lambda cpu: (_speed(cpu, files), cpu)))


def _speed(cpu: int, files: Mapping[str, str]) -> int:
    base = f"/sys/devices/system/cpu/cpu{cpu}"
    for path in (f"{base}/cpu_capacity", f"{base}/cpufreq/cpuinfo_max_freq"):
        if files.get(path, "").strip().isdecimal():
            return int(files[path])
    return 0


def _control_group(files: Mapping[str, str], mounts: tuple[Mount, ...]) -> str | None:
    """Empty for the root of the hierarchy; None where there is none at the usual place."""
    root = next((m.point for m in mounts if m.kind == "cgroup2"), "")
    own = next(
        (line[3:] for line in files.get("/proc/self/cgroup", "").splitlines() if line[:3] == "0::"),
        None,
    )
    if own is None or not root.startswith(_CGROUPS):
        return None
    return (root + own).removeprefix(_CGROUPS).rstrip("/")


_UNIFIED = "/unified"  # where version 2 is mounted beside controllers of version 1


def _group_above(group: str | None, levels: int) -> str | None:
    """The next group above, or with two levels the topmost; None where there is no such one."""
    if group is None:
        return None
    root = _UNIFIED if group.startswith(_UNIFIED) else ""
    names = group.removeprefix(root).strip("/").split("/")
    if len(names) <= levels:
        return None
    return "/".join((root, *(names[:-1] if levels == 1 else names[:1])))


def _controlled_group(
    controller: str, files: Mapping[str, str], mounts: tuple[Mount, ...]
) -> str | None:
    """The same under a controller of version 1, which has a hierarchy of its own."""
    root = next((m.point for m in mounts if m.kind == "cgroup" and controller in m.options), "")
    for line in files.get("/proc/self/cgroup", "").splitlines():
        _, controllers, own = line.split(":", 2)
        if controller in controllers.split(",") and root.startswith(_CGROUPS):
            return (root + own).removeprefix(_CGROUPS).rstrip("/")
    return None


def _interrupt_names(table: str, names: DeviceNames) -> Iterator[tuple[str, str]]:
    """Number to handler. A second one of that name gets a number, in the order of the table."""
    seen: dict[str, int] = {}
    for number, handler in parse_interrupts(table):
        if handler:
            name = names.text(handler)
            seen[name] = seen.get(name, 0) + 1
            yield number, name if seen[name] == 1 else f"{name} #{seen[name]}"


def parse_interrupts(table: str) -> Iterator[tuple[str, str]]:
    """Of each numbered line of /proc/interrupts the number and the handlers (empty: none)."""
    head, *rest = table.splitlines() or [""]
    cpus = len(head.split())
    for line in rest:
        number, _, columns = line.partition(":")
        columns_after = columns.split()[cpus:]
        if number.strip().isdecimal() and columns_after:
            yield number.strip(), _BEFORE_HANDLER.sub("", " ".join(columns_after), count=1).strip()


# -- mounts ----------------------------------------------------------------------------------------

_MADE_UP = re.compile(
    r"/run/(user|credentials|netns|docker|containerd)(/.*)?|/var/lib/(docker|containers?|containerd|"
    r"kubelet|rancher)/.*|/snap/.*|/(var/)?run/k3s/.*"
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mounted file system. ``device`` is ``major:minor``; ``options`` are those of the mount
    and of the file system together.
    """

    device: str
    point: str
    kind: str
    source: str
    options: tuple[str, ...]

    def holds(self, path: str) -> bool:
        """Whether a path lies on it, or on what is mounted below it."""
        return self.point == "/" or path == self.point or path.startswith(self.point + "/")

    def option(self, name: str) -> str:
        """The value of ``name=value`` among the options; empty when it is not there."""
        return next((o.partition("=")[2] for o in self.options if o.startswith(f"{name}=")), "")


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """All mounts in their order; lines that are none are passed over."""
    mounts = []
    for line in text.splitlines():
        left, there, right = line.partition(" - ")
        head, tail = left.split(" "), right.split(" ")
        if there and len(head) >= 6 and len(tail) >= 2:
            options = [*head[5].split(","), *(tail[2].split(",") if len(tail) > 2 else ())]
            mounts.append(
                Mount(
                    device=head[2],
                    point=_unescaped(head[4]),
                    kind=tail[0],
                    source=_unescaped(tail[1]),
                    options=tuple(dict.fromkeys(filter(None, options))),
                )
            )
    return tuple(mounts)


def is_made_up(point: str) -> bool:
    """Whether a mount belongs to a login, a container or a test, and so comes and goes."""
    return _MADE_UP.fullmatch(point) is not None


def mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """The mount that a path lies on: of those that hide each other the last."""
    on = [mount for mount in mounts if mount.holds(path)]
    return max(reversed(on), key=lambda mount: len(mount.point), default=None)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)
