"""Extracts and statements of a table that grows: rows of the answer, pages for each of them, and what is beyond memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from inrush.analysis.points import Measured
from inrush.model.curve import curve
from inrush.model.forecast import Refused
from inrush.model.growth import Store, forecast_growth
from inrush.model.table_reads import forecast_read
from inrush.predict.growth import Growth, forecast_of_growth, growth_of
from tests.test_predict_growth_stores import ENV, LOADS, measured

STEPS = {"load": "load", "chill": "cold", "cold": "extract", "warm": "extract", "sort": "statement"}
#: Memory holds 80,000 rows of 50 bytes.
SMALL = ENV | {"mem_available_bytes": 50 * 80_000, "disk_direct_read_bytes_per_s": 1e6}


def extracted(
    rows: float,
    figures: Mapping[str, float],
    steps: Mapping[str, str] = STEPS,
    env: Mapping[str, Any] = SMALL,
) -> Measured:
    """Ten calls in each step that extracts; without B-trees."""
    calls = {s: "one" for s, do in steps.items() if do == "extract"}
    told = {f"{s}.{k}": v for s in calls for k, v in (("ok", 10.0), ("sessions", 1.0))}
    found = measured(rows, "duckdb", env=env, calls=calls, figures={**told, **figures})
    summary = {**found.run.summary, "labels": {**found.run.labels, "steps": dict(steps)}}
    return replace(found, run=replace(found.run, summary=summary))


def claimed(found: Growth, runs: list[Measured], figure: str, to: float) -> Any:
    return forecast_of_growth(found, [(dict(m.point)["rows"], m.figures[figure]) for m in runs], to)


def growth(runs: list[Measured], figure: str) -> Growth:
    found = growth_of(runs, "rows", figure)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "figure", ["warm.latency_p50_s", "warm.first_row_p50_s", "warm.service_p99_s", "warm.duration_s"]
)
def test_an_extract_grows_like_a_read_and_costs_the_device_beyond_memory(figure: str) -> None:
    cold = figure.replace("warm", "cold")
    runs = [
        extracted(n, {"warm.rows": 1e-2 * n, "cold.rows": 1e-2 * n, figure: 1e-7 * n, cold: 1e-6 * n})
        for n in LOADS
    ]
    found = growth(runs, figure)
    assert found.what == "read" and not found.steady
    assert found.cold == tuple((n, 1e-6 * n) for n in LOADS)
    # In memory as small ones are; of 160,000 rows half lie beyond it, and those cost what a cold one does.
    assert claimed(found, runs, figure, 70_000).median == pytest.approx(7e-3, rel=0.02)
    assert claimed(found, runs, figure, 160_000).median == pytest.approx((16e-3 + 160e-3) / 2, rel=0.02)


def test_a_range_by_share_has_rows_in_proportion_and_one_by_rows_has_as_many_always() -> None:
    figure = "warm.latency_p50_s"
    noise = dict(zip(LOADS, (1.0, 1.02, 1.04), strict=True))
    by_rows = [extracted(n, {"warm.rows": 3000, figure: 1e-2 * noise[n]}) for n in LOADS]
    assert growth(by_rows, figure).steady
    made = claimed(growth(by_rows, figure), by_rows, figure, 70_000)
    assert made.model == "answer" and made.median == pytest.approx(1.02e-2, rel=0.01)
    # Jitter moves a row in or out; a share is more rows of more.
    assert growth([extracted(n, {"warm.rows": 3000 + n % 7}) for n in LOADS], figure).steady
    by_share = [extracted(n, {"warm.rows": n / 10, figure: 1e-7 * n}) for n in LOADS]
    assert not growth(by_share, figure).steady
    assert claimed(growth(by_share, figure), by_share, figure, 70_000).median == pytest.approx(7e-3, rel=0.01)


def test_an_answer_of_as_many_rows_that_takes_longer_in_a_larger_table_is_not_said_to_take_as_long() -> None:
    figure = "warm.latency_p50_s"
    runs = [extracted(n, {"warm.rows": 3000, figure: 1e-3 + 1e-7 * n}) for n in LOADS]
    made = claimed(growth(runs, figure), runs, figure, 70_000)
    assert made.model == "proportion" and made.median == pytest.approx(8e-3, rel=0.02)


def test_pages_for_each_row_price_an_extract_beyond_memory_that_no_cold_one_shows() -> None:
    figure, steps = "warm.latency_p50_s", {"load": "load", "warm": "extract"}

    def runs(pages_per_row: float | None) -> list[Measured]:
        asked = {} if pages_per_row is None else {"warm.pages_asked": 30_000 * pages_per_row}
        return [extracted(n, {"warm.rows": 30_000, figure: 1e-3, **asked}, steps) for n in LOADS]

    by_time, by_key = (
        forecast_read(
            curve(LOADS, [1e-3] * 3), None, 160_000, Store(memory_bytes=50 * 80_000, row_bytes=50, read_s=1e-4),
            steady=True, pages=curve(*zip(*growth(runs(per_row), figure).pages, strict=True)),
        )
        for per_row in (1.0, 0.02)
    )  # fmt: skip
    # 3,000 rows of a call, a page each or fifty of them: half of the pages are not in memory.
    assert by_time.median == pytest.approx(1e-3 + 0.5 * 3000 * 1e-4, rel=0.01)
    assert by_key.median == pytest.approx(1e-3 + 0.5 * 60 * 1e-4, rel=0.01)
    assert by_time.lo < 2e-3 and by_time.hi > 3000 * 1e-4
    assert growth(runs(None), figure).pages == ()
    with pytest.raises(Refused, match="add steps `cold`"):
        claimed(growth(runs(None), figure), runs(None), figure, 160_000)


def test_pages_are_those_of_the_cold_step_and_as_many_as_the_step_itself_has_rows() -> None:
    told = {"warm.rows": 9000, "cold.rows": 3000, "cold.pages_read": 600, "warm.pages_asked": 5000}
    runs = [extracted(n, told) for n in LOADS]
    assert growth(runs, "warm.latency_p50_s").pages == tuple((n, 180.0) for n in LOADS)
    assert growth(runs, "warm.duration_s").pages == tuple((n, 1800.0) for n in LOADS)
    assert growth(runs, "warm.first_row_p50_s").pages == ()
    none = [extracted(n, {**told, "cold.pages_read": 0.0 if n == LOADS[0] else 600.0}) for n in LOADS]
    assert [n for n, _ in growth(none, "warm.latency_p50_s").pages] == list(LOADS[1:])


def test_a_cold_extract_reads_every_page_from_the_device_whatever_the_memory() -> None:
    figure = "cold.latency_p50_s"
    runs = [extracted(n, {"cold.ok": 1, "cold.rows": n / 10, figure: 1e-6 * n}) for n in LOADS]
    assert claimed(growth(runs, figure), runs, figure, 320_000).median == pytest.approx(0.32, rel=0.02)


def test_a_cold_extract_of_several_calls_warms_itself_and_is_refused_beyond_memory() -> None:
    figure = "cold.latency_p50_s"
    for calls in (2, 10):
        # In one of the runs alone is enough.
        runs = [
            extracted(n, {"cold.ok": calls if n == LOADS[0] else 1, "cold.rows": n / 10, figure: 1e-6 * n})
            for n in LOADS
        ]
        assert not growth(runs, figure).store.direct
        assert claimed(growth(runs, figure), runs, figure, 70_000).median == pytest.approx(0.07, rel=0.02)
        with pytest.raises(Refused, match="outgrows memory"):
            claimed(growth(runs, figure), runs, figure, 320_000)


def test_pages_that_were_asked_for_are_a_bound_and_the_claim_says_so() -> None:
    figure, steps = "warm.latency_p50_s", {"load": "load", "warm": "extract"}
    told = {"warm.rows": 30_000, "warm.pages_asked": 30_000.0, figure: 1e-3}
    runs = [extracted(n, told, steps) for n in LOADS]
    found = growth(runs, figure)
    assert found.pages_bound
    store = replace(found.store, read_s=1e-4)
    made = forecast_of_growth(replace(found, store=store), [(n, 1e-3) for n in LOADS], 160_000)
    # From memory's 1 ms to 3,000 pages from the device: no page count says where between them.
    bound = 1e-3 + 3000 * 1e-4
    assert made.median == pytest.approx(0.5 * 1e-3 + 0.5 * np.sqrt(1e-3 * bound), rel=0.02)
    assert made.lo <= 1e-3 and made.hi > bound
    assert "pages asked for are a bound" in " ".join(made.why)
    counted = [extracted(n, {"cold.rows": 3000, "cold.pages_read": 60, "warm.rows": 3000}) for n in LOADS]
    assert not growth(counted, figure).pages_bound


def test_a_cold_step_before_a_statement_is_not_that_of_a_read_behind_it() -> None:
    steps = {**STEPS, "later": "extract"}
    runs = [extracted(n, {"later.rows": 5, "cold.latency_p50_s": 1.0}, steps) for n in LOADS]
    assert growth(runs, "later.latency_p50_s").cold == ()
    both = {**STEPS, "again": "cold", "colder": "extract", "later": "extract"}
    runs = [extracted(n, {"cold.latency_p50_s": 1.0, "colder.latency_p50_s": 2.0}, both) for n in LOADS]
    assert growth(runs, "later.latency_p50_s").cold == tuple((n, 2.0) for n in LOADS)
    assert growth(runs, "warm.latency_p50_s").cold == tuple((n, 1.0) for n in LOADS)


# Statements.


def test_a_statement_follows_the_rows_or_their_sorting_as_its_figures_say() -> None:
    sizes = (1000, 10_000, 100_000)

    def made(law: Any, to: float) -> Any:
        runs = [extracted(n, {"sort.duration_s": float(law(n))}, env=ENV) for n in sizes]
        found = growth(runs, "sort.duration_s")
        assert found.what == "work"
        return claimed(found, runs, "sort.duration_s", to)

    plain = made(lambda n: 0.1 + 1e-6 * n, 640_000)
    assert plain.model == "proportion" and plain.median == pytest.approx(0.74, rel=0.01)
    sorted_rows = made(lambda n: 1e-6 * n * np.log2(1 + n), 640_000)
    assert sorted_rows.model == "merges"
    assert sorted_rows.median == pytest.approx(0.64 * np.log2(640_001), rel=0.02)


def test_a_statement_beyond_memory_reads_the_table_from_the_device() -> None:
    runs = [extracted(n, {"sort.duration_s": 1e-6 * n}) for n in LOADS]
    made = claimed(growth(runs, "sort.duration_s"), runs, "sort.duration_s", 160_000)
    # 8 MB at 1 MB/s; a load into the same table appends, and adds nothing.
    assert made.median == pytest.approx(0.16 + 8, rel=0.02)
    assert claimed(growth(runs, "load.duration_s"), runs, "load.duration_s", 160_000).median == pytest.approx(
        1.6, rel=0.02
    )
    slow = Store(row_bytes=50, memory_bytes=50 * 80_000, scan_bytes_per_s=1e6)
    assert forecast_growth(curve(LOADS, [1e-6 * n for n in LOADS]), 160_000, slow).hi > 16
