"""Remedies: each line in the syntax of the program that reads it, applied where that is here."""

from __future__ import annotations

import configparser
import contextlib
import itertools
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import skips
from families import every
from why_suspects import difference, line, suspect

from benchvise.state.catalogue import knobs
from benchvise.state.knobs import Setting
from benchvise.text import Untrusted
from benchvise.why.explain import remedies, remedy_lines
from benchvise.why.model import Layer, Origin, Remedy, SettingMeans, Side, Suspect
from benchvise.why.provenance import find_origins
from benchvise.why.provenance.sources import DirectoryFiles

ROLES = {
    "root_disk": "mmcblk0",
    "default_nic": "eth0",
    "dram": "dmc",
    "bench_cpu": "3",
    "cgroup": "/system.slice/ssh.service",
    "root_part": "mmcblk0p2",
    "kernel": "6.6.0",
}
THP = suspect("memory.thp", "madvise", "always")
THP_FILE = "/sys/kernel/mm/transparent_hugepage/enabled"


def of(found: Suspect, *origins: Origin, roles: dict[str, str] | None = None) -> Sequence[Remedy]:
    values = {Side.GOOD: found.good, Side.BAD: found.bad}
    given = ROLES if roles is None else roles
    return remedies.remedies(found, origins=origins, side_values=values, roles=given)


def text_of(found: Sequence[Remedy], system: str, having: str = "") -> str:
    texts = [r.text for r in found if r.system == system and having in r.text]
    assert texts, f"nothing for {system}"
    return texts[0]


def payload(text: str) -> str:
    """What is to be written to the first file, without the comments that say where."""
    after = itertools.dropwhile(lambda line: line.startswith("# "), text.splitlines())
    return "\n".join(itertools.takewhile(lambda line: not line.startswith("# "), after))


def value_for(name: str) -> str:
    """Some value that a knob takes."""
    knob = knobs()[name][1]
    if knob.kind == "integer":
        return str(max(knob.minimum, min(knob.maximum, 5)))
    texts = {
        "cgroup.cpu_max": "50000 100000",
        "kernel.printk": "4 4 1 7",
        "net.tcp_rmem": "4096 131072 6291456",
        "net.tcp_wmem": "4096 16384 4194304",
    }
    fallback = {
        "[0-9a-f]": "f",
        "[a-z": "cubic",
        "max": "max",
        "n/a": "0",
        "[0-9]": "0",
        "(def": "50",
    }
    found = next((v for k, v in fallback.items() if knob.pattern.startswith(k)), "0")
    return texts.get(name, knob.choices[0] if knob.choices else found)


each_knob = every("name", knobs())


# --- each setting -----------------------------------------------------------------------------


@each_knob
def test_every_setting_has_remedies_for_every_system(name: str) -> None:
    found = of(suspect(name, value_for(name), "other"))
    assert {"now", "Debian", "Yocto", "Buildroot"} <= {remedy.system for remedy in found}
    for remedy in found:
        assert "{" + "root_disk" not in remedy.text and "None" not in remedy.text
        assert remedy.cost, "no word about what it costs"


def test_lines_of_shell_are_shell() -> None:
    lines = {
        (name, remedy.system): remedy.text
        for name in knobs()
        for remedy in of(suspect(name, value_for(name), "other"))
        if remedy.system == "now" or (remedy.system == "Buildroot" and "#!/bin/sh" in remedy.text)
    }
    assert len(lines) > 100
    # one call for all of them, and where it complains one for each
    if _syntax_error("\n".join(lines.values())):
        assert {name: error for name, text in lines.items() if (error := _syntax_error(text))} == {}


def _syntax_error(script: str) -> str:
    done = subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True, check=False)
    return done.stderr


@each_knob
def test_udev_rules_are_udev_rules(name: str) -> None:
    path = knobs()[name][1].path
    for rule in (remedy_lines.udev_line(path.replace("{root_disk}", "mmcblk0"), value_for(name)),):
        clause = r'(?:ACTION|SUBSYSTEM|KERNEL|ENV\{\w+\})=="[^"]+"'
        assert rule == "" or re.fullmatch(rf'(?:{clause}, )+ATTR\{{[\w/]+\}}="[^"]*"', rule)


def test_settings_of_devices_are_made_as_the_device_comes() -> None:
    found = of(suspect("block.read_ahead_kb", "4096", "128"))
    assert payload(text_of(found, "Debian")) == (
        'ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="mmcblk0", '
        'ATTR{queue/read_ahead_kb}="4096"'
    )


