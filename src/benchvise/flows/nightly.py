"""``benchvise nightly FILE.toml``: what runs every night, from cron, a systemd timer or CI.

job file ─→ image (a file, or a command that gets it) ─→ each suite on each board ─→ the gate
behind the newest good night ─→ page, message, exit code

A night is the date, and the image where there is one. Its runs carry its name as their label, so
that the store itself says what is measured already: started again, after ``kill -9`` too, it goes
on with what is missing. One process at a time works on a job, of all hosts that share its store; a
night that is over is not measured again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.errors import (
    BenchviseError,
    BoardUnreachable,
    MeasurementError,
    Undecided,
    UsageError,
)
from benchvise.file_locks import try_lock_shortly
from benchvise.flows import run as run_flow
from benchvise.flows.boards import NamedBoards
from benchvise.flows.request import RunRequest, RunResult
from benchvise.measure.gate import Gate, GateVerdict, judge_gate, with_more
from benchvise.measure.model import RunRecord, RunStatus
from benchvise.measure.plan import PROCESSES
from benchvise.report.nightly import (
    NightBoard,
    NightDocument,
    night_message,
    night_verdict,
    write_night,
)
from benchvise.store.notes import GOOD, REGRESSED
from benchvise.store.reading import RunFilter
from benchvise.text import last_line, printable
from benchvise.user_directories import user_directory

if TYPE_CHECKING:
    from benchvise.flows.session import Observer
    from benchvise.rig.hold.connection import EventObserver
    from benchvise.store import Store
    from benchvise.store.job_lock import JobLock

PREVIOUS = "previous"
"""The baseline that is the newest earlier night that was fine, board by board."""

_TAGS = {GateVerdict.FINE: GOOD, GateVerdict.REGRESSED: REGRESSED}

_GET_SECONDS = 4 * 3600.0
_SEND_SECONDS = 300.0
_DIGEST = 12
_AGAIN = " again "
_SENT = "nightly-sent"
"""The attachment of a night's first run that tells which messages were sent."""


@dataclass(frozen=True, slots=True)
class NightJob:
    """A job file, checked; ``threshold`` is in percent. Paths are absolute, but for suites that are
    files: runs are kept by their names, the same on all hosts.

    ``get_image`` is a command whose last line of output is the image's path. ``retry`` is how often
    boards that are not fine are measured again. ``on_regression`` and ``message`` are commands
    that get the message on their standard input: after a regression, and after every night.
    """

    file: Path
    name: str
    boards: tuple[str, ...]
    suites: tuple[str, ...]
    image: str = ""
    get_image: str = ""
    baseline: str = PREVIOUS
    threshold: float = 3.0
    retry: int = 1
    parallel: str = "auto"
    processes: int = PROCESSES
    batches: int | None = None
    rig: str | None = None
    directory: Path = field(default_factory=Path)
    on_regression: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class NightObservers:
    """Who is told what goes on; ``say`` takes one line."""

    say: Callable[[str], None]
    measured: Observer
    rig: EventObserver | None = None
    ended: Callable[[RunResult], None] | None = None


_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "name": str,
    "boards": list,
    "suites": list,
    "image": str,
    "get_image": str,
    "baseline": str,
    "threshold": (int, float),
    "retry": int,
    "parallel": (str, int),
    "processes": int,
    "batches": int,
    "rig": str,
    "directory": str,
    "on_regression": str,
    "message": str,
}


