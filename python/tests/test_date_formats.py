"""`--date-format` and `--timezone`: dates by a pattern, and times that name no zone."""

from __future__ import annotations

import random
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inrush.errors import UsageError
from inrush.load.call import Call
from inrush.load.dry_run import dry_run
from inrush.study.chosen import Asked
from inrush.study.date_formats import read_formats
from inrush.study.new import write_new
from inrush.study.reading import load_study
from inrush.study.zones import changes
from tests.test_load_refused_rows import ENGINES, done_by, loaded, rejects_of

UTC = timezone.utc


def file_of(folder: Path, *lines: str, name: str = "dates.csv") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def stored(engine: str, folder: Path, what: str) -> list[tuple[Any, ...]]:
    """Times as SQLite keeps them, ISO's texts, or as DuckDB writes them."""
    return [tuple(map(str, row)) for row in done_by(engine, folder, f"SELECT {what} FROM t ORDER BY n")]


def instants(engine: str, folder: Path) -> dict[int, datetime]:
    """Row -> its time, of rows that have one."""
    ms = "seen" if engine == "sqlite" else "epoch_ms(seen)"
    rows = done_by(engine, folder, f"SELECT n, {ms} FROM t WHERE seen IS NOT NULL")
    return {int(n): datetime.fromtimestamp(int(at) / 1000, UTC) for n, at in rows}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["%H:%M"], "has no year"),
        (["seen=%d.%m.%Q"], "%Q is no sign"),
        (["dd.mm.yyyy"], "has no year"),
        (["%Y-%m-%d%z"], "%z needs %H or %I"),
        (["\udcff%F"], "is not UTF-8"),
        (["%F", "%D"], "all columns had %F before"),
        (["a=%F", "a=%D"], "a had %F before"),
        (["nothing=%F"], "--date-format nothing=…: there is no such column; there are n, seen"),
    ],
)
def test_a_format_that_is_none_is_refused(words: list[str], why: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(why)):
        loaded(
            "duckdb",
            tmp_path,
            file_of(tmp_path, "n,seen", "1,31.01.26"),
            create=True,
            date_formats=tuple(words),
        )


def test_a_sign_of_equality_within_a_format_names_no_column() -> None:
    found = read_formats(["%Y=%m=%d", "seen=%d.%m.%y"])
    assert {column: of.text for column, of in found.items()} == {"": "%Y=%m=%d", "seen": "%d.%m.%y"}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_column_that_is_written_so_becomes_dates_and_no_other(engine: str, tmp_path: Path) -> None:
    lines = [
        "n,seen,note,iso,number",
        "1,31.01.26 08:05,a note,2026-01-02 10:00:00,10126",
        "2,1.2.26 23:59,31.01.26,2026-01-02,20226",
    ]
    done = loaded(engine, tmp_path, file_of(tmp_path, *lines), create=True, date_formats=("%d.%m.%y %H:%M",))
    assert (done.verdict, done.rejected) == ("proven", 0), done.why
    assert instants(engine, tmp_path) == {
        1: datetime(2026, 1, 31, 8, 5, tzinfo=UTC), 2: datetime(2026, 2, 1, 23, 59, tzinfo=UTC),
    }  # fmt: skip
    assert stored(engine, tmp_path, "n, note, number")[1] == ("2", "31.01.26", "20226")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_of_another_form_is_rejected_with_its_line(engine: str, tmp_path: Path) -> None:
    lines = ["n,seen", "1,20260131", "2,20260230", "3,", "4,20260201"]
    done = loaded(engine, tmp_path, file_of(tmp_path, *lines), create=True, date_formats=("seen=%Y%m%d",))
    assert (done.rows_stored, done.rejected) == (3, 1)
    assert [line for line, *_ in rejects_of(done)] == ["3"]
    days = {n: at.date().isoformat() for n, at in instants(engine, tmp_path).items()}
    assert days == {1: "2026-01-31", 4: "2026-02-01"}


def test_a_table_that_is_there_takes_dates_by_a_format_and_keeps_to_it(tmp_path: Path) -> None:
    done_by("duckdb", tmp_path, "CREATE TABLE t (n INTEGER, seen TIMESTAMP, day DATE)")
    file = file_of(tmp_path, "n,seen,day", '1,"Jan 31, 2026 8:05 PM",31. January 2026')
    words: dict[str, Any] = {"date_formats": ("seen=%b %d, %Y %I:%M %p", "day=%d. %B %Y")}
    assert loaded("duckdb", tmp_path, file, **words).verdict == "proven"
    assert stored("duckdb", tmp_path, "n, seen, day") == [("1", "2026-01-31 20:05:00", "2026-01-31")]
    # The same command finds its rows; another reading of them is refused.
    assert loaded("duckdb", tmp_path, file, **words).rows_before == 1
    with pytest.raises(UsageError, match=r"--date-format: column seen .*--again"):
        loaded(
            "duckdb",
            tmp_path,
            file,
            date_formats=("seen=%b %d, %Y %H:%M %p".replace("%H", "%l"), "day=%d. %B %Y"),
        )
    with pytest.raises(UsageError, match=r"--timezone Asia/Tokyo: import .* was begun with UTC"):
        loaded("duckdb", tmp_path, file, timezone="Asia/Tokyo", **words)


