"""Published curves as cases: the goals they are held to, and the page that tells all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benches.published import (
    contention_from_speed_up,
    curve_cases,
    extraction_cases,
    load_cases,
    pipeline_limits,
    published_series,
    size_cases,
    source,
    table,
    writer_cases,
)
from benches.published.page import page
from benches.published.sizes import fit_size_cost
from benches.published.storage import Extraction, fit_extraction
from inrush.model.decomposition import units
from inrush.model.forecast import UNSEEN_LIMIT
from inrush.model.scaling import Usl

PAGE = Path(__file__).parents[2] / "docs" / "findings" / "predictions.md"


@pytest.mark.parametrize(
    ("name", "x"), [("MySQL Cluster, data nodes", 32), ("MySQL Cluster, API machines", 37)]
)
def test_nodes_and_clients_are_predicted_within_five_percent_from_their_small_ends(
    name: str, x: float
) -> None:
    case = next(c for c in curve_cases() if c.name == name and c.made.x == x)
    assert case.score.error < 0.05 and case.score.inside
    assert case.made.reach > 2


def test_the_end_of_growth_between_37_and_40_machines_is_declared_unknowable() -> None:
    case = next(c for c in curve_cases() if c.made.x == 40)
    assert case.made.saturation is None
    assert f"saturation: {UNSEEN_LIMIT}" in case.made.why


def test_files_that_grew_explain_what_a_table_that_grew_does_not() -> None:
    found = {d.storage: d for d in published_series()}
    assert {s: round(d.by_size.r2.value, 2) for s, d in found.items()} == {
        "NVMe": 0.92,
        "SSD": 0.97,
        "RAID6": 0.83,
    }
    for d in found.values():
        assert d.found.r2.value - d.by_size.r2.value < 0.02
        assert d.size_error < 0.45 and d.constant_error > 5
        assert d.ahead_error < 0.1 < d.ahead_constant_error
        assert d.shape.word == d.files_shape.word == "refuted"
        table = next(p for p in d.found.parts if p.names == ("table",))
        assert 1.02 < table.times < 1.13, "method: 2 to 11 % between early and late"


def test_one_pipeline_is_limited_where_its_author_said() -> None:
    assert [round(full_at, 1) for _, full_at, _ in pipeline_limits()] == [7.1, 8.0, 20.0]


def test_contention_of_three_engines_is_that_of_their_speed_ups() -> None:
    assert {w.engine: round(w.law.alpha, 3) for w in writer_cases()} == {
        "clickhouse": 0.052,
        "mysql": 0.147,
        "influxdb": 0.289,
    }


@pytest.mark.parametrize(("speed_up", "alpha"), [(9, 0.0519), (5, 0.1467), (3, 0.2889)])
def test_contention_of_a_speed_up_at_sixteen_writers(speed_up: float, alpha: float) -> None:
    assert contention_from_speed_up(speed_up, 16) == pytest.approx(alpha, abs=5e-5)
    assert Usl(1.0, contention_from_speed_up(speed_up, 16), 0).at(16) == pytest.approx(speed_up)


def test_a_warm_scan_of_more_pages_than_memory_is_claimed_cold_again() -> None:
    by_time = [c for c in extraction_cases() if "by time, warm" in c.what and not c.what.startswith("mysql")]
    assert len(by_time) == 2 and all(c.error < 0.2 for c in by_time)
    assert all(c.error < 0.05 for c in load_cases()[:3])


def test_a_fill_out_of_a_book_misses_published_trees() -> None:
    assert [round(c.error, 2) for c in size_cases()] == [0.09, 0.17, 0.29, 0.49]


@pytest.mark.parametrize(
    "name", ["curves", "intervals", "extractions", "archives", "writers", "pipeline", "loads"]
)
def test_every_figure_that_is_shipped_names_its_source(name: str) -> None:
    assert len(table(name)) >= 3 and len(source(name)) > 60


def test_the_page_is_what_the_command_writes_today() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "cd python; python -m benches.published.page > ../docs/findings/predictions.md"
    )


def test_a_small_extraction_cold_and_warm_says_what_a_large_one_costs() -> None:
    found = fit_extraction(1e6, 118, 2.0, 60, 8192, wanted_per_page=2.0, cache_bytes=24e9)
    assert found.at(1e6, cold=True) == pytest.approx(118)
    assert found.at(1e6, cold=False) == pytest.approx(2.0)
    assert found.at(1e7, cold=True) == pytest.approx(1180)
    # Ten million rows on five million pages are 41 GB: what is warm there is read again.
    assert found.at(1e7, cold=False) == pytest.approx(1180)
    assert isinstance(found, Extraction)


def test_a_line_by_size_is_continued_from_sizes_that_are_nearly_the_same() -> None:
    sizes = np.array([1.2e6, 4e6, 10e6, 3e6])
    of = units(sizes * (3e-7 + 2e-14 * sizes), sizes, np.cumsum(sizes))
    found = fit_size_cost(of)
    assert (found.byte_s, found.file_byte_s) == pytest.approx((3e-7, 2e-14), rel=1e-6)
    assert found.files_per_s(4e6) == pytest.approx(1 / of.seconds[1])
