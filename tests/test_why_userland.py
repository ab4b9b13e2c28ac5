"""A command that is slower on one board because of its own programs: the userland is swapped."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import skips

from benchvise.board import Board
from benchvise.board.local import LocalBoard
from benchvise.board.protocol import RUN_SECONDS, Completed
from benchvise.errors import UsageError
from benchvise.measure.suite import SuiteEntry
from benchvise.state import journal
from benchvise.state.knobs import Setting, find_knob
from benchvise.why import loop
from benchvise.why.bench import ArmRefused
from benchvise.why.benches.live import LiveBench
from benchvise.why.benches.live_board import LiveBoard
from benchvise.why.benches.userland import (
    Closure,
    File,
    InRoot,
    Program,
    UserlandIncomplete,
    closure_in,
    closure_of,
    opened_root,
)
from benchvise.why.benches.userland_copies import rewritten
from benchvise.why.case import DiagnosisOptions
from benchvise.why.experiments.evidence import EvidenceLog
from benchvise.why.model import (
    Arm,
    Diagnosis,
    DiagnosisVerdict,
    Layer,
    LayerMeans,
    Means,
    ProcessMeans,
    SettingMeans,
    Side,
    Suspect,
)
from benchvise.why.rules import DiagnosisRules

pytestmark = skips.needs("cc")

WORK = """
unsigned long work(unsigned long n)
{
	unsigned long sum = 0;
	for (unsigned long i = 0; i < ROUNDS * n; i++)
		sum += i ^ (sum >> 3);
	return sum;
}
"""
MAIN = """
unsigned long work(unsigned long n);
int main(void) { return work(1000000) == 1; }
"""


class Other(LocalBoard):
    """This machine with other programs and libraries: what a second board would be."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root
        self.name = f"local:{root.name}"

    def _with(self, argv: Sequence[str]) -> list[str]:
        path = f"PATH={self._root}/bin:{os.environ['PATH']}"
        return ["env", path, f"LD_LIBRARY_PATH={self._root}/lib", *argv]

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        return super().run(self._with(argv), input=input, timeout=timeout)

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return super().spawn(self._with(argv))


def build(root: Path, *, program: str, library: str) -> None:
    """``count``, with its work in a library; compiled with these words."""
    (root / "bin").mkdir(parents=True)
    (root / "lib").mkdir()
    (root / "work.c").write_text(WORK)
    (root / "main.c").write_text(MAIN)
    shared = ["-shared", "-fPIC", "-Wl,-soname,libwork.so.1", "-o", "lib/libwork.so.1", "work.c"]
    subprocess.run(["cc", library, *shared], cwd=root, check=True)
    linked = ["-o", "bin/count", "main.c", "lib/libwork.so.1"]
    subprocess.run(["cc", program, *linked], cwd=root, check=True)


@pytest.fixture
def boards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[Side, Other]]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    build(tmp_path / "good", program="-O2", library="-DROUNDS=1")
    build(tmp_path / "bad", program="-O1", library="-DROUNDS=6")
    yield {side: Other(tmp_path / side) for side in Side}


def bench(boards: Mapping[Side, Other], command: str) -> LiveBench:
    # CPU time: the machine may have other things to do.
    entry = SuiteEntry("command.time", {"run": (command,), "metric": ("cpu",)})
    return LiveBench(
        {side: LiveBoard(board, lambda b=board: b, entry) for side, board in boards.items()}  # type: ignore[misc]
    )


