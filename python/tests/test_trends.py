"""A role whose calls take longer and longer is flagged; one that only varies is not, however alike its neighbours are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from inrush.analysis.answer import answer
from inrush.analysis.moved import about, moved_sentence
from inrush.analysis.overview import overview
from inrush.analysis.points import Analysis
from inrush.analysis.sentence import sentence
from inrush.analysis.verdicts import Outcome
from inrush.guards.analyse import analyse
from inrush.guards.trends import NAME, service_time_steady, table_of_one_size
from inrush.report.overview import text_table
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.trends import service_trends, sums_of_logs
from tests import synthetic
from tests.synthetic import SECOND

SEEDS = 200
CALLS = 40


def test_a_time_of_nothing_counts_as_a_nanosecond() -> None:
    hists = synthetic.table("hist", [synthetic.hist([0, 0]), synthetic.hist([1, 8])])
    assert sums_of_logs(hists).tolist() == pytest.approx([0.0, np.log(8)])


def served(service_s: np.ndarray, role: str = "readers", block: int = 1, kind: str = "service") -> RunRecord:
    """A run with one histogram a second; service_s: shape (seconds, calls)."""
    base = run_of(len(service_s), block)
    rows: list[dict[str, Any]] = [
        {"segment": 2, "repetition": 0, "role": role, "op": "insert" if role == "writers" else "page", "kind": kind,
         "t_ns": SECOND + i * SECOND, "dt_ns": SECOND, **synthetic.hist([int(s * 1e9) for s in of])}
        for i, of in enumerate(service_s)
    ]  # fmt: skip
    more = {"hist": synthetic.table("hist", rows)}
    return replace(base, tables={**base.tables, **more}, _rows={})


@cache
def run_of(seconds: int, block: int) -> RunRecord:
    """What runs of any service times have in common, which is most of them."""
    return synthetic.run(block=block, makespan_s=float(seconds), resources=False)


def drawn(
    seconds: int, level: Callable[[np.ndarray], np.ndarray], rho: float, spread: float, seed: int
) -> np.ndarray:
    """Service times around a level, whose noise from second to second is an AR(1) of the given sd of logs."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, spread * np.sqrt(1 - rho**2), seconds + 100)
    for i in range(1, seconds + 100):
        noise[i] += rho * noise[i - 1]
    each = rng.normal(0, 0.3, (seconds, CALLS))
    return np.exp(np.log(level(np.arange(seconds) / seconds))[:, None] + noise[100:, None] + each)


def steady(_: np.ndarray) -> np.ndarray:
    return np.full(len(_), 1e-3)


#: Seconds of a role and how its noise goes on from one to the next.
LONGER = ((20, 0.5), (60, 0.8), (120, 0.8))


@pytest.mark.parametrize(
    ("seconds", "rho"),
    [(7, 0.0), (7, 0.5), (12, 0.5), *(pytest.param(s, rho, marks=pytest.mark.slow) for s, rho in LONGER)],
)
@pytest.mark.parametrize("spread", [0.05, 0.3])
def test_a_stationary_role_is_not_flagged_in_95_of_100_seeds(seconds: int, rho: float, spread: float) -> None:
    flagged = [
        service_trends(served(drawn(seconds, steady, rho, spread, seed)))["readers"].found
        for seed in range(SEEDS)
    ]
    assert np.mean(flagged) <= 0.05


def test_a_reader_that_falls_from_3000_to_150_calls_a_second_in_7_seconds_is_flagged() -> None:
    """What a scan of a table costs that grows at an even rate, from a third of a millisecond on."""
    found = [
        service_trends(served(drawn(7, lambda t: (1 + 22 * t) / 3000, 0.0, 0.05, seed)))["readers"]
        for seed in range(SEEDS)
    ]
    assert np.mean([t.found for t in found]) >= 0.95
    assert np.median([t.times for t in found]) == pytest.approx(15, rel=0.4)


@pytest.mark.parametrize(("end", "seconds"), [(1.5, 30), (2.0, 12), (0.5, 12), (1.25, 120)])
def test_a_rise_and_a_fall_are_flagged_alike(end: float, seconds: int) -> None:
    found = [
        service_trends(served(drawn(seconds, lambda t: 1e-3 * end**t, 0.3, 0.05, seed)))["readers"]
        for seed in range(50)
    ]
    assert np.mean([t.found and (t.times > 1) == (end > 1) for t in found]) >= 0.9


def test_a_change_of_less_than_a_tenth_is_not_worth_a_word() -> None:
    found = service_trends(served(drawn(600, lambda t: 1e-3 * 1.05**t, 0.0, 0.001, 1)))["readers"]
    assert found.p < 1e-4 and not found.found


def test_the_verdict_says_that_a_growing_table_was_measured() -> None:
    verdict = service_time_steady(served(drawn(7, lambda t: (1 + 22 * t) / 3000, 0.0, 0.05, 1)), {})
    assert verdict is not None and verdict.outcome is Outcome.NOTE
    assert verdict.sentence.startswith("readers: service time rises to ")
    assert "50,000 rows were written: this run measured a growing table" in verdict.sentence


