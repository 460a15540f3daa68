"""Several client hosts of a pipeline's study: pipelines are dealt out to them in turn, and the busiest decides what is full first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from inrush.predict import hosts
from inrush.predict.resources import Resource, forecast_of
from inrush.predict.training import Trained, Training
from inrush.stats.record import RunRecord
from tests.test_pipeline_ways import run

CLIENTS = 3
#: What a pipeline takes on the machine of its client, and sends, in each second.
CORES_EACH, MB_EACH = 0.5, 20.0
MB = 1e6
EQUAL = (2.0, 2.0, 2.0)


def own(client: int, n: int) -> int:
    """Pipelines of one of three clients, from 1 on: 1, 4, 7 … are of the first."""
    return len(range(client, n + 1, CLIENTS))


def load(
    n: int,
    cores: Sequence[float] = EQUAL,
    ways: Sequence[float] = (),
    together: float = 0.0,
    boots: str = "abcd",
) -> RunRecord:
    """n pipelines. cores: of each client's machine; ways: MB/s of each client, 0 of one without; boots: of load server and
    clients."""
    clients = min(n, CLIENTS)
    found = run(n * MB_EACH * MB, 1.0, 20, 0, clients=clients, planned=CLIENTS, pipelines=n)
    workers = [{"boot": boot, "cores": of} for boot, of in zip(boots, (4.0, *cores), strict=True)]
    of_ways = [
        {"client": k, "bytes_per_s": mb * MB, "looks": 20, "held_looks": 0}
        for k, mb in enumerate(ways[:clients], start=1)
        if mb
    ]
    found.summary["hosts"] |= {
        "workers": workers[: 1 + clients], "ways": of_ways, "ways_bytes_per_s": together * MB,
    }  # fmt: skip
    return found


def figures(n: int, slower: float = 1.0) -> dict[str, float]:
    """slower: so much longer all takes, for the sake of one client that is full."""
    each = [own(k, n) * CORES_EACH / slower for k in range(1, CLIENTS + 1)]
    of = {f"client/{k}.busy_cores": busy for k, busy in enumerate(each, start=1)} if n > 1 else {}
    return {"load_server.busy_cores": 0.01 * n, "client.busy_cores": sum(each), **of}


def resources(runs: Sequence[tuple[int, RunRecord]], slower: float = 1.0) -> dict[str, Resource]:
    """slower: of the last run."""
    trained = [
        Trained(f"r{n}", float(n), 100.0 * n / took, hosts.host_busy(of, figures(n, took)))
        for k, (n, of) in enumerate(runs, start=1)
        for took in [slower if k == len(runs) else 1.0]
    ]
    parts = tuple(hosts.host_parts([of for _, of in runs]))
    found = forecast_of(Training((), "pipelines", "pipelines.bytes_per_s", "load", tuple(trained), parts))
    assert found is not None
    return {of.name: of for of in found.resources}


@pytest.mark.parametrize(
    ("largest", "share", "verdict"),
    [
        (7, 0.75, "not tried so far"),
        (9, 0.75, "confirmed: not full yet"),
        (10, 1.0, "confirmed: full"),
    ],
)
def test_a_client_is_full_at_the_pipeline_that_it_gets_and_not_in_proportion_to_all(
    largest: int, share: float, verdict: str
) -> None:
    """Two cores hold four pipelines of half a core; the fourth of client 1 is the tenth of all."""
    found = resources([(n, load(n)) for n in (1, 2, 3, 4, largest)])
    cores = found["cores of the clients' machines (client 1 first)"]
    assert cores.full_at == pytest.approx(10.0)
    assert (cores.capacity, cores.used) == (2.0, pytest.approx(0.5))
    assert cores.share == pytest.approx(share) and cores.verdict == verdict
    assert not [name for name in found if name.startswith("cores of the machine of client")]


def test_of_unequal_machines_the_one_that_its_pipelines_fill_is_named() -> None:
    """Client 2 has room for one and a half pipelines and gets its second one with the fifth, which takes 4/3 as long."""
    runs = [(n, load(n, (2.0, 0.75, 2.0))) for n in (1, 2, 4, 5)]
    found = resources(runs, slower=4 / 3)
    cores = found["cores of the clients' machines (client 2 first)"]
    assert cores.full_at == pytest.approx(4.5)
    assert cores.share == pytest.approx(1.0) and cores.verdict == "confirmed: full"


def test_a_client_that_no_run_had_pipelines_for_is_never_said_to_be_full() -> None:
    parts = {part.name: part for part in hosts.host_parts([load(1), load(2)])}
    members = parts[hosts.CLIENT_CORES].members
    assert [(of.name, of.capacity) for of in members] == [
        ("client 1", 2.0), ("client 2", 2.0), ("client 3", float("inf")),
    ]  # fmt: skip
    found = resources([(1, load(1)), (2, load(2))])
    assert found["cores of the clients' machines (client 1 first)"].full_at == pytest.approx(10.0)


def test_loads_with_other_numbers_of_clients_say_nothing_of_how_many_pipelines_fill_one() -> None:
    runs = [load(n) for n in (1, 2, 3)]
    runs[0].plan["loads"]["pipelines"]["pipelines"]["client_hosts"] = 2  # type: ignore[typeddict-item]
    names = {part.name for part in hosts.host_parts(runs)}
    assert names and not names & {hosts.CLIENT_CORES, hosts.CLIENT_WAYS, hosts.TOGETHER}, names


def test_the_capacity_of_what_is_dealt_out_is_that_of_a_client_of_which_something_is_known() -> None:
    found = resources([(n, load(n, boots="aabc")) for n in (1, 2, 3, 4)])
    (cores,) = (of for name, of in found.items() if name.startswith(hosts.CLIENT_CORES))
    assert cores.capacity == 2.0


def test_a_client_beside_the_load_server_or_another_client_has_no_cores_of_its_own() -> None:
    beside = [load(n, boots="abac") for n in (1, 2, 3)]
    parts = {part.name: part for part in hosts.host_parts(beside)}
    assert [of.capacity for of in parts[hosts.CLIENT_CORES].members] == [2.0, float("inf"), 2.0]
    assert parts["cores of the machine of the load server"].capacity == 4.0
    together = {part.name: part for part in hosts.host_parts([load(n, boots="abbc") for n in (1, 2, 3)])}
    # The run of one pipeline has client 1 alone there; those of more have not.
    assert [of.capacity for of in together[hosts.CLIENT_CORES].members] == [float("inf"), float("inf"), 2.0]
    assert together["cores of the machine of client 1"].capacity == 2.0


def test_the_way_of_a_client_is_full_at_the_pipeline_that_it_gets() -> None:
    """50 MB/s of client 2 hold two and a half pipelines of 20 MB/s: its third one is the eighth of all. Client 3 has no way."""
    found = resources([(n, load(n, ways=(100.0, 50.0, 0.0))) for n in (1, 2, 3, 4, 7)])
    ways = found["networks from the clients to the load server (client 2 first)"]
    assert ways.full_at == pytest.approx(7.5)
    assert ways.share == pytest.approx(2 * 20 / 50) and (ways.capacity, ways.used) == (
        100.0,
        pytest.approx(20.0),
    )
    assert hosts.TOGETHER not in found, "client 3 is on the load server's own host"


def test_what_one_way_carries_is_not_what_all_carry_at_once() -> None:
    """240 MB/s come in at the load server, which twelve pipelines fill. One client alone sends 100."""
    ways = (100.0, 100.0, 100.0)
    at_once = {1: 100.0, 2: 200.0, 3: 240.0, 4: 240.0}
    found = resources([(n, load(n, ways=ways, together=mb)) for n, mb in at_once.items()])
    assert found[hosts.TOGETHER].full_at == pytest.approx(12.0)
    few = hosts.host_parts([load(n, ways=ways, together=at_once[n]) for n in (1, 2)])
    assert hosts.TOGETHER not in {part.name for part in few}, "of two of three clients it is not known"


def test_a_way_that_was_shown_to_carry_more_is_not_said_to_be_full() -> None:
    runs = [load(n, ways=(100.0, 15.0, 100.0)) for n in (1, 2, 3)]
    (ways,) = (part for part in hosts.host_parts(runs) if part.name == hosts.CLIENT_WAYS)
    assert [of.capacity for of in ways.members] == [100.0, float("inf"), 100.0]
