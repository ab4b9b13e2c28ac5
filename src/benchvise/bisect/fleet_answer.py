"""What a search on several boards has found: the place, and what each board shows of it."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np

from benchvise.bisect.fleet import FleetSearch, SearchedBoard
from benchvise.bisect.model import (
    Bisection,
    BisectionVerdict,
    ChangeOnBoard,
    ChangeSeen,
    MeasuredVersion,
)
from benchvise.bisect.posterior import TwoChanges
from benchvise.bisect.seen import SeenChange, seen_changes
from benchvise.text import Untrusted


def fleet_answer(
    search: FleetSearch, unit: str, directory: str, next_step: Callable[[str, str, str], str]
) -> Bisection:
    """What is known; ``next_step`` gives the command that explains the difference of two versions
    on a board."""
    posterior, names, options = search.posterior, search.names, search.options
    verdict = search.verdict or BisectionVerdict.UNDECIDED
    is_known = bool(posterior.counting)
    place, probability = posterior.best if is_known else (0, 0.0)
    nothing = TwoChanges(0.0, (0, 0), 0.0, np.zeros(len(names)))
    two = posterior.two_changes() if is_known else nothing
    is_two = verdict is BisectionVerdict.TWO_CHANGES
    if is_two:
        place, probability = two.places[0], two.probability
    placed = is_known and verdict is not BisectionVerdict.NO_CHANGE
    last_good = _before(search, place) if placed else None
    changes = seen_changes(posterior, options.confidence)
    boards = tuple(
        _board_change(search, state, changes.get(state.name)) for state in search.boards.values()
    )
    seen = [row.board for row in boards if row.seen is ChangeSeen.SEEN]
    return Bisection(
        verdict=verdict,
        headline=_headline(search, verdict, place, two.places[1], probability, boards),
        good=names[0],
        bad=names[-1],
        count=len(names),
        first_bad=names[place] if placed else None,
        last_good=None if last_good is None else names[last_good],
        candidates=_candidates(search) if placed else (),
        probability=probability,
        no_change=search.no_change() if is_known else 0.0,
        two_changes=two.share,
        second=names[two.places[1]] if is_two else None,
        ratio=None,
        before=None,
        after=None,
        scatter=None,
        unit=unit,
        better=search.better,
        confidence=options.confidence,
        least=options.least,
        samples=posterior.samples,
        earlier=0,
        seconds=search.seconds,
        versions=_versions(search, known=is_known),
        next_step=next_step(names[last_good], names[place], (seen or list(search.boards))[0])
        if verdict is BisectionVerdict.FOUND and last_good is not None
        else "",
        directory=directory,
        boards=boards,
    )


def _board_change(
    search: FleetSearch, state: SearchedBoard, change: SeenChange | None
) -> ChangeOnBoard:
    samples = sum(map(len, state.samples.values()))
    lost = Untrusted(state.lost if state.is_there else "it is not one of the boards now")
    if change is None:
        nothing = (None,) * 6
        return ChangeOnBoard(
            state.name, ChangeSeen.UNCLEAR, 0.5, *nothing, samples, state.seconds, lost
        )
    is_none = search.verdict is BisectionVerdict.NO_CHANGE
    levels = search.posterior.boards[state.name].levels
    before, after = search.level(levels.before), search.level(levels.after)
    low, high = sorted((search.level(change.low), search.level(change.high)))
    return ChangeOnBoard(
        board=state.name,
        seen=ChangeSeen.NOT_SEEN if is_none else change.seen,
        probability=change.probability * (1.0 - search.no_change() if is_none else 1.0),
        ratio=after / before,
        ratio_low=low,
        ratio_high=high,
        before=before,
        after=after,
        scatter=levels.scatter,
        samples=samples,
        seconds=state.seconds,
        lost=lost,
    )


def _headline(
    search: FleetSearch,
    verdict: BisectionVerdict,
    place: int,
    second: int,
    probability: float,
    boards: tuple[ChangeOnBoard, ...],
) -> str:
    names = search.names
    match verdict:
        case BisectionVerdict.FOUND:
            sizes = [
                f"{100 * (row.ratio - 1.0):+.1f} % on {row.board}"
                for row in boards
                if row.seen is ChangeSeen.SEEN and row.ratio is not None
            ]
            text = f"{names[place]} changed it" + (f" by {', '.join(sizes)}" if sizes else "")
            text += f" ({100 * probability:.0f} % certain)"
            without = [row.board for row in boards if row.seen is ChangeSeen.NOT_SEEN]
            if without:
                text += f"; not on {', '.join(without)}"
            left_out = [names[v] for v in range(_before(search, place) + 1, place)]
            if left_out:
                text += f"; or one of those left out just before it: {', '.join(left_out)}"
            return text
        case BisectionVerdict.NO_CHANGE:
            least = f"{100 * search.options.least:g} %"
            return f"{names[-1]} is not worse than {names[0]} by more than {least} on any board"
        case BisectionVerdict.TWO_CHANGES:
            return f"there are two changes: at {names[place]} and at {names[second]}"
        case _:
            text = "undecided: too little was measured"
            if probability:
                text = f"undecided: the likeliest is {names[place]} ({100 * probability:.0f} %)"
            if not any(state.is_alive for state in search.boards.values()):
                text += "; all boards were lost"
            return text


def _before(search: FleetSearch, place: int) -> int:
    """The last version before a place that is not left out."""
    return max(v for v in range(max(place, 1)) if v not in search.posterior.left_out)


def _candidates(search: FleetSearch) -> tuple[str, ...]:
    places = search.posterior.places
    chosen: set[int] = set()
    share = 0.0
    for place in np.argsort(-places, kind="stable"):
        if share >= search.options.confidence or places[place] <= 0.0:
            break
        share += float(places[place])
        chosen |= set(range(_before(search, int(place)) + 1, int(place) + 1))
    return tuple(search.names[version] for version in sorted(chosen))


def _versions(search: FleetSearch, *, known: bool) -> tuple[MeasuredVersion, ...]:
    """A row for each version on each board that measured it or could not."""
    places = search.posterior.places if known else np.zeros(len(search.names))
    rows = [
        MeasuredVersion(search.names[v], v, (), None, float(places[v]), 0, Untrusted(reason))
        for v, reason in search.unbuilt.items()
    ]
    for state in search.boards.values():
        for version in {*state.samples, *state.skipped}:
            samples = tuple(state.samples.get(version, ()))
            rows.append(
                MeasuredVersion(
                    search.names[version],
                    version,
                    samples,
                    statistics.median(samples) if samples else None,
                    float(places[version]),
                    0,
                    Untrusted(state.skipped.get(version, "")),
                    state.name,
                )
            )
    return tuple(sorted(rows, key=lambda row: row.number))
