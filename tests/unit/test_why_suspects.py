"""From two snapshots to suspects: what is flipped how, and what cannot be the cause."""

from __future__ import annotations

import gzip
import json
import tomllib
from importlib.resources import files
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from state_boards import PC_LINKS, answers, snapshot
from why_boards import BOARD, BOTH, CPUS, NEITHER, found, metric, one, side, with_value

from benchvise.state.catalogue import items_by_id, knobs, load_catalogue
from benchvise.state.diff import diff_snapshots
from benchvise.state.knobs import canonical
from benchvise.state.model import Snapshot, snapshot_of
from benchvise.text import printable
from benchvise.why.model import Layer, Means, ProcessMeans, SettingMeans, Side
from benchvise.why.provenance.targets import targets_of
from benchvise.why.suspects.find import consent_for, find
from benchvise.why.suspects.reduction import knobs_of_boot_option, layer_of, reach_of, ties

SNAPSHOTS = Path(__file__).parents[1] / "data" / "snapshots"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
MTHP = "/sys/kernel/mm/transparent_hugepage/hugepages-{}kB/enabled"
GOVERNOR = CPUS + "/cpufreq/policy{}/scaling_governor"


def settings(means: Means | None, towards: Side = Side.GOOD) -> list[str]:
    assert isinstance(means, SettingMeans)
    return [
        f"{setting}{' ' if setting.paths else ''}{' '.join(setting.paths)}"
        for setting in means.towards(towards)
    ]


