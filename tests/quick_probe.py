"""A probe whose benchmarks end at once, for walks through many commands.

    quick_probe.py REAL COMMAND [ARGUMENT]...

All but ``run`` is done by the real probe ``REAL``. ``run`` tells what the real one tells of its
first batch, with a value that is made up: who walks a guide looks whether commands work, not at
values.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

BATCHES = 5

# What commands print that the guide measures and this machine may not have.
PRINTED = "Copied: 10.5 GB/sec\nAES-128-CBC 512000.25k\nTot: 100 3000 3000\n"

Line = dict[str, Any]


class QuickProbe:
    """Answers ``run`` by itself, from what the real probe says once."""

    def __init__(self, real: str) -> None:
        self.real = real
        self._registry: Line | None = None
        self._example: dict[str, Line] = {}
        self._chance = random.Random(1)

    @property
    def registry(self) -> Line:
        if self._registry is None:
            listed = subprocess.run([self.real, "list"], stdout=subprocess.PIPE, check=True).stdout
            self._registry = json.loads(listed)
        return self._registry

    @property
    def example(self) -> dict[str, Line]:
        """The lines of one short real run by type."""
        if not self._example:
            short = "run os.syscall --batches 1 --batch_ms 1 --warm_ms 0"
            ran = subprocess.run(
                [self.real, *short.split()], stdout=subprocess.PIPE, check=True
            ).stdout
            self._example = {line["type"]: line for line in map(json.loads, ran.splitlines())}
        return self._example

    def run(self, words: Sequence[str]) -> Iterator[Line]:
        """The lines of one process of a benchmark; a pace is the caller's."""
        described = next(b for b in self.registry["benchmarks"] if b["id"] == words[0])
        named = dict(zip(words[1::2], words[2::2], strict=True))
        given = {name[2:]: value for name, value in named.items() if name != "--as"}
        parameters = [*described["parameters"], *self.registry["common"]]
        params = {p["name"]: p["default"] for p in parameters} | described.get("defaults", {})
        params |= given
        batches = min(int(params["batches"]), BATCHES)
        yield self.example["host"]
        yield {
            **self.example["begin"],
            **{key: described[key] for key in ("unit", "better", "counted", "figures")},
            "benchmark": words[0],
            "params": params,
            "batches": batches,
        }
        for index in range(batches):
            detail: Line = {figure["key"]: self._value() for figure in described["figures"]}
            if params.get("output") == "keep":
                detail |= {"output": PRINTED, "output_bytes": len(PRINTED)}
            sample = {"index": index, "value": self._value(), "detail": detail, "flags": []}
            yield {**self.example["sample"], **sample}
        yield {"type": "end", "batches": batches}

    def _value(self) -> float:
        return 1000 * self._chance.lognormvariate(0, 0.01)

    def serve(self) -> None:
        """Takes requests as ``bvprobe serve`` does, and hands on all but ``run``."""
        with subprocess.Popen(
            [self.real, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as real:
            assert real.stdin is not None and real.stdout is not None
            say(real.stdout.readline())
            while request := sys.stdin.buffer.readline():
                if not request.strip():
                    continue
                asked = json.loads(request)
                if asked["args"][0] == "run":
                    if not self._answer(asked):
                        return
                    continue
                real.stdin.write(request)
                real.stdin.flush()
                answer = b"\n"
                while answer and not answer.startswith(b'{"type":"done"'):
                    answer = real.stdout.readline()
                    say(answer)
            real.stdin.close()

    def _answer(self, asked: Line) -> bool:
        """Whether the host still listens."""
        words = asked["args"][1:]
        for line in self.run(words):
            say(json.dumps(line).encode() + b"\n")
            paced = line["type"] == "sample" and "--paced" in words
            if paced and sys.stdin.buffer.readline() != b"\n":
                return False
        say(json.dumps({"type": "done", "request": asked["request"], "exit": 0}).encode() + b"\n")
        return True


def say(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def main() -> None:
    real, *words = sys.argv[1:]
    if words == ["serve"]:
        QuickProbe(real).serve()
    else:
        os.execv(real, [real, *words])  # noqa: S606


if __name__ == "__main__":
    main()
