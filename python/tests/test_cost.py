"""What `inrush plan` says that a study takes: its schedules where it has some, usual rates elsewhere, and real runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.plan.cost import Continued, RunCost, cost, forecast
from inrush.plan.plan import plan_study
from inrush.plan.planned import StudyPlan
from inrush.plan.planned_point import PointPlan
from inrush.plan.work import Lasts, Work
from inrush.report.plan_text import plan_lines
from inrush.study.reading import load_study
from tests.test_plan import planned

MINUTE = 60.0


def shipped(
    study: str, *overrides: str, scale: str = "full", engines: tuple[str, ...] = ("clickhouse",)
) -> StudyPlan:
    found = load_study(study, scale, overrides, list(engines))
    return plan_study(found, {engine: server(engine) for engine in engines})


def made_up(*work: Work, **lasts: Any) -> PointPlan:
    """A point of ten columns' rows."""
    rows = sum(w.rows for w in work)
    return PointPlan({}, {}, "n", ("t",), rows, rows, 1, rows * 72, 0.0, Lasts(work=work, **lasts))


def role(rows: int, calls: float, due_s: float | None = None, parallel: int = 1) -> Work:
    return Work("w", rows, calls, parallel, 72.0, due_s)


def of(point: PointPlan) -> RunCost:
    return forecast("postgresql", point)


# --- paced


def test_a_schedule_that_is_kept_lasts_as_long_as_it_says_whatever_the_volume() -> None:
    for rows in (1, 1_000, 10_000_000):
        found = of(made_up(role(rows, 2_400, due_s=2_400)))
        assert (found.measured_s, found.cuts) == (2_400, ())
        assert found.demand < 1


def test_production_on_a_small_cluster_takes_as_long_as_its_samples_and_its_proofs() -> None:
    """2,400 samples, one a second, behind two hours of rows that are loaded. A table of 100 rows in parts of ten made every
    row of all others cost a tenth of a call."""
    found = cost(shipped("telemetry-production", scale="osc"))
    assert 60 * MINUTE < found.seconds < 80 * MINUTE
    assert found.warnings == ()


def test_batches_of_one_table_cost_nothing_in_another() -> None:
    large, small = role(10_000_000, 100), role(1_000, 1_000)
    alone = of(made_up(large)).measured_s
    assert of(made_up(large, small)).measured_s == pytest.approx(alone + of(made_up(small)).measured_s)


def test_calls_and_batches_at_a_rate_last_by_their_rate() -> None:
    changes: dict[str, Any] = {
        "factors": {"batch_rows": [100]},
        "stop": [],
        "roles": {
            "writers": {"operation": "insert", "table": "port_errors", "batch_rows": "@batch_rows", "rows": {"total": 5_000},
                        "schedule": {"mode": "constant", "rate_per_s": 2}},
            "readers": {"operation": "pe_alert", "calls": 400, "schedule": {"mode": "poisson", "rate_per_s": 8}},
        },
    }  # fmt: skip
    (point,) = planned(engines=["duckdb"], **changes).planned.values()
    assert {w.role: w.due_s for w in point.lasts.work} == {"writers": 25, "readers": 50}
    assert of(point).due_s == of(point).measured_s == 50


def test_a_rate_that_usual_rates_do_not_keep_takes_longer_and_is_warned_of() -> None:
    slow = role(10_000_000, 10, due_s=5)  # 15 s of rows
    found = of(made_up(slow))
    assert found.demand == pytest.approx(3.0, rel=0.01) and found.measured_s == pytest.approx(15, rel=0.01)
    both = of(made_up(slow, role(10_000_000, 10, due_s=10)))
    assert both.demand == pytest.approx(4.5, rel=0.01), "roles that write at once need their sum"
    plan = shipped("telemetry-production", "ports=500000", "schedule.limit_s=100000", engines=("mysql",))
    total = cost(plan)
    (warning,) = total.warnings
    assert (
        warning.startswith("mysql: usual rates suggest that the schedule cannot be kept")
        and "the 40 min that it has" in warning
    )
    assert total.seconds > 7 * 40 * MINUTE
    assert f"warning: {warning}" in plan_lines(plan)


