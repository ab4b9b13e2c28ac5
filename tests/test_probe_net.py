"""The network benchmarks and the sink over loopback: what they say, and what they survive."""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import skips
from probe_programs import ROOT, WITH_REMOTE, Line, Result, Running, run
from remote_hosts import KEY, SHORT, Sink, check_details, iperf3_server
from remote_hosts import measure as measure_net
from remote_hosts import sink as start_sink
from waiting import PATIENCE, has_ended, wait_until

pytest_plugins = ["probe_fixtures"]

LOOPBACK = "127.0.0.1"
PROTOCOL = (ROOT / "docs" / "probe-protocol.md").read_text()
TCP_WAYS = [
    (),
    ("--direction", "receive"),
    ("--direction", "both", "--streams", "2"),
    ("--streams", "16", "--block", "4K"),
    ("--direction", "receive", "--streams", "3", "--buffer", "64K", "--nodelay", "on"),
    ("--block", "1M", "--peer_cpu", "0"),
]
UDP_WAYS = [
    (),
    ("--direction", "receive"),
    ("--rate_mbit", "10", "--message", "1000"),
    ("--direction", "receive", "--rate_mbit", "10", "--message", "16"),
    ("--buffer", "1M"),
]
LATENCY_WAYS = [
    (),
    ("--kind", "udp"),
    ("--message", "1"),
    ("--kind", "udp", "--message", "1"),
    ("--message", "60000"),
    ("--kind", "udp", "--message", "60000", "--peer_cpu", "0"),
]
WAYS = [
    *(("net.tcp", way) for way in TCP_WAYS),
    *(("net.udp", way) for way in UDP_WAYS),
    *(("net.latency", way) for way in LATENCY_WAYS),
]


@pytest.fixture
def sink(probe: Path) -> Iterator[Sink]:
    with start_sink(probe, "--bind", LOOPBACK, "--key", KEY) as running:
        yield running


def measure(probe: Path, name: str, sink: Sink, *words: str, code: int | None = 0) -> Result:
    return measure_net((probe,), name, sink.endpoint, "--key", KEY, *words, code=code)


# --- measuring --------------------------------------------------------------------------------


