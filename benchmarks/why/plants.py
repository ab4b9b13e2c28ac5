"""Causes that are planted for real: on this machine, and between two boards over SSH.

The good state is measured and recorded first, then the bad one is made, and ``benchvise why`` is
asked as a user would. Each is put back when it ends.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from benchmarks.why import places, programs
from benchmarks.why.places import NotHere

_THP = "/sys/kernel/mm/transparent_hugepage/"
_SYSCTL = "/proc/sys/"
_KMSG_ON = {f"{_SYSCTL}kernel/printk_devkmsg": "on"}
_CPU = max(os.sched_getaffinity(0))
FOUND = ("explained", "partly explained")
_NOT_FOUND = ("unexplained", "not admissible")


@dataclass(frozen=True, slots=True)
class Scene:
    """What ``why`` is asked about: the metric's words, and the boards.

    ``bad`` is the board; ``good`` another one, or empty where it is a record of ``bad``.
    ``environment`` and ``before``, words that go before ``benchvise``, hold in both states.
    """

    metric: tuple[str, ...]
    good: str = ""
    bad: str = "local"
    before: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


Words = tuple[str, ...]
MakeScene = Callable[[], AbstractContextManager[Scene]]
Make = Callable[[Scene], AbstractContextManager[Words]]


@dataclass(frozen=True, slots=True)
class Plant:
    """A cause to be found. ``make`` makes the bad state and yields words that go before
    ``benchvise`` in it.

    ``expected`` are the suspects that are right, any of them; none where no cause can be named.
    ``where`` is the file and line of the bad side that has to be named as what sets it, if any.
    ``verdicts`` are those that are right, ``options`` further words for ``why``. ``turned`` is the
    same cause the other way round, where the machine decides which value is the better one: it is
    planted when the answer is that the good side is the worse one.
    """

    name: str
    scene: MakeScene
    make: Make
    expected: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = FOUND
    options: tuple[str, ...] = ()
    turned: Plant | None = None
    where: str = ""


# -- scenes ----------------------------------------------------------------------------------------


@contextmanager
def _local(*metric: str, files: Mapping[str, str] | None = None) -> Iterator[Scene]:
    """This machine, with these files set in both states."""
    with places.files_set(files or {}):
        yield Scene(metric)


def bench(name: str, **files: str) -> MakeScene:
    """A benchmark of the probe."""
    return partial(_local, "--bench", name, files=_paths(files))


def command(line: str, files: Mapping[str, str] | None = None) -> MakeScene:
    """A user's command line."""
    return partial(_local, "--command", line, files=files)


def _paths(files: Mapping[str, str]) -> dict[str, str]:
    return {_THP + name: value for name, value in files.items()}


@contextmanager
def _with_script(text: str, *words: str, files: Mapping[str, str] | None = None) -> Iterator[Scene]:
    """A program of the user's, behind these words, with these files set in both states."""
    with places.directory("why") as place, places.files_set(files or {}):
        script = place / "work.py"
        script.write_text(text)
        # Through a pipe: as another user it may not look into this directory.
        line = f"cat {shlex.quote(str(script))} | {' '.join(words)} {shlex.quote(sys.executable)} -"
        yield Scene(("--command", line))


@contextmanager
def _with_file(mebibytes: int, *metric: str) -> Iterator[Scene]:
    """A file on the root disk: ``{file}`` in the metric's words, ``{place}`` for its directory."""
    if "root_disk" not in _disk():
        raise NotHere("the root disk has no queue that can be set")
    with places.directory("why") as place:
        places.random_file(place / "data", mebibytes)
        yield Scene(tuple(w.format(file=place / "data", place=place) for w in metric))


def _disk() -> dict[str, str]:
    """The disk of the repository by its role, where it has a queue."""
    major, minor = os.major(places.ROOT.stat().st_dev), os.minor(places.ROOT.stat().st_dev)
    queue = Path(f"/sys/dev/block/{major}:{minor}/queue")
    return {"root_disk": str(queue.resolve())} if queue.is_dir() else {}


