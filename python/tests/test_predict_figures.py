"""A figure that results do not have is refused with those that they have."""

from __future__ import annotations

import pytest

from inrush.errors import UsageError
from inrush.predict.training import STORED, trainings
from tests.test_predict import load_study


@pytest.mark.parametrize(
    ("figure", "nearest"),
    [
        ("writers.rows_per_sec", "writers.rows_per_s"),
        ("makespan_s", "writers.makespan_s"),
        ("stored.byte", STORED),
    ],
)
def test_an_unknown_figure_is_answered_with_all_figures_the_nearest_first(figure: str, nearest: str) -> None:
    analysis = load_study()
    with pytest.raises(UsageError) as refused:
        trainings(analysis, figure=figure)
    head, _, rest = str(refused.value).partition(" nearest first: ")
    names = rest.split(", ")
    assert refused.value.exit_code == 2
    assert head == f"--of {figure}: no such figure; there are," and names[0] == nearest
    assert sorted(names) == sorted({STORED, *(name for m in analysis.runs for name in m.figures)})


def test_a_figure_that_is_there_and_cannot_be_continued_is_not_called_unknown() -> None:
    with pytest.raises(UsageError, match="no group has two numbers of writers"):
        trainings(load_study(), figure="writers.errors")
