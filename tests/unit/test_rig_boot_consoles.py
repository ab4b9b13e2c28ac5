"""Texts of consoles, and what each boot has to be taken for."""

from __future__ import annotations

import random

import pytest
from rig_consoles import CONSOLES, FakeTime, console_text, watched

from benchvise.rig.boot.timeline import BootEnd, Timeline, watch
from benchvise.rig.boot.verdict import classify
from benchvise.rig.faults import Fault

ALL = ["spl", "bootloader", "kernel", "init", "login"]

BOOTED = {
    "arm64-uboot-extlinux": ALL[1:],
    "riscv64-opensbi-uboot": ALL,
    "orangepi-spl": ALL,
    "rockchip-systemd": ALL,
    "allwinner-vendor": ALL,
    "raspberrypi": ["spl", "kernel", "init", "login"],
    "stm32mp-tfa-barebox": ALL,
    "tfa-full": ALL,
    "x86-seabios-grub": ALL[1:],
    "x86-syslinux": ALL[1:],
    "openwrt-procd": ALL[1:],
    "autologin-busybox": ["bootloader", "kernel", "init", "shell"],
    "bare-root-prompt": ["kernel", "init", "shell"],
}

FAILED = {
    "fail-uboot-no-card": (Fault.NO_BOOT_MEDIUM, "SCRIPT FAILED"),
    "fail-uboot-prompt-key": (Fault.BOOTLOADER_PROMPT, "=>"),
    "fail-uboot-bad-magic": (Fault.NO_BOOT_MEDIUM, "Bad Linux ARM64 Image magic!"),
    "fail-uboot-bootflow": (Fault.NO_BOOT_MEDIUM, "0 bootflows"),
    "fail-uboot-efi": (Fault.NO_BOOT_MEDIUM, "Cannot load any image"),
    "fail-uboot-unknown-device": (Fault.NO_BOOT_MEDIUM, "Device 0: unknown device"),
    "fail-uboot-custom-prompt": (Fault.NO_BOOT_MEDIUM, "no mmc device at slot 1"),
    "fail-spl": (Fault.NO_BOOT_MEDIUM, "SPL: failed to boot from all boot devices"),
    "fail-seabios": (Fault.NO_BOOT_MEDIUM, "No bootable device."),
    "fail-grub": (Fault.NO_BOOT_MEDIUM, "Entering rescue mode"),
    "fail-barebox": (Fault.NO_BOOT_MEDIUM, "Nothing bootable found"),
    "fail-raspberrypi": (Fault.NO_BOOT_MEDIUM, "Failed to open device: 'sdcard'"),
    "fail-uboot-abort": (Fault.BOOTLOADER_HANG, '"Synchronous Abort" handler'),
    "fail-root-panic": (Fault.NO_ROOT, "VFS: Cannot open root device"),
    "fail-root-waiting": (Fault.NO_ROOT, "Waiting for root device /dev/mmcblk0p2"),
    "fail-root-initramfs": (Fault.NO_ROOT, "ALERT!"),
    "fail-root-dracut": (Fault.NO_ROOT, "does not exist"),
    "fail-panic-init": (Fault.KERNEL_PANIC, "Attempted to kill init!"),
    "fail-oops": (Fault.KERNEL_PANIC, "Oops"),
    "fail-hang-starting-kernel": (Fault.HANG, "Starting kernel ..."),
    "fail-hang-kernel": (Fault.HANG, "dwmmc_rockchip ff500000.mmc: Using internal DMA controller."),
    "fail-hang-uboot": (Fault.BOOTLOADER_HANG, "NbrPorts 2"),
    "fail-login-respawn": (Fault.LOGIN_LOOP, "respawning too fast"),
    "fail-emergency": (Fault.HANG, "You are in emergency mode"),
}


def test_every_text_has_its_expectation() -> None:
    names = {path.stem for path in CONSOLES.glob("*.txt")}
    assert names == {*BOOTED, *FAILED, "fail-login"}


