"""``benchvise schema``: the JSON Schema of what ``--json`` prints."""

from __future__ import annotations

import difflib
import json
import sys
from typing import Annotated

import typer

from benchvise.cli.output import JsonOption, print_json
from benchvise.errors import UsageError


def schema(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[KIND]", help="The `kind` of a document; all are listed without."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the JSON Schema of a kind of `--json` document, or list the kinds.

    A schema is JSON with --json and without.

    Example: benchvise schema comparison > comparison.schema.json
    """
    from benchvise.cli.json_kinds import document_schema, installed_kinds  # imports nearly all

    kinds, missing = installed_kinds()
    install = f"pip install 'benchvise[{','.join(missing)}]'"
    if kind is None:
        if as_json:
            print_json("schemas", sorted(kinds))
        else:
            print("\n".join(sorted(kinds)))
        if missing:
            print(
                f"Kinds of extras that are not installed are left out: {install}", file=sys.stderr
            )
        return
    if kind not in kinds:
        near = difflib.get_close_matches(kind, kinds, n=3)
        remedy = f"did you mean {' or '.join(near)}?" if near else "`benchvise schema` lists them"
        if missing:
            remedy += f"; kinds of extras are not installed: {install}"
        raise UsageError(f"there is no kind {kind!r}", remedy)
    print(json.dumps(document_schema(kind, kinds[kind]), indent=2))
