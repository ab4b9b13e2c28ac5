"""A real PostgreSQL server for tests, from the distribution's package, gone when the tests end.

It listens on a Unix socket in its own temporary directory only, so it meets neither a server
that already runs on the machine nor the network, and every login needs a password.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import skips
from psycopg import sql
from waiting import PATIENCE

INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian's package puts its versions; what lies in PATH may be another program."""

SUPERUSER = "bench"


@dataclass(frozen=True)
class PostgresServer:
    """A running server: where its socket is and how to log in as its superuser."""

    socket_directory: Path
    password: str

    def url(self, database: str = "postgres", password: str | None = None) -> str:
        """The URL of a database, as a user would write it."""
        given = self.password if password is None else password
        return f"postgresql://{SUPERUSER}:{given}@/{database}?host={self.socket_directory}"

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        """A plain connection outside of any transaction, for what the test itself must do."""
        return psycopg.connect(self.url(database), autocommit=True)

    def new_database(self, tablespace: str = "pg_default") -> str:
        """Create an empty database of its own for one test; returns its name."""
        name = f"test_{secrets.token_hex(4)}"
        statement = sql.SQL("CREATE DATABASE {} TABLESPACE {}")
        with self.connect() as connection:
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(tablespace)))
        return name


def _binaries() -> Path:
    """The directory with the newest installed ``initdb`` and ``postgres``, or skip the test."""
    found = [path.parent for path in INSTALLED.glob("*/bin/initdb")]
    if not found:
        skips.skip_packages("postgresql")
    return max(found, key=lambda path: float(path.parent.name))


def _account() -> str | None:
    """Whom to run as: PostgreSQL refuses root, so root becomes the package's user."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        skips.skip("postgres user")


def _wait_until_ready(server: subprocess.Popen[bytes], running: PostgresServer, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            running.connect().close()
        except psycopg.OperationalError as error:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}") from error
            time.sleep(0.05)
        else:
            return


@contextlib.contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Run a fresh server; skip, with the reason and the command, where there is none."""
    binaries = _binaries()
    account = _account()
    # Not under pytest's own directory: a socket's path must be shorter than 108 bytes.
    home = Path(tempfile.mkdtemp(prefix="bv-postgres-"))
    try:
        running = PostgresServer(home, secrets.token_hex(8))
        password_file = home / "password"
        password_file.write_text(running.password)
        if account is not None:
            for path in (home, password_file):
                shutil.chown(path, account, pwd.getpwnam(account).pw_gid)
        cluster = home / "cluster"
        subprocess.run(
            [
                *(binaries / "initdb", "--no-sync", "--encoding=UTF8", "--no-locale"),
                *("--auth=scram-sha-256", f"--username={SUPERUSER}"),
                *(f"--pwfile={password_file}", f"--pgdata={cluster}"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=home,
            user=account,
            group=account,
            extra_groups=None if account is None else (),
        )
        log = home / "log"
        with log.open("wb") as output:
            server = subprocess.Popen(
                [
                    *(binaries / "postgres", "-D", cluster, "-k", home),
                    *("-c", "listen_addresses="),
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=home,
                user=account,
                group=account,
                extra_groups=None if account is None else (),
            )
        try:
            _wait_until_ready(server, running, log)
            yield running
        finally:
            server.send_signal(signal.SIGINT)  # "fast": closes connections that tests left open
            server.wait(timeout=PATIENCE)
    finally:
        shutil.rmtree(home)
