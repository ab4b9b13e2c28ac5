"""What strangers made may end a reader, never the server: hostile queries, files that shrink."""

from __future__ import annotations

import json
import os
import random
import shutil
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
from trace_data import trace
from waiting import PATIENCE
from web_client import Answer, Client

from benchvise.trace.query_limits import QueryLimits
from benchvise.web import file_index
from benchvise.web.file_index import key_of
from benchvise.web.readers import forwarding, pool

skips.need_decoder()

SMALL = Path(__file__).parent / "data" / "traces" / "small.dat"
ENDLESS = "SELECT sum(sin(range)) FROM range(1000000000000)"
"""It keeps nothing."""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with reading(tmp_path) as client:
        yield client


@contextmanager
def reading(directory: Path) -> Iterator[Client]:
    shutil.copy(trace("f100k"), directory / "t.dat")
    client = Client.of(traces=(directory,), store=str(directory / "store.db"))
    yield client
    client.app.state.context.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def shared(place: Path) -> Iterator[Client]:
    """One whose readers go on from test to test, of the trace at that place: nothing that these
    tests do may harm the next."""
    with reading(place) as client:
        yield client


def ask(client: Client, tmp_path: Path, what: str = "info") -> Answer:
    return client.get(f"/api/traces/{key_of(tmp_path / 't.dat')}/{what}")


def query(client: Client, tmp_path: Path, text: str) -> Any:
    body = json.dumps({"sql": text}).encode()
    address = f"/api/traces/{key_of(tmp_path / 't.dat')}/query"
    return client.post(address, body, content_type="application/json")


def process(client: Client, which: str) -> int:
    reader = getattr(client.app.state.context.readers, which)
    assert reader._link is not None
    return int(reader._link.process.pid)


@pytest.mark.parametrize(
    ("hostile", "says"),
    [
        ("SELECT range(3000000000)", "more than 128 MB"),
        ("SELECT len(range(300000000))", "more than 128 MB"),
        ("FROM unnest(range(2000000000))", "more than 128 MB"),
        ("SELECT length(repeat('x', 4000000000))", "more than 128 MB"),
        ("SELECT list_sort(range(200000000))", "more than 128 MB"),
        ("SELECT md5(repeat(repeat('x', 100000), 100000))", "maximum supported string size"),
        ("SELECT " + "CASE WHEN 1 THEN " * 600 + "1" + " END" * 600, "nested too deeply"),
        ("SELECT * FROM " + "(SELECT * FROM " * 900 + "tasks" + ")" * 900, ""),
        ("SELECT '\ud800'", "no text"),
    ],
)
def test_d1_d9_a_hostile_query_is_answered_with_a_sentence(
    shared: Client, place: Path, monkeypatch: pytest.MonkeyPatch, hostile: str, says: str
) -> None:
    """Its time is long, so that it is memory that ends it however busy the machine is."""
    monkeypatch.setattr(forwarding, "LIMITS", QueryLimits(rows=10, seconds=100, memory_mb=128))
    assert query(shared, place, "SELECT 1").status == 200
    before = process(shared, "_queries")
    answer = query(shared, place, hostile)
    assert 400 <= answer.status < 500
    assert says in answer.json["error"]["message"]
    assert query(shared, place, "SELECT 42 AS n").json["rows"] == [[42]]
    assert process(shared, "_queries") == before  # a child died, not what it was forked from


@pytest.mark.parametrize(
    ("sql", "begins"),
    [
        ("SELECT '\u00e9\U0010ffff'", "\u00e9"),
        ("SELECT list_sort(range(5000))", "[0, 1, 2"),
        ("SELECT '\U0001f50d'", "\U0001f50d"),
        ("SELECT MAP {uuid(): [DATE '2020-02-03']}", "{UUID("),
    ],
)
def test_what_python_loads_when_it_is_needed_is_there_for_a_query(
    shared: Client, place: Path, sql: str, begins: str
) -> None:
    """A query can read no file, not even a codec: those of signs beyond ASCII."""
    answer = query(shared, place, sql)
    assert answer.status == 200 and str(answer.json["rows"][0][0]).startswith(begins)


