"""After a kill of `benches.kills`: is the table as it may be, each row of the resumed study there once, and nothing left?"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from inrush import _core
from inrush.analysis.verdicts import Outcome
from inrush.engines import server
from inrush.engines.servers import life
from inrush.guards.analyse import analyse
from inrush.plan.plan import plan_study
from inrush.results.store import Results, Store
from inrush.stats.measures import study_record
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment

#: Rows that each killed study loads.
ROWS = 120_000
#: Tables of runs, by schema or database and name.
TABLES = {
    **dict.fromkeys(
        ("postgresql", "timescaledb"),
        "SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'inrush%' AND tablename LIKE '%events%'",
    ),
    **dict.fromkeys(
        ("mysql", "mariadb"),
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema LIKE 'inrush%' "
        "AND table_name LIKE '%events%'",
    ),
    "clickhouse": "SELECT database, name FROM system.tables WHERE database LIKE 'inrush%' AND name LIKE '%events%'",
}
NAMESPACES = {
    **dict.fromkeys(
        ("postgresql", "timescaledb"), "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'inrush%'"
    ),
    **dict.fromkeys(
        ("mysql", "mariadb"),
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'inrush%'",
    ),
    "clickhouse": "SELECT name FROM system.databases WHERE name LIKE 'inrush%'",
}
#: What a server writes a table anew into, in its folder.
TEMPORARY = {
    **dict.fromkeys(("postgresql", "timescaledb"), "**/pgsql_tmp/*"),
    **dict.fromkeys(("mysql", "mariadb"), "**/#sql*.ibd"),
    "clickhouse": "**/tmp_merge_*",
}


def ended(place: Path) -> list[str]:
    """Workers end with their inrush, at once or when their call has ended."""
    until_s = time.monotonic() + 20
    while working := list(life.working_in(place)):
        if time.monotonic() > until_s:
            return [f"{len(working)} processes of the run go on"]
        time.sleep(0.05)
    return []


def sum_of_values(place: Path) -> int:
    """By the generator."""
    study = load_study(str(place / "kills.toml"))
    (plan,) = (
        r.plan for r in plan_study(study, {e: server(e) for e in study.engines}).runs if r.labels["block"]
    )
    stream = _core.generate(json.dumps(plan["tables"][0]), plan["seed"], plan["epoch_ns"], 0, ROWS)
    return int(pc.sum(pa.RecordBatchReader.from_stream(stream).read_all()["value"]).as_py())


def as_before_or_after(
    deployment: Deployment, step: str, victim: str, whole: int
) -> tuple[int | None, list[str]]:
    """Rows of the table that was left, and what is wrong with them: a statement changes none, a load doubles none."""
    engine = deployment.server.name
    found = [row for row in deployment.ask(TABLES[engine]) if not str(row[1]).startswith("_hyper")]
    if not found:
        # A worker's run is cleared away by its inrush, which is there.
        return None, [] if victim == "worker" or step == "load" else ["the table is gone"]
    quote = '"' if engine in ("postgresql", "timescaledb") else "`"
    name = ".".join(f"{quote}{part}{quote}" for part in found[0])
    asked = f"SELECT count(*), count(DISTINCT id, time), sum(value) FROM {name}"
    if engine in ("postgresql", "timescaledb"):
        asked = asked.replace("id, time", "(id, time)")
    ((rows, distinct, total),) = deployment.ask(asked)
    wrong = [] if int(rows) == int(distinct) else [f"{int(rows) - int(distinct)} rows are there twice"]
    if step == "rewrite" and (int(rows), int(total)) != (ROWS, whole):
        wrong.append(f"the table has {rows} rows with the sum {total}")
    return int(rows), wrong


def not_whole(place: Path) -> list[str]:
    """Of the resumed study: every row once by its proof, and one run alone."""
    found = analyse(study_record(Results(Store(place / "results").latest().path)))
    if len(found.runs) != 1:
        return [f"{len(found.runs)} runs are sealed"]
    (run,) = found.runs
    wrong = [v.sentence for v in run.verdicts if v.guard == "rows proven" and v.outcome is not Outcome.PASS]
    if run.figures["load.rows"] != ROWS:
        wrong.append(f"{run.figures['load.rows']:.0f} rows were loaded")
    return wrong


def left(deployment: Deployment, data: Path) -> list[str]:
    """Namespaces of runs, and files of a statement that was not ended."""
    engine = deployment.server.name
    names: list[Any] = [
        name for (name,) in deployment.ask(NAMESPACES[engine]) if str(name).startswith("inrush_")
    ]
    wrong = [f"{len(names)} namespaces are left"] if names else []
    files = [path for path in data.glob(TEMPORARY[engine]) if path.is_file()]
    return wrong + ([f"{len(files)} temporary files are left"] if files else [])
