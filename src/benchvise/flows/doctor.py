"""``benchvise doctor``: what is here, what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum

from benchvise import __version__
from benchvise.board import open_board
from benchvise.board.channel import NotAvailable, open_channel
from benchvise.board.deploy import packaged_architectures
from benchvise.board.messages import HostMessage, SampleMessage
from benchvise.documents import JsonObject, object_at, reason_at, text_at
from benchvise.errors import BenchviseError
from benchvise.flows.settings import restores_due
from benchvise.measure.hostside.wrk import find_generator
from benchvise.quantities import format_value
from benchvise.report.assets import load_assets
from benchvise.store import Store
from benchvise.trace.decoder import decoder

ARCHITECTURES = ("x86_64", "aarch64", "armv7hf", "armv6hf", "riscv64")


class State(StrEnum):
    """How a finding is to be taken."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; ``remedy`` says how to get what is not there."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def examine(store_url: str | None) -> list[Finding]:
    """Looks at everything that measuring needs. Never raises."""
    return [
        Finding(
            "benchvise",
            State.OK,
            f"{__version__}, Python {platform.python_version()} on {platform.machine()}",
        ),
        _probes(),
        *_this_machine(),
        _ssh(),
        _load_generator(),
        _store(store_url),
        _settings(),
        _report(),
        _traces(),
    ]


def _probes() -> Finding:
    there = packaged_architectures()
    lacking = [arch for arch in ARCHITECTURES if arch not in there]
    detail = f"built for {', '.join(there) or 'nothing'}"
    if not lacking:
        return Finding("probes", State.OK, detail)
    return Finding(
        "probes",
        State.LIMITED if there else State.MISSING,
        f"{detail}; not for {', '.join(lacking)}",
        "make probes (two minutes) builds them all",
    )


def _this_machine() -> list[Finding]:
    try:
        with open_board("local") as board, open_channel(board) as channel:
            request = ["run", "cpu.clock", "--batches", "1", "--batch_ms", "1"]
            messages = list(channel.request(request))
    except BenchviseError as error:
        return [Finding("this machine", State.MISSING, error.message, error.remedy)]
    host = next(message.host for message in messages if isinstance(message, HostMessage))
    sample = next(message for message in messages if isinstance(message, SampleMessage))
    return [
        Finding(
            "this machine",
            State.OK,
            f"{host['cpu_model']}, CPUs {host['cpus_online']}, "
            f"{format_value(sample.value or 0.0, 'Hz')} measured",
        ),
        _counters(object_at(sample.evidence, "counters")),
        _huge_pages(host),
        Finding("user", State.OK, "root")
        if os.geteuid() == 0
        else Finding(
            "user",
            State.LIMITED,
            "not root: settings of the system can be read but not changed",
            "run as root what changes settings; measuring does not need it",
        ),
    ]


def _counters(counters: JsonObject) -> Finding:
    lacking = {name: reason for name in counters if (reason := reason_at(counters, name))}
    there = [name for name in counters if name not in lacking]
    if not lacking:
        return Finding("counters", State.OK, ", ".join(there))
    reasons = "; ".join(sorted(set(lacking.values())))
    return Finding(
        "counters",
        State.LIMITED,
        f"{', '.join(there) or 'none'}; not {', '.join(lacking)}: {reasons}",
        "sysctl kernel.perf_event_paranoid=1 allows them; a virtual machine may have none",
    )


def _huge_pages(host: JsonObject) -> Finding:
    mode = text_at(host, "thp")
    if mode:
        return Finding("huge pages", State.OK, f"transparent_hugepage: {mode}")
    return Finding(
        "huge pages",
        State.LIMITED,
        "the kernel has no transparent huge pages",
        "pages=huge will be reported as not granted",
    )


def _ssh() -> Finding:
    program = shutil.which("ssh")
    if program is None:
        return Finding(
            "ssh",
            State.LIMITED,
            "no ssh client: only `local` can be measured",
            "apt-get install openssh-client",
        )
    said = subprocess.run([program, "-V"], capture_output=True, text=True, check=False)
    return Finding("ssh", State.OK, said.stderr.strip())


def _load_generator() -> Finding:
    try:
        return Finding("load generator", State.OK, find_generator().version)
    except NotAvailable:
        return Finding(
            "load generator",
            State.LIMITED,
            "no wrk: http.requests cannot be measured",
            "apt-get install wrk",
        )


def _store(url: str | None) -> Finding:
    try:
        with Store.open(url) as store:
            return Finding("store", State.OK, f"{store.name}, {len(store.runs())} runs")
    except BenchviseError as error:
        return Finding("store", State.MISSING, error.message, error.remedy)


def _settings() -> Finding:
    due = restores_due()
    if not due:
        return Finding("settings", State.OK, "no setting waits to be restored")
    return Finding("settings", State.LIMITED, "; ".join(due), "benchvise restore")


def _report() -> Finding:
    try:
        load_assets()
    except BenchviseError as error:
        return Finding("report", State.MISSING, error.message, error.remedy)
    return Finding("report", State.OK, "charts are built in")


def _traces() -> Finding:
    try:
        version = decoder().VERSION
    except BenchviseError as error:
        return Finding("traces", State.LIMITED, error.message, error.remedy)
    return Finding("traces", State.OK, f"the decoder is built in, version {version}")
