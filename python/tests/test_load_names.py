"""A name that a server would cut is refused: rows of two tables would lie in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.errors import InrushError, UsageError
from inrush.load.call import Call
from inrush.load.create import refuse_files
from inrush.load.input import open_inputs
from inrush.load.run import load, prepare
from inrush.load.shards import shards_of

NOWHERE = "127.0.0.1:1/d"


def silent(*_: object) -> None: ...


def tried(folder: Path, scheme: str, table: str) -> InrushError:
    file = folder / "a.csv"
    file.write_text("id,v\n1,2\n")
    with pytest.raises(InrushError) as failed:
        load(Call((str(file),), table, into=f"{scheme}://root@{NOWHERE}"), folder / "loads", silent, silent)
    return failed.value


@pytest.mark.parametrize(
    ("scheme", "table", "said"),
    [
        ("postgresql", "y" * 64, "64 bytes, and the server keeps 63"),
        ("postgresql", "public." + "ü" * 32, "64 bytes, and the server keeps 63"),
        ("postgresql", "y" * 64 + ".t", "64 bytes, and the server keeps 63"),
        ("timescaledb", "y" * 64, "64 bytes, and the server keeps 63"),
        ("mysql", "ü" * 65, "65 characters, and the server keeps 64"),
        ("mariadb", "y" * 65, "65 characters, and the server keeps 64"),
    ],
)
def test_a_long_name_of_a_table_is_refused_before_the_server_is_reached(
    scheme: str, table: str, said: str, tmp_path: Path
) -> None:
    failed = tried(tmp_path, scheme, table)
    assert isinstance(failed, UsageError) and said in str(failed), failed


@pytest.mark.parametrize(
    ("scheme", "table"), [("postgresql", "y" * 63), ("mysql", "ü" * 64), ("clickhouse", "y" * 100)]
)
def test_a_name_of_that_length_is_not(scheme: str, table: str, tmp_path: Path) -> None:
    assert not isinstance(tried(tmp_path, scheme, table), UsageError)


def test_the_copies_of_a_replica_need_room_for_their_name(tmp_path: Path) -> None:
    call = Call(("a",), "y" * 60, shards=(f"postgresql://{NOWHERE}",), replica=True)
    (tmp_path / "a.csv").write_text("id,v\n1,2\n")
    shards = shards_of(call, silent)
    with pytest.raises(UsageError, match="68 bytes"):
        prepare(
            call,
            open_inputs([str(tmp_path / "a.csv")], tmp_path),
            shards,
            shards.documents() * 2,
            tmp_path,
            silent,
        )


def test_so_is_a_long_name_of_a_column(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"id,{'v' * 63}a,{'v' * 63}b\n1,2,3\n")
    call = Call((str(file),), "t", into=f"postgresql://{NOWHERE}", create=True)
    shards, inputs = shards_of(call, silent), open_inputs([str(file)], tmp_path)
    said = r"a\.csv: column v{63}a: the name v{63}a has 64 bytes, and the server keeps 63 of them"
    with pytest.raises(UsageError, match=said):
        prepare(call, inputs, shards, shards.documents(), tmp_path, silent)
    with pytest.raises(UsageError, match=said):  # before a database is made for it
        refuse_files(call, inputs, shards.loading)


@pytest.mark.parametrize("table", ["", "  ", '""', "''", "public.", ".t", 'a."".t', "public. "])
@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "clickhouse", "duckdb"])
def test_a_table_without_a_name_is_refused_in_one_line_before_the_server_is_reached(
    scheme: str, table: str, tmp_path: Path
) -> None:
    failed = tried(tmp_path, scheme, table)
    assert isinstance(failed, UsageError) and failed.exit_code == 2
    (line,) = [line for line in str(failed).splitlines() if line.startswith("--table ")]
    assert line.endswith(": a name is missing; give NAME, or SCHEMA.NAME")


def test_a_table_without_a_name_is_refused_before_a_load_server_is_asked(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x" * 32)
    (tmp_path / "a.csv").write_text("id,v\n1,2\n")
    wanted = Call(
        (str(tmp_path / "a.csv"),), "", server=NOWHERE.split("/")[0], token_file=str(tmp_path / "token")
    )
    with pytest.raises(UsageError, match="a name is missing"):
        load(wanted, tmp_path / "loads", silent, silent)
