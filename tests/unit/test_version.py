"""The version of what is built: of a tag, after it, without one, and in a source distribution."""

from __future__ import annotations

import subprocess
from pathlib import Path

from version import version

GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "tag.gpgSign=false")


def git(root: Path, *words: str) -> None:
    subprocess.run([*GIT, *words], cwd=root, check=True, capture_output=True)


def test_the_version_is_that_of_the_tag(tmp_path: Path) -> None:
    package = tmp_path / "src" / "benchvise"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('try:\n    pass\nfinally:\n    __version__ = "7.1.0"\n')
    assert version(tmp_path) == "7.1.0"  # no checkout

    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "one")
    git(tmp_path, "tag", "nightly")
    assert version(tmp_path) == "7.1.0"
    git(tmp_path, "tag", "v7.2.0")
    assert version(tmp_path) == "7.2.0"
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "two")
    assert version(tmp_path).startswith("7.2.1.dev1+g")

    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: benchvise\nVersion: 7.3.0\n")
    assert version(tmp_path) == "7.3.0"
