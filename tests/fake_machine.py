"""Behaves on a console as a small board does: started by the stand-in kind of virtual_kinds.py.

    fake_machine.py CONSOLE [CARD]

The first line of the card says what it is: "boot TEXT" boots and answers each line, "flood" talks
without end, "die" ends with a message on stderr. Anything else is not bootable.
"""

import os
import select
import socket
import sys


def main() -> int:
    console = socket.socket(socket.AF_UNIX)
    console.connect(sys.argv[1])
    console.sendall(b"fake SPL\r\nHit any key to stop autoboot:  1 ")
    if select.select([console], [], [], 0.2)[0]:
        console.recv(100)
        return prompt(console, b"\r\n")
    card = os.pread(os.open(sys.argv[2], os.O_RDWR), 512, 0) if len(sys.argv) > 2 else b""
    verb, _, text = card.partition(b"\n")[0].partition(b" ")
    if verb == b"flood":
        while True:
            console.sendall(b"flood 0123456789\r\n" * 500)
    if verb == b"die":
        print("fake: the chip is burnt", file=sys.stderr, flush=True)
        return 3
    if verb != b"boot":
        return prompt(console, b"\r\nno bootable medium\r\n")
    console.sendall(b"\r\nbooted " + text + b"\r\nfake login: ")
    return prompt(console, b"")


def prompt(console: socket.socket, first: bytes) -> int:
    console.sendall(first + (b"=> " if first else b""))
    while True:
        data = console.recv(4096)
        if not data:
            return 0
        console.sendall(b"<" + data + b">\r\n")


sys.exit(main())
