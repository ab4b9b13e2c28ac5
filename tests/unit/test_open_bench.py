"""The open bench of ``why``: its cases are whole, its judgement is right. Boards are not made."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.why import publish
from benchmarks.why.open import __main__ as program
from benchmarks.why.open import case as cases
from benchmarks.why.open import decoys, kill, load, published, results_file, table
from benchmarks.why.open.answer import read
from benchmarks.why.open.boards import Board
from benchmarks.why.open.case import CLASSES, Case
from benchmarks.why.open.effect import Effects
from benchmarks.why.open.result import ENDED_BEFORE, EQUAL, NO_ANSWER, CaseResult, judge
from benchmarks.why.open.run import Options
from benchmarks.why.open.state import changed, own_changes
from benchmarks.why.places import NotHere
from benchmarks.why.real import PlantedEffect
from benchvise.errors import UsageError
from benchvise.state import journal

_HERE = Path(cases.__file__).parent
_CASE = Case("a", "limits", "https://x", "told", "true", truth=("nofile",), where="/etc/l:n")
_LARGE, _NONE = PlantedEffect(1.0, 0.1), PlantedEffect(0.0, 0.1)
_EFFECTS = Effects(_LARGE, _NONE)


class TestCases:
    def test_there_are_sixty_and_more_in_twelve_classes(self) -> None:
        every = [*cases.development(), *cases.held_out()]
        number = Counter(case.kind for case in every)
        assert len(CLASSES) == len(number) == 12
        assert set(number) == set(CLASSES)
        assert min(number.values()) >= 5
        assert len(every) >= 60
        assert len({case.name for case in every}) == len(every)

    def test_the_held_out_set_is_of_many_classes_and_new(self) -> None:
        held_out = cases.held_out()
        if not held_out:  # run and not replaced: the page does not pretend that there is one
            assert publish.NO_SET in publish.page(publish.load())
            return
        assert publish.NO_SET not in publish.page(publish.load())
        assert len(held_out) >= 22
        assert len({case.kind for case in held_out}) >= 8
        assert {case.machine for case in held_out} == {"ssh"}
        reports = {case.report for case in cases.development()}
        assert not [case.name for case in held_out if case.report in reports]

    @pytest.mark.parametrize("written", [None, "# to be written\n"])
    def test_without_an_unseen_set_nothing_is_run_or_published(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        written: str | None,
    ) -> None:
        if written is not None:
            (tmp_path / "held_out.toml").write_text(written)
        monkeypatch.setattr(cases, "_HELD_OUT", tmp_path / "held_out.toml")
        assert cases.held_out() == []
        assert publish.NO_SET in publish.page(publish.load())
        with pytest.raises(SystemExit):
            program.main(["--held-out", "--publish"])
        assert "there is no held-out set at present" in capsys.readouterr().err

    def test_each_cites_a_report_and_can_be_recognised(self) -> None:
        for case in (*cases.development(), *cases.held_out()):
            assert case.report.startswith("https://"), case.name
            assert case.told and case.command and (case.plant or case.append), case.name
            assert case.machine in ("ssh", "qemu")
            assert case.command.isprintable(), f"{case.name}: a command is one line"
            for pattern in (*case.truth, case.avoids):
                re.compile(pattern)

    def test_no_key_is_mistyped(self) -> None:
        known = {field.name for field in fields(Case)} - {"held_out"}
        for path in (*_HERE.glob("cases/*.toml"), *_HERE.glob("held_out.toml")):
            for written in tomllib.loads(path.read_text()).get("case", []):
                assert set(written) <= known, written["name"]


class TestDecoys:
    @pytest.mark.parametrize("seed", ["a/0", "b/0", "c/1"])
    def test_ten_that_differ_between_two_distributions(self, seed: str) -> None:
        drawn = decoys.draw(seed)
        assert len(drawn.differences) == decoys.NUMBER
        assert drawn == decoys.draw(seed)
        for one in drawn.differences:
            assert one.values.get(drawn.good) != one.values.get(drawn.bad)
            assert one.source.startswith("https://")

    def test_what_would_touch_the_cause_is_not_drawn(self) -> None:
        for seed in "abcdefgh":
            assert not [d for d in decoys.draw(seed, "^net").differences if "net." in d.name]

    def test_boards_are_set_as_their_distribution(self) -> None:
        drawn = decoys.draw("a", only=("sysctl",))
        for bad in (False, True):
            distribution = drawn.bad if bad else drawn.good
            wanted = [d.name for d in drawn.differences if distribution in d.values]
            script = drawn.script(bad=bad)
            assert [name for name in wanted if f"{name} = " in script] == wanted
            assert len(drawn.sysctls(bad=bad)) == len(wanted)


def _suspect(name: str) -> dict[str, Any]:
    return {"id": name, "title": f"the {name}", "item": "", "good": "1", "bad": "2", "members": []}


def _document(**changed: object) -> dict[str, Any]:
    cause = {
        "suspects": [_suspect("vm.swappiness")],
        "share": {"value": 0.4},
        "origins": [{"side": "bad", "file": "/etc/sysctl.conf", "line": 3}],
    }
    return {
        "verdict": "partly explained",
        "headline": "…",
        "causes": [cause],
        "suspects": [_suspect(name) for name in ("vm.swappiness", "TZ", "nofile", "PATH")],
        "experiments": [{"outcome": "does not close the gap", "flipped": ["TZ"]}],
        "writes": [{"path": "/proc/sys/vm/swappiness"}],
        "seconds": 90,
        "restored": True,
        **changed,
    }


def _judged(case: Case, printed: str = "", **changed: object) -> CaseResult:
    answer = read(_document(**changed))
    return judge(case, answer, _EFFECTS, printed=printed, origin="/etc/l:3", changes=())


class TestJudgement:
    def test_proven_causes_come_first_then_what_was_not_tried(self) -> None:
        answer = read(_document())
        assert [(one.said.split(" | ")[0], one.proven) for one in answer.named] == [
            ("vm.swappiness", True), ("nofile", False), ("PATH", False),
        ]  # fmt: skip
        assert answer.named[0].places == ("/etc/sysctl.conf:3",)

    def test_files_of_a_program_are_not_named_by_a_value_of_it(self) -> None:
        """A variable of a server was taken for the file that configures it."""
        members = ["partner.state:pg:variable LC_ALL", "/etc/pg/local.conf"]
        of_server = {**_suspect("partner.state:pg:variable LC_ALL"), "members": members}
        (named,) = read(_document(causes=[], suspects=[of_server], untested=[])).named
        assert "variable LC_ALL" in named.said
        assert "local.conf" not in named.said

    def test_what_is_not_decided_comes_in_the_order_of_the_answer(self) -> None:
        answer = read(_document(untested=[{"suspect": "PATH"}, {"suspect": "vm.swappiness"}]))
        names = [one.said.split(" | ")[0] for one in answer.named]
        assert names == ["vm.swappiness", "PATH", "nofile"]

    def test_a_cause_that_is_not_the_planted_one_is_false(self) -> None:
        result = _judged(_CASE)
        assert result.place == 2
        assert not result.proven
        assert len(result.false) == 1

    def test_a_true_cause_that_is_proven_is_right(self) -> None:
        result = _judged(replace(_CASE, truth=("swappiness",)))
        assert result.is_first and result.proven and result.is_right
        assert result.share == 0.4
        assert not result.false

    def test_what_was_excluded_is_not_named(self) -> None:
        result = _judged(replace(_CASE, truth=("TZ",)))
        assert result.place is None
        assert result.excluded
        assert "CAUSE EXCLUDED" in " ".join(table.row(result))

    def test_what_was_never_tried_is_not_excluded(self) -> None:
        assert not _judged(replace(_CASE, truth=("locale",))).excluded
        assert not _judged(_CASE).excluded

    def test_a_cause_that_was_proven_after_an_experiment_beside_it_is_not_excluded(self) -> None:
        beside = {"outcome": "does not close the gap", "flipped": ["vm.swappiness", "TZ"]}
        result = _judged(replace(_CASE, truth=("swappiness",)), experiments=[beside])
        assert result.proven
        assert not result.excluded

    def test_the_line_must_be_the_very_one(self) -> None:
        assert _judged(_CASE, "set by /etc/l:3 (limits)").where
        assert not _judged(_CASE, "set by /etc/l:35").where

    def test_a_plant_without_an_effect_does_not_count(self) -> None:
        small = Effects(_NONE, _NONE)
        result = judge(
            _CASE, read(_document()), small, printed="", origin="", changes=()
        )  # fmt: skip
        assert not result.counts

    def test_equal_sides_have_no_difference(self) -> None:
        equal = replace(_CASE, kind=EQUAL, truth=())
        assert _judged(equal, causes=[], verdict="no difference shown").is_right
        wrong = _judged(equal)
        assert not wrong.is_right
        assert wrong.false

    def test_no_answer_is_a_miss(self) -> None:
        answered = replace(_judged(_CASE), place=1)
        silent = replace(
            CaseResult("it", "network", verdict=NO_ANSWER), experiments=None, minutes=None
        )
        first, near, *_, restored, minutes, _ = table.bars([answered, silent])
        assert (first.seen, near.seen) == ("50.0% (1 of 2)", "50.0% (1 of 2)")
        assert restored.seen == "100.0% (1 of 1)" and minutes.seen.endswith("of 1")
        assert table.row(silent)[6] == NO_ANSWER and not silent.is_right

    def test_decoys_with_an_effect_of_their_own_are_seen(self) -> None:
        assert Effects(_LARGE, PlantedEffect(0.5, 0.1)).decoys_matter
        assert not Effects(_LARGE, PlantedEffect(0.05, 0.01)).decoys_matter


class TestBoards:
    def test_one_that_is_not_reached_broke_the_case_and_does_not_leave_it_out(self) -> None:
        with pytest.raises(ConnectionError, match="good is not reached: timed out"):
            Board("good", "", ("sh", "-c", "echo timed out >&2; exit 255")).said("true")

    def test_one_that_cannot_run_the_command_leaves_the_case_out(self) -> None:
        with pytest.raises(NotHere, match="no such program"):
            Board("good", "", ("sh", "-c", "echo no such program >&2; exit 127")).said("x")


class TestState:
    def test_what_others_change_is_not_held_against_it(self) -> None:
        before = frozenset({"set /proc/sys/vm/swappiness 60", "env TZ=UTC"})
        after = frozenset({"set /proc/sys/vm/swappiness 10", "env TZ=UTC"})
        assert not changed(before, after, (), shared=True)
        assert len(changed(before, after, {"/proc/sys/vm/swappiness"}, shared=True)) == 2
        assert len(changed(before, after, (), shared=False)) == 2

    def test_a_line_that_is_gone_and_one_that_is_new_are_told(self) -> None:
        lines = changed(frozenset({"mount a"}), frozenset({"mount b"}), (), shared=True)
        assert lines == ["no more: mount a", "new: mount b"]

    def test_what_the_command_writes_by_itself_is_not_held_against_the_diagnosis(self) -> None:
        begin = frozenset(
            {"file 1 9 /etc/shadow", "file 2 9 /etc/fstab", "file 3 9 /opt/r/.git/objects/a/0"}
        )
        added = {f"file 4 9 /opt/r/.git/objects/{name}/0" for name in "bcd"}
        ran = (begin - {"file 1 9 /etc/shadow"}) | {"file 5 9 /etc/shadow", *added}
        own = own_changes([begin, ran])
        assert own.directories == {"/opt/r/.git/objects"}
        after = (ran - {"file 5 9 /etc/shadow"}) | {
            *("file 6 9 /etc/shadow", "file 4 9 /opt/r/.git/objects/e/0", "file 7 9 /etc/new")
        }
        assert changed(ran, after, (), shared=True, own=own) == ["new: file 7 9 /etc/new"]
        gone = ran - {"file 2 9 /etc/fstab", "file 3 9 /opt/r/.git/objects/a/0"}
        assert len(changed(ran, gone, (), shared=True, own=own)) == 2

    def test_what_the_command_writes_anew_is_its_own_whatever_it_then_holds(self) -> None:
        begin = frozenset({"file 1 9 /srv/a.cpp", "written 10 /srv/a.cpp", "file 2 9 /etc/fstab"})
        ran = (begin - {"written 10 /srv/a.cpp"}) | {"written 60 /srv/a.cpp"}
        own = own_changes([begin, ran])
        after = (ran - {"file 1 9 /srv/a.cpp"}) | {"file 7 9 /srv/a.cpp"}
        assert not changed(ran, after, (), shared=True, own=own)
        assert len(changed(ran, after, (), shared=True)) == 2

    def test_a_file_that_the_command_adds_to_etc_covers_no_other(self) -> None:
        begin = frozenset({"file 2 9 /etc/fstab"})
        ran = begin | {f"file 1 9 /etc/lock{number}" for number in range(5)}
        own = own_changes([begin, ran])
        lines = changed(ran, ran | {"file 1 9 /etc/fstab.away"}, (), shared=True, own=own)
        assert lines == ["new: file 1 9 /etc/fstab.away"]

    def test_a_command_that_undoes_at_each_second_run_what_it_did_is_seen(self) -> None:
        one, other = frozenset({"file 1 9 /srv/a.cpp"}), frozenset({"file 2 9 /srv/a.cpp"})
        assert not own_changes([one, one]).has("file 2 9 /srv/a.cpp", {"/srv/a.cpp"})
        own = own_changes([one, one, other])
        assert changed(one, other, (), shared=True, own=own) == []

    def test_what_time_changes_is_not_held_against_it(self) -> None:
        """Elements of a set that expire, on a board where nothing is run."""
        line = "rule \t\t  {} limit rate 1/minute burst 2 packets expires {}s548ms"
        states = [frozenset({line.format(port, left)}) for port, left in ((34520, 13), (34520, 11))]
        own = own_changes(states)
        later = frozenset({line.format(51012, 9), "rule \t\ttcp dport 80 drop"})
        lines = changed(states[0], later, (), shared=True, own=own)
        assert lines == ["new: rule \t\ttcp dport 80 drop"]

    def test_a_setting_that_changes_by_itself_covers_no_other(self) -> None:
        states = [frozenset({f"set /proc/sys/net/a {n} ", "set /proc/sys/net/b 1 "}) for n in "12"]
        own = own_changes(states)
        after = frozenset({"set /proc/sys/net/a 3 ", "set /proc/sys/net/b 2 "})
        lines = changed(states[1], after, (), shared=True, own=own)
        assert lines == ["no more: set /proc/sys/net/b 1 ", "new: set /proc/sys/net/b 2 "]


class TestKill:
    def _ended(self, code: str, seed: int, tmp_path: Path) -> kill.Ended:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return kill.end(process, random.Random(seed), tmp_path)

    @pytest.mark.parametrize("seed", range(4))
    def test_a_diagnosis_is_ended_and_it_is_said_how(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
    ) -> None:
        for name in ("_LAST_S", "_LASTS_S"):
            monkeypatch.setattr(kill, name, 0.0)
        monkeypatch.setattr(random.Random, "uniform", lambda *_: 0.0)
        (tmp_path / "a.jsonl").touch()
        ended = self._ended("import time; time.sleep(600)", seed, tmp_path)
        assert re.fullmatch(r"SIG(KILL|INT) after [\d.]+ s, with a setting made", ended.how)

    def test_what_a_shell_runs_in_the_background_is_interrupted_all_the_same(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Such a shell has it ignore Ctrl-C, and so did ``why``: a diagnosis went on to its end,
        and was said to have been ended by SIGINT."""
        monkeypatch.setattr(kill, "_LAST_S", 0.0)
        monkeypatch.setattr(random.Random, "uniform", lambda *_: 0.0)
        monkeypatch.setattr(random.Random, "choice", lambda *_: signal.SIGINT)
        monkeypatch.setattr(random.Random, "random", lambda *_: 0.9)
        known = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            program._end_by_signals()
            ended = self._ended("import time; time.sleep(600); print('went on')", 1, tmp_path)
        finally:
            for number, handler in known.items():
                signal.signal(number, handler)
        assert ended.how.startswith("SIGINT after")
        assert ended.printed == ""

    def test_one_that_ended_before_was_not_killed(self, tmp_path: Path) -> None:
        ended = self._ended("print('done')", 1, tmp_path)
        assert (ended.printed, ended.how) == ("done\n", "")

    def test_what_was_set_then_is_looked_at_though_there_is_no_answer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """SIGKILL leaves no document, so settings that boards share with the machine were held for
        those of others, and none was missed that was not restored."""
        path = "/proc/sys/vm/swappiness"
        monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(tmp_path))
        kept = journal.Journal.begin("good", "boot", None)
        kept.plan([journal.JournalChange(1, "vm.swappiness", path, "60", "10")])
        set_then = kill.set_then(tmp_path)
        kept.finish()
        assert set_then == {path}
        (tmp_path / "cut.jsonl").write_text('{"record": "session"}\n{"record": "change", "pa')
        assert kill.set_then(tmp_path) == frozenset()
        before, after = (frozenset({f"set {path} {value} "}) for value in (60, 10))
        assert len(changed(before, after, set_then, shared=True)) == 2

    def test_what_is_not_as_before_misses_the_bar_of_those_that_were_killed(self) -> None:
        killed = CaseResult("a", "limits", killed="SIGKILL after 3 s", restored=False)
        judged = {bar.name: bar.held for bar in table.bars([killed])}
        assert judged["restored after it was killed"] is False
        assert judged["restored"] is None
        before = replace(killed, killed=ENDED_BEFORE, restored=True)
        assert "(0 of 1)" in table.bars([killed, before])[0].seen
        assert len(table.row(killed)) == len(table.HEADINGS)