class TestSettings:
    def test_one_setting_is_flipped_both_ways(self) -> None:
        suspect = one({THP: "[always] madvise never\n"})
        assert (suspect.id, suspect.good, suspect.bad) == ("memory.thp", "madvise", "always")
        assert suspect.layer is Layer.RUN_TIME and suspect.members == ("memory.thp/mode",)
        assert settings(suspect.means) == ["memory.thp=madvise"]
        assert settings(suspect.means, Side.BAD) == ["memory.thp=always"]

    def test_one_governor_on_all_policies_is_one_suspect(self) -> None:
        suspect = one({GOVERNOR.format(n): "ondemand\n" for n in (0, 2)})
        assert suspect.id == "cpu.governor" and len(suspect.members) == 2
        assert settings(suspect.means) == ["cpu.governor=schedutil"]

    def test_a_setting_that_only_its_family_names_is_tried_by_itself(self) -> None:
        """A vendor's sysctl file may set what no list has; what others have stays theirs."""
        tcp = "/proc/sys/net/ipv4/tcp_{}"
        good = {tcp.format("orphan_retries"): "0\n", tcp.format("keepalive_time"): "7200\n"}
        bad = {tcp.format("orphan_retries"): "7\n", tcp.format("keepalive_time"): "60\n"}
        result = found(bad, good=good)
        suspects = {s.id: s for s in result.suspects}
        assert suspects.keys() == {"net.tcp_sysctl:tcp_orphan_retries", "net.tcp_keepalive_time"}
        family = suspects["net.tcp_sysctl:tcp_orphan_retries"]
        assert (family.good, family.bad) == ("0", "7")
        assert settings(family.means) == [f"net.tcp_sysctl=0 {tcp.format('orphan_retries')}"]
        (wanted, *_) = targets_of(family, Side.BAD, {})
        assert (wanted.target, set(wanted.values)) == (tcp.format("orphan_retries"), {"7"})

    def test_what_is_set_of_one_interface_is_tried_by_itself(self) -> None:
        """A file that is another's in other units, or of the way in, is none of them."""
        neighbours = "/proc/sys/net/ipv4/neigh/eth0/{}"
        names = ("mcast_solicit", "ucast_solicit", "retrans_time_ms", "unres_qlen_bytes")
        good = {neighbours.format(name): "3\n" for name in names}
        accepts = "/proc/sys/net/ipv6/conf/eth0/accept_dad"
        filters = "/proc/sys/net/ipv4/conf/eth0/rp_filter"
        good |= {accepts: "0\n", filters: "0\n"}
        bad = dict.fromkeys(good, "1\n")
        suspects = {s.id: s for s in found(bad, good=good).suspects}
        tried = {name for name, s in suspects.items() if s.means is not None}
        assert tried == {
            "net.neigh_sysctl:eth0/mcast_solicit",
            "net.neigh_unicast_sysctl:eth0/ucast_solicit",
            "net.neigh_time_sysctl:eth0/retrans_time_ms",
            "net.neigh_unicast_sysctl:eth0/unres_qlen_bytes",
        }
        with_consent = {name: consent_for(s) for name, s in suspects.items() if s.means is None}
        assert with_consent == {
            "net.interface6_accept_sysctl:eth0/accept_dad": ("net.interface6_accept_sysctl",),
            "net.interface_sysctl:eth0/rp_filter": ("net.interface_sysctl",),
        }
        path = neighbours.format("mcast_solicit")
        asked = suspects["net.neigh_sysctl:eth0/mcast_solicit"]
        assert settings(asked.means) == [f"net.neigh_sysctl=3 {path}"]
        wanted = {w.target: set(w.values) for w in targets_of(asked, Side.BAD, {})}
        default = path.replace("eth0", "default")  # it reaches what nobody has set
        assert wanted == {path: {"1"}, default: {"1"}}

    def test_each_of_hundreds_of_interfaces_is_a_suspect(self) -> None:
        """Which took minutes when each that was chosen had all others looked at."""
        names = ("mcast_solicit", "ucast_solicit", "retrans_time_ms", "app_solicit")
        files_of_all = [
            f"/proc/sys/net/ipv4/neigh/veth{number}/{name}"
            for number in range(250)
            for name in names
        ]
        result = found(dict.fromkeys(files_of_all, "3\n"), good=dict.fromkeys(files_of_all, "5\n"))
        assert len(result.suspects) == len(files_of_all)

    def test_an_option_of_a_module_is_tried_with_consent(self) -> None:
        """What is shown and cannot be written back is not tried, nor what one side has not."""
        option = "/sys/module/snd_hda_intel/parameters/{}"
        good = {option.format("power_save"): "-1\n", option.format("quirks"): "(null)\n"}
        bad = {option.format("power_save"): "2\n", option.format("quirks"): "a:b:c\n"}
        bad["/sys/module/snd/parameters/slots"] = "1\n"
        name = "kernel.module_option:snd_hda_intel/parameters/power_save"
        plain = {s.id: s for s in found(bad, good=good).suspects}
        assert plain[name].means is None
        assert consent_for(plain[name]) == ("kernel.module_option",)
        allowed = found(bad, good=good, allowed=("kernel.module_option",)).suspects
        tried = {s.id: s for s in allowed if s.means is not None}
        assert list(tried) == [name]
        path = option.format("power_save")
        assert settings(tried[name].means) == [f"kernel.module_option=-1 {path}"]
        assert {w.target for w in targets_of(plain[name], Side.BAD, {})} == {path}

    def test_devices_that_are_to_differ_are_set_one_by_one(self) -> None:
        suspect = one(
            {
                MTHP.format(32): "[always] inherit madvise never\n",
                MTHP.format(64): "always [inherit] madvise never\n",
            }
        )
        assert settings(suspect.means) == [
            f"memory.mthp=never {MTHP.format(32)} {MTHP.format(64)}"
        ] or settings(suspect.means) == ["memory.mthp=never"]
        assert settings(suspect.means, Side.BAD) == [
            f"memory.mthp=always {MTHP.format(32)}",
            f"memory.mthp=inherit {MTHP.format(64)}",
        ]
        assert suspect.bad == "always (32 kB enabled); inherit (64 kB enabled)"

    def test_only_the_device_that_differs_is_set_where_others_stay_apart(self) -> None:
        good = {GOVERNOR.format(0): "performance\n"}
        suspect = one({GOVERNOR.format(0): "ondemand\n"}, good=good)
        assert settings(suspect.means) == [f"cpu.governor=performance {GOVERNOR.format(0)}"]
        assert settings(suspect.means, Side.BAD) == [f"cpu.governor=ondemand {GOVERNOR.format(0)}"]

    def test_devices_are_matched_by_role_and_set_by_their_own_names(self) -> None:
        pc = {
            path.replace("mmcblk0", "sda").replace("eth0", "enp3s0"): text
            for path, text in BOARD.items()
        }
        pc["/proc/self/mountinfo"] = "27 1 8:2 / / rw,noatime - ext4 /dev/sda2 rw\n"
        pc["/proc/net/route"] = "Iface\nenp3s0 00000000 0100A8C0 0003 0 0 0 00000000 0 0 0\n"
        pc["/sys/block/sda/queue/read_ahead_kb"] = "4\n"
        bad = snapshot(answers(pc, PC_LINKS))
        suspects = {s.id: s for s in find(side(), bad, metric(), may_set=BOTH).suspects}
        suspect = suspects["block.read_ahead_kb"]
        assert settings(suspect.means) == ["block.read_ahead_kb=128"]
        assert settings(suspect.means, Side.BAD) == ["block.read_ahead_kb=4"]

    def test_a_value_that_a_side_does_not_offer_is_not_written_there(self) -> None:
        control = "/proc/sys/net/ipv4/tcp_congestion_control"
        listed = "/proc/sys/net/ipv4/tcp_available_congestion_control"
        suspect = one({control: "bbr\n", listed: "reno cubic bbr\n"})
        assert settings(suspect.means) == ["net.congestion_control=cubic"]
        assert settings(suspect.means, Side.BAD) == []
        assert suspect.not_on_good == "the good side does not offer bbr: it has cubic reno"
        suspect = one({control: "reno\n"}, good={control: "bbr\n"})
        assert suspect.means is None
        assert suspect.untestable == "the bad side does not offer bbr: it has cubic reno"

    def test_a_value_beyond_the_limits_of_the_knob_is_not_written(self) -> None:
        suspect = one(
            {"/proc/sys/vm/nr_hugepages": "5\n"}, good={"/proc/sys/vm/nr_hugepages": "99999999\n"}
        )
        assert suspect.means is None and "from 0 to 65536" in suspect.untestable

    def test_vectors_are_written_as_the_file_has_them(self) -> None:
        suspect = one({"/proc/sys/net/ipv4/tcp_rmem": "4096\t4096\t8192\n"}, "net.tcp")
        assert settings(suspect.means) == ["net.tcp_rmem=4096 131072 6291456"]

    def test_a_file_of_two_knobs_goes_to_the_narrower_one_that_covers_it(self) -> None:
        disable = CPUS + "/cpu{}/cpuidle/state{}/disable"
        suspect = one({disable.format(cpu, 1): "1\n" for cpu in range(4)})
        assert suspect.id == "cpu.idle_state1_disable"
        suspect = one({disable.format(cpu, n): "1\n" for cpu in range(4) for n in (1, 2)})
        assert suspect.id == "cpu.idle_deep_disable"
        assert settings(suspect.means) == ["cpu.idle_deep_disable=0"]

    def test_masks_that_mean_the_same_are_no_difference(self) -> None:
        assert not found({"/sys/class/net/eth0/queues/rx-0/rps_cpus": "0000000f\n"}).suspects

    @given(st.text(max_size=60))
    @hypothesis.settings(max_examples=20)
    def test_whatever_a_board_says_is_written_only_as_the_knob_allows(self, text: str) -> None:
        files = {THP: text, "/proc/sys/vm/dirty_ratio": text, "/proc/sys/kernel/printk": text}
        for suspect in found(files, good=None).suspects:
            for line in (suspect.good, suspect.bad, suspect.untestable):
                assert printable(line, 1000) == line
            if isinstance(suspect.means, SettingMeans):
                for setting in (*suspect.means.to_good, *suspect.means.to_bad):
                    assert canonical(setting.knob, setting.value) == setting.value


