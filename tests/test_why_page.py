"""Evidence pages in a real browser, and what commands show of a stored diagnosis."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import skips
from browser import REPORT, missing
from in_process import benchvise
from test_report_page import ATTACK, assert_fine, looked_at
from why_documents import EACH, explained, no_difference, partly, two_causes

from benchvise.report.why.page import write_page
from benchvise.store import Store

Look = Callable[..., dict[str, Any]]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Writes an evidence page and looks at it; options are those of ``web/scripts/browse.js``."""
    if missing(REPORT):
        skips.skip_for(missing(REPORT))

    def at(document: dict[str, Any], *options: str) -> dict[str, Any]:
        path = write_page(document, tmp_path / "why")
        return looked_at(path, *options)

    return at


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_a_page_of_two_causes(look: Look, tmp_path: Path, scheme: str, width: int) -> None:
    printed = tmp_path / "page.pdf"
    seen = look(
        two_causes(), "--scheme", scheme, "--width", str(width), "--axe", "--pdf", str(printed)
    )
    assert_fine(seen)
    # Trials with clock and temperature, shares, ranking.
    assert (seen["slots"], seen["charts"]) == (3, 5)
    assert "cpu.governor" in seen["text"] and "no interaction shown" in seen["text"]
    assert printed.stat().st_size > 10_000


@pytest.mark.parametrize("name", EACH)
def test_each_verdict(look: Look, name: str) -> None:
    seen = look(EACH[name](), "--width", "768")
    assert_fine(seen)
    assert EACH[name]()["headline"].split()[0] in seen["text"]


def test_hostile_texts_do_nothing(look: Look) -> None:
    document = partly()
    document["headline"] = f"{ATTACK}\u202e\x1b[2J"
    document["good"] = f"</script><script>{ATTACK}"
    for suspect in (*document["suspects"], *document["causes"][0]["suspects"]):
        suspect.update(id=ATTACK, title=ATTACK, good=ATTACK, bad="x" * 10_000)
    cause = document["causes"][0]
    cause["name"] = f"{ATTACK} --> <!--<script>"
    cause["origins"][0].update(text=ATTACK, file=ATTACK)
    cause["remedies"][0].update(text=f"</pre>{ATTACK}", system=ATTACK)
    cause["mechanism"].update(title=ATTACK, explanation=ATTACK, artefact=ATTACK)
    document["experiments"][0]["question"] = ATTACK
    document["trials"][0]["flags"] = [ATTACK]
    document["writes"][0].update(old=ATTACK, path=ATTACK)
    document["excluded"] = {ATTACK: ATTACK}
    document["needed"] = [ATTACK]
    seen = look(document, "--axe")
    assert_fine(seen)
    assert seen["dialogs"] == ""
    assert (seen["scripts"], seen["images"]) == (2, 0)
    assert ATTACK in seen["text"]


# -- from the store --------------------------------------------------------------------------------


def said(*words: str, store: Path) -> str:
    ran = benchvise(*words, "--store", store)
    assert ran.code == 0, ran.err
    return ran.out


def test_a_stored_diagnosis_is_listed_shown_and_written_as_a_page(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with Store.open(str(file)) as store:
        kept = store.keep_diagnosis(explained())
        store.keep_diagnosis(no_difference())
    assert "2 diagnoses: benchvise runs --diagnoses" in said("runs", store=file)
    listed = said("runs", "--diagnoses", store=file)
    assert kept in listed and "memory.thp, set by /etc/rc.local:12" in " ".join(listed.split())
    document = json.loads(said("runs", "--diagnoses", "--json", store=file))
    assert document["kind"] == "diagnosis-list" and document["data"][1]["id"] == kept
    shown = said("show", kept[:10], store=file)
    assert shown.startswith("EXPLAINED\n") and "/etc/rc.local:12" in shown
    document = json.loads(said("show", kept, "--json", store=file))
    assert (document["kind"], document["data"]) == ("diagnosis", explained())
    page = said("report", kept, "-o", str(tmp_path / "why"), store=file).strip()
    assert "memory.thp" in Path(page).read_text()
    assert json.loads((tmp_path / "why" / "diagnosis.json").read_text()) == explained()
    assert "**explained**" in (tmp_path / "why" / "diagnosis.md").read_text()
