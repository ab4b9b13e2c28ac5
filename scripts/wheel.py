"""Makes the wheel one of this platform, as it holds an extension module.

The module uses the stable interface of CPython 3.11, so one wheel serves that and all later ones.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULE = "src/benchvise/trace/native.abi3.so"


class PlatformWheel(BuildHookInterface[Any]):
    """Refuses to build a wheel without the module, and names the platform in its tag."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is made; ``version`` is ``editable`` for `pip install -e`."""
        if version == "editable":
            return
        if not Path(self.root, MODULE).exists():
            raise FileNotFoundError(f"{MODULE} is not built: make install")
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
