"""Results as one file: nothing is lost, nothing private travels, nothing hostile enters."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import benchvise
from report_runs import demonstration_run, other_run

from benchvise.cli.json_kinds import document_schema, json_kinds
from benchvise.errors import UsageError
from benchvise.measure.model import ProcessRecord, RunRecord, RunRemark, RunStatus, Sample
from benchvise.state.model import Missing, Snapshot, StateEntry
from benchvise.store import Store, results_file
from benchvise.store.redaction import Redactor
from benchvise.store.results_file import TravellingRun, read_results, write_results
from benchvise.text import Untrusted

MAC, SERIAL, HOST, IP = "dc:a6:32:0f:1e:2d", "10000000abcdef01", "bench-07", "192.0.2.77"
UUID = "8f3c1c4a-9d1d-4c58-a1b1-0a6d1f1b2c3d"


def snapshot(board: str = f"ssh://alice@{HOST}") -> Snapshot:
    return Snapshot(
        board, "2026-03-14T09:26:53Z", UUID, "root", roles={"default_nic": "eth0"},
        settings=(
            StateEntry("process.files", "host name", path="/proc/sys/kernel/hostname", value=HOST),
            StateEntry("boot", "command line", value=f"root=PARTUUID={UUID} smsc.macaddr={MAC}",
                       raw=f"androidboot.serialno={SERIAL} quiet"),
            StateEntry("board", "serial-number", value=SERIAL),
            StateEntry("kernel", "options", value={"SCHED_MM_CID": "y", "VERSION": "1.2.3"}),
            StateEntry("memory.thp", "mode", missing=Missing.UNREADABLE, reason=Untrusted("EPERM")),
        ),
        observations=(StateEntry("log", "lines", value=[f"eth0: {MAC} from {IP}", "cpu 5"]),),
    )  # fmt: skip


def travelling(**changes: Any) -> TravellingRun:
    run = demonstration_run(
        note=Untrusted("heat sink off\nsecond line"),
        tags=("a", "b"),
        remarks=(RunRemark("throttled", f"{HOST} was hot", ("cpu",)),),
        reason=Untrusted("stopped \x1b[2J"),
        plan={"group": "", "prepared": {"boot": {"phases": {"kernel": 1.5}}}},
    )
    first = run.series[0]
    odd = (Sample(0, math.nan), Sample(1, math.inf), Sample(2, -0.1, {"flags": ["preempted"]}))
    process = ProcessRecord(9, {"caveats": ["x"]}, odd, complete=False)
    run = replace(
        run, series=(replace(first, processes=(*first.processes, process)), run.series[1])
    )
    return TravellingRun(
        replace(run, **changes),
        {"before": snapshot(), "after": snapshot()},
        {"console": f"login on {HOST} {MAC}\n".encode(), "raw.bin": b"\xff\xfe" + HOST.encode()},
    )


def packed(*runs: TravellingRun, private: bool = True) -> bytes:
    file = io.BytesIO()
    write_results(file, runs, private=private)
    return file.getvalue()


def opened(content: bytes) -> results_file.ResultsFile:
    return read_results(io.BytesIO(content), "x.bvz")


def comparable(run: RunRecord) -> RunRecord:
    """With not-a-numbers as texts, as none equals itself."""
    return replace(
        run,
        series=tuple(
            replace(
                s,
                processes=tuple(
                    replace(p, samples=tuple(
                        replace(x, value=str(x.value)) for x in p.samples  # type: ignore[arg-type]
                    ))
                    for p in s.processes
                ),
            )
            for s in run.series
        ),
    )  # fmt: skip


# -- nothing is lost -------------------------------------------------------------------------------


def test_a_file_holds_everything() -> None:
    one, other = travelling(), TravellingRun(other_run())
    content = opened(packed(one, other))
    back = content.runs
    assert [comparable(b.run) for b in back] == [comparable(r.run) for r in (one, other)]
    assert back[0].snapshots == one.snapshots and back[1].snapshots == {}
    assert back[0].attachments == one.attachments
    assert content.redacted == ()
    assert packed(*back) == packed(one, other), "the same runs make the same file"


def test_from_store_to_store_and_back(tmp_path: Path) -> None:
    one = travelling()
    files: list[bytes] = []
    for name in ("a.db", "b.db"):
        with Store.open(str(tmp_path / name)) as store:
            source = [one] if not files else list(opened(files[-1]).runs)
            assert store.take_in(source) == [one.run.id]
            assert store.take_in(source) == [], "the second time it is there already"
            kept = store.travelling(one.run.label, attachments=True)
            assert kept.snapshots == one.snapshots and kept.attachments == one.attachments
            files.append(packed(kept))
            loaded = store.load("@")
    assert files[0] == files[1]
    stored = comparable(loaded)
    assert replace(stored, started="", finished="") == replace(
        comparable(one.run), started="", finished="", reason=stored.reason
    )
    assert stored.started.startswith("2026-03-14T09:26:53")


@given(st.lists(st.floats(allow_nan=True), max_size=5))
def test_every_float_comes_back(values: list[float]) -> None:
    samples = tuple(Sample(index, value) for index, value in enumerate(values))
    run = demonstration_run()
    series = replace(run.series[0], processes=(ProcessRecord(0, {}, samples, True),))
    one = TravellingRun(replace(run, series=(series,)))
    (back,) = opened(packed(one)).runs
    assert comparable(back.run) == comparable(one.run)


def test_one_store_keeps_all_or_nothing(tmp_path: Path) -> None:
    bad = replace(other_run(), label="@1")
    with Store.open(str(tmp_path / "a.db")) as store:
        with pytest.raises(UsageError, match="label"):
            store.take_in([travelling(), TravellingRun(bad)])
        assert store.runs() == []


# -- nothing private travels -----------------------------------------------------------------------


def test_what_is_private_is_replaced() -> None:
    one = travelling()
    content = packed(one, private=False)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist()).decode()
    for secret in (MAC, SERIAL, HOST, IP, UUID, "alice"):
        assert secret not in everything, secret
    back = opened(content)
    assert {r.kind: r.different for r in back.redacted} == {
        "host names": 1, "user names": 1, "MAC addresses": 1, "IP addresses": 1, "UUIDs": 1,
        "serial numbers": 1,
    }  # fmt: skip
    assert all(r.places >= r.different for r in back.redacted)
    (run,) = back.runs
    assert run.run.board == "ssh://root@host-1"
    assert run.snapshots["before"].board == "ssh://user-1@host-1"
    assert run.run.host["hostname"] == "host-1"
    assert run.run.remarks[0].sentence == "host-1 was hot"
    assert [s.spec for s in run.run.series] == [s.spec for s in one.run.series]
    assert run.attachments == {"console": b"login on host-1 mac-1\n"}, "no text: left out"
    settings = {e.key: e.value for e in run.snapshots["before"].settings}
    assert settings["command line"] == "root=PARTUUID=uuid-1 smsc.macaddr=mac-1"
    assert settings["serial-number"] == "serial-1"
    assert settings["options"] == {"SCHED_MM_CID": "y", "VERSION": "1.2.3"}


@pytest.mark.parametrize(
    "text",
    [
        "12:34:56", "1.2.3", "v6.6.32.1-yocto", "::", "std::vector", "127.0.0.1", "255.255.255.0",
        "size=64M,source=random", "0-7", "2026-03-14T09:26:53Z", "a:b", "memory.copy", "4.19.0.11a",
    ],
)  # fmt: skip
def test_what_is_not_private_stays(text: str) -> None:
    redactor = Redactor()
    redactor.know_host("localhost")
    redactor.know_address("local")
    redactor.know_address("rig:pi4")
    assert redactor.text(text) == text
    assert redactor.summary() == []


@pytest.mark.parametrize(
    ("home", "shared"),
    [
        ("/home/alice", "/home/user-1"),
        ("/nfs/home/alice.b/x", "/nfs/home/user-1/x"),
        ("/home/pi", "/home/pi"),
        ("/root", "/root"),
    ],
)
def test_a_home_directory_names_nobody(home: str, shared: str) -> None:
    assert Redactor().document({"HOME": home, "TMPDIR": home}) == {"HOME": shared, "TMPDIR": home}


def test_a_short_host_name_is_no_word() -> None:
    redactor = Redactor()
    redactor.know_host("vm")
    assert redactor.document({"hostname": "vm", "flags": "vm x"}) == {
        "hostname": "host-1", "flags": "vm x",
    }  # fmt: skip


# -- nothing hostile enters ------------------------------------------------------------------------


def rewritten(change: Callable[[dict[str, bytes]], None]) -> bytes:
    """The file with its parts changed; checksums of the manifest stay as ``change`` leaves them."""
    with zipfile.ZipFile(io.BytesIO(packed(travelling()))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def manifest(**changes: object) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        document = json.loads(parts["manifest.json"])
        parts["manifest.json"] = json.dumps({**document, **changes}).encode()

    return change


def run_with(**changes: object) -> Callable[[dict[str, bytes]], None]:
    """A run that says something else, with the right checksum."""

    def change(parts: dict[str, bytes]) -> None:
        (name,) = (name for name in parts if name.startswith("runs/"))
        document = json.loads(parts[name])
        document["run"] |= changes
        parts[name] = json.dumps(document).encode()
        described: Mapping[str, Any] = json.loads(parts["manifest.json"])
        sums = {**described["parts"], name: sha256(parts[name]).hexdigest()}
        manifest(parts=sums)(parts)

    return change


def added(name: str) -> Callable[[dict[str, bytes]], None]:
    return lambda parts: parts.update({name: b"x"})


HOSTILE: Mapping[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "a path upwards": (added("../../etc/cron.d/x"), "no part"),
    "an absolute path": (added("/etc/passwd"), "no part"),
    "a path within": (added("attachments/4f2a91c07be3/../x"), "no part"),
    "escapes in a name": (added("runs/\x1b[2J.json"), "no part"),
    "a part of no run": (added("runs/0123456789ab.json"), "not those that its manifest names"),
    "a newer format": (manifest(format=2), "has format 2"),
    "no format": (manifest(format=None), "has format None"),
    "another kind": (manifest(kind="snapshot"), "none of results"),
    "a run twice": (manifest(runs=["4f2a91c07be3"] * 2), "twice"),
    "a run that is not there": (manifest(runs=["0123456789ab"]), "is missing"),
    "a path as a run": (manifest(runs=["../../../x"]), "is missing"),
    "no manifest": (lambda parts: parts.__delitem__("manifest.json"), "no manifest"),
    "a manifest that is no JSON": (
        lambda parts: parts.update({"manifest.json": b"[" * 100_000}), "makes no sense",
    ),
    "a part that was changed": (
        lambda parts: parts.update({"runs/4f2a91c07be3.json": b"{}"}), "checksum",
    ),
    "another id": (run_with(id="0123456789ab"), "calls itself"),
    "an id that is a path": (run_with(id="../../x"), "calls itself"),
    "a run under way": (run_with(status=RunStatus.RUNNING), "not finished"),
    "a status that is none": (run_with(status="fine"), "makes no sense"),
    "samples that are none": (run_with(series=[{"processes": 5}]), "makes no sense"),
    "a value that is a text": (
        run_with(series=[{"processes": [{"samples": [{"value": "1e5"}]}]}]), "makes no sense",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str) -> None:
    change, says = HOSTILE[name]
    with pytest.raises(UsageError, match=says) as refused:
        opened(rewritten(change))
    assert "x.bvz is refused" in str(refused.value)
    assert "\x1b" not in str(refused.value) and "\n" not in str(refused.value)


def test_an_archive_that_grows_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bomb: the archive says a part is small; no more of it is read than may be."""
    content = rewritten(lambda parts: parts.update({"runs/4f2a91c07be3.json": b" " * 50_000_000}))
    assert len(content) < 1_000_000
    monkeypatch.setattr(results_file, "PART_BYTES", 1 << 20)
    with pytest.raises(UsageError, match="more than 1 MiB unpacked"):
        opened(content)
    monkeypatch.setattr(results_file, "PART_BYTES", 1 << 40)
    monkeypatch.setattr(results_file, "FILE_BYTES", 1 << 20)
    with pytest.raises(UsageError, match="unpacked"):
        opened(content)


