"""What the guide takes for granted: a home with files, boards, a rig, and runs in the store.

Boards are this machine behind an SSH server, whose probe measures at once (``quick_probe``), and
stand-ins for a rig. What a command prints and how it ends are those of the program itself.
"""

from __future__ import annotations

import bz2
import getpass
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import capture_data
import made_perf
import made_remotes
import numpy as np
import pytest
import story_traces
from guide_commands import ROOT
from in_process import Ran, benchvise
from report_runs import demonstration_run
from rig_bench import TestBench
from sshd import SshServer
from waiting import PATIENCE
from web_store import keep_run

from benchvise.board import probes

QUICK_PROBE = Path(__file__).with_name("quick_probe.py")
PLACEHOLDERS = {
    "RUN": "before",
    "NAME": "pi4",
    "ID": "before",
    "DIR": "out",
    "FILE": "out.bin",
    "TEXT": "hello",
}
"""What a reader puts in for the words in capitals."""

_SHELL = re.compile(r"[|<>;$`~]|\*\.")
_VARIABLE = re.compile(r"(?:export )?([A-Z_]+)=(.*)")

DMESG = """\
[    1.234567] mmc0: new high speed SDHC card at address aaaa
[  812.500000] ata1: SATA link down (SStatus 0 SControl 300)
"""
SUITE = """\
summary = "what our product does all day"

[[series]]
benchmark = "memory.copy"
size = ["64K", "8M"]

[[series]]
benchmark = "pipe.latency"
place = ["same", "core"]
"""


