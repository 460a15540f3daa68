"""What can happen to a server while it is measured: each is told as what it was, and no number hides it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from inrush.engines import server
from inrush.engines.base import Stop, Target
from inrush.engines.postgresql import Postgresql
from inrush.plan.plan import plan_study
from inrush.run.site import Site
from inrush.study.study import load_study

from .border import run

STUDY = str(Path(__file__).parent / "contract.toml")
SECOND = 10**9


def plan_of(engine: str) -> dict[str, Any]:
    planned = plan_study(load_study(STUDY, engines=[engine]), {engine: server(engine)})
    return dict(next(r for r in planned.block(1) if r.labels["method"] == "bulk").plan)


def changed(plan: Mapping[str, Any], **roles: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with other schedules, work or ends of its measured roles; roles that are not named are left out."""
    segments = []
    for segment in plan["segments"]:
        if segment["kind"] == "drive":
            of = {r["name"]: r for r in segment["roles"]}
            segment = {
                **segment,
                "roles": [{**of[name], **new} for name, new in roles.items()],
                "repeat": None,
            }
            segment["limit_ns"] = 60 * SECOND
        segments.append(segment)
    return {**plan, "segments": segments}


def paced(rate_per_s: float, seconds: float) -> dict[str, Any]:
    return {
        "schedule": {"kind": "constant", "rate_per_s": rate_per_s},
        "work": {"kind": "endless"},
        "until": {"kind": "time", "ns": round(seconds * SECOND)},
    }


@pytest.fixture
def own(folder: Path, postgresql_programs: None) -> Iterator[Site]:
    """A server of the test's own, because it will be mistreated."""
    twin = Postgresql()
    instance = twin.start(folder / "postgresql", {})
    yield Site(twin, Target("postgresql", instance.url, {}, instance))
    twin.stop(instance, Stop.KILL)


def processes(site: Site) -> list[int]:
    return [pid for pids in site.server.processes(site.target).values() for pid in pids]


def tree(pids: list[int]) -> list[int]:
    found = list(pids)
    for pid in found:
        shown = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
        found += [int(child) for child in shown.split() if int(child) not in found]
    return found


def test_a_server_stopped_for_a_second_shows_in_p99_and_not_in_the_instruments_lag(
    own: Site, folder: Path
) -> None:
    def freeze() -> None:
        stopped = tree(processes(own))
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        timer = threading.Timer(1.0, lambda: [os.kill(pid, signal.SIGCONT) for pid in stopped])
        timer.start()

    frozen = False

    def at(event: Mapping[str, Any]) -> None:
        nonlocal frozen
        if not frozen and event["event"] == "progress" and event["label"] == "measure":
            frozen = True
            freeze()

    plan = changed(plan_of("postgresql"), readers={**paced(200, 5), "sessions": 4})
    ran = run(own, plan, folder / "run", at_event=at)
    readers = ran.shot("readers")
    assert readers["ops"] + readers["unsent"] == 1000
    assert readers["late"] >= 150
    assert ran.quantile_ns("readers", "latency", 0.99) >= 0.85 * SECOND
    assert ran.quantile_ns("readers", "wait", 0.95) > 10 * ran.quantile_ns("readers", "lag", 0.95)


def test_a_server_killed_in_a_run_ends_it_with_the_reason_and_half_a_table(own: Site, folder: Path) -> None:
    def at(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress" and event["label"] == "measure":
            for pid in tree(processes(own)):
                os.kill(pid, signal.SIGKILL)

    writers = {
        "work": {"kind": "rows", "table": 0, "first_row": 0, "rows": 10**9, "batch_rows": 700},
        "until": {"kind": "work"},
    }
    ran = run(own, changed(plan_of("postgresql"), writers=writers), folder / "run", at_event=at)
    assert ran.last["event"] == "failed" and ran.last["kind"] == "target"
    assert "connection lost" in ran.last["message"] and "panicked" not in ran.last["message"]
    assert ran.tables["intervals"], "what was measured before stays"
    assert {f["outcome"] for f in ran.tables["failures"]} == {"lost"}
    # What was acknowledged before the crash is there after it: this server flushes every commit.
    acknowledged = ran.shot("writers")["rows"]
    again = own.server.start(own.target.instance.data, {})  # type: ignore[union-attr]
    own.target = Target("postgresql", again.url, {}, again)
    name = ran.plan["tables"][0]["name"]
    from .servers import control

    [[stored]] = control(again, f"SELECT count(*) FROM {name}")
    assert int(stored) >= acknowledged > 0
    assert int(stored) <= acknowledged + 700, "one batch was in flight"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://postgres@127.0.0.1:1/postgres", "nothing listens on port 1"),
        ("postgresql://postgres@127.0.0.1:{port}/nowhere", "nowhere"),
    ],
)
def test_a_target_that_cannot_be_used_is_one_clear_line(
    postgresql: Target, folder: Path, url: str, says: str
) -> None:
    site = Site(Postgresql(), Target("postgresql", url.format(port=urlsplit(postgresql.url).port)))
    ran = run(site, plan_of("postgresql"), folder / "run")
    assert (ran.last["event"], ran.last["kind"]) == ("failed", "target")
    assert says in ran.last["message"] and "\n" not in ran.last["message"].strip()


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 24 MB that is full soon."""
    path = folder / "small"
    path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", path], check=False)
    if made.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_full_disk_is_one_clear_line_and_no_figure(engine: str, small_disk: Path) -> None:
    writers = {"work": {"kind": "rows", "table": 0, "first_row": 0, "rows": 10**7, "batch_rows": 5000}}
    site = Site(server(engine), Target(engine, ""))
    ran = run(site, changed(plan_of(engine), writers=writers), small_disk / "run")
    assert ran.last["event"] == "failed", ran.last
    words = ("full", "space", "Errno 28", "disk")
    assert any(w in ran.last["message"].lower() for w in map(str.lower, words)), ran.last
    assert "panicked" not in ran.last["message"]
