"""Causes that are planted in images and boards that QEMU simulates: command line, kernel, libc,
start script, CPUs, card.

Where a layer is swapped each value takes a boot of its own, fifty for a diagnosis; so each cause is
one whose effect is far beyond the noise of an emulator, and the images boot in seconds.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import yaml

from benchmarks.why import virtual_kinds
from benchmarks.why.places import ROOT, NotHere
from benchmarks.why.plants import FOUND, Plant, Scene, prefix
from benchvise.errors import BenchviseError
from benchvise.rig.card.image import open_image
from benchvise.rig.compose.compose import ComposedImages
from benchvise.rig.virtual import bench as bench_control
from benchvise.rig.virtual.recipes.recipe import Variant

_OPTIONS = {"stagger_s": 0.1, "settle_s": 0.1, "off_s": 0.1, "silence_s": 60.0}

# From 2.41 on calloc takes what the same thread has freed (glibc NEWS).
_ALLOCATE = """
#include <stdlib.h>

int main(void)
{
	char *volatile kept;

	for (int i = 0; i < 200000; i++) {
		kept = calloc(1, 64);
		free(kept);
	}
	return kept == NULL;
}
"""
_PROGRAM = "/run/allocate"

Make = Callable[[], Path]
"""Makes an image, or finds the one that was made before."""


# -- images ----------------------------------------------------------------------------------------


def image(name: str, append: str = "", *start: str, other_kernel: bool = False) -> Make:
    """The usual one with more words for the kernel, a start script, or another kernel."""
    files = {"etc/rc.local": "\n".join(("#!/bin/sh", *start, ""))} if start else {}
    variant = Variant(
        f"why-{name}", "of the planted-cause bench", append=append,
        other_kernel=other_kernel, files=files,
    )  # fmt: skip
    return partial(virtual_kinds.image, variant)


def _with_program() -> Path:
    """The usual one, with a program that asks the C library for memory and gives it back."""
    with tempfile.TemporaryDirectory(prefix="benchvise-why-") as name:
        program = Path(name) / "allocate"
        words = ["cc", "-target", "aarch64-linux-gnu.2.28", "-Os", "-s", "-o", str(program)]
        done = subprocess.run(
            [sys.executable, "-m", "ziglang", *words, "-x", "c", "-"],
            input=_ALLOCATE, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise NotHere(f"no compiler for the boards: {done.stderr.strip()[-300:]}")
        text = base64.encodebytes(program.read_bytes()).decode()
    unpack = f"base64 -d /usr/share/allocate > {_PROGRAM}; chmod 755 {_PROGRAM}"
    files = {"usr/share/allocate": text, "etc/rc.local": f"#!/bin/sh\n{unpack}\n"}
    return virtual_kinds.image(
        Variant("why-program", "of the planted-cause bench", append="audit=0", files=files)
    )


def _with_newer_libc() -> Path:
    """That one, with the C library of a later release and nothing else of it."""
    base, newer = open_image(_with_program()), open_image(virtual_kinds.newer_image())
    return ComposedImages().make(base, {"libc": newer}, {})


# -- scenes ----------------------------------------------------------------------------------------


@contextmanager
def rig(boards: Sequence[tuple[str, str]]) -> Iterator[dict[str, str]]:
    """A virtual bench with these boards (name and kind); the environment that it is reached in."""
    with tempfile.TemporaryDirectory(prefix="benchvise-why-") as name:
        place = Path(name)
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {
            "BENCHVISE_RIG": str(place / "rig.yaml"),
            "BENCHVISE_LOCK_DIR": str(place / "locks"),
            "XDG_STATE_HOME": str(place / "state"),
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }
        try:
            with _set(environment):
                bench = bench_control.up(place / "bench", boards, kinds=virtual_kinds.__name__)
            settings = yaml.safe_load(bench.rig_file.read_text())
            settings["options"]["benchvise"].update(_OPTIONS)
            (place / "rig.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
            yield environment
        except BenchviseError as error:
            raise NotHere(f"no simulated boards: {error}") from error
        finally:
            bench_control.down(place / "bench")


@contextmanager
def _set(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


def made(make: Make) -> str:
    """The image's path. NotHere when it cannot be built."""
    try:
        return str(make())
    except BenchviseError as error:
        raise NotHere(f"no image for the simulated boards: {error}") from error


@contextmanager
def _two_images(
    good: Make, bad: Make, metric: tuple[str, ...], kinds: tuple[str, ...]
) -> Iterator[Scene]:
    """Both for one board, which is written and booted as needed."""
    with rig([("one", kinds[0])]) as environment:
        words = (*metric, "--board", "rig:one")
        yield Scene(words, good=made(good), bad=made(bad), environment=environment)


@contextmanager
def _two_boards(
    good: Make, bad: Make, metric: tuple[str, ...], kinds: tuple[str, ...]
) -> Iterator[Scene]:
    """Both on a board of their own, which run at the same time."""
    with rig([("good", kinds[0]), ("bad", kinds[1])]) as environment:
        words = (*metric, "--board", "rig:good", "--board", "rig:bad")
        yield Scene(words, good=made(good), bad=made(bad), environment=environment)


