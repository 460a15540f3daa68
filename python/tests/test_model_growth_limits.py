"""Tables that grow: what no small load has seen is refused, and the device is counted once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inrush.model import growth
from inrush.model.curve import curve
from inrush.model.forecast import Refused
from inrush.model.growth import Store, forecast_growth
from inrush.model.intervals import Scored
from inrush.model.storage import Tree
from inrush.model.table_reads import forecast_read
from tests.test_model_growth import ROWS, STORE, TARGET, Truth, observed, simulated, tree_load


def knee_at(rows: float) -> Store:
    """Its cache holds so many rows of the narrowest leaf that may be meant, and up to six times as many."""
    return Store(1000, 4096, cache_bytes=52 * rows, row_bytes=52, memory_bytes=1e12)


def load_of(store: Store, share: float, read_s: float = 5e-5) -> Truth:
    """Rows that cost alike until the leaves outgrow the cache."""
    tree, knee = store.tree(share), store.knee(share)
    return lambda n: 0.01 + 5e-6 * n + read_s * tree.read(n, knee)


# The device.


@pytest.mark.slow
def test_the_device_is_counted_once_where_the_small_loads_read_from_it_already() -> None:
    # The memory is the engine's cache: all that the fit calls a read is one of the device.
    direct = replace(STORE, memory_bytes=STORE.cache_bytes, read_s=5e-5, direct=True)
    inside = []
    for seed in range(20):
        truth = tree_load(seed)
        made = forecast_growth(simulated(truth, seed), TARGET, direct)
        assert made.median == forecast_growth(simulated(truth, seed), TARGET, STORE).median
        inside.append(made.lo <= observed(truth, seed) <= made.hi)
    assert np.mean(inside) >= 0.9


def test_loads_on_both_sides_of_the_memory_are_refused() -> None:
    of = simulated(tree_load(4), 4)
    fits, straddles = (replace(STORE, memory_bytes=52 * rows, read_s=5e-5) for rows in (200_000, 199_000))
    assert forecast_growth(of, TARGET, fits).median > forecast_growth(of, TARGET, STORE).median
    with pytest.raises(
        Refused, match=r"at 199,?000 rows.*its times are of memory and of the device.*no more"
    ):
        forecast_growth(of, TARGET, straddles)
    read = simulated(read_of(TARGET), 4)
    with pytest.raises(Refused, match="its times are of memory and of the device"):
        forecast_read(read, read, TARGET, Store(memory_bytes=52 * 199_000, row_bytes=52))


def test_memory_that_may_hold_pages_besides_lowers_what_the_device_adds_at_least() -> None:
    of = simulated(tree_load(4), 4)
    bare = replace(STORE, memory_bytes=52e6, read_s=5e-5)
    more = replace(bare, spare_bytes=52e6)
    without, least, most = (forecast_growth(of, TARGET, s) for s in (STORE, more, bare))
    assert (least.median, least.hi) == (most.median, most.hi)
    pages = float(Tree(without.parameters["rows_per_leaf"], 1000).read(TARGET, 2e6)[0])
    assert least.lo == pytest.approx(without.lo + pages * 2.5e-5)
    assert least.lo < most.lo


def test_a_calibrated_interval_lies_round_the_time_with_the_device() -> None:
    of, archive = simulated(tree_load(4), 4), [Scored(16.0, 0.1)] * 9
    bare = replace(STORE, memory_bytes=52e6, read_s=5e-5)
    made = forecast_growth(of, TARGET, bare, archive=archive)
    assert made.calibrated
    assert made.median > 1.05 * forecast_growth(of, TARGET, STORE, archive=archive).median
    assert (made.lo, made.hi) == pytest.approx((made.median / np.exp(0.1), made.median * np.exp(0.1)))


# Knees.


@pytest.mark.parametrize(("rows", "share"), [(100_000, 6.0), (190_000, 1.0), (150_000, 1.5)])
@pytest.mark.parametrize("points", [2, 5])
def test_a_knee_that_was_not_passed_twice_over_is_refused_without_evidence_of_it_too(
    rows: float, share: float, points: int
) -> None:
    store = knee_at(rows)
    for seed in range(10):
        of = simulated(load_of(store, share), seed, rows=ROWS[-3 * points :])
        with pytest.raises(Refused, match=r"outgrow the engine's cache at up to .* Measure a load of"):
            forecast_growth(of, TARGET, store)
    # Within the cache there is nothing to have seen.
    within = forecast_growth(simulated(lambda n: 5e-6 * n, 1), rows, store)
    assert within.model == "proportion" and within.lo <= 5e-6 * rows <= within.hi


def test_a_knee_is_seen_from_twice_its_rows_on() -> None:
    flat = simulated(lambda n: 0.01 + 5e-6 * n, 2)
    # The widest leaves fill the cache at 150,000 rows, and the largest load has 200,000.
    with pytest.raises(Refused, match=r"at up to 150,?000 rows.*Measure a load of 300,?000 rows"):
        forecast_growth(flat, TARGET, knee_at(25_000))
    assert forecast_growth(flat, TARGET, knee_at(16_666)).model == "proportion"


def test_a_tree_whose_rows_have_no_known_size_is_refused() -> None:
    of = simulated(lambda n: 5e-6 * n, 2)
    for made in (forecast_growth, lambda of, to, store: forecast_read(of, None, to, store)):
        with pytest.raises(Refused, match="bytes of a row on disk are not known"):
            made(of, TARGET, Store(1000, 4096, 5e5))


def test_the_middle_of_three_loads_moves_what_is_before_it_and_what_is_beyond() -> None:
    # The rows beyond x = 2 cost 2.1 and 3 s more. Noise of 3 % at the middle counts on both sides: it explains the first.
    assert growth.fall(curve([1, 2, 3], [10, 11, 14.1])) is None
    assert growth.fall(curve([1, 2, 3], [10, 11, 15])) is not None


def test_a_load_of_no_rows_changes_no_leaf() -> None:
    tree = Tree(rows_per_leaf=100, batch_rows=1000)
    assert tree.written([0, 1]) == pytest.approx([0, 1e-3])
    assert tree.read([0.0], 1e5).tolist() == [0.0]


# Reads.


def read_of(knee: float, missed_s: float = 1e-7) -> Truth:
    return lambda n: 1e-4 + 2e-9 * n + missed_s * np.maximum(0.0, n - knee)


def test_a_read_beyond_a_cache_that_no_table_outgrew_is_refused() -> None:
    store = knee_at(1e6)
    warm = simulated(read_of(1e6), 1)
    with pytest.raises(Refused, match=r"outgrow the engine's cache at up to .*predict up to 1,?000,?000"):
        forecast_read(warm, None, TARGET, store)
    made = forecast_read(warm, None, 1e6, store)
    assert made.lo <= 1e-4 + 2e-3 <= made.hi


def test_a_read_whose_misses_began_at_the_end_of_what_was_measured_is_refused() -> None:
    store = knee_at(38_000)
    warm = simulated(read_of(store.knee(3.0)), 1)
    assert growth.fall(warm) is not None
    with pytest.raises(Refused, match="may outgrow the engine's cache at up to"):
        forecast_read(warm, None, TARGET, store)


def test_a_read_whose_misses_were_seen_goes_on_by_them_and_the_device_is_in_them() -> None:
    truth = read_of(STORE.knee(3.0))
    direct = replace(STORE, memory_bytes=STORE.cache_bytes, direct=True)
    for store in (STORE, direct):
        made = forecast_read(simulated(truth, 3), None, TARGET, store)
        assert made.model == "pages"
        assert made.median == pytest.approx(float(truth(np.array([TARGET]))[0]), rel=0.15)
        assert made.lo <= observed(truth, 3) <= made.hi


def test_a_cold_read_that_no_law_describes_prices_no_pages() -> None:
    small = Store(memory_bytes=52 * 8e5, row_bytes=52)
    warm = simulated(lambda n: 1e-4 + 2e-9 * n, 1)
    bent = simulated(lambda n: np.where(n < 150_000, 1e-4 + 5e-8 * n, 0.03), 2)
    with pytest.raises(Refused, match="misses the largest point measured"):
        forecast_read(warm, bent, TARGET, small)


@pytest.mark.parametrize(
    ("cache_bytes", "said"),
    [
        (52 * 2_000_000, "of reads in memory"),
        (52 * 1_000, "that went to the device already"),
        (None, "that went to"),
    ],
)
def test_what_a_small_read_went_to_is_said(cache_bytes: float | None, said: str) -> None:
    """An engine that goes round the kernel's cache has one of its own; a step behind a cold one has nothing in memory."""
    memory = cache_bytes or 52 * 2_000_000
    store = Store(1000, 16_384, cache_bytes, 52, memory, direct=True)
    warm = simulated(lambda n: 1e-4 + 2e-9 * n, 1)
    assert said in " ".join(forecast_read(warm, None, 800_000, store).why)


