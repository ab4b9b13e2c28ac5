"""Answers from the analysis tables of a trace: pure functions on Arrow tables, no files.

``model`` holds the tables, ``names`` finds actors, ``intervals`` and ``distributions`` are the
arithmetic; every other module answers one question and returns a dataclass. Times are whole
nanoseconds of the trace's clock, durations are nanoseconds.
"""
