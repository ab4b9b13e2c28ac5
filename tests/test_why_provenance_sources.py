"""The same lines are found in images without root, on a board by its probe, and where systemd's own
program finds them."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import rig_images as images
import skips
from root_trees import LINK, PLANTS, ROLES, TREES, build, suspect_of

from benchvise.board import open_board
from benchvise.board.channel import ProbeChannel, open_channel
from benchvise.state.catalogue import knobs
from benchvise.state.places import survey
from benchvise.state.roles import find_roles
from benchvise.why.model import NOT_FOUND, Side
from benchvise.why.provenance import DirectoryFiles, ProbedFiles, find_origins
from benchvise.why.provenance.sources import image_files

BOOT = "/boot/firmware"


def image_of(system: str, where: Path) -> Path:
    """A card image: a boot partition with FAT, where the system has one, and a root with ext4."""
    files = {"/bin/sh": "", **TREES[system]}
    boot = {path.removeprefix(BOOT): text for path, text in files.items() if path.startswith(BOOT)}
    root: images.Tree = {
        path: images.Link(text.removeprefix(LINK))
        if text.startswith(LINK)
        else images.File(text.encode(), 0o755)
        for path, text in files.items()
        if not path.startswith(BOOT)
    }
    parts = [images.Part(images.ext(16 * images.MIB, root))]
    if boot:
        contents = {path: text.encode() for path, text in boot.items()}
        contents["/kernel8.img"] = images.arm64_kernel("6.6.0")
        parts.insert(0, images.Part(images.fat(8 * images.MIB, contents), kind="0c"))
    images.mbr(where, parts)
    return where


@images.needs_all
@pytest.mark.parametrize("system", TREES)
def test_planted_lines_are_found_in_an_image(system: str, tmp_path: Path) -> None:
    with image_files(image_of(system, tmp_path / "card.img"), roles=ROLES) as files:
        for plant in PLANTS:
            if plant.system == system:
                (origin,) = find_origins(files, suspect_of(plant.knob, plant.value), Side.BAD)
                assert (origin.where, origin.certain) == (plant.where, True), plant


# -- a board that runs -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def channel() -> Iterator[ProbeChannel]:
    with open_channel(open_board("local")) as opened:
        yield opened


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[dict[str, tuple[str, str]]]:
    """Lines in places that systemd reads, which nothing here carries out; taken away again."""
    skips.need_root()
    name = f"benchvise-{os.getpid()}"
    script = tmp_path / "tune.sh"
    script.write_text("#!/bin/sh\n# sets two things\nsysctl -w vm.page-cluster=9\n")
    places = {
        f"/run/sysctl.d/zz-{name}.conf": "#\nvm.legacy_va_layout = 7\nvm/laptop_mode = 77\n",
        f"/run/systemd/system/{name}.service": f"[Service]\nExecStart={script}\n",
    }
    made = [Path(path) for path in places]
    wants = Path(f"/run/systemd/system/multi-user.target.wants/{name}.service")
    parents = [p for path in (*made, wants) for p in (path.parent, path.parent.parent)]
    new = [parent for parent in dict.fromkeys(parents) if not parent.exists()]
    try:
        for path, text in places.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
        wants.parent.mkdir(parents=True, exist_ok=True)
        wants.symlink_to(made[1])
        yield {
            "vm.laptop_mode": ("77", f"{made[0]}:3"),
            "vm.page_cluster": ("9", f"{script}:3"),
        }
    finally:
        for place in (*made, wants):
            place.unlink(missing_ok=True)
        for parent in sorted(new, key=lambda parent: len(parent.parts), reverse=True):
            if not any(parent.iterdir()):
                parent.rmdir()


def test_planted_lines_are_found_on_a_board(
    planted: dict[str, tuple[str, str]], channel: ProbeChannel
) -> None:
    files = ProbedFiles(channel, "local", find_roles(channel).roles)
    for knob, (value, where) in planted.items():
        (origin,) = find_origins(files, suspect_of(knob, value), Side.BAD)
        assert origin.where == where


def test_nothing_is_named_that_does_not_say_the_value(channel: ProbeChannel) -> None:
    """Every setting of this machine: a line that is named holds its value."""
    roles = find_roles(channel).roles
    files = ProbedFiles(channel, "local", roles)
    places = survey(channel, [knob for _, knob in knobs().values()], roles)
    for place in places.values():
        if place.value is None:
            continue
        name = place.knob.name
        if place.knob.is_family:
            name += f":{place.path.removeprefix(place.knob.family_directory)}"
        for origin in find_origins(files, suspect_of(name, place.value), Side.BAD):
            kernel = origin.kind in ("kernel config", "command line", NOT_FOUND)
            assert kernel or place.value.split()[0] in origin.text.raw, (place, origin)


# -- the program that carries the lines out --------------------------------------------------------


@skips.needs("systemd-tmpfiles")
@pytest.mark.parametrize("seed", range(12))
def test_tmpfiles_are_read_as_systemd_reads_them(seed: int, tmp_path: Path) -> None:
    """Lines of random files, with values of one length: what the file holds at last is the last
    value written, at its begin or, by ``w+``, at its end."""
    chance = random.Random(seed)
    directories = ("etc/tmpfiles.d", "run/tmpfiles.d", "usr/lib/tmpfiles.d")
    target = "/sys/kernel/mm/transparent_hugepage/enabled"
    files: dict[str, str | bytes] = {target: ""}
    values = iter(f"v{number:03}" for number in range(1000))
    for _ in range(chance.randint(1, 5)):
        path = f"/{chance.choice(directories)}/{chance.choice('abcd')}.conf"
        kinds = chance.choices(["w", "w+", "w!", "# w"], k=chance.randint(1, 4))
        lines = [f"{kind} {target} - - - - {next(values)}\n" for kind in kinds]
        files[path] = "".join(lines)
    root = build(files, tmp_path)
    subprocess.run(
        ["systemd-tmpfiles", "--create", "--boot", f"--root={root}"],
        capture_output=True,
        check=False,
    )
    written = (root / target[1:]).read_text()
    source = DirectoryFiles(root, "tree")
    text = "".join(str(content) for content in files.values())
    for value in [word for word in text.split() if word.startswith("v") and len(word) == 4]:
        (origin,) = find_origins(source, suspect_of("memory.thp", value), Side.BAD)
        assert origin.certain == (value == written[-4:]), (value, written, origin)
        assert not origin.certain or value in origin.text.raw


IN_NAMESPACE = """
set -e
mount -t tmpfs t /run && mount -t tmpfs t /usr/local/lib
mkdir -p /run/sysctl.d /usr/local/lib/sysctl.d
for d in etc run usr/local/lib usr/lib; do mount --bind "$1/$d/sysctl.d" "/$d/sysctl.d"; done
if [ -e /etc/sysctl.conf ]; then mount --bind "$1/etc/sysctl.conf" /etc/sysctl.conf; fi
shift
"$@" >&2 || true
cat /proc/sys/net/ipv4/tcp_notsent_lowat
"""
READERS = {
    "/lib/systemd/systemd": ("/lib/systemd/systemd-sysctl",),
    "/sbin/init.sysvinit": ("sysctl", "--system"),
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("init", READERS)
def test_sysctl_files_are_read_as_their_readers_read_them(
    init: str, seed: int, tmp_path: Path
) -> None:
    """Random files that set one setting of a network namespace: only there they are applied."""
    skips.need_root()
    skips.need(READERS[init][0], "unshare")
    chance = random.Random(seed)
    homes = ("etc", "run", "usr/local/lib", "usr/lib")
    files: dict[str, str | bytes] = {f"/{home}/sysctl.d/README": "" for home in homes}
    files |= {"/sbin/init": f"{LINK}{init}", "/etc/sysctl.conf": "# nothing\n"}
    numbers = iter(range(1001, 2000))
    spellings = ("net.ipv4.tcp_notsent_lowat", "net/ipv4/tcp_notsent_lowat",
                 "-net.ipv4.tcp_notsent_lowat", "#net.ipv4.tcp_notsent_lowat",
                 ";net.ipv4.tcp_notsent_lowat")  # fmt: skip
    for _ in range(chance.randint(1, 6)):
        path = f"/{chance.choice(homes)}/sysctl.d/{chance.choice('abc')}.conf"
        lines = [f"{chance.choice(spellings)} = {next(numbers)}\n" for _ in range(3)]
        files[path] = f"{LINK}/dev/null" if chance.random() < 0.15 else "".join(lines)
    if chance.random() < 0.4 and Path("/etc/sysctl.conf").exists():
        files["/etc/sysctl.conf"] = f"net.ipv4.tcp_notsent_lowat={next(numbers)}\n"
    root = build(files, tmp_path)
    argv = ["unshare", "-n", "-m", "sh", "-c", IN_NAMESPACE, "sh", str(root), *READERS[init]]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        skips.skip("namespaces", ran.stderr)
    source = DirectoryFiles(root, "tree")
    for value in {word for text in files.values() for word in str(text).replace("=", " ").split()}:
        if value.isdecimal():
            (origin,) = find_origins(source, suspect_of("net.tcp_notsent_lowat", value), Side.BAD)
            assert origin.certain == (value == ran.stdout.strip()), (value, ran.stdout, origin)
