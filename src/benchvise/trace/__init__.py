"""Kernel traces: opened through a cache, asked by SQL.

The decoder and the analyses are Rust (``crates/``), in the extension module ``native``.
"""
