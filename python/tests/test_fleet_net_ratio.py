"""What the benchmark of a slow way makes its ratio of: pairs of runs whose figures hold."""

from __future__ import annotations

from typing import Any

from benches.fleet_net import Measured, usable


def test_a_pair_with_an_invalid_run_enters_no_ratio() -> None:
    nothing: Any = None
    good, bad = Measured(nothing, True), Measured(nothing, False)
    one, other = {"clients.ops_per_s": 1.0}, {"clients.ops_per_s": 2.0}
    pairs = [
        (good, one, good, other),
        (bad, one, good, other),
        (good, one, bad, other),
        (bad, one, bad, other),
    ]
    assert usable(pairs) == [(one, other)]
