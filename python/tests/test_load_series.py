"""Loads of files in the report: rates that add up, what a row cost the machine, and the parts of a load in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from inrush.analysis.answer import answer
from inrush.analysis.points import Analysis
from inrush.guards.analyse import analyse
from inrush.model.decomposition import units
from inrush.report import charts
from inrush.report.figures import figures
from inrush.report.load_parts import loads_section, said, taken_apart, typical_loads
from inrush.report.load_series import LEAST_FILES, load_series, spread_out
from inrush.report.panel_lines import MOST_LINES
from inrush.results.schema import SCHEMAS
from inrush.stats.load_series import (
    FileLoad,
    cost_per_row,
    costs_by_interval,
    file_loads,
    intervals,
    own_seconds,
    table_bytes,
)
from inrush.stats.record import RunRecord
from tests.simulated_loads import FloatArray, hump, load, run_of, study_of

SIZES = hump(100)


def files(*spans: tuple[float, float], rows: float = 10.0) -> FileLoad:
    start, end = np.array(spans).T
    amount = np.full(len(spans), rows)
    return FileLoad("load", 0, round(float(end.max()) * 1e9), start, end, amount * 26, amount, None)


def a_run(at_once: int = 1) -> RunRecord:
    return run_of(load(SIZES, file_byte_s=1e-13, noise=0.05), at_once=at_once)


def missed(n: FloatArray) -> FloatArray:
    whole = float(SIZES.sum()) / 26
    return 6e-7 * np.maximum(0, 1 - 0.2 * whole / n)


def nvme() -> RunRecord:
    """Files that are all alike, and a table that leaves memory."""
    return run_of(load(np.full(100, 1e6), table_s=missed, noise=0.05))


def analysis() -> Analysis:
    """Files that differ on one storage; on another one all alike, and a table that leaves memory."""
    runs = [
        run_of(
            load(SIZES, file_byte_s=1e-13, noise=0.05, seed=block), factors={"storage": "ssd"}, block=block
        )
        for block in (1, 2, 3)
    ] + [
        run_of(
            load(np.full(100, 1e6), table_s=missed, noise=0.05, seed=block),
            factors={"storage": "nvme"},
            block=block,
        )
        for block in (1, 2, 3)
    ]
    return analyse(study_of(runs))


def values(figure: charts.Figure, panel: Mapping[str, Any]) -> list[dict[str, Any]]:
    held = panel["data"]
    found: list[dict[str, Any]] = (
        held["values"] if "values" in held else figure.spec["datasets"][held["name"]]
    )
    return found


def test_files_that_are_under_way_together_share_the_time_of_the_load() -> None:
    # 0 to 2 s alone; 2 to 4 s two of them; nothing from 4 to 5 s; then one alone.
    found = own_seconds(files((0, 4), (2, 4), (5, 6)))
    assert found == pytest.approx([3, 1, 1])
    assert own_seconds(files((0, 1), (1, 2), (2, 4))) == pytest.approx([1, 1, 2])


@pytest.mark.parametrize("at_once", [1, 4])
def test_intervals_add_up_to_the_load_and_a_file_comes_evenly(at_once: int) -> None:
    (of,) = file_loads(a_run(at_once)).values()
    by = intervals(of, 40)
    assert (by.rows.sum(), by.bytes.sum(), by.files.sum()) == pytest.approx(
        (of.rows.sum(), of.bytes.sum(), 100)
    )
    assert by.edges_s[[0, -1]] == pytest.approx([0, of.seconds]) and len(by.rows) == 40
    assert own_seconds(of).sum() == pytest.approx(of.seconds, rel=1e-6)
    halves = intervals(files((0, 4), (4, 6), (6, 8), rows=8), 2)
    assert halves.rows == pytest.approx([8, 16]) and halves.files == pytest.approx([1, 2])


def test_of_repetitions_the_last_counts_and_unknown_places_of_one_file_are_unknown() -> None:
    run = a_run()
    table = run.tables["files"]
    again = table.set_column(1, "repetition", pa.array([1] * 100, pa.uint32())).slice(0, 60)
    both = replace(run, tables={**run.tables, "files": pa.concat_tables([table, again])}, _rows={})
    assert len(file_loads(both)["writers"].rows) == 60
    places = np.full(100, 7)
    for unknown in (None, 0):
        held = pa.array([*places[:-1].tolist(), unknown], pa.uint32())
        partly = table.set_column(table.schema.get_field_index("runs"), "runs", held)
        assert (
            file_loads(replace(run, tables={**run.tables, "files": partly}, _rows={}))["writers"].places
            is None
        )
    whole = table.set_column(
        table.schema.get_field_index("runs"), "runs", pa.array(places.tolist(), pa.uint32())
    )
    of = file_loads(replace(run, tables={**run.tables, "files": whole}, _rows={}))["writers"]
    assert of.places is not None and (of.places == 7).all()


def test_a_row_costs_the_servers_cpu_and_the_devices_bytes_that_were_watched() -> None:
    run = a_run()
    of = file_loads(run)["writers"]
    assert cost_per_row(run, of) == pytest.approx({"CPU, µs/row": 2.0, "written, B/row": 50.0}, rel=1e-3)
    by = costs_by_interval(run, of, intervals(of, 10))
    assert by["CPU, µs/row"] == pytest.approx(np.full(10, 2.0), rel=0.1)
    assert by["written, B/row"] == pytest.approx(np.full(10, 50.0), rel=0.1)
    # All of the CPU in the second half of the load.
    half = of.begin_ns + round(of.seconds * 5e8)
    late = [
        {"role": "server", "t_ns": t, "metric": "cpu_s", "device": "", "value": value}
        for t, value in ((of.begin_ns, 0.0), (half, 0.0), (of.end_ns, 1.0))
    ]
    watched = replace(
        run, tables={**run.tables, "resources": pa.Table.from_pylist(late, SCHEMAS["resources"])}, _rows={}
    )
    two = intervals(of, 2)
    assert costs_by_interval(watched, of, two)["CPU, µs/row"] == pytest.approx([0.0, 1e6 / two.rows[1]])
    without = replace(run, tables={k: v for k, v in run.tables.items() if k != "resources"}, _rows={})
    assert cost_per_row(without, of) == {} == costs_by_interval(without, of, intervals(of, 10))


def with_a_gap(run: RunRecord, from_s: float, gap_s: float) -> RunRecord:
    """The same load, which was killed and went on: what was later comes so much later."""
    (of,) = file_loads(run).values()
    at_ns = of.begin_ns + round(from_s * 1e9)

    def moved(table: pa.Table, columns: Sequence[str]) -> pa.Table:
        for name in columns:
            later = [t + round(gap_s * 1e9) * (t > at_ns) for t in table[name].to_pylist()]
            table = table.set_column(table.schema.get_field_index(name), name, pa.array(later, pa.uint64()))
        return table

    tables = {
        **run.tables,
        "files": moved(run.tables["files"], ("start_ns", "sent_ns", "end_ns")),
        "resources": moved(run.tables["resources"], ("t_ns",)),
        "sizes": moved(run.tables["sizes"], ("t_ns",)),
    }
    gap = {"from_ns": at_ns, "until_ns": at_ns + round(gap_s * 1e9)}
    return replace(run, tables=tables, summary={**run.summary, "gaps": [gap]}, _rows={})


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_load_that_was_killed_and_went_on_is_the_same_series_without_its_gap(at_once: int) -> None:
    run = a_run(at_once)
    (whole,) = file_loads(run).values()
    probed = [
        {"segment": 2, "t_ns": whole.begin_ns + round(share * whole.seconds * 1e9), "name": "table:t", "value": "1"}
        for share in (0.2, 0.7)
    ]  # fmt: skip
    run = replace(run, tables={**run.tables, "sizes": pa.Table.from_pylist(probed)}, _rows={})
    killed = with_a_gap(run, 0.45 * whole.seconds, 3_600.0)
    (of,) = file_loads(killed).values()
    assert of.end_ns - of.begin_ns > 3_600e9 and of.seconds == pytest.approx(whole.seconds)
    assert own_seconds(of) == pytest.approx(own_seconds(whole), abs=1e-6)
    assert intervals(of, 40).rows == pytest.approx(intervals(whole, 40).rows, rel=1e-6)
    # A look lies a little before the gap, and the next a little behind it.
    assert cost_per_row(killed, of) == pytest.approx(cost_per_row(run, whole), rel=1e-2)
    by = costs_by_interval(run, whole, intervals(whole, 10))
    for figure, cost in costs_by_interval(killed, of, intervals(of, 10)).items():
        assert cost == pytest.approx(by[figure], rel=1e-2), figure
    assert table_bytes(killed, of)[0] == pytest.approx(table_bytes(run, whole)[0])


def test_sizes_that_were_probed_while_the_load_went_on_are_a_series() -> None:
    run = a_run()
    of = file_loads(run)["writers"]
    half = of.begin_ns + round(of.seconds * 5e8)
    rows = [
        {"segment": 2, "t_ns": t, "name": name, "value": value}
        for t, each in ((0, "1"), (half, "300"), (of.end_ns, "700"), (of.end_ns + 1, "900"))
        for name, value in (("table:events", each), ("indexes:events", "100"))
    ]
    sized = replace(run, tables={**run.tables, "sizes": pa.Table.from_pylist(rows)}, _rows={})
    t, size = table_bytes(sized, of)
    assert t == pytest.approx([of.seconds / 2, of.seconds]) and size.tolist() == [400, 800]


def test_a_load_of_files_that_differ_is_said_in_words_with_figures() -> None:
    taken = taken_apart(file_loads(a_run())["writers"])
    assert taken.found is not None and taken.by_row is not None
    assert taken.shape.word == "refuted"
    words = " ".join(said(taken))
    share = taken.found.parts[0].share.value
    assert f"the size of files explains {100 * share:.0f} %" in words and share > 0.8
    assert "more for each MB of its file" in words and "A row costs" in words
    assert "B-tree out of memory: refuted: the rate falls by" in words
    assert "2,100,000 rows on" in taken_apart(file_loads(nvme())["writers"]).shape.why
    few = taken_apart(files(*((k, k + 1) for k in range(10))))
    assert few.found is None and "Not taken apart: 10 files" in said(few)[0]


def test_what_is_inseparable_confirms_nothing() -> None:
    grown = load(np.linspace(1e6, 9e6, 100), table_s=lambda n: 3e-14 * n, noise=0.02)
    taken = taken_apart(file_loads(run_of(grown))["writers"])
    assert taken.shape.word == "undecided" and "inseparable" in taken.shape.why


def test_a_load_that_was_ended_and_went_on_says_nothing_of_its_b_tree() -> None:
    """Its caches were cold again in the middle."""
    for whole, word in (
        (file_loads(a_run())["writers"], "refuted"),
        (file_loads(nvme())["writers"], "confirmed"),
    ):
        middle = (whole.begin_ns + whole.end_ns) / 2
        gone_on = taken_apart(replace(whole, gaps=[(middle, middle + 1e9)]))
        assert (taken_apart(whole).shape.word, gone_on.shape.word) == (word, "undecided")
        assert "went on" in " ".join(said(gone_on))
        # A gap in the load of an earlier step is none of this one.
        other = replace(whole, gaps=[(whole.begin_ns - 2e9, whole.begin_ns - 1e9)])
        assert taken_apart(other).shape.word == word


def test_the_report_has_a_table_of_loads_and_series_over_time_and_over_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(charts, "CHECKED", True)
    of = analysis()
    assert [loaded.of.seconds for loaded in typical_loads(of)] == [
        sorted(file_loads(m.run)["writers"].seconds for m in of.runs if m.point == point)[1]
        for point in of.points
    ]
    html = loads_section(of)
    speeds, parts = html.split("<table")[1:]
    rows = {line.split("</td>")[0]: line for line in (speeds + parts).split("<tr><td>")}
    assert rows.keys() >= {"sqlite, nvme", "sqlite, ssd"}
    assert rows["sqlite, ssd"].split("</td>")[-2].endswith("refuted")
    assert rows["sqlite, nvme"].split("</td>")[-2].endswith("confirmed")
    assert ">2.00<" in speeds and ">50.0<" in speeds, "CPU and written, for a row"
    drawn = load_series(of)
    assert [f.name for f in drawn] == ["load-time-writers-0", "load-files-writers-0"]
    for figure in drawn:
        titles = [p["encoding"]["y"]["title"] for p in figure.spec["vconcat"]]
        assert titles == ["rows/s", "MB/s", "files/s", "rows in the table", "CPU, µs/row", "written, B/row"]
        for panel in figure.spec["vconcat"]:
            assert len({r["series"] for r in values(figure, panel)}) == 2, "points over one another"
    over_time, over_files = (f.spec["vconcat"] for f in drawn)
    assert over_files[-1]["encoding"]["x"]["axis"]["title"] == "files so far"
    assert over_time[-1]["encoding"]["x"]["axis"]["title"] == "time in the load, s"
    assert max(r["t"] for r in values(drawn[1], over_files[0])) == pytest.approx(100)
    named = {f.name for f in figures(of, answer(of))}
    assert {f.name for f in drawn} <= named


def test_a_load_whose_rate_a_guard_calls_invalid_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    of = analyse(study_of([run_of(load(SIZES))]))
    assert "INVALID" not in loads_section(of)
    monkeypatch.setattr(Analysis, "broken", lambda _, figure, point: figure == "writers.rows_per_s")
    assert loads_section(of).count("sqlite (INVALID)") == 3, "both tables, and the sentences"


def test_studies_without_files_have_none_of_it_and_few_files_no_series() -> None:
    from tests import synthetic

    of = analyse(synthetic.study({("duckdb", 1000): 2.0}, blocks=2))
    assert loads_section(of) == "" and load_series(of) == []
    few = analyse(study_of([run_of(load(SIZES[: LEAST_FILES - 1]))]))
    said_of_few = loads_section(few)
    assert load_series(few) == [] and "1 of 1 loads have fewer than 24 files" in said_of_few
    assert said_of_few.count("<table") == 1, "speeds, and no parts"


def test_of_many_points_the_first_and_the_last_are_drawn() -> None:
    every = typical_loads(analyse(study_of([run_of(load(SIZES[:20]), factors={"n": n}) for n in range(9)])))
    drawn = spread_out(every)
    assert len(every) == 9 and len(drawn) == MOST_LINES
    assert drawn[0] == every[0] and drawn[-1] == every[-1]


def test_units_keep_what_is_not_known() -> None:
    of = units([1, 2], [3, 4], [0, 1])
    assert of.only(np.array([False, True])).bytes.tolist() == [4] and of.rows is None and of.places is None