class TestTies:
    def test_a_ratio_and_its_bytes_are_one_suspect_set_by_what_holds(self) -> None:
        suspect = one(
            {"/proc/sys/vm/dirty_ratio": "0\n", "/proc/sys/vm/dirty_bytes": "1048576\n"},
            "storage.write",
        )
        assert suspect.id == "vm.dirty_bytes"
        assert settings(suspect.means) == ["vm.dirty_ratio=20"]
        assert settings(suspect.means, Side.BAD) == ["vm.dirty_bytes=1048576"]
        assert suspect.bad == "vm.dirty_ratio=0, vm.dirty_bytes=1048576"

    def test_the_limits_of_a_clock_are_one_suspect(self) -> None:
        suspect = one(
            {
                f"{CPUS}/cpufreq/policy{policy}/scaling_{name}_freq": "600000\n"
                for policy in (0, 2)
                for name in ("min", "max")
            }
        )
        assert suspect.id == "cpu.max_freq" and settings(suspect.means) == ["cpu.max_freq=1800000"]

    def test_flow_steering_takes_both_its_settings(self) -> None:
        rx = "/sys/class/net/eth0/queues/rx-{}/rps_flow_cnt"
        suspect = one(
            {
                "/proc/sys/net/core/rps_sock_flow_entries": "32768\n",
                rx.format(0): "16384\n",
                rx.format(1): "16384\n",
            }
        )
        assert settings(suspect.means) == ["net.rps_sock_flow_entries=0", "net.rps_flow_cnt=0"]

    def test_half_of_a_pair_is_a_suspect_of_its_own(self) -> None:
        assert one({"/proc/sys/vm/dirty_ratio": "40\n"}).id == "vm.dirty_ratio"

    def test_ties_are_between_knobs_that_exist(self) -> None:
        assert all(name in knobs() for tie in ties() for name in tie.knobs)


