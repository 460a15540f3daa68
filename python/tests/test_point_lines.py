"""The table of points in the terminal: 60 columns, one unit, the best in bold."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from inrush.analysis.answer import Answer, answer
from inrush.analysis.overview import overview
from inrush.analysis.points import Analysis, within_whole
from inrush.analysis.sentence import other_conditions, sentence
from inrush.commands.printing import show
from inrush.guards.analyse import analyse
from inrush.report.overview import WIDEST, text_table
from inrush.report.page import answered
from inrush.report.point_lines import best_points, point_lines
from inrush.report.summary import absent_lines
from inrush.stats.record import Absent, StudyRecord
from inrush.stats.stats import Interval
from inrush.text import BestLine
from tests import synthetic
from tests.test_printing import Terminal
from tests.test_sentence import fixed

TABLES = ("port_data_counters", "mpi_process_info")


def wide(tables: tuple[str, str] = TABLES) -> Analysis:
    """Three factors and the engine; the first table is stored three times as fast, batches of 5,000 twice."""
    runs = [
        synthetic.run("timescaledb", {"table": table, "readers": readers, "batch_rows": rows}, block, n,
                      makespan_s=s * (1 + block / 1000))
        for block in (1, 2, 3)
        for n, (table, readers, rows, s) in enumerate(
            (table, readers, rows, slower * (2.0 if rows == 200 else 1.0))
            for table, slower in zip(tables, (1.0, 3.0), strict=True) for readers in (0, 4) for rows in (200, 5000)
        )
    ]  # fmt: skip
    asked = {**synthetic.STUDY["answer"], "per": ["engine", "table", "readers"]}
    return analyse(StudyRecord({**synthetic.STUDY, "answer": asked}, runs))


def asked(analysis: Analysis) -> Answer:
    found = answer(analysis)
    assert found is not None
    return found


def test_points_stand_in_sixty_columns_with_what_they_share_above_and_one_unit() -> None:
    analysis = wide()
    head, *rows = point_lines(analysis, asked(analysis), "writers.rows_per_s")
    assert head.startswith("writers.rows_per_s, k rows/s [95 % interval] at timescaledb")
    assert max(map(len, rows)) <= WIDEST == 60
    figures = [row for row in rows if re.search(r"\d \[\d", row)]
    assert len(figures) == 8 and not any("rows/s" in row for row in rows)


def test_a_table_that_is_too_wide_has_a_part_for_each_value_of_its_widest_factor() -> None:
    first, second = (f"{t}_with_a_name_that_is_much_too_long_for_a_row" for t in TABLES)
    analysis = wide((first, second))
    lines = point_lines(analysis, asked(analysis), "writers.rows_per_s")
    assert [line for line in lines if line.endswith(":")] == [f"table {name}:" for name in (first, second)]
    assert all(len(line) <= WIDEST for line in lines[1:] if not line.endswith(":"))
    assert sum("[" in line for line in lines[1:]) == 8


def test_the_best_row_of_each_group_is_bold_on_a_terminal_and_plain_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    analysis = wide()
    lines = point_lines(analysis, asked(analysis), "writers.rows_per_s")
    best = [line for line in lines if isinstance(line, BestLine)]
    assert len(best) == 4 and all("5,000" in line for line in best)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for tty in (True, False):
        terminal = Terminal(tty)
        monkeypatch.setattr("sys.stdout", terminal)
        show(lines)
        assert terminal.text.count("\x1b[1m") == (4 if tty else 0)


def test_an_invalid_point_is_never_bold() -> None:
    bad = analyse(
        synthetic.study({("duckdb", 1): 1.0, ("duckdb", 2): 2.0}, env={"core_build_profile": "debug"})
    )
    assert best_points(bad, asked(bad)) == set()
    assert all("INVALID" in line for line in point_lines(bad, asked(bad), "writers.rows_per_s")[2:])


def test_the_engine_with_the_best_rate_is_bold_and_none_where_all_are_alike() -> None:
    def bold(truth: dict[tuple[str, int], float]) -> list[str]:
        analysis = fixed(truth)
        seen = overview(analysis, asked(analysis))
        return [line.split()[0] for line in text_table(analysis, seen) if isinstance(line, BestLine)]

    assert bold({("duckdb", 200): 1.0, ("sqlite", 200): 3.0}) == ["duckdb"]
    assert bold({("duckdb", 200): 1.0, ("sqlite", 200): 1.0}) == []


def test_every_other_condition_has_a_sentence_with_its_interval_and_its_runs() -> None:
    analysis = wide()
    found = asked(analysis)
    seen = overview(analysis, found)
    first, others = sentence(analysis, found, seen), other_conditions(analysis, found, seen)
    assert len(others) == 3 and first.startswith("At port_data_counters, 0 readers: ")
    assert len({s.partition(":")[0] for s in [first, *others]}) == 4
    for said in others:
        assert re.match(r"At \w+, [04] readers: TimescaleDB stores [\d.]+ k rows/s in batches of 5,000 \(200 is 2\.0+ times slower\)\. 95 % interval: ", said), said  # fmt: skip
        assert said.endswith("(3 runs).")
    page = answered(analysis, found)
    assert all(said in page for said in (first, *others))
    assert (
        page.index(others[-1])
        < page.index("In detail: makespan of writers")
        < page.index("times worse than the best")
    )


def test_a_study_of_one_condition_has_no_other_sentences() -> None:
    analysis = fixed({("duckdb", 200): 1.0, ("duckdb", 5000): 2.0})
    assert other_conditions(analysis, asked(analysis), overview(analysis, asked(analysis))) == []


def test_an_invalid_condition_is_named_with_its_guard_and_without_a_figure() -> None:
    analysis = wide()
    runs = [
        replace(r, env={**r.env, "core_build_profile": "debug"}) if r.point["readers"] == 4 else r
        for r in analysis.record.runs
    ]
    analysis = analyse(replace(analysis.record, runs=runs))
    others = other_conditions(analysis, asked(analysis), overview(analysis, asked(analysis)))
    marked = [said for said in others if "INVALID" in said]
    assert len(marked) == 2 and all(
        "4 readers: INVALID: the figures of TimescaleDB (" in said for said in marked
    )
    assert not any("rows/s" in said for said in marked)


def test_points_that_a_search_passed_over_are_counted_and_not_called_stopped() -> None:
    passed = [
        Absent({"engine": "duckdb", "batch_rows": n}, "stopped", "bisection: 200 held") for n in (10, 20)
    ]
    limit = Absent({"engine": "duckdb", "batch_rows": 5}, "stopped", "makespan is 95 s, above 90 s")
    analysis = analyse(synthetic.study({("duckdb", 200): 1.0}, absent=[*passed, limit]))
    assert absent_lines(analysis) == [
        "stopped: duckdb, batch_rows 5: makespan is 95 s, above 90 s",
        "not tried: 2 points, which the search did not need",
    ]


def test_an_interval_of_a_share_ends_at_the_whole() -> None:
    found = Interval(0.894, 0.217, 3.69, 0.95, 2)
    assert within_whole("writers.in_time_share", found) == replace(found, high=1.0)
    assert within_whole("writers.rows_per_s", found) == found
