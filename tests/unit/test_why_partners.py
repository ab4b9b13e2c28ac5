"""The programs that a command talks to: who they are, what of them differs, how likely that is."""

from __future__ import annotations

import os
import posixpath
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest
import secret_variables
import skips

from benchvise.board.local import LocalBoard
from benchvise.documents import decode, encode
from benchvise.state.places import may_be_written
from benchvise.why.cards import load_cards, named
from benchvise.why.explain import session_remedies
from benchvise.why.model import (
    SERVICE_FILE_LAYER,
    Layer,
    LayerMeans,
    SettingMeans,
    Side,
    Suspect,
    Term,
)
from benchvise.why.rules import DiagnosisRules
from benchvise.why.suspects.find import consent_for
from benchvise.why.witness.model import (
    Activity,
    CallsAbout,
    Partner,
    SideWatch,
    Witness,
    WitnessPart,
)
from benchvise.why.witness.opened import OPENED_FILE
from benchvise.why.witness.partner_suspects import (
    SERVICE_FILE,
    STATE,
    ServiceRestarts,
    is_service_file,
    origins_of_state,
    partner_files,
    partner_suspects,
    put_partners_first,
    state_as_on_good,
    state_files,
)
from benchvise.why.witness.partners import _merged, find_partners, owners_of, parse_programs
from benchvise.why.witness.program_files import FILES_OF_A_PROGRAM
from benchvise.why.witness.untouched import touched_paths

TABLES = """table unix
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/catalogue
0000000000000000: 00000003 00000000 00000000 0002 01 4712 @bus
table tcp
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode
   0: 0100007F:0035 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5001 1
   1: 00000000:1388 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5002 1
   2: 0100007F:C000 0100007F:0035 01 00000000:00000000 00:00000000 00000000     0        0 5009 1
table tcp6
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0 0A 0:0 0:0 0 0 0 5003
table udp
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode
   7: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 5004 2
table fib_trie
        |-- 10.77.0.13
           /32 host LOCAL
table fuse
90 22 0:51 / /mnt/captures ro - fuse.remotefs captures:/ ro,user_id=0
table open
/proc/1/fd:
lrwx------ 1 root root 64 Nov 28 10:00 3 -> socket:[4711]
/proc/40/fd:
lrwx------ 1 root root 64 Nov 28 10:00 3 -> socket:[4711]
lrwx------ 1 root root 64 Nov 28 10:00 4 -> /var/lib/store.db
/proc/41/fd:
lrwx------ 1 root root 64 Nov 28 10:00 3 -> socket:[5001]
lrwx------ 1 root root 64 Nov 28 10:00 4 -> socket:[5004]
/proc/42/fd:
lrwx------ 1 root root 64 Nov 28 10:00 3 -> socket:[5002]
lrwx------ 1 root root 64 Nov 28 10:00 4 -> socket:[5003]
lrwx------ 1 root root 64 Nov 28 10:00 5 -> socket:[4712]
/proc/43/fd:
lrwx------ 1 root root 64 Nov 28 10:00 3 -> /dev/fuse
"""


@pytest.mark.parametrize(
    ("target", "process"),
    [
        ("/run/catalogue", 40),  # and not the first process, which handed it over
        ("/var/lib/store.db", 40),
        ("@bus", 42),
        ("127.0.0.1:53", 41),
        ("10.77.0.13:5000", 42),  # bound to all, by an address of the board
        ("[::1]:80", 42),
        ("/mnt/captures/1", 43),  # which answers for the file system
    ],
)
def test_who_is_talked_to_is_found_by_path_and_by_address(target: str, process: int) -> None:
    assert owners_of([target], TABLES) == {process: (target,)}


@pytest.mark.parametrize(
    "target", ["10.77.0.1:5000", "127.0.0.1:49152", "/dev/null", "/usr/lib/libz.so.1", "pipe"]
)
def test_other_boards_and_files_of_nobody_else_are_no_partners(target: str) -> None:
    assert owners_of([target], TABLES) == {}


STAT = "S 1 41 41 0 -1 4194560 1 0 0 0 1 0 0 0 20 5 1 0 90 1 1 1 1 1 1 1 1 0 0 0 0 1 0 0 17 0 0 3 0"
TOLD = f"""process: 41
Name:\tnamed-local
Cpus_allowed_list:\t0-1
exe: /usr/bin/python3.11
stat: 41 (named local) {STAT}
word: /usr/bin/python3
word: -u
word: /usr/local/sbin/named-local
env: LANG=C
env: API_TOKEN=hunter2
env: NAMED_OPTS=-n 4
env: SSH_CLIENT=10.0.0.1
limit: Max open files            1024                 524288               files
open: /var/log/names
map: /usr/lib/libc.so.6
group: cpu.max /sys/fs/cgroup/services 10000 100000;
group: io.max /sys/fs/cgroup/services 7:0 wbps=1000 ;
group: memory.max /sys/fs/cgroup/services max;
group: cpu.weight /sys/fs/cgroup/services 100;
"""


