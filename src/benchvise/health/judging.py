"""What of a reading is failing, and what to do: a verdict for each section and for the board."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from benchvise.documents import computed, in_json
from benchvise.health.counters import kind_of
from benchvise.health.model import BoardCounter, Disk, HealthReading, Sensor
from benchvise.health.sensors import watched_sensor
from benchvise.health.watch.alerts import default_rules
from benchvise.kernel_log.rules import Severity
from benchvise.text import enumerated


class HealthVerdict(Enum):
    """How a section or a board is."""

    GOOD = "good"
    WARNING = "warning"
    FAILING = "failing"
    UNKNOWN = "not available"


@dataclass(frozen=True, slots=True)
class HealthRemark:
    """Something to know of a device, how bad it is, and what to do about it."""

    severity: Severity
    device: str
    sentence: str
    remedy: str
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class HealthSection:
    """A part of a board: its verdict, what it rests on in a few words, and remarks, worst first.

    ``missing`` is why it could not be looked at, or not all of it.
    """

    name: str
    verdict: HealthVerdict
    summary: str
    remarks: tuple[HealthRemark, ...] = ()
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a board is: its sections, and the worst of their verdicts."""

    sections: tuple[HealthSection, ...]
    reading: HealthReading = field(metadata=in_json(inline=True))

    @computed.before("sections")
    def verdict(self) -> HealthVerdict:
        """The worst verdict of a section; unknown only where nothing could be looked at."""
        verdicts = {section.verdict for section in self.sections}
        for verdict in (HealthVerdict.FAILING, HealthVerdict.WARNING, HealthVerdict.GOOD):
            if verdict in verdicts:
                return verdict
        return HealthVerdict.UNKNOWN