@pytest.mark.parametrize("name", BOOTED)
def test_a_boot_that_succeeds_is_told_in_phases(name: str) -> None:
    timeline, outcome = watched(console_text(name))
    assert list(timeline.phases) == ["power-on", "first-byte", *BOOTED[name]]
    assert list(timeline.phases.values()) == sorted(timeline.phases.values())
    assert outcome.end is (BootEnd.SHELL if timeline.phase == "shell" else BootEnd.LOGIN)
    verdict = classify(timeline, outcome)
    assert verdict.fault is None
    assert timeline.restarts == 0
    assert timeline.quality.lost == timeline.quality.altered == 0, timeline.quality.example


@pytest.mark.parametrize("name", FAILED)
def test_a_boot_that_fails_is_named(name: str) -> None:
    timeline, outcome = watched(console_text(name))
    verdict = classify(timeline, outcome)
    fault, evidence = FAILED[name]
    assert verdict.fault is fault, verdict
    assert evidence in verdict.evidence.raw, verdict
    assert verdict.sentence
    assert verdict.remedy


def test_a_login_that_fails_again_and_again_is_a_loop() -> None:
    said = console_text("fail-login")
    timeline, outcome = watched(said)
    assert outcome.end is BootEnd.LOGIN
    first = said.index(b"login: root")
    boot, logins = said[: first + 7], said[first + 7 :]
    timeline, outcome = watched([(0.1, boot), (0.1, logins)])
    timeline.feed(timeline.power_on_ns + 3_000_000_000, logins)
    after = type(outcome)(BootEnd.NOT_LOGGED_IN, 5.0, 2.0)
    verdict = classify(timeline, after)
    assert verdict.fault is Fault.LOGIN_LOOP
    assert "board login:" in verdict.evidence.raw


@pytest.mark.parametrize("name", ["arm64-uboot-extlinux", "rockchip-systemd", "orangepi-spl"])
@pytest.mark.parametrize("seed", range(3))
def test_a_board_cut_off_anywhere_never_counts_as_booted_nor_stops_the_tests(
    name: str, seed: int
) -> None:
    said = console_text(name)
    cut = random.Random(seed).randrange(1, len(said) - 12)
    timeline, outcome = watched(said[:cut])
    verdict = classify(timeline, outcome)
    assert verdict.fault in (
        *(Fault.HANG, Fault.BOOTLOADER_HANG, Fault.NO_OUTPUT),
        *(Fault.NO_ROOT, Fault.NO_BOOT_MEDIUM),  # "Waiting for root device" as the last word
    )


