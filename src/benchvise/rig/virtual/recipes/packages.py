"""Debian packages of any architecture, from the mirror that this machine's own apt uses.

apt runs with a configuration of its own: its lists, its cache and its idea of what is installed
(nothing) lie in our cache directory, for each release and architecture apart, so that nothing of
this system changes and no privileges are needed. What apt downloads it checks against the
signature of the Debian archive, whose keys must be installed here.

Versions are those that ``pins`` lists, with their checksums. Where neither the mirror nor Debian's
archive of the past has one of a set, the set comes as the mirror has it now, and a warning says so.

Once downloaded, the same files are used for good: images stay the same, and are built without a
network, until the list or the cache directory changes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from benchvise.documents import decode
from benchvise.rig.images import ImageError
from benchvise.rig.images.cache import digest
from benchvise.rig.images.tools import Tools, find_program
from benchvise.rig.virtual.recipes import CACHE
from benchvise.rig.virtual.recipes.pins import Pin, pin_list
from benchvise.text import enumerated

MIRROR_VARIABLE = "BENCHVISE_DEBIAN_MIRROR"
SNAPSHOT = "http://snapshot.debian.org/archive/debian"
"""Debian's archive of the past; a time follows."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

_NAMED = 2
"""Packages that a warning names; the list of pins has them all."""

_log = logging.getLogger(__name__)

_SUITES = re.compile(r"(old)*stable|testing|unstable|sid|bullseye|bookworm|trixie|forky|duke")
_NOT_OURS = ("IndexTargets", "Languages", "Changelogs", "CompressionTypes", "GzipIndexes")

UPDATE_WAITS_S = (2, 8)
"""Mirrors refuse for seconds while they change; apt's own retries come at once."""
_CONFIGURATION = """\
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::SourceList "{directory}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "{directory}/state";
Dir::State::status "{directory}/status";
Dir::Cache "{directory}/cache";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
{acquire}
Acquire::AllowInsecureRepositories "false";
APT::Update::Error-Mode "any";
"""


@dataclass(frozen=True, slots=True)
class Package:
    """A downloaded package. ``sha256`` is that of its file.

    ``is_pinned`` tells whether the version is the one that ``pins`` lists.
    """

    name: str
    version: str
    architecture: str
    path: Path
    sha256: str
    is_pinned: bool = False

    def members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
        """Its files and links whose path (such as ``usr/bin/ls``) is wanted, in its own order.

        Directories are left out. ImageError when the package is damaged.
        """
        command = [find_program("dpkg-deb"), "--fsys-tarfile", str(self.path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as unpack:
            try:
                with tarfile.open(fileobj=unpack.stdout, mode="r|") as archive:
                    for member in archive:
                        member.name = str(PurePosixPath(member.name))
                        if member.isdir() or ".." in member.name.split("/"):
                            continue
                        if wanted(member.name):
                            file = archive.extractfile(member) if member.isreg() else None
                            yield member, file.read() if file else b""
            except tarfile.TarError as error:
                raise self._damaged(str(error)) from error
        if unpack.returncode != 0:
            raise self._damaged(f"dpkg-deb ends with {unpack.returncode}")

    def _damaged(self, reason: str) -> ImageError:
        return ImageError(
            f"{self.path.name} cannot be unpacked ({reason})",
            f"remove {self.path.parent.parent} so that it is downloaded again",
        )


@dataclass(frozen=True, slots=True)
class Archive:
    """Debian's packages of one release for one architecture, both in Debian's words.

    ``with_security`` adds those of the release's security archive.
    """

    suite: str
    architecture: str
    with_security: bool = False

    @property
    def name(self) -> str:
        """Such as ``bookworm-arm64``."""
        security = "-security" if self.with_security else ""
        return f"{self.suite}{security}-{self.architecture}"

    def download(self, alone: Sequence[str], whole: Sequence[str] = ()) -> list[Package]:
        """The packages ``alone``, and those of ``whole`` with all that they depend on.

        For the metapackage of a kernel its kernel comes. ImageError when they cannot be had.
        """
        pins = pin_list().of(self.name, alone, whole)
        stamp = self._directory / "sets" / f"{digest(tuple(alone), tuple(whole), pins)}.json"
        with CACHE.locked(f"apt-{self.name}"):
            kept = _kept(stamp)
            if kept is None:
                kept = self._pinned(pins) if pins else None
                if kept is None:
                    kept = self._of_mirror().latest(alone, whole)
                _keep(stamp, kept)
        return kept

    def newest(self, alone: Sequence[str], whole: Sequence[str] = ()) -> list[Package]:
        """As ``download``, but the versions that the mirror has now, whatever is pinned."""
        with CACHE.locked(f"apt-{self.name}"):
            apt = self._of_mirror()
            apt.update()
            return apt.fetch(alone, whole)

    @property
    def _directory(self) -> Path:
        return CACHE.directory / "packages" / self.name

    def _pinned(self, pins: Sequence[Pin]) -> list[Package] | None:
        """The very files that are listed. None, with a warning, where not all can be had.

        ImageError when one has another checksum.
        """
        reasons = []
        for lists, address in (("", mirror()), ("snapshot", f"{SNAPSHOT}/{pin_list().time}")):
            try:
                packages = self._configured(lists, address).exactly(pins)
            except ImageError as error:
                reasons.append(f"{address}: {error.message}")
                continue
            return [_checked(package, pins) for package in packages]
        _log.warning(
            "%s: the pinned packages (%s) cannot be had, so boards are made of the mirror's present"
            " ones and differ from those of others: %s",
            *(self.name, enumerated([f"{pin.name} {pin.version}" for pin in pins], _NAMED)),
            "; ".join(reasons),
        )
        return None

    def _of_mirror(self) -> _Apt:
        return self._configured("", mirror())

    def _configured(self, lists: str, address: str) -> _Apt:
        """An apt whose lists, of the archive at that address, are apart from those of others."""
        own = self._directory / lists
        for name in ("state/lists/partial", "cache/archives/partial", "empty"):
            (own / name).mkdir(parents=True, exist_ok=True)
        for name in ("debs", "sets"):
            (self._directory / name).mkdir(parents=True, exist_ok=True)
        (own / "status").touch()
        if not KEYRING.exists():
            raise ImageError(
                f"the keys of the Debian archive are not installed ({KEYRING})",
                "apt-get install debian-archive-keyring",
            )
        sources = [(address, self.suite)]
        if self.with_security:
            sources.append((security_mirror(self.suite), f"{self.suite}-security"))
        lines = [f"deb [signed-by={KEYRING}] {place} {suite} main\n" for place, suite in sources]
        (own / "sources.list").write_text("".join(lines))
        configuration = own / "apt.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                directory=own, architecture=self.architecture, acquire=_how_to_reach_it()
            )
        )
        return _Apt(own, self._directory / "debs", configuration)


