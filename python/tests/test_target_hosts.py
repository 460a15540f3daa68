"""Hosts of a target by whatever name: which are in its addresses, and which a run and its workers say are their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inrush.border.pipeline import server_hosts
from inrush.results.store import Results
from tests.needed import need_distributed
from tests.terminal import Inrush
from tests.test_clients_run import heard

need_distributed()

from tests.test_fleet_run import Fleet, one, running, shared  # noqa: E402

__all__ = ["one"]
#: The second one is of no host (RFC 5737).
HOSTS = ["localhost", "203.0.113.77"]


@pytest.mark.parametrize(
    ("urls", "hosts"),
    [
        (["postgresql://u@db:5432/x"], ["db"]),
        (["ndb://10.0.0.7:1186,[fd00::2]:1186/x"], ["10.0.0.7", "fd00::2"]),
        (["clickhouse://db/x", "clickhouse://s0/x", "clickhouse://db:9/x"], ["db", "s0"]),
        (["postgresql://u@%2Ftmp:5432/x"], []),
        (["postgresql:///x?host=localhost"], ["localhost"]),
        # As the core reads it: the option stands in place of the other one.
        (["postgresql://db/x?host=10.0.0.1,::1"], ["10.0.0.1", "::1"]),
        (["postgresql://db/x?host=/tmp", "mysql://db/x?socket=/run/x"], []),
        (["postgresql://[fd00"], []),
        (["/data/x.duckdb"], []),
        ([], []),
    ],
)
def test_hosts_of_servers_are_those_in_their_addresses(urls: list[str], hosts: list[str]) -> None:
    of_shards: Any = {"loads": {"pipelines": {"shards": [{"target": {"url": url}} for url in urls]}}}
    assert server_hosts(of_shards) == hosts
    of_one: Any = {"target": {"url": urls[0], "shards": {"urls": urls[1:]}}} if urls else {}
    assert server_hosts(of_one) == hosts


def test_a_run_says_which_hosts_of_its_target_are_its_own(
    inrush: Inrush, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inrush.run.one.server_hosts", lambda plan: HOSTS)
    words = ("keylookup-clients", "null", "--scale", "xs", "-P", "factors.clients=[1]")
    said = inrush("run", *words, "-P", "repeats={count=1,confirm=0}", "-P", "schedule.measure_s=0.1")
    assert said.code in (0, 3), said.err
    (folder,) = inrush.store.studies()
    assert {tuple(run.doc["target_hosts"]) for run in Results(folder.path).runs} == {("localhost",)}


@pytest.mark.ci
def test_workers_say_which_hosts_of_the_target_are_their_own(one: Fleet, tmp_path: Path) -> None:
    plan = shared(calls=100)
    plan["target"]["url"] = f"postgresql://{HOSTS[0]}:1,{HOSTS[1]}:2/x"
    with running(one, tmp_path, plan) as worker:
        events = heard(worker, "ended")
        assert worker.close() == 0, events
    document = json.loads((tmp_path / "run" / "parts" / "processes.json").read_text())["clients"]
    assert [of["target_hosts"] for of in (*document["workers"], document["own"])] == [["localhost"]] * 3
