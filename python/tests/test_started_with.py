"""Settings that a study has its servers started with: how they are written, planned, ordered, refused and listed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Instance, Release, Target
from inrush.errors import UsageError
from inrush.plan.planned import StudyPlan
from inrush.run.call import StudyCall
from inrush.run.prepare import prepare
from inrush.targets.deployment import Deployment, key_of
from inrush.targets.deployments import each_settings_on, opened
from inrush.targets.ready import no_room
from inrush.targets.turns import Turns, folder_with, folders_with

TEXT = """
schema = 1
title = "Started"
question = "?"
expect = "."
workload = "keylookup"
kind = "timed"
engines = {engines}
layout = "pk"
factors.threads = [1, 2]
{factors}
load = {{ rows = 100 }}
schedule = {{ mode = "closed", warm_s = 0.1, measure_s = 0.2, cool_s = 0.1 }}
{start}
[roles.clients]
operation = "look"
sessions = "@threads"
[repeats]
count = 4
{more}
[answer]
kind = "comparison"
of = "clients.ops_per_s"
along = "threads"
"""
NODES = ("factors.nodes = [2, 4, 8]", '[start.ndb]\nnodes = "@nodes"\nDataMemory = "80M"')
SEND = "main:1+ldm:1+recv:1+rep:1+send:1"


def call(folder: Path, factors: str, settings: str, *engines: str, more: str = "", **said: Any) -> StudyCall:
    """The call of a study that starts its engines, in a file of the test's."""
    engines = engines or ("ndb",)
    text = TEXT.format(engines=json.dumps(list(engines)), factors=factors, start=settings, more=more)
    path = folder / "started.toml"
    path.write_text(text)
    return StudyCall(str(path), **{"start": engines, **said})


def planned(folder: Path, factors: str, settings: str, *engines: str, **said: Any) -> StudyPlan:
    return prepare(call(folder, factors, settings, *engines, **said)).plan


def refusals(folder: Path, factors: str, settings: str, *engines: str, **said: Any) -> list[str]:
    with pytest.raises(UsageError) as refused:
        planned(folder, factors, settings, *engines, **said)
    return [str(problem) for problem in refused.value.problems]


def configurations(plan: StudyPlan, block: int) -> list[str]:
    """What each run of a block is started with, one after the other."""
    return [json.dumps(run.labels.get("start")) for run in plan.block(block)]


# --- planning


def test_what_a_server_is_started_with_is_in_the_labels_of_its_runs(tmp_path: Path) -> None:
    plan = planned(tmp_path, *NODES)
    for run in plan.runs:
        nodes = run.labels["factors"]["nodes"]
        assert run.labels["start"] == {"nodes": str(nodes), "DataMemory": "80M"}
        assert run.plan["labels"]["start"] == run.labels["start"], "the core keeps it with the run's plan"
        assert key_of(run) == f"ndb,nodes={nodes},DataMemory=80M"
    plain = planned(tmp_path, "", "")
    assert all("start" not in run.labels and key_of(run) == "ndb" for run in plain.runs)


def test_another_setting_is_another_plan(tmp_path: Path) -> None:
    one, other = (planned(tmp_path, "", f"start.ndb.DataMemory = '{m}M'") for m in (80, 90))
    assert one.hash != other.hash
    assert [run.plan["segments"] for run in one.runs] == [run.plan["segments"] for run in other.runs]


def test_a_name_with_dots_is_written_as_a_table_too(tmp_path: Path) -> None:
    for start in ('[start.ndb]\n"limit.cpu" = "@cores"', '[start.ndb]\nlimit.cpu = "@cores"'):
        plan = planned(tmp_path, "factors.cores = [0.5, 1]", start)
        assert {json.dumps(run.labels["start"]) for run in plan.runs} == {
            '{"limit.cpu": "0.5"}',
            '{"limit.cpu": "1"}',
        }


def test_a_factor_of_tables_gives_each_server_its_own_words(tmp_path: Path) -> None:
    kinds = 'factors.kind = [{ name = "one", threads = "main:1+ldm:1+recv:1+rep:1" }, { name = "two", threads = "4" }]'
    plan = planned(tmp_path, kinds, 'start.ndb.threads = "@kind.threads"')
    assert {(run.labels["factors"]["kind"], run.labels["start"]["threads"]) for run in plan.runs} == {
        ("one", "main:1+ldm:1+recv:1+rep:1"),
        ("two", "4"),
    }