class TestLoad:
    def test_busy_processes_compute_for_as_long_as_it_lasts(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun: list[subprocess.Popen[bytes]] = []
        start = subprocess.Popen

        def popen(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
            begun.append(start(*words, **options))
            return begun[-1]

        monkeypatch.setattr(subprocess, "Popen", popen)
        with load.busy(2):
            assert len(begun) == 2
            for process in begun:
                while _cpu_ticks(process.pid) < 5:
                    assert process.poll() is None
                    time.sleep(0.01)
                assert os.getsid(process.pid) == process.pid
                assert os.getpriority(os.PRIO_PROCESS, process.pid) == os.nice(0)
        assert all(process.poll() is not None for process in begun)

    def test_the_load_is_the_mean_of_its_samples(self, monkeypatch: pytest.MonkeyPatch) -> None:
        averages = iter([(2.0, 0.0, 0.0), (4.06, 0.0, 0.0)])
        monkeypatch.setattr(os, "getloadavg", lambda: next(averages))
        with load.measured_load() as measured:
            pass
        assert measured.samples == [2.0, 4.06]
        assert measured.mean == 3.0

    def test_what_is_drawn_is_of_each_class_and_run_under_the_load(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ran: list[Case] = []
        saved: list[tuple[str, str]] = []

        def run(case: Case, options: Options) -> CaseResult:
            assert options.busy == 4
            ran.append(case)
            return CaseResult(case.name, case.kind, verdict="unexplained", restored=True, busy=4)

        monkeypatch.setattr(program, "run", run)
        monkeypatch.setattr(published, "save", lambda group, _, draw: saved.append((group, draw)))
        program.main(["--each", "1", "--seed", "4", "--load", "4", "--publish"])
        kinds = {case.kind for case in cases.development() if case.machine == "ssh"}
        assert Counter(case.kind for case in ran) == dict.fromkeys(kinds, 1)
        assert {case.machine for case in ran} == {"ssh"}
        assert saved == [("open-under-load", "drawn by seed 4")]

    @pytest.mark.parametrize("word", ["--load", "--kill", "--equal"])
    def test_what_is_held_out_is_not_asked_about_under_conditions(
        self, capsys: pytest.CaptureFixture[str], word: str
    ) -> None:
        with pytest.raises(SystemExit):
            program.main(["--held-out", word, "4"])
        assert "under ordinary conditions" in capsys.readouterr().err

    def test_honest_is_what_denies_no_gap_and_blames_nothing_wrongly(self) -> None:
        right = replace(_judged(replace(_CASE, truth=("swappiness",))), busy=4)
        scattered = {"goodness": {"value": 0.4, "low": -0.2, "high": 1.2}}
        unseen = _judged(_CASE, causes=[], verdict="no difference shown", gap=scattered)
        denied = replace(unseen, reach=1.5)
        assert unseen.ratio == 2.718 and unseen.reach == 3.32
        unknown = replace(right, place=5, proven=False, verdict="unexplained")
        for honest in (right, unseen, unknown):
            assert honest.is_honest
        for wrong in (
            denied,
            replace(unknown, excluded=True),
            replace(right, false=("x",)),
            replace(unknown, verdict=NO_ANSWER),
            replace(unknown, verdict="the good side is the worse one"),
        ):
            assert not wrong.is_honest
            bars = {bar.name: bar.held for bar in table.bars([replace(wrong, busy=4)])}
            assert bars["right, or honest that it is not known"] is False

    def test_the_page_says_load_and_busy_processes(self) -> None:
        loaded = replace(_judged(_CASE), load=4.6, busy=4)
        killed = CaseResult("a", "limits", killed="SIGKILL after 3 s", restored=True, verdict="")
        equal = replace(_judged(_CASE), kind=EQUAL)
        run = published.summarised
        text = publish.page(
            {
                **publish.load(),
                "open-under-load": run([loaded], 58, "drawn by seed 4"),
                "open-killed": run([killed], 58),
                "open-equal": run([equal], 58),
            }
        )
        assert "drawn by seed 4. " in text
        assert "load was 4.6 to 4.6 while `why` was asked. Busy processes that" in text
        assert "| limits | 1 | 0 | 0 | 0 | 0 | 0 | 1 |" in text
        assert "\n1 diagnoses.\n" in text


def _cpu_ticks(pid: int) -> int:
    fields_of_stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields_of_stat[11]) + int(fields_of_stat[12])


class TestBars:
    def test_each_is_missed_by_what_it_is_about(self) -> None:
        good = _judged(replace(_CASE, truth=("swappiness",)))
        good = replace(good, restored=True)
        assert all(bar.held is not False for bar in table.bars([good]))
        for bad, name in (
            (replace(good, place=2), "named first"),
            (replace(good, place=4), "among the first three"),
            (replace(good, excluded=True), "cause excluded"),
            (replace(good, false=("x",)), "false proven"),
            (replace(good, restored=False), "restored"),
            (replace(good, minutes=7), "minutes, median"),
            (replace(good, experiments=8), "experiments, median"),
            (replace(good, kind=EQUAL), "no difference shown, rightly"),
        ):
            missed = {bar.name for bar in table.bars([bad]) if bar.held is False}
            assert name in missed

    def test_a_row_has_a_cell_for_every_heading(self) -> None:
        for result in (_judged(_CASE), CaseResult("a", "limits", left_out="too small")):
            assert len(table.row(result)) == len(table.HEADINGS)

    def test_what_does_not_count_holds_nothing(self) -> None:
        left_out = CaseResult("a", "limits", left_out="too small")
        assert all(bar.held is None for bar in table.bars([left_out]))


class TestResultsFile:
    def test_a_run_that_was_interrupted_goes_on_where_it_ended(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "kept" / "results.json"
        names = [case.name for case in cases.development()][:3]
        begun: list[str] = []

        def run(case: Case, _options: object) -> CaseResult:
            begun.append(case.name)
            if len(begun) == 2:
                raise KeyboardInterrupt
            return CaseResult(case.name, case.kind, verdict="explained", place=1, restored=True)

        monkeypatch.setattr(program, "run", run)
        monkeypatch.setattr(publish, "commit", lambda: "abc")
        words = ["--results", str(path), "--cases", *names]
        program.main(words)
        assert [result.name for result in results_file.read(path)] == begun[:1]
        program.main(words)
        assert sorted(begun) == sorted([*names, begun[1]])
        kept = results_file.read(path)
        assert {result.name for result in kept} == set(names)
        assert {result.commit for result in kept} == {"abc"}
        program.main(words)
        assert len(begun) == 4

    def test_another_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "other.json"
        path.write_text("[1]")
        with pytest.raises(UsageError, match="has no results of cases"):
            results_file.read(path)


class TestPublished:
    def test_a_part_is_called_a_part_with_the_load_it_was_run_under(self) -> None:
        results = [
            replace(_judged(_CASE), restored=True, load=load, commit=commit)
            for load, commit in ((4.2, "abc"), (11.0, "def"))
        ]
        text = publish.page({**publish.load(), "open": published.summarised(results, known=58)})
        assert "Only a part, as far as there was time: 2 of 58 cases were run." in text
        assert "load was 4.2 to 11 while" in text
        assert "commit abc, def," in text

    def test_all_are_all_whatever_equal_sides_there_are_beside_them(self) -> None:
        results = [_judged(_CASE), replace(_judged(_CASE), kind=EQUAL)]
        text = publish.page({**publish.load(), "open": published.summarised(results, known=1)})
        assert "All 1 of 1 cases were run." in text

    def test_what_an_earlier_run_gave_keeps_its_commit(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        earlier = replace(_judged(_CASE), name="earlier", commit="abc")
        kept: dict[str, publish.PublishedRun] = {}
        before = {"open": published.summarised([earlier], known=58)}
        monkeypatch.setattr(publish, "load", lambda: before)
        monkeypatch.setattr(publish, "save", kept.__setitem__)
        monkeypatch.setattr(publish, "commit", lambda: "def")
        published.save("open", [_judged(_CASE)])
        commits = {case.name: case.commit for case in kept["open"].cases}
        assert commits == {"earlier": "abc", _CASE.name: "def"}
