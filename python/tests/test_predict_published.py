"""Published curves as cases: the goals they are held to, and the page that tells all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from inrush.model.forecast import UNSEEN_LIMIT
from inrush.predict.published import (
    curve_cases,
    decompositions,
    extraction_cases,
    load_cases,
    pipeline_limits,
    source,
    table,
    writer_cases,
)
from inrush.predict.published.page import page

PAGE = Path(__file__).parents[2] / "docs" / "predictions.md"


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
    found = {d.storage: d for d in decompositions()}
    assert {s: round(d.r2, 2) for s, d in found.items()} == {"NVMe": 0.89, "SSD": 0.90, "RAID6": 0.82}
    for d in found.values():
        assert d.r2_of_table_size < 0.004
        assert d.size_error < 0.45 and d.constant_error > 5
        assert d.ahead_error < 0.1 < d.ahead_constant_error
        assert d.recovery.refuted


def test_one_pipeline_is_limited_where_its_author_said() -> None:
    assert [round(s.at, 1) for s, _ in pipeline_limits()] == [7.1, 8.0, 20.0]


def test_contention_of_three_engines_is_that_of_their_speed_ups() -> None:
    assert {w.engine: round(w.law.alpha, 3) for w in writer_cases()} == {
        "clickhouse": 0.052,
        "mysql": 0.147,
        "influxdb": 0.289,
    }


def test_a_warm_scan_of_more_pages_than_memory_is_claimed_cold_again() -> None:
    by_time = [c for c in extraction_cases() if "by time, warm" in c.what and not c.what.startswith("mysql")]
    assert len(by_time) == 2 and all(c.error < 0.2 for c in by_time)
    assert all(c.error < 0.05 for c in load_cases()[:3])


@pytest.mark.parametrize("name", ["curves", "intervals", "extractions", "archives", "writers", "pipeline"])
def test_every_figure_that_is_shipped_names_its_source(name: str) -> None:
    assert len(table(name)) >= 3 and len(source(name)) > 60


def test_the_page_is_what_the_command_writes_today() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "inrush predict --published > docs/predictions.md"
