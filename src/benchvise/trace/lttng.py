"""Recording with the LTTng tools of a board, where they are installed with their kernel modules.

The board's own ``lttng`` makes a session, and what it writes (CTF, a directory) is fetched as a
tar stream.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import subprocess
import tarfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from benchvise.board.channel import NotAvailable
from benchvise.board.protocol import Board, Completed
from benchvise.errors import BenchviseError, ProbeError, TraceError
from benchvise.output_files import check_new_directory, new_directory
from benchvise.text import last_line, printable
from benchvise.trace.recording import Observer, Recorded, RecordingPlan

_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "sched": ("sched_*",),
    "irq": ("irq_*", "softirq_*"),
    "timer": ("timer_*",),
    "power": ("power_*",),
    "ipi": ("x86_irq_vectors_*",),
    "workqueue": ("workqueue_*",),
    "block": ("block_*",),
    "net": ("net_*", "napi_*"),
}
"""Names of LTTng's kernel events, which begin with their subsystem's."""

_CHANNEL = "benchvise"
_BUFFERS = ("--num-subbuf=8", "--subbuf-size=4M")
_FETCH_SECONDS = 600.0


class LttngSession:
    """A session of the board's ``lttng``; leaving its context destroys it and removes its files.

    Raises NotAvailable where the board cannot record with LTTng.
    """

    def __init__(self, board: Board, plan: RecordingPlan, observe: Observer | None = None) -> None:
        self._board = board
        self._plan = plan
        self._observe = observe or (lambda _kind, _line: None)
        self._name = f"benchvise-{secrets.token_hex(4)}"
        self._directory = ""
        self._begun = 0.0
        self.seconds = 0.0
        version = board.run(["lttng", "--version"])
        if version.returncode != 0:
            raise NotAvailable(
                f"{board.name}: LTTng is not installed ({last_line(version.stderr) or 'no lttng'})",
                "install lttng-tools and lttng-modules there, or record without --tracer lttng, "
                "which needs nothing on the board",
            )
        self._version = printable(version.stdout, 100)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def run(self) -> None:
        """Records for the time that was asked for, or while the command runs."""
        self._ask("start", self._name)
        self._begun = time.monotonic()
        self._observe("recording", {"type": "recording", "tracer": self._version})
        try:
            if self._plan.command:
                limit = self._plan.seconds or 24 * 3600.0
                completed = self._board.run(self._plan.command, timeout=limit)
                for line in (completed.stdout + completed.stderr).splitlines():
                    self._observe("said", printable(line, 500))
            elif self._plan.seconds is not None:
                time.sleep(self._plan.seconds)
            else:
                while True:  # until Ctrl-C
                    time.sleep(3600)
        finally:
            self._ask("stop", self._name)
            self.seconds = time.monotonic() - self._begun

    def fetch(self, path: Path) -> Recorded:
        """Takes what was recorded: ``path`` becomes a directory, which must not be there yet."""
        check_new_directory(path, "the trace")
        report = self._ask("destroy", self._name).stdout.decode("utf-8", "replace")
        child = self._board.spawn(["tar", "-cf", "-", "-C", self._directory, "."])
        try:
            files = _unpack(child, path)
        except tarfile.TarError as error:
            raise TraceError(
                f"{path}: the trace did not arrive ({error})",
                "see whether there is room, and whether the board has tar",
            ) from error
        finally:
            child.kill()
            child.communicate()
        lost = [line for line in report.splitlines() if "discarded" in line.lower()]
        ended = {
            "ended": "command" if self._plan.command else "time",
            "recorded_ns": round(self.seconds * 1e9),
            "file_bytes": files,
            "caveats": lost,
        }
        return Recorded(path, {"tracer": self._version}, ended)

    def close(self) -> None:
        """Destroys the session and removes its files. May be called more than once."""
        if not self._directory:
            return
        directory, self._directory = self._directory, ""
        with contextlib.suppress(BenchviseError):
            self._board.run(["lttng", "destroy", self._name])
            self._board.run(["rm", "-rf", directory])

    def __enter__(self) -> LttngSession:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _prepare(self) -> None:
        completed = self._board.run(["mktemp", "-d", "/tmp/benchvise-lttng-XXXXXX"])  # noqa: S108
        name = completed.stdout.decode("ascii", "replace").strip()
        if completed.returncode != 0 or not name.startswith("/tmp/benchvise-lttng-"):  # noqa: S108
            raise ProbeError(
                f"{self._board.name}: no directory for the trace ({last_line(completed.stderr)})",
                "free room in /tmp there",
            )
        self._directory = name
        self._ask("create", self._name, f"--output={name}")
        session = ("--kernel", f"--session={self._name}")
        self._ask("enable-channel", *session, *_BUFFERS, _CHANNEL)
        enabled = 0
        for event in self._plan.events:
            enabled += self._enable(event, session)
        if not enabled:
            raise NotAvailable(
                f"{self._board.name}: LTTng has none of the events asked for",
                "see `lttng list --kernel` there: are its kernel modules loaded?",
            )

    def _enable(self, event: str, session: Sequence[str]) -> int:
        """How many of the patterns behind a name the kernel has events for."""
        channel = f"--channel={_CHANNEL}"
        if event == "syscalls":
            self._ask("enable-event", *session, channel, "--syscall", "--all")
            return 1
        patterns = _PATTERNS.get(event, (event.replace("/", "_").replace(":", "_"),))
        done = [
            self._board.run(["lttng", "enable-event", *session, channel, pattern])
            for pattern in patterns
        ]
        return sum(result.returncode == 0 for result in done)

    def _ask(self, *arguments: str) -> Completed:
        result = self._board.run(["lttng", *arguments])
        if result.returncode != 0:
            raise ProbeError(
                f"{self._board.name}: `lttng {arguments[0]}` failed "
                f"({last_line(result.stderr) or last_line(result.stdout)})",
                "see whether a session daemon runs there, as root, with its kernel modules",
            )
        return result


def _unpack(child: subprocess.Popen[bytes], path: Path) -> int:
    """The files of a tar stream, into a directory that appears only whole; returns their bytes."""
    with new_directory(path, "the trace") as draft:
        if child.stdin is not None:
            child.stdin.close()
            child.stdin = None
        with tarfile.open(fileobj=child.stdout, mode="r|") as archive:
            for member in archive:
                _extract(archive, member, draft)
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, directory: Path) -> None:
    """Writes one member below a directory. The board is not trusted, so nothing but directories
    and plain files is made, whatever their owner and permissions. By hand, since the ``filter`` of
    ``extractall`` came with Python 3.11.4.
    """
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or not (member.isdir() or member.isreg()):
        raise tarfile.ExtractError(f"{printable(member.name, 100)} does not belong to a trace")
    target = directory / name
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    content = archive.extractfile(member)
    if content is not None:
        with target.open("wb") as file:
            shutil.copyfileobj(content, file)
