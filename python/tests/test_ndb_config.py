"""A MySQL Cluster of inrush's own: what may be asked for, the file that comes of it, and what its logs say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from inrush.engines.base.instance import Instance, Release
from inrush.engines.mysql.life import MysqlLife
from inrush.engines.ndb import config as ndb_config
from inrush.engines.ndb import life as ndb_life
from inrush.engines.ndb import management as ndb_management
from inrush.engines.ndb import sql as ndb_sql
from inrush.engines.ndb.life import NdbLife
from inrush.engines.servers import profiles, secret
from inrush.engines.servers.life import User
from inrush.engines.servers.own_server import ServerPlace
from inrush.errors import UsageError

RELEASE = Release("ndb", "9.7.2", Path("/"))


def sections(settings: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Of the file, each with its values; a name that is there twice in one is an error of the management server."""
    of = ndb_config.shape(settings)
    text = ndb_config.file(
        of, ndb_life.parameters(settings), 1186, [2000 + k for k in range(of.nodes)], Path("/h")
    )
    found: list[tuple[str, dict[str, str]]] = []
    for line in text.splitlines():
        if line.startswith("["):
            found.append((line.strip("[]"), {}))
        else:
            name, _, value = line.partition("=")
            assert name not in found[-1][1], f"{name} is there twice"
            found[-1][1][name] = value
    return found


@pytest.mark.parametrize("nodes", [2, 4, 8])
def test_every_node_has_an_id_of_its_own_and_listens_on_the_loopback_address(nodes: int) -> None:
    found = sections({"nodes": str(nodes), "api_slots": "32", "DataMemory": "80M"})
    assert Counter(name for name, _ in found) == {"ndbd default": 1, "ndb_mgmd": 1, "ndbd": nodes, "api": 32}
    ids = [int(of["NodeId"]) for name, of in found if name != "ndbd default"]
    assert sorted(ids) == list(range(1, nodes + 1 + 32 + 1))
    assert all(of["HostName"] == "127.0.0.1" for name, of in found if name != "ndbd default")
    ports = [of["ServerPort"] for name, of in found if name == "ndbd"]
    assert len({*ports}) == nodes
    assert found[0][1]["DataMemory"] == "80M" and found[0][1]["NoOfReplicas"] == "2"


def test_each_process_of_a_cluster_may_be_on_a_host_of_its_own() -> None:
    of = ndb_config.shape({"nodes": "2", "api_slots": "3"})
    at = ndb_config.Hosts("10.0.0.1", ("10.0.0.2", "10.0.0.3"), "10.0.0.4")
    text = ndb_config.file(of, {}, 1186, [2202, 2202], Path("/h"), at)
    lines = [line for line in text.splitlines() if line.startswith("HostName=")]
    assert lines == [f"HostName=10.0.0.{host}" for host in (1, 2, 3, 4, 4, 4)]


def test_threads_are_chosen_by_ndb_by_their_number_or_by_type() -> None:
    def of(word: str) -> dict[str, str]:
        return sections({"threads": word})[0][1]

    assert of("auto1")["AutomaticThreadConfig"] == "1" and of("auto4")["NumCPUs"] == "4"
    assert of("6")["MaxNoOfExecutionThreads"] == "6"
    assert of("main:1+ldm:2+send:1")["ThreadConfig"] == "main={count=1},ldm={count=2},send={count=1}"


@pytest.mark.parametrize("word", ["auto0", "auto", "0", "fast", "ldm", "ldm:1+ldm:2", "ldm:1,tc:1", "cpu:1"])
def test_other_words_for_threads_are_refused(word: str) -> None:
    with pytest.raises(UsageError, match=rf"^ndb,threads={word.replace('+', '.')}: write auto1 "):
        ndb_config.shape({"threads": word})


@pytest.mark.parametrize(
    ("threads", "sends"),
    [("auto1", False), ("auto8", True), ("8", False), ("ldm:1+send:1", True), ("ldm:1+send:0", False)],
)
def test_a_delay_of_sends_needs_a_thread_that_sends(threads: str, sends: bool) -> None:
    settings = {"threads": threads, "max_send_delay_us": "500"}
    if sends:
        assert sections(settings)[0][1]["MaxSendDelay"] == "500"
        return
    with pytest.raises(UsageError, match="does nothing in nodes without a thread that sends"):
        ndb_config.shape(settings)
    assert "MaxSendDelay" not in sections({**settings, "max_send_delay_us": "0"})[0][1]


#: Stands for a `mysqld`: what it says of its options.
MYSQLD = "#!/bin/sh\necho '{}'\n"


def stand_in(path: Path, options: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MYSQLD.format(options))
    path.chmod(0o755)
    return path


