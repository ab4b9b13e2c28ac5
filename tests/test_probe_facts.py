"""The probe's `facts` and `links`, and files of more than 64 KiB: the state of a board."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import secret_variables
import skips
from probe_programs import Line, Running, parse, run

pytest_plugins = ["probe_fixtures"]

EVERYWHERE = {
    *("time", "uname", "personality", "page_size", "auxv", "timers", "clock_cost", "vdso"),
    *("process", "hypervisor", "perf", "environment", "processes", "irq_threads", "filesystem"),
    *("elf", "libc", "nic_driver", "qdisc", "kernel_log", "busy", "cpu_clock", "duration_ns"),
}
LINE_LIMIT = 1 << 20


def facts(probe: Path | str, **options: Any) -> dict[str, dict[str, Any]]:
    """Fact to subject to value; of several with the same subject the last."""
    found: dict[str, dict[str, Any]] = {}
    for line in run([probe, "facts"], **options).all("fact"):
        found.setdefault(line["name"], {})[line.get("subject", "")] = line["value"]
    return found


def mount_points() -> set[str]:
    return {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def is_missing(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"na"} and bool(value["na"])


def test_facts_are_all_there_and_true(probe: Path) -> None:
    before = time.monotonic_ns()
    found = facts(probe)
    assert found.keys() >= EVERYWHERE
    assert before < found["time"][""]["monotonic_ns"] < time.monotonic_ns()
    assert found["uname"][""]["release"] == os.uname().release
    assert found["page_size"][""] == os.sysconf("SC_PAGESIZE")
    assert found["timers"][""]["tick_ns"] in [round(1e9 / hz) for hz in (100, 250, 300, 1000)]
    assert found["clock_cost"][""]["clock_gettime_ns"] > 0
    assert found["vdso"][""] in ("in use", "calls the kernel", "none")
    assert found["process"][""]["nice"] == os.nice(0)
    assert {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)} == set(found["cpu_clock"])
    for point, seen in found["filesystem"].items():  # of a bare chroot "/" has no entry
        if point in ("/", "/dev", "/run") and not is_missing(seen):
            state = os.statvfs(point)
            assert seen["size"] == state.f_frsize * state.f_blocks
    assert "/" in found["filesystem"] or "/" not in mount_points()
    for name, subjects in found.items():
        for value in subjects.values():
            assert value is not None, name


def test_facts_end_soon(static: Path) -> None:
    """It watches for 200 ms what is busy. The rest is work, which other load does not add to."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert facts(static)["duration_ns"][""] >= 200_000_000
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


def go_before_others() -> None:
    """So that it is among the busiest, whatever else this machine does; as root. See sched(7)."""
    with contextlib.suppress(OSError):
        os.setsid()
        Path("/proc/self/autogroup").write_text("-20")
    with contextlib.suppress(OSError):
        os.nice(-20)


@contextlib.contextmanager
def busy_process() -> Iterator[int]:
    hog = subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=go_before_others)
    try:
        yield hog.pid
    finally:
        hog.kill()
        hog.wait()


def test_facts_name_the_busy(static: Path) -> None:
    with busy_process() as pid:
        busy = {entry["pid"]: entry for entry in facts(static)["busy"][""]["processes"]}
    assert busy[pid]["name"] == "sh"
    assert busy[pid]["ticks"] > 0


@skips.needs("strace")
def test_facts_name_the_busy_where_every_look_takes_long(static: Path) -> None:
    """As on a board that is so busy that the probe itself has to wait for its turn."""
    slow = ["strace", "-o", "/dev/null", "-e", "trace=%file", "-e", "inject=%file:delay_exit=1000"]
    with busy_process() as pid:
        done = subprocess.run([*slow, static, "facts"], capture_output=True, check=False)
    if not done.stdout:
        skips.skip("ptrace")
    (busy,) = [line["value"] for line in parse(done.stdout) if line.get("name") == "busy"]
    assert pid in [entry["pid"] for entry in busy["processes"]]