class TestRights:
    def test_without_the_right_a_process_may_still_do_without_huge_pages(self) -> None:
        suspect = one({THP: "[always] madvise never\n"}, may_set=NEITHER)
        assert isinstance(suspect.means, ProcessMeans) and suspect.layer is Layer.PROCESS
        assert suspect.means.to_good == {"thp": "off"} and suspect.not_on_good
        newer = {"/proc/sys/kernel/osrelease": "6.18.0\n"}
        suspect = one({THP: "[always] madvise never\n", **newer}, good=newer, may_set=NEITHER)
        assert isinstance(suspect.means, ProcessMeans)
        assert suspect.means.to_good == {"thp": "advised"}

    def test_what_a_process_cannot_be_given_is_said(self) -> None:
        suspect = one(
            {THP: "always madvise [never]\n"},
            good={THP: "[always] madvise never\n"},
            may_set=NEITHER,
        )
        assert suspect.means is None and "barred from huge pages" in suspect.untestable

    def test_fixed_addresses_can_be_given_and_random_ones_not(self) -> None:
        random = "/proc/sys/kernel/randomize_va_space"
        suspect = one({}, good={random: "0\n"}, may_set=NEITHER)
        assert isinstance(suspect.means, ProcessMeans) and suspect.means.to_good == {"aslr": "off"}
        suspect = one({random: "0\n"}, may_set=NEITHER)
        assert suspect.means is None

    def test_a_recorded_good_side_is_not_broken(self) -> None:
        may_set = {Side.GOOD: False, Side.BAD: True}
        suspect = one({THP: "[always] madvise never\n"}, may_set=may_set)
        assert isinstance(suspect.means, SettingMeans) and "may not be set" in suspect.not_on_good

    def test_risky_settings_take_consent(self) -> None:
        changes = {"/proc/sys/vm/swappiness": "100\n"}
        suspect = one(changes)
        assert suspect.means is None and "--allow vm.swappiness" in suspect.untestable
        assert consent_for(suspect) == ("vm.swappiness",)
        for allowed in ("vm.swappiness", "vm.*", "memory.swap", "all"):
            assert settings(one(changes, allowed=(allowed,)).means) == ["vm.swappiness=60"]
        assert one(changes, allowed=("memory.zswap",)).means is None

    def test_what_a_process_inherits_is_flipped_for_it_alone(self) -> None:
        process = {"uid": 0, "policy": 0, "priority": 0, "nice": 0, "io_class": 0, "io_level": 0}
        good = with_value(side(), "process.inherited/process", process)
        other = {**process, "policy": 1, "priority": 10, "nice": 5, "io_class": 3}
        bad = with_value(side(), "process.inherited/process", other)
        good = with_value(good, "timer.resolution/of the probe", {"slack_ns": 50000})
        bad = with_value(bad, "timer.resolution/of the probe", {"slack_ns": 5000000})
        good = with_value(good, "cpu.present/allowed", {"Cpus_allowed_list": "0-3"})
        bad = with_value(bad, "cpu.present/allowed", {"Cpus_allowed_list": "0"})
        suspects = find(good, bad, metric(), may_set=NEITHER).suspects
        assert {
            s.id: (s.means.to_good, s.means.to_bad)
            for s in suspects
            if isinstance(s.means, ProcessMeans)
        } == {
            "process.inherited:sched": ({"sched": "other"}, {"sched": "fifo:10"}),
            "process.inherited:nice": ({"nice": "0"}, {"nice": "5"}),
            "process.inherited:ioprio": ({"ioprio": "be:4"}, {"ioprio": "idle"}),
            "timer.resolution:slack": ({"timer_slack": "50000"}, {"timer_slack": "5000000"}),
            "cpu.present:allowed": ({"cpus": "0-3"}, {"cpus": "0"}),
        }


