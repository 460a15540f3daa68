"""A fleet on hosts of a laboratory: names, networks and clocks of their own, with delay and loss between them."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benches import fleet_kills
from benches.fleet_kills import STUDY, Campaign, drained
from benches.netlab.cluster import HEAD, Cluster, cluster
from benches.netlab.database import postgresql
from benches.netlab.keeper import DEVICE
from inrush.agent.clocks import Clock
from inrush.analysis.verdicts import Outcome
from inrush.guards import quiet
from inrush.report.client_hosts import bytes_per_s
from inrush.results.store import Results, Store
from inrush.stats.hosts import hosts_of
from inrush.stats.measures import study_record
from inrush.stats.watched import cumulative
from tests import odd_node
from tests.needed import need_distributed, need_lab
from tests.undisturbed import first_served

from .engines.servers import need, scratch

need_distributed()
need_lab()
#: Dear in time: five hosts of their own, and runs that wait for packets.
pytestmark = pytest.mark.ci
WORKERS = 4
#: The host of a server.
DATABASE = "database"
LIMIT_S = 300.0
#: Of a way that has room for some calls of a host's sessions, and not for all at once.
FULL_BYTES_PER_S, QUEUE_BYTES = 100_000, 1_000
#: Sessions of each host: as many as fill the way, and leave the workers a turn on few cores.
THREADS = 6
#: Clocks of one machine are one: what of it is not rounding is none.
DRIFTED_MS = 0.1
AGAIN = "TCP segments sent again"
#: A machine that tests something else at the same time needs so much longer, s.
MORE_S = 5.0


@pytest.fixture(scope="module")
def hosts() -> Iterator[Cluster]:
    with first_served(), scratch() as folder, cluster(WORKERS, folder) as found:
        yield found


@pytest.fixture
def at(hosts: Cluster) -> Iterator[Cluster]:
    hosts.between()
    yield hosts
    hosts.between()
    hosts.start()


def ran(at: Cluster, folder: Path, *words: str) -> tuple[int, str]:
    """inrush on the head with as many clients as workers: its exit code, and what it said."""
    return called(at, folder, *STUDY, "-P", f"factors.clients=[{WORKERS}]", *words)


def called(at: Cluster, folder: Path, *words: str) -> tuple[int, str]:
    running = at.lab[HEAD].start(
        [sys.executable, "-m", "inrush.cli", *words, "--fleet", at.address, "--fleet-insecure"],
        folder / "log", {"INRUSH_RESULTS": str(folder / "results"), "NO_COLOR": "1"}, cwd=folder,
    )  # fmt: skip
    code = running.wait(LIMIT_S)
    return code, (folder / "log").read_text()


def reads(at: Cluster, url: str, folder: Path, measure_s: float, threads: int = 1) -> Results:
    """Of every worker by key, from a server on a host of its own."""
    folder.mkdir()
    changed = (
        f"factors.threads=[{threads}]", "repeats.count=1", "load.rows=20000", "schedule.warm_s=0.5",
        f"schedule.measure_s={measure_s}",
    )  # fmt: skip
    words = [word for change in changed for word in ("-P", change)]
    code, said = called(at, folder, "run", "keylookup-threads", url, "--scale", "xs", "--quiet", *words)
    # 3: a figure is invalid, such as by the start of a short run; the run is whole.
    assert code in (0, 3), said
    return Results(Store(folder / "results").latest().path)


def only_run(folder: Path) -> tuple[dict[str, Any], Results]:
    results = Results(Store(folder / "results").latest().path)
    (run,) = results.runs
    return run.doc, results


def off_ns(at: Cluster, worker: dict[str, Any], here_ns: int) -> int:
    """By how much the clock of a worker, as run.json has it, is not what the laboratory made it."""
    clock = Clock(**worker["clock"])
    return clock.here(here_ns + at.lab[worker["host"]].ahead_ns) - here_ns


@pytest.mark.parametrize(
    ("delay_s", "loss"), [pytest.param(0.001, 0.0, marks=pytest.mark.slow), (0.02, 0.01)]
)
def test_times_of_hosts_whose_clocks_differ_by_hours_come_out_in_one_clock(
    at: Cluster, tmp_path: Path, delay_s: float, loss: float
) -> None:
    at.between(delay_s, loss)
    before_ns = time.monotonic_ns()
    code, said = ran(at, tmp_path, "-P", "schedule.measure_s=2")
    # 3: two seconds are short beside a clock that is known to 20 ms.
    assert code in (0, 3), said
    document, results = only_run(tmp_path)
    assert document["status"] == "done", said
    workers = document["clients"]["workers"]
    assert [w["host"] for w in workers] == at.names
    for worker in workers:
        error_ns = worker["clock"]["error_ns"]
        # Half of the way there and back, from the host of inrush to the worker: the scheduler is on the way.
        assert delay_s * 1e9 <= error_ns < delay_s * 1e9 + 50_000_000
        for here_ns in (before_ns, time.monotonic_ns()):
            assert abs(off_ns(at, worker, here_ns)) <= error_ns, worker
    for start in document["clients"]["starts"]:
        assert max(map(abs, start["instant_off_ns"])) <= 2 * max(w["clock"]["error_ns"] for w in workers)
    rows = results.runs[0].table("resources").to_pylist()
    ends_ns = [row["end_ns"] for row in results.runs[0].table("segments").to_pylist()]
    for process in range(1, WORKERS + 1):
        seen = [row["t_ns"] for row in rows if row["role"] == f"client/{process}"]
        # All were looked at while the run went on, by the clock of the first one.
        assert seen and 0 <= min(seen) <= max(seen) < max(ends_ns) + 10_000_000_000


def test_a_way_that_is_too_long_for_the_intervals_is_refused_before_anything_runs(
    at: Cluster, tmp_path: Path
) -> None:
    at.between(0.03)
    code, said = ran(at, tmp_path, "-P", "schedule.measure_s=1", "-P", "record.interval_s=0.1")
    assert code == 1, said
    document, results = only_run(tmp_path)
    assert document["failure"]["kind"] == "fleet"
    message = document["failure"]["message"]
    assert "on host-1: its clock is known to ± 3" in message and "interval of the tables is 100 ms" in message
    assert not results.runs[0].table("segments").num_rows, "no process was started"


@pytest.mark.slow
def test_a_clock_that_is_set_is_found_also_on_a_slow_way(at: Cluster, tmp_path: Path) -> None:
    """A namespace of time cannot be set again, so the worker of one host lies."""
    at.programs["host-2"] = (sys.executable, "-m", "tests.odd_node")
    odd = at.folder / "host-2" / "odd"
    try:
        at.workers["host-2"].kill()
        at.workers["host-2"].wait(10.0)
        at.start()
        at.between(0.005, 0.01)
        campaign = Campaign(at, tmp_path, 1)
        running, lines = campaign.begun()
        assert campaign.measured(running), drained(lines)
        odd.write_text("clock")
        assert running.wait(LIMIT_S) == 1
        message = only_run(tmp_path)[0]["failure"]["message"]
        found = re.search(r"on host-2\): its clock cannot be: it is (\S+) ms off .* \(± (\S+) ms,", message)
        assert found, message
        off_ms, error_ms = map(float, found.groups())
        # The way alone is 5 ms, for each of both echoes: they are known as well as they say, and no better.
        assert error_ms >= 10.0 and abs(off_ms - odd_node.AHEAD_NS / 1e6) <= error_ms + DRIFTED_MS, message
    finally:
        odd.unlink(missing_ok=True)
        del at.programs["host-2"]
        # What has not ended yet is not started again.
        at.workers["host-2"].kill()
        at.workers["host-2"].wait(10.0)


@pytest.mark.slow
def test_a_fault_of_each_kind_ends_the_run_and_the_next_one_goes_on(
    at: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_kills, "FAILS_S", fleet_kills.FAILS_S + MORE_S)
    monkeypatch.setattr(fleet_kills, "GONE_S", fleet_kills.GONE_S + MORE_S)
    at.between(0.001)
    campaign = Campaign(at, tmp_path, 1)
    for victim in fleet_kills.VICTIMS:
        kill = campaign.killed(victim)
        assert not kill.wrong, kill
    assert campaign.finished() == []


@pytest.mark.slow
def test_a_way_that_is_full_on_one_host_alone_names_that_host(tmp_path: Path) -> None:
    """Both hosts are one kernel here, and have networks of their own: what one sends again is its own."""
    need("postgresql")
    with first_served(), scratch() as folder, cluster(2, folder, 1, [DATABASE]) as at:
        at.between(0.001)
        with postgresql(at.lab[DATABASE], folder / DATABASE, by_ways=True) as url:
            found = {}
            for full in (False, True):
                at.lab.way(
                    DATABASE,
                    "host-2",
                    bytes_per_s=FULL_BYTES_PER_S * full,
                    queue_bytes=QUEUE_BYTES * full,
                )
                results = reads(at, url, tmp_path / str(full), 4.0, threads=THREADS)
                (found[full],) = study_record(results).runs
    for run in found.values():
        assert {r for r in run.tables["resources"]["role"].unique().to_pylist() if r.startswith("host")} == {
            "host/1",
            "host/2",
        }
        assert [host.name for host in hosts_of(run)] == ["host-1", "host-2"]
        # In one clock, though those of the hosts differ by an hour: both were looked at while the run went on.
        ends_ns = max(row["end_ns"] for row in run.rows("segments"))
        for host in hosts_of(run):
            t_ns, _ = cumulative(run, "net_tx_bytes", DEVICE)[host.role]
            assert 0 <= t_ns.min() < t_ns.max() < ends_ns + 10e9 and len(t_ns) > 10
    again = {
        full: [shares.get(AGAIN, 0.0) for _, shares in quiet.noise_by_host(run)]
        for full, run in found.items()
    }
    assert (
        max(again[False]) < quiet.LIMITS[AGAIN] and again[True][0] < quiet.LIMITS[AGAIN] < again[True][1]
    ), again
    said = quiet.quiet_machine(found[True], {})
    assert said is not None and said.outcome is Outcome.NOTE, said
    assert re.search(rf"{AGAIN} [0-9.]+ % on host-2 \(limit", said.sentence), said
    sent = [bytes_per_s(found[True], host, "net_tx_bytes") for host in hosts_of(found[True])]
    assert sent[0] and sent[1] and sent[1] < FULL_BYTES_PER_S * 2 < sent[0], sent


@pytest.mark.slow
def test_rows_are_read_from_a_server_that_all_hosts_reach(tmp_path: Path) -> None:
    need("postgresql")
    with first_served(), scratch() as folder, cluster(2, folder, 1, [DATABASE]) as at:
        at.between(0.02, 0.01)
        with postgresql(at.lab[DATABASE], folder / DATABASE) as url:
            results = reads(at, url, tmp_path / "run", 1.0)
    (run,) = results.runs
    measured = next(r for r in run.table("repetitions").to_pylist() if r["role"] == "clients")
    assert measured["ok"] == measured["ops"] > 0 and measured["wrong"] == measured["errors"] == 0
    assert measured["sessions"] == 2
    proofs = run.table("proofs").to_pylist()
    assert proofs and all(p["holds"] for p in proofs)
    assert run.doc["clients"]["count"] == 2
