"""Kernel traces: recorded, opened through a cache, asked by SQL, analysed, compared, exported.

    trace.dat, CTF, Perfetto, … ─→ crates/tracefile ─→ one table an event type, one index in time
                                     │
                      crates/traceanalysis ─→ actors, instances, waits, … ─→ crates/tracelevels
                                     │
                      crates/tracefile-py: ``native``, columns without a copy
                                     ↓
    opening ─→ cache (Arrow files beside the trace, mapped the next time) ─→ query (SQL)
           └→ loaded ─→ analysis (pure functions on tables) ←─ catalogue (one record an analysis)

A file says where and what is wrong with it, a cache is only used when this user's own seal is on
it, and a query reads nothing but the tables. ``confined_query`` runs one in a process that may die
of it. The record of an analysis in ``catalogue`` makes its command, tables, CSV, JSON, the
workbench's answer and the reference page.

``record`` has the probe record: what is recorded stays in the board's memory until the end, a guard
process on the board restores its tracing if the recorder is killed, and a recorder that is killed
leaves no file.
"""
