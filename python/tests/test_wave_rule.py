"""What an expectation says of a wave, and what a result says of its cause and its cure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from inrush.analysis.answer import answer
from inrush.analysis.expected import expectation_marks
from inrush.analysis.points import Analysis
from inrush.analysis.waves import cures, point_waves, waves_said
from inrush.guards.analyse import analyse
from inrush.guards.waves import AGREE as NAME
from inrush.report.first_sentence import first_sentence
from inrush.report.waves import wave_figures
from inrush.stats.record import RunRecord, StudyRecord
from tests import synthetic
from tests.test_waves import DIPS, T, checkpoints, noise, run_of

FIGURE = "writers.rows_per_s"


def run(with_them: int, block: int, dips: Mapping[int, float], sd: float = 20.0) -> RunRecord:
    """dips: by how much of a thousand throughput falls in every twentieth to 24th interval, by whether checkpoints come."""
    ops = 1000 - dips.get(with_them, 0.0) * DIPS + noise(10 * block + with_them, sd=sd)
    return run_of(
        ops,
        more=checkpoints() if with_them else None,
        block=block,
        factors={"checkpoints": with_them},
        rows=rows_of(ops),
    )


def rows_of(ops: np.ndarray) -> int:
    return 100 * int(ops.astype(int).sum())


def studied(
    *rules: tuple[float, Mapping[str, Any]], dips: Mapping[int, float], sd: float = 20.0, blocks: int = 3
) -> Analysis:
    expected = [
        {"claim": "c", "values": {"all": value}, "rule": {"kind": "wave", "of": FIGURE, **rule}}
        for value, rule in rules
    ]
    doc = {
        **synthetic.STUDY,
        "expect": "Waves.",
        "expected": expected,
        "answer": {"kind": "comparison", "of": FIGURE, "along": "checkpoints", "per": []},
    }
    runs = [run(w, block, dips, sd) for block in range(1, blocks + 1) for w in (0, 1)]
    return analyse(StudyRecord(doc, runs))


WITH, WITHOUT = {"where": {"checkpoints": 1}}, {"where": {"checkpoints": 0}}


def words(analysis: Analysis) -> list[str]:
    return [mark.word for mark in expectation_marks(analysis)]


def test_a_wave_is_right_with_its_period_and_its_cause_and_wrong_with_another() -> None:
    by_cause = {**WITH, "cause": "checkpoints"}
    by_device = {**WITH, "cause": "vda"}
    analysis = studied(
        (2.0, WITH), (2.0, by_cause), (2.3, by_cause), (3.0, WITH), (2.0, by_device), (0, WITH), (0, WITHOUT),
        (2.0, WITHOUT), dips={1: 400.0},
    )  # fmt: skip
    assert words(analysis) == ["right", "right", "right", "wrong", "wrong", "wrong", "right", "wrong"]
    first, *_ = expectation_marks(analysis)
    assert "every 2 s in 3 of 3 runs, in the rhythm of calls of checkpoints (3 runs)" in first.because


def test_series_that_are_too_short_and_single_runs_decide_nothing() -> None:
    assert words(studied((2.0, WITH), (0, WITHOUT), dips={1: 400.0}, blocks=1)) == ["not judged"] * 2


def test_the_first_sentence_names_period_cause_and_cure() -> None:
    analysis = studied(dips={1: 400.0})
    said = waves_said(analysis)
    assert "writers: throughput swings by ±" in said and "every 2 s" in said
    assert said in first_sentence(analysis, answer(analysis))
    assert "calls of checkpoints" in said and "without them there is no wave (one of ±" in said
    verdict = next(v for v in analysis.study_verdicts if v.guard == NAME)
    assert "without them there is no wave" in verdict.sentence


def test_a_wave_that_stays_without_its_cause_has_no_cure() -> None:
    said = waves_said(studied(dips={0: 400.0, 1: 400.0}))
    assert "every 2 s" in said and "there is no wave" not in said


def test_noise_that_would_hide_the_wave_is_no_cure() -> None:
    loud = studied(dips={1: 400.0}, sd=20.0)
    wave = next(w for w in point_waves(loud) if w.role == "writers")
    assert cures(loud, wave)
    hidden = replace(loud, runs=[m if dict(m.point)["checkpoints"] else quiet(m) for m in loud.runs])
    assert not cures(hidden, wave)


def quiet(measured: Any) -> Any:
    """The same run without checkpoints, with noise of a third of its throughput."""
    rng = np.random.default_rng(measured.run.block)
    ops = np.maximum(1.0, 1000 + rng.normal(0, 350, len(T)))
    return replace(
        measured, run=run_of(ops, block=measured.run.block, factors={"checkpoints": 0}, rows=rows_of(ops))
    )


def as_calls(run: RunRecord) -> RunRecord:
    """As a client that looks rows up: calls without rows."""
    return with_column(run, "intervals", "rows", lambda t: [0] * t.num_rows)


def as_pipeline(run: RunRecord) -> RunRecord:
    segments = [{**s, "kind": "load"} if s.get("phase") == "measure" else s for s in run.plan["segments"]]
    load = {"shards": [{}], "pipelines": {}, "inputs": {"cold": False}}
    return replace(run, plan={**run.plan, "segments": segments, "loads": {"writers": load}})  # type: ignore[arg-type]


def with_column(run: RunRecord, table: str, name: str, values: Any) -> RunRecord:
    held = run.tables[table]
    column = pa.array(values(held), held.schema.field(name).type)
    changed = held.set_column(held.schema.get_field_index(name), name, column)
    return replace(run, tables={**run.tables, table: changed}, _rows={})


@pytest.mark.parametrize("shaped", [lambda r: r, as_calls, as_pipeline])
def test_runs_with_rows_calls_and_pipelines_have_their_wave_drawn_with_its_spectrum(shaped: Any) -> None:
    runs = [shaped(run(1, block, {1: 400.0})) for block in (1, 2, 3)]
    doc = {
        **synthetic.STUDY,
        "answer": {"kind": "comparison", "of": "writers.makespan_s", "along": "engine", "per": []},
    }
    analysis = analyse(StudyRecord(doc, runs))
    found = answer(analysis)
    assert found is not None
    drawn = [f for f in wave_figures(analysis, found) if "writers swing" in f.title]
    assert drawn and "A wave of ±" in drawn[0].caption and "every 2 s" in drawn[0].caption
    assert len(drawn[0].spec["vconcat"]) == 2
    still = [shaped(run(0, block, {})) for block in (1, 2, 3)]
    calm = analyse(StudyRecord(doc, still))
    held = answer(calm)
    assert held is not None and all("No wave" in f.caption for f in wave_figures(calm, held))


def test_a_study_about_waves_says_in_its_first_sentence_that_there_are_none() -> None:
    none: dict[int, float] = {}
    assert (
        waves_said(studied((1.0, WITH), dips=none))
        == "The throughput of writers has no wave in two of three runs of a point."
    )
    assert waves_said(studied(dips=none)) == "", "of one that is about something else"