@dataclass(frozen=True, slots=True)
class _Apt:
    """apt with a configuration of its own; ``debs`` is where downloaded packages are kept."""

    directory: Path
    debs: Path
    configuration: Path

    def _run(self, name: str, *arguments: str, below: Path | None = None) -> str:
        own = {"APT_CONFIG": str(self.configuration)}
        return run_apt([name, *arguments], below or self.debs, own)

    def update(self) -> None:
        """The lists anew; an archive that does not answer is asked again after a while.

        ImageError when the last attempt fails, too.
        """
        for wait_s in UPDATE_WAITS_S:
            try:
                self._run("apt-get", "-qq", "update")
            except ImageError as error:
                _log.info("the package lists are fetched again in %d s: %s", wait_s, error.message)
                time.sleep(wait_s)
            else:
                return
        self._run("apt-get", "-qq", "update")

    def latest(self, alone: Sequence[str], whole: Sequence[str]) -> list[Package]:
        """The packages, after an update of the lists where those at hand do not do."""
        return self._updated_if_need_be(lambda: self.fetch(alone, whole))

    def exactly(self, pins: Sequence[Pin]) -> list[Package]:
        """These versions; likewise."""
        names = [f"{pin.name}={pin.version}" for pin in pins]
        return self._updated_if_need_be(lambda: self._download(names))

    def _updated_if_need_be(self, fetch: Callable[[], list[Package]]) -> list[Package]:
        if not any((self.directory / "state" / "lists").glob("*_Packages*")):
            self.update()
        try:
            return fetch()
        except ImageError:  # lists that are out of date name files that are gone
            self.update()
            return fetch()

    def fetch(self, alone: Sequence[str], whole: Sequence[str]) -> list[Package]:
        names = [self._kernel(name) for name in alone]
        if whole:
            plan = self._run("apt-get", "-qq", "--yes", "--print-uris", "install", *whole)
            names += [file.partition("_")[0] for file in _files(plan)]
        return self._download(names)

    def _download(self, names: Sequence[str]) -> list[Package]:
        # It does not name files that are there, so it is asked where there are none.
        empty = self.directory / "empty"
        plan = self._run("apt-get", "-qq", "--print-uris", "download", *names, below=empty)
        self._run("apt-get", "-qq", "download", *names)
        return sorted(
            (_package(self.debs / file) for file in _files(plan)), key=lambda package: package.name
        )

    def _kernel(self, name: str) -> str:
        """The kernel that a metapackage stands for; other names as they are."""
        if not re.match(r"linux-image-[a-z]", name):
            return name
        dependencies = self._run("apt-cache", "depends", name)
        kernel = re.search(r"Depends: (linux-image-\d\S+)", dependencies)
        return kernel[1] if kernel else name


