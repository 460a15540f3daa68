"""What is no row of the table is rejected by file, line and reason, and nothing of it is stored."""

from __future__ import annotations

import csv
import random
import sys
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from inrush.load.call import Call
from inrush.load.run import load
from tests.engines.servers import control
from tests.malformed import COLUMNS, KINDS, NAMES, File, Row, written

SEED = 20_261_121
#: Of every kind in each of the three formats.
EACH = 200
DAY_US = 86_400_000_000


def silent(*_: object) -> None: ...


def test_there_are_twenty_kinds_and_more_and_ten_thousand_rows_of_them() -> None:
    common = set.intersection(*(set(kinds) for kinds in KINDS.values()))
    assert len(common) >= 20 and EACH * len(KINDS) >= 500
    assert sum(len(kinds) for kinds in KINDS.values()) * EACH >= 10_000


@pytest.mark.slow
@pytest.mark.parametrize("form", list(KINDS))
def test_malformed_rows_of_every_kind_are_rejected_for_their_reason_and_none_is_stored(
    form: str, postgresql: Target, tmp_path: Path
) -> None:
    file = written(form, SEED, EACH)
    path = tmp_path / f"rows.{form}"
    path.write_bytes(file.text)
    table = f"malformed_{random.randrange(1 << 40):x}"
    control(postgresql, f"CREATE TABLE {table} ({', '.join(f'{n} {t}' for n, t in COLUMNS.items())})")
    try:
        call = Call((str(path),), table, into=postgresql.url, chunk_rows=700, reject_limit=1_000_000)
        done = load(call, tmp_path / "loads", silent, silent)
        assert done.proven and done.rejects is not None
        assert (done.rows_stored, done.rejected) == (len(file.good), len(file.rejected))
        assert_rejected(file, path, done.rejects)
        assert_stored(file, stored_rows(postgresql, table))
    finally:
        control(postgresql, f"DROP TABLE {table}")


def assert_rejected(file: File, path: Path, rejects: Path) -> None:
    csv.field_size_limit(sys.maxsize)
    with rejects.open(newline="", encoding="utf-8", errors="surrogateescape") as lines:
        found = {int(row["line"]): row for row in csv.DictReader(lines)}
    wrong: Counter[str] = Counter()
    for line, (kind, column, reason) in file.rejected.items():
        row = found.pop(line, None)
        if row is None:
            wrong[f"{kind}: not rejected"] += 1
        elif (row["file"], row["column"], row["reason"]) != (str(path), column, reason):
            wrong[f"{kind}: {row['column']} {row['reason']}, not {column} {reason}"] += 1
    assert not wrong and not found, (wrong, list(found.items())[:5])


def stored_rows(target: Target, table: str) -> list[list[object]]:
    names = ", ".join("(extract(epoch FROM at) * 1000000)::bigint" if n == "at" else n for n in NAMES)
    return control(target, f"SELECT {names} FROM {table} ORDER BY id")


def assert_stored(file: File, stored: list[list[object]]) -> None:
    assert [int(str(row[0])) for row in stored] == [row["id"] for row in file.good]
    for expected, row in zip(file.good, stored, strict=True):
        assert [as_text(expected, name) for name in NAMES] == [
            as_found(v, n) for n, v in zip(NAMES, row, strict=True)
        ]


def as_text(row: Row, name: str) -> object:
    """A value as the database shows it; times as µs since 1970."""
    value = row[name]
    if value is None or name in ("v", "ok"):
        return value
    if name == "at":
        days = date.fromisoformat(str(value)[:10]).toordinal() - date(1970, 1, 1).toordinal()
        return str(days * DAY_US + (DAY_US - 1 if "23:59:59.999999" in str(value) else 0))
    return str(value)


def as_found(value: object, name: str) -> object:
    if value is None or name not in ("v", "ok"):
        return None if value is None else str(value)
    return float(str(value)) if name == "v" else str(value).lower() in ("t", "true", "1")
