"""Processes for boards are forked from one server, in the environment that is now."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchvise.rig.hold import forks
from benchvise.rig.hold.forks import Forked
from benchvise.rig.hold.messages import WorkerOrder
from benchvise.rig.locks import DIRECTORY_VARIABLE

RIG = """
targets:
  one:
    resources:
      NetworkPowerPort: {model: simplerest, host: "http://127.0.0.1:9/{index}/{value}", index: "1"}
      NetworkSerialPort: {host: 127.0.0.1, port: 9, protocol: raw}
    drivers: {NetworkPowerDriver: {}, SerialDriver: {}, CardStrategy: {}}
imports: [benchvise.rig.drivers]
"""


@pytest.fixture(autouse=True)
def no_server() -> Iterator[None]:
    """None that another test has started, and none is left."""
    stop()
    yield
    stop()


def stop() -> None:
    while forks._servers:
        forks._servers.pop().close()


@pytest.fixture
def order(tmp_path: Path) -> WorkerOrder:
    rig = tmp_path / "rig.yaml"
    rig.write_text(RIG)
    return WorkerOrder(str(rig), "one", "a test")


def said(order: WorkerOrder) -> str:
    """What a process says of its order until it ends, and on its standard error."""
    with tempfile.TemporaryFile() as errors:
        process = Forked(order, errors)
        try:
            answer = process.stdout.readline()
            process.stdin.close()
            assert process.wait(60) is not None
        finally:
            process.close()
        errors.seek(0)
        return answer + errors.read().decode()


def test_a_process_has_the_environment_of_its_order_from_the_same_server(
    order: WorkerOrder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("before", "after"):
        (tmp_path / name).write_text("no directory")
        monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / name))
        monkeypatch.setenv("NO_TEXT", "\udce9")
        assert str(tmp_path / name) in said(order)
    assert len(forks._servers) == 1


def test_what_is_read_at_the_start_of_a_program_takes_another_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = forks._server()
    monkeypatch.setenv("HOME", "/nowhere")
    assert forks._server() is first
    monkeypatch.setenv("LG_PROXY", "nowhere.invalid")
    second = forks._server()
    assert second is not first
    monkeypatch.delenv("LG_PROXY")
    assert forks._server() not in (first, second)


def test_an_environment_of_any_size_is_taken_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONG", "x" * 120_000)
    monkeypatch.setenv("EQUALS", "a=b\nc")
    monkeypatch.setenv("EMPTY", "")
    before = dict(os.environ)
    with forks._environment_file() as file:
        monkeypatch.delenv("LONG")
        monkeypatch.setenv("ANOTHER", "1")
        forks._take_environment(file.fileno())
    assert dict(os.environ) == before
