"""Saved kernel logs in every form that people send them, and what is none."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import pytest

from benchvise.health.judging import judge_log
from benchvise.health.model import HealthReading, LogReading
from benchvise.kernel_log.saved import BYTES, NoLogError, SavedLog, read_saved

# What all forms below say: the same three events.
LINES = [
    (0.0, 5, "Linux version 6.1.0-rpi8 (gcc 12.2.0) #1 SMP PREEMPT"),
    (2.5, 6, "usb 1-1: new high-speed USB device number 2 using xhci_hcd"),
    (12.5, 3, "mmc0: error -84 whilst initialising SD card"),
    (61.25, 2, "EXT4-fs error (device mmcblk0p2): ext4_lookup:1855: inode #2: comm ls: deleted"),
    (61.5, 4, "usb 1-1: USB disconnect, device number 2"),
    (62.0, 6, "random: crng init done"),
]
FOUND = [
    ("fs-error", "mmcblk0p2", 1),
    ("mmc-crc", "mmc0", 1),
    ("usb-disconnect", "1-1", 1),
]
LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")


def stamp(time: float) -> str:
    return f"[{time:12.6f}]"


def clock(time: float) -> str:
    return f"01:13:{int(time) % 60:02d}"


def form(line: str) -> str:
    """All lines in a form: ``{stamp}``, ``{clock}``, ``{level}``, ``{name}``, ``{text}``."""
    return "\n".join(
        line.format(
            stamp=stamp(time), clock=clock(time), level=level, name=LEVELS[level], text=text,
            microseconds=int(time * 1e6), seconds=f"{1707268397 + time:.6f}",
        )
        for time, level, text in LINES
    )  # fmt: skip


def journal(**more: object) -> list[dict[str, object]]:
    """Records as ``journalctl -k -o json`` has them."""
    return [
        {
            "_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel", "PRIORITY": str(level),
            "_SOURCE_MONOTONIC_TIMESTAMP": str(int(time * 1e6)),
            "__REALTIME_TIMESTAMP": "1707268397123456", "_BOOT_ID": "aa" * 16, "MESSAGE": text,
            **more,
        }
        for time, level, text in LINES
    ]  # fmt: skip


def export(records: list[dict[str, object]]) -> str:
    return "\n".join(
        "__CURSOR=s=1\n" + "".join(f"{key}={value}\n" for key, value in record.items())
        for record in records
    )


FORMS: dict[str, str] = {
    "dmesg": form("{stamp} {text}"),
    "dmesg --raw": form("<{level}>{stamp} {text}"),
    "dmesg with callers": form("{stamp}[    T1] {text}"),
    "dmesg -d": "\n".join(f"[{t:12.6f} <    0.000012>] {text}" for t, _, text in LINES),
    "dmesg of an Amlogic board": "\n".join(f"[{t:12.6f}@1] {text}" for t, _, text in LINES),
    "journal of a Portuguese board": form("fev 07 {clock}.299850 pi kernel: {text}"),
    "dmesg -x": form("kern  :{name:6}: {stamp} {text}"),
    "dmesg -T": form("[Wed Feb  7 {clock} 2024] {text}"),
    "dmesg -T -x": form("kern  :{name:6}: [Wed Feb  7 {clock} 2024] {text}"),
    "dmesg -t": form("{text}"),
    "dmesg --time-format iso": form("2024-02-07T{clock},123456+00:00 {text}"),
    "dmesg --time-format reltime": form("[  +0.000123] {text}"),
    "dmesg --json": json.dumps(
        {"dmesg": [{"pri": level, "time": time, "msg": text} for time, level, text in LINES]},
        indent=3,
    ),
    "/dev/kmsg": form("{level},1234,{microseconds},-;{text}") + "\n SUBSYSTEM=usb",
    "pstore": "Panic#1 Part1\n" + form("<{level}>{stamp} {text}"),
    "journal short": form("Feb 07 {clock} pi kernel: {text}"),
    "journal short-precise": form("Feb 07 {clock}.123456 pi kernel: {text}"),
    "journal short-iso": form("2024-02-07T{clock}+0000 pi kernel: {text}"),
    "journal short-iso-precise": form("2024-02-07T{clock}.123456+00:00 pi kernel: {text}"),
    "journal short-full": form("Wed 2024-02-07 {clock} UTC pi kernel: {text}"),
    "journal short-monotonic": form("{stamp} pi kernel: {text}"),
    "journal short-unix": form("{seconds} pi kernel: {text}"),
    "journal cat": form("{text}"),
    "journal json": "\n".join(map(json.dumps, journal())),
    "journal json with bytes": "\n".join(
        json.dumps({**record, "MESSAGE": list(str(record["MESSAGE"]).encode())})
        for record in journal()
    ),
    "journal json-pretty": "\n".join(json.dumps(record, indent=8) for record in journal()),
    "journal json-seq": "\n".join("\x1e" + json.dumps(record) for record in journal()),
    "journal export": export(journal()),
    "rsyslog": form("Feb  7 {clock} pi kernel: {stamp} {text}"),
    "rsyslog, high precision": form("2024-02-07T{clock}.003123+01:00 pi kernel: {stamp} {text}"),
    "syslog, RFC 3164": form("<{level}>Feb  7 {clock} pi kernel: {text}"),
    "syslog, RFC 5424": form("<{level}>1 2024-02-07T{clock}.003Z pi kernel - - - {text}"),
    "busybox": form("Feb  7 {clock} pi kern.{name} kernel: {stamp} {text}"),
    "logread of OpenWrt": form("Wed Feb  7 {clock} 2024 kern.{name} kernel: {stamp} {text}"),
    "console": "\r\nU-Boot 2024.01\r\n" + form("{stamp} {text}").replace("\n", "\r\n"),
    "console of a Windows terminal": form("{stamp} {text}").replace("\n", "\r\r\n"),
    "console with colours": form("\x1b[32m{stamp} \x1b[0m\x1b[1m{text}\x1b[0m"),
    "console through cat -v": form("^[[0;33m{stamp} {text}^[[0m"),
    "minicom": form("[2024-02-07 {clock}] {stamp} {text}"),
    "minicom, kernel without times": form("[2024-02-07 {clock}.123] {text}"),
    "picocom through ts": form("Feb 07 {clock} {stamp} {text}"),
    "ts -s": form("00:{clock} {stamp} {text}").replace("00:01:13", "00:13"),
    "ser2net": form("2024/02/07 {clock} OPEN (1.2.3.4)").split("\n")[0]
    + "\n"
    + form("2024-02-07 {clock}.123456 term {stamp} {text}"),
    "labgrid": form("CONSOLE: [rpi] SerialDriver(name='serial') < {stamp} {text}␍␤"),
    "mail": "Hello,\nmy board fails with a timeout error:\n\n"
    + form("> {stamp} {text}")
    + "\n> Can you help?\n-- \nA reader",
    "mail, answered twice": form(">> {stamp} {text}") + "\n> I see: a fatal error!",
    "mail, without times": "> Hi: it stopped with an error.\n" + form("> {text}"),
    "code of a forum": form("    {stamp} {text}"),
}


def read(content: str | bytes) -> SavedLog:
    data = content.encode() if isinstance(content, str) else content
    return read_saved(io.BytesIO(data))


@pytest.mark.parametrize("name", FORMS)
def test_a_saved_log_is_read_in_every_form(name: str) -> None:
    saved = read(FORMS[name])
    found = sorted((e.rule.id, e.device, e.count) for e in saved.events.events)
    assert found == FOUND
    assert (saved.boots, saved.cut) == (1, False)
    if "[" in FORMS[name].partition("12.500000")[0] and "12.500000" in FORMS[name]:
        assert next(e.first for e in saved.events.events if e.rule.id == "mmc-crc") == 12.5


@pytest.mark.parametrize("name", ["dmesg", "rsyslog", "journal json", "journal export", "console"])
def test_lines_end_as_on_any_machine(name: str) -> None:
    assert read(FORMS[name] + "\n").events == read(FORMS[name]).events
    assert read(FORMS[name].replace("\n", "\r\n") + "\r\n").events == read(FORMS[name]).events


def test_lines_of_other_programs_are_passed_over() -> None:
    log = "\n".join(
        [
            "Feb  7 01:13:17 pi kernel: [   12.500000] mmc0: error -84 whilst initialising SD card",
            "Feb  7 01:13:18 pi sshd[812]: error: kex_exchange_identification: read: timed out",
            "Feb  7 01:13:18 pi NetworkManager[400]: <warn> device (eth0): link timed out",
            "Feb  7 01:13:19 pi smartd[512]: Device: /dev/sda [SAT], 8 Currently unreadable "
            "(pending) sectors",
            "Feb  7 01:13:20 pi systemd[1]: dev-sda1.device: Job dev-sda1.device/start timed out.",
            "Feb  7 01:13:21 pi kernel: [   13.500000] random: crng init done",
        ]
    )
    saved = read(log)
    assert sorted(event.rule.id for event in saved.events.events) == ["medium-error", "mmc-crc"]
    assert saved.passed_over == 3


def test_a_program_of_the_journal_is_no_kernel() -> None:
    other = {"_TRANSPORT": "journal", "SYSLOG_IDENTIFIER": "app", "MESSAGE": "disk timeout error"}
    saved = read("\n".join(map(json.dumps, [*journal(), other])))
    assert sorted((e.rule.id, e.device, e.count) for e in saved.events.events) == FOUND
    assert saved.passed_over == 1


def test_boots_are_told_apart_and_their_times_are_not_mixed() -> None:
    saved = read(FORMS["dmesg"] + "\n" + FORMS["dmesg"])
    assert saved.boots == 2
    assert {event.count for event in saved.events.events} == {2}
    twice = [*journal(), *journal(_BOOT_ID="bb" * 16)]
    assert read("\n".join(map(json.dumps, twice))).boots == 2
    log = LogReading(saved.events.events, saved.events.lines, "file", boots=2)
    judgement = judge_log(HealthReading("log", "2026-01-01T00:00:00", "", None, "", log))
    [section] = judgement.sections
    assert section.summary == "12 lines read, of 2 boots"
    assert all("after boot" not in remark.sentence for remark in section.remarks)


def test_a_mails_sentences_are_no_faults() -> None:
    mail = "\n".join(
        [
            "Hello: the board hung and I lost data.",
            "Error: it failed to boot, the bus is stuck?",
            "usb 1-1: USB disconnect, device number 2",
        ]
    )
    assert [event.rule.id for event in read(mail).events.events] == ["usb-disconnect"]


@pytest.mark.parametrize(
    ("content", "says", "remedy"),
    [
        (b"", "it is empty", "dmesg > log.txt"),
        (b"\n\n \n", "it is empty", "dmesg > log.txt"),
        (bytes(100_000), "it is no text", "dmesg > log.txt"),
        (b"\x7fELF\2\1\1" + bytes(range(256)) * 30, "it is no text", "dmesg > log.txt"),
        (b"\x1f\x8b\x08\x00abc", "it is compressed (gzip)", "zcat FILE | benchvise health --log -"),
        (b"\xfd7zXZ\x00abc", "it is compressed (xz)", "xzcat FILE"),
        (b"\x28\xb5\x2f\xfdabc", "it is compressed (zstd)", "zstdcat FILE"),
        (b"PK\x03\x04abc", "it is a zip archive", "unzip -p FILE"),
        (b"LPKSHHRH" + bytes(200), "a file of the journal itself", "journalctl -k --file FILE"),
        ("[    1.0] usb".encode("utf-16"), "it is UTF-16", "iconv -f UTF-16 FILE"),
        (b"a,b\n1,2\n3,4\n" * 100, "no line of it looks like", "dmesg > log.txt"),
        (b'{"a": 1}\n' * 100, "no line of it looks like", "dmesg > log.txt"),
        (b"# Title\n\nSome prose: with a colon, no log.\n" * 9, "no line of it", "dmesg > log.txt"),
    ],
)
def test_what_is_no_log_is_said(content: bytes, says: str, remedy: str) -> None:
    with pytest.raises(NoLogError) as caught:
        read(content)
    assert says in str(caught.value)
    assert remedy in caught.value.remedy


def test_an_ordinary_log_without_any_fault_is_one() -> None:
    saved = read("Linux version 6.1.0\nKernel command line: root=/dev/sda1\nNET: Registered PF\n")
    assert (saved.events.events, saved.events.lines) == ((), 3)


class Endless(io.RawIOBase):
    """A stream of the same bytes without an end, which never has more than one read in memory."""

    def __init__(self, pattern: bytes, size: int) -> None:
        self._pattern, self.left = pattern, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self.left)
        self.left -= size
        buffer[:size] = (self._pattern * (size // len(self._pattern) + 1))[:size]
        return size


def test_a_line_of_100_mb_is_cut_and_memory_stays_bounded() -> None:
    tracemalloc.start()
    try:
        stream = Endless(b"[    1.000000] x" + b"x" * 5000, 100 << 20)
        saved = read_saved(io.BufferedReader(stream))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert saved.events.lines == 1
    assert saved.cut
    assert stream.left > (100 << 20) - BYTES - (1 << 20)
    assert most < 4 << 20


@pytest.mark.parametrize(
    "content",
    [
        b'{"MESSAGE": ' + b"[" * 50_000 + b"\n",
        b"{" * 100_000,
        b"__CURSOR=1\nMESSAGE\n" + bytes(8) + b"\n" * 50,
        b'{"MESSAGE": [999, -1, "x", null], "_TRANSPORT": "kernel", "PRIORITY": "x"}\n',
        b'{"MESSAGE": {"a": 1}, "PRIORITY": 1e400, "__MONOTONIC_TIMESTAMP": "9"}\n',
        b"__REALTIME_TIMESTAMP=1\nPRIORITY=\xff\n_TRANSPORT=kernel\nMESSAGE=\xff\xfe\n\n" * 20,
        b"[99999999999999999999.0] [[[[[[[ " * 1000,
        b"<" * 3000 + b"\n" + b">" * 3000,
        ("[    1.000000] " + "\x1b[" * 3000).encode(),
    ],
)
def test_hostile_logs_are_read_or_refused(content: bytes) -> None:
    try:
        saved = read(content)
    except NoLogError as error:
        assert str(error)
    else:
        assert all(len(event.newest.raw) <= 300 for event in saved.events.events)
