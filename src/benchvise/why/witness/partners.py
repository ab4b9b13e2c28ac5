"""The programs on a board that a command talks to: who answers, under which limits, by which files.

A name server, a log daemon, a database, a bus: what slows a command down may lie with the one that
it waits for. Who that is, is told by what the command's system calls were about. The kernel's lists
of sockets lead from a path or an address to an inode, and the descriptors of processes from there
to a program (proc(5), unix(7)); files that both hold open, and pipes with a name, do so by their
path. Of such a program its control groups, limits, scheduling and environment are read, and which
files it may be configured by: its program or script, what starts it, and what these name in /etc or
by a name such as ``*.conf``. The sockets and ports that these name lead to the programs behind.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from zlib import crc32

from benchvise.board.protocol import Board
from benchvise.errors import BoardUnusable
from benchvise.text import printable
from benchvise.why.suspects.places import is_at
from benchvise.why.witness.model import CallsAbout, Partner
from benchvise.why.witness.polled import place_users, polled_places
from benchvise.why.witness.program_files import FILES_OF_A_PROGRAM
from benchvise.why.witness.started import ServerWork, leading_files, server_work

_READ_S = 20.0
_FILES_S = 60.0
MOST = 6
"""So many programs are looked at."""

_MOST_BEHIND = 9
"""So many with those that they ask in turn."""

ARGUMENTS = "arguments"
"""The key of what a program was started with."""

_MOST_FILES = 200
_MOST_VALUE = 120
_SOCKETS = (
    "for t in unix tcp tcp6 udp udp6 fib_trie if_inet6; do "
    'echo "table $t"; head -c 524288 "/proc/net/$t" 2>/dev/null; echo; done; '
    'echo "table fuse"; grep " - fuse" /proc/self/mountinfo; '
    'echo "table open"; ls -ln /proc/[0-9]*/fd 2>/dev/null | grep -E "^/proc|socket:|-> /" | '
    "head -c 4194304; true"
)
_ABOUT = (
    'for p in "$@"; do d=/proc/$p; [ -d "$d" ] || continue; echo "process: $p"; '
    'sed -n "s/^btime /boot: /p" /proc/stat; '
    'grep -E "^(Name|Cpus_allowed_list|Seccomp|THP_enabled|TracerPid):" "$d/status"; '
    'echo "profile: $(tr -d "\\0" <"$d/attr/current")"; '
    'echo "io: $(ionice -p "$p")"; echo "slack: $(cat "$d/timerslack_ns")"; '
    'echo "exe: $(readlink "$d/exe")"; echo "cwd: $(readlink "$d/cwd")"; '
    'echo "stat: $(cat "$d/stat")"; tr "\\0" "\\n" <"$d/cmdline" | sed "s/^/word: /"; '
    'tr "\\0" "\\n" <"$d/environ" | sed "s/^/env: /"; sed "s/^/limit: /" "$d/limits"; '
    'ls -ln "$d/fd" | sed -n "s|.* -> /|open: /|p"; '
    'sed -n "s|.* \\(/.*\\)$|map: \\1|p" "$d/maps" | sort -u; '
    "while IFS=: read -r n c g; do for r in /sys/fs/cgroup ${c:+/sys/fs/cgroup/$c} "
    '$(echo "$c" | tr , "\\n" | sed -n "s|^..*|/sys/fs/cgroup/&|p") /sys/fs/cgroup/unified; do '
    'b=$g; while [ "$b" ] && [ "$b" != / ] && [ -d "$r$b" ]; do '
    "for f in cpu.max cpu.weight cpu.idle cpu.uclamp.max cpuset.cpus memory.high memory.max "
    "io.prio.class blkio.prio.class "
    "memory.swap.max io.max io.weight pids.max cpu.cfs_quota_us cpu.cfs_period_us cpu.shares "
    "memory.limit_in_bytes memory.soft_limit_in_bytes blkio.throttle.read_bps_device "
    "blkio.throttle.write_bps_device blkio.throttle.read_iops_device "
    'blkio.throttle.write_iops_device; do [ -r "$r$b/$f" ] && '
    'echo "group: $f $r$b $(tr "\\n" ";" <"$r$b/$f")"; done; b=${b%/*}; done; done; '
    'done <"$d/cgroup"; done 2>/dev/null; true'
)
# Where else a program may ask: sockets and ports that its files name.
_NAMED = (
    'grep -ohasE -- "(127[.]0[.]0[.]1|localhost|::1|[Pp][Oo][Rr][Tt])[^0-9]{0,12}[0-9]{2,5}|'
    '@?/[A-Za-z0-9_./@+-]+" "$@" | sort -u | head -c 262144; true'
)
_PORT = re.compile(r"\D(\d{2,5})$")
_INTERPRETER = re.compile(
    r"(?:python|perl|ruby|lua|php|node|nodejs|java|tclsh|(?:ba|da|k|z)?sh|busybox)[\d.]*$"
)
_SCRIPTED = re.compile(r"(?:python|perl|ruby|lua|php|node|nodejs|tclsh|(?:ba|da|k|z)?sh)[\d.]*$")
_OF_SYSTEM = re.compile(r"/(?:usr/)?(?:s?bin|lib\w*)/")
_ADDRESS = re.compile(r"(?:(\d{1,3}(?:\.\d{1,3}){3})|\[([0-9a-fA-F:.]+)\]):(\d{1,5})")
_OPEN = re.compile(r" -> (.+)$")
_OF_PROCESS = re.compile(r"/proc/(\d{1,12})/fd:?$")
_INODE = re.compile(r"socket:\[(\d{1,20})\]")
_LISTENS, _UNCONNECTED = "0A", "07"
_NO_PARTNER = ("/proc/", "/sys/", "/dev/null", "/dev/zero", "/dev/tty", "/dev/urandom", "/dev/pts")
_TELLS = re.compile(
    r"LANG|LC_|TZ|MALLOC_|OMP_|GOMP_|GLIBC_TUNABLES|LD_|PYTHON|PERL5|PERL_|"
    r"UV_THREADPOOL|GOMAXPROCS|GOGC|GOMEMLIMIT|GODEBUG|RUBY|"
    r"LOCALDOMAIN|BASH_ENV|ENV$|G_SLICE|RUST_|PGGSS|PGSSLMODE"
)
_SECRET = re.compile(r"passw|secret|token|key=|cred|://.*@", re.IGNORECASE)
# Of whatever program: nobody knows what its options are, so that less is told of them, but of a
# path, where - begins none. As core/environment.c of the probe has it.
_TELLS_ENDS = re.compile(
    r".*(?:OPTIONS|OPTS|FLAGS|THREADS|JOBS|LEVEL|DEBUG|TRACE|CACHE|SIZE|LIMIT|TIMEOUT|"
    r"ATTEMPTS|RETRIES|INTERVAL|DELAY|BACKEND|POLICY|WORKERS|SYNC|PROXY|_proxy|PATH|DIR|HOME)$"
)
_SUSPICIOUS = re.compile(
    r"pass|pwd|secret|token|key|cred|auth|user|sign|-p|-u|://.*@", re.IGNORECASE
)
_OF_SESSION = re.compile(
    r"SSH_|XDG_|DBUS_|INVOCATION_ID|JOURNAL_|NOTIFY_|LISTEN_|MANAGERPID|SYSTEMD_|WATCHDOG_|PWD$|"
    r"OLDPWD$|SHLVL$|_$|.*PID$|MEMORY_PRESSURE|CREDENTIALS_|RUNTIME_DIRECTORY"
)
_LEADS = re.compile(r"XDG_\w+_(?:HOME|DIRS)$|DBUS_\w+_ADDRESS$")
"""Of a session, but they lead to what a program reads or asks."""
_PATH = re.compile(
    r"/(?:bin|boot|data|etc|home|lib\w*|media|mnt|opt|root|run|sbin|srv|tmp|usr|var)(?:[/:]|$)"
)
"""What a value begins with that is a path, and not only a secret that begins as one."""
_NO_LIMIT = re.compile(
    r"(?:max|-1|none|no-change|default 100|100|1024|)|9223372036854\d+|1844674407\d+"
)
_DEVICE = re.compile(r"\b\d{1,5}:\d{1,7} ")
_TICKS_PER_S = 100.0
_POLICIES = {"1": "fifo", "2": "rr", "3": "batch", "5": "idle", "6": "deadline"}


def find_partners(
    board: Board, calls: Sequence[CallsAbout], command: str = "", usual_s: float = 0.0
) -> tuple[Partner, ...]:
    """The programs that these calls of a command were about; none where the board cannot tell.

    Where the command is given, which takes ``usual_s``, it is run once more for what they start
    meanwhile. Raises BoardUnreachable.
    """
    targets = tuple(dict.fromkeys(t for call in calls for t in call.target.split(", ") if t))
    try:
        text = _text_of(board, ["sh", "-c", _SOCKETS])
        owners = owners_of(targets, text)
        files: defaultdict[int, list[str]] = defaultdict(list)
        for user in place_users(board, polled_places(calls)):
            owners[user.process] = (*owners.get(user.process, ()), user.place)
            files[user.process] += user.files
        if not owners:
            return ()
        statuses = _text_of(board, ["sh", "-c", _ABOUT, "sh", *map(str, list(owners)[: 4 * MOST])])
        programs = list(_merged(parse_programs(statuses), owners))[:MOST]
        work = server_work(board, command, usual_s, owners) if command else {}
        for program in programs:
            program.named_in = files[program.process]
            program.work = work.get(program.process, ServerWork())
        partners = [_partner(board, program) for program in programs]
        return (*partners, *_behind(board, partners, owners, text))
    except BoardUnusable:
        return ()


def busy_programs(
    board: Board, busy: Mapping[int, float], partners: Sequence[Partner]
) -> tuple[Partner, ...]:
    """The programs of these processes, with the CPUs that they took, without those that are
    partners; none where the board cannot tell. Raises BoardUnreachable."""
    if not busy:
        return ()
    names = {partner.name for partner in partners}
    try:
        statuses = _text_of(board, ["sh", "-c", _ABOUT, "sh", *map(str, busy)])
        programs = [p for p in _merged(parse_programs(statuses), {}) if p.name not in names]
        return tuple(
            replace(_partner(board, program), busy=busy.get(program.process, 0.0))
            for program in programs
        )
    except BoardUnusable:
        return ()


def _partner(board: Board, program: ProgramOfBoard, through: Partner | None = None) -> Partner:
    listing = ["sh", "-c", FILES_OF_A_PROGRAM, "sh", *program.file_words]
    partner = program.partner(_text_of(board, listing, _FILES_S).splitlines(), through)
    return replace(partner, leading=leading_files(board, partner.started, partner.files))


def _behind(
    board: Board, partners: Sequence[Partner], known: Mapping[int, object], text: str
) -> Iterator[Partner]:
    """The programs whose sockets or ports the files of partners name: who waits for a partner
    waits for these."""
    tables = _tables(text)
    sockets = _named_sockets(tables.get("unix", ()))
    ports = {port for name in ("tcp", "tcp6") for _, port, _ in _bound(tables.get(name, ()))}
    names = {partner.name for partner in partners}
    for partner in partners:
        if not partner.files or len(names) >= _MOST_BEHIND:
            continue
        lines = _text_of(board, ["sh", "-c", _NAMED, "sh", *partner.files]).splitlines()
        named = [line for line in lines if line in sockets and line not in partner.targets]
        numbers = {int(match[1]) for line in lines if (match := _PORT.search(line))} & ports
        in_use = {int(t.rpartition(":")[2]) for t in partner.targets if _ADDRESS.fullmatch(t)}
        named += [f"127.0.0.1:{number}" for number in sorted(numbers - in_use)]
        owners = {p: of for p, of in owners_of(named, text).items() if p not in known}
        if not owners:
            continue
        statuses = _text_of(board, ["sh", "-c", _ABOUT, "sh", *map(str, list(owners)[:MOST])])
        for program in _merged(parse_programs(statuses), owners):
            if program.name not in names and len(names) < _MOST_BEHIND:
                names.add(program.name)
                yield _partner(board, program, partner)


def _text_of(board: Board, command: Sequence[str], timeout_s: float = _READ_S) -> str:
    return board.run(command, timeout=timeout_s).stdout.decode("utf-8", "replace")


# -- who it is -------------------------------------------------------------------------------------


def owners_of(targets: Iterable[str], text: str) -> dict[int, tuple[str, ...]]:
    """Processes that hold what these targets are about, each with those of them, by the tables of
    the kernel and the descriptors that a board told."""
    tables = _tables(text)
    inodes = _named_sockets(tables.get("unix", ()))
    local = _local_addresses(tables)
    ports = [
        (*entry, "tcp" if name.startswith("tcp") else "udp")
        for name in ("tcp", "tcp6", "udp", "udp6")
        for entry in _bound(tables.get(name, ()))
    ]
    of_programs = _fuse_mounts(tables.get("fuse", ()))
    wanted: defaultdict[str, list[str]] = defaultdict(list)
    for target in targets:
        if target in inodes:
            for inode in inodes[target]:
                wanted[f"socket:[{inode}]"].append(target)
        elif match := _ADDRESS.fullmatch(target):
            for inode in _at(match[1] or match[2], int(match[3]), ports, local):
                wanted[f"socket:[{inode}]"].append(target)
        elif target.startswith("/") and not target.startswith(_NO_PARTNER):
            wanted[target].append(target)
            if any(is_at(target, point) for point in of_programs):
                wanted[_FUSE].append(target)
    held_targets: defaultdict[int, list[str]] = defaultdict(list)
    process = 0
    for line in tables.get("open", ()):
        if head := _OF_PROCESS.match(line):
            process = int(head[1])
        elif (link := _OPEN.search(line)) and link[1] in wanted:
            held_targets[process] += wanted[link[1]]
    others = {p: tuple(dict.fromkeys(of)) for p, of in held_targets.items() if p > 1}
    return others or {p: tuple(dict.fromkeys(of)) for p, of in held_targets.items() if p}


def _tables(text: str) -> dict[str, list[str]]:
    tables: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("table "):
            lines = tables.setdefault(line.removeprefix("table "), [])
        else:
            lines.append(line)
    return tables


_FUSE = "/dev/fuse"
"""What a program has open that answers for a file system (fuse(4))."""


def _fuse_mounts(lines: Sequence[str]) -> tuple[str, ...]:
    """The mount points of file systems for which programs answer, by lines of mountinfo: those of
    disks that a program reads are among them."""
    fields = (line.split(" ") for line in lines)
    return tuple(of[4] for of in fields if len(of) > 4 and of[4] != "/")


def _named_sockets(lines: Sequence[str]) -> dict[str, list[str]]:
    """Inodes of sockets by their path, or by @ and their name."""
    inodes: defaultdict[str, list[str]] = defaultdict(list)
    for line in lines:
        fields = line.split(None, 7)
        if len(fields) == 8:
            inodes[fields[7]].append(fields[6])
    return inodes


def _bound(lines: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Address, port and inode of the sockets that wait for others."""
    for line in lines:
        fields = line.split()
        if len(fields) < 10 or fields[3] not in (_LISTENS, _UNCONNECTED):
            continue
        with suppress(ValueError):
            address, _, port = fields[1].partition(":")
            yield _address(address), int(port, 16), fields[9]