class TestWhatNoSettingCovers:
    def test_the_kernel_is_a_suspect_that_layers_reach(self) -> None:
        result = found({"/proc/sys/kernel/osrelease": "5.10.0\n"}, "memory.copy")
        (suspect,) = result.suspects
        assert (suspect.id, suspect.layer, suspect.means) == ("kernel.version", Layer.KERNEL, None)
        assert suspect.untestable == "it takes the other side's kernel"

    def test_words_of_the_command_line_are_suspects_of_their_own(self) -> None:
        suspects = found(
            {"/proc/cmdline": BOARD["/proc/cmdline"].strip() + " mitigations=off nosmt"}
        )
        assert {s.id: (s.good, s.bad) for s in suspects.suspects} == {
            "kernel.command_line:mitigations": ("not there", "off"),
            "kernel.command_line:nosmt": ("not there", "given"),
        }
        assert {s.layer for s in suspects.suspects} == {Layer.COMMAND_LINE}

    def test_a_configuration_is_one_suspect_without_what_is_shown_by_itself(self) -> None:
        good = with_value(side(), "kernel.config/options", {"HZ": "250", "SLAB": "y", "X": "y"})
        bad = with_value(side(), "kernel.config/options", {"HZ": "100", "SLAB": "y"})
        good = with_value(good, "kernel.tick/options", {"HZ": "250"})
        bad = with_value(bad, "kernel.tick/options", {"HZ": "100"})
        suspects = {s.id: s for s in find(good, bad, metric(), may_set=BOTH).suspects}
        assert suspects["kernel.tick"].bad == "100"
        assert (suspects["kernel.config"].good, suspects["kernel.config"].bad) == ("y", "not there")

    def test_every_item_of_the_catalogue_has_a_layer(self) -> None:
        for item in load_catalogue():
            assert layer_of(item.id) in Layer


