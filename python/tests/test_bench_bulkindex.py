"""Published and measured loads in one picture: drawn of results as they lie in a folder, with known truths."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benches.bulkindex.page import (
    OURS,
    PUBLISHED,
    Course,
    clock,
    fall,
    falls_table,
    main,
    measured,
    page,
    picture,
    published,
)
from inrush.guards.analyse import analyse
from inrush.report import charts
from inrush.results.schema import SCHEMAS, conform
from inrush.results.store import Store
from inrush.stats.record import RunRecord
from tests import synthetic
from tests.simulated_loads import hump, load, run_of, study_of

SIZES = hump(120)
EQUAL = np.full(120, float(SIZES.mean()))


def runs() -> list[RunRecord]:
    """The original's profile, and equal files with as many bytes: into a table that costs nothing."""
    profile = run_of(
        load(SIZES, file_byte_s=1e-13, noise=0.03), engine="mysql", factors={"profile": "original"}
    )
    equal = run_of(load(EQUAL, file_byte_s=1e-13, noise=0.03), engine="mysql", factors={"profile": "equal"})
    return [profile, equal]


@pytest.fixture(scope="module")
def courses() -> list[Course]:
    return [*published(), *measured([analyse(study_of(runs()))])]


def test_the_published_times_are_those_of_the_text(courses: list[Course]) -> None:
    """17:59:05, 20:38:45 and 23:07:30; rows a second by the catalogue's count."""
    held = {c.name: (clock(c.load_s), round(c.rows / c.load_s, -2)) for c in courses if c.kind == PUBLISHED}
    assert held == {"NVMe": ("17:59:05", 113_300), "SSD": ("20:38:45", 98_700), "RAID6": ("23:07:30", 88_100)}


def test_the_dip_is_there_with_the_originals_files_and_not_with_equal_ones(courses: list[Course]) -> None:
    ours = {c.name: c for c in courses if c.kind == OURS}
    profile, equal = (next(c for name, c in ours.items() if word in name) for word in ("original", "equal"))
    per_file, per_byte = (float(profile.relative(rate).min()) for rate in ("per_file", "per_byte"))
    assert per_file < 0.1 < per_byte < 0.4, "deep per file, shallow per byte"
    assert equal.relative("per_file").min() > 0.85 and equal.relative("per_byte").min() > 0.85
    assert profile.shape.word == "refuted" and equal.shape.word == "undecided"
    rows = {line.split(" | ")[0].strip("| "): line for line in falls_table(courses).splitlines()}
    assert "refuted" in rows["NVMe"] and "refuted" in rows[profile.name] and "undecided" in rows[equal.name]


def test_a_fall_is_the_lowest_of_three_neighbours_and_the_end_that_of_the_last_tenth() -> None:
    y = np.ones(40)
    y[20] = 0.01
    y[25:28] = 0.4
    y[-4:] = [0.9, 0.8, 0.8, 0.1]
    assert fall(y) == ("40 %", "80 %")


def test_one_picture_holds_all_of_them_per_file_and_per_byte(
    courses: list[Course], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "CHECKED", True)
    drawn = picture(courses)
    assert len(drawn.spec["vconcat"]) == 2
    for panel in drawn.spec["vconcat"]:
        rows = (
            drawn.spec["datasets"][panel["data"]["name"]]
            if "name" in panel["data"]
            else panel["data"]["values"]
        )
        assert {r["series"] for r in rows} == {c.name for c in courses} and {r["kind"] for r in rows} == {
            PUBLISHED,
            OURS,
        }
        for course in courses:
            x = [r["x"] for r in rows if r["series"] == course.name]
            assert x == sorted(x) and 0 < x[0] < 0.1 and 0.9 < x[-1] < 1
    said = page(courses, drawn)
    assert said.count("| NVMe |") == 3 and "17:59:05" in said and "bulkindex-series.svg" in said


def sealed(folder: Path, of: list[RunRecord]) -> Path:
    """Runs as results on the disk."""
    study = Store(folder).new_study("bulk", {**study_of([]).study, "begun_unix_ns": 1, "status": "done"})
    for n, run in enumerate(of):
        opened = study.open_run(f"{run.run_id}-{n}", dict(run.plan), dict(run.env))
        for name, table in run.tables.items():
            # Made by hand: without columns that no figure here needs.
            more = {
                f.name: pa.nulls(table.num_rows, f.type)
                for f in SCHEMAS[name]
                if f.name not in table.column_names
            }
            held = conform(name, pa.table({**{c: table[c] for c in table.column_names}, **more}))
            with (
                (opened.parts / f"{name}.arrows").open("wb") as file,
                pa.ipc.new_stream(file, held.schema) as writer,
            ):
                writer.write_table(held)
        opened.seal(dict(run.summary))
    return study.path


def test_results_in_a_folder_are_drawn_and_their_tables_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sealed(tmp_path / "results", runs())
    assert main([str(folder), "--out", str(tmp_path / "docs")]) == 0
    said = capsys.readouterr().out
    drawn = (tmp_path / "docs" / "bulkindex-series.svg").read_text()
    assert "<svg" in drawn and "files a second, over those at first" in drawn
    times = re.findall(r"\| (mysql, \S+) \| measured by inrush \| (\S+) \| (\S+) \|", said)
    whole = f"{SIZES.sum() / 26:,.0f}"
    assert {name for name, _, _ in times} == {"mysql, equal", "mysql, original"}
    assert all(abs(int(rows.replace(",", "")) - int(whole.replace(",", ""))) < 200 for _, _, rows in times)


def test_results_without_files_are_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sealed(tmp_path, [synthetic.run("duckdb", {"batch_rows": 1000})])
    assert main([str(folder)]) == 2
    assert "no counted run loaded files" in capsys.readouterr().err
