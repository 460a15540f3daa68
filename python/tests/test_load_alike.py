"""A file that is not looked at closely is read as if it had been: by what `sniff` finds of it alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inrush.errors import UsageError
from inrush.load.input import LOOK_ROWS, looked_at, open_inputs
from inrush.study.chosen import AS_FOUND, choose_columns
from inrush.study.said import NOTHING_SAID, TextSaid

#: Values by what they are taken for; those of one line are easily taken for each other.
VALUES = (
    ("1", "0", "2", "-3", "12", "-0", "00", "007", "+5", "2147483648", "-2147483648", "123456789012"),
    ("9007199254740993", "9007199254740992", "18446744073709551616", "9223372036854775808"),
    ("0.5", "1.", ".5", "-0.25", "1e5", "1E+5", "+0.5", "1e400", "0.1234567890123456", "0.12345678901234567"),
    ("true", "F", "TRUE", "yes", "n", "on", "nan", "-inf", "+inf", "Infinity", "abc", "a b", "x-y"),
    ("2026-01-31", "2026-02-29", "2026-01-31 10:00:00", "2026-01-31T10:00:00.5Z", "2026-01-31 10:00:00+01:00"),
    ("2026-01-31 10:00:00.1234567", "2026-01-31 24:00", "1850-01-01", "2026-1-3", "20260131", "0000-01-01"),
    ("31/01/2026", "01/31/2026", "01/02/2026", "1.2.2026", "99/99/2026", "31-01-2026 10:00", "1/2/1850", "1/2/26"),
    ("[1,2]", "[1.5]", "[]", "[1,]", "[x]", "[1.5,00]", "1,5", "1;5", "a|b"),
    (" 7", "8 ", "  ", '"q"', '"7"', '"NA"', '""', '"a""b"', 'a"b', "12:30", "0x1f", "--1", "\uff11\uff12", "é"),
)  # fmt: skip
WORDS = ("", "NA", "NULL", "-", "\\N", "None", "null", "N/A")
FILES = 6


def made(folder: Path, of: random.Random) -> tuple[list[str], TextSaid]:
    """Files of one table; now and then one is written in another way."""
    folder.mkdir()
    columns, header = of.randint(1, 3), of.random() < 0.5
    delimiter = of.choice(",,\t\t;|")
    pools = [[of.choice(of.choice(VALUES)) for _ in range(of.randint(1, 3))] for _ in range(columns)]
    for pool in pools:
        pool += of.choices(("", of.choice(WORDS)), k=of.choice((0, 0, 1, 2)))
    names = []
    for n in range(FILES):
        by = delimiter if of.random() < 0.95 else of.choice(",\t;|")
        rows = [[of.choice(pool) for pool in pools] for _ in range(of.randint(1, 4))]
        if header and of.random() < 0.98:
            rows.insert(0, ["k", "v", "w"][:columns])
        end = "\n" if of.random() < 0.97 else "\r\n"
        path = folder / f"{n}.txt"
        path.write_bytes("".join(by.join(quoted(row, by, of)) + end for row in rows).encode())
        names.append(str(path))
    said = TextSaid(header, (), None) if of.random() < 0.2 else NOTHING_SAID
    return names, said


def quoted(row: Sequence[str], delimiter: str, of: random.Random) -> list[str]:
    always = of.random() < 0.05
    return [f'"{v}"' if '"' not in v and (delimiter in v or always) else v for v in row]


def read(names: list[str], folder: Path, said: TextSaid, few: int) -> Any:
    """How each file is read, and the types of the columns; or what is refused."""
    try:
        inputs = open_inputs(names, folder / "spool", LOOK_ROWS, said, few)
    except UsageError as refused:
        return str(refused)
    try:
        types: Any = [
            (c.name, c.type) for c in choose_columns([i.sniffed for i in looked_at(inputs)], AS_FOUND)
        ]
    except UsageError as refused:
        types = str(refused)
    each = [(i.sniffed.written, i.sniffed.format, i.sniffed.header) for i in inputs]
    return each, types


@pytest.mark.slow
def test_of_made_up_files_each_is_read_as_by_itself(tmp_path: Path) -> None:
    shared = alike = 0
    for seed in range(400):
        names, said = made(tmp_path / str(seed), random.Random(seed))
        found = read(names, tmp_path, said, few=1)
        assert found == read(names, tmp_path, said, few=FILES), f"seed {seed}: {said}"
        if not isinstance(found, str):
            looked = [i.looked for i in open_inputs(names, tmp_path / "spool", LOOK_ROWS, said, few=1)]
            shared += 1
            alike += looked.count(False)
    # Or nothing was put to the test.
    assert shared > 200 and alike > 200


@pytest.mark.parametrize(
    "texts",
    [
        # A word for NULL in one file, a text in another, and the other way round.
        ("k,v\n2,NA\n3,5\n", "k,v\n5,NA\n6,bar\n", "k,v\n7,NA\n8,9\n"),
        ("k,v\n2,NA\n3,foo\n", "k,v\n4,NA\n5,6\n", "k,v\n6,NA\n7,8\n"),
        # Other delimiters.
        ("k,v\n2,6\n", "k;v\n2;6\n", "k;v\n3;NA\n4;5\n"),
        ("2,6\n", "3,4;3,b\n5,6;6,c\n", "2,7\n"),
        # MySQL's text has no quotes.
        ("1,\\N\n2,a\n", '3,"x"\n', '4,"y"\n'),
        # Far behind the beginning of a wide file, and within the rows that are looked at.
        ("k,v,t\n2,5,a\n", "k,v,t\n" + f"3,5,{'w' * 400}\n" * 1_000 + "7,NA,b\n", "k,v,t\n3,5,b\n"),
        # What splits a line in Python alone.
        ("1,a;b;c\n", "1,a;b;c\u2028;\n", "1,a;b;c\n"),
    ],
)  # fmt: skip
def test_what_two_files_have_in_common_says_nothing_of_how_either_is_read(
    tmp_path: Path, texts: tuple[str, ...]
) -> None:
    names = []
    for n, text in enumerate(texts):
        names.append(str(tmp_path / f"{n}.txt"))
        Path(names[-1]).write_text(text)
    assert read(names, tmp_path, NOTHING_SAID, few=1) == read(names, tmp_path, NOTHING_SAID, few=len(names))
