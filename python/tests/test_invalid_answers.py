"""What is INVALID is named with its figure and the reason, and its ranking or value is stated nowhere as if it held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.answer import Answer, answer
from inrush.analysis.asked import asked_sentence
from inrush.analysis.conclusion import conclusion
from inrush.analysis.effects import effects
from inrush.analysis.overview import overview
from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import invalid
from inrush.guards.analyse import analyse, analysis_of
from inrush.report.overview import html_table, text_table
from inrush.report.page import parts_said
from inrush.report.point_lines import best_points
from inrush.report.published import ours
from inrush.report.report import verdict_line
from inrush.stats.record import StudyRecord
from inrush.text import BestLine
from tests import synthetic
from tests.test_conclusion import kept
from tests.test_verdicts import paced_study

SPREAD = (0.98, 1.0, 1.02)
MAKESPAN, RATE = "writers.makespan_s", "writers.rows_per_s"
#: Words by which a ranking or a value is stated.
STATED = (
    "has the",
    "best batch_rows is",
    "goes from",
    "speed-up",
    "×",
    "slower",
    "stores",
    "doubling",
    "takes",
)
ALONG_ENGINES = {"kind": "comparison", "of": MAKESPAN, "along": "engine"}


def found_in(analysis: Analysis) -> Answer:
    found = answer(analysis)
    assert found is not None
    return found


def fixed(answer: dict[str, Any], broken: Sequence[tuple[str, int]] = ()) -> Analysis:
    """DuckDB and SQLite at two batch sizes; the makespan is invalid at the points of `broken`."""
    truth = {("duckdb", 200): 2.0, ("duckdb", 1000): 1.0, ("sqlite", 200): 3.0, ("sqlite", 1000): 1.5}
    runs = [
        synthetic.figured(engine, {"batch_rows": b}, block, 0, {MAKESPAN: s * spread, RATE: 50_000 / s / spread})
        for block, spread in enumerate(SPREAD, start=1)
        for (engine, b), s in truth.items()
    ]  # fmt: skip
    late = invalid("client on time", "The client itself was late", figures=[MAKESPAN, RATE])
    runs = [
        replace(m, verdicts=[late]) if (m.run.engine, m.run.point["batch_rows"]) in broken else m
        for m in runs
    ]
    doc = {**synthetic.STUDY, "accept": {}, "answer": answer}
    return analysis_of(StudyRecord(doc, [m.run for m in runs]), runs)


def shown(analysis: Analysis) -> dict[str, str]:
    """Where an answer is said -> what is said there of DuckDB's part or row."""
    found = found_in(analysis)
    seen = overview(analysis, found)
    return {
        "first sentence": conclusion(analysis, found, seen),
        "show": found.parts[0].said,
        "line": found.line,
        "page": parts_said(found),
    }


@pytest.mark.parametrize(
    "asked",
    [
        ALONG_ENGINES,
        {"kind": "best", "of": MAKESPAN, "along": "batch_rows"},
        {"kind": "curve", "of": MAKESPAN, "along": "batch_rows"},
        {"kind": "scaling", "of": MAKESPAN, "along": "batch_rows"},
        {"kind": "levels_off", "of": MAKESPAN, "along": "batch_rows"},
    ],
    ids=lambda asked: asked["kind"],
)
def test_a_part_whose_figure_is_invalid_states_neither_a_ranking_nor_a_value(asked: dict[str, Any]) -> None:
    sound = shown(fixed(asked))
    every = [(e, b) for e in ("duckdb", "sqlite") for b in (200, 1000)]
    for where, said in shown(fixed(asked, every)).items():
        assert any(word in sound[where] for word in STATED), f"{where}: the test looks for nothing"
        assert not [word for word in STATED if word in said], f"{where}: {said}"
        assert "INVALID" in said and "client on time" in said, where
        if where != "first sentence":
            assert "makespan of writers at duckdb" in said, f"{where}: {said}"


def test_one_invalid_engine_takes_the_ranking_away_and_leaves_the_others_their_figures() -> None:
    analysis = fixed({**ALONG_ENGINES, "per": ["batch_rows"]}, [("sqlite", 200)])
    broken, whole = found_in(analysis).parts
    assert broken.said.startswith("INVALID: makespan of writers at sqlite, batch_rows 200: client on time: ")
    assert broken.best == () and broken.interval is None
    assert whole.said.startswith("batch_rows 1,000: duckdb has the lowest makespan of writers")
    said = conclusion(analysis, found_in(analysis))
    assert said.startswith("At batch_rows 200: DuckDB takes 2.00 s. ") and "3.00 s" not in said
    assert "INVALID: the figures of SQLite (client on time)." in said


def test_no_decision_is_no_ranking_in_sentence_table_and_parts() -> None:
    """Each figure stands, and with a client on time the other engine would be ahead."""
    analysis = analyse(
        paced_study({"clickhouse": 0.0, "postgresql": 0.15}, {"clickhouse": 4.0, "postgresql": 4.1})
    )
    found = found_in(analysis)
    seen = overview(analysis, found)
    guard = "decisions hold on time"
    assert conclusion(analysis, found, seen) == (
        f"INVALID: no decision by latency p99 of writers on ClickHouse and PostgreSQL ({guard})."
    )
    assert found.parts[0].said.startswith(f"INVALID: no decision by latency p99 of writers: {guard}: ")
    assert not any(isinstance(line, BestLine) for line in text_table(analysis, seen))
    assert best_points(analysis, found) == set()
    assert html_table(analysis, seen).count(f"INVALID: no decision ({guard})") == 2
    assert f"clickhouse: INVALID: no decision ({guard})" in text_table(analysis, seen)
    said = verdict_line(analysis)
    assert said.startswith(f"INVALID: {guard}: The client's lateness decides it")
    assert said.index("As measured") < said.index("has the lowest") < said.index("with a client on time")