def _address(digits: str) -> str:
    """The words of an address are as this little-endian board has them in memory."""
    data = bytes.fromhex(digits)
    parts = [data[at : at + 4][::-1] for at in range(0, len(data), 4)]
    return str(ipaddress.ip_address(b"".join(parts)))


def _local_addresses(tables: Mapping[str, Sequence[str]]) -> set[str]:
    addresses, last = set(), ""
    for line in tables.get("fib_trie", ()):
        if match := re.search(r"-- (\d+\.\d+\.\d+\.\d+)$", line.rstrip()):
            last = match[1]
        elif "/32 host LOCAL" in line:
            addresses.add(last)
    for line in tables.get("if_inet6", ()):
        with suppress(ValueError):
            addresses.add(str(ipaddress.ip_address(bytes.fromhex(line.split(" ")[0]))))
    return addresses


def _at(
    host: str, port: int, ports: Sequence[tuple[str, int, str, str]], local: set[str]
) -> Iterator[str]:
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        is_here = address.is_loopback or str(address) in local
        for bound, number, inode, _ in ports:
            if number == port and (bound == str(address) or (is_here and bound in _ANY)):
                yield inode


_ANY = ("0.0.0.0", "::")  # noqa: S104 - what is bound to all


# -- what is known of it ---------------------------------------------------------------------------


