"""What is printed uses the words of the glossary, too: help, errors, and the tables of a store.

``test_language`` reads sources, where a text is put together of parts; here it is whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from in_process import benchvise
from report_runs import demonstration_run, other_run
from test_language import words_in_text
from web_store import keep_run

from benchvise.cli.reference.find import named_entries
from benchvise.cli.reference.manual import manual_pages

ERRORS = (
    "run --suite nowhere",
    "run --bench memory.nothing",
    "run --set vm.nothing=1",
    "run --set vm.swappiness=much",
    "run rig:none",
    "run --processes 0",
    "show nothing",
    "report nothing -o page",
    "why local",
    "knobs show nothing",
    "bench show nothing",
    "find qqqqqqqqqq",
    "health",
    "watch local --every never",
    "diff a.json b.json",
    "trace info nothing.dat",
    "trace latency",
    "signal info nothing.sr",
    "rig status --rig nothing.yaml",
    "rig virtual up --boards x=y",
    "serve --port 99999999",
    "completion tcsh",
    "config set",
    "--color blue run",
    "nothing",
)
TABLES = (
    "runs",
    "show @",
    "show @ --notes",
    "compare own vendor --all",
    "compare own vendor --percentiles",
    "compare own vendor --counters",
    "suites",
    "suites show quick",
    "bench",
    "bench show memory.copy",
    "knobs",
    "knobs show memory.thp",
    "config",
    "next",
)

JSON_KEYS = frozenset({"peer"})
"""A parameter of network benchmarks, and so a word of their tables."""


def wrong_words(where: str, text: str) -> Iterator[str]:
    plain = " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())
    for word, term in words_in_text(plain):
        if word not in JSON_KEYS:
            yield f"{where}: '{word}': say {term}"


def test_help_uses_the_words_of_the_glossary() -> None:
    pages = manual_pages()  # of the records that --help shows
    assert len(pages) > 60
    wrong = [
        line
        for name, page in pages.items()
        for line in wrong_words(name, re.sub(r"\\f[A-Z]|\\", "", page))
    ]
    wrong += [
        line
        for entry in named_entries()
        for line in wrong_words(f"find {entry.name}", f"{entry.summary} {entry.command}")
    ]
    assert not wrong, "\n".join(wrong)


SERIES = 6  # of each run: enough for every column


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """A home with a store of two runs."""
    home = tmp_path_factory.mktemp("home")
    store = str(home / "results.db")
    for run, label in ((demonstration_run(), "vendor"), (other_run(), "own")):
        keep_run(store, replace(run, series=run.series[:SERIES]), label=label)
    places = dict.fromkeys(
        ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"), str(home)
    )
    return {**os.environ, **places, "BENCHVISE_STORE": store}


def test_errors_are_one_line_in_the_words_of_the_glossary(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    wrong: list[str] = []
    for line in ERRORS:
        ran = benchvise(*line.split(), environment=environment, cwd=tmp_path)
        message = ran.err.strip() or ran.out.strip()
        assert ran.code in (1, 2, 3) and message, line
        if "Traceback" in message or message.count("\n") > 1:
            wrong.append(f"{line}: {message[:300]}")
        wrong += wrong_words(line, message)
    assert not wrong, "\n".join(wrong)


def test_tables_use_the_words_of_the_glossary_and_cut_nothing(
    environment: Mapping[str, str],
) -> None:
    wrong: list[str] = []
    for columns in ("80", "160"):
        # Rich takes this for a terminal of that width.
        terminal = {**environment, "COLUMNS": columns, "TTY_COMPATIBLE": "1"}
        for line in TABLES:
            ran = benchvise(*line.split(), "--color", "never", environment=terminal)
            assert ran.code == 0 and ran.out, f"{line}: {ran.err}"
            wrong += wrong_words(line, ran.out)
            wrong += [
                f"{line}, {columns} columns: {row}"
                for row in ran.out.splitlines()
                if "…" in row or len(row.rstrip()) > int(columns)
            ]
    assert not wrong, "\n".join(wrong)
