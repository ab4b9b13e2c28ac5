"""Making settings and putting them back, against a kernel made of files."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import skips
from fakekernel import (
    AHEAD,
    BYTES,
    CATALOGUE,
    FREE,
    OTHER,
    POLICY,
    PRINTK,
    RATIO,
    THP,
    FakeKernel,
    lost,
)
from waiting import PATIENCE

from benchvise.board.local import LocalBoard
from benchvise.board.messages import FileWritten
from benchvise.errors import BoardUnreachable, SettingError, UsageError
from benchvise.flows.settings import Combination, Reached, combinations
from benchvise.state import catalogue, interrupts, journal, knobs, places
from benchvise.state.intervention import BOOT_ID, Intervention, NotMade, intervening
from benchvise.state.knobs import Setting, parse_setting_request, parse_setting_requests
from benchvise.state.model import Knob
from benchvise.state.restore import (
    RestoreContact,
    RestoreOutcome,
    RestoreVerdict,
    SessionResult,
    restore,
)

MEMORY = Path("/dev/shm")  # noqa: S108 - only the tests' own directory in it
ROLES = {"root_disk": "mmcblk0"}
MANY = ("t.thp=never", "t.bytes=100000", "t.governor=performance", "t.min_freq=1500000")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory where there is one: thousands of records are put on the disk."""
    where = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=where) as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def state(memory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own catalogue, and its own journals."""
    monkeypatch.setattr(catalogue, "load_catalogue", lambda: CATALOGUE)
    monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(memory / "state"))
    return memory / "state"


@pytest.fixture
def kernel(memory: Path) -> FakeKernel:
    return FakeKernel(memory / "board")


def again(kernel: FakeKernel) -> FakeKernel:
    """The same board over a new connection."""
    return FakeKernel(kernel.root)


def settings(*texts: str) -> list[Setting]:
    return [Setting(request.knob, request.values[0]) for request in parse_setting_requests(texts)]


@contextmanager
def applied(
    kernel: FakeKernel, *texts: str, reopen: Callable[[], FakeKernel] | None = None
) -> Iterator[Intervention]:
    with intervening("fake", kernel, reopen or (lambda: again(kernel)), ROLES) as intervention:
        intervention.apply(settings(*texts))
        yield intervention


def restored(
    kernel: FakeKernel, board: str | None = None, force: bool = False, keep: bool = False
) -> list[SessionResult]:
    @contextmanager
    def reach(name: str) -> Iterator[RestoreContact]:
        assert name == "fake"
        yield RestoreContact(again(kernel))

    return list(restore(board, force=force, keep=keep, reach=reach))


def pending() -> list[journal.JournalSession]:
    return [session for session in journal.sessions() if session.is_due]


def journals(state: Path) -> list[Path]:
    return sorted(state.glob("*.jsonl"))


def refusal(kernel: FakeKernel, *texts: str) -> str:
    """The error of settings that cannot be made."""
    with pytest.raises(SettingError) as caught, applied(kernel, *texts):
        raise AssertionError("not reached")
    return str(caught.value)


class TestNames:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("t.thp", "not KNOB=VALUE"),
            ("=1", "not KNOB=VALUE"),
            ("t.ratio=1++2", "not KNOB=VALUE"),
            ("t.thb=never", "did you mean t.thp"),
            ("zzz=1", "`benchvise knobs` lists them"),
            ("t.ratio=101", "from 0 to 100"),
            ("t.ratio=-1", "from 0 to 100"),
            ("t.ratio=much", "from 0 to 100"),
            ("t.ratio=1e2", "from 0 to 100"),
            ("t.ratio=\u0661", "from 0 to 100"),
            ("t.printk=1", "it takes what matches"),
        ],
    )
    def test_what_is_no_setting_is_refused(self, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            parse_setting_request(text)

    def test_a_knob_is_set_once(self) -> None:
        with pytest.raises(UsageError, match=r"t\.ratio is set twice: .*t\.ratio=A\+B"):
            parse_setting_requests(["t.ratio=1", "t.other=1", "t.ratio=2"])

    def test_values_have_one_spelling(self) -> None:
        assert parse_setting_request("t.ratio=010+20+10").values == ("10", "20")
        assert parse_setting_request("t.printk=4  4\t1 7").values == ("4 4 1 7",)
        assert parse_setting_request("t.thp=each").values == ()

    @pytest.mark.parametrize(
        ("one", "other", "equal"),
        [
            ("0-3", "0,1,2,3", True),
            ("0-3", "0-2", False),
            ("5", "5-5", True),
            ("f", "00000000,0000000f", True),
            ("10", "00000010", True),
            ("1,00000000", "00000001,00000000", True),
            ("1", "1,00000000", False),
            ("4 4 1 7", "4 4 1 8", False),
            ("max 100000", "max 100000", True),
        ],
    )
    def test_lists_and_masks_of_cpus_compare_by_meaning(
        self, one: str, other: str, equal: bool
    ) -> None:
        assert knobs.same(knobs.find_knob("t.mask"), one, other) is equal

    def test_the_chosen_word_of_a_list_is_the_value(self) -> None:
        knob = knobs.find_knob("t.thp")
        assert knobs.present_value(knob, THP, "a [b] c\n") == "b"
        assert knobs.marked_choices(THP, "a [b] c\n") == ("a", "b", "c")
        preempt = "/sys/kernel/debug/sched/preempt"
        assert knobs.present_value(knob, preempt, "none voluntary (full) lazy\n") == "full"
        assert knobs.marked_choices(preempt, "none (full)\n") == ("none", "full")


class TestPlaces:
    def test_a_role_is_a_device_and_no_way_elsewhere(self) -> None:
        knob = knobs.find_knob("t.ahead")
        assert places.expand(knob, ROLES) == AHEAD
        with pytest.raises(SettingError, match="this board has no root disk"):
            places.expand(knob, {})
        for name in ("../../etc", "a/../b", "a\nb"):
            with pytest.raises(SettingError, match="is no name of a root disk"):
                places.expand(knob, {"root_disk": name})
        assert places.expand(knob, {"root_disk": "s[d]*"}).startswith("/sys/block/s\\[d\\]\\*/")

    @pytest.mark.parametrize(
        ("glob", "path", "allowed"),
        [
            ("/sys/a/*/c", "/sys/a/b/c", True),
            ("/sys/a/*/c", "/sys/a/b/b/c", False),
            ("/sys/a/*/c", "/sys/a/../c", False),
            ("/sys/*/passwd", "/etc/x/passwd", False),
            ("/sys/state[1-9]*", "/sys/state12", True),
            ("/sys/state[!1-9]", "/sys/state1", False),
            ("/sys/{root_disk}/x", "/sys/sda/x", True),
            ("/sys/fs{cgroup}/x", "/sys/fs/a/b/x", True),
            ("/sys/fs{cgroup}/x", "/sys/fs/../../etc/x", False),
            ("/sys/a\\*b", "/sys/a*b", True),
            ("/etc/passwd", "/etc/passwd", False),
            ("/procsys", "/procsys", False),
        ],
    )
    def test_nothing_else_may_be_written(self, glob: str, path: str, allowed: bool) -> None:
        assert places.may_be_written(glob, path) is allowed

    def test_a_file_of_two_knobs_is_of_the_first(self, kernel: FakeKernel) -> None:
        one, other = (
            Knob(n, p, "integer", n) for n, p in (("a", "/proc/sys/vm/*_ratio"), ("b", RATIO))
        )
        assert places.survey(kernel, [one, other], {})[RATIO].knob == one
        assert places.survey(kernel, [other, one], {})[RATIO].knob == other

    def test_the_globs_of_a_path_are_those_whose_expressions_match_it(self) -> None:
        """Looked up by their beginnings, also by one that is longer than the path, or all of it."""
        globs = [
            *("/proc/sys/*", "/proc/sys/vm/*", "/proc/sys/vm/dirty_[br]*", "/proc/sys/vm/dirty_b*"),
            *(r"/proc/sys/vm/a\*b", "/proc/sys/vm/swappiness", "/sys/block/*/queue/?", "*"),
        ]
        paths = ["", "/", "/proc/sys/", "/proc/sys/vm", "/proc/sys/vm/", "/proc/sys/vm/a*b"]
        paths += ["/proc/sys/vm/dirty_b", "/proc/sys/vm/swappiness", "/sys/block/sda/queue/x"]
        globs_of = places._matcher(frozenset(globs))
        for path in paths:
            alike = [glob for glob in globs if set(glob) & set("*?[")]
            wild = {glob for glob in alike if places._expression(glob).fullmatch(path)}
            assert sorted(globs_of(path)) == sorted(wild | ({path} & set(globs)))

    def test_a_glob_without_files_is_none_of_anothers(self, kernel: FakeKernel) -> None:
        """A board answers with the glob itself, which looks like one of the other's files."""
        glob = POLICY.format("*")
        one = Knob("a", f"{glob}scaling_*_freq", "integer", "")
        other = Knob("b", f"{glob}scaling_no_freq", "integer", "")
        found = places.survey(kernel, [one, other], {})
        assert len([place for place in found.values() if place.knob == one]) == 4
        assert found[f"{glob}scaling_no_freq"].knob == other

    def test_what_a_board_offers(self, kernel: FakeKernel) -> None:
        def offered(name: str) -> Sequence[str]:
            found = places.survey(kernel, [knobs.find_knob(name)], ROLES)
            return places.offered(kernel, list(found.values()))

        assert offered("t.thp") == ("always", "madvise", "never")
        assert offered("t.governor") == ("performance", "schedutil", "ondemand")
        assert offered("t.max_freq") == ("600000", "1000000", "1500000")
        assert offered("t.ratio") == ()
        little = POLICY.format(0) + "scaling_available_frequencies"
        kernel.set(little, "600000 1000000 800000\n")  # what all CPUs take
        assert offered("t.max_freq") == ("600000", "1000000")


class TestCombinations:
    def of(self, *texts: str, boards: Sequence[FakeKernel]) -> list[Combination]:
        reached = [Reached(LocalBoard(), board, ROLES) for board in boards]  # type: ignore[arg-type]
        return combinations(parse_setting_requests(texts), reached)

    def test_without_a_request_there_is_one_combination(self, kernel: FakeKernel) -> None:
        (only,) = self.of(boards=[kernel])
        assert only.settings == () and only.label("mine") == "mine"

    def test_each_value_with_each_other(self, kernel: FakeKernel) -> None:
        found = self.of("t.max_freq=each", "t.other=1", "t.thp=never+always", boards=[kernel])
        assert [combination.values for combination in found] == [
            {"t.max_freq": frequency, "t.other": "1", "t.thp": thp}
            for frequency in ("600000", "1000000", "1500000")
            for thp in ("never", "always")
        ]
        assert found[1].label("mine") == "mine t.max_freq=600000 t.thp=always"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("t.thp=often", "local does not offer t.thp=often: choose one of always, madvise"),
            ("t.governor=userspace", "choose one of performance, schedutil, ondemand"),
            ("t.ratio=each", "does not say which values .* name them"),
        ],
    )
    def test_what_a_board_does_not_offer(self, kernel: FakeKernel, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            self.of(text, boards=[kernel])

    def test_what_a_board_does_not_have(self, kernel: FakeKernel) -> None:
        kernel.set(AHEAD, None)
        with pytest.raises(SettingError, match=f"local: t.ahead cannot be set: {AHEAD} is not"):
            self.of("t.ahead=1", boards=[kernel])

    def test_boards_that_offer_different_values(self, kernel: FakeKernel, memory: Path) -> None:
        other = FakeKernel(memory / "other")
        for number in (0, 4):
            other.set(POLICY.format(number) + "scaling_available_frequencies", "600000 2000000\n")
        with pytest.raises(UsageError, match=r"offer different values .* t\.max_freq=A"):
            self.of("t.max_freq=each", boards=[kernel, other])
        assert len(self.of("t.max_freq=600000", boards=[kernel, other])) == 1


class TestApply:
    def test_sets_reads_back_and_undoes(self, kernel: FakeKernel, state: Path) -> None:
        before = kernel.state()
        with applied(
            kernel, "t.thp=never", "t.other=0", "t.printk=1 1 1 1", "t.ahead=4096"
        ) as made:
            assert kernel.get(THP) == "always madvise [never]\n"
            assert kernel.get(PRINTK) == "1\t1\t1\t1\n"
            assert (kernel.get(OTHER), kernel.get(AHEAD)) == ("0\n", "4096\n")
            made.check_held()
            assert len(journals(state)) == 1 and not pending()
        assert kernel.state() == before
        assert journals(state) == []

    def test_what_is_set_already_is_not_written(self, kernel: FakeKernel) -> None:
        with applied(kernel, "t.ratio=20", "t.mask=3"):
            pass
        assert kernel.writes == []

    def test_every_file_of_a_knob_is_set(self, kernel: FakeKernel) -> None:
        with applied(kernel, "t.max_freq=1000000"):
            for number in (0, 4):
                assert kernel.get(POLICY.format(number) + "scaling_max_freq") == "1000000\n"

    @pytest.mark.parametrize("fleeting", [False, True])
    def test_one_file_of_a_family_is_set_and_no_other(
        self, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch, fleeting: bool
    ) -> None:
        """What one of its files is called by a name of its own stays that one's, in any order."""
        family = Knob(
            *("t.family", "/proc/sys/vm/[d-s]*", "text", ""),
            pattern="[0-9]{1,19}", each=True, fleeting=fleeting,
        )  # fmt: skip
        item = replace(CATALOGUE[0], id="family", knobs=(family,))
        monkeypatch.setattr(catalogue, "load_catalogue", lambda: (*CATALOGUE, item))
        kernel.set("/proc/sys/vm/page-cluster", "3\n")
        before = kernel.state()
        one = Setting(family, "0", ("/proc/sys/vm/page-cluster",))
        other = Setting(knobs.find_knob("t.other"), "10")
        for wanted in ([one, other], [other, one]):
            with intervening("fake", kernel, lambda: again(kernel), ROLES) as made:
                made.apply(wanted)
                assert kernel.get(one.paths[0]) == "0\n"
                assert kernel.get(OTHER) == "10\n"
                assert {a.path for a in made.applied} == {one.paths[0], OTHER}
                made.check_held()
            assert kernel.state() == before
        with (
            pytest.raises(SettingError, match="stands for many files"),
            intervening("fake", kernel, lambda: again(kernel), ROLES) as made,
        ):
            made.apply([Setting(family, "0")])
        assert kernel.state() == before

    def test_files_of_a_knob_can_have_values_of_their_own(self, kernel: FakeKernel) -> None:
        before = kernel.state()
        paths = [POLICY.format(number) + "scaling_max_freq" for number in (0, 4)]
        knob = knobs.find_knob("t.max_freq")
        values = [Setting(knob, v, (p,)) for v, p in zip(("1000000", "600000"), paths, strict=True)]
        with intervening("fake", kernel, lambda: again(kernel), ROLES) as made:
            made.apply(values)
            assert [kernel.get(path) for path in paths] == ["1000000\n", "600000\n"]
            assert [(one.path, one.old, one.new) for one in made.applied] == [
                (paths[0], "1500000", "1000000"),
                (paths[1], "1500000", "600000"),
            ]
            kernel.set(paths[1], "1000000\n")
            with pytest.raises(NotMade) as gone:
                made.check_held()
            assert gone.value.settings == (values[1],)
        assert kernel.state() == before

    def test_all_that_cannot_be_made_is_named(self, kernel: FakeKernel) -> None:
        before = kernel.state()
        knob = knobs.find_knob("t.max_freq")
        away = Setting(knob, "600000", (POLICY.format(7) + "scaling_max_freq",))
        wrong, fine = settings("t.bytes=1", "t.thp=never")
        with (
            pytest.raises(NotMade, match="policy7") as error,
            intervening("fake", kernel, lambda: again(kernel), ROLES) as made,
        ):
            made.apply([fine, away])
        assert error.value.settings == (away,) and kernel.state() == before
        with (
            pytest.raises(NotMade) as error,
            intervening("fake", kernel, lambda: again(kernel), ROLES) as made,
        ):
            made.apply([fine, wrong])
        assert error.value.settings == (wrong,) and kernel.state() == before

    @pytest.mark.parametrize(
        "texts",
        [
            ("t.min_freq=1000000", "t.max_freq=1000000"),
            ("t.max_freq=600000", "t.min_freq=600000"),
            ("t.bytes=100000",),
            ("t.ratio=30",),
            ("t.governor=performance", "t.max_freq=600000"),
            MANY,
        ],
    )
    @pytest.mark.parametrize("by_bytes", [False, True])
    def test_what_is_tied_together_goes_there_and_back(
        self, kernel: FakeKernel, texts: tuple[str, ...], by_bytes: bool
    ) -> None:
        if by_bytes:
            kernel.set(RATIO, "0\n")
            kernel.set(BYTES, "50000\n")
        if texts[0].startswith(
            "t.max"
        ):  # from narrow limits, which refuse the one before the other
            for number in (0, 4):
                kernel.set(POLICY.format(number) + "scaling_min_freq", "1500000\n")
        before = kernel.state()
        with applied(kernel, *texts):
            assert kernel.state() != before
        assert kernel.state() == before

    def test_what_excludes_each_other_is_an_error(self, kernel: FakeKernel) -> None:
        before = kernel.state()
        assert re.search(
            "the kernel made something else of it", refusal(kernel, "t.ratio=30", "t.bytes=100000")
        )
        assert kernel.state() == before

    def test_another_change_is_an_error_and_undone(self, kernel: FakeKernel, state: Path) -> None:
        """Of a kernel whose setting moves one that the catalogue does not tie to it."""
        before = kernel.state()
        plain = kernel.write

        def write(path: str, value: str) -> FileWritten:
            result = plain(path, value)
            if path == PRINTK and value == "1 1 1 1":
                kernel.set(OTHER, "61\n")
            return result

        kernel.write = write  # type: ignore[method-assign]
        assert re.search(
            rf"something else.*t\.other \({OTHER}: 60 → 61\)", refusal(kernel, "t.printk=1 1 1 1")
        )
        assert kernel.state() == before
        assert journals(state) == []

    def test_a_value_that_is_refused(self, kernel: FakeKernel, state: Path) -> None:
        before = kernel.state()
        assert re.search(
            r"t\.bytes=1 was refused .*EINVAL", refusal(kernel, "t.other=1", "t.bytes=1")
        )
        assert kernel.state() == before
        assert journals(state) == []

    def test_a_value_that_becomes_another(self, kernel: FakeKernel) -> None:
        before = kernel.state()
        kernel.highest[OTHER] = 100
        assert re.search(
            rf"t\.other=150: .* {OTHER} is 100", refusal(kernel, "t.thp=never", "t.other=150")
        )
        assert kernel.state() == before and not pending()

    def test_a_user_who_may_not(self, kernel: FakeKernel, state: Path) -> None:
        before = kernel.state()
        kernel.refused[THP] = "EACCES"
        assert re.search("may not be set .* needs root", refusal(kernel, "t.thp=never"))
        assert kernel.state() == before and journals(state) == []

    @pytest.mark.parametrize(
        ("change", "text", "message"),
        [
            ((THP, None), "t.thp=never", "is not there"),
            ((THP, "\n"), "t.thp=never", "could not be put back"),
            ((OTHER, "60 61\n"), "t.other=1", "could not be put back: .* is 60 61"),
            ((PRINTK, "a lot\n"), "t.printk=1 1 1 1", "could not be put back"),
        ],
    )
    def test_what_could_not_be_put_back_is_not_set(
        self, kernel: FakeKernel, change: tuple[str, str | None], text: str, message: str
    ) -> None:
        kernel.set(*change)
        assert re.search(message, refusal(kernel, text))
        assert kernel.writes == []

    def test_nothing_outside_is_written(self, kernel: FakeKernel) -> None:
        kernel.set("/etc/passwd", "1\n")
        assert re.search("not among the files that may be written", refusal(kernel, "t.outside=2"))
        assert kernel.writes == []

    def test_a_setting_that_does_not_stay_is_seen(self, kernel: FakeKernel) -> None:
        before = kernel.state()
        with applied(kernel, "t.other=1") as made:
            kernel.set(OTHER, "30\n")
            with pytest.raises(SettingError, match=r"did not stay 1 .* is 30"):
                made.check_held()
        assert kernel.state() == before

    def test_a_device_that_goes_away_needs_no_undoing(
        self, kernel: FakeKernel, state: Path
    ) -> None:
        with applied(kernel, "t.ahead=4096", "t.other=1"):
            kernel.set(AHEAD, None)
        assert kernel.get(OTHER) == "60\n" and journals(state) == []


class TestUndo:
    @pytest.mark.parametrize("error", [RuntimeError(), KeyboardInterrupt(), SystemExit(1)])
    def test_after_an_error(self, kernel: FakeKernel, error: BaseException) -> None:
        before = kernel.state()
        with pytest.raises(type(error)), applied(kernel, *MANY):
            raise error
        assert kernel.state() == before and not pending()

    def test_over_a_new_connection_when_the_first_is_gone(self, kernel: FakeKernel) -> None:
        before = kernel.state()
        with pytest.raises(BoardUnreachable), applied(kernel, *MANY):
            kernel.is_open = False
            raise lost()
        assert kernel.state() == before and not pending()

    def test_of_a_lost_board_says_what_is_still_set(self, kernel: FakeKernel) -> None:
        before = kernel.state()

        def gone() -> FakeKernel:
            raise lost()

        undone = applied(kernel, "t.thp=never", "t.other=1", reopen=gone)
        with pytest.raises(BoardUnreachable) as caught, undone:
            kernel.is_open = False
            raise KeyboardInterrupt
        assert "not put back: " in caught.value.message
        assert "t.thp" in caught.value.message and "t.other" in caught.value.message
        assert caught.value.remedy == "benchvise restore fake"
        assert len(pending()) == 1
        assert {r.outcome for r in restored(kernel)} == {RestoreOutcome.DONE}
        assert kernel.state() == before and not pending()

    def test_that_the_kernel_refuses_says_so(self, kernel: FakeKernel) -> None:
        before = kernel.state()
        undone = applied(kernel, "t.other=1", "t.thp=never")
        with pytest.raises(SettingError, match=r"not put back: t\.other \(.* EIO when 60"), undone:
            kernel.refused[OTHER] = "EIO"
        assert kernel.get(THP) == "always [madvise] never\n"
        (session,) = pending()
        assert {change.knob for change in session.pending} == {"t.other"}
        restored(kernel)
        assert kernel.state() == before

    def test_of_a_full_disk_goes_on(
        self, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = kernel.state()
        with monkeypatch.context() as full, applied(kernel, *MANY):
            full.setattr(os, "write", no_space)
        assert kernel.state() == before

    def test_nothing_is_set_without_a_journal(
        self, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as full:
            full.setattr(os, "write", no_space)
            assert "No space left" in refusal(kernel, *MANY)
        assert kernel.writes == []
        with applied(kernel, *MANY):  # with space again
            assert kernel.writes


def no_space(_descriptor: int, _data: bytes) -> int:
    raise OSError(28, "No space left on device")


class TestEveryStep:
    """At each step of the way the connection breaks, or the process is killed."""

    @pytest.mark.parametrize("for_good", [False, True])
    def test_lost_at_every_step(self, kernel: FakeKernel, for_good: bool) -> None:
        before = kernel.state()
        number, happened = -1, True
        while happened:
            number, happened = number + 1, False
            left = iter(range(number))

            def step(left: Iterator[int] = left) -> None:
                nonlocal happened
                if next(left, None) is None:
                    happened, kernel.is_open = True, False
                    raise lost()

            def reopen() -> FakeKernel:
                if for_good:
                    raise lost()
                return again(kernel)

            kernel.step, kernel.is_open = step, True
            try:
                with applied(kernel, *MANY, reopen=reopen):
                    pass
            except BoardUnreachable as error:
                assert happened
                was_set = "not put back" in error.message
                assert was_set == bool(pending()), f"step {number}"
            kernel.step = lambda: None
            if for_good:
                restored(kernel)
            assert kernel.state() == before, f"step {number}"
            assert not pending()
        assert number > 60

    def test_killed_at_every_step_of_setting_and_restoring(
        self, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Steps are those on the board and those of the journal; each in a process of its own."""
        before = kernel.state()

        def intervene() -> None:
            with applied(kernel, *MANY):
                kernel.step()

        killed = 0
        while killed_at(kernel, monkeypatch, killed, intervene):
            assert killed < 1000
            if killed % 3 == 0:  # and again in the middle of restoring
                killed_at(kernel, monkeypatch, killed // 2, lambda: restored(kernel))
            restored(kernel)
            assert kernel.state() == before, f"killed at step {killed}"
            assert journals(journal.state_directory()) == []
            killed += 1
        assert kernel.state() == before
        assert killed > 60


def killed_at(
    kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch, number: int, work: Callable[[], object]
) -> bool:
    """Does the work in a child that is killed at a step; False when there are not so many."""
    child = os.fork()
    if child == 0:
        left = iter(range(number))

        def step() -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        def write(descriptor: int, data: bytes) -> int:
            step()
            half = len(data) // 2
            if half:  # a line may be cut off
                plain_write(descriptor, data[:half])
                step()
            plain_write(descriptor, data[half:])
            step()
            return len(data)

        plain_write = os.write
        try:
            FakeKernel.step = property(lambda _self: step, lambda _self, _value: None)  # type: ignore
            monkeypatch.setattr(os, "write", write)
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


class TestRestore:
    def leave(self, kernel: FakeKernel, *texts: str) -> None:
        """What a run leaves that is killed while it measures."""
        child = os.fork()
        if child == 0:
            with applied(kernel, *texts):
                os._exit(9)
        os.waitpid(child, 0)

    def test_puts_back_and_forgets(self, kernel: FakeKernel, state: Path) -> None:
        before = kernel.state()
        self.leave(kernel, *MANY)
        assert kernel.state() != before
        (result,) = restored(kernel)
        assert result.outcome is RestoreOutcome.DONE
        assert {c.change.knob for c in result.changes if c.verdict is RestoreVerdict.RESTORED} == {
            *("t.thp", "t.min_free", "t.bytes", "t.ratio", "t.governor", "t.rate_limit"),
            "t.min_freq",
        }
        assert kernel.state() == before and journals(state) == []
        assert restored(kernel) == []

    def test_ends_a_probe_that_may_still_write(
        self, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ended: list[tuple[int, str]] = []
        monkeypatch.setattr(FakeKernel, "end_other", lambda _self, *probe: ended.append(probe))
        self.leave(kernel, "t.other=1")
        restored(kernel)
        assert ended == [(4711, "/opt/bvprobe")]

    def test_leaves_alone_what_someone_else_has_set(self, kernel: FakeKernel) -> None:
        self.leave(kernel, "t.other=1", "t.thp=never")
        kernel.set(OTHER, "77\n")
        (result,) = restored(kernel)
        assert result.outcome is RestoreOutcome.LEFT
        verdicts = {one.change.knob: one.verdict for one in result.changes}
        assert verdicts["t.other"] is RestoreVerdict.FOREIGN
        assert kernel.get(OTHER) == "77\n"
        assert kernel.get(THP) == "always [madvise] never\n"
        (again_,) = restored(kernel)  # still due
        assert again_.outcome is RestoreOutcome.LEFT
        (forced,) = restored(kernel, force=True)
        assert forced.outcome is RestoreOutcome.DONE
        assert kernel.get(OTHER) == "60\n" and not pending()

    def test_can_be_told_to_keep_it(self, kernel: FakeKernel) -> None:
        self.leave(kernel, "t.other=1", "t.thp=never")
        kernel.set(OTHER, "77\n")
        (result,) = restored(kernel, keep=True)
        assert result.outcome is RestoreOutcome.DONE and not pending()
        assert (kernel.get(OTHER), kernel.get(FREE)) == ("77\n", "67584\n")

    def test_does_not_undo_someone_elses_by_what_is_tied_to_it(self, kernel: FakeKernel) -> None:
        self.leave(kernel, "t.bytes=100000")
        kernel.write(BYTES, "200000")
        (result,) = restored(kernel)
        assert result.outcome is RestoreOutcome.LEFT
        assert (kernel.get(BYTES), kernel.get(RATIO)) == ("200000\n", "0\n")

    def test_a_tied_setting_changed_by_someone_else_is_left_alone(self, kernel: FakeKernel) -> None:
        self.leave(kernel, "t.min_freq=1000000")
        path = POLICY.format(0) + "scaling_max_freq"
        kernel.set(path, "1000000\n")
        (result,) = restored(kernel)
        foreign = [one for one in result.changes if one.verdict is RestoreVerdict.FOREIGN]
        assert path in {one.change.path for one in foreign}
        assert kernel.get(path) == "1000000\n"

    def test_what_went_back_by_itself_is_fine(self, kernel: FakeKernel) -> None:
        self.leave(kernel, "t.other=1", "t.ahead=4096")
        kernel.set(OTHER, "60\n")
        kernel.set(AHEAD, None)
        (result,) = restored(kernel)
        verdicts = {one.change.knob: one.verdict for one in result.changes}
        assert verdicts == {"t.other": RestoreVerdict.ALREADY, "t.ahead": RestoreVerdict.GONE}
        assert result.outcome is RestoreOutcome.DONE and not pending()

    @pytest.mark.parametrize("after_boot", ["60\n", "1\n", "30\n"])
    def test_a_boot_has_undone_everything(self, kernel: FakeKernel, after_boot: str) -> None:
        self.leave(kernel, "t.other=1")
        kernel.set(BOOT_ID, "boot-2\n")
        kernel.set(OTHER, after_boot)
        (result,) = restored(kernel)
        assert result.outcome is RestoreOutcome.DONE and not pending()
        assert kernel.get(OTHER) == after_boot

    def test_a_board_out_of_reach_stays_due(self, kernel: FakeKernel) -> None:
        self.leave(kernel, "t.other=1")

        @contextmanager
        def reach(_name: str) -> Iterator[RestoreContact]:
            raise lost()
            yield RestoreContact(kernel)

        (result,) = restore(None, reach=reach)
        assert result.outcome is RestoreOutcome.UNREACHABLE and result.reason
        assert len(pending()) == 1

    def test_what_is_refused_stays_due(self, kernel: FakeKernel) -> None:
        self.leave(kernel, "t.other=1")
        kernel.refused[OTHER] = "EACCES"

        @contextmanager
        def reach(_name: str) -> Iterator[RestoreContact]:
            yield RestoreContact(kernel)

        (result,) = restore(None, reach=reach)
        assert result.outcome is RestoreOutcome.LEFT
        assert [(c.verdict, c.reason) for c in result.changes] == [
            (RestoreVerdict.FAILED, "EACCES, is 1")
        ]
        assert len(pending()) == 1
        assert restored(kernel)[0].outcome is RestoreOutcome.DONE

    def test_only_of_the_board_named(self, kernel: FakeKernel) -> None:
        self.leave(kernel, "t.other=1")
        assert restored(kernel, "local") == []
        assert restored(kernel, "fake")[0].outcome is RestoreOutcome.DONE

    def test_nothing_that_is_no_setting_any_more(self, kernel: FakeKernel, state: Path) -> None:
        """A journal of another version, or one that somebody has edited."""
        self.leave(kernel, "t.other=1")
        (file,) = journals(state)
        file.write_text(file.read_text().replace(OTHER, "/proc/sys/kernel/core_pattern"))
        kernel.set("/proc/sys/kernel/core_pattern", "1\n")
        (result,) = restored(kernel)
        assert result.outcome is RestoreOutcome.LEFT
        assert [one.verdict for one in result.changes] == [RestoreVerdict.UNKNOWN]
        assert kernel.get("/proc/sys/kernel/core_pattern") == "1\n"


class TestJournal:
    def test_a_living_session_is_left_alone_and_alone(self, kernel: FakeKernel) -> None:
        with applied(kernel, "t.other=1"):
            (result,) = restored(kernel)
            assert result.outcome is RestoreOutcome.ALIVE
            assert f"process {os.getpid()} has changed" in refusal(kernel, "t.thp=never")
            assert kernel.get(OTHER) == "1\n"
        assert kernel.get(OTHER) == "60\n"

    def test_what_a_killed_one_was_starting_keeps_nothing(
        self, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A child has its parent's locks until it has become another program, which takes seconds
        where it waits for a CPU."""
        (ours, childs), (its_go, go) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            os.close(go)
            with applied(kernel, "t.other=1"):
                if os.fork() == 0:
                    os.write(childs, b"has them")
                    os.read(its_go, 1)
                    os._exit(0)
                time.sleep(PATIENCE)
        os.close(childs)
        assert os.read(ours, 8) == b"has them"
        now = 0.0

        def pause(seconds: float) -> None:
            nonlocal now
            now += seconds
            if now > 5 and now - seconds <= 5:
                os.write(go, b".")
                assert os.read(ours, 1) == b""  # it has ended

        clock = SimpleNamespace(monotonic=lambda: now, sleep=pause)
        monkeypatch.setattr("benchvise.file_locks.time", clock)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        (result,) = restored(kernel)
        assert result.outcome is RestoreOutcome.DONE and now > 5
        assert kernel.get(OTHER) == "60\n"
        for end in (ours, its_go, go):
            os.close(end)

    def test_the_same_board_by_another_name_is_the_same(self, kernel: FakeKernel) -> None:
        with applied(kernel, "t.other=1"):
            second = Intervention("alias", kernel, lambda: again(kernel), ROLES)
            with pytest.raises(SettingError, match="alias: process"):
                second.apply(settings("t.ratio=1"))
            second.undo()
            kernel.set(BOOT_ID, "boot-of-another\n")
            with intervening("other", kernel, lambda: again(kernel), ROLES) as third:
                third.apply(settings("t.ratio=1"))

    def test_what_is_due_comes_first(self, kernel: FakeKernel) -> None:
        TestRestore().leave(kernel, "t.other=1")
        assert re.search(
            "is not put back yet: benchvise restore fake", refusal(kernel, "t.other=1")
        )
        assert kernel.get(OTHER) == "1\n"

    def test_is_on_the_disk_before_the_board_is_changed(
        self, kernel: FakeKernel, state: Path
    ) -> None:
        seen: list[dict[str, object]] = []
        plain = kernel.write

        def write(path: str, value: str) -> FileWritten:
            (file,) = journals(state)
            records = [json.loads(line) for line in file.read_text().splitlines()]
            seen.extend(r for r in records if r["record"] == "change" and r["path"] == path)
            return plain(path, value)

        kernel.write = write  # type: ignore[method-assign]
        with applied(kernel, "t.other=1"):
            pass
        assert seen[0] == {
            "record": "change",
            "number": 0,
            "board": "fake",
            "knob": "t.other",
            "path": OTHER,
            "old": "60",
            "new": "1",
            "boot_id": "boot-1",
            "time": seen[0]["time"],
        }

    @pytest.mark.long
    def test_of_which_the_end_is_missing(self, kernel: FakeKernel, state: Path) -> None:
        """Cut off at every byte, it either restores what its lines say or is of no effect."""
        TestRestore().leave(kernel, "t.other=1")
        (file,) = journals(state)
        content = file.read_bytes()
        change_ends = content.index(b"\n", content.index(b'"change"')) + 1
        for length in range(0, len(content), 1 if skips.LONG else 7):
            kernel.set(OTHER, "1\n" if length >= change_ends else "60\n")
            file.write_bytes(content[:length])
            results = restored(kernel)
            assert kernel.get(OTHER) == "60\n", content[:length]
            assert not file.exists()
            assert all(result.outcome is RestoreOutcome.DONE for result in results)

    @pytest.mark.parametrize(
        "content",
        [
            b"\0" * 400 + b'\n{"record": "applied"}\n',
            b"{}\n{}\n",
            b'{"record":"session"}\n',
            b"[" * 9999,
        ],
    )
    def test_that_is_damaged_is_named_and_kept(
        self, kernel: FakeKernel, state: Path, content: bytes
    ) -> None:
        state.mkdir()
        file = state / "20260101T000000-1.jsonl"
        file.write_bytes(content + b"\nx\n")
        (result,) = restored(kernel)
        assert result.outcome is RestoreOutcome.DAMAGED and result.reason and result.remedy
        assert file.exists() and pending()

    def test_is_private(self, kernel: FakeKernel, state: Path) -> None:
        with applied(kernel, "t.other=1"):
            assert state.stat().st_mode & 0o777 == 0o700
            assert journals(state)[0].stat().st_mode & 0o777 == 0o600

    def test_lies_where_xdg_says(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert journal.state_directory({"BENCHVISE_STATE": "/a"}) == Path("/a")
        assert journal.state_directory({"XDG_STATE_HOME": "/b"}) == Path("/b/benchvise")
        home = Path.home() / ".local" / "state" / "benchvise"
        assert journal.state_directory({"XDG_STATE_HOME": "relative"}) == home


class TestInterrupts:
    def test_wait_until_the_end(self) -> None:
        reached = False
        with pytest.raises(KeyboardInterrupt), interrupts.deferred():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.raise_signal(number)
            reached = True
        assert reached
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_are_let_through_once(self) -> None:
        undone = False
        with pytest.raises(KeyboardInterrupt), interrupts.deferred():
            try:
                with interrupts.deferred(), interrupts.let_through():
                    signal.raise_signal(signal.SIGTERM)
                    raise AssertionError("not reached")
            finally:
                signal.raise_signal(signal.SIGINT)
                undone = True
        assert undone

    def test_that_came_before_come_at_once(self) -> None:
        with pytest.raises(KeyboardInterrupt), interrupts.deferred():
            signal.raise_signal(signal.SIGINT)
            with interrupts.let_through():
                raise AssertionError("not reached")

    def test_that_are_ignored_stay_so(self) -> None:
        previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with interrupts.deferred(), interrupts.let_through():
                signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGHUP, previous)

    def test_let_through_alone_has_no_effect(self) -> None:
        with interrupts.let_through(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
