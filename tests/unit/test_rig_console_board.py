"""A board over a console that talks, loses and has little: real shells on a pseudo-terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import skips
from rig_shells import Wire
from waiting import PATIENCE

from benchvise.board import process
from benchvise.board.channel import ProbeChannel
from benchvise.board.messages import BeginMessage, EndMessage, SampleMessage
from benchvise.errors import BoardUnreachable, BoardUnusable, ProbeError
from benchvise.rig.console.board import ConsoleBoard
from benchvise.rig.console.bridge import without_pace
from benchvise.rig.console.link import Link, NoAnswer

FAKE = str(Path(__file__).parents[1] / "fakeprobe.py")
BUSYBOX = shutil.which("busybox")
BYTES = bytes(range(256)) * 7 + b"\r\n\n\x03\x04 end without a line end"


@pytest.fixture
def wires() -> Iterator[list[Wire]]:
    made: list[Wire] = []
    yield made
    for wire in made:
        wire.close()


@pytest.fixture
def quiet(wires: list[Wire]) -> Iterator[ConsoleBoard]:
    wires.append(Wire())
    with ConsoleBoard(wires[0], "rig:b") as board:
        yield board


def applets(directory: Path, names: str) -> str:
    """A directory with only these programs, BusyBox's."""
    assert BUSYBOX is not None
    directory.mkdir()
    for name in names.split():
        (directory / name).symlink_to(BUSYBOX)
    return str(directory)


