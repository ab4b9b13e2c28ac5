"""The parts of the bench of real boards that need no board."""

from __future__ import annotations

from typing import Any, cast

import pytest

from benchvise.board import Board, Completed
from benchvise.errors import UsageError
from benchvise.measure.model import (
    MetricKind,
    ProcessRecord,
    RunRecord,
    RunRemark,
    RunStatus,
    Sample,
    SeriesRecord,
    SeriesSpec,
    SeriesStatus,
)
from benchvise.state.knobs import Setting, find_knob
from benchvise.state.model import Snapshot
from benchvise.text import NO_TEXT
from benchvise.why.bench import ArmRefused
from benchvise.why.benches.command_words import paths_in, program_words
from benchvise.why.benches.live import means_of, refusing
from benchvise.why.benches.record import Record
from benchvise.why.benches.userland import find_programs
from benchvise.why.model import (
    Arm,
    Layer,
    LayerMeans,
    Means,
    ProcessMeans,
    SettingMeans,
    Side,
    Suspect,
)

SPEC = SeriesSpec("memory.copy", (("size", "64M"),), "memory.copy")
KIND = MetricKind("B/s", "higher", "copied")


def suspect(name: str, means: Means | None) -> Suspect:
    return Suspect(name, name, Layer.RUN_TIME, name, "", "", means=means)


def setting(name: str, value: str, *paths: str) -> Setting:
    return Setting(find_knob(name), value, paths)


THP = suspect(
    "memory.thp",
    SettingMeans((setting("memory.thp", "always"),), (setting("memory.thp", "never"),)),
)
SLACK = suspect("slack", ProcessMeans({"timer_slack": "1"}, {"timer_slack": "50000"}))


class TestArms:
    def test_a_side_gets_the_values_of_the_other(self) -> None:
        settings, attributes = means_of(Arm(Side.BAD, (THP, SLACK)))
        assert [str(s) for s in settings] == ["memory.thp=always"]
        assert attributes == {"timer_slack": "1"}
        settings, attributes = means_of(Arm(Side.GOOD, (SLACK, THP)))
        assert [str(s) for s in settings] == ["memory.thp=never"]
        assert attributes == {"timer_slack": "50000"}
        assert means_of(Arm(Side.BAD)) == ([], {})

    @pytest.mark.parametrize("means", [None, LayerMeans("kernel"), SettingMeans((), ())])
    def test_what_cannot_be_made_is_refused_by_name(self, means: Means | None) -> None:
        with pytest.raises(ArmRefused) as refused:
            means_of(Arm(Side.BAD, (THP, suspect("other", means))))
        assert refused.value.suspects == ("other",)

    def test_two_values_for_one_setting_are_refused(self) -> None:
        other = suspect("other", SettingMeans((setting("memory.thp", "madvise"),), ()))
        with pytest.raises(ArmRefused, match="two values") as refused:
            means_of(Arm(Side.BAD, (THP, other)))
        assert refused.value.suspects == ("other",)

    def test_files_of_one_setting_may_have_different_values(self) -> None:
        files = [f"/sys/devices/system/cpu/cpufreq/policy{n}/scaling_min_freq" for n in (0, 4)]
        means = SettingMeans(
            tuple(setting("cpu.min_freq", v, f) for v, f in zip("12", files, strict=True)), ()
        )
        settings, _ = means_of(Arm(Side.BAD, (suspect("cpu.min_freq", means),)))
        assert [(s.value, s.paths) for s in settings] == [("1", (files[0],)), ("2", (files[1],))]

    def test_a_refused_attribute_names_its_suspect(self) -> None:
        arm = Arm(Side.BAD, (THP, SLACK))
        assert refusing(arm, "--as timer_slack=1 is not possible here: no") == ["slack"]
        assert refusing(arm, "memory.copy: out of memory") == []


