"""The chapter on rigs names all that a user can meet there, and the program reads its files."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import attr
import pytest
import yaml
from labgrid.factory import target_factory
from labgrid.resource.udev import UdevManager
from labgrid.strategy import Strategy

from benchvise.rig.boot.patterns import load_patterns
from benchvise.rig.environment import RigOptions, load_rig
from benchvise.rig.faults import Fault
from benchvise.rig.hold.worker import open_target
from benchvise.rig.strategy import CardStrategy
from benchvise.rig.virtual.injectable import INJECTABLE
from benchvise.rig.virtual.kinds import BENCH, KINDS
from benchvise.rig.virtual.recipes.recipe import VARIANTS

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "rig.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[str]:
    """The names in the first column of the tables in a text."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_fault_is_documented_and_nothing_else() -> None:
    assert sorted(rows(section("Faults"))) == sorted(Fault)


def test_every_option_is_documented_with_its_default() -> None:
    text = section("Sharing a rig")
    assert sorted(rows(text)) == sorted(option.name for option in fields(RigOptions))
    for option in fields(RigOptions):
        (default,) = re.findall(rf"^\| `{option.name}` \| (\S*) *\|", text, re.MULTILINE)
        assert default in ("", "none") or float(default) == option.default
        assert (option.default is None) == (default in ("", "none"))


def test_every_fault_and_variant_of_the_virtual_bench_is_documented() -> None:
    assert sorted(rows(section("The virtual bench"))) == sorted([*INJECTABLE, *VARIANTS])
    for name in re.findall(r"(?:fault|flash|boot|image) ([a-z0-9]+-\d)", PAGE):
        assert name in dict(BENCH)
    for kind in re.findall(r"[ ,]\w+=([\w-]+)", " ".join(re.findall(r"--boards \S+", PAGE))):
        assert kind in KINDS


def test_the_rig_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UdevManager, "__attrs_post_init__", lambda manager: None)
    monkeypatch.setattr(UdevManager, "_add_resource", lambda manager, resource: None)
    local, shares, network, remote = blocks("yaml")
    path = tmp_path / "rig.yaml"
    path.write_text(local)
    assert load_rig(path).options.budget_w == 40
    strategy = open_target(path, "pi4")
    assert strategy.own_image() == str(tmp_path / "build" / "core-image.wic.bz2")
    path.write_text(shares)
    assert load_rig(path).targets["pi4"].shares == frozenset({"hub-2"})
    path.write_text(network)
    rig = load_rig(path)
    assert [rig.targets[name].is_switched for name in ("rack-17", "nas")] == [False, False]
    path.write_text(remote)
    assert load_rig(path).places == {"pi4": "pi4"}
    drivers = yaml.safe_load(remote)["targets"]["pi4"]["drivers"]
    assert drivers.keys() <= target_factory.drivers.keys()


def test_every_argument_of_the_strategy_is_documented() -> None:
    own = {f.name for f in attr.fields(CardStrategy) if f.init} - {
        f.name for f in attr.fields(Strategy)
    }
    (row,) = re.findall(r"^\| `CardStrategy` \|.*$", PAGE, re.MULTILINE)
    assert own == {name for name in own if f"`{name}`" in row}


def test_every_class_that_is_named_exists() -> None:
    named = set(re.findall(r"`(\w+(?:Driver|Strategy|Device|Relay|Port|Service))[`:]", PAGE))
    assert {"HIDRelayDriver", "LocalSDWire3Driver", "USBSerialPort"} <= named
    assert named <= target_factory.drivers.keys() | target_factory.resources.keys()


def test_the_patterns_are_read(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    path = tmp_path / "boot.toml"
    path.write_text(text)
    own = {pattern.id: pattern for pattern in load_patterns(path).all}
    assert own["our-fpga"].fault is Fault.BOOTLOADER_HANG
    assert own["our-loader"].banner


def test_examples_that_are_named_are_there() -> None:
    for name in re.findall(r"`([\w-]+\.yaml)`", PAGE):
        assert (Path(__file__).parents[1] / "examples" / "rigs" / name).is_file(), name
