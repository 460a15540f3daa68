"""`--upsert` and `--on-conflict skip` into embedded databases; and what is refused before anything is stored."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from inrush.errors import InrushError, UsageError
from inrush.load import preflight
from inrush.load.call import Call
from inrush.load.merge import merging_of, refuse_keys
from inrush.load.run import load
from inrush.workload import Column, Table
from tests.test_load_refused_rows import CREATE, ENGINES, done_by, loaded, rejects_of, written

ROWS = 3_000


def two_files(folder: Path) -> tuple[Path, Path, dict[int, tuple[int, str]], dict[int, tuple[int, str]]]:
    """A file that fills the table, one with keys of it and others, some of them twice; what an upsert of the second and what skipping
    leave in the table."""
    first = {n: (n % 7, f"a{n}") for n in range(ROWS)}
    draw = random.Random(5)
    second = [
        (n, (n % 5, f"b{n} {k}")) for k, n in enumerate(draw.choices(range(ROWS // 2, 2 * ROWS), k=ROWS))
    ]
    assert len({n for n, _ in second}) < ROWS
    files = [
        written(folder, [f"{n},{v},{name}" for n, (v, name) in rows], f"{of}.csv")
        for of, rows in (("a", first.items()), ("b", second))
    ]
    kept: dict[int, tuple[int, str]] = {}
    for n, row in second:
        kept.setdefault(n, row)
    return files[0], files[1], {**first, **dict(second)}, {**kept, **first}


def content(engine: str, folder: Path) -> dict[int, tuple[int, str]]:
    return {n: (v, name) for n, v, name in done_by(engine, folder, "SELECT id, v, name FROM t")}


@pytest.mark.parametrize("merging", ["update", "skip"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_whose_key_is_there_replaces_the_other_or_is_left_out(
    engine: str, merging: str, tmp_path: Path
) -> None:
    first, second, updated, skipped = two_files(tmp_path)
    done_by(engine, tmp_path, CREATE)
    words: dict[str, Any] = {"key": ("id",), "merging": merging, "chunk_rows": 500, "flush_rows": 1_100}
    loaded(engine, tmp_path, first)
    done = loaded(engine, tmp_path, second, **words)
    expected = updated if merging == "update" else skipped
    assert content(engine, tmp_path) == expected
    assert (done.rows_stored, done.rejected, done.rows_in_ledger) == (ROWS, 0, ROWS)
    assert done.merged == 2 * ROWS - len(expected)
    assert done.verdict == "counted" and "does not sum all of their columns" in done.why, done.why
    again = loaded(engine, tmp_path, second, **words)
    assert (again.rows_stored, again.rows_before, again.merged) == (0, ROWS, done.merged)
    assert content(engine, tmp_path) == expected
    # A row that is lost afterwards is missed, though the ledger has more rows than the table ever had.
    done_by(engine, tmp_path, "DELETE FROM t WHERE id = 0")
    with pytest.raises(InrushError, match="rows were deleted"):
        loaded(engine, tmp_path, second, **words)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_that_the_database_refuses_is_rejected_and_the_others_merge(
    engine: str, tmp_path: Path
) -> None:
    done_by(engine, tmp_path, CREATE, "INSERT INTO t VALUES (1, 0, 'old'), (2, 0, 'old')")
    file = written(tmp_path, ["1,5,new", "2,-1,below", "3,1,new", ",1,no key"])
    done = loaded(engine, tmp_path, file, key=("id",), merging="update")
    assert (done.rows_stored, done.rejected, done.merged) == (2, 2, 1)
    assert content(engine, tmp_path) == {1: (5, "new"), 2: (0, "old"), 3: (1, "new")}
    assert {line for line, *_ in rejects_of(done)} == {"3", "5"}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_without_that_key_is_refused_before_a_row_is_stored(engine: str, tmp_path: Path) -> None:
    done_by(engine, tmp_path, "CREATE TABLE t (id INTEGER, v INTEGER, name VARCHAR)")
    with pytest.raises(UsageError, match=r"--upsert --key id: .*needs a primary key or a unique constraint"):
        loaded(engine, tmp_path, written(tmp_path, ["1,5,new"]), key=("id",), merging="update")
    assert content(engine, tmp_path) == {}
    # Nothing is asked of a table to leave rows out.
    done = loaded(engine, tmp_path, written(tmp_path, ["1,5,a", "1,6,b"]), key=("id",), merging="skip")
    assert content(engine, tmp_path) == {1: (5, "a")} and done.merged == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({}, "--upsert: --key names the columns"), ({"key": ("id",), "create": True}, "--create makes a table without keys"),
        ({"key": ("id",), "connections": 2}, "the one that comes last"), ({"key": ("id",), "verify": True}, "not go with --verify"),
        ({"key": ("id",), "replica": True}, "not go with --replica"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_said(words: dict[str, Any], why: str, tmp_path: Path) -> None:
    call = Call(("a.csv",), "t", into=f"sqlite://{tmp_path}/t.db", merging="update", **words)
    assert any(why in str(problem) for problem in preflight.call_problems(call))


def test_the_command_line_says_one_of_two() -> None:
    assert (merging_of(False, None), merging_of(True, None), merging_of(False, "skip")) == (
        None,
        "update",
        "skip",
    )
    with pytest.raises(UsageError, match="it says skip"):
        merging_of(False, "nothing")
    with pytest.raises(UsageError, match="give one"):
        merging_of(True, "skip")


def test_of_a_server_that_replaces_by_any_key_the_only_key_is_that_of_the_call() -> None:
    table = Table("t", tuple(Column(name, "i64") for name in ("id", "mail", "name")))
    call = Call(("a.csv",), "t", key=("id",), merging="update")
    own = ("PRIMARY", "ID", True, False)
    refuse_keys([own], call, table, "here")
    # A number that the server counts is new in every row, where the files do not say it.
    refuse_keys([own, ("u", "other", True, True)], call, table, "here")
    for unique, why in (
        ([], "no unique key"), ([own, ("PRIMARY", "mail", True, False)], "no unique key"), ([own, ("u", "mail", True, False)], "also unique by u"),
        ([own, ("u", "mail", True, True)], "also unique by u"), ([own, ("u", "other", True, False)], "also unique by u"),
        ([own, ("u", "", False, False)], "also unique by u"), ([("PRIMARY", "id", False, False)], "no unique key"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=why):
            refuse_keys(unique, call, table, "here")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_is_emptied_before_the_first_row_and_not_again(engine: str, tmp_path: Path) -> None:
    done_by(engine, tmp_path, CREATE, "INSERT INTO t VALUES (7, 0, 'of another')")
    first, second = written(tmp_path, ["1,1,a", "2,2,b"]), written(tmp_path, ["1,3,c"], "b.csv")
    for file, expected in (
        (first, {1: (1, "a"), 2: (2, "b")}),
        (second, {1: (3, "c")}),
        (first, {1: (1, "a"), 2: (2, "b")}),
    ):
        done = loaded(engine, tmp_path, file, truncate=True, verify=True)
        assert done.verdict == "proven" and content(engine, tmp_path) == expected, done.why
    # What is refused before a row is stored has emptied nothing.
    with pytest.raises(InrushError):
        loaded(engine, tmp_path, second, truncate=True, method="none such")
    assert len(content(engine, tmp_path)) == 2
    # One that has ended begins anew, and a row of another goes.
    done_by(engine, tmp_path, "INSERT INTO t VALUES (9, 0, 'of another')")
    assert loaded(engine, tmp_path, first, truncate=True).verdict == "proven"
    assert 9 not in content(engine, tmp_path)


def test_a_load_that_emptied_the_table_and_was_stopped_goes_on(tmp_path: Path) -> None:
    done_by("sqlite", tmp_path, CREATE, "INSERT INTO t VALUES (70000, 0, 'of another')")
    file = written(tmp_path, [*(f"{n},1,x" for n in range(5_000)), "1,-1,below"])
    words: dict[str, Any] = {"truncate": True, "chunk_rows": 500, "flush_rows": 500}
    with pytest.raises(InrushError):
        loaded("sqlite", tmp_path, file, reject_limit=0, **words)
    assert len(content("sqlite", tmp_path)) == 5_000
    done = loaded("sqlite", tmp_path, file, **words)
    assert (done.rows_before, done.rows_stored, done.rejected, done.verdict) == (5_000, 0, 1, "proven"), (
        done.why
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_files_that_were_stored_before_merge_again_where_others_came_between(
    engine: str, tmp_path: Path
) -> None:
    done_by(engine, tmp_path, CREATE)
    one, two = written(tmp_path, ["1,1,a"]), written(tmp_path, ["1,2,b"], "b.csv")
    words: dict[str, Any] = {"key": ("id",), "merging": "update"}
    for file, value in ((one, (1, "a")), (two, (2, "b")), (one, (1, "a")), (two, (2, "b"))):
        assert loaded(engine, tmp_path, file, **words).rows_stored == 1
        assert content(engine, tmp_path) == {1: value}
    # The latest is not merged again, nor is one that goes on.
    assert loaded(engine, tmp_path, two, **words).rows_stored == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_whose_rows_were_refused_merges(engine: str, tmp_path: Path) -> None:
    done_by(engine, tmp_path, CREATE, "INSERT INTO t VALUES (1, 0, 'old')")
    file = written(tmp_path, ["1,1,new", "2,1,new"])
    assert loaded(engine, tmp_path, file).rejected == 1
    assert loaded(engine, tmp_path, file, key=("id",), merging="update").rows_stored == 2
    assert content(engine, tmp_path) == {1: (1, "new"), 2: (1, "new")}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("create", "key", "why"),
    [
        ("k VARCHAR PRIMARY KEY, v INTEGER, name VARCHAR", "k", "no whole number and no time"), ("k INTEGER PRIMARY KEY, rowid INTEGER, name VARCHAR", "k", "a column rowid"),
        ("k INTEGER PRIMARY KEY, v INTEGER, name VARCHAR", "v", "the files have no column v"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_apart_is_refused(
    engine: str, create: str, key: str, why: str, tmp_path: Path
) -> None:
    done_by(engine, tmp_path, f"CREATE TABLE t ({create})")
    names = [part.split()[0] for part in create.split(", ")]
    of_file = [k for k, name in enumerate(names) if name != "v"]
    file = tmp_path / "a.csv"
    file.write_text("".join(",".join(row[k] for k in of_file) + "\n" for row in (names, ["1", "2", "x"])))
    with pytest.raises(UsageError, match=why):
        loaded(engine, tmp_path, file, key=(key,), merging="update")


def test_a_truncating_load_that_begins_anew_empties_the_table_also_with_again(tmp_path: Path) -> None:
    done_by("sqlite", tmp_path, CREATE)
    file = written(tmp_path, [*(f"{n},1,x" for n in range(5_000)), "1,-1,below"])
    words: dict[str, Any] = {"truncate": True, "again": True, "chunk_rows": 500, "flush_rows": 500}
    for _ in range(2):
        with pytest.raises(InrushError):
            loaded("sqlite", tmp_path, file, reject_limit=0, **words)
    done_by("sqlite", tmp_path, "DELETE FROM t WHERE id > 100")
    done = loaded("sqlite", tmp_path, file, **words)
    assert (done.verdict, done.rows_stored, len(content("sqlite", tmp_path))) == ("proven", 5_000, 5_000), (
        done.why
    )


def test_a_plain_load_that_was_stopped_is_no_reason_to_leave_other_rows(tmp_path: Path) -> None:
    """What had emptied nothing goes not on as if it had."""
    done_by("sqlite", tmp_path, CREATE.replace(" PRIMARY KEY", ""))
    file = written(tmp_path, [*(f"{n},1,x" for n in range(2_000)), "1,-1,below"])
    words: dict[str, Any] = {"chunk_rows": 500, "flush_rows": 500}
    with pytest.raises(InrushError):
        loaded("sqlite", tmp_path, file, reject_limit=0, **words)
    done_by("sqlite", tmp_path, "INSERT INTO t VALUES (9000, 1, 'of another')")
    done = loaded("sqlite", tmp_path, file, truncate=True, **words)
    assert done.verdict == "proven" and 9_000 not in content("sqlite", tmp_path), done.why


def test_an_import_that_had_stored_nothing_stands_behind_what_came_meanwhile(tmp_path: Path) -> None:
    done_by("sqlite", tmp_path, CREATE)
    one, two = written(tmp_path, ["1,-1,below"]), written(tmp_path, ["2,2,b"], "b.csv")
    with pytest.raises(InrushError):
        loaded("sqlite", tmp_path, one, reject_limit=0)
    assert loaded("sqlite", tmp_path, two).verdict == "proven"
    done_by("sqlite", tmp_path, "CREATE TABLE copied AS SELECT * FROM t", "DROP TABLE t", CREATE.replace("CHECK (v >= 0)", ""),
            "INSERT INTO t SELECT * FROM copied")  # fmt: skip
    for _ in range(2):
        done = loaded("sqlite", tmp_path, one)
        assert done.verdict == "proven" and done.rows_in_ledger == 1, done.why


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_is_not_emptied_for_an_import_that_another_table_has(engine: str, tmp_path: Path) -> None:
    done_by(
        engine, tmp_path, CREATE, CREATE.replace(" t ", " other "), "INSERT INTO other VALUES (7, 0, 'there')"
    )
    loaded(engine, tmp_path, written(tmp_path, ["1,1,a"]), import_id="nightly")
    call = Call(
        (str(written(tmp_path, ["2,1,b"], "b.csv")),), "other", into=f"{engine}://{tmp_path}/t.{engine}", truncate=True, import_id="nightly",
    )  # fmt: skip
    with pytest.raises(UsageError, match="has an import of this name"):
        load(call, tmp_path / "loads", lambda line: None, lambda event: None)
    assert done_by(engine, tmp_path, "SELECT id FROM other") == [(7,)]


@pytest.mark.parametrize("name", ["a-keyed", "a-twice", "a-replica"])
def test_an_import_is_not_named_as_the_ledger_names_others(name: str, tmp_path: Path) -> None:
    call = Call(("a.csv",), "t", into=f"sqlite://{tmp_path}/t.db", import_id=name)
    assert any("give another one" in str(problem) for problem in preflight.call_problems(call))