def test_a_device_that_is_not_known_is_asked_for() -> None:
    found = of(suspect("block.read_ahead_kb", "4096", "128"), roles={})
    assert "for all devices: put in the name of the disk" in text_of(found, "Debian")
    assert "KERNEL" not in text_of(found, "Debian")
    evil = {"root_disk": "sda; rm -rf /"}
    assert "rm -rf" not in text_of(of(suspect("block.scheduler", "none", "bfq"), roles=evil), "now")


@pytest.mark.settings
def test_sysctls_are_named_as_sysctl_names_them() -> None:
    """Each key leads to its file: read only, as writing a value again is not always nothing."""
    skips.need("sysctl")
    checked = 0
    for name, (_, knob) in knobs().items():
        with contextlib.suppress(OSError):
            if knob.path.startswith("/proc/sys/"):
                value = " ".join(Path(knob.path).read_text().split())
                text = payload(text_of(of(suspect(name, value, "other")), "Debian"))
                key, _, told = text.partition(" = ")
                done = subprocess.run(["sysctl", "-n", key], capture_output=True, check=True)
                assert " ".join(done.stdout.decode().split()) == told == value
                checked += 1
    assert checked > 20


@pytest.mark.settings
def test_a_sysctl_is_loaded(tmp_path: Path) -> None:
    path = Path("/proc/sys/vm/swappiness")
    skips.need("sysctl")
    now = path.read_text().strip()
    file = tmp_path / "90.conf"
    file.write_text(payload(text_of(of(suspect("vm.swappiness", now, "0")), "Debian")))
    done = subprocess.run(["sysctl", f"--load={file}"], capture_output=True, text=True, check=False)
    if "ermission denied" in done.stderr:
        skips.skip("root")
    assert done.returncode == 0 and f"vm.swappiness = {now}" in done.stdout
    assert path.read_text().strip() == now


def test_tmpfiles_lines_are_applied(tmp_path: Path) -> None:
    """In a scratch root, with wildcards."""
    skips.need("systemd-tmpfiles")
    policies = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_governor"
    for path in (THP_FILE, policies.format(0), policies.format(4)):
        file = tmp_path / path.lstrip("/")
        file.parent.mkdir(parents=True)
        file.write_text("old")
    config = tmp_path / "lines.conf"
    governor = suspect("cpu.governor", "performance", "ondemand")
    config.write_text(
        "\n".join(payload(text_of(of(found), "Debian")) for found in (THP, governor)) + "\n"
    )
    command = ["systemd-tmpfiles", f"--root={tmp_path}", "--create", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / THP_FILE.lstrip("/")).read_text() == "madvise"
    for number in (0, 4):
        assert (tmp_path / policies.format(number).lstrip("/")).read_text() == "performance"


def test_tmpfiles_lines_keep_percent_signs() -> None:
    assert remedy_lines.tmpfiles_line("/sys/a%b", "50%") == "w /sys/a%%b - - - - 50%%"


def test_an_init_script_sets_what_it_says(tmp_path: Path) -> None:
    script = payload(text_of(of(THP), "Buildroot", "#!/bin/sh"))
    file = tmp_path / THP_FILE.lstrip("/")
    file.parent.mkdir(parents=True)
    file.write_text("always")
    text = script.replace(THP_FILE, shlex.quote(str(file)))
    subprocess.run(["sh", "-s", "stop"], input=text.encode(), check=True)
    assert file.read_text() == "always"
    subprocess.run(["sh", "-s", "start"], input=text.encode(), check=True)
    assert file.read_text() == "madvise\n"


def test_an_append_to_a_recipe_puts_the_file_in_its_place(tmp_path: Path) -> None:
    text = text_of(of(suspect("vm.swappiness", "10", "60")), "Yocto")
    source = re.search(r'SRC_URI \+= "file://([\w.-]+)"', text)
    body = re.search(r"do_install:append\(\) \{\n(.*?)\n\}", text, re.DOTALL)
    assert source and body
    work = tmp_path / "work"
    work.mkdir()
    (work / source[1]).write_text(text.rpartition(f"files/{source[1]}\n")[2])
    commands = re.sub(r"\$\{@[^}]*\}", str(work), body[1])
    environment = {"D": str(tmp_path / "image"), "sysconfdir": "/etc", "PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", "-ec", commands], env=environment, check=True)
    placed = tmp_path / "image/etc/sysctl.d" / source[1]
    assert placed.read_text() == "vm.swappiness = 10"


