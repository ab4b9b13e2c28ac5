"""Health of a board from what it would answer: planted faults, foreign syntax, hostile content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from benchvise.board.messages import FileError, FileValue
from benchvise.documents import decode, encode
from benchvise.health import counters, sensors, sensors_config, smart
from benchvise.health.judging import HealthVerdict, Judgement, clock, judge
from benchvise.health.model import HealthReading, LogMark, LogReading
from benchvise.health.reading import firmware_flags, held_down, sum_up_log
from benchvise.health.sensors_config import evaluate
from benchvise.kernel_log.rules import Severity
from benchvise.state.globs import ByPath

EACCES = FileError(13, "EACCES")


def files(given: Mapping[str, str | FileError]) -> ByPath[FileValue | FileError]:
    return ByPath({k: v if isinstance(v, FileError) else FileValue(v) for k, v in given.items()})


def reading(**given: Any) -> HealthReading:
    base: dict[str, Any] = {
        "board": "fake", "taken": "2026-01-01T00:00:00", "boot_id": "one", "uptime": 100.0,
        "privilege": "root", "log": LogReading(source="probe", lines=10),
    }  # fmt: skip
    return HealthReading(**{**base, **given})


def section(judgement: Judgement, name: str) -> Any:
    return next(one for one in judgement.sections if one.name == name)


# -- expressions and configuration -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("@*1.679", 3.358),
        ("((6.2/6.7)+1)*@", 3.8507462686567164),
        ("-@+4", 2.0),
        ("2+3*4-6/2", 11.0),
        ("^0 + `1", 1.0),
        ("in1 - @", 3.0),
        (".5*@", 1.0),
    ],
)
def test_expressions(text: str, value: float) -> None:
    assert evaluate(text, 2.0, lambda _name: 5.0) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@*",
        "(@",
        "@)",
        "1/0",
        "@ @",
        "1e400",
        "__import__('os')",
        "`0",
        "(" * 300,
        "^9999",
        "2;3",
    ],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        evaluate(text, 2.0, lambda _name: 5.0)


CONFIG = """
# of the board
bus "i2c-0" "SMBus"
chip "w83627hf-*" "w83627thf-*"
    label in3 "+5V"   # a divider
    label temp1 "M/B \\
Temp"
    compute in3 @*1.679, @/1.679
    ignore in7
    set in3_min 5*0.95
    set in3_max 5*1.05
chip "w83627hf-isa-0290"
    label fan1 "CPU Fan"