class TestReduction:
    def test_memory_copy_does_not_care_for_tcp_buffers(self) -> None:
        result = found({"/proc/sys/net/ipv4/tcp_rmem": "4096\t4096\t8192\n"}, "memory.copy")
        assert result.suspects == ()
        assert result.excluded == {
            "net.tcp/tcp_rmem": "it can affect the network only, which memory.copy does not"
        }

    def test_a_command_may_care_for_everything(self) -> None:
        assert one({"/proc/sys/net/ipv4/tcp_rmem": "4096\t4096\t8192\n"}).id == "net.tcp_rmem"
        assert set(reach_of("command.time").all) == {
            family for item in load_catalogue() for family in item.families
        }

    def test_what_only_identifies_is_no_suspect(self) -> None:
        good = with_value(side(), "net.filter/br0 bridge_id", "8000.0242ac110002")
        bad = with_value(side(), "net.filter/br0 bridge_id", "8000.0242ac110003")
        good = with_value(good, "boot.init_settings//etc/fstab", ["UUID=738a4d67-02 / ext4"])
        bad = with_value(bad, "boot.init_settings//etc/fstab", ["UUID=11111111-02 / ext4"])
        good = with_value(good, "storage.file_systems/dm-0 uuid", "CRYPT-1")
        bad = with_value(bad, "storage.file_systems/dm-0 uuid", "CRYPT-2")
        result = find(good, bad, metric(), may_set=BOTH)
        assert result.suspects == () and len(result.excluded) == 3

    def test_the_home_directory_counts_where_both_sides_are_one_user(self) -> None:
        copying = metric("command.time", "cp a b")
        good = with_value(side(), "process.environment/variables", {"HOME": "/root"})
        bad = with_value(side(), "process.environment/variables", {"HOME": "/data/root"})
        (suspect,) = find(good, bad, copying, may_set=BOTH).suspects
        assert suspect.id == "process.environment:HOME"
        assert suspect.means == ProcessMeans({"env.HOME": "/root"}, {"env.HOME": "/data/root"})
        good = with_value(good, "process.inherited/process", {"uid": 0})
        bad = with_value(bad, "process.inherited/process", {"uid": 1000})
        ids = {s.id for s in find(good, bad, copying, may_set=BOTH).suspects}
        assert "process.environment:HOME" not in ids

    def test_what_follows_from_another_difference_is_no_suspect(self) -> None:
        result = found(
            {"/proc/sys/kernel/watchdog": "0\n", "/proc/sys/kernel/soft_watchdog": "0\n"}
        )
        assert [s.id for s in result.suspects] == ["kernel.soft_watchdog"]

    def test_a_governor_brings_its_tunables(self) -> None:
        tunable = f"{CPUS}/cpufreq/ondemand/up_threshold"
        changes = {GOVERNOR.format(n): "ondemand\n" for n in (0, 2)}
        result = found({**changes, tunable: "95\n"})
        assert [s.id for s in result.suspects] == ["cpu.governor"]
        assert "a governor brings its own tunables" in next(iter(result.excluded.values()))

    def test_what_another_kernel_does_not_have_goes_with_it(self) -> None:
        good = {"/proc/sys/vm/compaction_proactiveness": "20\n"}
        result = found({"/proc/sys/kernel/osrelease": "5.4.0\n"}, good=good)
        assert [s.id for s in result.suspects] == ["kernel.version"]
        # while on the same kernel it is a difference like any other
        assert [s.id for s in found({}, good=good).suspects] == ["memory.watermarks"]

    def test_a_word_that_sets_a_tested_knob_is_no_suspect_itself(self) -> None:
        result = found(
            {
                THP: "[always] madvise never\n",
                "/proc/cmdline": BOARD["/proc/cmdline"].strip() + " transparent_hugepage=always",
            }
        )
        assert [s.id for s in result.suspects] == ["memory.thp"]
        assert (
            "memory.thp, which is tested itself" in result.excluded["kernel.command_line/options"]
        )

    @pytest.mark.parametrize(
        "line",
        [
            f"echo always > {THP}",
            "w /sys/kernel/mm/transparent_hugepage/enabled - - - - always",
        ],
    )
    def test_a_file_that_sets_a_tested_knob_is_no_suspect_itself(self, line: str) -> None:
        changes = {THP: "[always] madvise never\n", "/etc/rc.local": f"#!/bin/sh\n{line}\n"}
        assert [s.id for s in found(changes).suspects] == ["memory.thp"]
        more = {**changes, "/etc/rc.local": f"{line}\n/opt/start-daemon\n"}
        suspects = {s.id for s in found(more).suspects}
        assert suspects == {"memory.thp", "boot.init_settings:/etc/rc.local"}

    def test_a_line_that_sets_what_was_read_is_no_suspect(self) -> None:
        """What it sets is compared by itself; only what nobody has read is left of a file."""
        forward = {"/proc/sys/net/ipv4/ip_forward": "0\n"}
        unread = "net.ipv4.conf.all.promote_secondaries = 1"
        changes = {**forward, "/etc/sysctl.conf": "net.ipv4.ip_forward = 0\n"}
        (why,) = found(changes, good=forward).excluded.values()
        assert "read on both sides" in why
        more = {**forward, "/etc/sysctl.conf": f"net/ipv4/ip_forward = 0\n{unread}\n"}
        (suspect,) = found(more, good=forward).suspects
        assert "promote" in suspect.bad and "forward" not in suspect.bad

    def test_options_of_the_command_line_lead_to_knobs(self) -> None:
        assert knobs_of_boot_option("transparent_hugepage") == ("memory.thp",)
        assert knobs_of_boot_option("sysctl.vm.swappiness") == ("vm.swappiness",)
        assert knobs_of_boot_option("zswap.enabled") == ("memory.zswap",)
        assert knobs_of_boot_option("root") == ()

    def test_rules_name_what_exists(self) -> None:
        """Of every pattern the item is one of the catalogue's, or a knob's name."""
        table = tomllib.loads(
            files("benchvise.why.suspects").joinpath("reduction.toml").read_text()
        )
        items, names = items_by_id(), knobs()
        for record in (*table["follows"], *table["part_of"]):
            causes = record["of"] if isinstance(record["of"], list) else [record["of"]]
            for cause in causes:
                assert cause in names or cause.partition("/")[0] in items, cause
            for pattern in record["entry"]:
                item = pattern.partition("/")[0]
                assert item in items or item == "sched.*", pattern
        for option, of in table["boot_options"].items():
            assert all(name in names for name in of), option