def test_a_limit_that_lateness_decides_leaves_the_answer_its_ranking() -> None:
    analysis = analyse(
        paced_study({"postgresql": 0.2}, {"postgresql": 6.0}, accept={"writers.latency_p99_s": 5.9e-3},
                    answer={"kind": "comparison", "of": "writers.rows_per_s", "along": "engine"})
    )  # fmt: skip
    assert not analysis.valid and "INVALID" not in found_in(analysis).line
    assert conclusion(analysis, found_in(analysis)).startswith("PostgreSQL stores ")
    # Of five runs, each a little slower than the one before.
    assert "is 0.0060" in verdict_line(analysis), verdict_line(analysis)
    assert "(in 5 runs, the worst b05-0000-postgresql)" in verdict_line(analysis)


@pytest.mark.parametrize("kind", ["keeps_up", "sustained"])
def test_a_load_whose_runs_are_invalid_is_undecided_and_the_others_keep_their_words(kind: str) -> None:
    late = invalid("client on time", "The client itself was late", figures=["writers.in_time_share"])
    runs = [
        synthetic.figured("mysql", {"readers": n}, block, 0, {"writers.in_time_share": 1.0})
        for block in (1, 2, 3)
        for n in (1, 4)
    ]
    runs = [replace(m, verdicts=[late]) if m.run.point["readers"] == 4 else m for m in runs]
    asked = {"kind": kind, "of": "writers.in_time_share", "along": "readers", "per": ["engine"]}
    doc = {**synthetic.STUDY, "accept": {}, "answer": asked, "search": {"along": "readers", "at_least": 1}}
    (part,) = found_in(analysis_of(StudyRecord(doc, [m.run for m in runs]), runs)).parts
    holds = {"keeps_up": "keeps up at readers 1 (in 3 of 3 runs)", "sustained": "holds readers 1 (3 of 3 runs held)"}  # fmt: skip
    assert part.said.startswith(f"INVALID: mysql: {holds[kind]}; ")
    word = {"keeps_up": "at readers 4 is not decided: ", "sustained": "readers 4 (0 of 3 runs held) is undecided: "}  # fmt: skip
    assert word[kind] in part.said and "client on time" in part.said
    assert part.said.endswith("late (in 3 of 3 runs)") is (kind == "keeps_up"), part.said
    assert "keeps up at readers 1 (in 3 of 3 runs), 4" not in part.said
    assert 4 not in part.best, "what is not decided is no value that kept up"


def test_an_engine_that_is_invalid_is_in_no_sentence_of_who_keeps_up() -> None:
    times = {("postgresql", 0): 0.085, ("mysql", 0): 0.165}
    analysis = kept(times)
    analysis.__dict__["study_verdicts"] = [invalid("decisions hold on time", "late", figures=())]
    said = conclusion(analysis, answer(analysis))
    assert said.startswith("INVALID: no decision by in time share of writers on PostgreSQL and MySQL (")
    assert "keep up" not in said


def test_a_figure_that_was_asked_for_beside_the_answer_is_named_and_not_stated_where_it_is_invalid() -> None:
    asked = {**ALONG_ENGINES, "asked": [RATE]}
    said = asked_sentence(fixed(asked, [("sqlite", 200)]))
    assert "SQLite: rate of writers 33.3 k rows/s at batch_rows 1,000, INVALID at batch_rows 200 (client on time)" in said  # fmt: skip
    assert "16.7" not in said and "DuckDB: rate of writers 25.0 k rows/s at batch_rows 200, 50.0" in said
    every = asked_sentence(fixed(asked, [("sqlite", 200), ("sqlite", 1000)]))
    assert every.endswith("SQLite: rate of writers INVALID at 2 points (client on time).")


def test_a_cost_and_our_figure_beside_a_published_one_are_of_figures_that_stand() -> None:
    asked = {"kind": "best", "of": MAKESPAN, "along": "batch_rows", "per": ["engine"]}
    ours_of = {"beside": "answer", "unit": "rows"}
    whole, broken = fixed(asked), fixed(asked, [("sqlite", 200), ("sqlite", 1000)])
    assert [row[0] for row in ours(whole, found_in(whole), ours_of)] == ["duckdb", "sqlite"]
    assert [row[0] for row in ours(broken, found_in(broken), ours_of)] == ["duckdb"]
    by_rate = {"beside": RATE, "unit": "rows/s"}
    assert [row[0] for row in ours(whole, found_in(whole), by_rate)] == ["duckdb", "sqlite"]
    assert [row[0] for row in ours(broken, found_in(broken), by_rate)] == ["duckdb"]
    assert {e.factor for e in effects(whole, MAKESPAN)} == {"engine", "batch_rows"}
    assert {(e.factor, e.points) for e in effects(broken, MAKESPAN)} == {("batch_rows", 1)}
