"""A trace for another viewer, made by ``benchvise trace export`` in a process of its own.

The server never decodes a trace. What that process writes lies in a directory of its own until the
browser has it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from benchvise.errors import TraceError
from benchvise.web.context import context
from benchvise.web.http import Busy

_SECONDS = 600.0
_EXPORTING = asyncio.Semaphore(1)
_PROGRAM = "from benchvise.cli.main import entry; entry()"
_SAID_LIMIT = 400


async def _perfetto(request: Request) -> Response:
    """``perfetto``: all events of the trace in Perfetto's format, as a download."""
    file = await run_in_threadpool(context(request).traces.find, request.path_params["key"])
    if _EXPORTING.locked():
        raise Busy("another trace is being exported", "try again in a moment")
    async with _EXPORTING:
        directory = Path(tempfile.mkdtemp(prefix="benchvise-export-"))
        try:
            output = directory / "trace.perfetto-trace"
            await _export(file.path, output)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
    return FileResponse(
        output,
        media_type="application/octet-stream",
        filename=f"{file.name}.perfetto-trace",
        headers={"Cache-Control": "no-store"},
        background=BackgroundTask(shutil.rmtree, directory, ignore_errors=True),
    )


async def _export(trace: Path, output: Path) -> None:
    """Raises TraceError with what the process said, or when it takes too long."""
    words = ["trace", "export", str(trace.absolute()), "--to", "perfetto", "-o", str(output)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _PROGRAM, *words, "--json"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), _SECONDS)
    except TimeoutError:
        raise TraceError(
            f"{trace.name}: the export took more than {_SECONDS:.0f} s",
            "use `benchvise trace export` on the command line",
        ) from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        raise TraceError(f"{trace.name} cannot be exported: {_cause(out, err)}")


def _cause(out: bytes, err: bytes) -> str:
    """What the process said of the fault."""
    for stream in (out, err):
        with suppress(ValueError, KeyError, TypeError):
            return str(json.loads(stream)["error"]["message"])[:_SAID_LIMIT]
    lines = err.decode("utf-8", "replace").strip().splitlines()
    return (lines[-1] if lines else "it ended without a word")[:_SAID_LIMIT]


routes = [Route("/api/traces/{key}/perfetto", _perfetto)]
