"""A stand-in that speaks the probe's protocol and has one of its faults, for the channel's tests.

python fakeprobe.py FAULT serve
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

READY = {"protocol": 1, "probe": "fake", "arch": "none"}


def say(kind: str, **content: Any) -> None:
    raw(json.dumps({"type": kind, **content}).encode() + b"\n")


def raw(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def fail(code: int, message: str) -> None:
    say("error", exit=code, errno=1, error="EPERM", message=message)
    say("done", request=1, exit=code)


def sample(index: int, value: str = "1.5") -> None:
    raw(f'{{"type":"sample","index":{index},"value":{value},"flags":[]}}\n'.encode())


def sleep() -> None:
    time.sleep(60)


def close_output() -> None:
    os.close(1)
    os.close(2)
    sleep()


# What the fault does after the first sample.
IN_THE_MIDDLE: dict[str, Callable[[], object]] = {
    "garbage": lambda: raw(b"\x1b[31mSegmentation fault\x07 (core dumped)\n"),
    "binary": lambda: raw(bytes(range(256)) * 4 + b"\n"),
    "not-an-object": lambda: raw(b"[1]\n"),
    "no-type": lambda: raw(b"{}\n"),
    "type-is-a-list": lambda: raw(b'{"type": []}\n'),
    "nan": lambda: sample(1, "NaN"),
    "infinite": lambda: sample(1, "1e999"),
    "huge-integer": lambda: sample(1, "9" * 5000),
    "value-is-text": lambda: sample(1, '"1"'),
    "surrogate": lambda: raw(b'{"type":"begin","benchmark":"\\ud800","params":{},"caveats":[]}\n'),
    "deep": lambda: raw(b"[" * 100_000 + b"\n"),
    "long-line": lambda: raw(b"x" * (2 << 20)),
    "silent": sleep,
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "ends": lambda: sys.exit("fakeprobe: out of ideas"),
    "closes-output": close_output,
    "wrong-number": lambda: say("done", request=7, exit=0),
    "child-killed": lambda: say("done", request=1, signal=9),
    "unknown-signal": lambda: say("done", request=1, signal=99),
    "fails-silently": lambda: say("done", request=1, exit=1),
    "unavailable": lambda: fail(77, "no counters here: load the module"),
    "usage": lambda: fail(2, "size=7 is too small: use 4096"),
    "fails": lambda: fail(1, "cannot \x1b[2Jmap memory: free some"),
}


def answer(fault: str) -> None:
    for text in sys.stdin:
        if not text.strip():
            continue
        request = json.loads(text)
        words, number = request["args"], request["request"]
        if words[0] == "list" and fault != "no-list":
            say("list", benchmarks=[], common=[])
        elif words[0] == "read":
            for path in request.get("input", []):
                answers = {"no-value": {}, "bad-hex": {"hex": "xyz"}}
                say("value", path=path, **answers.get(fault, {"value": f"<{number}>"}))
        elif words[0] == "run":
            say("begin", benchmark=words[1], params={}, caveats=[])
            for index in range(3):
                sample(index)
                if index == 0 and fault in IN_THE_MIDDLE:
                    IN_THE_MIDDLE[fault]()
                if "--paced" in words and sys.stdin.readline() != "\n":
                    return
            say("end", batches=3)
        say("done", request=number, exit=0)


def main() -> None:
    fault = sys.argv[1]
    match fault:
        case "talkative":
            raw(b"Welcome!\n\x1b]0;title\x07\n{not json}\n[]\nprompt> " * 20 + b"\n")
        case "endless-lines":
            raw(b"\n".join(b"spam %d" % i for i in range(1000)))
        case "endless-line":
            raw(b"x" * (80 << 10) + b"\n")
        case "never-ready":
            sleep()
        case "not-found":
            sys.exit(127)
        case "other-protocol":
            READY["protocol"] = 2
    say("ready", **READY)
    if fault == "deaf":
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        sleep()
    answer(fault)


if __name__ == "__main__":
    main()
