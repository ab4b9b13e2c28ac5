"""Sphinx configuration. `make docs` first writes the reference pages from the registries."""

from __future__ import annotations

import atexit
import gc

import benchvise

project = "Benchvise"
author = "The Benchvise authors"
copyright = "2026, The Benchvise authors"  # noqa: A001
release = version = benchvise.__version__

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist", "colon_fence"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Benchvise {release}"

# Nearly all that a build makes stays to its end: it is not looked through for garbage again and
# again, nor thrice before the process ends, which would be two fifths of the time.
gc.set_threshold(500_000)
atexit.register(gc.freeze)
