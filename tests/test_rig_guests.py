"""Simulated boards for real: from the card image to a login, in QEMU."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig_guest import LOGIN, Guest

from benchvise.rig.faults import RigError
from benchvise.rig.virtual import kinds
from benchvise.rig.virtual.images import keys, tools

BOOT_SECONDS = 180  # so long only where the machine has much else to do
NEEDED = (
    "uname id ls mkdir rmdir rm mv chmod cat wc cksum dd tr kill base64 gzip sha256sum dmesg "
    "sync stty mount"
)
MACHINES = {
    "arm64-uboot": "aarch64",
    "riscv64-uboot": "riscv64",
    "orangepi": "armv7l",
    "x86_64": "x86_64",
}


def card_of(kind: kinds.Kind, directory: Path, variant: str = "a") -> Path:
    """A card that the image of such a board was written to; skips where there can be none."""
    lacking = kinds.missing(kind)
    if lacking:
        pytest.skip(f"apt-get install {' '.join(lacking)}")
    try:
        image = kinds.image(kind, variant=variant)
    except RigError as error:
        pytest.skip(str(error))
    card = directory / "card.img"
    subprocess.run(["cp", "--sparse=always", image, card], check=True)
    return card


@pytest.fixture
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("g")  # short, for the names of sockets are
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("name", MACHINES)
def test_boots_from_its_card_to_a_login(name: str, directory: Path) -> None:
    kind = kinds.kind(name)
    with Guest(kind, card_of(kind, directory), directory) as guest:
        guest.log_in(BOOT_SECONDS)
        for words in ("U-Boot", "Linux version", "Run /init as init process", "udhcpc: lease of"):
            assert words in guest.said
        assert "cut here" not in guest.said
        assert guest.run("uname -m") == MACHINES[name]
        assert f"KIND={name}" in guest.run("cat /etc/image-release")
        assert guest.run(f"for p in {NEEDED}; do command -v $p >/dev/null || echo $p; done") == ""
        assert guest.run("echo kept > /root/file; sync; ls -ldn /root | cut -c1-30") != ""
        assert _ssh(guest, name, directory, "cat /root/file; id -u") == "kept\n0\n"
        ratio = _clock_ratio(guest)
        if name == "orangepi":
            assert ratio > 2  # QEMU's model of its timer runs at 62.5 MHz and says 24
        else:
            assert ratio == pytest.approx(1, abs=0.3)


def test_a_card_keeps_what_it_held_when_the_power_was_cut(directory: Path) -> None:
    kind = kinds.kind("arm64-direct")
    card = card_of(kind, directory)
    with Guest(kind, card, directory) as guest:
        guest.log_in(BOOT_SECONDS)
        guest.run("echo kept > /root/file; sync; echo lost > /tmp/file")
    for name in ("console", "monitor"):
        (directory / name).unlink(missing_ok=True)
    with Guest(kind, card, directory) as guest:
        guest.log_in(BOOT_SECONDS)
        assert guest.run("cat /root/file") == "kept"
        assert "No such file" in guest.run("cat /tmp/file")


def test_without_a_card_the_bootloader_asks(directory: Path) -> None:
    kind = kinds.kind("arm64-uboot")
    card_of(kind, directory)
    with Guest(kind, None, directory) as guest:
        guest.wait_for(r"\n=> ", BOOT_SECONDS)


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("panic", r"Kernel panic - not syncing: sysrq triggered crash"),
        ("no-root", r"ALERT!  /dev/vda9 does not exist"),
        ("blank-boot", r"\n=> "),
        ("login-loop", rf"{LOGIN}root[\s\S]*{LOGIN}"),
    ],
)
def test_variants_fail_as_they_should(variant: str, words: str, directory: Path) -> None:
    kind = kinds.kind("arm64-direct" if variant != "blank-boot" else "arm64-uboot")
    with Guest(kind, card_of(kind, directory, variant), directory) as guest:
        if variant == "login-loop":
            guest.wait_for(LOGIN.rstrip(), BOOT_SECONDS)
            guest.rewind()
            guest.enter("root\n")
        guest.wait_for(words, BOOT_SECONDS)


def _clock_ratio(guest: Guest) -> float:
    """How much faster the board's clock runs than ours."""
    first, start = float(guest.run("cut -d' ' -f1 /proc/uptime")), time.monotonic()
    time.sleep(1.5)
    last, end = float(guest.run("cut -d' ' -f1 /proc/uptime")), time.monotonic()
    return (last - first) / (end - start)


def _ssh(guest: Guest, name: str, directory: Path, command: str) -> str:
    """What a command prints that is run over SSH, by the key that we know the board by."""
    if tools.find("ssh") is None:
        pytest.skip("apt-get install openssh-client")
    key = kinds.ssh_key()
    keys.host_key(name)
    public = (key.parent / f"host-{name}.pub").read_text()
    known = directory / "known_hosts"
    known.write_text(f"[127.0.0.1]:{guest.ssh_port} {public}")
    done = subprocess.run(
        ["ssh", "-F", "/dev/null", "-i", key, "-p", str(guest.ssh_port), "-o", "BatchMode=yes",
         "-o", f"UserKnownHostsFile={known}", "-o", "StrictHostKeyChecking=yes",
         "-o", "IdentitiesOnly=yes", "root@127.0.0.1", command],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
