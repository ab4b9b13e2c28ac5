"""Normalisers of single values and tables, with texts as kernels write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchvise.state.normalise import values


@pytest.mark.parametrize(
    ("text", "active"),
    [
        ("always [madvise] never\n", "madvise"),
        ("always within_size advise [never] deny force", "never"),
        ("[mq-deadline] kyber bfq none", "mq-deadline"),
        ("none", "none"),
        ("none voluntary (full) lazy\n", "full"),
        ("lzo-rle lzo lz4 [zstd] ", "zstd"),
        ("[none] integrity confidentiality", "none"),
    ],
)
def test_bracket(text: str, active: str) -> None:
    assert values.bracket(text) == active


def test_bracket_without_a_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="active"):
        values.bracket("always madvise never")
    with pytest.raises(ValueError):
        values.bracket("")


@pytest.mark.parametrize(
    ("mask", "cpus"),
    [
        ("3\n", "0-1"),
        ("f", "0-3"),
        ("00000000,0000000f", "0-3"),
        ("ff,ffffffff", "0-39"),
        ("5", "0,2"),
        ("0", ""),
        ("c0", "6-7"),
    ],
)
def test_cpu_mask(mask: str, cpus: str) -> None:
    assert values.cpu_mask(mask) == cpus


@pytest.mark.parametrize(
    ("given_list", "cpus"),
    [("0-3\n", "0-3"), ("0-1,2,3", "0-3"), ("\n", ""), ("4,0,2", "0,2,4"), ("0 1 2 3 \n", "0-3")],
)
def test_cpu_list(given_list: str, cpus: str) -> None:
    assert values.cpu_list(given_list) == cpus


@pytest.mark.parametrize("text", ["0-4294967295", "3-1", "x", "-1", "0-3-5", "1" * 5000])
def test_what_is_no_list_of_cpus_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        values.cpu_list(text)


@given(st.sets(st.integers(0, 200)))
def test_a_mask_and_a_list_of_the_same_cpus_are_equal(cpus: set[int]) -> None:
    text = f"{sum(1 << cpu for cpu in cpus):x}"
    assert values.cpu_mask(text) == values.cpu_list(",".join(map(str, cpus)))


@pytest.mark.parametrize(
    ("function", "text", "value"),
    [
        (values.integer, "-1\n", -1),
        (values.integer, "0x1f", 31),
        (values.vector, "4096\t131072\t6291456\n", [4096, 131072, 6291456]),
        (values.vector, "1920,1080", [1920, 1080]),
        (values.frequencies, "1800000 1500000 600000 \n", [600000, 1500000, 1800000]),
        (values.size, "32K\n", 32768),
        (values.size, "1024 kB", 1 << 20),
        (values.size, "3M", 3 << 20),
        (values.word_set, "powersave  performance\n", ["performance", "powersave"]),
        (values.comma_list, "lockdown,capability,apparmor", ["lockdown", "capability", "apparmor"]),
        (
            values.first_line,
            "\n\ngcc (Debian 12.2.0-14) 12.2.0\nCopyright",
            "gcc (Debian 12.2.0-14) 12.2.0",
        ),
        (values.presence, "", True),
    ],
)
def test_values(function: Any, text: str, value: object) -> None:
    assert function(text) == value


@pytest.mark.parametrize("function", [values.integer, values.vector, values.size, values.cpu_mask])
def test_what_is_no_number_is_refused(function: Any) -> None:
    with pytest.raises(ValueError):
        function("enabled")


def test_lines_are_bounded() -> None:
    assert len(values.lines("x\n" * 10_000)) == values.LINES
    assert len(values.lines("x" * 10_000)[0]) == values.LINE_LENGTH


def test_config_lines_are_what_acts() -> None:
    text = """#!/bin/sh -e
# rc.local

echo madvise > /sys/kernel/mm/transparent_hugepage/enabled
   ; a comment of sysctl.conf
exit 0
"""
    assert values.config_lines(text) == [
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        "exit 0",
    ]


MEMINFO = """MemTotal:         948044 kB
MemFree:          123456 kB
HugePages_Total:       0
Hugepagesize:       2048 kB
CmaTotal:         262144 kB
"""


def test_meminfo_is_in_bytes() -> None:
    table = values.colon_table(MEMINFO)
    assert table["MemTotal"] == 948044 * 1024
    assert table["HugePages_Total"] == 0
    assert values.pick(table, ("CmaTotal", "Huge*"), ("HugePages_*",)) == {
        "Hugepagesize": 2048 * 1024,
        "CmaTotal": 262144 * 1024,
    }


MMC_IOS = """clock:\t\t200000000 Hz
actual clock:\t187500000 Hz
vdd:\t\t21 (3.3 ~ 3.4 V)
bus mode:\t2 (push-pull)
chip select:\t0 (don't care)
power mode:\t2 (on)
bus width:\t3 (8 bits)
timing spec:\t10 (mmc HS400 enhanced strobe)
signal voltage:\t1 (1.80 V)
driver type:\t0 (driver type B)
"""


def test_mmc_ios() -> None:
    table = values.colon_table(MMC_IOS)
    assert table["clock"] == "200000000 Hz"
    assert table["timing spec"] == "10 (mmc HS400 enhanced strobe)"


def test_os_release() -> None:
    text = "NAME=\"Poky (Yocto Project)\"\nVERSION_ID=5.0.1\n# no comment\nPRETTY_NAME='x'\n"
    assert values.equals_table(text) == {
        "NAME": "Poky (Yocto Project)",
        "VERSION_ID": "5.0.1",
        "PRETTY_NAME": "x",
    }


def test_vcgencmd_tables() -> None:
    assert values.equals_table("arm_freq=1500\ncore_freq=500\n") == {
        "arm_freq": 1500,
        "core_freq": 500,
    }
    assert values.equals_table("temp=48.3'C") == {"temp": "48.3'C"}
    with pytest.raises(ValueError):
        values.equals_table("VCHI initialization failed")


def test_vmstat_and_time_in_state() -> None:
    assert values.space_table("pswpin 0\npswpout 12\nnr_x 3 4\n") == {"pswpin": 0, "pswpout": 12}
    assert values.space_table("600000 1029\n1500000 88\n") == {"600000": 1029, "1500000": 88}
    with pytest.raises(ValueError):
        values.space_table("no table at all")


def test_pressure_load_and_stat() -> None:
    text = "some avg10=1.50 avg60=0.00 total=123\nfull avg10=0.00 avg60=0.00 total=4\n"
    assert values.pressure(text)["some total"] == 123
    assert values.pressure(text)["some avg10"] == 1.5
    assert values.loadavg("0.52 0.58 0.59 2/389 12345\n") == {
        "1 min": 0.52,
        "5 min": 0.58,
        "15 min": 0.59,
        "running": 2,
        "threads": 389,
    }
    stat = (
        "cpu  10 0 5 1000 2 0 1 7 0 0\ncpu0 1 2\nintr 500 1\nctxt 900\nprocesses 80\nsoftirq 70\n"
    )
    assert values.stat_cpu(stat)["steal"] == 7
    assert values.stat_totals(stat) == {"intr": 500, "ctxt": 900, "processes": 80, "softirq": 70}
    assert values.uptime("3414.70 6000.00\n") == 3414.7


def test_buddyinfo() -> None:
    text = (
        "Node 0, zone      DMA      1      1      0\nNode 0, zone   Normal    216     55    189\n"
    )
    assert values.buddyinfo(text) == {"Node 0 DMA": [1, 1, 0], "Node 0 Normal": [216, 55, 189]}
