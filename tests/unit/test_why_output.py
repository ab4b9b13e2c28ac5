"""A diagnosis as a document, on a terminal, as Markdown and as a page."""

from __future__ import annotations

import copy
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console
from why_documents import EACH, explained, incomplete, no_difference, partly, two_causes, watched

from benchvise.documents import decode, encode, schema
from benchvise.errors import BenchviseError
from benchvise.report.html import Assets
from benchvise.report.why import page as why_page
from benchvise.report.why.document import (
    arms,
    duration,
    readable,
    repeat_command,
    share_text,
)
from benchvise.report.why.figures import diagnosis_figures
from benchvise.report.why.page import markdown
from benchvise.report.why.terminal import WIDEST, tables
from benchvise.why.model import Bounds, Diagnosis, DiagnosisVerdict
from benchvise.why.wording import apart, percent

ASSETS = Assets("script", "style")
ATTACK = "</pre><script>document.body.dataset.attacked='yes'</script>"
ESCAPES = "\x1b[2J\x1b]0;owned\x07\u202e"


def as_json(document: dict[str, Any]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(document, allow_nan=False))
    return loaded


def on_terminal(document: dict[str, Any], width: int = 80) -> str:
    file = io.StringIO()
    Console(file=file, width=width, highlight=False).print(tables(document), soft_wrap=True)
    return file.getvalue()


def definition(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """What a node of the schema refers to, where it may be null too."""
    either = [other for other in node.get("anyOf", ()) if other.get("type") != "null"]
    node = either[0] if either else node
    name = node.get("$ref", "").rpartition("/")[2]
    return schema["$defs"][name] if name else node


def each(described: dict[str, Any]) -> dict[str, Any]:
    """The schema of what a list holds."""
    items: dict[str, Any] = described["items"] or described["prefixItems"][0]
    return items


def everywhere(value: Any, change: Callable[[str], str], node: Any = None) -> Any:
    """The document with every text changed that is not one of a few words."""
    described = definition(SCHEMA, SCHEMA if node is None else node)
    if isinstance(value, str):
        return value if "enum" in described else change(value)
    if isinstance(value, dict):
        names = described.get("properties", {})
        rest = described.get("additionalProperties")
        return {k: everywhere(v, change, names.get(k, rest)) for k, v in value.items()}
    if isinstance(value, list):
        return [everywhere(item, change, each(described)) for item in value]
    return value


SCHEMA = schema(Diagnosis)


# -- the document ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EACH)
def test_a_document_has_the_published_schema(name: str) -> None:
    jsonschema.validate(as_json(EACH[name]()), SCHEMA)


@pytest.mark.parametrize("name", EACH)
def test_a_document_that_is_read_and_written_again_is_the_same(name: str) -> None:
    document = as_json(EACH[name]())
    assert as_json(encode(decode(Diagnosis, document))) == document


def test_every_documented_field_is_in_some_document() -> None:
    seen: set[tuple[str, str]] = set()

    def walk(value: Any, node: Any) -> None:
        described = definition(SCHEMA, node)
        if isinstance(value, dict):
            names = described.get("properties", {})
            for key, item in value.items():
                seen.add((described.get("title", ""), key))
                walk(item, names.get(key, described.get("additionalProperties")))
        if isinstance(value, list):
            for item in value:
                walk(item, each(described))

    for document in EACH.values():
        walk(as_json(document()), SCHEMA)
    for title, described in SCHEMA["$defs"].items():
        assert {(title, key) for key in described["properties"]} <= seen


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda d: d.pop("metric"), "metric"),
        (lambda d: d["causes"][0]["share"].update(low="x"), "causes[0].share.low: expected float"),
        (lambda d: d["trials"][0].update(side="ugly"), "trials[0].side: invalid enum value 'ugly'"),
        (lambda d: d.update(restored=1), "restored: expected bool, got int"),
        (lambda d: d.update(seed=True), "seed: expected int, got bool"),
        (lambda d: d.update(more=1), ""),
        (lambda d: d["excluded"].update(a=None), "excluded[...]: expected str, got null"),
    ],
)
def test_what_is_wrong_with_a_document_is_named(
    change: Callable[[dict[str, Any]], None], fault: str
) -> None:
    document = as_json(explained())
    change(document)
    if not fault:  # a later Benchvise may have added a field
        assert on_terminal(document)
    else:
        with pytest.raises(BenchviseError, match=re.escape(fault)):
            readable(document)


