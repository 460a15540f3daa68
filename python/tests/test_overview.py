"""The table of engines: a row for each, the same in the terminal, as Markdown and in the page."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from inrush.analysis.answer import answer
from inrush.analysis.overview import Overview, overview
from inrush.analysis.points import Analysis, Measured
from inrush.analysis.verdicts import invalid, noted
from inrush.guards.analyse import analysis_of
from inrush.report.overview import (
    MARK_WORDS,
    NOTED_WORDS,
    WIDEST,
    full_table,
    html_table,
    markdown,
    text_table,
)
from inrush.stats.headroom import client_share, idle_share
from inrush.stats.record import Absent, StudyRecord
from inrush.stats.run_figures import figures_of_run
from tests import synthetic
from tests.test_sentence import ALL, LATE, SPREAD, fixed, kept

BROKEN = {"mysql": [invalid(LATE, "late", figures=["readers.latency_p99_s"])]}


def seen(analysis: Analysis) -> Overview:
    found = overview(analysis, answer(analysis))
    assert found is not None
    return found


def test_every_engine_has_a_row_at_the_heaviest_load_of_a_paced_study() -> None:
    found = seen(kept(ALL))
    assert [row.engine for row in found.rows] == ["postgresql", "clickhouse", "mysql"]
    assert all(dict(row.point or ())["readers"] == 4 for row in found.rows)
    assert (found.rate, found.write, found.read) == (
        "writers.rows_per_s", "writers.sample_p99_s", "readers.latency_p99_s",
    )  # fmt: skip


def test_every_engine_has_a_row_at_its_own_best_point_of_a_question_of_best() -> None:
    truth = {
        (e, b): s
        for e, (x, y) in {"duckdb": (2.0, 1.0), "sqlite": (1.0, 2.0)}.items()
        for b, s in ((200, x), (5000, y))
    }
    analysis = fixed(truth)
    found = seen(analysis)
    assert [dict(row.point or ())["batch_rows"] for row in found.rows] == [5000, 200]
    assert "at duckdb batch_rows 5,000; sqlite batch_rows 200" in text_table(analysis, found)


def test_a_terminal_shows_all_engines_in_seventy_columns_with_numbers_to_the_right() -> None:
    every = {
        (engine, readers): s
        for readers in (0, 4)
        for engine, s in (("postgresql", 0.085), ("clickhouse", 0.030), ("timescaledb", 0.2), ("mariadb", 0.1), ("mysql", 0.165))
    }  # fmt: skip
    analysis = kept(every)
    lines = text_table(analysis, seen(analysis))
    header, *rows = lines[:6]
    assert [row.split()[0] for row in rows] == ["postgresql", "clickhouse", "timescaledb", "mariadb", "mysql"]
    assert max(map(len, lines[:6])) <= WIDEST == 60
    ends = [re.search(r"rows/s", header), *(re.search(r"20\.0 k", row) for row in rows)]
    assert len({m.end() for m in ends if m is not None}) == 1 and None not in ends
    assert all(row.endswith("  valid*") for row in rows) and NOTED_WORDS in lines
    assert "write: p99 of writers, whole samples, all runs together" in lines
    assert "read: p99 of readers, all runs together" in lines
    assert "at readers 4" in lines


def test_a_row_without_a_note_is_plainly_valid() -> None:
    analysis = fixed({("duckdb", 200): 2.0, ("sqlite", 200): 1.0})
    quiet = [replace(m, verdicts=[]) for m in analysis.runs]
    noisy = [
        replace(m, verdicts=[noted("quiet machine", "busy")]) if m.run.engine == "sqlite" else m
        for m in quiet
    ]
    analysis = analysis_of(analysis.record, noisy)
    analysis.__dict__["study_verdicts"] = []
    lines = text_table(analysis, seen(analysis))
    assert [line.rpartition("  ")[2] for line in lines[1:3]] == ["valid", "valid*"]


def test_a_note_of_a_study_is_of_the_rows_with_its_points() -> None:
    analysis = fixed({("duckdb", 200): 2.0, ("sqlite", 200): 1.0})
    analysis = analysis_of(analysis.record, [replace(m, verdicts=[]) for m in analysis.runs])
    _, sqlite = analysis.points
    for points, words in ((None, ["valid*", "valid*"]), ((sqlite,), ["valid", "valid*"])):
        analysis.__dict__["study_verdicts"] = [replace(noted("trends", "falls"), points=points)]
        lines = text_table(analysis, seen(analysis))
        assert [line.rpartition("  ")[2] for line in lines[1:3]] == words


def test_a_row_too_wide_for_a_terminal_says_what_its_rows_survive_below() -> None:
    runs = [
        synthetic.run(engine, {}, block, makespan_s=1.0 * spread, doc={"durability": {"survives": survives}},
                      reader_ns=[123_400_000] * 200)
        for block, spread in enumerate(SPREAD, start=1)
        for engine, survives in (("a-long-name-of-an-engine", "POWER_LOSS"), ("sqlite", "PROCESS_CRASH"))
    ]  # fmt: skip
    measured = [Measured(run, figures_of_run(run), ()) for run in runs]
    doc = {**synthetic.STUDY, "answer": {"kind": "comparison", "of": "writers.rows_per_s", "along": "engine"}}
    analysis = analysis_of(StudyRecord(doc, runs), measured)
    lines = text_table(analysis, seen(analysis))
    assert "survives" not in lines[0]
    assert lines[-1] == "acknowledged rows survive: a-long-name-of-an-engine power loss, sqlite process crash"


def test_an_invalid_figure_is_marked_where_it_stands_and_its_row_says_which_and_why() -> None:
    analysis = kept(ALL, BROKEN)
    lines = text_table(analysis, seen(analysis))
    row = next(line for line in lines if line.startswith("mysql "))
    assert row.endswith("valid*") and re.search(r"99\.6 ms!|100 ms!|99\.\d ms!", row)
    assert "mysql: INVALID: latency p99 of readers (client on time)" in lines
    assert MARK_WORDS in lines and MARK_WORDS not in text_table(kept(ALL), seen(kept(ALL)))
    assert not any("!" in line for line in lines if not line.startswith("mysql") and line != MARK_WORDS)
    html = html_table(analysis, seen(analysis))
    assert html.count("INVALID: latency p99 of readers (client on time)") == 1
    assert html.count("ms INVALID") == 1


def test_markdown_has_the_sentence_the_same_cells_and_as_many_bars_in_every_line() -> None:
    analysis = kept(ALL)
    found = seen(analysis)
    sentence, empty, *lines = markdown(analysis, found, "All keep up.")
    assert (sentence, empty) == ("All keep up.", "")
    assert len({line.count("|") for line in lines}) == 1 and len(lines) == 2 + 3
    _, cells = full_table(analysis, found)
    for line, row in zip(lines[2:], cells, strict=True):
        assert line == "| " + " | ".join(row) + " |"
    assert lines[2].startswith("| PostgreSQL | readers 4 | 20.0 k | ")


def test_an_engine_without_a_counted_run_has_a_row_that_says_so() -> None:
    analysis = fixed(
        {("duckdb", 200): 1.0, ("sqlite", 200): 1.0},
        {"sqlite": [invalid("rows proven", "a row is missing", hides=True)]},
    )
    row = next(line for line in text_table(analysis, seen(analysis)) if line.startswith("sqlite"))
    assert row.split()[1:5] == ["–"] * 4 and row.endswith("no runs")


def test_an_engine_that_was_left_out_says_why_below_the_table_and_in_its_row_of_the_page() -> None:
    analysis = fixed({("duckdb", 200): 1.0})
    absent = [Absent({"engine": "sqlite", "batch_rows": 200}, "unsupported", "it has no NaN")]
    analysis = analysis_of(replace(analysis.record, absent=absent), analysis.runs)
    lines = text_table(analysis, seen(analysis))
    assert next(line for line in lines if line.startswith("sqlite  ")).endswith("no runs")
    assert "sqlite: no runs: unsupported: it has no NaN" in lines
    assert full_table(analysis, seen(analysis))[1][1][-1] == "no runs: unsupported: it has no NaN"


def test_engines_that_keep_nothing_have_a_row_only_where_there_are_no_others() -> None:
    both, alone = (fixed({(e, 200): 1.0 for e in engines}) for engines in (("duckdb", "null"), ("null",)))
    assert [row.engine for row in seen(both).rows] == ["duckdb"]
    assert [row.engine for row in seen(alone).rows] == ["null"]


def test_headroom_is_what_the_machine_left_and_of_it_what_the_client_used() -> None:
    """8 cores: 2 busy with the client, 0.8 with the server, and 10 % of all with others."""
    run = synthetic.run("postgresql", client_cores=2.0, noise={"others": 0.1})
    assert idle_share(run) == pytest.approx(1 - (2.0 + 0.8 + 0.8) / 8, abs=0.01)
    assert client_share(run, {"client.busy_cores": 2.0}) == 0.25
    assert client_share(run, {"client.busy_cores": 2.0, "instrument.busy_cores": 0.4}) == 0.05
    unwatched = synthetic.run("postgresql", resources=False)
    assert idle_share(unwatched) is None and client_share(unwatched, {}) is None


def test_other_conditions_are_counted_and_a_question_of_best_is_shown_at_the_first() -> None:
    runs = [
        synthetic.run("duckdb", {"table": table, "batch_rows": b}, block, makespan_s=s * spread)
        for block, spread in enumerate(SPREAD, start=1)
        for table, s in (("counters", 1.0), ("errors", 0.5))
        for b in (200, 1000)
    ]
    measured = [Measured(run, figures_of_run(run), ()) for run in runs]
    doc = {**synthetic.STUDY, "answer": {**synthetic.STUDY["answer"], "per": ["engine", "table"]}}
    found = seen(analysis_of(StudyRecord(doc, runs), measured))
    assert (found.condition, found.others) == ((("table", "counters"),), 1)