@contextmanager
def _two_boards(*metric: str) -> Iterator[Scene]:
    with places.ssh_boards() as boards:
        yield Scene(
            metric,
            good=boards.names[0],
            bad=boards.names[1],
            environment={"BENCHVISE_SSH_CONFIG": str(boards.config)},
        )


@contextmanager
def _beside_a_neighbour(*metric: str) -> Iterator[Scene]:
    """A CPU that is shared by niceness: between sessions it would be shared by halves."""
    together = {f"{_SYSCTL}kernel/sched_autogroup_enabled": "0"}
    with places.files_set(together), places.neighbour(_CPU):
        yield Scene(metric)


# -- plants ----------------------------------------------------------------------------------------


def files(values: Mapping[str, str]) -> Make:
    """Files of the kernel."""

    @contextmanager
    def make(_scene: Scene) -> Iterator[Words]:
        with places.files_set(values):
            yield ()

    return make


def thp(**values: str) -> Make:
    """Files of transparent huge pages."""
    return files(_paths(values))


def sysctl(name: str, value: str) -> Make:
    """A sysctl by its path below /proc/sys."""
    return files({_SYSCTL + name: value})


def queue(name: str, value: str) -> Make:
    """A file of the root disk's queue."""

    @contextmanager
    def make(_scene: Scene) -> Iterator[Words]:
        place = _disk()["root_disk"]
        # A scheduler brings these along.
        along = [f"{place}/{other}" for other in ("nr_requests", "wbt_lat_usec")]
        with places.kept(*along), places.files_set({f"{place}/{name}": value}):
            yield ()

    return make


def prefix(*words: str) -> Make:
    """A program that changes what it starts."""

    @contextmanager
    def make(_scene: Scene) -> Iterator[Words]:
        yield words

    return make


def on_board(*commands: str, good: bool = False) -> Make:
    """Commands in the bad board's namespace, which goes away with it; or in the good one's, where
    that board is the better for them."""

    @contextmanager
    def make(scene: Scene) -> Iterator[Words]:
        for line in commands:
            _on(scene, scene.good if good else scene.bad, line)
        yield ()

    return make


