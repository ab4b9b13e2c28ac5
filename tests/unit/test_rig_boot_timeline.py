"""Lines, patterns, timelines and the watch, whatever the pieces in which bytes come."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rig_consoles import FakeTime, console_text, fake_read, pieces, watched

from benchvise.errors import UsageError
from benchvise.rig.boot.patterns import PHASES, Prompt, load_patterns, own_patterns
from benchvise.rig.boot.timeline import BootEnd, BootOutcome, Timeline, watch
from benchvise.rig.console.lines import LINE_LIMIT, LineSplitter, LineWriter
from benchvise.rig.console.quality import Damage, damaged, damaged_stamp

TEXTS = ["arm64-uboot-extlinux", "rockchip-systemd", "fail-root-panic", "fail-login", "tfa-full"]

# What is awkward on its own, and worse when it is cut or comes in the middle of something else.
AWKWARD = [
    *(b"\r\n", b"\r", b"\n", b"\r\r\n", b"\x1b[31m", b"\x1b", b"\x1b]0;title\x07", b"\x1b[", b"\b"),
    *(
        b"[    1.234567] usb 1-1: new\r\n",
        b"[    2.3",
        b"45678] x\n",
        b"[",
        b"\xe2\x82\xac",
        b"\xff",
    ),
    *(b"a login: ", b"log", b"in: ", b"=> ", b"# ", b"U-Boot 2023.01\n", b"U-Boot SPL 2023.01\r\n"),
    *(
        b"Kernel panic - not syncing: x\n",
        b"root@b:~# ",
        b"(initramfs) ",
        b"Linux version 6.1 (x\n",
    ),
]

texts = st.one_of(
    st.lists(st.sampled_from(AWKWARD) | st.binary(max_size=3), max_size=25).map(b"".join),
    st.binary(max_size=80),
)
cuts = st.lists(st.integers(0, 600), max_size=40)


def told(timeline: Timeline) -> Any:
    """All that a timeline tells."""
    quality = timeline.quality
    return (
        timeline.phases,
        [(e.pattern.id, e.at_s, e.line, e.text, e.phase, e.start) for e in timeline.events],
        list(timeline.lines),
        timeline.open,
        timeline.prompt,
        timeline.restarts,
        timeline.junk,
        (quality.sound, quality.lost, quality.altered),
    )


def fed(parts: list[bytes]) -> Timeline:
    timeline = Timeline(0)
    for part in parts:
        timeline.feed(1_000_000_000, part)
    return timeline


class TestAnyCut:
    @settings(deadline=None, max_examples=300)
    @given(texts, cuts)
    def test_of_the_same_bytes_tells_the_same(self, data: bytes, places: list[int]) -> None:
        assert told(fed(pieces(data, places))) == told(fed([data]))

    @settings(deadline=None, max_examples=100)
    @given(texts)
    def test_into_single_bytes_too_with_the_open_line_only_growing(self, data: bytes) -> None:
        assert told(fed([bytes([byte]) for byte in data])) == told(fed([data]))

    @pytest.mark.parametrize("name", TEXTS)
    @pytest.mark.parametrize("seed", range(4))
    def test_of_a_boot_tells_the_same(self, name: str, seed: int) -> None:
        data = console_text(name)
        chance = random.Random(seed)
        places = [chance.randrange(len(data)) for _ in range(chance.choice([5, 100, 1500]))]
        one, other = fed([data]), fed(pieces(data, places))
        one.settle()
        other.settle()
        assert told(one) == told(other)

    @settings(deadline=None, max_examples=60)
    @given(st.data())
    def test_and_any_time_keeps_the_phases_in_order(self, data: st.DataObject) -> None:
        text = console_text(data.draw(st.sampled_from(TEXTS)))
        timeline, at = Timeline(0), 0
        for part in pieces(text, data.draw(cuts)):
            at += data.draw(st.integers(0, 10**9))
            timeline.feed(at, part)
        assert list(timeline.phases.values()) == sorted(timeline.phases.values())
        assert list(timeline.phases) == [p for p in PHASES if p in timeline.phases]


class TestLines:
    def test_of_the_kernel_are_taken_out_of_those_of_programs(self) -> None:
        splitter = LineSplitter()
        lines = splitter.feed(
            b"arm64-1 log[    3.141592] random: crng init done\r\n"
            b"[    3.2]in[    3.500000][    T1] usb 1-1: new\r\n"
        )
        assert [(line.writer, line.text) for line in lines] == [
            (LineWriter.FRAGMENT, "arm64-1 log"),
            (LineWriter.KERNEL, "random: crng init done"),
            (LineWriter.FRAGMENT, "arm64-1 log[    3.2]in"),
            (LineWriter.KERNEL, "usb 1-1: new"),
        ]
        assert splitter.feed(b": ") == []
        assert splitter.open == "arm64-1 log[    3.2]in: "

    def test_prompts_torn_by_the_kernel_are_still_prompts(self) -> None:
        timeline = fed([b"\r\narm64-1 lo[    3.141592] random: crng\r\ngin: "])
        assert timeline.kind_of_prompt is Prompt.LOGIN
        timeline.feed(2_000_000_000, b"[    4.141592] usb 1-1: new\r\n")
        assert timeline.kind_of_prompt is Prompt.LOGIN
        timeline.feed(3_000_000_000, b"root\r\n")
        assert timeline.kind_of_prompt is None
        assert timeline.phases["login"] == 1.0

    def test_without_end_are_ended(self) -> None:
        splitter = LineSplitter()
        lines = splitter.feed(b"x" * (3 * LINE_LIMIT + 10))
        assert [len(line.text) for line in lines] == [LINE_LIMIT] * 3
        assert len(splitter.open) == 10

    def test_keep_what_an_escape_sequence_without_end_would_swallow(self) -> None:
        splitter = LineSplitter()
        assert splitter.feed(b"\x1b]0;never ended\r\nlogin: ")[0].text == "0;never ended"
        assert splitter.open == "login: "


class TestPrompts:
    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            *((t, Prompt.BOOTLOADER) for t in ("=> ", "U-Boot> ", "U-Boot# ", "ZynqMP> ")),
            *((t, Prompt.BOOTLOADER) for t in ("Marvell>> ", "MX6Q SABRELITE U-Boot > ")),
            *((t, Prompt.BOOTLOADER) for t in ("Tegra124 (Jetson TK1) # ", "grub> ", "boot: ")),
            *((t, Prompt.BOOTLOADER) for t in ("barebox@Phytec phyCORE:/ ", "grub rescue> ")),
            *((t, Prompt.BOOTLOADER) for t in ("Shell> ", "StarFive # ", "hikey=> ")),
            *((t, Prompt.INITRAMFS) for t in ("(initramfs) ", "dracut:/# ", "initqueue:/root# ")),
            *((t, Prompt.LOGIN) for t in ("login: ", "qemuarm64 login: ", "boot done x login: ")),
            *((t, Prompt.SHELL) for t in ("root@a-1:~# ", "user@b:/usr/lib$ ", "~ # ", "# ")),
            *((t, Prompt.SHELL) for t in ("[root@fedora ~]# ", "sh-5.1# ", "/usr/bin # ")),
            *((t, None) for t in ("Last login: Tue ", "Last login: ", "a => ", "x # ", "foo> ")),
            *((t, None) for t in ("=>", "login:", "# foo ", "login: root ", "=> printenv ")),
        ],
    )
    def test_are_known(self, text: str, kind: Prompt | None) -> None:
        assert fed([b"\r\n", text.encode()]).kind_of_prompt is kind

    def test_of_a_login_do_not_come_from_the_last_login(self) -> None:
        timeline = fed([b"Linux version 6.1 (x) \r\nLast login: Tue Jan 1 on ttyS0\r\n"])
        assert "login" not in timeline.phases


class TestPatterns:
    def test_of_a_user_add_and_override(self, tmp_path: Path) -> None:
        file = tmp_path / "mine.toml"
        file.write_text(
            "phrases = ['Acme loader']\n"
            "[[pattern]]\nid = 'acme'\nphase = 'bootloader'\nmatch = '^Acme loader'\n"
            "[[pattern]]\nid = 'shell-bare'\nmatch = ''\n"
            "[[pattern]]\nid = 'u-boot'\nphase = 'spl'\nmatch = '^U-Boot'\n"
            "[[pattern]]\nid = 'acme-dead'\nfault = 'bootloader-hang'\ncertain = true\n"
            "says = 'the Acme loader gave up'\nmatch = 'ACME: halt'\n"
        )
        patterns = load_patterns(file)
        ids = [pattern.id for pattern in patterns.all]
        assert "shell-bare" not in ids
        assert len(ids) == len(own_patterns().all) + 1
        timeline, outcome = watched(b"U-Boot 1\r\nAcme loader\r\nACME: halt\r\n", patterns=patterns)
        assert list(timeline.phases) == ["power-on", "first-byte", "spl", "bootloader"]
        assert outcome.end is BootEnd.FAULT

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[[pattern]\n", "not TOML"),
            ("x = 1\n", r"only \[\[pattern\]\] records"),
            ("pattern = 1\n", "only"),
            ("[[pattern]]\nmatch = 'x'\n", "without a usable id"),
            ("[[pattern]]\nid = 'a'\n", "'a' has no 'match'"),
            ("[[pattern]]\nid = 'a'\nmatch = '('\nphase = 'spl'\n", "no regular expression"),
            ("[[pattern]]\nid = 'a'\nmatch = 'x'\n", "means nothing"),
            ("[[pattern]]\nid = 'a'\nmatch = 'x'\nphase = 'lunch'\n", "names no phase"),
            ("[[pattern]]\nid = 'a'\nmatch = 'x'\nfault = 'lunch'\n", "names no fault"),
            ("[[pattern]]\nid = 'a'\nmatch = 'x'\nprompt = 'lunch'\n", "names no prompt"),
            ("[[pattern]]\nid = 'a'\nmatch = 'x $'\nprompt = 'login'\n", r"ends in '\$'"),
            ("[[pattern]]\nid = 'a'\nmatch = 'x'\nphase = 'spl'\nlunch = 1\n", "wrong 'lunch'"),
            ("[[pattern]]\nid = 'a'\nmatch = 'x'\nphase = 'spl'\n" * 2, "is there twice"),
        ],
    )
    def test_that_are_wrong_are_refused_by_name(
        self, tmp_path: Path, text: str, message: str
    ) -> None:
        file = tmp_path / "mine.toml"
        file.write_text(text)
        with pytest.raises(UsageError, match=message) as caught:
            load_patterns(file)
        assert "mine.toml" in caught.value.message
        assert caught.value.remedy

    def test_that_cannot_be_read_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="No such file"):
            load_patterns(tmp_path / "none.toml")
        (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
        with pytest.raises(UsageError, match="not UTF-8"):
            load_patterns(tmp_path / "binary.toml")

    def test_cost_little(self) -> None:
        own = own_patterns()
        assert all(pattern.says for pattern in own.all if pattern.fault)
        assert all(pattern.phase for pattern in own.all if pattern.banner)


class TestWatch:
    @settings(deadline=None, max_examples=150)
    @given(
        st.lists(st.tuples(st.floats(0, 8), st.sampled_from([*AWKWARD, b""])), max_size=30),
        st.floats(0.5, 20),
        st.floats(0.5, 40),
    )
    def test_never_hangs(
        self, said: list[tuple[float, bytes]], silence_s: float, limit_s: float
    ) -> None:
        clock = FakeTime()
        timeline = Timeline(clock())
        read = fake_read(clock, said)
        waits = 0

        def counted(timeout: float) -> bytes:
            nonlocal waits
            waits += 1
            return read(timeout)

        outcome = watch(
            counted, timeline, silence_s=silence_s, limit_s=limit_s, clock=clock, sleep=clock.sleep
        )
        assert outcome.at_s <= limit_s + 0.6
        assert waits < 20_000
        assert isinstance(outcome, BootOutcome)

    def test_does_not_trust_a_read_that_does_not_wait(self) -> None:
        clock = FakeTime()
        outcome = watch(
            lambda _: b"", Timeline(clock()), limit_s=3.0, clock=clock, sleep=clock.sleep
        )
        assert outcome.end is BootEnd.LIMIT

    def test_does_not_trust_a_board_that_never_stops(self) -> None:
        clock = FakeTime()

        def read(timeout: float) -> bytes:
            clock.now += 100_000_000
            return b"noise " * 20

        outcome = watch(read, Timeline(clock()), limit_s=20.0, clock=clock, sleep=clock.sleep)
        assert outcome.end is BootEnd.LIMIT

    def test_goes_on_over_a_prompt_that_is_passed(self) -> None:
        timeline, outcome = watched(
            [(1, b"U-Boot 1\r\n=> "), (1.5, b"\r\nStarting kernel ...\r\n")]
        )
        assert outcome.end is BootEnd.SILENT
        assert timeline.phase == "kernel"

    def test_takes_a_login_prompt_that_the_kernel_talks_over(self) -> None:
        said = b"Linux version 6.1 (x)\r\nboard login: random: crng init done\r\n"
        _, outcome = watched(said)
        assert outcome.end is BootEnd.LOGIN

    def test_forgets_what_was_said_before_power_on(self) -> None:
        timeline = Timeline(1000)
        timeline.feed(999, b"board login: ")
        assert list(timeline.phases) == ["power-on"]

    def test_takes_phases_that_the_host_knows_of(self) -> None:
        timeline = fed([b"board login: "])
        timeline.reached("shell", 2_000_000_000)
        timeline.reached("network", 3_000_000_000)
        assert timeline.phases["network"] == 3.0
        with pytest.raises(ValueError, match="no phase"):
            timeline.reached("lunch", 0)


class TestQuality:
    @pytest.mark.parametrize(
        ("text", "damage"),
        [
            ("[    1.234567] usb", None),
            ("[   1.234567] usb", Damage.LOST),
            ("[    1.23456] usb", Damage.LOST),
            ("    1.234567] usb", Damage.LOST),
            ("[    1.234567 usb", Damage.LOST),
            ("[    1;234567] usb", Damage.ALTERED),
            ("[    1.2345v7] usb", Damage.ALTERED),
            ("[  OK  ] Started x", None),
            ("1. First", None),
            ("2024-01-01 12:00:00 x", None),
            ("", None),
        ],
    )
    def test_of_a_time_stamp(self, text: str, damage: Damage | None) -> None:
        assert damaged_stamp(text) is damage

    @pytest.mark.parametrize(
        ("text", "damage"),
        [
            ("## Starting kernel ...", None),
            ("Startng kernel ...", Damage.LOST),
            ("Strting kernl ...", Damage.LOST),
            ("Startinx kernel ...", Damage.ALTERED),
            ("Starting kkernel ...", Damage.ADDED),
            ("Starting kernel modules", None),
            ("Stopping kernel log", None),
        ],
    )
    def test_of_a_phrase(self, text: str, damage: Damage | None) -> None:
        assert damaged("Starting kernel ...", text, 2) is damage
