"""``bvprobe follow``: what a command did, call by call, and that nothing of it is left behind."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import skips
from probe_programs import Line, Result, run
from sshd import processes_with
from waiting import PATIENCE, wait_until

pytest_plugins = ["probe_fixtures"]


def follow(probe: Path, line: str, *words: str, code: int = 0) -> Result:
    return run([probe, "follow", "--run", line, *words], code=code)


def python(program: str) -> str:
    """A command line for a program, which may have no line ends."""
    return f"{shlex.quote(sys.executable)} -S -E -c {shlex.quote(f'exec({program!r})')}"


def calls(result: Result) -> dict[tuple[str, str], Line]:
    return {(line["name"], line["target"]): line for line in result.lines if line["type"] == "call"}


def test_files_are_told_by_their_paths_and_failures_counted(probe: Path, tmp_path: Path) -> None:
    file = tmp_path / "there"
    file.write_text("text")
    missing = tmp_path / "missing"
    result = follow(probe, f"cat {file} {missing}")
    found = calls(result)
    opened, failed = found["openat", str(file)], found["openat", str(missing)]
    assert (opened["count"], opened["errors"]) == (1, 0)
    assert (failed["count"], failed["errors"]) == (1, 1)
    assert found["read", str(file)]["count"] == 2
    assert any(name == "execve" and target.endswith("/cat") for name, target in found)
    ended = result.one("followed")
    assert (ended["ended"], ended["status"], ended["lost"]) == ("exit", 1, 0)
    assert ended["calls"] == sum(line["count"] for line in found.values())


def test_paths_are_told_from_the_root_wherever_they_begin(probe: Path, tmp_path: Path) -> None:
    """What a command opens in its own directory has the same name as what another one opens."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "there").write_text("text")
    line = f"cd {tmp_path}/sub && cat there ../sub/./there && ls . > /dev/null; ln -s there link"
    found = calls(follow(probe, line))
    targets = {target for name, target in found if name == "openat"}
    assert {f"{tmp_path}/sub/there", f"{tmp_path}/sub/../sub/./there"} <= targets
    assert f"{tmp_path}/sub" in targets  # which ls reads
    made = {target for name, target in found if name.startswith("symlink")}
    assert made == {f"{tmp_path}/sub/link"}
    by_descriptor = "import os; d = os.open({!r}, 0); os.stat('there', dir_fd=d)"
    found = calls(follow(probe, python(by_descriptor.format(f"{tmp_path}/sub"))))
    assert any(target == f"{tmp_path}/sub/there" for name, target in found if "stat" in name)


def processes(result: Result) -> list[Line]:
    return [line for line in result.lines if line["type"] == "process"]


def test_processes_are_described_as_they_were_started(probe: Path) -> None:
    given = "env.LC_ALL=C.UTF-8,env.API_TOKEN=hidden,limit.nofile=77:99,nice=3,timer_slack=60001"
    result = follow(probe, "cat /dev/null; true", "--show", "state", "--as", given)
    cat, shell = processes(result)
    assert cat["program"].rpartition("/")[2] in ("cat", "busybox", "coreutils")
    assert cat["environment"]["LC_ALL"] == "C.UTF-8"
    assert re.fullmatch(r"given \(#[0-9a-f]{4}\)", cat["environment"]["API_TOKEN"])
    assert cat["limits"]["nofile"] == "77:99"
    assert (cat["scheduling"]["nice"], cat["scheduling"]["timer_slack"]) == (3, "60001")
    assert cat["namespaces"] == shell["namespaces"]
    assert any(mount.startswith("/ ") for mount in cat["mounts"])
    assert "mounts" not in shell
    assert cat["program"] in cat["mapped"]
    assert not calls(result)
    assert result.one("followed")["ended"] == "exit"


@skips.needs_root
def test_files_and_directories_are_other_ones_for_the_command_alone(
    probe: Path, tmp_path: Path
) -> None:
    file, directory = tmp_path / "resolv.conf", tmp_path / "scratch"
    file.write_text("nameserver 192.0.2.53\n")
    file.chmod(0o640)
    directory.mkdir(mode=0o710)
    (directory / "of the board").touch()
    output = tmp_path / "output"
    line = f"{{ stat -c %a {file} {directory}; ls {directory}; cat {file}; }} > {output}"
    given = f"file.{file}=options a%2Cb%0A,directory.{directory}=memory"
    result = follow(probe, line, "--show", "state", "--as", given)
    assert output.read_text() == "640\n710\noptions a,b\n"
    (mounts,) = [line["mounts"] for line in processes(result) if "mounts" in line]
    assert any(mount.startswith(f"{directory} / ") and " tmpfs " in mount for mount in mounts)
    assert any(mount.startswith(f"{file} /content ") for mount in mounts)
    assert file.read_text() == "nameserver 192.0.2.53\n"
    assert [path.name for path in directory.iterdir()] == ["of the board"]
    missing = follow(probe, "true", "--as", f"file.{tmp_path}/none=x", code=77)
    assert "there is no such file or directory" in missing.one("error")["message"]


