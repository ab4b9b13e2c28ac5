"""Sensors of a board: hwmon chips and thermal zones, with labels and scaling of lm-sensors."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from benchvise.board.messages import FileError, FileValue, content_text
from benchvise.health.model import Sensor, WatchedKind, WatchedValue
from benchvise.health.sensors_config import ChipSection, SensorsConfig, evaluate
from benchvise.state.globs import ByPath
from benchvise.text import printable

HWMON = "/sys/class/hwmon/hwmon*/"
_ATTRIBUTES = (
    "input",
    "label",
    "min",
    "max",
    "crit",
    "lcrit",
    "emergency",
    "alarm",
    "fault",
    "average",
)
_KINDS = ("in", "temp", "fan", "curr", "power", "humidity", "freq", "energy")
GLOBS = [
    f"{HWMON}name",
    *(
        f"{HWMON}{kind}*_{attribute}"
        for kind in _KINDS
        for attribute in (*_ATTRIBUTES, "min_alarm", "max_alarm", "crit_alarm", "lcrit_alarm")
    ),
    "/sys/class/thermal/thermal_zone*/type",
    "/sys/class/thermal/thermal_zone*/temp",
    "/sys/class/thermal/thermal_zone*/trip_point_*_type",
    "/sys/class/thermal/thermal_zone*/trip_point_*_temp",
]
LINKS = [f"{HWMON}device"]
CONFIG = ["/etc/sensors3.conf", "/etc/sensors.conf", "/etc/sensors.d/*"]

# The kernel's unit (Documentation/hwmon/sysfs-interface) to ours: what it is called, and by what
# it is divided.
_UNITS: Mapping[str, tuple[str, str, float]] = {
    "in": ("voltage", "V", 1e3),
    "temp": ("temperature", "°C", 1e3),
    "fan": ("fan", "RPM", 1.0),
    "curr": ("current", "A", 1e3),
    "power": ("power", "W", 1e6),
    "humidity": ("humidity", "%", 1e3),
    "freq": ("frequency", "Hz", 1.0),
    "energy": ("energy", "J", 1e6),
}
_FEATURE = re.compile(r"((in|temp|fan|curr|power|humidity|freq|energy)\d{1,3})_(\w{1,20})")
_LIMITS = ("min", "max", "crit", "lcrit", "emergency")
_ABSOLUTE_ZERO = -273.15
_NAME = 40

SENSORS = 500
"""Sensors of one board that are kept."""

Files = ByPath[FileValue | FileError]


def read_sensors(
    files: Files, links: ByPath[str | FileError], config: SensorsConfig
) -> tuple[Sensor, ...]:
    """All sensors with a value, chip by chip, then the thermal zones that no chip stands for."""
    all_sensors = [*_hwmon(files, links, config)]
    chips = {sensor.chip.rpartition("-")[0].rpartition("-")[0] for sensor in all_sensors}
    # hwmon calls a zone by its name with underscores.
    all_sensors += [zone for zone in _zones(files) if re.sub(r"[- ]", "_", zone.chip) not in chips]
    return tuple(all_sensors[:SENSORS])


def _integer(text: str | None) -> float | None:
    match = re.fullmatch(r"\s*-?\d{1,18}\s*", text or "")
    return float(match[0]) if match is not None else None


# What a chip may say of its limit: others have it at 0, or at what they can show at most.
_CRITICAL = (40.0, 126.0)


def watched_sensor(sensor: Sensor) -> WatchedValue:
    """A sensor as rules of alerts see it: a temperature with the limit where it is critical."""
    limit = None
    if sensor.kind == "temperature":
        critical = sensor.limits.get("crit", sensor.limits.get("emergency"))
        if critical is not None and _CRITICAL[0] <= critical <= _CRITICAL[1]:
            limit = critical
    name = f"{sensor.chip}/{sensor.label or sensor.feature}"
    return WatchedValue(name, WatchedKind.SENSOR, sensor.value, sensor.unit, limit)


# -- hwmon -----------------------------------------------------------------------------------------


def _hwmon(files: Files, links: ByPath[str | FileError], config: SensorsConfig) -> Iterator[Sensor]:
    chips: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for glob in GLOBS:
        if glob.startswith(HWMON):
            for path, _, file in files.matching(glob):
                if isinstance(file, FileValue):
                    directory, _, attribute = path.rpartition("/")
                    chips[directory][attribute] = file.text.strip()
    for directory in sorted(chips, key=lambda path: (len(path), path)):
        values = chips[directory]
        link = links.get(f"{directory}/device")
        chip = chip_name(values.get("name", ""), link if isinstance(link, str) else None)
        yield from _features(chip, values, config.of(chip))


def chip_name(name: str, device: str | None) -> str:
    """A chip's name as lm-sensors makes it of its driver's name and the device's place."""
    name = printable(name, _NAME).replace(" ", "_") or "unknown"
    if device is None:
        return f"{name}-virtual-0"
    place = device.rstrip("/").rpartition("/")[2]
    pci = re.fullmatch(r"([\da-f]{4}):([\da-f]{2}):([\da-f]{2})\.(\d)", place)
    if pci is not None:
        domain, bus, slot, function = (int(part, 16) for part in pci.groups())
        return f"{name}-pci-{(domain << 16) + (bus << 8) + (slot << 3) + function:04x}"
    i2c = re.fullmatch(r"(\d{1,3})-([\da-f]{4})", place)
    if i2c is not None:
        return f"{name}-i2c-{i2c[1]}-{int(i2c[2], 16):02x}"
    if re.fullmatch(r"spi\d+\.\d+", place):
        bus_number, _, select = place.removeprefix("spi").partition(".")
        return f"{name}-spi-{bus_number}-{select}"
    if re.fullmatch(r"(?:PNP|ACPI|[A-Z]{3,4})[\dA-F]{4}:\w+|LNXTHERM:\w+", place):
        return f"{name}-acpi-0"
    if re.fullmatch(r"\d+:\d+:\d+:\d+", place):
        return f"{name}-scsi-{place.partition(':')[0]}-0"
    if re.fullmatch(r"nvme\d+", place):
        return f"{name}-nvme-{place.removeprefix('nvme')}"
    number = re.fullmatch(r".*\.(\d{1,6})", place)
    return f"{name}-isa-{int(number[1]) if number is not None else 0:04x}"