def test_a_document_of_another_format_is_refused() -> None:
    with pytest.raises(BenchviseError, match="format 2, expected 1"):
        readable({**explained(), "format": 2})
    with pytest.raises(BenchviseError, match=r"[Ee]xpected object, got array"):
        readable([])  # type: ignore[arg-type]


def test_what_both_arms_measured() -> None:
    diagnosis = readable(explained())
    repair = diagnosis.causes[0].repair
    both = arms(diagnosis, repair)
    assert both.without and both.flipped
    assert both.flipped / both.without == pytest.approx(2.05, rel=0.02)
    assert arms(diagnosis, replace(repair, trials=())).without is None


def test_figures_in_words() -> None:
    assert share_text(Bounds(0.97, 0.93, 1.01)) == "97 % (93 to 101)"
    assert percent(-0.001) == "0"
    assert duration(192) == "3 min 12 s"
    assert duration(8000) == "2 h 13 min"
    assert apart(-0.7419) == "2.10x"
    assert apart(0.0) == "0.0 %"


def test_the_command_is_told_even_where_the_document_has_none() -> None:
    diagnosis = replace(readable(explained()), repeat="", bad="a board; rm -rf /")
    assert repeat_command(diagnosis) == (
        "benchvise why ssh://root@vendor 'a board; rm -rf /'"
        " --bench memory.copy:size=64M,source=untouched --seed 7"
    )
    metric = replace(diagnosis.metric, command="perf bench mem")
    command = repeat_command(replace(diagnosis, metric=metric))
    assert "--command 'perf bench mem' --better higher" in command


# -- the terminal ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("width", [80, 200])
def test_a_page_begins_with_the_answer_and_fits(name: str, width: int) -> None:
    document = EACH[name]()
    lines = on_terminal(document, width).splitlines()
    assert lines[0] == document["verdict"].upper()
    headline = " ".join(lines[1:4])
    assert headline.startswith(document["headline"][:60])
    # What is to be copied may be longer: it is in one piece.
    long = [line for line in lines if len(line) > min(width, WIDEST)]
    assert all("benchvise why" in line for line in long)
    assert lines == [line.rstrip() for line in lines]
    assert "\x1b" not in "".join(lines)


def test_what_an_engineer_needs_is_there() -> None:
    text = on_terminal(explained())
    for words in (
        "5.91 GB/s",
        "97 % (93 to 101)",
        "unexplained     3 % (-1 to 7)",
        "madvise on good, always on bad",
        "Repaired: the good value on ssh://root@yocto: 2.79 → 5.74 GB/s",
        "Broken: the bad value on ssh://root@vendor",
        "is as before",
        "not a copy bandwidth",
        "/etc/rc.local:12",
        "echo always > /sys/kernel/mm/transparent_hugepage/enabled",
        "2 of 3 counters agree: dtlb_misses 10.3x",
        "CONFIG_TRANSPARENT_HUGEPAGE_MADVISE=y",
        "34 settings written, all restored.",
    ):
        assert words in " ".join(text.split()) or words in text


def test_each_cause_is_told_and_how_they_interact() -> None:
    text = on_terminal(two_causes())
    assert "Cause 1     memory.thp: 60 % (57 to 63)" in text
    assert "Cause 2     cpu.governor: 31 % (28 to 34)" in text
    assert "no interaction shown" in text
    assert "kernel.numa_balancing: the write was refused (EPERM)" in text
    document = two_causes()
    document["interaction"]["shown"] = True
    assert "they need each other" in on_terminal(document)


def test_what_speaks_against_a_mechanism_is_told() -> None:
    text = " ".join(on_terminal(partly()).split())
    assert "The counters contradict it" in text
    assert "Not broken: the good side is a recorded run" in text
    assert "(rc.local on ssh://root@yocto, perhaps)" in text
    assert "All 5 differences at once close 58 %" in text


def test_what_is_still_set_comes_first() -> None:
    text = on_terminal(incomplete())
    assert text.index("STILL SET") < text.index("GB/s")
    assert "memory.thp on ssh://root@yocto: always → madvise" in text
    assert "emulated board" in text


