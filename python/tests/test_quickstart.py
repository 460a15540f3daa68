"""The first study: few runs, so that its figures come soon, and every point measured for long enough."""

from __future__ import annotations

from inrush.plan.calibration import OWN_SHARE
from inrush.plan.planned import PlannedRun, StudyPlan
from inrush.run.prepare import StudyCall, prepare

#: Of each run of a point, s; of all runs together.
MEASURED_S = 0.5
MEASURED_S_OF_ALL = 7.0


def planned(scale: str | None = None) -> StudyPlan:
    return prepare(StudyCall("quickstart", scale)).plan


def at_least_s(run: PlannedRun) -> float:
    [repeat] = [s["repeat"] for s in run.plan["segments"] if s.get("phase") == "measure"]
    return float(repeat["at_least_ns"] / 1e9)


def test_the_quickstart_is_fourteen_runs_of_which_seven_seconds_are_measured() -> None:
    plan = planned()
    assert len(plan.all_runs) == 14 and not plan.confirmations
    assert sum(at_least_s(run) for run in plan.all_runs) <= MEASURED_S_OF_ALL


def test_every_point_of_the_quickstart_is_measured_for_half_a_second_three_times() -> None:
    plan = planned()
    assert {at_least_s(run) for run in plan.runs} == {MEASURED_S}
    counts = {point: sum(run.point == point for run in plan.runs) for point in plan.planned}
    assert set(counts.values()) == {3} and len(counts) == 4


def test_the_first_run_of_the_quickstart_gives_a_figure() -> None:
    """Neither a pilot, which enters none, nor the price of the client's own work."""
    first, *_ = planned().all_runs
    assert first.block == 1 and not first.point.startswith(OWN_SHARE)


def test_runs_that_price_the_client_follow_the_first_block_with_a_pilot_and_without() -> None:
    for scale in (None, "full"):
        plan = planned(scale)
        kinds = ["own" if run.point.startswith(OWN_SHARE) else run.block for run in plan.all_runs]
        first = plan.study.blocks.start
        before = kinds[: kinds.index("own")]
        assert set(before) == {first} and len(before) == len(plan.planned)
        assert sorted(run.run_id for run in plan.all_runs) == sorted(
            run.run_id for run in (*plan.runs, *plan.calibrations)
        )


def test_the_full_quickstart_has_what_the_short_one_leaves_out() -> None:
    plan = planned("full")
    assert plan.study.has_pilot and plan.study.repeats.confirmations == 10
    assert plan.study.factors["batch_rows"] == (200, 2_000, 20_000)
