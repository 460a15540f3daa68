"""The measurement that is named halves the interval, when it is made: on simulated loads whose law is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from inrush.commands.predict import claim_lines
from inrush.errors import UsageError
from inrush.model.curve import Curve, curve
from inrush.model.forecast import Forecast, Refused
from inrush.model.growth import Store, forecast_growth
from inrush.model.halving import HALF, Halving, halving, measured, width
from inrush.model.storage import merged
from inrush.predict.claims import far_off
from inrush.predict.growth import Growth, forecast_of_growth, halved_by
from inrush.predict.training import Training
from tests.simulated_loads import FloatArray

SIZES = 1e5 * 2.0 ** np.arange(5)
TO = float(16 * SIZES[-1])
SEEDS = 8


class Simulated:
    """Loads of SIZES, a few runs each, and those that are made after."""

    def __init__(self, kind: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        runs, self.noise = int(rng.integers(1, 4)), rng.uniform(0.01, 0.08)
        self.store, self.law = Store(1000), law_of(kind, rng)
        if kind == "tree":
            self.store, self.law = a_tree(rng)
        self.rng = rng
        self.x = np.repeat(SIZES, runs)
        self.y = self.load(self.x)

    def load(self, x: FloatArray) -> FloatArray:
        return self.law(x) * np.exp(self.noise * self.rng.normal(size=len(x)))

    def by(self, of: Curve, to: float) -> Forecast:
        return forecast_growth(of, to, self.store)

    def after(self, found: Halving) -> Curve:
        """With what was named, measured."""
        more = np.tile(self.x, found.times - 1)
        if found.x is not None:
            more = np.append(more, np.full(found.runs, found.x))
        return curve(np.append(self.x, more), np.append(self.y, self.load(more)))


def law_of(kind: str, rng: np.random.Generator) -> Callable[[FloatArray], FloatArray]:
    level_s = 3e-7 * rng.uniform(0.5, 2) if kind == "merges" else 0.0
    return lambda n: np.asarray(0.5 + 2e-6 * n + level_s * merged(n, 1000))


def a_tree(rng: np.random.Generator) -> tuple[Store, Callable[[FloatArray], FloatArray]]:
    """That left the engine's cache in the small loads."""
    store = Store(1000, 16_384, rng.uniform(1e5, 2e5) * 100, 100.0, memory_bytes=1e12)
    tree, knee = store.tree(1.0), store.knee(1.0)
    write_s, read_s = 2e-5 * rng.uniform(0.5, 2), 1e-4 * rng.uniform(0.3, 3)
    return store, lambda n: np.asarray(
        0.3 + 2e-6 * n + write_s * tree.written(n) + read_s * tree.read(n, knee)
    )


@pytest.mark.parametrize("kind", ["proportion", "merges", "tree"])
@pytest.mark.slow
def test_after_the_named_measurement_the_interval_is_about_half_as_wide(kind: str) -> None:
    ratios, named = [], 0
    for seed in range(SEEDS):
        loads = Simulated(kind, seed)
        of = curve(loads.x, loads.y)
        try:
            before = loads.by(of, TO)
        except Refused:
            continue
        found = halving(of, TO, loads.by)
        if found is None:
            continue
        named += 1
        assert found.before == pytest.approx(np.exp(width(before))) and found.after < found.before
        assert np.log(found.after) <= HALF * np.log(found.before)
        try:
            ratios.append(width(loads.by(loads.after(found), TO)) / width(before))
        except Refused:
            ratios.append(float("inf"))
    assert named >= 0.5 * SEEDS, "others are refused: no small load shows what a page costs"
    assert np.median(ratios) <= 0.6, ratios


def fixed(half: float, floor: float = 0.0) -> Callable[[Curve, float], Forecast]:
    """An interval that narrows with the largest size alone, down to a floor."""

    def by(of: Curve, to: float) -> Forecast:
        wide = max(floor, half * to / float(of.x[-1]) / 16)
        return Forecast(to, to, to * np.exp(-wide), to * np.exp(wide), 0.9, "m", False, 1.0, {}, {}, None)

    return by


def test_the_cheapest_of_those_that_halve_is_named() -> None:
    of = curve(SIZES, SIZES)
    found = halving(of, TO, fixed(1.0))
    assert found is not None
    # Four times the largest size quarters it; one run is enough, and runs of other sizes do nothing.
    assert (found.x, found.runs, found.times) == (4 * SIZES[-1], 1, 1)
    assert (found.work, found.takes) == (4 * SIZES[-1], 4 * SIZES[-1])
    assert (np.log(found.before), np.log(found.after)) == pytest.approx((1.0, 0.25))


def test_nothing_is_named_where_nothing_halves() -> None:
    assert halving(curve(SIZES, SIZES), TO, fixed(1.0, floor=0.8)) is None


def test_a_size_that_the_law_refuses_is_not_named() -> None:
    def by(of: Curve, to: float) -> Forecast:
        if len(of.x) > len(SIZES) and of.x[-1] < 8 * SIZES[-1]:
            raise Refused("the small loads lie on both sides of a knee")
        return fixed(1.0)(of, to)

    found = halving(curve(SIZES, SIZES), TO, by)
    assert found is not None and found.x == 8 * SIZES[-1]


