"""Stands in for ``bvprobe sink``, with one of its faults.

python fakesink.py FAULT sink --bind ADDRESS --port 0 --key HEX
"""

from __future__ import annotations

import json
import sys
import time


def say(kind: str, **content: object) -> None:
    print(json.dumps({"type": kind, **content}), flush=True)


def main() -> None:
    fault, words = sys.argv[1], sys.argv[2:]
    assert words[0] == "sink"
    options = dict(zip(words[1::2], words[2::2], strict=True))
    match fault:
        case "refused":
            say("error", exit=1, message="sink: cannot listen: give an address of this system")
            return
        case "silent":
            time.sleep(60)
        case "ends":
            sys.exit("sink: out of ideas")
        case "nonsense":
            print("\x1b[31mhello", flush=True)
        case "no-port":
            say("listening", address=options["--bind"], port="x")
        case _:
            say("listening", address=options["--bind"], port=5210, given=options)
    if fault == "dies":
        time.sleep(0.1)
        return
    while fault == "talks" and not sys.stdin.closed:
        say("session", text="x" * 1000)
    sys.stdin.read()


if __name__ == "__main__":
    main()
