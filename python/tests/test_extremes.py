"""Percentiles that are the largest of few calls, and what is said of those without a value."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import pytest

from inrush.stats.extremes import calls_of_largest, largest_said, shown_value, why_without, without_value

P99 = "readers.latency_p99_s"


@pytest.mark.parametrize(
    ("figure", "figures", "calls"),
    [
        (P99, {"readers.ops": 99.0}, 99),
        (P99, {"readers.ops": 100.0}, None),
        (P99, {"readers.ops": 60.0, "readers.unsent": 39.0}, 99),
        (P99, {"writers.ops": 41.0}, None),
        ("readers.latency_p50_s", {"readers.ops": 1.0}, 1),
        ("readers.latency_p50_s", {"readers.ops": 2.0}, None),
        ("readers.rows_per_s", {"readers.ops": 1.0}, None),
    ],
)
def test_a_percentile_of_few_calls_is_the_largest(
    figure: str, figures: Mapping[str, float], calls: int | None
) -> None:
    assert calls_of_largest(figure, figures) == calls


@pytest.mark.parametrize(
    ("ops", "said"),
    [([], ""), ([100], ""), ([41], "max of 41"), ([41, 41], "max of 41"), ([41, 39, 200], "max of 39 to 41")],
)
def test_of_several_runs_the_fewest_and_the_most_are_said(ops: list[int], said: str) -> None:
    assert largest_said(P99, [{"readers.ops": float(n)} for n in ops]) == said


def test_a_value_without_end_is_no_number() -> None:
    assert shown_value(0.003, "3.00 ms", "", "unsent") == "3.00 ms"
    assert shown_value(0.003, "3.00 ms", "max of 41", "unsent") == "3.00 ms (max of 41)"
    assert shown_value(inf, "∞", "max of 41", "unsent") == "unsent"
    assert shown_value(inf, "∞", "", "") == "∞"


CALLS = {"ops": 40.0, "errors": 0.0, "refused": 0.0, "unsent": 0.0}


@pytest.mark.parametrize(
    ("figure", "of", "word", "why"),
    [
        ("latency_p99_s", CALLS | {"unsent": 1}, "unsent", "1 of 41 calls was not sent"),
        ("latency_p99_s", CALLS | {"errors": 2}, "failed", "2 of 40 calls failed"),
        # What is refused is an error too.
        ("latency_p99_s", CALLS | {"errors": 2, "refused": 2}, "refused", "2 of 40 calls were refused"),
        (
            "latency_p99_s",
            CALLS | {"errors": 5, "refused": 1, "unsent": 3},
            "failed and refused and unsent",
            "4 of 43 calls failed and 1 of 43 calls was refused and 3 of 43 calls were not sent",
        ),
        ("latency_p99_s", CALLS, "failed", "too many calls failed"),
        ("freshness_p99_s", {"unseen": 15, "freshness_n": 15}, "never seen", "15 of 30 rows were never seen"),
        ("freshness_p99_s", {"unseen": 1, "freshness_n": 0}, "never seen", "1 of 1 row was never seen"),
        *(
            (
                f"{kind}_p99_s",
                {"samples": 200, "stored_share": 0.985},
                "never stored",
                "3 of 200 samples were never stored",
            )
            for kind in ("sample", "collect", "queue", "insert")
        ),
    ],
)
def test_what_has_no_value_is_said_with_its_cause(
    figure: str, of: Mapping[str, float], word: str, why: str
) -> None:
    run = {f"readers.{name}": float(n) for name, n in of.items()} | {f"readers.{figure}": inf}
    other = dict.fromkeys((*run, "readers.errors", "readers.refused"), 7.0)
    assert without_value(f"readers.{figure}", [other, run]) == word
    assert why_without(f"readers.{figure}", [other, run]) == why
    assert why_without(f"readers.{figure}", [other, {}]) == "too many calls failed"
