"""An import that ended in the middle has stored some of its files: only those are refused to another import."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inrush.errors import UsageError
from inrush.load import identity
from inrush.load.call import Call
from inrush.load.identity import Content
from inrush.load.ledger import Header
from inrush.load.run import load
from inrush.plan.ledger import LEDGER


def silent(*_: Any) -> None: ...


def rows_file(path: Path, first: int, rows: int = 500) -> Path:
    path.write_text("id,v\n" + "".join(f"{n},{n % 7}\n" for n in range(first, first + rows)))
    return path


@pytest.fixture
def half_loaded(tmp_path: Path) -> tuple[list[Path], str]:
    """As a kill leaves it: a is stored, b to its 300th row, and c was never begun."""
    files = [rows_file(tmp_path / f"{name}.csv", 1_000 * k) for k, name in enumerate("abc")]
    url = f"sqlite:///{tmp_path}/db"
    with closing(sqlite3.connect(tmp_path / "db")) as db:
        db.execute("CREATE TABLE t (id bigint, v int)")
    wanted = Call(tuple(map(str, files)), "t", url, chunk_rows=100, flush_rows=100)
    assert load(wanted, tmp_path, silent, silent).verdict == "proven"
    with closing(sqlite3.connect(tmp_path / "db")) as db:
        db.execute("DELETE FROM t WHERE id >= 1300")
        db.execute(f"DELETE FROM {LEDGER} WHERE file_no = 2 OR (file_no = 1 AND chunk_no >= 3)")
        db.commit()
    return files, url


def stored(folder: Path) -> dict[int, int]:
    """Thousand of a row's id -> rows: by file."""
    with closing(sqlite3.connect(folder / "db")) as db:
        return dict(db.execute("SELECT id / 1000, COUNT(*) FROM t GROUP BY 1").fetchall())


def test_a_file_that_was_never_begun_is_loaded_by_another_import(
    half_loaded: tuple[list[Path], str], tmp_path: Path
) -> None:
    (_, _, c), url = half_loaded
    assert stored(tmp_path) == {0: 500, 1: 300}
    done = load(Call((str(c),), "t", url), tmp_path, silent, silent)
    assert (done.rows_stored, done.verdict) == (500, "proven")
    assert stored(tmp_path) == {0: 500, 1: 300, 2: 500}


@pytest.mark.parametrize(("name", "how"), [("a", "was stored by"), ("b", "was stored in part by")])
def test_what_is_stored_and_what_is_in_part_is_refused_with_the_way_on(
    half_loaded: tuple[list[Path], str], tmp_path: Path, name: str, how: str
) -> None:
    _, url = half_loaded
    with pytest.raises(
        UsageError, match=rf"{name}\.csv {how} import .*not finished: with its files as they were"
    ):
        load(Call((str(tmp_path / f"{name}.csv"),), "t", url), tmp_path, silent, silent)


def test_a_changed_file_that_was_never_begun_is_no_namesake() -> None:
    other = Header("1", "1", 0, "t", ("x", "y"), ("a.csv", "b.csv"), 1, "", 0, 0, 1)
    new = [Content("b.csv", "z", 10)]
    assert identity.namesake(new, [other], {"1": 5}, {"1": {0: True}}) == ""
    assert "b.csv: import 1" in identity.namesake(new, [other], {"1": 5}, {"1": {0: True, 1: False}})
    assert "b.csv: import 1" in identity.namesake(new, [other], {"1": 5}, {})
