"""How a board is: read once (``benchvise health``), or polled for weeks (``benchvise watch``)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Protocol, TypeAlias

from benchvise.board.channel import open_channel
from benchvise.documents import computed, in_json
from benchvise.errors import BenchviseError, StoreError, UsageError
from benchvise.flows.boards import open_boards
from benchvise.health.judging import Judgement, judge
from benchvise.health.model import LogMark, Observation, WatchEvent
from benchvise.health.reading import read
from benchvise.health.sensors_config import BYTES, SensorsConfig, parse
from benchvise.health.watch.alarms import Alarms
from benchvise.health.watch.alerts import Alert, AlertRule, load_rules
from benchvise.health.watch.history import History, WatchSpan
from benchvise.health.watch.poller import ChannelPoller
from benchvise.health.watch.tracker import WatchMemory, WatchStep, advance, note
from benchvise.state.interrupts import deferred, let_through

if TYPE_CHECKING:
    from benchvise.flows.metrics import LatestMetrics
    from benchvise.store import Store
    from benchvise.store.watches import Watched


def health(board: str, sensors: Path | None = None, rig: str | None = None) -> Judgement:
    """Reads a board and judges what was read; ``sensors`` takes the place of its sensors3.conf.

    A board of a rig is brought to its shell, by the rig file that is named or the usual one.
    """
    config = None if sensors is None else sensors_config(sensors)
    with ExitStack() as stack:
        [(reached, _)], _ = open_boards([board], stack, rig_file=rig, measures=False)
        channel = stack.enter_context(open_channel(reached))
        return judge(read(reached, channel, config=config))


def sensors_config(path: Path) -> SensorsConfig:
    """The configuration in a file of this machine. Raises UsageError, also for one that is wrong:
    whoever names a file wants to know."""
    try:
        if path.stat().st_size > BYTES:
            raise UsageError(f"{path}: it has over {BYTES >> 20} MiB", "name a sensors3.conf")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror})", "check its name and permissions"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path}: no text", "name a sensors3.conf") from error
    config = parse({path.name: text})
    if config.errors:
        raise UsageError(config.errors[0], "correct that line; see sensors.conf(5)")
    return config


# -- watch -----------------------------------------------------------------------------------------

LOST = "contact lost"
BACK = "contact again"
STOPPED = "stopped"

CHEAP = 0.005
"""The share of one CPU of the board that a watch should stay below."""

_SLACK = 2.5  # polls that are further apart than so many intervals have a gap between them
_LONGEST_PAUSE = 300.0  # between two tries to reach a board
_END_SECONDS = 300.0  # longer than a look may take before it is given up


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """Which boards to look at, every how many seconds and for how long (None: until stopped)."""

    boards: tuple[str, ...]
    every: float
    duration: float | None = None
    rules: Path | None = None
    on_alert: str | None = None
    rig: str | None = None
    textfile: Path | None = None
    """Is written after each poll, for the textfile collector of node_exporter."""


@dataclass(frozen=True, slots=True)
class WatchNotice:
    """What a watch has to say: an event, an alert, or that it goes on. ``alert`` with alerts."""

    board: str
    at: float
    what: str
    text: str
    severity: str = ""
    alert: Alert | None = None


Tell: TypeAlias = Callable[[WatchNotice], None]


def _message(error: BenchviseError | None) -> str | None:
    return None if error is None else str(error)


@dataclass
class WatchOutcome:
    """The outcome of a board's watch.

    ``cpu`` is the CPU time that it took there, in seconds, counted in ticks of 0.01 s: 0 stands for
    less than one. ``cost`` is the share of one of its CPUs. Both are None where they are not known.
    ``error`` is why the board could not be polled any more when the watch ended.
    """

    board: str
    polls: int = field(default=0, metadata=in_json(name="looks"))
    watched: float = field(default=0.0, metadata=in_json(name="watched_s"))
    events: int = 0
    alerts: int = 0
    open_alerts: int = field(default=0, metadata=in_json(name="raised"))
    lost: int = field(default=0, metadata=in_json(name="contact_lost"))
    cpu: float | None = field(default=None, metadata=in_json(name="cpu_s"))
    longest_look: float = field(default=0.0, metadata=in_json(name="longest_look_s"))
    error: BenchviseError | None = field(default=None, metadata=in_json(through=_message))

    @computed.before("longest_look")
    def cost(self) -> float | None:
        """The share of one CPU of the board that the watch took."""
        return self.cpu / self.watched if self.cpu is not None and self.watched else None


class BoardPoller(Protocol):
    """A board that can be looked at."""

    simulated: bool

    def poll(self, mark: LogMark | None) -> Observation:
        """Looks once; the kernel log from where ``mark`` says. Raises what reaching a board
        raises.
        """

    def cpu(self) -> float | None:
        """The CPU time in seconds that this cost on the board since it was opened."""

    def close(self) -> None:
        """Releases the board."""


class WatchClock:
    """Time as it is; tests have another."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def ticks(self) -> float:
        """Seconds on a clock that nobody sets."""
        return time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Waits; True when the watch is to end."""
        return self._stop.wait(max(0.0, seconds))

    def stop(self) -> None:
        """Ends all waiting."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether the watch is to end."""
        return self._stop.is_set()


