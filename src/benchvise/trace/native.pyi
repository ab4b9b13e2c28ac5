"""The trace decoder, written in Rust (crates/tracefile-py); ``make install`` builds it.

Times are nanoseconds of the trace's clock.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from os import PathLike
from typing import Any, Literal, TypedDict, final

import numpy as np
import numpy.typing as npt

VERSION: str
"""A hash of the decoder's sources: what another version has cached is not this one's."""

ANALYSED_COLUMNS: list[str]
"""The columns that any analysis reads; the others of an event table may be left out."""

SCHEDULING: list[str]
"""The names of the tables that ``Decoded.scheduling`` gives."""

SYSCALLS: list[str]
"""Those of ``Decoded.syscalls``."""

DEVICES: list[str]
"""Those of ``Decoded.devices``."""

LEVEL_STATES: list[str]
"""The names of the numbers that the column ``state`` of ``Levels.items`` has."""

class LostEvents(TypedDict):
    """Events that are missing from a stream in a span of time; None where it is not known."""

    stream: int
    kind: Literal["events", "packets"]
    begin: int | None
    end: int | None
    count: int | None

class DamagedPlace(TypedDict):
    """A place of a file that could not be decoded."""

    file: str
    offset: int
    stream: int | None
    what: str

def bound_memory(directory: str, limit: int) -> None:
    """From now on, puts large pieces of memory out to a file in ``directory`` where this process
    takes more than ``limit`` bytes. OSError where none can be made, or that is memory itself."""

@final
class Column:
    """A column of a table."""

    kind: Literal["integer", "fraction", "boolean", "text", "bytes", "list", "record", "other"]
    null_count: int

    @staticmethod
    def of_integers(values: list[int | None]) -> Column:
        """Whole numbers of 64 bits; None is a null."""
    def __len__(self) -> int: ...
    def __getitem__(self, row: int) -> Any:
        """A value as Python has it; None for a null. IndexError beyond the rows."""
    def to_pylist(self) -> list[Any]:
        """All values as Python has them."""
    def integers(self) -> npt.NDArray[np.int64]:
        """Whole numbers or truths, not copied where they lie so; a null is the least int64.

        Numbers of 64 bits without a sign keep their bits; a null of them is 0.

        Raises:
            TypeError: the column has others.
        """
    def values(self) -> npt.NDArray[Any]:
        """Numbers in their own type, not copied where they are in one piece without nulls; a null
        is NaN, of whole numbers 0.

        Raises:
            TypeError: the column has no numbers.
        """
    def is_valid(self) -> npt.NDArray[np.bool_]:
        """Which rows are no nulls."""
    def texts(self) -> tuple[npt.NDArray[np.int64], list[str]]:
        """Texts as codes, and the text of each code; a null is ``""``.

        Raises:
            TypeError: the column has no texts.
        """
    def lists(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """How many values each list has, none for a null, and all values as ``integers``.

        Raises:
            TypeError: the column has no lists of whole numbers.
        """
    def counts(self) -> dict[int | None, int]:
        """How often each whole number occurs; None: nulls.

        Raises:
            TypeError: the column has others.
        """

@final
class Table:
    """Columns of the same length. Whoever knows Arrow's PyCapsule interface takes it without a
    copy: ``pyarrow.table(table)``, ``polars.DataFrame(table)``, DuckDB."""

    num_rows: int
    column_names: list[str]
    metadata: dict[str, str]
    nbytes: int
    """Bytes of all columns."""

    def __new__(cls, columns: dict[str, Any], metadata: dict[str, str] | None = None) -> Table:
        """Of arrays of NumPy, lists of texts and columns of other tables.

        Raises:
            TypeError: one is none of these.
            ValueError: they are not of one length.
        """
    @staticmethod
    def from_arrow(table: Any) -> Table:
        """Of what has Arrow's PyCapsule interface for streams, without a copy."""
    @staticmethod
    def from_stream(data: bytes) -> Table:
        """Of what ``stream`` gave. ValueError for other bytes."""
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> Column: ...
    def column(self, name: str) -> Column:
        """A column. KeyError where there is none of the name."""
    def to_pylist(self) -> list[dict[str, Any]]:
        """A dictionary a row."""
    def select(self, names: list[str]) -> Table:
        """Some columns, not copied."""
    def take(self, rows: npt.NDArray[np.int64]) -> Table:
        """Rows by their places. IndexError for one that there is not."""
    def filter(self, kept: npt.NDArray[np.bool_]) -> Table:
        """Some rows."""
    def with_metadata(self, metadata: dict[str, str]) -> Table:
        """The same with texts about it, which go along in ``stream``."""
    def stream(self) -> bytes:
        """As an Arrow IPC stream."""
    def write(self, path: str | PathLike[str], in_one_piece: bool) -> None:
        """As an Arrow IPC file for ``KeptTable``. OSError where that cannot be written."""