@skips.needs_root
def test_a_directory_is_a_copy_and_a_file_another_one_for_the_command_alone(
    probe: Path, tmp_path: Path
) -> None:
    directory, other = tmp_path / "data", tmp_path / "other"
    (directory / "below").mkdir(parents=True)
    (directory / "below/rows").write_bytes(b"rows" * 100_000)
    (directory / "below/rows").chmod(0o640)
    (directory / "link").symlink_to("below/rows")
    other.write_text("the other one\n")
    (directory / "this").write_text("this one\n")
    output = tmp_path / "output"
    line = f"{{ cd {directory}; stat -c '%a %s' below/rows; stat -f -c %T .; cat this; cmp link"
    line += f" below/rows && echo new > new; }} > {output}"
    given = f"directory.{directory}=copy,bind.{directory}/this={other}"
    follow(probe, line, "--show", "state", "--as", given)
    assert output.read_text() == "640 400000\ntmpfs\nthe other one\n"
    assert sorted(path.name for path in directory.iterdir()) == ["below", "link", "this"]
    assert (directory / "this").read_text() == "this one\n"
    missing = follow(probe, "true", "--as", f"bind.{other}={tmp_path}/none", code=77)
    assert "there is no such file or directory" in missing.one("error")["message"]
    with (directory / "large").open("wb") as file:
        file.truncate(257 << 20)
    large = follow(probe, "true", "--as", f"directory.{directory}=copy", code=77)
    assert "more than there is memory for" in large.one("error")["message"]


def test_waiting_is_told_by_the_call_and_its_time(probe: Path) -> None:
    found = calls(follow(probe, "sleep 0.3"))
    (slept,) = [line for (name, _), line in found.items() if "nanosleep" in name]
    assert 0.3e9 <= slept["ns"] < PATIENCE * 1e9
    assert slept["longest_ns"] == slept["ns"]


def test_sockets_are_told_by_their_addresses(probe: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        threading.Thread(target=answer, args=(server,), daemon=True).start()
        path = tmp_path / "socket"
        program = (
            "import socket, select\n"
            f"s = socket.create_connection(('127.0.0.1', {port}))\n"
            "select.select([s], [], [])\n"
            "p = select.poll(); p.register(s); p.poll()\n"
            "e = select.epoll(); e.register(s); e.poll()\n"
            "s.recv(1)\n"
            "u = socket.socket(socket.AF_UNIX)\n"
            "try:\n"
            f"    u.connect({str(path)!r})\n"
            "except OSError:\n"
            "    pass\n"
        )
        found = calls(follow(probe, python(program)))
    address = f"127.0.0.1:{port}"
    names = {name for name, target in found if target == address}
    assert {"connect", "recvfrom"} <= names
    assert names & {"select", "pselect6"}
    assert names & {"poll", "ppoll"}
    assert names & {"epoll_wait", "epoll_pwait"}
    assert found["connect", str(path)]["errors"] == 1


def answer(server: socket.socket) -> None:
    with suppress(OSError):
        connection, _ = server.accept()
        time.sleep(0.05)
        connection.sendall(b"x")
        time.sleep(PATIENCE)


def test_children_and_threads_are_followed(probe: Path, tmp_path: Path) -> None:
    program = (
        "import threading, os\n"
        f"t = threading.Thread(target=open, args=({str(tmp_path / 'thread')!r}, 'w'))\n"
        "t.start(); t.join()\n"
        f"os.system('true > {tmp_path / 'grandchild'}')\n"
    )
    result = follow(probe, python(program))
    opened = {target for name, target in calls(result) if name == "openat"}
    assert {str(tmp_path / "thread"), str(tmp_path / "grandchild")} <= opened
    assert result.one("followed")["tasks"] >= 3


def test_a_command_that_takes_too_long_is_ended_and_told_as_far_as_it_got(probe: Path) -> None:
    begun = time.monotonic()
    result = follow(probe, "sleep 4321 & sleep 4321", "--limit_ms", "1500")
    assert time.monotonic() - begun < PATIENCE
    assert result.one("followed")["ended"] == "time"
    (slept,) = [line for (name, _), line in calls(result).items() if "nanosleep" in name]
    assert slept["count"] == 2
    assert slept["ns"] >= 1.5e9
    wait_until(lambda: not processes_with("sleep 4321"), "what was killed is there")


def test_what_leaves_the_process_group_goes_on(probe: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    daemon = f"setsid sh -c 'echo $$ > {pid}; exec sleep 4322' & while ! [ -s {pid} ]; do :; done"
    follow(probe, daemon)
    number = int(pid.read_text())
    try:
        os.kill(number, 0)
        status = Path(f"/proc/{number}/status").read_text()
        assert "TracerPid:\t0" in status
    finally:
        os.kill(number, signal.SIGKILL)


def test_one_that_is_killed_takes_the_command_with_it(probe: Path) -> None:
    words = [str(probe), "follow", "--run", "sleep 4323 & sleep 4323"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as follower:
        until(lambda: len(processes_with("sleep 4323")) >= 3)  # follower, shell or not, both
        follower.kill()
    until(lambda: not processes_with("sleep 4323"))


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_command_stays_as_it_was_when_signals_reach_it(probe: Path) -> None:
    result = follow(probe, "trap 'exit 7' USR1; kill -USR1 $$; sleep 9")
    assert result.one("followed")["status"] == 7


def test_what_a_process_goes_through_by_thousands_hides_no_file_of_another(
    probe: Path, tmp_path: Path
) -> None:
    own = tmp_path / "of-the-child"
    own.write_text("")
    program = (
        "import os\nfor i in range(7000):\n"
        f" try: os.open({str(tmp_path)!r} + '/%d' % i, 0)\n except OSError: 1"
    )
    result = follow(probe, f"cat {own}; {python(program)}")
    lines = [line for line in result.lines if line["type"] == "call"]
    assert 1000 < len(lines) <= 3000
    assert result.one("followed")["lost"] == 0
    assert str(own) in {line["target"] for line in lines if line["name"].startswith("open")}


def test_it_is_refused_without_a_command_that_fits(probe: Path) -> None:
    assert "limit_ms" in follow(probe, "true", "--limit_ms", "0", code=2).failure(2)