def way(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else "_".join(value).replace("--", "") or "default"


@pytest.mark.parametrize(("name", "words"), WAYS, ids=way)
def test_measures(
    probe: Path, sink: Sink, registry: dict[str, Line], name: str, words: tuple[str, ...]
) -> None:
    result = measure(probe, name, sink, *words)
    assert [line["type"] for line in result.lines] == ["host", "begin", "sample", "sample", "end"]
    check_details(result, registry)
    begin = result.one("begin")
    assert "loopback" in begin["caveats"][0]
    network = begin["network"]
    assert network["peer"].startswith(LOOPBACK)
    assert network["interface"] == "lo"
    assert network["interrupts"] == []
    assert "no interrupt of its own" in network["interrupt_cpu"]["na"]
    assert ("congestion" in network) == (name != "net.udp" and "udp" not in words)
    for sample in result.all("sample"):
        # as asked for when calibrating, which a disturbed trip makes look longer
        assert sample["elapsed_ns"] > 0
    said = set(begin) | set(network) | {key for s in result.all("sample") for key in s["detail"]}
    figures = {figure["key"] for figure in registry[name]["figures"]}
    for key in said - figures - {"type"}:
        assert f"`{key}`" in PROTOCOL, key


def test_a_batch_takes_no_page_faults(static: Path, sink: Sink) -> None:
    """Its threads find their stacks and buffers written already."""
    result = measure(static, "net.tcp", sink, "--streams", "8", "--direction", "both")
    assert result.all("sample")[-1]["minor_faults"] <= 8


def test_what_is_counted_is_what_the_receiver_got(static: Path, sink: Sink) -> None:
    """Of both ends' accounts: no more arrives in the window than was moved in the whole batch."""
    for direction in ("send", "receive"):
        result = measure(static, "net.tcp", sink, "--direction", direction)
        for sample in result.all("sample"):
            arrived = sample["value"] * sample["elapsed_ns"] / 1e9
            assert 0 < arrived <= sample["detail"]["moved_bytes"]


def test_a_rate_is_kept(static: Path, sink: Sink) -> None:
    """Slower is possible on a busy machine. Faster may be a part of a batch, which makes up for
    what a busy machine has missed, but never the whole batch."""
    words = ("--rate_mbit", "16", "--message", "1000", "--batch_ms", "300")
    for direction in ("send", "receive"):
        result = measure(static, "net.udp", sink, *words, "--direction", direction)
        for sample in result.all("sample"):
            assert sample["detail"]["moved_bytes"] <= 1000 + 2e6 * sample["window_ns"] / 1e9


def test_both_directions_are_added_up(static: Path, sink: Sink) -> None:
    result = measure(static, "net.tcp", sink, "--direction", "both")
    for sample in result.all("sample"):
        detail = sample["detail"]
        assert detail["sent_rate"] > 0
        assert detail["received_rate"] > 0
        total = detail["sent_rate"] + detail["received_rate"]
        assert sample["value"] == pytest.approx(total)


def test_percentiles_are_in_order(static: Path, sink: Sink) -> None:
    for kind in ("tcp", "udp"):
        result = measure(static, "net.latency", sink, "--kind", kind)
        for sample in result.all("sample"):
            detail = sample["detail"]
            assert 0 < detail["p50_ns"] <= detail["p99_ns"] <= detail["max_ns"]
            assert sample["value"] <= detail["max_ns"]
            assert detail["lost"] == 0


def test_the_cpu_that_is_asked_for(static: Path, sink: Sink) -> None:
    for cpu in sorted(os.sched_getaffinity(0)):
        result = measure(static, "net.tcp", sink, "--cpu", str(cpu))
        assert result.one("begin")["cpu"] == cpu
        assert {sample["cpu"] for sample in result.all("sample")} == {cpu}


def test_version_6(static: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        skips.skip("IPv6")
    with start_sink(static, "--bind", "::1") as six:
        for name in WITH_REMOTE:
            begin = measure_net((static,), name, six.endpoint).one("begin")
            assert begin["network"]["peer"].startswith("[::1]:")


def test_everywhere_is_the_default(static: Path) -> None:
    with start_sink(static) as everywhere:
        assert everywhere.address in ("::", "0.0.0.0")  # noqa: S104 - named, not bound
        for name in WITH_REMOTE:  # an IPv4 address at a socket of IPv6
            measure_net((static,), name, f"{LOOPBACK}:{everywhere.port}")
        begin = measure_net((static,), "net.udp", f"localhost:{everywhere.port}").one("begin")
        assert 60000 < begin["message_bytes"] <= 65507


def test_a_plain_user_can_measure(unprivileged: dict[str, Any], static: Path) -> None:
    """Also serve: as a user who may only know ports above 1023."""
    probe, options = unprivileged["probe"], unprivileged["options"]
    with start_sink(static, "--bind", LOOPBACK) as own:
        for name in WITH_REMOTE:
            run([probe, "run", name, "--peer", own.endpoint, *SHORT], **options)


def test_served_like_all_others(served: Running, sink: Sink) -> None:
    served.request(1, "run", "net.tcp", "--peer", sink.endpoint, "--key", KEY, *SHORT)
    assert served.until("begin")["params"]["key"] == KEY
    assert served.until("done")["exit"] == 0


def test_a_pause_between_batches_does_no_harm(static: Path, sink: Sink) -> None:
    """The host takes its time to store a sample."""
    words = ("run", "net.tcp", "--peer", sink.endpoint, "--key", KEY, "--paced", "1", *SHORT)
    with Running(static, *words) as running:
        for _ in range(2):
            running.until("sample")
            time.sleep(0.5)
            running.say("\n")
        assert running.until("end")


# --- access control --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (("net.tcp",), 77, "run `bvprobe sink` on a machine beside the board"),
        (("net.udp",), 77, "peer=ADDRESS"),
        (("net.latency",), 77, "peer=ADDRESS"),
        (("net.tcp", "--peer", "host:"), 2, "peer=host: is no ADDRESS"),
        (("net.tcp", "--peer", "[::1]x"), 2, "peer=[::1]x is no ADDRESS"),
        (("net.tcp", "--peer", "no.such.host.invalid"), 1, "no address of the remote host"),
        (("net.tcp", "--peer", LOOPBACK, "--streams", "17"), 2, "streams=17"),
        (("net.udp", "--peer", LOOPBACK, "--message", "65508"), 2, "message=65508"),
        (
            ("net.tcp", "--peer", LOOPBACK, "--protocol", "iperf3", "--direction", "both"),
            2,
            "direction=both needs protocol=own",
        ),
        (
            ("net.udp", "--peer", LOOPBACK, "--protocol", "iperf3", "--peer_cpu", "0"),
            2,
            "peer_cpu needs protocol=own",
        ),
    ],
)
def test_usage(probe: Path, words: tuple[str, ...], code: int, named: str) -> None:
    assert named in run([probe, "run", *words], code=code).failure(code)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--port", "65536"), "port=65536"),
        (("--key", "x" * 65), "key takes a text"),
        (("--loud", "1"), "sink has no parameter '--loud'"),
    ],
)
def test_usage_of_the_sink(probe: Path, words: tuple[str, ...], named: str) -> None:
    assert named in run([probe, "sink", *words], code=2).failure(2)


