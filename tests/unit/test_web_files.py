"""Which files the workbench shows, and that nothing else can be named."""

from __future__ import annotations

import gzip
import json
import os
import struct
from pathlib import Path
from uuid import UUID

import pytest
from report_runs import demonstration_run
from web_client import Client
from web_store import keep_run
from why_documents import watched

from benchvise.store import Store
from benchvise.web import file_index
from benchvise.web.file_index import FileIndex, capture_index, trace_index
from benchvise.web.http import NotFound
from benchvise.web.trace_kinds import is_trace, session_traces, trace_kind

HEAD = b"\x17\x08\x44tracing6\0" + b"\0" * 100


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "traces"
    (directory / "deep" / "deeper").mkdir(parents=True)
    (directory / "a.dat").write_bytes(HEAD)
    (directory / "deep" / "perf.data").write_bytes(b"PERFILE2" + b"\0" * 100)
    (directory / "deep" / "deeper" / "lttng").mkdir()
    (directory / "deep" / "deeper" / "lttng" / "metadata").write_bytes(b"/* CTF 1.8 */")
    (directory / "notes.txt").write_text("no trace")
    return directory


def shelf(*roots: Path) -> FileIndex:
    return FileIndex(roots, is_trace, "trace")


def test_traces_are_told_by_what_they_begin_with(root: Path) -> None:
    places = {file.place for file in shelf(root).files()}
    assert places == {"a.dat", "deep/perf.data", "deep/deeper/lttng"}


def test_a_key_says_the_name_and_stays_the_same(root: Path) -> None:
    first, second = ({f.place: f.key for f in shelf(root).files()} for _ in range(2))
    assert first == second
    assert first["a.dat"].startswith("a-dat-")
    assert shelf(root).find(first["a.dat"]).path == root / "a.dat"


def test_two_of_one_name_have_two_keys(root: Path) -> None:
    (root / "deep" / "a.dat").write_bytes(HEAD)
    assert len({file.key for file in shelf(root).files()}) == 4


@pytest.mark.parametrize("key", ["../a.dat", "a.dat", "/etc/passwd", "", "x" * 10_000])
def test_a_key_is_never_a_path(root: Path, key: str) -> None:
    with pytest.raises(NotFound, match="there is no trace"):
        shelf(root).find(key)