def test_facts_tell_no_secrets(static: Path) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "API_TOKEN": "hidden",
        "APP_MODE": "hidden",
        **secret_variables.WITH_SECRETS,
        **secret_variables.WITHOUT,
        "http_proxy": "http://user:hidden@192.0.2.1:3128",
        "no_proxy": "192.0.2.1",
        "ZSTD_CLEVEL": "17",
        "SSH_CONNECTION": "hidden",
        "SSH_TTY": "hidden",
        "SSH_AUTH_SOCK": "/run/key-bridge",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/0/bus",
        "DOCKER_HOST": "tcp://127.0.0.1:2375",
        "HOME": "/data/root",
        "LD_LIBRARY_PATH": "/opt/long:" * 900,
    }
    result = subprocess.run([static, "facts"], capture_output=True, check=True, env=environment)
    assert secret_variables.HIDDEN.encode() not in result.stdout
    told = facts(static, env=environment)["environment"][""]
    names = ("API_TOKEN", "APP_MODE", "http_proxy", *secret_variables.WITH_SECRETS)
    untold = {name: told.pop(name) for name in names}
    assert all(re.fullmatch(r"given \(#[0-9a-f]{4}\)", value) for value in untold.values())
    again = {**environment, "APP_MODE": "hidden too"}
    changed = facts(static, env=again)["environment"][""]
    assert [name for name in untold if changed[name] != untold[name]] == ["APP_MODE"]
    assert told == {
        "PATH": "/usr/bin:/bin",
        **secret_variables.WITHOUT,
        "no_proxy": "192.0.2.1",
        "ZSTD_CLEVEL": "17",
        "SSH_AUTH_SOCK": "/run/key-bridge",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/0/bus",
        "DOCKER_HOST": "tcp://127.0.0.1:2375",
        "HOME": "/data/root",
        "LD_LIBRARY_PATH": "/opt/long:" * 900,
    }


def test_facts_of_programs_agree_with_readelf(static: Path) -> None:
    skips.need("readelf")
    found = facts(static)
    library = found["libc"][""]
    for subject, path in (("/bin/sh", "/bin/sh"), ("libc", library.get("path", ""))):
        if not path:
            continue
        told = subprocess.run(
            ["readelf", "-Wn", path], capture_output=True, text=True, check=True
        ).stdout
        build_id = re.search(r"Build ID: (\w+)", told)
        assert found["elf"][subject].get("build_id") == (build_id[1] if build_id else None)
        assert found["elf"][subject]["class"] in (32, 64)


@pytest.mark.parametrize("cut", [0, 10, 64, 100, 500, 5000])
def test_facts_survive_a_broken_shell(sanitized: Path, tmp_path: Path, cut: int) -> None:
    """A file that is cut or no program must not lead the probe beyond its end."""
    skips.need_root()
    skips.need_namespaces("-m")
    fake = tmp_path / "sh"
    fake.write_bytes(Path("/bin/sh").read_bytes()[:cut])
    shell = str(Path("/bin/sh").resolve())
    script = f'mount --bind "$1" {shell} && exec "$2" facts'
    command = ["unshare", "-m", "bash", "-c", script, "bash", str(fake), str(sanitized)]
    result = run(command)
    (shell_fact,) = [
        x for x in result.all("fact") if (x["name"], x.get("subject")) == ("elf", "/bin/sh")
    ]
    assert is_missing(shell_fact["value"]) or "class" in shell_fact["value"]


def test_facts_of_a_plain_user(unprivileged: dict[str, Any]) -> None:
    found = facts(unprivileged["probe"], **unprivileged["options"])
    assert found.keys() >= EVERYWHERE
    if os.geteuid() == 0:
        assert found["process"][""]["uid"] != 0
    assert all(is_missing(value) for value in found["termios"].values()) or os.access(
        "/dev/console", os.R_OK
    )


