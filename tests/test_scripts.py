"""What ``make`` installs and fetches says what failed, and where strict does not go on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

DPKG_QUERY = """#!/bin/sh
for package; do :; done
if grep -qx "$package" "$PLACE/installed"; then printf installed; else exit 1; fi
"""
APT_CACHE = """#!/bin/sh
case $1 in
policy) grep -qx "$2" "$PLACE/known" && printf '%s:\\n  Candidate: 1.0\\n' "$2" ;;
esac
exit 0
"""
APT_GET = """#!/bin/sh
echo "$@" >> "$PLACE/asked"
[ "$1" != "$(cat "$PLACE/flaky" 2>/dev/null)" ] || {
    rm "$PLACE/flaky"; echo "E: Failed to fetch" >&2; exit 100; }
[ ! -e "$PLACE/offline" ] || { echo "E: Could not resolve the mirror" >&2; exit 100; }
[ "$1" = install ] || { [ ! -e "$PLACE/mirror" ] || cp "$PLACE/mirror" "$PLACE/known"; exit 0; }
for word; do case $word in -*|install) ;; *)
    grep -qx "$word" "$PLACE/known" || { echo "E: Unable to locate package $word" >&2; exit 100; }
    echo "$word" >> "$PLACE/installed" ;;
esac; done
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A machine with an apt of ours, which knows strace and wrk, and has neither installed."""
    (tmp_path / "bin").mkdir()
    for name, text in (
        ("dpkg-query", DPKG_QUERY),
        ("apt-cache", APT_CACHE),
        ("apt-get", APT_GET),
        ("sleep", '#!/bin/sh\necho "$1" >> "$PLACE/waits"\n'),
        ("id", "#!/bin/sh\necho ${USER_ID:-0}\n"),
    ):
        program = tmp_path / "bin" / name
        program.write_text(text)
        program.chmod(0o755)
    (tmp_path / "installed").write_text("gcc\n")
    (tmp_path / "known").write_text("strace\nwrk\ngcc\n")
    return tmp_path


def script(place: Path, name: str, *words: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [ROOT / "scripts" / name, *words],
        cwd=place,
        env={
            **{k: v for k, v in os.environ.items() if k != "STRICT"},
            **environment,
            "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
            "PLACE": str(place),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


OPTIONAL = ("system-packages", "--optional")


@pytest.mark.parametrize("strict", ["", "0", "1"])
def test_what_can_be_installed_is(place: Path, strict: str) -> None:
    assert script(place, *OPTIONAL, "strace", "wrk", "gcc", STRICT=strict)[0] == 0
    assert (place / "installed").read_text().split() == ["gcc", "strace", "wrk"]


@pytest.mark.parametrize("strict", ["", "1"])
def test_what_apt_does_not_have_is_named_and_keeps_no_other_away(place: Path, strict: str) -> None:
    code, text = script(place, *OPTIONAL, "cowsay", "strace", STRICT=strict)
    assert code == 0 and "not installed: cowsay: apt knows no such package" in text
    assert "strace" in (place / "installed").read_text().split()
    assert script(place, "system-packages", "cowsay")[0] == 1, "not optional"


def test_what_could_be_installed_and_is_not_fails_a_strict_run(place: Path) -> None:
    (place / "offline").touch()
    code, text = script(place, *OPTIONAL, "strace", "cowsay")
    assert code == 0 and "not installed: strace cowsay: E: Could not resolve the mirror" in text
    code, text = script(place, *OPTIONAL, "strace", "cowsay", STRICT="1")
    assert code == 1 and "STRICT=1: these could be installed: strace\n" in text


@pytest.mark.parametrize("step", ["update", "install"])
def test_a_mirror_that_fails_once_is_tried_again(place: Path, step: str) -> None:
    (place / "flaky").write_text(step)
    if step == "update":  # a fresh machine: before it, apt knows no package
        (place / "known").rename(place / "mirror")
    code, text = script(place, "system-packages", "strace")
    assert code == 0 and "tried again in 5 s: E: Failed to fetch" in text
    assert (place / "waits").read_text().split() == ["5"]


def test_a_mirror_that_goes_on_failing_is_given_up(place: Path) -> None:
    (place / "offline").touch()
    assert script(place, "system-packages", "strace")[0] == 1
    assert (place / "waits").read_text().split() == ["5", "15", "30"]
    assert (place / "asked").read_text().count("update") == 4


def test_what_no_mirror_has_is_not_waited_for(place: Path) -> None:
    assert script(place, "system-packages", "cowsay")[0] == 1
    assert not (place / "waits").exists()


def test_a_plain_user_is_given_the_command(place: Path) -> None:
    code, text = script(place, *OPTIONAL, "strace", USER_ID="1000")
    assert code == 0 and "apt-get install -y --no-install-recommends strace" in text
    assert not (place / "asked").exists()
    assert script(place, *OPTIONAL, "strace", USER_ID="1000", STRICT="1")[0] == 1


@pytest.mark.parametrize(
    ("environment", "strict"),
    [
        ({}, ""),
        ({"STRICT": "1"}, "1"),
        ({"CI": "true"}, "1"),
        ({"CI": "false"}, ""),
        ({"CI": "true", "STRICT": "0"}, "0"),
    ],
    ids=str,
)
def test_ci_is_strict_unless_it_says_that_it_is_not(
    environment: dict[str, str], strict: str
) -> None:
    others = {k: v for k, v in os.environ.items() if k not in ("CI", "STRICT", "MAKEFLAGS")}
    told = subprocess.run(
        ["make", "--silent", "--eval=told:; @echo [$$STRICT]", "told"],
        cwd=ROOT,
        env=others | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == f"[{strict}]"


DEBOOTSTRAP = """#!/bin/sh
echo "$@" > "$PLACE/made"
echo "E: the root is full"
exit 1
"""


@pytest.mark.parametrize(
    ("archives", "mirror"),
    [
        (
            "http://m/security bookworm-security main\nhttp://m/debian bookworm main",
            "http://m/debian",
        ),
        ("http://m/debian trixie main", "http://m/debian"),
        ("http://m/ubuntu noble main", ""),
        ("http://m/debian bookworm contrib", ""),
    ],
)
def test_a_bare_debian_comes_from_the_archive_that_apt_names(
    place: Path, archives: str, mirror: str
) -> None:
    """Up to where the root is made."""
    for name, text in (
        ("apt-get", f"#!/bin/sh\necho '{archives}'\n"),
        ("debootstrap", DEBOOTSTRAP),
        ("rustc", "#!/bin/sh\necho /opt/rust\n"),
    ):
        program = place / "bin" / name
        program.write_text(text)
        program.chmod(0o755)
    (place / "installed").write_text("debootstrap\n")
    code, text = script(place, "bare-debian", "--directory", str(place / "bare"))
    assert code == 1
    if mirror:
        assert "no bare Debian: debootstrap fails\nE: the root is full" in text
        assert (place / "made").read_text().split()[-1] == mirror
        assert not (place / "bare" / "base").exists()
    else:
        assert "no bare Debian: this machine's apt names no Debian archive" in text


def test_who_cannot_make_a_bare_debian_is_told_how(place: Path) -> None:
    code, text = script(place, "bare-debian", USER_ID="1000")
    assert code == 1 and "to do so: sudo" in text
    code, text = script(place, "bare-debian", "--agian")
    assert code == 2 and "bare-debian [--again] [--directory DIRECTORY] run COMMAND" in text


CARGO = """#!/bin/sh
[ "$1" = test ] || exit 0
printf '%s' "$LACKS" >> "$BENCHVISE_LEFT_OUT"
exit "${ENDS:-0}"
"""


@pytest.mark.parametrize(
    ("lacks", "shared", "code"),
    [
        ("", True, 0),
        ("machine: perf cannot record tracepoints\n", True, 0),
        ("package: babeltrace2\n", True, 1),
        ("data: f1m.dat\ndata: f1m.dat\n", True, 1),
        ("data: f1m.dat\n", False, 0),
    ],
)
def test_what_the_tests_of_the_crates_leave_out_is_told(
    place: Path, lacks: str, shared: bool, code: int
) -> None:
    """With a cargo that only says what it was told to."""
    clone = place / "clone"
    for directory in ("scripts", "tests", ".venv/bin"):
        (clone / directory).mkdir(parents=True)
    (clone / "scripts" / "test-crates").write_text((ROOT / "scripts/test-crates").read_text())
    (clone / ".venv/bin/python").write_text("#!/bin/sh\n")
    for name in ("cargo", "clippy-driver"):
        (place / "bin" / name).write_text(CARGO)
        (place / "bin" / name).chmod(0o755)
    for program in (clone / "scripts/test-crates", clone / ".venv/bin/python"):
        program.chmod(0o755)
    if shared:
        (place / "shared").mkdir()
    script_path = str(clone / "scripts" / "test-crates")
    ended, text = script(place, script_path, LACKS=lacks, STRICT="")
    assert ended == 0 and ("left out of the tests of the crates" in text) == bool(lacks)
    for line in set(lacks.splitlines()):
        assert f"{lacks.count(line)} {line}" in text
    assert script(place, script_path, LACKS=lacks, STRICT="1")[0] == code
    assert script(place, script_path, LACKS=lacks, ENDS="101")[0] == 101
