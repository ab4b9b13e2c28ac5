"""Init settings: what the system does and sets when it starts, according to /etc.

Two texts differ in pieces that can be taken singly, such as lines of a start script. Which pieces
there are does not depend on which text is looked at first: a piece has the same number from both
sides. A line that stands alone is a piece of its own, with the line of the other text that sets the
same thing; what only makes sense together (``if`` to ``fi``) stays together. Comments and blank
lines are no pieces, and neither is the head of a script (``#!``).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher

from benchvise.rig.compose.layers.layer import LayerPart, LayerSummary, Swap, digest
from benchvise.rig.images import ImageError
from benchvise.rig.images.ext import Ext, Inode, quoted
from benchvise.rig.images.filesystems import put_text
from benchvise.rig.images.graft import graft, tree
from benchvise.rig.images.layout import OpenedImage
from benchvise.text import Untrusted, enumerated

_FIRST = r"(?:^|[;&|(!])\s*"  # where the shell takes a word for one of its own
_OPENING = re.compile(rf"{_FIRST}(?:if|case|do)(?![\w-])|\{{\s*$|<<", re.M)
_CLOSING = re.compile(rf"{_FIRST}(?:fi|esac|done|\}})(?![\w-])", re.M)
_TIED = re.compile(
    rf"{_FIRST}(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|function)(?![\w-])"
    r"|[{}]\s*$|;;|<<|\\$|^\s*\["
)
"""Shell's own words, here-documents, continued lines, and sections of unit files."""

_INTO = re.compile(r">>?\s*(\S+)")
_KEY = re.compile(r"\s*(?:export\s+)?([\w./:*-]+)\s*=")

SETTINGS = (
    "rc.local", "rc.conf", "inittab", "init.d", "rcS.d", "rc.d", "local.d", "conf.d", "runlevels",
    *(f"rc{level}.d" for level in range(7)), "default",
    *(f"systemd/{name}" for name in (
        "system", "user", "system-preset", "user-preset", "system.conf", "system.conf.d",
        "user.conf", "journald.conf", "journald.conf.d", "logind.conf", "sleep.conf", "oomd.conf",
        "zram-generator.conf",
    )),
    "sysctl.conf", "sysctl.d",
    "modprobe.conf", "modprobe.d", "modules", "modules-load.d",
    "udev", "mdev.conf", "mdev", "tmpfiles.d", "binfmt.d",
    "security/limits.conf", "security/limits.d",
    "cpufrequtils", "tuned", "tlp.conf", "tlp.d", "irqbalance.conf", "sysfs.conf", "sysfs.d",
    "ld.so.preload", "environment",
)  # fmt: skip
"""In /etc. Accounts, addresses, certificates, fstab and what packages note for themselves are not
among them: these belong to the root file system, whose files carry the owners that they name."""

_MOST_BYTES = 256 << 10
"""Larger files are no settings that somebody wrote line by line."""

_MODE = "mode"


@dataclass(frozen=True, slots=True)
class LinePiece:
    """A range of lines of each text, as positions from 0: from, and the one behind."""

    first: tuple[int, int]
    second: tuple[int, int]


def pieces(first: list[str], second: list[str]) -> list[LinePiece]:
    """What differs between two lists of lines, in their order."""
    if second < first:  # always looked at from the same side, so that it is always the same
        return [LinePiece(piece.second, piece.first) for piece in pieces(second, first)]
    blocks = [
        LinePiece((a, b), (c, d))
        for word, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        if word != "equal"
    ]
    divided = [piece for block in blocks for piece in _divided(block, first, second)]
    texts = [(first[p.first[0] : p.first[1]], second[p.second[0] : p.second[1]]) for p in divided]
    if any(not _is_whole(lines) for pair in texts for lines in pair):
        return [LinePiece((0, len(first)), (0, len(second)))]
    return divided


def mixed(here: list[str], there: list[str], chosen: Set[int]) -> list[str]:
    """``here`` with the chosen pieces, numbered as in ``pieces``, as they are ``there``.

    Empty when nothing but comments would be left of a text that one of the two does not have.
    """
    differences = pieces(here, there)
    if len(chosen) == len(differences):
        return list(there)
    result: list[str] = []
    at = 0
    for number, piece in enumerate(differences):
        result += here[at : piece.first[0]]
        result += there[slice(*piece.second)] if number in chosen else here[slice(*piece.first)]
        at = piece.first[1]
    result += here[at:]
    if not here or not there:
        head = [line for line in (here or there)[:1] if line.startswith("#!")]
        if not any(map(is_active, result)):
            return []
        return head + [line for line in result if line not in head]
    return result


def is_active(line: str) -> bool:
    """Whether a line says something: it is neither blank nor a comment."""
    stripped = line.strip()
    return bool(stripped) and stripped[0] not in "#;"


def first_active(lines: list[str], begin: int, end: int) -> int:
    """The number, from 1, of the first line of a range that says something; 0 when none does."""
    return next((n + 1 for n in range(begin, end) if is_active(lines[n])), 0)


