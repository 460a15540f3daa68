"""Intervals of a segment: which of them lie in a stretch of time, and how long nothing succeeded in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from inrush.stats.course import Course


def course(
    *cells: tuple[int, int, int], longest_ns: Sequence[int] = (), errors: Sequence[int] = ()
) -> Course:
    """cells: begin, length and calls that succeeded."""
    t_ns, dt_ns, ok = np.array(cells, np.float64).T
    none = np.zeros(len(cells))
    longest = np.array(longest_ns, np.float64) if longest_ns else none
    return Course(t_ns, dt_ns, ok, np.array(errors, np.float64) if errors else none, longest, 2 * longest)


def tens(*ok: int) -> list[tuple[int, int, int]]:
    return [(10 * k, 10, n) for k, n in enumerate(ok)]


@pytest.mark.parametrize(
    ("begin_ns", "end_ns", "per_ns"),
    [
        (0, 50, 15 / 50),
        (10, 50, 14 / 40),
        (11, 50, 12 / 30),
        (0, 39, 6 / 30),
        (0, 30, 6 / 30),
        (0, 29, None),
    ],
)
def test_a_rate_is_of_three_or_more_intervals_that_lie_in_it_whole(
    begin_ns: int, end_ns: int, per_ns: float | None
) -> None:
    found = course(*tens(1, 2, 3, 4, 5)).rate_per_s(begin_ns, end_ns)
    assert found == (None if per_ns is None else pytest.approx(per_ns * 1e9))


def test_an_interval_that_ends_where_a_stretch_begins_is_not_in_it() -> None:
    # The bound is what was empty and two of the longest intervals.
    cells = [(0, 30, 0), *((30 + 10 * k, 10, int(k != 1)) for k in range(11))]
    assert course(*cells).stall_ns(30, 140) == 10 + 2 * 10
    assert course(*cells).stall_ns(29, 140) == 10 + 2 * 30


def test_a_stall_is_what_is_empty_and_no_longer_than_the_longest_call() -> None:
    cells = tens(1, 0, 0, 1, 1, 1, 1, 1)
    took = [5, 0, 0, 27, 5, 5, 5, 5]
    assert course(*cells, longest_ns=took).stall_ns(0, 80) == 27
    assert course(*cells, longest_ns=took, errors=[0, 1, 0, 0, 0, 0, 0, 0]).stall_ns(0, 80) == 40
    # What stood still at the end goes on in the first interval behind it that has calls.
    assert course(*cells, longest_ns=took).stall_ns(10, 30) == 20
    assert course(*cells).stall_ns(200, 260) == 60, "no interval at all"


def test_a_mean_without_calls_has_no_end() -> None:
    assert course(*tens(2, 0), longest_ns=[10, 0]).mean_ns.tolist() == [10, np.inf]
