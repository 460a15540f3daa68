"""`--date-format` and `--timezone` on servers: the instants are the server's own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.engines.test_load_proof import Place, database

from .servers import each_kind

#: Engine -> what gives a time of its table as seconds since 1970.
SECONDS = {
    "postgresql": "extract(epoch FROM seen)::bigint", "timescaledb": "extract(epoch FROM seen)::bigint",
    "mysql": "TIMESTAMPDIFF(SECOND, '1970-01-01', seen)", "mariadb": "TIMESTAMPDIFF(SECOND, '1970-01-01', seen)",
    # Before version 23 a time is its number.
    "clickhouse": "toInt64(seen)",
}  # fmt: skip


@pytest.fixture(params=each_kind(list(SECONDS), {"timescaledb"}))
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from database(request.getfixturevalue(request.param))


def test_dates_by_a_format_and_in_a_zone_are_stored_as_their_instants(place: Place, tmp_path: Path) -> None:
    began, zone = datetime(2026, 1, 1, tzinfo=timezone.utc), ZoneInfo("America/New_York")
    # Every 7 hours over two changes of the clocks, without the hour that they show twice.
    every = [began + timedelta(hours=7 * n) for n in range(1_200)]
    instants = [
        at for at in every if (at + timedelta(hours=1)).astimezone(zone).fold == at.astimezone(zone).fold
    ]
    lines = [f"{n},{at.astimezone(zone):%d %b %y %I:%M %p}" for n, at in enumerate(instants)]
    file = tmp_path / "a.csv"
    file.write_text("\n".join(["n,seen", *lines, "5000,8 Mar 26 02:30 AM"]) + "\n")
    words = {"create": True, "date_formats": ("%d %b %y %I:%M %p",), "timezone": "America/New_York"}
    done = place.load([file], tmp_path / "loads", verify=True, **words)
    assert (done.verdict, done.rows_stored, done.rejected) == ("proven", len(instants), 1), done.why
    stored = {int(n): int(s) for n, s in place.ask(f"SELECT n, {SECONDS[place.engine]} FROM t")}
    unit = 1000 if place.engine == "clickhouse" and max(stored.values()) > 1e11 else 1
    assert stored == {n: round(at.timestamp()) * unit for n, at in enumerate(instants)}
    # A second load of the same file into the table that is there finds every row.
    again = place.load([file], tmp_path / "loads", **{**words, "create": False})
    assert (again.rows_stored, again.rows_before, again.verdict) == (0, len(instants), "proven")
