"""What the databases hold that a command uses: who reads rows by an index that is not there reads
all of them, and no file tells.

Servers are asked by their own programs as the user that runs them, who needs no password for it;
nothing that keeps passwords is read, and nothing is changed. A server is known by its program; its
port and directory by what it writes when it starts (PostgreSQL's ``postmaster.pid``) or by its
words. What differs by itself, such as rows, counters and positions, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files

from benchvise.board.protocol import Board
from benchvise.errors import BoardUnusable
from benchvise.text import printable
from benchvise.why.witness.model import CallsAbout, DatabaseSchema, Partner
from benchvise.why.witness.sqlite_files import sqlite_databases

MOST_ENTRIES = 3000
EMPTY = "(empty)"
_MOST_VALUE = 400
_READ_S = 40.0

# Runs a program as the user of a process: $1 its directory in /proc, then the words.
_AS_ITS_USER = (
    'as() { p=$1; shift; u=$(stat -c %u "$p") g=$(stat -c %g "$p"); '
    'if [ "$u" = "$(id -u)" ]; then "$@"; '
    'elif setpriv --reuid="$u" --regid="$g" --clear-groups true; then '
    'setpriv --reuid="$u" --regid="$g" --clear-groups "$@"; '
    'elif chroot --userspec="$u:$g" / true; then chroot --userspec="$u:$g" / "$@"; '
    'else "$@"; fi; }; '
    'each() { for p in /proc/[0-9]*; do e=$(readlink "$p/exe") || continue; e=${e% (deleted)}; '
    'case " $1 " in *" ${e##*/} "*) "$2" </dev/null;; esac; done; }; '
    "cd /; "
)

_DATABASES = (
    "select datname from pg_database left join pg_stat_database using (datname) where datallowconn "
    "and not datistemplate order by xact_commit desc nulls last limit 4"
)
_POSTGRESQL = (
    f"{_AS_ITS_USER}"
    "one() { { read -r n && read -r d && read -r t && read -r port && read -r d; } "
    '<"$p/cwd/postmaster.pid" && [ "$n" = "${p#/proc/}" ] || return; '
    '[ -S "$d/.s.PGSQL.$port" ] || d=$p/root$d; [ -S "$d/.s.PGSQL.$port" ] || return; '
    'PATH=$PATH:${e%/*}; b=; for u in "$(stat -c %U "$p")" postgres; do '
    'set -- -X -w -h "$d" -p "$port" -U "$u"; '
    'b=$(as "$p" psql "$@" -A -t -d postgres -c "$databases") && break; done; [ "$b" ] || return; '
    'printf "%s\\n" "$b" | while read -r b; do echo "database $b"; '
    'echo "tool ${e%/*}/psql -h $d -p $port -U $u -d $b"; '
    'printf "%s" "$queries" | as "$p" psql "$@" -A -t -F "$tab" -d "$b"; done; }; '
    "export PGPASSFILE=/dev/null PGCONNECT_TIMEOUT=5 PGCLIENTENCODING=UTF8 "
    'PGOPTIONS="-c statement_timeout=5000 -c default_transaction_read_only=on '
    '-c search_path=public"; '
    'tab=$(printf "\\t"); databases=$1 queries=$2; each "postgres postmaster" one 2>/dev/null; true'
)

_MARIADB = (
    f"{_AS_ITS_USER}"
    'one() { s=$(tr "\\0" "\\n" <"$p/cmdline" | sed -n "s/^--socket=//p" | tail -n 1); '
    "for s in ${s:-/run/mysqld/mysqld.sock /var/lib/mysql/mysql.sock /tmp/mysql.sock}; do "
    '[ -S "$s" ] || s=$p/root$s; [ -S "$s" ] || continue; PATH=$PATH:${e%/*}; '
    "c=$(command -v mariadb || command -v mysql) || return; "
    'for u in root "$(stat -c %U "$p")"; do '
    'set -- --no-defaults --skip-password -u "$u" -S "$s" -N -B --connect-timeout=5; '
    'as_it() { if [ "$u" = root ]; then "$@"; else as "$p" "$@"; fi; }; '
    'as_it "$c" "$@" -e "select 1" >/dev/null || continue; '
    'echo "database all"; echo "tool $c -u $u -S $s"; '
    'printf "%s" "$queries" | as_it "$c" "$@" --force; return; done; done; }; '
    'queries=$1; each "mariadbd mysqld" one 2>/dev/null; true'
)

_REDIS = (
    f"{_AS_ITS_USER}"
    "one() { c=$(command -v redis-cli || command -v valkey-cli || command -v keydb-cli) || return; "
    'a=$(tr "\\0" " " <"$p/cmdline" | grep -oE "([0-9.]+|\\*):[0-9]+" | tail -n 1); '
    'f=$(tr "\\0" "\\n" <"$p/cmdline" | sed -n 2p); s=; '
    '[ -f "$f" ] && s=$(sed -n "s/^unixsocket  *//p" "$f" | tail -n 1); '
    'if [ -S "$s" ]; then set -- -s "$s"; else n=${a##*:}; '
    'case ${n:-0} in 0) return;; esac; set -- -h 127.0.0.1 -p "$n"; fi; '
    'g=$(echo "CONFIG GET *" | timeout 5 "$c" "$@") || return; '
    'case $g in ""|NOAUTH*|ERR*|*"Could not connect"*) return;; esac; '
    'echo "database all"; echo "tool $c $*"; '
    'printf "%s\\n" "$g" | while read -r k && read -r v; do '
    'case $k in *pass*|*auth*) continue;; esac; printf "setting %s\\t%s\\n" "$k" "$v"; done; '
    'echo "INFO keyspace" | timeout 5 "$c" "$@" | tr -d "\\r" | '
    'sed -n "s/^\\(db[0-9]*\\):keys=\\([0-9]*\\),.*/size of \\1\\t\\2/p"; }; '
    'each "redis-server valkey-server keydb-server redis-check-rdb" one 2>/dev/null; true'
)
_NO_DIFFERENCE = re.compile(
    r"pass|auth|secret|token|setting (?:bind|port|dir|pidfile|logfile|unixsocket|dbfilename)$"
)
"""Settings that are secrets, or of each machine."""

_SERVERS: tuple[tuple[str, tuple[str, ...], str, tuple[str, ...]], ...] = (
    ("PostgreSQL", ("postgres", "postmaster"), _POSTGRESQL, (_DATABASES, "postgresql.sql")),
    ("MariaDB", ("mariadbd", "mysqld"), _MARIADB, ("mariadb.sql",)),
    ("Redis", ("redis-server", "valkey-server", "keydb-server", "redis-check-rdb"), _REDIS, ()),
)
"""The product, the names of its server, the script that asks it, and what that is given: text, or
the name of a file of queries beside this one."""


def find_databases(
    board: Board, calls: Sequence[CallsAbout], partners: Sequence[Partner]
) -> tuple[DatabaseSchema, ...]:
    """The databases that a command or a partner of it uses; none where the board cannot tell.
    Raises BoardUnreachable."""
    databases: list[DatabaseSchema] = []
    for kind, names, script, parameters in _SERVERS:
        partner = next((p.name for p in partners if p.name in names), "")
        if not partner:
            continue
        texts = (_queries(p) if p.endswith(".sql") else p for p in parameters)
        try:
            done = board.run(["sh", "-c", script, "sh", *texts], timeout=_READ_S)
        except BoardUnusable:
            continue
        databases += parse_databases(done.stdout.decode("utf-8", "replace"), kind, partner)
    return (*databases, *sqlite_databases(board, calls, partners))


def _queries(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def parse_databases(text: str, kind: str, partner: str) -> Iterator[DatabaseSchema]:
    """The databases by what a script printed: ``database NAME``, ``tool LINE``, and entries, name
    and value by a tab."""
    name, tool, entries = "", "", dict[str, str]()
    for line in (*text.splitlines(), "database "):
        if line.startswith("database ") and "\t" not in line:
            if entries:
                yield DatabaseSchema(kind, name, partner, entries, tool)
            name, tool, entries = printable(line.removeprefix("database ")), "", {}
        elif line.startswith("tool ") and not entries and not tool:
            tool = printable(line.removeprefix("tool "))
        elif "\t" in line and len(entries) < MOST_ENTRIES:
            key, _, value = line.partition("\t")
            if not (key.startswith("setting ") and _NO_DIFFERENCE.search(key)):
                entries[printable(key, 200)] = printable(value.strip(), _MOST_VALUE) or EMPTY
