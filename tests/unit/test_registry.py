from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchvise.board.messages import ListMessage
from benchvise.documents import decode
from benchvise.errors import ProbeError, UsageError
from benchvise.measure.registry import Registry
from benchvise.quantities import parse_size, spell_size

LINE = {
    "common": [
        {"name": "cpu", "type": "integer", "default": "auto", "min": 0, "max": 7, "summary": "c"},
        {"name": "batches", "type": "integer", "default": "21", "min": 1, "max": 9, "summary": "b"},
    ],
    "benchmarks": [
        {
            "id": "memory.copy",
            "summary": "s",
            "unit": "B/s",
            "better": "higher",
            "counted": "copied",
            "method": "m",
            "pitfalls": "p",
            "not_measured": "n",
            "peer": "q",
            "parameters": [
                {
                    "name": "size",
                    "type": "size",
                    "default": "64M",
                    "min": 4096,
                    "max": 1 << 30,
                    "summary": "z",
                },
                {
                    "name": "source",
                    "type": "choice",
                    "default": "random",
                    "choices": ["random", "zero"],
                    "summary": "o",
                },
                {
                    "name": "file",
                    "type": "text",
                    "default": "auto",
                    "min": 1,
                    "max": 20,
                    "summary": "f",
                },
            ],
            "defaults": {"batches": "5"},
            "figures": [
                {"key": "p99", "unit": "ns", "better": "lower", "pool": "median", "summary": "g"}
            ],
        }
    ],
}


def listing(line: Mapping[str, object]) -> ListMessage:
    return decode(ListMessage, line)


@pytest.fixture
def registry() -> Registry:
    return Registry.of_probe(listing(LINE))


@given(st.integers(0, 1 << 40))
def test_sizes_round_trip(size: int) -> None:
    assert parse_size(spell_size(size)) == size


def test_sizes_by_their_full_names() -> None:
    assert parse_size("4KiB") == parse_size("4k") == 4096
    assert parse_size("1GiB") == 1 << 30


@pytest.mark.parametrize("text", ["", "K", "4iB", "-1", "1.5M", "1KB", "x", "٤"])
def test_not_a_size(text: str) -> None:
    with pytest.raises(ValueError):
        parse_size(text)


def test_a_spec_holds_every_parameter_but_those_of_the_plan(registry: Registry) -> None:
    spec = registry.spec("memory.copy", {"size": "1048576"})
    assert dict(spec.params) == {"size": "1M", "source": "random", "file": "auto", "cpu": "auto"}
    assert spec.key == "memory.copy:size=1M"


def test_spelling_does_not_matter_for_what_is_measured(registry: Registry) -> None:
    a = registry.spec("memory.copy", {"size": "1024K"})
    b = registry.spec("memory.copy", {"size": "1M", "source": "random"})
    assert a.canonical == b.canonical


@pytest.mark.parametrize(
    ("benchmark", "params", "message"),
    [
        ("memory.cpy", {}, "did you mean memory.copy"),
        ("qqq", {}, "benchvise find qqq"),
        ("RAM", {}, "did you mean memory.copy"),
        ("memory.copy", {"sise": "1M"}, "did you mean size"),
        ("memory.copy", {"batches": "3"}, "no parameter 'batches'"),
        ("memory.copy", {"size": "2G"}, "from 4K to 1G"),
        ("memory.copy", {"size": "many"}, "from 4K to 1G"),
        ("memory.copy", {"source": "ones"}, "one of random, zero"),
        ("memory.copy", {"cpu": "8"}, "from 0 to 7, or auto"),
    ],
)
def test_refusals_name_the_thing(
    registry: Registry, benchmark: str, params: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        registry.spec(benchmark, params)
    assert message in str(caught.value)


def test_a_broken_description_is_a_probe_error() -> None:
    with pytest.raises(ProbeError):
        Registry.of_probe(listing({"common": [], "benchmarks": [{"id": "x"}]}))


def test_a_benchmark_has_its_own_defaults_and_further_figures(registry: Registry) -> None:
    benchmark = registry.get("memory.copy")
    assert benchmark.defaults == {"batches": "5"}
    assert [figure.key for figure in benchmark.figures] == ["p99"]


def test_a_text_is_taken_as_it_is_within_its_length(registry: Registry) -> None:
    assert dict(registry.spec("memory.copy", {"file": "/a b,c"}).params)["file"] == "/a b,c"
    for text in ("", "x" * 21, "a\nb"):
        with pytest.raises(UsageError, match="text of 1 to 20 bytes"):
            registry.spec("memory.copy", {"file": text})