class TestPrograms:
    @pytest.mark.parametrize(
        ("command", "words"),
        [
            ("perf bench mem memcpy -s 1GB", ["perf"]),
            ("LC_ALL=C dd if=/dev/zero of=/dev/null | tail -n 1", ["dd", "tail"]),
            ("taskset -c 0 ./mine --fast && sync; cat x", ["./mine", "sync", "cat"]),
            ("timeout 5 nice -n 5 iperf3 -c host", ["iperf3"]),
            ("(cd /tmp && ls)", ["cd", "ls"]),
            ("echo 'a | b' > out", ["echo"]),
            ("'unfinished", []),
            ("for i in 1 2 dd; do perl -e 1 2> /dev/null; done", ["perl"]),
            (
                'i=0; while [ $i -lt 9 ]; do "/usr/bin/true"; i=$((i + 1)); done',
                ["[", "/usr/bin/true"],
            ),
            ("if cmp a b; then gzip -c a > b; else rm b; fi", ["cmp", "gzip", "rm"]),
            ("case $1 in start) dd if=a;; stop) sync;; esac; ls", ["dd", "sync", "ls"]),
            ("xargs -s $(($(getconf ARG_MAX) - 4096)) python3 x.py < y", ["xargs", "python3"]),
            ("> out sort in & $PROGRAM x", ["sort"]),
        ],
    )
    def test_of_a_command_line(self, command: str, words: list[str]) -> None:
        assert [word.text for word in program_words(command)] == words

    def test_paths_of_a_command_line(self) -> None:
        command = "cd /data/spool && dd if=/srv/in of=/dev/null; x ./y a/b /data/spool"
        assert paths_in(command) == ("/data/spool", "/srv/in")

    def test_are_hashed_and_only_known_ones_asked_for_their_version(self) -> None:
        board = FakeBoard(
            {
                "perf": "/usr/bin/perf",
                "./mine": "./mine",
                "cd": "cd",
                "mine": "/opt/mine",
            },
            {"/usr/bin/perf": "perf version 5.4.0\x1b[31m\n", "/opt/mine": "never asked"},
        )
        programs, versions = find_programs(cast(Board, board), "cd /; perf bench; mine; ./mine")
        assert programs == {"/usr/bin/perf": "a" * 64, "/opt/mine": "a" * 64}
        assert list(versions) == ["/usr/bin/perf"]
        assert versions["/usr/bin/perf"].startswith("perf version 5.4.0")
        assert "\x1b" not in versions["/usr/bin/perf"]


class FakeBoard:
    """Knows where programs are, what they hash to, and what they say of their versions."""

    def __init__(self, paths: dict[str, str], versions: dict[str, str]) -> None:
        self.paths, self.versions = paths, versions

    def run(self, argv: Any, **_options: Any) -> Completed:
        if argv[0] in self.versions:
            return Completed(0, self.versions[argv[0]].encode(), b"")
        if "command -v" in argv[2]:
            found = [f"{w} {self.paths[w]}" for w in argv[4:] if w in self.paths]
            return Completed(0, "\n".join(found).encode(), b"")
        return Completed(0, b"a" * 64 + b"  " + argv[4].encode() + b"\n", b"")


def record(*values: tuple[float, ...], unit: str = "B/s") -> Record:
    processes = tuple(
        ProcessRecord(
            n,
            {},
            tuple(Sample(i, v, {"flags": ["preempted"]}) for i, v in enumerate(batch)),
            complete=True,
        )
        for n, batch in enumerate(values)
    )
    series = SeriesRecord(SPEC, unit, "higher", "copied", SeriesStatus.MEASURED, "", processes)
    run = RunRecord(
        id="1234", label="", board="ssh://a", suite="", status=RunStatus.COMPLETE, reason=NO_TEXT,
        started="", finished="", seed=0, host={}, tool_version="", simulated=False,
        series=(series,), remarks=(RunRemark("throttled", "the CPU was throttled 3 times"),),
    )  # fmt: skip
    return Record("run 1234", Snapshot("ssh://a", "", "", "root", (), ()), run)


class TestRecord:
    def test_a_process_is_a_trial(self) -> None:
        one, other = record((3.0, 1.0, 2.0), (), (5.0,)).trials(SPEC, KIND, Side.GOOD)
        assert (one.number, one.value, one.values) == (1, 2.0, (3.0, 1.0, 2.0))
        assert (other.number, other.value, other.side) == (2, 5.0, Side.GOOD)
        assert one.flags == ("preempted",) and one.flipped == ()

    def test_what_was_not_measured_is_an_error(self) -> None:
        other = SeriesSpec("memory.copy", (("size", "1M"),), "memory.copy:size=1M")
        with pytest.raises(UsageError, match=r"did not measure memory\.copy:size=1M"):
            record((1.0,)).trials(other, KIND, Side.GOOD)
        with pytest.raises(UsageError, match="in ns"):
            record((1.0,), unit="ns").trials(SPEC, KIND, Side.GOOD)

    def test_a_snapshot_alone_has_no_trials(self) -> None:
        alone = Record("file", Snapshot("b", "", "", "root", (), ()))
        assert alone.trials(SPEC, KIND, Side.GOOD) == () and list(alone.findings()) == []

    def test_remarks_of_the_run_are_findings(self) -> None:
        (finding,) = record((1.0,)).findings()
        assert finding.rule == "throttled" and "when it was recorded" in finding.sentence