def test_sessions_wait_for_their_answers_at_the_same_time_but_one_writer_does_not() -> None:
    assert of(made_up(role(0, 1_000, parallel=8))).measured_s == pytest.approx(1_000 * 1e-3 / 8)
    (duckdb, sqlite) = (
        shipped("telemetry-production", scale="xs", engines=(engine,)) for engine in ("duckdb", "sqlite")
    )
    parallel = [
        {w.parallel for p in plan.planned.values() for w in p.lasts.work if w.rows}
        for plan in (duckdb, sqlite)
    ]
    assert parallel == [{8}, {1}]


def test_a_segment_that_its_limit_cuts_is_no_longer_and_is_warned_of() -> None:
    found = of(made_up(role(10, 10, due_s=900), limit_s=600))
    assert found.cuts and found.seconds < 605
    total = cost(shipped("telemetry-production", "schedule.limit_s=600", scale="osc"))
    assert total.seconds < 32 * MINUTE
    assert "step monitor takes about 40 min, and limit_s cuts it after 10 min" in total.warnings[1]


# --- steps


def in_step(
    step: str,
    calls: float,
    *,
    role: str = "",
    due_s: float | None = None,
    limit_s: float = 600,
    rows: int = 0,
) -> Work:
    return Work(role or step, rows, calls, 1, 72.0, due_s, step, limit_s)


def test_roles_of_one_step_share_its_limit_and_its_name() -> None:
    """They work at once: the step is as long as the longest, is cut once, and by the name that the study gives it."""
    both = [
        in_step("mixed", n, role=f"mixed.{name}", limit_s=60) for name, n in (("a", 50_000), ("b", 90_000))
    ]
    found = of(made_up(*both))
    (cut,) = found.cuts
    assert (cut.step, cut.limit_s) == ("mixed", 60) and cut.takes_s == pytest.approx(90)
    assert found.seconds < 62
    assert of(made_up(*(replace(w, limit_s=100) for w in both))).measured_s == pytest.approx(90)


def test_rows_of_roles_that_write_at_once_are_stored_by_one_engine() -> None:
    alone = [in_step("load", 0, role=f"load/{name}", rows=1_000_000) for name in ("a", "b")]
    each_s = of(made_up(alone[0])).measured_s
    assert each_s > 1 and of(made_up(*alone)).measured_s == pytest.approx(2 * each_s)
    known = Continued({"load": 49.0})
    assert forecast("postgresql", made_up(*alone), known).measured_s == 49, (
        "the results say it of the whole step"
    )


def test_a_paced_step_is_cut_by_its_limit_whether_its_schedule_or_its_work_is_longer() -> None:
    kept = of(made_up(in_step("reads", 100, due_s=900)))
    (cut,) = kept.cuts
    assert (cut.step, cut.takes_s, cut.limit_s) == ("reads", 900, 600) and kept.seconds < 605
    behind = of(made_up(in_step("reads", 900_000, due_s=100)))
    assert behind.cuts[0].takes_s == pytest.approx(900) and behind.seconds < 605
    assert (behind.due_s, behind.demand) == (100, pytest.approx(9))


def test_steps_take_their_time_one_after_the_other() -> None:
    """The schedule of one gives no time to the work of another."""
    found = of(
        made_up(in_step("a", 60_000, due_s=100), in_step("b", 80_000, due_s=100), in_step("c", 50_000))
    )
    assert found.measured_s == pytest.approx(250) and found.demand == pytest.approx(0.8)


