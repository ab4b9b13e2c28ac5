"""The store of results: every sample of every run, on disk before the next batch begins.

SQLite in the user's data directory by default, PostgreSQL by URL; same tables, same migrations.

    store                          what flows write while a board is measured, and read afterwards
      ├ packed_samples             rows while a process measures, two values when it has ended
      ├ reading, history           runs; what all of them together tell
      ├ progress                   how far runs are that are measured now
      ├ series_counts              how many runs of a board have a series, counted as they are made
      ├ snapshots, diagnoses       documents that are kept whole
      ├ watches                    what was seen of a board over weeks
      ├ notes, references          what users say of their runs, and how they name them
      ├ results_file, redaction    runs as one file that travels, without what is private
      ├ incoming                   runs of such a file, put into a store
      ├ copying, roles             a store copied to another database; who may do what in PostgreSQL
      ├ retention                  which runs are old, and what is removed of them
      ├ trace_notes                what users say of moments and spans of traces
      ├ heartbeat                  signs of life of those that measure or boot, for other hosts
      ├ boots                      boards that boot now
      └ owner                      which process is measuring, and whether it is still there
    tables, values                 columns, records of rows, and what a column can hold
    database, location, faults     connections, tables brought up to date, errors in plain words
"""

from benchvise.store.boots import StoredBoot
from benchvise.store.diagnoses import DiagnosisInfo
from benchvise.store.history import (
    LISTED_RUNS,
    MOST_COUNTED,
    BoardInfo,
    Past,
    PastRun,
    RunActivity,
    SeriesInfo,
    SeriesList,
)
from benchvise.store.progress import StoredProgress
from benchvise.store.reading import RunChoices, RunFilter, RunInfo
from benchvise.store.snapshots import Moment
from benchvise.store.store import PlannedSeries, ProcessHandle, Store

__all__ = [
    "LISTED_RUNS",
    "MOST_COUNTED",
    "BoardInfo",
    "DiagnosisInfo",
    "Moment",
    "Past",
    "PastRun",
    "PlannedSeries",
    "ProcessHandle",
    "RunActivity",
    "RunChoices",
    "RunFilter",
    "RunInfo",
    "SeriesInfo",
    "SeriesList",
    "Store",
    "StoredBoot",
    "StoredProgress",
]