def test_a_fault_of_ours_in_a_query_ends_no_other(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is answered at once, by the child that has it."""
    from benchvise.web.readers import messages
    from benchvise.web.readers import queries as program

    ours, theirs = socket.socketpair()
    monkeypatch.setattr(program, "confine", lambda confinement: None)
    monkeypatch.setattr(program, "query_answer", lambda *arguments: 1 // 0)
    request = messages.QueryRequest(tmp_path / "t.dat", "SELECT 1", {}, QueryLimits())
    with ours, theirs:
        program._answer(theirs, request, None, None)  # type: ignore[arg-type]
        head, body = messages.receive_message(ours, messages.ReaderAnswer)
    assert head.status == 500
    assert json.loads(body)["error"]["message"] == "the query broke what answers it"


def test_memory_that_ends_while_a_trace_is_opened_ends_no_other_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchvise.web.readers import messages, passing
    from benchvise.web.readers import queries as program

    def fails(*_: object, **_more: object) -> None:
        raise MemoryError

    monkeypatch.setattr(program, "open_trace", fails)
    shutil.copy(SMALL, tmp_path / "t.dat")
    control, server = socket.socketpair()
    ours, theirs = socket.socketpair()
    with control, server, ours:
        socket.send_fds(server, [b"+"], [theirs.fileno()])
        theirs.close()
        request = messages.QueryRequest(tmp_path / "t.dat", "SELECT 1", {}, QueryLimits())
        ours.sendall(messages.packed(request))
        program.QueryProcess(passing.PassedControl(control))._take()
        _, body = messages.receive_message(ours, messages.ReaderAnswer)
    said = json.loads(body)["error"]["message"]
    assert said == "reading t.dat needs more memory than there is"


def test_what_each_query_looks_at_is_made_once(client: Client, tmp_path: Path) -> None:
    """Before the fork: what a child makes is gone with it, and was most of what a query took."""
    from benchvise.trace.loaded import load_trace
    from benchvise.web.readers.queries import _prepare

    loaded = load_trace(tmp_path / "t.dat")
    _prepare(loaded)
    assert "description" in vars(loaded.trace) and "actors" in vars(loaded.analysis)


def test_d1_an_endless_query_is_ended(
    shared: Client, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "LIMITS", QueryLimits(rows=10, seconds=1, memory_mb=512))
    answer = query(shared, place, ENDLESS)
    assert answer.json["error"]["message"] == "the query takes longer than 1 s"


def test_d1_an_analysis_that_takes_too_long_does_not_go_on(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(client, tmp_path).status == 200
    before = process(client, "_reader")
    monkeypatch.setattr(pool, "SECONDS", 1e-4)
    answer = ask(client, tmp_path, "tables")
    assert answer.status == 503
    assert answer.json["error"]["message"] == "this takes longer than 0.0001 s"
    assert not Path(f"/proc/{before}").exists()
    monkeypatch.undo()
    assert ask(client, tmp_path, "tables").status == 200


def test_a_query_ends_when_nobody_waits_for_it(shared: Client, place: Path) -> None:
    assert query(shared, place, "SELECT 1").status == 200
    parent = process(shared, "_queries")
    connection, _ = shared.app.state.context.readers._queries.connect()
    from benchvise.web.readers.messages import QueryRequest, packed

    limits = QueryLimits(seconds=600)
    connection.sendall(packed(QueryRequest(place / "t.dat", ENDLESS, {}, limits)))
    until = time.monotonic() + PATIENCE
    while not children(parent):
        assert time.monotonic() < until
        time.sleep(0.02)
    connection.close()
    while children(parent):
        assert time.monotonic() < until
        time.sleep(0.02)


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.parametrize("which", ["_reader", "_queries"])
def test_a_reader_that_was_killed_is_started_again(shared: Client, place: Path, which: str) -> None:
    assert ask(shared, place).status == 200
    assert query(shared, place, "SELECT 1").status == 200
    os.kill(process(shared, which), signal.SIGKILL)
    assert ask(shared, place).status == 200
    assert query(shared, place, "SELECT 1").status == 200


@pytest.mark.long
def test_d2_a_trace_that_is_cut_while_it_is_read_ends_no_server(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that are mapped are cut at random moments; each answer is one or a sentence."""
    monkeypatch.setattr(file_index, "FRESH_SECONDS", 0)
    path = tmp_path / "t.dat"
    whole = path.read_bytes()
    assert ask(client, tmp_path, "rows").status == 200
    until = time.monotonic() + PATIENCE
    cached = tmp_path / "t.dat.benchvise-cache"
    while not (cached / "levels" / "manifest").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    stop = threading.Event()

    def cut() -> None:
        while not stop.wait(0.05):
            for file in [*cached.glob("*/*.arrow"), path]:
                with suppress(FileNotFoundError):  # replaced just now
                    os.truncate(file, 100)
            if stop.wait(0.05):
                break
            path.write_bytes(whole)

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        rounds = 3 if skips.LONG else 1
        for what in ("rows", "overview", "actors", "log", "tables", "load") * rounds:
            answer = ask(client, tmp_path, what)
            assert answer.status == 200 or set(answer.json["error"]) == {"message", "remedy"}
            answer = query(client, tmp_path, "SELECT sum(prev_prio) FROM sched_switch")
            assert answer.status == 200 or answer.json["error"]["message"]
    finally:
        stop.set()
        cutter.join()
    path.write_bytes(whole)
    shutil.rmtree(cached, ignore_errors=True)  # a reader may be putting something there
    assert ask(client, tmp_path, "rows").status == 200


def _delete(path: Path, kept: Path) -> None:
    """As ``rm -r`` does."""
    path.unlink(missing_ok=True)
    shutil.rmtree(kept, ignore_errors=True)


def _replace(path: Path, kept: Path) -> None:
    """As a program does that writes files whole."""
    _put(path, trace("f100k").read_bytes())


def _replace_by_no_trace(path: Path, kept: Path) -> None:
    _put(path, b"\x17\x08\x44tracing6\0" + os.urandom(10_000))


def _replace_by_a_directory(path: Path, kept: Path) -> None:
    path.unlink(missing_ok=True)
    with suppress(FileExistsError):
        path.mkdir()


def _forget_what_is_kept(path: Path, kept: Path) -> None:
    shutil.rmtree(kept, ignore_errors=True)


def _replace_what_is_kept(path: Path, kept: Path) -> None:
    """Files that are being mapped or written: by others of the same name, and by links."""
    for file in [*kept.glob("*/*"), *kept.glob(".new-*/*")]:
        with suppress(OSError):  # put in place just now
            _put(file, os.urandom(1000))
    with suppress(OSError):
        (kept / "decoded").rename(kept / "levels")


def _put(path: Path, content: bytes) -> None:
    beside = path.with_name(f"{path.name}.part")
    beside.write_bytes(content)
    if path.is_dir():
        path.rmdir()
    beside.replace(path)


@pytest.mark.parametrize(
    "change",
    [
        _delete,
        _replace,
        _replace_by_no_trace,
        _replace_by_a_directory,
        _forget_what_is_kept,
        _replace_what_is_kept,
    ],
)
def test_d2_a_trace_that_changes_under_a_reader_ends_no_server(
    client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path, Path], None],
) -> None:
    """Deleted or replaced at any moment, also while what is kept of it is written or read."""
    monkeypatch.setattr(file_index, "FRESH_SECONDS", 0)
    path, kept = tmp_path / "t.dat", tmp_path / "t.dat.benchvise-cache"
    whole = SMALL.read_bytes()
    _put(path, whole)
    stop = threading.Event()
    changes = 0

    def disturb() -> None:
        nonlocal changes
        pauses = random.Random(5)
        while not stop.wait(pauses.uniform(0, 0.15)):
            change(path, kept)
            changes += 1
            if stop.wait(pauses.uniform(0, 0.1)):
                return
            _put(path, whole)

    disturber = threading.Thread(target=disturb)
    disturber.start()
    answered: list[int] = []
    try:
        while len(answered) < 20 or changes < 10:
            for what in ("rows", "overview", "actors", "tables"):
                answered.append(assert_answered(ask(client, tmp_path, what)))
            sum_of_one = "SELECT sum(prev_prio) FROM sched_switch"
            answered.append(assert_answered(query(client, tmp_path, sum_of_one)))
    finally:
        stop.set()
        disturber.join()
    _put(path, whole)
    assert query(client, tmp_path, "SELECT 42 AS n").json["rows"] == [[42]]
    assert ask(client, tmp_path, "rows").status == 200


