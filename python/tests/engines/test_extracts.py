"""Every engine with extracts hands over the rows of a range by each of its ways, of all types, and none unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment
from tests.extracting import ALL_TYPES, STUDY, write_study

from .border import Ran, run
from .servers import each_kind

ENGINES = ("duckdb", "sqlite", "postgresql", "timescaledb", "mysql", "mariadb", "clickhouse")
WAYS = [(engine, way) for engine in ENGINES for way in server(engine).ways_out]
COLUMNS = "time, k, b, i, j, u, f, d, ms, s, lf, li, m, lu, lg, lt, bl, e, day, doc, flags, whole, tiny, short, middle, who, lb, lh, lw, l8, l16, l32"
WORKLOAD = f"""
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.values]
series = 20
period_s = 0.05
identity = ["id", "k", "time"]
layouts = {{ none = [], pk = ["identity"] }}
rates = {{ sigma = 1.2, pinned = 7, share = 0.3 }}
columns = [
  {{ name = "id", type = "u64", gen = "pattern", prefix = "b8599f03" }},
  {{ name = "k", type = "i32", gen = "cycle", from = -9, to = 10 }},
  {{ name = "time", type = "time_us", gen = "sweep_time", jitter_ms = 5 }},
{ALL_TYPES}]
[operations.all]
kind = "extract"
table = "values"
params.id = {{ gen = "range", column = "id" }}
params.k = {{ gen = "range", column = "k" }}
params.from = {{ gen = "range", end = "from" }}
params.to = {{ gen = "range", end = "to" }}
range = {{ rows = 400, time = "time" }}
returns = [{", ".join(f'"{name}"' for name in COLUMNS.split(", "))}]
sql.default = '''
SELECT {COLUMNS} FROM {{table}} WHERE id = :id AND k = :k AND time >= :from AND time < :to ORDER BY time'''
"""


@pytest.fixture
def deployment(engine: str, request: pytest.FixtureRequest) -> Iterator[Deployment]:
    target = Target(engine, "") if server(engine).embedded else request.getfixturevalue(engine)
    yield Deployment(server(engine), target)


def ran(engine: str, way: str, deployment: Deployment, folder: Path, faults: list[str]) -> Ran:
    cold = STUDY.index('[[steps]]\nname = "chill"')
    text = STUDY[:cold].replace('"sqlite", "duckdb"', f'"{engine}"')
    said = f'calls = 12\nmethod = "{way}"' + ("\nfetch_rows = 70" if way == "cursor" else "")
    folder.mkdir(exist_ok=True)
    workload = WORKLOAD
    if way == "text":  # of an f32 the server writes six digits
        workload = workload.replace(" f, d,", " d,").replace('"f", "d"', '"d"')
    path = write_study(folder, text.replace("calls = 12", said), workload)
    study = load_study(str(path))
    planned = plan_study(study, {engine: server(engine)}).block(1)
    plan = next(r for r in planned if r.labels["engine"] == engine).plan
    result = run(deployment, plan, folder / f"run{len(faults)}", faults)
    deployment.drop_leftover(plan)
    return result


@pytest.mark.parametrize("engine, way", each_kind(WAYS))
@pytest.mark.ci
def test_rows_of_a_range_come_whole_and_in_order_and_others_are_told_from_them(
    engine: str, way: str, deployment: Deployment, folder: Path
) -> None:
    honest = ran(engine, way, deployment, folder / "honest", [])
    totals = honest.totals("warm")
    assert (totals["ok"], totals["errors"]) == (12, 0), (str(honest.tables["failures"])[:900], honest.last)
    assert totals["rows"] == pytest.approx(12 * 400, rel=0.02)
    assert totals["bytes"] > 40 * totals["rows"]
    first, last = (honest.histograms["warm", kind] for kind in ("first_row", "latency"))
    assert first.n == last.n == 12 and first.quantile_ns(0.5) <= last.quantile_ns(0.5)
    for lie, outcome in (("answer_drop:60", "missing"), ("answer_swap:60", "wrong")):
        lying = ran(engine, way, deployment, folder / lie, [lie])
        assert {(f["outcome"], f["count"]) for f in lying.tables["failures"]} == {(outcome, 12)}


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_an_f32_is_refused_by_the_way_out_that_would_cut_its_digits(
    engine: str, deployment: Deployment, folder: Path
) -> None:
    text = STUDY[: STUDY.index('[[steps]]\nname = "chill"')].replace('"sqlite", "duckdb"', f'"{engine}"')
    path = write_study(folder, text.replace("calls = 12", 'calls = 12\nmethod = "text"'), WORKLOAD)
    study = load_study(str(path))
    plan = next(
        r.plan for r in plan_study(study, {engine: server(engine)}).block(1) if r.labels["engine"] == engine
    )
    refused = run(deployment, plan, folder / "run")
    deployment.drop_leftover(plan)
    assert "f (f32) as text with six digits; take the way out binary" in str(refused.last), refused.last