def test_facts_open_nothing_for_writing_and_no_serial_port(static: Path, tmp_path: Path) -> None:
    skips.need("strace")
    log = tmp_path / "calls"
    calls = (
        "trace=open,openat,openat2,creat,write,pwrite64,writev,sendto,sendmsg,ioctl,mount,unlink"
    )
    subprocess.run(
        ["strace", "-f", "-o", log, "-e", calls, static, "facts"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    for line in log.read_text().splitlines():
        if re.search(r"\bopen(at2?)?\(|creat\(", line):
            assert "O_RDONLY" in line, line
            assert "/dev/tty" not in line or "O_NOCTTY|O_NONBLOCK" in line.replace(" ", ""), line
        assert not re.search(r"\b(creat|mount|unlink)\(", line), line
        if re.search(r"\b(write|writev|pwrite64)\(", line):
            assert re.search(r"write\(1,", line), line
    assert "SIOCETHTOOL" in log.read_text()


def test_serve_answers_facts_and_goes_on(served: Running) -> None:
    served.request(1, "facts")
    assert served.until("fact")["name"] == "time"
    assert served.until("done") == {"type": "done", "request": 1, "exit": 0}
    served.request(2, "facts", "much")
    assert served.until("error")["exit"] == 2
    served.until("done")
    # what facts did to itself (it goes from CPU to CPU) is not left behind
    served.request(3, "read", given=["/proc/self/status"])
    status = served.until("value")["value"]
    allowed = re.search(r"Cpus_allowed_list:\s*(\S+)", status)
    own = re.search(r"Cpus_allowed_list:\s*(\S+)", Path("/proc/self/status").read_text())
    assert allowed and own and allowed[1] == own[1]


def links(probe: Path, *patterns: str | Path) -> dict[str, Line]:
    given = "\n".join(map(str, patterns)).encode()
    return {line["path"]: line for line in run([probe, "links"], given=given).all("link")}


def test_links(probe: Path, tmp_path: Path) -> None:
    (tmp_path / "to somewhere").symlink_to("../any where")
    (tmp_path / "to nothing").symlink_to("/no/such")
    (tmp_path / "file").write_text("x")
    found = links(probe, tmp_path / "to*", tmp_path / "file", tmp_path / "none*")
    assert found[str(tmp_path / "to somewhere")]["target"] == "../any where"
    assert found[str(tmp_path / "to nothing")]["target"] == "/no/such"
    assert found[str(tmp_path / "file")]["error"] == "EINVAL"
    assert found[str(tmp_path / "none*")]["error"] == "ENOENT"


def test_serve_answers_links(served: Running) -> None:
    served.request(4, "links", given=["/proc/self/exe", "/proc/self/ns/*"])
    assert served.until("link")["target"].endswith("bvprobe")
    assert re.fullmatch(r"\w+:\[\d+\]", served.until("link")["target"])
    assert served.until("done")["exit"] == 0


def test_read_with_a_limit(probe: Path, tmp_path: Path) -> None:
    content = b"line\n" * 40_000
    (tmp_path / "long").write_bytes(content)
    path = str(tmp_path / "long").encode()

    def read(*words: str) -> Line:
        return run([probe, "read", *words], given=path).one("value")

    assert len(read()["value"]) == 65536
    whole = read("--limit", "256K")
    assert whole["value"].encode() == content and "truncated" not in whole
    assert read("--limit", "7")["value"] == "line\nli"
    assert read("--limit", "480K")["value"].encode() == content
    for words in (["--limit", "481K"], ["--limit", "0"], ["--limit"], ["--size", "1"]):
        assert run([probe, "read", *words], code=2).failure(2)


@pytest.mark.parametrize("content", [b"\n" * 491_520, os.urandom(491_520), b"\x01\n" * 300_000])
def test_no_line_is_longer_than_the_host_takes(probe: Path, tmp_path: Path, content: bytes) -> None:
    """Text that consists of escapes would need six bytes for each of its own."""
    (tmp_path / "file").write_bytes(content)
    done = subprocess.run(
        [probe, "read", "--limit", "480K"],
        input=str(tmp_path / "file").encode(),
        capture_output=True,
        check=True,
    )
    assert len(done.stdout) < LINE_LIMIT
    line = run([probe, "read", "--limit", "480K"], given=str(tmp_path / "file").encode()).one(
        "value"
    )
    value = bytes.fromhex(line["hex"]) if "hex" in line else line["value"].encode()
    assert value == content[:491_520]


def test_the_kernel_configuration_fits(static: Path) -> None:
    if not Path("/proc/config.gz").exists():
        skips.skip("kernel configuration")
    line = run([static, "read", "--limit", "480K"], given=b"/proc/config.gz").one("value")
    assert b"CONFIG_" in gzip.decompress(bytes.fromhex(line["hex"]))


def test_the_log_alone(probe: Path) -> None:
    lines = run([probe, "facts", "log"]).all("fact")
    assert {line["name"] for line in lines} == {"kernel_log"}
    whole = "".join(line["value"] for line in lines if isinstance(line["value"], str))
    assert whole or is_missing(lines[0]["value"])
    assert run([probe, "facts", "weather"], code=2)
