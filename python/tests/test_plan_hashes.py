"""Shipped studies plan byte for byte what they planned: `plan_hashes` says how a wanted change is written down."""

from __future__ import annotations

import copy

import pytest

from tests.plan_hashes import EVERY_ENGINE_AT, cases, difference, hashes_of, read, studies

RENEW = "if that is wanted: cd python && ../.venv/bin/python -m tests.plan_hashes"


#: Scales of the largest studies take seconds each to plan.
ALWAYS = ("xs", "s", EVERY_ENGINE_AT)


@pytest.mark.parametrize(
    ("study", "scale"),
    [pytest.param(*case, marks=[] if case[1] in ALWAYS else pytest.mark.slow) for case in cases()],
)
def test_a_shipped_study_plans_what_it_planned(study: str, scale: str) -> None:
    changed = difference(read().get(study, {}).get(scale), hashes_of(studies()[study], scale))
    assert not changed, f"{study} at scale {scale}: {changed}; {RENEW} {study}"


def test_each_hash_is_of_a_study_and_a_scale_that_are_there() -> None:
    assert {(study, scale) for study, of in read().items() for scale in of} == set(cases())


def test_what_changed_is_named() -> None:
    golden = read()["telemetry-writers"]["xs"]
    found = copy.deepcopy(golden)
    assert difference(golden, found) == ""
    assert difference(None, found) == "these plans are new"
    assert difference(golden, {**found, "runs": 1}) == f"it has 1 runs and had {golden['runs']}"
    found["fields"]["segments.measure"] = "0"
    assert difference(golden, found) == "field segments.measure differs"
    found["fields"]["segments.added"] = "0"
    del found["fields"]["segments.measure"]
    assert difference(golden, found) == "field segments.measure is gone"