_COMM_LENGTH = 15
"""So much of a name the kernel keeps."""


@dataclass(slots=True)
class ProgramOfBoard:
    """A process as it was told: its words, its state, what it has open and mapped."""

    process: int
    comm: str = ""
    exe: str = ""
    words: list[str] = field(default_factory=list)
    state: dict[str, str] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    mapped: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    targets: tuple[str, ...] = ()
    limiting: dict[str, list[str]] = field(default_factory=dict)
    unlimited: dict[str, str] = field(default_factory=dict)
    named_in: Sequence[str] = ()
    work: ServerWork = field(default_factory=ServerWork)
    since: int = 0
    booted: int = 0

    @property
    def name(self) -> str:
        """That of the program, or of the script that it runs."""
        return posixpath.basename(self.script) or self._called

    @property
    def _called(self) -> str:
        """The name that it was called by, where the kernel has it too: that of its file may be that
        of another one (redis-server is a link to redis-check-rdb), by which nothing of it is found.
        """
        if self._runs_others:
            return self.comm
        first = posixpath.basename((self.words or [""])[0].partition(" ")[0].rstrip(":"))
        is_called_so = bool(first) and first[:_COMM_LENGTH] == self.comm
        return first if is_called_so else posixpath.basename(self.exe)

    @property
    def script(self) -> str:
        """The script that an interpreter runs; empty for other programs."""
        if not _SCRIPTED.fullmatch(posixpath.basename(self.exe)):
            return ""
        return next((word for word in self.words[1:] if not word.startswith("-")), "")

    @property
    def arguments(self) -> str:
        """What it was started with after its program or script; of what may hold a secret only a
        digest of 16 bits, to tell whether others are the same."""
        arguments = list(self.words[1:])
        if self.script in arguments:
            arguments = arguments[arguments.index(self.script) + 1 :]
        text = " ".join(arguments)
        if _SECRET.search(text):
            return f"given (#{crc32(text.encode()) & 0xFFFF:04x})"
        return printable(text, _MOST_VALUE)

    @property
    def _runs_others(self) -> bool:
        return not self.exe or bool(_INTERPRETER.fullmatch(posixpath.basename(self.exe)))

    @property
    def file_words(self) -> list[str]:
        """Name, unit, and the files that may say by what it is configured."""
        units = (posixpath.basename(group) for group in self.groups)
        unit = next((name for name in units if name.endswith(".service")), "")
        named = [part for word in self.words[1:] for part in re.findall(r"/[\w./@+-]+", word)]
        programs = [self.script] if self._runs_others else [self.exe]
        paths = (*programs, *named, *self.named_in, *self._started_files)
        return [self.name, unit, *(path for path in paths if path.startswith("/"))]

    @property
    def _started_files(self) -> list[str]:
        """What it starts, without programs of the system, whose texts tell nothing of it."""
        return [path for path in self.work.started if not _OF_SYSTEM.match(path)]

    def partner(self, files: Sequence[str], through: Partner | None = None) -> Partner:
        """What is kept of it; ``files`` are those that may configure it, ``through`` is who asks it
        where the command does not do so itself: about what it asks that one."""
        named = [printable(path) for path in files if path.startswith("/")]
        own = [path for path in (self.exe, *self.mapped) if path.startswith("/")]
        named += [path for path in _of_libraries(own) if path not in named]
        return Partner(
            name=self.name,
            targets=self.targets if through is None else through.targets,
            through="" if through is None else through.name,
            state={**self.state, **({ARGUMENTS: self.arguments} if self.arguments else {})},
            files=tuple(p for p in named if not p.endswith("/"))[:_MOST_FILES],
            directories=tuple(p.rstrip("/") for p in named if p.endswith("/")),
            started=self.work.started,
            held=self.work.held,
            running_since=self.booted + self.since / _TICKS_PER_S if self.booted else 0.0,
            limited_by={
                **{name: place for name, place in self.unlimited.items() if name not in self.state},
                **{name: of[0] for name, of in self.limiting.items() if len(of) == 1},
            },
            program=tuple(dict.fromkeys(map(printable, own)))[:_MOST_FILES],
            opened=tuple(dict.fromkeys(map(printable, self.opened)))[:_MOST_FILES],
        )