def test_nobody_listens(probe: Path) -> None:
    with socket.socket() as one:
        one.bind((LOOPBACK, 0))
        remote = f"{LOOPBACK}:{one.getsockname()[1]}"
        for name in WITH_REMOTE:
            message = measure_net((probe,), name, remote, code=1).failure(1)
            assert LOOPBACK in message
            assert "start `bvprobe sink`" in message


def test_the_sink_cannot_listen(static: Path, sink: Sink) -> None:
    taken = ("sink", "--bind", LOOPBACK, "--port", str(sink.port))
    assert "--port 0 takes any" in run([static, *taken], code=1).failure(1)
    message = run([static, "sink", "--bind", "192.0.2.1", "--port", "0"], code=1).failure(1)
    assert "192.0.2.1" in message


@pytest.mark.parametrize("key", ["", "5ec2e", "5ec2e77", "5EC2E7", "x" * 64])
def test_a_wrong_key(probe: Path, sink: Sink, key: str) -> None:
    words = ("--key", key)
    message = measure_net((probe,), "net.tcp", sink.endpoint, *words, code=1).failure(1)
    assert "does not accept the key" in message
    assert sink.sessions == []


def test_a_stream_without_a_session(static: Path, sink: Sink) -> None:
    for token in ("", "0" * 32, KEY):
        with sink.connect() as one:
            one.sendall(f"benchvise-net 1 stream {token}\n".encode())
            assert one.recv(100) == b"refused session\n"
            assert one.recv(100) == b""
    measure(static, "net.tcp", sink)


def test_more_sessions_than_it_serves(static: Path, sink: Sink) -> None:
    held = []
    for number in range(1, 5):
        held.append(sink.connect())
        held[-1].sendall(f"benchvise-net 1 session {KEY}\n".encode())
        assert held[-1].recv(100).split()[2] == str(number).encode()
    assert "already serves 4 sessions" in measure(static, "net.tcp", sink, code=1).failure(1)
    held.pop().close()
    wait_until(lambda: len(sink.sessions) == 3, "three sessions")
    begin = measure(static, "net.tcp", sink).one("begin")
    assert any("other sessions at the same time" in caveat for caveat in begin["caveats"])
    for one in held:
        one.close()
    wait_until(lambda: sink.sessions == [], "the sessions' end")


def test_a_cpu_that_the_remote_has_not(static: Path, sink: Sink) -> None:
    message = measure(static, "net.tcp", sink, "--peer_cpu", "1000", code=1).failure(1)
    assert "cannot do that test" in message


