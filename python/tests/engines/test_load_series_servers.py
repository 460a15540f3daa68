"""The series of a load has the sizes of the user's own table, on each kind of server."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Target
from inrush.load.series import LoadSeries, rows_of, sizes_watched
from inrush.load.shards import Shards
from inrush.plan import ends
from inrush.workload import Column, Table

from .servers import control


@pytest.fixture(params=["postgresql", "mysql", "mariadb", "clickhouse"])
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def table(target: Target) -> Iterator[str]:
    name = f"load_{random.randrange(1 << 40):x}"
    more = " ENGINE = MergeTree ORDER BY id" if target.engine == "clickhouse" else ""
    control(target, f"CREATE TABLE {name} (id bigint){more}")
    yield name
    control(target, f"DROP TABLE {name}")


def test_a_table_without_a_schema_has_a_size(
    target: Target, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inrush.load.series.SIZES_NS", 50_000_000)
    control(target, f"INSERT INTO {table} VALUES {', '.join(f'({n})' for n in range(5_000))}")
    shards = Shards(target.engine, server(target.engine), [target])
    wanted: Any = ends.Wanted(
        table=Table("t", (Column("id", "i64"),)), target_table=ends.target_table(table), key={}, method="", import_id="i",
        files=(), chunk_rows=1, flush_rows=1, connections=1, parallel=1, reject_limit=0, patience_s=1.0,
    )  # fmt: skip
    series = LoadSeries(tmp_path)
    series.begin(0)
    until = time.monotonic() + 30
    with sizes_watched(series, shards, wanted, shards.documents()):
        while not series._sizes and time.monotonic() < until:
            time.sleep(0.02)
    series.look({"rows_stored": 5_000, "bytes": 1, "files_done": 1})
    series.close()
    (row,) = rows_of(series.path, 1)
    assert row["table_bytes"] is not None and row["table_bytes"] > 5_000
