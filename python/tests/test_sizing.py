"""What a required rate needs: batch, writers, cores, disk, and how sure; from studies with known truths."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Outcome, Verdict
from inrush.errors import UsageError
from inrush.guards.analyse import analyse, analysis_of
from inrush.model.capacity import forecast_load
from inrush.model.forecast import Forecast
from inrush.model.intervals import REACHES
from inrush.predict.costs import stored_for
from inrush.predict.sizing import Need, Sizing, capped, probability, sizing, sizings
from inrush.predict.sizing_text import percent, sizing_lines
from inrush.predict.support import Ceilings, Record, exceeded, records_of, written_rows_per_s
from inrush.predict.training import trainings
from inrush.stats.record import StudyRecord
from inrush.text import percent as rounded
from tests import synthetic
from tests.terminal import Inrush
from tests.test_predict import load_study


@pytest.fixture(autouse=True, scope="module")
def forecasts_made_once() -> Iterator[None]:
    """A forecast of one load takes most of a second, and many tests ask for the same one."""
    made: dict[str, Forecast] = {}

    def once(*words: Any) -> Forecast:
        key = repr(words)
        if key not in made:
            made[key] = forecast_load(*words)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("inrush.predict.sizing.forecast_load", once)
        yield


def batch_study(**how: Any) -> Analysis:
    """50,000 rows by one writer in batches; without more words the same one for all, which nobody changes."""
    return batches(**how) if how else usual_batches()


@cache
def usual_batches() -> Analysis:
    return batches()


def batches(per_batch_s: float = 2e-3, per_row_s: float = 1e-5, **how: Any) -> Analysis:
    """A call takes what its batch costs."""
    runs = [
        synthetic.run("sqlite", {"batch_rows": b}, block, i, batch_rows=b, makespan_s=50_000 / b * (per_batch_s + b * per_row_s), **how)
        for block in (0, 1, 2, 3)
        for i, b in enumerate((100, 1000, 5000, 10_000))
    ]  # fmt: skip
    return analyse(StudyRecord({**synthetic.STUDY, "id": "batches"}, runs))


#: Days of 2 s: 40,000 rows at 20,000 rows/s, which runs of 50,000 rows in half a second show.
BRIEF = 2 / 86_400


def only(found: list[Sizing]) -> Sizing:
    (sizing,) = found
    return sizing


def test_a_rate_that_one_writer_holds_needs_one_and_the_batch_of_95_percent() -> None:
    found = only(sizings([batch_study()], Need(20_000, days=BRIEF)))
    # 19 times the cost of a batch over that of a row: 3,800 rows, and 95,000 rows a second.
    assert found.verdict == "yes" and found.writers == 1
    assert found.batch_rows == pytest.approx(3800, rel=0.02)
    assert found.rows_per_s == pytest.approx(95_000, rel=0.02)


def test_a_latency_limit_makes_batches_smaller_or_says_that_none_is_small_enough() -> None:
    # A call of b rows takes 2 ms and 10 µs a row: 12 ms are 1,000 rows.
    tight = only(sizings([batch_study()], Need(10_000, p99_s=0.012)))
    assert tight.batch_rows == pytest.approx(1000, rel=0.05)
    none = only(sizings([batch_study()], Need(10_000, p99_s=0.001)))
    assert none.verdict == "no" and "already takes longer" in none.why[-1]


def test_more_writers_are_asked_for_until_the_rate_is_held_at_four_fifths() -> None:
    found = only(sizings([load_study()], Need(120_000, days=1 / 86_400)))
    assert found.verdict == "yes" and found.writers == 4  # 3 writers give 147,000, of which 80 % are too few
    beyond = only(sizings([load_study()], Need(1e8)))
    assert beyond.verdict == "no" and "no number of writers" in beyond.why[-1]


@pytest.mark.parametrize("times", [2, 5])
def test_cores_and_disk_are_in_proportion_to_the_rate(times: int) -> None:
    one, more = (only(sizings([batch_study()], Need(10_000 * k))) for k in (1, times))
    assert one.cores and more.cores and one.disk_bytes and more.disk_bytes
    assert more.cores == pytest.approx(times * one.cores) and more.disk_bytes == pytest.approx(
        times * one.disk_bytes
    )
    # 50,000 rows of 100 bytes were stored: a day at 10,000 rows a second is 86.4 GB.
    assert one.disk_bytes == pytest.approx(86.4e9)
    assert only(sizings([batch_study()], Need(10_000, days=3))).disk_bytes == pytest.approx(3 * 86.4e9)


def test_nearer_to_what_is_possible_is_less_sure() -> None:
    easy, hard = (
        only(sizings([load_study()], Need(rate, days=1 / 86_400), records=records(1000, 1000)))
        for rate in (100_000, 180_000)
    )
    assert easy.sure is not None and hard.sure is not None
    assert 0.5 < hard.sure <= easy.sure < 1


def test_the_answer_names_its_results_and_nothing_to_answer_from_is_said() -> None:
    need = Need(20_000, 0.5, BRIEF)
    detail = "\n".join(
        sizing_lines(sizings([batch_study(), load_study()], need, records=records(20, 18)), need)
    )
    for word in ("sqlite", "writer", "cores", "from batches, trained", "sure that it reaches the rate"):
        assert word in detail, detail
    with pytest.raises(UsageError, match="run batch"):
        sizings([], Need(1000))


def records(claims: int, inside: int) -> dict[tuple[str, int], Record]:
    """Of every kind and reach the same."""
    return {
        (kind, k): Record(kind, claims, inside) for kind in ("load", "batch") for k in range(len(REACHES))
    }


def larger(rows: int, seconds: float, **how: Any) -> Analysis:
    """One run at the batch of the answer."""
    run = synthetic.run(
        "sqlite",
        {"batch_rows": 3799},
        1,
        rows=rows,
        makespan_s=seconds,
        batch_rows=3799,
        interval_s=60,
        **how,
    )
    return analyse(StudyRecord({**synthetic.STUDY, "id": "large"}, [run]))


# What is not shown.


def test_a_day_is_not_shown_by_runs_of_half_a_second_and_the_run_that_would_show_it_is_named() -> None:
    found = only(sizings([load_study()], Need(50_000), records=records(1000, 1000)))
    assert (found.verdict, found.sure) == ("not shown", None)
    assert any("4,320,000,000 rows are asked for" in why for why in found.why)
    assert any("a run below 600 s supports no longer time" in why for why in found.why)
    assert found.next is not None and found.next.startswith(
        "inrush run telemetry-quickstart sqlite --scale xs"
    )
    assert "roles.writers.rows={total=1080000000}" in found.next
    text = "\n".join(sizing_lines([found], Need(50_000)))
    assert "not shown" in text and "sure" not in text and "GB" not in text


@pytest.mark.parametrize(
    ("times", "verdict"),
    [(1.0, "yes"), (4.0, "yes"), (4.01, "not shown"), (100.0, "not shown")],
)  # fmt: skip
def test_an_answer_is_shown_for_up_to_four_times_the_rows_of_a_run(times: float, verdict: str) -> None:
    rows = 20_000_000
    need = Need(20_000, days=times * rows / 20_000 / 86_400)
    found = only(sizings([batch_study(), larger(rows, 700)], need))
    assert found.verdict == verdict, found.why
    assert only(sizings([batch_study()], need)).verdict == "not shown", "without that run"


def test_a_run_that_was_slower_than_the_rate_shows_nothing_of_it() -> None:
    need = Need(50_000, days=20_000_000 / 50_000 / 86_400)
    assert only(sizings([batch_study(), larger(20_000_000, 300)], need)).verdict == "yes"
    assert only(sizings([batch_study(), larger(20_000_000, 700)], need)).verdict == "not shown"


def test_a_large_run_that_was_short_shows_no_day() -> None:
    need = Need(20_000, days=20_000_000 / 20_000 / 86_400)  # 1000 s
    found = only(sizings([batch_study(), larger(20_000_000, 200)], need))
    assert found.verdict == "not shown" and "the longest run at this rate took" in found.why[-1]


@given(rate=st.floats(1e3, 1e7))
@settings(max_examples=25, deadline=None)
def test_no_rate_is_stated_above_the_highest_that_was_measured(rate: float) -> None:
    study = batch_study()
    highest = max(written_rows_per_s(m) for m in study.runs)
    found = only(sizings([study], Need(rate, days=1e-6)))
    for stated in (found.rows_per_s, found.lo, found.hi):
        assert stated is None or stated <= highest * (1 + 1e-9)
    assert found.verdict != "yes" or rate <= highest


def test_a_rate_beyond_the_highest_measured_is_not_shown_though_the_model_has_it() -> None:
    found = only(sizings([load_study()], Need(250_000, days=1 / 86_400)))
    assert found.verdict == "not shown" and found.writers is not None
    assert any(why.startswith("the highest rate measured is 189,") for why in found.why), found.why
    assert found.next is not None and f"writers=[{found.writers}]" in found.next


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"cgroup_cpu_cores": 0.1}, "cores would be busy, and there are 0.1"),
        ({"cpu_physical": 0.1}, "cores would be busy, and there are 0.1"),
        ({"data_free_bytes": 1000}, "would be stored, and 1.00 kB were free"),
    ],
)
def test_more_than_the_machine_has_is_no(env: dict[str, float], words: str) -> None:
    found = only(sizings([batch_study(env=env)], Need(20_000, days=BRIEF), records=records(1000, 1000)))
    assert (found.verdict, found.sure) == ("no", None)
    assert words in found.why[-1]
    assert found.cores is None or found.cores <= 8


def test_more_than_the_disk_was_measured_to_take_is_no() -> None:
    assert exceeded(Ceilings(1.0, disk_write_bytes_per_s=1e6), None, 2e6, None) == [
        "2.00 MB/s would be written, and the disk takes 1.00 MB/s"
    ]
    assert exceeded(Ceilings(1.0, 8.0, 1e6, 1e9), 8.0, 1e6, 1e9) == []


def with_verdict(analysis: Analysis, *figures: str) -> Analysis:
    late = Verdict("client on time", Outcome.INVALID, "late", figures=figures)
    return analysis_of(analysis.record, [replace(m, verdicts=[*m.verdicts, late]) for m in analysis.runs])


def test_runs_count_whose_rates_are_valid_though_another_figure_is_not() -> None:
    need = Need(100_000, days=1 / 86_400)
    beside = only(sizings([with_verdict(load_study(), "readers.latency_p99_s")], need))
    assert beside.verdict == "yes" and beside.rows_per_s == only(sizings([load_study()], need)).rows_per_s
    with pytest.raises(UsageError):
        sizings([with_verdict(load_study(), "writers.rows_per_s")], need)


def test_without_a_valid_rate_nothing_is_shown() -> None:
    study = with_verdict(load_study(), "load/x.rows_per_s")
    (training,) = trainings(study)
    found = sizing("sqlite", None, (study, training), Need(1000), (), {}, [])
    assert found.verdict == "not shown" and "no run with a valid rate" in found.why[0]


def test_more_writers_than_were_studied_are_not_a_no_but_not_shown() -> None:
    call = {
        "study": "telemetry-batch",
        "scale": "s",
        "targets": ["duckdb", "sqlite"],
        "overrides": ["batch_rows=[1]"],
    }
    record = batch_study().record
    analysis = analyse(replace(record, study={**record.study, "call": call}))
    found = only(sizings([analysis], Need(90_000, days=BRIEF)))  # one writer: 95,000, 80 % of them busy
    assert found.verdict == "not shown" and "one writer reaches" in found.why[-1]
    assert found.next == "inrush run telemetry-writers sqlite --scale s"


def test_a_call_waits_as_long_as_writers_are_busy_at_the_highest_rate_that_was_measured() -> None:
    """80 % of what the model expects, and 95 % of what was measured: calls wait for those."""
    study = load_study()
    highest = max(written_rows_per_s(m) for m in study.runs)
    waits = []
    for share in (0.5, 0.79, 0.9, 0.99):
        found = only(sizings([study], Need(share * highest, days=1e-6)))
        assert found.p99_s is not None and found.rows_per_s is not None
        waits.append(found.p99_s)
        busy = share * highest / found.rows_per_s
        assert any(f"at {rounded(busy)} busy" in why for why in found.why), found.why
    assert waits == sorted(waits) and waits[3] > 2 * waits[1]


def test_files_that_are_as_large_whatever_they_hold_do_not_make_rows_free() -> None:
    runs = [
        synthetic.run("sqlite", {"batch_rows": rows}, 1, i, rows=rows, batch_rows=100,
                      more={"sizes": [{"name": "database", "value": "16000000"}]})
        for i, rows in enumerate((10_000, 20_000))
    ]  # fmt: skip
    (measured,) = [analyse(StudyRecord(synthetic.STUDY, runs)).runs]
    stored = stored_for(measured, 1e6)
    assert stored is not None and 800e6 <= stored <= 1600e6


# How sure.


def test_a_rate_at_what_was_measured_is_no_surer_for_being_capped() -> None:
    made = Forecast(4, 12_000, 9_000, 16_000, 0.95, "m", True, 2.0, {}, {}, None)
    lower = capped(made, 10_000)
    assert (lower.median, lower.lo, lower.hi) == (10_000, 7_500, 10_000)
    assert probability(lower, 10_000) == pytest.approx(0.5)
    assert probability(lower, 9_900) < 0.6
    assert capped(made, 20_000) == made


@pytest.mark.parametrize(("share", "said"), [(0.996, "99 %"), (1.0, "99 %"), (0.856, "85 %"), (0.0, "0 %")])
def test_a_percentage_is_never_rounded_up_to_certainty(share: float, said: str) -> None:
    assert percent(share) == said


def test_a_percentage_is_at_most_what_such_claims_have_scored_and_none_without_scores() -> None:
    need = Need(100_000, days=1 / 86_400)
    none = only(sizings([load_study()], need))
    assert (none.verdict, none.sure) == ("yes", None)
    assert "not scored yet: no percentage" in "\n".join(sizing_lines([none], need))
    some = only(sizings([load_study()], need, records=records(20, 18)))
    assert some.sure == pytest.approx(Record("load", 20, 18).share) and 0.6 < some.sure < 0.8
    assert "of 20 such claims the interval of 18 held" in "\n".join(sizing_lines([some], need))
    bad = only(sizings([load_study()], need, records=records(20, 2)))
    assert bad.sure is not None and bad.sure < 0.1
    other = {key: record for key, record in records(20, 18).items() if key[0] == "batch"}
    assert only(sizings([load_study()], need, records=other)).sure is None, (
        "another kind of claim says nothing"
    )


def test_what_was_measured_is_no_claim_and_has_no_percentage() -> None:
    analysis = batch_study(per_batch_s=1e-9)  # the smallest batch is the best
    found = only(sizings([analysis], Need(20_000, days=BRIEF), records=records(1000, 1000)))
    assert found.measured and found.sure is None
    assert "measured, not predicted" in "\n".join(sizing_lines([found], Need(20_000, days=BRIEF)))


def test_claims_are_counted_by_kind_reach_and_version_and_invalid_runs_not() -> None:
    def entry(kind: str, reach: float, version: int, verdict: str | None, inside: bool = True) -> Any:
        doc = {"kind": kind, "model_version": version, "forecast": {"reach": reach}}
        return doc, None if verdict is None else {"verdict": verdict, "inside": inside}

    found = records_of(
        [
            entry("load", 2, 3, "confirmed"), entry("load", 1.5, 3, "rejected", False), entry("load", 4, 3, "confirmed"),
            entry("batch", 2, 3, "confirmed"), entry("load", 2, 2, "rejected", False), entry("load", 2, 3, "invalid", False),
            entry("load", 2, 3, None),
        ],
        3,
    )  # fmt: skip
    assert found == {
        ("load", 1): Record("load", 2, 1),
        ("load", 2): Record("load", 1, 1),
        ("batch", 1): Record("batch", 1, 1),
    }


@pytest.mark.slow
def test_after_the_quickstart_a_day_is_not_shown_and_the_command_that_is_named_can_run(
    inrush: Inrush,
) -> None:
    words = ("telemetry-quickstart", "sqlite", "--scale", "xs", "-P", "repeats={count=2}")
    assert inrush("run", *words).code == 0
    said = inrush("predict", "--rows-per-s", "50000")
    assert said.code == 0 and "50,000 rows/s: not shown" in said.out
    assert "sure that" not in said.out
    (sizing,) = inrush("predict", "--rows-per-s", "50000", "--json").json["engines"]
    assert sizing["sure"] is None
    command = shlex.split(sizing["next"])
    assert command[:2] == ["inrush", "run"]
    planned = inrush("plan", *command[2:], "--json")
    assert planned.code == 0, planned.err
    (run,) = (r for r in planned.json["runs"] if r["target"]["engine"] == "sqlite")
    rows = max(
        role["work"].get("rows", 0)
        for segment in run["segments"]
        for role in segment.get("roles", ())
        if role["name"] == "writers"
    )
    assert rows >= 50_000 * 86_400 / 4


def test_the_command_refuses_what_makes_no_sense(inrush: Inrush) -> None:
    for words in (["-5"], ["inf"], ["nan"], ["5", "--days", "inf"], ["5", "--p99-ms", "0"]):
        assert inrush("predict", "--rows-per-s", *words).code == 2, words
    said = inrush("predict", "--rows-per-s", "50000", "--p99-ms", "1000")
    assert said.code == 2 and "inrush run batch" in said.err