def test_affinity_needs_an_interrupt(static: Path, sink: Sink) -> None:
    for name in WITH_REMOTE:
        for affinity in ("same", "other"):
            words = ("--affinity", affinity)
            message = measure(static, name, sink, *words, code=77).failure(77)
            assert "lo has no interrupt of its own" in message
    result = measure(static, "net.tcp", sink, "--affinity", "same", "--cpu", "0", code=2)
    assert "contradicts" in result.failure(2)


# --- remote hosts that are something else -----------------------------------------------------


@contextmanager
def impostor(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Something that listens, and does with each connection what the function does."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                answer(connection)

    with socket.create_server((LOOPBACK, 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"{LOOPBACK}:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def saying(text: bytes) -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        connection.recv(1000)
        connection.sendall(text)

    return answer


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"refused version 7\n", "version 7 of the protocol, this probe version 1"),
        (b"SSH-2.0-OpenSSH_9.2\n", "is no sink of Benchvise"),
        (b"", "is no sink of Benchvise"),
        (b"\x09", "is no sink of Benchvise"),
        (b"ok short 1\n", "is no sink of Benchvise"),
        (b"x" * 5000, "is no sink of Benchvise"),
        (b"ok " + b"0" * 32 + b" 1\nready\n", "is no sink of Benchvise"),
        (b"ok " + b"0" * 32 + b" 1\nready x\n", "is no sink of Benchvise"),
    ],
)
def test_no_sink(probe: Path, text: bytes, named: str) -> None:
    with impostor(saying(text)) as remote:
        for name in WITH_REMOTE:
            assert named in measure_net((probe,), name, remote, code=1).failure(1)


def test_an_older_client(sink: Sink) -> None:
    for version in ("0", "2", "99999999999"):
        with sink.connect() as one:
            one.sendall(f"benchvise-net {version} session {KEY}\n".encode())
            assert one.recv(100) in (b"refused version 1\n", b"refused greeting\n")


@pytest.mark.parametrize("text", [b"", b"\x09\x0a", b"\xff", b"\xfe\0\0\0\1\0\0\0\2", b"hello\n"])
def test_no_iperf3_server(probe: Path, text: bytes) -> None:
    words = ("--protocol", "iperf3")
    with impostor(saying(text)) as remote:
        message = measure_net((probe,), "net.tcp", remote, *words, code=1).failure(1)
    assert "iperf3 server" in message


