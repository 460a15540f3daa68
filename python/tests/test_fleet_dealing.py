"""Which workers have an end of a pipeline's load, and which watch the hosts of its shards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.border.pipeline import ShardServer, loads_of
from inrush.engines import server as engine
from inrush.engines.base.instance import Instance, Target
from inrush.errors import TargetError
from inrush.fleet import remote
from inrush.fleet.dealing import (
    Dealt,
    NotThere,
    dealt,
    dealt_as_named,
    homes_of,
    said_dealt,
    said_unseen,
    seen,
)
from inrush.fleet.homes import known_as
from inrush.fleet.run import dealt_to
from inrush.fleet.taken import looked_at
from inrush.run.shard_servers import servers_of_study
from inrush.targets.deployment import Deployment
from tests.test_pipeline import planned

ROW = ["w1", "w2", "w3", "w4"]


def server(host: str, shard: int = 0, port: int = 5432) -> ShardServer:
    return {
        "role": f"shards/shard_{shard}", "engine": "postgresql", "host": host, "port": port, "shards": [shard],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "homes", "ends", "watchers"),
    [
        # No shard is on a worker's host: as ever.
        (2, {}, "w1 w2", ""),
        # Those on shards' hosts are out of the row, wherever they stand in it.
        (2, {"w1": ["db0"], "w3": ["db1"]}, "w2 w4", "w1 w3"),
        (2, {"w3": ["db0"], "w4": ["db1"]}, "w1 w2", "w3 w4"),
        (1, {"w1": ["db0"], "w2": ["db1"]}, "w3", "w1 w2"),
        # Two on one host: the first watches, and the second does nothing.
        (2, {"w1": ["db0"], "w2": ["db0"]}, "w3 w4", "w1"),
        # Too few: the second one of a host before the only one of another, in the order of the row.
        (3, {"w1": ["db0"], "w2": ["db0"]}, "w2 w3 w4", "w1"),
        (3, {"w1": ["db0"], "w2": ["db1"]}, "w1 w3 w4", "w2"),
        (4, {"w1": ["db0"], "w2": ["db1"]}, "w1 w2 w3 w4", ""),
        (4, {worker: ["db0"] for worker in ROW}, "w1 w2 w3 w4", ""),
        (5, {"w1": ["db0"]}, "w1 w2 w3 w4", ""),
    ],
)
def test_hosts_of_shards_are_taken_out_of_the_row_unless_there_are_too_few(
    wanted: int, homes: dict[str, list[str]], ends: str, watchers: str
) -> None:
    assert dealt(ROW, wanted, homes) == Dealt(tuple(ends.split()), tuple(watchers.split()))


KNOWN_AS = {"w1": {"one", "alpha"}, "w2": {"two", "alpha"}, "w3": {"three", "beta"}, "w4": {"four", "gamma"}}


@pytest.mark.parametrize(
    ("wanted", "homes", "on", "ends", "watchers"),
    [
        # No name: as ever.
        (2, {"w1": ["db0"]}, (), "w2 w3", "w1"),
        (3, {}, ("", ""), "w1 w2 w3", ""),
        # By the name of a worker, or of its host; the others follow in their row.
        (3, {}, ("beta",), "w3 w1 w2", ""),
        (3, {}, ("", "four"), "w1 w4 w2", ""),
        (3, {}, ("four", "beta", "alpha"), "w4 w3 w1", ""),
        # Of a host with two workers each has one end.
        (2, {}, ("alpha", "alpha"), "w1 w2", ""),
        # A run with fewer pipelines has fewer ends.
        (2, {}, ("four", "one", "beta"), "w4 w1", ""),
        # A shard's host that is named has the end, and no worker there only watches; another one on it does.
        (2, {"w3": ["db0"]}, ("three",), "w3 w1", ""),
        (2, {"w1": ["db0"], "w2": ["db0"]}, ("one",), "w1 w3", "w2"),
        # Too few workers: those that there are.
        (6, {}, ("four",), "w4 w1 w2 w3", ""),
    ],
)
def test_a_study_says_which_worker_has_which_end(
    wanted: int, homes: dict[str, list[str]], on: tuple[str, ...], ends: str, watchers: str
) -> None:
    found = dealt_as_named(ROW, wanted, homes, on, KNOWN_AS)
    assert found == Dealt(tuple(ends.split()), tuple(watchers.split()))


def test_a_worker_that_is_not_there_or_is_named_twice_is_refused_with_the_key_that_names_it() -> None:
    with pytest.raises(NotThere, match=r"pipeline\.load_server_on: delta: no worker has that name or host"):
        dealt_as_named(ROW, 2, {}, ("delta",), KNOWN_AS)
    with pytest.raises(NotThere, match=r"pipeline\.clients_on: beta: each of its workers has another end"):
        dealt_as_named(ROW, 2, {}, ("beta", "beta"), KNOWN_AS)


def test_a_worker_is_known_by_its_own_name_its_hosts_name_and_the_addresses_of_its_host() -> None:
    class OfTwo:
        def call(self, worker: str, _limit_s: float, _function: Any, hosts: list[str]) -> Any:
            assert hosts == ["10.0.0.2", "beta"], "no name is asked for twice, and none that is empty"
            return {"hosts": ["10.0.0.2"] if worker == "w2" else [], "name": f"host-of-{worker}"}

    there = {"w1": {"name": "one"}, "w2": {"name": 2}}
    assert known_as(OfTwo(), there, ["", "10.0.0.2", "beta", "beta"]) == {  # type: ignore[arg-type]
        "w1": {"one", "host-of-w1"}, "w2": {"2", "host-of-w2", "10.0.0.2"},
    }  # fmt: skip


HOMES = {"w3": ["db0"], "w4": ["db1"], "w1": ["db2"]}


def test_a_server_is_seen_by_the_process_on_its_host_first_by_one_without_an_end() -> None:
    of = Dealt(("w1", "w2"), ("w3", "w4"))
    run, found = seen(of, 2, [server("db0", 0), server("db1", 1), server("db2", 2), server("db9", 3)], HOMES)
    assert run == of
    assert [(one["shards"], one["process"]) for one in found] == [([0], 2), ([1], 3), ([2], 0)]
    run, found = seen(Dealt(("w1", "w2", "w5")), 2, [server("db5")], {"w5": ["db5"]})
    assert run == Dealt(("w1", "w2"), ("w5",)), "a client without pipelines in this run watches its host"
    assert [one["process"] for one in found] == [2]
    both, found = seen(of, 2, [server("db0")], {**HOMES, "w1": ["db0"]})
    assert both.watchers == ("w3",) and found[0]["process"] == 2, "the load server is on that host too"


def test_a_run_takes_the_ends_that_it_has_and_the_watchers_of_its_own_shards() -> None:
    of = Dealt(("w1", "w2"), ("w3", "w4"))
    run, found = seen(of, 1, [server("db1", 0)], HOMES)
    assert run == Dealt(("w1",), ("w4",)) and [one["process"] for one in found] == [1]
    assert seen(of, 2, [], HOMES) == (Dealt(("w1", "w2")), [])


def test_two_servers_on_one_host_have_one_watcher() -> None:
    run, found = seen(
        Dealt(("w1", "w2"), ("w3",)), 2, [server("db0", 0), server("db0", 1, 5433)], {"w3": ["db0"]}
    )
    assert run.watchers == ("w3",) and [one["process"] for one in found] == [2, 2]


def spaces(network: str) -> dict[str, str]:
    return {"network": network}


def test_a_loopback_address_is_that_of_inrushs_own_host_and_one_of_several_hosts_is_no_ones() -> None:
    said = {"w1": ["localhost", "10.0.0.9"], "w2": ["localhost", "10.0.0.9", "10.0.0.2"], "w3": ["10.0.0.2"]}
    each = {"w1": spaces("a"), "w2": spaces("b"), "w3": spaces("b")}
    assert homes_of(said, each, spaces("a")) == {
        "w1": ["localhost"], "w2": ["10.0.0.2"], "w3": ["10.0.0.2"],
    }  # fmt: skip


def test_who_does_what_is_said_in_one_line_and_what_is_not_seen_in_another() -> None:
    names = {"w1": "ls", "w2": "cl", "w3": "pg0", "w4": "pg1"}
    servers: list[Any] = [server("db0", 0), server("db1", 1, 5433), server("db9", 3), server("", 4)]
    of = Dealt(("w1", "w2"), ("w3", "w4"))
    assert said_dealt(of, names, servers, HOMES) == (
        "ls is the load server; cl is the client; pg0 watches what is at db0:5432; pg1 watches what is at db1:5433"
    )
    assert said_dealt(Dealt(("w1", "w2", "w3")), names, [], {}) == (
        "ls is the load server; cl, pg0 are clients"
    )
    (line,) = said_unseen(servers, HOMES).splitlines()
    assert line.startswith("no worker is on the host of db9:5432: ") and "start a worker there" in line
    assert said_unseen(servers[:2], HOMES) == ""


# What a study and its runs know of their servers.


def plan_of(*urls: str, started: bool = False, pipelines: int = 2) -> Any:
    return {
        "target": {"engine": "postgresql"}, "watch": {"processes": {"shards": [7]} if started else {}},
        "loads": {"pipelines": {
            "pipelines": {"count": pipelines, "client_hosts": 2}, "shards": [{"target": {"url": url}} for url in urls],
        }},
    }  # fmt: skip


def test_a_run_is_told_which_of_its_processes_see_which_servers() -> None:
    urls = ("postgresql://db0/x", "postgresql://db1/x")
    of, plan = dealt_to(plan_of(*urls), ("w1", "w2", "w5"), {"w3": ["db0"], "w4": ["db1"]})
    assert of == Dealt(("w1", "w2", "w5"), ("w3", "w4"))
    assert [(one["role"], one["process"]) for one in loads_of(plan)["pipelines"]["seen"]] == [
        ("shards/shard_0", 3), ("shards/shard_1", 4),
    ]  # fmt: skip
    of, plan = dealt_to(plan_of(*urls, pipelines=1), ("w1", "w2", "w5"), {"w4": ["db1"]})
    assert of.all == ("w1", "w2", "w4"), "it has one client"
    of, plan = dealt_to(plan_of(*urls, started=True), ("w1", "w2"), {"w4": ["db1"]})
    assert not of.watchers and "seen" not in loads_of(plan)["pipelines"], "inrush watches what it has started"
    sessions: Any = {"target": {"engine": "postgresql"}}
    assert dealt_to(sessions, ("w1",), {}) == (Dealt(("w1",)), sessions)


def test_servers_of_a_study_are_those_of_all_its_runs_that_inrush_has_not_started() -> None:
    urls = "postgresql://u:secret@db0/x postgresql://db1:5433/x"
    study = planned("postgresql", "pipeline-parallel", "pipeline.shards=2")
    target = Target("postgresql", "postgresql://db0/x", {"shards": urls})
    found = servers_of_study(study.all_runs, {"postgresql": Deployment(engine("postgresql"), target)})
    assert [(of["host"], of["port"]) for of in found] == [("db0", 5432), ("db1", 5433)]
    assert "secret" not in str(found)
    fewer = replace(target, options={"shards": "postgresql://db0/x"})
    of_fewer = Deployment(engine("postgresql"), fewer)
    assert servers_of_study(study.all_runs, {"postgresql": of_fewer}) == [], "its runs say so"
    own = planned("sqlite", "pipeline-parallel")
    assert (
        servers_of_study(own.all_runs, {"sqlite": Deployment(engine("sqlite"), Target("sqlite", ""))}) == []
    )
    started = replace(
        target, instance=Instance("postgresql", Path("/x"), "postgresql://db0/x", 5432, 7, Path("/x/log"), "")
    )  # type: ignore[arg-type]
    assert servers_of_study(study.all_runs, {"postgresql": Deployment(engine("postgresql"), started)}) == []


def test_a_watcher_needs_no_password_and_no_fast_core_and_must_be_there_with_the_same_inrush() -> None:
    ours = remote.facts(())
    lacks = {"w1": [], "w2": [], "w3": ["PGPASSWORD"]}
    same = dict.fromkeys(lacks, ours["same"])

    class OfThree:
        address = "tcp://s:1"

        def workers(self) -> dict[str, Any]:
            return {name: {"name": name, "host": name} for name in lacks}

        def call(self, worker: str, limit_s: float, function: Any, *_: Any) -> Any:
            if function is not remote.facts:
                return 1.0 if worker == "w3" else 100.0
            return {**ours, "host": worker, "lacks": lacks[worker], "same": same[worker]}

    link: Any = OfThree()
    workers, facts, rates = looked_at(link, 2, among=("w1", "w2"), watchers=("w3",))
    assert workers == ["w1", "w2", "w3"] == [*facts] and [*rates] == ["w1", "w2"]
    with pytest.raises(TargetError, match="worker w3 on w3: PGPASSWORD"):
        looked_at(link, 3)
    same["w3"] = {**ours["same"], "inrush": "other"}
    with pytest.raises(TargetError, match="worker w3 on w3: its inrush is other"):
        looked_at(link, 2, among=("w1", "w2"), watchers=("w3",))
    with pytest.raises(TargetError, match="began with w9, which is gone"):
        looked_at(link, 2, among=("w1", "w2"), watchers=("w9",))