def _on(scene: Scene, board: str, line: str) -> None:
    """Runs a command line on a board over SSH; NotHere when it fails."""
    config = scene.environment["BENCHVISE_SSH_CONFIG"]
    command = ["ssh", "-F", config, "-o", "StrictHostKeyChecking=yes"]
    done = subprocess.run(
        [*command, board.removeprefix("ssh://"), line], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotHere(f"{line}: {done.stderr.strip()}")


@contextmanager
def _few_dirty_bytes(_scene: Scene) -> Iterator[Words]:
    with places.dirty_bytes(1 << 20):
        yield ()


@contextmanager
def _busy(_scene: Scene) -> Iterator[Words]:
    with places.neighbour(_CPU):
        yield ()


@contextmanager
def _quota(_scene: Scene) -> Iterator[Words]:
    with places.cpu_quota(30) as group:
        # The shell joins the group and becomes the program.
        yield ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh")


@contextmanager
def _several(makes: tuple[Make, ...], scene: Scene) -> Iterator[Words]:
    with ExitStack() as stack:
        yield tuple(word for make in makes for word in stack.enter_context(make(scene)))


def several(*makes: Make) -> Make:
    """All of these at once."""
    return partial(_several, makes)


_TCP = "net.tcp"


def _plants() -> Iterator[Plant]:
    # Whether a zero page of 4 KiB or of 2 MiB is read faster depends on the caches.
    copies = [
        Plant(
            "thp-untouched-copy",
            bench("memory.libc_copy:source=untouched", enabled=good),
            thp(enabled=bad),
            ("memory.thp",),
        )
        for good, bad in (("never", "always"), ("always", "never"))
    ]
    yield replace(copies[0], turned=copies[1])
    yield Plant(
        "thp-latency",
        bench("memory.latency", enabled="always"),
        thp(enabled="never"),
        ("memory.thp",),
    )
    yield Plant(
        "huge-zero-page",
        bench("memory.libc_copy:source=untouched", enabled="always", use_zero_page="1"),
        thp(use_zero_page="0"),
        ("memory.huge_zero_page",),
    )
    yield Plant(
        "thp-command",
        command(
            programs.TOUCHING,
            _paths({"enabled": "always"}),
        ),
        thp(enabled="never"),
        ("memory.thp",),
    )
    yield Plant(
        "thp-shared",
        partial(_with_script, programs.SHARED, files=_paths({"shmem_enabled": "always"})),
        thp(shmem_enabled="never"),
        ("memory.thp_shmem",),
    )
    yield Plant(
        "thp-small",
        command(
            programs.TOUCHING,
            _paths({"enabled": "never", "hugepages-64kB/enabled": "always"}),
        ),
        thp(**{"hugepages-64kB/enabled": "never"}),
        ("memory.mthp",),
    )
    yield Plant(
        "huge-pool",
        partial(_with_script, programs.POOLED, files={f"{_SYSCTL}vm/nr_hugepages": "160"}),
        sysctl("vm/nr_hugepages", "0"),
        ("vm.nr_hugepages",),
    )
    yield Plant(
        "printk-level",
        command(programs.LOG_LINES, _KMSG_ON),
        sysctl("kernel/printk", "8 4 1 7"),
        ("kernel.printk",),
    )
    yield Plant(
        "printk-delay",
        command(programs.LOG_LINES, _KMSG_ON),
        sysctl("kernel/printk_delay", "1"),
        ("kernel.printk_delay",),
    )
    yield Plant(
        "ignore-loglevel",
        command(programs.LOG_LINES, _KMSG_ON),
        files({"/sys/module/printk/parameters/ignore_loglevel": "Y"}),
        ("kernel.ignore_loglevel",),
    )
    yield Plant(
        "two-causes",
        command(
            f"{programs.LOG_LINES}; {programs.TOUCHING}",
            {**_KMSG_ON, **_paths({"enabled": "always"})},
        ),
        several(sysctl("kernel/printk_delay", "20"), thp(enabled="never")),
        ("kernel.printk_delay", "memory.thp"),
    )
    yield Plant(
        "tracer",
        bench("os.syscall"),
        files({"/sys/kernel/tracing/current_tracer": "function"}),
        ("tracing.current_tracer",),
    )
    yield Plant(
        "filter-hardened",
        partial(_with_script, programs.FILTERED),
        sysctl("net/core/bpf_jit_harden", "2"),
        ("net.bpf_jit_harden",),
    )
    yield Plant(
        "rcu-expedited",
        partial(_with_script, programs.BARRIERS, files={"/sys/kernel/rcu_expedited": "1"}),
        files({"/sys/kernel/rcu_expedited": "0"}),
        ("kernel.rcu_expedited",),
    )
    yield Plant(
        "rcu-normal",
        command(programs.VETH),
        files({"/sys/kernel/rcu_normal": "1"}),
        ("kernel.rcu_normal",),
    )
    yield Plant(
        "read-ahead",
        partial(
            _with_file,
            32,
            "--command",
            programs.COLD + "dd if={file} of=/dev/null bs=4k 2>/dev/null",
        ),
        queue("read_ahead_kb", "4"),
        ("block.read_ahead_kb",),
    )
    yield Plant(
        "io-scheduler",
        partial(_with_file, 128, "--bench", "storage.random_read:file={file},size=128M,depth=32"),
        queue("scheduler", "bfq"),
        ("block.scheduler",),
    )
    yield Plant(
        "queue-length",
        partial(_with_file, 128, "--bench", "storage.random_read:file={file},size=128M,depth=32"),
        queue("nr_requests", "4"),
        ("block.nr_requests",),
    )
    yield Plant(
        "request-size",
        partial(_with_file, 128, "--bench", "storage.read:file={file},size=128M,mode=direct"),
        queue("max_sectors_kb", "16"),
        ("block.max_sectors_kb",),
    )
    yield Plant(
        "dirty-bytes",
        partial(
            _with_file,
            0,
            "--command",
            "dd if=/dev/zero of={place}/out bs=1M count=192 2>/dev/null; rm {place}/out",
        ),
        _few_dirty_bytes,
        ("vm.dirty_bytes", "vm.dirty_ratio"),
    )
    yield Plant(
        "pipe-size",
        partial(_with_script, programs.PIPE, *programs.NOBODY),
        sysctl("fs/pipe-max-size", "4096"),
        ("fs.pipe_max_size",),
    )
    yield Plant(
        "pipe-pages",
        partial(
            _with_script,
            programs.PIPE.replace("1 << 20)\nexcept", "65536)\nexcept"),
            *programs.NOBODY,
        ),
        sysctl("fs/pipe-user-pages-soft", "1"),
        ("fs.pipe_user_pages_soft",),
    )
    yield Plant(
        "timer-slack",
        bench("timer.wakeup"),
        prefix(sys.executable, "-c", programs.SLACK),
        ("timer.resolution:slack",),
    )
    yield Plant(
        "nice",
        partial(_beside_a_neighbour, "--command", f"taskset -c {_CPU} {programs.WORK}"),
        prefix("nice", "-n", "5"),
        ("process.inherited:nice",),
    )
    yield Plant(
        "affinity",
        command(f"{programs.WORK} & {programs.WORK}; wait"),
        prefix("taskset", "-c", str(_CPU)),
        ("cpu.present:allowed",),
        (*FOUND, "not admissible"),
    )
    yield Plant("cpu-quota", bench("os.syscall"), _quota, (), _NOT_FOUND)
    yield Plant("neighbour", bench(f"os.syscall:cpu={_CPU}"), _busy, (), _NOT_FOUND)
    yield Plant(
        "clock-source",
        bench("timer.clock"),
        files({"/sys/devices/system/clocksource/clocksource0/current_clocksource": "kvm-clock"}),
        ("timer.clocksource",),
        options=("--risky",),
    )
    yield Plant("nothing", bench("memory.copy"), prefix(), (), ("no difference shown",))
    yield Plant("nothing-calls", bench("os.syscall"), prefix(), (), ("no difference shown",))
    yield from _on_two_boards()


def _on_two_boards() -> Iterator[Plant]:
    tcp = partial(_two_boards, "--bench", _TCP)
    received = partial(_two_boards, "--bench", f"{_TCP}:direction=receive")

    def knob(name: str, value: str, *, good: bool = False) -> Make:
        return on_board(f"echo '{value}' > {_SYSCTL}net/ipv4/{name}", good=good)

    yield Plant("tcp-wmem", tcp, knob("tcp_wmem", "4096 4096 8192"), ("net.tcp_wmem",))
    # The less is waiting to be sent, the more of it is still in a cache.
    yield Plant(
        "tcp-not-sent",
        tcp,
        knob("tcp_notsent_lowat", "4096", good=True),
        ("net.tcp_notsent_lowat",),
    )
    yield Plant("tcp-rmem", received, knob("tcp_rmem", "4096 4096 8192"), ("net.tcp_rmem",))
    yield Plant(
        "tcp-output-bytes",
        tcp,
        knob("tcp_limit_output_bytes", "4096"),
        ("net.tcp_limit_output_bytes",),
    )
    yield Plant(
        "window-scaling", received, knob("tcp_window_scaling", "0"), ("net.tcp_window_scaling",)
    )
    yield Plant(
        "congestion-control",
        tcp,
        several(knob("tcp_congestion_control", "reno"), _lossy),
        ("net.congestion_control",),
    )
    yield Plant(
        "mtu",
        tcp,
        on_board("ip link set eth0 mtu 600"),
        ("net.mtu",),
    )
    yield Plant(
        "rate-limit",
        tcp,
        on_board("tc qdisc replace dev eth0 root tbf rate 200mbit burst 64k latency 50ms"),
        (),
        _NOT_FOUND,
    )
    yield Plant("nothing-between", tcp, prefix(), (), ("no difference shown",))


@contextmanager
def _lossy(scene: Scene) -> Iterator[Words]:
    """The way to both boards loses a packet now and then, which congestion controls differ in."""
    for name in (scene.good, scene.bad):
        _on(scene, name, "tc qdisc replace dev eth0 root netem loss 0.5% delay 2ms")
    yield ()


PLANTS: tuple[Plant, ...] = tuple(_plants())
