"""Makes the wheel of the decoder alone one of a platform, and adds the module, its
types and its licences.

It has the module that Benchvise's own wheel has, from the same variables (``scripts/wheel.py``).
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DecoderWheel(BuildHookInterface[Any]):
    """Refuses to build where the module is not built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Called before the wheel is made."""
        root = Path(self.root).parents[1]
        built = root / "src/benchvise/trace/native.abi3.so"
        module = Path(os.environ.get("BENCHVISE_WHEEL_MODULE", built))
        if not module.is_file():
            raise SystemExit(f"the trace decoder is not built: {root / 'scripts/native'}")
        platform = os.environ.get("BENCHVISE_WHEEL_PLATFORM") or sysconfig.get_platform()
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform.replace('-', '_').replace('.', '_')}"
        included = build_data["force_include"]
        included[str(module)] = "tracefile/native.abi3.so"
        included[str(root / "src/benchvise/trace/native.pyi")] = "tracefile/native.pyi"
        included[str(root / "src/benchvise/py.typed")] = "tracefile/py.typed"
        included[str(root / "LICENSE")] = "tracefile/LICENSE"
        notices = root / "build" / "linked-code" / "THIRD-PARTY.txt"  # of the wheel built before
        if notices.is_file():
            included[str(notices)] = "tracefile/THIRD-PARTY.txt"
