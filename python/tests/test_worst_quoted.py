"""What is said of several runs quotes the one that missed its limit most, and says how many of how many missed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.answer import answer
from inrush.analysis.deciding import crossed, undecided_by
from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome, Verdict, invalid, noted
from inrush.guards.analyse import analyse, analysis_of
from inrush.report.guards import doubts_table
from inrush.report.next_command import next_command
from inrush.report.report import verdict_line
from inrush.report.summary import doubt_lines
from inrush.stats.record import RunRecord, StudyRecord
from tests import synthetic
from tests.test_guards import PROVOKED, verdicts

#: Guards that say yes or no, and have no limit that a run could miss by more than another.
WITHOUT_MEASURE = {
    "ended as planned",
    "cold was cold",
    "release build",
    "on its storage",
    "statement beside roles",
}


@pytest.mark.parametrize("guard", PROVOKED)
def test_a_guard_with_a_limit_says_by_how_much_a_run_misses_it(guard: str) -> None:
    how = PROVOKED[guard][0]
    found = verdicts(how() if callable(how) else synthetic.run("postgresql", **how))[guard]
    assert (found.size > 0) is (guard not in WITHOUT_MEASURE)


#: Guard -> how a run misses its limit, a little and much, and words of the latter.
WORSE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "client on time": (
        {"schedule": "constant", "lag_ns": [1_000_000] * 50, "latency_ns": [4_000_000] * 50},
        {"schedule": "constant", "lag_ns": [3_000_000] * 50, "latency_ns": [4_000_000] * 50},
        "with a client on time 1.0",
    ),
    "client not saturated": ({"client_cores": 6.6}, {"client_cores": 7.6}, "7.60 of 8 cores"),
    "quiet machine": ({"noise": {"steal": 0.03}}, {"noise": {"steal": 0.3}}, "steal 30.0 %"),
    "keeps the rate": (
        {"schedule": "poisson", "totals": {"unsent": 5}},
        {"schedule": "poisson", "totals": {"unsent": 50}},
        "50.0 % of what was due",
    ),
    "long enough": ({"makespan_s": 0.9}, {"makespan_s": 0.1}, "Only 0.1 s"),
    "below physical ceilings": (
        {"batch_rows": 1, "makespan_s": 2.0},
        {"batch_rows": 1, "makespan_s": 0.5},
        "100000 commits/s",
    ),
    "data larger than caches": ({"row_bytes": 200_000}, {"row_bytes": 100}, "5.00 MB of data fit"),
    "rows rejected": (
        {"more": {"counters": [{"name": "inrush.files.m.rows_read", "value": "95"}, {"name": "inrush.files.m.rows_rejected", "value": "5"}]}},
        {"more": {"counters": [{"name": "inrush.files.m.rows_read", "value": "40"}, {"name": "inrush.files.m.rows_rejected", "value": "60"}]}},
        "60 of 100 rows rejected",
    ),
}  # fmt: skip


def blocks(each: Sequence[dict[str, Any]], asked: str = "writers.makespan_s") -> Analysis:
    """A run for each block, each made in its own way."""
    runs = [synthetic.run("postgresql", {}, block, **how) for block, how in enumerate(each, start=1)]
    doc = {**synthetic.STUDY, "accept": {}, "answer": {"kind": "comparison", "of": asked, "along": "engine"}}
    return analyse(StudyRecord(doc, runs))


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("guard", WORSE)
def test_the_worst_run_is_quoted_wherever_it_stands(guard: str, place: int) -> None:
    little, much, words = WORSE[guard]
    each = [dict(little), dict(little), dict(little)]
    each[place] = dict(much)
    analysis = blocks(each)
    worst = f"b{place + 1:02d}-0000-postgresql"
    (line,) = (line for line in doubt_lines(analysis) if line.partition(": ")[2].startswith(guard))
    assert words in line and f"({len(each)} of {len(each)} runs, the worst {worst})" in line, line
    page = doubts_table(analysis)
    row = page[page.index(guard) :].partition("</tr>")[0]
    assert words.replace(" %", "&nbsp;%") in row or words in row.replace("&nbsp;", " "), row
    assert "3&nbsp;of&nbsp;3&nbsp;runs" in row and worst in row


def broken(sizes: Sequence[float]) -> Analysis:
    """A run for each size; at 0 the guard has nothing to say."""
    made = [synthetic.figured("mysql", {}, block, 0, {"writers.makespan_s": 1.0}) for block in range(1, len(sizes) + 1)]  # fmt: skip
    runs = [
        replace(m, verdicts=[invalid("g", f"{size:g} beyond", figures=["writers.makespan_s"], size=size)] if size else [Verdict("g", Outcome.PASS, "")])
        for m, size in zip(made, sizes, strict=True)
    ]  # fmt: skip
    doc = {"answer": {"kind": "comparison", "of": "writers.makespan_s", "along": "engine"}, "accept": {}}
    return analysis_of(StudyRecord({**synthetic.STUDY, **doc}, [m.run for m in runs]), runs)


def test_the_line_with_the_verdict_and_the_answers_part_quote_the_worst_and_count() -> None:
    analysis = broken([1.0, 3.0, 2.0, 0.0])
    said = "3 beyond (in 3 of 4 runs, the worst b02-0000-mysql)"
    assert verdict_line(analysis) == f"INVALID: g (makespan of writers): {said}"
    found = answer(analysis)
    assert found is not None and found.parts[0].invalid == f"makespan of writers at mysql: g: {said}"
    # Sizes of another guard are in another unit.
    other = [invalid("h", "much", figures=["writers.makespan_s"], size=100.0)]
    two = [replace(m, verdicts=[*m.verdicts, *other]) if m.run.block == 1 else m for m in analysis.runs]
    found = answer(replace(analysis, runs=two))
    assert found is not None and found.parts[0].invalid == f"makespan of writers at mysql: g: {said}"
    alone = broken([0.0, 3.0])
    assert verdict_line(alone).endswith(": 3 beyond (in 1 of 2 runs, b02-0000-mysql)")
    assert verdict_line(broken([3.0])).endswith(": 3 beyond")


def test_the_next_command_names_the_worst_of_the_wrong_rows() -> None:
    runs = [
        replace(synthetic.figured("mysql", {}, block, 0, {}), verdicts=[invalid("rows proven", f"{n} of 9 proofs fail", hides=True, size=n)])
        for block, n in ((1, 2), (2, 7), (3, 1))
    ]  # fmt: skip
    analysis = analysis_of(StudyRecord({**synthetic.STUDY, "status": "done"}, [m.run for m in runs]), runs)
    assert "7 of 9 proofs fail" in next_command(analysis, None)


def test_a_note_of_the_study_is_of_no_run() -> None:
    analysis = broken([0.0])
    analysis.__dict__["study_verdicts"] = [noted("s", "so")]
    assert doubt_lines(analysis) == ["note: s: so"]


def test_a_limit_that_was_crossed_is_quoted_by_its_worst_run_with_how_many_crossed_it() -> None:
    runs = [
        synthetic.figured("mysql", {}, block, 0, {"writers.latency_p99_s": s})
        for block, s in enumerate((1.5, 0.5, 2.5, 1.2), start=1)
    ]
    analysis = synthetic.analysis_with(runs, {"accept": {"writers.latency_p99_s": 1.0}})
    assert crossed(analysis) == [
        "writers.latency_p99_s is 2.5 at mysql; accepted is at most 1 (crossed in 3 of 4 runs)"
    ]


def test_what_leaves_an_engine_undecided_is_what_took_most() -> None:
    def late(others: float) -> RunRecord:
        return synthetic.run(
            "postgresql", schedule="constant", totals={"unsent": 20}, noise={"others": others}
        )

    analysis = analyse(StudyRecord({**synthetic.STUDY, "accept": {}}, [late(0.84), late(0.86), late(0.85)]))
    assert undecided_by(analysis.runs, "writers.achieved_share").startswith(
        "other processes took 86 % of the processors"
    )