def watch(request: WatchRequest, store: Store, tell: Tell) -> list[WatchOutcome]:
    """Watches the boards until the time is over, or Ctrl-C or SIGTERM; what was seen is kept.

    Each board has a thread of its own. Raises when none of them can be reached at first.
    """
    rules = load_rules(request.rules)
    clock, alarms = WatchClock(), Alarms(request.on_alert)
    with deferred(), ExitStack() as stack:
        stack.callback(alarms.close)
        watches = [
            BoardWatch(name, request, store, rules, clock, tell, alarms, _opener(name, request.rig))
            for name in dict.fromkeys(request.boards)
        ]
        with let_through():
            _open_first(watches)
        # Not by joining: a join that Ctrl-C interrupts takes the thread for one that has ended.
        ended: SimpleQueue[BoardWatch] = SimpleQueue()
        running = 0
        try:
            for board_watch in watches:
                threading.Thread(
                    target=_run, args=(board_watch, ended), name=board_watch.board
                ).start()
                running += 1
            with let_through():
                while running:
                    ended.get()
                    running -= 1
        except KeyboardInterrupt:
            pass  # the usual end of a watch
        finally:
            clock.stop()
            with contextlib.suppress(Empty):
                for _ in range(running):
                    ended.get(timeout=_END_SECONDS)
        failed = next((w.failed for w in watches if w.failed is not None), None)
        if failed is not None:
            raise failed
        return [w.outcome for w in watches]


def _run(board_watch: BoardWatch, ended: SimpleQueue[BoardWatch]) -> None:
    try:
        board_watch.run()
    finally:
        ended.put(board_watch)


def history(store_url: str | None, board: str, since: float, until: float) -> History:
    """What the store has of a board; UsageError when it was never watched."""
    from benchvise.store import Store  # late: it takes longer than most of what is asked here

    with Store.open(store_url) as store:
        kept = store.watches.history(board, since, until)
        if kept is None:
            boards = store.watches.boards()
            hint = (
                f"watched were: {', '.join(boards[:5])}" if boards else f"benchvise watch {board}"
            )
            raise UsageError(f"{board} was never watched, as far as {store.name} knows", hint)
        return kept


def _opener(name: str, rig: str | None) -> Callable[[], BoardPoller]:
    def reach() -> BoardPoller:
        with ExitStack() as stack:
            [(board, prepared)], _ = open_boards([name], stack, rig_file=rig, measures=False)
            poller = ChannelPoller(board, simulated=prepared.simulated)
            poller.on_close = stack.pop_all()
            return poller

    return reach


def _open_first(watches: Sequence[BoardWatch]) -> None:
    """Reaches all boards. What cannot be a board is an error; one out of reach may come back."""
    for board_watch in watches:
        board_watch.open_first()
    errors = [w.outcome.error for w in watches if w.outcome.error is not None]
    if errors and len(errors) == len(watches):
        raise errors[0]