@pytest.fixture
def nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """Programs of a cluster, and no MySQL."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("INRUSH_NDB_HOME", raising=False)
    return Release("ndb", "9.7.2", tmp_path / "cache" / "inrush" / "ndb")


def test_a_node_of_sql_is_a_mysqld_with_the_engine_which_is_looked_for_in_order(
    nothing_fetched: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INRUSH_NDB_HOME", str(tmp_path / "home"))
    assert ndb_sql.program(nothing_fetched) is None
    stand_in(tmp_path / "home" / "a" / "mysqld", "--innodb")
    assert ndb_sql.program(nothing_fetched) is None, "it has not the engine"
    packed = stand_in(nothing_fetched.path / "sql" / "bin" / "mysqld", "--ndb-connectstring=name")
    assert ndb_sql.program(nothing_fetched) == packed
    named = stand_in(tmp_path / "home" / "b" / "mysqld", "--ndb-connectstring=name")
    assert ndb_sql.program(nothing_fetched) == named
    named.chmod(0o644)
    assert ndb_sql.program(nothing_fetched) == packed, "what is not a program is none"
    assert NdbLife().chosen(nothing_fetched, {"sql": "true"})["sql"] == "true"


@pytest.mark.parametrize(("mysql", "is_found"), [("9.7.4", True), ("9.8.0", False)])
def test_the_mysql_that_was_fetched_serves_where_it_is_of_the_same_series(
    mysql: str, is_found: bool, nothing_fetched: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = stand_in(tmp_path / "mysql" / "usr" / "sbin" / "mysqld", "--ndb-connectstring=name")
    fetched = Release("mysql", mysql, tmp_path / "mysql")
    monkeypatch.setattr(MysqlLife, "fetched", lambda self, version=None: fetched)
    assert (ndb_sql.program(nothing_fetched) == program) is is_found


def test_a_cluster_with_a_node_of_sql_has_a_section_and_a_process_for_it(
    nothing_fetched: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = stand_in(tmp_path / "home" / "bin" / "mysqld", "--ndb-connectstring=name")
    monkeypatch.setenv("INRUSH_NDB_HOME", str(tmp_path / "home"))
    found = sections({"nodes": "2", "api_slots": "8", "sql": "true"})
    assert found[-1] == ("mysqld", {"HostName": "127.0.0.1", "NodeId": "12"})
    assert Counter(name for name, _ in found)["api"] == 8
    (data := tmp_path / "data").mkdir()
    (data / "sql.port").write_text("4406\n")
    place = ServerPlace(
        nothing_fetched, data, data / "files", User(), 1186, {"sql": "true", "api_slots": "8"}
    )
    management, *nodes, sql = NdbLife().processes(place)
    assert [one.name for one in (management, *nodes, sql)] == ["management", "node_1", "node_2", "sql"]
    words = [str(word) for word in sql.command]
    assert words[:2] == [str(program), "--no-defaults"] and sql.log == data / "sql.log"
    assert {"--ndbcluster", "--ndb-connectstring=127.0.0.1:1186", "--ndb-nodeid=12", "--port=4406"} < {*words}
    instance = Instance("ndb", data, "ndb://127.0.0.1:1186", 1186, 1, data / "server.log", nothing_fetched)
    assert NdbLife().process_url(instance, "sql") == secret.named("mysql://root@127.0.0.1:4406/", data)
    assert NdbLife().process_url(instance, "node_1") == instance.url
    aborted = ["[ERROR] [MY-010119] [Server] Aborting"]
    assert sql.explain(["[ERROR] [MY-1] [Server] no room", *aborted]) == "no room"
    with pytest.raises(UsageError, match="whole number from 1 to 251"):
        ndb_config.shape({"sql": "true", "api_slots": "252"})


def test_a_node_of_sql_is_refused_with_where_it_was_looked_for_and_the_way_to_have_one(
    nothing_fetched: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ndb_config.shape({"sql": "false"}) == ndb_config.shape({})
    assert "sql" not in ndb_config.file(
        ndb_config.shape({}), ndb_life.parameters({"sql": "false"}), 1, [2, 3], Path("/h")
    )
    home = tmp_path / "home"
    stand_in(home / "mysqld", "--innodb")
    monkeypatch.setenv("INRUSH_NDB_HOME", str(home))
    with pytest.raises(
        UsageError, match=r"^ndb,sql=true: there is no mysqld with the NDB engine in .*mysqld --ndbcluster"
    ) as refused:
        NdbLife().chosen(nothing_fetched, {"sql": "true"})
    said = str(refused.value)
    assert f"in {home} (INRUSH_NDB_HOME), {nothing_fetched.path / 'sql'} (" in said and "\n" not in said
    with pytest.raises(UsageError, match="ndb,sql=yes: it is true or false"):
        ndb_config.shape({"sql": "yes"})


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"nodes": "3"}, "multiple of 2"),
        ({"nodes": "0"}, "whole number from 1 to 144"),
        ({"nodes": "two"}, "whole number from 1 to 144"),
        ({"replicas": "5"}, "whole number from 1 to 4"),
        ({"api_slots": "253"}, "whole number from 1 to 252"),
        ({"threads": "ldm:1+send:1", "max_send_delay_us": "11001"}, "whole number from 0 to 11000"),
        ({"NoOfReplicas": "2"}, "inrush sets NoOfReplicas itself"),
        ({"serverport": "2"}, "inrush sets serverport itself"),
        ({"DataMemory": "80M", "datamemory": "90M"}, "DataMemory and datamemory are one setting"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(settings: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        NdbLife().chosen(RELEASE, settings)
    assert "\n" not in str(refused.value)


def test_a_profile_gives_way_to_a_setting_in_any_case_and_is_shared_by_the_nodes() -> None:
    own = NdbLife().chosen(RELEASE, {"profile": "default", "datamemory": "90M"})
    assert own == {
        "TimeBetweenGlobalCheckpoints": "2000",
        "TotalSendBufferMemory": "32M",
        "datamemory": "90M",
    }
    budget = profiles.budget(profiles.memory() // 4)["cache"] >> 20
    assert NdbLife().chosen(RELEASE, {"nodes": "4"})["DataMemory"] == f"{budget}M"


def test_memory_counts_what_is_given_and_what_is_as_shipped() -> None:
    shipped = ndb_config.memory_bytes({})
    assert ndb_config.memory_bytes({"datamemory": "98M"}) == shipped
    assert ndb_config.memory_bytes({"DataMemory": "1G"}) == shipped + (1 << 30) - (98 << 20)
    assert ndb_config.memory_bytes({"DataMemory": "much"}) == shipped, "the server refuses it"


LOG = """2026-11-26T14:22:40.82Z [ndbd] INFO     -- Started thread, index = 0, id = 22505, type = NdbfsThread
2026-11-26T14:22:40.97Z [ndbd] INFO     -- Started thread, index = 2, id = 22513, type = WatchDogThread
2026-11-26T14:22:40.98Z [ndbd] INFO     -- thr: 0 tid: 22503 (main) BACKUP(0) DBTC(0)
2026-11-26T14:22:40.98Z [ndbd] INFO     -- thr: 1 tid: 22521 (ldm) DBLQH(1)
2026-11-26T14:22:40.98Z [ndbd] INFO     -- thr: 2 tid: 22522 (ldm) DBLQH(2)
2026-11-26T15:22:40.98Z [ndbd] INFO     -- thr: 1 tid: 22505 (recv) THRMAN(1)
"""


def test_a_log_says_the_type_of_each_thread() -> None:
    assert ndb_life.thread_types(LOG) == {
        22505: "recv", 22513: "watchdog", 22503: "main", 22521: "ldm", 22522: "ldm"
    }  # fmt: skip


def test_the_reason_why_one_ended_is_one_line() -> None:
    refused = [
        "x [MgmtSrvr] INFO     -- begins",
        "x [MgmtSrvr] ERROR    -- at line 7: Illegal value 1 for parameter NoOfFragmentLogFiles.",
        "Legal values are between 3 and 9",
        "2026-11-26T14:54:43Z [MgmtSrvr] ERROR    -- Could not load configuration",
    ]
    says = "at line 7: Illegal value 1 for parameter NoOfFragmentLogFiles. Legal values are between 3 and 9"
    assert ndb_life.refusal(refused) == says and ndb_life.refusal(refused[:1]) == ""
    full = "x [ndbd] WARNING  -- Filesystem problem: The file system is full."
    slow = "x [ndbd] WARNING  -- Ndb kernel thread 0 is stuck in: Polling for Receive elapsed=104"
    last = "x [ndbd] INFO     -- exiting"
    assert ndb_life.failure([full, slow, last], 1 << 40) == "Filesystem problem: The file system is full."
    assert ndb_life.failure([slow, last], 10_000_000) == "10 MB are left on the disk of its files"
    assert ndb_life.failure([slow, last], 1 << 40) == f"its last words were: {last}"
    assert ndb_life.failure([], 1 << 40) == ""


def test_states_of_nodes_are_read_from_an_answer() -> None:
    said = "node status\nnodes: 2\nnode.1.type: NDB\nnode.1.status: STARTED\nnode.1.startphase: 0\nnode.2.status: NO_CONTACT\n\n"
    assert ndb_management.parse(said) == {1: "STARTED", 2: "NO_CONTACT"}
    assert ndb_management.parse("") == {}


def test_a_start_that_goes_on_is_seen_in_the_file_of_the_system(tmp_path: Path) -> None:
    """As a node of 9.7.2 wrote it two seconds before and after its first start was over."""
    file = tmp_path / "P0.sysfile"
    assert ndb_life.begins_anew(file), "there is none"
    head = bytes.fromhex("4e444253595346320200000010000000000000000000000000020000")
    file.write_bytes(head + bytes.fromhex("01000000010000000100000001000000"))
    assert ndb_life.begins_anew(file)
    file.write_bytes(head + bytes.fromhex("00000000010000000100000001000000"))
    assert not ndb_life.begins_anew(file)
    file.write_bytes(b"another format")
    assert not ndb_life.begins_anew(file)
