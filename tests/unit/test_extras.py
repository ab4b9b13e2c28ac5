"""A light install: what works without extras, and what a command says whose extra is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from benchvise.cli.extras import EXTRAS

ROOT = Path(__file__).parents[2]

WITHOUT_EXTRAS = f"""if True:
    import sys

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in {sorted(m for e in EXTRAS.values() for m in e)!r}:
                raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

    sys.meta_path.insert(0, Missing())
    from benchvise.cli.main import run

    for line in sys.argv[1:]:
        print("exit", run(line.split()), flush=True)
"""


def test_every_command_can_be_imported_and_those_of_the_core_work(tmp_path: Path) -> None:
    light = [
        "completion bash",
        "run --plan",
        "run --bench cpu.clock --batches 3 --time 0.001 --label A",
        "run --bench cpu.clock --batches 3 --time 0.001 --label B",
        "runs",
        "show A",
        "compare A B",
        "report A B -o page",
        "history cpu.clock",
        "help signal infrared",
        "schema comparison",
    ]
    heavy = ["trace stats none.dat", "serve --port 0", "why A B", "signal info none.csv"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *light, *heavy],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)},
    )
    codes = re.findall(r"^exit (\d)$", done.stdout, re.MULTILINE)
    assert codes == ["0"] * len(light) + ["1"] * len(heavy)
    lines = done.stderr.splitlines()
    assert len(lines) == len(heavy)
    for line, extra in zip(lines, ("trace", "web", "why", "why"), strict=True):
        assert line.endswith(f"pip install 'benchvise[{extra}]'")


@cache
def module_owners() -> Mapping[str, list[str]]:
    return packages_distributions()


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_extras_of_the_wheel_bring_the_modules_that_are_named(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    brought = {
        re.split(r"[\[>=<]", requirement)[0].lower()
        for requirement in project["optional-dependencies"][extra]
    }
    owners = module_owners()
    named = {name.lower().replace(".", "-") for module in EXTRAS[extra] for name in owners[module]}
    # labgrid brings these two by itself.
    assert brought == named - {"grpcio", "pyserial-labgrid", "pyserial"}
    core = {re.split(r"[\[>=<]", requirement)[0] for requirement in project["dependencies"]}
    assert not core & brought