def test_nothing_is_claimed_where_nothing_was_shown() -> None:
    text = on_terminal(no_difference())
    assert "Share of the gap" not in text
    assert "Nothing was set." in text


def test_a_terminal_without_blocks_gets_signs() -> None:
    console = Console(file=io.StringIO(), width=80, highlight=False)
    options = console.options.copy()
    options.encoding = "ascii"
    text = "".join(segment.text for segment in console.render(tables(explained()), options))
    assert "####" in text and "█" not in text


def test_the_same_is_told_with_colour() -> None:
    file = io.StringIO()
    console = Console(file=file, width=80, highlight=False, force_terminal=True)
    console.print(tables(explained()), soft_wrap=True)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert plain == on_terminal(explained())


# -- hostile texts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EACH)
def test_hostile_texts_do_nothing(name: str) -> None:
    hostile = everywhere(as_json(EACH[name]()), lambda text: f"{text}{ESCAPES}{ATTACK}")
    hostile["excluded"] = {ATTACK + ESCAPES: ATTACK}
    shown = on_terminal(hostile)
    assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown
    page = why_page.render(readable(hostile), ASSETS)
    # The page's own: its data, its script.
    assert page.count("<script") == 2
    assert "\u202e" not in page and "\x1b" not in page
    text = markdown(hostile)
    outside = re.sub(r"^```$.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert "script" in outside and re.search(r"(?<!\\)<", outside) is None


def test_long_texts_are_cut() -> None:
    document = everywhere(as_json(explained()), lambda text: text + "x" * 100_000)
    assert len(on_terminal(document)) < 60_000
    assert len(why_page.render(readable(document), ASSETS)) < 600_000


def test_a_fence_cannot_be_ended_from_inside() -> None:
    document = explained()
    document["causes"][0]["remedies"][0]["text"] = "```\n# a heading\n````"
    text = markdown(document)
    assert "`````\n```\n# a heading\n````\n`````" in text


def test_a_remedy_keeps_its_lines() -> None:
    document = readable(explained())
    assert document.causes[0].remedies[1].text.splitlines()[1].startswith("w /sys/")
    many = explained()
    many["causes"][0]["remedies"][0]["text"] = "\n".join(f"\tline {n}" for n in range(500))
    text = readable(many).causes[0].remedies[0].text
    assert text.startswith(" line 0\n") and text.endswith("# 440 more lines")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (0, None),
        (1, "1 other way is on the evidence page"),
        (2, "2 other ways are on the evidence page"),
    ],
)
def test_ways_that_are_not_shown_are_counted(more: int, said: str | None) -> None:
    document = explained()
    cause = document["causes"][0]
    cause["mechanism"]["remedies"] = []
    [first, *_] = cause["remedies"]
    cause["remedies"] = [
        {**first, "system": "systemd", "text": "first"},
        {**first, "system": "sysctl", "text": "second"},
        *({**first, "system": "sysctl", "text": f"further {n}"} for n in range(more)),
    ]
    text = " ".join(on_terminal(document).split())
    assert "first" in text and "second" in text
    assert "further" not in text
    assert (said in text) if said else "on the evidence page" not in text


@pytest.mark.parametrize("beyond", [0, 1, 2])
def test_differences_that_are_not_listed_are_counted(beyond: int) -> None:
    document = explained()
    [kind, *_] = [s for s in as_json(document)["suspects"] if s["untestable"]]
    document["suspects"] = [{**kind, "id": f"kernel.part{n}"} for n in range(6 + beyond)]
    text = " ".join(on_terminal(document).split())
    assert [n for n in range(9) if f"kernel.part{n} (" in text] == list(range(6))
    assert ("more, on the evidence page" in text) == (beyond > 0)
    assert f"and {beyond} more, on the evidence page" in text or not beyond


