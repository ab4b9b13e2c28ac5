"""Makes the wheel one of this platform, as it holds an extension module, and adds the licences and
the bill of materials of what is linked into it.

The module uses the stable interface of CPython 3.11, so one wheel serves that and all later ones.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.append(str(Path(__file__).parent))  # a build backend loads this file alone

from linked_code import bill_of_materials, linked_code, notices

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
        place = Path(self.root, "build", "linked-code")
        place.mkdir(parents=True, exist_ok=True)
        packages = linked_code(Path(self.root))
        licences, materials = place / "linked-code-licences.txt", place / "benchvise.cdx.json"
        licences.write_text(notices(packages), encoding="utf-8")
        release = self.metadata.version
        document = bill_of_materials(packages, self.metadata.name, release)
        materials.write_text(json.dumps(document, indent=2), encoding="utf-8")
        build_data["force_include"][str(licences)] = f"benchvise/{licences.name}"
        build_data["sbom_files"].append(str(materials.relative_to(self.root)))