def read_job(file: Path) -> NightJob:
    """The job of a file; UsageError that names the key which is wrong."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read ({error.strerror})", "check its name and permissions"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is no TOML ({error})", "mend that line") from error
    for key, value in content.items():
        if key not in _KEYS:
            raise UsageError(f"{file}: '{printable(key, 40)}' is no key of a job", _keys())
        if not isinstance(value, _KEYS[key]) or isinstance(value, bool):
            raise UsageError(f"{file}: {key} is of the wrong type", _keys())
    for key in ("boards", "suites"):
        listed = content.get(key, [])
        if not listed or not all(isinstance(item, str) and item for item in listed):
            raise UsageError(f"{file}: {key} is to be a list of names", f'{key} = ["…"]')
    if content.get("image") and content.get("get_image"):
        raise UsageError(f"{file}: image and get_image exclude each other", "keep one")
    if content.get("threshold", 0) < 0 or not 0 <= content.get("retry", 0) <= 20:
        raise UsageError(f"{file}: threshold is at least 0, retry from 0 to 20", "mend that line")
    here = file.resolve().parent
    name = content.get("name", file.stem)
    if not name.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"{file}: name '{printable(name, 40)}' has other letters than a-z 0-9 - _")
    paths = {key: str(here / content[key]) for key in ("image", "rig") if content.get(key)}
    directory = here / content["directory"] if "directory" in content else None
    rest = {k: v for k, v in content.items() if k not in ("boards", "suites", "parallel", "name")}
    return NightJob(
        **{
            **rest,
            **paths,
            "file": file.resolve(),
            "name": name,
            "boards": tuple(content["boards"]),
            "suites": tuple(content["suites"]),
            "parallel": str(content.get("parallel", "auto")),
            "directory": directory or user_directory("state") / "nightly" / name,
        }
    )


def _keys() -> str:
    return f"keys are {', '.join(_KEYS)}"


def nightly(
    job: NightJob, store: Store, observers: NightObservers, *, again: bool = False
) -> NightDocument:
    """Measures what is missing of tonight, judges it, writes the page and sends the message.

    With ``again`` the night is measured anew. Undecided while another process works on the job, on
    this host or on another one with the same store; MeasurementError where the image cannot be had,
    and what measuring raises where no board can be measured at all.
    """
    with _working(job), store.job_lock(job.name) as lock:
        image = _image(job, observers)
        night = _night(job, image)
        place = job.directory / night.replace(" ", "-")
        if again:
            night = f"{night} {datetime.now():%H%M%S}"
            place = job.directory / night.replace(" ", "-")
        with ExitStack() as stack:
            names = NamedBoards.of(job.boards, job.rig, stack, observers.rig, measures=False).names
        failed = _measure(job, night, names, image, store, observers, lock)
        boards = [
            _judged(job, night, name, suite, store, observers, failed, lock)
            for suite in job.suites
            for name in names
        ]
        document = NightDocument(
            job.name, night, night_verdict(boards), image, job.threshold, tuple(boards), str(place)
        )
        page = write_night(document, place)
        lock.check()
        _send_once(job, document, page, store, observers)
        return document


def exit_code(document: NightDocument) -> int:
    """1 where something regressed, else 3 where a board was not measured, else 5 where something
    is undecided, else 0.
    """
    if document.verdict is GateVerdict.REGRESSED:
        return 1
    if any(board.error for board in document.boards):
        return BoardUnreachable.exit_code
    return Undecided.exit_code if document.verdict is GateVerdict.UNDECIDED else 0


@contextlib.contextmanager
def _working(job: NightJob) -> Iterator[None]:
    """The lock of a job: it is gone with its process, however that ends."""
    file = job.directory / "lock"
    try:
        job.directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(
            f"{job.directory} cannot be written ({error.strerror})",
            f"name another directory in {job.file}",
        ) from error
    try:
        if not try_lock_shortly(descriptor):
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            raise Undecided(
                f"{job.name} is being measured by process {printable(holder, 20)}: nothing to do",
                "wait for it; what it measures is in the store",
            )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _image(job: NightJob, observers: NightObservers) -> str:
    """The image's path; empty where the boards are measured as they are."""
    if job.get_image:
        observers.say(f"getting the image: {job.get_image}")
        done = _shell(job.get_image, "", job, {}, _GET_SECONDS)
        path = last_line(done.stdout)
        if done.returncode or not path:
            reason = last_line(done.stderr) or f"exit {done.returncode}"
            raise MeasurementError(
                f"no image: '{printable(job.get_image, 80)}' failed ({reason})",
                "its last line of output is to be the path of the image",
            )
        path = str(job.file.parent / path)
    else:
        path = job.image
    if path and not Path(path).is_file():
        raise UsageError(f"the image {path} is not there", f"see {job.file}")
    return path


def _night(job: NightJob, image: str) -> str:
    """What the night's runs are labelled with."""
    night = f"{job.name} {datetime.now():%Y-%m-%d}"
    if not image:
        return night
    with Path(image).open("rb") as file:
        return f"{night} {hashlib.file_digest(file, 'sha256').hexdigest()[:_DIGEST]}"


def _measure(
    job: NightJob,
    label: str,
    names: Sequence[str],
    image: str,
    store: Store,
    observers: NightObservers,
    lock: JobLock,
) -> dict[tuple[str, str], str]:
    """Measures each board with each suite that is not measured yet; why boards failed."""
    failed: dict[tuple[str, str], str] = {}
    flashed: set[str] = set()
    for suite in job.suites:
        lock.check()
        missing = [name for name in names if _run_of(label, name, suite, store) is None]
        if len(missing) < len(names):
            observers.say(f"{suite}: {len(names) - len(missing)} of {len(names)} measured already")
        # An image is written once in a night, unless this was begun again since.
        has_image = frozenset(flashed)
        for chosen, own_image in (
            ([name for name in missing if name not in has_image], image or None),
            ([name for name in missing if name in has_image], None),
        ):
            if not chosen:
                continue
            request = RunRequest(
                boards=tuple(chosen),
                suite=suite,
                suite_directory=str(job.file.parent),
                label=label,
                processes=job.processes,
                batches=job.batches,
                rig=job.rig,
                image=own_image,
                parallel=job.parallel,
            )
            try:
                ended = run_flow.run(
                    request, store, observers.measured, observers.rig, observers.ended
                )
            except UsageError:
                raise
            except BenchviseError as error:
                failed.update({(name, suite): str(error) for name in chosen})
                continue
            flashed.update(chosen if own_image else ())
            failed.update({(r.board, suite): str(r.error) for r in ended if r.error is not None})
    return failed


