"""Files that the user names with ``-o``: written whole, and never put in the place of a device.

What a name leads to decides how it is written:

- a regular file, or none yet: a draft beside it, which takes its place when it is complete. An
  existing file keeps its permissions; a failure leaves it as it was, and no draft.
- a symbolic link: what it points to is written in the same way; the link stays.
- a device, a FIFO, or a descriptor of this process (``/dev/stdout``, ``/dev/fd/3``): written
  through. Renaming a file onto such a name would destroy it, as root even ``/dev/null``.
- a directory, a socket, or a place that cannot be written: refused.

Commands call a ``check_`` function before their work begins, so that nobody waits for a recording
that has no place to go.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO

from benchvise.errors import OutputError, UsageError
from benchvise.host_system import open_flags

_REMEDY = "name another file with -o"
_LINKS = 40  # as many as Linux follows


class OutputTarget:
    """What the name of an output leads to.

    ``replaced`` says whether a finished file takes its place; otherwise it is written through.
    ``scratch`` is a directory for drafts, on the same file system if the target is replaced.

    Raises:
        UsageError: it is a directory or a socket, or would be in a directory that does not exist.
        OutputError: it cannot be written.
    """

    def __init__(self, path: Path, content: str = "the file") -> None:
        self.path = path
        self._content = content
        self._mode: int | None = None
        self._owner = (-1, -1)
        self._descriptor = _own_descriptor(path)
        self.replaced = False
        self.scratch = Path(tempfile.gettempdir())
        try:
            if self._descriptor is not None:
                self._check_descriptor(self._descriptor)
                return
            status = path.stat()
        except FileNotFoundError:
            status = None
        except OSError as error:
            raise self.error(error) from error
        self._file = Path(os.path.realpath(path))
        if status is not None:
            self._check_existing(status)
        if status is None or self._is_where_it_seems(status):
            self.replaced = True
            self.scratch = self._file.parent
            self._check_parent()

    def error(self, cause: OSError | str) -> OutputError:
        """What is raised when it cannot be written."""
        reason = cause if isinstance(cause, str) else cause.strerror or str(cause)
        return OutputError(f"{self.path}: {self._content} cannot be written ({reason})", _REMEDY)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """A file to write to; the target has it when the context ends without an exception.

        OSErrors become OutputErrors, but for a reader of standard output that has gone away.
        """
        with self._errors_reported(), ExitStack() as stack:
            file: IO[bytes]
            if self.replaced:
                draft = stack.enter_context(self.draft())
                file = stack.enter_context(open(draft, "xb", opener=self._create))
            else:
                file = stack.enter_context(self._through())
            yield file

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """A path that does not exist yet, for what writes files by name.

        What lies there when the context ends without an exception becomes the target. OSErrors
        become OutputErrors.
        """
        draft = self.scratch / f".{self.path.name[:40]}.{secrets.token_hex(4)}.part"
        try:
            with self._errors_reported():
                yield draft
            self.place(draft)
        finally:
            draft.unlink(missing_ok=True)

    def place(self, draft: Path) -> None:
        """Makes a finished file in ``scratch`` the target's content; OutputError if that fails."""
        with self._errors_reported():
            if self.replaced:
                if self._mode is not None:
                    if hasattr(os, "chown"):
                        with contextlib.suppress(PermissionError):
                            os.chown(draft, *self._owner)
                    draft.chmod(self._mode)
                draft.replace(self._file)
            else:
                with self._through() as file, draft.open("rb") as source:
                    shutil.copyfileobj(source, file, 1 << 20)

    def _check_existing(self, status: os.stat_result) -> None:
        if stat.S_ISDIR(status.st_mode):
            raise UsageError(f"{self.path} is a directory", "name a file")
        if stat.S_ISSOCK(status.st_mode):
            raise UsageError(f"{self.path} is a socket", "name a file")
        if not os.access(self.path, os.W_OK):
            raise self.error("it is write-protected")
        self._mode = stat.S_IMODE(status.st_mode) & 0o777
        self._owner = (status.st_uid, status.st_gid)

    def _is_where_it_seems(self, status: os.stat_result) -> bool:
        """Whether it is a regular file under the name that its links lead to.

        An open file that was deleted has a link in ``/proc`` which leads nowhere.
        """
        try:
            return stat.S_ISREG(status.st_mode) and os.path.samestat(status, self._file.stat())
        except OSError:
            return False

    def _check_parent(self) -> None:
        parent = self._file.parent
        if not parent.is_dir():
            raise UsageError(
                f"{self.path}: {self._content} cannot be written ({parent} is no directory)",
                f"make it (`mkdir -p {parent}`), or {_REMEDY}",
            )
        if not os.access(parent, os.W_OK | os.X_OK):
            raise self.error(f"no permission to write in {parent}")

    def _check_descriptor(self, descriptor: int) -> None:
        import fcntl  # Windows has none, and no such names

        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise self.error("it is open for reading only")

    def _create(self, name: str, flags: int) -> int:
        return os.open(name, flags, 0o666 if self._mode is None else self._mode)

    def _through(self) -> IO[bytes]:
        if self._descriptor is not None:
            # What was printed until now comes first. Opening the name would truncate a file.
            sys.stdout.flush()
            return os.fdopen(os.dup(self._descriptor), "wb")
        flags = os.O_WRONLY | open_flags("O_NOCTTY", "O_CLOEXEC")
        return os.fdopen(os.open(self.path, flags), "wb")

    @contextmanager
    def _errors_reported(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError as error:
            if self._descriptor is not None:
                raise  # as for everything that is printed
            raise self.error(error) from error
        except OSError as error:
            raise self.error(error) from error


def check_output_file(path: Path, content: str = "the file") -> None:
    """Refuses a name that no file can be written to; raises what ``OutputTarget`` raises.

    ``content`` says in errors what cannot be written: "the trace".
    """
    OutputTarget(path, content)


def open_output(path: Path, content: str = "the file") -> AbstractContextManager[IO[bytes]]:
    """A binary file to write to, as ``OutputTarget.open`` gives it."""
    return OutputTarget(path, content).open()


def draft_output(path: Path, content: str = "the file") -> AbstractContextManager[Path]:
    """The path of a draft to be made, as ``OutputTarget.draft`` gives it."""
    return OutputTarget(path, content).draft()


def write_output(path: Path, data: bytes | str, content: str = "the file") -> None:
    """Writes a whole file, text as UTF-8; raises what ``OutputTarget`` raises."""
    with open_output(path, content) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def check_output_directory(path: Path, content: str = "the files") -> None:
    """Refuses a directory that files cannot be written into; one that is missing can be made.

    Raises:
        OutputError: it is no directory, or cannot be written or made.
    """
    existing = path.absolute()
    while not os.path.lexists(existing):
        existing = existing.parent
    if not existing.is_dir():
        reason = f"{existing} is no directory"
    elif not os.access(existing, os.W_OK | os.X_OK):
        reason = f"no permission to write in {existing}"
    else:
        return
    raise _directory_error(path, content, reason)


@contextmanager
def output_directory(path: Path, content: str = "the files") -> Iterator[None]:
    """Makes a directory to write files into; OSErrors of the body become OutputErrors."""
    check_output_directory(path, content)
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise _directory_error(path, content, error.strerror or str(error)) from error


def check_new_directory(path: Path, content: str = "the directory") -> None:
    """Refuses a name under which no directory can be made.

    Raises:
        UsageError: there is something of that name, or no directory to put it in.
        OutputError: it cannot be written there.
    """
    if os.path.lexists(path):
        raise UsageError(f"{path} is there already", "name a directory that is not")
    OutputTarget(path, content)


@contextmanager
def new_directory(path: Path, content: str = "the directory") -> Iterator[Path]:
    """A directory to fill, which gets its name when the context ends without an exception.

    Raises what ``check_new_directory`` raises, and OutputError for OSErrors of the body.
    """
    check_new_directory(path, content)
    draft = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        draft.mkdir()
        yield draft
        draft.rename(path)
    except OSError as error:
        raise _directory_error(path, content, error.strerror or str(error)) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _directory_error(path: Path, content: str, reason: str) -> OutputError:
    return OutputError(
        f"{path}: {content} cannot be written ({reason})", "choose another directory with -o"
    )


def _own_descriptor(path: Path) -> int | None:
    """The open file of this process that a name such as ``/dev/stdout`` stands for."""
    own = f"/proc/{os.getpid()}/fd"
    for _ in range(_LINKS):
        if path.name.isdecimal() and os.path.realpath(path.parent) == own:
            return int(path.name)
        try:
            path = path.parent / path.readlink()
        except OSError:
            return None
    return None