@pytest.mark.parametrize("order", ["shuffled_after_pilot", "as_written", "up_and_down"])
def test_a_block_starts_each_server_once(order: str, tmp_path: Path) -> None:
    factors, start = NODES
    plan = planned(tmp_path, factors, start, more=f'order = "{order}"')
    visits = []
    for block in plan.study.blocks:
        of_block = configurations(plan, block)
        visited = [key for key, _ in groupby(of_block)]
        assert len(visited) == len(set(visited)) == 3 and len(of_block) == 6
        visits.append(tuple(visited))
    assert (len(set(visits[1:])) > 1) == (order != "as_written"), (
        "the order of servers changes with the block"
    )
    # The values of the pilot ascend within each server.
    assert [run.labels["factors"]["threads"] for run in plan.block(0)] == [1, 2] * 3


def test_engines_of_one_configuration_run_next_to_each_other(tmp_path: Path) -> None:
    plan = planned(
        tmp_path,
        "factors.memory = ['64MB', '128MB']",
        'start.postgresql.shared_buffers = "@memory"\nstart.mysql.innodb_buffer_pool_size = "@memory"',
        "postgresql", "mysql",
    )  # fmt: skip
    for block in plan.study.blocks:
        visited = [key for key, _ in groupby(str(r.labels["factors"]["memory"]) for r in plan.block(block))]
        assert len(visited) == 2, "as many starts of each engine as it has configurations"
        pairs = list(zip(plan.block(block)[::2], plan.block(block)[1::2], strict=True))
        assert all({a.labels["engine"], b.labels["engine"]} == {"postgresql", "mysql"} for a, b in pairs)


def test_a_search_among_settings_bisects_them(tmp_path: Path) -> None:
    factors, start = NODES
    searched = f'search = {{ along = "nodes", of = "clients.ops_per_s", at_least = 1 }}\n{start}'
    pilot = [run.labels["factors"]["nodes"] for run in planned(tmp_path, factors, searched).block(0)]
    assert pilot == [4, 2, 8] * 2
    other = searched.replace('along = "nodes"', 'along = "threads"')
    pilot = [run.labels["factors"]["nodes"] for run in planned(tmp_path, factors, other).block(0)]
    assert pilot == [2, 2, 4, 4, 8, 8], "one start for each sweep"


# --- refusals


