"""Kernel traces: opened through a cache, asked by SQL, analysed, compared, exported.

The decoder and what makes the analysis tables are Rust (``crates/``), in the extension module
``native``; what is asked of these tables is in ``analysis``.
"""
