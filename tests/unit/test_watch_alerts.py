"""Alerts: thresholds with hysteresis, holding times, windows, and the files of rules."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from benchvise.documents import decode, encode
from benchvise.errors import UsageError
from benchvise.health.model import WatchedKind, WatchedValue
from benchvise.health.watch.alarms import Alarms, environment
from benchvise.health.watch.alerts import (
    Alert,
    AlertEvent,
    AlertRule,
    AlertState,
    default_rules,
    evaluate,
    load_rules,
    spell,
)
from benchvise.quantities import seconds_or_none

HOT = AlertRule("hot", "sensor", ("*",), 85, 75, "too hot", "cool it", hold=60, limit=5)
CRC = AlertRule("crc", "counter", ("*crc*",), 3, 0, "cable", "replace it", within=3600)
LOGGED = AlertRule("ata", "event", ("ATA*",), 2, 0, "disk", "look", within=600, text="*reset*")


def follow(rule: AlertRule, looks: Iterable[tuple[float, object]]) -> list[tuple[float, bool]]:
    """When the alert began (True) and ended, over looks at these times."""
    states: Mapping[str, AlertState] = {}
    told = []
    for at, given in looks:
        figures, rises, happenings = [], {}, []
        if rule.of in ("sensor", "level"):
            kind = WatchedKind.SENSOR if rule.of == "sensor" else WatchedKind.LEVEL
            figures = [WatchedValue("x", kind, float(str(given)))]
        elif rule.of == "counter":
            figures = [WatchedValue("crc", WatchedKind.LASTING, 0)]
            rises = {"crc": float(str(given))} if given else {}
        elif given:
            happenings = [AlertEvent("ATA error", str(given), 1, at)]
        alerts, states = evaluate([rule], states, at, figures, rises, happenings)
        states = {k: decode(AlertState, json.loads(json.dumps(encode(v))))
                  for k, v in states.items()}  # fmt: skip
        told += [(alert.at, alert.raised) for alert in alerts]
    return told


class TestHysteresis:
    def test_it_is_raised_once_and_over_only_when_clearly_better(self) -> None:
        values = [80, 86, 86, 84, 90, 76, 85, 75, 84, 86]
        told = follow(HOT, ((60.0 * i, v) for i, v in enumerate(values)))
        assert told == [(120, True), (420, False)]

    def test_a_short_peak_raises_nothing(self) -> None:
        assert follow(HOT, [(0, 90), (30, 90), (59, 70), (60, 90), (90, 90)]) == []

    def test_a_rule_may_be_raised_by_low_values(self) -> None:
        fan = AlertRule("fan", "sensor", ("*",), 500, 900, "", "", low=True)
        assert follow(fan, [(0, 1200), (1, 499), (2, 700), (3, 900), (4, 501)]) == [
            (1, True),
            (3, False),
        ]

    def test_a_level_of_pending_sectors_is_over_when_none_is_left(self) -> None:
        rule = next(rule for rule in default_rules() if rule.name == "pending sectors")
        pending = AlertRule(**{**{f: getattr(rule, f) for f in rule.__slots__}, "match": ("*",)})
        assert follow(pending, [(0, 0), (1, 8), (2, 9), (3, 0)]) == [(1, True), (3, False)]

    def test_a_sensor_with_a_limit_of_its_own_is_held_against_that(self) -> None:
        assert HOT.bounds(None) == (85, 75)
        assert HOT.bounds(105.0) == (100, 90)


class TestWindows:
    def test_a_counter_raises_by_what_it_rose_within_the_time(self) -> None:
        assert follow(CRC, [(0, 1), (1000, 1), (2000, 1), (3000, 0)]) == [(2000, True)]

    def test_what_rises_slowly_enough_raises_nothing(self) -> None:
        assert follow(CRC, ((2000.0 * i, 1) for i in range(50))) == []

    def test_it_is_over_when_nothing_rose_for_that_time(self) -> None:
        told = follow(CRC, [(0, 5), (3000, 1), (3700, 0), (6700, 0), (9000, 0)])
        assert told == [(0, True), (6700, False)]

    def test_events_are_counted_by_class_and_text(self) -> None:
        looks = [(0.0, "hard resetting"), (1.0, "else"), (2.0, "RESET done"), (900.0, "")]
        assert follow(LOGGED, looks) == [(2, True), (900, False)]

    def test_a_window_of_weeks_with_a_rise_at_each_look_stays_small(self) -> None:
        rule = AlertRule("crc", "counter", ("*",), 1e9, 0, "", "", within=7 * 86400)
        states: Mapping[str, AlertState] = {}
        figure = WatchedValue("crc", WatchedKind.COUNTER, 0)
        for minute in range(3 * 7 * 1440):
            _, states = evaluate([rule], states, minute * 60.0, [figure], {"crc": 1.0}, [])
        recent = states["crc\ncrc"].recent
        assert len(recent) <= 101
        assert abs(sum(amount for _, amount in recent) - 7 * 1440) < 7 * 1440 / 25


def test_what_never_was_bad_is_not_remembered() -> None:
    figures = [WatchedValue(f"t{i}", WatchedKind.SENSOR, 40) for i in range(100)]
    assert evaluate([HOT], {}, 0, figures, {}, []) == ([], {})


def test_a_rule_that_is_gone_is_forgotten() -> None:
    states = {"gone\nx": AlertState(1.0, 2.0)}
    assert evaluate([HOT], states, 5, [], {}, []) == ([], {})


class TestFiles:
    def test_the_default_rules_cover_what_they_promise(self) -> None:
        rules = {rule.name for rule in default_rules()}
        assert {"hot", "link errors", "pending sectors", "read-only", "throttled"} <= rules
        assert all(rule.why and rule.remedy for rule in default_rules())

    def test_a_rule_of_the_same_name_takes_the_place_of_one(self, tmp_path: Path) -> None:
        file = tmp_path / "rules.toml"
        file.write_text(
            '[[alert]]\nname = "hot"\nof = "sensor"\nabove = 70\nrearm = 60\n'
            '[[alert]]\nname = "link errors"\noff = true\n'
            '[[alert]]\nname = "fan"\nof = "sensor"\nunit = "RPM"\nbelow = 500\nrearm = 900\n'
            'for = "2 min"\n'
        )
        rules = {rule.name: rule for rule in load_rules(file)}
        assert rules["hot"].raise_at == 70
        assert "link errors" not in rules
        assert rules["fan"].low and rules["fan"].hold == 120
        assert len(rules) == len(default_rules())

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "no rules"),
            ("x = 1", "no rules"),
            ("[[alert]]", "no name"),
            ('[[alert]]\nname="a"\nof="sun"', "says not what it is of"),
            ('[[alert]]\nname="a"\nof="sensor"\nabove=1', "rearm is no number"),
            ('[[alert]]\nname="a"\nof="sensor"\nabove=1\nrearm=1', "flutter"),
            ('[[alert]]\nname="a"\nof="sensor"\nbelow=1\nrearm=0', "flutter"),
            ('[[alert]]\nname="a"\nof="sensor"\nabove=1\nbelow=0\nrearm=0', "threshold"),
            ('[[alert]]\nname="a"\nof="counter"\nabove=1\nrearm=0', "needs a time"),
            ('[[alert]]\nname="a"\nof="counter"\nabove=1\nrearm=0\nwithin="1 y"', "no time"),
            ('[[alert]]\nname="a"\nof="sensor"\nabove=nan\nrearm=0', "above is no number"),
            ('[[alert]]\nname="a"\nof="sensor"\nhigher=1', "unknown key 'higher'"),
            ('[[alert]]\nname="a"\noff=true\n[[alert]]\nname="a"\noff=true', "two of that name"),
            ("[[alert]\n", "no TOML"),
        ],
    )
    def test_what_is_wrong_with_a_file_is_said(self, tmp_path: Path, text: str, said: str) -> None:
        file = tmp_path / "rules.toml"
        file.write_text(text)
        with pytest.raises(UsageError, match=said) as raised:
            load_rules(file)
        assert str(file) in raised.value.message and raised.value.remedy

    def test_a_file_that_is_not_there_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot be read"):
            load_rules(tmp_path / "none.toml")

    def test_times(self) -> None:
        assert [seconds_or_none(t) for t in ("30 s", "5min", "1.5h", "7 d")] == [
            30,
            300,
            5400,
            604800,
        ]
        assert [seconds_or_none(t) for t in ("5", "h", "-1 h", "1 y")] == [None] * 4
        assert [spell(t) for t in (0, 90, 300, 7200, 604800)] == [
            "0 s",
            "90 s",
            "5 min",
            "2 h",
            "7 d",
        ]


class TestCommand:
    EVIL = Alert(
        *("hot", "$(touch pwned); x\x1b[31m\n", True, 1.79e9, 90.0, 85.0, 91.0, "°C"),
        "too `touch pwned` hot\0",
        "cool it",
    )

    def test_values_are_in_its_environment_and_never_in_a_shell(self, tmp_path: Path) -> None:
        script = tmp_path / "alarm with blanks"
        script.write_text(
            f'#!/bin/sh\nenv > "{tmp_path}/env.$ALERT_STATE"; echo "$1" > "{tmp_path}/1"\n'
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        alarms = Alarms(f"'{script}' 'one word; $HOME'")
        assert alarms.send("ssh://pi", self.EVIL) == ""
        alarms.close()
        lines = (tmp_path / "env.raised").read_text().splitlines()
        assert "ALERT_SUBJECT=$(touch pwned); x" in lines
        assert "ALERT_VALUE=90" in lines and "ALERT_BOUND=85" in lines
        assert (tmp_path / "1").read_text() == "one word; $HOME\n"
        assert not Path("pwned").exists()

    def test_one_that_cannot_be_run_is_said(self) -> None:
        assert "No such file" in Alarms("/nonexistent/program").send("b", self.EVIL)

    def test_without_a_command_nothing_runs(self) -> None:
        assert Alarms(None).send("b", self.EVIL) == ""

    @pytest.mark.parametrize("text", ["", "'open"])
    def test_what_is_no_command_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError):
            Alarms(text)

    def test_nothing_in_the_environment_acts(self) -> None:
        """Whichever text of an alert it comes in: rules are a user's, the rest is the board's."""
        evil = "\0x\n\x1b[31m\x9b2J\u202e\ud800" + "y" * 9000
        texts: dict[str, Any] = {
            name: evil for name, kind in get_type_hints(Alert).items() if kind is str
        }
        values = environment(evil, replace(self.EVIL, **texts))
        assert sum("x" in value for value in values.values()) == 1 + len(texts)
        for name, value in values.items():
            assert value.isprintable(), name
            assert len(value) <= 500, name
            os.fsencode(value)
