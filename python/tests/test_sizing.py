"""What a required rate needs: batch, writers, cores, disk, and how sure; from studies with known truths."""

from __future__ import annotations

import pytest

from inrush.analysis.points import Analysis, analyse
from inrush.errors import UsageError
from inrush.predict.sizing import Need, Sizing, sizing_lines, sizings
from inrush.stats.measures import StudyRecord
from tests import synthetic
from tests.terminal import Inrush
from tests.test_predict import load_study


def batch_study(per_batch_s: float = 2e-3, per_row_s: float = 1e-5) -> Analysis:
    """50,000 rows by one writer in batches; a call takes what its batch costs."""
    runs = [
        synthetic.run("sqlite", {"batch_rows": b}, block, i, batch_rows=b, makespan_s=50_000 / b * (per_batch_s + b * per_row_s))
        for block in (0, 1, 2, 3)
        for i, b in enumerate((100, 1000, 5000, 10_000))
    ]  # fmt: skip
    return analyse(StudyRecord({**synthetic.STUDY, "id": "batches"}, runs))


def only(found: list[Sizing]) -> Sizing:
    (sizing,) = found
    return sizing


def test_a_rate_that_one_writer_holds_needs_one_and_the_batch_of_95_percent() -> None:
    found = only(sizings([batch_study()], Need(20_000)))
    # 19 times the cost of a batch over that of a row: 3,800 rows, and 95,000 rows a second.
    assert found.verdict == "yes" and found.writers == 1
    assert found.batch_rows == pytest.approx(3800, rel=0.02)
    assert found.rows_per_s == pytest.approx(95_000, rel=0.02)
    assert found.sure is not None and found.sure > 0.99


def test_a_latency_limit_makes_batches_smaller_or_says_that_none_is_small_enough() -> None:
    # A call of b rows takes 2 ms and 10 µs a row: 12 ms are 1,000 rows.
    tight = only(sizings([batch_study()], Need(10_000, p99_s=0.012)))
    assert tight.batch_rows == pytest.approx(1000, rel=0.05)
    none = only(sizings([batch_study()], Need(10_000, p99_s=0.001)))
    assert none.verdict == "no" and "already takes longer" in none.why[-1]


def test_more_writers_are_asked_for_until_the_rate_is_held_at_four_fifths() -> None:
    found = only(sizings([load_study()], Need(120_000)))
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
    easy, hard = (only(sizings([load_study()], Need(rate))) for rate in (100_000, 200_000))
    assert easy.sure is not None and hard.sure is not None
    assert 0.5 < hard.sure <= easy.sure <= 1


def test_the_answer_names_its_results_and_nothing_to_answer_from_is_said() -> None:
    told = "\n".join(
        sizing_lines(sizings([batch_study(), load_study()], Need(20_000, 0.5)), Need(20_000, 0.5))
    )
    assert (
        "sqlite" in told
        and "writer" in told
        and "cores" in told
        and "batches, trained" in told
        and "sure" in told
    )
    with pytest.raises(UsageError, match="run batch"):
        sizings([], Need(1000))


def test_the_command_refuses_what_makes_no_sense(inrush: Inrush) -> None:
    assert inrush("predict", "--rows-per-s", "-5").code == 2
    said = inrush("predict", "--rows-per-s", "50000", "--p99-ms", "1000")
    assert said.code == 2 and "inrush run batch" in said.err