@pytest.mark.parametrize(
    ("value", "setting"),
    [
        ("max 100000", {"cpuquota": ""}),
        ("50000 100000", {"cpuquota": "50%"}),
        ("1000 4000", {"cpuquota": "25%", "cpuquotaperiodsec": "4000us"}),
    ],
)
def test_a_quota_belongs_to_a_unit(value: str, setting: dict[str, str]) -> None:
    found = of(suspect("cgroup.cpu_max", value, "20000 100000"))
    text = text_of(found, "Debian")
    assert text.startswith("# /etc/systemd/system/ssh.service.d/50-limits.conf\n")
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(payload(text))
    assert dict(parser["Service"]) == setting
    assert "systemctl set-property --runtime ssh.service" in text_of(found, "now")


def test_a_session_has_no_file_so_its_slice_is_named() -> None:
    roles = {
        "cgroup": "/user.slice/user-0.slice/session-3.scope",
        "cgroup_top": "/user.slice",
    }
    found = of(suspect("cgroup.top_cpu_max", "max 100000", "20000 100000"), roles=roles)
    assert "/etc/systemd/system/user.slice.d/50-limits.conf" in text_of(found, "Debian")
    assert "CPUQuota=" in text_of(found, "Debian")
    text = text_of(of(suspect("cgroup.cpu_weight", "100", "1"), roles=roles), "Debian")
    assert "/user-0.slice.d/" in text and payload(text) == "[Slice]\nCPUWeight=100"


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("memory.thp", "madvise", "transparent_hugepage=madvise"),
        ("vm.swappiness", "10", "sysctl.vm.swappiness=10"),
        ("net.tcp_rmem", "4096 8192 16384", '"sysctl.net.ipv4.tcp_rmem=4096 8192 16384"'),
        ("kernel.printk", "4 4 1 7", "loglevel=4"),
        ("kernel.randomize_va_space", "0", "norandmaps"),
        ("kernel.randomize_va_space", "2", "sysctl.kernel.randomize_va_space=2"),
        ("usb.autosuspend", "-1", "usbcore.autosuspend=-1"),
        ("memory.zswap", "Y", "zswap.enabled=Y"),
    ],
)
def test_words_of_the_command_line(name: str, value: str, word: str) -> None:
    assert text_of(of(suspect(name, value, "x")), "command line").splitlines()[0] == word


def test_a_fragment_of_the_kernel_configuration() -> None:
    found = of(suspect("cpu.governor", "performance", "powersave"))
    option = "CONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE=y"
    assert text_of(found, "kernel configuration") == option
    for system in ("Yocto", "Buildroot"):
        assert text_of(found, system, ".cfg").endswith(f"cpu-governor.cfg\n{option}")


def test_of_a_family_only_the_file_that_differs_is_written() -> None:
    """Its glob would set all of its files to one value."""
    path = "/proc/sys/net/ipv4/icmp_ratemask"
    knob = knobs()["net.icmp_sysctl"][1]
    means = SettingMeans((Setting(knob, "6168", (path,)),), (Setting(knob, "1", (path,)),))
    tried = Suspect(
        "net.icmp_sysctl:icmp_ratemask", "", Layer.RUN_TIME, "net.sysctls", "6168", "1", means=means
    )
    text = Untrusted("net.ipv4.icmp_ratemask = 1")
    where = Origin(Side.BAD, "sysctl", Untrusted("/etc/sysctl.d/99-x.conf"), 3, text)
    for found in (tried, replace(tried, means=None, untestable="it may not be set")):
        made = of(found, where)
        assert not [remedy.text for remedy in made if "icmp_*" in remedy.text]
        assert text_of(made, "now") == "sysctl -w net.ipv4.icmp_ratemask=6168"
    assert "/icmp_ratemask/" in text_of(of(tried, where), "the line that sets it")


def test_what_a_sibling_sets_to_zero_is_not_written() -> None:
    """Writing the ratio of 0 would undo the bytes, and bytes of 0 are refused by the kernel."""
    known = {name: knob for name, (_, knob) in knobs().items()}
    pairs = (("vm.dirty_bytes", "0"), ("vm.dirty_ratio", "20"))
    settings = tuple(Setting(known[name], value) for name, value in pairs)
    means = SettingMeans(settings, settings)
    both = Suspect("vm.dirty", "", Layer.RUN_TIME, "storage.dirty_limits", "a", "b", means=means)
    told = [remedy.text for remedy in of(both)]
    assert any("vm.dirty_ratio=20" in text for text in told)
    assert not any("dirty_bytes" in text for text in told)


