"""CPUs: their kinds, and the interrupts that they serve."""

from __future__ import annotations

from collections.abc import Mapping

from benchvise.quantities import format_cpus
from benchvise.state.roles import DeviceNames, parse_interrupts

# What differs from core to core of a kind, or from moment to moment.
_PERSONAL = frozenset(
    {
        *("processor", "hart", "cpu MHz", "bogomips", "BogoMIPS", "core id", "physical id"),
        *("apicid", "initial apicid", "siblings", "cpu cores", "Serial", "mvendorid_serial"),
    }
)


def cpuinfo(given: str) -> dict[str, dict[str, str]]:
    """The kinds of cores of /proc/cpuinfo: CPUs (``0-3``) to their description."""
    kinds: dict[tuple[tuple[str, str], ...], list[int]] = {}
    rest: dict[str, str] = {}
    for block in given.split("\n\n"):
        fields = dict(_field(line) for line in block.splitlines() if ":" in line)
        number = fields.get("processor", "")
        kept = {key: value for key, value in fields.items() if key not in _PERSONAL}
        if number.isdecimal():
            kinds.setdefault(tuple(kept.items()), []).append(int(number))
        else:
            rest |= kept
    if not kinds:
        raise ValueError("no line 'processor'")
    found = {format_cpus(cpus): dict(kind) for kind, cpus in kinds.items()}
    return {**found, "board": rest} if rest else found


def _field(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


def interrupts(given: str, names: DeviceNames) -> dict[str, list[int]]:
    """Interrupt to its count on each CPU, of /proc/interrupts or /proc/softirqs.

    Numbered ones stand by the name of their handler; those that nobody handles are left out.
    """
    head, *rest = given.splitlines() or [""]
    cpus = len(head.split())
    handled = dict(parse_interrupts(given))
    found: dict[str, list[int]] = {}
    for line in rest:
        label, there, columns = line.strip().partition(":")
        counts = [int(word) for word in columns.split()[:cpus] if word.isdecimal()]
        name = _name(label, handled, names)
        if there and counts and name:
            found[name] = counts
    if not found:
        raise ValueError("no table of interrupts")
    return found


def _name(label: str, handled: Mapping[str, str], names: DeviceNames) -> str | None:
    if not label.isdecimal():
        return label
    return names.called("irq", label) or handled.get(label) or None
