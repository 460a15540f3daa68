"""The servers of a pipeline's shards: by their addresses, as a process on their host finds them, and in a run that watches them."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.agent.place import Client, Hear, Here, Part, processes_document
from inrush.border.pipeline import ShardServer, shards_of
from inrush.engines import ENGINES, known_twin, server
from inrush.load.pipeline import hosts, tables
from inrush.load.pipeline.hosts_watched import watched
from inrush.load.pipeline.shard_servers import servers_at, shards_said, watchers_behind, whole_of
from inrush.machine import addresses, held, listeners
from inrush.results.parts import Shift
from inrush.results.schema import SCHEMAS
from inrush.targets.server_processes import FoundServer, found_server
from tests.test_pipeline import placed
from tests.test_pipeline_hosts import rows

# By their addresses.


def test_servers_are_known_by_address_and_shards_of_one_are_namespaces_of_it() -> None:
    one = servers_at("postgresql", ["postgresql://u@db/x"] * 2)
    assert one == [
        {"role": "shards", "engine": "postgresql", "host": "db", "port": 5432, "shards": [0, 1]},
    ]  # fmt: skip
    several = servers_at(
        "clickhouse",
        [
            "clickhouse://10.0.0.1",
            "clickhouse://10.0.0.1:9",
            "clickhouse://[fd00::1]:8123",
            "clickhouse://10.0.0.1",
        ],
    )
    assert [(of["role"], of["host"], of["port"], of["shards"]) for of in several] == [
        ("shards/shard_0", "10.0.0.1", 8123, [0, 3]), ("shards/shard_1", "10.0.0.1", 9, [1]),
        ("shards/shard_2", "fd00::1", 8123, [2]),
    ]  # fmt: skip


@pytest.mark.parametrize("url", ["postgresql://u@%2Ftmp:5432/x", "postgresql://u@a:1,b:2/x"])
def test_a_socket_and_several_addresses_in_one_are_no_hosts(url: str) -> None:
    assert [of["host"] for of in servers_at("postgresql", [url])] == [""]


def test_engines_inside_of_the_load_server_have_none() -> None:
    assert servers_at("sqlite", ["", ""]) == [] == servers_at("duckdb", ["x.duckdb"])


def test_shards_are_said_as_people_do() -> None:
    assert [shards_said(of) for of in ([1], [1, 0], [0, 1, 2, 3], [0, 2, 3])] == [
        "shard 1", "shards 0 and 1", "shards 0 to 3", "shards 0, 2 and 3",
    ]  # fmt: skip


def test_every_engine_that_the_loader_fills_by_a_server_says_what_its_programs_are() -> None:
    twins = [twin for name in ENGINES if (twin := known_twin(name)) and twin.loading and not twin.embedded]
    assert twins and all(twin.programs for twin in twins), [twin.name for twin in twins if not twin.programs]


# On their host.


def test_addresses_of_this_host_are_those_of_its_interfaces_and_names_that_mean_one() -> None:
    mine = addresses.own_addresses()
    assert ipaddress.ip_address("127.0.0.1") in mine
    assert addresses.own_hosts(["localhost", "203.0.113.77", "no-such-host.invalid"]) == ["localhost"]
    for address in [str(of) for of in mine if not of.is_link_local]:
        assert addresses.own_hosts([address]) == [address]
    linked = ipaddress.ip_address("fe80::1")
    assert not addresses.is_own({linked}, {linked}), "any host may have it"


def at(*lines: str) -> list[listeners.ListeningSocket]:
    return [*listeners.parsed(lines)]


def line(address: str, inode: int, state: str = "0A") -> str:
    return f"0: {address} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 0 0 {inode} 1"


@pytest.mark.skipif(sys.byteorder != "little", reason="lines of such a kernel")
def test_what_listens_at_the_address_itself_comes_before_what_listens_at_all() -> None:
    there = at(
        line("0100007F:1538", 1), line("00000000:1538", 2), line("0200000A:1538", 3), line("0200000A:1539", 4),
        line("0200000A:1538", 5, state="01"), line("0" * 32 + ":1540", 6),
        line("0000000000000000FFFF00000300000A:1538", 7),
    )  # fmt: skip

    def sockets(address: str, port: int) -> set[int]:
        return listeners.sockets_at(there, {ipaddress.ip_address(address)}, port)

    assert sockets("127.0.0.1", 0x1538) == {1} and sockets("10.0.0.2", 0x1538) == {3}
    assert sockets("10.0.0.3", 0x1538) == {7}, "an address of version 4 in version 6"
    assert sockets("10.0.0.9", 0x1538) == {2} and sockets("fd00::1", 0x1538) == set()
    assert sockets("10.0.0.2", 0x1540) == {6} and sockets("10.0.0.2", 0x1541) == set()


def test_a_process_is_held_to_the_least_of_its_groups_and_those_above(tmp_path: Path) -> None:
    old = tmp_path / "cpu" / "a" / "b"
    old.mkdir(parents=True)
    for folder, quota in ((old, "-1"), (old.parent, "50000"), (tmp_path / "cpu", "-1")):
        (folder / "cpu.cfs_quota_us").write_text(quota)
        (folder / "cpu.cfs_period_us").write_text("100000")
    assert [*held.quotas("5:cpuacct:/a\n4:cpu,cpuset:/a/b\n0::/\n", tmp_path)] == [0.5]
    new = tmp_path / "new" / "x"
    new.mkdir(parents=True)
    (new / "cpu.max").write_text("20000 10000\n")
    (new.parent / "cpu.max").write_text("max 10000\n")
    assert [*held.quotas("0::/x\n", new.parent)] == [2.0]
    assert held.cores_of_process(os.getpid(), tmp_path) == len(os.sched_getaffinity(0))


#: Listens, and computes in a child of its own until it is killed.
BUSY = (
    "import os, socket, sys\n"
    "listener, parent = socket.create_server(('127.0.0.1', 0)), os.getpid()\n"
    "if os.fork() == 0:\n"
    "    listener.close()\n"
    "    while os.getppid() == parent: sum(range(10000))\n"
    "    os._exit(0)\n"
    "print(listener.getsockname()[1], flush=True)\n"
    "sys.stdin.read()\n"
)


def named_postgres(folder: Path) -> contextlib.AbstractContextManager[tuple[subprocess.Popen[str], int]]:
    return named_server("postgres", folder)


@contextlib.contextmanager
def named_server(name: str, folder: Path, before: str = "") -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A program with the name of the server's, and its port. before: what it does at first."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    shutil.copy(Path(sys.executable).resolve(), program)
    environment = {**os.environ, "PYTHONHOME": sys.base_prefix}
    with subprocess.Popen(
        [str(program), "-c", before + BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment,
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            yield server, int(server.stdout.readline())
        finally:
            server.kill()


def of_postgresql(port: int, role: str = "shards", shards: tuple[int, ...] = (0,)) -> ShardServer:
    return {"role": role, "engine": "postgresql", "host": "127.0.0.1", "port": port, "shards": [*shards]}


def found_at(port: int) -> FoundServer:
    return found_server(server("postgresql"), "127.0.0.1", port, "the worker")


def test_a_server_is_found_by_its_port_with_its_folder_and_the_cores_that_it_may_use(tmp_path: Path) -> None:
    with named_postgres(tmp_path) as (process, port):
        found = found_at(port)
        assert found.pids == (process.pid,), found
        assert Path(found.folder).resolve() == tmp_path.resolve()
        assert found.cores and found.of_machine == os.cpu_count()


CLICKHOUSE = "/var/lib/clickhouse"
PART = "0a1/0a1b2c3d-0000-4000-8000-000000000001/all_1_1_0/data.bin"


@pytest.mark.parametrize(
    ("opened", "folder"),
    [
        # As one has open that does nothing; what ends alike and is no file of it.
        ((f"{CLICKHOUSE}/status", "/proc/7/status", "socket:[5]", "/usr/bin/clickhouse", "anon_inode:[eventpoll]"), CLICKHOUSE),
        ((f"{CLICKHOUSE}/status", f"/cold/store/{PART}", f"/cold/store/{PART}2"), CLICKHOUSE),
        ((f"/srv/store/store/{PART}", "/log/server.log"), "/srv/store"),
        # As inrush starts it, of a version that names files by their tables.
        (("/d/files/data/data/home/events/all_1_1_0/a.bin",), "/d/files/data"),
        (("/log/server.log", "/proc/self/status", "/data/x"), ""),
        ((), ""),
    ],
)  # fmt: skip
def test_the_folder_of_a_server_that_does_not_work_in_it_is_known_by_its_open_files(
    opened: tuple[str, ...], folder: str
) -> None:
    twin = known_twin("clickhouse")
    assert twin is not None and twin.folder_of_data(opened) == folder
    assert all(
        other.folder_of_data(opened) == ""
        for name in ENGINES
        if (other := known_twin(name)) and other is not twin
    )


def test_a_server_is_found_with_the_folder_of_its_open_files(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "status").touch()
    opening = f"import os; held = open({str(data / 'status')!r}); os.chdir('/')\n"
    with named_server("clickhouse-server", tmp_path / "programs", opening) as (process, port):
        found = found_server(server("clickhouse"), "127.0.0.1", port, "the worker")
        assert found.pids == (process.pid,), found
        assert found.folder.startswith(f"/proc/{process.pid}/root/")
        assert Path(found.folder).samefile(data)
        shutil.rmtree(data)
        assert found_server(server("clickhouse"), "127.0.0.1", port, "the worker").folder == ""


def test_what_is_no_server_of_the_engine_at_the_port_is_said_and_not_watched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        found = found_at(proxy.getsockname()[1])
    assert not found.pids and "which is no PostgreSQL" in found.why and "python" in found.why
    assert "nothing listens at port 1 " in found_at(1).why


# In a run.


def ran(folder: Path, seen: list[Any], place: Here | None = None) -> tuple[int, list[Any], Path]:
    plan = placed("sqlite", folder, "pipeline.pipeline_bytes_per_s=150_000")
    plan["loads"]["pipelines"]["seen"] = seen
    parts, said = folder / "parts", list[Any]()
    parts.mkdir(exist_ok=True)
    code = hosts.work(plan, parts, list, said.append, place or Here(parts, hosts.PART))  # type: ignore[arg-type]
    return code, said, parts


def grown(parts: Path, role: str) -> float:
    values = [
        row["value"]
        for row in rows(parts, "resources")
        # Rows of a process's threads have their names as `device`.
        if (row["role"], row["metric"], row["device"]) == (role, "cpu_s", "")
    ]
    return values[-1] - values[0] if values else 0.0


@pytest.mark.slow
def test_a_watcher_shows_the_server_on_its_host_and_its_host(tmp_path: Path) -> None:
    with named_postgres(tmp_path / "server") as (_, port):
        code, said, parts = ran(tmp_path, [{**of_postgresql(port), "process": 2}])
    assert code == 0, said
    assert grown(parts, "shards") > 0.1, "its child computes"
    roles = {row["role"] for row in rows(parts, "resources")}
    assert {"host/1", "host/2", "host/3", "load_server", "client"} <= roles and "client/1" not in roles
    document = processes_document(parts)["hosts"]
    assert document["clients"] == 1


@pytest.mark.slow
def test_a_server_that_is_not_found_is_a_note_and_its_host_is_watched(tmp_path: Path) -> None:
    code, said, parts = ran(tmp_path, [{**of_postgresql(1), "process": 2}])
    assert code == 0, said
    (note,) = [event["text"] for event in said if event["event"] == "note"]
    assert (
        note.startswith("the server at 127.0.0.1:1 is not watched: ")
        and "nothing listens at port 1" in note
        and "\n" not in note
    )
    roles = {row["role"] for row in rows(parts, "resources")}
    assert "host/3" in roles and "shards" not in roles


@pytest.mark.ci
def test_an_end_on_the_host_of_a_server_watches_it_beside_its_own(tmp_path: Path) -> None:
    with named_postgres(tmp_path / "server") as (_, port):
        code, said, parts = ran(tmp_path, [{**of_postgresql(port), "process": 0}])
    assert code == 0, said
    assert grown(parts, "shards") > 0.1 and grown(parts, "load_server") > 0.0
    assert "host/3" not in {row["role"] for row in rows(parts, "resources")}


def test_a_watcher_that_is_lost_ends_the_run_with_what_it_watched(tmp_path: Path) -> None:
    class Losing(Here):
        """Ends the watcher when the first file has begun."""

        def start(self, process: int, plan: Part, folder: Path, hear: Hear) -> Client:
            def heard(event: Any) -> None:
                hear(event)
                if process == 1 and event["event"] == "said" and event["of"]["event"] == "begins":
                    self.watcher.kill()

            started = super().start(process, plan, folder, heard)
            self.watcher = started
            return started

    (tmp_path / "parts").mkdir()
    code, said, _ = ran(
        tmp_path, [{**of_postgresql(1), "process": 2}], Losing(tmp_path / "parts", hosts.PART)
    )
    (failed,) = [event for event in said if event["event"] == "failed"]
    assert code == 1 and failed["message"].startswith("the watcher of shard 0: "), failed


def part_watched(folder: Path, role: str, cpu_s: float) -> None:
    folder.mkdir()
    looks = [
        {"role": of, "t_ns": t_ns, "metric": metric, "device": device, "value": value * share}
        for of in (role, "host")
        for metric, device, value in (("cpu_s", "", cpu_s), ("dev_busy_s", "sda", cpu_s))
        for t_ns, share in ((0, 0.0), (10, 1.0))
    ]
    tables.write(folder, {"resources": looks})


@pytest.mark.parametrize("whole", [True, False])
def test_all_shards_together_are_a_role_only_where_each_was_watched(tmp_path: Path, whole: bool) -> None:
    parts = {}
    for process, role in enumerate(("load_server", "load_client", "shards/shard_0", "shards/shard_1")):
        part_watched(tmp_path / str(process), role, 1.0 + process)
        parts[process] = tmp_path / str(process), Shift(0)
    every = ["shards/shard_0", "shards/shard_1"] if whole else []
    found = watched(
        SCHEMAS["resources"].empty_table(), parts, {3: "host/4:"}, of_clients=1, whole=every
    ).to_pylist()
    last = {(r["role"], r["metric"], r["device"]): r["value"] for r in found if r["t_ns"] == 10}
    assert last["shards/shard_0", "cpu_s", ""] == 3.0 and last["shards/shard_1", "cpu_s", ""] == 4.0
    assert last.get(("shards", "cpu_s", "")) == (7.0 if whole else None)
    assert last["shards/shard_1", "dev_busy_s", "host/4:sda"] == 4.0
    assert not [key for key in last if key[0] == "shards" and key[1] == "dev_busy_s"], "a disk has no sum"
    assert {"load_client", "host/4"} <= {key[0] for key in last} and ("client/1", "cpu_s", "") not in last


def test_the_whole_is_that_of_the_plans_servers() -> None:
    plan: Any = {
        "target": {"engine": "postgresql"}, "watch": {"processes": {}},
        "loads": {"pipelines": {"shards": [{"target": {"url": f"postgresql://db{k}/x"}} for k in range(2)]}},
    }  # fmt: skip
    both = ["shards/shard_0", "shards/shard_1"]
    assert whole_of(plan, dict.fromkeys(both, True)) == both
    assert whole_of(plan, {both[0]: True, both[1]: False}) == [] == whole_of(plan, {both[0]: True})
    one: Any = {**plan, "loads": {"pipelines": {"shards": [*shards_of(plan)][:1]}}}
    assert whole_of(one, {"shards": True}) == [], "it is the whole itself"
    started: Any = {**plan, "watch": {"processes": {"shards": [1]}}}
    assert whole_of(started, dict.fromkeys(both, True)) == [], "inrush watches what it has started"
    assert watchers_behind(2, [{**of_postgresql(1), "process": n} for n in (3, 0, 2, 3)]) == [2, 3]
