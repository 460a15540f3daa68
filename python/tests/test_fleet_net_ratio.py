"""What the benchmark of a slow way makes its ratio of: pairs of runs whose figures hold."""

from __future__ import annotations

from typing import Any

import pytest

from benches.fleet_net import FIGURES, Measured, concluded, is_valid, usable


def test_a_pair_with_an_invalid_run_enters_no_ratio() -> None:
    nothing: Any = None
    good, bad = Measured(nothing, True), Measured(nothing, False)
    one, other = {"clients.ops_per_s": 1.0}, {"clients.ops_per_s": 2.0}
    pairs = [
        (good, one, good, other),
        (bad, one, good, other),
        (good, one, bad, other),
        (bad, one, bad, other),
    ]
    assert usable(pairs) == [(one, other)]


@pytest.mark.parametrize(
    ("valid", "left", "code"),
    [([True] * 4, 0, 0), ([True, True, True, False], 1, 0), ([True, False, False, False], 3, 1)],
)
def test_pairs_that_were_left_out_are_counted_and_one_that_holds_makes_no_ratio(
    valid: list[bool], left: int, code: int
) -> None:
    nothing: Any = None
    fast = dict.fromkeys(FIGURES, 2.0)
    # What an invalid one shows would move the ratio.
    pairs = [
        (
            Measured(nothing, holds),
            dict.fromkeys(FIGURES, 1.0 if holds else 50.0),
            Measured(nothing, True),
            fast,
        )
        for holds in valid
    ]
    lines, ended = concluded(pairs)
    assert ended == code and lines[0].startswith(f"blocks: 4, of them {left} left out")
    assert lines[1:] == (
        [f"{figure}: with / without 0.500 [0.500, 0.500]" for figure in FIGURES]
        if code == 0
        else ["no ratio: it takes two blocks that hold; --measure-s says how long a run is"]
    )


@pytest.mark.parametrize(("code", "valid"), [(0, True), (3, False)])
def test_a_run_of_which_inrush_said_that_a_figure_is_invalid_does_not_hold(code: int, valid: bool) -> None:
    assert is_valid(code) is valid
