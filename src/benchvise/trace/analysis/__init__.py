"""Answers from the analysis tables of a trace: pure functions on Arrow tables, no files.

``model`` holds the tables, ``names`` finds actors, ``occupancy`` and ``distributions`` are the
arithmetic of time and of many rows; every other module, and the packages ``latency`` and ``flame``,
answer one question or two and return a dataclass. Times are whole nanoseconds of the trace's clock,
durations are nanoseconds.
"""
