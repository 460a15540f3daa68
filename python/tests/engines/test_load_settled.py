"""A load that fails leaves no rows without their line of the ledger, although ClickHouse stores them one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inrush.engines.base.instance import Target
from inrush.errors import InrushError
from inrush.plan.ledger import LEDGER
from tests.engines.holding import Holding
from tests.engines.test_load import rows_file
from tests.engines.test_load_proof import ROWS, Place, database

#: Of the line of a chunk, which is sent behind its rows: where the next one begins in the file.
LINE = b'\'{"file":'


@pytest.fixture
def place(clickhouse: Target) -> Iterator[Place]:
    yield from database(clickhouse)


def in_ledger(place: Place) -> int:
    return int(place.ask(f"SELECT COALESCE(SUM(row_count), 0) FROM {LEDGER}")[0][0])


def test_the_reject_limit_ends_a_load_behind_the_line_of_every_chunk_that_is_stored(
    place: Place, tmp_path: Path
) -> None:
    file = rows_file(tmp_path / "a.csv", 0, ROWS, bad=9)
    place.make()
    with Holding(place.url, LINE, 3.0) as network:
        # Bad rows come last and the file is read slowly: by then the line of a chunk is on its way, and held back.
        with pytest.raises(InrushError, match="6 rows rejected"):
            place.load([file], tmp_path, into=network.url, reject_limit=5, bytes_per_s=150_000.0)
        assert network.holds.is_set()
    stored = place.rows()
    assert 0 < stored == in_ledger(place)
    done = place.load([file], tmp_path, reject_limit=9)
    assert (done.verdict, done.rows_stored + done.rows_before, done.rejected) == ("proven", ROWS, 9), done.why
    assert done.rows_before > 0
