"""Cores as a resource of a machine: only where all that works on them was watched in every run, and may use the same of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.points import Measured
from inrush.predict.training import parts_of
from tests.synthetic import ENV, figured

CLIENT = {"writers.busy_cores": 1.0}
SERVER = {**CLIENT, "server.busy_cores": 2.0}
HELD = {**ENV, "cgroup_cpu_cores": 2.0}
#: What is known of a server that inrush has started.
OURS = {"settings_asked": {}}


def run(figures: Mapping[str, float], env: Mapping[str, Any] = ENV, **summary: Any) -> Measured:
    found = figured("postgresql", {"writers": 1}, 1, 0, figures)
    return replace(found, run=replace(found.run, env=env, summary={**found.run.summary, **summary}))


@pytest.mark.parametrize(
    ("runs", "cores"),
    [
        ([run(CLIENT)], 8.0),
        ([run(CLIENT, HELD)], 2.0),
        ([run(SERVER), run(SERVER)], 8.0),
        ([run(SERVER, HELD, **OURS)], 2.0),
        # The server may use cores that inrush may not.
        ([run(SERVER, HELD)], None),
        # Of a study that went on with another inrush: one run has the server's part, and one has not.
        ([run(SERVER), run(CLIENT)], None),
        ([run(CLIENT, server_unseen="nothing listens")], None),
    ],
)
def test_cores_are_a_resource_where_all_that_uses_them_was_watched(
    runs: list[Measured], cores: float | None
) -> None:
    found = {part.name: part.capacity for part in parts_of(runs)}
    assert found.get("cores") == cores
