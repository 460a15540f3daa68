"""Load steps that their study holds back: the rate is shown as the limit's where it is, and as the engine's where it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inrush.analysis.verdicts import Outcome, Verdict
from inrush.guards.notes import keeps_the_rate
from inrush.results.parts import TIMES
from inrush.results.schema import SCHEMAS
from inrush.stats.steps import OF_SEGMENTS
from tests import synthetic

FREE = {"shard_rows_per_s": 0, "device_bytes_per_s": 0, "pipeline_bytes_per_s": 0}


def found(rows_per_s: float, bytes_per_s: float, **held: int) -> Verdict | None:
    """Four pipelines into two shards."""
    load = {
        "pipelines": {"count": 4, "load_server_cores": 0.0, **FREE, **held},
        "load_server": {"load": {"shards": [{}, {}]}},
    }
    run = synthetic.run()
    plan: Any = {**run.plan, "loads": {"load": load}}
    figures = {"load.rows_per_s": rows_per_s, "load.bytes_per_s": bytes_per_s}
    return keeps_the_rate(replace(run, plan=plan), figures)


@pytest.mark.parametrize(
    ("held", "most"),
    [
        ({"shard_rows_per_s": 20_000}, "40.0 k rows/s"),
        ({"device_bytes_per_s": 4_000_000}, "4.00 MB/s"),
        ({"pipeline_bytes_per_s": 1_000_000}, "4.00 MB/s"),
    ],
)
def test_a_load_that_goes_as_fast_as_it_may_has_the_rate_of_its_limit(
    held: dict[str, int], most: str
) -> None:
    verdict = found(39_000, 3_900_000, **held)
    assert verdict is not None and verdict.outcome is Outcome.NOTE
    (name,) = held
    assert (
        f"is held to {most} by `{name}`" in verdict.sentence
        and "not what the engine takes in" in verdict.sentence
    )
    slower = found(30_000, 3_000_000, **held)
    assert slower is None, "the limit did not hold it"


def test_a_load_that_is_not_held_back_is_not_spoken_of() -> None:
    assert found(39_000, 3_900_000) is None


def test_every_table_of_a_role_is_cut_into_steps_and_every_time_is_moved_where_runs_are_joined() -> None:
    of_roles = {name for name, schema in SCHEMAS.items() if {"segment", "role"} <= set(schema.names)}
    assert of_roles <= set(OF_SEGMENTS)
    timed = {name for name, schema in SCHEMAS.items() if {"t_ns", "start_ns", "first_ns"} & set(schema.names)}
    assert timed <= set(TIMES)
