from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from test_registry import LINE, listing

from benchvise.errors import UsageError
from benchvise.measure.plan import make_plan
from benchvise.measure.registry import Registry
from benchvise.measure.suite import expand_range, load_suite, parse_bench, parse_params

REGISTRY = Registry.of_probe(listing(LINE))


def suite_file(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


def test_lists_give_every_combination(tmp_path: Path) -> None:
    text = (
        'summary = "s"\n[[series]]\nbenchmark = "memory.copy"\n'
        'size = "4K..16K"\nsource = ["random", "zero"]\n'
    )
    keys = [spec.key for spec in load_suite(suite_file(tmp_path, text)).specs(REGISTRY)]
    assert len(keys) == 6 and keys[0] == "memory.copy:size=4K,source=random"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no [[series]]"),
        ("[[series]]\nsize = 1\n", "series 1 names no benchmark"),
        ('[[series]]\nbenchmark = "b"\nsize = 1.5\n', "series 1: size is neither"),
        ('[[series]]\nbenchmark = "b"\nsize = []\n', "series 1: size is neither"),
        ('name = "x"\n[[series]]\nbenchmark = "b"\n', "unknown keys: name"),
        ("[[series\n", "cannot be read"),
    ],
)
def test_a_broken_suite_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_suite(suite_file(tmp_path, text))
    assert message in str(caught.value) and "mine.toml" in str(caught.value)


def test_an_unknown_suite_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="quick"):
        load_suite("quik")


def test_the_command_line_says_the_same_as_a_suite() -> None:
    entry = parse_bench("memory.copy:size=4K..8K+1M,source=zero")
    assert [spec.key for spec in entry.specs(REGISTRY)] == [
        "memory.copy:size=4K,source=zero",
        "memory.copy:size=8K,source=zero",
        "memory.copy:size=1M,source=zero",
    ]


@pytest.mark.parametrize("text", ["memory.copy:size", "memory.copy:=1", "memory.copy:size="])
def test_a_broken_bench_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="not name=value"):
        parse_bench(text)


@pytest.mark.parametrize("text", ["8K..4K", "0..4K", "a..b", "..", "4K.."])
def test_a_broken_range_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="not a range"):
        expand_range(text)


def test_rounds_are_interleaved_and_repeatable() -> None:
    specs = parse_bench("memory.copy:size=4K..1M").specs(REGISTRY)
    plan = make_plan(specs, seed=7)
    rounds = list(plan.rounds())
    assert len(rounds) == plan.processes == 3
    assert all(sorted(order) == list(range(len(specs))) for order in rounds)
    assert len(set(rounds)) > 1, "every round had the same order"
    assert rounds == list(make_plan(specs, seed=7).rounds())
    assert rounds != list(make_plan(specs, seed=8).rounds())


def test_no_series_is_always_first() -> None:
    specs = parse_bench("memory.copy:size=4K..32K").specs(REGISTRY)
    firsts = Counter(next(make_plan(specs, seed=s).rounds())[0] for s in range(400))
    assert min(firsts.values()) > 60  # 100 expected, binomial sigma 8.7


def test_time_repeats_rounds_without_end() -> None:
    plan = make_plan(parse_bench("memory.copy").specs(REGISTRY), time_s=5)
    assert len(list(islice(plan.rounds(), 50))) == 50


def test_a_series_named_twice_is_measured_once_and_nothing_is_refused() -> None:
    specs = [REGISTRY.spec("memory.copy", {}), REGISTRY.spec("memory.copy", {})]
    assert len(make_plan(specs).series) == 1
    with pytest.raises(UsageError):
        make_plan([])


def test_a_value_in_quotes_is_taken_as_it_stands() -> None:
    entry = parse_bench("storage.read:file=\"/mnt/a+b,c\",mode=direct+buffered,at='4K..8K'")
    assert entry.params == {
        "file": ("/mnt/a+b,c",),
        "mode": ("direct", "buffered"),
        "at": ("4K..8K",),
    }


def test_a_path_is_no_range() -> None:
    assert parse_bench("storage.read:file=../x").params == {"file": ("../x",)}


def test_a_parameter_for_all_is_taken_by_those_that_have_it() -> None:
    params = parse_params(["size=4K", "url=http://h/?a=b+c,d", "size=8K"])
    assert params == {"size": ("4K", "8K"), "url": ("http://h/?a=b+c,d",)}
    entry = parse_bench("memory.copy:size=1M,source=zero").with_params(params, REGISTRY)
    assert [spec.key for spec in entry.specs(REGISTRY)] == [
        "memory.copy:size=4K,source=zero",
        "memory.copy:size=8K,source=zero",
    ]


@pytest.mark.parametrize("text", ["url", "=x", "url=", ""])
def test_a_broken_parameter_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="not name=value"):
        parse_params([text])


def test_a_suite_holds_others_before_its_own(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.toml", tmp_path / "outer.toml"
    inner.write_text('summary = "i"\n[[series]]\nbenchmark = "cpu.clock"\n')
    outer.write_text(
        f'summary = "o"\ninclude = ["{inner}"]\n[[series]]\nbenchmark = "os.syscall"\n'
    )
    assert [e.benchmark for e in load_suite(str(outer)).entries] == ["cpu.clock", "os.syscall"]
    outer.write_text(f'summary = "only others"\ninclude = ["{inner}"]\n')
    assert [e.benchmark for e in load_suite(str(outer)).entries] == ["cpu.clock"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('include = "quick"', "no list of names"),
        ("include = [1]", "no list of names"),
        ('include = ["nonexistent"]', "there is no suite 'nonexistent'"),
        ('include = ["SELF"]', "includes itself"),
        ("include = []", "has no"),
    ],
)
def test_a_wrong_include_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text.replace("SELF", str(file)))
    with pytest.raises(UsageError, match=message):
        load_suite(str(file))


def test_each_cpu_of_the_board(tmp_path: Path) -> None:
    board = Registry.of_probe(listing({**LINE, "cpus_allowed": [0, 2, 5]}))
    keys = [f"memory.copy:cpu={cpu}" for cpu in (0, 2, 5)]
    assert [spec.key for spec in parse_bench("memory.copy:cpu=each").specs(board)] == keys
    suite = suite_file(tmp_path, '[[series]]\nbenchmark = "memory.copy"\ncpu = "each"\n')
    assert [spec.key for spec in load_suite(suite).specs(board)] == keys
    assert len(parse_bench("memory.copy:size=4K+8K,cpu=each").specs(board)) == 6


def test_each_cpu_of_a_board_that_does_not_name_them() -> None:
    with pytest.raises(UsageError, match="cpu=each"):
        parse_bench("memory.copy:cpu=each").specs(REGISTRY)


def test_each_is_a_word_of_cpu_only() -> None:
    with pytest.raises(UsageError, match="size=each"):
        parse_bench("memory.copy:size=each").specs(
            Registry.of_probe(listing({**LINE, "cpus_allowed": [0]}))
        )
