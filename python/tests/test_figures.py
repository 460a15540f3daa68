"""Figures hold aggregates only, show what is absent, and draw without a browser."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inrush.analysis.answer import answer
from inrush.errors import UsageError
from inrush.guards.analyse import analyse
from inrush.report import charts
from inrush.report.charts import RING, Figure, labels, ticks
from inrush.report.curves import five_numbers
from inrush.report.draw import render, themes
from inrush.report.drawn import shown_points
from inrush.report.figures import figures
from inrush.report.published import published_rows
from inrush.report.report import write_figures
from inrush.stats.record import Absent, StudyRecord
from tests import synthetic
from tests.test_sentence import ALL, kept

TRUTH = {
    (e, b): s * m
    for e, m in (("duckdb", 1), ("sqlite", 2))
    for b, s in ((200, 3.0), (1000, 2.0), (5000, 1.5))
}


def drawn(record: StudyRecord) -> dict[str, Figure]:
    analysis = analyse(record)
    return {f.name: f for f in figures(analysis, answer(analysis))}


def rows_of(figure: Figure) -> list[dict[str, Any]]:
    return (
        [row for data in figure.spec["datasets"].values() for row in data]
        if "datasets" in figure.spec
        else inline(figure.spec)
    )


def inline(node: Any) -> list[dict[str, Any]]:
    """Every row of data anywhere in a spec."""
    if isinstance(node, list):
        return [row for item in node for row in inline(item)]
    if isinstance(node, dict):
        own = (
            node["values"]
            if "values" in node
            and isinstance(node["values"], list)
            and node["values"]
            and isinstance(node["values"][0], dict)
            else []
        )
        return [*own, *(row for item in node.values() for row in inline(item))]
    return []


@pytest.fixture(scope="module")
def study() -> StudyRecord:
    stopped = Absent(
        {"engine": "sqlite", "batch_rows": 100}, "stopped", "writers.makespan_s is 95 s, above 90 s"
    )
    published = [
        {"claim": "insert", "unit": "ms", "values": {"clickhouse": 55}, "source": "elsewhere", "hardware": "2 × Xeon",
         "beside": "writers.makespan_s", "where": {"batch_rows": 5000}},
        {"claim": "best batch", "unit": "rows", "values": {"mysql": 1000}, "source": "elsewhere", "hardware": "2 × Xeon"},
    ]  # fmt: skip
    return synthetic.study(
        TRUTH, absent=[stopped], reader_ns=[10**6, 10**7, 10**8] * 40, doc={"published": published}
    )


@pytest.fixture(scope="module")
def shown(study: StudyRecord) -> dict[str, Figure]:
    """Drawing them takes a second."""
    return drawn(study)


def test_every_kind_of_figure_is_drawn(shown: dict[str, Figure]) -> None:
    names = {name.rsplit("-", 1)[0] for name in shown}
    assert names == {"rate", "box", "curve", "latency", "time", "published"}


def test_every_spec_is_of_the_schema_of_vega_lite(
    study: StudyRecord, shown: dict[str, Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "CHECKED", True)
    assert {name: figure.spec for name, figure in drawn(study).items()} == {
        name: figure.spec for name, figure in shown.items()
    }


def test_stopped_points_are_shown_as_stopped_with_their_reason(shown: dict[str, Figure]) -> None:
    rows = [r for r in rows_of(shown["curve-0"]) if r.get("why") == "stopped"]
    assert rows[0]["x"] == 100 and "above 90 s" in rows[0]["reason"]


def test_boxes_have_a_red_line_through_their_medians(shown: dict[str, Figure]) -> None:
    figure = shown["box-0"]
    styles = [layer["mark"]["style"] for layer in figure.spec["layer"]]
    assert styles == ["whisker", "box", "dot", "medians", "median"]
    for theme in themes().values():
        red, green, blue = (int(theme["style"]["medians"]["color"][i : i + 2], 16) for i in (1, 3, 5))
        assert red > 1.5 * max(green, blue)


def test_whiskers_end_at_the_last_run_within_one_and_a_half_boxes() -> None:
    found = five_numbers(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
    assert found == {"low": 1.0, "q1": 2.0, "median": 3.0, "q3": 4.0, "high": 4.0}


def test_latency_curves_end_where_there_are_no_more_calls(shown: dict[str, Figure]) -> None:
    rows = rows_of(shown["latency-readers"])
    assert max(r["x"] for r in rows) == pytest.approx(np.log10(5 * 120), abs=1e-3)
    assert all(
        a["latency"] <= b["latency"] for a, b in itertools.pairwise(rows) if a["series"] == b["series"]
    )


def test_panels_over_time_share_one_axis_and_one_zoom(shown: dict[str, Figure]) -> None:
    spec = shown["time-0"].spec
    assert spec["resolve"]["scale"]["x"] == "shared"
    assert [p["name"] for p in spec["params"]] == ["zoom"]
    assert len(spec["params"][0]["views"]) == len(spec["vconcat"]) == 3


def test_ours_stands_beside_the_published_figure_in_its_unit(shown: dict[str, Figure]) -> None:
    rows = {r["name"]: r for r in rows_of(shown["published-0"])}
    assert rows["clickhouse (elsewhere)"]["value"] == 55
    assert 1000 < rows["duckdb (ours)"]["value"] < 2500
    assert rows["duckdb (ours)"]["hardware"] == "Imaginary 9000, 8 cores, 17.2 GB"


def test_efficiency_is_drawn_where_scaling_is_asked() -> None:
    doc = {"answer": {"kind": "scaling", "of": "writers.makespan_s", "along": "writers"}}
    figure = drawn(
        synthetic.study(
            {("duckdb", n): 8 / n**0.5 for n in (1, 4, 16)}, doc=doc, along="writers", spread=0.001
        )
    )
    rows = {r["x"]: r["y"] for r in rows_of(figure["efficiency-0"]) if "x" in r}
    assert rows == pytest.approx({1: 1.0, 4: 0.5, 16: 0.25}, rel=0.01)


def test_a_spec_does_not_grow_with_the_number_of_operations() -> None:
    def size(calls: int) -> int:
        latency = np.random.default_rng(1).integers(10**6, 10**8, calls).tolist()
        record = synthetic.study({("duckdb", 1): 2.0, ("duckdb", 2): 2.0}, blocks=2, latency_ns=latency,
                                 totals={"ops": calls, "ok": calls})  # fmt: skip
        return sum(len(json.dumps(f.spec)) for f in drawn(record).values())

    assert size(20_000) < 1.5 * size(1000)


def test_figures_of_an_invalid_study_carry_the_word(study: StudyRecord, shown: dict[str, Figure]) -> None:
    bad = synthetic.study({("duckdb", 1): 1.0, ("duckdb", 2): 1.0}, env={"core_build_profile": "debug"})
    assert all("INVALID" in json.dumps(f.spec) and f.title.startswith("INVALID") for f in drawn(bad).values())
    assert not any("INVALID" in json.dumps(f.spec) for f in shown.values())


def test_figures_are_written_as_png_svg_and_pdf(tmp_path: Path) -> None:
    record = synthetic.study({("duckdb", 1): 1.0, ("duckdb", 2): 1.5}, env={"core_build_profile": "debug"})
    written = write_figures(record, tmp_path)
    begins = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF"}
    assert {p.suffix for p in written} == set(begins)
    for path in written:
        assert path.read_bytes().startswith(begins[path.suffix]) and path.stat().st_size > 2000
    assert b"INVALID" in next(p for p in written if p.suffix == ".svg").read_bytes()


def test_a_dark_figure_differs_from_a_light_one_in_colours_alone(shown: dict[str, Figure]) -> None:
    figure = shown["curve-0"]
    light, dark = render(figure, "svg"), render(figure, "svg", "dark")
    assert light != dark and light.count(b"<path") == dark.count(b"<path")


def test_an_unknown_format_is_refused_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="png, svg, pdf"):
        write_figures(synthetic.study({("duckdb", 1): 1.0}), tmp_path, ("gif",))


def test_ours_stands_beside_a_published_best_and_a_published_cost() -> None:
    """The value that our study found best, and what a factor costs in per cent of its figure."""
    given = {"unit": "rows", "values": {"mysql": 1000}, "source": "S", "hardware": "H"}
    claims = [
        {**given, "claim": "best batch", "beside": "answer", "where": {"engine": "duckdb"}},
        {**given, "claim": "cost", "unit": "%", "beside": "cost of batch_rows"},
    ]
    truth = {(e, b): s for e in ("duckdb", "sqlite") for b, s in ((200, 1.0), (1000, 1.5))}
    analysis = synthetic.trial(truth, doc={"published": claims}, spread=0.001)
    ours = [r for r in published_rows(analysis, answer(analysis)) if r["origin"] == "ours"]
    assert [(r["claim"], r["value"], r["about"]) for r in ours[:1]] == [
        ("best batch", 200, "best batch_rows")
    ]
    (cost,) = ours[1:]
    assert cost["value"] == pytest.approx(50, abs=0.5) and "200 to 1,000" in cost["name"]


def test_a_quotient_of_two_figures_stands_beside_a_published_one() -> None:
    """The same rows in 1 s and in 4 s: of a table of other rows the price of one is what can be compared."""
    claim = {"claim": "a row", "unit": "us", "values": {"mysql": 11}, "source": "S", "hardware": "H"}
    claim |= {"beside": "writers.makespan_s / writers.rows", "where": {"batch_rows": 200}}
    truth = {("duckdb", 200): 1.0, ("duckdb", 1000): 0.5, ("sqlite", 200): 4.0}
    record = synthetic.study(
        truth, doc={"published": [claim]}, spread=0.001, resources=False, rows=20_000, interval_s=10.0
    )
    ours = [r for r in published_rows(analyse(record), None) if r["origin"] == "ours"]
    shown = {r["name"].split()[0]: r["value"] for r in ours}
    assert shown == {"duckdb": pytest.approx(50, rel=0.01), "sqlite": pytest.approx(200, rel=0.01)}
    assert all(" / " in r["about"] for r in ours)


@given(st.floats(1e-6, 1e6), st.floats(1.01, 1e9))
def test_ticks_of_a_log_axis_lie_inside_and_are_neither_few_nor_many(low: float, times: float) -> None:
    found = ticks([low, low * times], log=True).to_dict()
    if "values" in found:
        assert all(low <= v <= low * times * 1.000001 for v in found["values"])
        assert 3 <= len(found["values"]) <= 20
    else:
        assert times < 10, "a decade has ticks of its own"


def test_panels_of_one_figure_have_one_kind_of_axis() -> None:
    """One group spans a decade and the other does not: both are drawn on the same kind of axis."""
    truth = {("duckdb", 1): 1.0, ("duckdb", 10): 50.0, ("sqlite", 1): 1.0, ("sqlite", 10): 2.0}
    made = drawn(synthetic.study(truth))
    kinds = {layer["encoding"]["y"]["scale"].get("type") for n, f in made.items() if n.startswith("box-") for layer in f.spec["layer"]}  # fmt: skip
    assert kinds == {"log"}


def marks_of(figure: Figure) -> list[Any]:
    return [layer["mark"]["type"] for layer in figure.spec["layer"]]


def test_the_first_chart_is_a_rate_and_says_which_end_is_better(shown: dict[str, Figure]) -> None:
    every = list(shown.values())
    first, makespan = every[0], shown["curve-0"]
    assert first.name == "rate-0" and first.title.startswith("Rate of writers along batch_rows")
    assert "rows/s (larger is better)" in json.dumps(first.spec)
    assert "makespan of writers, s (smaller is better)" in json.dumps(makespan.spec)
    assert {name for name, _ in first.shows} == {"writers.rows_per_s"}


def test_a_study_of_rates_has_no_second_chart_of_them() -> None:
    doc = {"answer": {"kind": "curve", "of": "writers.rows_per_s", "along": "batch_rows"}}
    assert "rate-0" not in drawn(synthetic.study(TRUTH, doc=doc))


def test_an_invalid_rate_is_marked_on_its_chart_too() -> None:
    bad = synthetic.study({("duckdb", 1): 1.0, ("duckdb", 2): 1.0}, env={"core_build_profile": "debug"})
    assert drawn(bad)["rate-0"].title.startswith("INVALID: ")


def test_the_axis_of_latencies_is_one_of_percentiles(shown: dict[str, Figure]) -> None:
    assert shown["latency-readers"].spec["encoding"]["x"]["title"] == "percentile"


def test_fewer_than_three_runs_of_a_point_are_dots_without_a_band_or_a_box() -> None:
    two, three = (drawn(synthetic.study(TRUTH, blocks=n)) for n in (2, 3))
    assert "area" in marks_of(three["curve-0"]) and "rule" in marks_of(three["curve-0"])
    assert marks_of(two["curve-0"]) == ["line", "point"]
    runs = [r for r in rows_of(two["curve-0"]) if set(r) == {"x", "y", "series"}]
    assert len(runs) == 2 * len(TRUTH)
    assert (
        "each run is a dot" in two["curve-0"].caption and "each run is a dot" not in three["curve-0"].caption
    )
    assert "box-0" in three and "box-0" not in two


def test_a_point_of_two_runs_among_others_takes_the_band_of_its_line_and_keeps_their_bars() -> None:
    record = synthetic.study(TRUTH, blocks=3)
    last = {"sqlite": 5000}
    fewer = [r for r in record.runs if not (r.block == 3 and last.get(r.engine) == r.point["batch_rows"])]
    chart = drawn(replace(record, runs=fewer))["curve-0"]
    banded = {r["series"] for r in rows_of_layer(chart, "area")}
    barred = {(r["series"], r["x"]) for r in rows_of_layer(chart, "rule")}
    assert banded == {"duckdb"} and barred == set(TRUTH) - {("sqlite", 5000)}


def rows_of_layer(figure: Figure, mark: str, size: int | None = None) -> list[dict[str, Any]]:
    (layer,) = [
        layer
        for layer in figure.spec["layer"]
        if layer["mark"]["type"] == mark and (size is None or layer["mark"].get("size") == size)
    ]
    held = layer["data"]
    return list(held["values"] if "values" in held else figure.spec["datasets"][held["name"]])


def test_a_point_measured_for_less_than_a_second_is_ringed() -> None:
    short = drawn(synthetic.study({("duckdb", 1): 0.4, ("duckdb", 10): 2.0}, spread=0.001))
    for name in ("rate-0", "curve-0", "box-0"):
        assert "measured less than 1 s" in short[name].caption
        assert {str(r["x"]) for r in rows_of_layer(short[name], "point", RING)} == {"1"}
    long = drawn(synthetic.study({("duckdb", 1): 1.4, ("duckdb", 10): 2.0}, spread=0.001))
    assert not any("Ringed" in f.caption for f in long.values())


def test_no_chart_is_drawn_of_one_dot_or_of_a_few_calls() -> None:
    one = StudyRecord(synthetic.STUDY, [synthetic.run("duckdb", {"batch_rows": 1000}, 1)])
    assert not any(name.startswith(("rate", "curve", "box")) for name in drawn(one))
    few = synthetic.study(TRUTH, blocks=3, rows=4000, reader_ns=[10**6] * 2)
    assert "latency-readers" not in drawn(few), "two calls in each of three runs"
    seldom = synthetic.study({("duckdb", 1): 6.0, ("duckdb", 2): 6.0}, blocks=3, rows=4000)
    for name, figure in drawn(seldom).items():
        if name.startswith("time-"):
            titles = [panel["encoding"]["y"]["title"] for panel in figure.spec["vconcat"]]
            assert "rows/s" not in titles and titles


def domains(made: dict[str, Figure], begins: str) -> list[Any]:
    found = [f for name, f in made.items() if name.startswith(begins)]
    return [layer["encoding"]["y"]["scale"].get("domain") for f in found for layer in f.spec["layer"]]


def test_panels_of_one_figure_have_one_unit_and_one_scale() -> None:
    """Two tables whose rates differ threefold: a line twice as high in one panel as in the other means twice as much."""
    truth = {("duckdb", b): s for b, s in ((200, 3.0), (1000, 1.0))}
    slow = {("duckdb", b): s * 3 for (_, b), s in truth.items()}
    runs = [
        synthetic.run("duckdb", {"table": table, "batch_rows": b}, block, n, makespan_s=s * (1 + block / 100))
        for block in (1, 2, 3)
        for n, (table, b, s) in enumerate(
            [("small", b, s) for (_, b), s in truth.items()] + [("large", b, s) for (_, b), s in slow.items()]
        )
    ]
    made = drawn(StudyRecord(synthetic.STUDY, runs))
    for begins in ("rate-", "curve-", "box-"):
        each = domains(made, begins)
        assert len([n for n in made if n.startswith(begins)]) == 2
        assert each[0] is not None and all(d == each[0] for d in each), begins
    assert (
        len(
            {
                f.spec["layer"][1]["encoding"]["y"].get("title")
                for n, f in made.items()
                if n.startswith("box-")
            }
        )
        == 1
    )


@pytest.mark.slow
def test_a_load_that_the_search_passed_over_is_not_drawn_as_stopped() -> None:
    passed = Absent({"engine": "sqlite", "batch_rows": 100}, "stopped", "bisection: 200 held")
    limit = Absent({"engine": "sqlite", "batch_rows": 50}, "stopped", "makespan is 95 s, above 90 s")
    made = drawn(synthetic.study(TRUTH, absent=[passed, limit]))["curve-0"]
    assert {r["x"] for r in rows_of(made) if "why" in r} == {50}
    alone = drawn(synthetic.study(TRUTH, absent=[passed]))["curve-0"]
    assert "Crosses" not in alone.caption and {"x"} & set(rows_of(alone)[0])


def test_the_times_of_a_fixed_job_stand_behind_all_that_its_rate_shows(shown: dict[str, Figure]) -> None:
    names = list(shown)
    assert names.index("curve-0") > max(
        names.index(n) for n in names if n.startswith(("rate", "box", "latency", "time"))
    )
    assert "rows/s (larger is better)" in json.dumps(shown["box-0"].spec)


def test_a_chart_of_a_load_shows_the_load_that_the_answer_is_about() -> None:
    analysis = kept(ALL)
    found = answer(analysis)
    assert found is not None
    assert {dict(p)["readers"] for p in shown_points(analysis, found)} == {4}
    assert {dict(p)["engine"] for p in shown_points(analysis, found)} == {"clickhouse", "postgresql", "mysql"}


@pytest.mark.slow
def test_labels_of_latencies_have_the_unit_of_their_size() -> None:
    for ns, unit in ((2 * 10**9, "s"), (10**7, "ms"), (10**4, "µs")):
        made = drawn(synthetic.study(TRUTH, blocks=3, reader_ns=[ns, 2 * ns] * 30))["latency-readers"]
        shown = re.findall(r">([\d.]+) (s|ms|µs)<", render(made, "svg").decode())
        assert len(shown) >= 3 and shown[-1][1] == unit
        assert all(0 < float(value) < 1000 for value, _ in shown)


def test_lines_are_named_by_what_they_do_not_share() -> None:
    analysis = analyse(synthetic.study({("duckdb", 1): 1.0, ("duckdb", 2): 2.0}))
    named = labels(analysis.points, analysis)
    assert set(named.values()) == {"batch_rows 1", "batch_rows 2"}
    (first, *_) = analysis.points
    assert labels([first], analysis)[first].startswith("duckdb, batch_rows")


@pytest.mark.parametrize("values", [[1.0, 1.2], [1e-3, 50.0], [0.0, 3.0]])
def test_nothing_touches_the_frame_of_a_scale_that_panels_share(values: list[float]) -> None:
    low, high = charts.shared_scale(values).to_dict()["domain"]
    assert high > max(values)
    assert low < min(values) or low == 0.0
