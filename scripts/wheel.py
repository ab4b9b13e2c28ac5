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
        build_data["force_include"][str(self._write_version(root))] = "benchvise/_version.py"
        prepared = root / PREPARED
        licences = prepared if prepared.is_dir() else self._write_licences(root)
        build_data["force_include"][str(licences / LICENCES)] = f"benchvise/{LICENCES}"
        if (share := root / "build" / "share").is_dir():  # by `make man`
            build_data["shared_data"][str(share)] = "share"
        build_data["sbom_files"].append(str((licences / MATERIALS).relative_to(root)))

    def _write_version(self, root: Path) -> Path:
        """Writes the module that tells the program its version; returns the file."""
        file = root / "build" / "_version.py"
        file.parent.mkdir(exist_ok=True)
        text = f'"""Written when this was built."""\n\n__version__ = "{self.metadata.version}"\n'
        file.write_text(text, encoding="utf-8")
        return file

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
    if not module.exists() and (fault := _build_decoder(root)):
        lacking.append(f"the trace decoder: {fault}")
    if lacking:
        raise SystemExit(f"Benchvise cannot be built here, missing: {'; '.join(lacking)}")


def _build_decoder(root: Path) -> str:
    """Builds it; in one line what is missing for that, empty where nothing is."""
    absent = [
        name
        for name, program in (("Rust (https://rustup.rs)", "cargo"), ("a C compiler", "cc"))
        if not shutil.which(program)
    ]
    if absent:
        return f"needs {' and '.join(absent)}"
    script = root / "scripts" / "native"
    built = subprocess.run([script], capture_output=True, text=True, check=False)
    if built.returncode == 0:
        return ""
    # What refuses says why in its first line; cargo, after which it fails, in that of an error.
    lines = built.stderr.strip().splitlines() or [f"{script.name} ends with {built.returncode}"]
    return next((line for line in lines if line.startswith("error")), lines[0])