def test_datagrams_that_do_not_get_through(probe: Path) -> None:
    """As behind a firewall that lets only TCP through."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind((LOOPBACK, 0))
        port = deaf.getsockname()[1]

        def answer(connection: socket.socket) -> None:
            connection.recv(1000)
            connection.sendall(b"ok " + b"0" * 32 + b" 1\n")
            connection.recv(1000)
            connection.sendall(f"ready {port}\n".encode())
            connection.recv(1000)

        with impostor(answer) as remote:
            words = ("--message", "100")
            message = measure_net((probe,), "net.udp", remote, *words, code=1).failure(1)
    assert f"port {port}" in message
    assert "firewall" in message


# --- what goes wrong in the middle ------------------------------------------------------------


LONG = ("--batches", "1000", "--batch_ms", "20", "--warm_ms", "0", "--counters", "off")
RUNS = [
    ("net.tcp",),
    ("net.tcp", "--direction", "receive", "--streams", "3"),
    ("net.udp", "--rate_mbit", "10", "--message", "1000"),
    ("net.udp", "--rate_mbit", "10", "--message", "1000", "--direction", "receive"),
    ("net.latency",),
    ("net.latency", "--kind", "udp"),
]


@pytest.mark.parametrize("words", RUNS, ids="_".join)
def test_the_remote_is_killed(probe: Path, sink: Sink, words: tuple[str, ...]) -> None:
    with Running(probe, "run", *words, "--peer", sink.endpoint, "--key", KEY, *LONG) as running:
        running.until("sample")
        for session in sink.sessions:
            os.kill(session, signal.SIGKILL)
        error = running.until("error")
        assert error["exit"] == 1
        assert f"{LOOPBACK} port {sink.port}" in error["message"]
        assert running.process.wait(PATIENCE) == 1


def test_the_remote_falls_silent(static: Path) -> None:
    """Ten seconds of patience, and no more: nothing says that the other end is gone."""
    with (
        start_sink(static, "--bind", LOOPBACK) as own,
        Running(static, "run", "net.tcp", "--peer", own.endpoint, *LONG) as running,
    ):
        running.until("sample")
        (session,) = own.sessions
        os.kill(session, signal.SIGSTOP)
        begin = time.monotonic()
        error = running.until("error")
        assert "silent" in error["message"] or "broke off" in error["message"]
        assert time.monotonic() - begin < 19
        os.kill(session, signal.SIGKILL)


@pytest.mark.parametrize("words", RUNS, ids="_".join)
def test_the_client_is_killed(probe: Path, sink: Sink, words: tuple[str, ...]) -> None:
    with Running(probe, "run", *words, "--peer", sink.endpoint, "--key", KEY, *LONG) as running:
        running.until("sample")
        assert len(sink.sessions) == 1
        running.process.kill()
    wait_until(lambda: sink.sessions == [], "the sessions' end")
    measure(probe, words[0], sink)


def test_the_sink_ends_with_its_input(probe: Path) -> None:
    with (
        start_sink(probe, "--bind", LOOPBACK) as own,
        Running(probe, "run", "net.tcp", "--peer", own.endpoint, *LONG) as client,
    ):
        client.until("sample")
        (session,) = own.sessions
        own.running.say("this is read and forgotten\n")
        assert own.running.silent(0.1)
        own.running.input.close()
        assert own.running.process.wait(PATIENCE) == 0
        assert client.until("error")["exit"] == 1
    wait_until(lambda: has_ended(session), "the session's end")


# --- garbage ----------------------------------------------------------------------------------


def memory_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def test_garbage(probe: Path, sink: Sink) -> None:
    """The sink survives it, keeps nothing of it, and serves the next."""
    chance = random.Random(1)
    before = memory_kb(sink.running.process.pid)
    pieces = (
        b"benchvise-net ",
        b"1 session ",
        b"1 stream ",
        KEY.encode(),
        b"\n",
        b"test 0 1 0 131072 0 0 0 0\n",
        b"batch 0 50\n",
        b"stop 18446744073709551615\n",
        b"\0",
        b" ",
    )
    for _ in range(300):
        text = b"".join(
            chance.choice(pieces) if chance.random() < 0.8 else chance.randbytes(20)
            for _ in range(chance.randrange(12))
        )
        with sink.connect() as one:
            one.sendall(text)
    with sink.connect() as one, suppress(OSError):  # more than a line may have
        for _ in range(100):
            one.sendall(chance.randbytes(65536).replace(b"\n", b"x"))
    wait_until(lambda: sink.sessions == [], "the sessions' end")
    measure(probe, "net.tcp", sink)
    if "asan" not in str(probe):
        assert memory_kb(sink.running.process.pid) < before + 512


TESTS = [
    "test 9 1 0 100 0 0 0 0",
    "test 0 0 0 100 0 0 0 0",
    "test 0 17 0 100 0 0 0 0",
    "test 0 1 0 0 0 0 0 0",
    "test 0 1 0 99999999999 0 0 0 0",
    "test 0 1 0 100 99999999999 0 0 0",
    "test 0 1 0 100 0 2 0 0",
    "test 0 1 0 100 0 0 0 2000",
    "test 1 1 1 100 0 0 0 0",
    "test 1 1 0 15 0 0 0 0",
    "test 1 1 0 65508 0 0 0 0",
    "test 2 2 0 100 0 0 0 0",
    "test 3 1 0 65508 0 0 0 0",
    "test 0 1 0 100 0 0 0",
    "test -1 1 0 100 0 0 0 0",
    "tset",
    "",
]


@pytest.mark.parametrize("text", TESTS)
def test_a_test_that_makes_no_sense(sink: Sink, text: str) -> None:
    with sink.connect() as one:
        one.sendall(f"benchvise-net 1 session {KEY}\n".encode())
        assert one.recv(100).startswith(b"ok ")
        one.sendall(f"{text}\n".encode())
        assert one.recv(100) == b"error\n"
        assert one.recv(100) == b""
    wait_until(lambda: sink.sessions == [], "the sessions' end")


@pytest.mark.parametrize(
    "text",
    [
        "batch",
        "batch 1 2 3",
        "batch 99999999 1",
        "batch 1 99999999",
        "stop 1",
        "batch 0 10\nstop",
        "batch 0 10\nstop 1 2",
        "batch 0 10\nstop x",
        "batch 0 10\nbatch 0 10",
        "x" * 3000,
    ],
)
def test_a_session_that_makes_no_sense(probe: Path, sink: Sink, text: str) -> None:
    with sink.connect() as one:
        one.sendall(f"benchvise-net 1 session {KEY}\n".encode())
        token = one.recv(100).split()[1].decode()
        one.sendall(b"test 0 1 0 1000 0 0 0 0\n")
        assert one.recv(100) == b"ready 0\n"
        with sink.connect() as stream:
            stream.sendall(f"benchvise-net 1 stream {token}\n".encode())
            assert stream.recv(100) == b"ok\n"
            one.sendall(f"{text}\n".encode())
            for _ in range(20):  # so that a window does not wait for something to arrive
                time.sleep(0.005)
                with suppress(OSError):
                    stream.sendall(b"payload")
            wait_until(lambda: sink.sessions == [], "the sessions' end")
    measure(probe, "net.tcp", sink)


def test_half_open_connections(static: Path, sink: Sink) -> None:
    """More than there are places, each with half a line: nobody is kept out, and those that lost
    their place are closed, as a host has only so many descriptors."""
    held = [sink.connect() for _ in range(60)]
    for one in held:
        one.sendall(b"benchvise-net 1 ses")
    measure(static, "net.tcp", sink, "--streams", "4")
    assert [is_closed(one) for one in held[:44]] == [True] * 44  # there are 16 places
    for one in held:
        one.close()


def is_closed(one: socket.socket) -> bool:
    try:
        return one.recv(1) == b""
    except ConnectionResetError:  # closed before what it had sent was read
        return True
    except TimeoutError:
        return False


# --- iperf3 -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("net.tcp", ()),
        ("net.tcp", ("--streams", "4", "--nodelay", "on", "--buffer", "128K")),
        ("net.tcp", ("--direction", "receive")),
        ("net.tcp", ("--direction", "receive", "--streams", "3")),
        ("net.udp", ("--rate_mbit", "20", "--message", "1000")),
        ("net.udp", ("--rate_mbit", "20", "--message", "1000", "--direction", "receive")),
        ("net.udp", ()),
    ],
    ids=way,
)
def test_an_iperf3_server(
    probe: Path, registry: dict[str, Line], name: str, words: tuple[str, ...]
) -> None:
    with iperf3_server(LOOPBACK) as remote:
        for _ in range(2):  # the second shows that the first ended its test as a client should
            protocol = ("--protocol", "iperf3", "--batch_ms", "100")
            result = measure_net((probe,), name, remote, *protocol, *words)
            check_details(result, registry)
            begin = result.one("begin")
            sends = "receive" not in words
            assert ("acknowledged" in begin["counted"]) == (name == "net.tcp" and sends)
            told_here = name == "net.udp" and sends
            for sample in result.all("sample"):
                assert isinstance(sample["detail"]["peer_cpu_s_per_gb"], dict) != told_here


def test_a_busy_iperf3_server(static: Path) -> None:
    with iperf3_server(LOOPBACK) as remote:
        words = ("--protocol", "iperf3")
        command = (static, "run", "net.tcp", "--peer", remote, *words, *LONG)
        with Running(*command) as first:
            first.until("sample")
            message = measure_net((static,), "net.tcp", remote, *words, code=1).failure(1)
            assert "busy with another test" in message
            first.until("sample")


def test_an_iperf3_server_that_is_killed(static: Path) -> None:
    with iperf3_server(LOOPBACK) as remote:
        command = (static, "run", "net.tcp", "--peer", remote, "--protocol", "iperf3", *LONG)
        running = Running(*command)
        running.until("sample")
    with running:
        assert running.until("error")["exit"] == 1