def test_limits_and_reads_by_time_are_of_steps_by_their_own_names(tmp_path: Path) -> None:
    """The example of the documentation, with a step of several roles and a read that is given by time."""
    page = (Path(__file__).parents[2] / "docs" / "steps.md").read_text()
    study, workload, step, more = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[:4]
    step = step.replace('"roles"', '"roles"\nlimit_s = 0.01')
    read = 'name = "timed"\ndo = "read"\noperation = "of_one_device"\nseconds = 45\n'
    head, preset, rest = study.partition("\n[scale.xs]")
    (tmp_path / "work.toml").write_text(f"{workload}\n{more}")
    (tmp_path / "own.toml").write_text(f"{head}\n{step}\n[[steps]]\n{read}{preset}{rest}")
    found = load_study(str(tmp_path / "own.toml"), "xs", (), ["sqlite"])
    plan = plan_study(found, {"sqlite": server("sqlite")})
    point = next(iter(plan.planned.values()))
    assert {w.role: w.step for w in point.lasts.work if w.role != w.step} == {"mixed.writers": "mixed"}
    total = cost(plan)
    assert "step mixed takes about" in total.warnings[0] and "-P steps.mixed.limit_s=" in total.warnings[0]
    assert 45 < forecast("sqlite", point).measured_s < 50, (
        "the read by time comes on top of the work of other steps"
    )


def test_a_step_is_cut_by_its_own_limit_and_not_by_the_schedules() -> None:
    """Ten minutes of the schedule cut the forecast of a load of 49 hours."""
    plan = shipped("bulkindex-survey", engines=("mysql",))
    (point,) = plan.planned.values()
    found = cost(plan)
    assert found.seconds > 2 * 3600 and found.warnings == ()
    assert point.lasts.limit_s == float("inf") and {w.limit_s for w in point.lasts.work} == {604_800}
    short = cost(shipped("bulkindex-survey", "steps.load.limit_s=3600", engines=("mysql",)))
    assert 3600 < short.seconds < 3700
    (warning,) = short.warnings
    assert "step load takes about" in warning and "cuts it after 60 min" in warning.replace("1 h", "60 min")
    assert "-P steps.load.limit_s=" in warning


@pytest.mark.parametrize("study", ["keys", "load", "lookup", "optimize", "series", "survey"])
def test_no_load_of_a_whole_index_is_cut_before_what_was_published_and_claimed_of_it(study: str) -> None:
    """Published: 18 to 23 hours; claimed here: up to 126, of 7.3e9 rows."""
    from inrush.study.shipped import find_study
    from inrush.study.toml import read_toml

    engines = tuple(e for e in read_toml(find_study(f"bulkindex-{study}").path)["engines"])
    plan = shipped(f"bulkindex-{study}", engines=tuple({"mysql", *engines} - {"duckdb"}))
    slowest_s = 126 * 3600 / 7_337_642_955
    loads = [w for p in plan.planned.values() for w in p.lasts.work if w.role in ("load", "init", "update")]
    assert loads and all(w.limit_s >= w.rows * slowest_s for w in loads)
    assert not [said for said in cost(plan).warnings if "limit_s" in said]


def test_tables_that_outgrow_memory_take_at_least_as_long_as_usual_rates_say() -> None:
    plan = shipped("bulkindex-survey", engines=("mysql",))
    small, large = {"mysql": 16e9}, {"mysql": 16e12}
    found = cost(plan, memory_bytes=small)
    assert found.is_least and "usual rates are of tables that memory holds" in found.warnings[0]
    assert any(line.startswith("at least ") for line in plan_lines(plan, forecast=found))
    assert not cost(plan, memory_bytes=large).is_least and not cost(plan).is_least
    # Rows that come in the order of the only index append to it, in any memory.
    by_key = shipped("archive-load", 'row_order=["key"]', 'layout=["pk"]', engines=("mysql",))
    assert not cost(by_key, memory_bytes=small).is_least


def test_what_results_say_of_a_load_takes_the_place_of_usual_rates() -> None:
    plan = shipped("bulkindex-survey", engines=("mysql",))
    (point,) = plan.planned
    hours = Continued({"load": 49 * 3600.0}, 1.4e12, ("mysql: load takes 49 h",))
    found = cost(plan, continued={point: hours}, memory_bytes={"mysql": 16e9})
    assert 49 * 3600 < found.seconds < 60 * 3600
    assert found.peak_bytes == 1.4e12 and not found.is_least
    lines = plan_lines(plan, forecast=found)
    assert "mysql: load takes 49 h" in lines and any("1.40 TB in a database" in line for line in lines)