_READ_BY_LIBRARIES = {
    "libwrap.so": ("/etc/hosts.allow", "/etc/hosts.deny"),
    "libcrypto.so": ("/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf"),
    "libkrb5.so": ("/etc/krb5.conf",),
    "libldap": ("/etc/ldap/ldap.conf", "/etc/openldap/ldap.conf"),
    "libjemalloc.so": ("/etc/malloc.conf",),
    "libodbc.so": ("/etc/odbcinst.ini", "/etc/odbc.ini"),
    "libfontconfig.so": ("/etc/fonts/fonts.conf", "/etc/fonts/local.conf"),
}
"""What a library reads in whatever program: its own manual pages name it."""


def _of_libraries(mapped: Iterable[str]) -> Iterator[str]:
    for path in mapped:
        name = posixpath.basename(path)
        for library, files in _READ_BY_LIBRARIES.items():
            if name.startswith(library):
                yield from files


def _merged(
    programs: Iterable[ProgramOfBoard], owners: Mapping[int, tuple[str, ...]]
) -> Iterator[ProgramOfBoard]:
    """The first process of each name, with all that its like are about: those that it makes for a
    connection write over their variables (setproctitle), and have its limits."""
    by_name: dict[str, ProgramOfBoard] = {}
    for program in programs:
        other = by_name.get(program.name, program)
        first = min(other, program, key=lambda program: program.since)
        first.targets = tuple(dict.fromkeys((*other.targets, *owners.get(program.process, ()))))
        by_name[program.name] = first
    yield from by_name.values()