def test_a_target_too_far_names_the_load_to_make_and_its_hours() -> None:
    of = curve([1e6, 3e6, 1e7], [10.0, 30.0, 100.0])
    with pytest.raises(
        Refused,
        match=r"734 times the largest .* measure at 229,375,000 or beyond first, which takes 38 min at the pace",
    ):
        forecast_growth(of, 7.34e9, Store())


def test_a_target_too_far_is_claimed_where_that_is_asked_for_with_an_interval_as_much_wider() -> None:
    of = curve([1e6, 3e6, 1e7], [10.0, 30.0, 100.0])
    edge, far = (
        forecast_growth(of, 3.2e8, Store(), far=True),
        forecast_growth(of, 1.024e10, Store(), far=True),
    )
    assert edge == forecast_growth(of, 3.2e8, Store()), "within the reach nothing changes"
    assert far.reach == 1024 and far.median == pytest.approx(102_400, rel=0.01)
    plain = forecast_growth(of, 3.2e8, Store())
    # 1,024 is twice 32 on logs; the law is a proportion, whose own width hardly grows.
    assert np.log(far.hi / far.median) == pytest.approx(2 * np.log(plain.hi / plain.median), rel=0.05)
    assert np.log(far.median / far.lo) == pytest.approx(2 * np.log(plain.median / plain.lo), rel=0.05)
    assert not far.calibrated and "far: 1024 times the largest point measured" in " ".join(far.why)
    rate = forecast_growth(of, 1.024e10, Store(), rate=True, far=True)
    assert (rate.lo, rate.hi) == pytest.approx((1.024e10 / far.hi, 1.024e10 / far.lo))
    read = curve([1e6, 3e6, 1e7], [1e-4, 1e-4, 1e-4])
    with pytest.raises(Refused, match="1024 times"):
        forecast_read(read, None, 1.024e10, Store(), steady=True)
    assert "far: 1024" in " ".join(forecast_read(read, None, 1.024e10, Store(), steady=True, far=True).why)
