"""Pages that real servers read for a range: of rows in the order of time and of the key, cold and warm."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Stop, Target
from inrush.engines.servers import life, page_cache
from inrush.plan.plan import plan_study
from inrush.results.store import Results, Store
from inrush.run.listener import Silent
from inrush.run.run import run_study
from inrush.stats.measures import study_record
from inrush.stats.run_figures import figures_of_run
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests.extracting import STUDY, WORKLOAD, write_study

from .servers import SETTINGS, need, own_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not page_cache.can_drop(), reason="dropping the kernel's caches needs root"),
]
#: Extracts of one range, in sessions of their own.
SESSIONS = 4


@pytest.fixture
def own(engine: str, folder: Path) -> Iterator[Deployment]:
    need(engine)
    # Which reads pages of the new table, where the machine is so busy that a minute goes by.
    quiet = {"autovacuum": "off"} if engine == "postgresql" else {}
    instance = own_server(engine).start(folder / engine, {**SETTINGS[engine], **quiet})
    deployment = Deployment(server(engine), Target(engine, instance.url, {}, instance))
    yield deployment
    if (left := deployment.target.instance) is not None:
        own_server(engine).stop(left, Stop.KILL)
    assert not life.working_in(folder)


def ran(own: Deployment, folder: Path, order: str) -> dict[str, float]:
    engine = own.server.name
    text = STUDY.replace('"sqlite", "duckdb"', f'"{engine}"').replace('"random"', f'"{order}"')
    text = text.replace("20_000", "200_000").replace("calls = 12", f"calls = 8\nsessions = {SESSIONS}")
    # The series that has most of the rows: each call reads other pages of it.
    work = WORKLOAD.replace("length = 300", "length = 3000").replace(
        'rows = "length"', 'rows = "length", series = 7'
    )
    (folder / order).mkdir()
    study = load_study(str(write_study(folder / order, text, work)))
    plan = plan_study(study, {engine: server(engine)})
    results = Store(folder / order / "results").new_study(
        study.name, {**plan.document(), "begun_unix_ns": time.time_ns()}
    )
    places = {engine: own, "null": Deployment(server("null"), Target("null", ""))}
    assert not run_study(plan.all_runs, results, places, Silent()).failed
    run = next(r for r in study_record(Results(results.path)).runs if r.engine == engine)
    return figures_of_run(run)


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_cold_range_of_rows_by_time_reads_many_times_the_pages_of_rows_by_key(
    own: Deployment, folder: Path
) -> None:
    by_time, by_key = (ran(own, folder, order) for order in ("time", "key"))
    assert by_time["cold.page_bytes"] == 8192
    assert by_time["cold.pages_per_row"] > 2 * by_key["cold.pages_per_row"] > 0
    for found in (by_time, by_key):
        assert found["warm.pages_per_row"] < 0.02 * found["cold.pages_per_row"]
        # What all sessions asked for, those too that ended a moment before: a row is on one page of the heap at most.
        assert found["warm.pages_asked"] > found["warm.rows"] / 200 and found["warm.rows"] == 8 * 3000


@pytest.mark.parametrize("engine", ["mysql", "clickhouse"])
def test_a_cold_range_reads_pages_and_a_warm_one_none(own: Deployment, folder: Path) -> None:
    found = ran(own, folder, "key")
    assert found["cold.pages_read"] > 5 and found["cold.pages_asked"] > 5
    assert found["warm.pages_read"] <= 0.1 * found["cold.pages_read"]
    # Of a server that began anew in `chill`, not the difference to what it had counted before.
    assert found["cold.pages_read"] < found["cold.rows"]
