"""A load taken apart: each cost is found where it was put, and what cannot be separated is called so."""

from __future__ import annotations

import numpy as np
import pytest

from inrush.model.decomposition import (
    LEAST,
    Decomposed,
    Name,
    Part,
    alike,
    decompose,
    explained,
    units,
)
from inrush.model.forecast import Refused
from inrush.model.outgrown import shape
from tests.simulated_loads import FloatArray, hump, load

SEEDS = 25


def part(of: Decomposed, name: Name) -> Part:
    return next(p for p in of.parts if name in p.names)


def drawn_places(sizes: FloatArray, seed: int = 7) -> FloatArray:
    """By no rule of the size."""
    return np.round(np.exp(np.random.default_rng(seed).uniform(np.log(5), np.log(500), len(sizes))))


def test_costs_without_noise_are_found_as_they_were_put_in() -> None:
    sizes = hump(400)
    of = load(
        sizes, byte_s=7e-8, file_s=0.2, file_byte_s=5e-14, place_s=1e-3, table_s=lambda n: 1e-16 * n,
        places=drawn_places(sizes), noise=0.0,
    )  # fmt: skip
    found = decompose(of)
    cost = found.cost
    assert cost.coefficients == pytest.approx([7e-8, 0.2, 5e-14, 1e-3, 1e-16], rel=1e-3)
    assert cost.knee is None and found.r2.value == pytest.approx(1.0, abs=1e-6)
    assert sum(p.share.value for p in found.parts) == pytest.approx(found.r2.value)
    assert all(0 < p.adds < 1 for p in found.parts)
    assert found.rest.value == pytest.approx(0.0, abs=1e-6)
    assert found.inseparable == () and found.unseen == ()
    by_row = decompose(of, "row").cost
    assert by_row.each_s == pytest.approx(7e-8 * 26, rel=1e-3)
    assert (by_row.file_s, by_row.place_s) == pytest.approx((0.2, 1e-3), rel=1e-3)


@pytest.mark.slow
def test_the_size_of_files_is_not_taken_for_the_table() -> None:
    """The original's profile; nothing of its table costs anything."""
    small = []
    for seed in range(SEEDS):
        found = decompose(load(hump(200), file_byte_s=7e-14, seed=seed))
        assert part(found, "size").share.value > 0.6
        table = part(found, "table")
        small.append(table.share.value < 0.06 and table.adds < 0.01)
    assert sum(small) >= 0.95 * SEEDS


@pytest.mark.slow
def test_a_table_that_leaves_memory_is_not_taken_for_the_size_of_files() -> None:
    """Sizes vary without order, and cost nothing."""
    for seed in range(SEEDS):
        sizes = np.random.default_rng(seed).permutation(hump(200))
        whole = sizes.sum() / 26

        def missed(n: FloatArray, full: float = 0.2 * whole) -> FloatArray:
            return 2e-7 * np.maximum(0, 1 - full / n)

        found = decompose(load(sizes, table_s=missed, seed=seed))
        assert found.parts[0].names == ("table",) and found.parts[0].share.value > 0.6
        assert part(found, "size").share.value < 0.06
        assert found.cost.knee is not None and 0.1 <= found.cost.knee / whole <= 0.3


