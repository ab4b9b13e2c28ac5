"""Differences planted on a link, on a disk and by a quota are found, as in ``test_planted``.

All mostly wait, so they are measured beside tests that compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import plants
import pytest
import remote_hosts
import skips
import storage_places
from planted_experiments import CALLS, COPY, QUICKER, Experiment, investigate, judge

pytest_plugins = ["probe_fixtures"]
pytestmark = pytest.mark.alone

QUOTA = Experiment("cpu-quota", lambda: plants.quota(50), (CALLS, COPY), ())


def test_a_slow_link_is_found(static: Path) -> None:
    """On one side of a pair of virtual interfaces; the other side is a sink of ours."""
    with remote_hosts.namespaces() as link, ExitStack() as stack:
        sink = stack.enter_context(remote_hosts.sink(static, prefix=link.in_remote))
        tcp = f"net.tcp:peer={remote_hosts.REMOTE_ADDRESS}:{sink.port},batch_ms=60"
        before = [*link.in_board]
        # no faster, as it would compute beside what waits for nothing
        fast = ("tbf", "rate", "400mbit", "burst", "256k", "latency", "50ms")
        link.shape(*fast)

        @contextmanager
        def slow_link() -> Iterator[plants.Words]:
            link.shape("tbf", "rate", "100mbit", "burst", "32k", "latency", "50ms")
            try:
                yield []
            finally:
                link.shape(*fast)

        experiment = Experiment("slow-link", slow_link, (tcp,), (CALLS, COPY), often=QUICKER)
        judge(experiment, investigate(experiment, before))


def test_no_read_ahead_is_found() -> None:
    with storage_places.loop_disk(64 << 20, "--direct-io=on") as disk:
        storage_places.tool("mkfs.ext4", "-q", disk.device)
        with storage_places.mounted(disk.device) as point:
            ahead = Path(f"/sys/block/{disk.device.name}/queue/read_ahead_kb")
            ahead.write_text("4096\n")  # this device is ours and goes with the test
            where = f"file={point},size=8M,batch_ms=20"
            experiment = Experiment(
                "no-read-ahead",
                lambda: plants.file_set(ahead, "0"),
                (f"storage.read:mode=buffered,block=16K,{where}",),
                (f"storage.read:mode=cached,block=16K,{where}", CALLS, COPY),
                often=QUICKER,
            )
            judge(experiment, investigate(experiment, []))


@skips.needs_root
def test_a_quota_of_half_a_cpu_is_found() -> None:
    judge(QUOTA, investigate(QUOTA, []))