# --- closed


def test_a_small_volume_is_repeated_until_it_is_long_enough_and_no_oftener_than_allowed() -> None:
    once = of(made_up(role(10_000, 10))).measured_s
    often = of(made_up(role(10_000, 10), at_least_s=2.0, max_repetitions=1_000)).measured_s
    assert often == pytest.approx(2.0, rel=2.0) and often >= 2.0
    assert of(made_up(role(10_000, 10), at_least_s=2.0, max_repetitions=3)).measured_s < 3 * once + 0.1


def test_readers_go_on_for_the_measured_time_and_loads_and_proofs_come_on_top() -> None:
    point = made_up(measure_s=5.0)
    found = forecast("duckdb", replace(point, rows=1_000_000, bytes=72_000_000))
    assert found.measured_s == 5.0 and 6.0 < found.seconds < 8.0


# --- which runs


def test_of_a_search_only_what_a_bisection_makes_is_counted() -> None:
    plan = shipped("telemetry-sustained", engines=("postgresql",))
    found = cost(plan)
    assert len(plan.runs) == 20 * 2 * 6
    # Five of twenty in the pilot and two in each of five blocks, for two numbers of readers; 20 s each.
    assert found.made == pytest.approx(2 * (4.4 + 10), abs=1)
    assert 28 * 20 < found.seconds < 3 * 28 * 20
    assert found.warnings == (), "what cannot be kept is what it looks for"
    assert any("of which a search makes about 29" in line for line in plan_lines(plan))


def test_fresh_repeats_are_said_beside_the_rest() -> None:
    plan = planned(
        answer={"kind": "best", "of": "writers.makespan_s", "along": "batch_rows", "per": ["engine"]}
    )
    found = cost(plan)
    least, most = found.fresh_s
    # Two engines, three blocks: of one point each, and of all three.
    assert most == pytest.approx(3 * least) and 0 < least < found.seconds
    assert cost(planned()).fresh_s == (0.0, 0.0)
    assert any(" more" in line and "fresh repeats" in line for line in plan_lines(plan))


@pytest.fixture
def of_files(tmp_path: Path) -> Path:
    """A study as `inrush new` writes it, of 300 rows: one point an engine."""
    from inrush.study.new import write_new

    (tmp_path / "odd.csv").write_text("id,value\n" + "".join(f"{i},{i}\n" for i in range(300)))
    return write_new("mine", [tmp_path / "odd.csv"], tmp_path)[1]


def test_nothing_says_beforehand_how_long_rows_of_files_take(of_files: Path) -> None:
    """It said `1.2 s to 1.2 s more` of fresh repeats that took 17 s."""
    plan = shipped(str(of_files), "factors.batch_rows=[100]", scale="xs", engines=("sqlite",))
    text = "\n".join(plan_lines(plan))
    assert cost(plan).is_least and "as many rows and seconds as the files hold" in text
    assert re.search(
        r"^1 point, each .* 4 runs, .*; then 2 fresh repeats of each point .* nearly so$", text, re.M
    )
    told = shipped(str(of_files), "roles.writers.rows.total=300", scale="xs", engines=("sqlite",))
    assert not cost(told).is_least


def test_one_point_is_not_several_and_one_time_no_range() -> None:
    plan = planned(
        factors={"batch_rows": [1000]}, engines=["duckdb"], repeats={"count": 1, "confirm": 1}, stop=[],
        answer={"kind": "best", "of": "writers.makespan_s", "along": "batch_rows", "per": ["engine"]},
    )  # fmt: skip
    text = "\n".join(plan_lines(plan))
    assert re.search(
        r"^1 point, each 1 time, .*; then 1 fresh repeat of .* nearly so, \d[\d.]* s more$", text, re.M
    )
