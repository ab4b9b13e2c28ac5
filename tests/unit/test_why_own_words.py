"""Names that the command's own scripts and a difference have in common."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchvise.board.local import LocalBoard
from benchvise.why.model import Layer, Suspect, Term
from benchvise.why.witness import own_words
from benchvise.why.witness.model import CallsAbout
from benchvise.why.witness.own_words import own_names, put_named_first


def start_line(name: str, good: str, bad: str, odds: float) -> Suspect:
    text = f"boot.init_settings:{name}"
    terms = (Term("prior", odds, ""),)
    return Suspect(text, name, Layer.RUN_TIME, text, good, bad, untestable="by hand", terms=terms)


BRIDGE = start_line("/etc/rc.local", "add br-lan stp_state 0", "add br-lan stp_state 1", -1.0)
CRON = start_line("/etc/cron.d/trim-logs", "not there", "0 * * * * root trim-logs eth0", 0.5)
ROUTE = start_line("/etc/network", "dev eth0", "dev eth0 metric 3", 0.2)
LINK = start_line("/etc/links", "eth0 up", "eth0 up mtu 1400", 0.1)


def test_what_the_command_names_comes_first() -> None:
    """xapi-project/xcp-networkd#46: a bridge that a start file makes, and a script that uses it."""
    names = ["br-lan", "port0", "eth0"]
    ranked = put_named_first((CRON, ROUTE, LINK, BRIDGE), names)
    assert [s.id for s in ranked] == [s.id for s in (BRIDGE, CRON, ROUTE, LINK)]
    assert ranked[0].terms[-1].reason == "it is about br-lan, which the command names"
    # what many differences name says nothing of one of them
    assert all(len(suspect.terms) == 1 for suspect in ranked[1:])
    assert put_named_first((CRON, BRIDGE), ()) == (CRON, BRIDGE)


def test_names_are_those_of_the_command_and_of_its_own_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "plug.sh"
    script.write_text("until bridge link show | grep br-lan; do sleep 0.02; done\n/dev/sda1 \0x\n")
    monkeypatch.setattr(own_words, "_OF_USER", re.compile(str(tmp_path)))
    calls = [CallsAbout("openat", str(script), 1, 0, 0.1, 0.1)]
    assert own_names(LocalBoard(), f"sh {script} port0", calls) == ("port0", "br-lan")
    assert own_names(LocalBoard(), "sh -c true", ()) == ()