class TestRun:
    def test_carries_input_output_and_status_unchanged(self, quiet: ConsoleBoard) -> None:
        done = quiet.run(["sh", "-c", "cat; printf err >&2; exit 7"], input=BYTES)
        assert (done.returncode, done.stdout, done.stderr) == (7, BYTES, b"err")

    def test_carries_arguments_unchanged(self, quiet: ConsoleBoard) -> None:
        words = ["it's", "a\nb", "", "$HOME `x` \\ !", "Zürich", "\udcff"]
        done = quiet.run(["printf", "%s.", *words])
        assert done.stdout == b".".join(map(os.fsencode, words)) + b"."

    def test_says_what_cannot_be_executed(self, quiet: ConsoleBoard) -> None:
        assert quiet.run(["/nonexistent/x"]).returncode == 127
        assert quiet.run(["sh", "-c", "kill -9 $$"]).returncode == 137

    def test_packs_what_is_large(self, quiet: ConsoleBoard, wires: list[Wire]) -> None:
        data = b"0123456789abcde\n" * 4000
        before = wires[0].read_bytes + wires[0].written_bytes
        assert quiet.run(["cat"], input=data).stdout == data
        assert wires[0].read_bytes + wires[0].written_bytes - before < len(data) / 4

    def test_ends_what_does_not_end(self, quiet: ConsoleBoard) -> None:
        with pytest.raises(BoardUnusable, match="'sh' did not finish within 1 s"):
            quiet.run(["sh", "-c", "trap '' INT; sleep 987; echo"], timeout=1)
        assert not _runs("sleep 987")
        assert quiet.run(["echo", "on"]).stdout == b"on\n"

    def test_leaves_nothing_behind(self, wires: list[Wire]) -> None:
        wires.append(Wire())
        with ConsoleBoard(wires[0], "rig:b") as board:
            board.run(["true"])
            directory = Path(board.files.place.directory)
            assert [path.name for path in directory.iterdir()] == ["h"]
            assert directory.stat().st_mode & 0o077 == 0
        assert not directory.exists()

    def test_bears_a_console_that_talks_all_the_time(self, wires: list[Wire]) -> None:
        wires.append(Wire(chatter=0.4))
        with ConsoleBoard(wires[0], "rig:b") as board:
            for _ in range(3):
                assert board.run(["cat"], input=BYTES).stdout == BYTES

    def test_bears_talk_without_time_stamps(self, wires: list[Wire]) -> None:
        wires.append(Wire(chatter=0.03, stamped=False))
        with ConsoleBoard(wires[0], "rig:b") as board:
            assert board.run(["cat"], input=BYTES).stdout == BYTES

    def test_bears_lost_bytes(self, wires: list[Wire]) -> None:
        wires.append(Wire())
        with ConsoleBoard(wires[0], "rig:b") as board:
            wires[0].loss = wires[0].loss_there = 0.0005
            assert board.run(["cat"], input=BYTES).stdout == BYTES

    def test_says_when_nothing_gets_through(
        self, quiet: ConsoleBoard, wires: list[Wire], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("benchvise.rig.console.link._TRIES", 3)
        wires[0].loss_there = 1.0
        link = Link(wires[0], "rig:b")
        with pytest.raises(NoAnswer):
            link.ask("true", timeout=0.2)
        tries = []

        def attempt() -> None:
            tries.append(1)
            raise NoAnswer

        with pytest.raises(BoardUnreachable, match="rig:b: 'x' does not get through"):
            link.patiently("'x'", attempt)
        assert len(tries) == 3
        wires[0].loss_there = 0.0

    def test_says_when_the_console_is_lost(self, wires: list[Wire]) -> None:
        wires.append(Wire())
        board = ConsoleBoard(wires[0], "rig:b")
        wires[0].process.kill()
        wires[0].process.wait()
        with pytest.raises(BoardUnreachable, match="the console was lost"):
            board.run(["true"])
        board.close()


@skips.needs("busybox")
class TestSmallBoards:
    @pytest.mark.parametrize(
        "names",
        [
            "sh base64 md5sum gzip stty setsid sed dd cat rm mkdir wc mv",
            "sh od md5sum dd cat rm mkdir wc mv",
            "sh base64 od cksum md5sum dd cat rm mkdir wc mv",  # BusyBox may have no cksum
        ],
    )
    def test_will_do(self, tmp_path: Path, wires: list[Wire], names: str) -> None:
        path = applets(tmp_path / "bin", names)
        wires.append(Wire([f"{path}/sh", "-i"], path=path, chatter=0.1))
        with ConsoleBoard(wires[0], "rig:b") as board:
            assert board.run(["cat"], input=BYTES).stdout == BYTES

    def test_that_have_too_little_are_refused(self, tmp_path: Path, wires: list[Wire]) -> None:
        skips.need("dash")  # BusyBox's shell finds all its own programs
        dash = str(shutil.which("dash"))
        wires.append(Wire([dash, "-i"], path=applets(tmp_path / "bin", "dd cat")))
        with pytest.raises(BoardUnusable, match=r"makes text of a file.*cksum or md5sum"):
            ConsoleBoard(wires[0], "rig:b")


class TestSpawn:
    def test_passes_on_what_a_command_says(self, quiet: ConsoleBoard) -> None:
        child = quiet.spawn(["sh", "-c", "echo out; echo err >&2; exit 3"])
        assert process.finish(child, b"", 60.0) == (3, b"out\n", b"err\n")

    def test_lets_a_channel_to_the_probe_work(self, quiet: ConsoleBoard) -> None:
        with ProbeChannel(quiet, [sys.executable, FAKE, "none"]) as channel:
            assert channel.ready.probe == "fake"
            for paced in (False, True):
                kinds = []
                for message in channel.request(["run", "x"], paced=paced):
                    kinds.append(type(message))
                    if paced and isinstance(message, SampleMessage):
                        channel.acknowledge()
                assert kinds == [
                    BeginMessage,
                    SampleMessage,
                    SampleMessage,
                    SampleMessage,
                    EndMessage,
                ]
        assert quiet.run(["echo", "free"]).stdout == b"free\n"

    def test_reports_what_the_probe_refuses(self, quiet: ConsoleBoard) -> None:
        with ProbeChannel(quiet, [sys.executable, FAKE, "child-killed"]) as channel:
            with pytest.raises(ProbeError, match="killed by signal 9"):
                list(channel.request(["run", "x"]))
            assert channel.is_open

    def test_says_when_the_probe_is_not_there(self, quiet: ConsoleBoard) -> None:
        with pytest.raises(ProbeError, match=r"ended by itself \(exit 127\)"):
            ProbeChannel(quiet, ["/nonexistent/bvprobe"])

    def test_takes_the_console_back_from_a_probe_that_is_at_work(self, quiet: ConsoleBoard) -> None:
        child = quiet.spawn(["sh", "-c", "exec sleep 986"])
        deadline = time.monotonic() + PATIENCE
        while not _runs("sleep 986") and time.monotonic() < deadline:
            time.sleep(0.1)
        assert _runs("sleep 986")
        assert quiet.run(["echo", "back"]).stdout == b"back\n"
        assert not _runs("sleep 986")
        assert child.returncode is not None

    def test_says_when_the_console_is_lost_meanwhile(
        self, quiet: ConsoleBoard, wires: list[Wire]
    ) -> None:
        with ProbeChannel(quiet, [sys.executable, FAKE, "none"]) as channel:
            wires[0].process.kill()
            with pytest.raises(BoardUnreachable, match=r"rig:b: the console was lost"):
                list(channel.request(["run", "x"]))


class TestPace:
    def test_is_taken_out_of_a_request(self) -> None:
        line = b'{"request":3,"args":["run","x","--paced","1","--n","2"],"input":["/\xff"]}'
        assert without_pace(line) == b'{"request":3,"args":["run","x","--n","2"],"input":["/\xff"]}'

    @pytest.mark.parametrize("line", [b"{}", b"[]", b"x", b'{"args":["list"]}', b'{"args":1}'])
    def test_leaves_others_as_they_are(self, line: bytes) -> None:
        assert without_pace(line) == line


def _runs(command: str) -> bool:
    wanted = command.replace(" ", "\0").encode() + b"\0"
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == wanted:
                return True
        except OSError:
            continue
    return False
