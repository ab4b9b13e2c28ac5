"""Diagnoses in the store: kept whole, listed by what their headlines say."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select

import benchvise
from benchvise.store.tables import DIAGNOSIS, columns_of, record_of


@dataclass(frozen=True, slots=True)
class DiagnosisInfo:
    """A diagnosis in a list. ``kept`` is when it was put into the store, ISO 8601."""

    id: str
    kept: str
    good: str
    bad: str
    metric: str
    verdict: str
    headline: str
    simulated: bool


def add_diagnosis(connection: Connection, document: Mapping[str, Any]) -> str:
    """Adds a diagnosis as a document; returns its id."""
    identity = secrets.token_hex(6)
    connection.execute(
        insert(DIAGNOSIS),
        {
            "id": identity,
            "kept": datetime.now(UTC),
            **{name: document[name] for name in ("good", "bad", "verdict", "headline")},
            "metric": document["metric"]["name"],
            "simulated": document["simulated"],
            "tool_version": benchvise.__version__,
            "document": document,
        },
    )
    return identity


def list_diagnoses(connection: Connection, limit: int | None) -> list[DiagnosisInfo]:
    """The newest first."""
    newest = select(*columns_of(DIAGNOSIS, DiagnosisInfo)).order_by(DIAGNOSIS.c.number.desc())
    return [record_of(DiagnosisInfo, row) for row in connection.execute(newest.limit(limit))]


def load_diagnosis(connection: Connection, identity: str) -> dict[str, Any]:
    """The document of the diagnosis with that id, which must exist."""
    statement = select(DIAGNOSIS.c.document).where(DIAGNOSIS.c.id == identity)
    document: dict[str, Any] = connection.execute(statement).scalar_one()
    return document
