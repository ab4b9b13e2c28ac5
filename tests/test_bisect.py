"""``benchvise bisect`` from the command line: real commits and real commands on this machine."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from in_process import Ran, benchvise

from benchvise.bisect.journal import FILE
from benchvise.store import Store

SLOW = 11
BROKEN = 7

# A value that scatters by the same rule each time: 7, 4, 1, 8, … tenths are added.
COMMAND = (
    "n=$(cat {count} 2>/dev/null || echo 0); echo $((n+1)) >{count}; "
    'echo "took $(({value} * 10 + n * 7 % 10)) tenths"'
)
PRINTED = ("--match", r"took ([0-9]+) tenths", "--better", "lower", "--unit", "ds")


def git(directory: Path, *words: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    command = ["git", "-C", str(directory), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHVISE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Sixteen commits: slow from SLOW on, and one that does not build."""
    directory = tmp_path / "source"
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    for number in range(16):
        (directory / "cost").write_text(f"{1000 if number < SLOW else 1300}\n")
        (directory / "number").write_text(f"{number}\n")
        git(directory, "add", ".")
        git(directory, "commit", "-q", "-m", f"commit {number}")
    return directory


def test_finds_a_slow_commit(tmp_path: Path, state: Path, repository: Path) -> None:
    listed = git(repository, "rev-list", "--reverse", "main").split()
    command = COMMAND.replace("{count}", str(tmp_path / "count"))
    build = (
        f'test "$(cat number)" != {BROKEN} || {{ echo "no rule to make it"; exit 2; }}; cp cost out'
    )
    ran = benchvise(
        "bisect", "--git", repository, "--good", listed[0], "--bad", "main", "--build", build,
        "--deploy", f"cp out {tmp_path}/deployed",
        "--command", command.replace("{value}", f"$(cat {tmp_path}/deployed)"), *PRINTED, "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.data["verdict"] == "found"
    assert ran.data["first_bad"] == listed[SLOW][:12]
    assert ran.data["last_good"] == listed[SLOW - 1][:12]
    assert ran.data["ratio"] == pytest.approx(1.3, rel=0.02)
    assert ran.data["next_step"] == f"git -C {repository} show {listed[SLOW][:12]}"
    for row in ran.data["versions"]:
        assert bool(row["left_out"]) == (row["number"] == BROKEN)
        assert "no rule to make it" in row["left_out"] or not row["left_out"]
    # Neither the user's tree nor the list of work trees is changed.
    assert git(repository, "status", "--short") == ""
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def words(tmp_path: Path, value: str) -> tuple[str, ...]:
    command = COMMAND.replace("{count}", str(tmp_path / "count")).replace("{value}", value)
    versions = ",".join(str(number) for number in range(1, 21))
    return ("--versions", versions, "--good", "1", "--bad", "20", "--command", command, *PRINTED)


def test_goes_on_by_resume(tmp_path: Path, state: Path) -> None:
    arguments = words(tmp_path, "$(( {} < 14 ? 1000 : 1300 ))")
    directory = tmp_path / "kept"
    first = benchvise("bisect", *arguments, "-o", directory, "--budget", "0")
    assert first.code == 1
    assert f"benchvise bisect --resume {directory}" in first.err
    begun = (directory / FILE).read_text()
    again = benchvise("bisect", "--resume", directory, "--budget", "60", "--json")
    assert again.code == 0, again.err
    assert again.data["first_bad"] == "14"
    assert (directory / FILE).read_text().startswith(begun)
    assert again.data["samples"] == len((directory / FILE).read_text().splitlines())
    taken = benchvise("bisect", *arguments, "-o", directory)
    assert taken.code == 2
    assert f"--resume {directory}" in taken.err


def test_tables_and_csv(tmp_path: Path, state: Path) -> None:
    ran = benchvise("bisect", *words(tmp_path, "$(( {} < 5 ? 1000 : 1300 ))"))
    assert ran.code == 0, ran.err
    assert "5 changed it by +" in ran.out
    measured = ran.out.partition("What was measured")[2]
    assert re.search(r"^ *5 +4 +\d+ +130\d\d ds ", measured, re.MULTILINE), measured
    (request,) = state.rglob("request.json")
    assert json.loads(request.read_text())["names"] == [str(number) for number in range(1, 21)]
    printed = benchvise("bisect", "--resume", request.parent, "--csv").out
    assert printed.splitlines()[0] == "version,number,samples,median,probability,left_out,board"


def test_runs_of_the_store_are_used(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "runs.db"))
    arguments = words(tmp_path, "$(( {} < 14 ? 1000 : 1300 ))")
    line = arguments[arguments.index("--command") + 1]
    ids = {}
    for version in ("1", "20"):
        measured = ("--command", line.replace("{}", version), *PRINTED, "--label", f"v{version}")
        ran = benchvise("run", "local", *measured, "--processes", "8", "--batches", "3", "--json")
        assert ran.code == 0, ran.err
        ids[version] = ran.data[0]["id"]
    runs = ("--good-run", ids["1"], "--bad-run", "v20")
    directory = tmp_path / "kept"
    ran = benchvise("bisect", *arguments, *runs, "-o", directory, "--json")
    assert ran.code == 0, ran.err
    assert (ran.data["first_bad"], ran.data["earlier"]) == ("14", 16)
    assert ran.data["samples"] + 16 == len((directory / FILE).read_text().splitlines())
    (tmp_path / "runs.db").unlink()  # what is in the journal needs no store
    again = benchvise("bisect", "--resume", directory, "--json")
    assert again.code == 0, again.err
    kept = ("first_bad", "earlier", "samples")
    assert [again.data[name] for name in kept] == [ran.data[name] for name in kept]