def test_what_is_tried_for_a_process_alone_has_the_setting_s_remedies() -> None:
    found = Suspect("memory.thp", "", Layer.PROCESS, "memory.thp", "madvise", "always")
    assert "w " + THP_FILE in text_of(of(found), "Debian")


# --- the line that sets it --------------------------------------------------------------------


def origin(
    side: Side, kind: str, file: str, line: int, text: str, *, certain: bool = True
) -> Origin:
    return Origin(side, kind, Untrusted(file), line, Untrusted(text), certain)


def test_the_line_is_named_and_its_edit_touches_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "rc.local"
    before = ["#!/bin/sh", f"echo always > {THP_FILE}", "exit 0"]
    file.write_text("\n".join(before) + "\n")
    text = of(THP, origin(Side.BAD, "rc.local", str(file), 2, before[1]))[0].text
    assert text.startswith(
        f"put madvise for always in line 2 of {file}: echo always > {THP_FILE}\nsed -i -E "
    )
    subprocess.run(["sh", "-ec", text.splitlines()[1]], check=True)
    assert file.read_text().splitlines() == [
        before[0],
        f"echo madvise > {THP_FILE}",
        before[2],
    ]
    moved = ["#!/bin/sh", "echo hello", before[1]]
    file.write_text("\n".join(moved) + "\n")
    subprocess.run(["sh", "-ec", text.splitlines()[1]], check=True)
    assert file.read_text().splitlines() == moved, "another line is there now, and it is left alone"


def test_no_line_of_tmpfiles_writes_the_word_for_no_limit() -> None:
    """It was ``w …/blkio.throttle.write_iops_device - - - - none``, which the kernel refuses."""
    limit = suspect("cgroup.io_write_iops", "none", "7:3 50")
    found = of(limit, origin(Side.BAD, "a line that names it", "/etc/a.slice", 2, "wiops=50"))
    assert [remedy.system for remedy in found] == [remedies.ORIGIN, "now"]
    assert found[0].text == "remove line 2 of /etc/a.slice: wiops=50"
    assert 'echo "$disk 0" > ' in found[1].text
    assert any(r.system == "Debian" for r in of(suspect("cgroup.io_write_iops", "7:3 9", "7:3 5")))


def test_an_uncertain_line_says_so_and_the_good_side_s_is_left_alone() -> None:
    doubt = origin(
        Side.BAD, "sysctl.d", "/etc/sysctl.d/9.conf", 4, "vm.swappiness=60", certain=False
    )
    good = origin(Side.GOOD, "sysctl.d", "/etc/sysctl.d/1.conf", 1, "vm.swappiness=10")
    texts = [r.text for r in of(suspect("vm.swappiness", "10", "60"), doubt, good)]
    assert "put 10 for 60 in line 4 of /etc/sysctl.d/9.conf, if it is what sets it" in texts[0]
    assert not any("1.conf" in text for text in texts)


def test_a_line_that_both_sides_have_otherwise_is_replaced_and_not_removed() -> None:
    """Without it the mount was gone, and not as on the good side."""
    mounts = Suspect("storage.mounts:/t", "", Layer.PROCESS, "storage.mounts", "t tmpfs", "p ext4")
    bad = origin(Side.BAD, "fstab", "/etc/fstab", 2, "/dev/p /t ext4 defaults 0 0")
    good = origin(Side.GOOD, "fstab", "/etc/fstab", 1, "tmpfs /t tmpfs defaults 0 0")
    assert of(mounts, bad, good)[0].text == (
        "in line 2 of /etc/fstab, for /dev/p /t ext4 defaults 0 0\nput tmpfs /t tmpfs defaults 0 0"
    )
    assert of(mounts, bad)[0].text.startswith("remove line 2 of /etc/fstab")


def test_a_name_from_a_board_does_not_reach_a_shell() -> None:
    evil = origin(Side.BAD, "rc.local", "/etc/a'; rm -rf /; '", 2, "echo > enabled\x1b[31m")
    text = of(THP, evil)[0].text
    words = shlex.split(text.splitlines()[1])
    assert words[:2] == ["sed", "-i"] and words[3] == "/etc/a'; rm -rf /; '"
    assert "\x1b" not in text


# --- what is no setting -----------------------------------------------------------------------


