"""The rig file: labgrid's syntax, and what Benchvise itself reads of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchvise.cli import rig
from benchvise.errors import UsageError
from benchvise.rig import environment
from benchvise.rig.compose.layers import LAYERS
from benchvise.rig.environment import RigOptions, find_rig_file, load_rig

RIG = """
targets:
  left:
    features: [arm64, pi]
    resources:
      RawSerialPort: {port: /dev/ttyUSB0}
  right:
    features: [arm64, simulated]
    resources:
    - RemotePlace: {name: shelf-2}
  spare: {}
options:
  benchvise:
    stagger_s: 0.25
    budget_w: 40
    boot_patterns: mine.toml
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rig.yaml"
    path.write_text(RIG)
    return path


def test_names_features_places_and_options(file: Path) -> None:
    rig = load_rig(file)
    assert rig.names == ["left", "right", "spare"]
    assert rig.features["left"] == {"arm64", "pi"} and not rig.features["spare"]
    assert rig.places == {"right": "shelf-2"}
    assert (rig.options.stagger_s, rig.options.budget_w) == (0.25, 40)
    assert rig.options.boot_patterns == str(file.parent / "mine.toml")


def test_boards_are_meant_by_name_feature_or_all_of_them_and_once(file: Path) -> None:
    rig = load_rig(file)
    assert rig.select(["all"]) == rig.names
    assert rig.select(["tag=arm64"]) == ["left", "right"]
    assert rig.select(["right", "tag=arm64", "right"]) == ["right", "left"]
    with pytest.raises(UsageError, match=r"no board 'middle'.*there are left, right, spare"):
        rig.select(["middle"])
    with pytest.raises(UsageError, match=r"feature 'riscv'.*there are arm64, pi, simulated"):
        rig.select(["tag=riscv"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{stager_s: 1}", "stager_s is not known.*known are.*stagger_s"),
        ("{budget_w: much}", "budget_w: 'much' is no number"),
        ("{budget_w: -1}", "not negative"),
        ("{off_s: true}", "is no number"),
        ("3", "is not a table"),
    ],
)
def test_options_that_are_wrong_are_named(tmp_path: Path, options: str, said: str) -> None:
    file = tmp_path / "rig.yaml"
    file.write_text(f"targets: {{}}\noptions: {{benchvise: {options}}}\n")
    with pytest.raises(UsageError, match=said):
        load_rig(file)


@pytest.mark.parametrize("text", ["", "targets: [", "targets: 3", "targets: !template $LG_NOT_SET"])
def test_a_file_that_is_none_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rig.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"rig\.yaml"):
        load_rig(file)


@pytest.mark.parametrize(
    "content",
    [
        b"targets: {a: {}}\n# \xe1\n",
        b"targets: " + b"[" * 5000,
        b"targets: {a: {}}\noptions: [1]\n",
        b"targets: {a: {}}\noptions: {benchvise: 3}\n",
        b"[1]",
    ],
)
def test_a_file_of_another_shape_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "rig.yaml"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"rig\.yaml"):
        load_rig(file)


def test_a_board_that_stands_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rig.yaml"
    file.write_text("targets:\n  pi4: {features: [a]}\n  pi4: {features: [b]}\n")
    with pytest.raises(UsageError, match=r"rig\.yaml: `pi4` stands twice in one table"):
        load_rig(file)


def test_resources_that_are_no_tables_are_labgrids_to_refuse(tmp_path: Path) -> None:
    file = tmp_path / "rig.yaml"
    file.write_text("targets: {a: {resources: {RawSerialPort: text, RemotePlace: [1]}}}\n")
    assert load_rig(file).names == ["a"]


def test_the_defaults_hold_without_options(tmp_path: Path) -> None:
    file = tmp_path / "rig.yaml"
    file.write_text("targets: {main: {}}\n")
    assert load_rig(file).options == RigOptions()


def test_the_file_is_found(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "no bench runs here"))
    monkeypatch.delenv(environment.VARIABLE, raising=False)
    with pytest.raises(UsageError, match=r"no virtual bench runs.*benchvise rig virtual up"):
        find_rig_file()
    monkeypatch.setenv(environment.VARIABLE, str(file))
    assert find_rig_file() == file
    with pytest.raises(UsageError, match="--rig: there is no file"):
        find_rig_file(str(tmp_path / "other.yaml"))


def test_the_layers_that_the_command_line_names_are_those_that_there_are() -> None:
    assert ", ".join(LAYERS) == rig.LAYERS


def test_a_rig_file_is_read_without_the_drivers_of_labgrid_and_the_same_with_them(
    file: Path,
) -> None:
    code = (
        "import sys; from pathlib import Path; from benchvise.rig.environment import load_rig; "
        "alone = load_rig(Path(sys.argv[1])); assert 'labgrid' not in sys.modules; "
        "import labgrid; assert load_rig(Path(sys.argv[1])) == alone; "
        "import yaml; assert issubclass(labgrid.util.yaml.Loader, yaml.CSafeLoader)"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)
