"""Single files and lines of the init settings."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchvise.rig.compose.layers.layer import LayerPart, Swap, digest
from benchvise.rig.compose.layers.lines import first_active, is_active, mixed, pieces
from benchvise.rig.images import ImageError
from benchvise.rig.images.debugfs import quoted
from benchvise.rig.images.ext import Ext, Node
from benchvise.rig.images.graft import graft
from benchvise.text import printable

_MOST_BYTES = 256 << 10
"""Larger files are no settings that somebody wrote line by line."""

_MODE = "mode"


@dataclass(frozen=True, slots=True)
class File:
    """A file of the settings: ``lines`` are None for what is no text, such as a link."""

    node: Node
    content: str
    lines: tuple[str, ...] | None

    @property
    def shown(self) -> str:
        """What it is, in a word."""
        return f"link to {self.content}" if self.node.is_link else f"file {self.content[:12]}"


def files(root: Ext, tops: Sequence[str]) -> dict[str, File]:
    """All files below these, by path; directories are not among them."""
    nodes: dict[str, Node] = {}
    for top in tops:
        located = root.locate(top, follow=False)
        if located is not None:
            nodes |= root.walk(top) if located[1].is_directory else {top: located[1]}
    wanted = {path: node for path, node in nodes.items() if node.is_file or node.is_link}
    texts = dict(root.contents({n.inode: n for n in wanted.values() if n.is_file}.values()))
    by_inode = {node.inode: data for node, data in texts.items()}
    return {
        path: File(node, root.target(node), None)
        if node.is_link
        else File(node, digest(by_inode[node.inode]), _lines(by_inode[node.inode]))
        for path, node in sorted(wanted.items())
    }


def parts(here: Mapping[str, File], there: Mapping[str, File]) -> list[LayerPart]:
    """What differs between two sets of files: lines where both are text, else whole files."""
    found: list[LayerPart] = []
    for path in sorted({*here, *there}):
        one, other = here.get(path), there.get(path)
        if one is not None and other is not None:
            if one.node.is_file and other.node.is_file and one.node.mode != other.node.mode:
                found.append(LayerPart(f"{path}#{_MODE}", _mode(one), _mode(other), path))
            if one.content == other.content:
                continue
        found += _inside(path, one, other)
    return found


def apply_parts(
    swap: Swap, names: Sequence[str], settings: Callable[[Ext], Mapping[str, File]]
) -> list[str]:
    """Puts these parts of the source's settings into the target's."""
    ours, theirs = swap.target.need_root(), swap.source.need_root()
    here, there = settings(ours), settings(theirs)
    known = {part.name for part in parts(here, there)}
    unknown = sorted(set(names) - known)
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
    ours: Ext, theirs: Ext, path: str, old: File | None, new: File | None, wanted: set[str]
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


def _inside(path: str, one: File | None, other: File | None) -> list[LayerPart]:
    """The pieces of one file that differ; one without number for the file as a whole.

    None where they differ in comments only.
    """
    here, there = _text(one), _text(other)
    if here is None or there is None or not (here or there):
        shown = ["" if file is None else file.shown for file in (one, other)]
        return [LayerPart(path, shown[0], shown[1], path)]
    return [
        LayerPart(
            f"{path}#{number}",
            _shown(here, piece.one),
            _shown(there, piece.other),
            path,
            first_active(here, *piece.one),
            first_active(there, *piece.other),
        )
        for number, piece in enumerate(pieces(here, there))
    ]


def _text(file: File | None) -> list[str] | None:
    """The lines of a text, none where there is no file; None for what is no text."""
    if file is None:
        return []
    return None if file.lines is None else list(file.lines)


def _mode(file: File) -> str:
    return f"mode {file.node.mode & 0o7777:o}"


def _shown(lines: Sequence[str], piece: tuple[int, int]) -> str:
    return "\n".join(line.strip() for line in lines[slice(*piece)] if is_active(line))


def _lines(data: bytes) -> tuple[str, ...] | None:
    """The lines of a text; None for what is none, or is too long."""
    if len(data) > _MOST_BYTES or b"\0" in data:
        return None
    return tuple(data.decode(errors="surrogateescape").removesuffix("\n").split("\n"))
