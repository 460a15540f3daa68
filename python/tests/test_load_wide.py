"""A table with many columns has more figures than its engine puts in one row of an answer; all of them are compared."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from inrush.engines import server
from inrush.engines.base.checksum import load_items
from inrush.load import proof
from inrush.load.call import Call
from inrush.load.run import load
from inrush.load.shards import loading_of
from inrush.workload import Column, Table


def silent(*_: object) -> None: ...


def wide(folder: Path, columns: int) -> Call:
    file = folder / "a.csv"
    names = ",".join(f"c{k}" for k in range(columns))
    file.write_text(f"{names}\n" + "".join(",".join([str(n)] * columns) + "\n" for n in (7, 8)))
    return Call((str(file),), "w", into=f"sqlite://{folder}/w.sqlite", create=True)


@pytest.mark.parametrize("columns", [700, 2_000])
def test_a_table_of_many_columns_is_proven(columns: int, tmp_path: Path) -> None:
    call = wide(tmp_path, columns)
    done = load(call, tmp_path / "loads", silent, silent)
    assert (done.verdict, done.rows_stored, len(done.columns)) == ("proven", 2, columns), done.why


@pytest.mark.slow
@pytest.mark.parametrize("column", ["c0", "c667", "c699"])
def test_a_value_that_changed_shows_in_whichever_row_its_figure_stands(column: str, tmp_path: Path) -> None:
    call = wide(tmp_path, 700)
    load(call, tmp_path / "loads", silent, silent)
    connection = sqlite3.connect(tmp_path / "w.sqlite")
    with connection:
        connection.execute(f"UPDATE w SET {column} = 9 WHERE {column} = 8")
    connection.close()
    done = load(call, tmp_path / "loads", silent, silent)
    assert done.verdict == "different"
    assert [name for name, how in done.columns.items() if "different" in how] == [column]


@pytest.mark.parametrize(("engine", "most"), [("sqlite", 2_000), ("postgresql", 1_664)])
def test_a_row_of_an_answer_has_as_many_figures_as_the_engine_takes(engine: str, most: int) -> None:
    loading = loading_of(server(engine))
    for columns in (most // 3 - 1, most // 3 + 1, 1_600):
        table = Table("t", tuple(Column(f"c{k}", "i64") for k in range(columns)))
        items = load_items(table, loading.hashing, loading.unsigned_is_signed, {})
        query = loading.checksum_query(table, '"t"', items)
        figures = [i for i in items if i.get("hash") != "read_back"]
        parts = 1 if len(figures) <= most else -(-len(figures) // (most - 1))
        assert query.count(" UNION ALL ") == parts - 1
        assert query.endswith(" ORDER BY 1") == (parts > 1)


def test_the_rows_of_an_answer_are_one() -> None:
    assert proof.one_row([[5, 6, None]]) == [5, 6, None]
    assert proof.one_row([[0, 5, 6], [1, 7, None]]) == [5, 6, 7, None]
