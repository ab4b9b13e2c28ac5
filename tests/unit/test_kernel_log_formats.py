"""Rules on the formats of 53 subsystems of the kernel: what is recognised, and what is left alone.

``formats.tsv``: tuned or held out, fault or ordinary, common (cores of subsystems) or rare (single
drivers), the device in front, and the format with its slots. The README beside it says how they
were chosen.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from benchvise.kernel_log import classify
from benchvise.kernel_log.rules import Severity

DATA = Path(__file__).parents[1] / "data" / "kernel_logs"
ROWS = [row.split("\t") for row in (DATA / "formats.tsv").read_text("utf-8").splitlines()]
SLOTS = {
    "int": "3", "uint": "12", "hex": "1f2e", "err": "-110", "word": "rx", "name": "vdd",
    "func": "xfer_wait", "comm": "kworker/1:2", "ptr": "00000000a1b2c3d4",
}  # fmt: skip


def filled(form: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda slot: SLOTS.get(slot[1], slot[0]), form)


def test_faults_of_53_subsystems_are_recognised_and_ordinary_lines_left_alone() -> None:
    whole: Counter[tuple[str, str, str]] = Counter()
    alarms: Counter[tuple[str, str, str]] = Counter()
    named = Counter[bool]()
    for half, kind, how, device, form in ROWS:
        key = (kind, how if kind == "fault" else "", half)
        match = classify(filled(form))
        whole[key] += 1
        if match is not None and match.rule.severity is not Severity.NOTE:
            alarms[key] += 1
            if kind == "fault" and device != "-":
                named[bool(match.device)] += 1
    for key, count in sorted(whole.items()):
        print(*key, f"{alarms[key]} of {count}")
    assert len(ROWS) > 2900
    for which in ("tuned", "held-out"):
        assert alarms["fault", "common", which] / whole["fault", "common", which] >= 0.95
        assert alarms["fault", "rare", which] / whole["fault", "rare", which] >= 0.93
        # Two in three of these are faults that their drivers call information; see the README.
        assert alarms["ordinary", "", which] / whole["ordinary", "", which] <= 0.075
    assert named[True] / named.total() >= 0.97
