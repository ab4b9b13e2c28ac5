"""Results that leave the machine: ``export`` and ``import``, one file; ``site``, pages for all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchvise.cli.output import JsonOption, StoreOption, print_json, stderr, stdout, text_line
from benchvise.errors import UsageError
from benchvise.text import counted, enumerated

if TYPE_CHECKING:
    from benchvise.store.redaction import Redacted


def export_runs(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Runs: ids, labels, or @ for the newest.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")
    ] = Path("results.bvz"),
    attachments: Annotated[
        bool,
        typer.Option("--attachments", help="With files that are kept with the runs: consoles."),
    ] = False,
    private: Annotated[
        bool,
        typer.Option(
            "--private", help="Keep host names, addresses, serial numbers and user names."
        ),
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write runs to one file: samples, snapshots, notes, without what is private.

    Host names, user names, MAC and IP addresses, UUIDs and serial numbers are replaced by names
    that mean nothing, the same one by the same; what was replaced is listed. What a note or a label
    says is yours to look at.

    Example: benchvise export before after -o results.bvz
    """
    from benchvise.output_files import check_output_file, open_output
    from benchvise.store import Store
    from benchvise.store.results_file import ExportedResults, write_results

    check_output_file(output, "the results")
    with Store.open(store) as results:
        ids = dict.fromkeys(results.resolve(reference) for reference in runs)
        travelling = [results.travelling(run, attachments=attachments) for run in ids]
    with open_output(output, "the results") as file:
        redacted = write_results(file, travelling, private=private)
    if as_json:
        print_json("export", ExportedResults(str(output), tuple(ids), redacted))
        return
    stdout().print(text_line(f"{counted(len(ids), 'run')} in {output}"), soft_wrap=True)
    stdout().print(text_line(_redacted_line(redacted, private=private)), soft_wrap=True)


def _redacted_line(redacted: tuple[Redacted, ...], *, private: bool) -> str:
    if private:
        return "nothing was redacted: there are host names, addresses and serial numbers"
    kinds = [
        f"{part.kind} ({part.different}, in {counted(part.places, 'place')})" for part in redacted
    ]
    return f"redacted: {enumerated(kinds, 10) or 'nothing private was found'}"


def import_runs(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `benchvise export`.")],
    board: Annotated[
        str | None,
        typer.Option(
            "--board",
            metavar="NAME",
            help="Call the board so, as `local` of another machine is not this one.",
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read runs from a file into the store, with their ids, times, tags and notes.

    Runs that the store has already stay as they are. A file that is damaged, too large or of
    another format is refused as a whole.

    Example: benchvise import results.bvz
    """
    from benchvise.store import Store
    from benchvise.store.results_file import ImportedResults, read_results

    if file.exists() and not file.is_file():  # a device, or a pipe, has no end that could be sought
        raise UsageError(f"{file} is no regular file", "save it as one first")
    try:
        with file.open("rb") as stream:
            content = read_results(stream, str(file))
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read ({error.strerror})", "check its name and permissions"
        ) from error
    runs = [
        record if board is None else replace(record, run=replace(record.run, board=board))
        for record in content.runs
    ]
    with Store.open(store) as results:
        new = results.take_in(runs)
    present = tuple(record.run.id for record in runs if record.run.id not in new)
    if as_json:
        print_json(
            "import",
            ImportedResults(str(file), content.version, tuple(new), present, content.redacted),
        )
        return
    for record in runs:
        word = "imported" if record.run.id in new else "already here"
        line = f"{word}: {record.run.id} {record.run.label} on {record.run.board}"
        stdout().print(text_line(line), soft_wrap=True)


def site(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STORE|FILE]...",
            help="Stores, and files of `benchvise export`; without any, your own store.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the pages are written.")
    ] = Path("benchvise-site"),
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="The heading of the first page.")
    ] = "Boards",
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="TAG", help="Only runs that have this tag.")
    ] = None,
    private: Annotated[
        bool,
        typer.Option(
            "--private", help="Keep host names, addresses, serial numbers and user names."
        ),
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a static site of many boards: all metrics, ranks, a page each, comparison of any two.

    Of each board and suite the newest complete run is shown. The pages work from a disk and from
    any web server. What is private is replaced as in `benchvise export`.

    Example: benchvise site lab.db results.bvz -o site
    """
    from benchvise.flows.site import write_site

    def progress(number: int, count: int, board: str) -> None:
        if count >= _MANY_BOARDS and number % _MANY_BOARDS == 0:
            stderr().print(text_line(f"{number} of {count} boards: {board}"), soft_wrap=True)

    written = write_site(
        sources or [], store, output, title=title, tag=tag, private=private, each=progress
    )
    if as_json:
        print_json("site", written)
        return
    parts = (
        counted(written.boards, "board"),
        counted(written.metrics, "metric"),
        counted(written.runs, "run"),
    )
    stdout().print(text_line(f"{written.page}: {', '.join(parts)}"), soft_wrap=True)
    stdout().print(text_line(_redacted_line(written.redacted, private=private)), soft_wrap=True)


_MANY_BOARDS = 25