def _divided(block: LinePiece, first: list[str], second: list[str]) -> Iterator[LinePiece]:
    """The pieces of a block in which all lines differ."""
    (a, b), (c, d) = block.first, block.second
    here, there = first[a:b], second[c:d]
    if not any(map(is_active, [*here, *there])):
        return
    if any(is_active(line) and _TIED.search(line) for line in [*here, *there]):
        yield block
        return
    keys = [_key(line) for line in here], [_key(line) for line in there]
    i = j = 0
    for match in [*SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks()]:
        yield from (
            LinePiece((a + k, a + k + 1), (c + j, c + j))
            for k in range(i, match.a)
            if is_active(first[a + k])
        )
        yield from (
            LinePiece((a + match.a, a + match.a), (c + k, c + k + 1))
            for k in range(j, match.b)
            if is_active(second[c + k])
        )
        yield from (
            LinePiece(
                (a + match.a + k, a + match.a + k + 1), (c + match.b + k, c + match.b + k + 1)
            )
            for k in range(match.size)
            if first[a + match.a + k] != second[c + match.b + k]
        )
        i, j = match.a + match.size, match.b + match.size


def _key(line: str) -> str:
    """What a line sets: the file that it writes, or the name before ``=``; else all of it."""
    if is_active(line):
        into, key = _INTO.search(line), _KEY.match(line)
        if into or key:
            return f"sets {into[1] if into else key[1] if key else ''}"
    return line


def _is_whole(lines: list[str]) -> bool:
    """Whether these lines close every construct that they open."""
    text = "\n".join(filter(is_active, lines))
    return len(_OPENING.findall(text)) == len(_CLOSING.findall(text))


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file of the settings: ``lines`` are None for what is no text, such as a link."""

    node: Inode
    content: str
    lines: tuple[str, ...] | None

    @property
    def summary(self) -> str:
        """What it is, in short."""
        return f"link to {self.content}" if self.node.is_link else f"file {self.content[:12]}"


class InitSettings:
    """Scripts, units, presets, sysctl, module options, udev rules, limits."""

    name = "init-settings"

    def apply(self, swap: Swap) -> list[str]:
        """Replaces each item by the source's; removes those that the source does not have."""
        ours, theirs = swap.target.need_root(), swap.source.need_root()
        there, here = settings(theirs), settings(ours)
        if not there:
            raise ImageError(
                f"{swap.source.name} has no init settings in /etc",
                "list its contents: benchvise rig compose --from IMAGE",
            )
        _refuse_other_init(swap)
        for name in here:
            ours.remove(posixpath.join("/etc", name))
        count = 0
        for name in there:
            path = posixpath.join("/etc", name)
            parent = ours.make(posixpath.dirname(path))
            items = tree(theirs, path, posixpath.join(parent, posixpath.basename(path)))
            count += graft(theirs, items, ours)
            swap.warnings += _dangling(ours, theirs, items)
        gone = [name for name in here if name not in there]
        return [f"{count} files: {', '.join(there)}", *(f"/etc/{name} removed" for name in gone)]

    def summary(self, opened: OpenedImage) -> LayerSummary:
        """All files but for comments: by path, mode and contents."""
        if opened.root is None:
            return LayerSummary("", "")
        by_path = settings_files(opened.root)
        pairs = [
            part
            for path, file in by_path.items()
            for part in (path, f"{file.node.mode:o}", "\n".join(_effective_lines(file)))
        ]
        return LayerSummary(digest(*pairs), f"{len(by_path)} files")

    def parts(self, first: OpenedImage, second: OpenedImage) -> list[LayerPart]:
        """Lines of texts, and files that are no text or that one side does not have."""
        return _differences(settings_files(first.need_root()), settings_files(second.need_root()))

    def apply_parts(self, swap: Swap, names: Sequence[str]) -> list[str]:
        """Replaces these lines and files by the source's."""
        _refuse_other_init(swap)
        return _take(swap, names)


def settings_files(root: Ext) -> dict[str, SettingsFile]:
    """All files of the init settings by path; directories are not among them."""
    nodes: dict[str, Inode] = {}
    for top in (posixpath.join("/etc", name) for name in settings(root)):
        located = root.locate(top, follow=False)
        if located is not None:
            nodes |= root.walk(top) if located[1].is_directory else {top: located[1]}
    wanted = {path: node for path, node in nodes.items() if node.is_file or node.is_link}
    texts = dict(root.contents({n.inode: n for n in wanted.values() if n.is_file}.values()))
    by_inode = {node.inode: data for node, data in texts.items()}
    return {
        path: SettingsFile(node, root.target(node), None)
        if node.is_link
        else SettingsFile(node, digest(by_inode[node.inode]), _lines(by_inode[node.inode]))
        for path, node in sorted(wanted.items())
    }


def _effective_lines(file: SettingsFile) -> list[str]:
    """The lines of a text without its comments; of all else, the digest of its contents."""
    return (
        [file.content] if file.lines is None else [line for line in file.lines if is_active(line)]
    )


