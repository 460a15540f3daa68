"""Values that changed places between rows leave the sums of their columns as they were: a load sees them all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.commands.load import lines
from inrush.engines.base.instance import Target
from inrush.load.call import Call
from inrush.load.run import load
from inrush.load.shards import shards_of
from tests.engines.servers import control
from tests.engines.test_load import rows_file, silent
from tests.engines.test_load_proof import ENGINES, ROWS, Place, database, file, place, shards

__all__ = ["file", "place", "shards"]

#: Of `rows_file`.
COLUMNS = ["id", "at", "dev", "v", "name"]


def change_places(place: Place, column: str, one: int = 1, other: int = 2) -> None:
    """The values of one column in two rows, by statements that every engine has."""
    names = ", ".join(COLUMNS)
    place.make("s")
    place.ask(f"INSERT INTO s ({names}) SELECT {names} FROM t")
    place.ask("TRUNCATE TABLE t")
    place.ask(f"INSERT INTO t ({names}) SELECT {names} FROM s WHERE id NOT IN ({one}, {other})")
    for row, partner in ((one, other), (other, one)):
        moved = f"(SELECT {column} FROM s WHERE id = {partner})"
        chosen = ", ".join(moved if c == column else c for c in COLUMNS)
        place.ask(f"INSERT INTO t ({names}) SELECT {chosen} FROM s WHERE id = {row}")
    place.ask("DROP TABLE s")


@pytest.mark.parametrize("column", COLUMNS)
def test_two_values_that_changed_places_are_found_by_the_next_command_and_their_column_is_named(
    place: Place, file: Path, tmp_path: Path, column: str
) -> None:
    place.make()
    done = place.load([file], tmp_path)
    assert done.verdict == "proven" and "those of whole rows" in done.why
    change_places(place, column)
    assert place.rows() == ROWS
    done = place.load([file], tmp_path)
    assert (done.verdict, done.proven) == ("different", False)
    assert done.why == f"values of `{column}` stand in other rows of the table than in the files"
    assert [name for name, how in done.columns.items() if "different" in how] == [column]
    said = lines(done)
    assert any(line.startswith(f"{column}: ") and "in other rows: different" in line for line in said), said


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_an_embedded_database_is_read_back_for_them(engine: str, tmp_path: Path) -> None:
    file = rows_file(tmp_path / "a.csv", 0, ROWS)
    url = f"{engine}:///{tmp_path}/db"
    wanted = Call((str(file),), "t", url, create=True)
    assert load(wanted, tmp_path, silent, silent).verdict == "proven"
    shards = shards_of(wanted, silent)
    [(_, target)] = shards.documents()
    for column, first, second in (("name", "'n1'", "'n2'"), ("dev", "1", "2")):
        for one, other, verdict in ((second, first, "different"), (first, second, "proven")):
            moved = f"CASE id WHEN 1 THEN {one} ELSE {other} END"
            shards.ask(target, f"UPDATE t SET {column} = {moved} WHERE id IN (1, 2)")
            done = load(wanted, tmp_path, silent, silent)
            assert (done.verdict, f"values of `{column}` stand" in done.why) == (
                verdict,
                verdict == "different",
            ), done.why


def test_of_two_columns_either_may_have_changed_places(postgresql: Target, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("k,w\n1,7\n2,8\n3,9\n")
    for here in database(postgresql):
        here.ask("CREATE TABLE t (k int, w int)")
        assert here.load([file], tmp_path).verdict == "proven"
        here.ask("UPDATE t SET w = CASE k WHEN 1 THEN 8 ELSE 7 END WHERE k < 3")
        done = here.load([file], tmp_path)
        assert (done.verdict, "values of `k` or `w`" in done.why) == ("different", True)


def test_values_that_changed_places_in_a_table_of_several_imports_are_found_too(
    place: Place, file: Path, tmp_path: Path
) -> None:
    place.make()
    place.load([file], tmp_path)
    more = rows_file(tmp_path / "b.csv", ROWS, ROWS)
    assert place.load([more], tmp_path).verdict == "proven"
    change_places(place, "v", 7, ROWS + 7)
    done = place.load([more], tmp_path)
    assert (done.verdict, done.why) == (
        "different",
        "values stand in other rows of the table than in the files",
    )


@pytest.mark.parametrize("where", ["t", "t_replica"])
def test_values_that_changed_places_on_a_shard_or_a_copy_are_found(
    shards: list[str], file: Path, tmp_path: Path, where: str
) -> None:
    columns = "id bigint, at timestamptz, dev int, v float8, name text"
    for url in shards:
        control(Target("postgresql", url), f"CREATE TABLE t ({columns})")
    wanted = Call((str(file),), "t", None, tuple(shards), ("id",), chunk_rows=500, replica=True)
    assert load(wanted, tmp_path, silent, silent).verdict == "proven"
    second = Target("postgresql", shards[1])
    control(
        second,
        f"WITH two AS (SELECT min(id) AS a, max(id) AS b FROM {where}), old AS (SELECT id, dev FROM {where}, two WHERE id IN (a, b)) "
        f"UPDATE {where} SET dev = o.dev FROM old o, two WHERE {where}.id IN (a, b) AND o.id IN (a, b) AND o.id <> {where}.id",
    )
    done = load(wanted, tmp_path, silent, silent)
    place = "the table" if where == "t" else "the replicas"
    assert (done.verdict, done.why) == (
        "different",
        f"values of `dev` stand in other rows of {place} than in the files",
    )


TYPES = {
    "postgresql": "a boolean, b smallint, j float8[], k text, l char(4), m timestamptz(0)",
    "clickhouse": "a UInt8, b Nullable(Int16), j Array(Float64), k Nullable(String), l String, m Int64",
}


@pytest.mark.parametrize("engine", list(TYPES))
def test_columns_whose_places_are_not_seen_are_named(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = tmp_path / "a.csv"
    rows = [
        f'{("true", "false")[k % 2]},{k % 7 if k % 3 else ""},"[{k},0.5]",t{k},ab,2026-01-01 00:00:{k % 60:02}'
        for k in range(500)
    ]
    file.write_text("\n".join(["a,b,j,k,l,m", *rows]) + "\n")
    for here in database(request.getfixturevalue(engine)):
        tail = " ENGINE = MergeTree ORDER BY m" if engine == "clickhouse" else ""
        here.ask(f"CREATE TABLE t ({TYPES[engine]}){tail}")
        done = here.load([file], tmp_path)
        loose = "`j` or `m`" if engine == "postgresql" else "`j`"
        assert done.verdict == "proven", done.why
        assert f"(not checked: whether two rows exchanged their values of {loose})" in done.why


def test_only_verify_finds_lists_that_changed_places(postgresql: Target, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("\n".join(["k,j", *(f'{k},"[{k},0.5]"' for k in range(50))]) + "\n")
    for here in database(postgresql):
        here.ask("CREATE TABLE t (k int, j float8[])")
        here.load([file], tmp_path)
        here.ask(
            "UPDATE t SET j = CASE k WHEN 1 THEN '{2,0.5}'::float8[] ELSE '{1,0.5}' END WHERE k IN (1, 2)"
        )
        done = here.load([file], tmp_path)
        assert (
            done.verdict == "proven" and "whether two rows exchanged their values of `k` or `j`" in done.why
        )
        done = here.load([file], tmp_path, verify=True)
        assert (done.verdict, done.verified) == ("different", False)


def test_all_engines_are_asked() -> None:
    assert set(ENGINES) == {"postgresql", "mysql", "mariadb", "clickhouse", "timescaledb"}
