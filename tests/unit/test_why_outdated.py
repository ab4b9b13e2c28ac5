"""Servers that were started before what tells them was changed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchvise.board.local import LocalBoard
from benchvise.why.benches.file_digests import digests_on
from benchvise.why.model import Side
from benchvise.why.witness.model import CallsAbout, Partner, SideWatch
from benchvise.why.witness.outdated import OUTDATED, started_anew
from benchvise.why.witness.partner_suspects import partner_suspects
from benchvise.why.witness.partners import find_partners
from benchvise.why.witness.times import CHANGED

CONF = "/etc/meterd.conf"
SERVER = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()"
SERVES = f"{SERVER}; print('on', flush=True); s.accept()"


@pytest.mark.parametrize(
    ("good", "bad", "same", "late"),
    [
        ((100.0, 50), (100.0, 900), True, True),
        ((100.0, 900), (100.0, 900), True, False),  # both run with what stood there before
        ((100.0, 50), (100.0, 101), True, False),  # within what the time of boot is known to
        ((100.0, 50), (100.0, 900), False, False),  # the file itself is the difference
        ((100.0, 50), (0.0, 900), True, False),
    ],
)
def test_a_server_that_was_started_before_its_file_was_changed_is_a_suspect(
    good: tuple[float, int], bad: tuple[float, int], *, same: bool, late: bool
) -> None:
    digests, watches = {}, {}
    for side, (since, changed) in ((Side.GOOD, good), (Side.BAD, bad)):
        text = f"{'a' if same or side is Side.GOOD else 'b'} 10"
        digests[side] = {CONF: text, f"{CHANGED}{CONF}": str(changed)}
        files = (CONF, "/etc/init.d/meterd")
        partner = Partner("meterd", ("127.0.0.1:7750",), files=files, running_since=since)
        watches[side] = SideWatch(partners=(partner,))
    suspects = [s for s in partner_suspects(watches, digests, ()) if s.id.startswith(OUTDATED)]
    assert [(s.good, s.bad) for s in suspects] == (
        [("started after that", "started before that")] if late else []
    )
    for suspect in suspects:
        line = started_anew(suspect, (OUTDATED,), watches[Side.BAD].partners)
        assert line == "/etc/init.d/meterd restart"


def test_since_when_a_program_runs_and_when_a_file_changed_are_of_one_clock(tmp_path: Path) -> None:
    conf = tmp_path / "meterd.conf"
    conf.write_text("cache=on")
    os.utime(conf, (1000, 1000))  # whatever time it was given
    address = str(tmp_path / "socket")
    before = time.time()
    words = [sys.executable, "-c", SERVES, address]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            (partner,) = find_partners(
                LocalBoard(), [CallsAbout("connect", address, 1, 0, 0.1, 0.1)]
            )
        finally:
            process.kill()
    changed = float(digests_on(LocalBoard(), [str(conf)])[f"{CHANGED}{conf}"])
    assert abs(partner.running_since - before) < 60.0
    assert abs(changed - before) < 60.0
