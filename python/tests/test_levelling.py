"""What a pipeline study asks is in its first sentence: from which size on doubling brings little, and what is full first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from inrush.analysis import sentence as sentences
from inrush.analysis.answer import answer
from inrush.analysis.points import Analysis
from inrush.analysis.wording import say_bytes
from inrush.guards.analyse import analyse
from inrush.report.first_sentence import first_sentence
from inrush.report.pipeline import files_figure
from inrush.stats.files import Files
from inrush.stats.record import StudyRecord
from tests import synthetic

MB = 10**6
ANSWER = {"kind": "levels_off", "of": "writers.bytes_per_s", "along": "file_bytes", "per": ["engine"]}


def levelling(seconds: Mapping[int, Sequence[float]]) -> Analysis:
    """Size of a file -> seconds that equal bytes take in each block: the rate is their reciprocal."""
    runs = [
        synthetic.run("duckdb", {"file_bytes": size}, block, makespan_s=took, resources=False, interval_s=10.0, rows=20_000)
        for size, each in seconds.items()
        for block, took in enumerate(each, start=1)
    ]  # fmt: skip
    return analyse(StudyRecord({**synthetic.STUDY, "accept": {}, "answer": ANSWER}, runs))


def sentence(analysis: Analysis) -> str:
    return sentences.sentence(analysis, answer(analysis))


def test_the_first_sentence_names_the_size_from_which_doubling_gains_little_and_what_small_files_lose() -> (
    None
):
    said = sentence(levelling({MB: [3.1, 3.2, 3.0], 4 * MB: [1.0, 1.02, 0.98], 16 * MB: [1.0, 1.03, 0.98]}))
    assert " from files of 4 MB; doubling further gains less than 5 %; files of 1 MB are 3.1" in said
    assert " times slower" in said and "faster" not in said
    assert "95 % interval: " in said and "(3 runs)" in said


def test_where_every_doubling_still_gains_the_sentence_names_the_largest_and_what_the_last_step_gained() -> (
    None
):
    said = sentence(levelling({MB: [4.0, 4.0, 4.0], 2 * MB: [2.0, 2.0, 2.0], 4 * MB: [1.0, 1.0, 1.0]}))
    assert (
        " from files of 4 MB, the largest; no size is shown from which doubling gains less than 5 %: " in said
    )
    assert (
        "from 2 MB to 4 MB it gained +100 % a doubling; files of 1 MB are 4" in said and "at most" not in said
    )


def test_a_small_gain_that_is_not_shown_to_be_small_says_its_limit() -> None:
    said = sentence(levelling({MB: [1.0, 1.2, 0.9], 2 * MB: [0.9, 1.25, 0.95]}))
    assert "at most +" in said and "at 95 % confidence" in said and "is not distinguishable" in said


def test_a_larger_file_that_is_slower_is_said_so() -> None:
    said = sentence(levelling({MB: [1.0, 1.0, 1.0], 2 * MB: [2.0, 2.0, 2.0]}))
    assert "files of 1 MB; doubling further gains less than 5 %" in said


def test_the_files_of_all_groups_stand_once_a_panel_a_size() -> None:
    one = Files(
        np.zeros(2, int), np.zeros(2, int), np.array([0.0, 1.0]), np.array([0.1, 0.2]), np.array([1e6, 1e6])
    )
    analysis = levelling({MB: [1.0], 2 * MB: [1.0]})
    of = {float(dict(m.point)["file_bytes"]): [(m, one)] for m in analysis.runs}
    found = answer(analysis)
    assert found is not None
    (figure,) = files_figure([((("engine", "duckdb"),), of), ((("engine", "sqlite"),), of)], found)
    assert len(figure.spec["vconcat"]) == 2 and "Every file of every run" in figure.title


def test_a_size_has_no_digits_that_say_nothing() -> None:
    assert say_bytes("file_bytes", 20_000) == "20 kB" and say_bytes("file_bytes", 1_500_000) == "1.5 MB"


def test_a_study_without_pipelines_says_nothing_of_resources() -> None:
    analysis = analyse(synthetic.study({("duckdb", 100): 4.0, ("duckdb", 200): 2.0}, blocks=2))
    assert first_sentence(analysis, answer(analysis)) == sentence(analysis)
    assert "Full first" not in sentence(analysis)
