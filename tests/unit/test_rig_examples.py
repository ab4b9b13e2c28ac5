"""The rig files in `examples/rigs` are what labgrid and Benchvise take, as far as it can be told
without the hardware: classes, their arguments, and how drivers and resources find each other.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from labgrid.driver import USBSDWire3Driver
from labgrid.environment import Environment
from labgrid.factory import target_factory
from labgrid.resource.udev import UdevManager

import benchvise.rig.drivers
from benchvise.errors import UsageError
from benchvise.rig.card.mux import DRIVERS, Mux, MuxSide
from benchvise.rig.environment import load_rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold.worker import open_target
from benchvise.rig.power import device_key

RIGS = Path(__file__).parents[2] / "examples" / "rigs"
FILES = sorted(RIGS.glob("*.yaml"))
BOARDS = [(path, name) for path in FILES for name in yaml.safe_load(path.read_text())["targets"]]

# What an exporter offers to clients for the resources that the remote places stand for.
USB = {"host": "shelf", "busnum": 1, "devnum": 2, "path": "1-1", "vendor_id": 1, "model_id": 1}
EXPORTED: dict[str, dict[str, Any]] = {
    "pi4": {
        "NetworkHIDRelay": {**USB, "index": 1, "invert": False},
        "NetworkSerialPort": {"host": "shelf", "port": 4001},
        "NetworkUSBSDWireDevice": {**USB, "control_serial": "sdwire-pi4"},
    },
    "visionfive": {
        "NetworkPowerPort": {"model": "rest", "host": "http://shelf/{index}", "index": 3},
        "NetworkSerialPort": {"host": "shelf", "port": 4002},
        "NetworkUSBSDWire3Device": {**USB, "control_serial": "bdgrd_sdwirec_1"},
    },
}


@pytest.fixture(autouse=True)
def nothing_plugged_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No device of the machine that runs the tests, and nothing that would ask for one."""
    monkeypatch.setattr(UdevManager, "__attrs_post_init__", lambda manager: None)
    monkeypatch.setattr(UdevManager, "_add_resource", lambda manager, resource: None)
    monkeypatch.setattr(UdevManager, "poll", lambda manager: None)
    monkeypatch.setattr(USBSDWire3Driver, "match_control_serial", lambda driver: "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # an argument that a class does not have
        yield


def as_exported(path: Path, directory: Path) -> Path:
    """The file with the resources in place of the coordinator's places."""
    data = yaml.safe_load(path.read_text())
    for name, target in data["targets"].items():
        if "RemotePlace" in target["resources"]:
            target["resources"] = EXPORTED[name]
    copy = directory / path.name
    copy.write_text(yaml.safe_dump(data, sort_keys=False))
    return copy


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_benchvise_reads_it(path: Path) -> None:
    rig = load_rig(path)
    assert rig.names
    assert all(rig.features.values())
    assert rig.options.budget_w is not None
    assert rig.select(["all"]) == rig.names
    if path.name == "remote-place.yaml":
        assert rig.places == {"pi4": "pi4", "visionfive": "visionfive"}
    else:
        assert not rig.places


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_class_is_one_that_is_registered(path: Path) -> None:
    for target in Environment(str(path)).config.get_targets().values():
        resources, drivers = target_factory.normalize_config(target)
        assert resources.keys() <= target_factory.resources.keys()
        assert drivers.keys() <= target_factory.drivers.keys()


@pytest.mark.parametrize(("path", "name"), BOARDS, ids=lambda word: getattr(word, "stem", word))
def test_a_board_is_put_together_without_its_hardware(
    path: Path, name: str, tmp_path: Path
) -> None:
    strategy = open_target(as_exported(path, tmp_path), name)
    assert isinstance(strategy, benchvise.rig.drivers.CardStrategy)
    assert strategy.power is not None
    assert strategy.console is not None
    assert strategy.shell is not None
    assert (strategy.mux is None) == (strategy.storage is None)
    assert (strategy.mux is None) == (path.name == "network-power.yaml")
    assert strategy.watts > 0
    budget = strategy.options.budget_w
    assert budget is not None and strategy.watts <= budget, "it would have to run alone"
    strategy.target.cleanup()


def test_six_boards_hang_on_one_relay_box_and_on_relays_of_their_own() -> None:
    path = RIGS / "six-boards.yaml"
    relays, consoles, muxes, images = set(), set(), set(), set()
    for name in load_rig(path).names:
        strategy = open_target(path, name)
        relay = strategy.power.output.relay
        relays.add((device_key(relay), relay.index))
        consoles.add(strategy.console.port.match["ID_PATH"])
        muxes.add(device_key(strategy.mux.mux))
        images.add(strategy.own_image())
        strategy.target.cleanup()
    assert len({box for box, _ in relays}) == 1
    assert sorted(index for _, index in relays) == [1, 2, 3, 4, 5, 6]
    assert len(consoles) == len(muxes) == len(images) == 6


def test_what_is_not_plugged_in_is_named_as_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    strategy = open_target(RIGS / "six-boards.yaml", "beagle")
    for resource in strategy.target.resources:
        resource.timeout = 0.0
    with pytest.raises(RigError) as relay:
        strategy.off()
    with pytest.raises(RigError) as mux:
        strategy.card_mux  # noqa: B018 - a property that looks for it
    assert relay.value.message == (
        "beagle: its power switch is not there: no HIDRelay with ID_PATH pci-0000:00:14.0-usb-0:2.1"
    )
    assert (mux.value.fault, mux.value.message) == (
        Fault.MUX_STUCK,
        "beagle: its SD mux is not there: no USBSDMuxDevice with @ID_PATH "
        "pci-0000:00:14.0-usb-0:2.3.5",
    )
    strategy.target.cleanup()


def test_switches_that_only_run_commands_are_told_apart(tmp_path: Path) -> None:
    power = {"ExternalPowerDriver": {"cmd_on": "true", "cmd_off": "true"}, "CardStrategy": {}}
    path = tmp_path / "rig.yaml"
    targets = {"targets": {name: {"drivers": power} for name in ("a", "b")}}
    path.write_text(yaml.safe_dump(targets, sort_keys=False))
    assert len({device_key(open_target(path, name).power) for name in ("a", "b")}) == 2


def test_labgrids_own_driver_for_an_sdwire3_of_this_machine_is_still_of_no_use(
    tmp_path: Path,
) -> None:
    """When this fails, LocalSDWire3Driver is no longer needed."""
    text = (RIGS / "six-boards.yaml").read_text()
    path = tmp_path / "rig.yaml"
    path.write_text(text.replace("LocalSDWire3Driver: {}", "USBSDWire3Driver: {}"))
    with pytest.raises(RigError, match="control_serial") as raised:
        open_target(path, "visionfive")
    assert raised.value.fault is Fault.RIG_BROKEN


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("HIDRelayDriver:", "HIDRelaisDriver:"),
        ("bindings: {relay: outlet}", "bindings: {relay: inlet}"),
        ("prompt: 'root@", "promt: 'root@"),
        ("watts: 8", "watts: eight"),
    ],
)
def test_a_mistake_in_it_is_told_of(old: str, new: str, tmp_path: Path) -> None:
    text = (RIGS / "six-boards.yaml").read_text()
    assert old in text
    path = tmp_path / "rig.yaml"
    path.write_text(text.replace(old, new))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(UsageError, match=r"pi4: (labgrid refuses it|a driver lacks)"):
            open_target(path, "pi4")


def test_a_strategy_above_its_drivers_and_none_at_all_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "rig.yaml"
    power = {"ExternalPowerDriver": {"cmd_on": "true", "cmd_off": "true"}}
    for drivers, says in (
        ({"CardStrategy": {}, **power}, "before the driver that uses it"),
        (power, "a has no CardStrategy"),
    ):
        path.write_text(yaml.safe_dump({"targets": {"a": {"drivers": drivers}}}, sort_keys=False))
        with pytest.raises(UsageError, match=says):
            open_target(path, "a")


@pytest.mark.parametrize(
    ("word", "side"),
    [
        ("TS", MuxSide.HOST),
        ("ts", MuxSide.HOST),
        ("DUT", MuxSide.DUT),
        ("host", MuxSide.HOST),
        ("?", None),
    ],
)
def test_the_words_of_all_mux_programs_are_known(word: str, side: MuxSide | None) -> None:
    class Program:
        def set_mode(self, mode: str) -> None:
            pass

        def get_mode(self) -> str:
            return word

    assert Mux("pi4", Program()).side() is side


def test_every_mux_driver_that_is_looked_for_exists() -> None:
    assert set(DRIVERS) <= target_factory.drivers.keys()