@pytest.mark.parametrize(
    ("comm", "exe", "word", "name"),
    [
        ("redis-server", "/usr/bin/redis-check-rdb", "redis-server *:6379", "redis-server"),
        ("postgres", "/usr/lib/postgresql/15/bin/postgres", "postgres: checkpointer", "postgres"),
        (
            "systemd-resolve",
            "/lib/x/systemd-resolved",
            "/lib/x/systemd-resolved",
            "systemd-resolved",
        ),
        ("MainThread", "/opt/app/bin/app", "/opt/app/bin/app", "app"),
        ("postmaster", "/usr/sbin/pg", "-pg", "pg"),
    ],
)
def test_a_program_has_the_name_that_it_was_called_by(
    comm: str, exe: str, word: str, name: str
) -> None:
    """By that of the file that a link leads to, no script and no file of a server was found."""
    (program,) = parse_programs(f"process: 9\nName:\t{comm}\nexe: {exe}\nword: {word}\n")
    assert program.name == name


def test_a_program_is_told_with_its_limits_and_without_secrets() -> None:
    (program,) = parse_programs(TOLD)
    assert program.name == "named-local"
    assert program.file_words[:3] == ["named-local", "", "/usr/local/sbin/named-local"]
    partner = program.partner(["/etc/names.conf", ""])
    assert partner.files == ("/etc/names.conf",)
    assert partner.opened == ("/var/log/names",)
    assert partner.state == {
        "CPUs": "0-1",
        "nice": "5",
        "scheduling": "batch",
        "variable LANG": "C",
        "variable API_TOKEN": f"given (#{crc32(b'API_TOKEN=hunter2') & 0xFFFF:04x})",
        "variable NAMED_OPTS": "-n 4",
        "limit of open files": "1024",
        "cpu.max": "10000 100000",
        "io.max": "wbps=1000",
    }
    watch = SideWatch(partners=(partner,))
    assert decode(SideWatch, encode(watch)) == watch


def test_a_group_that_is_found_by_two_names_limits_once() -> None:
    """Of version 1, where a controller has its own hierarchy: no limit of it could be tried."""
    line = "group: cpu.cfs_quota_us /sys/fs/cgroup/cpu/services 10000;\n"
    (program,) = parse_programs(f"{TOLD}{line}{line}")
    partner = program.partner(["", ""])
    assert partner.state["cpu.cfs_quota_us"] == "10000"
    path = "/sys/fs/cgroup/cpu/services/cpu.cfs_quota_us"
    assert partner.limited_by["cpu.cfs_quota_us"] == path


EACH_PROCESS = "for p in $(pgrep -f '(^|/)named-local( |$)'); do"


@pytest.mark.parametrize(
    ("key", "good", "line"),
    [
        ("cpu.max", "none", "echo max > /sys/fs/cgroup/services/cpu.max"),
        ("cpu.max", "50000 100000", "echo 50000 100000 > /sys/fs/cgroup/services/cpu.max"),
        ("io.max", "none", ""),  # of which device?
        ("nice", "0", f"{EACH_PROCESS} renice -n 0 -p $p; done"),
        ("CPUs", "0-3", f"{EACH_PROCESS} taskset -acp 0-3 $p; done"),
        ("limit of open files", "20000", f"{EACH_PROCESS} prlimit --nofile=20000 --pid $p; done"),
        ("limit of msgqueue size", "819", f"{EACH_PROCESS} prlimit --msgqueue=819 --pid $p; done"),
        ("limit of open files", "$(reboot)", ""),
        ("variable LANG", "C", ""),
    ],
)  # fmt: skip
def test_a_limit_of_another_program_is_changed_by_hand(key: str, good: str, line: str) -> None:
    (program,) = parse_programs(TOLD)
    partner = program.partner(["", ""])
    assert partner.limited_by.keys() == {"cpu.max", "io.max", "memory.max", "cpu.weight"}
    name = f"{STATE}named-local:{key}"
    suspect = Suspect(name, "", Layer.RUN_TIME, "partner.state", good, partner.state.get(key, ""))
    assert state_as_on_good(suspect, (partner,)) == line
    assert decode(Partner, encode(partner)) == partner


def test_two_groups_that_limit_the_same_have_no_single_line() -> None:
    above = "group: cpu.max /sys/fs/cgroup 20000 100000;\n"
    (program,) = parse_programs(TOLD + above)
    assert "cpu.max" not in program.partner(["", ""]).limited_by