def test_d8_links_lead_nowhere(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.dat").write_bytes(HEAD)
    (root / "link.dat").symlink_to(outside / "secret.dat")
    (root / "linked").symlink_to(outside)
    assert not [file for file in shelf(root).files() if "secret" in file.key or "link" in file.key]


def test_what_cannot_be_opened_does_not_hang(root: Path) -> None:
    os.mkfifo(root / "pipe.dat")
    assert len(shelf(root).files()) == 3


def test_a_directory_of_very_many_files_is_cut(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_index, "FILES", 2)
    few = shelf(root)
    assert len(few.files()) == 2
    assert few.cut


def test_traces_of_runs_are_shown_with_them(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    run = keep_run(store, demonstration_run(series=()), label="traced")
    with Store.open(store) as opened:
        opened.trace_file(run).write_bytes(HEAD)
        (found,) = trace_index((), lambda: opened).files()
    assert (found.run, found.place) == (run, "of run traced")


def test_recordings_of_watched_commands_are_shown_and_linked(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    with Store.open(store) as opened:
        diagnosis = opened.keep_diagnosis(watched())
        opened.trace_file(f"{diagnosis}-bad").write_bytes(HEAD)
        (found,) = trace_index((), lambda: opened).files()
    assert (found.run, found.place) == (None, f"of diagnosis {diagnosis}, bad side")
    page = Client.of(store=store).get(f"/diagnoses/{diagnosis}").text
    assert f'<a href="/traces/{found.key}">bad side</a>' in page
    assert "good side</a>" not in page
    assert "command-bad.dat" not in page


def test_captures_are_told_by_their_names(tmp_path: Path) -> None:
    for name in ("a.sr", "b.VCD", "c.csv", "d.txt"):
        (tmp_path / name).write_bytes(b"")
    found = capture_index((tmp_path,)).files()
    assert {file.name for file in found} == {"a.sr", "b.VCD", "c.csv"}
    client = Client.of(store=str(tmp_path / "store.db"), captures=(tmp_path,))
    assert len(client.get("/captures.json").data["captures"]) == 3


def test_the_list_says_nothing_of_where_the_roots_are(root: Path, tmp_path: Path) -> None:
    client = Client.of(store=str(tmp_path / "store.db"), traces=(root,))
    assert str(root) not in client.get("/traces").text
    assert str(root) not in client.get("/traces.json").text
    assert len(client.get("/traces.json").data["traces"]) == 3


# -- sessions of LTTng -----------------------------------------------------------------------------

BOOT, OTHER_BOOT = "7a1d5bd0-8d4c-4c2f-9d2b-0123456789ab", "11111111-8d4c-4c2f-9d2b-0123456789ab"


def metadata(directory: Path, clock: str, *, packets: bool = False) -> None:
    """Metadata that name a clock, as text or as LTTng's tracers write them."""
    text = f'trace {{ major = 1; }};\nclock {{\n\tuuid = "{clock}";\n}};'.encode()
    if packets:
        half, parts = len(text) // 2, b""
        for part in (text[:half], text[half:]):
            used, size = 37 + len(part), 37 + len(part) + 11
            head = struct.pack(
                "<I16sIIIBBBBB", 0x75D11D57, b"", 0, 8 * used, 8 * size, 0, 0, 0, 1, 8
            )
            parts += head + part + bytes(11)
        text = parts
    directory.mkdir(parents=True)
    (directory / "metadata").write_bytes(text)
    (directory / "channel0_0").write_bytes(b"x" * 100)


def sessions(root: Path) -> dict[str, int]:
    index = FileIndex((root,), is_trace, "trace", parts_of=session_traces)
    return {file.place: file.size for file in index.files()}


def test_kernel_and_user_space_of_a_session_are_one_trace(tmp_path: Path) -> None:
    both = tmp_path / "both"
    metadata(both / "kernel", BOOT, packets=True)
    metadata(both / "ust" / "uid" / "0" / "64-bit", BOOT.upper())
    metadata(tmp_path / "alone" / "kernel", BOOT)
    for chunk in "ab":
        metadata(tmp_path / "rotated" / "archives" / chunk / "kernel", BOOT)
    size = (both / "kernel" / "metadata").stat().st_size
    size += (both / "ust/uid/0/64-bit/metadata").stat().st_size + 200
    found = sessions(tmp_path)
    assert set(found) == {"both", "alone/kernel", "rotated"}
    assert found["both"] == size
    # Where it is the directory that is served, it stands in the list by its own name.
    assert set(sessions(both)) == {"both"}


def test_traces_that_do_not_share_a_clock_are_listed_each(tmp_path: Path) -> None:
    metadata(tmp_path / "session" / "kernel", BOOT)
    metadata(tmp_path / "session" / "ust" / "pid" / "cat-7-20261130", OTHER_BOOT)
    assert set(sessions(tmp_path)) == {"session/kernel", "session/ust/pid/cat-7-20261130"}
    (tmp_path / "session" / "kernel" / "metadata").write_bytes(b"\x57\x1d\xd1\x75 and no more")
    assert len(sessions(tmp_path)) == 2


def test_copies_beside_each_other_are_a_session_by_what_they_say(tmp_path: Path) -> None:
    """As ``labs/202-bug-hunt/traces/cat-kern-ust.tgz`` of tracevizlab has them."""
    said = {
        "lab": [("cat-kernel", "kernel", ""), ("cat-ust", "ust", "")],
        "two-recordings": [("before", "kernel", ""), ("after", "kernel", "")],
        "two-sessions": [("a", "kernel", 'trace_name = "a";'), ("b", "ust", 'trace_name = "b";')],
    }
    for place, traces in said.items():
        for name, domain, more in traces:
            metadata(tmp_path / place / name, BOOT)
            with (tmp_path / place / name / "metadata").open("a") as file:
                file.write(f'env {{ domain = "{domain}"; {more} }};')
    assert set(sessions(tmp_path)) == {
        *("lab", "two-recordings/before", "two-recordings/after"),
        *("two-sessions/a", "two-sessions/b"),
    }


def test_the_metadata_of_ctf_2_name_clock_domain_and_session(tmp_path: Path) -> None:
    """As lttng-modules 2.14 writes them (a name of the clock), and lttng-tools before it (its
    number, and texts that are indented)."""

    def texts(directory: Path, *fragments: object, indent: int | None = None) -> None:
        directory.mkdir(parents=True)
        text = "".join(f"\x1e{json.dumps(each, indent=indent)}\n" for each in fragments)
        (directory / "metadata").write_text(text)
        (directory / "channel0_0").write_bytes(b"x" * 100)

    preamble = {"type": "preamble", "version": 2, "uuid": list(range(16))}
    named = {"type": "clock-class", "id": "monotonic", "name": "monotonic", "uid": BOOT}
    numbered = {"type": "clock-class", "name": "monotonic", "uuid": list(UUID(BOOT).bytes)}

    def of(domain: str, session: str = "auto") -> dict[str, object]:
        return {"type": "trace-class", "environment": {"domain": domain, "trace_name": session}}

    written = tmp_path / "written"
    texts(written / "kernel", preamble, of("kernel"), named)
    texts(written / "ust" / "uid" / "0" / "64-bit", preamble, of("ust"), numbered, indent=2)
    metadata(tmp_path / "mixed" / "kernel", BOOT.upper(), packets=True)
    texts(tmp_path / "mixed" / "ust" / "pid" / "cat-7-20261130", preamble, of("ust"), named)
    for place, (a, b) in {"copied": ("s", "s"), "two-sessions": ("s", "t")}.items():
        texts(tmp_path / place / "a", preamble, of("kernel", a), named)
        texts(tmp_path / place / "b", preamble, of("ust", b), named)
    other = {**named, "uid": OTHER_BOOT}
    texts(tmp_path / "two-boots" / "kernel", preamble, of("kernel"), named)
    texts(tmp_path / "two-boots" / "ust" / "uid" / "0" / "64-bit", preamble, of("ust"), other)
    texts(tmp_path / "broken" / "kernel", preamble, {"type": "clock-class", "uuid": [1, "x"]}, 7)
    texts(tmp_path / "broken" / "ust" / "uid" / "0" / "64-bit", preamble, named)
    assert set(sessions(tmp_path)) == {
        *("written", "mixed", "copied", "two-sessions/a", "two-sessions/b"),
        *("two-boots/kernel", "two-boots/ust/uid/0/64-bit"),
        *("broken/kernel", "broken/ust/uid/0/64-bit"),
    }


def test_a_deleted_trace_is_not_listed_any_more(root: Path) -> None:
    index = shelf(root)
    keys = {file.place: file.key for file in index.files()}
    (root / "a.dat").unlink()
    assert {file.place for file in index.files()} == {"deep/perf.data", "deep/deeper/lttng"}
    with pytest.raises(NotFound):
        index.find(keys["a.dat"])


def test_a_link_is_no_part_of_a_session(tmp_path: Path) -> None:
    metadata(tmp_path / "outside" / "64-bit", BOOT)
    metadata(tmp_path / "root" / "session" / "kernel", BOOT)
    (tmp_path / "root" / "session" / "ust" / "uid").mkdir(parents=True)
    (tmp_path / "root" / "session" / "ust" / "uid" / "0").symlink_to(tmp_path / "outside")
    assert set(sessions(tmp_path / "root")) == {"session/kernel"}


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.json", b' {"displayTimeUnit":"ns","traceEvents":[', "Chrome JSON"),
        ("a.json", b'[\n{"name":"x","ph":"B"', "Chrome JSON"),
        ("a.json", b'[ {}, {"ph":"X"', "Chrome JSON"),
        ("a.json", b'{"events":[]}', ""),
        ("a.data", b"PERFFILE", "perf.data"),
        ("a.json.gz", gzip.compress(b'{"traceEvents":[]}', mtime=0), "Chrome JSON"),
        ("a.pftrace", b"\x0a\x02\x50\x03\x0a\x02\x50\x04", "Perfetto"),
        ("a.pftrace.gz", gzip.compress(b"\x0a\x02\x50\x03", mtime=0), "Perfetto"),
        ("a.trace", b"# tracer: nop\n#\n", "ftrace text"),
        (
            "a.html",
            b"<!DOCTYPE html>\n  sh-9  (   9) [001] d..2  5.25: sched_switch: x",
            "ftrace text",
        ),
        ("a.txt", b"\n\nnotes of a meeting - 9 [1] 5.2: one", ""),
        ("a.md", b"# tracer: nop", ""),
        ("a.json.gz", b"\x1f\x8b\x08 no gzip", ""),
    ],
)
def test_the_begin_of_a_file_tells_its_format(
    name: str, content: bytes, kind: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert trace_kind(tmp_path / name) == kind
