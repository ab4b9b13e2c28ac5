"""Pages of captures, and what their timeline asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import skips
from capture_data import CAPTURES, RESPONSES, needs_captures, sampled, sent_serially
from web_client import Client

from benchvise.errors import CaptureError, UsageError
from benchvise.signal.capture import Capture
from benchvise.signal.levels import LineState
from benchvise.signal.readers.sigrok import write_session
from benchvise.web.captures import served as served_module
from benchvise.web.captures.served import CaptureView, ServedCaptures

ATTACK = "<b onclick=alert(1)>\u202e"
RATE = 1_000_000
US = 1000.0

needs_sigrok = skips.needs("sigrok-cli")


def shots() -> Capture:
    """Twenty stimuli of 100 us, each answered 7 us later, but for one; an answer too many."""
    stimulus, answer = np.zeros(20_000, dtype=np.uint8), np.zeros(20_000, dtype=np.uint8)
    for shot in range(20):
        begin = 500 + 900 * shot
        stimulus[begin : begin + 100] = 1
        if shot != 3:
            answer[begin + 7 : begin + 57] = 1
    answer[1000:1010] = 1
    return sampled(RATE, IN=stimulus, OUT=answer)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("captures")
    write_session(shots(), directory / "shots.sr")
    serial = sampled(RATE, TX=sent_serially(b"Hello, board!" * 3, RATE, 9600))
    write_session(serial, directory / "serial.sr")
    (directory / "idle.out").write_text("".join(f"{n}\t{9e-6 + n * 1e-9}\n" for n in range(50)))
    (directory / "idle_busy.out").write_text(
        "".join(f"{n}\t{5e-6 + n * 1e-9}\n" for n in range(50)) + "50\t9.9E37\n"
    )
    (directory / "broken.sr").write_bytes(b"PK nothing")
    (directory / "notes.txt").write_text("no list\n")
    return directory


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[Client]:
    client = Client.of(store=str(place.parent / "store.db"), captures=(place,))
    yield client
    client.app.state.context.close()


def key(client: Client, name: str) -> str:
    listed = client.get("/captures.json").data["captures"]
    return str(next(one["key"] for one in listed if one["name"] == name))


def table(client: Client, target: str) -> list[dict[str, Any]]:
    answer = client.get(target)
    assert answer.status == 200, answer.text
    rows: list[dict[str, Any]] = pa.ipc.open_stream(answer.body).read_all().to_pylist()
    return rows


def test_captures_and_lists_are_told_apart(client: Client) -> None:
    listed = client.get("/captures.json").data["captures"]
    assert {one["name"]: one["list"] for one in listed} == {
        "shots.sr": False, "serial.sr": False, "broken.sr": False,
        "idle.out": True, "idle_busy.out": True,
    }  # fmt: skip
    assert "Side by side" in client.get("/captures").text
    found = client.get("/captures.json?q=IDLE").data
    assert {one["name"] for one in found["captures"]} == {"idle.out", "idle_busy.out"}
    assert (found["found"], found["of"]) == (2, 5)
    assert "No capture has this name" in client.get("/captures?q=nothing").text


def test_a_capture_is_rows_levels_and_details(client: Client) -> None:
    api = f"/api/captures/{key(client, 'shots.sr')}/-"
    info = client.get(f"{api}/info").json
    assert (info["duration"], info["tick"]) == (20_000 * US, US)
    rows = client.get(f"{api}/rows").json
    assert [(row["id"], row["kind"], row["name"]) for row in rows] == [
        (0, "line", "IN"), (1, "line", "OUT"),
    ]  # fmt: skip
    near = table(client, f"{api}/levels?begin=490000&end=640000&width=300&rows=0")
    assert [(one["begin"], one["end"], one["state"], one["count"]) for one in near] == [
        (0, 500 * US, LineState.LOW, 1),
        (500 * US, 600 * US, LineState.HIGH, 1),
        (600 * US, 1400 * US, LineState.LOW, 1),
    ]
    far = table(client, f"{api}/levels?begin=0&end=20000000&width=10&rows=0-1")
    assert len(far) <= 44 and {one["state"] for one in far} >= {LineState.CHANGES}
    level = client.get(f"{api}/item?row=0&t=550000").json
    assert (level["level"], level["begin"], level["end"]) == ("high", 500 * US, 600 * US)
    assert (level["period"], level["duty"]) == (900 * US, pytest.approx(1 / 9))
    for at, shown in ((599_999.5, "high"), (600_000, "low"), (600_000.5, "low")):
        assert client.get(f"{api}/item?row=0&t={at}").json["level"] == shown
    [measured, _] = client.get(f"{api}/measure?begin=0&end=9500000").json["lines"]
    assert (measured["edges"], round(measured["frequency"])) == (20, 1111)
    assert sum(one["events"] for one in table(client, f"{api}/overview?width=64")) == 80


def test_responses_are_a_figure_a_table_and_marks(client: Client) -> None:
    query = "from=IN:rising&to=OUT:rising&window=0.0005"
    found = client.get(f"/captures/{key(client, 'shots.sr')}.json?{query}").data["responses"]
    assert (len(found["responses"]), found["missed"], found["extra"]) == (19, 1, 1)
    assert found["figures"]["low"] == pytest.approx(7e-6)
    page = client.get(f"/captures/{key(client, 'shots.sr')}?{query}").text
    assert 'data-figure="responses"' in page and "Missed" in page
    asked = CaptureView.of_query({"from": "IN:rising", "to": "OUT:rising", "window": "0.0005"})
    api = f"/api/captures/{key(client, 'shots.sr')}/{asked.segment}"
    marks = table(client, f"{api}/events?begin=0&end=20000000&width=2000&rows=0,1")
    assert [(one["row"], one["time"], one["event"]) for one in marks] == [
        (0, 3200 * US, 0), (1, 1000 * US, 1),
    ]  # fmt: skip


@needs_sigrok
def test_a_serial_line_is_decoded_beneath_its_levels(client: Client) -> None:
    api = f"/api/captures/{key(client, 'serial.sr')}/decode%3Dserial"
    info, rows = client.get(f"{api}/info").json, client.get(f"{api}/rows").json
    assert [row["kind"] for row in rows] == ["line", "annotation"]
    assert rows[1]["name"].startswith("TX 9")
    end = info["duration"]
    said = table(client, f"{api}/levels?begin=0&end={end}&width=4000&rows=1")
    text = "".join(info["texts"][one["actor"]] for one in said)
    assert text.replace("20", " ") == "Hello, board!" * 3
    first = said[0]
    item = client.get(f"{api}/item?row=1&t={first['begin']}").json
    assert (item["text"], item["number"], item["of"]) == ("H", 0, 39)
    last = said[-1]
    item = client.get(f"{api}/item?row=1&t={last['end'] - 0.5}").json
    assert (item["number"], item["begin"], item["end"]) == (38, last["begin"], last["end"])
    assert client.get(f"{api}/item?row=1&t={last['end']}").json["text"] is None
    page = client.get(f"/captures/{key(client, 'serial.sr')}?decode=serial").text
    assert "Serial lines" in page


@needs_sigrok
@pytest.mark.parametrize("how", ["frob", "uart:rx=|sh", "uart:rx", ",", f"uart:rx={ATTACK}"])
def test_a_decoder_that_fails_leaves_the_lines(client: Client, how: str) -> None:
    path = f"/captures/{key(client, 'serial.sr')}"
    from urllib.parse import quote

    answer = client.get(f"{path}.json?decode={quote(how)}")
    assert answer.status == 200 and answer.data["failure"]["message"]
    shown = client.get(f"{path}?decode={quote(how)}")
    assert shown.status == 200 and "<b onclick" not in shown.text


def test_lists_are_laid_side_by_side(client: Client) -> None:
    keys = f"file={key(client, 'idle.out')}&file={key(client, 'idle_busy.out')}"
    found = client.get(f"/captures/responses.json?{keys}").data["configurations"]
    assert [(one["name"], one["figures"]["count"], one["missed"]) for one in found] == [
        ("idle", 50, 0), ("idle_busy", 50, 1),
    ]  # fmt: skip
    assert found[1]["relative"]["ratio"]["value"] == pytest.approx(0.556, abs=0.01)
    page = client.get(f"/captures/responses?{keys}&as=kernel/idle&as=kernel/busy").text
    assert "kernel/busy" in page and 'data-figure="responses"' in page
    assert "Effects of the factors" in page
    one = client.get(f"/captures/{key(client, 'idle.out')}")
    assert one.status == 200 and 'data-figure="responses"' in one.text


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/captures/nothing.json", 404),
        ("/captures/..%2F..%2Fetc%2Fpasswd", 404),
        ("/captures/responses.json", 400),
        ("/captures/responses.json?" + "&".join(["file=x"] * 30), 400),
        ("/captures/{broken}.json", 422),
        ("/captures/{shots}.json?threshold=high", 400),
        ("/captures/{shots}.json?rate=-1", 400),
        ("/captures/{shots}.json?decode=" + "x" * 400, 400),
        ("/api/captures/{shots}/-/levels?begin=0&end=1&width=0&rows=0", 400),
        ("/api/captures/{shots}/-/levels?begin=1&end=1&width=9&rows=0", 400),
        ("/api/captures/{shots}/-/levels?begin=0&end=nan&width=9&rows=0", 400),
        ("/api/captures/{shots}/-/levels?begin=0&end=1&width=9&rows=0-999999999,x", 400),
        ("/api/captures/{shots}/-/item?row=2&t=0", 400),
        ("/api/captures/{shots}/-/measure?begin=5&end=1", 400),
        ("/api/captures/nothing/-/info", 404),
    ],
)
def test_what_cannot_be_answered_says_why(client: Client, target: str, status: int) -> None:
    target = target.replace("{shots}", key(client, "shots.sr"))
    answer = client.get(target.replace("{broken}", key(client, "broken.sr")))
    assert answer.status == status
    if not answer.text.startswith("<!doctype"):
        assert set(answer.json["error"]) == {"message", "remedy"}


def test_an_answer_is_asked_for_once(client: Client) -> None:
    api = f"/api/captures/{key(client, 'shots.sr')}/-"
    first = client.get(f"{api}/overview?width=10")
    assert "no-cache" in first.headers["cache-control"]
    tag = first.headers["etag"]
    assert client.get(f"{api}/overview?width=10", if_none_match=tag).status == 304
    kept = client.get(f"{api}/overview?width=10&v={tag.strip(chr(34))}")
    assert "immutable" in kept.headers["cache-control"]


def test_words_of_an_address_come_back() -> None:
    asked = CaptureView.of_query({"decode": "uart:rx=A/B&c", "from": "IN:rising", "window": "0.5"})
    from urllib.parse import unquote

    assert CaptureView.of_segment(unquote(asked.segment)) == asked
    assert CaptureView().segment == "-" and CaptureView.of_segment("-") == CaptureView()
    with pytest.raises(UsageError, match="window"):
        CaptureView.of_query({"window": "0"})


def test_few_captures_stay_open_and_one_that_changed_is_read_again(tmp_path: Path) -> None:
    read: list[str] = []

    def reading(path: Path, _options: object) -> Capture:
        read.append(path.name)
        if path.name == "bad":
            raise CaptureError("no capture")
        return sampled(10, A=[0, 1, 0, 1])

    kept = ServedCaptures(reading, most=2)
    paths = [tmp_path / name for name in ("one", "two", "three", "bad")]
    for path in paths:
        path.write_text("x")
    one, two, three, bad = paths
    for path in (one, one, two, one, three, one, two):
        kept.get(path, CaptureView())
    assert read == ["one", "two", "three", "two"]
    # CaptureView for in another way, the edges are the same.
    assert kept.get(two, CaptureView("serial")).capture is kept.get(two, CaptureView()).capture
    two.write_text("changed")
    kept.get(two, CaptureView())
    assert read[4:] == ["two"]
    with pytest.raises(CaptureError):
        kept.get(bad, CaptureView())
    one.unlink()
    with pytest.raises(CaptureError, match="one"):
        kept.get(one, CaptureView())


@needs_captures
def test_the_story_of_interrupts_has_its_medians(tmp_path: Path) -> None:
    client = Client.of(store=str(tmp_path / "store.db"), captures=(RESPONSES, CAPTURES))
    names = ["01_arduino_irq", "01_rpi_c_kmod", "01_rpi_c_kmod_busy", "01_rpi_python"]
    keys = "&".join(f"file={key(client, f'{name}.out')}" for name in names)
    found = client.get(f"/captures/responses.json?{keys}").data["configurations"]
    medians = [
        next(q["value"] for q in one["figures"]["quantiles"] if q["share"] == 0.5) * 1e6
        for one in found
    ]
    assert medians == pytest.approx([9.0, 13.0, 7.8, 208.3], abs=0.06)


def test_views_of_one_capture_share_what_is_made_of_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another window for response times decodes nothing again, another decoder times none again."""
    made: list[str] = []

    def counted(name: str, real: Any) -> Any:
        def make(*words: Any) -> Any:
            made.append(name)
            return real(*words)

        return make

    for name in ("decode_rows", "responses", "summarise"):
        monkeypatch.setattr(served_module, name, counted(name, getattr(served_module, name)))
    captures = ServedCaptures()
    edges = {"from": "IN:rising", "to": "OUT:rising"}
    asked: list[dict[str, str]] = [
        {},
        {"decode": "serial"},
        {"decode": "serial", **edges},
        {"decode": "serial", **edges, "window": "0.0005"},
        {"decode": "infrared", **edges},
    ]
    views = [captures.get(place / "shots.sr", CaptureView.of_query(query)) for query in asked]
    assert len({id(view.summary) for view in views}) == 1
    assert views[0].responses is None and not views[0].decoded.rows
    assert views[1].decoded is views[2].decoded is views[3].decoded
    assert views[2].responses is views[4].responses is not views[3].responses
    assert views[4].decoded.serial is None and views[1].decoded.serial is not None
    assert Counter(made) == {"decode_rows": 2, "responses": 2, "summarise": 1}


def test_what_could_not_be_made_is_tried_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures = ServedCaptures()
    view = CaptureView.of_query({"decode": "serial"})
    real = served_module.decode_rows

    def failing(*_words: object) -> Any:
        raise CaptureError("it failed", "try again")

    monkeypatch.setattr(served_module, "decode_rows", failing)
    with pytest.raises(CaptureError):
        _ = captures.get(place / "serial.sr", view).decoded
    monkeypatch.setattr(served_module, "decode_rows", real)
    assert captures.get(place / "serial.sr", view).decoded.rows
