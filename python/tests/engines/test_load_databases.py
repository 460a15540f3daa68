"""A database that is missing: `inrush load --create` makes it, and without `--create` one line says so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from inrush.border.address import read
from inrush.commands.load import lines
from inrush.engines.base.instance import Target
from inrush.errors import InrushError, LoginRefused, TargetError, UsageError
from inrush.load.call import Call
from inrush.load.run import load
from tests.engines.servers import control, password_of
from tests.engines.test_load import rows_file, silent

ROWS = 1_200


@pytest.fixture(params=["postgresql", "mysql", "mariadb", "clickhouse"])
def server(request: pytest.FixtureRequest) -> Target:
    target: Target = request.getfixturevalue(request.param)
    return target


@pytest.fixture
def missing(server: Target) -> Iterator[str]:
    """The address of a database that is not there."""
    name = f"inrush New-{random.randrange(1 << 40):x}"
    yield read(server.url).with_database(name)
    control(server, f'DROP DATABASE IF EXISTS "{name}"')


def test_a_missing_database_is_one_line_and_create_makes_it(
    server: Target, missing: str, tmp_path: Path
) -> None:
    name, files = read(missing).database, (str(rows_file(tmp_path / "a.csv", 0, ROWS)),)
    with pytest.raises(UsageError, match=f"database {name} does not exist; --create makes it") as refused:
        load(Call(files, "t", missing), tmp_path / "loads", silent, silent)
    assert refused.value.exit_code == 2 and "\n" not in str(refused.value)
    notes: list[str] = []
    done = load(Call(files, "t", missing, create=True), tmp_path / "loads", notes.append, silent)
    assert (done.verdict, done.rows_stored) == ("proven", ROWS)
    assert notes[0] == f"database {name} did not exist; it is made"
    # Now it is there, and nothing is made.
    notes = []
    again = load(Call(files, "t", missing, create=True), tmp_path / "loads", notes.append, silent)
    assert (again.rows_stored, again.rows_before) == (0, ROWS)
    assert not any("did not exist" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "asked", "why"),
    [
        ("1,2\n3,4\n", {"columns": "a,b,c"}, "--columns names 3 columns"),
        ("a,b\n1,2\n", {"key": ("d",)}, "--key d: the files have a, b"),
        ("a,b\n1,03/01/2026\n", {}, "03/01/2026"),
    ],
)
def test_files_that_are_refused_make_no_database(
    postgresql: Target, tmp_path: Path, text: str, asked: dict[str, Any], why: str
) -> None:
    name, file = f"inrush_none_{random.randrange(1 << 40):x}", tmp_path / "a.csv"
    file.write_text(text)
    wanted = Call((str(file),), "t", read(postgresql.url).with_database(name), create=True, **asked)
    with pytest.raises(UsageError, match=why):
        load(wanted, tmp_path / "loads", silent, silent)
    assert control(postgresql, f"SELECT 1 FROM pg_database WHERE datname = '{name}'") == []


@pytest.mark.parametrize("table", ["my table", 'five" pipe', "O'Brien", "Mixed"])
def test_a_table_may_have_any_name(postgresql: Target, tmp_path: Path, table: str) -> None:
    """`to_regclass` reads its text as SQL does: a blank was a syntax error, a capital letter a small one."""
    name = f"inrush_names_{random.randrange(1 << 40):x}"
    url = read(postgresql.url).with_database(name)
    try:
        for begin, create in ((0, True), (50, False)):
            files = (str(rows_file(tmp_path / f"{begin}.csv", begin, 50)),)
            done = load(Call(files, table, url, create=create), tmp_path / "loads", silent, silent)
            assert (done.verdict, done.rows_stored) == ("proven", 50)
    finally:
        control(postgresql, f"DROP DATABASE IF EXISTS {name}")


def test_the_url_of_a_server_takes_a_load_as_status_prints_it(server: Target, tmp_path: Path) -> None:
    table = f"printed_{random.randrange(1 << 40):x}"
    printed = server.url
    files = (str(rows_file(tmp_path / "a.csv", 0, 10)),)
    try:
        done = load(Call(files, table, printed, create=True), tmp_path / "loads", silent, silent)
        assert (done.verdict, done.rows_stored) == ("proven", 10)
    finally:
        control(Target(server.engine, printed), f"DROP TABLE IF EXISTS {table}")


def test_texts_of_a_new_database_have_the_usual_character_set(mysql: Target, tmp_path: Path) -> None:
    name = f"inrush_new_{random.randrange(1 << 40):x}"
    file = tmp_path / "a.csv"
    file.write_text("id,word\n1,日本語\n2,🙂\n", encoding="utf-8")
    try:
        wanted = Call((str(file),), "t", read(mysql.url).with_database(name), create=True, verify=True)
        assert load(wanted, tmp_path / "loads", silent, silent).verified
        asked = (
            f"SELECT default_character_set_name FROM information_schema.schemata WHERE schema_name = '{name}'"
        )
        assert control(mysql, asked) == [["utf8mb4"]]
    finally:
        control(mysql, f"DROP DATABASE IF EXISTS {name}")


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "clickhouse"])
def test_a_server_that_cannot_be_reached_is_that_and_no_missing_database(
    scheme: str, create: bool, tmp_path: Path
) -> None:
    wanted = Call(
        (str(rows_file(tmp_path / "a.csv", 0, 3)),), "t", f"{scheme}://me@127.0.0.1:1/x", create=create
    )
    with pytest.raises(TargetError) as failed:
        load(wanted, tmp_path / "loads", silent, silent)
    assert "does not exist" not in str(failed.value)


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "clickhouse"])
def test_a_wrong_password_is_what_the_user_gave(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue(engine)
    place = server.url.partition("://")[2].partition("@")[2].partition("?")[0]
    user = {"postgresql": "postgres", "mysql": "inrush", "clickhouse": "default"}[engine]
    files = (str(rows_file(tmp_path / "a.csv", 0, 3)),)
    with pytest.raises(LoginRefused) as failed:
        load(Call(files, "t", f"{engine}://{user}:wrong@{place}"), tmp_path / "loads", silent, silent)
    assert failed.value.exit_code == 2 and "wrong" not in str(failed.value)


def test_a_user_who_may_make_no_database_gets_the_servers_words(postgresql: Target, tmp_path: Path) -> None:
    name = f"inrush_user_{random.randrange(1 << 40):x}"
    control(postgresql, f"CREATE USER {name} PASSWORD '{password_of(postgresql)}'")
    try:
        url = read(postgresql.url).with_database(f"{name}_database")
        scheme, _, place = url.partition("://")
        url = f"{scheme}://{name}@{place.rpartition('@')[2]}"
        with pytest.raises(InrushError, match="permission denied to create database") as refused:
            wanted = Call((str(rows_file(tmp_path / "a.csv", 0, 3)),), "t", url, create=True)
            load(wanted, tmp_path / "loads", silent, silent)
        assert refused.value.exit_code == 1
    finally:
        control(postgresql, f"DROP USER {name}")


@pytest.mark.parametrize(
    ("url", "name", "first"),
    [
        ("postgresql://me@host:5432/db", "db", "postgresql://me@host:5432/postgres"),
        ("postgresql:///my%20db?host=/tmp/s", "my db", "postgresql:///postgres?host=/tmp/s"),
        ("postgresql://host", "", "postgresql://host/postgres"),
        ("postgresql://host/?sslmode=require", "", "postgresql://host/postgres?sslmode=require"),
        ("mysql://[::1]:3306/a-b?socket=/x/y", "a-b", "mysql://[::1]:3306/postgres?socket=/x/y"),
    ],
)
def test_an_address_names_its_database(url: str, name: str, first: str) -> None:
    assert read(url).database == name
    assert read(url).with_database("postgres") == first


@pytest.mark.parametrize("scheme", ["mysql", "clickhouse"])
def test_a_port_of_another_protocol_is_said_to_be_one(
    postgresql: Target, scheme: str, tmp_path: Path
) -> None:
    """A client of MySQL waits for a greeting that PostgreSQL never sends: ten seconds, and then a word of a firewall."""
    port = urlsplit(postgresql.url).port
    files = (str(rows_file(tmp_path / "a.csv", 0, 3)),)
    with pytest.raises(UsageError, match=f"port {port} answers in the protocol of PostgreSQL, and {scheme}"):
        load(Call(files, "t", f"{scheme}://me@127.0.0.1:{port}/x"), tmp_path / "loads", silent, silent)


def test_verify_names_the_columns_that_were_compared_by_their_sums_alone(
    postgresql: Target, tmp_path: Path
) -> None:
    """`as the files have it but for at` read as if `at` were not in the sentence."""
    table, file = f"padded_{random.randrange(1 << 40):x}", tmp_path / "a.csv"
    file.write_text("id,at\n1,ab\n")
    control(postgresql, f"CREATE TABLE {table} (id int, at char(4))")
    try:
        done = load(
            Call((str(file),), table, postgresql.url, verify=True), tmp_path / "loads", silent, silent
        )
        assert done.verified and done.why == (
            'the table was read back: every row is as the files have it in all columns but "at", of which the sums alone '
            "were compared; they are equal"
        )
        assert any(line.startswith("1 row stored in ") for line in lines(done))
        assert any("; 1 row of this import in the ledger" in line for line in lines(done))
    finally:
        control(postgresql, f"DROP TABLE {table}")
