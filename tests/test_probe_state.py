"""The probe's `read` and `write`: the state of a board, in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from probe_programs import Line, Running, run

pytest_plugins = ["probe_fixtures"]


def read(probe: Path, *patterns: str | Path, **options: Any) -> dict[str, Line]:
    """The `value` lines by path."""
    given = "\n".join(map(str, patterns)).encode()
    lines = run([probe, "read"], given=given, **options).all("value")
    assert len({line["path"] for line in lines}) == len(lines)
    return {line["path"]: line for line in lines}


def test_read_globs(probe: Path, tmp_path: Path) -> None:
    for name in ("one", "two", "other"):
        (tmp_path / name).write_text(f"{name}\n")
    found = read(
        probe, tmp_path / "[ot][nw]*", tmp_path / "o*r", tmp_path / "none*", "/etc/host?ame"
    )
    values = {Path(path).name: line.get("value") for path, line in found.items()}
    assert values["one"] == "one\n"
    assert values["two"] == "two\n"
    assert values["other"] == "other\n"
    missing = found[str(tmp_path / "none*")]
    assert missing == {
        "type": "value",
        "path": str(tmp_path / "none*"),
        "errno": 2,
        "error": "ENOENT",
    }


def test_read_what_is_no_file(probe: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    link = tmp_path / "link"
    link.symlink_to("/dev/zero")
    found = read(probe, tmp_path, fifo, link, "/dev/null", tmp_path / "no" / "where")
    assert [line["error"] for line in found.values()] == [
        "EISDIR",
        "EINVAL",
        "EINVAL",
        "EINVAL",
        "ENOENT",
    ]


def test_a_device_is_not_even_opened(static: Path, tmp_path: Path) -> None:
    """Opening is enough for some: /dev/watchdog starts to count. A FIFO with a writer tells."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with Running(static, "read") as running:
        running.say(f"{fifo}\n")
        running.input.close()
        assert running.until("value")["error"] == "EINVAL"
        with pytest.raises(OSError, match="No such device"):  # nobody has it open
            os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    assert run([static, "write", str(fifo), "x"], code=1).one("write")["error"] == "EINVAL"


def test_read_bytes(probe: Path, tmp_path: Path) -> None:
    (tmp_path / "cells").write_bytes(b"\x00\x00\x00\x2a\xff")
    (tmp_path / "utf8").write_text("Ångström 温度\n")
    (tmp_path / "empty").write_bytes(b"")
    found = {Path(path).name: line for path, line in read(probe, tmp_path / "*").items()}
    assert found["cells"]["hex"] == "0000002aff"
    assert "value" not in found["cells"]
    assert found["utf8"]["value"] == "Ångström 温度\n"
    assert found["empty"]["value"] == ""


def test_read_cuts_what_is_long(probe: Path, tmp_path: Path) -> None:
    (tmp_path / "fits").write_text("a" * 65536)
    (tmp_path / "long").write_text("a" * 65537)
    (tmp_path / "longer").write_text("a" * 65534 + "€" * 10)  # of which two bytes would fit
    (tmp_path / "binary").write_bytes(b"\xff" * 100_000)
    found = {Path(path).name: line for path, line in read(probe, tmp_path / "*").items()}
    assert found["fits"]["value"] == "a" * 65536
    assert "truncated" not in found["fits"]
    assert found["long"]["value"] == "a" * 65536
    assert found["long"]["truncated"] is True
    assert found["longer"]["value"] == "a" * 65534
    assert found["longer"]["truncated"] is True
    assert found["binary"]["hex"] == "ff" * 65536
    assert found["binary"]["truncated"] is True


def test_read_takes_a_pattern_of_any_length(probe: Path, tmp_path: Path) -> None:
    """The end of a long line is no pattern of its own."""
    (tmp_path / "secret").write_text("x")
    pattern = "/" + "n" * 5000 + str(tmp_path / "secret")
    ((path, line),) = read(probe, pattern).items()
    assert path == pattern
    assert line["error"] == "ENAMETOOLONG"


def test_read_what_a_plain_user_may_not(unprivileged: dict[str, Any]) -> None:
    secret = unprivileged["directory"] / "secret"
    secret.write_text("x")
    secret.chmod(0)
    closed = unprivileged["directory"] / "closed"
    closed.mkdir(mode=0)
    patterns = (secret, closed / "*", closed / "file")
    found = read(unprivileged["probe"], *patterns, **unprivileged["options"])
    assert found[str(secret)]["error"] == "EACCES"
    assert found[str(closed / "*")]["error"] == "EACCES"
    assert found[str(closed / "file")]["error"] == "EACCES"


def test_serve_reads(served: Running, tmp_path: Path) -> None:
    (tmp_path / "a b").write_text("1\n")
    served.request(3, "read", given=[str(tmp_path / "a*"), str(tmp_path / "none")])
    assert served.until("value")["value"] == "1\n"
    assert served.until("value")["error"] == "ENOENT"
    assert served.line() == {"type": "done", "request": 3, "exit": 0}


def test_write(probe: Path, tmp_path: Path) -> None:
    knob = tmp_path / "knob"
    knob.write_text("ondemand\n")
    line = run([probe, "write", str(knob), "performance"]).one("write")
    assert line == {
        "type": "write",
        "path": str(knob),
        "asked": "performance",
        "old": "ondemand",
        "now": "performance",
    }
    assert knob.read_text() == "performance"


def test_write_makes_no_file(probe: Path, tmp_path: Path) -> None:
    line = run([probe, "write", str(tmp_path / "none"), "1"], code=1).one("write")
    assert (line["errno"], line["error"]) == (2, "ENOENT")
    assert line["old"] == line["now"] == {"na": "ENOENT"}
    assert not (tmp_path / "none").exists()
    line = run([probe, "write", str(tmp_path), "1"], code=1).one("write")
    assert line["error"] == "EISDIR"


def test_write_what_is_read_only(unprivileged: dict[str, Any]) -> None:
    knob = unprivileged["directory"] / "knob"
    knob.write_text("old\n")
    knob.chmod(0o444)
    result = run(
        [unprivileged["probe"], "write", str(knob), "new"], code=1, **unprivileged["options"]
    )
    line = result.one("write")
    assert line["error"] == "EACCES"
    assert line["old"] == line["now"] == "old"
