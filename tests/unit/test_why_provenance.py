"""Which file and line sets a value: planted lines in trees of the usual systems, and decoys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from root_trees import PLANTS, ROLES, TREES, Plant, build

from benchvise.state.catalogue import knobs
from benchvise.state.knobs import Setting
from benchvise.why.model import Layer, Origin, SettingMeans, Side, Suspect
from benchvise.why.provenance import NOT_FOUND, DirectoryFiles, find_origins


def suspect_of(knob_name: str, bad: str, good: str = "another") -> Suspect:
    item, knob = knobs()[knob_name]
    return Suspect(
        knob_name,
        knob.summary,
        Layer.RUN_TIME,
        item.id,
        good,
        bad,
        (),
        SettingMeans((Setting(knob, good),), (Setting(knob, bad),)),
    )


def origins_in(
    files: Mapping[str, str | bytes], where: Path, knob: str, value: str
) -> tuple[Origin, ...]:
    source = DirectoryFiles(build(files, where), "tree", ROLES)
    return find_origins(source, suspect_of(knob, value), Side.BAD)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DirectoryFiles]:
    return {
        name: DirectoryFiles(build(files, tmp_path_factory.mktemp(name)), name, ROLES)
        for name, files in TREES.items()
    }


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.system}-{plant.knob}")
def test_a_planted_line_is_named(plant: Plant, sources: dict[str, DirectoryFiles]) -> None:
    origins = find_origins(sources[plant.system], suspect_of(plant.knob, plant.value), Side.BAD)
    assert [origin.where for origin in origins] == [plant.where]
    assert origins[0].certain, origins[0].note
