"""Results that an earlier inrush sealed show the same figures: `golden/schema4` was written by schema 4."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq

from inrush.report.export import write_csv
from inrush.results.renamed import TABLES
from inrush.results.schema import SCHEMAS
from inrush.results.store import Results
from inrush.stats.measures import figures_of_run, study_record

GOLDEN = Path(__file__).parent / "golden" / "schema4"
OLD, NEW = "shots", "repetitions"


def test_an_earlier_result_shows_the_figures_that_it_showed_then() -> None:
    (run,) = study_record(Results(GOLDEN)).runs
    assert figures_of_run(run) == json.loads((GOLDEN / "figures.json").read_text())
    assert (GOLDEN / "b01-000" / f"{OLD}.parquet").is_file(), "the fixture is of the time of the old name"


def test_a_renamed_table_is_read_and_checked_under_its_new_name(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    shutil.copytree(GOLDEN, folder)
    (run,) = Results(folder).runs
    old = pq.read_table(folder / "b01-000" / f"{OLD}.parquet")
    read = run.table(NEW)
    assert read.select(old.column_names).to_pylist() == old.to_pylist() != []
    assert {v for row in read.drop(old.column_names).to_pylist() for v in row.values()} == {None}, (
        "not known then"
    )
    assert run.damage() == []
    (folder / "b01-000" / f"{OLD}.parquet").write_bytes(b"PAR1")
    (run,) = Results(folder).runs
    assert len(run.damage()) == 1 and NEW in run.damage()[0]


def test_an_earlier_result_is_exported_under_todays_names(tmp_path: Path) -> None:
    write_csv(Results(GOLDEN), tmp_path)
    assert (tmp_path / f"{NEW}.csv").is_file() and not (tmp_path / f"{OLD}.csv").exists()


def test_every_new_name_is_a_table_of_today_and_no_old_one_is() -> None:
    assert set(TABLES.values()) <= set(SCHEMAS) and not TABLES.keys() & set(SCHEMAS)
