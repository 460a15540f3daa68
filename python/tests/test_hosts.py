"""Several hosts of client processes, each judged by itself, on made-up tables: the second one is full, or others take from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from inrush.agent.progress import Clients, Together
from inrush.agent.watched import PART_LOOKS, of_machine, resources
from inrush.analysis.verdicts import Outcome
from inrush.guards import lateness, quiet
from inrush.report.client_hosts import memory_free, row_of
from inrush.report.live.usage import Using
from inrush.report.machine import fullest, machine_panels
from inrush.report.timeline import every_device
from inrush.results.schema import SCHEMAS
from inrush.stats.headroom import idle_share
from inrush.stats.hosts import hosts_of, unwatched
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from inrush.stats.steal_free import steal_share_of
from tests import synthetic

SECOND = synthetic.SECOND
CORES = 8
#: Metric -> what it is a second on a host that does nothing else.
QUIET = {
    "cpu_total_s": float(CORES), "cpu_busy_s": 1.0, "cpu_steal_s": 0.0, "cpu_user_s": 0.75, "cpu_system_s": 0.2, "cpu_irq_s": 0.05,
    "cpu_softirq_s": 0.04, "psi_cpu_some_s": 0.0, "psi_memory_some_s": 0.0, "tcp_segments": 2_000.0, "tcp_segments_again": 0.0,
    "interrupts": 100.0, "context_switches": 1_000.0,
}  # fmt: skip
LEVELS = {"mem_available_bytes": 8e9, "page_cache_bytes": 1e9, "dirty_bytes": 0.0, "writeback_bytes": 0.0}


def machine(role: str, seconds: int = 12, **per_s: float) -> list[dict[str, Any]]:
    rates = {**QUIET, **{k: v for k, v in per_s.items() if k not in LEVELS}}
    levels = {**LEVELS, **{k: v for k, v in per_s.items() if k in LEVELS}}
    rows = []
    for t in range(seconds):
        rows += [row(role, t, metric, rate * t) for metric, rate in rates.items()]
        rows += [row(role, t, metric, level) for metric, level in levels.items()]
        rows += [
            row(role, t, "net_tx_packets", 40.0 * t, "eth0"),
            row(role, t, "net_rx_packets", 60.0 * t, "eth0"),
        ]
        rows += [row(role, t, "net_tx_bytes", 5e6 * t, "eth0"), row(role, t, "net_rx_bytes", 1e6 * t, "eth0")]
    return rows


def row(role: str, t: float, metric: str, value: float, device: str = "") -> dict[str, Any]:
    return {"role": role, "t_ns": int(t * SECOND), "metric": metric, "device": device, "value": value}


def run_on(
    hosts: Mapping[str, Mapping[str, float]],
    workers: str = "ab",
    clients: float = 1.0,
    networks: Sequence[str] = (),
) -> RunRecord:
    """hosts: role -> what is another than on a quiet one. workers: the kernel of each. clients: cores of each process."""
    plain = synthetic.run("postgresql", makespan_s=4.0, resources=False)
    rows = [r for role, other in hosts.items() for r in machine(role, **other)]
    for n in range(1, len(workers) + 1):
        rows += [row(f"client/{n}", t, "cpu_s", clients * t) for t in range(12)]
        rows += [row(f"client/{n}", t, "cpu_system_s", clients / 4 * t) for t in range(12)]
    rows += [row("client", t, "cpu_s", clients * len(workers) * t) for t in range(12)]
    rows += [row("client", t, "cpu_system_s", clients / 4 * len(workers) * t) for t in range(12)]
    told = [
        {
            "host": f"host-{boot}", "boot": boot, "cores": CORES, "clock": {"error_ns": 0},
            **({"spaces": {"network": networks[n]}} if networks else {}),
        }
        for n, boot in enumerate(workers)
    ]  # fmt: skip
    table = pa.Table.from_pylist(rows, schema=SCHEMAS["resources"])
    return replace(
        plain,
        tables={**plain.tables, "resources": table},
        summary={**plain.summary, "clients": {"count": len(workers), "workers": told}},
        _rows={},
    )


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"cpu_steal_s": 0.8}, "steal 10.0 % on host-b"),
        # One core is that of the client process there.
        ({"cpu_busy_s": 4.0}, "other processes 37.5 % on host-b"),
        ({"cpu_busy_s": 4.0, "psi_cpu_some_s": 0.5}, "CPU pressure 50.0 % on host-b"),
        ({"cpu_busy_s": 4.0, "psi_memory_some_s": 0.25}, "memory pressure 25.0 % on host-b"),
        ({"tcp_segments": 1_900.0, "tcp_segments_again": 100.0}, "TCP segments sent again 5.0 % on host-b"),
    ],
)
def test_what_is_taken_from_the_second_host_is_said_with_its_name(
    other: dict[str, float], words: str
) -> None:
    found = quiet.quiet_machine(run_on({"host/1": {}, "host/2": other}), {})
    assert found is not None and found.outcome is Outcome.NOTE and words in found.sentence, found
    assert "host-a" not in found.sentence
    still = quiet.quiet_machine(run_on({"host/1": {}, "host/2": {}}), {})
    assert still is not None and still.outcome is Outcome.PASS, still


def test_of_several_hosts_the_worst_is_named_and_how_many_there_are() -> None:
    run = run_on({"host/1": {"cpu_steal_s": 0.4}, "host/2": {}, "host/3": {"cpu_steal_s": 0.8}}, "abc")
    found = quiet.quiet_machine(run, {})
    assert (
        found is not None
        and "steal 10.0 % on host-c (limit 1 %, beyond it on 2 of 3 hosts)" in found.sentence
    )
    assert quiet.worst(run, "steal") == (pytest.approx(0.1), hosts_of(run)[2])


def test_idle_is_that_of_the_host_with_the_least() -> None:
    assert idle_share(run_on({"host/1": {}, "host/2": {"cpu_busy_s": 6.0}})) == pytest.approx(0.25)
    assert idle_share(run_on({"host/1": {"cpu_busy_s": 6.0}, "host/2": {}})) == pytest.approx(0.25)


def test_processes_of_a_host_are_its_own_and_no_others() -> None:
    """Three processes of a core each, two of them on the first host: nothing else runs on either."""
    run = run_on({"host/1": {"cpu_busy_s": 2.0}, "host/2": {}}, "aba"[:3])
    assert [host.roles for host in hosts_of(run)] == [("client/1", "client/3"), ("client/2",)]
    found = quiet.quiet_machine(run, {})
    assert found is not None and found.outcome is Outcome.PASS and "other processes 0.0 %" in found.sentence


def test_results_in_which_the_first_host_alone_was_watched_are_not_those_of_all() -> None:
    run = run_on({"host": {}})
    assert [(host.role, host.label, host.name) for host in hosts_of(run)] == [("host", "host/1", "host-a")]
    assert unwatched(run) == ["host-b"]
    found = quiet.quiet_machine(run, {})
    assert found is not None and found.outcome is Outcome.NOT_CHECKED and "host-b" in found.sentence
    assert idle_share(run) is None and steal_share_of(run) is None
    figures = figures_of_run(run)
    assert "host/1.user_cores" in figures and not [k for k in figures if k.startswith("host.")]


def test_a_run_of_one_host_has_one_machine_without_a_name() -> None:
    run = run_on({"host": {"cpu_steal_s": 0.8}}, "aa")
    (host,) = hosts_of(run)
    assert (host.role, host.label, host.name, host.roles) == ("host", "host", "", None)
    found = quiet.quiet_machine(run, {})
    assert found is not None and "steal 10.0 % (limit 1 %)" in found.sentence


def test_figures_are_of_each_host_and_of_all_together() -> None:
    figures = figures_of_run(run_on({"host/1": {}, "host/2": {"cpu_user_s": 3.0, "cpu_steal_s": 0.5}}))
    assert figures["host/1.user_cores"] == pytest.approx(0.75) and figures[
        "host/2.user_cores"
    ] == pytest.approx(3.0)
    assert figures["host.user_cores"] == pytest.approx(3.75) and figures["host.steal_cores"] == pytest.approx(
        0.5
    )
    # A packet from one to the other is counted at both, and the most of each was at another time.
    assert figures["host/2.packets_per_s"] == pytest.approx(100.0)
    assert figures["host/2.page_cache_bytes"] == pytest.approx(1e9)
    assert (
        not {"host.packets_per_s", "host.packets_per_op", "host.page_cache_bytes", "host.dirty_bytes"}
        & figures.keys()
    )


def test_containers_of_one_machine_are_one_kernel_and_have_networks_of_their_own() -> None:
    run = run_on({"host/1": {"cpu_busy_s": 2.0}, "host/2": {"cpu_busy_s": 2.0}}, "aa", networks="xy")
    assert [host.roles for host in hosts_of(run)] == [("client/1", "client/2")] * 2
    assert [host.name for host in hosts_of(run)] == ["host-a (client process 1)", "host-a (client process 2)"]
    figures = figures_of_run(run)
    assert figures["host.user_cores"] == pytest.approx(0.75), "the kernel counts once"
    assert figures["host/2.packets_per_s"] == pytest.approx(100.0), "and each has a network"
    found = quiet.quiet_machine(run, {})
    assert found is not None and found.outcome is Outcome.PASS, found


def test_a_moment_is_free_of_steal_where_no_host_lost_anything() -> None:
    rows = machine("host/1") + [
        r
        if r["metric"] != "cpu_steal_s" or r["t_ns"] < 8 * SECOND
        else {**r, "value": 4.0 * (r["t_ns"] / SECOND - 7)}
        for r in machine("host/2")
    ]
    run = run_on({})
    run = replace(
        run, tables={**run.tables, "resources": pa.Table.from_pylist(rows, SCHEMAS["resources"])}, _rows={}
    )
    share = steal_share_of(run)
    assert share is not None
    import numpy as np

    begin = np.array([2.0, 9.0]) * SECOND
    assert list(share(begin, begin + SECOND)) == [pytest.approx(0.0), pytest.approx(0.5)]


def test_late_calls_name_the_host_that_lost_its_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on({"host/1": {}, "host/2": {"cpu_steal_s": 0.8}})
    assert "The host of host-b meanwhile gave 10.0 %" in lateness.taken_by_others(run, ["writers"])


def test_the_report_shows_each_host() -> None:
    run = run_on({"host/1": {}, "host/2": {"cpu_busy_s": 6.0, "mem_available_bytes": 2e9}})
    first, second = hosts_of(run)
    assert (memory_free(run, first), memory_free(run, second)) == (8e9, 2e9)
    panels = {p.title: p.rows for p in machine_panels(run, second)}
    assert {r["series"] for r in panels["in the kernel, cores"]} == {"client/2"}
    assert set(every_device(run, "net_tx_bytes")) == {"eth0 on host-a", "eth0 on host-b"}
    many = run_on({f"host/{n}": {"cpu_busy_s": float(n)} for n in range(1, 7)}, "abcdef")
    assert [host.name for host in fullest(many, hosts_of(many))] == ["host-c", "host-d", "host-e", "host-f"]


def test_a_row_of_the_report_is_the_worst_of_a_host_over_its_runs() -> None:
    from types import SimpleNamespace

    runs = [run_on({"host/1": {}, "host/2": {"cpu_busy_s": busy, "cpu_steal_s": steal}}) for busy, steal in ((6.0, 0.0), (2.0, 0.8))]  # fmt: skip
    of: Any = [(SimpleNamespace(run=run, figures=figures_of_run(run)), hosts_of(run)[1]) for run in runs]
    text = " ".join(row_of("host-b", of))
    assert "25.0 %" in text and "10.0 %" in text and "host-b" in text


# --- coming home


def table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMAS["resources"])


def own(n: int) -> list[dict[str, Any]]:
    return [row("client", t, "cpu_s", n * t) for t in range(12)]


def by_role(tables: Sequence[pa.Table]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in pa.concat_tables(tables).to_pylist():
        found.setdefault(one["role"], []).append(one)
    return found


def test_machines_come_home_under_the_number_of_their_process() -> None:
    each = [
        table([*own(1), *machine("host"), *[row("server", t, "cpu_s", 2.0 * t) for t in range(12)]]),
        table(own(2)),
        table([*own(3), *machine("host", cpu_steal_s=0.8)]),
    ]
    found = by_role([*resources(each, [], 3, [0, 2])])
    assert set(found) == {"client", "client/1", "client/2", "client/3", "server", "host/1", "host/3"}
    steal = {
        role: max(r["value"] for r in found[role] if r["metric"] == "cpu_steal_s")
        for role in ("host/1", "host/3")
    }
    assert steal == {"host/1": 0.0, "host/3": pytest.approx(8.8)}
    assert len(found["host/1"]) == len(machine("host"))


def test_of_one_host_the_table_is_what_it_was() -> None:
    each = [table([*own(1), *machine("host")]), table(own(2))]
    found = by_role([*resources(each, [], 2)])
    assert set(found) == {"client", "client/1", "client/2", "host"}
    assert found["host"] == table(machine("host")).to_pylist()


def test_fewer_looks_at_a_machine_keep_its_extremes_and_what_is_added_up() -> None:
    import numpy as np

    t_ns = np.arange(10_000, dtype=np.float64)
    rng = np.random.default_rng(1)
    dirty, writing, free = (rng.uniform(0, 1e9, len(t_ns)) for _ in range(3))
    looks = {
        ("dirty_bytes", ""): (t_ns, dirty), ("writeback_bytes", ""): (t_ns, writing), ("mem_available_bytes", ""): (t_ns, free),
        ("cpu_steal_s", ""): (t_ns, np.cumsum(free)),
    }  # fmt: skip
    found = of_machine(looks, 50, np.array([1234.0, 5678.0]))
    kept = found["dirty_bytes", ""]
    assert len(kept[0]) < 500 and list(kept[0]) == list(found["writeback_bytes", ""][0])
    assert max(kept[1] + found["writeback_bytes", ""][1]) == max(dirty + writing)
    assert found["mem_available_bytes", ""][1].min() == free.min()
    assert {1233.0, 1234.0} <= set(found["cpu_steal_s", ""][0].tolist())
    assert PART_LOOKS > 10_000
    whole = of_machine(looks, PART_LOOKS, np.array([]))
    assert all((whole[key][1] == looks[key][1]).all() for key in looks)


# --- while it runs


def usage(role: str, t: float, busy: float) -> list[Any]:
    return [row(role, t, "cpu_busy_s", busy * t), row(role, t, "net_tx_bytes", 1e6 * busy * t, "eth0")]


def test_machines_are_shown_each_while_the_run_goes_on() -> None:
    clients, using = Clients(several=True), Using()
    for t in (1, 2):
        clients.heard(0, [row("client", t, "cpu_s", t), *usage("host", t, 1.0)])
        # Its clock begins somewhere else.
        clients.heard(2, [row("client", t + 50, "cpu_s", t), *usage("host", t + 50, 6.0)])
        using.look(clients.all(whole=True), {"host/1": "host-a", "host/3": "host-c"})
    assert using.busy_cores() == {
        "client": pytest.approx(2.0),
        "host/1": pytest.approx(1.0),
        "host/3": pytest.approx(6.0),
    }
    assert using.now["host/3", "eth0"]["tx_bytes_per_s"] == pytest.approx(6e6)
    assert using.hosts["host/3"] == "host-c"


def test_hosts_are_named_where_there_are_several() -> None:
    assert Together({0: "host-a", 2: "host-c"}).hosts == {"host/1": "host-a", "host/3": "host-c"}
    assert Together({0: "host-a"}).hosts == {} and Together().hosts == {}