def _run_of(label: str, board: str, suite: str, store: Store) -> RunRecord | None:
    """The newest complete run of the night."""
    matching = RunFilter(board=board, label=label, suite=suite, status=RunStatus.COMPLETE)
    runs = store.runs(1, matching)
    return store.load(runs[0].id) if runs else None


def _judged(
    job: NightJob,
    night: str,
    board: str,
    suite: str,
    store: Store,
    observers: NightObservers,
    failed: Mapping[tuple[str, str], str],
    lock: JobLock,
) -> NightBoard:
    """What the gate says of a board and suite, with as many further runs as the job allows."""
    run = _run_of(night, board, suite, store)
    if run is None:
        error = failed.get((board, suite), "it was not measured")
        return NightBoard(board, suite, "", "", None, error)
    base = _baseline(job, night, board, suite, store)
    if base is None:
        store.tag(run.id, [GOOD])
        return NightBoard(board, suite, run.id, "", None, "")
    measured = [run]
    judged = judge_gate(base, run, job.threshold)
    for number in range(1, job.retry + 1):
        if judged.verdict is GateVerdict.FINE:
            break
        label = f"{night}{_AGAIN}{number}"
        more = _run_of(label, board, suite, store)
        if more is None:
            _measure(replace(job, suites=(suite,)), label, [board], "", store, observers, lock)
            more = _run_of(label, board, suite, store)
        if more is None:
            break
        measured.append(more)
        run = with_more(run, more)
        judged = judge_gate(base, run, job.threshold)
    tag = _TAGS.get(judged.verdict)
    for record in measured:
        for other in {GOOD, REGRESSED} & set(store.info(record.id).tags) - {tag}:
            store.untag(record.id, [other])  # more was measured since
        if tag is not None:
            store.tag(record.id, [tag])
    return NightBoard(board, suite, measured[0].id, base.id, _named(judged, base, run), "")


def _named(gate: Gate, base: RunRecord, run: RunRecord) -> Gate:
    return replace(gate, base=base.label or base.id, other=run.label or run.id)


def _baseline(job: NightJob, night: str, board: str, suite: str, store: Store) -> RunRecord | None:
    """The run that a board is compared with: of the label, or of the newest good night."""
    for name in _names_in_store(job, suite):
        matching = RunFilter(board=board, suite=name, status=RunStatus.COMPLETE)
        if job.baseline != PREVIOUS:
            for info in store.runs(1, replace(matching, label=job.baseline)):
                store.protect_baseline(info.id)
                return store.load(info.id)
            continue
        for info in store.runs(None, replace(matching, tag=GOOD)):
            label = str(info.label)
            is_earlier = label.startswith(f"{job.name} ") and not label.startswith(night)
            if is_earlier and _AGAIN not in label:
                return store.load(info.id)
    return None


def _names_in_store(job: NightJob, suite: str) -> tuple[str, ...]:
    """What runs of a suite are kept by; until 0.2 those of a file had all of its path."""
    path = str(job.file.parent / suite)
    return (suite, path) if suite.endswith(".toml") and path != suite else (suite,)


def _send_once(
    job: NightJob, document: NightDocument, page: Path, store: Store, observers: NightObservers
) -> None:
    """Runs the job's commands with the message, once a night and verdict, whichever host it is."""
    file = page.with_name(_SENT)
    runs = list(dict.fromkeys(board.run for board in document.boards if board.run))
    notes = [store.attachment(run, _SENT) or b"" for run in runs]
    notes += [file.read_bytes()] if file.exists() else []
    handled = b"\n".join(notes).decode("utf-8", "replace").split()
    text = night_message(document, page)
    commands = [("message", job.message)]
    if document.verdict is GateVerdict.REGRESSED:
        commands.append(("on_regression", job.on_regression))
    for key, command in commands:
        event = f"{key}:{document.verdict}"
        if not command or event in handled:
            continue
        about = {
            "BENCHVISE_NIGHTLY_JOB": job.name,
            "BENCHVISE_NIGHTLY_NIGHT": document.night,
            "BENCHVISE_NIGHTLY_PAGE": str(page),
            "BENCHVISE_NIGHTLY_VERDICT": str(document.verdict),
        }
        done = _shell(command, text, job, about, _SEND_SECONDS)
        if done.returncode:
            why = last_line(done.stderr) or f"exit {done.returncode}"
            observers.say(f"{key}: '{printable(command, 80)}' failed ({why})")
            continue
        handled.append(event)
        note = "".join(f"{name}\n" for name in dict.fromkeys(handled)).encode()
        if runs:
            store.attach(runs[0], _SENT, note)
        else:  # no board was measured: only this host knows
            file.write_bytes(note)


def _shell(
    command: str, text: str, job: NightJob, about: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """A command of the job's file, which is the user's own, in the file's directory."""
    try:
        return subprocess.run(
            ["/bin/sh", "-c", command],
            input=text.encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
            cwd=job.file.parent,
            env={**os.environ, **about},
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, b"", f"no end in {seconds:g} s".encode())
