"""Makes the wheel one of a platform, as it holds an extension module, and adds what comes with it:
man pages, completions, the licences and the bill of materials of the code of others.

The module uses the stable interface of CPython 3.11, so one wheel serves that and all later ones.
`scripts/dist.py` names another platform and its module by two environment variables.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.append(str(Path(__file__).parent))  # a build backend loads this file alone

from linked_code import bill_of_materials, linked_code, notices

MODULE = "src/benchvise/trace/native.abi3.so"
PREPARED = "linked-code"
"""Where a source distribution has the licences, so that they need no tools."""

LICENCES, MATERIALS = "THIRD-PARTY.txt", "benchvise.cdx.json"


class PlatformWheel(BuildHookInterface[Any]):
    """Refuses to build a wheel that lacks what tools build, and names the platform in its tag."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel or source distribution is made; ``version`` is ``editable`` for
        `pip install -e`.
        """
        if version == "editable":
            return
        root = Path(self.root)
        if self.target_name == "sdist":
            licences = self._write_licences(root)
            build_data["force_include"][str(licences)] = PREPARED
            return
        module = Path(os.environ.get("BENCHVISE_WHEEL_MODULE", root / MODULE))
        _require_built(root, module)
        platform = os.environ.get("BENCHVISE_WHEEL_PLATFORM") or sysconfig.get_platform()
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform.replace('-', '_').replace('.', '_')}"
        build_data["force_include"][str(module)] = "benchvise/trace/native.abi3.so"
        prepared = root / PREPARED
        licences = prepared if prepared.is_dir() else self._write_licences(root)
        build_data["force_include"][str(licences / LICENCES)] = f"benchvise/{LICENCES}"
        if (share := root / "build" / "share").is_dir():  # by `make man`
            build_data["shared_data"][str(share)] = "share"
        build_data["sbom_files"].append(str((licences / MATERIALS).relative_to(root)))

    def _write_licences(self, root: Path) -> Path:
        """Writes both files to a directory, which is returned."""
        place = root / "build" / PREPARED
        place.mkdir(parents=True, exist_ok=True)
        packages = linked_code(root)
        (place / LICENCES).write_text(notices(packages), encoding="utf-8")
        document = bill_of_materials(packages, self.metadata.name, self.metadata.version)
        (place / MATERIALS).write_text(json.dumps(document, indent=2), encoding="utf-8")
        return place


def _require_built(root: Path, module: Path) -> None:
    """Builds the module where only that is missing; ends with one line where tools are."""
    lacking = []
    if not (root / "src/benchvise/board/probes").is_dir():
        lacking.append("the probes: make probes")
    if not (root / "src/benchvise/report/assets/report.js").exists():
        lacking.append("the pages' scripts (needs npm): make web")
    if not module.exists():
        if shutil.which("cargo") and shutil.which("cc"):
            subprocess.run([root / "scripts" / "native"], check=True)
        else:
            lacking.append("the trace decoder (needs Rust and a C compiler): https://rustup.rs")
    if lacking:
        raise SystemExit(f"Benchvise cannot be built here, missing: {'; '.join(lacking)}")
