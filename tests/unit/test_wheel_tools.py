"""A source install without tools says in one line which are missing."""

from __future__ import annotations

from pathlib import Path

import pytest
import wheel


def program(directory: Path, name: str, text: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(text)
    (directory / name).chmod(0o755)


def test_what_is_missing_is_named_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    monkeypatch.setenv("PATH", str(programs))
    module = tmp_path / "native.so"
    for part in ("src/benchvise/board/probes", "src/benchvise/report/assets"):
        (tmp_path / part).mkdir(parents=True)
    (tmp_path / "src/benchvise/report/assets/report.js").touch()

    def refusal() -> str:
        with pytest.raises(SystemExit) as refused:
            wheel._require_built(tmp_path, module)
        assert str(refused.value).count("\n") == 0
        return str(refused.value).removeprefix("Benchvise cannot be built here, missing: ")

    assert refusal() == "the trace decoder: needs Rust (https://rustup.rs) and a C compiler"
    program(programs, "cc", "#!/bin/sh\n")
    assert refusal() == "the trace decoder: needs Rust (https://rustup.rs)"
    program(programs, "cargo", "#!/bin/sh\n")
    script = "#!/bin/sh\necho 'warning: old' >&2; echo 'error: no network' >&2; exit 101\n"
    program(tmp_path / "scripts", "native", script)
    assert refusal() == "the trace decoder: error: no network"
    program(tmp_path / "scripts", "native", "#!/bin/sh\n")
    wheel._require_built(tmp_path, module)
