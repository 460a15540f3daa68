"""What a pipeline study's first sentence says is full first: what was seen full, else what the small loads predict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inrush.model.pipeline import Part, Pipeline
from inrush.predict.resources import NOT_TRIED, Resource, ResourceForecast, forecast_of, verdict
from inrush.predict.training import Trained, Training
from inrush.report.first_sentence import full_first, resource_said

NEVER = float("inf")
TRAINING = Training((("engine", "duckdb"),), "pipelines", "writers.bytes_per_s", "load", (), ())
MODEL = Pipeline((Part("disk"),), (0.1,), (0.0,), 1, 1.0)


def seen(name: str, full_at: float, share: float) -> Resource:
    return Resource(name, 2.0, 0.3, full_at, 4.0, share, verdict(full_at, 4.0, share))


def said(*resources: Resource, model: Pipeline = MODEL) -> str:
    return full_first([ResourceForecast(TRAINING, model, (1.0, 2.0), resources)])


def test_the_sentence_says_what_is_full_first_and_whether_it_was_seen() -> None:
    cores = seen("cores", 7.5, 0.53)
    assert (
        said(cores)
        == "Full first on DuckDB: cores, predicted at 7.5 pipelines (not reached; 53 % busy at 4)."
    )
    assert resource_said(seen("cores", 3.0, 0.99), "pipelines") == (
        "cores, predicted at 3 pipelines (confirmed: full; 99 % busy at 4)"
    )
    assert resource_said(Resource("disk", 2.0, 0.3, 9.0, 4.0, 0.0712, NOT_TRIED), "pipelines").endswith(
        "; 7.1 % busy at 4)"
    )
    assert full_first([]) == ""


def test_no_resource_is_more_than_wholly_busy() -> None:
    assert "; 100 % busy at 4)" in resource_said(seen("cores", 3.0, 1.07), "pipelines")


def test_what_was_seen_full_comes_before_what_was_predicted_first() -> None:
    cores, disk = seen("cores", 7.5, 0.4), seen("disk", 20.0, 0.99)
    assert said(cores, disk) == (
        "Full first on DuckDB: disk, predicted at 20 pipelines (rejected: full earlier than predicted; 99 % busy at 4), where "
        "the small loads put cores first, predicted at 7.5 pipelines (not reached; 40 % busy at 4)."
    )
    unforeseen = said(cores, seen("disk", NEVER, 0.99))
    assert "disk, predicted never to be full (rejected: full earlier than predicted; 99 % busy at 4)" in (
        unforeseen
    )
    both = said(seen("cores", 3.0, 0.9), disk)
    assert both.count("predicted at") == 2 and both.index("cores") < both.index(" and disk")
    assert "where the small loads" not in both


def test_a_serial_stage_that_fills_first_is_said_though_nobody_could_watch_it() -> None:
    serial = replace(MODEL, serial_s=0.5)
    assert serial.saturations() == {"serial stage": 2.0, "disk": 10.0}
    assert said(seen("disk", 10.0, 0.3), model=serial) == (
        "Full first on DuckDB: a serial stage, predicted at 2 pipelines (found from what the small loads lack)."
    )
    assert "serial" not in said(seen("disk", 1.5, 0.3), model=serial), "the disk is before it"
    busy = said(seen("disk", 10.0, 0.99), model=serial)
    assert busy.index("disk") < busy.index("where the small loads put a serial stage first"), (
        "what was seen comes first"
    )


def trained(busy: dict[str, list[float]]) -> Training:
    """Throughput in proportion at 1, 2, 4 and 8 pipelines, and how busy each resource of two servers was."""
    runs = [
        Trained(f"r{k}", n, 100.0 * n, {name: each[k] for name, each in busy.items()})
        for k, n in enumerate((1, 2, 4, 8))
    ]
    return replace(TRAINING, runs=tuple(runs), parts=tuple(Part(name, 2.0) for name in busy))


def test_of_resources_that_are_never_full_the_busiest_is_nearest() -> None:
    level = (1.0, 1 + 1e-8, 1 + 3e-8, 1 + 7e-8)  # a background that no load adds to
    found = forecast_of(
        trained({"client cores": [0.004 * k for k in level], "disk": [1.6 * k for k in level]})
    )
    assert found is not None and [r.full_at for r in found.resources] == [NEVER, NEVER]
    assert [r.name for r in found.resources] == ["disk", "client cores"]
    assert full_first([found]).endswith(
        "no resource by the small loads (disk comes nearest, 80 % busy at 8)."
    )


@pytest.mark.parametrize("first", ["disk", "cores"])
def test_a_resource_that_is_full_with_fewer_loads_is_in_front(first: str) -> None:
    other = "cores" if first == "disk" else "disk"
    found = forecast_of(trained({other: [0.01, 0.02, 0.04, 0.08], first: [0.1, 0.2, 0.4, 0.8]}))
    assert found is not None and [r.name for r in found.resources] == [first, other]
    assert found.resources[0].full_at == pytest.approx(20, rel=0.01)


def test_the_sentence_knows_the_pauses_of_a_load_as_the_prediction_does() -> None:
    """Without them a stage was found that no load is under way for so long to hold."""
    known = trained({"cores": [0.1, 0.2, 0.4, 0.8]})
    paused = replace(known, runs=tuple(replace(r, pause_s=0.004) for r in known.runs))
    found = forecast_of(paused)
    assert found is not None and found.model.pause_s == 0.004


def test_what_is_far_beyond_what_was_tried_is_not_said_to_be_full_first() -> None:
    assert said(seen("disk", 142.0, 0.0002)) == (
        "Full first on DuckDB: nothing near 4 pipelines, the most that was tried; by the small loads disk, predicted at 142 "
        "pipelines (not reached; below 0.1 % busy at 4): 36 times as many."
    )
    assert said(seen("disk", 39.0, 0.1)).startswith("Full first on DuckDB: disk, predicted at 39 pipelines")
    far = said(seen("disk", 142.0, 0.02), model=replace(MODEL, serial_s=0.02))
    assert (
        far.startswith("Full first on DuckDB: nothing near 4 pipelines")
        and "a serial stage, predicted at 50" in far
    )
    nearer = said(seen("disk", 142.0, 0.02), model=replace(MODEL, serial_s=0.5))
    assert nearer.startswith("Full first on DuckDB: a serial stage, predicted at 2 pipelines")
