"""A tree that left memory by the shape of its rate: both kinds of fall, level and noisy loads, and how often it is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from inrush.model.outgrown import LEAST, Shape, joined, knee, shape
from inrush.model.storage import Tree
from tests.simulated_loads import FloatArray, wandering

SEEDS = 100
Course = Callable[[FloatArray, np.random.Generator], FloatArray]


def level(x: FloatArray, _: np.random.Generator) -> FloatArray:
    return np.ones_like(x)


def slow(x: FloatArray, _: np.random.Generator) -> FloatArray:
    """Less than what counts as a fall."""
    return 1 - 0.1 * x


def warms(x: FloatArray, _: np.random.Generator) -> FloatArray:
    """It rises, and never fell."""
    return 1 - 0.7 * np.exp(-x / 0.05)


def outgrown(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Knee at a tenth to four tenths of the load; a miss costs two to ten times a row in memory."""
    return 1 / (1 + rng.uniform(2, 10) * np.maximum(0, 1 - rng.uniform(0.1, 0.4) / x))


def dips(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Down to a half to a tenth, and back."""
    where, wide = rng.uniform(0.25, 0.7), rng.uniform(0.06, 0.15)
    return 1 / (1 + rng.uniform(1, 9) * np.exp(-(((x - where) / wide) ** 2)))


def stalls(x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A tree that leaves memory, with a stretch in which something else was slow as well."""
    return outgrown(x, rng) / (1 + rng.uniform(0.5, 1) * np.exp(-(((x - rng.uniform(0.3, 0.7)) / 0.05) ** 2)))


def words(course: Course, n: int, sd: float, rho: float = 0.0) -> Counter[str]:
    """Of 100 seeds."""
    found: Counter[str] = Counter()
    for seed in range(SEEDS):
        x = (np.arange(n) + 0.5) / n
        noise = sd * wandering(n, rho, seed)
        found[shape(x, course(x, np.random.default_rng(seed)) * np.exp(noise)).word] += 1
    return found


@pytest.mark.parametrize(("n", "sd"), [(36, 0.05), (36, 0.3), (100, 0.3), (1000, 0.3)])
@pytest.mark.parametrize("course", [level, slow, warms])
def test_a_rate_without_a_fall_is_undecided_whatever_its_noise(course: Course, n: int, sd: float) -> None:
    assert words(course, n, sd)["undecided"] == SEEDS


@pytest.mark.parametrize(
    ("n", "sd", "least"), [(36, 0.05, 99), (36, 0.15, 80), (100, 0.15, 97), (1000, 0.3, 99)]
)
def test_a_fall_that_lasts_is_confirmed_and_never_refuted(n: int, sd: float, least: int) -> None:
    found = words(outgrown, n, sd)
    assert found["confirmed"] >= least and found["refuted"] == 0


@pytest.mark.parametrize(
    ("n", "sd", "least"), [(36, 0.05, 99), (36, 0.15, 96), (100, 0.15, 99), (1000, 0.3, 99)]
)
def test_a_fall_that_comes_back_is_refuted_and_never_confirmed(n: int, sd: float, least: int) -> None:
    found = words(dips, n, sd)
    assert found["refuted"] >= least and found["confirmed"] == 0


def test_a_tree_out_of_memory_that_stalls_for_a_while_is_not_refuted() -> None:
    assert words(stalls, 100, 0.1)["refuted"] == 0


@pytest.mark.parametrize(
    ("n", "rho", "most"), [(36, 0.5, 8), (36, 0.8, 30), (100, 0.5, 3), (100, 0.8, 12), (1000, 0.8, 1)]
)
def test_how_often_noise_that_wanders_is_taken_for_a_course_stands_in_the_documentation(
    n: int, rho: float, most: int
) -> None:
    """docs/measuring.md has these figures."""
    assert SEEDS - words(level, n, 0.15, rho)["undecided"] <= most


def test_the_knee_is_where_the_tree_left_memory() -> None:
    """By the law of the leaves, in rows."""
    tree, leaves = Tree(rows_per_leaf=100, batch_rows=1000), 20_000
    n = np.linspace(1e5, 2e7, 400)
    cost = 1e-5 + 1e-3 * np.gradient(tree.read(n, leaves * 100.0), n)
    rate = np.exp(0.05 * wandering(400, 0.0, 3)) / cost
    found = shape(n, rate)
    assert found.word == "confirmed"
    assert found.knee == pytest.approx(2e6, rel=0.2) and knee(n, rate) == found.knee


def test_the_knee_of_a_rate_without_noise_is_exact() -> None:
    n = np.linspace(1e4, 1e6, 200)
    assert knee(n, 1 / (1 + 5 * np.maximum(0, 1 - 3e5 / n))) == pytest.approx(3e5, rel=0.02)


def test_a_fall_of_less_than_a_fifth_is_none_however_clear_it_is() -> None:
    found = words(slow, 400, 0.01)
    assert found["undecided"] == SEEDS


def test_a_fall_that_has_just_begun_is_undecided() -> None:
    x = (np.arange(400) + 0.5) / 400
    late = 1 / (1 + 9 * np.maximum(0, 1 - 0.88 / x) / 0.12)
    found = shape(x, late)
    assert found.word == "undecided" and "near the end" in found.why
    assert shape(x[:350], late[:350]).word == "undecided"


def test_too_few_values_are_undecided() -> None:
    found = shape(np.arange(1, LEAST), np.ones(LEAST - 1))
    assert found.word == "undecided" and str(LEAST) in found.why


def test_a_fall_of_files_that_differ_is_none_of_the_table_unless_files_alike_show_it() -> None:
    fell, back, none = (Shape(word, word) for word in ("confirmed", "refuted", "undecided"))  # type: ignore[arg-type]
    assert joined(fell, None).word == "confirmed" and joined(back, None).word == "refuted"
    assert joined(fell, none).word == "undecided" and "files differ" in joined(fell, none).why
    assert joined(back, none).word == "refuted"
    assert joined(back, fell).word == joined(none, fell).word == "confirmed"
    assert joined(none, back).word == "undecided", "what large files brought back is nothing of the table"
