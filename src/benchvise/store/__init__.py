"""The store of results: every sample of every run, on disk before the next batch begins.

SQLite in the user's data directory by default, PostgreSQL by URL; same tables, same migrations.
"""

from benchvise.store.boards import BoardInfo
from benchvise.store.diagnoses import DiagnosisInfo
from benchvise.store.reading import RunInfo
from benchvise.store.snapshots import Moment
from benchvise.store.store import PlannedSeries, ProcessHandle, Store
from benchvise.store.watches import Watched, Watches

__all__ = [
    "BoardInfo",
    "DiagnosisInfo",
    "Moment",
    "PlannedSeries",
    "ProcessHandle",
    "RunInfo",
    "Store",
    "Watched",
    "Watches",
]
