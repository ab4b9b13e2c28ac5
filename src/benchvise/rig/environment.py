"""The rig file: a labgrid environment, read as it is; what of it Benchvise itself needs.

Benchvise's own settings are in its ``options``, under ``benchvise``, where labgrid lets programs
keep theirs; everything else is labgrid's.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from benchvise.documents import decode
from benchvise.errors import UsageError
from benchvise.quantities import seconds_or_none

if TYPE_CHECKING:
    from labgrid.config import Config

VARIABLE = "BENCHVISE_RIG"
PREFIX = "rig:"
SIMULATED = "simulated"
"""The feature of boards whose results are not those of hardware."""


@dataclass(frozen=True, slots=True)
class RigOptions:
    """``options: benchvise:`` of a rig file.

    Times are in seconds, powers in watts. ``budget_w`` is what all boards that are on may take
    together, each as its strategy's ``watts`` says; ``stagger_s`` is the time between two being
    switched on. ``settle_s`` passes between writing a card and turning the mux, ``off_s`` with
    the power off before it comes back. ``card_s`` is how long a card may take to be seen here after
    the mux has turned.
    """

    stagger_s: float = 0.5
    budget_w: float | None = None
    settle_s: float = 1.0
    card_s: float = 10.0
    off_s: float = 1.0
    boot_limit_s: float = 180.0
    silence_s: float = 60.0
    ssh_identity: str | None = None
    boot_patterns: str | None = None

    @classmethod
    def from_config(cls, table: object, base: Path) -> RigOptions:
        """Checked; relative paths are taken from ``base``. UsageError names what is wrong."""
        if not isinstance(table, Mapping):
            raise UsageError("options: benchvise: is not a table", "write NAME: VALUE below it")
        names = {f.name for f in fields(cls)}
        values: dict[str, object] = {}
        for name, value in table.items():
            if name not in names:
                raise UsageError(
                    f"options: benchvise: {name} is not known",
                    f"known are {', '.join(sorted(names))}",
                )
            if name in ("ssh_identity", "boot_patterns"):
                path = base / Path(str(value)).expanduser()
                values[name] = str(path)
            elif isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise UsageError(
                    f"options: benchvise: {name}: '{value}' is no number",
                    "give seconds or watts, not negative",
                )
            else:
                values[name] = float(value)
        return decode(cls, values)


@dataclass(frozen=True, slots=True)
class NetworkService:
    """Where a board answers to SSH, as labgrid's resource of that name says."""

    address: str
    port: int = 22
    user: str = "root"


@dataclass(frozen=True, slots=True)
class RigTarget:
    """What the rig file says of one board apart from its features and place.

    ``is_switched`` is whether it has a strategy, and so is booted and switched off; one that has
    none is reached over its network as it is. ``service`` is None where the file does not say it.
    ``watts`` is what the board takes at most. ``shares`` names what it has in common with others
    that disturbs measurements; None where that is to be found out.
    """

    is_switched: bool = True
    service: NetworkService | None = None
    watts: float = 0.0
    shares: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class BoardRequest:
    """So many boards with all these features, whichever are free: ``any=FEATURES``, ``N=FEATURES``.

    ``text`` is how it was written.
    """

    text: str
    count: int
    features: frozenset[str]

    @classmethod
    def parse(cls, selector: str) -> Self | None:
        """From what follows ``rig:``; None where it names boards."""
        word, equals, listed = selector.partition("=")
        if not equals or not (word == "any" or word.isdecimal()):
            return None
        features = frozenset(name.strip() for name in listed.split(",") if name.strip())
        count = 1 if word == "any" else int(word[:6])
        if count < 1:
            raise UsageError(f"rig:{selector}: no board is asked for", "write any=FEATURE, 2=…")
        return cls(selector, count, features)


