"""Extensions of hostile or careless authors: each is left out with its reason, and ends nothing."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakekernel import FakeKernel

from benchvise import extensions
from benchvise.cli.commands import PROGRAM, Group
from benchvise.cli.reference.plugins import all_extensions
from benchvise.extensions import ExtensionWarning
from benchvise.health.watch import alerts
from benchvise.kernel_log import rules
from benchvise.measure import hostside
from benchvise.rig.boot import patterns
from benchvise.rig.boot.timeline import Timeline
from benchvise.state import catalogue, journal
from benchvise.state.intervention import intervening
from benchvise.state.knobs import Setting, find_knob
from benchvise.trace import catalogue as analyses

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin" / "src" / "benchvise_example"
FAN = (EXAMPLE / "knobs" / "fan.toml").read_text()
BOOT = (EXAMPLE / "boot_patterns" / "bl1.toml").read_text()
ALERTS = (EXAMPLE / "alerts" / "rack.toml").read_text()
LOG = (EXAMPLE / "rules" / "rack.toml").read_text()
_CACHED = (
    *(rules.added_log_classes, rules.log_classes, rules.log_rules, rules._all_words),
    *(catalogue.added_items, catalogue.load_catalogue, catalogue.items_by_id),
    *(patterns.added_patterns, alerts.added_rules),
    *(hostside.added_benchmarks, hostside.host_benchmarks),
    *(analyses.added_analyses, analyses.all_analyses, extensions._announced_groups),
)


def forget() -> None:
    for cached in _CACHED:
        cached.cache_clear()
    rules.classify.cache_clear()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's directory of extensions."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    forget()
    yield tmp_path / "benchvise"
    forget()


def add(config: Path, kind: str, text: str, name: str = "") -> Path:
    file = config / kind / (name or ("mine.py" if kind in ("analyses", "benchmarks") else "a.toml"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    forget()
    return file


def problem(name: str = "") -> str:
    """Of the only extension, or of the one of that name; the catalogues work without it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert rules.log_rules() and catalogue.load_catalogue() and alerts.load_rules(None)
        assert hostside.host_benchmarks() and analyses.all_analyses() and patterns.load_patterns()
    found = [one for one in all_extensions() if not name or one.name == name]
    (extension,) = found
    assert extension.values == ()
    assert [w for w in caught if issubclass(w.category, ExtensionWarning)]
    return extension.problem


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("kernel-log", "no TOML", "no file of kernel-log rules"),
        ("kernel-log", "class = 3", "no file of kernel-log rules"),
        ("kernel-log", "", "it adds nothing"),
        ("kernel-log", LOG.replace("rack-fan-stalled", "softirq-pending"), "there twice: softirq"),
        ("kernel-log", LOG.replace("stalled'", "stopped'"), "does not match its line"),
        ("kernel-log", LOG.replace("fan 2 started", "fan 2 stalled"), "matches what is only near"),
        ("kernel-log", LOG.replace("'rackfan", "'(rackfan"), "rule rack-fan-stalled"),
        ("kernel-log", "[[class]]\nname = 1\n", "its fields are"),
        ("kernel-log", LOG.replace("rack-fan-stalled", "a\\u001b[31m"), "is no name"),
        ("knobs", "x = [" + "[" * 5000, "RecursionError"),
        ("knobs", FAN.replace("lab.fan_speed", "memory.thp"), "memory.thp is there already"),
        ("knobs", FAN.replace("/sys/class/hwmon/hwmon*/pwm1", "/etc/shadow"), "no path below"),
        ("knobs", FAN.replace("hwmon*/pwm1", "../../proc/sysrq-trigger"), "no path below"),
        ("knobs", FAN.replace("/sys/class/hwmon/hwmon*/pwm1", "/sys/power/state"), "taken back"),
        ("knobs", FAN.replace("hwmon*/pwm1", "*/device/remove"), "cannot be taken back"),
        ("knobs", FAN.replace("hwmon*/pwm1", "{no_such}/pwm1"), "no device has the role"),
        ("knobs", FAN.replace("64", '"64"'), "minimum: expected int"),
        ("knobs", FAN.replace("64", "640"), "its minimum is over its maximum"),
        ("knobs", FAN.replace('"integer"', '"text"'), "a text needs a pattern"),
        ("knobs", FAN + 'absent = "none"\n', "no field 'absent'"),
        ("knobs", FAN + '[[item.read]]\ncommand = "rm -rf /"\n', "no field 'command'"),
        ("knobs", FAN.replace('["CPU", "PWR"]', '["NONE"]'), "families"),
        ("boot-patterns", BOOT.replace('"spl"', '"later"'), "names no phase"),
        ("boot-patterns", BOOT.replace("v\\d'", "(v\\d'"), "is no regular expression"),
        ("alerts", ALERTS.replace("rearm = 0", "rearm = 2"), "it would flutter"),
        ("alerts", "[[alert]]\n", "it has no name"),
        ("benchmarks", "BENCHMARKS = (3,)", "3 is no benchmark"),
        ("benchmarks", "import no_such_module", "ModuleNotFoundError"),
        ("benchmarks", "x = 1", "it has no BENCHMARKS"),
        ("benchmarks", "raise SystemExit(3)", "SystemExit: 3"),
        ("benchmarks", "def f(): f()\nf()", "RecursionError"),
        ("benchmarks", "class B:\n def __init__(self): 1/0\nBENCHMARKS = [B]", "ZeroDivisionError"),
        ("analyses", "ANALYSES = ['stats']", "'stats' is no TraceAnalysis"),
        ("analyses", "from benchvise.trace.catalogue import ANALYSES", "is no OneTrace"),
        (
            "analyses",
            "from benchvise.trace.catalogue import STATS as ANALYSES",
            "stats is there al",
        ),
        ("analyses", "this is no Python", "SyntaxError"),
        ("analyses", "\0", "null bytes"),
    ],
)
def test_what_is_wrong_is_left_out(config: Path, kind: str, text: str, reason: str) -> None:
    add(config, kind, text)
    assert reason in problem()