@pytest.mark.parametrize(("flipped", "named"), [(1, True), (3, True), (4, False)])
def test_few_differences_at_once_are_named_and_many_counted(flipped: int, named: bool) -> None:
    document = as_json(partly())
    experiment = next(e for e in document["experiments"] if e["purpose"] == "all at once")
    experiment["flipped"] = [f"part{n}" for n in range(flipped)]
    text = " ".join(on_terminal(document).split())
    assert ("part0" in text) is named
    assert (f"All {flipped} differences at once close" in text) is not named
    assert (f"part{flipped - 1} close {percent_of(experiment)}" in text) is (named and flipped > 1)
    assert (f"part0 closes {percent_of(experiment)}" in text) is (flipped == 1)


def percent_of(experiment: dict[str, Any]) -> str:
    return f"{percent(experiment['share']['value'])} %"


# -- the page --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EACH)
def test_a_page_has_what_its_verdict_needs(name: str) -> None:
    document = as_json(EACH[name]())
    page = why_page.render(readable(document), ASSETS)
    assert document["verdict"] in page
    assert "How to read this" in page and "benchvise why" in page
    for cause in document["causes"]:
        assert f">{cause['name']} <span" in page
    assert ('id="journal"' in page) == bool(document["writes"])
    assert ('data-figure="trials"' in page) == bool(document["trials"])


def test_an_arm_is_named_by_its_side_and_what_is_flipped() -> None:
    drawn = diagnosis_figures(readable(explained()))
    assert drawn.trials is not None
    assert {p.arm for p in drawn.trials.points} == {
        "good",
        "bad",
        "repaired",
        "broken",
        "bad, other",
    }
    assert [phase.name for phase in drawn.trials.phases] == [
        "gap",
        "all",
        "search",
        "repair",
        "break",
    ]
    assert [band.arm for band in drawn.trials.bands] == ["repaired", "broken"]
    assert [c.name for c in drawn.covariates] == ["CPU clock", "temperature"]
    assert drawn.ranking is not None
    for row in drawn.ranking.rows:
        assert sum(row.points) == pytest.approx(row.score)
    assert drawn.document["diagnosis"]["shares"]["rows"][0]["name"] == "memory.thp"


def test_shares_follow_each_other() -> None:
    drawn = diagnosis_figures(readable(two_causes()))
    assert drawn.shares is not None
    assert [round(row.begin, 2) for row in drawn.shares.rows] == [0.0, 0.6, 0.91]
    assert diagnosis_figures(readable(no_difference())).shares is None


def test_a_chart_of_very_many_trials_shows_some(tmp_path: Path) -> None:
    document = copy.deepcopy(explained())
    document["trials"] = [{**document["trials"][0], "number": n} for n in range(9000)]
    drawn = diagnosis_figures(readable(document))
    assert drawn.trials is not None
    assert (drawn.trials.every, len(drawn.trials.points)) == (3, 3000)


def test_a_share_beyond_the_axis_ends_with_it() -> None:
    bar = why_page.share_bar(Bounds(9.0, -9.0, 0.5))
    assert (bar.low, bar.start + bar.length) == (0.0, 120.0)
    assert bar.zero == pytest.approx(20.0)


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchviseError, match=r"file/x: the evidence page cannot be written"):
        why_page.write_page(explained(), tmp_path / "file" / "x")


def test_verdicts_have_all_been_looked_at() -> None:
    assert {EACH[name]()["verdict"] for name in EACH} == set(DiagnosisVerdict)


def test_what_the_command_does_is_told_everywhere() -> None:
    document = watched()
    sentence = "97 % of the gap is waiting in poll to 192.0.2.53:53: name server"
    terminal = " ".join(on_terminal(document).split())
    assert sentence in terminal
    assert "Not available on the good side: recording of the kernel: the trace" in terminal
    assert "benchvise trace compare command-good.dat command-bad.dat" in terminal
    assert sentence in markdown(document)
    page = why_page.render(readable(document), ASSETS)
    assert '<a href="command-bad.dat">bad side</a>' in page
    assert "/usr/lib/libnss_mdns4_minimal.so.2" in page
    assert "12 events were lost" in page


def test_the_likeliest_untested_differences_come_with_line_and_command() -> None:
    document = as_json(EACH["unexplained"]())
    printed = on_terminal(document, 100)
    assert "1. storage.mounts:/data sync: async on good, sync on bad" in printed
    assert "Set by /etc/fstab:3 (fstab)" in printed
    assert "\n              mount -o remount,async /data\n" in printed
    assert "mount -o remount,async /data" in markdown(document)
