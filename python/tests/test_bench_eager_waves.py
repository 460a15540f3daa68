"""Reads of a MySQL Cluster on hosts of a laboratory, behind a port that takes so many packets a second."""

from __future__ import annotations

import pytest

from benches.keylookups.eager_waves import Setting, measured
from tests.needed import need_lab

from .engines.servers import need, scratch

need_lab()
#: Dear in time: hosts of their own, a cluster, and runs that are long enough for waves.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_both_runs_of_a_block_are_judged_and_a_full_port_loses_packets() -> None:
    need("ndb")
    # Two replicas are two hosts of data nodes. 128 intervals are the least that is looked at for waves.
    of = Setting(nodes=2, sessions=4, depth=16, packets_per_s=300.0, queue_packets=5, way_s=0.01, send_delay_s=0.02,
                 measure_s=14.0, warm_s=2.0, interval_s=0.1, blocks=1)  # fmt: skip
    with scratch() as folder:
        runs, said, packets = measured(of, folder)
    assert {run.delay_s: run.block for run in runs} == {0.0: 1, 0.02: 1} and len(runs) == 2
    at_once, delayed = sorted(runs, key=lambda run: run.delay_s)
    assert delayed.ops_per_send > 1.5 * at_once.ops_per_send
    assert packets["full"] > 0 and packets["carried"] > 1_000, packets
    # For 16 calls in flight the library would ask 16 times for a transaction, 20 ms each, before any is sent.
    assert all(max(run.wave.of.rate[:3]) > 0 for run in runs), "that was done when the sessions were opened"
    assert "wave" in said and all(run.wave.of.unit == "calls/s" for run in runs)
