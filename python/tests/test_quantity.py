"""Values as people read them: the unit that a value reaches, and three digits."""

from __future__ import annotations

import pytest

from inrush.stats.quantity import show


@pytest.mark.parametrize(
    ("value", "figure", "shown"),
    [
        (12.0, "w.latency_p99_s", "12.0 s"),
        (0.9996, "w.latency_p99_s", "1.00 s"),
        (0.999, "w.latency_p99_s", "999 ms"),
        (0.0123, "w.latency_p99_s", "12.3 ms"),
        (45.6e-6, "w.latency_p99_s", "45.6 µs"),
        (7.89e-9, "w.latency_p99_s", "7.89 ns"),
        (0.5e-9, "w.latency_p99_s", "0.500 ns"),
        (0.0, "w.latency_p99_s", "0 s"),
        (float("inf"), "w.latency_p99_s", "failed"),
        (1.52e6, "w.rows_per_s", "1.52 M rows/s"),
        (999.0, "w.rows_per_s", "999 rows/s"),
        (1_234.0, "w.rows_per_s", "1.23 k rows/s"),
        (2.5e9, "w.bytes", "2.50 GB"),
        (3e12, "w.bytes", "3.00 TB"),
        (512.0, "w.bytes", "512 B"),
        (0.843, "w.busy_cores", "0.843 cores"),
    ],
)
def test_a_value_takes_the_first_unit_that_it_reaches(value: float, figure: str, shown: str) -> None:
    assert show(value, figure) == shown
