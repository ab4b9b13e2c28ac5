"""The recipes for pipelines: what their services read, with commands and options that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchvise.cli.main import program

RECIPES = Path(__file__).parents[1] / "examples" / "pipelines"


def recipe(name: str) -> Any:
    return yaml.safe_load((RECIPES / name).read_text())


def texts(value: object) -> Iterator[str]:
    """Every text of a document."""
    if isinstance(value, str):
        yield value
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from texts(each)


def test_commands_of_recipes_exist() -> None:
    commands = program().commands
    seen = set()
    for file in RECIPES.iterdir():
        for text in texts(recipe(file.name)):
            if not text.startswith("benchvise "):
                continue
            words = shlex.split(text.partition(" >")[0])
            command = commands[words[1]]
            options = {o for p in command.params for o in p.opts}
            assert {word for word in words if word.startswith("-")} <= options, text
            seen.add(words[1])
    assert seen == {"gate", "import", "run", "compare", "export"}


def test_the_services_find_what_they_need() -> None:
    workflow = recipe("github-workflow.yml")
    assert workflow[True] == "pull_request", "YAML 1.1 reads the key `on` so, and GitHub does"
    (job,) = workflow["jobs"].values()
    for step in job["steps"]:
        assert len({"uses", "run"} & set(step)) == 1
    # What a stranger names (a branch, a title) never stands in a script.
    for text in texts([step.get("run", "") for step in job["steps"]]):
        assert "${{" not in text
    (job,) = recipe("gitlab-ci.yml").values()
    reports = job["artifacts"]["reports"]
    made = set(re.findall(r"> (\S+)", " ".join(job["script"])))
    assert set(reports.values()) <= made and job["artifacts"]["when"] == "always"
    # A regression ends the script: it comes last, when the other files are written.
    assert "--threshold" in job["script"][-1]
    assert sum("--threshold" in line for line in job["script"]) == 1
    lava = recipe("lava-job.yaml")
    assert {"job_name", "timeouts", "visibility", "actions"} <= set(lava)
    assert [next(iter(action)) for action in lava["actions"]] == ["deploy", "boot", "test"]
    (definition,) = lava["actions"][-1]["test"]["definitions"]
    described = definition["repository"]
    assert described["metadata"]["format"] == "Lava-Test Test Definition 1.0"
    assert described["run"]["steps"][-1] == "sh /tmp/benchvise-results.sh"
