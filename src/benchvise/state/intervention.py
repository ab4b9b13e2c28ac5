"""Making settings on a board for a while, and putting everything back as it was.

Journal, note on the board, write, read back, compare; look whether anything else of the catalogue
changed too; let the caller measure; undo in reverse. Whatever ends it, error, Ctrl-C or SIGTERM,
the board is as before when the context is left, or the error says what is still set. After a kill
or a power loss the journal tells ``restore`` what to put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel, open_channel
from benchvise.board.messages import content_text
from benchvise.errors import BenchviseError, BoardUnreachable, SettingError
from benchvise.state import interrupts, places
from benchvise.state import knobs as values
from benchvise.state.board_note import BoardNotes
from benchvise.state.catalogue import knobs
from benchvise.state.journal import Journal, JournalChange
from benchvise.state.knobs import Setting
from benchvise.state.model import Knob
from benchvise.state.places import (
    BoardFiles,
    Goal,
    Missed,
    Roles,
    SettingPlace,
    drive,
    is_reached,
    present,
)
from benchvise.text import printable

BOOT_ID = "/proc/sys/kernel/random/boot_id"

_SHOWN = 5
_ELSEWHERE = "EBUSY"  # what the probe says of such a route
_DENIED = ("EACCES", "EPERM", "EROFS")


class NotMade(SettingError):  # noqa: N818
    """Settings that could not be made; ``settings`` are those, none where nobody knows which.

    Everything is put back once the intervention is undone.
    """

    def __init__(self, message: str, remedy: str = "", settings: Sequence[Setting] = ()) -> None:
        super().__init__(message, remedy)
        self.settings = tuple(settings)


class BroughtAlong(NotMade):
    """Something else changed too: by these settings, or by somebody else just then."""


class NotHeld(NotMade):
    """Something else has changed a setting since it was made."""


@dataclass(frozen=True, slots=True)
class AppliedSetting:
    """A file that was set, with its value before and since."""

    knob: str
    path: str
    old: str
    new: str


class Intervention:
    """Settings of one board: made by ``apply``, taken back by ``undo``, once each."""

    def __init__(
        self,
        board: str,
        files: BoardFiles,
        reopen: Callable[[], BoardFiles],
        roles: Roles,
        notes: BoardNotes | None = None,
    ) -> None:
        self._board = board
        self._notes = notes
        self._files = files
        self._reopen = reopen
        self._roles = roles
        self._reopened = False
        self._journal: Journal | None = None
        self._targets: list[Goal] = []
        self._made: list[AppliedSetting] = []
        self._changes: list[JournalChange] = []
        self._goals: dict[int, Goal] = {}  # the old values, by the change's number
        self._numbers: dict[str, int] = {}  # of changes, by path

    def apply(self, settings: Sequence[Setting]) -> None:
        """Makes the settings. After an error, ``undo`` is due as after success.

        NotMade when settings cannot be made or put back, are refused, become something else than
        was asked for, or bring changes along that are not their own; it names all that cannot be
        had. SettingError when the journal cannot be kept.
        """
        boot_id = read_boot_id(self._files)
        journal = self._journal = Journal.begin(self._board, boot_id, self._files.place)
        if self._notes is not None:  # before the values are read, which others may have set
            self._notes.claim(journal, boot_id, self._files.place)
        before = self._survey(settings)
        self._targets = self._all_targets(settings, before)
        tied = {knob.name for setting in settings for knob in values.companions(setting.knob)}
        self._remember_all(tied, before)
        journal.plan(self._changes)
        self._note(journal)
        missed = drive(
            self._files,
            self._targets,
            lambda goal, now: self._wrote(journal, goal, now),
        )
        # Also where some were refused: those that were made may have changed something else.
        after = self._survey(settings)
        foreign = self._look_for_side_effects(journal, tied, before, after)
        if not missed and not foreign:
            journal.applied()
        self._note(journal)
        if missed:
            raise self._not_made(missed, settings)
        if foreign:
            names = ", ".join(map(str, settings))
            raise BroughtAlong(
                f"{self._board}: with {names} something else changed too: "
                + "; ".join(foreign[:_SHOWN]),
                "nothing was measured, as two changes cannot be told apart; all is as it was",
                settings if len(settings) == 1 else (),
            )

    def _survey(self, settings: Sequence[Setting]) -> dict[str, SettingPlace]:
        """All that can be set, by path, and the files that these settings name."""
        # First those that are set: a file of theirs may be one of another knob too, and of a whole
        # family it is the one that is called by its own name.
        being_set = sorted((s.knob for s in settings), key=lambda knob: knob.each)
        catalogue = [*being_set, *(knob for _, knob in knobs().values())]
        named = [Goal(s.knob, path, s.value) for s in settings for path in s.paths]
        is_elsewhere = any(s.knob.absent or s.knob.fleeting for s in settings)
        presence = present(self._files, named) if is_elsewhere else {}
        lasting = (knob for knob in catalogue if not knob.fleeting)
        surveyed = places.survey(self._files, lasting, self._roles)
        return {**surveyed, **{path: place for path, place in presence.items() if place.value}}

    def _note(self, journal: Journal) -> None:
        """Has the board itself tell what the journal tells."""
        if self._notes is not None:
            self._notes.update(journal, self._files.place)

    @property
    def not_noted(self) -> str:
        """Why the board has no note of what is set on it; empty where it has."""
        return "" if self._notes is None else self._notes.reason

    @property
    def applied(self) -> tuple[AppliedSetting, ...]:
        """What was written, in that order, also where it came to no good end."""
        return tuple(self._made)

    def _wrote(self, journal: Journal, goal: Goal, now: str | None) -> None:
        change = self._changes[self._numbers[goal.path]]
        self._made.append(AppliedSetting(change.knob, change.path, change.old, now or goal.value))
        journal.written(change.number, now)

    def check_held(self) -> None:
        """NotHeld when something else has changed a setting since it was made."""
        places_now = present(self._files, self._targets)
        for goal in self._targets:
            if not is_reached(goal, places_now[goal.path]):
                raise NotHeld(
                    f"{self._board}: {goal.knob.name} did not stay {goal.value} while it was "
                    f"measured: {goal.path} {places_now[goal.path].value_text}",
                    "find what else sets it there: a daemon, or another person",
                    [Setting(goal.knob, goal.value, (goal.path,))],
                )

    def undo(self, after: BaseException | None = None) -> None:
        """Puts everything back; ``after`` is the error that ended the intervention, if one did.

        SettingError, or BoardUnreachable, when something is still set: the journal keeps it.
        """
        if self._journal is None:
            return
        try:
            if self._changes:
                missed = self._put_back(self._journal)
            else:
                missed = []
                with suppress(BenchviseError):  # nothing is set; what ended it is told instead
                    self._release()
            if missed:
                raise self._still_set("; ".join(map(str, missed[:_SHOWN])), None, after)
            self._journal.finish()
        finally:
            self._journal.close()
            if self._reopened:
                self._files.close()

    def _put_back(self, journal: Journal) -> list[Missed]:
        """Once more over a new connection if the first breaks or is broken."""
        goals = [self._goals[change.number] for change in reversed(self._changes)]
        for last in (False, True):
            try:
                if not self._files.is_open:
                    self._files.close()  # its probe may still measure, or be about to write
                    self._files = self._reopen()
                    self._reopened = True
                present(self._files, goals)  # is anybody there?
                with suppress(SettingError):  # a full disk must not keep the board changed
                    journal.undoing(self._goals)
                missed = [miss for miss in drive(self._files, goals) if not miss.is_gone]
                left = {miss.goal.path for miss in missed}
                with suppress(SettingError):  # restore finds it as it was
                    journal.undone(
                        change.number for change in self._changes if change.path not in left
                    )
                if not missed:
                    self._release()
                return missed
            except BenchviseError as error:
                if last:
                    names = sorted({goal.knob.name for goal in goals})
                    raise self._still_set(", ".join(names), error, None) from error
        raise AssertionError("unreachable")

    def _release(self) -> None:
        """Removes the note: nothing of this session is left on the board."""
        if self._notes is not None:
            self._notes.release()

    def _all_targets(
        self, settings: Sequence[Setting], before: Mapping[str, SettingPlace]
    ) -> list[Goal]:
        """The files of all settings; NotMade with every setting that has none to be set."""
        targets: list[Goal] = []
        failed: list[tuple[Setting, SettingError]] = []
        for setting in settings:
            try:
                targets += self._places_to_set(setting, before)
            except SettingError as error:
                failed.append((setting, error))
        if failed:
            first = failed[0][1]
            more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            raise NotMade(first.message + more, first.remedy, [setting for setting, _ in failed])
        return targets

    def _places_to_set(self, setting: Setting, before: Mapping[str, SettingPlace]) -> list[Goal]:
        """The goals of a setting: all its files, or those it names, that can be put back."""
        knob = setting.knob
        glob = places.expand(knob, self._roles)
        if knob.is_family and not setting.paths:
            raise SettingError(
                f"{self._board}: {knob.name} stands for many files, which are not set to one value",
                "`benchvise why` tries each that differs",
            )
        places_of_knob = [place for place in before.values() if place.knob == knob]
        if not places_of_knob:
            raise SettingError(
                f"{self._board}: {knob.name} cannot be set: another setting has its files",
                "set the one or the other",
            )
        if setting.paths:
            there = {place.path: place for place in places_of_knob}
            places_of_knob = [
                there.get(path) or SettingPlace(knob, path, None, "ENOENT")
                for path in setting.paths
            ]
        for place in places_of_knob:
            if place.value is None:
                raise SettingError(
                    f"{self._board}: {knob.name} cannot be set: {place.path} {place.value_text}",
                    "root may be needed to read it"
                    if place.reason in _DENIED
                    else _nothing_there(knob),
                )
            if not places.may_be_written(glob, place.path):
                raise places.unwritable(place.path)
            if not values.can_be_put_back(knob, place.value):
                raise SettingError(
                    f"{self._board}: {knob.name} is not set, as it could not be put back: "
                    f"{place.path} {place.value_text}",
                    "set it by hand if it must be",
                )
        return [Goal(knob, place.path, setting.value) for place in places_of_knob]

    def _remember_all(self, tied: Set[str], before: Mapping[str, SettingPlace]) -> None:
        """What may change: the targets, and what the kernel ties to them."""
        wanted = {goal.path: goal.value for goal in self._targets}
        for place in before.values():
            if place.path in wanted or place.knob.name in tied:
                self._remember(place, wanted.get(place.path))

    def _remember(self, place: SettingPlace, new: str | None) -> JournalChange | None:
        """None for what could not be put back anyway: it has no value, or may not be written."""
        if place.value is None or not places.may_be_written(place.knob.path, place.path):
            return None
        change = JournalChange(len(self._changes), place.knob.name, place.path, place.value, new)
        self._changes.append(change)
        self._goals[change.number] = Goal(place.knob, place.path, place.value)
        self._numbers[place.path] = change.number
        return change

    def _look_for_side_effects(
        self,
        journal: Journal,
        tied: Set[str],
        before: Mapping[str, SettingPlace],
        after: Mapping[str, SettingPlace],
    ) -> list[str]:
        """Notes what else changed, to be put back too; returns what of it should not have."""
        foreign: list[str] = []
        for path in sorted({*before, *after} - {goal.path for goal in self._targets}):
            was, now = before.get(path), after.get(path)
            old, new = (None if place is None else place.value for place in (was, now))
            known_place = was or now
            if known_place is None or old == new:
                continue
            if path in self._numbers:
                journal.written(self._numbers[path], new)
            if was is None and new is not None and known_place.knob.absent:
                self._remember_new(journal, known_place, new)
            if known_place.knob.name in tied:
                continue
            foreign.append(
                f"{known_place.knob.name} ({path}: {_value_text(old)} → {_value_text(new)})"
            )
            change = None if was is None else self._remember(was, None)
            if change is not None:
                journal.plan([change])
                journal.written(change.number, new)
        return foreign

    def _remember_new(self, journal: Journal, place: SettingPlace, now: str) -> None:
        """A file that came to be along with what was set: a service that another one needs."""
        change = self._remember(SettingPlace(place.knob, place.path, place.knob.absent), None)
        if change is not None:
            journal.plan([change])
            journal.written(change.number, now)

    def _not_made(self, missed: Sequence[Missed], settings: Sequence[Setting]) -> NotMade:
        miss = missed[0]
        name = f"{self._board}: {miss.goal.knob.name}={miss.goal.value}"
        path = miss.goal.path
        failed = [s for s in settings if any(_is_of(s, other.goal) for other in missed)]
        if miss.error in _DENIED:
            return NotMade(
                f"{name} may not be set ({miss.error} at {path})",
                "it needs root; where that is so, the kernel does not allow it; nothing is changed",
                failed,
            )
        if miss.error == _ELSEWHERE and miss.goal.path.startswith(places.ROUTES):
            return NotMade(
                f"{name} would lead the packets of this session another way",
                "set it on the board by hand, over its console; everything is as it was",
                failed,
            )
        if miss.error:
            return NotMade(
                f"{name} was refused by the kernel ({miss.error} at {path}, which "
                f"{miss.place.value_text})",
                "see which values it takes; everything is as it was",
                failed,
            )
        return NotMade(
            f"{name}: the kernel made something else of it: {path} {miss.place.value_text}",
            "ask for a value that it takes as it is; everything is as it was",
            failed,
        )

    def _still_set(
        self, what: str, error: BenchviseError | None, after: BaseException | None
    ) -> BenchviseError:
        kind = BoardUnreachable if isinstance(error, BoardUnreachable) else SettingError
        why = f" ({error.message})" if error else ""
        first = f"; before that: {after}" if isinstance(after, BenchviseError) else ""
        return kind(
            f"{self._board}: not put back: {what}{why}{first}",
            f"benchvise restore {self._board}",
        )


def _nothing_there(knob: Knob) -> str:
    if knob.absent:
        return "the board has none of that name, or none that may be changed"
    return "this board's kernel or hardware has no such setting"


@contextmanager
def applied(
    board: Board, channel: ProbeChannel, settings: Sequence[Setting], roles: Roles
) -> Iterator[Intervention]:
    """Within this context the board has these settings; afterwards it is as before.

    Ctrl-C, SIGTERM and SIGHUP are held back in it: what may be interrupted goes into
    ``interrupts.let_through()`` inside. Raises what ``Intervention`` raises.
    """
    notes = BoardNotes(board)
    with intervening(
        board.name, channel, lambda: open_channel(board), roles, notes
    ) as intervention:
        intervention.apply(settings)
        yield intervention


@contextmanager
def intervening(
    board: str,
    files: BoardFiles,
    reopen: Callable[[], BoardFiles],
    roles: Roles,
    notes: BoardNotes | None = None,
) -> Iterator[Intervention]:
    """An intervention that is undone at the end, with signals held back until then.

    ``notes`` is where the board itself has a note of it; None for boards that nobody else reaches.
    """
    with interrupts.deferred():
        intervention = Intervention(board, files, reopen, roles, notes)
        try:
            yield intervention
        except BaseException as error:
            intervention.undo(after=error)
            raise
        intervention.undo()


def read_boot_id(files: BoardFiles) -> str:
    """What tells one boot of a board from all others; empty when the board does not say."""
    return printable(content_text(files.read([BOOT_ID]).get(BOOT_ID)), 64)


def _is_of(setting: Setting, goal: Goal) -> bool:
    """Whether a goal is one of a setting's."""
    return (setting.knob, setting.value) == (goal.knob, goal.value) and goal.path in (
        setting.paths or (goal.path,)
    )


def _value_text(value: str | None) -> str:
    return "nothing" if value is None else printable(value, 60)
