"""The evidence log: replay from every cut, damage, and a disk that is full."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from why_bench import MemoryBench, diagnose, losses

from benchvise.documents import encode
from benchvise.errors import StoreError, UsageError
from benchvise.why import events
from benchvise.why.case import DiagnosisOptions
from benchvise.why.experiments.evidence import FILE, EvidenceLog
from benchvise.why.model import Diagnosis, DiagnosisVerdict, Stop

NAMES = tuple(f"knob{n}" for n in range(12))


def bench_of(done: int = 0, at: Mapping[int, BaseException] | None = None) -> MemoryBench:
    return MemoryBench(
        NAMES, losses(knob3=0.4, knob7=0.2), done=done, refused=frozenset({"knob5"}), at=at or {}
    )


def whole(directory: Path) -> Diagnosis:
    log = EvidenceLog.create(directory)
    found = diagnose(bench_of(), log=log, options=DiagnosisOptions(seed=5, budget=60))
    log.close()
    return found


def resumed(directory: Path) -> tuple[Diagnosis, list[events.Event]]:
    log = EvidenceLog.resume(directory)
    kinds = [json.loads(line)["kind"] for line in (directory / FILE).read_text().splitlines()]
    seen: list[events.Event] = []
    bench = bench_of(kinds.count("trial"))
    found = diagnose(bench, log=log, options=DiagnosisOptions(seed=5, budget=60), events=seen)
    log.close()
    return found, seen


def test_a_diagnosis_goes_on_from_every_answer_as_if_nothing_had_been(tmp_path: Path) -> None:
    expected = whole(tmp_path / "whole")
    lines = (tmp_path / "whole" / FILE).read_bytes().splitlines(keepends=True)
    assert {json.loads(line)["kind"] for line in lines} >= {"snapshot", "trial", "budget"}
    for cut in range(len(lines) + 1):
        directory = tmp_path / str(cut)
        directory.mkdir()
        (directory / FILE).write_bytes(b"".join(lines[:cut]))
        found, _ = resumed(directory)
        assert encode(found) == encode(expected), cut
        assert (directory / FILE).read_bytes() == b"".join(lines), cut


def test_what_is_replayed_says_so(tmp_path: Path) -> None:
    expected = whole(tmp_path)
    path = tmp_path / FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    _, seen = resumed(tmp_path)
    replayed = [e.replayed for e in seen if isinstance(e, events.TrialTaken)]
    assert len(replayed) == len(expected.trials)
    assert replayed == sorted(replayed, reverse=True)
    assert True in replayed
    assert False in replayed


def test_a_last_line_that_was_cut_off_is_taken_again(tmp_path: Path) -> None:
    expected = whole(tmp_path)
    path = tmp_path / FILE
    data = path.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    for size in range(last, len(data), 7):
        path.write_bytes(data[:size])
        found, _ = resumed(tmp_path)
        assert encode(found) == encode(expected)
        assert path.read_bytes() == data


def test_an_interrupted_diagnosis_goes_on(tmp_path: Path) -> None:
    log = EvidenceLog.create(tmp_path)
    found = diagnose(
        bench_of(at={20: KeyboardInterrupt()}), log=log, options=DiagnosisOptions(seed=5, budget=60)
    )
    log.close()
    assert found.stopped is Stop.INTERRUPTED
    found, _ = resumed(tmp_path)
    assert found.verdict is DiagnosisVerdict.EXPLAINED
    assert {cause.name for cause in found.causes} == {"knob3", "knob7"}


def test_another_question_than_the_recorded_one_is_an_error(tmp_path: Path) -> None:
    whole(tmp_path)
    log = EvidenceLog.resume(tmp_path)
    with pytest.raises(UsageError, match=r"recorded was 'diagnosis'.*changed since"):
        diagnose(bench_of(), log=log, options=DiagnosisOptions(seed=6, budget=60))
    log.close()
    log = EvidenceLog.resume(tmp_path)
    other = replace(bench_of(), names=NAMES[:5])
    with pytest.raises(UsageError, match="recorded was 'suspects'"):
        diagnose(other, log=log, options=DiagnosisOptions(seed=5, budget=60))


def test_what_is_no_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no diagnosis to resume"):
        EvidenceLog.resume(tmp_path)
    whole(tmp_path)
    with pytest.raises(UsageError, match="holds the evidence of a diagnosis already"):
        EvidenceLog.create(tmp_path)
    path = tmp_path / FILE
    lines = path.read_bytes().splitlines(keepends=True)
    for damage in (b"{}\n", b"[1]\n", b"\xff\n", b'{"kind":1,"key":[],"at":0,"answer":{}}\n'):
        path.write_bytes(b"".join([*lines[:3], damage, *lines[4:]]))
        with pytest.raises(UsageError, match="line 4 is damaged"):
            EvidenceLog.resume(tmp_path)


def test_two_cannot_write_the_same_log(tmp_path: Path) -> None:
    log = EvidenceLog.create(tmp_path)
    with pytest.raises(UsageError, match="another diagnosis"):
        EvidenceLog.resume(tmp_path)
    log.close()
    EvidenceLog.resume(tmp_path).close()


def test_a_full_disk_is_said_and_what_is_there_can_be_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = whole(tmp_path / "whole")
    room = 6000
    write = os.write

    def limited(descriptor: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(descriptor, data[:room])
        room -= written
        return written

    log = EvidenceLog.create(tmp_path / "full")
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", limited)
        with pytest.raises(StoreError, match="No space left on device"):
            diagnose(bench_of(), log=log, options=DiagnosisOptions(seed=5, budget=60))
    log.close()
    found, _ = resumed(tmp_path / "full")
    assert encode(found) == encode(expected)


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be kept"):
        EvidenceLog.create(tmp_path / "file" / "below")