def parse_programs(text: str) -> Iterator[ProgramOfBoard]:
    """The processes that a board told of."""
    program: ProgramOfBoard | None = None
    for line in text.splitlines():
        key, _, value = line.partition(":")
        value = value.strip()
        if key == "process":
            if program is not None:
                yield program
            program = ProgramOfBoard(int(value)) if value.isdecimal() else None
        elif program is not None and value:
            _take(program, key, value)
    if program is not None:
        yield program


def _take(program: ProgramOfBoard, key: str, value: str) -> None:
    match key:
        case "Name":
            program.comm = printable(value)
        case "boot":
            program.booted = int(value) if value.isdecimal() else 0
        case "exe":
            program.exe = printable(value.removesuffix(" (deleted)"))
        case "word":
            program.words.append(printable(value))
        case "open":
            program.opened.append(value)
        case "map":
            program.mapped.append(value.removesuffix(" (deleted)"))
        case "env":
            _take_variable(program, value)
        case "limit":
            if match := re.match(r"(Max [a-z -]+?) {2,}(\S+)", value):
                program.state[match[1].lower().replace("max ", "limit of ")] = match[2]
        case "io":
            program.state["I/O class"] = printable(value)
        case "slack":
            program.state["timer slack"] = f"{printable(value)} ns"
        case "stat":
            _take_scheduling(program, value)
        case "group":
            _take_group(program, value)
        case "Cpus_allowed_list":
            program.state["CPUs"] = printable(value)
        case "Seccomp" | "THP_enabled":
            program.state[key] = printable(value)
        case "profile" if value and value != "unconfined":
            program.state["profile"] = printable(value, _MOST_VALUE)
        case "TracerPid":
            program.state["tracer"] = "none" if value == "0" else "traced"


