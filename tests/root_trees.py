"""Small root file systems of the usual kinds, with lines planted that set things, and decoys.

``TREES`` holds the files of each system by path; a value that begins with ``-> `` is a symbolic
link. ``PLANTS`` says which line must be named for which knob and value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchvise.state.catalogue import knobs
from benchvise.state.knobs import Setting
from benchvise.why.model import Layer, SettingMeans, Suspect

LINK = "-> "


@dataclass(frozen=True, slots=True)
class Plant:
    """On this system this knob has this value, and the line at ``where`` set it."""

    system: str
    knob: str
    value: str
    where: str


SYSTEMD = {
    "/sbin/init": "-> /lib/systemd/systemd",
    "/usr/lib/systemd/system/default.target": "-> multi-user.target",
    "/usr/lib/systemd/system/multi-user.target": "[Unit]\nDescription=Multi-User System\n"
    "Requires=basic.target\n",
    "/usr/lib/systemd/system/basic.target": "[Unit]\nRequires=sysinit.target\n",
    "/usr/lib/systemd/system/sysinit.target": "[Unit]\nDescription=System Initialization\n",
    "/usr/lib/sysctl.d/50-pid-max.conf": "kernel.pid_max = 4194304\n",
    "/usr/lib/sysctl.d/50-default.conf": "-net.ipv4.conf.all.promote_secondaries = 1\n"
    "net.core.default_qdisc = fq_codel\n",
    "/usr/lib/tmpfiles.d/systemd.conf": "d /run/user 0755 root root -\n"
    "d! /run/lock 0755 root root\n",
}

DEBIAN = {
    **SYSTEMD,
    "/etc/os-release": "ID=debian\n",
    "/etc/sysctl.conf": "# Debian's\n#vm.swappiness=1\nvm.page-cluster = 0\n",
    "/etc/sysctl.d/99-sysctl.conf": "-> ../sysctl.conf",
    # the same file name in /etc replaces that of /usr/lib as a whole
    "/usr/lib/sysctl.d/60-vm.conf": "vm.swappiness = 10\nvm.dirty_ratio = 10\n",
    "/etc/sysctl.d/60-vm.conf": "# vm.dirty_ratio = 5\n\nvm.dirty_ratio = 40\nvm/swappiness=100\n",
    "/etc/sysctl.d/70-net.conf": "net.ipv4.tcp_rmem = 4096 16384 65536\n"
    "-net.core.rmem_max = 212992\nnet.core.rmem_max=65536\n; net.core.rmem_max=1\n",
    "/run/sysctl.d/70-net.conf": "net.core.rmem_max = 1048576\n",
    "/etc/sysctl.d/disabled.conf.bak": "net.core.wmem_max = 65536\n",
    "/etc/sysctl.d/80-off.conf": "-> /dev/null",
    "/usr/lib/sysctl.d/80-off.conf": "net.core.wmem_max = 4096\n",
    "/etc/sysctl.d/90-wmem.conf": "net.core.wmem_max = 131072\n",
    # tmpfiles.d: of two lines of type w the first one counts
    "/etc/tmpfiles.d/thp.conf": "#w /sys/kernel/mm/transparent_hugepage/enabled - - - - always\n"
    "w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise\n"
    "w /sys/kernel/mm/transparent_hugepage/defrag - - - - never\n",
    "/usr/lib/tmpfiles.d/zz-thp.conf": "w /sys/kernel/mm/transparent_hugepage/enabled "
    "- - - - always\n",
    # udev: another disk's rule, a rule jumped past, and the one that counts
    "/etc/udev/rules.d/60-readahead.rules": 'ACTION=="remove", GOTO="end"\n'
    'SUBSYSTEM!="block", GOTO="end"\n'
    'KERNEL=="sda", ATTR{queue/read_ahead_kb}="4096"\n'
    '# KERNEL=="mmcblk0", ATTR{queue/read_ahead_kb}="16"\n'
    'KERNEL=="mmcblk[0-9]", \\\n    ATTR{queue/read_ahead_kb}="16"\n'
    'LABEL="end"\n',
    "/etc/udev/rules.d/61-net.rules": 'SUBSYSTEM=="net", KERNEL=="eth0", '
    'RUN+="/bin/sh -c \'echo 4 > /sys/class/net/%k/tx_queue_len\'"\n',
    # a unit that runs a script, and one that is not started
    "/etc/systemd/system/tune.service": "[Unit]\nAfter=network.target\n[Service]\nType=oneshot\n"
    "ExecStart=/usr/local/bin/tune.sh --fast\n[Install]\nWantedBy=multi-user.target\n",
    "/etc/systemd/system/multi-user.target.wants/tune.service": "-> ../tune.service",
    "/usr/local/bin/tune.sh": "#!/bin/bash\nset -e\nwrite_sysfs() {\n"
    "    [ -w \"$1\" ] || return 0\n"
    '    echo "$2" > "$1"\n}\n'
    "for p in /sys/devices/system/cpu/cpufreq/policy*; do\n"
    "    write_sysfs $p/scaling_governor powersave\ndone\n"
    "write_sysfs /sys/kernel/mm/ksm/run 1\n",
    "/etc/systemd/system/other.service": "[Service]\nExecStart=/bin/sh -c 'echo 0 > "
    "/sys/kernel/mm/ksm/run; echo none > /sys/block/mmcblk0/queue/scheduler'\n",
    "/etc/modprobe.d/usb.conf": "# options usbcore autosuspend=5\noptions usbcore autosuspend=-1\n",
}  # fmt: skip

YOCTO_SYSVINIT = {
    "/sbin/init": "-> /sbin/init.sysvinit",
    "/etc/inittab": "id:5:initdefault:\nsi::sysinit:/etc/init.d/rcS\nl5:5:wait:/etc/init.d/rc 5\n",
    "/etc/init.d/rcS": "#!/bin/sh\n. /etc/default/rcS\nexec /etc/init.d/rc S\n",
    "/etc/init.d/rc": "#!/bin/sh\nfor i in /etc/rc$1.d/S*; do $i start; done\n",
    "/etc/init.d/procps.sh": "#!/bin/sh\nsysctl -q --system\n",
    "/etc/rcS.d/S38procps.sh": "-> ../init.d/procps.sh",
    "/etc/sysctl.conf": "kernel.printk = 7 4 1 7\nvm.vfs_cache_pressure=50\n",
    "/etc/init.d/tuning": "#!/bin/sh\n### BEGIN INIT INFO\n# Provides: tuning\n### END INIT INFO\n"
    ". /etc/default/tuning\ncase \"$1\" in\n  start)\n    echo -n $READAHEAD > "
    "/sys/block/mmcblk0/queue/read_ahead_kb\n"
    "    echo $((1 << 1)) > /proc/irq/default_smp_affinity\n"
    "    ;;\n  stop)\n    echo 128 > /sys/block/mmcblk0/queue/read_ahead_kb\n    ;;\nesac\n",
    "/etc/default/tuning": "# for slow cards\nREADAHEAD=1024\n",
    "/etc/rc5.d/S20tuning": "-> ../init.d/tuning",
    "/etc/init.d/unused": "#!/bin/sh\necho 8 > /sys/block/mmcblk0/queue/nr_requests\n",
    "/etc/rc.local": "#!/bin/sh -e\n# echo 1 > /proc/sys/vm/laptop_mode\n"
    "echo 5 | tee /proc/sys/vm/laptop_mode >/dev/null\nexit 0\necho 0 > /proc/sys/vm/laptop_mode\n",
}  # fmt: skip

BUILDROOT = {
    "/sbin/init": "-> ../bin/busybox",
    "/etc/inittab": "# /etc/inittab\n::sysinit:/bin/mount -t proc proc /proc\n"
    "::sysinit:/etc/init.d/rcS\n::sysinit:/sbin/sysctl -w net.core.netdev_budget=50\n"
    "ttyS0::respawn:/sbin/getty -L ttyS0 115200 vt100\n",
    "/etc/init.d/rcS": "#!/bin/sh\nfor i in /etc/init.d/S??* ;do\n"
    "     [ ! -f \"$i\" ] && continue\n"
    "     case \"$i\" in\n\t*.sh)\n\t    (\n\t\ttrap - INT QUIT TSTP\n\t\tset start\n\t\t. $i\n"
    "\t    )\n\t    ;;\n\t*)\n\t    $i start\n\t    ;;\n    esac\ndone\n",
    "/etc/init.d/S02sysctl": "#!/bin/sh\nsysctl -p /etc/sysctl.conf\n",
    "/etc/sysctl.conf": "fs.pipe-max-size = 4096\n",
    "/etc/init.d/S50net": "#!/bin/sh\nIF=eth0\nstart() {\n\tip link set dev $IF txqueuelen 10\n"
    "\ttc qdisc replace dev $IF root tbf rate 100mbit burst 32k latency 50ms\n}\nstop() {\n"
    "\tip link set dev $IF txqueuelen 1000\n}\ncase \"$1\" in\nstart|stop) \"$1\";;\n*) exit 1\n"
    "esac\n",
    "/etc/init.d/S60disk": "#!/bin/sh\nblockdev --setra 32 /dev/mmcblk0\n"
    "blockdev --setra 8192 /dev/sda\n",
}  # fmt: skip

OPENRC = {
    "/sbin/init": "-> /bin/busybox",
    "/etc/inittab": "::sysinit:/sbin/openrc sysinit\n::sysinit:/sbin/openrc boot\n"
    "::wait:/sbin/openrc default\n",
    "/etc/runlevels/boot/sysctl": "-> /etc/init.d/sysctl",
    "/etc/runlevels/default/local": "-> /etc/init.d/local",
    "/etc/runlevels/default/governor": "-> /etc/init.d/governor",
    "/etc/init.d/sysctl": "#!/sbin/openrc-run\nstart()\n{\n\tsysctl -q --system\n}\n",
    "/etc/init.d/local": "#!/sbin/openrc-run\nstart()\n{\n\ttrue\n}\n",
    "/etc/init.d/governor": "#!/sbin/openrc-run\ndescription=\"sets the governor\"\n\nstart()\n{\n"
    "\tebegin \"Setting governor\"\n\tfor cpu in 0 1 2 3; do\n"
    "\t\tprintf '%s\\n' \"${GOVERNOR:-ondemand}\" > "
    "/sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_governor\n\tdone\n\teend $?\n}\n\nstop()\n{\n"
    "\techo performance > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n}\n",
    "/etc/conf.d/governor": "# GOVERNOR=performance\nGOVERNOR=\"conservative\"\n",
    "/etc/init.d/never": "#!/sbin/openrc-run\nstart() {\n"
    "\techo 2 > /proc/sys/vm/overcommit_memory\n}\n",
    "/etc/sysctl.d/local.conf": "kernel.randomize_va_space=0\n",
    "/etc/local.d/50-net.start": "#!/bin/sh\nsysctl -w net.ipv4.tcp_sack=0\n",
    "/etc/local.d/50-net.stop": "#!/bin/sh\nsysctl -w net.ipv4.tcp_sack=1\n",
    "/etc/crontabs/root": "# @reboot echo 1 > /proc/sys/vm/zone_reclaim_mode\n"
    "@reboot sleep 5; echo 3 > /proc/sys/vm/zone_reclaim_mode\n",
}  # fmt: skip

ARMBIAN = {
    **SYSTEMD,
    "/etc/os-release": "ID=debian\n",
    "/etc/default/cpufrequtils": "ENABLE=true\nMIN_SPEED=480000\nMAX_SPEED=1368000\n"
    "GOVERNOR=ondemand\n",
    "/etc/init.d/cpufrequtils": "#!/bin/sh\n[ -f /etc/default/cpufrequtils ] && . "
    "/etc/default/cpufrequtils\ncase \"$1\" in start)\n  if [ \"$ENABLE\" = \"true\" ] && [ -n "
    "\"$GOVERNOR\" ]; then\n    cpufreq-set -g $GOVERNOR --max $MAX_SPEED\n  fi\nesac\n",
    "/etc/rc2.d/S01cpufrequtils": "-> ../init.d/cpufrequtils",
    "/boot/armbianEnv.txt": "verbosity=1\noverlays=spi-spidev\n"
    "extraargs=transparent_hugepage=never "
    "cma=64M\n",
    "/boot/boot.cmd": "setenv bootargs \"root=${rootdev} rootwait ${extraargs}\"\nbooti $kernel\n",
    "/etc/systemd/system/user-.slice.d/limit.conf": "[Slice]\nCPUQuota=50%\n",
    "/etc/systemd/system.conf": "[Manager]\n#DefaultTimerSlackNSec=\nTimerSlackNSec=5ms\n",
    "/etc/sysfs.conf": "# block/mmcblk0/queue/nr_requests = 4\n"
    "block/mmcblk0/queue/nr_requests = 8\n"
    "mode devices/system/cpu/cpu0/online = 600\n",
    "/etc/rc.local": "#!/bin/sh\n/usr/lib/armbian/opt start\n",
    "/usr/lib/armbian/opt": "#!/bin/bash\nprefix=\"/sys/class/net\"\nset_io() {\n"
    "  for dev in /sys/block/*/queue/rq_affinity; do echo 2 >$dev; done\n}\n"
    "case $1 in\n\t*start*) set_io; echo 256 > $prefix/eth0/queues/rx-0/rps_flow_cnt ;;\nesac\n",
}  # fmt: skip

RASPBERRY = {
    **SYSTEMD,
    "/etc/os-release": "ID=raspbian\n",
    "/etc/fstab": "PARTUUID=1-01 /boot/firmware vfat defaults 0 2\n"
    "PARTUUID=1-02 / ext4 defaults,noatime,commit=60 0 1\n",
    "/boot/firmware/cmdline.txt": "console=serial0,115200 root=PARTUUID=1-02 quiet "
    "isolcpus=2,3 usbcore.autosuspend=5 sysctl.vm.min_free_kbytes=8192\n",
    "/boot/firmware/config.txt": "[pi4]\narm_boost=1\n[all]\narm_freq=600\n#arm_freq=1500\n",
    "/etc/rc.local": "#!/bin/sh -e\nif [ -d /sys/class/scsi_host ]; then\n"
    "  for h in /sys/class/scsi_host/host*/link_power_management_policy; do\n"
    "    echo min_power > \"$h\"\n  done\nfi\nexit 0\n",
    "/etc/profile.d/malloc.sh": "#export MALLOC_ARENA_MAX=4\nexport MALLOC_ARENA_MAX=1\n",
    "/boot/config-6.6.0": "CONFIG_TRANSPARENT_HUGEPAGE=y\n# CONFIG_TRANSPARENT_HUGEPAGE_ALWAYS is "
    "not set\nCONFIG_TRANSPARENT_HUGEPAGE_MADVISE=y\nCONFIG_DEFAULT_TCP_CONG=\"reno\"\n"
    "CONFIG_HZ=100\n",
    "/etc/tuned/active_profile": "board\n",
    "/etc/tuned/board/tuned.conf": "[main]\ninclude=base\n\n[sysctl]\nvm.dirty_bytes = 1048576\n",
    "/usr/lib/tuned/base/tuned.conf": "[vm]\ntransparent_hugepage.defrag=defer\n",
}  # fmt: skip

TREES: Mapping[str, Mapping[str, str]] = {
    "debian": DEBIAN,
    "yocto": YOCTO_SYSVINIT,
    "buildroot": BUILDROOT,
    "openrc": OPENRC,
    "armbian": ARMBIAN,
    "raspberry": RASPBERRY,
}

PLANTS = (
    Plant("debian", "vm.page_cluster", "0", "/etc/sysctl.conf:3"),
    Plant("debian", "vm.dirty_ratio", "40", "/etc/sysctl.d/60-vm.conf:3"),
    Plant("debian", "vm.swappiness", "100", "/etc/sysctl.d/60-vm.conf:4"),
    Plant("debian", "net.tcp_rmem", "4096\t16384\t65536", "/etc/sysctl.d/70-net.conf:1"),
    Plant("debian", "net.rmem_max", "65536", "/etc/sysctl.d/70-net.conf:3"),
    Plant("debian", "net.wmem_max", "131072", "/etc/sysctl.d/90-wmem.conf:1"),
    Plant("debian", "net.default_qdisc", "fq_codel", "/usr/lib/sysctl.d/50-default.conf:2"),
    Plant("debian", "memory.thp", "madvise", "/etc/tmpfiles.d/thp.conf:2"),
    Plant("debian", "memory.thp_defrag", "never", "/etc/tmpfiles.d/thp.conf:3"),
    Plant("debian", "block.read_ahead_kb", "16", "/etc/udev/rules.d/60-readahead.rules:5"),
    Plant("debian", "net.tx_queue_len", "4", "/etc/udev/rules.d/61-net.rules:1"),
    Plant("debian", "cpu.governor", "powersave", "/usr/local/bin/tune.sh:8"),
    Plant("debian", "memory.ksm", "1", "/usr/local/bin/tune.sh:10"),
    Plant("debian", "usb.autosuspend", "-1", "/etc/modprobe.d/usb.conf:2"),
    Plant("yocto", "kernel.printk", "7\t4\t1\t7", "/etc/sysctl.conf:1"),
    Plant("yocto", "vm.vfs_cache_pressure", "50", "/etc/sysctl.conf:2"),
    Plant("yocto", "block.read_ahead_kb", "1024", "/etc/default/tuning:2"),
    Plant("yocto", "vm.laptop_mode", "5", "/etc/rc.local:3"),
    Plant("buildroot", "net.netdev_budget", "50", "/etc/inittab:4"),
    Plant("buildroot", "fs.pipe_max_size", "4096", "/etc/sysctl.conf:1"),
    Plant("buildroot", "net.tx_queue_len", "10", "/etc/init.d/S50net:4"),
    Plant("buildroot", "block.read_ahead_kb", "16", "/etc/init.d/S60disk:2"),
    Plant("openrc", "cpu.governor", "conservative", "/etc/conf.d/governor:2"),
    Plant("openrc", "kernel.randomize_va_space", "0", "/etc/sysctl.d/local.conf:1"),
    Plant("openrc", "net.tcp_sack", "0", "/etc/local.d/50-net.start:2"),
    Plant("openrc", "vm.zone_reclaim_mode", "3", "/etc/crontabs/root:2"),
    Plant("armbian", "cpu.governor", "ondemand", "/etc/default/cpufrequtils:4"),
    Plant("armbian", "cpu.max_freq", "1368000", "/etc/default/cpufrequtils:3"),
    Plant("armbian", "memory.thp", "never", "/boot/armbianEnv.txt:3"),
    Plant("armbian", "cgroup.cpu_max", "50000 100000",
          "/etc/systemd/system/user-.slice.d/limit.conf:2"),
    Plant("armbian", "block.nr_requests", "8", "/etc/sysfs.conf:2"),
    Plant("armbian", "block.rq_affinity", "2", "/usr/lib/armbian/opt:4"),
    Plant("armbian", "net.rps_flow_cnt", "256", "/usr/lib/armbian/opt:7"),
    Plant("raspberry", "usb.autosuspend", "5", "/boot/firmware/cmdline.txt:1"),
    Plant("raspberry", "vm.min_free_kbytes", "8192", "/boot/firmware/cmdline.txt:1"),
    Plant("raspberry", "sata.link_power_management_policy", "min_power", "/etc/rc.local:4"),
    Plant("raspberry", "memory.thp", "madvise", "/boot/config-6.6.0:3"),
    Plant("raspberry", "net.congestion_control", "reno", "/boot/config-6.6.0:4"),
    Plant("raspberry", "vm.dirty_bytes", "1048576", "/etc/tuned/board/tuned.conf:5"),
    Plant("raspberry", "memory.thp_defrag", "defer", "/usr/lib/tuned/base/tuned.conf:2"),
)  # fmt: skip

ROLES = {
    "root_disk": "mmcblk0",
    "root_part": "mmcblk0p2",
    "default_nic": "eth0",
    "cgroup": "/user.slice/user-0.slice",
}


def build(files: Mapping[str, str | bytes], root: Path) -> Path:
    """The files of a system below a directory."""
    for path, content in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            place.write_bytes(content)
        elif content.startswith(LINK):
            place.symlink_to(content.removeprefix(LINK))
        else:
            place.write_text(content)
    return root


def suspect_of(knob_name: str, bad: str, good: str = "another") -> Suspect:
    """A knob that has this value on the bad side; of a family one file, after a colon."""
    item, knob = knobs()[knob_name.partition(":")[0]]
    return Suspect(
        knob_name,
        knob.summary,
        Layer.RUN_TIME,
        item.id,
        good,
        bad,
        means=SettingMeans((Setting(knob, good),), (Setting(knob, bad),)),
    )
