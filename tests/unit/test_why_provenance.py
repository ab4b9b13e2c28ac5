"""Which file and line sets a value: planted lines in trees of the usual systems, and decoys."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from root_trees import PLANTS, ROLES, TREES, Plant, build, suspect_of

from benchvise.why.explain.remedies import remedies
from benchvise.why.model import NOT_FOUND, Layer, LayerMeans, Origin, Side, Suspect
from benchvise.why.provenance import DirectoryFiles, find_origins, settings_of


def origins_in(
    files: Mapping[str, str | bytes], where: Path, knob: str, value: str
) -> tuple[Origin, ...]:
    source = DirectoryFiles(build(files, where), "tree", ROLES)
    return find_origins(source, suspect_of(knob, value), Side.BAD)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DirectoryFiles]:
    return {
        name: DirectoryFiles(build(files, tmp_path_factory.mktemp(name)), name, ROLES)
        for name, files in TREES.items()
    }


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.system}-{plant.knob}")
def test_a_planted_line_is_named(plant: Plant, sources: dict[str, DirectoryFiles]) -> None:
    origins = find_origins(sources[plant.system], suspect_of(plant.knob, plant.value), Side.BAD)
    assert [origin.where for origin in origins] == [plant.where]
    assert origins[0].certain, origins[0].note


def test_a_file_of_the_product_s_own_that_names_the_setting_is_told_as_uncertain(
    tmp_path: Path,
) -> None:
    files = {
        "/etc/board.conf": "# cpu.cfs_quota_us 10000\n[slice]\ncpu.max 10000 100000\n",
        "/etc/other.conf": "cpu.max 20000 100000\nscpu.max 10000\n",
        "/etc/sysctl.d/0.conf": "cpu.max = 10000\n",
    }
    (origin,) = origins_in(files, tmp_path, "cgroup.cfs_quota_us", "10000")
    assert (origin.where, origin.certain) == ("/etc/board.conf:3", False)


def test_a_limit_of_a_disk_is_found_as_the_unified_hierarchy_writes_it(tmp_path: Path) -> None:
    files = {"/etc/board.conf": "# io.max 7:3 wiops=50\nio.max 7:3 wiops=70\nio.max 7:3 wiops=50\n"}
    (origin,) = origins_in(files, tmp_path, "cgroup.io_write_iops", "7:3 50")
    assert (origin.where, origin.certain) == ("/etc/board.conf:3", False)


# -- decoys ----------------------------------------------------------------------------------------

DECOYS = (  # a line that says this value, but does not make it
    ("debian", "vm.swappiness", "10", "a file replaced by one of the same name"),
    ("debian", "vm.swappiness", "1", "a comment"),
    ("debian", "net.rmem_max", "1048576", "a file of /run below one of /etc"),
    ("debian", "net.wmem_max", "4096", "a file switched off by a link to /dev/null"),
    ("debian", "memory.thp", "always", "a second line of tmpfiles.d for the same path"),
    ("debian", "block.read_ahead_kb", "4096", "a rule for another disk"),
    ("yocto", "block.read_ahead_kb", "128", "the branch of a script that stops"),
    ("yocto", "block.nr_requests", "8", "a script that no link starts"),
    ("yocto", "vm.laptop_mode", "0", "a line behind exit"),
    ("buildroot", "net.tx_queue_len", "1000", "a function that stops"),
    ("openrc", "vm.overcommit_memory", "2", "a service of no run level"),
    ("openrc", "net.tcp_sack", "1", "a script that stops"),
    ("armbian", "block.nr_requests", "4", "a comment"),
    ("raspberry", "cpu.governor", "performance", "nothing at all"),
)


@pytest.mark.parametrize(("system", "knob", "value", "what"), DECOYS, ids=lambda given: str(given))
def test_a_decoy_is_not_named(
    system: str, knob: str, value: str, what: str, sources: dict[str, DirectoryFiles]
) -> None:
    (origin,) = find_origins(sources[system], suspect_of(knob, value), Side.BAD)
    assert origin.kind == NOT_FOUND, what
    assert not origin.certain
    assert "sysctl.d" in origin.note.raw


def test_a_unit_that_is_not_started_is_no_certain_origin(
    sources: dict[str, DirectoryFiles],
) -> None:
    (origin,) = find_origins(sources["debian"], suspect_of("block.scheduler", "none"), Side.BAD)
    assert origin.where == "/etc/systemd/system/other.service:2"
    assert not origin.certain
    assert "not started" in origin.note.raw


def test_a_rule_that_asks_what_only_the_board_knows_is_uncertain(tmp_path: Path) -> None:
    rule = 'SUBSYSTEM=="block", ATTR{queue/rotational}=="0", ATTR{queue/scheduler}="bfq"\n'
    (origin,) = origins_in(
        {"/etc/udev/rules.d/60-io.rules": rule}, tmp_path, "block.scheduler", "bfq"
    )
    assert origin.where == "/etc/udev/rules.d/60-io.rules:1"
    assert not origin.certain
    assert "ATTR{queue/rotational}==0" in origin.note.raw


def test_a_condition_that_cannot_be_known_makes_an_origin_uncertain(tmp_path: Path) -> None:
    script = (
        "#!/bin/sh\nif grep -q rk3399 /proc/device-tree/compatible; then\n"
        "  echo 1 > /proc/sys/vm/laptop_mode\nfi\n"
    )
    (origin,) = origins_in({"/etc/rc.local": script}, tmp_path, "vm.laptop_mode", "1")
    assert origin.where == "/etc/rc.local:3"
    assert not origin.certain


def test_the_last_of_several_lines_of_one_value_is_named_with_the_others(tmp_path: Path) -> None:
    files = {
        "/sbin/init": "-> /lib/systemd/systemd",
        "/etc/sysctl.d/10-a.conf": "vm.swappiness=5\n",
        "/etc/sysctl.d/20-b.conf": "vm.swappiness=5\n",
    }
    (origin,) = origins_in(files, tmp_path, "vm.swappiness", "5")
    assert origin.where == "/etc/sysctl.d/20-b.conf:1"
    assert origin.certain
    assert "/etc/sysctl.d/10-a.conf:1 says the same" in origin.note.raw


def test_a_line_that_should_have_won_makes_an_origin_uncertain(tmp_path: Path) -> None:
    files = {
        "/sbin/init": "-> /lib/systemd/systemd",
        "/etc/sysctl.d/10-a.conf": "vm.swappiness=5\n",
        "/etc/sysctl.d/20-b.conf": "vm.swappiness=7\n",
    }
    (origin,) = origins_in(files, tmp_path, "vm.swappiness", "5")
    assert origin.where == "/etc/sysctl.d/10-a.conf:1"
    assert not origin.certain
    assert "/etc/sysctl.d/20-b.conf:1 comes later and says 7" in origin.note.raw


def test_a_name_beats_a_pattern_and_an_exclusion_takes_one_out(tmp_path: Path) -> None:
    files = {
        "/etc/sysctl.d/10.conf": "net.ipv4.tcp_*sack = 0\n-net.ipv4.tcp_dsack\n",
        "/etc/sysctl.d/05.conf": "net.ipv4.tcp_sack = 1\n",
    }
    (origin,) = origins_in(files, tmp_path, "net.tcp_sack", "1")
    assert origin.where == "/etc/sysctl.d/05.conf:1"
    assert origin.certain


def test_systemd_reads_sysctl_conf_only_by_a_link(tmp_path: Path) -> None:
    files = {"/sbin/init": "-> /lib/systemd/systemd", "/etc/sysctl.conf": "vm.swappiness=5\n"}
    (origin,) = origins_in(files, tmp_path, "vm.swappiness", "5")
    assert origin.where == "/etc/sysctl.conf:1"
    assert not origin.certain
    assert "does not read" in origin.note.raw


def test_a_directive_list_is_emptied_by_a_drop_in(tmp_path: Path) -> None:
    unit = "/usr/lib/systemd/system/a.service"
    files = {
        "/sbin/init": "-> /lib/systemd/systemd",
        unit: "[Service]\nExecStart=/bin/sh -c 'echo 1 > /proc/sys/vm/laptop_mode'\n",
        "/etc/systemd/system/multi-user.target.wants/a.service": f"-> {unit}",
        "/etc/systemd/system/a.service.d/b.conf": "[Service]\nExecStart=\n"
        "ExecStart=/bin/sh -c 'echo 2 > /proc/sys/vm/laptop_mode'\n",
        "/usr/lib/systemd/system/default.target": "-> multi-user.target",
    }
    source = DirectoryFiles(build(files, tmp_path), "tree", ROLES)
    (origin,) = find_origins(source, suspect_of("vm.laptop_mode", "2"), Side.BAD)
    assert origin.where == "/etc/systemd/system/a.service.d/b.conf:3"
    (nowhere,) = find_origins(source, suspect_of("vm.laptop_mode", "1"), Side.BAD)
    assert nowhere.kind == NOT_FOUND


@pytest.mark.parametrize(
    ("lines", "knob", "value"),
    [
        ("CPUQuota=50%", "cgroup.cpu_max", "50000 100000"),
        ("CPUQuota=150%", "cgroup.cpu_max", "150000 100000"),
        ("CPUQuota=50%\nCPUQuotaPeriodSec=20ms", "cgroup.cpu_max", "10000 20000"),
        ("CPUQuota=12.5%\nCPUQuotaPeriodSec=1000ms", "cgroup.cpu_max", "125000 1000000"),
        ("CPUWeight=250", "cgroup.cpu_weight", "250"),
        ("MemoryHigh=33554432", "cgroup.memory_high", "33554432"),
        ("MemoryHigh=20000K", "cgroup.memory_high", "20480000"),
        ("MemoryHigh=64M", "cgroup.memory_high", "67108864"),
        ("MemoryHigh=3G", "cgroup.memory_high", "3221225472"),
        ("MemoryHigh=1T", "cgroup.memory_high", "1099511627776"),
        ("IOWeight=50", "cgroup.io_weight", "50"),
    ],
)
def test_a_limit_of_a_unit_is_what_the_kernel_shows(
    lines: str, knob: str, value: str, tmp_path: Path
) -> None:
    """systemd.resource-control(5): K, M, G and T are powers of 1024; cpu.max is in microseconds."""
    files = {"/etc/systemd/system/user-.slice.d/limit.conf": f"[Slice]\n{lines}\n"}
    (origin,) = origins_in(files, tmp_path, knob, value)
    assert origin.where == "/etc/systemd/system/user-.slice.d/limit.conf:2"


def test_a_masked_unit_sets_nothing(tmp_path: Path) -> None:
    unit = "/usr/lib/systemd/system/a.service"
    files = {
        "/sbin/init": "-> /lib/systemd/systemd",
        unit: "[Service]\nExecStart=/bin/sh -c 'echo 1 > /proc/sys/vm/laptop_mode'\n",
        "/etc/systemd/system/multi-user.target.wants/a.service": f"-> {unit}",
        "/etc/systemd/system/a.service": "-> /dev/null",
    }
    (origin,) = origins_in(files, tmp_path, "vm.laptop_mode", "1")
    assert origin.kind == NOT_FOUND


def test_words_and_variables_that_no_file_of_the_kernel_shows(
    sources: dict[str, DirectoryFiles],
) -> None:
    def of(item: str, part: str, bad: str, layer: Layer) -> Origin:
        suspect = Suspect(
            f"{item}:{part}", part, layer, item, "not there", bad, (f"{item}/options",)
        )
        assert all(o.kind == NOT_FOUND for o in find_origins(raspberry, suspect, Side.GOOD))
        return find_origins(raspberry, suspect, Side.BAD)[0]

    raspberry = sources["raspberry"]
    word = of("kernel.command_line", "isolcpus", "2,3", Layer.COMMAND_LINE)
    assert word.where == "/boot/firmware/cmdline.txt:1"
    assert word.certain
    variable = of("process.environment", "MALLOC_ARENA_MAX", "1", Layer.PROCESS)
    assert variable.where == "/etc/profile.d/malloc.sh:2"
    assert variable.certain


def test_the_timer_slack_of_all_services_is_the_managers(
    sources: dict[str, DirectoryFiles],
) -> None:
    suspect = Suspect(
        "timer.resolution", "", Layer.PROCESS, "timer.resolution", "50000", "5000000",
        ("timer.resolution/of the probe",),
    )  # fmt: skip
    (origin,) = find_origins(sources["armbian"], suspect, Side.BAD)
    assert origin.where == "/etc/systemd/system.conf:3"


# -- hostile files ---------------------------------------------------------------------------------

HOSTILE: Mapping[str, bytes] = {
    "a line of ten megabytes": b"vm.swappiness=1" + b"x" * (10 << 20) + b"\nvm.swappiness=5\n",
    "a binary file": bytes(range(256)) * 4000,
    "escape sequences": b"vm.swappiness=\x1b[31m5\x1b]0;title\x07\n",
    "ten thousand quotes": b"'" * 10_000 + b"\n" + b'"' * 10_001 + b"\n" + b"`" * 9_999,
    "brackets without end": (b"$(" * 5_000 + b"${" * 5_000 + b"((" * 5_000 + b"\n") * 20,
    "ifs without end": b"if true; then\n" * 2_000,
    "quotes over many lines": b"echo 'a\necho \"b\n" * 4_000,
    "backslashes": b"a \\\n" * 20_000,
    "patterns": b"case " + b"a" * 3_000 + b" in " + b"*a" * 400 + b"b) echo;; esac\n",
    "braces": b"echo " + b"{a,b}" * 300 + b" > /sys/x\n",
    "doubling": b"x=aaaaaaaa\n" + b"x=$x$x$x$x\n" * 2_000 + b'echo "$x" > /proc/sys/$x\n',
    "loops in loops": b"for a in 1 2 3 4 5 6 7 8 9; do\n" * 30 + b"echo 1 > /proc/sys/a\n"
    + b"done\n" * 30,
    "calls of itself": b"f() { f; f; }\nf\n",
    "a fork bomb": b":(){ :|:& };:\n" * 100,
    "sums": b"x=$((" + b"9**" * 60 + b"9))\nx=$((1<<" + b"9" * 50 + b"))\n",
    "runs itself": b"#!/bin/sh\n/etc/rc.local\n. /etc/rc.local\n",
    "reads itself in captured output": b'x=$(. /etc/rc.local)\ny="$(cat /etc/rc.local)$x$y"\n' * 50,
}  # fmt: skip

HOSTILE_PLACES = (
    "/etc/rc.local", "/etc/sysctl.d/a.conf", "/etc/udev/rules.d/a.rules", "/etc/tmpfiles.d/a.conf",
    "/etc/modprobe.d/a.conf", "/etc/inittab", "/etc/systemd/system/a.service", "/etc/crontab",
    "/boot/extlinux/extlinux.conf", "/boot/grub/grub.cfg", "/boot/boot.scr", "/etc/default/grub",
    "/boot/config-6.1", "/proc/config.gz", "/etc/profile", "/etc/fstab", "/etc/tlp.conf",
    "/etc/tuned/active_profile", "/etc/hdparm.conf", "/boot/config.txt", "/etc/sysfs.conf",
    "/etc/init.d/S50x", "/etc/network/interfaces", "/etc/security/limits.conf",
)  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files_are_survived(what: str, tmp_path: Path) -> None:
    places = HOSTILE_PLACES[: 4 if len(HOSTILE[what]) > 1 << 20 else None]
    files: dict[str, str | bytes] = dict.fromkeys(places, HOSTILE[what])
    files["/etc/sysctl.d/z.conf"] = "vm.laptop_mode=5\n"
    origins = origins_in(files, tmp_path, "vm.laptop_mode", "5")
    assert origins[0].where == "/etc/sysctl.d/z.conf:1"
    assert all(origin.text.raw.isprintable() for origin in origins)


def test_circles_of_links_and_what_is_no_file_are_survived(tmp_path: Path) -> None:
    files = {
        "/etc/sysctl.d/loop.conf": "-> loop.conf",
        "/etc/sysctl.d/a.conf": "-> b.conf",
        "/etc/sysctl.d/b.conf": "-> a.conf",
        "/etc/sysctl.d/out.conf": "-> ../../../../../../../../../../etc/hostname",
        "/etc/sysctl.d/dir.conf/file": "vm.laptop_mode=9\n",
        "/etc/sysctl.d/z.conf": "vm.laptop_mode=5\n",
        "/etc/init.d/self": "-> .",
        "/etc/systemd/system/a.service": "-> a.service",
    }
    root = build(files, tmp_path)
    os.mkfifo(root / "etc/sysctl.d/pipe.conf")
    source = DirectoryFiles(root, "tree", ROLES)
    (origin,) = find_origins(source, suspect_of("vm.laptop_mode", "5"), Side.BAD)
    assert origin.where == "/etc/sysctl.d/z.conf:1"
    assert "a circle" in " ".join(source.unread.values())


# -- what else is told -----------------------------------------------------------------------------


def test_the_settings_of_two_trees_differ_line_by_line(tmp_path: Path) -> None:
    one = {"/etc/sysctl.d/a.conf": "vm.swappiness=5\nvm.laptop_mode=1\n"}
    other = {
        "/etc/sysctl.d/a.conf": "# vm.swappiness=5\nvm.laptop_mode=1\n",
        "/etc/rc.local": "#!/bin/sh\necho never > /sys/kernel/mm/transparent_hugepage/enabled\n",
    }
    lists = [
        settings_of(DirectoryFiles(build(files, tmp_path / name), name))
        for name, files in (("one", one), ("other", other))
    ]
    sets = [{(path, value) for _, path, value in found} for found in lists]
    assert sets[0] - sets[1] == {("/proc/sys/vm/swappiness", "5")}
    assert sets[1] - sets[0] == {("/sys/kernel/mm/transparent_hugepage/enabled", "never")}
    assert [o.where for o, path, _ in lists[1] if "huge" in path] == ["/etc/rc.local:2"]


def test_a_source_is_read_once_for_all_suspects(tmp_path: Path) -> None:
    class Counting(DirectoryFiles):
        reads = 0

        def read(self, globs: Iterable[str]) -> dict[str, bytes]:
            Counting.reads += 1
            return super().read(globs)

    source = Counting(build(TREES["debian"], tmp_path), "tree", ROLES)
    find_origins(source, suspect_of("vm.swappiness", "100"), Side.BAD)
    first = Counting.reads
    for knob in ("memory.thp", "net.rmem_max", "cpu.governor"):
        find_origins(source, suspect_of(knob, "1"), Side.BAD)
    # Once more for files that only name it, where the first of them is set by nothing.
    assert Counting.reads == first + 1 <= 5


def test_a_part_of_an_images_settings_is_its_line(sources: dict[str, DirectoryFiles]) -> None:
    suspect = Suspect(
        "init-settings:/etc/rc.local#1",
        "",
        Layer.INIT_SETTINGS,
        "init-settings",
        "not there",
        "# a comment\necho 5 | tee /proc/sys/vm/laptop_mode >/dev/null",
        means=LayerMeans("init-settings", "/etc/rc.local#1"),
    )
    (origin,) = find_origins(sources["yocto"], suspect, Side.BAD)
    assert (origin.where, origin.kind, origin.certain) == ("/etc/rc.local:3", "rc.local", True)


def test_what_is_no_knob_is_looked_for_where_its_record_says(
    sources: dict[str, DirectoryFiles],
) -> None:
    suspect = Suspect(
        "kernel.tick", "", Layer.KERNEL, "kernel.tick", "4000000", "10000000",
        ("kernel.tick/tick_ns",),
    )  # fmt: skip
    (origin,) = find_origins(sources["raspberry"], suspect, Side.BAD)
    assert origin.where == "/boot/config-6.6.0:5"
    assert not origin.certain


def test_a_device_of_another_role_is_not_meant(tmp_path: Path) -> None:
    files = {"/etc/rc.local": "#!/bin/sh\nblockdev --setra 64 /dev/sda\n"}
    source = DirectoryFiles(build(files, tmp_path), "tree", {"root_disk": "mmcblk0"})
    suspect = suspect_of("block.read_ahead_kb", "32")
    (origin,) = find_origins(source, suspect, Side.BAD)
    assert origin.kind == NOT_FOUND
    entry = Suspect(
        "storage.queue", "", Layer.RUN_TIME, "storage.queue", "128", "32",
        ("storage.queue/sda read_ahead_kb",),
    )  # fmt: skip
    (origin,) = find_origins(source, entry, Side.BAD)
    assert origin.where == "/etc/rc.local:2"


def test_what_a_rule_asks_is_looked_up_where_the_system_runs(tmp_path: Path) -> None:
    class Running(DirectoryFiles):
        is_live = True

    rules = "".join(
        f'SUBSYSTEM=="block", ATTR{{queue/rotational}}=="{turns}", ATTR{{queue/scheduler}}="bfq"\n'
        for turns in (1, 0)
    )
    files = {
        "/run/udev/rules.d/60-io.rules": rules,
        "/sys/block/mmcblk0/queue/rotational": "0\n",
    }
    source = Running(build(files, tmp_path), "board", ROLES)
    (origin,) = find_origins(source, suspect_of("block.scheduler", "bfq"), Side.BAD)
    assert origin.where == "/run/udev/rules.d/60-io.rules:2"
    assert origin.certain


def test_entries_of_one_value_without_means_are_compared_by_it(
    sources: dict[str, DirectoryFiles],
) -> None:
    members = tuple(f"cpu.governor/policy{n} scaling_governor" for n in (0, 4))
    suspect = Suspect("cpu.governor", "", Layer.RUN_TIME, "cpu.governor", "x", "powersave", members)
    (origin,) = find_origins(sources["debian"], suspect, Side.BAD)
    assert (origin.where, origin.certain) == ("/usr/local/bin/tune.sh:8", True)


def test_a_variable_given_under_a_condition_may_have_either_value(tmp_path: Path) -> None:
    script = (
        "#!/bin/bash\n. /etc/board-release\n"
        "for i in $(lsblk -idn -o NAME | grep -v zram); do\n"
        "  read ROTATE < /sys/block/$i/queue/rotational\n"
        "  case ${ROTATE} in\n    1) [[ $ID -lt 4 ]] && sched=cfq || sched=bfq ;;\n"
        "    0) sched=none ;;\n    *) continue ;;\n  esac\n"
        "  echo $sched > /sys/block/$i/queue/scheduler\ndone\n"
        "case ${FAMILY} in\n  one | two*)\n"
        "    (echo 7 > /sys/class/net/eth0/queues/rx-0/rps_cpus) &\n"
        "    ;;\n  *)\n    echo 3 > /sys/class/net/eth0/queues/rx-0/rps_cpus\n    ;;\nesac\n"
    )
    files = {"/etc/rc.local": script, "/etc/board-release": "FAMILY=twofold\n"}
    source = DirectoryFiles(build(files, tmp_path), "tree", ROLES)
    for value in ("cfq", "bfq", "none"):
        (origin,) = find_origins(source, suspect_of("block.scheduler", value), Side.BAD)
        assert (origin.where, origin.certain) == ("/etc/rc.local:10", False)
    (origin,) = find_origins(source, suspect_of("block.scheduler", "kyber"), Side.BAD)
    assert origin.kind == NOT_FOUND
    (origin,) = find_origins(source, suspect_of("net.rps_cpus", "7"), Side.BAD)
    assert (origin.where, origin.certain) == ("/etc/rc.local:14", True)
    (origin,) = find_origins(source, suspect_of("net.rps_cpus", "3"), Side.BAD)
    assert origin.kind == NOT_FOUND


def test_names_of_files_are_fit_to_be_shown(tmp_path: Path) -> None:
    files = {"/etc/sysctl.d/a\x1b[31m\u202e.conf": "vm.laptop_mode=5\n"}
    (origin,) = origins_in(files, tmp_path, "vm.laptop_mode", "5")
    assert origin.where == "/etc/sysctl.d/a\ufffd.conf:1"


def test_a_line_of_a_start_file_that_is_shown_in_a_list_is_found(tmp_path: Path) -> None:
    """Its file was named, and not which of its lines it is."""
    files = {"/etc/rc.local": '#!/bin/sh\n# filters\nnft -f "/etc/a.conf"\n/opt/b\n'}
    source = DirectoryFiles(build(files, tmp_path), "tree", ROLES)
    text = '["nft -f \\"/etc/a.conf\\"", "/opt/…'
    name = "boot.init_settings:/etc/rc.local"
    line = Suspect(name, "", Layer.INIT_SETTINGS, "boot.init_settings", "not there", text)
    (origin,) = find_origins(source, line, Side.BAD)
    assert origin.where == "/etc/rc.local:3"
    values = {Side.GOOD: line.good, Side.BAD: line.bad}
    edit = remedies(line, origins=[origin], side_values=values, roles={})[0].text.splitlines()[1]
    assert edit == "sed -i '3{/conf/s/^/# /}' /etc/rc.local"


NFT_RULES = "table inet guard {\n  tcp dport 23 drop\n  tcp dport 113 drop\n}\n"
SCRIPT_RULES = "#!/bin/sh\ntrue\niptables -A INPUT -p tcp --dport 113 -j DROP\n"


@pytest.mark.parametrize(
    ("file", "text", "rule"),
    [
        ("/etc/nftables.conf", NFT_RULES, "tcp dport 113 drop"),
        ("/etc/rc.local", SCRIPT_RULES, "-A INPUT -p tcp -m tcp --dport 113 -j DROP"),
    ],
)
def test_a_rule_that_differs_leads_to_the_line_that_says_it(
    tmp_path: Path, file: str, text: str, rule: str
) -> None:
    good = "tcp dport 113 reject with tcp reset, not there"
    bad = f"not there, {rule}"
    suspect = Suspect("net.filter", "", Layer.RUN_TIME, "net.filter", good, bad)
    source = DirectoryFiles(build({file: text, "/etc/hosts": rule}, tmp_path), "tree", ROLES)
    (origin,) = find_origins(source, suspect, Side.BAD)
    assert (origin.file.raw, origin.line, origin.certain) == (file, 3, False)


ROUTE_SCRIPT = """#!/bin/sh
# ip route add 203.0.113.0/24 dev eth0
ip route add unreachable 203.0.113.0/24 metric 1000
ip route add 203.0.113.0/24 dev eth0 scope link
"""


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("/etc/rc.local", ROUTE_SCRIPT, 4),
        ("/etc/systemd/network/a.network", "[Route]\nDestination=203.0.113.0/24\nScope=link\n", 2),
        ("/etc/network/interfaces", "iface eth0\n  up route add -net 203.0.113.0/24 eth0\n", 2),
    ],
)
def test_a_route_that_differs_leads_to_the_line_about_its_destination(
    tmp_path: Path, file: str, text: str, line: int
) -> None:
    good = "unreachable metric 1000"
    bad = f"dev eth0 scope link, then {good}"
    name = "net.routes:203.0.113.0/24"
    suspect = Suspect(name, "", Layer.RUN_TIME, "net.routes", good, bad)
    files = {file: text, "/etc/hosts": "203.0.113.0/24\n", "/etc/init.d/a": "1203.0.113.0/24\n"}
    source = DirectoryFiles(build(files, tmp_path), "tree", ROLES)
    (origin,) = find_origins(source, suspect, Side.BAD)
    assert (origin.file.raw, origin.line, origin.certain) == (file, line, False)
    (nowhere,) = find_origins(source, suspect, Side.GOOD)
    assert nowhere.kind == "not found"


@pytest.mark.parametrize(
    ("home", "line", "certain"), [("/data/root", 1, True), ("/srv/alice", 3, False)]
)
def test_a_home_directory_leads_to_the_line_of_its_account(
    tmp_path: Path, home: str, line: int, certain: bool
) -> None:
    accounts = "root:x:0:0:root:/data/root:/bin/sh\n# none\nalice:x:1000:1000::/srv/alice:/bin/sh\n"
    source = DirectoryFiles(build({"/etc/passwd": accounts}, tmp_path), "tree", ROLES)
    item = "process.environment"
    suspect = Suspect(f"{item}:HOME", "", Layer.PROCESS, item, "/root", home)
    (origin,) = find_origins(source, suspect, Side.BAD)
    assert (origin.where, origin.certain) == (f"/etc/passwd:{line}", certain)


def test_a_service_leads_to_the_link_that_starts_it_also_where_init_is_not_known(
    tmp_path: Path,
) -> None:
    files = {"/etc/init.d/limiter": "#!/bin/sh\n", "/etc/rc2.d/S70limiter": "-> ../init.d/limiter"}
    source = DirectoryFiles(build(files, tmp_path), "tree", ROLES)
    item = "system.services"
    suspect = Suspect("service.state:limiter", "", Layer.RUN_TIME, item, "stopped", "running")
    (origin,) = find_origins(source, suspect, Side.BAD)
    assert (origin.file.raw, origin.certain) == ("/etc/rc2.d/S70limiter", False)


def test_a_variable_whose_value_is_not_told_leads_to_the_line_that_gives_it(tmp_path: Path) -> None:
    text = "# a token\nLANG=C\nMY_TOKEN=abc\n"
    source = DirectoryFiles(build({"/etc/environment": text}, tmp_path), "tree", ROLES)
    item = "process.environment"
    suspect = Suspect(f"{item}:MY_TOKEN", "", Layer.PROCESS, item, "not there", "given (#0a1b)")
    (origin,) = find_origins(source, suspect, Side.BAD)
    assert origin.where == "/etc/environment:3"
    (nowhere,) = find_origins(source, suspect, Side.GOOD)
    assert nowhere.kind == "not found"


@pytest.mark.parametrize(
    ("value", "where", "certain"),
    [
        ("de_DE.UTF-8", "/etc/ssh/sshd_config:3", False),  # the other file comes first
        ("C", "/etc/ssh/sshd_config:5", False),
        ("fr_FR", "/etc/ssh/sshd_config.d/site.conf:1", True),
    ],
)
def test_a_variable_that_the_server_of_logins_sets_leads_to_its_line(
    tmp_path: Path, value: str, where: str, certain: bool
) -> None:
    """It was by none of the files searched, perhaps a default."""
    files = {
        "/etc/ssh/sshd_config": "# SetEnv LC_ALL=C\nPort 22\n"
        'SetEnv A=1 "LC_ALL=de_DE.UTF-8"\nMatch User bob\n  setenv LC_ALL=C\n',
        "/etc/ssh/sshd_config.d/site.conf": "SetEnv LC_ALL=fr_FR\n",
    }
    source = DirectoryFiles(build(files, tmp_path), "tree", ROLES)
    item = "process.environment"
    suspect = Suspect(f"{item}:LC_ALL", "", Layer.PROCESS, item, "not there", value)
    (origin,) = find_origins(source, suspect, Side.BAD)
    assert (origin.where, origin.certain) == (where, certain)
