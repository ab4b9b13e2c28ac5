"""Simulated boards for real: from the card image to a login, in QEMU."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import skips
from rig_guest import LOGIN, Guest
from waiting import BOOT_PATIENCE, PATIENCE

from benchvise.rig.faults import RigError
from benchvise.rig.virtual import kinds
from benchvise.rig.virtual.recipes import keys

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


def card_of(kind: kinds.BoardKind, directory: Path, variant: str = "a") -> Path:
    """A card that the image of such a board was written to; skips where there can be none."""
    lacking = kinds.missing(kind)
    if lacking:
        skips.skip_packages(*lacking)
    try:
        image = kinds.image(kind, variant=variant)
    except RigError as error:
        skips.skip("board image", error)
    card = directory / "card.img"
    subprocess.run(["cp", "--sparse=always", image, card], check=True)
    return card


@contextlib.contextmanager
def powered(
    boards: Mapping[str, tuple[str, str]], factory: pytest.TempPathFactory
) -> Iterator[dict[str, Guest]]:
    """Boards of a kind with a variant of its image, by name, that all start at once."""
    above = factory.mktemp("g")  # short, for the names of sockets are
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, above)
        cards = {}
        for name, (kind, variant) in boards.items():
            (above / name).mkdir()
            cards[name] = card_of(kinds.kind(kind), above / name, variant)
        yield {
            name: stack.enter_context(Guest(kinds.kind(kind), cards[name], above / name))
            for name, (kind, _) in boards.items()
        }


# --- boards as they should be -----------------------------------------------------------------


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Guest]]:
    with powered({name: (name, "a") for name in MACHINES}, tmp_path_factory) as guests:
        for guest in guests.values():
            guest.log_in(BOOT_PATIENCE)
        yield guests


@pytest.mark.parametrize("name", MACHINES)
def test_boots_from_its_card_to_a_login(name: str, bench: dict[str, Guest]) -> None:
    guest = bench[name]
    for words in ("U-Boot", "Linux version", "Run /init as init process", "udhcpc: lease of"):
        assert words in guest.said
    assert "cut here" not in guest.said
    assert guest.run("uname -m") == MACHINES[name]
    assert f"KIND={name}" in guest.run("cat /etc/image-release")
    # not only there, but with the libraries that they need
    assert guest.run("cksum < /dev/null").split() == ["4294967295", "0"]
    assert guest.run(f"for p in {NEEDED}; do command -v $p >/dev/null || echo $p; done") == ""


@pytest.mark.parametrize("name", MACHINES)
def test_is_reached_over_ssh_and_known_by_its_key(
    name: str, bench: dict[str, Guest], tmp_path: Path
) -> None:
    skips.need("ssh")
    assert _ssh(bench[name], name, tmp_path, "hostname; id -u") == f"{name}\n0\n"


@pytest.mark.parametrize("name", ["arm64-uboot", "orangepi"])
def test_its_clock_is_right_or_known_to_be_wrong(name: str, bench: dict[str, Guest]) -> None:
    ratio = _clock_ratio(bench[name])
    if name == "orangepi":
        assert ratio > 2  # QEMU's model of its timer runs at 62.5 MHz and says 24
    else:
        assert ratio == pytest.approx(1, abs=0.3)


def test_a_card_keeps_what_it_held_when_the_power_was_cut(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with powered({"one": ("arm64-direct", "a")}, tmp_path_factory) as guests:
        guest = guests["one"]
        guest.log_in(BOOT_PATIENCE)
        guest.run("echo kept > /root/file; sync; echo lost > /tmp/file")
        guest.close()
        again = tmp_path_factory.mktemp("h")
        card = guest.directory / "card.img"
        with Guest(kinds.kind("arm64-direct"), card, again) as second:
            second.log_in(BOOT_PATIENCE)
            assert second.run("cat /root/file") == "kept"
            assert "No such file" in second.run("cat /tmp/file")


# --- boards that do not start -----------------------------------------------------------------

FAILURES = {
    "panic": r"Kernel panic - not syncing: sysrq triggered crash",
    "no-root": r"ALERT!  /dev/vda9 does not exist",
    "login-loop": LOGIN,
}


def test_variants_fail_as_they_should(tmp_path_factory: pytest.TempPathFactory) -> None:
    boards = {variant: ("arm64-direct", variant) for variant in FAILURES}
    with powered(boards, tmp_path_factory) as guests:
        guest = guests["login-loop"]
        guest.wait_for(LOGIN, BOOT_PATIENCE)
        guest.enter("root\n")
        for variant, words in FAILURES.items():
            guests[variant].wait_for(words, BOOT_PATIENCE)
            guests[variant].close()  # in a panic, it computes until then


def test_the_bootloader_asks_where_there_is_nothing_to_boot(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with powered({"one": ("arm64-uboot", "blank-boot")}, tmp_path_factory) as guests:
        empty = tmp_path_factory.mktemp("h")
        with Guest(kinds.kind("arm64-uboot"), None, empty) as without:
            for guest in (guests["one"], without):
                guest.wait_for(r"\n=> ", BOOT_PATIENCE)
                guest.close()  # it asks for keys without rest


def _clock_ratio(guest: Guest) -> float:
    """How much faster the board's clock runs than ours."""
    first, start = float(guest.run("cut -d' ' -f1 /proc/uptime")), time.monotonic()
    time.sleep(1)
    last, end = float(guest.run("cut -d' ' -f1 /proc/uptime")), time.monotonic()
    return (last - first) / (end - start)


def _ssh(guest: Guest, name: str, directory: Path, command: str) -> str:
    """What a command prints that is run over SSH, by the key that we know the board by."""
    key = kinds.ssh_key()
    keys.host_key(name)
    public = (key.parent / f"host-{name}.pub").read_text()
    known = directory / "known_hosts"
    known.write_text(f"[127.0.0.1]:{guest.ssh_port} {public}")
    done = subprocess.run(
        ["ssh", "-F", "/dev/null", "-i", key, "-p", str(guest.ssh_port), "-o", "BatchMode=yes",
         "-o", f"UserKnownHostsFile={known}", "-o", "StrictHostKeyChecking=yes",
         "-o", "IdentitiesOnly=yes", "root@127.0.0.1", command],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
