"""Results side by side in text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.percentiles import quantile_s
from inrush.analysis.points import Analysis
from inrush.analysis.run_facts import promised
from inrush.engines import server
from inrush.errors import UsageError
from inrush.guards.analyse import analyse, analysis_of
from inrush.guards.conditions import differing
from inrush.report.comparison import compare_lines
from inrush.report.summary import standing, summed_up
from inrush.stats.record import StudyRecord
from tests import synthetic

TRUTH = {("duckdb", b): s for b, s in ((200, 3.0), (1000, 1.0))}


def analysed(survives: str, folder: str, window_s: float = 0.0) -> Analysis:
    record = synthetic.study(TRUTH, blocks=2)
    durability = {"survives": survives, "window_s": window_s, "because": {"path": f"{folder}/run.duckdb"}}
    runs = [replace(r, summary={**r.summary, "durability": durability}) for r in record.runs]
    return analyse(replace(record, runs=runs))


def test_a_row_that_survives_nothing_at_first_is_not_said_to_survive_but_at_last() -> None:
    """One replica of a cluster, or commits that wait: what is older than that was written down."""
    (line,) = (
        line
        for line in compare_lines(analysed("NOTHING", "a", 4.0), analysed("PROCESS_CRASH", "b", 4.0))
        if "durability" in line
    )
    assert "(nothing for the first 4 s; process crash but the last 4 s)" in line
    both = [*analysed("NOTHING", "a", 4.0).runs, *analysed("PROCESS_CRASH", "a", 4.0).runs]
    said = "duckdb: acknowledged rows survive nothing for the first 4 s and process crash but the last 4 s"
    assert said in [clause for clause, _ in differing("duckdb", both)]


def test_a_cluster_of_one_replica_loses_its_newest_rows_and_no_older_ones() -> None:
    settings = {"replicas": "1", "logging": "true", "TimeBetweenGlobalCheckpoints": "2000"}
    for replicas, words in (("1", "nothing for the first 4 s"), ("2", "process crash but the last 4 s")):
        found = server("ndb").durability({**settings, "replicas": replicas})
        assert promised(analysed(found.survives.name, "a", found.window_s).runs[0].run) == words
    unlogged = server("ndb").durability({**settings, "logging": "false"})
    assert promised(analysed(unlogged.survives.name, "a", unlogged.window_s).runs[0].run) == "nothing"


def test_two_results_of_equal_durability_are_not_told_apart_by_their_files() -> None:
    lines = compare_lines(analysed("POWER_LOSS", "a"), analysed("POWER_LOSS", "b"))
    assert not any("durability" in line for line in lines)


def test_a_result_that_promises_less_is_named_with_both_promises() -> None:
    lines = compare_lines(analysed("POWER_LOSS", "a"), analysed("PROCESS_CRASH", "b"))
    assert (
        "! durability of duckdb differs (power loss; process crash): the faster one may be faster because its rows survive less"
        in lines
    )


def test_results_without_a_point_in_common_are_said_to_have_none() -> None:
    other = analyse(synthetic.study({("sqlite", 200): 1.0}, blocks=2))
    with pytest.raises(UsageError, match="no point was measured by both"):
        compare_lines(analysed("POWER_LOSS", "a"), other)


def test_a_study_of_which_only_the_pilot_has_run_has_measured_nothing() -> None:
    runs = [synthetic.run("duckdb", {"batch_rows": 200}, block=0)]
    assert standing(analyse(StudyRecord(synthetic.STUDY, runs))) == "nothing measured yet"
    noted = analysed("POWER_LOSS", "a")
    assert standing(noted) == "valid, with notes"
    plain = replace(noted, runs=[replace(m, verdicts=[]) for m in noted.runs])
    plain.__dict__["study_verdicts"] = []
    assert standing(plain) == "valid"


MAKESPANS = {("duckdb", b): s for b, s in ((200, 3.0), (1000, 1.0))}


def made(factor: int, doc: dict[str, Any] | None = None, **how: Any) -> Analysis:
    """The study with `factor` times the rows, which take `factor` times as long: the engine is as fast."""
    truth = {point: factor * s for point, s in MAKESPANS.items()}
    return analyse(synthetic.study(truth, blocks=5, spread=0.001, doc=doc, rows=50_000 * factor, **how))


def test_results_of_different_volumes_are_compared_by_rate_and_the_volumes_are_named() -> None:
    """Ten times the rows in ten times the time are no tenth of the speed."""
    lines = compare_lines(made(10, {"scale": "s"}), made(1, {"scale": "xs"}))
    assert lines[0].startswith("rate of writers, ")
    assert not any("0.1" in line for line in lines if line.startswith("duckdb"))
    assert sum("not distinguishable" in line for line in lines) == 2
    text = "\n".join(lines)
    assert (
        "! makespan of writers is a time of the whole volume, and volumes differ: compared by rate of writers"
        in text
    )
    assert "! scale differs: s and xs" in text
    assert "500,000 rows and 50,000 rows a repetition" in text


def test_results_of_the_same_volume_are_compared_by_what_was_asked_and_say_nothing_of_volumes() -> None:
    lines = compare_lines(made(1), made(1))
    assert lines[0].startswith("makespan of writers, ")
    assert not any("volume" in line or "differs" in line for line in lines)


def test_other_rows_are_not_compared() -> None:
    lines = compare_lines(made(1), made(1, row_bytes=300))
    rows = [line for line in lines if line.startswith("duckdb")]
    assert len(rows) == 2 and all("not compared" in r and "100 and 300 bytes" in r for r in rows)


def test_how_roles_worked_is_named_where_it_differs() -> None:
    lines = compare_lines(
        made(1, {"sizes": {"ports": 100}}), made(1, {"sizes": {"ports": 50_000}}, writers=4)
    )
    assert "! size ports differs: 100 and 50,000" in lines
    assert "! sessions of writers differs: 1 and 4" in lines


def test_what_two_results_differ_in_is_said_in_words_and_no_table_is_printed_as_it_is_kept() -> None:
    """Figures, facts of the host and keys of studies have the words that they have elsewhere."""
    a = made(1, {"workload": {"rate": 20_000}, "schedule": {"warm_s": 2.0, "limit_s": 90}})
    b = made(1, {"workload": {"rate": 40_000}, "schedule": {"warm_s": 5.0, "limit_s": 90}}, schedule="poisson",
             env={"data_filesystem": "xfs", "cargo_lock_sha256": "ab" * 32})  # fmt: skip
    said = compare_lines(a, b)
    for line in (
        "! rate of workload differs: 20,000 and 40,000",
        "! warm of schedule differs: 2.00 s and 5.00 s",
        "! filesystem of the data differs: ext4 and xfs",
        "! kind of schedule of writers differs: closed and poisson",
        "! think of schedule of writers differs: 0 s and none",
        "! rate per s of schedule of writers differs: none and 100",
        "! sources of the core differs: none and abababababab",
    ):
        assert line in said, said
    raw = [word for line in said for word in re.findall(r"\w+(?:\.\w+)*", line) if "." in word.strip("0123456789.") or "_" in word]  # fmt: skip
    assert set(raw) <= {"batch_rows"}, "the name of a factor stands at its points everywhere"


def test_runs_of_which_one_measured_nothing_are_shown_by_their_median_and_range() -> None:
    runs = [
        synthetic.figured("duckdb", {}, 1 + k, 0, {"readers.ops_per_s": v})
        for k, v in enumerate((0.0, 50.0, 70.0))
    ]
    analysis = analysis_of(StudyRecord(synthetic.STUDY, [m.run for m in runs]), runs)
    (point,) = analysis.summaries("readers.ops_per_s")
    assert summed_up(point) == "50.0 calls/s (median of 3 runs, 0 calls/s to 70.0 calls/s)"


def test_a_percentile_is_shown_from_one_call_above_it_on() -> None:
    def shown(calls: int, q: float) -> float | None:
        run = synthetic.run("duckdb", rows=calls, batch_rows=1, latency_ns=[1000] * calls)
        analysis = analyse(StudyRecord(synthetic.STUDY, [run]))
        return quantile_s(analysis, analysis.points[0], "writers", q)

    assert shown(9, 0.9) is None and shown(10, 0.9) is not None
    assert shown(99, 0.99) is None and shown(100, 0.99) is not None


def test_a_comparison_says_that_the_two_were_not_run_in_turns() -> None:
    one = analyse(synthetic.study({("duckdb", 100): 4.0}, blocks=3))
    assert any("not in turns" in line for line in compare_lines(one, one))
