"""What the board was set to when it was measured, and what changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request

from benchvise.documents import encode
from benchvise.report.data import ReportData
from benchvise.report.state_tables import diff_rows, snapshot_rows, value_text
from benchvise.report.text import clean
from benchvise.state.catalogue import items_by_id
from benchvise.state.diff import diff_snapshots
from benchvise.state.model import Snapshot, StateEntry
from benchvise.web.context import Context
from benchvise.web.links import link, number
from benchvise.web.views import View

ROWS = 300
"""Entries in one page."""


def state(request: Request, shared: Context, data: ReportData) -> View:
    """The snapshot before the run, searched by text, and how the one after it differs."""
    store, run_id = shared.store, data.runs[0].id
    before, after = store.snapshot(run_id, "before"), store.snapshot(run_id, "after")
    if before is None:
        return View({"state": None})
    wanted = request.query_params.get("find", "").strip().lower()
    entries = [entry for entry in _entries(before) if wanted in _searched(entry)]
    skip = number(request, "skip", 0, max(0, len(entries) - 1))
    meanwhile = diff_snapshots(before, after) if after is not None else None
    document = {
        "taken": clean(before.taken),
        "digest": before.digest,
        "privilege": clean(before.privilege),
        "find": wanted,
        "total": len(entries),
        "skip": skip,
        "entries": entries[skip : skip + ROWS],
        "meanwhile": encode(meanwhile) if meanwhile is not None else None,
    }
    more = {
        "seen": snapshot_rows(before),
        "meanwhile": diff_rows(meanwhile, "before the run", "after it") if meanwhile else None,
        "newer": link(request, skip=max(0, skip - ROWS)) if skip else "",
        "older": link(request, skip=skip + ROWS) if skip + ROWS < len(entries) else "",
    }
    return View({"state": document}, more)


def _entries(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    for kind, entries in (("setting", snapshot.settings), ("observation", snapshot.observations)):
        for entry in entries:
            yield _entry(kind, entry)


def _entry(kind: str, entry: StateEntry) -> dict[str, Any]:
    item = items_by_id().get(entry.item)
    return {
        "kind": kind,
        "item": clean(entry.item),
        "key": clean(entry.key),
        "value": None if entry.missing else value_text(entry.value),
        "missing": str(entry.missing) if entry.missing else None,
        "reason": clean(entry.reason),
        "path": clean(entry.path),
        "title": item.title if item else "",
    }


def _searched(entry: dict[str, Any]) -> str:
    fields = (entry["item"], entry["key"], entry["value"] or "", entry["path"], entry["title"])
    return " ".join(fields).lower()