class TestConsole:
    @pytest.mark.parametrize("share", [0.01, 0.03])
    def test_that_loses_bytes_is_called_lossy(self, share: float) -> None:
        chance = random.Random(1)
        said = console_text("orangepi-spl").replace(b"login: ", b"lgin: ")
        extra = b"".join(
            b"[    %d.%06d] usb 1-1: new device number %d\r\n" % (i // 9, i * 1111 % 10**6, i)
            for i in range(1, 200)
        )
        where = said.index(b"init started")
        whole = said[:where] + extra + said[where:]
        lossy = bytes(byte for byte in whole if chance.random() > share)
        timeline, outcome = watched(lossy)
        verdict = classify(timeline, outcome)
        assert verdict.fault is Fault.CONSOLE_LOSSY, verdict
        assert verdict.evidence

    @pytest.mark.parametrize("missing", range(7))
    def test_with_a_login_prompt_that_lacks_a_letter_is_lossy(self, missing: int) -> None:
        said = console_text("arm64-uboot-extlinux")
        at = said.rindex(b"login: ") + missing - 1
        timeline, outcome = watched(said[:at] + said[at + 1 :])
        if outcome.is_good:  # a blank or the host's name may be read all the same
            return
        assert classify(timeline, outcome).fault is Fault.CONSOLE_LOSSY

    def test_that_alters_bytes_is_called_garbled(self) -> None:
        chance = random.Random(2)
        said = console_text("arm64-uboot-extlinux").replace(b"login: ", b"loaum: ")
        lines = b"".join(b"[    3.%06d] usb: event number %d\r\n" % (i, i) for i in range(200))
        garbled = bytes(
            byte ^ (1 << chance.randrange(7)) if chance.random() < 0.01 and byte > 31 else byte
            for byte in said + lines
        )
        timeline, outcome = watched(garbled)
        assert classify(timeline, outcome).fault is Fault.CONSOLE_GARBLED

    def test_at_the_wrong_speed_is_called_garbled(self) -> None:
        chance = random.Random(3)
        said = bytes(chance.choice(b"\x00\x80\xf8\xfe\xff\xe0\x9c\xc0x<") for _ in range(400))
        timeline, outcome = watched([(0.5, said)])
        verdict = classify(timeline, outcome)
        assert verdict.fault is Fault.CONSOLE_GARBLED
        assert "%" in verdict.sentence

    def test_that_is_silent_is_no_output_glitches_at_power_on_included(self) -> None:
        for said in ([], [(0.01, b"\x00"), (0.02, b"\xff\x00")]):
            timeline, outcome = watched(said)
            verdict = classify(timeline, outcome)
            assert verdict.fault is Fault.NO_OUTPUT
            assert "20 s" in verdict.sentence

    def test_that_is_lost_is_dead(self) -> None:
        clock = FakeTime()
        timeline = Timeline(clock())

        def read(timeout: float) -> bytes:
            raise OSError("socket disconnected")

        outcome = watch(read, timeline, clock=clock, sleep=clock.sleep)
        verdict = classify(timeline, outcome)
        assert verdict.fault is Fault.CONSOLE_DEAD
        assert "socket disconnected" in verdict.sentence


class TestSlowness:
    def test_is_told_from_a_hang(self) -> None:
        lines = [(1.0, b"[%5d.000000] doing step %d\r\n" % (i, i)) for i in range(500)]
        start = [(0.1, b"Linux version 6.1.0 (x@y) (gcc) #1\r\n")]
        timeline, outcome = watched([*start, *lines], limit_s=30.0)
        assert outcome.end is BootEnd.LIMIT
        verdict = classify(timeline, outcome)
        assert verdict.fault is Fault.TOO_SLOW
        assert "'kernel'" in verdict.sentence

    def test_of_a_first_device_that_has_nothing_is_no_fault(self) -> None:
        said = console_text("arm64-uboot-extlinux").replace(
            b"starting USB...", b"SCRIPT FAILED: continuing...\r\nMMC: no card present"
        )
        timeline, outcome = watched(said)
        assert classify(timeline, outcome).fault is None

    def test_in_a_bootloader_that_went_on_is_a_hang_where_it_stands(self) -> None:
        said = console_text("arm64-uboot-extlinux")
        timeline, outcome = watched(said[: said.index(b"Moving Image")])
        verdict = classify(timeline, outcome)
        assert verdict.fault is Fault.BOOTLOADER_HANG, verdict
        assert verdict.evidence.raw == "Retrieving file: /initrd.gz"


class TestRestarts:
    def test_are_counted_and_the_last_start_is_told(self) -> None:
        said = console_text("orangepi-spl")
        crash = said[: said.index(b"init started")]
        timeline, outcome = watched(crash + said)
        assert timeline.restarts == 1
        assert outcome.end is BootEnd.LOGIN
        verdict = classify(timeline, outcome)
        assert verdict.fault is None
        assert "once" in verdict.sentence
        assert timeline.phases["spl"] > 0.1

    def test_without_end_are_a_hang(self) -> None:
        said = console_text("fail-hang-kernel") * 20
        timeline, outcome = watched(said)
        assert outcome.end is BootEnd.RESTARTS
        verdict = classify(timeline, outcome)
        assert verdict.fault is Fault.HANG
        assert "again and again" in verdict.sentence

    def test_after_a_panic_do_not_hide_it(self) -> None:
        panic = console_text("fail-panic-init") + b"[    1.7] Rebooting in 1 seconds..\r\n"
        timeline, outcome = watched([(0.1, panic), (1.5, console_text("orangepi-spl"))])
        assert outcome.end is BootEnd.FAULT
        assert classify(timeline, outcome).fault is Fault.KERNEL_PANIC