def plant(
    name: str,
    good: Make,
    bad: Make,
    metric: tuple[str, ...],
    *expected: str,
    kinds: tuple[str, ...] = ("plain",),
    verdicts: tuple[str, ...] = FOUND,
    where: str = "",
) -> Plant:
    """Two images: for one board of a kind, or for two of these kinds."""
    scene = _two_images if len(kinds) == 1 else _two_boards
    made = partial(scene, good, bad, metric, kinds)
    return Plant(name, made, prefix(), expected, verdicts, where=where)


@contextmanager
def _two_live(good: Make, bad: Make, metric: tuple[str, ...]) -> Iterator[Scene]:
    """Two boards whose cards were written beforehand: only the boards are named."""
    with rig([("good", "plain"), ("bad", "plain")]) as environment:
        for board, make in (("good", good), ("bad", bad)):
            words = [sys.executable, "-m", "benchvise", "rig", "flash", board, made(make)]
            known = {**os.environ, **environment}
            done = subprocess.run(words, env=known, capture_output=True, text=True, check=False)
            if done.returncode:
                said = done.stderr.strip()[-300:]
                raise NotHere(f"the card of {board} cannot be written: {said}")
        yield Scene(metric, good="rig:good", bad="rig:bad", environment=environment)


# -- plants ----------------------------------------------------------------------------------------

_TRACEFS = "mount -t tracefs tracefs /sys/kernel/tracing"
_SWAP = "echo {} > /proc/sys/vm/swappiness"
_TRACER = "echo function > /sys/kernel/tracing/current_tracer"
_BENCH = "--bench"
_EVENTS = "echo 1 > /sys/kernel/tracing/events/raw_syscalls/enable"

USUAL = image("usual", "audit=0", _TRACEFS, _SWAP.format(10))
"""What the good side is, unless it matters."""


def _plants() -> Iterator[Plant]:
    yield plant(
        "virtual-command-line",
        image("open", "kpti=0 audit=0", _TRACEFS, _SWAP.format(10)),
        image("shielded", "nowatchdog kpti=1", _TRACEFS, _SWAP.format(60)),
        (_BENCH, "os.syscall"),
        "command-line:kpti",
        where="/extlinux/extlinux.conf:6",
    )
    yield plant(
        "virtual-command-line-setting",
        image("pages", "transparent_hugepage=always audit=0"),
        image("no-pages", "transparent_hugepage=never audit=1"),
        # Of counted instructions nearly all are those of the page faults in the buffer.
        ("--command", "dd if=/dev/zero of=/dev/null bs=32M count=1"),
        "memory.thp",
    )
    yield plant(
        "virtual-kernel",
        image("kernel", "audit=0", _TRACEFS, _SWAP.format(10), other_kernel=True),
        USUAL,
        (_BENCH, "os.syscall"),
        "kernel",
    )
    yield plant("virtual-libc", _with_newer_libc, _with_program, ("--command", _PROGRAM), "libc")
    yield plant(
        "virtual-start-script-setting",
        USUAL,
        image("traced", "audit=1", _TRACEFS, _SWAP.format(60), "# to see the driver", _TRACER),
        (_BENCH, "os.fork"),
        "tracing.current_tracer",
        where="/etc/rc.local:5",
    )
    yield plant(
        "virtual-start-script",
        USUAL,
        image("events", "audit=0", _TRACEFS, _SWAP.format(10), "# every system call", _EVENTS),
        (_BENCH, "os.syscall"),
        "init-settings:/etc/rc.local#0",
        where="/etc/rc.local:5",
    )
    yield plant(
        "virtual-missing-cpu",
        USUAL,
        image("one-cpu", "audit=0 maxcpus=1", _TRACEFS, _SWAP.format(10)),
        # Counted instructions are those of all CPUs together: what is counted is who works.
        ("--command", "nproc", "--match", "([0-9]+)", "--better", "higher"),
        "cpu.secondary_online",
        kinds=("two-cpus", "two-cpus"),
    )
    yield plant(
        "virtual-slow-card",
        USUAL,
        USUAL,
        (_BENCH, "storage.read:size=16M,mode=direct"),
        kinds=("usual", "slow-card"),
        verdicts=("unexplained",),
    )
    traced = image("traced", "audit=1", _TRACEFS, _SWAP.format(60), "# to see the driver", _TRACER)
    yield Plant(
        "virtual-two-boards",
        partial(_two_live, USUAL, traced, (_BENCH, "os.fork")),
        prefix(),
        ("tracing.current_tracer",),
        where="/etc/rc.local:5",
    )
    # One board: from boot to boot forks differ by 1 %. What is audited would take them longer.
    yield plant(
        "virtual-nothing",
        USUAL,
        image("other", "audit=0 nowatchdog", _TRACEFS, _SWAP.format(60)),
        (_BENCH, "os.fork"),
        verdicts=("no difference shown",),
    )


VIRTUAL: tuple[Plant, ...] = tuple(_plants())
