"""Kernel traces: opened through a cache, asked by SQL, analysed, compared, exported.

The decoder and what makes the analysis tables are Rust (``crates/``), in the extension module
``native``; ``opening`` decodes a trace or maps what is kept of it, ``loaded`` makes it ready to be
asked. The arithmetic of an analysis is in ``analysis``; its record in ``catalogue`` says what it is
called, which options it takes and how its answer looks: commands, tables, CSV, JSON and reference
pages are made of that.
"""