def _to_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _to_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _to_link(target: str) -> Callable[[Path], None]:
    def make(file: Path) -> None:
        file.unlink()
        file.symlink_to(target)

    return make


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_to_pipe, "no regular file"),
        (_to_directory, "no regular file"),
        (_to_link("a.toml"), "symbolic links"),
        (_to_link("/dev/zero"), "no regular file"),
        (lambda file: file.chmod(0o646), "others may write to it"),
        (lambda file: file.parent.chmod(0o777), "others may write to it"),
        (lambda file: file.write_bytes(b"#" * (1 << 20) + b"#"), "more than 1 MiB"),
        (lambda file: file.write_bytes(b"\xff\xfe"), "no file of kernel-log rules"),
    ],
)
def test_files_that_are_none(config: Path, spoil: Callable[[Path], object], reason: str) -> None:
    spoil(add(config, "kernel-log", LOG))
    assert reason in problem()


def test_files_of_somebody_else(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(config, "benchmarks", "raise AssertionError('executed')")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 4711)
    if os.getuid() == 0:  # what belongs to root is everybody's
        os.chown(config / "benchmarks" / "mine.py", 4712, 4712)
    assert "belongs to somebody else" in problem()


def test_a_package_that_cannot_be_imported(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = config.parent / "packages"
    described = packages / "bad-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    points = {"knobs": "bad_rules", "benchmarks": "bad_rules:X", "analyses": "nowhere:Y"}
    (described / "entry_points.txt").write_text(
        "".join(f"[benchvise.{kind}]\none = {value}\n" for kind, value in points.items())
    )
    (packages / "bad_rules.py").write_text("raise RuntimeError('\\x1b[2Jgone')")
    monkeypatch.syspath_prepend(packages)
    forget()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert catalogue.load_catalogue() and hostside.host_benchmarks()
    told = {one.kind.name: (one.origin, one.problem) for one in all_extensions()}
    assert told["knobs"] == ("bad 1.0", "RuntimeError: gone")
    assert told["benchmarks"] == ("bad 1.0", "RuntimeError: gone")
    assert "ModuleNotFoundError" in told["analyses"][1]


def test_two_of_one_name(config: Path) -> None:
    add(config, "knobs", FAN)
    add(config, "knobs", FAN.replace('"lab.fan"', '"lab.fan2"'), "b.toml")
    assert problem("b.toml") == "lab.fan_speed is there already: rename it"
    assert find_knob("lab.fan_speed").minimum == 64


def test_an_added_setting_is_made_and_restored(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(config, "knobs", FAN)
    monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(tmp_path / "state"))
    kernel = FakeKernel(tmp_path / "board")
    fan = kernel.root / "sys/class/hwmon/hwmon3/pwm1"
    fan.parent.mkdir(parents=True)
    fan.write_text("200\n")
    wanted = [Setting(find_knob("lab.fan_speed"), "128")]
    with intervening("fake", kernel, lambda: FakeKernel(kernel.root), {}) as made:
        made.apply(wanted)
        assert fan.read_text().strip() == "128"
    assert fan.read_text().strip() == "200"
    (read,) = catalogue.items_by_id()["lab.fan"].reads
    assert (read.key, read.normaliser) == ("{1}/{name}", "integer")


def test_added_patterns_and_alerts_take_the_place_of_ours(config: Path) -> None:
    add(config, "boot-patterns", BOOT + '[[pattern]]\nid = "u-boot-spl"\nmatch = ""\n')
    add(config, "alerts", ALERTS + '[[alert]]\nname = "hot"\noff = true\n')
    loaded = patterns.load_patterns()
    ids = [pattern.id for pattern in loaded.all]
    assert ids.index("acme-bl1") < ids.index("u-boot-tpl") and "u-boot-spl" not in ids
    timeline = Timeline(0, loaded)
    timeline.feed(10, b"ACME BL1 v2.3\r\n")
    assert timeline.phase == "spl"
    names = [rule.name for rule in alerts.load_rules(None)]
    assert "rack fan" in names and "hot" not in names and "throttled" in names


def test_the_rules_of_a_command_come_first(config: Path, tmp_path: Path) -> None:
    add(config, "alerts", ALERTS)
    file = tmp_path / "rules.toml"
    file.write_text(ALERTS.replace("a fan of the rack does not turn", "of the command"))
    (rule,) = (rule for rule in alerts.load_rules(file) if rule.name == "rack fan")
    assert rule.why == "of the command"


def test_added_log_rules_are_tried_first(config: Path) -> None:
    add(config, "kernel-log", LOG)
    match = rules.classify("rackfan 3-0020: fan 2 stalled")
    assert match is not None and match.rule.id == "rack-fan-stalled" and match.device == "3-0020"
    assert rules.log_classes()[0].name == "rack"


def test_no_analysis_can_be_called_as_another_command() -> None:
    (group,) = (e for e in PROGRAM.entries if isinstance(e, Group) and e.name == "trace")
    names = {entry.name for entry in group.entries}
    ours = {analysis.name for analysis in analyses.ANALYSES}
    assert names == ours | set(analyses.OTHER_COMMANDS)
