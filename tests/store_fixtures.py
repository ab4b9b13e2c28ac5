"""Fixtures for tests of the store: each test gets an empty place on each kind of database.

A plugin, so that modules share one server: name it in ``pytest_plugins``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import PostgresServer, postgres_server
from store_places import Place

from benchvise.store import Store


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(str(tmp_path / "bench vise %41.db"))
    running: PostgresServer = request.getfixturevalue("server")
    return Place(running.url(running.new_database()))


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    with Store.open(place.url) as opened:
        yield opened