@pytest.mark.parametrize(
    ("factors", "start", "engines", "said", "says"),
    [
        (*NODES, ("ndb",), {"targets": ("ndb://h:1186/",), "start": ()},
         "start.ndb.nodes is @nodes; inrush did not start the server at ndb://h:1186/, and starts it with no setting; use --start ndb"),
        ("", "start.sqlite.cache_size = 1", ("sqlite",), {"start": (), "targets": ("sqlite",)}, "sqlite runs inside inrush, and no server of it is started"),
        (*NODES, ("ndb",), {"start": ("ndb,datamemory=400M",)},
         "--start: ndb,datamemory is 400M; the study sets it (start.ndb.DataMemory = 80M); leave it out, or change the study's with -P"),
        ("factors.us = [0, 100]", 'start.ndb.max_send_delay_us = "@us"', ("ndb",), {},
         "start.ndb is max_send_delay_us=100; ndb,max_send_delay_us=100: it does nothing in nodes without a thread that sends"),
        ("", "start.ndb.MaxSendDelay = 5", ("ndb",), {}, "inrush sets MaxSendDelay itself, by max_send_delay_us"),
        ("factors.nodes = [2, 3]", 'start.ndb.nodes = "@nodes"', ("ndb",), {}, "ndb,nodes=3: each group of nodes holds 2 replicas"),
        ("", "start.postgresql.shards = 2", ("postgresql",), {}, "over shards go studies of kind pipeline; write pipeline.shards"),
        ("", "start.ndbd.nodes = 2", ("ndb",), {}, "unknown engine"),
        ("", "[start.ndb]", ("ndb",), {}, "name a setting and its value, or leave it out"),
        ("", "start.ndb.nodes = [2]", ("ndb",), {}, "write a text, a number, true or false"),
        ("", 'start.ndb.nodes = "@node"', ("ndb",), {}, "unknown factor"),
        ("factors.nodes = [2, 4]", 'start.ndb.nodes = "@nodes"', ("ndb", "postgresql"), {},
         'it changes how servers are started, and nothing of postgresql; run the study on ndb; or, if a setting of postgresql '
         'should change with it, write start.postgresql.SETTING = "@nodes"'),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line_of_the_plan(
    factors: str, start: str, engines: Sequence[str], said: Mapping[str, Any], says: str, tmp_path: Path
) -> None:
    lines = refusals(tmp_path, factors, start, *engines, **said)
    assert len(lines) == 1 and says in lines[0], lines


def test_a_setting_beside_those_of_the_study_is_added_to_them(tmp_path: Path) -> None:
    found = prepare(call(tmp_path, *NODES, start=(f"ndb,threads={SEND}",))).named_targets
    assert each_settings_on(found, "ndb", "") == [
        {"threads": SEND, "nodes": nodes, "DataMemory": "80M"} for nodes in ("2", "4", "8")
    ]
    # What the study says together with what the command line says is what must be startable.
    delayed = ("factors.us = [0, 100]", 'start.ndb.max_send_delay_us = "@us"')
    assert prepare(call(tmp_path, *delayed, start=(f"ndb,threads={SEND}",))).plan.runs


def test_settings_of_an_engine_that_is_not_run_say_nothing(tmp_path: Path) -> None:
    plan = planned(tmp_path, "", "start.mysql.innodb_buffer_pool_size = '1G'", "ndb")
    assert not any("start" in run.labels for run in plan.runs)


def test_a_server_that_this_machine_has_no_room_for_is_told_before_the_first_run(tmp_path: Path) -> None:
    found = prepare(
        call(tmp_path, "factors.memory = ['80M', '9000G']", 'start.ndb.DataMemory = "@memory"')
    ).named_targets
    (line,) = map(str, no_room(found))
    assert line.startswith("--start ndb,DataMemory=9000G: 2 nodes need 19") and "smaller DataMemory" in line


# --- one at a time


class FakeServers:
    """Notes what is started, entered, left and stopped."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def start(self, twin: Any, place: Path, settings: Mapping[str, str]) -> Deployment:
        if settings["nodes"] == "13":
            raise RuntimeError("no such number")
        self.events.append(f"start {settings['nodes']}")
        instance = instance_in(place)
        return Deployment(twin, Target(twin.name, instance.url, {}, instance))

    def stop(self, deployment: Deployment) -> None:
        self.events.append(f"stop {deployment.target.url}")

    @contextmanager
    def admit(self, deployment: Deployment) -> Any:
        self.events.append("enter")
        yield
        self.events.append("leave")


def instance_in(place: Path) -> Instance:
    return Instance("ndb", place, place.name, 1, os.getpid(), place, Release("ndb", "9.7", place))


def test_one_server_of_an_engine_runs_at_a_time(tmp_path: Path) -> None:
    fakes = FakeServers()
    turns = Turns(fakes.start, fakes.stop, fakes.admit)
    two, four = (turns.add(server("ndb"), tmp_path / n, {"nodes": n}) for n in ("2", "4"))
    assert two.waits and four.data_place(Path("/own")) == tmp_path / "4"
    for deployment in (two, two, four, two):
        deployment.make_ready()
        assert not deployment.waits and deployment.target.url == deployment.place.name  # type: ignore[union-attr]
    turns.end()
    turns.end()
    assert two.waits and four.waits
    assert fakes.events == [
        "start 2", "enter", "leave", "stop 2", "start 4", "enter", "leave", "stop 4", "start 2", "enter", "leave", "stop 2"
    ]  # fmt: skip


def test_a_server_that_does_not_start_leaves_none_behind(tmp_path: Path) -> None:
    fakes = FakeServers()
    turns = Turns(fakes.start, fakes.stop, fakes.admit)
    two, bad = (turns.add(server("ndb"), tmp_path / n, {"nodes": n}) for n in ("2", "13"))
    two.make_ready()
    with pytest.raises(RuntimeError):
        bad.make_ready()
    assert two.waits and bad.waits and fakes.events[-1] == "stop 2"


def test_a_place_of_its_own_for_each_configuration(tmp_path: Path) -> None:
    asked: list[Mapping[str, str]] = [{"nodes": "2"}, {"nodes": "4"}, {"threads": SEND, "nodes": "2"}]
    names = [folder_with(tmp_path, "ndb", one).name for one in asked]
    assert len(set(names)) == 3 and names[0].startswith("ndb-with-nodes-2-")
    assert all(
        len(name) < 40 and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.") for name in names
    )
    assert folder_with(tmp_path, "ndb", {"b": "1", "a": "2"}) == folder_with(
        tmp_path, "ndb", {"a": "2", "b": "1"}
    )
    for name in (*names, f"{names[0]}-shard-1", "ndb", "ndb-kept"):
        (tmp_path / name).mkdir()
    assert [folder.name for folder in folders_with(tmp_path, "ndb")] == sorted(names)


def test_servers_that_take_turns_wait_until_a_run_of_theirs_comes(tmp_path: Path) -> None:
    found = prepare(call(tmp_path, *NODES)).named_targets
    removed: list[bool] = []

    def keep() -> bool:
        removed.append(True)
        return False

    with opened(found, tmp_path / "data", lambda _: None, keep) as deployments:
        mine = [of for key, of in deployments.items() if key.startswith("ndb")]
        assert len(mine) == 3 and all(of.waits for of in mine)
        assert all(of.place is not None and of.place.is_dir() for of in mine)
    assert removed and not (tmp_path / "data").exists()