def test_options_of_programs_are_told_unless_they_may_have_a_secret() -> None:
    variables = secret_variables.WITH_SECRETS | secret_variables.WITHOUT
    lines = "".join(f"env: {name}={value}\n" for name, value in variables.items())
    (program,) = parse_programs(TOLD + lines)
    state = program.partner(["", ""]).state
    for name in secret_variables.WITH_SECRETS:
        assert state[f"variable {name}"].startswith("given (#"), name
    for name, value in secret_variables.WITHOUT.items():
        assert state[f"variable {name}"] == value


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A program that answers at a socket, with a configuration file."""
    (tmp_path / "answers").write_text(
        "import socket, sys, time\n"
        "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print('on', flush=1)\n"
        "time.sleep(60)\n"
    )
    address = str(tmp_path / "socket")
    words = [sys.executable, str(tmp_path / "answers"), address]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield address
        process.kill()


def test_a_server_of_this_machine_is_found(server: str) -> None:
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(server)
        (partner,) = find_partners(LocalBoard(), [CallsAbout("connect", server, 1, 0, 0.1, 0.1)])
    assert (partner.name, partner.targets) == ("answers", (server,))
    assert partner.state["nice"] == str(os.nice(0))
    assert str(Path(server).parent / "answers") in partner.files
    assert any("libc" in path for path in partner.program)


def test_who_is_asked_by_a_partner_is_found_behind_it(server: str, tmp_path: Path) -> None:
    """A front that a command talks to, and the store that the front's configuration names."""
    front, address = tmp_path / "front", str(tmp_path / "front.socket")
    front.write_text((tmp_path / "answers").read_text())
    configuration = tmp_path / "front.conf"
    configuration.write_text(f"store = unix:{server}\n")
    words = [sys.executable, str(front), address, str(configuration)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first, behind = find_partners(
            LocalBoard(), [CallsAbout("connect", address, 1, 0, 0.1, 0.1)]
        )
        process.kill()
    assert (first.name, first.through) == ("front", "")
    assert (behind.name, behind.through, behind.targets) == ("answers", "front", (address,))


def test_what_differs_behind_a_partner_counts_a_little_less() -> None:
    pair = watches()
    direct = partner_suspects(pair, DIGESTS, ())
    hidden = {
        side: replace(w, partners=(replace(w.partners[0], through="front"),))
        for side, w in pair.items()
    }
    behind = partner_suspects(hidden, DIGESTS, ())
    assert [s.id for s in behind] == [s.id for s in direct]
    assert behind[0].log_odds < direct[0].log_odds
    assert "by way of front" in behind[0].terms[0].reason
    part = WitnessPart(Activity.NETWORK, "recvfrom", "127.0.0.1:53", "dig", 0, 1.0, 0.9, "waiting")
    ranked = put_partners_first((SERVICE, *behind), Witness("", 1.0, 2.0, (part,)), hidden)
    assert ranked[0].id == behind[0].id


NO_FILTER = (
    "mkdir -p /run/systemd/system/named.service.d && printf '[Service]\\nSystemCallFilter=\\n' > "
    "/run/systemd/system/named.service.d/no-filter.conf && systemctl daemon-reload && "
    "systemctl restart named.service"
)


@pytest.mark.parametrize(
    ("told", "good", "line"),
    [
        ("Seccomp:\t2", "0", NO_FILTER),
        ("Seccomp:\t0", "2", ""),
        ("profile: /usr/sbin/named (enforce)", "none", "aa-complain /usr/sbin/named"),
        ("profile: system_u:system_r:named_t:s0", "none", "semanage permissive -a named_t"),
        ("profile: $(reboot) (enforce)", "none", ""),
        ("profile: unconfined", "none", ""),
    ],
)
def test_a_filter_of_a_service_is_taken_away_by_hand(told: str, good: str, line: str) -> None:
    (program,) = parse_programs(f"process: 41\nName:\tnamed\n{told}\n")
    partner = program.partner(["/etc/named.conf", "/usr/lib/systemd/system/named.service"])
    key = told.partition(":")[0]
    name, bad = f"{STATE}{partner.name}:{key}", partner.state.get(key, "none")
    suspect = Suspect(name, "", Layer.RUN_TIME, "partner.state", good, bad)
    assert state_as_on_good(suspect, (partner,)) == line


# -- what of it differs ----------------------------------------------------------------------------


def watches(**bad: str) -> dict[Side, SideWatch]:
    plain = Partner(
        "named", ("127.0.0.1:53",), {"nice": "0"}, ("/etc/names.conf",), ("/bin/named",)
    )
    other = Partner(
        "named",
        ("127.0.0.1:53",),
        {"nice": "0", **bad},
        ("/etc/names.conf", "/etc/default/named"),
        ("/bin/named",),
        ("/data/cache",),
    )
    call = CallsAbout("recvfrom", "127.0.0.1:53", 1, 0, 0.1, 0.1)
    return {
        Side.GOOD: SideWatch(partners=(plain,), calls=(call,)),
        Side.BAD: SideWatch(partners=(other,), calls=(call,)),
    }


DIGESTS = {
    Side.GOOD: {"/etc/names.conf": "aaaa 10", "/bin/named": "cccc"},
    Side.BAD: {"/etc/names.conf": "bbbb 10", "/bin/named": "cccc"},
}


def test_what_configures_a_server_comes_before_its_language() -> None:
    of_server = partner_suspects(watches(**{"variable LC_COLLATE": "C"}), DIGESTS, ())
    first, second = sorted(of_server, key=lambda suspect: -suspect.log_odds)
    assert first.id == f"{OPENED_FILE}/etc/names.conf"
    assert second.id == f"{STATE}named:variable LC_COLLATE"
    limited = partner_suspects(watches(**{"cpu.max": "10000 100000"}), DIGESTS, ())
    assert max(limited, key=lambda s: s.log_odds).id == f"{STATE}named:cpu.max"


def test_variables_that_a_program_wrote_over_are_not_compared() -> None:
    """setproctitle(3): a process of postgres shows its state where its variables were."""
    given = {f"variable {name}": "1" for name in ("LANG", "PGDATA", "PATH")} | {"nice": "0"}
    partner = Partner("postgres", ("127.0.0.1:5432",), state=given)
    for gone in Side:
        both = {side: SideWatch(partners=(partner,)) for side in Side}
        both[gone] = SideWatch(partners=(replace(partner, state={"nice": "5"}),))
        (only,) = partner_suspects(both, DIGESTS, ())
        assert only.id == f"{STATE}postgres:nice"


def test_what_a_server_was_started_with_is_compared() -> None:
    """lancachenet/lancache-dns#137, as words of the line that starts it."""
    words = "word: python3\nword: /opt/askd\nword: --entries\nword: {}\nexe: /usr/bin/python3\n"
    told = [next(parse_programs(f"process: 41\n{words.format(of)}")) for of in ("1000", "0")]
    both = {
        side: SideWatch(partners=(replace(program, targets=("/run/askd",)).partner(()),))
        for side, program in zip((Side.GOOD, Side.BAD), told, strict=True)
    }
    (suspect,) = partner_suspects(both, DIGESTS, ())
    assert (suspect.good, suspect.bad) == ("--entries 1000", "--entries 0")
    lines = {"/etc/rc.local": b"# --entries\n/opt/askd --entries 0 &\n"}
    (origin,) = origins_of_state(Side.BAD, suspect, lines)
    assert origin.where == "/etc/rc.local:2"
    secret = next(parse_programs(f"process: 41\n{words.format('--password=x')}"))
    assert secret.arguments.startswith("given (#") and "=x" not in secret.arguments


def test_of_many_processes_the_first_tells_for_all() -> None:
    first = STAT.replace("0 90 1", "0 41 1")
    text = f"{TOLD.replace('LANG=C', 'LANG=of_child')}{TOLD.replace(STAT, first)}"
    (told,) = _merged(parse_programs(text), {41: ("/run/catalogue",)})
    assert told.state["variable LANG"] == "C"
    assert told.targets == ("/run/catalogue",)


def test_a_servers_own_file_comes_before_those_of_logins() -> None:
    """ldidry/dynamic-motd#5: UseDNS of sshd beside variables of /etc/environment."""
    files = ("/etc/environment", "/etc/hosts.allow", "/etc/ssh/sshd_config")
    partner = Partner("sshd", ("10.77.0.13:22",), files=files)
    both = {side: SideWatch(partners=(partner,)) for side in Side}
    digests = {side: dict.fromkeys(files, side.value) for side in Side}
    ranked = sorted(partner_suspects(both, digests, ()), key=lambda suspect: -suspect.log_odds)
    assert [suspect.id.removeprefix(OPENED_FILE) for suspect in ranked] == [*reversed(files)]


def test_what_configures_a_busy_neighbour_is_a_suspect_where_the_command_waits_for_a_cpu() -> None:
    """A collector that looks every second instead of every minute: the command never asks it."""
    busy = Partner("collector", files=("/etc/collector.conf",), busy=0.9)
    seen = {Side.GOOD: SideWatch(), Side.BAD: SideWatch(partners=(busy,))}
    digests = {side: {"/etc/collector.conf": f"{side.value} 20"} for side in Side}
    (suspect,) = partner_suspects(seen, digests, ())
    assert suspect.title == (
        "the file /etc/collector.conf of collector, which is busy beside the command"
    )
    other = Suspect("storage.mounts:/var/log", "", Layer.ROOT, "storage.mounts", "a", "b")
    for activity, first in ((Activity.RUNNABLE, suspect), (Activity.USER, other)):
        part = WitnessPart(activity, "", "", "", 0.1, 2.0, 0.9, "it")
        ranked = put_partners_first((other, suspect), Witness("", 0.1, 2.0, (part,)), seen)
        assert ranked[0].id == first.id


def test_a_variable_for_shells_does_not_come_before_who_is_at_work() -> None:
    """osm-fr/bano#212: a job that locks the tables, beside a PATH that is set otherwise."""
    suspects = partner_suspects(watches(**{"variable PATH": "/bin"}), DIGESTS, ())
    path = next(s for s in suspects if s.id.endswith("PATH"))
    job = Suspect(
        "service.state:tidy", "", Layer.RUN_TIME, "system.services", "not there", "running",
        terms=(Term("prior", -2.8, ""), Term("witness", 1.6, "tidy woke 5.8 times a second there")),
    )  # fmt: skip
    part = WitnessPart(Activity.PROCESS, "poll", "127.0.0.1:53", "", 0.1, 2.0, 1.0, "it")
    seen = watches(**{"variable PATH": "/bin"})
    ranked = put_partners_first((job, path), Witness("", 0.1, 2.0, (part,)), seen)
    assert [suspect.id for suspect in ranked] == [job.id, path.id]


GROUP = "/sys/fs/cgroup/system.slice/named.service"


def _limited(key: str, good: str, bad: str, group: str = GROUP) -> Suspect:
    """A difference of one limit; ``none`` for a side without it."""
    sides = {}
    for side, value in ((Side.GOOD, good), (Side.BAD, bad)):
        watch = watches()[side]
        state = {"nice": "0", **({} if value == "none" else {key: value})}
        own = replace(watch.partners[0], state=state, limited_by={key: f"{group}/{key}"})
        sides[side] = replace(watch, partners=(own,))
    return partner_suspects(sides, DIGESTS, (), may_set=tuple(Side))[0]


@pytest.mark.parametrize(
    ("key", "good", "bad", "written"),
    [
        ("cpu.max", "none", "10000 100000", "max"),
        ("cpu.max", "50000 100000", "10000 100000", "50000 100000"),
        ("memory.high", "none", "20000000", "max"),
        ("cpu.weight", "none", "1", "100"),
    ],
)
def test_a_limit_of_another_group_is_a_setting(key: str, good: str, bad: str, written: str) -> None:
    suspect = _limited(key, good, bad)
    assert isinstance(suspect.means, SettingMeans) and not suspect.untestable
    (to_good,), (to_bad,) = suspect.means.to_good, suspect.means.to_bad
    assert (to_good.value, to_good.paths) == (written, (f"{GROUP}/{key}",))
    assert (to_bad.value, to_bad.paths) == (bad, (f"{GROUP}/{key}",))
    assert may_be_written(to_good.knob.path, to_good.paths[0])
    assert not to_good.knob.risky and to_good.knob.each


def test_a_limit_of_disks_can_only_be_taken_away() -> None:
    """Disks have numbers, which mean others on another board."""
    suspect = _limited("io.max", "none", "wbps=1000")
    assert isinstance(suspect.means, SettingMeans)
    assert [setting.value for setting in suspect.means.to_good] == ["none"]
    assert suspect.means.to_bad == () and suspect.not_on_good
    assert _limited("io.max", "wbps=9000", "wbps=1000").means is None


def test_groups_of_version_1_lie_deeper() -> None:
    deep = "/sys/fs/cgroup/cpu,cpuacct/system.slice/named.service"
    suspect = _limited("cpu.cfs_quota_us", "none", "10000", deep)
    assert isinstance(suspect.means, SettingMeans)
    assert suspect.means.to_good[0].value == "-1"


@pytest.mark.parametrize(
    "group", ["", "/sys/fs/cgroup/../../etc", "/proc/1/root/sys/fs/cgroup/a", f"{GROUP}/a/b/c"]
)
def test_no_other_file_is_written_than_a_limit(group: str) -> None:
    assert _limited("cpu.max", "none", "10000 100000", group).means is None


def test_a_side_that_may_not_be_set_keeps_its_limits() -> None:
    limited = watches(**{"cpu.max": "10000 100000"})
    assert partner_suspects(limited, DIGESTS, ())[0].means is None


BOTH_RUN = {side: frozenset({"S20named", "cron"}) for side in Side}


def test_what_each_machine_has_of_its_own_stays_behind() -> None:
    """pi-hole/FTL#2357: the certificate of a web server differs on any two boards."""
    files = ("/etc/web/cert.pem", "/etc/web/web.conf")
    partner = Partner("webd", ("127.0.0.1:443",), files=files)
    both = {side: SideWatch(partners=(partner,)) for side in Side}
    digests = {
        Side.GOOD: {files[0]: "aaaa 1204", files[1]: "cccc 90"},
        Side.BAD: {files[0]: "bbbb 1196", files[1]: "dddd 91"},
    }
    own, settings = partner_suspects(both, digests, ())
    assert settings.log_odds > own.log_odds
    # one of another kind: of 521 bits against 16384
    digests[Side.BAD][files[0]] = "bbbb 6500"
    own, settings = partner_suspects(both, digests, ())
    assert settings.log_odds == own.log_odds


def test_a_file_of_a_service_is_tried_with_consent() -> None:
    asked = ServiceRestarts(BOTH_RUN, DiagnosisRules().not_allowed(SERVICE_FILE))
    (suspect,) = partner_suspects(watches(), DIGESTS, (), asked)
    assert consent_for(suspect) == (SERVICE_FILE,)
    assert suspect.untestable.startswith("named reads it when it starts")
    allowed = ServiceRestarts(
        BOTH_RUN, DiagnosisRules(allowed=("service.*",)).not_allowed(SERVICE_FILE)
    )
    (suspect,) = partner_suspects(watches(), DIGESTS, (), allowed)
    assert suspect.means == LayerMeans(SERVICE_FILE_LAYER, "S20named/etc/names.conf")
    assert is_service_file(suspect) and not suspect.untestable and not suspect.not_on_good
    best = max(load_cards(), key=lambda card: named(card, suspect))
    assert best.id == "file-that-a-service-reads"
    one_sided = ServiceRestarts({**BOTH_RUN, Side.GOOD: frozenset()})
    (suspect,) = partner_suspects(watches(), DIGESTS, (), one_sided)
    assert suspect.means is not None and "S20named" in suspect.not_on_good


@pytest.mark.parametrize(
    ("running", "files", "service"),
    [
        ({"named"}, (), "named"),
        ({"S20named", "S30cron"}, (), "S20named"),
        ({"named.service"}, (), "named.service"),
        ({"bind", "cron"}, ("/etc/init.d/bind", "/etc/names.conf"), "bind"),
        ({"bind9.service"}, ("/lib/systemd/system/bind9.service",), "bind9.service"),
        ({"bind", "dns"}, ("/etc/init.d/bind", "/etc/init.d/dns"), ""),
        ({"cron"}, ("/etc/init.d/bind",), ""),
    ],
)  # fmt: skip
def test_which_service_a_program_is(
    running: set[str], files: tuple[str, ...], service: str
) -> None:
    restarts = ServiceRestarts({Side.BAD: frozenset(running)})
    assert restarts.service_of(Side.BAD, Partner("named", files=files)) == service


def test_a_service_that_is_not_known_is_started_anew_by_hand() -> None:
    (suspect,) = partner_suspects(watches(), DIGESTS, (), ServiceRestarts())
    assert suspect.means is None and "change it there, start it anew" in suspect.untestable
    assert consent_for(suspect) == ()


@pytest.mark.parametrize(
    ("service", "line"),
    [
        ("names.service", "systemctl restart names.service"),
        ("S20named", "/etc/init.d/S20named restart"),
    ],
)
def test_the_remedy_starts_the_service_anew(service: str, line: str) -> None:
    (remedy,) = session_remedies.of_file("/etc/names.conf", only_bad=False, service=service)
    assert remedy.text.splitlines()[-1].partition("  #")[0] == line
    (alone,) = session_remedies.of_file("/etc/names.conf", only_bad=True)
    assert alone.text == "mv -- /etc/names.conf /etc/names.conf.away"


def test_what_differs_in_a_partner_is_a_suspect() -> None:
    found = partner_suspects(watches(**{"cpu.max": "10000 100000"}), DIGESTS, ())
    assert [(s.id, s.good, s.bad) for s in found] == [
        (f"{STATE}named:cpu.max", "none", "10000 100000"),
        (f"{OPENED_FILE}/etc/names.conf", "aaaa", "bbbb"),
    ]
    assert all(suspect.untestable and suspect.means is None for suspect in found)
    assert partner_suspects(watches(), DIGESTS, found) == ()


def test_files_of_partners_are_compared_and_their_mounts_are_touched() -> None:
    settings = ("/etc/names.conf", "/bin/named", "/etc/default/named", "/data/cache")
    assert partner_files(watches()) == settings
    touched = touched_paths(tuple(watches().values()))
    assert touched is not None
    assert "/data/cache" in touched


def test_the_files_of_a_message_bus_are_those_of_what_it_starts() -> None:
    """flatpak/xdg-desktop-portal#400: who asks for a portal waits until it has come up."""
    skips.need_root()
    service = "/usr/share/dbus-1/services/org.freedesktop.portal.Desktop.service"
    own = f"mount -t tmpfs none /usr/share && mkdir -p {posixpath.dirname(service)} && : >{service}"
    script = f'{own} && exec sh -c "$0" sh "$@"'
    words = ["unshare", "-m", "sh", "-c", script, FILES_OF_A_PROGRAM, "dbus-daemon", ""]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert service in done.stdout.splitlines()


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("include_dir 'conf.d'  # of the board", ["conf.d/a.conf", "conf.d/b.conf"]),
        ("include_if_exists = 'more.conf'", ["more.conf"]),
        ("  Include conf.d/*.conf", ["conf.d/a.conf", "conf.d/b.conf"]),
        ('$IncludeConfig "conf.d/b.conf";', ["conf.d/b.conf"]),
        ("!includedir conf.d", ["conf.d/a.conf", "conf.d/b.conf"]),
        ("auth include more.conf", ["more.conf"]),
        ("# including conf.d", []),
        ("inclusion conf.d", []),
    ],
)
def test_what_a_configuration_includes_is_followed(
    tmp_path: Path, line: str, named: list[str]
) -> None:
    (tmp_path / "conf.d").mkdir()
    for name in ("conf.d/a.conf", "conf.d/b.conf", "more.conf", "main.conf"):
        (tmp_path / name).write_text(f"x = 1\n{line if name == 'main.conf' else ''}\n")
    words = ["sh", "-c", FILES_OF_A_PROGRAM, "sh", "bvd", "", str(tmp_path / "main.conf")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    lines = {line for line in done.stdout.splitlines() if line.startswith(f"{tmp_path}/")}
    assert lines == {f"{tmp_path}/{name}" for name in ("main.conf", *named)}


def test_a_directory_of_a_partner_with_far_more_files_is_a_suspect() -> None:
    """A server that looks through its spool at each question; both have the same configuration."""
    spool = "/var/spool/outbox"
    partner = Partner(
        "mailerd", ("/run/mailer.sock",), files=("/etc/m.conf",), directories=(spool,)
    )
    both = {side: SideWatch(partners=(partner,)) for side in Side}
    assert spool in partner_files(both)
    counts = {Side.GOOD: {spool: "directory 3"}, Side.BAD: {spool: "directory 25003"}}
    (found,) = partner_suspects(both, counts, ())
    assert (found.id, found.good, found.bad) == (
        f"{OPENED_FILE}{spool}",
        "3 entries",
        "25003 entries",
    )
    assert found.means is None and found.untestable
    first, _ = put_partners_first((SERVICE, found), waits("/run/mailer.sock", 0.9), both)
    assert first.id == found.id
    alike = {side: {spool: "directory 25003"} for side in Side}
    assert partner_suspects(both, alike, ()) == ()


def test_scripts_that_a_program_calls_and_what_they_read_are_among_its_files(
    tmp_path: Path,
) -> None:
    """Who waits may be the handler that a server of servers starts, for what that reads."""
    skips.need_root()
    place = tmp_path / "opt"
    handler, settings = place / "handler", place / "handler.rc"
    script = (
        'mount -t tmpfs none /srv && mkdir -p /srv/m && cp "$0"/* /srv/m/ && '
        'exec sh -c "$1" sh superd "" /srv/m/superd'
    )
    place.mkdir()
    (place / "superd").write_text("#!/usr/bin/python3\nopen('/srv/m/superd.conf')\n")
    (place / "superd.conf").write_text("meter /srv/m/handler\nother /srv/m/picture in /srv/m\n")
    handler.write_text("#!/bin/sh\n. /srv/m/handler.rc\nread line\n")
    settings.write_text("SETTLE=0.2\n")
    (place / "picture").write_bytes(b"\0\1" * 50)
    for program in (handler, place / "superd", place / "picture"):
        program.chmod(0o755)
    words = ["unshare", "-m", "sh", "-c", script, str(place), FILES_OF_A_PROGRAM]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert {line for line in done.stdout.splitlines() if line.startswith("/srv/")} == {
        f"/srv/m/{name}" for name in ("", "superd", "superd.conf", "handler", "handler.rc")
    }


SERVICE = Suspect(
    "service.state:cron",
    "a service",
    Layer.RUN_TIME,
    "system.services",
    "running",
    "not there",
    ("system.services/service cron",),
    untestable="it takes consent",
    terms=(Term("prior", 2.0, ""),),
)


def waits(target: str, share: float, activity: Activity = Activity.RESOLVER) -> Witness:
    part = WitnessPart(activity, "recvfrom", target, "getent", 0.0, 1.0, share, "waiting")
    return Witness("", 1.0, 2.0, (part,))


def test_what_the_command_waits_for_comes_before_services_that_differ() -> None:
    of_partner = partner_suspects(watches(), DIGESTS, ())
    ranked = put_partners_first((SERVICE, *of_partner), waits("127.0.0.1:53", 0.9), watches())
    assert [s.id for s in ranked] == [f"{OPENED_FILE}/etc/names.conf", SERVICE.id]
    assert ranked[0].terms[-1].reason == "the command waits for named: 90 % of the gap"


@pytest.mark.parametrize(
    "witness",
    [
        waits("127.0.0.1:53", 0.1),
        waits("10.0.0.9:53", 0.9),
        waits("127.0.0.1:53", 0.9, Activity.USER),
    ],
)
def test_a_partner_that_is_not_waited_for_stays_behind(witness: Witness) -> None:
    of_partner = partner_suspects(watches(), DIGESTS, ())
    ranked = put_partners_first((SERVICE, *of_partner), witness, watches())
    assert ranked[0].id == SERVICE.id


def test_the_line_that_names_a_limit_is_told_as_uncertain() -> None:
    suspect, _ = partner_suspects(watches(**{"cpu.max": "10000 100000"}), DIGESTS, ())
    assert state_files(suspect) == ("/etc/names.conf", "/etc/default/named")
    contents = {"/etc/default/named": b"# cpu.max\nCPUQuota=10%\n", "/etc/names.conf": None}
    (origin,) = origins_of_state(Side.BAD, suspect, contents)
    assert (str(origin.file), origin.line) == ("/etc/default/named", 2)
    assert not origin.certain
    assert origins_of_state(Side.GOOD, suspect, contents) == ()


@pytest.mark.parametrize(
    ("limit", "value", "line"),
    [
        ("blkio.throttle.write_iops_device", "7:3 50", "io.max 7:3 wiops=50"),
        ("blkio.throttle.read_bps_device", "7:3 12000000", "IOReadBandwidthMax=/dev/sda 12M"),
        ("blkio.throttle.write_bps_device", "7:3 1000000", "  device_write_bps: 1mb"),
        ("io.max", "7:3 riops=90", "IOReadIOPSMax=/dev/mmcblk0 90"),
        ("pids.max", "60", "TasksMax=60"),
    ],
)
def test_a_limit_is_named_as_the_other_version_systemd_and_docker_name_it(
    limit: str, value: str, line: str
) -> None:
    suspect = partner_suspects(watches(**{limit: value}), DIGESTS, ())[0]
    contents: dict[str, bytes | None] = {"/etc/names.conf": f"level 2\n# {line}\n{line}\n".encode()}
    (origin,) = origins_of_state(Side.BAD, suspect, contents)
    assert origin.where == "/etc/names.conf:3"


def test_data_of_a_partner_is_a_difference_where_one_side_has_far_more() -> None:
    """A store that grew, and through which each question goes; all other data differs by itself."""
    store = "/var/lib/station/readings"
    partner = Partner("station", ("/run/station",), opened=(store, "/dev/null"))
    both = {side: SideWatch(partners=(partner,)) for side in Side}
    assert partner_files(both) == (store,)
    digests = {Side.GOOD: {store: "aa 40000"}, Side.BAD: {store: "bb 12000000"}}
    (grown,) = partner_suspects(both, digests, ())
    assert (grown.id, grown.good, grown.bad) == (
        f"userland.file:{store}", "40000 bytes", "12000000 bytes",
    )  # fmt: skip
    part = WitnessPart(Activity.PROCESS, "recvfrom", "/run/station", "", 0.0, 1.0, 0.9, "waiting")
    ranked = put_partners_first((grown,), Witness("", 1.0, 2.0, (part,)), both)
    assert "waits for station" in ranked[0].terms[-1].reason
    digests[Side.BAD] = {store: "bb 41000"}
    assert not partner_suspects(both, digests, ())


def test_how_urgent_a_partner_is_at_disks_and_timers_is_known() -> None:
    (program,) = parse_programs(f"{TOLD}io: idle\nslack: 50000\n")
    assert program.state["I/O class"] == "idle"
    assert program.state["timer slack"] == "50000 ns"


def test_what_leads_a_server_elsewhere_is_told_of_a_session_too() -> None:
    lines = ("XDG_CACHE_HOME=/mnt/card/cache", "XDG_SESSION_ID=4", "PGHOST=/run/postgresql",
             "APP_SALT=/9j4hidden")  # fmt: skip
    (program,) = parse_programs(TOLD + "".join(f"env: {line}\n" for line in lines))
    state = program.state
    assert state["variable XDG_CACHE_HOME"] == "/mnt/card/cache"
    assert state["variable PGHOST"] == "/run/postgresql"
    assert "variable XDG_SESSION_ID" not in state
    assert state["variable APP_SALT"].startswith("given (#")


def test_what_a_library_reads_configures_the_program_too() -> None:
    """tcpwrappers ask a name server for who is in ``hosts.deny`` by name, in whatever server."""
    (program,) = parse_programs(TOLD + "map: /usr/lib/x86_64-linux-gnu/libwrap.so.0.7.6\n")
    assert program.partner(["/etc/hosts.deny", "/etc/names.conf"]).files == (
        "/etc/hosts.deny", "/etc/names.conf", "/etc/hosts.allow",
    )  # fmt: skip


def test_a_file_that_one_side_alone_has_comes_before_one_that_differs() -> None:
    own = ("/etc/environment", "/etc/hosts.deny")
    both = {
        side: SideWatch(partners=(Partner("sshd", ("127.0.0.1:22",), files=own),)) for side in Side
    }
    digests = {
        Side.GOOD: {"/etc/environment": "aa 10"},
        Side.BAD: {"/etc/environment": "bb 10", "/etc/hosts.deny": "cc 20"},
    }
    part = WitnessPart(Activity.NETWORK, "read", "127.0.0.1:22", "", 0.0, 1.0, 0.9, "waiting")
    found = partner_suspects(both, digests, ())
    ranked = put_partners_first(found, Witness("", 1.0, 2.0, (part,)), both)
    assert [s.id for s in ranked] == [f"{OPENED_FILE}{path}" for path in reversed(own)]