def written_and_read(loaded: int, written: int) -> RunRecord:
    """Readers of a table into which writers put rows meanwhile, behind a load."""
    made = synthetic.run("postgresql", makespan_s=2.0, rows=written, reader_ns=[10**6] * 100)

    def puts(name: str) -> dict[str, Any]:
        return {**synthetic.role_plan(name), "work": {"kind": "rows", "table": 0}}

    asks = {"name": "page", "kind": "query", "text": "SELECT count(*) FROM home.t WHERE k > $1"}
    phases = [("load", puts("load/t"), "load"), ("create", None, ""), ("measure", puts("writers"), "measure")]
    roles = {"readers": synthetic.role_plan("readers", "page")}
    plan = {
        **made.plan,
        "tables": [{"name": "t", "columns": []}],
        "operations": [{"name": "insert", "kind": "insert", "table": 0}, asks],
        "segments": [
            {
                "kind": "drive",
                "label": label,
                "phase": phase,
                "roles": [role, *roles.values()] if phase == "measure" else [role],
            }
            if role
            else {"kind": "control", "label": label}
            for label, role, phase in phases
        ],
    }
    loads = {"segment": 0, "role": "load/t", "rows": loaded, "ops": 1, "ok": 1, "sessions": 1}
    tables = {
        "repetitions": synthetic.table("repetitions", [loads, *made.rows("repetitions")]),
        "segments": synthetic.table("segments", [
            {"segment": 0, "kind": "drive", "phase": "load", "end_ns": SECOND},
            *(s for s in made.rows("segments") if s["phase"] == "measure"),
        ]),
        "sizes": synthetic.table("sizes", [{"segment": 3, "name": "table:home.t", "value": "2500000"}]),
    }  # fmt: skip
    return replace(made, plan=plan, tables={**made.tables, **tables}, _rows={})


def test_a_table_that_grew_while_it_was_read_is_named_with_its_size_at_begin_and_end() -> None:
    verdict = table_of_one_size(written_and_read(0, 50_000), {})
    assert verdict is not None and verdict.outcome is Outcome.NOTE
    assert verdict.sentence == (
        "Readers queried t while it grew from 0 to 50,000 rows (2.50 MB); their times hold for that size only"
    )
    # A tenth more is one size.
    assert table_of_one_size(written_and_read(1_000_000, 50_000), {}) is None

    def said(run: RunRecord) -> str:
        asked = {"kind": "comparison", "of": "readers.latency_p90_s", "along": "engine"}
        analysis = analyse(StudyRecord({**synthetic.STUDY, "answer": asked}, [run]))
        found = answer(analysis)
        return "\n".join([sentence(analysis, found), *text_table(analysis, overview(analysis, found))])

    grew = said(written_and_read(0, 50_000))
    assert (
        "Readers queried t while it grew from 0 to 50,000 rows (2.50 MB); their times hold for that size only."
        in grew
    )
    assert "growing*" in grew and "growing" not in said(written_and_read(1_000_000, 50_000))


def test_a_steady_run_passes_and_a_short_one_is_not_judged() -> None:
    verdict = service_time_steady(served(drawn(30, steady, 0.0, 0.05, 1)), {})
    assert verdict is not None and verdict.outcome is Outcome.PASS
    assert service_time_steady(served(drawn(5, steady, 0.0, 0.05, 1)), {}) is None


def test_the_answer_says_it_where_most_runs_of_its_role_show_it() -> None:
    def study(level: Callable[[np.ndarray], np.ndarray]) -> StudyRecord:
        runs = [served(drawn(12, level, 0.0, 0.05, b), "writers", b) for b in range(1, 6)]
        return StudyRecord({**synthetic.STUDY, "answer": {"kind": "comparison", "of": "writers.rows_per_s", "along": "engine"}}, runs)  # fmt: skip

    grown = answer(analyse(study(lambda t: 1e-3 * 4.0**t)))
    assert grown is not None
    (trend,) = grown.remarks
    assert "Service time of writers rises to" in trend and "in 5 of 5 runs" in trend
    assert "these runs measured a growing table" in trend
    same = answer(analyse(study(steady)))
    assert same is not None and not same.remarks
    assert any(v.guard == NAME for m in analyse(study(steady)).runs for v in m.verdicts)


def moving(*ends: float) -> Analysis:
    """A run for each, whose service time ends at so many times that of its beginning."""
    runs = [
        served(drawn(12, lambda t, end=end: 1e-3 * end**t, 0.0, 0.05, b), "writers", b)  # type: ignore[misc]
        for b, end in enumerate(ends, start=1)
    ]
    return analyse(StudyRecord(synthetic.STUDY, runs))


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((4.0, 4.0, 1.0), "rises to 4 times in 2 of 3 runs"),
        ((4.0, 1.0, 1.0), None),
        ((4.0, 4.0, 1.0, 1.0), None),
        ((4.0, 4.0, 0.25), "rises to 4 times in 2 of 3 runs"),
        ((0.25, 0.25, 4.0), "falls to 0.25 times in 2 of 3 runs"),
        ((4.0, 0.25), None),
    ],
)
def test_most_runs_must_move_and_in_one_direction(ends: tuple[float, ...], said: str | None) -> None:
    found = moved_sentence(moving(*ends), "writers.rows_per_s")
    if said is None:
        assert found is None
    else:
        word, _, rest = said.partition(" to ")
        assert found is not None and f"{word} to" in found and rest.partition(" times ")[2] in found


def test_times_are_written_without_an_exponent() -> None:
    assert [about(t) for t in (5_612.0, 15.2, 4.04, 0.251, 123_456.0)] == [
        "5,600",
        "15",
        "4",
        "0.25",
        "120,000",
    ]
