"""Sphinx configuration. `make docs` first writes the reference pages from the registries."""

from __future__ import annotations

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