def assert_answered(answer: Answer) -> int:
    """With what was asked for, or with a sentence that says what became of the file."""
    if answer.status == 200:
        return 200
    assert set(answer.json["error"]) == {"message", "remedy"}
    assert 400 <= answer.status < 500 or answer.status == 503, answer.text
    assert "broke" not in answer.text
    return answer.status


def mapped(pid: int, below: Path) -> set[str]:
    """Names of the files there that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    paths = {line.split(maxsplit=5)[5] for line in lines if str(below) in line}
    return {Path(path).name for path in paths}


def test_d2_the_server_maps_no_file_that_others_may_change(client: Client, tmp_path: Path) -> None:
    """But SQLite's index of its log, which is the store's and as private as that."""
    _put(tmp_path / "t.dat", SMALL.read_bytes())
    for what in ("rows", "actors", "tables"):
        assert ask(client, tmp_path, what).status == 200
    assert query(client, tmp_path, "SELECT count(*) FROM sched_switch").status == 200
    for page in ("/", "/traces", "/captures", f"/traces/{key_of(tmp_path / 't.dat')}"):
        assert client.get(page).status == 200
    assert mapped(os.getpid(), tmp_path) <= {"store.db-shm"}
    in_reader = mapped(process(client, "_reader"), tmp_path)
    in_queries = mapped(process(client, "_queries"), tmp_path)
    assert in_reader and in_queries, "they would be seen"


def test_a_reader_opens_only_what_was_told(client: Client, tmp_path: Path) -> None:
    """Confined: another trace of the same user is not there for it, nor is the network."""
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere.dat"
    shutil.copy(trace("f100k"), elsewhere)
    readers = client.app.state.context.readers
    from benchvise.web.file_index import indexed_file
    from benchvise.web.readers.messages import ForwardedRequest, packed

    file = indexed_file(elsewhere, "elsewhere.dat")
    path = f"/api/traces/{file.key}/info"
    connection, _ = readers._reader.connect()
    connection.sendall(packed(ForwardedRequest("GET", path, "", {}, [file])))
    answer = connection.recv(1 << 16)
    connection.close()
    assert b"Permission denied" in answer
    elsewhere.unlink()
