"""Clocks of other hosts: what echoes say of them, whatever the network does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inrush.agent.clocks import Clock
from inrush.fleet.echo import MOST_DRIFT, Echo, Offset, Witnesses, agree, between, contradicts, known, offset

SECOND = 10**9
AHEAD = st.integers(-(10**16), 10**16)
#: Of one echo, ns: when it was asked, the ways there and back, and the answering.
WAYS = st.tuples(st.integers(0, 10**10), st.integers(0, 10**8), st.integers(0, 10**8), st.integers(0, 10**7))

#: Of a good network: what a clock gains in seconds is more than such ways leave open.
SHORT = st.tuples(st.just(0), st.integers(0, 10**5), st.integers(0, 10**5), st.just(0))


def echo(ahead_ns: int, asked: int, there: int, back: int, takes: int) -> Echo:
    heard = asked + there + ahead_ns
    return Echo(asked, heard, heard + takes, asked + there + takes + back)


@given(AHEAD, st.lists(WAYS, min_size=1, max_size=20))
def test_the_true_offset_lies_within_the_error_however_the_way_is_shared_out(
    ahead_ns: int, ways: list[tuple[int, int, int, int]]
) -> None:
    echoes = [echo(ahead_ns, *way) for way in ways]
    found = offset(echoes)
    assert abs(found.ahead_ns - ahead_ns) <= found.error_ns
    assert found.error_ns == min((there + back) // 2 + 1 for _, there, back, _ in ways), (
        "the shortest way counts"
    )
    clock = known(found)
    assert abs(clock.here(clock.there(5 * SECOND)) - 5 * SECOND) <= 1


@given(
    AHEAD,
    st.floats(-MOST_DRIFT, MOST_DRIFT),
    st.one_of(st.integers(SECOND, 20 * SECOND), st.integers(0, 3600 * SECOND)),
    st.one_of(SHORT, WAYS),
    st.one_of(SHORT, WAYS),
    st.floats(0, 1),
)
@example(0, 4e-4, 5 * SECOND, (0, 0, 0, 0), (0, 0, 0, 0), 1.0)
@example(0, -MOST_DRIFT, SECOND, (0, 0, 0, 0), (0, 0, 0, 0), 0.0)
def test_between_two_looks_a_drifting_clock_is_known_to_its_error(
    ahead_ns: int, drift: float, span_ns: int, first: tuple[int, ...], last: tuple[int, ...], at: float
) -> None:
    """The clock there shows there(h) = h + ahead + drift·h for the time h here."""

    def look(way: tuple[int, ...], later_ns: int) -> Offset:
        asked, there, back, _ = way
        here = asked + later_ns
        heard = here + there
        shows = heard + ahead_ns + round(drift * heard)
        return offset([Echo(here, shows, shows, heard + back)])

    looked_ns = first[1] + first[2]
    before, after = look((0, *first[1:]), 0), look((0, *last[1:]), looked_ns + span_ns)
    assert agree(before, after)
    clock = between(before, after)
    # A run is between the two.
    here = looked_ns + round(at * span_ns)
    true = here + ahead_ns + round(drift * here)
    # Whole ns, and of two small drifts the product.
    assert abs(clock.here(true) - here) <= clock.error_ns * (1 + MOST_DRIFT) + 4
    worst, took_ns = max(before.error_ns, after.error_ns), span_ns + looked_ns + last[1]
    if clock.drift:
        assert clock.error_ns == worst
    else:
        assert clock.error_ns <= worst + MOST_DRIFT * took_ns * 1.001 + 1


@given(AHEAD, WAYS, WAYS, st.integers(1, 10**12), st.sampled_from([-1, 1]))
def test_a_clock_that_was_set_is_found_and_one_that_was_not_is_not(
    ahead_ns: int, first: tuple[int, int, int, int], then: tuple[int, int, int, int], more_ns: int, way: int
) -> None:
    look = offset([echo(ahead_ns, *first)])
    assert not contradicts(look, echo(ahead_ns, *then)), "a slow way alone is no lie"
    # Both bounds, and what a clock may drift by over all that is drawn here, the step itself among it.
    room = look.error_ns + echo(ahead_ns, *then).error_ns + 1e-3 * 2 * 10**10
    step_ns = round(2.01 * room) + more_ns
    later = echo(ahead_ns + way * step_ns, *then)
    assert contradicts(look, later)


def test_an_answer_before_the_question_is_no_clock() -> None:
    good = Echo(0, 100, 200, 300)
    for bad in (replace(good, answered_ns=50), replace(good, answered_ns=900)):
        assert not bad.possible and contradicts(known_look(), bad)
        with pytest.raises(ValueError, match="before it was asked"):
            offset([good, bad])


def known_look() -> Offset:
    return offset([Echo(0, 100, 200, 300)])


def test_near_looks_that_differ_have_the_difference_as_their_error() -> None:
    clock = between(Offset(0, 1000, 400), Offset(SECOND, 1500, 900))
    assert (clock.ahead_ns, clock.drift) == (1000, 0.0) and clock.error_ns == 500 + 900
    # 40 µs in a second beside bounds of 1 µs: the clock was off by as much at one of the two.
    assert between(Offset(0, 0, 1000), Offset(SECOND, 40_000, 1001)).error_ns == 41_001
    # A clock gains no more than 500 ppm, however bad the second look is.
    assert between(Offset(0, 0, 1000), Offset(SECOND, 0, 10**7)).error_ns == 501_000


def along(ahead_ns: Callable[[float], float], seconds: int, way_ns: int = 200_000) -> tuple[Clock, Clock]:
    """The clock by two looks, and as judged by an echo each 0.4 s between them. ahead_ns: by seconds."""

    def heard(at_s: float) -> Echo:
        return echo(round(ahead_ns(at_s)), round(at_s * SECOND), way_ns // 2, way_ns // 2, 0)

    line = between(offset([heard(0)]), offset([heard(seconds)]))
    witnesses = Witnesses()
    for n in range(int(seconds / 0.4)):
        witnesses.heard(heard(n * 0.4))
    return line, witnesses.judged(line)


@pytest.mark.parametrize(("step_ns", "seconds"), [(25_000_000, 60), (-25_000_000, 60), (1_700_000_000, 3600)])
def test_a_step_within_what_clocks_drift_is_part_of_the_error(step_ns: int, seconds: int) -> None:
    line, judged = along(lambda s: step_ns if s > seconds / 3 else 0, seconds)
    before, after = Offset(0, 0, 200_000), Offset(seconds * SECOND, step_ns, 200_000)
    assert agree(before, after), "two looks alone call it a drift"
    assert line.error_ns < 1_000_000
    # Just before it, or behind it, the line is off by two thirds of it.
    assert judged.error_ns >= abs(step_ns) * 2 / 3 * 0.75
    assert replace(judged, error_ns=line.error_ns) == line


@given(st.floats(-MOST_DRIFT, MOST_DRIFT), st.integers(1, 120), st.integers(0, 10**6))
def test_a_clock_that_only_drifts_keeps_its_error(drift: float, seconds: int, way_ns: int) -> None:
    line, judged = along(lambda s: drift * s * SECOND, seconds, way_ns)
    assert judged.error_ns <= line.error_ns + 2


def test_of_each_ten_seconds_the_shortest_way_is_kept() -> None:
    witnesses = Witnesses()
    for n in range(60):
        witnesses.heard(echo(0, n * SECOND, 100 + n % 10, 100, 0))
    assert [look.error_ns for look in witnesses.best.values()] == [101] * 6
