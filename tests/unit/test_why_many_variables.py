"""Hundreds of variables that one side alone has."""

from __future__ import annotations

from benchvise.why.explain.remedies import remedies
from benchvise.why.model import Layer, ProcessMeans, Side, Suspect
from benchvise.why.suspects.many_variables import FEWEST, OTHERS, grouped_variables


def variable(name: str, good: str = "not there", bad: str = "/opt/x") -> Suspect:
    means = ProcessMeans({f"env.{name}": "%"}, {f"env.{name}": bad})
    return Suspect(
        f"process.environment:{name}", name, Layer.PROCESS, "process.environment", good, bad,
        ("process.environment/variables",), means=means,
    )  # fmt: skip


def test_many_variables_of_one_beginning_are_one_suspect() -> None:
    many = [variable(f"MODULE_{number}_HOME") for number in range(FEWEST)]
    few = [variable("LC_ALL"), variable("MODULE_LIST", good="a"), variable("PATH", good="/bin")]
    grouped = grouped_variables([few[0], *many, *few[1:]])
    assert [s.id for s in grouped] == [few[0].id, f"{many[0].id}{OTHERS}", few[1].id, few[2].id]
    group = grouped[1]
    assert (group.good, group.bad) == ("not there", f"{FEWEST} variables")
    assert isinstance(group.means, ProcessMeans)
    assert len(group.means.to_good) == len(group.means.to_bad) == FEWEST
    values = {Side.GOOD: group.good, Side.BAD: group.bad}
    texts = [r.text for r in remedies(group, origins=(), side_values=values)]
    assert "unset $(env | grep -o '^MODULE_[^=]*')" in texts


def test_fewer_are_tried_by_themselves() -> None:
    few = [variable(f"MODULE_{number}_HOME") for number in range(FEWEST - 1)]
    assert grouped_variables(few) == few
    both = [*few, variable("MODULE_Z_HOME", good="a", bad="not there")]
    assert grouped_variables(both) == both
