"""The simulated cluster where the answer is known: Erlang C, M/D/1, closed networks, Little's law, work that is conserved."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from inrush._core import CoreFailure
from inrush.model.cluster import ServerKind, SimulatedCluster, simulated
from inrush.model.network import Station, throughput
from inrush.model.queues import erlang_c, population

SEEDS = range(1, 11)
#: Student's t, 9 degrees of freedom, two-sided 99.9 %.
T_999 = 4.781

#: One node with one kind of server, which is offered single operations.
QUEUE = SimulatedCluster(
    nodes=1, machines=1, ldm=ServerKind(1, 1e-3, route="first_free"), warm_s=2, measure_s=40, interval_s=4
)
#: All that a cluster has, small: eight connections before four nodes.
SMALL = SimulatedCluster(
    nodes=4, machines=4, connections=2, threads=2, parallel=64, refill="half", wire_s=20e-6, packet_ops=8, message_ops=64,
    client=ServerKind(1, 0.5e-6, 1e-6, route="first_free"), interrupts=ServerKind(1, per_packet_s=0.5e-6, route="first_free"),
    recv=ServerKind(2, 1e-6, route="connection"), tc=ServerKind(2, 1e-6, pieces=2), ldm=ServerKind(4, 2e-6, pieces=4),
    send=ServerKind(1, 0.2e-6, 1e-6, route="connection"), warm_s=0.02, measure_s=0.1, interval_s=0.01,
)  # fmt: skip


def agrees(found: list[float], truth: float) -> None:
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - truth) <= T_999 * error, (float(np.mean(found)), truth, float(error))
    assert error < 0.03 * truth, "an interval that holds anything shows nothing"


@pytest.mark.parametrize(("servers", "load"), [(1, 0.7), (4, 0.8), (12, 0.9)])
def test_servers_with_one_line_wait_as_erlang_says(servers: int, load: float) -> None:
    offered = load * servers / 1e-3
    queue = replace(
        QUEUE, offered_per_s=offered, ldm=ServerKind(servers, 1e-3, service="exponential", route="first_free")
    )
    found = [simulated(replace(queue, seed=seed)).stations["ldm"] for seed in SEEDS]
    waits = erlang_c(servers, load * servers)
    agrees([s["waited"] for s in found], waits)
    agrees([s["wait_s"] for s in found], waits * 1e-3 / (servers * (1 - load)))
    agrees([s["busy"] for s in found], load)


def test_a_fixed_service_waits_half_as_long() -> None:
    load = 0.8
    found = [simulated(replace(QUEUE, offered_per_s=load * 1e3, seed=seed)) for seed in SEEDS]
    agrees([o.stations["ldm"]["wait_s"] for o in found], load / (2 * (1 - load)) * 1e-3)


def test_a_measured_service_waits_as_pollaczek_and_khinchine_say() -> None:
    # Half of the operations take 0.2 of the mean, half 1.8: a mean square of 1.64.
    load, quantiles = 0.7, (0.2,) * 500 + (1.8,) * 500
    queue = replace(
        QUEUE, offered_per_s=load * 1e3, ldm=ServerKind(1, 1e-3, service=quantiles, route="first_free")
    )
    found = [simulated(replace(queue, seed=seed)).stations["ldm"]["wait_s"] for seed in SEEDS]
    agrees(found, load * 1.64 / (2 * (1 - load)) * 1e-3)


@pytest.mark.parametrize("threads", [1, 6, 40])
def test_a_closed_network_of_exponential_servers_is_as_its_exact_solution(threads: int) -> None:
    """Two nodes: a key lies on either. Receive and send threads have a line each, LDM threads one for three."""
    cluster = SimulatedCluster(
        nodes=2, machines=1, connections=1, threads=threads, client_delay_s=2e-3, client_delay="exponential",
        recv=ServerKind(1, 0.3e-3, service="exponential"), ldm=ServerKind(3, 1.5e-3, service="exponential", route="first_free"),
        send=ServerKind(1, 0.4e-3, service="exponential"), warm_s=2, measure_s=40, interval_s=4,
    )  # fmt: skip
    stations = [Station(0.15e-3), Station(0.75e-3, 3), Station(0.2e-3)] * 2
    agrees(
        [simulated(replace(cluster, seed=seed)).ops_per_s for seed in SEEDS],
        throughput(stations, threads, think_s=2e-3),
    )


def test_threads_that_keys_are_hashed_over_are_stations_of_their_own() -> None:
    cluster = SimulatedCluster(
        nodes=1, machines=1, threads=10, ldm=ServerKind(4, 1e-3, service="exponential", route="key"), warm_s=2, measure_s=40, interval_s=4
    )  # fmt: skip
    agrees(
        [simulated(replace(cluster, seed=seed)).ops_per_s for seed in SEEDS],
        throughput([Station(0.25e-3)] * 4, 10),
    )


@pytest.mark.parametrize("operation", ["read", "update"])
def test_what_is_under_way_is_rate_times_time(operation: str) -> None:
    closed = replace(SMALL, refill="each", operation=operation)
    found = simulated(closed)
    assert population(found.ops_per_s, found.latency["mean_s"]) == pytest.approx(8 * 2 * 64, rel=0.01)
    assert found.in_flight == 8 * 2 * 64
    assert found.issued == found.answered + found.in_flight


def test_no_operation_is_lost_or_doubled() -> None:
    for changed in (
        SMALL,
        replace(SMALL, operation="update"),
        replace(SMALL, send_delay_s=1e-4, send_ops=48),
    ):
        found = simulated(replace(changed, message_ops=7))
        assert found.issued == found.answered + found.in_flight
        # A thread's operations that are back and wait for others are not under way.
        assert 0 < found.in_flight <= 8 * 2 * 64
        assert sum(found.series) == pytest.approx(found.ops_per_s * found.measured_s)


def test_every_server_is_busy_for_what_passed_it() -> None:
    """The utilisation law. An update is at three TC visits, and at an LDM thread four times: twice on each node of a pair."""
    for operation, tc, ldm in (("read", 1, 1), ("update", 3, 4)):
        found = simulated(replace(SMALL, operation=operation))
        each_node = found.ops_per_s / 4
        assert found.stations["tc"]["busy"] * 2 == pytest.approx(each_node * tc * 1e-6, rel=0.02)
        assert found.stations["ldm"]["busy"] * 4 == pytest.approx(each_node * ldm * 2e-6, rel=0.02)
    reads = simulated(SMALL)
    packets = (reads.requests["packets"] + reads.replies["packets"]) / reads.measured_s / 4
    assert reads.stations["interrupts"]["busy"] == pytest.approx(packets * 0.5e-6, rel=0.02)


def test_a_seed_says_everything() -> None:
    drawn = replace(SMALL, ldm=replace(SMALL.ldm, service="exponential"))
    assert simulated(drawn) == simulated(drawn)
    assert simulated(drawn).series != simulated(replace(drawn, seed=2)).series


@pytest.mark.parametrize("kind", ["client", "interrupts", "recv", "tc", "ldm", "send"])
def test_what_costs_more_is_never_faster(kind: str) -> None:
    rates = [simulated(SMALL.scaled(kind, factor)).ops_per_s for factor in (1.0, 2.0, 4.0, 16.0)]
    assert all(dear <= cheap * 1.01 for cheap, dear in pairwise(rates)), rates
    assert rates[-1] < 0.8 * rates[0]


def test_a_send_delay_fills_packets() -> None:
    """Pieces that are ready one after the other leave one by one; after a delay together."""
    few = replace(SMALL, threads=1, parallel=64)
    eager, patient = simulated(few), simulated(replace(few, send_delay_s=100e-6, send_ops=64))
    assert patient.ops_per_send > 1.5 * eager.ops_per_send
    assert patient.ops_per_packet > eager.ops_per_packet


def test_answers_wait_on_their_node_where_a_connection_reads_slowly() -> None:
    slow = replace(SMALL, refill="each", client=ServerKind(1, per_packet_s=20e-6, route="first_free"))
    endless, short = simulated(slow), simulated(replace(slow, buffer_packets=2))
    assert short.ops_per_packet > 1.5 * endless.ops_per_packet
    assert short.ops_per_s > 1.2 * endless.ops_per_s, "fuller packets cost the connection less"
    assert short.stations["client"]["wait_s"] < endless.stations["client"]["wait_s"]
    assert short.issued == short.answered + short.in_flight and short.in_flight == 8 * 2 * 64
    # A buffer that never fills changes nothing but the events by which nodes learn what was read.
    wide = simulated(replace(slow, buffer_packets=10_000))
    assert (wide.series, wide.latency, wide.replies) == (endless.series, endless.latency, endless.replies)


def test_updates_between_nodes_wait_for_no_room() -> None:
    update = replace(SMALL, operation="update", buffer_packets=1)
    found = simulated(update)
    assert found.ops_per_s > 0.3 * simulated(replace(update, buffer_packets=0)).ops_per_s
    assert found.issued == found.answered + found.in_flight


def test_a_node_sends_a_connection_no_more_than_it_has_room_for() -> None:
    """A send fills what is free at most, of packets of eight operations; 64 wait for a connection that is the slowest part."""
    slow = replace(SMALL, refill="each", client=ServerKind(1, per_packet_s=20e-6, route="first_free"))
    for packets in (1, 2):
        found = simulated(replace(slow, buffer_packets=packets, message_ops=64))
        assert found.replies["ops"] / found.replies["sends"] <= 8 * packets


def test_a_buffer_of_connections_that_read_side_by_side_is_refused() -> None:
    with pytest.raises(CoreFailure, match="one server each"):
        simulated(replace(SMALL, client=ServerKind(2, 0.5e-6), buffer_packets=4))


def test_a_buffer_without_send_threads_is_refused() -> None:
    with pytest.raises(CoreFailure, match="buffer_packets needs send threads"):
        simulated(replace(SMALL, send=ServerKind(), buffer_packets=4))


def test_refill_says_how_many_leave_together() -> None:
    by = {refill: simulated(replace(SMALL, refill=refill)).requests for refill in ("round", "half", "each")}
    together = {refill: t["ops"] / t["sends"] for refill, t in by.items()}
    assert together["round"] == pytest.approx(64 / 4, rel=0.02)
    assert together["round"] > 1.3 * together["half"] > 1.3 * together["each"]


def test_it_ends_when_its_interval_is_narrow_enough() -> None:
    long = replace(SMALL, measure_s=2.0, within=0.01)
    found = simulated(long)
    assert found.half_width is not None and found.half_width <= 0.01
    assert found.measured_s < 2.0


def test_a_cluster_that_contradicts_itself_is_told_everything_at_once() -> None:
    with pytest.raises(CoreFailure) as refused:
        simulated(replace(QUEUE, nodes=3, operation="update", parallel=0, measure_s=1))
    kind, message = refused.value.args
    assert kind == "plan"
    for wrong in ("parallel is 0", "interval_s 4", "nodes is 3: updates need nodes in pairs"):
        assert wrong in message
    with pytest.raises(CoreFailure, match="no station, wire or delay takes any time"):
        simulated(SimulatedCluster(nodes=1, machines=1))
