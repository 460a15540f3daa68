"""A server of the user's on the client's machine: found by its address, watched as the role `server`, or said why not."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path
from typing import Any

import pytest

from inrush.border.address import read
from inrush.border.plan import RunPlan
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.guards.analyse import analyse
from inrush.load.pipeline.environment import shards_here
from inrush.machine.addresses import IpAddress
from inrush.machine.listeners import Holders
from inrush.plan.planned import PlannedRun
from inrush.report.points import unseen_servers as unseen_in_report
from inrush.run import one
from inrush.run.one import of_unseen_server
from inrush.run.unseen_servers import unseen_servers
from inrush.targets import server_processes
from inrush.targets.deployment import Deployment, at_deployment, watched_now
from inrush.targets.server_processes import found_here, is_here
from tests import synthetic
from tests.terminal import Inrush
from tests.test_shard_servers import named_postgres

POSTGRESQL = server("postgresql")
ELSEWHERE = "203.0.113.77"


def at(port: int, host: str = "127.0.0.1") -> Deployment:
    return Deployment(POSTGRESQL, Target("postgresql", f"postgresql://u@{host}:{port}/x"))


def plan(**more: Any) -> RunPlan:
    watch = {"every_ns": 10**9, "processes": {}}
    target = {"engine": "postgresql", "url": "", "options": {}}
    return {"target": target, "watch": watch, "segments": [], **more}  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("url", "there"),
    [
        ("postgresql://u@db/x", ("db", 5432)),
        ("postgresql://u:p%40@db:9/x", ("db", 9)),
        ("postgresql://u@[::1]:9/x", ("::1", 9)),
        ("postgresql://u@db/x?host=10.0.0.1&port=7", ("10.0.0.1", 7)),
        ("postgresql://u@a:1,b:2/x", ("", 0)),
        ("postgresql://u@a,b/x", ("", 0)),
        ("postgresql://u@%2Ftmp/x", ("", 0)),
        ("postgresql://u@db/x?host=/tmp", ("", 0)),
        ("mysql://u@localhost/x?socket=/run/x", ("", 0)),
        ("postgresql://u@db:no/x", ("", 0)),
    ],
)
def test_an_address_is_one_host_and_one_port(url: str, there: tuple[str, int]) -> None:
    hosts = read(url).hosts
    assert (hosts[0] if len(hosts) == 1 else ("", 0)) == there


def test_a_server_at_a_url_of_this_machine_is_watched_and_after_a_pause_too(tmp_path: Path) -> None:
    with named_postgres(tmp_path) as (process, port):
        there = at(port)
        assert at_deployment(plan(), there, tmp_path)["watch"]["processes"] == {"server": [process.pid]}
        assert watched_now(there, plan())["processes"] == {"server": [process.pid]}
        assert of_unseen_server(plan(), there) == {}
    assert at_deployment(plan(), there, tmp_path)["watch"]["processes"] == {}
    assert "nothing listens" in of_unseen_server(plan(), there)["server_unseen"]


def test_a_coordinator_and_its_shards_are_watched_all_or_none_and_after_a_pause_too(tmp_path: Path) -> None:
    with named_postgres(tmp_path / "a") as (a, first), named_postgres(tmp_path / "b") as (b, second):
        there, urls = at(first), [f"postgresql://u@127.0.0.1:{second}/x"]
        there.shards = (Target("postgresql", urls[0]),)
        sharded = plan(target={"engine": "postgresql", "url": "", "options": {}, "shards": {"urls": urls}})
        both = {
            "server": [a.pid, b.pid], "server/coordinator": [a.pid], "server/shard_0": [b.pid],
        }  # fmt: skip
        assert at_deployment(sharded, there, tmp_path)["watch"]["processes"] == both
        assert watched_now(there, sharded)["processes"] == both
        there.shards = (Target("postgresql", f"postgresql://u@{ELSEWHERE}/x"),)
        assert at_deployment(sharded, there, tmp_path)["watch"]["processes"] == {}
        assert watched_now(there, sharded)["processes"] == {}, "the coordinator alone is not the server"


def test_what_is_no_address_is_no_server_here() -> None:
    assert found_here(POSTGRESQL, "postgresql://[::1/db") is None


def test_the_servers_of_a_pipeline_are_those_of_its_shards(tmp_path: Path) -> None:
    with named_postgres(tmp_path) as (_, port):
        of_pipeline = plan(loads={"pipelines": {"shards": [{}]}})
        assert at_deployment(of_pipeline, at(port), tmp_path)["watch"]["processes"] == {}
        assert of_unseen_server(of_pipeline, at(1)) == {}


def test_a_proxy_and_what_is_elsewhere_are_not_taken_for_the_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        found = at(proxy.getsockname()[1]).found()
        assert found is not None and not found.pids and "which is no PostgreSQL" in found.why
    assert at(5432, ELSEWHERE).found() is None
    assert found_here(server("sqlite"), "sqlite:///x") is None
    own = at(5432)
    own.turns = object()  # type: ignore[assignment]
    assert own.found() is None, "inrush starts it"


def test_a_name_that_may_mean_another_host_is_not_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    means: set[IpAddress] = {ipaddress.ip_address("127.0.0.1")}
    monkeypatch.setattr(server_processes, "resolved", lambda name: means)
    assert is_here("db")
    means.add(ipaddress.ip_address("fe80::1"))
    assert is_here("db"), "an address of a link is beside those of the machine"
    means.add(ipaddress.ip_address(ELSEWHERE))
    assert not is_here("db")
    means.clear()
    assert not is_here("db"), "it means nothing"


def test_a_process_of_another_user_and_a_socket_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_processes, "holders", lambda inodes: Holders(frozenset(), hidden=True))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = at(listener.getsockname()[1]).found()
    assert found is not None and "start inrush as root or as the server's user" in found.why
    by_socket = found_here(POSTGRESQL, "postgresql://u@%2Ftmp/x")
    assert by_socket is not None and "Unix socket" in by_socket.why
    assert found_here(POSTGRESQL, "postgresql://u@a,b/x") is None
    of_several = found_here(server("ndb"), "ndb://127.0.0.1:1")
    assert of_several is not None and "only where inrush has started it" in of_several.why


def test_a_pipeline_on_one_machine_watches_all_servers_of_its_shards_or_none(tmp_path: Path) -> None:
    def of(*urls: str, **watch: Any) -> Any:
        shards = [{"target": {"engine": "postgresql", "url": url}} for url in urls]
        found = {"processes": {}, **watch}
        return {
            "target": {"engine": "postgresql"},
            "loads": {"pipelines": {"shards": shards}},
            "watch": found,
        }

    with named_postgres(tmp_path / "a") as (a, first), named_postgres(tmp_path / "b") as (b, second):
        one, other = (f"postgresql://u@127.0.0.1:{port}/x" for port in (first, second))
        processes, folders = shards_here(of(one, one))
        assert processes == {"shards": [a.pid]}
        assert Path(folders["shards"]).resolve() == (tmp_path / "a").resolve()
        assert shards_here(of(one, other)) == ({"shards": sorted([a.pid, b.pid])}, {})
        assert shards_here(of(one, f"postgresql://u@{ELSEWHERE}/x")) == ({}, {}), "a part is not the whole"
        assert shards_here(of(one, processes={"shards": [1]})) == ({}, {}), "inrush has started them"


def test_a_line_before_the_first_run_names_the_server_and_why() -> None:
    run = PlannedRun("r", "p", plan(), {}, 1, 0, "h")  # type: ignore[typeddict-item]
    (line,) = unseen_servers([run], {"postgresql": at(1)})
    assert line == (
        "CPU and memory of the server at postgresql://u@127.0.0.1:1/x are not watched: nothing listens at port 1 in the network of inrush"
    )
    assert [*unseen_servers([run], {"postgresql": at(1, ELSEWHERE)})] == []


def test_the_report_says_why_a_server_beside_the_client_has_no_cpu() -> None:
    assert unseen_in_report(analyse(synthetic.study({("postgresql", 1): 1.0}))) == []
    record = synthetic.study({("postgresql", 1): 1.0})
    for run in record.runs:
        run.summary["server_unseen"] = "at port 1 listens a <proxy>"  # type: ignore[index]
    assert unseen_in_report(analyse(record)) == [
        "CPU of the server of postgresql is not known: at port 1 listens a <proxy>."
    ]


def test_a_server_is_looked_for_before_its_run_and_not_when_it_may_have_ended(
    inrush: Inrush, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, follow = list[str](), one.follow

    def looked(*_: Any) -> dict[str, Any]:
        order.append("looked")
        return {}

    def followed(*of: Any) -> Any:
        order.append("run")
        return follow(*of)

    monkeypatch.setattr(one, "of_unseen_server", looked)
    monkeypatch.setattr(one, "follow", followed)
    words = ("keylookup-clients", "null", "--scale", "xs", "-P", "factors.clients=[1]")
    said = inrush("run", *words, "-P", "repeats={count=1,confirm=0}", "-P", "schedule.measure_s=0.1")
    assert said.code in (0, 3), said.err
    assert order == ["looked", "run"]
