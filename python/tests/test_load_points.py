"""Points and commas in numbers that may mean two things: they are asked about, and none is stored as another number."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from inrush.errors import UsageError
from inrush.load.call import Call
from inrush.load.dry_run import dry_run
from tests.test_load_spelled import asked, loaded, of_text


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DECIMAL(10, 2)"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id;v;w\n1;1.000;1.234,56\n", "first: line 2, '1.000'), as column w has a decimal comma"),
        ("id;v;w\n1;1.234,56;x\n2;1.000;x\n", "first: line 3, '1.000'), as it has a decimal comma"),
    ],
)
@pytest.mark.parametrize("is_dry", [False, True])
def test_a_point_that_may_part_thousands_is_asked_about_for_a_table_that_is_there_too(
    kind: str, text: str, said: str, is_dry: bool, tmp_path: Path
) -> None:
    """It was stored as 1, and *proven*."""
    with duckdb.connect(f"{tmp_path}/t.duckdb") as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER, v {kind}, w VARCHAR)")
    file, into = of_text(tmp_path, text), f"duckdb://{tmp_path}/t.duckdb"
    with pytest.raises(UsageError, match=r"column v: its point may part thousands .*--decimal ,") as refused:
        if is_dry:
            dry_run(Call((file,), "t", into=into, dry_run=True), str)
        else:
            loaded(tmp_path, file, create=False)
    assert said in str(refused.value)
    done = loaded(tmp_path, file, create=False, written={"decimal": ",", "thousands": "."})
    assert done.rejected == 0 and (1000,) in asked(tmp_path, "SELECT v FROM t")


def test_a_point_beside_a_decimal_comma_stays_in_a_column_of_texts(tmp_path: Path) -> None:
    with duckdb.connect(f"{tmp_path}/t.duckdb") as connection:
        connection.execute("CREATE TABLE t (v VARCHAR, w VARCHAR)")
    loaded(tmp_path, of_text(tmp_path, "v;w\n1.000;1.234,56\n"), create=False)
    assert asked(tmp_path, "SELECT * FROM t") == [("1.000", "1.234,56")]
