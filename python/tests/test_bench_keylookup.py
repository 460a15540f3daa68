"""The page of the published cluster: its figures are made again, and those that were not fitted are within 5 %."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from benches.keylookup.cluster_002 import FITTED, MACHINES, NODES, PUBLISHED, Point, points, published
from benches.keylookup.scaling import NAMES, PAGE, point_rows, svg
from benches.simulation import minute
from inrush.model.cluster import SimulatedCluster, simulated

TEXT = PAGE.read_text(encoding="utf-8")


def as_fitted() -> SimulatedCluster:
    """With the costs that the page says it has fitted."""
    (found,) = re.findall(
        r"Fitted: ([\d.]+) µs of a node's interrupts for each packet, and ([\d.]+) µs", TEXT
    )
    interrupt_us, client_us = map(float, found)
    return replace(
        PUBLISHED,
        interrupts=replace(PUBLISHED.interrupts, per_packet_s=interrupt_us / 1e6),
        client=replace(PUBLISHED.client, per_op_s=client_us / 1e6),
    )


def rows() -> dict[tuple[str, int], list[str]]:
    table = [[c.strip() for c in line.strip("| ").split("|")] for line in TEXT.splitlines() if "| predicted |" in line or "| fitted |" in line]  # fmt: skip
    return {(r[0], int(r[1])): r for r in table}


def test_every_predicted_point_of_the_page_is_within_five_percent() -> None:
    found = rows()
    for curve, of in published().items():
        for load, per_s in of.items():
            cells = found[NAMES[curve], load]
            assert float(cells[2]) == round(per_s / 1e6, 2)
            assert cells[5] == ("fitted" if load in FITTED[curve] else "predicted")
            assert abs(float(cells[3]) / float(cells[2]) - 1) <= 0.05, cells
    assert len(found) == 13


def test_the_small_points_of_the_page_are_what_the_simulation_gives() -> None:
    """The large ones take seconds each. Costs stand on the page with three digits."""
    cluster, found = as_fitted(), rows()
    for curve, loads in ((NODES, [2, 4, 8]), (MACHINES, [1, 3])):
        for p in points(cluster, curve, loads):
            cells = found[NAMES[curve], p.load]
            assert float(cells[3]) == pytest.approx(p.outcome.ops_per_s / 1e6, rel=0.005)
            assert float(cells[7]) == pytest.approx(p.outcome.ops_per_packet, abs=0.1)


@pytest.mark.slow
def test_the_stall_is_of_full_interrupts() -> None:
    at_37, at_40 = (p.outcome for p in points(as_fitted(), MACHINES, [37, 40]))
    assert abs(at_40.ops_per_s / at_37.ops_per_s - 1) < 0.02
    assert at_37.full is not None and at_40.full == "interrupts"
    assert at_40.stations["interrupts"]["busy"] > 0.99
    # The three machines more only make each API node wait.
    assert at_40.stations["client"]["busy"] < 0.96 * at_37.stations["client"]["busy"]


def test_the_picture_marks_each_published_point_and_rings_the_fitted() -> None:
    outcome = simulated(replace(PUBLISHED, nodes=2, machines=1, warm_s=0.001, measure_s=0.0025))
    found = {curve: [Point(curve, n, per_s, outcome) for n, per_s in of.items()] for curve, of in published().items()}  # fmt: skip
    drawn = svg(found)
    assert drawn.count('class="dot"') == 13 and drawn.count('class="ring"') == 4
    assert len(point_rows(found)) == 13


def test_the_minute_of_the_bench_is_a_minute_of_thirty_two_nodes_and_forty_machines() -> None:
    assert (minute().nodes, minute().machines, minute().measure_s) == (32, 40, 60.0)
    short = simulated(replace(minute(), measure_s=0.02, interval_s=0.002))
    assert short.ops_per_s > 160e6


def test_the_bench_of_rust_simulates_the_same_minute_with_half_as_many_in_flight() -> None:
    path = PAGE.parents[2] / "rust" / "simulate" / "benches" / "minute.json"
    assert json.loads(path.read_text()) == replace(minute(), parallel=4096).document()
