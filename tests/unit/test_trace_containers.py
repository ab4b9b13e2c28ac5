"""In which cgroup or container threads ran."""

from __future__ import annotations

from arrow_tables import arrow_table
from trace_tables import Builder

from benchvise.trace.analysis.containers import containers


def threads(*tids: int) -> Builder:
    b = Builder()
    for tid in tids:
        b.actor("task", f"t{tid}", tid=tid, process=10 if tid == 11 else tid)
    return b


def test_a_thread_is_where_its_process_was_put_and_a_child_where_its_parent_was() -> None:
    moved = arrow_table({"time": [5, 30], "pid": [10, 20], "dst_path": ["/first", "/" + "x" * 900]})
    forks = arrow_table({"time": [10, 3], "parent_pid": [10, 10], "child_pid": [12, 13]})
    b = threads(10, 11, 12, 13, 20, 30)
    events = {"cgroup_attach_task": moved, "sched_process_fork": forks}
    known = containers(b.analysis(0, 100, events=events))
    # Thread 13 was forked before its parent was put anywhere; 30 was never put anywhere.
    assert set(known) == {0, 1, 2, 4}
    assert known[0] == known[1] == known[2] == "/first"
    assert len(known[4]) <= 200


def test_namespaces_tell_containers_where_no_cgroup_is_recorded() -> None:
    state = arrow_table({"time": [0] * 3, "tid": [1, 10, 12], "ns_inum": [7, 7, 9]})
    names = ("time", "parent_tid", "child_tid", "child_ns_inum", "child_pid")
    forks = arrow_table(dict(zip(names, ([1], [12], [20], [9], [20]), strict=True)))
    b = threads(1, 10, 12, 20)
    events = {"lttng_statedump_process_state": state, "sched_process_fork": forks}
    place = "PID namespace 9"
    assert containers(b.analysis(0, 100, events=events)) == {2: place, 3: place}
    assert containers(b.analysis(0, 100)) == {}