@dataclass
class GuideWorld:
    """A user's home with a working directory in it."""

    home: Path
    work: Path
    environment: dict[str, str] = field(default_factory=dict)

    def perform(self, text: str) -> Ran:
        """Does what the line says, as a shell does; plain commands of ours in this process."""
        for word, meaning in PLACEHOLDERS.items():
            text = re.sub(rf"(?<![\w-]){word}(?![\w=])", meaning, text)
        if variable := _VARIABLE.fullmatch(text):
            shown = self._shell(f"printf %s {variable[2]}")
            self.environment[variable[1]] = shown.out
            return shown
        if not text.startswith("benchvise ") or _SHELL.search(_unquoted(text)):
            return self._shell(text)
        words = shlex.split(text)[1:]
        return benchvise(*words, environment=self.environment, cwd=self.work)

    def _shell(self, text: str) -> Ran:
        done = subprocess.run(
            ["sh", "-c", text],
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=300,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def until_interrupted(self, text: str, sign: str) -> Ran:
        """Starts a command that goes on until Ctrl-C, and ends it so once it prints ``sign``."""
        command = [sys.executable, "-c", "from benchvise.cli.main import entry; entry()"]
        words = [
            str(self.home) + word[1:] if word.startswith("~/") else word
            for word in shlex.split(text)[1:]
        ]
        process = subprocess.Popen(
            [*command, *(PLACEHOLDERS.get(word, word) for word in words)],
            cwd=self.work,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        printed = ""
        limit = threading.Timer(PATIENCE, process.kill)
        limit.start()
        try:
            assert process.stdout is not None
            while sign not in printed:
                line = process.stdout.readline()
                if not line:
                    break
                printed += line
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=PATIENCE)
        finally:
            limit.cancel()
            process.kill()
        assert sign in printed, printed
        return Ran(process.returncode, printed + rest, "")


def _unquoted(text: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"$`]*\"", "", text)


def quick_probes(directory: Path) -> Path:
    """A directory of probes, as the package has it, with the quick one for this architecture."""
    arch = os.uname().machine
    real = probes.PROBES / arch
    place = directory / arch
    place.mkdir(parents=True)
    for name in (probes.PROBE, *probes.HELPERS):
        script = (
            f"#!/bin/sh\nexec {sys.executable} -ES {QUICK_PROBE} {real / probes.PROBE} "
            f'"$@" # {name}\n'
        )
        (place / name).write_text(script)
        (place / name).chmod(0o755)
    return directory


def make_template(home: Path) -> None:
    """Files and runs that all pages share."""
    work = home / "work"
    (work / "build").mkdir(parents=True)
    (work / "out").mkdir()
    (home / "traces").mkdir()
    before = story_traces.record(1.0, printing=False, seed=11)
    for name in ("trace.dat", "before.dat", "before"):
        story_traces.write(before, work / name)
    after = story_traces.record(1.0, printing=True, seed=12)
    for name in ("after.dat", "after"):
        story_traces.write(after, work / name)
    for name, calls in (("perf.data", 1), ("before.data", 1), ("after.data", 3)):
        make_samples(work / name, calls)
    make_captures(work)
    (work / "dmesg.txt").write_text(DMESG)
    (work / "product.toml").write_text(SUITE)
    (work / "job.sh").write_text("seq 10 | sort -n > /dev/null\n")
    (work / "in").write_text("3\n1\n2\n")
    image = bz2.compress(b"boot\n".ljust(256 << 10, b"."))
    for name in ("build/core-image.wic.bz2", "core.wic"):
        (work / name).write_bytes(image if name.endswith("bz2") else bz2.decompress(image))
    store = home / ".local/share/benchvise/benchvise.db"
    store.parent.mkdir(parents=True)
    for label in ("before", "after", "vendor-image", "release-1.2", "nightly", "before-upgrade"):
        keep_run(str(store), demonstration_run(), board="ssh://root@ours", label=label)
    (home / ".local/share/bash-completion/completions").mkdir(parents=True)
    (home / ".config/fish/completions").mkdir(parents=True)
    (home / ".config/benchvise").mkdir()
    (home / ".config/benchvise/benchvise.toml").write_text("[run]\nprocesses = 1\nbatches = 2\n")
    tools = home / "bin"
    tools.mkdir()
    program = "from benchvise.cli.main import entry; entry()"
    for name, line in (
        ("benchvise", f"exec {sys.executable} -c '{program}' \"$@\""),
        ("python", f'exec {sys.executable} "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{line}\n")
        (tools / name).chmod(0o755)
    (work / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "story_traces.py", work / "tests")


def make_samples(path: Path, calls: int) -> None:
    """Five seconds of a server's samples, of which a function takes a part."""
    perf = made_perf.PerfData()
    perf.comm(0, (7, 7), "nginx")
    perf.map(1_000, 7, 0x400000, 0x1000, 0, "/usr/sbin/nginx")
    for number in range(200):
        chain = [0x400200, 0x400100] if number % 10 < calls else [0x400100]
        perf.sample(25_000_000 * (number + 1), [made_perf.USER, *chain])
    perf.save(path)


def make_captures(work: Path) -> None:
    """Captures of the lines that the guide names."""
    rate = 2_000_000
    received = capture_data.sent_serially(b"U-Boot 2024.01\r\n" * 5, rate, 115200)
    clock = np.arange(len(received)) // 8 % 2
    select = (np.arange(len(received)) // 1000 % 2).astype(np.uint8)
    lines = {"RX": received, "CLK": clock, "MOSI": clock[::-1], "CS": select}
    write_session(work / "capture.sr", rate, **lines)
    shots = np.arange(400_000) % 2000 // 1000
    write_session(work / "shots.sr", 1_000_000, IN=shots, OUT=np.roll(shots, 9))
    write_session(work / "radio.sr", 24_000_000, CLK=np.arange(960_000) // 48 % 2)
    chance = np.random.default_rng(1)
    (infrared,) = made_remotes.capture(made_remotes.REMOTES[0].hold(2), chance).lines
    lengths = np.diff(infrared.edges, prepend=0, append=infrared.edges[-1] + 200_000)
    levels = (np.arange(len(lengths)) + infrared.starts_high) % 2
    write_session(work / "remote.sr", 4_000_000, IR=np.repeat(levels, lengths))
    for name in ("kmod.out", "kmod_busy.out", "python.out", "python_busy.out"):
        times = chance.lognormal(-9, 0.1, 200)
        (work / name).write_text("\n".join(f"{time:.9f}" for time in times) + "\n")
    (work / "received.bin").write_bytes(b"U-Boot 2024.01\r\n" * 5)


def write_session(path: Path, rate: int, **lines: np.ndarray) -> None:
    """A sigrok session of lines given sample by sample."""
    packed = sum(
        np.asarray(levels, dtype=np.uint8) << bit for bit, levels in enumerate(lines.values())
    )
    names = "".join(f"probe{number}={name}\n" for number, name in enumerate(lines, 1))
    metadata = (
        f"[device 1]\ncapturefile=logic-1\ntotal probes={len(lines)}\n"
        f"samplerate={rate} Hz\n{names}unitsize=1\n"
    )
    capture_data.session(path, metadata, logic_1=np.asarray(packed, dtype=np.uint8).tobytes())


def new_world(template: Path, home: Path, board: SshServer, rig: TestBench | None) -> GuideWorld:
    """A copy of the template for one page."""
    shutil.copytree(template, home, symlinks=True)
    work = home / "work"
    config = home / ".ssh" / "config"
    config.parent.mkdir(mode=0o700)
    config.write_text(
        f"Host *\n HostName 127.0.0.1\n Port {board.port}\n User {getpass.getuser()}\n"
        + board.config.read_text().replace("Host bench-alias", "Host unused")
        + " StrictHostKeyChecking no\n"
    )
    (home / "board").mkdir()
    environment = {
        "HOME": str(home),
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests"))),
        "LANG": "C.UTF-8",
        "BENCHVISE_SSH_CONFIG": str(config),
        "BENCHVISE_BOARD_DIR": str(home / "board"),
        "BENCHVISE_BOARD_NOTES": str(home / "notes"),
        "BENCHVISE_LOCK_DIR": str(home / "locks"),
        "XDG_RUNTIME_DIR": str(home / "runtime"),
        "BROWSER": "true",
    }
    (home / "runtime").mkdir(mode=0o700)
    if rig is not None:
        (work / "rig.yaml").write_text(rig.rig_file.read_text())
        environment["BENCHVISE_RIG"] = str(work / "rig.yaml")
    return GuideWorld(home, work, environment)


def install_quick_probe(directory: Path, patch: pytest.MonkeyPatch) -> None:
    """Has all boards that are opened in this process get the quick probe."""
    patch.setattr(probes, "PROBES", quick_probes(directory))
