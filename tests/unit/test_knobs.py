"""The knobs of the catalogue: what may be set, and what the kernel ties together."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from families import every

from benchvise.errors import UsageError
from benchvise.state import knobs, places
from benchvise.state.catalogue import knobs as catalogue
from benchvise.state.catalogue import load_catalogue
from benchvise.state.model import Knob
from benchvise.state.roles import ROLES

KNOBS = {name: knob for name, (_, knob) in catalogue().items()}

# What such a knob takes stands in its file, which differs from kernel to kernel.
OF_BOARDS = ("memory.thp", "memory.thp_defrag", "memory.thp_shmem", "block.scheduler")

# One that is set, and another that the kernel sets anew then.
TIED = (
    ("vm.dirty_ratio", "vm.dirty_bytes"),
    ("vm.dirty_bytes", "vm.dirty_ratio"),
    ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
    ("vm.overcommit_kbytes", "vm.overcommit_ratio"),
    ("vm.overcommit_ratio", "vm.overcommit_kbytes"),
    ("memory.thp", "vm.min_free_kbytes"),
    ("cpu.min_freq", "cpu.max_freq"),
    ("cpu.max_freq", "cpu.min_freq"),
    ("cpu.governor", "cpu.schedutil_rate_limit_us"),
    ("cpu.governor", "cpu.policy_ondemand_up_threshold"),
    ("cpu.governor", "cpu.energy_preference"),
    ("cpu.secondary_online", "cpu.idle_deep_disable"),
    ("block.scheduler", "block.nr_requests"),
    ("block.scheduler", "block.wbt_lat_usec"),
    ("block.scheduler", "block.deadline_read_expire"),
    ("kernel.watchdog", "kernel.soft_watchdog"),
)


@every("knob", KNOBS.values(), name_of=lambda knob: knob.name)
def test_a_knob_is_a_file_of_proc_sys_or_sys(knob: Knob) -> None:
    assert knob.path.startswith(places.ROOTS) and ".." not in knob.path
    assert set(re.findall(r"\{(\w+)\}", knob.path)) <= set(ROLES)
    assert knob.summary
    assert all(any(fnmatchcase(name, tied) for name in KNOBS) for tied in knob.resets)


def test_only_of_some_choices_the_board_alone_knows_the_values() -> None:
    of_boards = {name for name, knob in KNOBS.items() if knob.kind == "choice" and not knob.choices}
    assert of_boards == set(OF_BOARDS)
    for name in OF_BOARDS:
        assert knobs.canonical(KNOBS[name], "no such value") == "no such value"


@pytest.mark.parametrize("value", ["\x1b[31m", "no such value", "-12345678901234567890"])
@every("name", [name for name in KNOBS if name not in OF_BOARDS])
def test_a_knob_takes_no_other_values(name: str, value: str) -> None:
    knob = KNOBS[name]
    if knob.kind == "text" and re.fullmatch(knob.pattern, value):
        assert name == "timer.clocksource", "a name of the kernel's may be a number"
        return
    with pytest.raises(UsageError, match=re.escape(name)) as caught:
        knobs.canonical(knob, value)
    assert caught.value.remedy


@every("knob", KNOBS.values(), name_of=lambda knob: knob.name)
def test_a_knob_says_which_values_it_takes(knob: Knob) -> None:
    for choice in knob.choices:
        assert knobs.canonical(knob, choice) == choice
        assert knobs.can_be_put_back(knob, choice)
    if knob.kind == "text":
        re.compile(knob.pattern)


def test_no_name_is_taken_twice() -> None:
    names = [knob.name for item in load_catalogue() for knob in item.knobs]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("name", "other"), TIED)
def test_what_the_kernel_ties_together_is_put_back_together(name: str, other: str) -> None:
    assert other in {knob.name for knob in knobs.companions(KNOBS[name])}


def test_what_the_kernel_does_not_tie_together_is_not() -> None:
    assert "vm.swappiness" not in {k.name for k in knobs.companions(KNOBS["memory.thp"])}
    assert "block.read_ahead_kb" not in {k.name for k in knobs.companions(KNOBS["block.scheduler"])}