@final
class KeptTable:
    """A file that ``Table.write`` wrote, mapped."""

    def __new__(cls, path: str | PathLike[str], size: int, changed: int) -> KeptTable:
        """Of that many bytes, last changed then (ns).

        Raises:
            OSError: it cannot be mapped.
            ValueError: it is not as it was written.
        """
    def table(self) -> Table:
        """What is in it, not copied. ValueError where it is none."""

def read_numbers(
    path: str | PathLike[str], first_line: int, separator: str, decimal_point: str, width: int
) -> list[npt.NDArray[np.float64]]:
    """The columns of a file of rows of numbers, from a line on; NaN for a cell without a value,
    which is empty or says so: ``NA``, ``null``.

    Raises:
        OSError: it cannot be read.
        ValueError: a line has other columns, or what is no number.
    """

def chrome_spans(labels: list[str], columns: Sequence[npt.NDArray[np.int64]]) -> bytes:
    """Spans as Chrome's JSON, each behind a comma. ``labels`` are JSON, by actor; columns: actor,
    process, thread, begin, length and execution in nanoseconds.

    Raises:
        ValueError: columns do not fit to each other.
    """

def sort_groups(
    values: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The values of each group in ascending order, on all CPUs.

    ``starts`` says where each group begins, from 0 on, and where the last one ends, which is the
    end of the values.

    Raises:
        ValueError: it does not.
    """

class TraceError(Exception):
    """A trace, or what was asked of it, cannot be had. One subclass for each kind."""

class Unreadable(TraceError):
    """The file system says no."""

class NotATrace(TraceError):
    """Not a trace of any known format."""

class Unsupported(TraceError):
    """A trace that uses what the decoder does not know."""

class Damaged(TraceError):
    """The description of the trace is damaged: nothing can be decoded."""

class UnknownName(TraceError):
    """An event or a field that the trace does not have."""

class TooMuch(TraceError):
    """More than one result can hold: fewer events are to be chosen."""

@final
class Decoded:
    """What decoding gives."""

    @staticmethod
    def kept(
        trace: Trace,
        tables: Mapping[str, Table],
        index: Table,
        losses: Sequence[LostEvents],
        span: tuple[int, int] | None,
    ) -> Decoded:
        """The same from what was kept of it: the tables of those types that occurred."""
    @property
    def counts(self) -> dict[str, int]:
        """By event name how many there are; also of those that never occurred."""
    def table(self, name: str) -> Table:
        """The events of a name: ``time`` int64, ``cpu`` uint16, then the chosen fields.

        Rows are by stream, and in order of time within each.

        Raises:
            KeyError: there is no such event among those that were chosen.
        """
    @property
    def index(self) -> Table:
        """All chosen events in order of time: ``time``, ``cpu``, ``event``, ``row``.

        ``event`` is the place in the description's list of events, ``row`` that in its table;
        ``cpu`` is 65535 where it is not known.
        """
    @property
    def losses(self) -> list[LostEvents]:
        """What is missing, in order of streams."""
    @property
    def damage(self) -> list[DamagedPlace]:
        """What could not be decoded."""
    @property
    def notes(self) -> list[str]:
        """Remarks: repaired faults of producers, guesses that were made."""
    @property
    def events(self) -> int:
        """All events that were seen, chosen or not."""
    @property
    def span(self) -> tuple[int, int] | None:
        """Times of the first and last of them."""
    def texts(self, rows: Sequence[tuple[int, int]]) -> list[str]:
        """The fields of events as texts, by the kernel's print formats; given as (type, row).

        Raises:
            ValueError: there is no such event.
        """
    def scheduling(self) -> dict[str, Table]:
        """What they say of who ran when: actors, instances, fragments, waits.

        The columns of each table are described in ``crates/traceanalysis/src/output.rs``.
        """
    def usage(self) -> dict[str, Table] | None:
        """The same added up over the whole trace: ``actors``, and ``usage`` by actor and CPU.

        None where losses tell of times outside of the trace: then the tables have to be asked.
        """
    def syscalls(self, actors: Table, fragments: Table) -> dict[str, Table]:
        """The system calls of those who ran by two tables of ``scheduling``.

        Raises:
            ValueError: these are not such tables.
        """
    def devices(self) -> dict[str, Table]:
        """What block devices and timers did."""
    def export_perfetto(self, actors: Table, path: str | PathLike[str]) -> tuple[int, int, int]:
        """Writes them as Perfetto's protobuf; ``actors`` is the table of ``scheduling``.

        Returns how many were written, how many of these as generic events, and how many were
        left out because their CPU is not known.

        Raises:
            OSError: the file cannot be written.
        """

@final
class Counted:
    """What counting gives; ``losses`` and the others are those of ``Decoded``."""

    counts: dict[str, int]
    """By the names of events that occurred."""
    cpus: dict[int | None, int]
    """By CPU, of those that have any; None: not known."""
    losses: list[LostEvents]
    damage: list[DamagedPlace]
    notes: list[str]
    events: int
    span: tuple[int, int] | None

@final
class Trace:
    """A trace that has been opened; its events are not decoded yet."""

    def info(self) -> str:
        """Its description as a JSON object: format, clock, streams, event types, ...

        ``crates/tracefile/src/describe.rs`` writes it.
        """
    def outline(self) -> str:
        """The same without what is large in it: ``events`` are names, ``streams`` CPUs."""
    def span(self) -> tuple[int, int] | None:
        """Times of the first and the last event, without decoding what lies between."""
    def symbol(self, address: int) -> str | None:
        """The name of what is at a kernel address, with ``+0x…`` when it begins before."""
    def decode_for(self, part: Literal["scheduling", "usage", "syscalls", "devices"]) -> Decoded:
        """Decodes what those analyses read, with the index.

        For ``usage``, events that change nothing about who runs are only counted, where they tell
        no thread: what is decoded has no tables of them, and is for ``Decoded.usage`` alone.

        Raises:
            TooMuch: a table is larger than its indices can say.
        """
    def count(self) -> Counted:
        """Counts all events; memory does not grow with the trace.

        Raises:
            TooMuch: it describes more event types than can be told apart.
        """
    def decode(
        self, events: Mapping[str, Sequence[str] | None] | None = None, index: bool = True
    ) -> Decoded:
        """Decodes all events, or those named with all their fields (None) or some.

        What the trace does not have is passed over. On all CPUs; other threads go on meanwhile.

        Raises:
            TooMuch: a table is larger than its indices can say.
        """
    def stream(
        self,
        events: Mapping[str, Sequence[str] | None] | None,
        wave_bytes: int,
        sink: Callable[[str, Table], Any],
    ) -> Decoded:
        """Decodes about ``wave_bytes`` of the file at a time and gives each batch to ``sink``.

        Returns what ``decode`` would, with empty tables and no index. An exception of ``sink``
        ends it and is passed on.
        """

def open(path: str | PathLike[str]) -> Trace:
    """Opens a directory of CTF streams, a trace.dat or a perf.data file.

    Raises:
        TraceError: one of its subclasses says what is wrong with it.
    """

def open_unwinding(
    path: str | PathLike[str], programs: Sequence[tuple[str, bytes, Sequence[str]]]
) -> Trace:
    """The same of a perf.data, whose copies of stacks (``perf record --call-graph dwarf``) become
    the stacks of programs.

    ``programs``: path and build-id (may be empty) of each file that processes had in memory, and
    paths of files here that may be the same; one with another build-id is not used. The column
    ``user_stack_end`` says how each stack ends.

    Raises:
        TraceError: one of its subclasses says what is wrong with it.
    """

def demangle(name: str) -> str:
    """The name of a function as its source has it, where it is one of C++ or Rust; else as it is.

    A name of more than 4096 bytes, or whose source's has more than 8192, stays as it is.
    """

def content_hash(paths: Sequence[str | PathLike[str]]) -> str:
    """A hash of the bytes of files, in the order given: tells whether contents are the same.

    Raises:
        TraceError: a file cannot be read.
    """

@final
class Text:
    """Lines of UTF-8 as a buffer, whose memory is used again when nobody has it any more."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Listing:
    """Events as texts, in order of time, which goes on through a trace."""

    def __new__(
        cls,
        trace: Trace,
        begin: int,
        end: int,
        *,
        lines: bool = False,
        events: AbstractSet[str] | None = None,
        threads: AbstractSet[int] | None = None,
        named: Callable[[dict[int, str]], AbstractSet[int]] | None = None,
        cpus: AbstractSet[int] | None = None,
        text: str | None = None,
        few: bool = False,
        stack_names: Callable[[str, int | None, int, int, Sequence[int]], list[str]] | None = None,
    ) -> Listing:
        """Of events at times from ``begin`` to before ``end``: as lines, or for ``events``.

        ``named`` is given the names of all threads, and says which more are meant. ``text``: only
        events in whose text it is. ``few``: only the first ones will be asked for. ``stack_names``
        gives the functions of a sample's stack as texts: of a column, in a process (None where the
        event tells none), of a thread, at a time, with addresses. Several threads call it.

        Raises:
            TraceError: it cannot be decoded.
        """
    def lines(
        self, most: int | None
    ) -> tuple[list[tuple[Text, list[tuple[int, int]]]], int] | None:
        """The next lines in parts, each with the places of what a terminal must not be given; and
        their number.

        There may be none yet; None at the end of the trace.
        """
    def events(
        self, most: int | None
    ) -> list[tuple[int, int | None, int | None, str | None, str, str]] | None:
        """The next events: time, CPU, thread, its name, event, text; None at the end."""
    @property
    def losses(self) -> list[LostEvents]:
        """What is missing in the part that was listed."""
    @property
    def damage(self) -> list[DamagedPlace]:
        """What could not be decoded of it."""

@final
class Levels:
    """The timeline of a trace. Times are nanoseconds since its first event."""

    def __new__(cls, tables: Mapping[str, Table]) -> Levels:
        """From what ``tables`` gave.

        Raises:
            ValueError: the tables are not such, or do not fit to each other.
        """
    @staticmethod
    def build(
        actors: Table,
        instances: Table,
        fragments: Table,
        waits: Table,
        index: Table,
        span: tuple[int, int],
    ) -> Levels:
        """From tables of ``Decoded.scheduling``, and the times of the first and last event.

        Raises:
            ValueError: one is not such a table.
        """
    def tables(self) -> dict[str, Table]:
        """All of it, to be kept."""
    def rows(self) -> Table:
        """``kind``, ``actor``, ``cpu``, ``instances``, ``ran``, ``first``, ``last``."""
    def items(self, rows: Sequence[int], begin: int, end: int, shift: int) -> Table:
        """What is drawn of rows in buckets of ``2**shift`` ns: crates/tracelevels says how.

        ``row``, ``begin``, ``end``, ``actor``, ``state``, ``count``, ``ran``.
        """
    def overview(self, width: int) -> Table:
        """The whole trace in at most so many buckets a CPU.

        ``cpu``, ``begin``, ``end``, ``busy``, ``events``.
        """
    def at(self, row: int, time: int) -> tuple[int, int, int, int] | None:
        """Begin, end, actor and state of what a row shows at a time."""

@final
class LevelEvents:
    """The events of a trace, to be shown as marks on its timeline."""

    def __new__(cls, index: Table, origin: int) -> LevelEvents:
        """From the index of all events, and the time of the first.

        Raises:
            ValueError: it is no such index.
        """
    def marks(
        self, levels: Levels, rows: Sequence[int], begin: int, end: int, shift: int
    ) -> tuple[Table, bool]:
        """``row``, ``time``, ``event``, ``count``, ``index``; and whether only rare ones."""
