"""A real MySQL Cluster of inrush's own: what it holds outlives a stop, and what keeps it from starting is one line."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Stop, Target
from inrush.engines.base.twin import Twin
from inrush.engines.ndb import management as ndb_management
from inrush.engines.ndb import sql as ndb_sql
from inrush.engines.ndb.life import NdbLife
from inrush.engines.servers import life
from inrush.errors import TargetError, UsageError
from inrush.targets import instances
from inrush.targets.deployment import Deployment
from inrush.targets.locks import holder

from .servers import REQUIRE, SETTINGS, START_NONE, control

#: 400 MB for each node.
SMALL = SETTINGS["ndb"]
pytestmark = [pytest.mark.ci, pytest.mark.timeout(600)]


class ClusterTwin(Twin):
    name = "ndb"
    schemes = ("ndb",)

    def __init__(self) -> None:
        self.lifecycle = NdbLife()


ClusterTwin.__abstractmethods__ = frozenset()


@pytest.fixture
def own() -> NdbLife:
    found = NdbLife()
    if os.environ.get(REQUIRE):
        found.fetch()
    elif os.environ.get(START_NONE):
        pytest.skip(f"{START_NONE} is set; `make test-all` starts a ndb that is fetched")
    elif found.fetched() is None:
        pytest.skip("no ndb here; `inrush engines fetch ndb` gets one")
    return found


@pytest.fixture
def twin(own: NdbLife, monkeypatch: pytest.MonkeyPatch) -> ClusterTwin:
    made = ClusterTwin()  # type: ignore[abstract]
    monkeypatch.setattr(instances, "startable", lambda: [made])
    return made


def silent(_: str) -> None: ...


def kinds_of_start(data: Path) -> list[str]:
    """As the first node's log says it, of each start of the cluster."""
    log = (data / "node_1.log").read_text()
    return re.findall(r"We are performing (initial start|a restart) of (?:the )?cluster", log)


def word(settings: dict[str, str]) -> str:
    return ",".join(["ndb", *(f"{name}={value}" for name, value in settings.items())])


@pytest.fixture
def data(folder: Path) -> Iterator[Path]:
    yield folder
    left = life.working_in(folder)
    for pid in left:  # of a test that failed before it stopped its cluster
        os.kill(pid, signal.SIGKILL)
    assert not left


def ids_given(data: Path) -> list[str]:
    """To clients, in their order, by the management server's log."""
    (log,) = (data / "ndb-kept").glob("files/management/*_cluster.log")
    given = re.findall(r"Alloc node id (\d+) succeeded", log.read_text())
    return [node for node in given if int(node) > 3]


@pytest.mark.slow
def test_statements_right_behind_each_other_share_a_connection_that_is_closed_soon(
    data: Path, twin: ClusterTwin
) -> None:
    rows = instances.start([word(SMALL)], data, silent).rows
    there = Deployment(server("ndb"), Target("ndb", str(rows[0]["url"])))
    for given in (1, 2):
        for _ in range(5):
            assert holder(there, "inrush_nobody") is None
        # The second time that of the first is closed: it would be a slot that a run may want.
        assert len(ids_given(data)) == given, ids_given(data)
        time.sleep(4.0)
    instances.stop(["ndb"], data, silent)


def test_a_cluster_is_one_instance_whose_next_start_restores_what_it_held(
    data: Path, twin: ClusterTwin
) -> None:
    rows = instances.start([word(SMALL)], data, silent).rows
    kept, own = data / "ndb-kept", NdbLife()
    assert [row["role"] for row in rows] == ["management", "node_1", "node_2"]
    assert all(row["running"] and row["url"] == f"ndb://127.0.0.1:{port_of(row)}" for row in rows)
    port = port_of(rows[0])
    assert ndb_management.states(port) == {1: "STARTED", 2: "STARTED"}
    (instance,) = instances.found(twin, data)
    threads = own.threads(instance)
    mine = {int(task.name) for pid in instance.pids for task in Path(f"/proc/{pid}/task").iterdir()}
    assert threads.keys() <= mine and {"recv", "io", "watchdog"} <= set(threads.values())

    with pytest.raises(UsageError, match=f"runs already at ndb://127.0.0.1:{port}; "):
        instances.start([word(SMALL)], data, silent)
    # One node dies: the other one goes on, the status says it, and the end is clean all the same. Before there is an
    # arbitrator, the other one would end too: it could not know which of them is alone.
    until_s = time.monotonic() + 60
    while "Started arbitrator node" not in (kept / "node_1.log").read_text():
        assert time.monotonic() < until_s
        time.sleep(0.1)
    os.kill(instance.processes["node_2"], signal.SIGKILL)
    while life.started_at(instance.processes["node_2"]) is not None:
        time.sleep(0.02)
    notes: list[str] = []
    states: list[dict[str, Any]] = instances.status(["ndb"], data, notes.append).rows
    assert [(row["role"], row["running"]) for row in states] == [
        ("management", True), ("node_1", True), ("node_2", False)
    ]  # fmt: skip
    assert len(notes) == 1 and "the node_2 has ended by itself" in notes[0]
    instances.stop(["ndb"], data, silent)
    assert not life.working_in(data)
    assert "Cluster shutdown durable gci" in (kept / "node_1.log").read_text(), (
        "asked for and not only signalled"
    )

    with pytest.raises(
        UsageError, match=r"is a cluster of 2 nodes with 2 replicas, .* nodes=2,replicas=2, or choose"
    ):
        own.start(kept, {**SMALL, "nodes": "4"})
    again = own.start(kept, SMALL)
    assert again.port == port and kinds_of_start(kept) == ["initial start", "a restart"]
    # Without a management server nothing can be asked: signals end the rest.
    os.kill(again.pid, signal.SIGKILL)
    own.stop(again, Stop.CLEAN)


