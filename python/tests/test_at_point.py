"""A study at a point: every shipped study, at every point of its smallest scale, is plain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inrush.plan.plan import points_of
from inrush.study.at_point import study_at
from inrush.study.forms import Best, BestOf, FromFactor
from inrush.study.reading import load_study
from inrush.study.roles import Role
from inrush.study.shipped import shipped_studies
from inrush.study.step_kinds import Measure
from inrush.study.used_factors import references


@pytest.mark.parametrize("named", [study.name for study in shipped_studies()])
def test_nothing_of_a_study_at_a_point_names_a_factor(named: str) -> None:
    study = load_study(named, "xs")

    points = [study_at(study, point.engine, point.factors, {}) for point in points_of(study)]

    assert [references(point) for point in points] == [[]] * len(points)


def test_a_point_has_the_values_of_its_factors_and_the_steps_that_it_does() -> None:
    sorted_first = {
        "way": {
            "name": "L3 sorted",
            "table": "secondary_index",
            "layout": "pk",
            "sessions": 7,
            "connect": "once",
        }
    }

    at = study_at(load_study("bulkindex/load", "xs"), "sqlite", sorted_first, {})

    assert [step.name for step in at.steps] == ["sort", "load"]
    assert (at.layout, at.roles["load"].table, at.roles["load"].sessions) == ("pk", ("secondary_index",), 7)


def test_the_tables_of_a_list_are_roles_of_their_own_and_one_named_alone_is_not() -> None:
    """A factor of lists gives `writers/metrics` also where a list has one table: figures of all its points have such names."""
    writers = {"writers": Role(name="writers", operations={"put": 1}, table=FromFactor("tables"))}
    study = replace(load_study("telemetry/quickstart"), steps=(Measure(roles=writers),))

    of_list, alone = (
        study_at(study, "sqlite", {"tables": tables}, {}).roles["writers"]
        for tables in (("metrics",), "metrics")
    )

    assert (of_list.table, of_list.by_table) == (("metrics",), True)
    assert (alone.table, alone.by_table) == (("metrics",), False)


def test_the_best_of_another_study_is_that_of_the_nearest_conditions() -> None:
    writers = {"writers": Role(name="writers", operations={"put": 1}, batch_rows=BestOf("batches", 10))}
    study = replace(load_study("telemetry/quickstart"), steps=(Measure(roles=writers),))
    table = next(iter(study.workload.tables))
    found = [
        Best({}, 1),
        Best({"engine": "sqlite"}, 2),
        Best({"engine": "sqlite", "table": table}, 3),
        Best({"engine": "duckdb"}, 4),
    ]

    batches = study_at(study, "sqlite", {}, {"batches": found}).roles["writers"].batch_rows

    assert isinstance(batches, BestOf)
    assert batches.best[table] == 3
    assert {value for name, value in batches.best.items() if name != table} <= {2}