def word(name: str, good: str, bad: str) -> str:
    item, layer = "kernel.command_line", Layer.COMMAND_LINE
    (remedy,) = of(difference(f"{item}:{name}", item, good, bad, layer))
    return remedy.text


def test_a_word_of_the_command_line() -> None:
    assert word("mitigations", "off", "not there").splitlines()[0] == "mitigations=off"
    assert word("quiet", "given", "not there").splitlines()[0] == "quiet"
    assert word("preempt", "full", "none").startswith("preempt=full    # instead of preempt=none\n")
    assert "take isolcpus=1-3 out of GRUB_CMDLINE_LINUX" in word("isolcpus", "not there", "1-3")
    part = line("command-line", "quiet", "quiet", "not there", Layer.COMMAND_LINE)
    assert of(part)[0].text.splitlines()[0] == "quiet"


def test_what_costs_security_says_so() -> None:
    item, layer = "kernel.command_line", Layer.COMMAND_LINE
    assert "SECURITY" in of(difference(f"{item}:mitigations", item, "off", "auto", layer))[0].cost


def test_options_of_the_kernel() -> None:
    good = "options HZ=1000, options HZ_250=not there, options PREEMPT=y"
    found = of(difference("kernel.config", "kernel.config", good, "options HZ=250"))
    assert text_of(found, "kernel configuration").splitlines() == [
        "CONFIG_HZ=1000",
        "CONFIG_PREEMPT=y",
        "# CONFIG_HZ_250 is not set",
    ]
    one = of(difference("kernel:CONFIG_PROVE_LOCKING", "kernel", "not there", "y"))
    assert text_of(one, "kernel configuration") == "# CONFIG_PROVE_LOCKING is not set"


@pytest.mark.parametrize(
    ("good", "bad", "changed", "point"),
    [
        ("root_part ext4 noatime,rw", "root_part ext4 relatime,rw", "noatime", "/"),
        ("mounts /data=sda1 ext4 rw", "mounts /data=sda1 ext4 rw,sync", "async", "/data"),
    ],
)
def test_options_of_a_mount(good: str, bad: str, changed: str, point: str) -> None:
    found = of(difference("mounts", "storage.mounts", good, bad, Layer.RUN_TIME))
    assert text_of(found, "now") == f"mount -o remount,{changed} {point}"
    assert f"in the line of {point}, the fourth field: {changed}" in text_of(found, "Debian")


def test_options_of_one_mount_have_their_line_and_a_command(tmp_path: Path) -> None:
    """Was: one suspect for all mounts, without file, line and command."""
    (tmp_path / "etc").mkdir()
    source = '"$(awk \'$2 == "/d" {print $1}\' /proc/mounts)"'
    wanted = {
        "nodelalloc": "mount -o remount,delalloc /d",
        "dirsync": f"mount -o remount,relatime,rw {source} /d",
    }
    for option, command in wanted.items():
        table = f"# x\n/dev/sda1 / ext4 rw 0 1\n/dev/sda3 /d ext4 rw,{option} 0 2\n"
        (tmp_path / "etc/fstab").write_text(table)
        good, bad = "sda3 ext4 relatime,rw", f"sda3 ext4 {option},relatime,rw"
        one = difference("storage.mounts:/d", "storage.mounts", good, bad, Layer.RUN_TIME)
        origins = find_origins(DirectoryFiles(tmp_path, "it"), one, Side.BAD)
        assert [(f"{o.file}", o.line) for o in origins] == [("/etc/fstab", 3)]
        ways = of(one, *origins)
        assert text_of(ways, "now") == command
        edit = text_of(ways, remedies.ORIGIN).splitlines()
        assert edit[0].startswith(f"put defaults for {option} in line 3 of /etc/fstab")
        assert edit[1].startswith("sed ")


def test_what_nothing_helps_has_no_remedy() -> None:
    assert of(difference("cpu.kinds", "cpu.kinds", "A72", "A53", Layer.HARDWARE)) == ()


def test_every_fix_is_for_a_knob() -> None:
    assert set(remedy_lines.fixes()) <= set(knobs())
    for fix in remedy_lines.fixes().values():
        assert fix.word or fix.words or fix.config or fix.unit or fix.module
        choices = knobs()[fix.knob][1].choices
        for value in (*fix.words, *fix.config):
            assert not choices or value in choices
        for options in fix.config.values():
            assert all(re.fullmatch(r"CONFIG_[A-Z0-9_]+=(y|\d+)", option) for option in options)