class NothingElse(DiagnosisRules):
    """Of two views of one machine, nothing else can differ."""

    def find(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(suspects=(), excluded={})

    def examine(self, *_: Any) -> Any:
        return ()

    def explain(self, *_: Any, **__: Any) -> Any:
        return None


def diagnose(bench: LiveBench, place: Path) -> Diagnosis:
    log = EvidenceLog.create(place)
    try:
        return loop.diagnose(bench, DiagnosisOptions(seed=1), log, lambda _: None, NothingElse())
    finally:
        log.close()


def test_the_library_with_the_slow_function_is_found(
    boards: dict[Side, Other], tmp_path: Path
) -> None:
    opened = bench(boards, "count")
    try:
        found = diagnose(opened, tmp_path / "why")
        assert list(tmp_path.glob("benchvise-userland.*")), found.headline
    finally:
        opened.close()
    assert found.verdict is DiagnosisVerdict.EXPLAINED, found.headline
    (cause,) = found.causes
    (suspect,) = cause.suspects
    assert suspect.id == "userland:libwork.so.1"
    assert suspect.layer is Layer.USERLAND
    assert 0.8 < cause.share.value < 1.2
    assert {str(tmp_path / side / "lib/libwork.so.1") for side in Side} == {
        origin.file.raw for origin in cause.origins
    }
    assert any(finding.rule == "userland in part" for finding in found.findings)
    assert not list(tmp_path.glob("benchvise-userland.*"))


def test_a_closure_has_what_the_loader_finds_and_scripts_bring_their_interpreter(
    boards: dict[Side, Other], tmp_path: Path
) -> None:
    script = tmp_path / "bad/bin/report"
    script.write_text("#!/bin/sh -e\ncount\n")
    script.chmod(0o755)
    found = closure_of(boards[Side.BAD], "report && count >/dev/null")
    assert [(p.word, p.script, p.argument) for p in found.programs] == [
        ("report", "report", "-e"),
        ("count", "", ""),
    ]
    assert found.files["libwork.so.1"].path == str(tmp_path / "bad/lib/libwork.so.1")
    assert {"libc.so.6", found.programs[1].loader} <= {
        name for name, file in found.files.items() if file.part == "libc"
    }


class Namespaced(Other):
    """This machine in a mount namespace of its own, as a script makes it in an empty ``place``."""

    def __init__(self, root: Path, script: str) -> None:
        super().__init__(root)
        self.name = "local:namespaced"
        self.place = root.parent / "namespaced"
        self.place.mkdir()
        self._namespace = subprocess.Popen(
            ["unshare", "-m", "sh", "-ec", f"{script}\necho ready; exec cat", "sh", self.place],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self._namespace.stdout is not None
        if self._namespace.stdout.readline() != b"ready\n":
            skips.skip("namespaces", self.end())

    def _with(self, argv: Sequence[str]) -> list[str]:
        return ["nsenter", "-t", str(self._namespace.pid), "-m", *super()._with(argv)]

    def end(self) -> str:
        """Ends the namespace; what it complained of."""
        return self._namespace.communicate()[1].decode()


def preloading(root: Path, library: Path) -> Namespaced:
    """A board where /etc/ld.so.preload names a library."""
    script = f"""mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work"
echo {library} >"$1/upper/ld.so.preload"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" /etc"""
    return Namespaced(root, script)


@skips.needs_root
def test_a_library_that_the_board_preloads_is_the_cause_and_not_excluded(
    boards: dict[Side, Other], tmp_path: Path
) -> None:
    """Programs and libraries are the same on both sides; one slows a function of all programs."""
    skips.need_namespaces("-m")
    shim = tmp_path / "shim.so"
    source = tmp_path / "good/work.c"
    subprocess.run(["cc", "-O2", "-DROUNDS=6", "-shared", "-fPIC", "-o", shim, source], check=True)
    bad = preloading(tmp_path / "good", shim)
    try:
        opened = bench({Side.GOOD: boards[Side.GOOD], Side.BAD: bad}, "count")
        try:
            found = diagnose(opened, tmp_path / "why")
        finally:
            opened.close()
    finally:
        bad.end()
    assert found.verdict is DiagnosisVerdict.EXPLAINED, found.headline
    (cause,) = found.causes
    assert [suspect.id for suspect in cause.suspects] == ["userland:preload"]
    assert {(o.where, o.text.raw) for o in cause.origins if o.side is Side.BAD} >= {
        ("/etc/ld.so.preload:1", str(shim))
    }
    assert any(f"remove line 1 of /etc/ld.so.preload: {shim}" in r.text for r in cause.remedies)


def printing(board: Board, command: str) -> LiveBench:
    """A bench of one board, whose value is a number that a command prints."""
    params = {"run": (command,), "match": (r"(\d+)",), "better": ("higher",)}
    opened = LiveBoard(board, lambda: board, SuiteEntry("command.output", params))
    return LiveBench({Side.BAD: opened, Side.GOOD: opened})


def flipped(name: str, means: Means) -> Arm:
    return Arm(Side.BAD, (Suspect(name, name, Layer.PROCESS, name, "", "", means=means),))


@pytest.mark.parametrize(
    ("command", "attributes", "values"),
    [
        ("echo ${OMP_NUM_THREADS:-3}", {"env.OMP_NUM_THREADS": "12"}, (3, 12)),
        ("echo 1${HOME+00}", {"env.HOME": "%"}, (100, 1)),
        ("ulimit -Sn; true", {"limit.nofile": "77"}, (None, 77)),
    ],
)
def test_a_command_is_given_variables_and_limits(
    command: str, attributes: dict[str, str], values: tuple[int | None, int]
) -> None:
    bench = printing(LocalBoard(), command)
    try:
        means = ProcessMeans(attributes, {})
        for expected, arm in zip(values, (Arm(Side.BAD), flipped("it", means)), strict=True):
            value = bench.measure(arm).value
            assert value == expected if expected is not None else value != values[1]
    finally:
        bench.close()


@skips.needs_root
def test_a_command_is_kept_from_what_its_board_preloads(
    boards: dict[Side, Other], tmp_path: Path
) -> None:
    """The shell that runs it too; and nothing of that is left on the board."""
    skips.need_namespaces("-m")
    shim = tmp_path / "good/lib/libwork.so.1"
    board = preloading(tmp_path / "good", shim)
    try:
        bench = printing(board, "echo 1$(grep -c libwork.so /proc/$$/maps)")
        try:
            plain = bench.measure(Arm(Side.BAD)).value
            assert plain > 10
            kept = bench.measure(flipped("it", ProcessMeans({"preload": "none"}, {}))).value
            assert kept == 10
            assert bench.measure(Arm(Side.BAD)).value == plain
        finally:
            bench.close()
    finally:
        board.end()


@skips.needs_root
def test_an_option_of_a_mount_is_found_set_and_put_back(
    boards: dict[Side, Other], tmp_path: Path
) -> None:
    skips.need_namespaces("-m")
    board = Namespaced(tmp_path / "good", 'mount -t tmpfs -o nosuid,sync tmpfs "$1"')
    mount = str(board.place)
    path = f"/proc/self/mountinfo/{mount.replace('/', '!')}/sync"
    try:
        command = f"echo 1$(grep -c '{mount} .*,sync' /proc/self/mountinfo)"
        bench = printing(board, command)
        try:
            before = bench.snapshot(Side.BAD)
            (entry,) = (e for e in before.settings if e.path == path)
            assert (entry.name, entry.value) == (f"storage.mounts/{mount} sync", "sync")
            to_good = Setting(find_knob("mount.sync"), "async", (path,))
            repaired = bench.measure(flipped("mount.sync", SettingMeans((to_good,), ())))
            assert (repaired.value, bench.measure(Arm(Side.BAD)).value) == (10, 11)
            writes = [(write.path, write.old, write.new, write.undone) for write in bench.writes()]
            assert writes == [(path, "sync", "async", False), (path, "async", "sync", True)]
            assert not any(session.is_due for session in journal.sessions())
        finally:
            bench.close()
    finally:
        board.end()


def root_of(boards: Mapping[Side, Other], place: Path) -> Path:
    """The good side's programs with all that they need, as an unpacked root file system."""
    root = place / "root"
    shutil.copytree(place / "good/bin", root / "usr/bin")
    (root / "bin").symlink_to("/usr/bin")
    shutil.copytree(place / "good/lib", root / "usr/local/lib/own")
    (root / "etc/ld.so.conf.d").mkdir(parents=True)
    (root / "etc/ld.so.conf.d/own.conf").write_text("/usr/local/lib/own\n")
    for file in closure_of(boards[Side.GOOD], "count").files.values():
        if file.part == "libc":
            (root / file.path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            (root / file.path.lstrip("/")).write_bytes(file.data)
    for loader in Path("/lib64").glob("ld-linux*"):  # programs ask for it by that path
        (root / "lib64").mkdir(exist_ok=True)
        (root / "lib64" / loader.name).symlink_to(loader.resolve())
    return root


def test_the_good_programs_may_come_from_a_root_file_system(
    boards: dict[Side, Other], tmp_path: Path
) -> None:
    """Nothing is good here but a directory: the board runs its programs, through their loader."""
    entry = SuiteEntry("command.time", {"run": ("count",), "metric": ("cpu",)})
    board = boards[Side.BAD]
    with opened_root(root_of(boards, tmp_path)) as root:
        opened = LiveBench({Side.BAD: LiveBoard(board, lambda: board, entry)}, root=root)
        try:
            assert opened.name(Side.GOOD) == f"local:bad with the programs of {tmp_path}/root"
            assert list(opened.facts(Side.GOOD).programs) == ["/usr/bin/count"]
            assert opened.snapshot(Side.GOOD) is opened.snapshot(Side.BAD)
            found = diagnose(opened, tmp_path / "why")
        finally:
            opened.close()
    assert found.verdict is DiagnosisVerdict.EXPLAINED, found.headline
    (cause,) = found.causes
    assert [suspect.id for suspect in cause.suspects] == ["userland:libwork.so.1"]
    assert cause.breaking is not None and not cause.not_broken
    origins = {(origin.side, origin.file.raw) for origin in cause.origins}
    assert (Side.GOOD, "/usr/local/lib/own/libwork.so.1") in origins
    assert not list(tmp_path.glob("benchvise-userland.*"))


def test_a_root_that_lacks_something_is_said(boards: dict[Side, Other], tmp_path: Path) -> None:
    root = root_of(boards, tmp_path)
    (root / "usr/local/lib/own/libwork.so.1").unlink()
    with (
        opened_root(root) as tree,
        pytest.raises(UserlandIncomplete, match=r"wants libwork\.so\.1"),
    ):
        closure_in(InRoot(tree), "count")
    with pytest.raises(UsageError, match="no programs"), opened_root(tmp_path):
        pass
    source = tmp_path / "bad/work.c"
    with pytest.raises(UsageError, match="no root file system"), opened_root(source):
        pass


def test_a_root_is_found_to_hold_what_the_running_system_says() -> None:
    """The loader's rules as they are followed here, against the loader itself."""
    words = [word for word in ("perf", "git", "ssh", "sort") if shutil.which(word)]
    with opened_root(Path("/")) as tree:
        for word in words:
            found = closure_in(InRoot(tree), word)
            assert found.parts == closure_of(LocalBoard(), word).parts, word


def test_nothing_is_swapped_where_nothing_differs(boards: dict[Side, Other]) -> None:
    same = {Side.GOOD: boards[Side.BAD], Side.BAD: boards[Side.BAD]}
    opened = bench(same, "count")
    try:
        assert opened.layers() == []
    finally:
        opened.close()


def test_a_swapped_program_that_does_not_run_is_refused(
    boards: dict[Side, Other], tmp_path: Path
) -> None:
    opened = bench(boards, "count")
    try:
        library = tmp_path / "good/lib/libwork.so.1"
        empty = ["-shared", "-x", "c", "/dev/null", "-o", str(library)]
        subprocess.run(["cc", *empty, "-Wl,-soname,libwork.so.1"], check=True)
        (whole,) = opened.layers()
        assert whole.means == LayerMeans("userland")
        with pytest.raises(ArmRefused, match="symbol lookup error") as caught:
            opened.measure(Arm(Side.BAD, (whole,)))
        assert caught.value.suspects == ("userland",)
        assert opened.measure(Arm(Side.BAD)).value > 0
    finally:
        opened.close()
    assert not list(tmp_path.glob("benchvise-userland.*"))


def test_what_cannot_be_taken_along_is_said(boards: dict[Side, Other]) -> None:
    opened = bench(boards, "true")
    try:
        (found,) = opened.layers()
    finally:
        opened.close()
    assert found.means is None
    assert "no program of 'true' is a file there" in found.untestable


def test_commands_are_rewritten_only_where_programs_are_words() -> None:
    file = File("/usr/bin/count", "0", "program count")
    programs = (
        Program("count", "count", "ld.so"),
        Program("report", "sh", "ld.so", "report", "-e"),
    )
    closure = Closure(programs, {"count": file}, ("x86_64", 64, False))
    assert rewritten("x=count count --of count | report 1", closure, "/d") == (
        "x=count /d/ld.so --library-path /d /d/count --of count"
        " | /d/ld.so --library-path /d /d/sh -e /d/report 1"
    )
    with pytest.raises(UserlandIncomplete):
        rewritten("sh -c 'count'; my-report", closure, "/d")


def test_every_call_of_a_program_is_rewritten_and_no_argument() -> None:
    """Of two calls one stayed the board's own, and an argument of that name was taken for one."""
    file = File("/usr/bin/dd", "0", "program dd")
    closure = Closure((Program("dd", "dd", ""),), {"dd": file}, ("x86_64", 64, False))
    assert rewritten("echo dd; dd if=a & for i in dd; do dd if=$i; done", closure, "/d") == (
        "echo dd; /d/dd if=a & for i in dd; do /d/dd if=$i; done"
    )
