"""Text from outside is no ``str``: using it as one is an error of types, where it is kept as such.

mypy checks this file with the rest and complains of an ignore that is not needed. So each of them
proves that the line would be an error without it: let a field be a ``str``, and mypy fails here.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchvise.board.messages import ErrorMessage, FactMessage
from benchvise.errors import BenchviseError
from benchvise.kernel_log import LogEvent
from benchvise.measure.model import RunRecord
from benchvise.report.rendering import Cell
from benchvise.report.sinks import json_text
from benchvise.rig.boot.timeline import BootOutcome
from benchvise.rig.boot.verdict import BootReport, BootVerdict
from benchvise.rig.console.quality import Quality
from benchvise.rig.soak.soak import SoakBoot
from benchvise.signal.decoders import Annotation
from benchvise.state.diff import Difference
from benchvise.state.model import StateEntry
from benchvise.store import RunInfo
from benchvise.text import Untrusted
from benchvise.trace.recording import Recorded
from benchvise.why.model import Origin
from benchvise.why.provenance.boot_trace import Writer

TEXT = Untrusted("eth0\x1b[2J\n\u202e")


def sentence(text: str) -> str:
    """What takes a text of ours."""
    return text


def message_as_text(message: ErrorMessage) -> str:
    return sentence(message.message)  # type: ignore[arg-type]


def reason_as_text(fact: FactMessage) -> str:
    return sentence(fact.reason)  # type: ignore[arg-type]


def newest_line_as_text(event: LogEvent) -> str:
    return sentence(event.newest)  # type: ignore[arg-type]


def first_line_as_text(event: LogEvent) -> str:
    return sentence(event.example)  # type: ignore[arg-type]


def evidence_as_text(verdict: BootVerdict) -> str:
    return sentence(verdict.evidence)  # type: ignore[arg-type]


def evidence_of_a_report_as_text(report: BootReport) -> str:
    return sentence(report.evidence)  # type: ignore[arg-type]


def evidence_of_a_soak_as_text(boot: SoakBoot) -> str:
    return sentence(boot.evidence)  # type: ignore[arg-type]


def reason_of_a_boot_as_text(outcome: BootOutcome) -> str:
    return sentence(outcome.reason)  # type: ignore[arg-type]


def damaged_line_as_text(quality: Quality) -> str:
    return sentence(quality.example)  # type: ignore[arg-type]


def line_of_a_file_as_text(origin: Origin) -> str:
    return sentence(origin.text)  # type: ignore[arg-type]


def reason_of_a_run_as_text(run: RunRecord) -> str:
    return sentence(run.reason)  # type: ignore[arg-type]


def note_of_a_run_as_text(run: RunRecord) -> str:
    return sentence(run.note)  # type: ignore[arg-type]


def note_of_a_listed_run_as_text(run: RunInfo) -> str:
    return sentence(run.note)  # type: ignore[arg-type]


def reason_of_an_entry_as_text(entry: StateEntry) -> str:
    return sentence(entry.reason)  # type: ignore[arg-type]


def reason_of_a_difference_as_text(difference: Difference) -> str:
    return sentence(difference.reason)  # type: ignore[arg-type]


def name_of_a_file_as_text(origin: Origin) -> str:
    return sentence(origin.file)  # type: ignore[arg-type]


def note_of_an_origin_as_text(origin: Origin) -> str:
    return sentence(origin.note)  # type: ignore[arg-type]


def process_of_a_boot_as_text(writer: Writer) -> str:
    return sentence(writer.process)  # type: ignore[arg-type]


def program_of_a_boot_as_text(writer: Writer) -> str:
    return sentence(writer.program)  # type: ignore[arg-type]


def decoded_text_as_text(annotation: Annotation) -> str:
    return sentence(annotation.text)  # type: ignore[arg-type]


def row_of_a_decoder_as_text(annotation: Annotation) -> str:
    return sentence(annotation.row)  # type: ignore[arg-type]


def caveat_of_a_recording_as_text(recorded: Recorded) -> str:
    return sentence(recorded.caveats[0])  # type: ignore[arg-type]


def message_of_an_error(text: Untrusted) -> BenchviseError:
    return BenchviseError(text)  # type: ignore[arg-type]


def text_kept_as_if_from_outside(text: str) -> ErrorMessage:
    return ErrorMessage(1, text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: "board: " + TEXT,  # type: ignore[operator]
        lambda: " ".join([TEXT]),  # type: ignore[list-item]
        lambda: "eth" in TEXT,  # type: ignore[operator]
    ],
)
def test_what_mypy_does_not_see_fails_when_it_runs(misuse: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        misuse()


def test_sinks_and_sentences_take_it() -> None:
    assert f"it says '{TEXT}'" == "it says 'eth0 \ufffd'"
    assert str(Cell(TEXT).text) == "eth0 \ufffd"
    assert json_text({"a": TEXT}) == '{"a": "eth0\\ufffd[2J\\n\\ufffd"}'