def _checked(package: Package, pins: Sequence[Pin]) -> Package:
    """The package as pinned. ImageError when it is another file."""
    (pin,) = (pin for pin in pins if pin.name == package.name)
    if (package.version, package.sha256) != (pin.version, pin.sha256):
        package.path.unlink()
        raise ImageError(
            f"{package.path.name} has the checksum {package.sha256[:16]}…, and {pin.name} "
            f"{pin.version} is pinned with {pin.sha256[:16]}…",
            f"set {MIRROR_VARIABLE} to the address of another mirror",
        )
    return replace(package, is_pinned=True)


def run_apt(
    argv: Sequence[str], directory: Path = Path("/"), own: Mapping[str, str] | None = None
) -> str:
    """What a program of apt prints; it gets the whole environment, as proxies are named there.

    ImageError when it fails.
    """
    tools = Tools(directory, remedy="is the network there, and room in the cache directory?")
    return tools.run(argv, environment={**os.environ, **(own or {})}).text


def mirror() -> str:
    """The address of the Debian archive that this system's own sources name.

    ``BENCHVISE_DEBIAN_MIRROR`` names another. ImageError when there is neither.
    """
    chosen = os.environ.get(MIRROR_VARIABLE, "")
    if chosen:
        return chosen
    for address, suite in _sources():
        if _SUITES.fullmatch(suite):
            return address
    raise ImageError(
        "this system's apt names no Debian archive to take the boards' software from",
        f"set {MIRROR_VARIABLE} to the address of one",
    )


def security_mirror(suite: str) -> str:
    """The address of a release's security archive. ImageError where this system's apt has none."""
    for address, name in _sources():
        if name == f"{suite}-security":
            return address
    raise ImageError(
        f"this system's apt does not name the security archive of {suite}",
        "add it to /etc/apt/sources.list",
    )


def _sources() -> Iterator[tuple[str, str]]:
    """Address and release of each archive that this system's apt names."""
    layout = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    targets = run_apt(["apt-get", "indextargets", "--format", layout, "Created-By: Packages"])
    for line in targets.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[2] == "main":
            yield fields[0], fields[1]


def _how_to_reach_it() -> str:
    """This system's own settings for downloads, such as proxies, in the syntax of apt.conf."""
    settings = run_apt(["apt-config", "dump", "--format", '%F "%v";%n', "Acquire"])
    lines = (line for line in settings.splitlines() if line.startswith("Acquire::"))
    return "\n".join(line for line in lines if re.split("::|[ ]", line)[1] not in _NOT_OURS)


def _files(plan: str) -> list[str]:
    """The names of the files in apt's ``'ADDRESS' FILE SIZE HASH`` lines."""
    return [line.split()[1] for line in plan.splitlines() if line.startswith("'")]


def _package(path: Path) -> Package:
    name, version, architecture = path.stem.split("_")
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return Package(name, version.replace("%3a", ":"), architecture, path, sha256)


def _kept(stamp: Path) -> list[Package] | None:
    """What was downloaded before; None when it was not, or is not there any more."""
    try:
        rows = decode(list[tuple[str, str, str, str, str, bool]], json.loads(stamp.read_text()))
    except (OSError, ValueError):
        return None
    packages = [
        Package(name, version, architecture, stamp.parent.parent / path, sha256, is_pinned)
        for name, version, architecture, path, sha256, is_pinned in rows
    ]
    return packages if all(package.path.exists() for package in packages) else None


def _keep(stamp: Path, packages: Sequence[Package]) -> None:
    rows = [
        (p.name, p.version, p.architecture, f"debs/{p.path.name}", p.sha256, p.is_pinned)
        for p in packages
    ]
    part = stamp.with_suffix(".part")
    part.write_text(json.dumps(rows, indent=1))
    part.rename(stamp)
