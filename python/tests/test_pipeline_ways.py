"""What a way between hosts carries, whether its sender waits for it, and when it is a resource of a study."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from inrush.errors import CoreError
from inrush.load.pipeline import ways
from inrush.machine.connections import Connection, connections
from inrush.model.pipeline import Part
from inrush.predict import hosts
from inrush.results.schema import SCHEMAS
from inrush.stats.record import RunRecord

MS = 1_000


NEVER = float("inf")


def test_bytes_of_the_begin_and_of_what_trickles_in_later_are_no_capacity() -> None:
    steady = [(0.01 * n, 10_000 * n) for n in range(1, 151)]
    assert ways.carried(steady, NEVER) == pytest.approx(1e6, rel=0.01)
    slow_begin = [(t, n if t > 0.5 else n // 100) for t, n in steady]
    assert ways.carried(slow_begin, NEVER) == pytest.approx(1e6, rel=0.03)
    assert ways.carried([*steady, (9.0, 10_000 * 151)], NEVER) == pytest.approx(1e6, rel=0.01)
    assert ways.carried([], NEVER) == ways.carried([(1.0, 5)], NEVER) == 0.0


def test_what_comes_after_the_first_sender_has_let_go_is_no_capacity_of_all() -> None:
    half_from_110 = [(0.01 * n, 10_000 * min(n, 110) + 5_000 * max(0, n - 110)) for n in range(1, 151)]
    assert ways.carried(half_from_110, 1.101) == pytest.approx(1e6, rel=0.01)
    assert ways.carried(half_from_110, 0.9) == 0.0, "0.4 s are too short to be a rate"


def test_one_sender_that_ends_early_makes_the_capacity_unknown() -> None:
    sink = ways.Sink("127.0.0.1", "t" * 32)
    found: list[float] = []
    taking = threading.Thread(target=lambda: found.append(sink.bytes_per_s(ways.CONNECTIONS + 1)))
    taking.start()
    with socket.create_connection(("127.0.0.1", sink.port)) as early:
        early.sendall(b"t" * 32)
        ending = threading.Timer(0.6, early.shutdown, (socket.SHUT_WR,))
        ending.start()
        ways.fill("127.0.0.1", sink.port, "t" * 32)
    taking.join(20.0)
    assert found == [0.0]


def test_what_is_sent_is_what_comes_and_strangers_are_not_counted() -> None:
    sink = ways.Sink("127.0.0.1", "t" * 32)
    found: list[float] = []
    taking = threading.Thread(target=lambda: found.append(sink.bytes_per_s(ways.CONNECTIONS)))
    taking.start()
    with socket.create_connection(("127.0.0.1", sink.port)) as stranger:
        stranger.sendall(b"x" * 64)
        began = time.monotonic()
        ways.fill("127.0.0.1", sink.port, "t" * 32)
    taking.join(20.0)
    assert found and found[0] > 1e6 and time.monotonic() - began < 10


def test_an_address_without_a_server_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(CoreError, match=f"127.0.0.1:{port} is not reached from here"):
        ways.fill("127.0.0.1", port, "t" * 32)


def test_the_kernel_says_what_a_sender_waits_for_when_its_receiver_takes_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as sender, listener.accept()[0]:
            sender.setblocking(False)
            with pytest.raises(BlockingIOError):
                while True:
                    sender.send(bytes(1 << 16))
            before = connections("127.0.0.1", port)
            if before is None:
                pytest.skip("this kernel has no sock_diag")
            time.sleep(0.3)
            (was,), now = before, connections("127.0.0.1", port)
            assert now is not None
            assert now[0].unsent_bytes > 0 and now[0].busy_us - was.busy_us > 200 * MS
            assert now[0].receiver_us - was.receiver_us > 200 * MS
            assert not ways.held_by_way(was, now[0], 300 * MS), "the receiver has no room: its reader is slow"
    assert connections("127.0.0.1", port) in ([], None)


def look(busy: int, receiver: int = 0, buffer: int = 0, unsent: int = 1, acked: int = 0) -> Connection:
    return Connection(1, acked, busy * MS, receiver * MS, buffer * MS, unsent, 500)


def test_a_sender_is_held_by_the_way_only_if_bytes_wait_and_the_receiver_has_room() -> None:
    span = 250 * MS
    assert ways.held_by_way(look(0), look(250), span)
    assert not ways.held_by_way(look(0), look(250, receiver=200), span)
    assert not ways.held_by_way(look(0), look(250, buffer=200), span)
    assert not ways.held_by_way(look(0), look(250, unsent=0), span), "a trickle over a long way is busy, too"
    assert not ways.held_by_way(look(0), look(100), span)
    held = ways.Held()
    held.add([look(0)], [look(250, acked=70)], span)
    held.add([look(250, acked=70)], [look(260, unsent=0, acked=100)], span)
    assert (held.sent_bytes, held.looks, held.held_looks, held.rtt_us) == (100, 2, 1, 500)
    held.add([], [look(250, acked=70)], span)
    held.add([look(250, acked=70)], [], span)
    assert held.looks == 2, "no connection was there at both"


# When it is a resource.


def run(
    rate: float,
    carries: float,
    looks: int,
    held: int,
    clients: int = 1,
    planned: int | None = None,
    pipelines: int | None = None,
) -> RunRecord:
    """One second of a load of `rate` bytes a second, which are equally many of each pipeline: one for each client where nothing
    else is said. planned: clients of the study, of which a run has not more than pipelines."""
    pipelines = pipelines or clients
    of_ways = [
        {"client": n + 1, "bytes_per_s": carries / clients, "looks": looks, "held_looks": held}
        for n in range(clients)
    ]
    workers = [{"boot": f"b{n}", "cores": 2, "cpus": [0, 1]} for n in range(1 + clients)]
    summary = {
        "hosts": {"clients": clients, "ways": of_ways, "ways_bytes_per_s": carries, "workers": workers}
    }
    plan: Any = {
        "segments": [
            {"kind": "load", "label": "measure", "phase": "measure", "roles": [{"name": "pipelines"}]}
        ],
        "loads": {"pipelines": {"pipelines": {"count": pipelines, "client_hosts": planned or clients}}},
    }
    looked = looks_at(("load_server", "net_rx_bytes", "clients", rate))
    found = RunRecord("r", plan, {"cpu_logical": 8}, summary, {"resources": looked})
    found._rows["files"] = [{"pipeline": n, "bytes": 50} for n in range(pipelines)]
    found._rows["segments"] = [
        {"segment": 0, "phase": "measure", "start_ns": 0, "end_ns": 10**9, "label": "measure"}
    ]
    return found


def looks_at(*grown: tuple[str, str, str, float]) -> pa.Table:
    """Role, metric, device, and by how much it grew in the second."""
    return pa.Table.from_pylist(
        [
            {"role": role, "t_ns": t_ns, "metric": metric, "device": device, "value": v}
            for role, metric, device, value in grown
            for t_ns, v in ((0, 0.0), (10**9, value))
        ],
        SCHEMAS["resources"],
    )


NETWORK = "network from client to load server"


def names(*runs: RunRecord) -> set[str]:
    return {part.name for part in hosts.host_parts(runs) if part.name.startswith("network")}


def test_a_way_is_a_resource_with_the_share_that_the_load_takes_of_it() -> None:
    small, large = run(100.0, 200.0, 20, 0), run(196.0, 200.0, 20, 18)
    assert names(small, large) == {NETWORK}
    assert hosts.network_busy(small) == {NETWORK: 0.5} and hosts.network_busy(large) == {NETWORK: 0.98}
    assert Part("cores of the load server", 2.0) in hosts.host_parts([small])


def test_a_way_whose_senders_did_not_wait_though_it_was_full_carries_more_and_is_not_named() -> None:
    small = run(100.0, 200.0, 20, 0)
    assert names(small, run(210.0, 200.0, 20, 9)) == set(), "the look before the clock was too low"
    assert names(small, run(500.0, 200.0, 20, 0)) == set()


def test_a_load_that_took_far_more_disproves_what_a_way_carries_however_its_senders_waited() -> None:
    assert names(run(100.0, 200.0, 20, 0), run(230.0, 200.0, 20, 20)) == set()


def test_a_load_below_what_the_way_carries_need_not_wait_for_it() -> None:
    assert names(run(100.0, 200.0, 20, 0), run(196.0, 200.0, 20, 0)) == {NETWORK}


def test_too_few_looks_say_nothing_and_a_kernel_that_says_nothing_is_no_second_look() -> None:
    small = run(100.0, 200.0, 20, 0)
    assert names(small, run(210.0, 200.0, 3, 0)) == {NETWORK}
    assert names(small, run(196.0, 200.0, 0, 0)) == {NETWORK}
    silent = run(196.0, 200.0, 20, 0)
    for way in silent.summary["hosts"]["ways"]:
        del way["looks"]
    assert names(small, silent) == set()


def test_each_of_several_clients_has_a_way_and_all_have_one() -> None:
    found = hosts.network_busy(run(100.0, 200.0, 20, 0, clients=2))
    assert found == {
        "network from client 1 to the load server": 0.5,
        "network from client 2 to the load server": 0.5,
        "network of the load server": 0.5,
    }


def test_a_client_on_the_load_servers_own_host_takes_nothing_of_the_network() -> None:
    found = run(100.0, 200.0, 20, 0, clients=2)
    del found.summary["hosts"]["ways"][0]
    assert hosts.network_busy(found) == {
        "network from client 2 to the load server": 0.5, hosts.TOGETHER: 0.25,
    }  # fmt: skip


def test_names_are_those_of_the_plan_and_a_run_of_few_pipelines_has_what_is_dealt_out_to_all_clients() -> (
    None
):
    runs = [run(50e6 * n, 200e6 * n, 20, 0, clients=n, planned=3) for n in (1, 2, 3)]
    assert names(*runs) == {hosts.TOGETHER, hosts.CLIENT_WAYS}
    figures = {"client.busy_cores": 1.0, "client/1.busy_cores": 0.5, "client/2.busy_cores": 0.25}
    busy = [hosts.host_busy(of, {**figures, "load_server.busy_cores": 0.2}) for of in runs]
    assert [of["cores of the machine of client 1"] for of in busy] == [1.0, 0.5, 0.5]
    assert [of[hosts.CLIENT_CORES] for of in busy] == [1.0, 0.75, 0.75]
    assert [of[hosts.CLIENT_WAYS] for of in busy] == [50.0, 100.0, 150.0]
    assert all(of["cores of the machine of the load server"] == 0.2 for of in busy)
    assert {part.name for part in hosts.host_parts(runs)} == {
        "cores of the machine of the load server", hosts.CLIENT_CORES, hosts.CLIENT_WAYS, hosts.TOGETHER,
    }  # fmt: skip


# Whose cores shards have that inrush started.


def with_shards(boot: str, env: dict[str, float], planned: int = 1) -> RunRecord:
    found = run(100.0, 200.0, 20, 0, planned=planned)
    tables = {
        "resources": pa.concat_tables([found.tables["resources"], looks_at(("shards", "cpu_s", "", 1.5))])
    }
    inrush = {"own": {"host": "h", "boot": boot}}
    return replace(found, env=env, tables=tables, summary={"hosts": {**found.summary["hosts"], **inrush}})


def cores(of: RunRecord) -> dict[str, float]:
    return {part.name: part.capacity for part in hosts.host_parts([of]) if part.name.startswith("cores")}


def test_shards_have_the_cores_of_the_worker_that_is_on_their_machine() -> None:
    shared = with_shards("b0", {"cpu_logical": 2, "cpu_capacity_cores": 1.8})
    assert cores(shared) == {"cores of the load server and shards": 1.8, "cores of the client": 2.0}
    figures = {"load_server.busy_cores": 0.3, "shards.busy_cores": 1.5, "client.busy_cores": 0.1}
    assert hosts.host_busy(shared, figures)["cores of the load server and shards"] == pytest.approx(1.8)
    # A group of the kernel holds inrush and its shards, and the worker has more.
    held = with_shards("b0", {"cpu_logical": 4, "cgroup_cpu_cores": 1.0})
    assert cores(held)["cores of the load server and shards"] == 2.0
    several = with_shards("b1", {"cpu_logical": 2}, planned=3)
    assert set(cores(several)) == {
        "cores of the machine of the load server",
        "cores of the machine of the shards",
    }


def test_shards_on_a_machine_of_their_own_have_what_was_probed_there() -> None:
    apart = with_shards("b9", {"cpu_logical": 8, "cpu_capacity_cores": 6.0, "cgroup_cpu_cores": 4.0})
    assert cores(apart)["cores of the shards"] == 4.0
