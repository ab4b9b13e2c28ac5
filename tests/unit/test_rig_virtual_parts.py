"""The virtual bench's parts that need neither ports nor processes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchvise.bounded_log import BoundedLog
from benchvise.rig.virtual import bench
from benchvise.rig.virtual.daemon import hold_lock, private_directory
from benchvise.rig.virtual.endpoints import RequestRefused, _path
from benchvise.rig.virtual.injectable import INJECTABLE, KeyPress, LineNoise, parse
from benchvise.rig.virtual.messages import BoardPorts


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("serial-drop", "0.25", 0.25),
        ("serial-drop", "0", None),
        ("relay-stuck", "on", 1),
        ("relay-stuck", "1", 1),
        ("relay-stuck", "0", None),
        ("bad-block", "0", 0),
        ("bad-block", "off", None),
        ("small-card", "65536", 65536),
        ("slow-boot", "4", 4.0),
        ("slow-boot", "1", None),
    ],
)
def test_a_fault_has_a_value_or_is_taken_back(name: str, text: str, value: object) -> None:
    assert parse(name, text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("serial-drop", "nan"),
        ("serial-drop", "1.5"),
        ("relay-stuck", "maybe"),
        ("bad-block", "-1"),
        ("bad-block", "²"),
        ("small-card", "1000"),
        ("slow-boot", "0"),
        ("slow-boot", "inf"),
    ],
)
def test_a_value_out_of_range_is_refused_with_what_the_fault_takes(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=INJECTABLE[name].takes):
        parse(name, text)


def test_an_unknown_fault_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match="relay-stuck"):
        parse("gremlin", "on")


def test_a_good_line_changes_nothing_and_a_bad_one_as_much_as_was_ordered() -> None:
    data = bytes(range(256)) * 40
    noise = LineNoise(seed=1)
    assert noise(data) == data
    noise.drop = 0.1
    assert 0.88 < len(noise(data)) / len(data) < 0.92
    noise.drop, noise.garble = 0.0, 0.1
    heard = noise(data)
    assert len(heard) == len(data)
    changed = sum(a != b for a, b in zip(data, heard, strict=True))
    assert 0.08 < changed / len(data) < 0.12


def test_the_key_is_pressed_when_u_boot_asks_even_in_pieces() -> None:
    key = KeyPress()
    assert key(b"Hit any key to stop autoboot: 2") == b""
    key.armed = True
    assert key(b"Hit any key to stop au") == b""
    assert key(b"toboot: 2") == b" "
    assert key(b" 1 0") == b""


def test_a_power_cycle_forgets_half_a_question() -> None:
    key = KeyPress()
    key.armed = True
    key(b"stop auto")
    key.power_on()
    assert key(b"boot") == b""


def test_the_console_log_is_bounded(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "console.log", limit=1000)
    for number in range(100):
        log.write(b"%04d" % number * 25)
    log.close()
    kept = (tmp_path / "console.log.1").read_bytes() + (tmp_path / "console.log").read_bytes()
    assert 1000 <= len(kept) <= 2000
    assert kept.endswith(b"0099")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["console.log", "console.log.1"]


def request(*lines: str) -> list[str]:
    return _path("\r\n".join([*lines, "", ""]).encode())


def test_a_path_is_taken_apart() -> None:
    host = "Host: 127.0.0.1:8000"
    assert request("GET /relay/0/1 HTTP/1.1", host) == ["relay", "0", "1"]
    assert request("GET /mux/a%20b?x=1 HTTP/1.1", host) == ["mux", "a b"]
    assert request("GET / HTTP/1.0", "host: localhost") == []


@pytest.mark.parametrize(
    ("status", "lines"),
    [
        (400, ["hello"]),
        (405, ["POST /relay/0/1 HTTP/1.1", "Host: 127.0.0.1"]),
        (403, ["GET /relay/0/1 HTTP/1.1"]),
        (403, ["GET /relay/0/1 HTTP/1.1", "Host: evil.example:8000"]),
        (403, ["GET /relay/0/1 HTTP/1.1", "Host: 127.0.0.1.evil.example"]),
        (403, ["GET /relay/0/1 HTTP/1.1", "Host: localhost", "Origin: null"]),
        (403, ["GET /relay/0/1 HTTP/1.1", "Host: localhost", "Sec-Fetch-Site: cross-site"]),
    ],
)
def test_what_a_web_page_could_send_is_refused(status: int, lines: list[str]) -> None:
    with pytest.raises(RequestRefused) as refused:
        request(*lines)
    assert refused.value.status == status


def test_one_process_holds_a_directory(tmp_path: Path) -> None:
    place = private_directory(tmp_path / "bench")
    assert place.stat().st_mode & 0o777 == 0o700
    assert hold_lock(place) is not None
    assert hold_lock(place) is None


def test_the_rig_file_has_a_target_for_each_board(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    board = BoardPorts(0, "one", "arm64-uboot", "aarch64", 1 << 20, 1234, 2222)
    file = bench.write_rig_file(
        tmp_path,
        "http://127.0.0.1:99",
        [board],
        tmp_path / "key",
        {"arm64-uboot": tmp_path / "card.img"},
    )
    environment = yaml.safe_load(file.read_text())
    target = environment["targets"]["one"]
    assert target["drivers"]["CardStrategy"] == {
        "debugger": str(tmp_path / "one" / "gdb.sock"),
        "image": "arm64-uboot",
    }
    assert environment["images"] == {"arm64-uboot": str(tmp_path / "card.img")}
    assert target["features"] == ["aarch64", "arm64-uboot", "simulated"]
    assert target["resources"]["NetworkPowerPort"]["index"] == "0"
    assert target["resources"]["NetworkSerialPort"]["port"] == 1234
    assert environment["options"]["benchvise"]["ssh_identity"] == str(tmp_path / "key")
    assert (tmp_path / "one" / "mux").read_text() == "http://127.0.0.1:99/mux/0\n"
    assert (tmp_path / "usbsdmux").stat().st_mode & 0o777 == 0o700
