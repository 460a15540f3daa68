"""Pictures of docs/findings: each mark is what the runs were measured to be, and an invalid one never looks valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benches import pictures
from benches.findings import STUDIES, Piece, written
from benches.pictures import INVALID, VALID, VIEWS, View
from inrush.analysis.points import Analysis, Measured
from inrush.guards.analyse import analyse, analysis_of
from inrush.report.charts import Figure
from tests import synthetic

S = 10**9
ROWS = 50_000
BATCH = VIEWS["batch"]


def batches(engine: str, makespans_s: Mapping[int, float], **how: Any) -> Analysis:
    """`telemetry-batch` of one engine: every run stores 50,000 rows."""
    truth = {(engine, batch): s for batch, s in makespans_s.items()}
    return analyse(synthetic.study(truth, blocks=3, rows=ROWS, interval_s=10.0, **how))


def drawn(analyses: Mapping[str, Analysis], view: View = BATCH) -> Figure:
    figure = pictures.picture("batch", view, analyses)
    assert figure is not None
    return figure


def marks(figure: Figure) -> list[dict[str, Any]]:
    """Every row of data of a spec, wherever altair put it."""
    return [row for data in figure.spec["datasets"].values() for row in data]


def test_a_mark_is_the_rate_that_was_measured_within_its_interval() -> None:
    found = drawn({"mysql": batches("mysql", {1000: 2.0, 5000: 1.0}, spread=0.02)})
    rows = {r["x"]: r for r in marks(found)}
    assert set(rows) == {"1,000", "5,000"}
    assert rows["1,000"]["y"] == pytest.approx(25, rel=0.1), "50,000 rows in 2 s, in thousands"
    assert rows["5,000"]["y"] == pytest.approx(50, rel=0.1)
    assert all(r["low"] < r["y"] < r["high"] and r["n"] == 3 for r in rows.values())
    assert "k rows/s" in str(found.spec)


def test_an_interval_is_the_one_that_the_answer_has() -> None:
    analysis = batches("mysql", {1000: 2.0, 5000: 1.0}, spread=0.1)
    (row,) = [r for r in marks(drawn({"mysql": analysis})) if r["x"] == "5,000"]
    (summary,) = [s for s in analysis.summaries(BATCH.figure) if dict(s.point)["batch_rows"] == 5000]
    assert summary.interval is not None
    expected = [v / 1000 for v in (summary.interval.value, summary.interval.low, summary.interval.high)]
    assert [row["y"], row["low"], row["high"]] == pytest.approx(expected)


def test_one_run_has_no_interval() -> None:
    record = synthetic.study({("mysql", 1000): 2.0}, blocks=1, rows=ROWS, interval_s=10.0)
    (row,) = marks(drawn({"mysql": analyse(record)}))
    assert row["low"] == row["y"] == row["high"] and row["n"] == 1


def test_engines_share_a_panel_and_keep_their_colours() -> None:
    both = {e: batches(e, {1000: 2.0, 5000: 1.0}) for e in ("clickhouse", "sqlite")}
    found = drawn(both)
    assert {r["engine"] for r in marks(found)} == {"clickhouse", "sqlite"}
    (panel,) = found.spec["vconcat"]
    alone = drawn({"sqlite": both["sqlite"]}).spec["vconcat"][0]
    together, single = (colours_of(p) for p in (panel, alone))
    assert together["sqlite"] == single["sqlite"] != together["clickhouse"]


def colours_of(panel: Mapping[str, Any]) -> dict[str, str]:
    found = panel["layer"][0]["encoding"]["color"]["scale"]
    return dict(zip(found["domain"], found["range"], strict=True))


def test_an_invalid_figure_is_a_cross_and_the_legend_says_so() -> None:
    bad = batches("mysql", {1000: 2.0, 5000: 1.0}, env={"core_build_profile": "debug"})
    good = batches("clickhouse", {1000: 2.0, 5000: 1.0})
    found = drawn({"mysql": bad, "clickhouse": good})
    assert {(r["engine"], r["standing"]) for r in marks(found)} == {("mysql", INVALID), ("clickhouse", VALID)}
    shape = found.spec["vconcat"][0]["layer"][1]["encoding"]["shape"]
    assert dict(zip(shape["scale"]["domain"], shape["scale"]["range"], strict=True))[INVALID] == "cross"
    assert shape["legend"] is not None
    only_good = drawn({"clickhouse": good}).spec["vconcat"][0]["layer"][1]["encoding"]["shape"]
    assert only_good["legend"] is None


def test_what_varies_besides_has_a_panel_each_and_other_values_are_left_out() -> None:
    points = [(table, s, readers) for table, s in (("counters", 1.0), ("errors", 2.0)) for readers in (0, 1)]
    runs = [
        synthetic.run(
            "mysql",
            {"batch_rows": 1000, "table": table, "readers": readers},
            block,
            order,
            makespan_s=s,
            interval_s=10.0,
        )
        for block in (1, 2)
        for order, (table, s, readers) in enumerate(points)
    ]
    record = synthetic.study({("mysql", 1000): 1.0}, blocks=1)
    found = drawn({"mysql": analyse(replace(record, runs=runs))})
    assert [panel["title"] for panel in found.spec["vconcat"]] == ["counters", "errors"]
    assert [r["n"] for r in marks(found)] == [2, 2], "runs beside a reader are another figure"


def test_categories_stand_in_the_order_of_the_study() -> None:
    runs = [
        synthetic.run("mysql", {"layout": layout}, block, makespan_s=s, interval_s=10.0)
        for block in (1, 2)
        for layout, s in (("none", 1.0), ("pk", 2.0), ("pk_time", 3.0))
    ]
    record = synthetic.study({("mysql", 1000): 1.0}, blocks=1)
    found = pictures.picture("indexes", VIEWS["indexes"], {"mysql": analyse(replace(record, runs=runs))})
    assert found is not None
    x = found.spec["vconcat"][0]["layer"][0]["encoding"]["x"]
    assert x["scale"]["domain"] == ["none", "pk", "pk_time"]


def test_a_study_that_did_not_measure_the_figure_has_no_picture() -> None:
    assert pictures.picture("keepup", VIEWS["keepup"], {"mysql": batches("mysql", {1000: 2.0})}) is None
    assert pictures.pictures({}) == []


# --- production


def produced(took_s: Sequence[float | None], engine: str = "clickhouse", block: int = 1) -> Analysis:
    """One run of samples, one a second, each stored after so many seconds; None: never stored."""
    rows = [
        {"segment": 2, "repetition": 0, "role": "ports", "sample": k, "rows": 5, "due_ns": (k + 1) * S,
         "collected_ns": (k + 1) * S, "sent_ns": (k + 1) * S, "missing": int(s is None),
         "done_ns": 0 if s is None else (k + 1) * S + round(s * S), "sent_on_time_ns": (k + 1) * S,
         "done_on_time_ns": 0 if s is None else (k + 1) * S + round(s * S)}
        for k, s in enumerate(took_s)
    ]  # fmt: skip
    run = synthetic.run(engine, {}, block, more={"samples": rows}, interval_s=10.0)
    ports = {**synthetic.role_plan("ports"), "schedule": {"kind": "samples", "every_ns": S, "parts": 1}}
    segments = [
        {**s, "roles": [*s.get("roles", ()), ports]} if s["kind"] == "drive" else s
        for s in run.plan["segments"]
    ]
    run = replace(run, plan={**run.plan, "segments": segments})
    record = replace(synthetic.study({(engine, 1000): 1.0}, blocks=1), runs=[run])
    return analysis_of(record, [Measured(run, {"writers.makespan_s": 2.0}, ())])


def test_percentiles_of_production_are_of_all_samples_and_bars_of_quarters() -> None:
    # Four quarters of 100: all samples of a quarter alike but the last one.
    took = [s for quarter in (0.1, 0.2, 0.3, 0.4) for s in [quarter] * 99 + [quarter + 0.5]]
    figure = pictures.production({"clickhouse": produced(took)})
    assert figure is not None
    rows = {r["x"]: r for r in marks(figure)}
    assert list(rows) == ["p50", "p90", "p99", "largest"]
    in_ms = {x: (r["y"], r["low"], r["high"]) for x, r in rows.items()}
    assert "time, ms" in str(figure.spec)
    assert in_ms["p50"] == pytest.approx((300, 100, 400)), "198 of 400 took less"
    assert in_ms["p90"] == pytest.approx((400, 100, 400))
    assert in_ms["p99"] == pytest.approx((400, 100, 400)), "4 of 400 took more"
    assert in_ms["largest"] == pytest.approx((900, 900, 900)), "it has no bar"


def test_samples_that_were_never_stored_are_said_and_not_drawn() -> None:
    figure = pictures.production({"clickhouse": produced([0.2] * 95 + [None] * 5)})
    assert figure is not None
    assert {r["x"] for r in marks(figure)} == {"p50", "p90"}
    assert "Not drawn, since samples were never stored: clickhouse p99; clickhouse largest." in figure.caption
    assert "Without a bar, since samples were never stored: clickhouse p90." in figure.caption, (
        "the last quarter"
    )
    assert pictures.production({"clickhouse": produced([None] * 8)}) is None


# --- the command


def made_up(results: Path) -> Iterator[tuple[Piece, Analysis]]:
    """Stands in for results on disk: an older batch on MySQL, a newer one, and two productions."""
    yield Piece("batch", "mysql"), batches("mysql", {1000: 9.0, 5000: 9.0})
    yield Piece("batch", "mysql"), batches("mysql", {1000: 2.0, 5000: 1.0}, spread=0.001)
    for scale, took in (("osc", 0.25), ("s", 0.75)):
        analysis = produced([took] * 40)
        record = replace(analysis.record, study={**analysis.record.study, "scale": scale})
        yield Piece("production", "clickhouse"), analysis_of(record, analysis.runs)


def test_the_last_results_are_drawn_and_production_of_one_scale_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "complete", made_up)
    found = pictures.gathered(tmp_path)
    assert {study: list(of) for study, of in found.items() if of} == {
        "batch": ["mysql"],
        "production": ["clickhouse"],
    }
    batch, production = pictures.pictures(found)
    assert [r["y"] for r in marks(batch)] == pytest.approx([25, 50], rel=0.01)
    assert [r["y"] for r in marks(production)] == pytest.approx([250] * 4), "ms, of scale osc"


def test_the_command_writes_an_svg_a_study_and_the_lines_that_show_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pictures, "complete", made_up)
    assert pictures.main([str(tmp_path), str(tmp_path / "findings")]) == 0
    written = {p.name: p.read_text(encoding="utf-8") for p in (tmp_path / "findings").iterdir()}
    assert set(written) == {"telemetry-batch.svg", "telemetry-production.svg"}
    assert all(text.startswith("<svg") for text in written.values())
    assert "mysql" in written["telemetry-batch.svg"] and "clickhouse" in written["telemetry-production.svg"]
    shown = capsys.readouterr().out
    assert f"![{BATCH.title}](telemetry-batch.svg)" in shown and "95 % intervals" in shown


def test_results_without_the_family_are_refused_with_what_makes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pictures.main([str(tmp_path), str(tmp_path / "findings")]) == 2
    assert "`python -m benches.findings run` makes them" in capsys.readouterr().err
    assert not (tmp_path / "findings").exists()


def test_every_view_is_of_a_study_that_the_findings_make() -> None:
    assert set(VIEWS) == set(STUDIES) - {"largest"}


def test_tables_are_written_study_by_study() -> None:
    analysis = batches("mysql", {1000: 2.0, 5000: 1.0})
    pieces = [Piece("volume", "clickhouse"), Piece("batch", "clickhouse"), Piece("batch", "mysql")]
    lines = list(written(dict.fromkeys(pieces, analysis)))
    answers = lines[lines.index("| study | engine | answer | runs |") + 2 :][:3]
    assert [line.split(" | ")[:2] for line in answers] == [
        ["| batch", "clickhouse"],
        ["| batch", "mysql"],
        ["| volume", "clickhouse"],
    ]
