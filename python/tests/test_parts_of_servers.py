"""A server of several processes is one role, and each of them a part of it: what is summed over roles counts it once."""

from __future__ import annotations

import pytest

from inrush.guards import laws, notes
from inrush.guards.verdicts import Outcome
from inrush.predict.training import cores_busy
from tests.test_resumed_guards import gone_on

PARTS = {"server cpu_s": 5.0, "server/node_1 cpu_s": 3.0, "server/node_2 cpu_s": 2.0}


def test_cores_of_a_part_are_in_its_whole() -> None:
    figures = {"client.busy_cores": 1.0, "server.busy_cores": 5.0, "server/node_1.busy_cores": 5.0}
    assert cores_busy(figures) == 6.0
    run = gone_on(PARTS, gap_s=0.0)
    found = laws.nothing_overfull(run, figures)
    assert found is not None and found.outcome is Outcome.PASS and "6.00 of 8 cores busy" in found.sentence


def test_what_others_computed_is_less_by_each_process_once() -> None:
    """Of 80 s of eight processors 10 were busy: 5 of the server, 5 of others."""
    host = {"host cpu_total_s": 80.0, "host cpu_busy_s": 10.0}
    shares = notes.noise_shares(gone_on({**PARTS, **host}, gap_s=0.0))
    assert shares["other processes"] == pytest.approx(5.0 / 80.0)
