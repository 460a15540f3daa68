"""Every metric has one entry, and what is said of it follows from there."""

from __future__ import annotations

import pytest

from inrush import metrics
from inrush.metrics import METRICS, lower_is_better, metric_of, names, slowed_alike, unit_of
from inrush.stats.quantity import show

GROUPS = [group for name, group in vars(metrics).items() if name.startswith("OF_")]


def test_a_metric_of_two_groups_is_the_same_in_both() -> None:
    for group in GROUPS:
        for metric in group:
            assert METRICS[metric.name] == metric


def test_every_metric_has_a_unit_or_counts_something() -> None:
    counts = {
        *("rows", "ops", "ok", "errors", "wrong", "late", "unsent", "unseen", "sends", "keeps_up", "samples", "caught_up"),
        *("pending_max", "pending_end", "pending_grew", "files", "pages_read", "pages_asked", "pages_per_row"),
    }  # fmt: skip
    assert {name for name in METRICS if not unit_of(name)} == counts


@pytest.mark.parametrize(
    "figure, unit",
    [
        ("writers.rows_per_s", "rows/s"),
        ("load.host_packets_per_s", "packets/s"),
        ("load.server_busy_cores", "cores"),
        ("load.load_server_read_bytes", "bytes"),
        ("shards.cpu_us_per_op", "us/call"),
        ("mem_total_bytes", "bytes"),
    ],
)
def test_the_unit_of_what_is_watched_in_a_step_is_that_of_its_metric(figure: str, unit: str) -> None:
    assert unit_of(figure) == unit


def test_more_is_better_of_work_that_was_done_and_less_of_its_cost() -> None:
    for figure in (
        "w.samples",
        "w.caught_up",
        "w.files",
        "load.level_rows",
        "load.knee_rows",
        "w.rows",
        "w.keys_per_s",
    ):
        assert not lower_is_better(figure), figure
    for figure in (
        "w.latency_p99_s",
        "host.packets_per_s",
        "load.host_interrupts_per_s",
        "w.failed_share",
        "w.cpu_us_per_op",
    ):
        assert lower_is_better(figure), figure


def test_a_client_that_does_not_run_moves_its_work_its_calls_and_its_rates() -> None:
    assert slowed_alike("work") == ("makespan_s",)
    rates = {"rows_per_s", "bytes_per_s", "ops_per_s", "keys_per_s", "attempts_per_s"}
    assert set(slowed_alike("rate")) == rates | {"before_ops_per_s", "kept_rate"}
    kinds = {
        name.rsplit("_", 2)[0] for name in slowed_alike("calls") if name not in ("stall_s", "statement_s")
    }
    assert kinds == {"latency", "service", "freshness", "first_row"}


def test_a_percentile_knows_what_it_is_of() -> None:
    assert metric_of("r.freshness_p99_s").counted_by == ("freshness_n", "unseen")
    assert not metric_of("r.latency_s").counted_by


def test_names_keep_the_order_of_their_groups() -> None:
    assert names(metrics.OF_SIZES, metrics.OF_LOAD)[-2:] == ("knee_rows", "level_rows")


def test_a_name_that_is_no_metric_is_shown_by_its_ending() -> None:
    assert show(2e9, "mem_total_bytes") == "2.00 GB"
    assert show(0.002, "x.something_s") == "2.00 ms"
