"""What holds from the next boot on is named with its line, and with one that sets it by hand."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from why_boards import BOTH, metric, side, with_value
from why_suspects import difference, snapshot

from benchvise.state.normalise.programs import boot_entries
from benchvise.text import Untrusted
from benchvise.why.explain.boot_lines import boot_line_as_on_good
from benchvise.why.explain.boot_words import boot_word_at_run_time, boot_words
from benchvise.why.model import Layer, Origin, Side, Suspect
from benchvise.why.suspects.find import find

# Of Armbian for a board with a Rockchip RK3399, and of what U-Boot's documentation shows.
ARMBIAN = """verbosity=1
bootlogo=false
overlay_prefix=rockchip
rootdev=UUID=31a0
overlays=spi-spidev
"""
EXTLINUX = """MENU TITLE boot options
TIMEOUT 30
LABEL primary
    KERNEL /boot/Image
    FDT /boot/dtb/rockchip/rk3399-slow.dtb
    APPEND root=/dev/mmcblk0p1 isolcpus=3 quiet
LABEL recovery
    KERNEL /boot/Image.old
"""
CONFIG = "[all]\narm_freq=600\n#arm_freq=1800\ndtparam=audio=on\n"


def _run(line: str, path: str, text: str, tmp_path: Path) -> str:
    """The text of a file once the line was run on it; the reboot is left out."""
    file = tmp_path / "file"
    file.write_text(text)
    assert line.endswith(" && reboot")
    script = line.removesuffix(" && reboot").replace(path, str(file))
    subprocess.run(["sh", "-c", script], check=True)
    return file.read_text()


def _sides(name: str, good: Any, bad: Any, path: str = "") -> Mapping[Side, Any]:
    paths = {name: path}
    return {Side.GOOD: snapshot({name: good}, paths), Side.BAD: snapshot({name: bad}, paths)}


def _of_setting(key: str, entry: str, good: Any, bad: Any) -> str:
    name = f"boot.settings/{entry}"
    given = Suspect(f"boot.settings:{key}", "", Layer.BOOTLOADER, "boot.settings", "", "", (name,))
    of_good, of_bad = ({} if value is None else {key: value} for value in (good, bad))
    return boot_line_as_on_good(given, _sides(name, of_good, of_bad), ())


@pytest.mark.parametrize(
    ("key", "good", "bad", "was", "is_now"),
    [
        ("overlays", "spi-spidev i2c8", "spi-spidev", "=spi-spidev", "=spi-spidev i2c8"),
        ("bootlogo", None, "false", "bootlogo=false\n", ""),
        ("verbosity", 7, 1, "verbosity=1", "verbosity=7"),
    ],
)  # fmt: skip
def test_a_variable_of_a_file_is_set(
    key: str, good: Any, bad: Any, was: str, is_now: str, tmp_path: Path
) -> None:
    path = "/boot/armbianEnv.txt"
    line = _of_setting(key, path, good, bad)
    assert _run(line, path, ARMBIAN, tmp_path) == ARMBIAN.replace(was, is_now)
    added = _of_setting("fdtfile", path, "rockchip/rk3399.dtb", None)
    assert _run(added, path, ARMBIAN, tmp_path) == f"{ARMBIAN}fdtfile=rockchip/rk3399.dtb\n"


def test_a_keyword_of_an_entry_is_set(tmp_path: Path) -> None:
    path = "/boot/extlinux/extlinux.conf"
    entries = boot_entries(EXTLINUX)
    assert entries["primary FDT"] == "/boot/dtb/rockchip/rk3399-slow.dtb"
    assert entries["TIMEOUT"] == "30" and not [key for key in entries if "APPEND" in key]
    good = "/boot/dtb/rockchip/rk3399.dtb"
    line = _of_setting("primary FDT", path, good, entries["primary FDT"])
    assert _run(line, path, EXTLINUX, tmp_path) == EXTLINUX.replace("rk3399-slow", "rk3399")


def test_a_variable_of_u_boot_is_set() -> None:
    entry = "U-Boot environment"
    assert _of_setting("cpu_freq", entry, 1800, 600) == "fw_setenv cpu_freq 1800 && reboot"
    assert _of_setting("cpu_freq", entry, None, 600) == "fw_setenv cpu_freq && reboot"


@pytest.mark.parametrize(
    ("good", "bad", "is_now"),
    [
        ("given", "not there", ""),  # nobody knows into which line
        ("not there", "3", "APPEND root=/dev/mmcblk0p1  quiet"),
        ("2-3", "3", "APPEND root=/dev/mmcblk0p1 isolcpus=2-3 quiet"),
    ],
)
def test_a_word_of_the_command_line_is_set_where_its_line_is_known(
    good: str, bad: str, is_now: str, tmp_path: Path
) -> None:
    path = "/boot/extlinux/extlinux.conf"
    given = difference("kernel.command_line:isolcpus", "kernel.command_line", good, bad)
    place = Origin(Side.BAD, "command line", Untrusted(path), 6, Untrusted("APPEND"))
    line = boot_line_as_on_good(given, {}, (place,))
    if not is_now:
        assert line == ""
        return
    now = _run(line, path, EXTLINUX, tmp_path)
    assert now == EXTLINUX.replace("APPEND root=/dev/mmcblk0p1 isolcpus=3 quiet", is_now)
    assert boot_line_as_on_good(given, {}, (replace(place, certain=False),)) == ""


@pytest.mark.parametrize(
    ("good", "is_now"),
    [
        (["[all]", "arm_freq=1800", "dtparam=audio=on"], CONFIG.replace("=600", "=1800")),
        (["[all]", "dtparam=audio=on"], CONFIG.replace("\narm_freq=600", "")),
    ],
)  # fmt: skip
def test_a_line_of_config_txt_is_set(good: list[str], is_now: str, tmp_path: Path) -> None:
    name, path = "firmware.raspberry_pi/config.txt", "/boot/firmware/config.txt"
    given = difference("firmware.raspberry_pi", "firmware.raspberry_pi", "", "", key="config.txt")
    bad = ["[all]", "arm_freq=600", "dtparam=audio=on"]
    line = boot_line_as_on_good(given, _sides(name, good, bad, path), ())
    assert _run(line, path, CONFIG, tmp_path) == is_now
    several = [*bad, "gpu_mem=16", "over_voltage=2"]
    assert boot_line_as_on_good(given, _sides(name, good, several, path), ()) == ""


@pytest.mark.parametrize("value", ["$(reboot)", "a|b", "a'; rm -rf /", "a\nb", "`id`", "a\\1&"])
def test_no_line_is_made_of_what_a_shell_or_sed_takes_for_its_own(value: str) -> None:
    for entry in ("/boot/armbianEnv.txt", "U-Boot environment", "/boot/extlinux/extlinux.conf"):
        assert _of_setting("overlays", entry, value, "x") == ""
        assert _of_setting(value, entry, "y", "x") == ""
    assert _of_setting("overlays", "/boot/../etc/passwd;x", "y", "x") == ""
    place = Origin(Side.BAD, "command line", Untrusted("/boot/cmdline.txt"), 1, Untrusted(""))
    given = difference("kernel.command_line:isolcpus", "kernel.command_line", value, "3")
    assert boot_line_as_on_good(given, {}, (place,)) == ""


def test_each_setting_of_a_boot_loader_is_a_difference_of_its_own() -> None:
    name = "boot.settings/U-Boot environment"
    both = [
        with_value(side(), name, {"bootdelay": delay, "cpu_freq": frequency, "board": "x"})
        for delay, frequency in ((2, 1800), (5, 600))
    ]
    found = find(both[0], both[1], metric("command.time"), may_set=BOTH)
    suspects = {s.id: s for s in found.suspects if s.item == "boot.settings"}
    assert suspects.keys() == {"boot.settings:bootdelay", "boot.settings:cpu_freq"}
    assert suspects["boot.settings:cpu_freq"].untestable == "it holds from the next boot on"
    assert suspects["boot.settings:cpu_freq"].layer is Layer.BOOTLOADER


def _word(name: str, good: str, bad: str = "not there") -> Suspect:
    name = f"kernel.command_line:{name}"
    return Suspect(name, "", Layer.COMMAND_LINE, "kernel.command_line", good, bad)


@pytest.mark.parametrize(
    ("name", "good", "path", "written"),
    [
        ("transparent_hugepage", "always", "/sys/kernel/mm/transparent_hugepage/enabled", "always"),
        ("nosmt", "not there", "/sys/devices/system/cpu/smt/control", "on"),
        ("maxcpus", "not there", "/sys/devices/system/cpu/cpu3/online", "1"),
        ("idle", "poll", "/sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1"),
        ("intel_idle.max_cstate", "1", "/sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "1"),
        ("cpufreq.default_governor", "performance",
         "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance"),
        ("hugepages", "64", "/proc/sys/vm/nr_hugepages", "64"),
        ("usbcore.autosuspend", "-1", "/sys/module/usbcore/parameters/autosuspend", "-1"),
        ("snd-hda.power_save", "0", "/sys/module/snd_hda/parameters/power_save", "0"),
    ],
)  # fmt: skip
def test_a_word_is_tried_without_a_boot_where_that_can_be(
    name: str, good: str, path: str, written: str, tmp_path: Path
) -> None:
    line = boot_word_at_run_time(_word(name, good), "work")
    place = tmp_path / path.lstrip("/")
    place.parent.mkdir(parents=True)
    place.touch()
    for root in ("/sys", "/proc"):
        line = line.replace(f" {root}/", f" {tmp_path}{root}/")
    subprocess.run(["sh", "-c", line], check=True)
    assert place.read_text() == f"{written}\n"


def test_other_lines_for_a_running_board_are_shell() -> None:
    lines = [boot_word_at_run_time(_word(name, good), "it's work") for name, good in (
        ("isolcpus", "not there"), ("audit", "not there"), ("console", "ttyS1"), ("quiet", "given"),
        ("sysctl.vm.swappiness", "10"), ("rootflags", "noatime"), ("enforcing", "0"),
    )]  # fmt: skip
    assert all(lines)
    subprocess.run(["sh", "-n", "-c", "\n".join(lines)], check=True)
    assert "sysctl -w vm.swappiness=10" in lines[4]
    for record in boot_words():
        assert {"word", "line"} <= record.keys() <= {"word", "good", "line"}


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("mitigations", "off"),
        ("threadirqs", "given"),
        ("usbcore.autosuspend", "not there"),
        ("usbcore.autosuspend", "$(reboot)"),
        ("../../etc.x", "1"),
        ("transparent_hugepage", "not there"),
    ],
)
def test_what_takes_a_boot_or_is_no_plain_word_has_no_such_line(name: str, good: str) -> None:
    assert boot_word_at_run_time(_word(name, good), "work") == ""