def _refuse_other_init(swap: Swap) -> None:
    """ImageError when the settings of one mean nothing to the other."""
    inits = [
        side.layout.userland.init for side in (swap.target, swap.source) if side.layout.userland
    ]
    if len(inits) == 2 and inits[0].split(" ")[0] != inits[1].split(" ")[0]:
        raise ImageError(
            f"{swap.target.name} starts by {inits[0] or 'an unknown init'} and "
            f"{swap.source.name} by {inits[1] or 'an unknown init'}: the settings of one mean "
            "nothing to the other",
            "take the layer root instead",
        )


def settings(root: Ext) -> list[str]:
    """Which of them a root file system has."""
    return [name for name in SETTINGS if root.find(f"/etc/{name}", follow=False) is not None]


def _dangling(ours: Ext, theirs: Ext, items: dict[str, Inode]) -> list[str]:
    """Links of the source that meant something there and mean nothing here."""
    links = {path: node for path, node in items.items() if node.is_link}
    missing = [
        path
        for path, node in links.items()
        if ours.find(path) is None and theirs.find(path) is not None and theirs.target(node)
    ]
    if not missing:
        return []
    return [f"settings name files that this root does not have: {enumerated(missing, 5)}"]


def _differences(
    here: Mapping[str, SettingsFile], there: Mapping[str, SettingsFile]
) -> list[LayerPart]:
    """What differs between two sets of files: lines where both are text, else whole files."""
    differences: list[LayerPart] = []
    for path in sorted({*here, *there}):
        first, second = here.get(path), there.get(path)
        if first is not None and second is not None:
            if first.node.is_file and second.node.is_file and first.node.mode != second.node.mode:
                differences.append(LayerPart(f"{path}#{_MODE}", _mode(first), _mode(second), path))
            if first.content == second.content:
                continue
        differences += _inside(path, first, second)
    return differences


def _take(swap: Swap, names: Sequence[str]) -> list[str]:
    """Puts these parts of the source's settings into the target's."""
    ours, theirs = swap.target.need_root(), swap.source.need_root()
    here, there = settings_files(ours), settings_files(theirs)
    names_there = {part.name for part in _differences(here, there)}
    unknown = sorted(set(names) - names_there)
    if unknown:
        raise ImageError(
            f"the init settings of {swap.target.name} and {swap.source.name} do not differ in "
            f"'{Untrusted(unknown[0])}'",
            "name a part in which they do",
        )
    chosen: dict[str, set[str]] = {}
    for name in names:
        path, _, piece = name.partition("#")
        chosen.setdefault(path, set()).add(piece)
    done = []
    for path, wanted in sorted(chosen.items()):
        if wanted != {_MODE}:
            _put(ours, theirs, path, here.get(path), there.get(path), wanted - {_MODE})
        if _MODE in wanted:
            mode = there[path].node.mode
            ours.execute([f"sif {quoted(path)} mode 0{mode:o}"], write=True)
        done.append(f"{path}: {', '.join(sorted(wanted)) or 'whole'}")
    return done


def _put(
    ours: Ext,
    theirs: Ext,
    path: str,
    old: SettingsFile | None,
    new: SettingsFile | None,
    wanted: set[str],
) -> None:
    """Replaces one file, or some pieces of it, by the source's. Its mode and owner stay."""
    text = None  # the whole file
    if "" not in wanted:
        text = mixed(_text(old) or [], _text(new) or [], {int(piece) for piece in wanted})
    if text == [] or (text is None and new is None):
        ours.remove(path)
        return
    if text is None or old is None:
        assert new is not None  # noqa: S101 - pieces are of what one of the two has
        ours.remove(path)
        parent = ours.make(posixpath.dirname(path))
        graft(theirs, {posixpath.join(parent, posixpath.basename(path)): new.node}, ours)
    if text is not None:
        put_text(ours, path, "".join(f"{line}\n" for line in text))


def _inside(path: str, first: SettingsFile | None, second: SettingsFile | None) -> list[LayerPart]:
    """The pieces of one file that differ; one without number for the file as a whole.

    None where they differ in comments only.
    """
    here, there = _text(first), _text(second)
    if here is None or there is None or not (here or there):
        summaries = ["" if file is None else file.summary for file in (first, second)]
        return [LayerPart(path, summaries[0], summaries[1], path)]
    return [
        LayerPart(
            f"{path}#{number}",
            _active_text(here, piece.first),
            _active_text(there, piece.second),
            path,
            first_active(here, *piece.first),
            first_active(there, *piece.second),
        )
        for number, piece in enumerate(pieces(here, there))
    ]


def _text(file: SettingsFile | None) -> list[str] | None:
    """The lines of a text, none where there is no file; None for what is no text."""
    if file is None:
        return []
    return None if file.lines is None else list(file.lines)


def _mode(file: SettingsFile) -> str:
    return f"mode {file.node.mode & 0o7777:o}"


def _active_text(lines: Sequence[str], piece: tuple[int, int]) -> str:
    return "\n".join(line.strip() for line in lines[slice(*piece)] if is_active(line))


def _lines(data: bytes) -> tuple[str, ...] | None:
    """The lines of a text; None for what is none, or is too long."""
    if len(data) > _MOST_BYTES or b"\0" in data:
        return None
    return tuple(data.decode(errors="surrogateescape").removesuffix("\n").split("\n"))