def _features(chip: str, values: Mapping[str, str], section: ChipSection) -> Iterator[Sensor]:
    features: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for attribute, text in values.items():
        match = _FEATURE.fullmatch(attribute)
        if match is not None:
            features[match[1]][match[3]] = text
    for feature in sorted(features, key=lambda name: (_order(name), len(name), name)):
        if feature not in section.ignored:
            sensor = _sensor(chip, feature, features, section)
            if sensor is not None:
                yield sensor


def _order(feature: str) -> int:
    return _KINDS.index(feature.rstrip("0123456789"))


def _sensor(
    chip: str, feature: str, features: Mapping[str, Mapping[str, str]], section: ChipSection
) -> Sensor | None:
    own = features[feature]
    kind, unit, scale = _UNITS[feature.rstrip("0123456789")]
    raw = _integer(own.get("input", own.get("average")))
    fault = own.get("fault") == "1"
    if raw is None:
        return None

    def lookup(name: str) -> float:
        """Another sensor's value, as it stands: scaled, not computed."""
        other = _integer(features.get(name, {}).get("input"))
        if other is None:
            raise ValueError(f"{name} has no value")
        return other / _UNITS[name.rstrip("0123456789")][2]

    def computed(value: float) -> float:
        compute = section.computes.get(feature)
        return value if compute is None else evaluate(compute.forward, value, lookup)

    try:
        limits = {
            limit: computed(number / scale)
            for limit in _LIMITS
            if (number := _integer(own.get(limit))) is not None
            and _means_something(kind, number / scale)
        }
        # What the user's configuration sets stands above what the chip had at power-on.
        wanted = {
            limit: section.settings[f"{feature}_{limit}"]
            for limit in _LIMITS
            if f"{feature}_{limit}" in section.settings
        }
        limits |= {limit: evaluate(wanted[limit], None, lookup) for limit in wanted}
        value = computed(raw / scale)
    except ValueError:
        return None  # it depends on a sensor that is not there
    label = section.labels.get(feature) or printable(own.get("label", ""), _NAME) or feature
    alarm = any(own.get(name) == "1" for name in _alarms(own, wanted))
    return Sensor(chip, feature, label, kind, value, unit, limits, alarm=alarm, fault=fault)


def _alarms(own: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[str]:
    """The chip's alarms that count: one for a limit that the user set is for the chip's own."""
    for name in own:
        limit = name.removesuffix("alarm").removesuffix("_")
        if name.endswith("alarm") and limit not in wanted and (limit or not wanted):
            yield name


def _means_something(kind: str, limit: float) -> bool:
    """Many chips have limits that nobody set: 0, 127 °C below zero, or what no board reaches."""
    if kind == "temperature":
        return -60 < limit < 250 and limit != 0
    return limit != 0 and abs(limit) < 1e6


# -- thermal zones ---------------------------------------------------------------------------------


def _zones(files: Files) -> Iterator[Sensor]:
    for path, wild, file in files.matching("/sys/class/thermal/thermal_zone*/temp"):
        raw = _integer(content_text(file))
        if raw is None or raw / 1e3 < _ABSOLUTE_ZERO:
            continue
        directory = path.rpartition("/")[0]
        name = printable(content_text(files.get(f"{directory}/type")), _NAME) or f"zone {wild[0]}"
        yield Sensor(
            chip=name,
            feature=f"zone{wild[0]}",
            label=name,
            kind="temperature",
            value=raw / 1e3,
            unit="°C",
            limits=_trip_points(files, directory),
        )


def _trip_points(files: Files, directory: str) -> Mapping[str, float]:
    """The lowest trip point of a kind: ``passive`` ones slow down, ``critical`` ones switch off."""
    lowest: dict[str, float] = {}
    for number in range(12):
        kind = content_text(files.get(f"{directory}/trip_point_{number}_type")).strip()
        raw = _integer(content_text(files.get(f"{directory}/trip_point_{number}_temp")))
        limit = {"passive": "max", "hot": "emergency", "critical": "crit"}.get(kind)
        if limit is not None and raw is not None and 0 < raw / 1e3 < 250:
            lowest[limit] = min(raw / 1e3, lowest.get(limit, raw / 1e3))
    return lowest
