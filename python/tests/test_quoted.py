"""A quoted field is a text: a column of numbers with a quoted empty field is text, every row is stored, one line says so."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.load.call import Call
from inrush.load.run import Loaded, load
from inrush.study.chosen import choose_columns
from inrush.study.column_lines import lines
from inrush.study.new import write_new
from inrush.study.said import TextSaid
from inrush.study.sniff import look_at, sniff
from inrush.study.value_types import KINDS, NULL_WORDS, QUOTED

VALUES = [
    *NULL_WORDS,
    "7",
    "a,b",
    "a;b",
    'say ""',
    '5" pipe',
    '"',
    ' "x"',
    "two\nlines",
    "two\r\nlines",
    " x ",
]


CELL = st.tuples(st.sampled_from(VALUES), st.booleans())


@given(
    st.integers(2, 5).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1)),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_words_for_null_are_texts_where_quotes_stand_around_them_and_nowhere_else(
    rows: list[list[tuple[str, bool]]], delimiter: str, end: str
) -> None:
    def must(value: str) -> bool:
        return any(c in value for c in ("\n", delimiter)) or value.lstrip(" \t").startswith('"')

    def field(value: str, quoted: bool) -> str:
        return '"' + value.replace('"', '""') + '"' if quoted or must(value) else value

    names = "abcde"[: len(rows[0])]
    written = [delimiter.join(names), *(delimiter.join(field(*cell) for cell in row) for row in rows)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.csv")
        # Enough lines of it that this delimiter is the one.
        file.write_bytes(
            "".join(line + end for line in [*written, *[delimiter.join("z" * len(names))] * 250]).encode()
        )
        [looked] = look_at([str(file)], len(rows), TextSaid(True, (), "csv"), False)
    assert looked is not None and looked.sample is not None
    for at, column in enumerate(json.loads(looked.sample)["columns"]):
        words = Counter(
            value for value, quoted in (row[at] for row in rows) if value in NULL_WORDS and not quoted
        )
        assert {NULL_WORDS[seen["of"]]: seen["count"] for seen in column["words"]} == dict(words)
        texts = sum(value in NULL_WORDS and quoted for value, quoted in (row[at] for row in rows))
        assert sum(seen["count"] for seen in column["kinds"] if KINDS[seen["of"]] is QUOTED) == texts


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ('1,5" pipe\n', [["1", '5" pipe']]),
        ('1, "a"\n2,b\n', [["2", "b"]]),
        ('"x\ny", "a"\n2,b\n', [["2", "b"]]),
        # The rest of a broken record, a line like it, and a whole one from which on quotes are text again.
        ('1,"say "hi" to\nus",5" pipe\nlast,6" pipe\nc,d\ne,7" pipe\n', [["c", "d"], ["e", '7" pipe']]),
        # A quote left open that a later one closes: only the first line is lost.
        ('1,"open\n2,b\n3,"c\n4,d\n', [["2", "b"], ["4", "d"]]),
    ],
)
def test_a_record_that_is_none_costs_no_other_one(
    text: str, records: list[list[str]], tmp_path: Path
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    call = Call((str(file),), "t", into=f"sqlite://{tmp_path}/t.sqlite", header="no", columns="a,b")
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.execute("CREATE TABLE t (a TEXT, b TEXT)")
        connection.commit()
        load(call, tmp_path / "loads", lambda line: None, lambda event: None)
        assert connection.execute("SELECT a, b FROM t ORDER BY rowid").fetchall() == [
            tuple(r) for r in records
        ]


def written(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["id,v", *rows]) + "\n")
    return path


def loaded(file: Path, engine: str, **words: Any) -> tuple[Loaded, list[str], list[tuple[Any, ...]]]:
    """What was done, what was said of v, and the table."""
    notes: list[str] = []
    place = file.parent / f"t.{engine}"
    call = Call((str(file),), "t", into=f"{engine}://{place}", create=True, **words)
    done = load(call, file.parent / "loads", notes.append, lambda event: None)
    connect: Any = duckdb.connect if engine == "duckdb" else sqlite3.connect
    connection = connect(str(place))
    rows = connection.execute("SELECT id, v FROM t ORDER BY id").fetchall()
    connection.close()
    return done, [note for note in notes if note.startswith("column v: ")], rows


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.parametrize("word", ["", "NA"])
def test_a_quoted_word_for_null_among_integers_makes_the_column_text_and_loses_no_row(
    engine: str, word: str, tmp_path: Path
) -> None:
    rows = [f"{i},{i * 10}" for i in range(1, 6)]
    rows[1], rows[3] = f'2,"{word}"', f"4,{word}"
    done, said, table = loaded(written(tmp_path / "a.csv", *rows), engine)
    assert (done.rows_stored, done.rejected, done.verdict) == (5, 0, "proven")
    last = None if word == "" else "NA"
    assert table == [(1, "10"), (2, word), (3, "30"), (4, last), (5, "50")]
    if word == "":
        # The unquoted one is NULL.
        assert said == [
            "column v: 1 of 4 values is in quotes and so a text, not NULL (first: line 3, '\"\"'); stored as text"
        ]


def test_strict_keeps_the_integers_and_rejects_the_rows_with_quoted_fields(tmp_path: Path) -> None:
    rows = [f'{i},"{i}"' for i in range(400)]
    rows[10] = rows[20] = '0,""'
    rows[30] = "30,"
    done, said, table = loaded(written(tmp_path / "a.csv", *rows), "duckdb", strict=True)
    assert said == [
        "column v: 2 of 399 values are in quotes and so texts, not NULL (first: line 12, '\"\"'); stored as i32, "
        "rows with such values are rejected"
    ]
    assert (done.rows_stored, done.rejected) == (398, 2)
    assert [row for row in table if row[0] in (29, 30)] == [(29, 29), (30, None)]


def test_a_column_of_which_most_fields_are_empty_and_quoted_is_said_too(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", *(f'"{i}","{i if i % 4 == 0 else ""}"' for i in range(100)))
    seen = sniff(file)
    columns = choose_columns([seen])
    assert [(c.name, c.type, c.nulls) for c in columns] == [("id", "i32", 0), ("v", "text", 0)]
    assert lines(columns, [seen], ["a.csv"]) == [
        "column v: 75 of 100 values are in quotes and so texts, not NULL (first: line 3, '\"\"'); stored as text"
    ]


def test_a_study_of_such_a_file_has_a_column_of_texts(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", '1,""', "2,7")
    text = write_new("mine", [file], tmp_path / "studies")[0].read_text()
    assert '{ name = "v", type = "text" }' in text


def test_quotes_of_a_format_without_quoting_are_part_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text('id\tv\n1\t""\n2\tx\n')
    seen = sniff(file)
    assert (seen.format, seen.columns[1].type, seen.columns[1].nulls) == ("tsv", "text", 0)
