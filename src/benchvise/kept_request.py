"""What long work was asked, as one file of its directory: ``--resume`` continues it from there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchvise.documents import decode, encode
from benchvise.errors import UsageError
from benchvise.output_files import write_output

REQUEST = "request.json"

RequestT = TypeVar("RequestT")


def keep_request(directory: Path, request: object) -> None:
    """Writes a request, a dataclass that has its ``format``; OutputError where that fails."""
    text = json.dumps(encode(request), indent=1) + "\n"
    write_output(directory / REQUEST, text, "the request")


def kept_request(
    directory: Path,
    kind: type[RequestT],
    expected_format: int,
    work: str,
    amend: Callable[[dict[str, Any]], None] | None = None,
) -> RequestT:
    """The request in the directory of what is called ``work``: "diagnosis".

    ``amend`` changes a document of an older version into one of this version. UsageError where
    there is no request, or one that this version cannot read.
    """
    path = directory / REQUEST
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != expected_format:
            raise ValueError("another format")
        if amend is not None:
            amend(document)
        return decode(kind, document)
    except OSError as error:
        raise UsageError(
            f"there is no {work} to resume in {directory} ({path.name}: {error.strerror})",
            "name the directory that -o was given, or that was printed",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path} is not what this version writes", "begin anew in another directory"
        ) from error