@pytest.mark.parametrize(
    "zone",
    [
        "Europe/Berlin",
        "America/New_York",
        "Africa/Casablanca",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "America/Sao_Paulo",
        "-03:30",
    ],
)
def test_a_time_that_names_no_zone_is_the_instant_at_which_clocks_there_showed_it(
    zone: str, tmp_path: Path
) -> None:
    draw = random.Random(zone)
    of = timezone(-timedelta(hours=3, minutes=30)) if zone[0] == "-" else ZoneInfo(zone)
    # Anywhere, and around the hours at which clocks are set.
    near = [at + ahead for at, ahead in changes(zone) if at > -2_000_000_000]
    times = [draw.uniform(-2_000_000_000, 15_000_000_000) for _ in range(300)]
    times += [draw.choice(near) + draw.uniform(-20_000, 20_000) for _ in range(1_200 if near else 0)]
    local = [datetime(1970, 1, 1) + timedelta(seconds=round(s)) for s in times]
    expected: dict[int, datetime] = {}
    for n, shown in enumerate(local):
        candidates = {shown.replace(tzinfo=of, fold=fold).astimezone(UTC) for fold in (0, 1)}
        found = [at for at in candidates if at.astimezone(of).replace(tzinfo=None) == shown]
        if len(found) == 1:
            expected[n] = found[0]
    file = file_of(tmp_path, "n,seen", *(f"{n},{shown.isoformat(' ')}" for n, shown in enumerate(local)))
    done = loaded("duckdb", tmp_path, file, create=True, timezone=zone, reject_limit=10_000)
    assert done.rejected == len(local) - len(expected)
    assert (len(expected) < len(local)) == (bool(near)), "there are such hours"
    rows = done_by("duckdb", tmp_path, "SELECT n, CAST(epoch_ms(seen) AS BIGINT) FROM t")
    assert {int(n): int(ms) for n, ms in rows} == {
        n: round(at.timestamp() * 1000) for n, at in expected.items()
    }


@pytest.mark.parametrize(
    "zone", ["Africa/Freetown", *random.Random(11).sample(sorted(available_timezones()), 8)]
)
def test_no_change_of_a_zone_is_missed(zone: str) -> None:
    """Some zones have two changes within a week."""
    of, known = ZoneInfo(zone), changes(zone)
    first, last = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (1840, 2040))
    place = 0
    for at in range(first, last, 43_200):
        while place + 1 < len(known) and known[place + 1][0] <= at:
            place += 1
        ahead = datetime.fromtimestamp(at, of).utcoffset()
        assert ahead is not None and known[place][1] == ahead.total_seconds(), datetime.fromtimestamp(at, UTC)


def test_a_zone_is_of_every_column_of_times_also_where_no_row_that_was_looked_at_has_one(
    tmp_path: Path,
) -> None:
    lines = [
        "n,seen",
        *(f"{n}," for n in range(3_000)),
        "3000,2026-07-01 12:00:00",
        "3001,1782907200000",
        "3002,2026-07-01",
    ]
    done_by("sqlite", tmp_path, "CREATE TABLE t (n INTEGER, seen INTEGER MILLISECONDS)")
    done = loaded("sqlite", tmp_path, file_of(tmp_path, *lines), timezone="Asia/Tokyo", chunk_rows=1_000)
    assert (done.verdict, done.rejected) == ("proven", 0), done.why
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert instants("sqlite", tmp_path) == {
        3000: noon - timedelta(hours=9),
        3001: noon,
        3002: datetime(2026, 7, 1, tzinfo=UTC),
    }


def test_a_column_of_times_may_have_no_value_in_many_rows(tmp_path: Path) -> None:
    done_by("duckdb", tmp_path, "CREATE TABLE t (n INTEGER, seen TIMESTAMP)")
    lines = ["n,seen", *(f"{n}," for n in range(9_999)), "9999,2026-07-01 12:00:00.250"]
    done = loaded("duckdb", tmp_path, file_of(tmp_path, *lines), verify=True)
    assert (done.verdict, done.rows_stored) == ("proven", 10_000), done.why
    assert instants("duckdb", tmp_path) == {9999: datetime(2026, 7, 1, 12, 0, 0, 250_000, tzinfo=UTC)}


