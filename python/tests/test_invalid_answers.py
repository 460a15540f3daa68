"""What is INVALID is named with its figure and the reason, and its ranking or value is stated nowhere as if it held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.answer import Answer, answer
from inrush.analysis.asked import asked_sentence
from inrush.analysis.effects import effects
from inrush.analysis.overview import overview
from inrush.analysis.parts import HOLDS, OPEN, UNDECIDED, UP
from inrush.analysis.points import Analysis
from inrush.analysis.sentence import sentence
from inrush.analysis.verdicts import invalid
from inrush.guards.analyse import analyse, analysis_of
from inrush.report.answer_table import answer_lines, answer_table
from inrush.report.overview import html_table, text_table
from inrush.report.point_lines import best_points
from inrush.report.published import ours
from inrush.report.report import verdict_line
from inrush.stats.record import StudyRecord
from inrush.text import BestLine
from tests import synthetic
from tests.test_sentence import kept
from tests.test_verdicts import paced_study

SPREAD = (0.98, 1.0, 1.02)
MAKESPAN, RATE = "writers.makespan_s", "writers.rows_per_s"
#: Words by which a ranking or a value is stated.
STATED = (
    "worse",
    "[95 %]",
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
        "first sentence": sentence(analysis, found, seen),
        "show": "\n".join(answer_lines(analysis, found)),
        "page": answer_table(analysis, found),
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
    assert broken.invalid.startswith("makespan of writers at sqlite, batch_rows 200: client on time: ")
    assert broken.best == () and broken.interval is None and broken.tries == ()
    assert whole.group == (("batch_rows", 1000),) and whole.best == ("duckdb",)
    said = sentence(analysis, found_in(analysis))
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
    assert sentence(analysis, found, seen) == (
        f"INVALID: no decision by latency p99 of writers on ClickHouse and PostgreSQL ({guard})."
    )
    assert found.parts[0].invalid.startswith(f"no decision by latency p99 of writers: {guard}: ")
    assert not any(isinstance(line, BestLine) for line in text_table(analysis, seen))
    assert best_points(analysis, found) == set()
    assert html_table(analysis, seen).count(f"INVALID: no decision ({guard})") == 2
    assert f"clickhouse: INVALID: no decision ({guard})" in text_table(analysis, seen)
    said = verdict_line(analysis)
    assert said.startswith(f"INVALID: {guard}: The client's lateness decides it")
    assert said.index("As measured") < said.index("is best") < said.index("with a client on time")


def test_a_limit_that_lateness_decides_leaves_the_answer_its_ranking() -> None:
    analysis = analyse(
        paced_study({"postgresql": 0.2}, {"postgresql": 6.0}, accept={"writers.latency_p99_s": 5.9e-3},
                    answer={"kind": "comparison", "of": "writers.rows_per_s", "along": "engine"})
    )  # fmt: skip
    assert not analysis.valid and not any(part.invalid for part in found_in(analysis).parts)
    assert sentence(analysis, found_in(analysis)).startswith("PostgreSQL stores ")
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
    one, four = part.tries
    assert (one.word, one.count) == (
        UP if kind == "keeps_up" else HOLDS,
        3,
    ) and "client on time" in part.invalid
    assert (four.word, four.count) == ((OPEN, 3) if kind == "keeps_up" else (UNDECIDED, 0))
    assert "client on time" in four.because
    assert 4 not in part.best, "what is not decided is no value that kept up"


def test_an_engine_that_is_invalid_is_in_no_sentence_of_who_keeps_up() -> None:
    times = {("postgresql", 0): 0.085, ("mysql", 0): 0.165}
    analysis = kept(times)
    analysis.__dict__["study_verdicts"] = [invalid("decisions hold on time", "late", figures=())]
    said = sentence(analysis, answer(analysis))
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
