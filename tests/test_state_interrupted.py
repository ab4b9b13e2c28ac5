"""Options of a real mount, set over a real SSH connection by a process that is ended meanwhile.

The mount is the test's own. Ctrl-C has to leave it as it was; after kill -9 `restore` has to.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import skips
from sshd import SshServer
from waiting import PATIENCE

from benchvise.board import ssh
from benchvise.state import journal
from benchvise.state.restore import RestoreOutcome, restore_sessions

pytest_plugins = ["board_fixtures"]
# What another test adds to this machine meanwhile, be it a loop device, counts as changed too.
pytestmark = [skips.needs_root, pytest.mark.long, pytest.mark.settings]

MOMENTS = 20 if skips.LONG else 6
OPTIONS = "sync,noatime,nodiratime"

# Sets three options and puts them back; says when it begins and when everything is done.
SET = """
import sys
from benchvise.board import open_board
from benchvise.board.channel import open_channel
from benchvise.state.intervention import intervening
from benchvise.state.knobs import Setting, find_knob

name, mount = sys.argv[1:]
wanted = {"sync": "async", "atime": "relatime", "diratime": "diratime"}
settings = [
    Setting(find_knob(f"mount.{option}"), value, (f"/proc/self/mountinfo/{mount}/{option}",))
    for option, value in wanted.items()
]
with open_board(name) as board:
    channel = open_channel(board)
    print("begins", flush=True)
    with intervening(name, channel, lambda: open_channel(board), {}) as intervention:
        intervention.apply(settings)
    print("ends", flush=True)
"""


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "mount"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", OPTIONS, "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        skips.need_namespaces("-m")
        pytest.fail(made.stderr)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def name(plain: SshServer, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The board, with the journals of this test alone."""
    monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(plain.config))
    monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(tmp_path / "state"))
    return plain.name


def options(mount: Path) -> str:
    """What the kernel says of the mount."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    (line,) = (line for line in lines if line.split()[4] == str(mount))
    return line


def begun(name: str, mount: Path) -> subprocess.Popen[str]:
    """A process that is about to set the options, as the leader of a group of its own."""
    words = [sys.executable, "-c", SET, name, str(mount).replace("/", "!")]
    child = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    if child.stdout.readline() != "begins\n":
        pytest.fail(child.communicate(timeout=PATIENCE)[1])
    return child


def journals() -> list[Path]:
    return list(journal.state_directory().glob("*.jsonl"))


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGKILL, id="kill -9"), pytest.param(signal.SIGINT, id="Ctrl-C")]
)
def test_at_random_moments_of_setting_options_of_a_mount(
    name: str, mount: Path, number: signal.Signals
) -> None:
    before = options(mount)
    child = begun(name, mount)
    begin = time.monotonic()
    output, errors = child.communicate(timeout=PATIENCE)
    life = time.monotonic() - begin
    assert (child.returncode, output) == (0, "ends\n"), errors
    assert options(mount) == before and not journals()
    chance = random.Random(4)
    for moment in range(MOMENTS):
        child = begun(name, mount)
        time.sleep(life * (moment + chance.random()) / MOMENTS)
        end(child, number)
        assert options(mount) == before, f"ended at moment {moment}"
        assert not journals(), f"ended at moment {moment}"
    # Where the machine is busy, none of them may have been one at which anything was set.
    assert end(when_set(name, mount, before), number) or number is signal.SIGINT
    assert options(mount) == before and not journals()


def when_set(name: str, mount: Path, before: str) -> subprocess.Popen[str]:
    """A process that has set an option and has not put it back."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        child = begun(name, mount)
        while child.poll() is None:
            if options(mount) != before:
                return child
        child.communicate()
    pytest.fail("nothing was seen to be set")


def end(child: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Ends it and puts back what it left; whether it left anything."""
    if number is signal.SIGINT:  # a terminal tells the whole group
        os.killpg(child.pid, number)
    else:
        os.kill(child.pid, number)
    _, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode in (0, -number), errors
    if number is signal.SIGINT:
        return False
    is_due = any(session.is_due for session in journal.sessions())
    for result in restore_sessions(None, force=False, keep=False):
        assert result.outcome is RestoreOutcome.DONE, result
    return is_due