@given(st.data())
def test_damaged_files_are_refused_or_read(data: st.DataObject) -> None:
    content = bytearray(packed(TravellingRun(demonstration_run(series=()))))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    try:
        opened(bytes(content[:cut]))
    except UsageError as error:
        assert "is refused" in str(error)


# -- the commands ----------------------------------------------------------------------------------


def checked(kind: str, words: Sequence[str]) -> Any:
    """What a command prints as JSON, held against its schema."""
    ran = benchvise(*words, "--json")
    assert ran.code == 0, ran.err
    jsonschema.validate(json.loads(ran.out), document_schema(kind, json_kinds()[kind]))
    return ran.data


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open("a.db") as store:
        store.take_in([travelling()])
    out = benchvise("export", "vendor-5.10", "@", "--store", "a.db")
    assert out.code == 0, out.err
    assert "1 run in results.bvz" in out.out and "MAC addresses (1, in " in out.out
    again = checked("export", ["export", "@", "--store", "a.db", "--private", "-o", "p.bvz"])
    assert again == {"file": "p.bvz", "runs": ["4f2a91c07be3"], "redacted": []}
    words = ["import", "results.bvz", "--store", "b.db", "--board", "ssh://theirs"]
    data = checked("import", words)
    assert data["imported"] == ["4f2a91c07be3"] and data["present"] == []
    shown = benchvise("show", "@", "--store", "b.db", "--json").data
    assert shown["board"] == "ssh://theirs" and shown["note"] == "heat sink off\nsecond line"
    assert "already here" in benchvise("import", "results.bvz", "--store", "b.db").out
    (tmp_path / "no.bvz").write_bytes(b"PK\x03\x04 nothing")
    for file, says in (
        ("no.bvz", "is refused"),
        ("none.bvz", "cannot be read"),
        (".", "no regular"),
        ("/dev/zero", "no regular"),
    ):
        refused = benchvise("import", file, "--store", "b.db")
        assert refused.code == 2 and says in refused.err
