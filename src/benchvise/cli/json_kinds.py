"""What each kind of ``--json`` document holds: the types that its schema is made of.

The documentation publishes the schemas; a test holds them against what the commands print. A kind
that is not named here has no schema yet.
"""

from __future__ import annotations

from typing import Any

from benchvise.cli.extras import EXTRAS


def json_kinds() -> dict[str, Any]:
    """The type of ``data`` by kind, of all extras. ModuleNotFoundError where one is missing."""
    return _core_kinds() | _rig_kinds() | _why_kinds()


def installed_kinds() -> tuple[dict[str, Any], list[str]]:
    """The type of ``data`` by kind, without kinds of missing extras; and the names of these."""
    kinds, missing = _core_kinds(), []
    for extra, kinds_of_extra in (("rig", _rig_kinds), ("why", _why_kinds)):
        try:
            kinds |= kinds_of_extra()
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in EXTRAS[extra]:
                raise
            missing.append(extra)
    return kinds, missing


# Late: together they import nearly everything, and only the documentation asks for all.


def _core_kinds() -> dict[str, Any]:
    from benchvise.bisect.model import Bisection
    from benchvise.cli.bench import BenchmarkDocument
    from benchvise.cli.measure import BoardPlan
    from benchvise.cli.output import ErrorDocument
    from benchvise.cli.reference.completion import CompletionScript
    from benchvise.cli.reference.config import ConfigurationDocument
    from benchvise.cli.reference.described import DescribedCommand
    from benchvise.cli.reference.find import NameMatch
    from benchvise.cli.reference.knobs import KnobDocument
    from benchvise.cli.reference.next_steps import NextStep
    from benchvise.cli.reference.plugins import PluginDocument
    from benchvise.cli.reference.suites import SuiteDocument
    from benchvise.cli.results import RunAnnotations, RunConsole, WrittenReport
    from benchvise.cli.rig import RecordedConsole
    from benchvise.cli.rig_virtual import CardImagePath, InjectedFault, StoppedBench
    from benchvise.cli.serve import ServedAddress
    from benchvise.flows.doctor import Check
    from benchvise.flows.health import WatchOutcome
    from benchvise.flows.retention import Thinning
    from benchvise.flows.site import WrittenSite
    from benchvise.health.judging import Judgement
    from benchvise.measure.model import Benchmark
    from benchvise.report.data import ComparisonDocument, RunData
    from benchvise.report.gate import GateDocument
    from benchvise.report.health_tables import WatchHistoryData
    from benchvise.report.history_events import HistoryEvents
    from benchvise.report.nightly import NightData
    from benchvise.report.versus import VersusDocument
    from benchvise.rig.compose.compose import Manifest
    from benchvise.rig.hold.actions import BoardResult, FailedBoard
    from benchvise.rig.hold.messages import (
        BoardStatus,
        BootedBoard,
        CardSide,
        FlashedCard,
        PowerState,
    )
    from benchvise.rig.images.layout import LayoutDocument
    from benchvise.rig.virtual.standard_bench import VirtualBenchDocument
    from benchvise.state.diff import StateDiff
    from benchvise.state.model import Snapshot
    from benchvise.state.restore import RestoredSession
    from benchvise.store import DiagnosisInfo, RunInfo
    from benchvise.store.copying import CopiedStore
    from benchvise.store.results_file import ExportedResults, ImportedResults
    from benchvise.store.roles import RolesScript
    from benchvise.trace.event_listing import EventListing
    from benchvise.trace.recording import Recorded
    from benchvise.trace.recording_set import RecordingSet
    from benchvise.why.model import Diagnosis

    return {
        "benchmark": BenchmarkDocument,
        "bisection": Bisection,
        "benchmarks": list[Benchmark],
        "comparison": ComparisonDocument,
        "completion": CompletionScript,
        "configuration": ConfigurationDocument,
        "console": RunConsole,
        "diagnosis": Diagnosis,
        "diagnosis-list": list[DiagnosisInfo],
        "doctor": list[Check],
        "error": ErrorDocument,
        "export": ExportedResults,
        "gate": GateDocument,
        "nightly": NightData,
        "health": Judgement,
        "help": DescribedCommand,
        "history": HistoryEvents,
        "import": ImportedResults,
        "knob": KnobDocument,
        "knobs": list[KnobDocument],
        "names": list[NameMatch],
        "next": list[NextStep],
        "plan": list[BoardPlan],
        "plugins": list[PluginDocument],
        "recording": Recorded,
        "recordings": RecordingSet,
        "trace-events": EventListing,
        "report": WrittenReport,
        "restore": list[RestoredSession],
        "rig-boot": list[BoardResult[BootedBoard] | FailedBoard],
        "rig-compose": Manifest,
        "rig-console": RecordedConsole,
        "rig-flash": list[BoardResult[FlashedCard] | FailedBoard],
        "rig-image": LayoutDocument,
        "rig-mux": list[BoardResult[CardSide] | FailedBoard],
        "rig-power": list[BoardResult[PowerState] | FailedBoard],
        "rig-status": list[BoardResult[BoardStatus] | FailedBoard],
        "rig-virtual": VirtualBenchDocument | StoppedBench,
        "rig-virtual-fault": InjectedFault,
        "rig-virtual-image": CardImagePath,
        "run": RunData,
        "run-list": list[RunInfo],
        "run-said": RunAnnotations,
        "runs": list[RunData],
        "schemas": list[str],
        "serve": ServedAddress,
        "signal-analysers": list[str],
        "site": WrittenSite,
        "snapshot": Snapshot,
        "state-diff": StateDiff,
        "store-copy": CopiedStore,
        "store-roles": RolesScript,
        "store-thin": Thinning,
        "suite": SuiteDocument,
        "suites": list[SuiteDocument],
        "versus": VersusDocument,
        "watch": list[WatchOutcome],
        "watch-history": list[WatchHistoryData],
    }


