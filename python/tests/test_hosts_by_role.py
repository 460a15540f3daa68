"""Which processes were on which host: of a pipeline its ends, and servers that were watched or not. On made-up tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from inrush.analysis.hosts import fleet_workers
from inrush.analysis.verdicts import Outcome
from inrush.guards import quiet
from inrush.guards.laws import nothing_overfull
from inrush.report.client_hosts import busy_cores
from inrush.report.machine import machine_panels
from inrush.results.schema import SCHEMAS
from inrush.stats.headroom import client_share
from inrush.stats.hosts import hosts_of, unwatched
from inrush.stats.load_series import device_series
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import figures_of_run
from tests import synthetic
from tests.test_hosts import CORES, machine, row, run_on

#: Cores that each role of a pipeline keeps busy.
ENDS = {"load_server": 3.0, "client": 1.0}
SEVERAL = {"load_server": 3.0, "client/1": 1.0, "client/2": 2.0, "client": 3.0}


def pipeline(
    hosts: Mapping[str, Mapping[str, float]],
    roles: Mapping[str, float],
    workers: str = "ab",
    own: str | None = None,
    more: Sequence[dict[str, Any]] = (),
) -> RunRecord:
    """hosts: role -> what is another than on a quiet one. workers: the kernel of each; own: that of inrush."""
    plain = synthetic.run("postgresql", makespan_s=4.0, resources=False)
    rows = [r for role, other in hosts.items() for r in machine(role, **other)]
    for metric, part in (("cpu_s", 1.0), ("cpu_system_s", 0.25)):
        rows += [row(role, t, metric, part * cores * t) for role, cores in roles.items() for t in range(12)]
    told: dict[str, Any] = {
        "workers": [
            {
                "does": "",
                "host": f"host-{boot}",
                "boot": boot,
                "cores": CORES,
                "address": f"tcp://10.0.0.{n}:9",
            }
            for n, boot in enumerate(workers)
        ],
        "clients": len(workers) - 1,
    }
    if own is not None:
        told["own"] = {"host": f"host-{own}", "boot": own}
    table = pa.Table.from_pylist([*rows, *more], schema=SCHEMAS["resources"])
    return replace(
        plain,
        tables={**plain.tables, "resources": table},
        summary={**plain.summary, "hosts": told},
        env={**plain.env, "cpu_logical": 2},
        _rows={},
    )


def test_of_a_pipeline_the_first_host_is_the_load_servers_and_the_second_the_clients() -> None:
    """Each host is as busy as its own end makes it: nothing else runs on either, and pressure is theirs."""
    pressed = {"psi_cpu_some_s": 0.5}
    run = pipeline({"host/1": {"cpu_busy_s": 3.0, **pressed}, "host/2": {"cpu_busy_s": 1.0}, "host": {"cpu_busy_s": 0.0}}, ENDS)  # fmt: skip
    found = quiet.quiet_machine(run, {})
    assert found is not None and found.outcome is Outcome.PASS, found
    assert "other processes 0.0 %" in found.sentence
    assert "CPU pressure 50.0 % on host-a (of the run itself)" in found.sentence


def test_of_several_clients_each_is_on_the_host_behind_its_number() -> None:
    busy = {"host/1": {"cpu_busy_s": 3.0}, "host/2": {"cpu_busy_s": 1.0}, "host/3": {"cpu_busy_s": 6.0}}
    run = pipeline({**busy, "host": {"cpu_busy_s": 0.0}}, SEVERAL, "abc")
    found = quiet.quiet_machine(run, {})
    assert found is not None and found.outcome is Outcome.NOTE, found
    assert "other processes 50.0 % on host-c (limit 3 %)" in found.sentence
    figures = figures_of_run(run)
    assert [busy_cores(figures, host) for host in hosts_of(run)[:3]] == pytest.approx([3.0, 1.0, 2.0])
    panels = {panel.title: panel.rows for panel in machine_panels(run, hosts_of(run)[1])}
    assert {r["series"] for r in panels["in the kernel, cores"]} == {"client/1"}


def test_the_host_of_inrush_has_the_shards_that_it_started_and_a_name_of_its_own() -> None:
    roles = {**ENDS, "shards": 2.0, "inrush": 0.5, "inrush/1": 0.25}
    each = {"host/1": {"cpu_busy_s": 3.25}, "host/2": {}, "host": {"cpu_busy_s": 2.5, "cpu_user_s": 1.5}}
    run = pipeline(each, roles, own="z")
    found = quiet.quiet_machine(run, {})
    assert found is not None and "other processes 0.0 %" in found.sentence, found
    own = hosts_of(run)[2]
    assert (own.role, own.label, own.name, set(own.roles or ())) == ("host", "host/inrush", "host-z", {"shards", "inrush"})  # fmt: skip
    figures = figures_of_run(run)
    assert figures["host/inrush.user_cores"] == pytest.approx(1.5)
    assert figures["host.user_cores"] == pytest.approx(0.75 * 2 + 1.5), "of all three"
    assert not unwatched(run)


def test_where_inrush_is_on_the_host_of_an_end_that_host_is_watched_twice_and_counts_once() -> None:
    each = {"host/1": {"cpu_busy_s": 5.0}, "host/2": {}, "host": {"cpu_busy_s": 5.0}}
    run = pipeline(each, {**ENDS, "shards": 2.0}, own="a")
    assert [host.role for host in hosts_of(run)] == ["host/1", "host/2"]
    found = quiet.quiet_machine(run, {})
    assert found is not None and "other processes 0.0 %" in found.sentence, found
    assert figures_of_run(run)["host.user_cores"] == pytest.approx(0.75 * 2)


def test_processes_on_hosts_are_held_against_the_cores_of_these_and_not_of_inrush() -> None:
    """Four cores on two hosts of eight, directed from one of two."""
    run = pipeline({"host/1": {}, "host/2": {}, "host": {}}, ENDS)
    figures = figures_of_run(run)
    found = nothing_overfull(run, figures)
    assert found is not None and found.outcome is Outcome.PASS, found
    assert found.sentence == "At most 3.00 of 8 cores busy with its processes, on host-a"
    assert client_share(run, figures) == pytest.approx(1 / 8)


def test_hosts_of_a_pipeline_are_compared_as_those_of_a_fleet() -> None:
    run = pipeline({"host/1": {}, "host/2": {}, "host": {}}, ENDS)
    assert [w["host"] for w in fleet_workers(run)] == ["host-a", "host-b"]


def of_fleet(
    *,
    url: str = "",
    started: bool = False,
    own: str = "a",
    server: bool = False,
    said: Sequence[str] = (),
    own_said: Sequence[str] = (),
) -> RunRecord:
    """The second host does 37.5 % more than its client, under pressure. said: which hosts of the address it says are its own."""
    run = run_on(
        {"host/1": {}, "host/2": {"cpu_busy_s": 4.0, "psi_cpu_some_s": 0.5, "psi_memory_some_s": 0.5}}
    )
    clients = dict(run.summary["clients"])
    clients["workers"] = [{**w, "address": f"tcp://10.0.0.{n}:9"} for n, w in enumerate(clients["workers"], start=1)]  # fmt: skip
    clients["workers"][1]["target_hosts"] = said
    clients["own"] = {"host": f"host-{own}", "boot": own, "target_hosts": own_said}
    plan: Any = {**run.plan, "target": {**run.plan["target"], "url": url or "postgresql://db/x"}}
    plan["watch"] = {"processes": {"server": [7] if started else []}}
    rows = [row("server", t, "cpu_s", 0.0) for t in range(12)] if server else []
    table = pa.concat_tables([run.tables["resources"], pa.Table.from_pylist(rows, SCHEMAS["resources"])])
    return replace(run, plan=plan, summary={**run.summary, "clients": clients}, tables={**run.tables, "resources": table})  # fmt: skip


@pytest.mark.parametrize(
    ("how", "judged"),
    [
        ({}, True),
        # On the host of inrush, which is that of the second process and not of the first one, which would have watched it.
        ({"started": True, "own": "b"}, False),
        ({"started": True, "own": "z"}, True),
        ({"started": True, "own": "a", "server": True}, True),
        ({"url": "postgresql://10.0.0.2:5432/x"}, False),
        ({"url": "postgresql://user@host-b/x"}, False),
        ({"url": "ndb://10.0.0.7:1186,10.0.0.2:1186/x"}, False),
        ({"url": "postgresql://10.0.0.1/x"}, True),
        # Another name or address of the second host, as that host says.
        ({"url": "postgresql://db.example:5432/x", "said": ["db.example"]}, False),
        ({"url": "ndb://10.0.0.7:1186,[fd00::2]:1186/x", "said": ["fd00::2"]}, False),
        ({"url": "postgresql://db.example/x", "said": ["fd00::2"]}, True),
        # As inrush says of its own host, which is that of the second process.
        ({"url": "postgresql://db.example/x", "own": "b", "own_said": ["db.example"]}, False),
        ({"url": "postgresql://db.example/x", "own": "a", "own_said": ["db.example"]}, True),
    ],
)
def test_a_server_that_was_not_watched_is_no_other_process(how: dict[str, Any], judged: bool) -> None:
    run = of_fleet(**how)
    shares = quiet.noise_by_host(run)[1][1]
    of_others = {"other processes", "CPU pressure", "memory pressure"} & shares.keys()
    assert len(of_others) == (3 if judged else 0), shares
    assert "steal" in shares
    found = quiet.quiet_machine(run, {})
    assert found is not None and (found.outcome is Outcome.NOTE) == judged, found


def on_one(url: str, said: Sequence[str] = (), of_worker: bool = False, **watch: list[int]) -> RunRecord:
    """All on one machine, which does 37.5 % more than its client; of_worker: its two workers say it, and not inrush."""
    busy = {"host": {"cpu_busy_s": 5.0, "psi_cpu_some_s": 0.5}}
    run = run_on(busy, "aa")
    clients = {**run.summary["clients"], "workers": [{**w, "target_hosts": said} for w in run.summary["clients"]["workers"]]}  # fmt: skip
    summary = {**run.summary, "clients": clients} if of_worker else {"target_hosts": said}
    rows = [row(role, t, "cpu_s", 3.0 * t) for role in watch for t in range(12)]
    table = pa.concat_tables([run.tables["resources"], pa.Table.from_pylist(rows, SCHEMAS["resources"])])
    plan: Any = {**run.plan, "target": {**run.plan["target"], "url": url}, "watch": {"processes": watch}}
    return replace(run, plan=plan, summary=summary, tables={**run.tables, "resources": table}, _rows={})


@pytest.mark.parametrize("of_worker", [False, True])
def test_a_server_of_the_users_on_the_only_machine_is_no_other_process(of_worker: bool) -> None:
    for url, said, judged in (
        ("postgresql://db.example/x", ["db.example"], False),
        ("postgresql://u@127.0.0.1:5432/x", [], False),
        ("postgresql://db.example/x", [], True),
    ):
        (host,) = hosts_of(run := on_one(url, said, of_worker))
        assert host.may_have_server != judged
        ((_, shares),) = quiet.noise_by_host(run)
        assert ({"other processes", "CPU pressure"} <= shares.keys()) == judged and "steal" in shares
    (host,) = hosts_of(on_one("postgresql://127.0.0.1/x", ["127.0.0.1"], of_worker, server=[7]))
    assert not host.may_have_server, "inrush has started it, and it was watched"
    # A plan of shards names their roles also where it has no process of them.
    for url, judged in (("postgresql://db/x", True), ("postgresql://127.0.0.1/x", False)):
        run = on_one(url, [], of_worker, shards=[])
        nothing = [row for row in run.tables["resources"].to_pylist() if row["role"] != "shards"]
        table = pa.Table.from_pylist(nothing, SCHEMAS["resources"])
        (host,) = hosts_of(replace(run, tables={**run.tables, "resources": table}, _rows={}))
        assert host.may_have_server != judged


def test_devices_of_a_load_are_those_of_the_host_in_which_rows_are_stored() -> None:
    written = [row(role, t, "dev_write_bytes", n * t, "sda") for role, n in (("host/1", 1e6), ("host/2", 5e6)) for t in range(12)]  # fmt: skip
    run = pipeline({"host/1": {}, "host/2": {}}, ENDS, more=written)
    ((_, value),) = device_series(run, "dev_write_bytes")
    assert value[-1] == 11e6