class TestTwoImages:
    """Two images of one kind of simulated board, as their snapshots were: Debian 12 and 13."""

    @pytest.mark.parametrize("benchmark", ["memory.copy", "storage.write", "command.time"])
    def test_every_difference_is_a_suspect_or_has_its_reason(self, benchmark: str) -> None:
        good, bad = recorded("arm64-debian12"), recorded("arm64-debian13")
        result = find(good, bad, metric(benchmark), may_set=BOTH)
        told = {name for suspect in result.suspects for name in suspect.members}
        names = {difference.entry.name for difference in diff_snapshots(good, bad).differences}
        assert names == told | set(result.excluded)
        assert all(result.excluded.values())
        assert len({suspect.id for suspect in result.suspects}) == len(result.suspects)
        for suspect in result.suspects:
            assert (suspect.means is None) == bool(suspect.untestable), suspect.id
            assert suspect.good != suspect.bad

    def test_another_kernel_brings_few_suspects(self) -> None:
        """Of 200 differences it leaves those that can matter to a copy."""
        good, bad = recorded("arm64-debian12"), recorded("arm64-debian13")
        assert len(diff_snapshots(good, bad).differences) > 150
        result = find(good, bad, metric("memory.copy"), may_set=BOTH)
        assert {s.id for s in result.suspects if s.means} == {
            "kernel.nmi_watchdog",
            "kernel.sched_autogroup_enabled",
        }
        assert {"kernel.version", "memory.size"} < {s.id for s in result.suspects}
        assert len(result.suspects) < 16


def recorded(name: str) -> Snapshot:
    text = gzip.decompress((SNAPSHOTS / f"{name}.json.gz").read_bytes())
    return snapshot_of(json.loads(text)["data"])


def test_equal_boards_have_no_suspects() -> None:
    assert found({}).suspects == () and not found({}).excluded
