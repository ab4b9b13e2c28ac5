"""How the card image of each kind of simulated board is built, from Debian packages."""

from __future__ import annotations

from benchvise.rig.images.cache import CacheDirectory

CACHE = CacheDirectory("virtual")
"""Downloaded packages, what was unpacked of them, keys, and images."""
