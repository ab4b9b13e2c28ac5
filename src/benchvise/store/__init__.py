"""The store of results: every sample of every run, on disk before the next batch begins.

SQLite in the user's data directory by default, PostgreSQL by URL; same tables, same migrations.
"""

from benchvise.store.diagnoses import DiagnosisInfo
from benchvise.store.history import BoardInfo, Past, PastRun, SeriesInfo
from benchvise.store.reading import RunChoices, RunFilter, RunInfo
from benchvise.store.snapshots import Moment
from benchvise.store.store import PlannedSeries, ProcessHandle, Store

__all__ = [
    "BoardInfo",
    "DiagnosisInfo",
    "Moment",
    "Past",
    "PastRun",
    "PlannedSeries",
    "ProcessHandle",
    "RunChoices",
    "RunFilter",
    "RunInfo",
    "SeriesInfo",
    "Store",
]
