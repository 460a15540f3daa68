"""`inrush loads` on servers: every schema with a ledger, every import of its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from inrush.load.history import past_loads
from inrush.load.shards import shards_at
from tests.engines.test_load_proof import database
from tests.test_load_refused_rows import written

from .servers import control
from .test_load import call, run, table, workers

__all__ = ["table", "workers"]


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "clickhouse"])
def test_what_was_loaded_is_listed_by_table_and_time(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    for place in database(request.getfixturevalue(engine)):
        made = "CREATE TABLE {} (id int, v int, name varchar(20))"
        if engine == "clickhouse":
            made = "CREATE TABLE {} (id Int32, v Int32, name String) ENGINE = MergeTree ORDER BY id"
        for name in ("t", "s"):
            place.ask(made.format(name))
        files = [
            written(tmp_path, ["1,1,a", "2,2,b", *bad], f"{n}.csv") for n, bad in enumerate([["x,1,y"], []])
        ]
        place.load([files[0]], tmp_path / "loads", "t")
        place.load([files[1]], tmp_path / "loads", "s")
        place.load([files[1]], tmp_path / "loads", "t")
        found = past_loads(shards_at([place.url], lambda line: None), None, print)
        mine = [of for of in found if of.of.table.partition(".")[0] in (place.name, "public")]
        assert [(of.of.table.rpartition(".")[2], of.rows, of.rejected, of.ended) for of in mine] == [
            ("s", 2, 0, 1), ("t", 2, 1, 1), ("t", 2, 0, 1)
        ]  # fmt: skip


def test_rows_of_all_shards_are_added(
    postgresql: Target, workers: list[str], table: str, tmp_path: Path
) -> None:
    for url in workers:
        control(Target("postgresql", url), f"CREATE TABLE {table} (id int, v int CHECK (v >= 0), name text)")
    file = written(tmp_path, [f"{n},{-1 if n == 70 else 1},x" for n in range(2_000)])
    run(call(table, [file], into=postgresql.url, shards=tuple(workers), key=("id",)), tmp_path / "loads")
    [found] = past_loads(shards_at(workers, lambda line: None), table, print)
    assert (found.rows, found.rejected, found.merged) == (1_999, 1, 0)