def test_a_run_that_says_nothing_of_the_version_is_refused(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(tmp_path / "runs.db")
    monkeypatch.setenv("BENCHVISE_STORE", url)
    with Store.open(url) as store:
        ids = [
            store.begin_run("", board, "quick", 1, {}, {}, False, []) for board in ("local", "b")
        ]
    for run, message in zip(ids, ("has 0 processes of", "is of b, and"), strict=True):
        ran = benchvise("bisect", *words(tmp_path, "{}"), "--good-run", run)
        assert ran.code == 2
        assert message in ran.err, ran.err


REFUSED = {
    "which versions?": (),
    "exclude each other": ("--versions", "a,b", "--images", "x,y"),
    "which version is good": ("--versions", "a,b", "--command", "x {}"),
    "what is measured?": ("--versions", "a,b", "--good", "a", "--bad", "b"),
    "none has {} in it": ("--versions", "a,b", "--good", "a", "--bad", "b", "--command", "x"),
    "--bad c is not in the list": (
        "--versions", "a,b", "--good", "a", "--bad", "c", "--command", "x {}",
    ),
    "comes after": ("--versions", "a,b", "--good", "b", "--bad", "a", "--command", "x {}"),
    "in the list twice": ("--versions", "a,b,a", "--good", "a", "--bad", "b", "--command", "x {}"),
    "have to be built": ("--git", ".", "--good", "a", "--bad", "b", "--bench", "cpu.clock"),
    "no directory": (
        "--git", "/no/such", "--good", "a", "--bad", "b", "--build", "x", "--bench", "cpu.clock",
    ),
    "there is no image": ("--images", "/no/a,/no/b", "--good", "a", "--bad", "b", "--bench", "x"),
    "no bisection to resume": ("--resume", "/no/such"),
    "belong to a command": (
        "--versions", "a,b", "--good", "a", "--bad", "b", "--bench", "x", "--match", "y",
    ),
}  # fmt: skip


def test_refuses_what_it_cannot_do(state: Path) -> None:
    for message, arguments in REFUSED.items():
        ran: Ran = benchvise("bisect", *arguments)
        assert ran.code == 2, (message, ran.err)
        assert message in ran.err, (message, ran.err)
    assert not list(state.rglob("request.json"))


def test_good_has_to_be_before_bad(state: Path, repository: Path) -> None:
    oldest = git(repository, "rev-list", "--max-parents=0", "main")
    shared = ("--git", repository, "--build", "true", "--command", "true")
    ran = benchvise("bisect", *shared, "--good", "main", "--bad", oldest)
    assert ran.code == 2
    assert "is not before" in ran.err
    ran = benchvise("bisect", *shared, "--good", "nowhere", "--bad", "main")
    assert ran.code == 2
    assert "has no commit 'nowhere'" in ran.err