def _rig_kinds() -> dict[str, Any]:
    from benchvise.rig.soak.soak import SoakDocument

    return {"soak": SoakDocument}


def _why_kinds() -> dict[str, Any]:
    from benchvise.signal.capture import CaptureSummary, RecordedCapture
    from benchvise.signal.clock import ClockReport
    from benchvise.signal.commands.decode import AnnotationsDocument
    from benchvise.signal.commands.infrared import InfraredDocument
    from benchvise.signal.commands.radio import SynthTransmission
    from benchvise.signal.commands.serial import SerialTestDocument
    from benchvise.signal.configurations import ResponseComparisonDocument
    from benchvise.signal.fsk import Keying
    from benchvise.signal.psk import PskTransmission
    from benchvise.signal.serial_lines import SerialLinesDocument
    from benchvise.why.plan import DiagnosisPlan

    return {
        "signal-capture": RecordedCapture,
        "signal-clock": ClockReport,
        "signal-decode": AnnotationsDocument,
        "signal-fsk": Keying,
        "signal-info": CaptureSummary,
        "signal-infrared": InfraredDocument,
        "signal-psk": PskTransmission,
        "signal-response": ResponseComparisonDocument,
        "signal-serial": SerialTestDocument,
        "signal-synth": SynthTransmission,
        "signal-uart": SerialLinesDocument,
        "why-plan": DiagnosisPlan,
    }


def document_schema(kind: str, data: Any) -> dict[str, Any]:
    """The JSON Schema of a whole document of a kind, whose ``data`` is of that type."""
    from benchvise.documents import schema

    described = schema(data)
    definitions = described.pop("$defs")
    version = described.pop("$schema")
    return {
        "$schema": version,
        "title": kind,
        "type": "object",
        "properties": {
            "benchvise": {"type": "string", "description": "The version of Benchvise."},
            "kind": {"const": kind},
            "data": described,
        },
        "required": ["benchvise", "kind", "data"],
        "$defs": definitions,
    }
