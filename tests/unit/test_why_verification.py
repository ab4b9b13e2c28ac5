"""Experiments count only where the processes measured show what was meant to change, and no more.

The processes are those of commands as ``bvprobe follow --show state`` describes them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchvise.board.messages import ProcessMessage, read_message
from benchvise.documents import JsonObject
from benchvise.state.knobs import Setting, find_knob
from benchvise.text import Untrusted
from benchvise.why.experiments.verification import Baseline, facet_rules, verify
from benchvise.why.model import Arm, Layer, LayerMeans, Means, ProcessMeans, SettingMeans, Side
from benchvise.why.model import Suspect as SuspectRecord

ROOT_MOUNT = "/ / rw,relatime ext4 /dev/root rw"
DATA_MOUNT = "/data / rw,relatime ext4 /dev/mmcblk0p3 rw"


def process(program: str = "/usr/bin/sort", **changes: object) -> ProcessMessage:
    usual = ProcessMessage(
        program=Untrusted(program),
        environment={"LANG": "C.UTF-8", "APP_MODE": True},
        limits={"nofile": "1024:4096"},
        scheduling={"nice": 0, "policy": 0, "priority": 0, "io": 0, "timer_slack": "50000"},
        cgroups=("0::/user.slice",),
        namespaces={"mnt": "mnt:[4026531841]", "net": "net:[4026531840]"},
        mapped=(program, "/usr/lib/libc.so.6"),
        mounts=(ROOT_MOUNT, DATA_MOUNT),
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


BASELINE = Baseline.of([[process(), process(mounts=None)]] * 2)


def arm(*means: Means) -> Arm:
    return Arm(
        Side.BAD,
        tuple(
            SuspectRecord(f"s{i}", f"title {i}", Layer.PROCESS, "item", "", "", means=m)
            for i, m in enumerate(means)
        ),
    )


def given(**attributes: str) -> ProcessMeans:
    return ProcessMeans({name.replace("__", "."): value for name, value in attributes.items()})


LANG: JsonObject = {"LANG": "C", "APP_MODE": True}


def test_what_was_meant_to_change_has_to_change() -> None:
    means = given(env__LANG="C")
    assert verify(arm(means), BASELINE, [process(environment=LANG)]).is_valid
    unchanged = verify(arm(means), BASELINE, [process()])
    assert [suspect.id for suspect in unchanged.unreached] == ["s0"]
    assert "in no process of the command did title 0 change" in unchanged.reason


def test_each_of_several_is_looked_at() -> None:
    both = arm(given(env__LANG="C"), given(limit__nofile="20000"))
    half = verify(both, BASELINE, [process(environment=LANG)])
    assert [suspect.id for suspect in half.unreached] == ["s1"]


def test_what_else_changed_spoils_the_experiment() -> None:
    processes = [process(environment=LANG, cgroups=("0::/limited.slice",))]
    spoiled = verify(arm(given(env__LANG="C")), BASELINE, processes)
    assert not spoiled.unreached
    assert spoiled.besides == (
        "cgroups (0::/user.slice before, 0::/limited.slice in the experiment)",
    )
    assert "also differ in cgroups" in spoiled.reason


def test_settings_of_the_board_leave_processes_as_they_are() -> None:
    setting = Setting(find_knob("vm.swappiness"), "10")
    means = SettingMeans((setting,), ())
    mapped = ("/usr/bin/sort", "/usr/lib/locale/locale-archive")
    assert verify(arm(means), BASELINE, [process(), process(mapped=mapped)]).is_valid
    assert not verify(arm(means), BASELINE, [process(environment={})]).is_valid


def test_a_mount_option_has_to_be_seen_where_the_command_runs() -> None:
    means = SettingMeans((Setting(find_knob("mount.sync"), "async"),), ())
    synced = DATA_MOUNT.replace("relatime", "relatime,sync")
    assert verify(arm(means), BASELINE, [process(mounts=(ROOT_MOUNT, synced))]).is_valid
    assert not verify(arm(means), BASELINE, [process()]).is_valid


def test_replaced_files_come_with_a_namespace_of_their_own() -> None:
    means = given(**{"file__/etc/hosts": "127.0.0.1 lab"})
    hosts = "/etc/hosts /content rw,nosuid,nodev tmpfs tmpfs rw,mode=700"
    apart = {"mnt": "mnt:[4026532999]", "net": "net:[4026531840]"}
    processes = [process(namespaces=apart, mounts=(ROOT_MOUNT, DATA_MOUNT, hosts))]
    assert verify(arm(means), BASELINE, processes).is_valid
    assert not verify(arm(given(env__LANG="C")), BASELINE, processes).is_valid


def test_other_libraries_have_to_be_mapped() -> None:
    means = LayerMeans("userland", "libz.so.1")
    mapped = ("/usr/bin/sort", "/opt/copies/libz.so.1")
    assert verify(arm(means), BASELINE, [process(mapped=mapped)]).is_valid
    assert not verify(arm(means), BASELINE, [process()]).is_valid
    # A shim before the real program is a script, whose shell sets variables of its own.
    shim = process(mapped=mapped, environment={**LANG, "SHLVL": True})
    assert verify(arm(means), BASELINE, [shim]).is_valid
    assert not verify(arm(means), BASELINE, [process(mapped=mapped, cgroups=("0::/x",))]).is_valid


def test_a_file_of_the_other_side_has_to_be_mounted_and_may_change_anything() -> None:
    hook = "/etc/profile.d/hook.sh /9 tmpfs"
    means = LayerMeans("file", "/etc/profile.d/hook.sh")
    processes = [process(mounts=(ROOT_MOUNT, DATA_MOUNT, hook), environment={"NEW": True})]
    assert verify(arm(means), BASELINE, processes).is_valid
    assert verify(arm(means), BASELINE, [process(environment={"NEW": True})]).unreached


def test_what_varies_from_run_to_run_says_nothing() -> None:
    varying = Baseline.of(
        [[process(environment={"LANG": "C.UTF-8", "RANDOM_SEED": seed})] for seed in ("1", "2")]
    )
    processes = [process(environment={"LANG": "C", "RANDOM_SEED": "3"})]
    assert verify(arm(given(env__LANG="C")), varying, processes).is_valid


def test_a_variable_that_the_command_sets_for_its_children_follows_from_the_flip() -> None:
    own = {"MAKEFLAGS": "-j1"}
    children = {"MAKEFLAGS": " -s -j1", "MFLAGS": "-s -j1"}
    serial = Baseline.of([[process(environment=children), process(environment=own)]] * 2)
    means = given(env__MAKEFLAGS="-j8")
    faster = {"MAKEFLAGS": " -s -j8", "MFLAGS": "-s -j8"}
    arm_processes = [process(environment=faster), process(environment={"MAKEFLAGS": "-j8"})]
    assert verify(arm(means), serial, arm_processes).is_valid
    # What the command itself was given besides is nothing that it has set.
    given_too = [process(environment=faster), process(environment={**own, "MFLAGS": "-s -j8"})]
    assert verify(arm(means), serial, given_too).besides


def test_a_value_that_is_not_told_may_have_changed() -> None:
    assert verify(arm(given(env__APP_MODE="x")), BASELINE, [process()]).is_valid
    assert not verify(arm(given(env__APP_MODE="%")), BASELINE, [process()]).is_valid


def test_a_command_without_processes_has_no_baseline() -> None:
    with pytest.raises(ValueError, match="no process"):
        Baseline.of([[], []])


def test_rules_name_one_kind_of_flip_each() -> None:
    for rule in facet_rules():
        assert sum(map(bool, (rule.attribute, rule.knob, rule.layer))) == 1


def test_the_line_of_a_process_is_typed() -> None:
    line = (
        b'{"type":"process","program":"/bin/true","environment":{"LANG":"C","APP_MODE":true},'
        b'"limits":{"nofile":"77:99"},"scheduling":{"nice":3,"timer_slack":"60001"},'
        b'"cgroups":["0::/"],"namespaces":{"mnt":"mnt:[1]"},"mapped":["/bin/true"]}'
    )
    message = read_message(line)
    assert isinstance(message, ProcessMessage)
    assert message.mounts is None
    assert message.limits == {"nofile": "77:99"}
