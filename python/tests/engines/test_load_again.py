"""The same command given again says the same of the same table, and goes on in the reading that its import was begun with."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.commands.load import lines
from inrush.engines.base.instance import Target
from inrush.errors import FileChanged, InrushError, UsageError
from inrush.load.call import Call
from inrush.load.run import load
from tests.engines.losing import Losing
from tests.engines.servers import control
from tests.engines.test_load import rows_file, silent
from tests.engines.test_load_proof import ROWS, Place, database, file, here, part_of_two, place, shards

__all__ = ["file", "here", "place", "shards"]


# --- rows that no line of a ledger accounts for


def test_rows_that_no_import_stored_are_said_at_every_repetition(
    place: Place, file: Path, tmp_path: Path
) -> None:
    place.make()
    place.load([file], tmp_path)
    place.ask("INSERT INTO t SELECT * FROM t WHERE id < 5")
    for _ in range(2):
        done = place.load([file], tmp_path)
        assert (done.verdict, done.rows_stored, done.rows_before) == ("different", 0, ROWS)
        assert "5 rows more than the ledger" in done.why and "--again" in done.why and "\n" not in done.why
        assert ("stored twice" in done.why) == (place.engine == "clickhouse")
        assert not any("not stored twice" in line for line in lines(done)), lines(done)
    place.ask("TRUNCATE TABLE t")
    done = place.load([file], tmp_path, again=True)
    assert (done.verdict, place.rows()) == ("proven", ROWS)


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "clickhouse"])
@pytest.mark.parametrize("spared", range(3))
def test_a_chunk_whose_answer_was_lost_is_there_once_or_said_at_every_repetition(
    engine: str, spared: int, request: pytest.FixtureRequest, file: Path, tmp_path: Path
) -> None:
    for own in database(request.getfixturevalue(engine)):
        own.make()
        with Losing(own.url, spared) as proxy:
            try:
                own.load([file], tmp_path, into=proxy.url, patience_s=2.0)
            except InrushError as error:
                assert engine == "clickhouse" and "the same command" in str(error)
        assert proxy.lost == 1
        doubled = 0
        for _ in range(3):
            done = own.load([file], tmp_path)
            doubled = own.rows() - ROWS
            assert own.ask("SELECT COUNT(DISTINCT id) FROM t") in ([[ROWS]], [[str(ROWS)]])
            assert done.verdict == ("different" if doubled else "proven"), done.why
            assert not doubled or f"{doubled:,} rows more than the ledger" in done.why
        if engine == "clickhouse":
            assert doubled > 0  # or this test shows nothing
        else:
            assert doubled == 0


def test_a_part_of_an_import_that_was_not_finished_is_said_beside_the_proof_of_another(
    here: Place, tmp_path: Path
) -> None:
    part_of_two(here, tmp_path)
    [[begun]] = here.ask("SELECT DISTINCT load_id FROM inrush_load_ledger WHERE file_no >= 0")
    more = rows_file(tmp_path / "c.csv", 9 * ROWS, ROWS)
    done = here.load([more], tmp_path)
    assert done.verdict == "proven" and f"of {begun} a part is missing" in done.why, done.why


# --- another reading of the same file


def dated(path: Path, rows: int, bad: int = 0) -> Path:
    """Every date is one in either order; after half of the rows, some that are no rows."""
    lines = [f"{i},{i % 12 + 1:02}/{i // 12 % 12 + 1:02}/2026,{i}" for i in range(rows)]
    lines[rows // 2 : rows // 2] = [f"{i},no date,x" for i in range(bad)]
    path.write_text("\n".join(["id,day,v", *lines]) + "\n")
    return path


DAY = {"postgresql": "timestamptz", "mysql": "datetime(6)", "clickhouse": "Int64"}


def half(here: Place, tmp_path: Path) -> Path:
    """A file of which a part is stored with `--dates dmy`."""
    tail = " ENGINE = MergeTree ORDER BY id" if here.engine == "clickhouse" else ""
    here.ask(f"CREATE TABLE t (id int, day {DAY[here.engine]}, v int){tail}")
    path = dated(tmp_path / "a.csv", 4_000, bad=9)
    for attempt in range(20):
        with pytest.raises(InrushError, match="rejected"):
            here.load(
                [path],
                tmp_path,
                reject_limit=5,
                bytes_per_s=400_000.0 / (1 + attempt),
                dates="dmy",
                chunk_rows=100,
                flush_rows=100,
            )
        [[known]] = here.ask("SELECT SUM(row_count) FROM inrush_load_ledger WHERE file_no >= 0")
        if 0 < here.rows() == int(known or 0):
            break
        # Nothing yet, or on ClickHouse a chunk that was stored and has no line: the subject of other tests.
        here.ask("TRUNCATE TABLE t")
        here.ask("DROP TABLE inrush_load_ledger")
    assert 0 < here.rows() < 4_000
    return path


@pytest.mark.parametrize("engine", list(DAY))
def test_an_import_goes_on_in_the_order_of_dates_that_it_was_begun_with_or_not_at_all(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    for own in database(request.getfixturevalue(engine)):
        path = half(own, tmp_path)
        left = own.rows()
        for words in ("mdy", "text", "day=mdy"):
            with pytest.raises(UsageError, match=r"--dates.*day.*begun with dmy.*--again") as refused:
                own.load([path], tmp_path, dates=words)
            assert "\n" not in str(refused.value) and refused.value.exit_code == 2
        assert own.rows() == left
        # Without a word, nothing is asked: the ledger knows.
        done = own.load([path], tmp_path)
        assert (done.verdict, done.rows_before + done.rows_stored, done.rejected) == ("proven", 4_000, 9)
        assert done.rows_before == left
        assert own.load([path], tmp_path, dates="dmy").verdict == "proven"
        assert own.load([path], tmp_path, verify=True).verified


def test_again_reads_the_files_in_another_order(here: Place, tmp_path: Path) -> None:
    path = half(here, tmp_path)
    here.ask("TRUNCATE TABLE t")
    done = here.load([path], tmp_path, dates="mdy", again=True)
    assert (done.verdict, here.rows()) == ("proven", 4_000)
    assert here.ask("SELECT to_char(day, 'MM-DD') FROM t WHERE id = 1") == [["02-01"]]


def test_an_import_that_had_stored_nothing_takes_another_order(here: Place, tmp_path: Path) -> None:
    here.ask("CREATE TABLE t (id int, day timestamptz, v int CHECK (v < 0))")
    path = dated(tmp_path / "a.csv", 50)
    with pytest.raises(InrushError, match="check"):
        here.load([path], tmp_path, dates="dmy", reject_limit=0)
    here.ask("ALTER TABLE t DROP CONSTRAINT t_v_check")
    assert here.load([path], tmp_path, dates="mdy").verdict == "proven"
    assert here.ask("SELECT to_char(day, 'MM-DD') FROM t WHERE id = 1") == [["02-01"]]
    with pytest.raises(UsageError, match="begun with mdy"):
        here.load([path], tmp_path, dates="dmy")


def test_a_word_for_null_that_only_a_longer_look_found_holds_for_the_whole_import(
    here: Place, tmp_path: Path
) -> None:
    # `--create` looks at 200,000 rows, a table that is there has 2,000 looked at: the word stands behind these.
    rows = [f"{i},{'NA' if i >= 2_500 and i % 2 else i * 0.5}" for i in range(5_000)]
    bad = [f"x{i},1" for i in range(9)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["id,v", *rows[:3_500], *bad, *rows[3_500:]]) + "\n")
    words = {"chunk_rows": 100, "flush_rows": 100, "strict": True}
    for attempt in range(20):
        with pytest.raises(InrushError, match="rejected"):
            here.load(
                [path], tmp_path, create=True, reject_limit=5, bytes_per_s=200_000.0 / (1 + attempt), **words
            )
        if here.rows():
            break
    done = here.load([path], tmp_path)
    assert (done.verdict, done.rejected, here.rows()) == ("proven", 9, 5_000), done.why
    [[nulls]] = here.ask("SELECT count(*) FROM t WHERE v IS NULL")
    assert int(nulls) == 1_250


def test_another_key_is_refused_while_rows_are_stored(shards: list[str], file: Path, tmp_path: Path) -> None:
    for url in shards:
        control(
            Target("postgresql", url),
            "CREATE TABLE t (id bigint, at timestamptz, dev int, v float8, name text)",
        )
    wanted = Call((str(file),), "t", None, tuple(shards), ("id",), chunk_rows=500)
    assert load(wanted, tmp_path, silent, silent).verdict == "proven"
    with pytest.raises(UsageError, match=r"--key dev: import .* begun with --key id.*--again"):
        load(Call((str(file),), "t", None, tuple(shards), ("dev",), chunk_rows=500), tmp_path, silent, silent)


def test_a_column_that_has_another_name_meanwhile_is_refused(here: Place, file: Path, tmp_path: Path) -> None:
    # Without a header, fields are the table's columns.
    file.write_text(file.read_text().partition("\n")[2])
    here.make()
    assert here.load([file], tmp_path).verdict == "proven"
    here.ask("ALTER TABLE t RENAME COLUMN name TO called")
    with pytest.raises(
        UsageError, match=r"begun with the columns id, at, dev, v, name, and now they are .*called.*--again"
    ):
        here.load([file], tmp_path)


# --- files and tables as they come


def test_a_file_that_grew_since_is_refused_and_another_one_of_its_name_is_said_to_be_there_twice(
    here: Place, file: Path, tmp_path: Path
) -> None:
    here.make()
    here.load([file], tmp_path)
    content = file.read_text()
    with file.open("a") as more:
        more.write(f"{ROWS},2026-01-01,1,1,x\n")
    with pytest.raises(UsageError, match=r"it has grown since import .*tail -c"):
        here.load([file], tmp_path)
    assert here.rows() == ROWS
    file.write_text(content.rpartition("\n")[0].rpartition("\n")[0] + f"\n{ROWS},2026-01-01,1,1,x\n")
    said: list[str] = []
    load(Call((str(file),), "t", here.url), tmp_path, said.append, silent)
    assert any("a file of this name and other content" in note and "twice" in note for note in said), said
    other = rows_file(tmp_path / "b.csv", 9 * ROWS, 10)
    said.clear()
    load(Call((str(other),), "t", here.url), tmp_path, said.append, silent)
    assert said == ["line 1 is the header"]


def test_a_file_that_grows_while_it_is_read_ends_the_load_and_goes_on_as_it_was(
    here: Place, tmp_path: Path
) -> None:
    here.make()
    path = rows_file(tmp_path / "a.csv", 0, 20_000)
    content = path.read_text()
    grown = threading.Event()

    def seen(event: dict[str, Any]) -> None:
        if (
            event["event"] == "progress"
            and event["role"] == "client"
            and event["rows_sent"]
            and not grown.is_set()
        ):
            grown.set()
            with path.open("a") as more:
                more.write("20000,2026-01-01,1,1,x\n")

    wanted = Call((str(path),), "t", here.url, chunk_rows=500, bytes_per_s=path.stat().st_size / 3.0)
    with pytest.raises(
        FileChanged, match=r"a\.csv: it changed while it was loaded \(\d+ bytes then, \d+ now\)"
    ):
        load(wanted, tmp_path, silent, seen)
    assert grown.is_set()
    path.write_text(content)
    done = load(replace(wanted, bytes_per_s=None), tmp_path, silent, silent)
    assert (done.verdict, done.rows_stored + done.rows_before) == ("proven", 20_000)


TRIGGERS = {
    "changes": ("NEW.v := NEW.v + 1; RETURN NEW;", "different", "v"),
    "doubles": (
        "IF NEW.id = 7 AND pg_trigger_depth() = 1 THEN INSERT INTO t SELECT NEW.*; END IF; RETURN NEW;", "different",
        "1 rows more",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", list(TRIGGERS))
def test_what_a_trigger_makes_of_rows_is_not_proven(
    here: Place, file: Path, tmp_path: Path, kind: str
) -> None:
    body, verdict, said = TRIGGERS[kind]
    here.make()
    here.ask(f"CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$")
    here.ask("CREATE TRIGGER own BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION own()")
    done = here.load([file], tmp_path)
    assert done.verdict == verdict and said in done.why, done.why


def test_a_trigger_that_drops_a_row_ends_the_load(here: Place, file: Path, tmp_path: Path) -> None:
    here.make()
    here.ask(
        "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.id = 7 THEN RETURN NULL; END IF; RETURN NEW; END $$"
    )
    here.ask("CREATE TRIGGER own BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION own()")
    for _ in range(2):
        with pytest.raises(InrushError, match=r"99 rows were stored of \d+ sent") as failed:
            here.load([file], tmp_path)
        assert failed.value.exit_code == 1
    assert here.rows() == 0


def test_defaults_generated_columns_and_another_order_of_columns_are_proven(
    here: Place, file: Path, tmp_path: Path
) -> None:
    here.ask(
        "CREATE TABLE t (name text, extra int DEFAULT 7, v float8, twice float8 GENERATED ALWAYS AS (v * 2) STORED, "
        "dev int, n bigint GENERATED ALWAYS AS IDENTITY, at timestamptz, id bigint)"
    )
    done = here.load([file], tmp_path, verify=True)
    assert (done.verdict, done.verified, set(done.columns)) == (
        "proven",
        True,
        {"id", "at", "dev", "v", "name"},
    )
    assert here.ask("SELECT count(*) FROM t WHERE extra = 7 AND twice = 2 * v") == [[str(ROWS)]]


def test_a_key_that_is_there_twice_in_mid_file_ends_the_load_and_proves_nothing(
    here: Place, tmp_path: Path
) -> None:
    path = rows_file(tmp_path / "a.csv", 0, ROWS)
    lines = path.read_text().splitlines()
    lines[ROWS // 2] = lines[3]
    path.write_text("\n".join(lines) + "\n")
    here.ask("CREATE TABLE t (id bigint PRIMARY KEY, at timestamptz, dev int, v float8, name text)")
    for _ in range(2):
        with pytest.raises(InrushError, match="duplicate key") as failed:
            here.load([path], tmp_path, patience_s=0.3, reject_limit=0)
        assert failed.value.exit_code == 1 and "\n" not in str(failed.value)
    assert here.rows() < ROWS


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "is empty"), ("\n\n", "is empty"), ("id,at,dev,v,name\n", "no rows below its header")],
)
def test_a_file_without_rows_is_refused_by_name(here: Place, tmp_path: Path, text: str, said: str) -> None:
    here.make()
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=rf"a\.csv: .*{said}"):
        here.load([path], tmp_path)


def test_a_folder_is_refused_with_the_pattern_of_its_files(here: Place, file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"many: is a folder; '.*many/\*' means its files"):
        here.load([folder], tmp_path)
