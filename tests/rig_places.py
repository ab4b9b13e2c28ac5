"""A labgrid coordinator and exporter that run for real, and what they export: relays, consoles."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from labgrid.resource.remote import RemotePlaceManager
from waiting import PATIENCE, wait_until

from benchvise.rig.hold.places import taker


class Relays(ThreadingHTTPServer):
    """A relay box that is switched over HTTP, by the protocol of labgrid's ``simplerest``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), RelayRequest)
        self.on = {0: False, 1: False}
        self.switched: list[tuple[int, bool]] = []


class RelayRequest(BaseHTTPRequestHandler):
    """``/relay/INDEX`` asks, ``/relay/INDEX/0`` and ``/1`` switch."""

    server: Relays

    def do_GET(self) -> None:
        _, _, index, *value = self.path.split("/")
        if value:
            self.server.on[int(index)] = value == ["1"]
            self.server.switched.append((int(index), value == ["1"]))
        said = str(int(self.server.on[int(index)])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is named there
        pass


@dataclass
class Lab:
    """A coordinator, an exporter of two boards, their places, and a rig file that names them."""

    directory: Path
    address: str
    relays: Relays
    places: tuple[str, ...] = ("one", "two")
    daemons: ExitStack = field(default_factory=ExitStack)
    """The coordinator and the exporter run until it is closed."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    """Both, by these names."""

    @property
    def rig_file(self) -> Path:
        return self.directory / "rig.yaml"

    def start(self) -> None:
        """The coordinator, and the exporter until all that it offers is known there."""
        coordinator = ["labgrid.remote.coordinator", "-l", self.address]
        self.processes["coordinator"] = self.daemons.enter_context(
            running(coordinator, self.directory)
        )
        port = int(self.address.rpartition(":")[2])
        wait_until(lambda: answers(port), "the coordinator's start")
        self.start_exporter()

    def start_exporter(self) -> None:
        """The exporter, until all that it offers is known to the coordinator."""
        exporter = ["labgrid.remote.exporter", "-c", self.address, "-n", "shelf"]
        self.processes["exporter"] = self.daemons.enter_context(
            running([*exporter, "exported.yaml"], self.directory)
        )
        offered = yaml.safe_load((self.directory / "exported.yaml").read_text())
        count = sum(len(group) for group in offered.values())
        wait_until(lambda: exports(self) == count, "the export")

    def stop(self) -> None:
        """Both end; the coordinator keeps its places."""
        self.daemons.close()

    def labgrid(self, *words: str, user: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "labgrid.remote.client", "-x", self.address, *words]
        environment = dict(os.environ)
        if user:
            environment["LG_USERNAME"] = user
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, check=False, timeout=PATIENCE
        )


@contextmanager
def lab(
    directory: Path,
    more_resources: dict[str, Any] | None = None,
    more_drivers: dict[str, Any] | None = None,
) -> Iterator[Lab]:
    """Everything of it runs within this context.

    What else the exporter offers for the first place, and the drivers of the rig file for it, can
    be given by labgrid's own names.
    """
    relays = Relays()
    threading.Thread(target=relays.serve_forever, daemon=True).start()
    console = socket.create_server(("127.0.0.1", 0))
    port = free_port()
    made = Lab(directory, f"127.0.0.1:{port}", relays)
    offered, described = exported(made, console), rig(made)
    offered[made.places[0]].update(more_resources or {})
    target = described["targets"][made.places[0]]
    target["drivers"] = {**(more_drivers or {}), **target["drivers"]}
    (directory / "exported.yaml").write_text(yaml.safe_dump(offered))
    (directory / "places.yaml").write_text(yaml.safe_dump(places(made)))
    made.rig_file.write_text(yaml.safe_dump(described, sort_keys=False))
    with ExitStack() as stack:
        stack.callback(console.close)
        stack.callback(relays.shutdown)
        stack.callback(made.stop)
        made.start()
        yield made


def places(made: Lab) -> dict[str, Any]:
    """What the coordinator knows of its places when it starts."""
    match = {"exporter": "shelf", "cls": "*", "name": None, "rename": None}
    return {
        place: {
            "acquired": None,
            "acquired_resources": [],
            "aliases": [],
            "allowed": [],
            "changed": 1.0,
            "comment": "",
            "created": 1.0,
            "matches": [{**match, "group": place}],
            "reservation": None,
            "tags": {},
        }
        for place in made.places
    }


def exports(made: Lab) -> int:
    """Of how many exported resources the coordinator has been told."""
    taker(made.rig_file, made.places[0])
    groups = RemotePlaceManager.get().session.resources.get("shelf", {})
    return sum(len(group) for group in groups.values())


def exported(made: Lab, console: socket.socket) -> dict[str, Any]:
    base = f"http://127.0.0.1:{made.relays.server_port}/relay/{{index}}/{{value}}"
    return {
        place: {
            "NetworkPowerPort": {"model": "simplerest", "host": base, "index": str(index)},
            "NetworkSerialPort": {
                "host": "127.0.0.1",
                "port": console.getsockname()[1],
                "protocol": "raw",
            },
            "NetworkService": {"address": "127.0.0.1", "port": 9, "username": "root"},
        }
        for index, place in enumerate(made.places)
    }


def rig(made: Lab) -> dict[str, Any]:
    drivers: dict[str, Any] = {"NetworkPowerDriver": {}, "SerialDriver": {}, "CardStrategy": {}}
    return {
        "targets": {
            place: {"resources": {"RemotePlace": {"name": place}}, "drivers": dict(drivers)}
            for place in made.places
        },
        "options": {
            "coordinator_address": made.address,
            "benchvise": {"stagger_s": 0, "off_s": 0},
        },
        "imports": ["benchvise.rig.drivers"],
    }


@contextmanager
def running(words: list[str], directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (directory / f"{words[0]}.log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", *words], cwd=directory, stdout=log, stderr=log
        )
        try:
            yield child
        finally:
            child.terminate()  # at which a coordinator writes down its places
            try:
                child.wait(PATIENCE)
            finally:
                child.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except OSError:
        return False
    return True