def test_runs_that_are_thought_of_keep_the_scatter_that_was_seen() -> None:
    x = np.repeat(SIZES, 3)
    of = curve(x, x * np.exp(0.05 * np.random.default_rng(1).normal(size=len(x))))
    (more,) = measured(of, Halving(None, 0, 4, 0.0), fixed(1.0))
    assert (more.runs == 12).all() and more.df == of.df + 45
    assert more.squares / more.df == pytest.approx(of.squares / of.df, rel=0.2)
    (again,) = measured(of, Halving(float(SIZES[-1]), 5, 1, 0.0), fixed(1.0))
    assert again.runs.tolist() == [3, 3, 3, 3, 8] and again.df == of.df + 5
    new = measured(of, Halving(2 * float(SIZES[-1]), 3, 1, 0.0), fixed(1.0))
    assert [len(c.x) for c in new] == [6, 6, 6] and len({float(c.y[-1]) for c in new}) == 3


def test_a_rate_is_halved_by_what_halves_the_time_and_rows_are_those_of_the_factor() -> None:
    loads = Simulated("merges", 2)
    seconds = list(zip((loads.x / 1000).tolist(), loads.y.tolist(), strict=True))
    rates = [(n, n * 1000 / s) for n, s in seconds]
    of_time = halved_by(Growth("load", loads.store, unit=1000), seconds, TO / 1000)
    of_rate = halved_by(Growth("rate", loads.store, unit=1000), rates, TO / 1000)
    assert of_time is not None and of_rate is not None
    assert (of_rate.x, of_rate.runs, of_rate.times) == (of_time.x, of_time.runs, of_time.times)
    assert of_rate.takes == pytest.approx(of_time.takes) and of_rate.takes > 0
    in_rows = halving(curve(loads.x, loads.y), TO, loads.by)
    assert in_rows is not None and of_time.work == pytest.approx(in_rows.work / 1000)
    size = halved_by(Growth("size", Store()), seconds, TO / 1000)
    assert size is not None and size.takes == 0, "bytes say nothing of how long a load takes"


def claimed(figure: str, halved: Halving | None, median: float = 72_840.0) -> list[str]:
    made = Forecast(TO, median, median / 1.2, median * 1.2, 0.9, "merges", False, 16.0, {}, {}, None)
    return claim_lines({
        "forecast": made.document(), "figure": figure, "group": {"engine": "mysql"}, "along": "rows", "id": "a", "sha256": "0",
        "training": [{"x": x, "value": 1.0, "runs": 1.0} for x in SIZES.tolist()],
        **({"halved_by": dict(halved.__dict__)} if halved else {}),
    })  # fmt: skip


def test_a_claim_is_said_in_hours_with_the_measurement_that_halves_its_interval() -> None:
    lines = claimed("load.duration_s", Halving(6.4e6, 2, 1, 1.28e7, 11_160.0, 1.2, 1.09))
    assert "  that is 20 h 14 min [16 h 52 min, 24 h 17 min]" in lines
    assert (
        "  to halve this interval (now a factor of 1.20): measure 2 runs of rows 6,400,000 (3 h 6 min of loading); a factor of 1.09 then"
        in lines
    )
    again = claimed("load.duration_s", Halving(float(SIZES[-1]), 1, 1, 1.6e6, 30.0, 1.2, 1.09), median=80.0)
    assert not any("that is" in line for line in again)
    assert any("measure 1 more run of rows 1,600,000 (30 s of loading)" in line for line in again)
    every = claimed("load.after_bytes", Halving(None, 0, 5, 1e7, 0.0, 1.2, 1.09))
    assert any(
        "measure 5 times the runs of every size, as the claim is about the mean of as many; " in line
        for line in every
    )
    assert not any("to halve" in line for line in claimed("load.duration_s", None))


def test_the_forecast_of_a_growing_table_is_as_it_was() -> None:
    """The same law for rates and times, sizes and reads, in units of the factor."""
    loads = Simulated("merges", 3)
    points = list(zip((loads.x / 10).tolist(), loads.y.tolist(), strict=True))
    made = forecast_of_growth(Growth("load", loads.store, unit=10), points, TO / 10)
    plain = loads.by(curve(loads.x, loads.y), TO)
    assert (made.median, made.lo, made.x) == pytest.approx((plain.median, plain.lo, TO / 10))
    rates = [(n, n * 10 / s) for n, s in points]
    rate = forecast_of_growth(Growth("rate", loads.store, unit=10), rates, TO / 10)
    assert rate.median == pytest.approx(TO / plain.median) and rate.lo == pytest.approx(TO / plain.hi)


def test_a_far_claim_is_halved_by_a_measurement_that_is_named_too() -> None:
    loads = Simulated("proportion", 3)
    points = list(zip(loads.x.tolist(), loads.y.tolist(), strict=True))
    far = Growth("load", loads.store, far=True)
    made = forecast_of_growth(far, points, 100 * loads.x[-1])
    assert made.reach == pytest.approx(100)
    found = halved_by(far, points, 100 * loads.x[-1])
    assert found is not None and np.log(found.after) <= HALF * np.log(found.before)
    size = Training((), "rows", "load.after_bytes", "rows", (), (), growth=Growth("size", Store()))
    with pytest.raises(UsageError, match=r"--far: load\.after_bytes is no time or rate"):
        far_off(size)
    assert far_off(replace(size, growth=replace(far, far=False))).growth == far
