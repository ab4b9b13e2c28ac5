"""Variables that say who is logged in, and lead to what the command waits for all the same."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from why_boards import BOTH, metric, side, with_value

from benchvise.why.model import Suspect
from benchvise.why.suspects.find import find
from benchvise.why.suspects.places import places_in, used_place
from benchvise.why.witness.model import Activity, Witness, WitnessCall, WitnessPart
from benchvise.why.witness.touching import put_first

X = "/tmp/.X11-unix/X"  # noqa: S108 - where the server of X has its sockets
VARIABLES = "process.environment/variables"


def suspects_of(bad: dict[str, str], targets: Collection[str]) -> dict[str, Suspect]:
    good, other = (with_value(side(), VARIABLES, {"LANG": "C", **more}) for more in ({}, bad))
    found = find(good, other, metric("command"), may_set=BOTH, targets=targets)
    return {s.id: s for s in found.suspects if s.item == "process.environment"}


@pytest.mark.parametrize(
    ("name", "value", "places"),
    [("SSH_AUTH_SOCK", "/run/key-bridge", ("/run/key-bridge",)),
     ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/0/bus,guid=4a", ("/run/user/0/bus",)),
     ("DBUS_SYSTEM_BUS_ADDRESS", "unix:abstract=/tmp/dbus-x", ("@/tmp/dbus-x",)),
     ("DOCKER_HOST", "unix:///run/docker.sock", ("/run/docker.sock",)),
     ("DOCKER_HOST", "tcp://192.0.2.7:2375", ("192.0.2.7:2375",)),
     ("http_proxy", "http://localhost:3128/", ("127.0.0.1:3128", "[::1]:3128")),
     ("DISPLAY", "localhost:10.0", ("127.0.0.1:6010", "[::1]:6010")),
     ("DISPLAY", ":1", (f"{X}1", f"@{X}1")),
     ("XDG_DATA_DIRS", "/usr/share:/mnt/nfs/share", ("/usr/share", "/mnt/nfs/share")),
     ("SSH_TTY", "/dev/pts/3", ()), ("SHLVL", "2", ()), ("WORKERS", "12:34", ())],
)  # fmt: skip
def test_places_are_found_as_system_calls_have_them(
    name: str, value: str, places: tuple[str, ...]
) -> None:
    assert places_in(name, value) == places


def test_only_what_is_used_keeps_a_variable_of_the_session() -> None:
    socket = {"SSH_AUTH_SOCK": "/run/key-bridge"}
    assert not suspects_of(socket, {"/run/other", "/run/key-bridge-2", "/etc/passwd"})
    kept = suspects_of(socket, {"/etc/passwd", "/run/key-bridge"})
    assert kept.keys() == {"process.environment:SSH_AUTH_SOCK"}
    assert used_place("XDG_CACHE_HOME", "/mnt/card/cache", ["/mnt/card/cache/a/b"])


def test_a_variable_comes_first_that_leads_to_the_socket_which_is_waited_for() -> None:
    more = {"SSH_AUTH_SOCK": "/run/key-bridge", "LD_BIND_NOW": "1", "PATH": "/opt/bin:/usr/bin"}
    found = tuple(suspects_of(more, {"/run/key-bridge"}).values())
    part = WitnessPart(Activity.PROCESS, "read", "/run/key-bridge", "", 0.0, 0.8, 0.97, "waiting")
    first = put_first(found, Witness("", 0.1, 0.9, (part,)))[0]
    assert first.id == "process.environment:SSH_AUTH_SOCK"
    assert "/run/key-bridge" in first.terms[-1].reason


def test_a_search_path_comes_first_that_only_the_bad_side_goes_through() -> None:
    """Whatever program it is of: what lies below is opened, or looked for, there alone."""
    more = {"NODE_PATH": "/usr/lib/node:/mnt/nfs/lib", "LD_BIND_NOW": "1"}
    found = tuple(suspects_of(more, ()).values())
    opened = Witness("", 0.1, 0.9, bad_files=("/mnt/nfs/lib/left-pad/index.js",))
    assert put_first(found, opened)[0].id == "process.environment:NODE_PATH"
    missed = WitnessCall("newfstatat", "/mnt/nfs/lib/left-pad", 0, 40, 0.0, 0.8)
    asked = Witness("", 0.1, 0.9, calls=(missed,))
    assert put_first(found, asked)[0].id == "process.environment:NODE_PATH"
