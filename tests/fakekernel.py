"""A board whose /proc and /sys are a directory, with a kernel that ties settings to each other.

It is in files, so that a process that was killed in the middle leaves what it had set to the next.
Its catalogue, ``CATALOGUE``, takes the real one's place in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from benchvise.board.messages import FileError, FileValue, FileWritten
from benchvise.errors import BoardUnreachable
from benchvise.state.intervention import BOOT_ID
from benchvise.state.model import Family, Flip, Item, Knob

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
FREE = "/proc/sys/vm/min_free_kbytes"
RATIO, BYTES = "/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes"
OTHER = "/proc/sys/vm/swappiness"
PRINTK = "/proc/sys/kernel/printk"
AHEAD = "/sys/block/mmcblk0/queue/read_ahead_kb"
MASK = "/sys/class/net/eth0/queues/rx-0/rps_cpus"
POLICY = "/sys/devices/system/cpu/cpufreq/policy{}/"
FREQUENCIES = (600000, 1000000, 1500000)

STATE = {
    BOOT_ID: "boot-1\n",
    THP: "always [madvise] never\n",
    FREE: "67584\n",
    RATIO: "20\n",
    BYTES: "0\n",
    OTHER: "60\n",
    PRINTK: "4\t4\t1\t7\n",
    AHEAD: "128\n",
    MASK: "00000000,00000003\n",
    **{
        POLICY.format(number) + name: value
        for number in (0, 4)
        for name, value in {
            "scaling_governor": "schedutil\n",
            "scaling_available_governors": "performance schedutil ondemand\n",
            "scaling_available_frequencies": "1500000 600000 1000000 \n",
            "scaling_min_freq": "600000\n",
            "scaling_max_freq": "1500000\n",
            "schedutil/rate_limit_us": "500\n",
        }.items()
    },
}


def _item(name: str, *knobs: Knob) -> Item:
    return Item(0, name, name, name, (Family.SYSTEM,), (Flip.RUN_TIME,), (), knobs)


def _integer(name: str, path: str, maximum: int = 10_000_000, **rest: tuple[str, ...]) -> Knob:
    return Knob(name, path, "integer", name, maximum=maximum, **rest)  # type: ignore[arg-type]


CATALOGUE = (
    _item("thp", Knob("t.thp", THP, "choice", "", resets=("t.min_*",))),
    _item("free", _integer("t.min_free", FREE)),
    _item("dirty", _integer("t.ratio", RATIO, 100), _integer("t.bytes", BYTES)),
    _item("other", _integer("t.other", OTHER, 200)),
    _item("printk", Knob("t.printk", PRINTK, "text", "", pattern="[0-9]( [0-9]){3}")),
    _item("disk", _integer("t.ahead", "/sys/block/{root_disk}/queue/read_ahead_kb")),
    _item(
        "mask", Knob("t.mask", "/sys/class/net/*/queues/rx-*/rps_cpus", "text", "", pattern=".*")
    ),
    _item(
        "governor",
        Knob(
            "t.governor",
            POLICY.format("*") + "scaling_governor",
            "choice",
            "",
            resets=("t.rate_limit",),
        ),
    ),
    _item(
        "limits",
        _integer("t.min_freq", POLICY.format("*") + "scaling_min_freq"),
        _integer("t.max_freq", POLICY.format("*") + "scaling_max_freq"),
    ),
    _item("tunables", _integer("t.rate_limit", POLICY.format("*") + "schedutil/rate_limit_us")),
    _item("outside", _integer("t.outside", "/etc/passwd")),
)


class FakeKernel:
    """The files of such a board; ``step`` is called before and after whatever is done to them.

    It may raise, or end the process. ``place`` is that of a probe.
    """

    def __init__(self, root: Path, step: Callable[[], None] = lambda: None) -> None:
        self.root = root
        self.step = step
        self.is_open = True
        self.place: tuple[int, str] | None = (4711, "/opt/bvprobe")
        self.writes: list[tuple[str, str]] = []
        self.refused: dict[str, str] = {}  # errors by path
        self.highest: dict[str, int] = {}  # what a path makes of any value above
        if not root.exists():
            for path, text in STATE.items():
                self.set(path, text)

    def set(self, path: str, text: str | None) -> None:
        """Changes a file as somebody else would; None removes it."""
        file = self.root / path[1:]
        if text is None:
            file.unlink()
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def get(self, path: str) -> str:
        return (self.root / path[1:]).read_text()

    def state(self) -> dict[str, str]:
        """Everything but the boot id."""
        files = [file for file in self.root.rglob("*") if file.is_file()]
        texts = {f"/{file.relative_to(self.root)}": file.read_text() for file in files}
        return {path: text for path, text in texts.items() if path != BOOT_ID}

    def read(self, globs: Iterable[str]) -> dict[str, FileValue | FileError]:
        self.step()
        found: dict[str, FileValue | FileError] = {}
        for pattern in globs:
            matches = sorted(self.root.glob(pattern[1:]))
            for match in matches:
                found[f"/{match.relative_to(self.root)}"] = FileValue(match.read_text())
            if not matches:
                found[pattern] = FileError(2, "ENOENT")
        self.step()
        return found

    def write(self, path: str, value: str) -> FileWritten:
        self.step()
        self.writes.append((path, value))
        file = self.root / path[1:]
        error = self.refused.get(path) or (self._set(path, value) if file.exists() else "ENOENT")
        self.step()
        now = " ".join(file.read_text().split(" ")).strip() if file.exists() else None
        return FileWritten(now, error)

    def end_other(self, pid: int, program: str) -> None:
        pass

    def close(self) -> None:
        self.is_open = False

    def _set(self, path: str, value: str) -> str:
        """What the kernel does about a value written; the name of an error, or nothing."""
        if path in self.highest:
            value = str(min(int(value), self.highest[path]))
        directory, _, name = path.rpartition("/")
        old = self.get(path).strip()
        match name:
            case "enabled":
                if value not in ("always", "madvise", "never"):
                    return "EINVAL"
                words = (f"[{w}]" if w == value else w for w in ("always", "madvise", "never"))
                self.set(FREE, "19832\n" if value == "never" else "67584\n")
                value = " ".join(words)
            case "dirty_bytes" if int(value) < 8192:
                return "EINVAL"
            case "dirty_bytes" | "dirty_ratio" if value != old:
                self.set(RATIO if name == "dirty_bytes" else BYTES, "0\n")
            case "scaling_governor":
                if value not in self.get(f"{directory}/scaling_available_governors"):
                    return "EINVAL"
                if old == "schedutil" != value:
                    self.set(f"{directory}/schedutil/rate_limit_us", None)
                elif value == "schedutil" != old:
                    self.set(f"{directory}/schedutil/rate_limit_us", "2000\n")
            case "scaling_min_freq" if int(value) > int(self.get(f"{directory}/scaling_max_freq")):
                return "EINVAL"
            case "scaling_max_freq" if int(value) < int(self.get(f"{directory}/scaling_min_freq")):
                return "EINVAL"
            case "printk":
                value = "\t".join([*value.split(), *old.split()[len(value.split()) :]])
            case "rps_cpus":
                value = f"00000000,{int(value.replace(',', ''), 16):08x}"
        self.set(path, f"{value}\n")
        return ""


def lost() -> BoardUnreachable:
    return BoardUnreachable("fake: the connection was lost", "see whether it still answers")