def test_a_day_by_a_format_is_of_no_zone(tmp_path: Path) -> None:
    file = file_of(tmp_path, "n,seen", "1,31.01.2026", "2,01.02.2026")
    loaded("sqlite", tmp_path, file, create=True, date_formats=("%d.%m.%Y",), timezone="America/Sao_Paulo")
    assert instants("sqlite", tmp_path)[1] == datetime(2026, 1, 31, tzinfo=UTC)


def test_both_options_are_refused_for_parquet(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1], "seen": [20260131]}), file)
    with pytest.raises(UsageError, match="--date-format: is of texts, and these files are Parquet"):
        loaded("duckdb", tmp_path, file, create=True, date_formats=("seen=%Y%m%d",))
    with pytest.raises(UsageError, match="is Parquet, and --timezone is of texts"):
        loaded("duckdb", tmp_path, file, create=True, timezone="Asia/Tokyo")


@pytest.mark.parametrize(
    ("types", "words", "why"),
    [
        ("", {"date_formats": ("%d.%m.%Y %H:%M",)}, "no column has texts of which the first is written so"),
        (
            "",
            {"date_formats": ("seen=%d.%m.%Y",), "types": {"seen": "text"}},
            "--type seen=text: --date-format reads",
        ),
        (
            "n INTEGER, seen VARCHAR",
            {"date_formats": ("seen=%d.%m.%Y",)},
            "column seen of table t is no time",
        ),
        ("n INTEGER, seen VARCHAR", {"date_formats": ("%d.%m.%Y",)}, "no column of times of table t"),
    ],
)
def test_a_format_that_is_for_no_column_is_refused(
    types: str, words: dict[str, Any], why: str, tmp_path: Path
) -> None:
    if types:
        done_by("duckdb", tmp_path, f"CREATE TABLE t ({types})")
    with pytest.raises(UsageError, match=why):
        loaded("duckdb", tmp_path, file_of(tmp_path, "n,seen", "1,31.01.2026"), create=not types, **words)


def test_a_time_with_a_zone_of_its_own_keeps_it(tmp_path: Path) -> None:
    lines = ["n,seen", "1,2026-07-01 12:00:00", "2,2026-07-01 12:00:00Z", "3,2026-07-01 12:00:00+05:30"]
    done = loaded("duckdb", tmp_path, file_of(tmp_path, *lines), create=True, timezone="Europe/Berlin")
    assert done.verdict == "proven", done.why
    rows = done_by("duckdb", tmp_path, "SELECT n, CAST(epoch_ms(seen) AS BIGINT) FROM t ORDER BY n")
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp() * 1000
    assert [ms - noon for _, ms in rows] == [-2 * 3_600_000, 0, -5.5 * 3_600_000]


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "../etc/passwd", "+25:00", "CEST?", "+01:75"])
def test_a_zone_that_is_none_is_refused(zone: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--timezone .*: no such zone is known here"):
        loaded(
            "duckdb", tmp_path, file_of(tmp_path, "n,seen", "1,2026-01-31 10:00"), create=True, timezone=zone
        )


def test_a_dry_run_says_what_a_format_and_a_zone_make_and_reject(tmp_path: Path) -> None:
    file = file_of(tmp_path, "n,seen", "1,29.03.26 01:30", "2,29.03.26 02:30")
    words: dict[str, Any] = {"date_formats": ("%d.%m.%y %H:%M",), "timezone": "Europe/Berlin", "create": True}
    found = dry_run(
        Call((str(file),), "t", f"sqlite:///{tmp_path}/d.db", dry_run=True, **words), lambda line: None
    )
    text = "\n".join(found.lines)
    assert "dates are read as %d.%m.%y %H:%M" in text
    assert "1 row would be stored, 1 rejected" in text and "no clock of the zone showed this time" in text


def test_a_study_of_a_file_with_dates_by_a_format_is_written_and_read(tmp_path: Path) -> None:
    file = file_of(tmp_path, "n,seen", "1,31.01.26 08:05", "2,01.02.26 08:05")
    asked = Asked(formats=read_formats(["%d.%m.%y %H:%M"]))
    notes: list[str] = []
    workload, study = write_new("mine", [file], tmp_path, asked, notes.append)
    [said] = [line for line in notes if line.startswith("data time zero is the usual 2026-01-01T00:00:00Z")]
    assert said.endswith(f"write the first day as epoch in {workload}")
    [table] = load_study(str(study)).workload.tables.values()
    assert table.files is not None and table.files.times == {"seen": "%d.%m.%y %H:%M"}
    workload.write_text(workload.read_text().replace("%y", "%Q"))
    with pytest.raises(UsageError, match=r"times.*%Q is no sign of a time"):
        load_study(str(study))
