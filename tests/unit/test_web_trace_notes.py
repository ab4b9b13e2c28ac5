"""Notes on traces over the workbench: where they are found again, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from web_client import Answer, Client

from benchvise.trace.manifest import quick_digest
from benchvise.web.file_index import key_of

TRACE = Path(__file__).parents[1] / "data" / "traces" / "small.dat"
HOSTILE = "</script><img src=x onerror=alert(1)> \u202egnp.exe \x1b[31mred"


@pytest.fixture
def client(tmp_path: Path) -> Client:
    (tmp_path / "traces").mkdir()
    shutil.copy(TRACE, tmp_path / "traces" / "a.dat")
    return Client.of(store=str(tmp_path / "store.db"), traces=(tmp_path / "traces",), no_token=True)


def post(client: Client, path: str, content: object) -> Answer:
    body = json.dumps(content).encode()
    return client.post(path, body, accept="application/json", content_type="application/json")


def notes_at(client: Client, path: Path) -> list[dict[str, Any]]:
    notes: list[dict[str, Any]] = client.get(f"/traces/{key_of(path)}/notes.json").data["notes"]
    return notes


def test_a_note_is_kept_edited_and_deleted_and_goes_with_the_recording(
    client: Client, tmp_path: Path
) -> None:
    first = tmp_path / "traces" / "a.dat"
    at = f"/traces/{key_of(first)}/notes"
    assert notes_at(client, first) == []
    added = post(client, at, {"begin": 10, "end": 20, "row": "cpu  CPU 0", "text": HOSTILE})
    assert added.status == 200
    (note,) = added.data["notes"]
    assert (note["begin"], note["end"], note["row"], note["revision"]) == (10, 20, "cpu  CPU 0", 1)
    # As JSON has texts from outside: what acts or turns is replaced.
    assert "\u202e" not in note["text"] and "\x1b" not in note["text"]
    assert note["text"].startswith("</script><img")
    assert added.headers["content-type"] == "application/json"
    assert note["author"] and note["written"].startswith("20")

    moved = tmp_path / "traces" / "moved.dat"
    moved.write_bytes(first.read_bytes())
    other = tmp_path / "traces" / "other.dat"
    other.write_bytes(first.read_bytes()[:-1] + b"?")
    client.app.state.context.traces._at = float("-inf")
    assert [each["id"] for each in notes_at(client, moved)] == [note["id"]]
    assert notes_at(client, other) == []

    of_note = f"{at}/{note['id']}"
    edited = {"begin": 10, "end": 10, "row": "", "text": "a stall", "revision": 1}
    assert post(client, of_note, edited).data["notes"][0]["text"] == "a stall"
    lost = post(client, of_note, edited)
    assert lost.status == 400 and "somebody else" in lost.json["error"]["message"]
    assert post(client, f"{of_note}/delete", {}).data["notes"] == []
    assert post(client, f"{of_note}/delete", {}).status == 400


def test_what_is_no_note_is_refused_in_a_line(client: Client, tmp_path: Path) -> None:
    at = f"/traces/{key_of(tmp_path / 'traces' / 'a.dat')}/notes"
    for content, fault in (
        (["no object"], "there is no note"),
        ({"begin": 1.5, "end": 2, "text": "x"}, "begin is no whole number"),
        ({"begin": True, "end": 2, "text": "x"}, "begin is no whole number"),
        ({"begin": 1, "end": 2, "text": ["x"]}, "text is no text"),
        ({"begin": 3, "end": 2, "text": "x"}, "no span of time"),
        ({"begin": 1, "end": 2, "text": ""}, "no text"),
    ):
        answer = post(client, at, content)
        assert answer.status == 400 and fault in answer.json["error"]["message"], content
    assert post(client, "/traces/none/notes", {}).status in (400, 404)
    assert client.get("/traces/none/notes.json").status == 404


def test_a_directory_is_known_by_its_files_and_not_by_its_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "kernel").mkdir(parents=True)
        (tmp_path / name / "kernel" / "metadata").write_bytes(b"/* CTF 1.8 */")
        (tmp_path / name / "kernel" / "stream").write_bytes(b"x" * 200_000)
    assert quick_digest(tmp_path / "one") == quick_digest(tmp_path / "two")
    (tmp_path / "two" / "kernel" / "stream").write_bytes(b"x" * 199_999 + b"y")
    assert quick_digest(tmp_path / "one") != quick_digest(tmp_path / "two")