def _take_variable(program: ProgramOfBoard, text: str) -> None:
    """Of values that may be secrets only 16 bits are kept, to tell whether others are the same."""
    name, equals, value = text.partition("=")
    if equals and (_LEADS.match(name) or not _OF_SESSION.match(name)):
        if _TELLS.match(name) or _PATH.match(value):
            is_told = not _SECRET.search(text)
        else:
            is_told = bool(_TELLS_ENDS.match(name)) and not _SUSPICIOUS.search(text)
        digest = f"given (#{crc32(text.encode()) & 0xFFFF:04x})"
        shown_value = printable(value, _MOST_VALUE) if is_told else digest
        program.state[f"variable {printable(name, 60)}"] = shown_value


def _take_scheduling(program: ProgramOfBoard, text: str) -> None:
    fields = text.rpartition(")")[2].split()
    if len(fields) > 38:
        program.since = int(fields[19]) if fields[19].isdecimal() else 0
        program.state["nice"] = fields[16]
        program.state["scheduling"] = _POLICIES.get(fields[38], "other")


def _take_group(program: ProgramOfBoard, text: str) -> None:
    """Limits along the way to the root; a group that has none says nothing."""
    name, _, rest = text.partition(" ")
    place, _, value = rest.partition(" ")
    value = _DEVICE.sub("", value.strip("; \t")).replace(";", ", ")
    if place not in program.groups:
        program.groups.append(place)
    is_usual = (name, value) in (("cpu.cfs_period_us", "100000"), ("cpu.idle", "0"))
    if _NO_LIMIT.fullmatch(value) or value.startswith("max ") or is_usual:
        program.unlimited.setdefault(name, printable(f"{place}/{name}"))
        return
    if name.startswith("cpuset."):
        return
    path = printable(f"{place}/{name}")
    if path in program.limiting.get(name, ()):
        return  # a controller alone in its hierarchy is found by both of its names
    program.state[name] = f"{program.state[name]}, {value}" if name in program.state else value
    program.limiting.setdefault(name, []).append(path)