@dataclass(frozen=True, slots=True)
class Rig:
    """A rig file that has been read: the names of its boards and what it says of them."""

    path: Path
    features: Mapping[str, frozenset[str]]
    places: Mapping[str, str] = field(default_factory=dict)
    options: RigOptions = field(default_factory=RigOptions)
    targets: Mapping[str, RigTarget] = field(default_factory=dict)
    wait_s: float = 0.0
    """How long a board that somebody else holds is waited for."""

    @property
    def names(self) -> list[str]:
        """The boards, in the file's order."""
        return list(self.features)

    def select(self, selectors: Sequence[str]) -> list[str]:
        """The boards that are meant by NAME, ``all`` and ``tag=FEATURE``, each once, in order.

        UsageError for a name or tag that no board has.
        """
        chosen: dict[str, None] = {}
        for selector in selectors:
            chosen.update(dict.fromkeys(self._meant(selector)))
        return list(chosen)

    def matching(self, request: BoardRequest) -> list[str]:
        """The boards that have these features; UsageError where they are too few."""
        names = [name for name in self.names if request.features <= self.features[name]]
        if len(names) < request.count:
            tags = sorted({tag for tags in self.features.values() for tag in tags})
            raise UsageError(
                f"{self.path}: {len(names)} boards fit rig:{request.text}, "
                f"{request.count} are needed",
                f"features are {', '.join(tags) or 'none'}: `features:` of a target",
            )
        return names

    def without_waiting(self) -> Rig:
        """The same for who waits otherwise."""
        return replace(self, wait_s=0.0)

    def _meant(self, selector: str) -> list[str]:
        if selector not in self.features and BoardRequest.parse(selector) is not None:
            raise UsageError(
                f"'{selector}' chooses a board that is free, which commands do that measure",
                "name the boards here, or `tag=FEATURE`",
            )
        if selector == "all":
            return self.names
        if selector.startswith("tag="):
            tag = selector.removeprefix("tag=")
            names = [name for name in self.names if tag in self.features[name]]
            tags = sorted({tag for tags in self.features.values() for tag in tags})
            if not names:
                raise UsageError(
                    f"{self.path}: no board has the feature '{tag}'",
                    f"there are {', '.join(tags) or 'none'}: `features:` of a target",
                )
            return names
        if selector not in self.features:
            raise UsageError(
                f"{self.path}: there is no board '{selector}'",
                f"there are {', '.join(self.names) or 'none'}",
            )
        return [selector]


def is_rig(name: str) -> bool:
    """Whether this is how boards of a rig are named: ``rig:NAME``, ``rig:all``, ``rig:tag=…``."""
    return name.startswith(PREFIX)


def find_rig_file(named: str | None = None) -> Path:
    """The rig file that is meant: the one given, BENCHVISE_RIG's, or the running virtual bench's.

    UsageError when there is none.
    """
    for name, source in ((named, "--rig"), (os.environ.get(VARIABLE), VARIABLE)):
        if name:
            path = Path(name).expanduser()
            if not path.is_file():
                raise UsageError(f"{source}: there is no file {path}", "name a labgrid environment")
            return path

    # Late: commands that only ask whether a name is a rig's would start a tenth later.
    from benchvise.rig.virtual.bench import RIG_FILE, default_directory, runs

    path = default_directory() / RIG_FILE
    if not path.is_file() or not runs(default_directory()):
        raise UsageError(
            "no rig is named and no virtual bench runs",
            f"give --rig FILE, set {VARIABLE}, or start one: benchvise rig virtual up",
        )
    return path


_OTHERS = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What labgrid's loader raises besides its own errors: a file may be no UTF-8, nested too
deeply, or of another shape than an environment."""


WAIT_VARIABLE = "BENCHVISE_WAIT"


def be_patient(wait: str) -> None:
    """Has all that this process opens from now on wait so long for boards that are in use.

    UsageError where it is no time.
    """
    before = os.environ.get(WAIT_VARIABLE)
    os.environ[WAIT_VARIABLE] = wait
    try:
        patience_s()
    except UsageError:
        del os.environ[WAIT_VARIABLE]
        if before is not None:
            os.environ[WAIT_VARIABLE] = before
        raise


def patience_s() -> float:
    """How long boards that are in use are waited for; UsageError where that is no time."""
    text = os.environ.get(WAIT_VARIABLE, "0")
    seconds = 0.0 if text.strip() in ("", "0") else seconds_or_none(text)
    if seconds is None:
        raise UsageError(f"'{text}' is no time to wait", "write 90s, 30min or 2h")
    return seconds


_FILES = "benchvise_labgrid_files"


def _config_module() -> Any:
    """labgrid's module that reads environments: its own where labgrid is imported already.

    Else the same files under another package's name: labgrid itself imports all of its drivers
    first, 0.4 s of CPU, none of which are needed to read a file.
    """
    if "labgrid" in sys.modules:
        return import_module("labgrid.config")
    spec = find_spec("labgrid")
    if spec is None or not spec.submodule_search_locations:
        return import_module("labgrid.config")  # says what is missing
    root = spec.submodule_search_locations[0]
    for name, directory in ((_FILES, root), (f"{_FILES}.util", f"{root}/util")):
        package = ModuleType(name)
        package.__path__ = [directory]
        sys.modules.setdefault(name, package)
    return import_module(f"{_FILES}.config")


def read_config(path: Path) -> Config:
    """A rig file, read by labgrid's own loader; raises what that raises."""
    return _read(_config_module(), path)


def _read(reader: Any, path: Path) -> Config:
    """The parser becomes that of LibYAML, for all files that labgrid reads in this process.

    200 boards take 0.03 s of CPU then and not 0.25 s, in this process and in that of each board.
    """
    import yaml

    loading = sys.modules[f"{reader.__package__}.util.yaml"]
    if yaml.__with_libyaml__ and not issubclass(loading.Loader, yaml.CSafeLoader):
        own = {"yaml_constructors": dict(loading.Loader.yaml_constructors), "name": path.name}
        loading.Loader = type("Loader", (yaml.CSafeLoader,), own)  # type: ignore[attr-defined]
    config: Config = reader.Config(str(path))
    return config