class BoardWatch:
    """The watch of one board: looks, keeps, reconnects."""

    def __init__(
        self,
        board: str,
        request: WatchRequest,
        store: Store,
        rules: Sequence[AlertRule],
        clock: WatchClock,
        tell: Tell,
        alarms: Alarms,
        reach: Callable[[], BoardPoller],
    ) -> None:
        self.board = board
        self.outcome = WatchOutcome(board)
        self.failed: Exception | None = None
        self._request = request
        self._store = store
        self._rules = rules
        self._clock = clock
        self._tell = tell
        self._alarms = alarms
        self._reach = reach
        self._poller: BoardPoller | None = None
        self._watched: Watched | None = None
        self._span: tuple[int, WatchSpan] | None = None
        self._cpu: float | None = None
        self._unwritten = False
        self._away = False
        self._mark: LogMark | None = None
        self._metrics: LatestMetrics | None = None
        self._export_failed = False

    def open_first(self) -> None:
        """Reaches the board; what it raises is kept, but for names that are none."""
        try:
            self._poller = self._reach()
        except UsageError:
            raise
        except BenchviseError as error:
            self.outcome.error = error

    def run(self) -> None:
        """Looks every so many seconds until the time is over or the clock is stopped."""
        try:
            self._run()
        except Exception as error:  # noqa: BLE001 - it is raised where the thread was started
            self.failed = error
            self._clock.stop()
        finally:
            self._close_poller()

    def _run(self) -> None:
        begun = self._clock.ticks()
        due, failures = begun, 0
        if self.outcome.error is not None:
            self._lose(self.outcome.error)
            failures = 1
        while not self._clock.wait(due - self._clock.ticks()):
            if self._once():
                failures, pause = 0, self._request.every
            else:
                failures += 1
                pause = min(max(self._request.every, 2.0**failures), _LONGEST_PAUSE)
                pause = max(pause, self._request.every)
            ticks = self._clock.ticks()
            # A look that took long must not be followed by those that it missed.
            due = due + pause if due + pause > ticks else ticks + pause
            if self._request.duration is not None and due > begun + self._request.duration:
                self._clock.wait(begun + self._request.duration - ticks)
                break
        self._end_span(STOPPED)

    def _once(self) -> bool:
        """One look, if need be over a new connection; False when the board is out of reach."""
        try:
            if self._poller is None:
                self._poller = self._reach()
            self._remember(self._poller)
            started = self._clock.ticks()
            seen = self._poller.poll(self._mark)
            took = self._clock.ticks() - started
        except BenchviseError as error:
            self._lose(error)
            return False
        try:
            self._keep(seen, self._poller)
        except StoreError as error:
            self._say_unwritten(error)
        else:
            self._unwritten = False
            self._export()
        self.outcome.polls += 1
        self.outcome.longest_look = max(self.outcome.longest_look, took)
        return True

    def _export(self) -> None:
        """The metrics of all boards of this watch; a file that cannot be written: said once."""
        if self._request.textfile is None:
            return
        if self._metrics is None:
            from benchvise.flows.metrics import LatestMetrics  # late: few watches export

            self._metrics = LatestMetrics(frozenset(self._request.boards))
        try:
            self._metrics.write(self._store, self._request.textfile)
            self._export_failed = False
        except BenchviseError as error:
            if not self._export_failed:
                self._export_failed = True
                self._tell(
                    WatchNotice(self.board, self._clock.now(), "not exported", str(error), "error")
                )

    def _remember(self, poller: BoardPoller) -> None:
        """Where the kernel log was read up to, when this is the first look."""
        try:
            self._in_store(simulated=poller.simulated)
        except StoreError as error:
            self._say_unwritten(error)

    def _keep(self, seen: Observation, poller: BoardPoller) -> None:
        watched = self._in_store(simulated=poller.simulated)
        if self._away:
            self._note(WatchEvent(BACK, "the board answers again", seen.at, seen.at, 1, "note"))
            self._away, self.outcome.error = False, None
        longest = _SLACK * self._request.every
        step = self._store.watches.step(
            watched, lambda memory: advance(memory, seen, self._rules, longest)
        )
        self._mark = step.memory.mark
        self._report_news(step)
        self._extend(watched, seen, poller, longest)

    def _extend(
        self, watched: Watched, seen: Observation, poller: BoardPoller, longest: float
    ) -> None:
        """The span of this look: that of the last one, unless something was between."""
        spent = self._spent(poller)
        if self._span is not None:
            identity, span = self._span
            if span.boot == seen.boot and 0 <= seen.at - span.until <= longest:
                self.outcome.watched += seen.at - span.until
                cpu = spent if span.cpu is None or spent is None else span.cpu + spent
                span = replace(span, until=seen.at, polls=span.polls + 1, cpu=cpu)
                if spent is not None:
                    self.outcome.cpu = (self.outcome.cpu or 0.0) + spent
                self._span = (identity, span)
                self._store.watches.extend_span(identity, span)
                return
            self._end_span("the board was booted anew" if span.boot != seen.boot else "too slow")
        span = WatchSpan(seen.at, seen.at, 1, self._request.every, seen.boot, "", None)
        self._span = (self._store.watches.begin_span(watched, span), span)

    def _spent(self, poller: BoardPoller) -> float | None:
        """The CPU time since the last look, None at the first of a connection."""
        before, self._cpu = self._cpu, poller.cpu()
        if self._cpu is None or before is None:
            return None
        return max(0.0, self._cpu - before)

    def _lose(self, error: BenchviseError) -> None:
        """Contact is lost, or could not be made yet: said once, then tried again and again."""
        self._close_poller()
        self._end_span(error.message)
        self.outcome.error = error
        if not self._away:
            self._away = True
            self.outcome.lost += 1
            now = self._clock.now()
            try:
                self._in_store(simulated=False)
                self._note(WatchEvent(LOST, str(error), now, now, 1, "warning"))
            except StoreError as unwritten:
                self._say_unwritten(unwritten)

    def _close_poller(self) -> None:
        if self._poller is not None:
            self._poller.close()
        self._poller = self._cpu = None

    def _end_span(self, why: str) -> None:
        if self._span is not None:
            identity, span = self._span
            self._span = None
            try:
                self._store.watches.extend_span(identity, replace(span, ending=why))
            except StoreError as error:
                self._say_unwritten(error)

    def _note(self, event: WatchEvent) -> None:
        step = self._store.watches.step(
            self._in_store(simulated=False), lambda memory: note(memory, event, self._rules)
        )
        self._report_news(step)

    def _in_store(self, *, simulated: bool) -> Watched:
        if self._watched is None:
            self._watched = self._store.watches.begin(self.board, simulated=simulated)
            self._mark = self._store.watches.memory(self._watched).mark
        return self._watched

    def _report_news(self, step: WatchStep) -> None:
        """Says what is new, and runs the user's command for alerts: after it is in the store."""
        self.outcome.events += sum(event.count for event in step.events)
        for event in step.events:
            times = f" ({event.count} times)" if event.count > 1 else ""
            self._tell(
                WatchNotice(self.board, event.at, event.what, event.text + times, event.severity)
            )
        for alert in step.alerts:
            self.outcome.alerts += alert.raised
            self._tell(
                WatchNotice(self.board, alert.at, alert.rule, alert.sentence, "alert", alert)
            )
            failed = self._alarms.send(self.board, alert)
            if failed:
                self._tell(WatchNotice(self.board, alert.at, "--on-alert", failed, "error"))
        self.outcome.open_alerts = _raised(step.memory)

    def _say_unwritten(self, error: StoreError) -> None:
        """A store that cannot be written: said once; what was missed is found by the next look."""
        if not self._unwritten:
            self._unwritten = True
            self._tell(
                WatchNotice(self.board, self._clock.now(), "not stored", str(error), "error")
            )


def _raised(memory: WatchMemory) -> int:
    return sum(state.raised is not None for state in memory.alerts.values())
