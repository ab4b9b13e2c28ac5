"""Single files and lines of the init settings."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchvise.rig.compose.layers.layer import LayerPart, Swap, digest
from benchvise.rig.compose.layers.lines import first_active, is_active, mixed, pieces
from benchvise.rig.images import ImageError
from benchvise.rig.images.debugfs import quoted
from benchvise.rig.images.ext import Ext, Inode
from benchvise.rig.images.graft import graft
from benchvise.text import printable

_MOST_BYTES = 256 << 10
"""Larger files are no settings that somebody wrote line by line."""

_MODE = "mode"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file of the settings: ``lines`` are None for what is no text, such as a link."""

    node: Inode
    content: str
    lines: tuple[str, ...] | None

    @property
    def summary(self) -> str:
        """What it is, in a word."""
        return f"link to {self.content}" if self.node.is_link else f"file {self.content[:12]}"


def files(root: Ext, tops: Sequence[str]) -> dict[str, SettingsFile]:
    """All files below these, by path; directories are not among them."""
    nodes: dict[str, Inode] = {}
    for top in tops:
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


def parts(here: Mapping[str, SettingsFile], there: Mapping[str, SettingsFile]) -> list[LayerPart]:
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


def apply_parts(
    swap: Swap, names: Sequence[str], settings: Callable[[Ext], Mapping[str, SettingsFile]]
) -> list[str]:
    """Puts these parts of the source's settings into the target's."""
    ours, theirs = swap.target.need_root(), swap.source.need_root()
    here, there = settings(ours), settings(theirs)
    names_there = {part.name for part in parts(here, there)}
    unknown = sorted(set(names) - names_there)
    if unknown:
        raise ImageError(
            f"the init settings of {swap.target.name} and {swap.source.name} do not differ in "
            f"'{printable(unknown[0], 200)}'",
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
    """One file becomes the source's, in all or in some pieces. Its mode and owner stay its own."""
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
        ours.put(path, "".join(f"{line}\n" for line in text).encode(errors="surrogateescape"))


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
