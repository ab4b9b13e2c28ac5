"""How the card image of each kind of simulated board is built, from Debian packages.

recipe          what goes into the image of each kind, and the variants of these images
build           the image, or the one that was built before; bootloaders
packages  pins  Debian packages of any architecture, and the versions that are wanted
kernel  initrd  the kernel with the modules that a board needs, and what it starts first
root            the root file system
keys            SSH keys of the boards and of their user
"""

from __future__ import annotations

from benchvise.rig.images.cache import CacheDirectory

CACHE = CacheDirectory("virtual")
"""Downloaded packages, what was unpacked of them, keys, and images."""
