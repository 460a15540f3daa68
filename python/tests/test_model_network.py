"""Laws, bounds and the closed network: golden values, brute force, and what must hold of every network."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.model.network import (
    Station,
    at_population,
    in_flight_for,
    partitioned,
    throughput,
    throughputs,
)
from inrush.model.queues import population

DEMANDS = st.floats(1e-6, 1e3)
STATIONS = st.lists(st.builds(Station, DEMANDS, st.floats(1, 32)), min_size=1, max_size=5)
SINGLE = st.lists(st.builds(Station, DEMANDS), min_size=1, max_size=5)


def upper_bound(n: float, stations: list[Station], think_s: float = 0.0) -> float:
    """Of n units in flight: none is faster than its demands, no station faster than full."""
    limits = (s.capacity / s.demand_s for s in stations)
    return min(n / (sum(s.demand_s for s in stations) + think_s), *limits)


def lower_bound(n: float, stations: list[Station], think_s: float = 0.0) -> float:
    """The worst is that all wait for all."""
    return n / (n * sum(s.demand_s for s in stations) + think_s)


def balanced_bounds(n: float, stations: list[Station], think_s: float = 0.0) -> tuple[float, float]:
    """Balanced job bounds (low, high) for stations of one server: Lazowska et al., chapter 5."""
    total, most = sum(s.demand_s for s in stations), max(s.demand_s for s in stations)
    mean = total / len(stations)
    low = n / (total + think_s + (n - 1) * most / (1 + think_s / (n * total)))
    high = min(1 / most, n / (total + think_s + (n - 1) * mean / (1 + think_s / total)))
    return low, high


def test_the_knee_of_that_pipeline_is_soft_where_four_units_are_in_flight() -> None:
    # 1.31 s of waiting for what nobody measured (as many servers as units): then one pipeline holds four units.
    x = throughputs([Station(0.14), Station(2.5, 20), Station(0.05), Station(1.31, 1000)], 50)
    c = in_flight_for(x, 1.0)
    assert c == pytest.approx(4.0, abs=0.02)
    assert [round(min(n, at_population(x, n * c)), 1) for n in (7, 10)] == [6.2, 7.0]


def ctmc(stations: list[tuple[float, int]], n: int) -> float:
    """Throughput by the stationary distribution of all states of a cyclic network."""
    k = len(stations)
    states = [s for s in itertools.product(range(n + 1), repeat=k) if sum(s) == n]
    index = {s: i for i, s in enumerate(states)}
    q = np.zeros((len(states), len(states)))
    for s in states:
        for i, (demand, servers) in enumerate(stations):
            if s[i]:
                to = list(s)
                to[i] -= 1
                to[(i + 1) % k] += 1
                q[index[s], index[tuple(to)]] += min(s[i], servers) / demand
    q -= np.diag(q.sum(axis=1))
    a = np.vstack([q.T, np.ones(len(states))])
    p = np.linalg.lstsq(a, np.array([0.0] * len(states) + [1.0]), rcond=None)[0]
    demand, servers = stations[0]
    return float(sum(p[index[s]] * min(s[0], servers) / demand for s in states))


@pytest.mark.parametrize("n", [1, 3, 7])
def test_convolution_is_what_all_states_of_the_network_give(n: int) -> None:
    stations = [(0.5, 2), (0.2, 1)]
    assert throughput([Station(d, m) for d, m in stations], n) == pytest.approx(ctmc(stations, n), rel=1e-12)


def test_convolution_is_mean_value_analysis_where_that_is_stable() -> None:
    demands, queue, x = [0.3, 0.2, 0.05], np.zeros(3), 0.0
    for n in range(1, 21):
        residence = np.array(demands) * (1 + queue)
        x = n / (residence.sum() + 1.5)
        queue = x * residence
    assert throughput([Station(d) for d in demands], 20, think_s=1.5) == pytest.approx(x, rel=1e-8)


def test_sixty_four_servers_stay_stable_where_multi_server_mva_breaks() -> None:
    x = throughputs([Station(1.0, 64), Station(0.01)], 512)
    assert (np.diff(x) >= -1e-9).all()
    assert x[-1] == pytest.approx(64, rel=1e-6)


@given(STATIONS, st.integers(1, 40))
def test_no_network_passes_its_upper_bound_or_falls_under_its_lower(stations: list[Station], n: int) -> None:
    x = throughputs(stations, n)[-1]
    assert x <= upper_bound(n, stations) * (1 + 1e-9)
    assert x >= lower_bound(n, stations) * (1 - 1e-9)


@given(SINGLE, st.integers(1, 30), st.floats(0, 10))
def test_balanced_bounds_hold_the_network_and_lie_inside_the_plain_ones(
    stations: list[Station], n: int, think_s: float
) -> None:
    x = throughput(stations, n, think_s)
    low, high = balanced_bounds(n, stations, think_s)
    assert low * (1 - 1e-6) <= x <= high * (1 + 1e-6)
    assert high <= upper_bound(n, stations, think_s) * (1 + 1e-9)
    assert low >= lower_bound(n, stations, think_s) * (1 - 1e-9)


@given(STATIONS)
def test_more_in_flight_is_never_slower_and_utilisation_stays_below_one(stations: list[Station]) -> None:
    x = throughputs(stations, 60)
    assert (np.diff(x) >= -1e-9 * x.max()).all()
    assert all(x[-1] * s.demand_s / s.capacity <= 1 + 1e-9 for s in stations)


@given(STATIONS, st.floats(1e-3, 1e3))
def test_a_unit_of_time_changes_nothing(stations: list[Station], factor: float) -> None:
    slower = [Station(s.demand_s * factor, s.capacity) for s in stations]
    assert throughput(slower, 9) * factor == pytest.approx(throughput(stations, 9), rel=1e-9)


@given(DEMANDS, st.integers(2, 8), st.integers(1, 30))
def test_partitions_are_slower_than_a_pool_of_the_same_servers(demand_s: float, parts: int, n: int) -> None:
    pooled = throughput([Station(demand_s, parts)], n)
    shared = throughput(partitioned(demand_s, parts), n)
    skewed = throughput(partitioned(demand_s, parts, [parts, *[1.0] * (parts - 1)]), n)
    assert skewed * (1 - 1e-9) <= shared <= pooled * (1 + 1e-9)


@given(STATIONS, st.floats(0.05, 0.95))
def test_the_population_found_for_a_throughput_gives_it(stations: list[Station], share: float) -> None:
    x = throughputs(stations, 64)
    wanted = share * float(x[-1])
    assert at_population(x, in_flight_for(x, wanted)) == pytest.approx(wanted, rel=1e-9)
    assert in_flight_for(x, float(x[-1]) * 1.01) == float("inf")


def test_littles_law_counts_what_is_under_way() -> None:
    assert population(100.0, 0.2, 0.3) == 50
