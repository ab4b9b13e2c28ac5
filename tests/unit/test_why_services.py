"""Files of services that run on both sides, to which nothing that the command does leads."""

from __future__ import annotations

from benchvise.state.model import Snapshot, StateEntry
from benchvise.why.model import Side
from benchvise.why.witness.services import service_files, service_suspects


def snapshot(*running: str, scripts: tuple[str, ...] = (), calls: str = "") -> Snapshot:
    settings = [
        StateEntry("system.services", f"service {name}", value="running") for name in running
    ]
    lines = [f"*/10 * * * * root {calls}"] if calls else []
    settings.append(StateEntry("boot.init_settings", "/etc/crontab", value=lines))
    links = [
        StateEntry("boot.init_settings", f"/etc/rc2.d/S20{name}", value=name) for name in scripts
    ]
    return Snapshot("board", "now", "", "root", settings=tuple(settings), observations=tuple(links))


def test_what_may_tell_a_service_of_both_sides_is_found_by_its_name() -> None:
    boards = {
        Side.GOOD: snapshot("S50poller", "web.service", "only-good", scripts=("qos",)),
        Side.BAD: snapshot("S50poller", "web.service", "only-bad", scripts=("qos",)),
    }
    files = service_files(boards)
    assert {"/etc/init.d/S50poller", "/etc/default/poller", "/etc/web.conf"} <= set(files)
    assert {"/etc/init.d/qos", "/etc/default/qos"} <= set(files)  # has done its work at boot
    assert not any("only" in path for path in files)
    assert service_files({Side.BAD: boards[Side.BAD]}) == ()


def test_what_start_files_of_both_sides_call_is_found() -> None:
    good = snapshot(calls="/usr/local/sbin/tidy --all >/dev/null; /opt/new/good")
    bad = snapshot(calls="/usr/local/sbin/tidy --all >/dev/null")
    assert service_files({Side.GOOD: good, Side.BAD: bad}) == ("/usr/local/sbin/tidy",)


def test_only_what_both_have_otherwise_is_a_suspect() -> None:
    paths = ("/etc/init.d/qos", "/etc/default/qos", "/etc/web.conf", "/etc/web/web.conf")
    digests = {
        Side.GOOD: {paths[0]: "aaaa 9", paths[1]: "cccc 9", paths[2]: "eeee 9", paths[3]: "ffff 9"},
        Side.BAD: {paths[0]: "bbbb 9", paths[1]: "cccc 9", paths[3]: "0000 9"},
    }
    found = list(service_suspects(paths, digests, {"userland.file:/etc/web/web.conf"}))
    assert [(s.id, s.good, s.bad) for s in found] == [
        ("userland.file:/etc/init.d/qos", "aaaa", "bbbb")
    ]
    assert found[0].means is None
