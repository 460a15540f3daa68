"""`inrush loads`: what the ledgers of a database say of each import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from inrush.cli import app
from inrush.engines.sqlite import SqliteLoading
from inrush.load.history import rejected_of
from tests.test_load_refused_rows import CREATE, ENGINES, done_by, loaded, written


def told(*words: str) -> str:
    done = CliRunner().invoke(app, ["loads", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("engine", ENGINES)
def test_each_import_has_a_line_with_its_rows_and_rejects(engine: str, tmp_path: Path) -> None:
    done_by(engine, tmp_path, CREATE, CREATE.replace(" t ", " other "))
    loaded(engine, tmp_path, written(tmp_path, ["1,1,a", "2,-1,below", "x,1,none", "3,1,c"]))
    second = written(tmp_path, ["3,2,d", "4,2,e", "too,few"], "b.csv")
    loaded(engine, tmp_path, second, key=("id",), merging="update")
    url = f"{engine}://{tmp_path}/t.{engine}"
    one, two = json.loads(told("--into", url, "--json"))
    assert (one["rows"], one["rows_merged"], one["rows_rejected"], one["files_ended"]) == (2, 0, 2, 1)
    assert (two["rows"], two["rows_merged"], two["rows_rejected"]) == (2, 1, 1)
    assert [Path(name).name for of in (one, two) for name in of["files"]] == ["a.csv", "b.csv"]
    assert one["began"] < two["began"] and one["table"].endswith("t") and one["import"] != two["import"]
    header, first, _ = told("--into", url, "--table", "t").splitlines()
    assert header.split()[:2] == ["table", "import"] and "a.csv" in first and one["import"] in first
    assert told("--into", url, "--table", "other") == ""


def test_a_database_that_nothing_was_loaded_into_is_said_and_none_is_made(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["loads", "--into", f"sqlite://{tmp_path}/none.db"])
    assert done.exit_code != 0 and not (tmp_path / "none.db").exists()
    done_by("sqlite", tmp_path, CREATE)
    done = CliRunner().invoke(app, ["loads", "--into", f"sqlite://{tmp_path}/t.sqlite"])
    assert done.exit_code == 0 and "nothing was loaded by inrush" in done.stderr


@pytest.mark.parametrize("readable", [True, False])
def test_a_ledger_that_cannot_be_read_is_named_and_the_others_are_listed(
    readable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done_by("sqlite", tmp_path, CREATE)
    loaded("sqlite", tmp_path, written(tmp_path, ["1,1,a"]))
    schemas = "SELECT 'main' UNION ALL SELECT 'other'" if readable else "SELECT 'other'"
    monkeypatch.setattr(SqliteLoading, "ask_schemas", lambda self, table: schemas)
    done = CliRunner().invoke(app, ["loads", "--into", f"sqlite://{tmp_path}/t.sqlite"])
    if readable:
        assert done.exit_code == 0 and "a.csv" in done.stdout
        assert "schema other: its ledger cannot be read, and its loads are not listed: " in done.stderr
    else:
        assert done.exit_code != 0 and not done.stdout


def test_of_one_chunk_on_several_shards_the_refused_rows_count_once() -> None:
    def line(load: str, file: int, chunk: int, rejected: int, refused: int | None = None) -> list[object]:
        return [
            load,
            file,
            chunk,
            json.dumps({"rejected": rejected, **({} if refused is None else {"refused": refused})}),
        ]

    lines = [
        line("a", 0, 0, 1, 2),
        line("a", 0, 0, 1, 3),
        line("a", 0, 5, 4),
        line("a", 1, 0, 2),
        line("b", 0, 0, 0, 1),
    ]
    assert rejected_of(lines) == {"a": 4 + 2 + 3, "b": 1}