_ORDER = {Severity.FAILING: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def judge(reading: HealthReading) -> Judgement:
    """Says of a reading what is good, doubtful and failing."""
    return Judgement(tuple(section(reading) for section in _SECTIONS), reading)


def judge_log(reading: HealthReading) -> Judgement:
    """Says of a reading that has nothing but a kernel log how the board was that wrote it."""
    return Judgement((_log(reading),), reading)


def _section(
    name: str,
    remarks: Iterator[HealthRemark],
    summary: str,
    missing: str = "",
    *,
    seen: bool = True,
) -> HealthSection:
    sorted_remarks = tuple(sorted(remarks, key=lambda remark: _ORDER[remark.severity]))
    if any(remark.severity is Severity.FAILING for remark in sorted_remarks):
        verdict = HealthVerdict.FAILING
    elif any(remark.severity is Severity.WARNING for remark in sorted_remarks):
        verdict = HealthVerdict.WARNING
    else:
        verdict = HealthVerdict.GOOD if seen else HealthVerdict.UNKNOWN
    return HealthSection(name, verdict, summary if seen else "", sorted_remarks, missing)


# -- kernel log ------------------------------------------------------------------------------------


def _log(reading: HealthReading) -> HealthSection:
    log = reading.log
    lines = "1 line" if log.lines == 1 else f"{log.lines} lines"
    return _section(
        "kernel log",
        _log_remarks(reading),
        "; ".join(
            [
                f"{lines} read"
                + (", older ones were overwritten" if log.gap else "")
                + (f", of {log.boots} boots" if log.boots > 1 else ""),
                *log.notes,
            ]
        ),
        log.missing,
        seen=not log.missing,
    )


def _log_remarks(reading: HealthReading) -> Iterator[HealthRemark]:
    for event in reading.log.events:
        times = "once" if event.count == 1 else f"{event.count} times"
        when = _when(event.first, event.last) if reading.log.boots == 1 else ""
        yield HealthRemark(
            event.rule.severity,
            event.device,
            f"{event.rule.title}: {times}{when}",
            event.rule.remedy,
            event.rule.explanation,
        )


def _when(first: float | None, last: float | None) -> str:
    if first is None or last is None:
        return ""
    if first == last:
        return f", {clock(first)} after boot"
    return f", {clock(first)} to {clock(last)} after boot"


def clock(seconds: float) -> str:
    """Seconds since boot for people: ``12.3 s``, ``4 min 05 s``, ``3 h 12 min``, ``2 d 4 h``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


# -- counters --------------------------------------------------------------------------------------


def _counted(reading: HealthReading, *sections: str) -> list[BoardCounter]:
    return [counter for counter in reading.counters if counter.section in sections]


def counter_remark(counter: BoardCounter) -> HealthRemark | None:
    """What a counter says by itself; None when it is well."""
    kind = kind_of(counter.id)
    severity = kind.severity(counter.value)
    if severity is None:
        return None
    name = f" ({counter.name})" if counter.name else ""
    return HealthRemark(
        severity, counter.device, f"{kind.title}{name}: {counter.value:.0f}", kind.remedy,
        kind.explanation,
    )  # fmt: skip


def _counter_remarks(counters: list[BoardCounter]) -> Iterator[HealthRemark]:
    for counter in counters:
        remark = counter_remark(counter)
        if remark is not None:
            yield remark


def _of_counters(name: str, what: str) -> Callable[[HealthReading], HealthSection]:
    def section(reading: HealthReading) -> HealthSection:
        counters = _counted(reading, name)
        devices = sorted({counter.device for counter in counters})
        return _section(
            name,
            _counter_remarks(counters),
            f"{len(counters)} counters of {enumerated(devices)}",
            "" if counters else f"the kernel counts no {what} here",
            seen=bool(counters),
        )

    return section


# -- disks -----------------------------------------------------------------------------------------

# Values of SMART that say something by themselves: from which value on how bad, why, what to do.
_SMART: Mapping[str, tuple[float, Severity, str, str]] = {
    "pending sectors": (
        1, Severity.FAILING,
        "sectors that could not be read wait to be written anew; disks that have them die",
        "save what is on it now; replace the disk",
    ),
    "offline uncorrectable sectors": (
        1, Severity.FAILING, "sectors are lost", "save what is on it now; replace the disk",
    ),
    "uncorrectable errors": (
        1, Severity.FAILING, "reads failed for good", "save what is on it now; replace the disk",
    ),
    "media errors": (
        1, Severity.FAILING, "data could not be read back", "save what is on it; replace the disk",
    ),
    "end-to-end errors": (
        1, Severity.FAILING, "data was changed inside the disk", "replace the disk",
    ),
    "critical warning": (
        1, Severity.FAILING,
        "the disk itself warns: spare used up, too warm, unreliable, or read-only",
        "smartctl -a says which; replace it unless it is the temperature",
    ),
    "reallocated sectors": (
        1, Severity.WARNING, "sectors were replaced by spare ones",
        "watch the count: when it rises, replace the disk",
    ),
    "CRC errors": (
        1, Severity.WARNING, "bits were lost on the cable since the disk was made",
        "replace the SATA cable; the count stays, watch that it no longer rises",
    ),
    "command time-outs": (
        100, Severity.WARNING, "commands took too long", "check its supply and cable",
    ),
    "life used, %": (
        90, Severity.FAILING, "its cells are nearly used up", "plan its replacement",
    ),
    "minutes too warm": (
        1, Severity.WARNING, "it was warmer than it should be", "cool the disk",
    ),
    "temperature, °C": (
        70, Severity.WARNING, "it is warm, and slows down", "cool the disk",
    ),
}  # fmt: skip


def _disks(reading: HealthReading) -> HealthSection:
    counters = _counted(reading, "disks")
    readable = [disk for disk in reading.disks if not disk.missing]
    names = sorted({counter.device for counter in counters} | {disk.device for disk in readable})
    missing = sorted({disk.missing for disk in reading.disks if disk.missing})
    if "SMART" in reading.missing and not readable:
        missing = [reading.missing["SMART"]]
    return _section(
        "disks",
        _disk_remarks(reading),
        enumerated(names),
        f"SMART: {'; '.join(missing)}" if missing else "",
        seen=bool(names),
    )


def _disk_remarks(reading: HealthReading) -> Iterator[HealthRemark]:
    yield from _counter_remarks(_counted(reading, "disks"))
    for disk in reading.disks:
        yield from disk_remarks(disk)


def disk_remarks(disk: Disk) -> Iterator[HealthRemark]:
    """What a disk's SMART values say by themselves."""
    if disk.passed is False:
        yield HealthRemark(
            Severity.FAILING, disk.device, "the disk itself says that it fails",
            "save what is on it now; replace the disk",
        )  # fmt: skip
    for name, value in disk.values.items():
        if name in _SMART:
            first, severity, explanation, remedy = _SMART[name]
            if value >= first:
                yield HealthRemark(
                    severity, disk.device, f"{name}: {value:.0f}", remedy, explanation
                )
        elif name.startswith("failed: "):
            attribute = name.removeprefix("failed: ")
            yield HealthRemark(
                Severity.FAILING,
                disk.device,
                f"{attribute} is below its limit",
                "save what is on it now; replace the disk",
            )
    spare, least = disk.values.get("spare, %"), disk.values.get("spare threshold, %")
    if spare is not None and least is not None and spare < least:
        yield HealthRemark(
            Severity.FAILING, disk.device, f"spare blocks: {spare:.0f} %, limit {least:.0f} %",
            "replace the disk: it turns read-only next",
        )  # fmt: skip


# -- sensors and clocks ----------------------------------------------------------------------------


def _sensors(reading: HealthReading) -> HealthSection:
    warmest = max(
        (sensor for sensor in reading.sensors if sensor.kind == "temperature"),
        key=lambda sensor: sensor.value,
        default=None,
    )
    summary = f"{len(reading.sensors)} sensors"
    if warmest is not None:
        summary += f", warmest {warmest.label} {warmest.value:.1f} °C"
    return _section(
        "sensors",
        _sensor_remarks(reading),
        summary,
        reading.missing.get("sensors", ""),
        seen=bool(reading.sensors),
    )


def _sensor_remarks(reading: HealthReading) -> Iterator[HealthRemark]:
    for sensor in reading.sensors:
        yield from sensor_remarks(sensor)
    for note in reading.notes:
        yield HealthRemark(
            Severity.NOTE, "", f"sensors configuration: {note}", "correct that line of the file"
        )


def sensor_remarks(sensor: Sensor) -> Iterator[HealthRemark]:
    """What a sensor says against its own limits."""
    value = f"{sensor.label}: {sensor.value:.4g} {sensor.unit}"
    limits = sensor.limits
    warm = sensor.kind == "temperature"
    remedy = "cool the board; look at its fan" if warm else "measure it; check the supply"
    if sensor.kind == "fan":
        remedy = "look at the fan: cable, dust, bearing"
    if sensor.fault:
        yield HealthRemark(
            Severity.WARNING, sensor.chip, f"{sensor.label}: the sensor reports a fault of its own",
            "check its wiring, or leave it out: ignore in sensors3.conf",
        )  # fmt: skip
    elif (crit := limits.get("crit")) is not None and sensor.value >= crit > 0:
        yield HealthRemark(
            Severity.FAILING, sensor.chip, f"{value}, critical from {crit:.4g}", remedy
        )
    elif (lowest := limits.get("lcrit")) is not None and sensor.value <= lowest:
        yield HealthRemark(
            Severity.FAILING, sensor.chip, f"{value}, critical below {lowest:.4g}", remedy
        )
    elif (most := limits.get("max")) is not None and sensor.value > most:
        yield HealthRemark(Severity.WARNING, sensor.chip, f"{value}, limit {most:.4g}", remedy)
    elif (least := limits.get("min")) is not None and sensor.value < least and not warm:
        yield HealthRemark(Severity.WARNING, sensor.chip, f"{value}, at least {least:.4g}", remedy)
    elif sensor.alarm:
        yield HealthRemark(
            Severity.WARNING, sensor.chip, f"{value}, the chip raises its alarm", remedy
        )
    else:
        yield from _alert_remarks(sensor, value)


def _alert_remarks(sensor: Sensor, value: str) -> Iterator[HealthRemark]:
    """What ``watch`` would raise an alert for, if it stayed so."""
    watched = watched_sensor(sensor)
    for rule in default_rules():
        if rule.covers(watched):
            bound, _ = rule.bounds(watched.limit)
            if watched.value <= bound if rule.low else watched.value >= bound:
                sentence = f"{value}, {rule.name} from {bound:.4g}"
                if watched.limit is not None:
                    sentence += f", critical from {watched.limit:.4g}"
                yield HealthRemark(Severity.WARNING, sensor.chip, sentence, rule.remedy, rule.why)


def _clocks(reading: HealthReading) -> HealthSection:
    reports = len(reading.held_down) + len(reading.flags)
    return _section(
        "clocks and supply",
        _clock_remarks(reading),
        f"{reports} reports" if reports else "nothing holds clocks down",
    )


def _clock_remarks(reading: HealthReading) -> Iterator[HealthRemark]:
    for name, now in reading.flags.items():
        supply = name == "under-voltage"
        yield HealthRemark(
            Severity.FAILING if now and supply else Severity.WARNING,
            "firmware",
            f"{name} {'now' if now else 'since boot'}",
            "use a stronger supply and a short cable" if supply else "cool the board",
        )
    for phrase in reading.held_down:
        yield HealthRemark(
            Severity.WARNING, "", phrase,
            "cool the board, or look who set the limit: benchvise snapshot BOARD",
        )  # fmt: skip
    yield from _counter_remarks(_counted(reading, "clocks"))


_SECTIONS: tuple[Callable[[HealthReading], HealthSection], ...] = (
    _log,
    _disks,
    _of_counters("file systems", "errors of file systems"),
    _of_counters("flash", "raw flash (UBI, MTD)"),
    _of_counters("network", "errors of network ports"),
    _of_counters("memory", "memory errors (EDAC: no ECC memory, or no driver)"),
    _of_counters("buses", "errors of PCI Express or serial ports"),
    _sensors,
    _clocks,
)
