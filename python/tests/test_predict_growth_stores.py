"""What runs recorded of where rows go: memory, the device, the order of rows, and rows that are no unit of the factor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.points import Measured
from inrush.analysis.verdicts import Verdict, invalid
from inrush.engines import server
from inrush.model.forecast import Refused
from inrush.model.growth import Store
from inrush.plan.plan import plan_study
from inrush.predict.growth import Growth, forecast_of_growth, growth_of
from inrush.stats.record import RunRecord
from inrush.stats.row_order import out_of_order, tails
from inrush.study.reading import load_study
from tests.synthetic import table

LOADS = (10_000, 20_000, 40_000)
ENV = {"mem_available_bytes": 8e9, "disk_direct": True, "disk_read_16k_s": 2e-4, "disk_read_8k_s": 1e-4}
STEPS = {"load": "load", "chill": "cold", "cold": "read", "warm": "read"}
#: Series after series ascend, and each goes on in time; rows come in no order.
SERIES = {
    "stream": "archive",
    "source": {"series": 100, "events": {"order": {"by": "random"}}},
    "columns": [
        {"name": "id", "gen": {"kind": "cycle", "from": 1, "to": 100}},
        {"name": "time", "gen": {"kind": "sweep_time"}},
        {"name": "received", "gen": {"kind": "offset", "of": "time"}},
        {"name": "number", "gen": {"kind": "sequence"}},
        {"name": "guid", "gen": {"kind": "pattern"}},
        {"name": "port", "gen": {"kind": "cycle", "from": 1, "to": 40}},
        {"name": "switch", "gen": {"kind": "cycle", "from": 1, "to": 100, "every": 40}},
    ],
}


def measured(
    rows: float,
    engine: str = "postgresql",
    env: Mapping[str, Any] = ENV,
    settings: Mapping[str, str] | None = None,
    unit: float = 1.0,
    verdicts: Sequence[Verdict] = (),
    calls: Mapping[str, str] | None = None,
    figures: Mapping[str, float] | None = None,
) -> Measured:
    """A run of a load and of reads; 50 bytes a row."""
    asked = {"cold": "one", "warm": "one", **(calls or {})}
    plan = {
        "target": {"engine": engine, "url": "" if engine == "sqlite" else f"{engine}://u@127.0.0.1/db"},
        "tables": [SERIES],
        "segments": [{"roles": [{"name": s, "operations": [{"operation": o}]} for s, o in asked.items()]}],
    }
    labels = {
        "factors": {"rows": rows}, "steps": STEPS, "layout": "pk", "batch_rows": {"load": 1000},
        "indexes": {"archive": [["id", "time"]]},
    }  # fmt: skip
    held = {
        "load.rows": rows * unit, "load.grown_bytes": 1e5 + 50 * rows * unit, "load.duration_s": 1e-5 * rows * unit,
        "cold.latency_p50_s": 2e-3, "warm.latency_p50_s": 1e-3, **(figures or {}),
    }  # fmt: skip
    said = [{"name": k, "value": v} for k, v in (settings or {}).items()]
    run = RunRecord(
        f"r{rows}", plan, env, {"labels": labels, "block": 1}, {"settings": table("settings", said)}
    )
    return Measured(run, held, verdicts)


def growth(runs: Sequence[Measured], figure: str = "load.duration_s") -> Growth:
    found = growth_of(runs, "rows", figure)
    assert found is not None
    return found


def store(runs: Sequence[Measured]) -> Store:
    return growth(runs).store


# Memory and the device.


def test_memory_is_the_least_that_was_free_and_the_device_the_slowest() -> None:
    envs = [
        ENV | {"mem_available_bytes": free, "disk_read_8k_s": read_s}
        for free, read_s in ((8e9, 1e-4), (6e9, 3e-4), (7e9, 2e-4))
    ]
    found = store([measured(n, env=env) for n, env in zip(LOADS, envs, strict=True)])
    assert (found.memory_bytes, found.read_s, found.direct) == (6e9, 3e-4, False)
    assert (found.page_bytes, found.cache_bytes) == (8192, 128 << 20)
    assert found.row_bytes == pytest.approx(50)


def test_a_cache_that_a_server_may_have_filled_before_may_hold_pages_besides() -> None:
    assert store([measured(n) for n in LOADS]).spare_bytes == 128 << 20
    # An engine in the client's process takes its cache from what was free.
    inside = store([measured(n, "sqlite") for n in LOADS])
    assert (inside.memory_bytes, inside.spare_bytes) == (8e9, 0)


def test_a_limit_of_the_cgroup_holds_the_cache() -> None:
    limited, nearly = (
        store([measured(n, env=ENV | {"cgroup_memory_bytes": limit}) for n in LOADS])
        for limit in (5e9, 8e9 + 1e6)
    )
    assert (limited.memory_bytes, limited.spare_bytes) == (5e9, 0)
    assert (nearly.memory_bytes, nearly.spare_bytes) == (8e9, 1e6)


def test_an_engine_that_goes_round_the_kernel_has_its_own_cache_alone() -> None:
    said = {"innodb_buffer_pool_size": "1048576", "innodb_flush_method": "O_DIRECT"}
    found = store([measured(n, "mysql", settings=said) for n in LOADS])
    assert (found.memory_bytes, found.spare_bytes, found.direct) == (1 << 20, 0, True)
    found = store([measured(n, "mysql", settings=said | {"innodb_flush_method": "fsync"}) for n in LOADS])
    assert (found.memory_bytes, found.direct) == (8e9, False)


# Cold reads.


def test_a_cold_read_counts_that_makes_the_same_calls_and_is_valid() -> None:
    figure = "warm.latency_p50_s"
    assert growth([measured(n) for n in LOADS], figure).cold == tuple((n, 2e-3) for n in LOADS)
    others = [measured(n, calls={"cold": "other"}) for n in LOADS]
    assert growth(others, figure).cold == ()
    broken = [invalid("g", "s", figures=["cold.latency_p50_s"])]
    some = [measured(n, verdicts=broken if n == LOADS[0] else ()) for n in LOADS]
    assert growth(some, figure).cold == tuple((n, 2e-3) for n in LOADS[1:])


# The order of rows.


def ordered(by: str | None, index: Sequence[str], series: int = 100) -> bool:
    source = {"series": series, **({"events": {"order": {"by": by}}} if by else {})}
    labels = {"layout": "l", "indexes": {"archive": [index]}}
    return not out_of_order({"tables": [SERIES | {"source": source}]}, labels)


@pytest.mark.parametrize(
    ("index", "orders"),
    [
        (["id", "time"], {"key"}),
        (["id"], {"key"}),
        (["time", "id"], {"time", None}),
        (["time"], {"time", None}),
        (["id", "received"], set()),
        (["received"], set()),
        (["number"], {None}),
        # Numbers that are scattered, begin again, or are those of several series.
        (["guid", "time"], set()),
        (["port", "time"], set()),
        (["switch", "time"], set()),
        (["id", "port", "time"], set()),
    ],
)
def test_an_index_is_met_in_its_order_where_the_rows_come_in_it(
    index: list[str], orders: set[str | None]
) -> None:
    assert {by for by in ("key", "time", "random", "file", None) if ordered(by, index)} == orders


@pytest.mark.parametrize(
    ("by", "indexes", "expected"),
    [
        ("time", [["id", "time"]], 100),
        (None, [["id", "time"]], 100),
        ("time", [["id"]], 100),
        ("time", [["id", "time"], ["time"]], 100),
        ("time", [["id", "time"], ["switch"]], 200),
        # Anywhere: another order, a value of its own, an index that is not known.
        ("random", [["id", "time"]], math.inf),
        ("file", [["id", "time"]], math.inf),
        ("time", [["id", "time"], ["guid"]], math.inf),
        ("time", [["id", "received"]], math.inf),
        # Nothing but appended.
        ("time", [["time"]], math.inf),
        ("key", [["id", "time"]], math.inf),
    ],
)
def test_rows_by_time_go_to_the_end_of_their_series(
    by: str | None, indexes: list[list[str]], expected: float
) -> None:
    source = {"series": 100, **({"events": {"order": {"by": by}}} if by else {})}
    plan = {"tables": [SERIES | {"source": source}]}
    assert tails(plan, {"indexes": {"archive": indexes}}) == expected
    assert tails(plan, {}) == math.inf


def test_a_number_of_a_series_that_begins_again_is_in_no_order() -> None:
    assert ordered("key", ["id", "time"], series=100) and not ordered("key", ["id", "time"], series=101)


def test_one_index_out_of_order_is_enough_and_none_that_is_known_is_not_believed() -> None:
    plan = {"tables": [SERIES | {"source": {"series": 100, "events": {"order": {"by": "key"}}}}]}

    def scattered(**labels: Any) -> bool:
        return out_of_order(plan, labels)

    both = [["id", "time"], ["id", "received"]]
    assert scattered(layout="pk_two", indexes={"archive": both})
    assert not scattered(layout="pk", indexes={"archive": both[:1]})
    assert not scattered(layout="pk", indexes={"archive": []}) and not scattered(layout="none")
    assert scattered(layout="pk") and scattered(layout="pk", indexes={"another": []})


def test_a_plan_says_the_indexes_of_each_table_and_so_which_loads_append() -> None:
    study = load_study("archive-load", "xs")
    plan = plan_study(study, {engine: server(engine) for engine in study.engines})
    found = {
        (r.labels["factors"]["layout"], r.labels["factors"]["row_order"]): out_of_order(r.plan, r.labels)
        for r in plan.all_runs
        if r.labels["engine"] == "sqlite"
    }
    appended = {at for at, scattered in found.items() if not scattered}
    assert len(found) == 4 and appended == {("pk", "key")}


def test_reads_outgrow_the_cache_whatever_the_order_of_the_load() -> None:
    by_key = [measured(n) for n in LOADS]
    for m in by_key:
        m.run.plan["tables"] = [SERIES | {"source": {"series": 100, "events": {"order": {"by": "key"}}}}]  # type: ignore[index]
    assert store(by_key).page_bytes is None
    assert growth(by_key, "warm.latency_p50_s").store.page_bytes == 8192


# Rows and the factor.


def test_rows_that_are_a_multiple_of_the_factor_are_rows_to_the_laws() -> None:
    said = {"block_size": "4096", "shared_buffers": "100 kB"}
    in_rows = growth([measured(n, settings=said) for n in LOADS])
    scaled = growth([measured(n / 1000, settings=said, unit=1000) for n in LOADS])
    assert scaled.unit == 1000 and scaled.store == in_rows.store
    points = [(n, 1e-5 * n) for n in LOADS]
    made = forecast_of_growth(in_rows, points, 320_000)
    thousands = forecast_of_growth(scaled, [(n / 1000, s) for n, s in points], 320)
    assert (made.x, thousands.x) == (320_000, 320)
    assert (thousands.median, thousands.lo, thousands.hi) == pytest.approx((made.median, made.lo, made.hi))
    assert thousands.parameters == pytest.approx(made.parameters)
    with pytest.raises(Refused, match=r"outgrows the engine's cache at .*the largest load has 40,?000"):
        forecast_of_growth(
            growth([measured(n / 1000, unit=1000) for n in LOADS]), [(n / 1000, s) for n, s in points], 4e6
        )


def test_a_knee_and_cold_reads_are_in_units_of_the_factor() -> None:
    env = {"mem_available_bytes": 50 * 80_000}
    cold = {n: {"cold.latency_p50_s": 5e-8 * n} for n in LOADS}
    runs = [measured(n / 1000, "duckdb", unit=1000, env=env, figures=cold[n]) for n in LOADS]
    read = growth(runs, "warm.latency_p50_s")
    made = forecast_of_growth(read, [(n / 1000, 1e-3) for n in LOADS], 160)
    assert made.saturation == pytest.approx(80)
    # Half of the pages are in memory at 1 ms, half are not at 8 ms.
    assert made.median == pytest.approx(4.5e-3, rel=0.02)


def test_rows_that_do_not_follow_the_factor_are_no_load_of_it() -> None:
    runs = [measured(n, figures={"load.rows": 1.02 * n if n == LOADS[0] else n}) for n in LOADS]
    assert growth_of(runs, "rows", "load.duration_s") is None
    nearly = [measured(n, figures={"load.rows": 1.005 * n if n == LOADS[0] else n}) for n in LOADS]
    assert growth_of(nearly, "rows", "load.duration_s") is not None


@pytest.mark.parametrize("figure", ["load.duration_s", "load.rows_per_s", "warm.latency_p50_s"])
def test_a_factor_of_0_has_loaded_nothing_and_bends_no_law(figure: str) -> None:
    runs = [measured(n, "duckdb") for n in (0, *LOADS)]
    found = growth(runs, figure)
    value = {"load.duration_s": 0.5, "load.rows_per_s": 1e5, "warm.latency_p50_s": 1e-3}[figure]
    points = [(n, value) for n in LOADS]
    assert forecast_of_growth(found, [(0.0, 7.0), *points], 80_000) == forecast_of_growth(
        found, points, 80_000
    )
    # Rows where there should be none are not in proportion.
    assert growth_of([*runs, measured(0, "duckdb", figures={"load.rows": 5.0})], "rows", figure) is None


# Limits of a server.


def limited(rows: float, engine: str = "postgresql", **limits: float) -> Measured:
    found = measured(rows, engine)
    held = {name: {"asked": value, "held": 1.1 * value} for name, value in limits.items()}
    return replace(found, run=replace(found.run, summary={**found.run.summary, "limits": held}))


def test_a_server_has_the_memory_of_its_limit_and_not_that_of_the_machine() -> None:
    found = store([limited(n, memory=5e8) for n in LOADS])
    # The limit holds the server's cache as well: nothing may hold pages besides.
    assert (found.memory_bytes, found.spare_bytes) == (5e8, 0)
    roomy = store([limited(n, memory=8e9 + 1e6) for n in LOADS])
    assert (roomy.memory_bytes, roomy.spare_bytes) == (8e9, 1e6)


def test_a_table_beyond_the_limit_of_a_server_is_not_claimed_to_lie_in_memory() -> None:
    points = [(n, 1e-5 * n) for n in LOADS]
    small = {"shared_buffers": "100 kB"}
    runs = [measured(n, settings=small) for n in LOADS]
    open_end = forecast_of_growth(growth(runs), points, 320_000)
    held = [
        replace(m, run=replace(m.run, summary={**m.run.summary, "limits": {"memory": {"asked": 4e6}}}))
        for m in runs
    ]
    fenced = forecast_of_growth(growth(held), points, 320_000)
    assert fenced.median > 1.5 * open_end.median, fenced.why
    assert any("beyond memory" in line for line in fenced.why)


def test_a_page_takes_no_less_than_a_limit_of_reads_allows() -> None:
    def read_s(**limits: float) -> float | None:
        return store([limited(n, **limits) for n in LOADS]).read_s

    assert read_s() == 1e-4
    assert read_s(reads_per_s=200) == pytest.approx(1 / 200)
    assert read_s(read_bytes_per_s=819_200) == pytest.approx(0.01)
    # Slower than its device is made by neither.
    assert read_s(reads_per_s=1e5, read_bytes_per_s=1e9) == 1e-4
