"""More nodes and clients than were measured: claimed from runs of a made-up cluster whose costs are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benches.published import table
from inrush.analysis.points import Analysis, Measured
from inrush.errors import UsageError
from inrush.model.cluster import ClusterLaw, ClusterShape, law_of, needed
from inrush.model.forecast import Refused
from inrush.predict.claims import forecast_of
from inrush.predict.cluster import cluster_run, cluster_runs, fleet_lines, fleets, threads_said
from inrush.predict.training import trainings
from inrush.stats.record import RunRecord
from tests import synthetic
from tests.terminal import Inrush

FIGURE = "reads.ops_per_s"
CORES = 64
#: Each client asks with 2 threads of 64 in flight; a node has a thread of each kind, and two ldm.
SHAPE = ClusterShape(threads=2, parallel=64, servers={"recv": 1, "tc": 1, "ldm": 2, "send": 1})
TRUTH = ClusterLaw(
    SHAPE,
    per_op_s={"client": 1.5e-6, "recv": 0.4e-6, "tc": 0.3e-6, "ldm": 1.6e-6, "send": 0.1e-6},
    interrupts_s=0.4e-6 / 13, total_s=5e-6, wire_s=60e-6,
)  # fmt: skip
#: Packets of an operation, and operations in a send of a client before two nodes.
PACKETS, TOGETHER = 2 / 13, 16.0


def measured(
    nodes: int, clients: int, block: int, rng: np.random.Generator, of: ClusterLaw = TRUTH
) -> Measured:
    """A run as a study would see it: rates, sends, and busy cores of whoever worked, with 1 % of noise."""
    rate = of.rate(nodes, clients)

    def noisy(value: float) -> float:
        return value * float(np.exp(rng.normal(0, 0.01)))

    busy = {name: rate * each_s for name, each_s in of.per_op_s.items()}
    figures = {
        FIGURE: noisy(rate),
        "reads.ops_per_send": TOGETHER * 2 / nodes,
        "reads.sessions": 2.0 * clients,
        "client.busy_cores": noisy(busy["client"]),
        **{f"server.{name}_thread_cores": noisy(busy[name]) for name in SHAPE.servers},
        "server.busy_cores": sum(busy[name] for name in SHAPE.servers),
        "host.softirq_cores": noisy(rate * PACKETS * 0.2e-6),
        "host.loopback_packets_per_s": rate * PACKETS,
    }
    role = {**synthetic.role_plan("reads", "by_key", sessions=2 * clients), "depth": 64}
    role["schedule"] = {"kind": "closed", "think_ns": 0, "refill": "half"}
    plan = {
        "study": "synthetic", "operations": [{"name": "by_key", "kind": "query"}],
        "target": {"engine": "ndb", "options": {"nodes": str(nodes), "threads": "recv:1+tc:1+ldm:2+send:1"}},
        "segments": [{"kind": "drive", "phase": "measure", "roles": [role]}],
    }  # fmt: skip
    factors = {"nodes": nodes, "clients": clients}
    labels = {"engine": "ndb", "factors": factors, "block": block, "order": clients}
    doc = {"labels": labels, "block": block, "order": clients, "status": "done"}
    env = {**synthetic.ENV, "cpu_logical": CORES, "cpu_capacity_cores": CORES}
    env.pop("disk_write_bytes_per_s")
    run = RunRecord(f"b{block:02d}-{nodes}-{clients}", plan, env, doc)
    return Measured(run, figures, ())


def study(points: Sequence[tuple[int, int]], along: str, of: ClusterLaw = TRUTH) -> Analysis:
    rng = np.random.default_rng(7)
    runs = [measured(*at, block, rng, of) for block in (1, 2, 3) for at in points]
    doc: Mapping[str, Any] = {"answer": {"kind": "scaling", "of": FIGURE, "along": along}}
    return synthetic.analysis_with(runs, doc)


CLIENTS = study([(2, 1), (2, 2), (2, 4)], "clients")


def test_costs_of_an_operation_and_the_way_are_found_again() -> None:
    of = cluster_runs([*CLIENTS.runs, *study([(8, 4)], "nodes").runs], FIGURE, 0.0)
    assert of is not None and of.shape.servers == SHAPE.servers and of.shape.parallel == 64
    law = law_of(of.runs, of.shape)
    for name, each_s in TRUTH.per_op_s.items():
        assert law.per_op_s[name] == pytest.approx(each_s, rel=0.05)
    assert law.interrupts_s == pytest.approx(0.4e-6 / 16, rel=0.03), "packets hold what a send holds"
    assert law.wire_s == pytest.approx(60e-6, rel=0.35)


@pytest.mark.parametrize("to", [8, 16])
def test_clients_beyond_those_measured_are_claimed_with_what_is_full_first(to: int) -> None:
    (training,) = trainings(CLIENTS)
    made = forecast_of(training, to)
    truth = TRUTH.rate(2, to)
    assert made.model == "network"
    assert made.median == pytest.approx(truth, rel=0.05)
    assert made.lo <= truth <= made.hi
    assert made.bottleneck == TRUTH.fullest(2, to)[0] == "ldm"
    assert "ldm is full first" in made.why[0]
    # Two nodes are full of fewer clients than these, and stay so.
    assert made.saturation is not None and made.saturation < to


def test_more_nodes_take_more_until_their_clients_are_full() -> None:
    (training,) = trainings(study([(2, 6), (4, 6), (6, 6)], "nodes"))
    for to in (8, 12):
        made = forecast_of(training, to)
        assert made.median == pytest.approx(TRUTH.rate(to, 6), rel=0.05)
        assert "a client's send held up to 16 operations before 6 nodes" in made.why[1]
    assert forecast_of(training, 12).bottleneck in ("client", "load")


def test_cores_that_all_share_decide_where_they_are_full_first() -> None:
    small = study([(2, 1), (2, 2)], "clients")
    busy = max(sum(v for k, v in m.figures.items() if k.endswith(".busy_cores")) for m in small.runs)
    cores = {"cpu_logical": 8, "cpu_capacity_cores": 1.1 * busy}
    few = replace(
        small, runs=[replace(m, run=replace(m.run, env={**m.run.env, **cores})) for m in small.runs]
    )
    own, shared = (forecast_of(trainings(of)[0], 4) for of in (small, few))
    assert shared.median < 0.9 * own.median
    assert shared.bottleneck == "cores" and own.bottleneck != "cores"


def test_a_fraction_of_a_client_is_refused() -> None:
    with pytest.raises(Refused, match="only whole clients"):
        forecast_of(trainings(CLIENTS)[0], 6.5)


def test_results_without_threads_of_nodes_go_the_way_that_they_went() -> None:
    bare = replace(CLIENTS, runs=[
        replace(m, figures={k: v for k, v in m.figures.items() if not k.endswith("_thread_cores")}) for m in CLIENTS.runs
    ])  # fmt: skip
    (training,) = trainings(bare)
    assert training.cluster is None
    assert "closed network" not in forecast_of(training, 8).why[0]
    with pytest.raises(UsageError, match="no run says what an operation costs each node"):
        fleets(bare, FIGURE, 1e6)


def test_a_rate_has_the_nodes_and_clients_that_give_it_and_no_fewer() -> None:
    found = needed(TRUTH, 5e6)
    assert found is not None
    assert TRUTH.rate(found.nodes, found.clients) >= 5e6 > TRUTH.rate(found.nodes, found.clients - 1)
    assert TRUTH.rate(found.nodes - 2, 4096) < 5e6 / 0.95, "two nodes less are full of it, or nearly so"
    assert found.busy <= 1 and needed(TRUTH, 1e12) is None


def test_more_in_flight_than_the_network_counts_exactly_go_on_as_fewer_do() -> None:
    """128 in flight of each client: from 8 clients on there are more than 1,000."""
    before, beyond = TRUTH.rate(20, 7) / 7, TRUTH.rate(20, 8) / 8
    assert beyond == pytest.approx(before, rel=0.03)
    assert TRUTH.rate(1000, 2000) == pytest.approx(50 * TRUTH.rate(20, 40), rel=0.001)


def test_the_published_cluster_is_continued_as_decision_262_says() -> None:
    """200M reads per second in MySQL Cluster 7.4: two costs by four of its thirteen points; what else is assumed is never full."""
    points = {
        (r["curve"], int(r["load"])): float(r["rate"]) * 1e6
        for r in table("curves")
        if "cluster" in r["curve"]
    }
    nodes, machines = "mysql_cluster_data_nodes", "mysql_cluster_api_machines"
    fitted = {nodes: (2, 16), machines: (1, 15)}
    each_s = {
        curve: float(np.exp(np.mean([np.log(load / points[curve, load]) for load in of])))
        for curve, of in fitted.items()
    }
    shape = ClusterShape(threads=4, parallel=4096, servers={"recv": 8, "tc": 12, "ldm": 12, "send": 2})
    busy = {"recv": 0.9e-6, "tc": 1.5e-6, "ldm": 1.5e-6, "send": 0.2e-6}
    law = ClusterLaw(shape, {"client": 4 * each_s[machines], **busy}, each_s[nodes], 0.0, wire_s=20e-6)
    errors = [
        abs((law.rate(load, load * 40 / 24) if curve == nodes else law.rate(24, load)) / per_s - 1)
        for (curve, load), per_s in points.items()
        if load not in fitted[curve]
    ]
    assert len(errors) == 9
    assert (f"{np.median(errors):.1%}", f"{max(errors):.1%}") == ("2.9%", "5.3%")


#: With as many nodes as a rate needs, or more.
BOTH = study([(2, 1), (2, 4), (4, 4), (8, 8)], "clients")


def test_what_a_rate_needs_is_told_with_its_interval_and_what_is_full_first() -> None:
    (f,) = fleets(BOTH, FIGURE, 5e6)
    truth = needed(TRUTH, 5e6)
    assert truth is not None and f.unseen is None
    assert f.nodes[0] <= f.found.nodes <= f.nodes[1]
    assert f.found.nodes == pytest.approx(truth.nodes, rel=0.25)
    text = "\n".join(fleet_lines([f], FIGURE))
    assert f"needs {f.found.nodes} nodes [{f.nodes[0]}, {f.nodes[1]}] and {f.found.clients} clients" in text
    assert f"{f.found.full} is full first" in text and "machine of its own" in text
    with pytest.raises(
        UsageError, match="--threads cpu:3: names no threads; runs watched recv, tc, ldm, send"
    ):
        fleets(BOTH, FIGURE, 5e6, "cpu:3")
    without = [replace(m, figures={k: v for k, v in m.figures.items() if "tc_" not in k}) for m in BOTH.runs]
    with pytest.raises(UsageError, match=r"ldm:2\+tc:2: no run watched tc; runs watched recv, ldm, send"):
        fleets(replace(BOTH, runs=without), FIGURE, 5e6, "ldm:2+tc:2")


def test_sends_that_no_run_has_priced_are_said_to_be() -> None:
    """Two nodes alone: sends hold 16 operations, and would hold a few before many nodes."""
    (f,) = fleets(CLIENTS, FIGURE, 5e6)
    assert f.unseen is not None and "what smaller sends cost is not known" in f.unseen
    assert f.unseen in "\n".join(fleet_lines([f], FIGURE))


def test_threads_are_read_as_the_engine_takes_them() -> None:
    assert threads_said("main:1+ldm:12+recv:8") == {"ldm": 12, "recv": 8}
    assert threads_said("auto8") == {}


@pytest.mark.ci
def test_the_command_asks_for_a_rate_and_answers_with_nodes_and_clients(
    inrush: Inrush, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "inrush.commands.predict.opened_store", lambda: SimpleNamespace(find=lambda which: which)
    )
    monkeypatch.setattr("inrush.stats.measures.study_record", lambda results: results)
    monkeypatch.setattr("inrush.guards.analyse.analyse", lambda record: BOTH)
    said = inrush("predict", "--for", f"{FIGURE}=5e6", "--by", "nodes,clients", "--json")
    (f,) = said.json["fleets"]
    assert f["nodes_interval"][0] <= f["nodes"] <= f["nodes_interval"][1] and f["network_per_s"] >= 5e6
    assert f"needs {f['nodes']} nodes" in inrush("predict", "--for", f"{FIGURE}=5e6").out
    for words, message in (
        (("--for", "reads.rows=5"), "write a rate of a role and how much of it"),
        (("--for", f"{FIGURE}=many"), "write a rate of a role and how much of it"),
        (("--for", f"{FIGURE}=5e6", "--by", "disks"), "a rate is asked for by nodes,clients"),
    ):
        refused = inrush("predict", *words)
        assert refused.code == 2 and message in refused.err


def test_packets_are_those_between_client_and_server_and_not_what_else_a_host_sends_itself() -> None:
    """Six hundred a second by the loopback interface beside 1.3 packets of each operation between two machines."""
    (first, *_) = CLIENTS.runs
    per_s = first.figures[FIGURE]
    figures = {**first.figures, "host.loopback_packets_per_s": 600.0, "host.packets_per_s": 1.3 * per_s}
    of = cluster_run(Measured(first.run, figures, ()), FIGURE, "reads")
    assert of is not None and of.packets_per_op == pytest.approx(1.3)
    # Of several hosts each has its own, and there is no sum: what is taken where nothing was watched.
    for each in ("loopback_packets_per_s", "packets_per_s"):
        figures[f"host/1.{each}"] = figures[f"host/2.{each}"] = figures.pop(f"host.{each}")
    of = cluster_run(Measured(first.run, figures, ()), FIGURE, "reads")
    assert of is not None and of.packets_per_op == 2.0
