"""Reading where cores stand, from stubs and servers that are made up."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from waiting import PATIENCE

from benchvise.errors import UsageError
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.soak.cores import Core, Symbol, Symbols
from benchvise.rig.soak.debuggers import GdbStub, cores_at, cores_by_gdb, cores_by_telnet

SYMBOLS = Symbols(
    [
        Symbol("_start", 0x80000000),
        Symbol("held", 0x80000020),
        Symbol("start_hart", 0x80000100, 0x40),
        Symbol("inside", 0x80000110),
        Symbol("idle", 0x80000140, 0x10),
    ],
    [(0x80000000, 0x80000160)],
    {"wake_flag": 0x80001000},
)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (0x80000000, "_start"),
        (0x80000024, "held+0x4"),
        (0x80000114, "start_hart+0x14"),  # not the label inside of it
        (0x80000140, "idle"),
        (0x80000150, ""),  # behind its end
        (0x80000170, ""),
        (0x7FFFFFFF, ""),
    ],
)
def test_addresses_have_the_names_of_their_functions(address: int, name: str) -> None:
    assert SYMBOLS.name(address) == name


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / "text"):
        if path.name == "text":
            path.write_text("no ELF")
        with pytest.raises(UsageError, match="cannot be read as a program"):
            Symbols.load(path)


@contextmanager
def served(serve: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """One connection, served in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(ConnectionError):  # who has had enough hangs up
            serve(connection)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        listener.close()
        thread.join(PATIENCE)


# -- GDB -------------------------------------------------------------------------------------------


def word(value: int) -> str:
    return value.to_bytes(8, "little").hex()


class FakeStub:
    """Two cores of a RISC-V machine, in QEMU's words; ``spoil`` may change a packet."""

    def __init__(self, spoil: Callable[[bytes], bytes] = lambda packet: packet) -> None:
        self.asked: list[str] = []
        self.spoil = spoil
        self.thread = ""

    def serve(self, connection: socket.socket) -> None:
        # A stub says unasked that the machine has stopped.
        connection.sendall(self.packet("T02thread:01;"))
        pending, last = b"", b""
        while data := connection.recv(4096):
            pending += data
            while match := re.search(rb"\$([^#]*)#..|-", pending):
                pending = pending[match.end() :]
                if match[0] == b"-":
                    connection.sendall(last)
                    continue
                last = self.packet(self.answer(match[1].decode()))
                connection.sendall(b"+" + self.spoil(last))

    def answer(self, command: str) -> str:
        self.asked.append(command)
        if command.startswith("H"):
            self.thread = command[2:]
            return "OK"
        pc = {"01": 0x80000114, "02": 0x80000024}.get(self.thread, 0)
        caller = "x" * 16 if self.thread == "02" else word(0x80000144)
        registers = word(0) + caller + 30 * word(0) + word(pc)
        return {
            "qfThreadInfo": "m01",
            "qsThreadInfo": "m02" if self.asked.count("qsThreadInfo") == 1 else "l",
            "qThreadExtraInfo,01": b"CPU#0 [running]".hex(),
            "qThreadExtraInfo,02": b"CPU#1 [halted ]".hex(),
            "g": registers,
            "m80001000,4": "02000000",
            "D": "OK",
        }.get(command, "")

    @staticmethod
    def packet(payload: str) -> bytes:
        return b"$%b#%02x" % (payload.encode(), sum(payload.encode()) % 256)


def test_all_cores_of_a_stub_are_named_and_released() -> None:
    stub = FakeStub()
    with served(stub.serve) as address:
        cores = cores_by_gdb(address, "riscv64", SYMBOLS)
    assert cores == (
        Core("CPU#0", 0x80000114, "start_hart+0x14", "idle+0x3"),
        Core("CPU#1", 0x80000024, "held+0x4", ""),
    )
    assert stub.asked[-1] == "D"
    assert cores[0].pc == "0x80000114"


def test_cores_may_be_left_standing() -> None:
    stub = FakeStub()
    with served(stub.serve) as address:
        (first, _) = cores_by_gdb(address, "riscv64", resume=False)
    assert "D" not in stub.asked
    assert (first.symbol, first.place, first.function) == ("", "0x80000114", "0x80000114")


def test_a_damaged_packet_is_asked_for_again() -> None:
    damaged: list[bytes] = []

    def spoil(packet: bytes) -> bytes:
        if packet.startswith(b"$m01") and not damaged:
            damaged.append(packet)
            return packet.replace(b"m01", b"m09")
        return packet

    with served(FakeStub(spoil).serve) as address:
        assert len(cores_by_gdb(address, "riscv64")) == 2
    assert damaged


def test_memory_is_read_as_it_lies_there() -> None:
    with served(FakeStub().serve) as address, GdbStub(address) as stub:
        assert stub.memory(0x80001000, 4) == b"\x02\0\0\0"
        with pytest.raises(RigError, match="does not give the memory at 0x0"):
            stub.memory(0, 4)


