"""Cards: complete, about what exists, and every setting that may be made has one."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from families import every

from benchvise.measure.runner import local_registry
from benchvise.state.catalogue import items_by_id, knobs
from benchvise.why.cards import Card, cards_by_id, load_cards
from benchvise.why.explain.counters import COUNTERS, GAUGES
from benchvise.why.explain.predictions import PREDICTIONS
from benchvise.why.model import Layer

ELSEWHERE = ("command.*", "http.*", "web.*", "serial.*", "signal.*")
FIRST_TEN = (
    *("huge-zero-page", "governor-ramp", "io-is-busy", "dram-clock", "idle-exit"),
    *("printk-to-serial", "irq-on-the-same-core", "software-flow-control", "link-step-down"),
    "heat-throttling",
)

each_card = every("card", load_cards(), lambda card: str(card.id))


@pytest.fixture(scope="module")
def benchmark_ids() -> set[str]:
    return {benchmark.id for benchmark in local_registry().benchmarks}


def test_there_are_enough_and_each_has_its_own_name() -> None:
    assert len(cards_by_id()) == len(load_cards()) >= 30
    assert set(FIRST_TEN) <= set(cards_by_id())


@each_card
def test_a_card_is_complete(card: Card) -> None:
    assert re.fullmatch(r"[a-z0-9-]+", card.id)
    assert card.title and card.families and card.literature and card.cost
    assert card.better or card.needs, "no word about which value is better"
    assert len(card.explanation) > 150
    assert card.knobs or card.items or card.options or card.layers
    assert 2 <= len(card.counters) <= 5
    for text in (card.explanation, card.artefact):
        assert set(re.findall(r"\{(\w+)\}", text)) <= {"metric", "good", "bad", *COUNTERS}
    assert "{bad}" in card.explanation and "{good}" in card.explanation


@each_card
def test_a_card_names_what_exists(card: Card, benchmark_ids: set[str]) -> None:
    for pattern in card.knobs:
        assert any(fnmatchcase(name, pattern) for name in knobs()), pattern
    for pattern in card.items:
        item = pattern.partition("/")[0]
        known = {*items_by_id(), "timer_slack", "userland.file", "userland.database"}
        assert any(fnmatchcase(name, item) for name in known)
    assert set(card.layers) <= {str(layer) for layer in Layer}
    assert card.predict == "" or card.predict in PREDICTIONS
    assert {counter.name for counter in card.counters} <= set(COUNTERS)
    assert card.needs == "" or card.needs in COUNTERS
    directions = [metric for one in card.better for metric in one.metrics]
    for pattern in (*card.metrics, *directions):
        there = any(fnmatchcase(name, pattern) for name in benchmark_ids)
        assert there or pattern in ELSEWHERE, pattern
    for direction in card.better:
        assert direction.value and direction.reason


def test_every_setting_that_may_be_made_has_a_card() -> None:
    patterns = [pattern for card in load_cards() for pattern in card.knobs]
    missing = [n for n in knobs() if not any(fnmatchcase(n, pattern) for pattern in patterns)]
    assert missing == []


def test_every_prediction_is_used() -> None:
    assert {card.predict for card in load_cards()} - {""} == set(PREDICTIONS)


def test_the_first_card_assumes_no_direction() -> None:
    assert {one.value for one in cards_by_id()["huge-zero-page"].better} == {"unknown"}


def test_a_gain_that_costs_security_or_data_says_so() -> None:
    for name in ("mitigations", "syscall-checks", "packet-filter", "asynchronous-io"):
        assert "SECURITY" in cards_by_id()[name].cost
    assert "DATA" in cards_by_id()["flushes-and-journal"].cost


def test_every_gauge_is_a_counter() -> None:
    assert set(COUNTERS) >= GAUGES
