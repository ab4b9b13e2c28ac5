"""``benchvise knobs``: the settings of a board that can be changed, and what each one costs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from benchvise.board import open_board
from benchvise.board.channel import open_channel
from benchvise.cli.output import JsonOption, print_json, stdout, text_line
from benchvise.names import search
from benchvise.state.catalogue import knobs
from benchvise.state.knob_names import aliases_of, knob_entries
from benchvise.state.knobs import find_knob
from benchvise.state.model import Item, Knob
from benchvise.state.places import survey
from benchvise.state.roles import find_roles
from benchvise.text import Untrusted, counted

_LARGEST = next(field.default for field in fields(Knob) if field.name == "maximum")

BoardOption = Annotated[
    str | None,
    typer.Option(
        "--board",
        metavar="BOARD",
        help="Read the present values on this board: local, HOST, USER@HOST, rig:NAME.",
    ),
]


@dataclass(frozen=True, slots=True)
class KnobValue:
    """A file of a setting on a board; ``value`` is None where it cannot be read, for ``reason``."""

    path: str
    value: Untrusted | None
    reason: str
    choices: tuple[Untrusted, ...]
    """Values that the board offers, where it lists them."""


@dataclass(frozen=True, slots=True)
class KnobDocument:
    """What ``--json`` prints of a setting."""

    name: str
    summary: str
    path: str
    values: str
    """The values that it takes, in words."""
    risky: bool
    aliases: tuple[str, ...]
    board: str
    """The board that was read; empty when none was."""
    present: tuple[KnobValue, ...]


_ROOM_FOR_VALUES = 100
"""Columns of a terminal below which a list has no room for values: one setting shows its own."""
_ROOM_FOR_NAMES = 76
"""Those below which names are broken, or nothing were left for what a setting does."""


def list_knobs(
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEXT]",
            help="Those that this may mean: thp, swappiness, a file of the kernel, words.",
        ),
    ] = None,
    board: BoardOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the settings that `run --set` changes and `why` tries.

    Example: benchvise knobs list swappiness --board local
    """
    names = (
        [entry.name for entry in search(query, knob_entries(), limit=50)]
        if query
        else sorted(knobs())
    )
    pairs = [knobs()[name] for name in names]
    present = _present_values([knob for _, knob in pairs], board)
    if as_json:
        print_json(
            "knobs", [_document(item, knob, board, present.get(knob.name)) for item, knob in pairs]
        )
        return
    if not pairs:
        stdout().print(text_line(f"No setting is called '{query}'. All: benchvise knobs"))
        return
    console = stdout()
    with_values = bool(board) or console.width >= _ROOM_FOR_VALUES
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("setting", no_wrap=console.width >= _ROOM_FOR_NAMES, overflow="fold")
    if with_values:
        table.add_column("on the board" if board else "values", overflow="fold", max_width=30)
    table.add_column("what it sets", overflow="fold")
    for _, knob in pairs:
        values = _short_values(present.get(knob.name, ())) if board else _kinds_of_value(knob)
        cells = [Text(knob.name), text_line(values), Text(knob.summary)]
        table.add_row(*(cells if with_values else cells[::2]))
    console.print(table)
    more = f"\n{counted(len(pairs), 'setting')}. More on one: benchvise knobs show NAME"
    console.print(more, style="dim")


def show_knob(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="memory.thp, or another name of it: thp, transparent_hugepage, its file.",
        ),
    ],
    board: BoardOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a setting: path, values, effects, and its value on a board.

    Example: benchvise knobs show memory.thp --board local
    """
    knob = find_knob(name)
    item, _ = knobs()[knob.name]
    present = _present_values([knob], board).get(knob.name)
    document = _document(item, knob, board, present)
    if as_json:
        print_json("knob", document)
        return
    from benchvise.why.cards import load_cards  # late: only people read them

    console = stdout()
    console.print(Text(knob.name, style="bold"), Text(f"— {knob.summary}"))
    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    rows = [
        ("file", knob.path),
        ("values", document.values),
        ("also called", ", ".join(a for a in document.aliases if not a.startswith("/"))),
        ("risk", "the board may stop answering" if knob.risky else ""),
        ("set at boot by", ", ".join(item.places)),
        ("restored by", item.restore),
    ]
    if board:
        rows.insert(0, (board, "\n".join(_value_line(value) for value in document.present)))
    for label, text in rows:
        if text:
            grid.add_row(text_line(label), Text(text))
    console.print(grid)
    for card in load_cards():
        if knob.name in card.knobs:
            console.print(Text(f"\nEffect: {card.title}", style="bold"))
            metrics = ", ".join(card.metrics)
            console.print(Text(f"On {metrics}." if metrics else "On any benchmark."))
            if card.cost:
                console.print(Text(f"Cost: {card.cost}"))
    console.print()
    console.print(text_line(_try_it(knob, present), style="dim"), soft_wrap=True)


def _present_values(chosen: list[Knob], board: str | None) -> dict[str, tuple[KnobValue, ...]]:
    """The values on a board by knob; empty without a board. Raises what reaching it raises."""
    if not board:
        return {}
    with open_board(board) as reached, open_channel(reached) as channel:
        places = survey(channel, chosen, find_roles(channel).roles)
    values: dict[str, tuple[KnobValue, ...]] = {}
    for path, place in places.items():
        value = None if place.value is None else Untrusted(place.value)
        reason = "" if place.value is not None else place.value_text
        choices = tuple(map(Untrusted, place.choices))
        name = place.knob.name
        values[name] = (*values.get(name, ()), KnobValue(path, value, reason, choices))
    return values


def _document(
    item: Item, knob: Knob, board: str | None, present: tuple[KnobValue, ...] | None
) -> KnobDocument:
    return KnobDocument(
        knob.name,
        knob.summary,
        knob.path,
        _values(knob),
        knob.risky,
        aliases_of(item, knob),
        board or "",
        present or (),
    )


def _kinds_of_value(knob: Knob) -> str:
    """Its values, without the pattern of a text, which is for who has to write one."""
    return "text" if knob.kind == "text" else _values(knob)


def _values(knob: Knob) -> str:
    if knob.kind == "integer":
        if knob.maximum == _LARGEST:
            return f"{knob.minimum} or more"
        return f"{knob.minimum} to {knob.maximum}"
    if knob.kind == "text":
        return f"text: {knob.pattern}"
    return ", ".join(knob.choices) or "those that the board lists"


def _value_line(value: KnobValue) -> str:
    if value.value is None:
        return f"{value.path} {value.reason}"
    others = [f"{choice:40}" for choice in value.choices]
    offered = f"  (of {', '.join(others)})" if others else ""
    return f"{value.path}: {value.value:60}{offered}"


def _short_values(values: tuple[KnobValue, ...]) -> str:
    """One value where all files of the setting agree, else how many there are."""
    texts = list(dict.fromkeys(v.reason if v.value is None else f"{v.value:60}" for v in values))
    if not texts:
        return "not on this board"
    return texts[0] if len(texts) == 1 else f"{texts[0]} and {len(texts) - 1} more"


def _try_it(knob: Knob, present: tuple[KnobValue, ...] | None) -> str:
    choices = knob.choices or tuple(f"{c:40}" for value in present or () for c in value.choices)
    if knob.is_family:
        return "Each of its files is a setting of its own: `benchvise why` tries those that differ."
    values = "+".join(dict.fromkeys(choices[:2])) or ("each" if knob.kind == "choice" else "A+B")
    return f"Try it: benchvise run --set {knob.name}={values} --suite quick"
