"""``benchvise doctor``: what is here, what is missing, and how to get it."""

from __future__ import annotations

import platform
import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum

from benchvise import __version__
from benchvise.board import open_board
from benchvise.board.channel import NotAvailable, open_channel
from benchvise.board.messages import HostMessage, SampleMessage
from benchvise.board.probes import packaged_architectures
from benchvise.confinement import what_is_missing
from benchvise.documents import JsonObject, object_at, reason_at, text_at
from benchvise.errors import BenchviseError
from benchvise.flows.settings import restores_due
from benchvise.host_system import own_user, supports
from benchvise.measure.hostside.wrk import find_generator
from benchvise.quantities import format_value
from benchvise.trace.decoder import decoder
from benchvise.user_directories import audit_directory, token_file

ARCHITECTURES = ("x86_64", "aarch64", "armv7hf", "armv6hf", "riscv64")


class CheckState(StrEnum):
    """How a finding is to be taken."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; ``remedy`` says how to get what is not there."""

    name: str
    state: CheckState
    detail: str
    remedy: str = ""


def examine(store_url: str | None) -> list[Check]:
    """Looks at everything that measuring needs. Never raises.

    What takes long to import is imported by the check of it, so that ``--help`` waits for none.
    """
    return [
        Check(
            "benchvise",
            CheckState.OK,
            f"{__version__}, Python {platform.python_version()} on {platform.machine()}",
        ),
        _probes(),
        *_this_machine(),
        _ssh(),
        _load_generator(),
        _store(store_url),
        _settings(),
        _report(),
        _workbench(),
        _traces(),
        _confinement(),
    ]


def _probes() -> Check:
    there = packaged_architectures()
    lacking = [arch for arch in ARCHITECTURES if arch not in there]
    detail = f"built for {', '.join(there) or 'nothing'}"
    if not lacking:
        return Check("probes", CheckState.OK, detail)
    return Check(
        "probes",
        CheckState.LIMITED if there else CheckState.MISSING,
        f"{detail}; not for {', '.join(lacking)}",
        "make probes (two minutes) builds them all",
    )


def _this_machine() -> list[Check]:
    try:
        with open_board("local") as board, open_channel(board) as channel:
            request = ["run", "cpu.clock", "--batches", "1", "--batch_ms", "1"]
            messages = list(channel.request(request))
    except BenchviseError as error:
        return [Check("this machine", CheckState.MISSING, error.message, error.remedy)]
    host = next(message.host for message in messages if isinstance(message, HostMessage))
    sample = next(message for message in messages if isinstance(message, SampleMessage))
    return [
        Check(
            "this machine",
            CheckState.OK,
            f"{host['cpu_model']}, CPUs {host['cpus_online']}, "
            f"{format_value(sample.value or 0.0, 'Hz')} measured",
        ),
        _counters(object_at(sample.evidence, "counters")),
        _huge_pages(host),
        Check("user", CheckState.OK, "root")
        if own_user() == 0
        else Check(
            "user",
            CheckState.LIMITED,
            "not root: settings of the system can be read but not changed",
            "run as root what changes settings; measuring does not need it",
        ),
    ]


def _counters(counters: JsonObject) -> Check:
    lacking = {name: reason for name in counters if (reason := reason_at(counters, name))}
    there = [name for name in counters if name not in lacking]
    if not lacking:
        return Check("counters", CheckState.OK, ", ".join(there))
    reasons = "; ".join(sorted(set(lacking.values())))
    return Check(
        "counters",
        CheckState.LIMITED,
        f"{', '.join(there) or 'none'}; not {', '.join(lacking)}: {reasons}",
        "sysctl kernel.perf_event_paranoid=1 allows them; a virtual machine may have none",
    )


def _huge_pages(host: JsonObject) -> Check:
    mode = text_at(host, "thp")
    if mode:
        return Check("huge pages", CheckState.OK, f"transparent_hugepage: {mode}")
    return Check(
        "huge pages",
        CheckState.LIMITED,
        "the kernel has no transparent huge pages",
        "pages=huge will be reported as not granted",
    )


def _ssh() -> Check:
    program = shutil.which("ssh")
    if program is None:
        return Check(
            "ssh",
            CheckState.LIMITED,
            "no ssh client: only `local` can be measured",
            "apt-get install openssh-client",
        )
    version = subprocess.run([program, "-V"], capture_output=True, text=True, check=False)
    return Check("ssh", CheckState.OK, version.stderr.strip())


def _load_generator() -> Check:
    try:
        return Check("load generator", CheckState.OK, find_generator().version)
    except NotAvailable:
        return Check(
            "load generator",
            CheckState.LIMITED,
            "no wrk: http.requests cannot be measured",
            "apt-get install wrk",
        )


def _store(url: str | None) -> Check:
    from benchvise.store import Store

    try:
        with Store.open(url) as store:
            return Check("store", CheckState.OK, f"{store.name}, {len(store.runs())} runs")
    except BenchviseError as error:
        return Check("store", CheckState.MISSING, error.message, error.remedy)


def _settings() -> Check:
    due = restores_due()
    if not due:
        return Check("settings", CheckState.OK, "no setting waits to be restored")
    return Check("settings", CheckState.LIMITED, "; ".join(due), "benchvise restore")


def _report() -> Check:
    from benchvise.report.html import load_assets

    try:
        load_assets()
    except BenchviseError as error:
        return Check("report", CheckState.MISSING, error.message, error.remedy)
    return Check("report", CheckState.OK, "charts are built in")


def _workbench() -> Check:
    try:
        token = token_file()
    except OSError as error:
        remedy = "set XDG_RUNTIME_DIR to a directory of your own"
        return Check(
            "workbench", CheckState.LIMITED, f"no place for an access token: {error}", remedy
        )
    detail = f"access token in {token}, audit log in {audit_directory()}"
    return Check("workbench", CheckState.OK, detail)


def _traces() -> Check:
    try:
        version = decoder().VERSION
    except BenchviseError as error:
        return Check("traces", CheckState.LIMITED, error.message, error.remedy)
    return Check("traces", CheckState.OK, f"the decoder is built in, version {version}")


def _confinement() -> Check:
    missing = what_is_missing()
    if not supports("linux"):
        remedy = "there the decoder alone protects: open files of strangers on Linux"
        return Check("confinement", CheckState.LIMITED, f"not available: {missing[0]}", remedy)
    if not missing:
        detail = "what reads traces and captures is limited in memory, files and network"
        return Check("confinement", CheckState.OK, detail)
    return Check(
        "confinement",
        CheckState.LIMITED,
        f"not available: {'; '.join(missing)}",
        "open files of strangers on a machine whose kernel has Landlock (5.13) and seccomp",
    )
