"""Defects of health that outsiders found, one test each, named after what was wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from benchvise.board import Board
from benchvise.board.messages import FileError, FileValue
from benchvise.health import reading as health_reading
from benchvise.health import sensors, sensors_config, smart
from benchvise.health.judging import sensor_remarks
from benchvise.health.model import LogMark, LogReading, Sensor
from benchvise.health.watch.alerts import AlertEvent, AlertRule, default_rules, evaluate
from benchvise.kernel_log import LogEvents, classify
from benchvise.kernel_log.rules import Severity
from benchvise.state.commands import CommandAnswer
from benchvise.state.globs import ByPath

NO_LINKS: ByPath[str | FileError] = ByPath({})


def files(content: Mapping[str, str]) -> ByPath[FileValue | FileError]:
    return ByPath({path: FileValue(text) for path, text in content.items()})


# -- the kernel log --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("EXT4-fs error (device mmcblk0p2): ext4_lookup:1855: inode #2: comm ls: x", "mmcblk0p2"),
        ("EXT4-fs (mmcblk0p2): Remounting filesystem read-only", "mmcblk0p2"),
        ("BTRFS error (device sdb1): bdev /dev/sdb1 errs: wr 0, rd 0, flush 0", "sdb1"),
        ("XFS (dm-3): Metadata corruption detected at xfs_inode_buf_verify+0x6d/0xb0", "dm-3"),
        ("F2FS-fs (nvme0n1p3): Inconsistent blkaddr:4096", "nvme0n1p3"),
        ("UBIFS error (ubi0:0 pid 1): ubifs_read_node: bad node type", "ubi0:0"),
        ("FAT-fs (sda1): Volume was not properly unmounted. Some data may be corrupt.", "sda1"),
        ("Aborting journal on device sda1-8.", "sda1"),
        ("JBD2: Detected IO errors while flushing file data on vda1-8", "vda1"),
        ("SQUASHFS error: Unable to read block on /dev/mtdblock3", "mtdblock3"),
        ("Buffer I/O error on dev nvme0n1p2, logical block 2, async page read", "nvme0n1p2"),
        ("usb usb1-port2: unable to enumerate USB device", "usb1-port2"),
        ("ieee80211 phy0: Hardware restart was requested, firmware crashed", "phy0"),
        ("sd 2:0:0:0: [sdc] tag#3 FAILED Result: hostbyte=DID_TIME_OUT", "sdc"),
    ],
)
def test_signals_health_5_health_loses_the_device(line: str, device: str) -> None:
    match = classify(line)
    assert match is not None
    assert match.device == device


KILL = """\
[  100.000001] stress invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0
[  100.000002] CPU: 1 PID: 4242 Comm: stress Not tainted 6.1.0 #1
[  100.000003] Mem-Info:
[  100.000004] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,task=stress,pid=4242
[  100.000005] Out of memory: Killed process 4242 (stress) total-vm:1048576kB, anon-rss:900000kB
[  100.000006] oom_reaper: reaped process 4242 (stress), now anon-rss:0kB, file-rss:0kB
"""
OLD_KILL = """\
[  200.000001] python3 invoked oom-killer: gfp_mask=0x14200ca, order=0, oom_score_adj=0
[  200.000002] python3 cpuset=/ mems_allowed=0
[  200.000003] Memory cgroup out of memory: Kill process 812 (python3) score 974 or sacrifice child
[  200.000004] Killed process 812 (python3) total-vm:1048576kB, anon-rss:900000kB, file-rss:0kB
"""


@pytest.mark.parametrize(("log", "victim"), [(KILL, "stress"), (OLD_KILL, "python3")])
def test_signals_health_6_one_oom_kill_counts_as_four(log: str, victim: str) -> None:
    failing = [e for e in LogEvents.of(log).events if e.rule.severity is Severity.FAILING]
    assert [(event.rule.id, event.device, event.count) for event in failing] == [
        ("oom-kill", victim, 1)
    ]


def test_signals_health_6_oom_reaper_is_no_failure() -> None:
    match = classify("oom_reaper: reaped process 4242 (stress), now anon-rss:0kB, file-rss:0kB")
    assert match is not None
    assert match.rule.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("line", "log_class", "device"),
    [
        (
            "workqueue: drm_fb_helper_damage_work [drm_kms_helper] hogged CPU for >10000us 4 times",
            "workqueue",
            "drm_fb_helper_damage_work",
        ),
        ("hub 1-0:1.0: hub_port_status failed (err = -19)", "USB error", "1-0:1.0"),
        ("ata1: SATA link up 1.5 Gbps (SStatus 113 SControl 310)", "ATA error", "ata1"),
        (
            "nfs: server 192.168.1.10 not responding, still trying",
            "network file system",
            "192.168.1.10",
        ),
        ("device-mapper: verity: 254:0: data block 1234 is corrupted", "I/O error", "254:0"),
        (
            "dwc2 3f980000.usb: dwc2_hc_chhltd_intr_dma: Channel 1 - ChHltd set, but reason is "
            "unknown",
            "USB error",
            "3f980000.usb",
        ),
        (
            "macb e000b000.ethernet eth0: DMA bus error: HRESP not OK",
            "network error",
            "eth0",
        ),
    ],
)
def test_signals_health_13_missed_lines(line: str, log_class: str, device: str) -> None:
    match = classify(line)
    assert match is not None
    assert (match.rule.log_class, match.device) == (log_class, device)
    assert match.rule.severity is not Severity.NOTE


def test_signals_health_13_a_corrected_read_error_is_no_lost_disk() -> None:
    match = classify("md/raid1:md0: read error corrected (8 sectors at 2048 on sda1)")
    assert match is not None
    assert (match.rule.id, match.device, match.rule.severity) == (
        "raid-mended",
        "md0",
        Severity.WARNING,
    )


# -- sensors ---------------------------------------------------------------------------------------

CHIP = {
    "/sys/class/hwmon/hwmon0/name": "nct6775\n",
    "/sys/class/hwmon/hwmon0/in1_input": "1800\n",
    "/sys/class/hwmon/hwmon0/in1_min": "1900\n",
    "/sys/class/hwmon/hwmon0/in1_max": "2100\n",
    "/sys/class/hwmon/hwmon0/in1_alarm": "1\n",
}


def test_signals_health_9_a_users_sensor_limit_is_ignored_where_the_chip_has_one() -> None:
    config = sensors_config.parse({"sensors3.conf": 'chip "nct6775-*"\n set in1_min 1.7\n'})
    [sensor] = sensors.read_sensors(files(CHIP), NO_LINKS, config)
    assert sensor.limits == pytest.approx({"min": 1.7, "max": 2.1})
    assert not list(sensor_remarks(sensor)), "neither limit nor alarm of the chip's power-on"
    [own] = sensors.read_sensors(files(CHIP), NO_LINKS, sensors_config.SensorsConfig())
    assert own.alarm
    assert list(sensor_remarks(own))


def temperature(value: float, **limits: float) -> Sensor:
    return Sensor("cpu_thermal-virtual-0", "temp1", "CPU", "temperature", value, "°C", limits)


@pytest.mark.parametrize(
    ("sensor", "warm"),
    [
        (temperature(91.5, crit=95.0), True),
        (temperature(89.5, crit=95.0), False),
        (temperature(85.0), True),
        (temperature(84.0), False),
        (temperature(91.0, crit=110.0), False),
    ],
)
def test_signals_health_10_health_is_silent_near_the_critical_temperature(
    sensor: Sensor, warm: bool
) -> None:
    remarks = list(sensor_remarks(sensor))
    assert [remark.severity for remark in remarks] == ([Severity.WARNING] if warm else [])
    # The rule of ``watch``: what it would raise an alert for, after the time that has to pass.
    value = sensors.watched_sensor(sensor)
    [hot] = [rule for rule in default_rules() if rule.covers(value)]
    _, states = evaluate([hot], {}, 0.0, [value], {}, [])
    alerts, _ = evaluate([hot], states, 3600.0, [value], {}, [])
    assert bool(alerts) is warm


# -- alerts ----------------------------------------------------------------------------------------

HEAT = AlertRule("heat", "event", ("throttling",), 1, 0, "hot", "cool it", within=3600)


def test_signals_health_11_an_event_of_78_minutes_ago_is_not_within_an_hour() -> None:
    now = 1e6
    old = AlertEvent("throttling", "clock throttled", 1, now - 78 * 60)
    assert evaluate([HEAT], {}, now, [], {}, [old]) == ([], {})
    times = (now - 78 * 60, now - 50 * 60, now - 60)
    three = AlertEvent("throttling", "clock throttled", 3, now - 60, times)
    [alert], states = evaluate([HEAT], {}, now, [], {}, [three])
    assert alert.sentence.startswith("throttling: 2 times within 1 h")
    later, _ = evaluate([HEAT], states, now + 3600, [], {}, [])
    assert [alert.raised for alert in later] == [False]


def test_signals_health_11_each_line_of_a_log_has_its_time() -> None:
    lines = [f"[{t:12.6f}] CPU0: Core temperature above threshold" for t in (10.0, 20.0, 4000.0)]
    [event] = LogEvents.of("\n".join(lines)).events
    assert tuple(event.times) == (10.0, 20.0, 4000.0)


# -- the log without CAP_SYSLOG --------------------------------------------------------------------


class Refusing:
    """A channel to a board whose kernel refuses its log."""

    def facts(self, *_: str) -> list[object]:
        return []


def read_as_user(
    monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, str], mark: LogMark | None
) -> tuple[LogReading, list[str]]:
    """What a poll without programs reads of the log, and the commands that it ran all the same."""
    asked: list[str] = []

    def run(_board: Board, lines: list[str]) -> dict[str, CommandAnswer]:
        asked.extend(lines)
        return {line: CommandAnswer(answers.get(line, "")) for line in lines}

    monkeypatch.setattr(health_reading, "run_commands", run)
    reading = health_reading.read_log(
        None,  # type: ignore[arg-type]
        Refusing(),  # type: ignore[arg-type]
        "boot",
        mark,
        130.0,
        commands=False,
    )
    return reading, asked


def test_signals_health_12_without_cap_syslog_the_log_is_read_at_each_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = "[  100.000000] pi kernel: ata1: hard resetting link\n"
    new = "[  120.000000] pi kernel: usb 1-1: USB disconnect, device number 2\n"
    newest = f"{health_reading.JOURNAL} --since=-33s"
    reading, asked = read_as_user(monkeypatch, {newest: known + new}, LogMark("boot", 100.0, 1))
    assert [event.rule.id for event in reading.events] == ["usb-disconnect"]
    assert (asked, reading.gap, reading.source) == ([newest], False, "journal")


def test_signals_health_12_a_clock_that_was_set_loses_no_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new = "[  120.000000] pi kernel: usb 1-1: USB disconnect, device number 2\n"
    whole = "[  100.000000] pi kernel: ata1: hard resetting link\n" + new
    answers = {f"{health_reading.JOURNAL} --since=-33s": new, health_reading.JOURNAL: whole}
    reading, _ = read_as_user(monkeypatch, answers, LogMark("boot", 100.0, 1))
    assert [event.rule.id for event in reading.events] == ["usb-disconnect"]
    assert not reading.gap


def test_signals_health_12_the_file_of_syslog_stands_in_for_the_journal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (
        "Feb  7 01:13:17 pi kernel: [ 9000.000000] ata9: hard resetting link\n"
        "Feb  7 01:14:00 pi kernel: [    0.000000] Linux version 6.1.0\n"
        "Feb  7 01:14:01 pi sshd[812]: error: timeout\n"
        "Feb  7 01:15:17 pi kernel: [  120.000000] ata1: hard resetting link\n"
    )
    answers = {health_reading.SYSLOGS[0]: text}
    reading, _ = read_as_user(monkeypatch, answers, LogMark("boot", 100.0, 1))
    assert [(event.device, event.first) for event in reading.events] == [("ata1", 120.0)]
    assert reading.source == "kern.log"


def test_signals_health_12_a_log_that_was_never_readable_costs_no_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, asked = read_as_user(monkeypatch, {}, None)
    assert reading.missing
    assert asked == []


# -- SMART -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "value", "string", "name", "count"),
    [
        (188, 8590065668 + 0, "2 2 4", "command time-outs", 4),
        (188, 131076, "0 2 4", "command time-outs", 4),
        (188, 131076, "131076", "command time-outs", 4),
        (188, 7, "7", "command time-outs", 7),
        (5, 0x0002_0000_0004, "4 (0 2)", "reallocated sectors", 4),
        (199, 251, "251", "CRC errors", 251),
    ],
)
def test_signals_health_18_command_timeout_of_seagate(
    number: int, value: int, string: str, name: str, count: float
) -> None:
    row = {"id": number, "name": "x", "value": 100, "when_failed": ""}
    table = [{**row, "raw": {"value": value, "string": string}}]
    disk = smart.parse("sda", json.dumps({"ata_smart_attributes": {"table": table}}).encode())
    assert disk.values == {name: count}