def silence(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def noise(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"220 mail.example.org ESMTP\r\n" * 4000)
    connection.recv(1)


def hang_up(connection: socket.socket) -> None:
    connection.recv(1)


@pytest.mark.parametrize(
    ("serve", "words"),
    [
        (silence, "has not answered in 0.2 s"),
        (noise, "not GDB's protocol"),
        (hang_up, "closed the connection|was lost"),
    ],
)
def test_a_stub_that_is_none_is_named(serve: Callable[[socket.socket], None], words: str) -> None:
    limit = 0.2 if serve is silence else PATIENCE
    with served(serve) as address, GdbStub(address, timeout=limit) as stub:
        with pytest.raises(RigError, match=words) as caught:
            stub.threads()
        assert f"127.0.0.1:{address[1]}" in caught.value.message
        assert caught.value.fault is Fault.RIG_BROKEN and caught.value.remedy


def test_nothing_there_is_named_too(tmp_path: Path) -> None:
    with pytest.raises(RigError, match=r"gdb cannot be reached"):
        GdbStub(tmp_path / "gdb")


def test_an_unknown_architecture_is_refused_before_anything_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mips"):
        cores_by_gdb(tmp_path / "gdb", "mips")


# -- OpenOCD ---------------------------------------------------------------------------------------

ANSWER = (
    "benchvise-core riscv.cpu0 pc pc (/64): 0x0000000080000114\r\n"
    "benchvise-core riscv.cpu0 ra ra (/64): 0x0000000080000144\r\n"
    "riscv.cpu1: Timed out after 0x10 tries\r\n"
    "benchvise-core riscv.cpu2 pc pc (/64): 0x0000000080000024 (dirty)\r\n"
)
EXPECTED = (
    Core("riscv.cpu0", 0x80000114, "start_hart+0x14", "idle+0x3"),
    Core("riscv.cpu2", 0x80000024, "held+0x4", ""),
)


class FakeOpenOcd:
    """The command port: telnet's negotiation, a banner, the echo of what it is told, a prompt."""

    def __init__(self, answer: str = ANSWER, end: str = "benchvise-end\r\n> ") -> None:
        self.told = ""
        self.answer = answer
        self.end = end

    def serve(self, connection: socket.socket) -> None:
        connection.sendall(b"\xff\xfb\x03\xff\xfe\x01\xff\xfd\x1f\xff\xfb\x01")
        connection.sendall(b"Open On-Chip Debugger\r\n\r> ")
        while not self.told.endswith("\n"):
            self.told += connection.recv(4096).decode()
        connection.sendall(self.told.encode() + self.answer[:40].encode())
        connection.sendall(self.answer[40:].encode() + self.end.encode())
        connection.recv(4096)


def test_openocd_says_where_the_cores_of_a_real_board_stand() -> None:
    server = FakeOpenOcd()
    with served(server.serve) as address:
        where = f"telnet://{address[0]}:{address[1]}"
        assert cores_at(where, "riscv64", SYMBOLS) == EXPECTED
    assert "halt" in server.told and "resume" in server.told and server.told.count("\n") == 1
    assert server.told.count("{") == server.told.count("}")
    assert server.told.count("[") == server.told.count("]")


def test_openocd_leaves_cores_halted_when_told_to() -> None:
    server = FakeOpenOcd()
    with served(server.serve) as address:
        cores_by_telnet(address, "riscv64", SYMBOLS, resume=False)
    assert "resume" not in server.told


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (FakeOpenOcd(end="\r\nError: boom\r\n"), "has not answered .last: Error: boom"),
        (FakeOpenOcd(answer="no target\r\n"), "could read no core"),
    ],
)
def test_an_openocd_that_fails_is_named(server: FakeOpenOcd, words: str) -> None:
    with served(server.serve) as address, pytest.raises(RigError, match=words):
        answers = "benchvise-end" in server.end
        cores_by_telnet(address, "riscv64", timeout=PATIENCE if answers else 2.0)


def test_no_openocd_is_named() -> None:
    with pytest.raises(RigError, match="cannot be reached"):
        cores_by_telnet(("127.0.0.1", 1), "riscv64")


def test_the_address_in_a_rig_file_says_which_debugger_it_is() -> None:
    with pytest.raises(RigError, match=r"OpenOCD at 127\.0\.0\.1:1 .*cannot be reached"):
        cores_at("telnet://127.0.0.1:1", "riscv64")
    for stub in ("127.0.0.1:1", "/nowhere/gdb"):
        with pytest.raises(RigError, match=f"{stub} cannot be reached"):
            cores_at(stub, "riscv64")
    with pytest.raises(UsageError, match="telnet://board is no address of OpenOCD"):
        cores_at("telnet://board", "riscv64")