@pytest.mark.slow
def test_shares_of_parts_and_their_intervals_hold_what_the_simulation_put_in() -> None:
    """The truth is the share in 20,000 files of the same law; half of the variance is noise."""

    def one(n: int, seed: int) -> Decomposed:
        sizes = np.random.default_rng(1000 + seed).permutation(hump(n, 4.0))
        return decompose(
            load(
                sizes,
                file_byte_s=2e-14,
                place_s=4e-4,
                places=drawn_places(sizes, seed),
                noise=0.25,
                seed=seed,
            )
        )

    truth = one(20_000, 5)
    held = {"size": 0, "places": 0, "rest": 0}
    for seed in range(SEEDS):
        found = one(300, 100 + seed)
        for name in ("size", "places"):
            share, true = part(found, name).share, part(truth, name).share.value  # type: ignore[arg-type]
            held[name] += share.low <= true <= share.high
        held["rest"] += found.rest.low <= truth.rest.value <= found.rest.high
    assert part(truth, "size").share.value > 0.1 and part(truth, "places").share.value > 0.1
    assert min(held.values()) >= 0.8 * SEEDS, held


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_places_that_follow_from_the_size_are_said_to_be_inseparable_from_it(power: float) -> None:
    """Every file touches as many, within a few; as many for each byte; the square of it."""
    sizes = hump(300)
    few = np.random.default_rng(1).integers(-2, 3, 300)
    places = np.maximum(1, np.round(100 * (sizes / 1e6) ** power) + few)
    found = decompose(load(sizes, place_s=1e-3, places=places))
    assert {"size", "places"} <= set(found.parts[0].names)
    assert any(
        "size of files and the places that a file touches are inseparable" in s for s in found.inseparable
    )


def test_files_that_only_grow_are_inseparable_from_the_table_and_no_rate_of_files_alike_is_made() -> None:
    of = load(np.linspace(1e6, 8e6, 300), table_s=lambda n: 1e-14 * n)
    found = decompose(of)
    assert set(found.parts[0].names) == {"size", "table"}
    assert "the size of files and the size of the table are inseparable" in found.inseparable[0]
    assert alike(of, found) is None


def test_files_of_one_size_show_the_table_and_unknown_places_are_said() -> None:
    found = decompose(load(np.full(100, 1e6), table_s=lambda n: 3e-14 * n))
    assert [p.names for p in found.parts] == [("table",)]
    assert found.parts[0].share.value > 0.5 and found.parts[0].times > 1.5
    assert found.unseen[0].startswith("files are of one size, 1,000,000 bytes")
    assert "places that files touch are not known" in found.unseen[1]


def test_too_few_files_are_refused_and_those_without_rows_do_not_count() -> None:
    with pytest.raises(Refused, match=f"23 files .* from {LEAST} on"):
        decompose(load(hump(LEAST - 1)))
    sizes = np.append(hump(LEAST - 1), [0.0, 0.0])
    with pytest.raises(Refused, match="23 files"):
        decompose(units(np.ones(len(sizes)), sizes, np.cumsum(sizes)))
    with pytest.raises(Refused, match="rows of each file are not known"):
        decompose(units(np.ones(40), hump(40), np.arange(40)), "row")


def test_a_file_counts_by_what_it_holds() -> None:
    """Half of the files are tiny, dear by what a file costs, and hold a thousandth of the load: they are no tenth of its
    variance. Intervals of one length count alike."""
    sizes = np.where(np.arange(200) % 2 == 0, 1e6, 1e3) * np.linspace(1, 2, 200)
    of = load(sizes, file_s=0.001, table_s=lambda n: 2e-14 * n)
    assert part(decompose(of), "table").share.value > 0.5
    assert part(decompose(of, weighted=False), "table").share.value < 0.01


def test_with_files_alike_a_dip_of_large_files_is_gone_and_the_fall_of_the_table_stays() -> None:
    sizes = hump(400)
    flat = load(sizes, file_byte_s=1e-13, noise=0.05)
    rate = alike(flat, decompose(flat))
    assert rate is not None
    assert shape(flat.before, flat.bytes / flat.seconds).word == "refuted"
    assert shape(flat.before, rate).word == "undecided"
    whole = sizes.sum() / 26
    both = load(
        sizes, file_byte_s=1e-13, noise=0.05, table_s=lambda n: 4e-7 * np.maximum(0, 1 - 0.2 * whole / n)
    )
    rate = alike(both, decompose(both))
    assert rate is not None and shape(both.before, rate).word == "confirmed"


def test_r2_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=200), rng.uniform(0.5, 2, 200)
    y = 2 * x + rng.normal(size=200)
    r = np.cov(x, y, aweights=w, ddof=0)
    design = np.stack([np.ones_like(x), x], axis=1)
    assert explained(design, y, w) == pytest.approx(r[0, 1] ** 2 / r[0, 0] / r[1, 1])
