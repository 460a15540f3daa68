"""Data time zero of a user's own rows is the day of the earliest time in them, and the workload file says so."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.plan.plan import plan_study
from inrush.study.chosen import Asked
from inrush.study.epoch import DEFAULT, seconds_of
from inrush.study.new import write_new
from inrush.study.reading import load_study
from inrush.study.said import read_said
from inrush.study.sniff import sniff
from tests.strategies import KNOWN, fake_servers


def written(folder: Path, *rows: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(rows) + "\n")
    return path


def epoch_line(folder: Path, *sources: Path, asked: Asked | None = None) -> str:
    workload = write_new("mine", sources, folder / "studies", asked or Asked())[0]
    (line,) = [line for line in workload.read_text().splitlines() if line.startswith("epoch")]
    return line


@pytest.mark.parametrize(
    ("rows", "day"),
    [
        (["1,2013-01-01 05:00:00", "2,2013-01-01 04:59:59"], "2013-01-01"),
        # The earliest, wherever it stands; an empty field is none.
        (["1,2013-05-05T00:00:00Z", "2,", "3,2013-02-03T23:59:59.5Z"], "2013-02-03"),
        # Days are of UTC.
        (["1,2026-03-01T00:30:00+01:00", "2,2026-03-02"], "2026-02-28"),
        (["1,2026-02-28 23:30-0130", "2,2026-03-02"], "2026-03-01"),
        (["1,25/01/2020", "2,03/02/2019"], "2019-02-03"),
    ],
)
def test_the_epoch_is_the_day_of_the_earliest_time(rows: list[str], day: str, tmp_path: Path) -> None:
    line = epoch_line(tmp_path, written(tmp_path, "id,at", *rows))
    assert line.split("#")[0].strip() == f'epoch = "{day}T00:00:00Z"'
    assert line.endswith("# data time zero: the day of the earliest time in column at")


def test_the_first_column_of_times_says_it_over_all_files(tmp_path: Path) -> None:
    files = [
        written(tmp_path, "id,seen,at", "1,2024-05-06,1999-01-01", name="a.csv"),
        written(tmp_path, "id,seen,at", "2,2024-05-05 12:00,1999-01-01", name="b.csv"),
    ]
    line = epoch_line(tmp_path, *files)
    assert '"2024-05-05T00:00:00Z"' in line and line.endswith("column seen")


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (["1,7"], "no column has times"),
        (["1,1969-12-31 23:59"], "the earliest time in column at is not of the years 1970 to 2200"),
        (["1,2201-01-01"], "the earliest time in column at is not of the years 1970 to 2200"),
    ],
)
def test_without_such_a_time_the_epoch_stays_and_the_reason_is_said(
    rows: list[str], why: str, tmp_path: Path
) -> None:
    line = epoch_line(tmp_path, written(tmp_path, "id,at", *rows))
    assert f'epoch = "{DEFAULT}"' in line and line.endswith(f"# data time zero: {why}")


def test_values_that_strict_rejects_are_no_times(tmp_path: Path) -> None:
    rows = [f"{i},2020-02-{1 + i % 28:02}" for i in range(200)]
    rows[50] = "50,1970-02-30"
    assert '"2020-02-01T00' in epoch_line(
        tmp_path, written(tmp_path, "id,at", *rows), asked=Asked(strict=True)
    )


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us", "UTC"), pa.timestamp("ms"), pa.timestamp("s"), pa.date32(), pa.date64()]
)
def test_a_parquet_file_says_it_too(kind: pa.DataType, tmp_path: Path) -> None:
    days = [datetime(2021, 7, 9, tzinfo=timezone.utc), None, datetime(2021, 7, 8, tzinfo=timezone.utc)]
    times = pa.array(days, pa.timestamp("us", "UTC"))
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        times = times.cast(pa.timestamp("us")).cast(kind)
    pq.write_table(pa.table({"id": [1, 2, 3], "at": times}), tmp_path / "a.parquet")
    assert '"2021-07-08T00:00:00Z"' in epoch_line(tmp_path, tmp_path / "a.parquet")


def test_a_name_with_a_line_break_stays_in_its_comment_and_the_study_plans(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('id,"a\x7ft"\n' + "".join(f"{i},2022-03-04 00:00:{i % 60:02}\n" for i in range(300)))
    workload, study = write_new("mine", [file], tmp_path / "studies")
    assert "column a t\n" in workload.read_text()
    loaded = load_study(str(study), known=KNOWN)
    assert loaded.workload.epoch == "2022-03-04T00:00:00Z"
    plan = plan_study(loaded, fake_servers())
    assert plan.runs[0].plan["epoch_ns"] == 1_646_352_000 * 10**9


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2199, 1, 1)),
    st.integers(-15 * 60, 15 * 60),
    st.sampled_from(["iso", "dmy", "mdy"]),
)
def test_a_time_is_read_to_its_second_in_utc(
    tmp_path_factory: pytest.TempPathFactory, time: datetime, minutes: int, form: str
) -> None:
    time = time.replace(microsecond=0)
    local = time + timedelta(minutes=minutes)
    day = {"iso": f"{local:%Y-%m-%d}", "dmy": f"{local:%d/%m/%Y}", "mdy": f"{local:%m/%d/%Y}"}[form]
    sign, ahead = ("-" if minutes < 0 else "+"), abs(minutes)
    whole = f"{day} {local:%H:%M:%S}.25{sign}{ahead // 60:02}:{ahead % 60:02}"

    def seconds(text: str) -> list[datetime]:
        path = written(tmp_path_factory.mktemp("times"), "id,at", f"1,{text}")
        column = sniff(path, said=read_said("yes", None)).columns[1]
        return [datetime(1970, 1, 1) + timedelta(seconds=s) for s in seconds_of(column, form)]

    assert seconds(whole) == [time]
    assert seconds(day) == [datetime.combine(local.date(), datetime.min.time())]
    assert seconds("n/a") == []