def load_rig(path: Path) -> Rig:
    """Reads a rig file through labgrid's own loader. UsageError when that refuses it."""
    reader = _config_module()
    try:
        # labgrid takes the last of two equal keys, and says so beside the answer
        warnings.filterwarnings("error", message=".*duplicate YAML", category=UserWarning)
        config = _read(reader, path)
        targets = config.get_targets()
        own = (config.data.get("options") or {}).get("benchvise") or {}
    except UserWarning as warning:
        duplicate = re.search(r"key '(.*)' overwritten", str(warning))
        raise UsageError(
            f"{path}: {f'`{duplicate[1]}` stands twice in one table' if duplicate else warning}",
            "leave one of them, or give the other another name",
        ) from warning
    except (reader.InvalidConfigError, reader.NoConfigFoundError, OSError, *_OTHERS) as error:
        message = getattr(error, "msg", "") or str(error)
        raise UsageError(
            f"{path}: labgrid cannot read it ({message})",
            "see its documentation on environment files, or `examples/rigs`",
        ) from error
    if not isinstance(targets, Mapping):
        raise UsageError(f"{path}: `targets:` is not a table", "name each board below it")
    features, places, entries = {}, {}, {}
    for name, target in targets.items():
        table = target if isinstance(target, Mapping) else {}
        entries[str(name)] = _target(path, str(name), table)
        listed = table.get("features", ())
        tags = listed if isinstance(listed, list | tuple | set | frozenset | Mapping) else (listed,)
        features[str(name)] = frozenset(str(feature) for feature in tags)
        place = _remote_place(table.get("resources"))
        if place is not None:
            places[str(name)] = place or str(name)
    try:
        options = RigOptions.from_config(own, path.resolve().parent)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.remedy) from None
    return Rig(path, features, places, options, entries, patience_s())


STRATEGY = "CardStrategy"
_REACHED_ONLY = frozenset({"SSHDriver"})
"""Drivers that a board may have which is reached over its network alone."""


def _target(path: Path, name: str, table: Mapping[object, object]) -> RigTarget:
    """What Benchvise reads of a target; what else is wrong with it is labgrid's to say."""
    resources, drivers = _parts(table.get("resources")), _parts(table.get("drivers"))
    arguments = resources.get("NetworkService")
    service = None if arguments is None else network_service(arguments)
    reached_only = set(drivers) <= _REACHED_ONLY and (
        service is not None or ("RemotePlace" in resources and set(resources) == {"RemotePlace"})
    )
    watts = drivers.get(STRATEGY, {}).get("watts", 0)
    options = table.get("options")
    own = options.get("benchvise", {}) if isinstance(options, Mapping) else {}
    unknown = set(own) - {"shares"} if isinstance(own, Mapping) else {str(own)}
    shares = own.get("shares") if isinstance(own, Mapping) else None
    if unknown or not (shares is None or isinstance(shares, list)):
        raise UsageError(
            f"{path}: {name}: options: benchvise: "
            + (f"{min(map(str, unknown))} is not known" if unknown else "shares is no list"),
            "write `shares: [NAME, …]`, or `shares: []` for a board that shares nothing",
        )
    return RigTarget(
        not reached_only,
        service,
        float(watts) if isinstance(watts, int | float) else 0.0,
        None if shares is None else frozenset(map(str, shares)),
    )


def network_service(arguments: Mapping[str, object]) -> NetworkService | None:
    """The service by the arguments of labgrid's resource; None where they make none."""
    address, port = str(arguments.get("address") or ""), arguments.get("port") or 22
    if not address or not isinstance(port, int) or not 0 < port < 65536:
        return None
    return NetworkService(address, port, str(arguments.get("username") or "root"))


def _parts(listed: object) -> dict[str, Mapping[str, object]]:
    """Resources or drivers by class, whichever of labgrid's spellings they have; the first of one
    class."""
    pairs: list[tuple[object, object]] = []
    if isinstance(listed, Mapping):
        pairs = list(listed.items())
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, Mapping):
            pairs += [(item["cls"], item)] if "cls" in item else list(item.items())
    parts: dict[str, Mapping[str, object]] = {}
    for cls, arguments in pairs:
        parts.setdefault(str(cls), arguments if isinstance(arguments, Mapping) else {})
    return parts


def _remote_place(resources: object) -> str | None:
    """The name of the coordinator's place behind a target; None when its resources are here."""
    place = _parts(resources).get("RemotePlace")
    return None if place is None else str(place.get("name", ""))
