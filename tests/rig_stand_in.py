"""Behaves on its console as a board does that boots from its card; started by rig_kinds.py.

    rig_stand_in.py CONSOLE SSH_PORT NAME [CARD]

The first line of the card says how it boots; see ENDS. A board that boots offers a login and then
this machine's own shell, and answers on SSH_PORT as an SSH server does at first.
"""

from __future__ import annotations

import os
import pty
import select
import socket
import sys
import threading
import time

KERNEL = [
    "Booting Linux on physical CPU 0x0000000000 [0x411fd070]",
    "Linux version 6.1.0 (builder@here) (gcc 12.2.0) #1 SMP",
    "Machine model: stand-in",
    "Kernel command line: console=ttyAMA0 root=/dev/vda2",
    *(f"probe: device {number} is there" for number in range(80)),
    "Freeing unused kernel memory: 4096K",
]
PANIC = [
    "sysrq: Trigger a crash",
    "Kernel panic - not syncing: sysrq triggered crash",
    "---[ end Kernel panic - not syncing: sysrq triggered crash ]---",
]
NO_ROOT = [
    "/dev/root: Can't open blockdev",
    'VFS: Cannot open root device "/dev/vda9" or unknown-block(0,0): error -6',
    "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)",
]


class Board:
    def __init__(self, console: socket.socket, ssh_port: int, name: str) -> None:
        self.console = console
        self.ssh_port = ssh_port
        self.name = name
        self.start = time.monotonic()

    def say(self, text: str) -> None:
        self.console.sendall(text.encode())

    def line(self, text: str = "") -> None:
        self.say(f"{text}\r\n")

    def kernel(self, lines: list[str], pause: float = 0.0) -> None:
        for text in lines:
            self.line(f"[{time.monotonic() - self.start:12.6f}] {text}")
            time.sleep(pause)

    def stand(self) -> None:
        """For ever; it ends with the power."""
        while self.console.recv(4096):
            pass

    def bootloader(self, *, waits: float = 0.2) -> None:
        self.line("\r\nU-Boot 2023.01 (Jan 01 2023 - 00:00:00 +0000)\r\n")
        self.line("DRAM:  256 MiB")
        self.say("Hit any key to stop autoboot:  1 ")
        if select.select([self.console], [], [], waits)[0]:
            self.console.recv(100)
            self.line()
            self.prompt()
        self.line("\b\b\b 0 ")

    def prompt(self) -> None:
        self.say("=> ")
        self.stand()

    def up_to_the_kernel(self, pause: float = 0.0) -> None:
        self.bootloader()
        self.line("Retrieving file: /extlinux/extlinux.conf")
        self.line("Starting kernel ...\r\n")
        self.kernel(KERNEL, pause)

    def boots(self) -> None:
        self.up_to_the_kernel()
        self.kernel(["Run /sbin/init as init process"])
        self.serve_ssh()
        while True:
            self.ask_for_login()
            self.shell()

    def ask_for_login(self) -> str:
        self.say(f"\r\n{self.name} login: ")
        user = b""
        while not user.endswith((b"\n", b"\r")):
            user += self.console.recv(1)
            self.console.sendall(user[-1:])
        return user.strip().decode("utf-8", "replace")

    def serve_ssh(self) -> None:
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", self.ssh_port))
        server.listen()

        def answer() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    connection.sendall(b"SSH-2.0-stand-in\r\n")

        threading.Thread(target=answer, daemon=True).start()

    def shell(self) -> None:
        child, terminal = pty.fork()
        if child == 0:
            prompt = f"root@{self.name}:~# "
            environment = {"PS1": prompt, "PATH": os.defpath, "TERM": "dumb"}
            os.execve("/bin/sh", ["sh"], environment)  # noqa: S606
        while True:
            console = self.console.fileno()
            ready = select.select([terminal, console], [], [])[0]
            try:
                if terminal in ready:
                    self.console.sendall(os.read(terminal, 4096))
                if console in ready:
                    typed = self.console.recv(4096)
                    if not typed:
                        sys.exit(0)
                    os.write(terminal, typed)
            except OSError:  # the shell has ended
                os.waitpid(child, 0)
                return

    def panics(self) -> None:
        self.up_to_the_kernel()
        self.kernel(PANIC)
        self.stand()

    def has_no_root(self) -> None:
        self.up_to_the_kernel()
        self.kernel(NO_ROOT)
        self.stand()

    def hangs_in_the_kernel(self) -> None:
        self.up_to_the_kernel()
        self.stand()

    def hangs_in_the_bootloader(self) -> None:
        self.line("\r\nU-Boot 2023.01 (Jan 01 2023 - 00:00:00 +0000)\r\n")
        self.say("DRAM:  ")
        self.stand()

    def finds_no_medium(self) -> None:
        self.bootloader()
        self.line("No bootable device")
        self.prompt()

    def refuses_the_login(self) -> None:
        self.up_to_the_kernel()
        while True:
            self.ask_for_login()

    def never_ends(self) -> None:
        self.up_to_the_kernel()
        while True:
            self.kernel(["probe: still looking for a device"], 0.2)

    def floods(self) -> None:
        self.up_to_the_kernel()
        while True:
            self.kernel(["probe: interrupt storm"] * 200)


ENDS = {
    "boot": Board.boots,
    "panic": Board.panics,
    "no-root": Board.has_no_root,
    "hang": Board.hangs_in_the_kernel,
    "hang-early": Board.hangs_in_the_bootloader,
    "silent": Board.stand,
    "login-loop": Board.refuses_the_login,
    "slow": Board.never_ends,
    "flood": Board.floods,
}


def main() -> int:
    console = socket.socket(socket.AF_UNIX)
    console.connect(sys.argv[1])
    board = Board(console, int(sys.argv[2]), sys.argv[3])
    card = os.pread(os.open(sys.argv[4], os.O_RDWR), 512, 0) if len(sys.argv) > 4 else b""
    word = card.partition(b"\n")[0].decode("ascii", "replace")
    ENDS.get(word, Board.finds_no_medium)(board)
    return 0


if __name__ == "__main__":
    sys.exit(main())