@pytest.mark.slow
def test_a_mysqld_with_the_engine_joins_as_the_node_of_sql_and_ends_with_the_cluster(
    data: Path, twin: ClusterTwin, own: NdbLife
) -> None:
    if (release := own.fetched()) is None or ndb_sql.program(release) is None:
        pytest.skip(
            "no mysqld with the NDB engine of the cluster's series; `inrush engines fetch mysql` may get one"
        )
    rows = instances.start([word({**SMALL, "sql": "true"})], data, silent).rows
    assert [row["role"] for row in rows] == ["management", "node_1", "node_2", "sql"]
    sql, cluster = Target("mysql", rows[-1]["url"]), Target("ndb", rows[0]["url"])
    has = "SELECT support FROM information_schema.engines WHERE engine = 'ndbcluster'"
    assert control(sql, has) == [["YES"]] and re.fullmatch(
        r"mysql://root@127.0.0.1:\d+/\?passfile=.*", sql.url
    )
    control(sql, "CREATE DATABASE inrush")
    control(sql, "CREATE TABLE inrush.t (k INT PRIMARY KEY) ENGINE = NDB")
    control(sql, "INSERT INTO inrush.t VALUES (1), (2), (3)")
    count: Any = {"text": "count", "directives": {"ndb": {"kind": "count", "table": "inrush.t"}}}
    assert [[int(row[0])] for row in control(cluster, count)] == [[3]], "the rows lie in the data nodes"
    began_s = time.monotonic()
    instances.stop(["ndb"], data, silent)
    print(f"stopped in {time.monotonic() - began_s:.1f} s")
    assert not life.working_in(data)
    again = instances.start([word({**SMALL, "sql": "true"})], data, silent).rows
    assert again[-1]["url"] == sql.url and control(sql, "SELECT count(*) FROM inrush.t") == [["3"]]
    instances.stop(["ndb"], data, silent)


def port_of(row: dict[str, Any]) -> int:
    return int(row["url"].rpartition(":")[2])


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"NoSuchSetting": "1"}, UsageError, "NDB 9.7.2 has no setting NoSuchSetting"),
        ({"DataMemory": "many"}, TargetError, "management ended while starting, code 1: at line .* Illegal integer value for .* DataMemory"),
        ({"NoOfFragmentLogFiles": "1"}, TargetError, "Illegal value 1 for parameter NoOfFragmentLogFiles. Legal values are between 3 and "),
        ({"DataMemory": "900G"}, TargetError, "2 nodes need .* GB of memory, and .* GB are free; take fewer nodes or a smaller DataMemory"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_one_line(
    settings: dict[str, str], error: type[Exception], says: str, data: Path, own: NdbLife
) -> None:
    with pytest.raises(error, match=says) as refused:
        own.start(data / "ndb", {**SMALL, **settings})
    assert "\n" not in str(refused.value)


def test_a_node_that_ends_at_the_start_ends_the_start_with_its_own_words(
    data: Path, own: NdbLife, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its program refuses an option that no node knows."""
    command = NdbLife._node
    monkeypatch.setattr(
        NdbLife,
        "_node",
        lambda self, place, k: [*command(self, place, k), *(["--no-such"] if k == 2 else [])],
    )
    with pytest.raises(
        TargetError, match=r"ndb: node_2 ended while starting, code .*: .*no-such.*; its log is .*node_2.log"
    ) as refused:
        own.start(data / "ndb", SMALL)
    assert "\n" not in str(refused.value)