"""


def test_configuration_of_lm_sensors_is_understood() -> None:
    config = sensors_config.parse({"sensors3.conf": CONFIG})
    assert config.errors == ()
    said = config.of("w83627hf-isa-0290")
    assert said.labels["in3"] == "+5V"
    assert said.labels["fan1"] == "CPU Fan"
    assert said.labels["temp1"].split() == ["M/B", "Temp"]
    assert said.ignored == {"in7"}
    assert config.of("lm75-i2c-0-48").labels == {}


def test_wrong_statements_are_told_and_the_rest_holds() -> None:
    text = (
        'label in0 "x"\nchip "a-*"\nfrobnicate in1\ncompute in1 @*\ncompute in1 @\nlabel in2 "ok"\n'
    )
    config = sensors_config.parse({"f": text})
    assert len(config.errors) == 4
    assert config.errors[1].startswith("f, line 3: frobnicate in1")
    assert config.of("a-isa-0290").labels == {"in2": "ok"}


HWMON = {
    "/sys/class/hwmon/hwmon0/name": "w83627hf\n",
    "/sys/class/hwmon/hwmon0/in3_input": "2980\n",
    "/sys/class/hwmon/hwmon0/in7_input": "1\n",
    "/sys/class/hwmon/hwmon0/temp1_input": "41000\n",
    "/sys/class/hwmon/hwmon0/temp1_max": "60000\n",
    "/sys/class/hwmon/hwmon0/fan1_input": "0\n",
    "/sys/class/hwmon/hwmon0/fan1_min": "600\n",
    "/sys/class/hwmon/hwmon1/name": "cpu_thermal\n",
    "/sys/class/hwmon/hwmon1/temp1_input": "55000\n",
    "/sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
    "/sys/class/thermal/thermal_zone0/temp": "55000\n",
    "/sys/class/thermal/thermal_zone1/type": "gpu-thermal\n",
    "/sys/class/thermal/thermal_zone1/temp": "91000\n",
    "/sys/class/thermal/thermal_zone1/trip_point_0_type": "critical\n",
    "/sys/class/thermal/thermal_zone1/trip_point_0_temp": "90000\n",
}
LINKS: ByPath[str | FileError] = ByPath({"/sys/class/hwmon/hwmon0/device": "../../../w83627hf.656"})


def test_sensors_have_labels_and_scaling() -> None:
    """Story 7: +5 V read through a divider."""
    config = sensors_config.parse({"sensors3.conf": CONFIG})
    found = {one.key: one for one in sensors.read_sensors(files(HWMON), LINKS, config)}
    volt = found["w83627hf-isa-0290/in3"]
    assert volt.label == "+5V"
    assert volt.value == pytest.approx(2.980 * 1.679)
    assert volt.limits == pytest.approx({"min": 4.75, "max": 5.25})
    assert "w83627hf-isa-0290/in7" not in found
    # The thermal zone that hwmon shows already is there once, the other one too.
    warm = [one.label for one in found.values() if one.kind == "temperature"]
    assert warm == ["M/B Temp", "temp1", "gpu-thermal"]


@pytest.mark.parametrize(
    ("name", "device", "chip"),
    [
        ("coretemp", "../../coretemp.0", "coretemp-isa-0000"),
        ("k10temp", "../../../0000:00:18.3", "k10temp-pci-00c3"),
        ("lm75", "../../1-0048", "lm75-i2c-1-48"),
        ("cpu_thermal", None, "cpu_thermal-virtual-0"),
        ("nvme", "../../nvme0", "nvme-nvme-0"),
        ("\x1b[2Jevil name", None, "evil_name-virtual-0"),
    ],
)
def test_chips_are_called_as_lm_sensors_calls_them(
    name: str, device: str | None, chip: str
) -> None:
    assert sensors.chip_name(name, device) == chip


def test_sensors_beyond_their_limits() -> None:
    found = sensors.read_sensors(files(HWMON), LINKS, sensors_config.parse({"c": CONFIG}))
    told = section(judge(reading(sensors=found)), "sensors")
    assert told.verdict is HealthVerdict.FAILING
    sentences = [remark.sentence for remark in told.remarks]
    assert any("gpu-thermal: 91 °C, critical from 90" in one for one in sentences)
    assert any("CPU Fan: 0 RPM, at least 600" in one for one in sentences)


# -- counters --------------------------------------------------------------------------------------

PLANTED = {
    "/sys/class/mmc_host/mmc0/mmc0:0001/life_time": "0x0b 0x01\n",
    "/sys/class/mmc_host/mmc0/mmc0:0001/pre_eol_info": "0x02\n",
    "/sys/kernel/debug/mmc0/err_stats": (
        "# Command Timeout Occurred:\t 0\n# Data CRC Errors Occurred:\t 3\n"
    ),
    "/sys/block/sda/device/ioerr_cnt": "0x2\n",
    "/sys/fs/ext4/mmcblk0p2/errors_count": "7\n",
    "/sys/class/ubi/ubi0/reserved_for_bad": "1\n",
    "/sys/class/net/eth0/statistics/rx_crc_errors": "12\n",
    "/sys/class/net/eth0/statistics/rx_fifo_errors": "0\n",
    "/sys/class/net/lo/statistics/rx_crc_errors": "0\n",
    "/sys/devices/system/edac/mc/mc0/ce_count": "4\n",
    "/sys/bus/pci/devices/0000:00:1c.0/aer_dev_correctable": "RxErr 5\nTOTAL_ERR_COR 5\n",
    "/proc/tty/driver/serial": (
        "serinfo:1.0 driver revision:\n0: uart:16550A port:000003F8 irq:4 tx:11 rx:9 oe:2\n"
    ),
    "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "1\n",
}  # fmt: skip


def test_planted_faults_are_found_and_judged() -> None:
    found = {one.key: one for one in counters.read_counters(files(PLANTED))}
    assert found["mmc-life/mmc0/type A"].value == 11
    assert found["scsi-errors/sda"].value == 2
    assert found["serial-errors/serial/0 oe"].value == 2
    assert found["mmc-errors/mmc0/Data CRC Errors"].value == 3
    judgement = judge(reading(counters=tuple(found.values())))
    verdicts = {one.name: one.verdict for one in judgement.sections}
    assert verdicts == {
        "kernel log": HealthVerdict.GOOD,
        "disks": HealthVerdict.FAILING,
        "file systems": HealthVerdict.FAILING,
        "flash": HealthVerdict.FAILING,
        "network": HealthVerdict.WARNING,
        "memory": HealthVerdict.WARNING,
        "buses": HealthVerdict.WARNING,
        "sensors": HealthVerdict.UNKNOWN,
        "clocks and supply": HealthVerdict.WARNING,
    }
    assert judgement.verdict is HealthVerdict.FAILING
    assert all(remark.remedy for one in judgement.sections for remark in one.remarks)
    json.dumps(encode(judgement), allow_nan=False)


@pytest.mark.parametrize("text", ["", "garbage", "-", "9" * 400, "\x1b[31m", "0x", "NaN", "1 2 3"])
def test_counters_that_are_none_are_left_out(text: str) -> None:
    found = counters.read_counters(files(dict.fromkeys(PLANTED, text)))
    judge(reading(counters=found))


def test_what_may_not_be_read_is_told() -> None:
    told = counters.unreadable(files({"/proc/tty/driver/serial": EACCES}))
    assert told == {"serial-errors": "EACCES"}


# -- SMART -----------------------------------------------------------------------------------------


def ata(**raw: int) -> bytes:
    numbers = {"reallocated": 5, "pending": 197, "crc": 199}
    table = [
        {
            "id": numbers[name],
            "name": name,
            "value": 100,
            "raw": {"value": value},
            "when_failed": "",
        }
        for name, value in raw.items()
    ]
    said = {"smart_status": {"passed": True}, "ata_smart_attributes": {"table": table}}
    return json.dumps(said).encode()


def test_smart_values_that_matter() -> None:
    disk = smart.parse("sda", ata(reallocated=3, pending=8, crc=251))
    assert disk.values == {"reallocated sectors": 3, "pending sectors": 8, "CRC errors": 251}
    told = section(judge(reading(disks=(disk,))), "disks")
    assert told.verdict is HealthVerdict.FAILING
    assert told.remarks[0].sentence == "pending sectors: 8"
    assert section(judge(reading(disks=(smart.parse("sda", ata(crc=1)),))), "disks").verdict is (
        HealthVerdict.WARNING
    )


def test_smart_of_nvme() -> None:
    said = {
        "smart_status": {"passed": False},
        "nvme_smart_health_information_log": {
            "percentage_used": 97, "available_spare": 4, "available_spare_threshold": 10,
            "media_errors": 0,
        },
    }  # fmt: skip
    disk = smart.parse("nvme0n1", json.dumps(said).encode())
    sentences = [one.sentence for one in section(judge(reading(disks=(disk,))), "disks").remarks]
    assert "the disk itself says that it fails" in sentences
    assert "life used, %: 97" in sentences
    assert "spare blocks: 4 %, limit 10 %" in sentences


@pytest.mark.parametrize(
    "said",
    [b"", b"\xff\xfe", b"[]", b"{", b"[" * 100_000, b'{"ata_smart_attributes": {"table": [1, {}]}}',
     b'{"smartctl": {"messages": [{"string": "Permission denied"}]}}'],
)  # fmt: skip
def test_smart_that_says_nothing(said: bytes) -> None:
    disk = smart.parse("sda", said)
    assert disk.missing and not disk.values


def test_only_disks_are_asked() -> None:
    names = ["sda", "loop0", "nvme0n1", "mmcblk0", "zram0", "sdb;reboot", "../sda"]
    assert smart.smart_disks(names) == ["nvme0n1", "sda"]


# -- log, clocks, words ----------------------------------------------------------------------------


def test_the_log_goes_on_at_its_mark() -> None:
    text = "[    1.000000] ata1: hard resetting link\n[    2.000000] ata1: it is well\n"
    first = sum_up_log(text, "probe", "one", None)
    assert first.mark == LogMark("one", 2.0, 1)
    assert decode(LogMark, encode(first.mark)) == first.mark
    more = text + "[    3.000000] usb 1-1: USB disconnect, device number 2\n"
    second = sum_up_log(more, "probe", "one", first.mark)
    assert [event.rule.id for event in second.events] == ["usb-disconnect"]
    assert not second.gap
    lost = sum_up_log(
        "[    9.000000] usb 1-1: USB disconnect, device number 2\n", "probe", "one", first.mark
    )
    assert lost.gap


def test_a_failing_log_fails_the_board() -> None:
    log = sum_up_log(
        "[   61.500000] EXT4-fs (sda1): Remounting filesystem read-only\n", "probe", "a", None
    )
    judgement = judge(reading(log=log))
    remark = section(judgement, "kernel log").remarks[0]
    assert judgement.verdict is HealthVerdict.FAILING
    assert remark.severity is Severity.FAILING
    assert remark.sentence == "a file system turned read-only: once, 1 min 01 s after boot"


def test_what_cannot_be_read_is_not_good() -> None:
    judgement = judge(
        reading(log=LogReading(missing="kernel.dmesg_restrict forbids it: read it as root"))
    )
    told = section(judgement, "kernel log")
    assert told.verdict is HealthVerdict.UNKNOWN
    assert "as root" in told.missing


@pytest.mark.parametrize(
    ("said", "flags"),
    [
        ("throttled=0x50005", {"under-voltage": True, "throttled": True}),
        ("throttled=0x50000", {"under-voltage": False, "throttled": False}),
        ("throttled=0x0", {}),
        ("", {}),
        ("VCHI initialization failed", {}),
    ],
)
def test_flags_of_the_firmware(said: str, flags: dict[str, bool]) -> None:
    assert firmware_flags(files({}), said) == flags


def test_clocks_that_are_held_down() -> None:
    policy = "/sys/devices/system/cpu/cpufreq/policy0/"
    cooling = "/sys/class/thermal/cooling_device0/"
    told = held_down(
        files(
            {
                f"{policy}scaling_max_freq": "1000000\n",
                f"{policy}cpuinfo_max_freq": "1800000\n",
                f"{cooling}type": "cpufreq-cpu0\n",
                f"{cooling}cur_state": "2\n",
            }
        )
    )
    assert told == (
        "cooling device cpufreq-cpu0 at step 2",
        "policy0 may run at 1000 of 1800 MHz",
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(12.34, "12.3 s"), (245, "4 min 05 s"), (11_520, "3 h 12 min"), (190_000, "2 d 4 h")],
)
def test_clock(seconds: float, words: str) -> None:
    assert clock(seconds) == words
