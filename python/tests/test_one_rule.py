"""Whether one value is better than another: one rule for the sentence, the tables and the page."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Any

import numpy as np
import pytest

from inrush.analysis.answer import answer
from inrush.analysis.effects import effects
from inrush.analysis.overview import overview
from inrush.analysis.parts import ALIKE, BEST
from inrush.analysis.points import Analysis
from inrush.analysis.sentence import sentence
from inrush.report.overview import best_engines
from inrush.report.page import effect_word
from inrush.report.point_lines import best_points
from inrush.stats import stats
from tests import synthetic

MAKESPAN, RATE = "writers.makespan_s", "writers.rows_per_s"
#: Of the log of a ratio, in five blocks: t = 2.45. One-sided p = 0.035, and the 95 % interval holds 1.
BETWEEN = [0.104 + 0.1 * z for z in (-1.2, -0.6, 0.0, 0.6, 1.2)]
ALONG_ENGINES = {"kind": "comparison", "of": MAKESPAN, "along": "engine"}


def made(makespans: dict[tuple[str, int], Sequence[float]], asked: dict[str, Any]) -> Analysis:
    """(engine, batch_rows) -> makespan in each block."""
    runs = [
        synthetic.figured(engine, {"batch_rows": b}, block, 0, {MAKESPAN: s, RATE: 1e5 / s})
        for (engine, b), each in makespans.items()
        for block, s in enumerate(each, start=1)
    ]
    return synthetic.analysis_with(runs, {"answer": asked})


@pytest.mark.parametrize("kind", ["best", "comparison"])
def test_a_value_is_called_worse_only_where_its_own_95_percent_interval_shows_it(kind: str) -> None:
    slower = [exp(d) for d in BETWEEN]
    ratio = stats.paired_ratio(slower, [1.0] * 5)
    assert ratio.holds(1.0)
    analysis = made(
        {("duckdb", 200): [1.0] * 5, ("duckdb", 1000): slower},
        {"kind": kind, "of": MAKESPAN, "along": "batch_rows", "per": ["engine"]},
    )
    found = answer(analysis)
    assert found is not None
    assert [t.word for t in found.parts[0].tries] == [BEST, ALIKE]
    assert "not distinguishable" in sentence(analysis, found)
    assert len(best_points(analysis, found)) == 2, "bold"
    (effect,) = effects(analysis, MAKESPAN)
    assert effect_word(effect.ratio) == "not distinguishable from 1", "the page's table of factors"


def test_engines_that_a_pairing_by_block_distinguishes_are_distinguished_in_the_table_too() -> None:
    """Both are slow in the same blocks, so that their own intervals overlap."""
    blocks = [1.0, 1.4, 0.8, 1.2, 0.9]
    sqlite = [1.1 * s * w for s, w in zip(blocks, (1.0, 1.01, 0.99, 1.0, 1.0), strict=True)]
    analysis = made({("duckdb", 200): blocks, ("sqlite", 200): sqlite}, ALONG_ENGINES)
    found = answer(analysis)
    seen = overview(analysis, found)
    assert found is not None and seen is not None
    assert found.parts[0].best == ("duckdb",) and "Not distinguishable" not in sentence(analysis, found)
    assert best_engines(analysis, seen) == {"duckdb"}


def test_what_the_sentence_cannot_distinguish_is_what_the_tables_make_bold() -> None:
    rng = np.random.default_rng(7)
    apart = 0
    for _ in range(60):
        level = rng.normal(0, 0.06, 6)
        each = {("duckdb", b): np.exp(level[k] + rng.normal(0, 0.06, 5)).tolist() for k, b in enumerate((1, 2, 4, 8, 16, 32))}  # fmt: skip
        for kind in ("best", "comparison"):
            analysis = made(each, {"kind": kind, "of": MAKESPAN, "along": "batch_rows", "per": ["engine"]})
            found = answer(analysis)
            assert found is not None
            named = set(found.parts[0].best)
            bold = {dict(p)["batch_rows"] for p in best_points(analysis, found)}
            assert named == bold, kind
            said = sentence(analysis, found)
            assert ("not distinguishable" in said) == (len(named) > 1), said
            apart += 1 < len(named) < 6
    assert apart > 20, "the trials show nothing"


def test_the_set_of_the_best_keeps_whatever_an_interval_does_not_tell_from_it() -> None:
    rng = np.random.default_rng(3)
    for points in (2, 3, 4, 8):
        for _ in range(50):
            y = np.exp(rng.normal(0, 0.1, (points, 5)) + rng.normal(0, 0.08, (points, 1)))
            found = stats.best_set({str(i): dict(enumerate(y[i])) for i in range(points)})
            best = int(found[0].key)
            out = [int(c.key) for c in found if not c.in_set]
            assert not any(stats.paired_ratio(y[i], y[best]).holds(1.0) for i in out)
