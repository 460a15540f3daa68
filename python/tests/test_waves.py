"""Waves of a run: whose they are, what causes them, and when they are claimed of a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from inrush.analysis.answer import answer
from inrush.analysis.verdicts import Outcome
from inrush.guards.analyse import analyse
from inrush.guards.waves import AGREE as NAME
from inrush.guards.waves import no_waves, waves_agree
from inrush.report.waves import wave_figures
from inrush.stats.causes import WaveCause, likeliest_first
from inrush.stats.coherence import coherence
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.waves import RoleWave, role_waves
from tests import synthetic
from tests.test_series import ar1

SECOND = 1_000_000_000
N, PERIOD = 300, 20
T = np.arange(N)
DIPS = (T % PERIOD < 4).astype(float)


def run_of(
    ops: np.ndarray,
    *,
    paced: bool = False,
    waiting: np.ndarray | None = None,
    resources: Mapping[tuple[str, str, str], np.ndarray] | None = None,
    more: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    block: int = 1,
    factors: Mapping[str, Any] | None = None,
    rows: int = 3_000_000,
) -> RunRecord:
    """Writers with so many calls in each tenth of a second; waiting: backlog at the ends of the same.

    resources: (role, metric, device) -> what it grew by in each.
    """
    base = synthetic.run("postgresql", factors, makespan_s=N / 10, rows=rows, batch_rows=100, block=block,
                         schedule="constant" if paced else "closed", more=more, without=("intervals", "resources"))  # fmt: skip
    intervals = [
        {"segment": 2, "role": "writers", "op": "insert", "t_ns": SECOND + i * SECOND // 10, "dt_ns": SECOND // 10,
         "ops": int(n), "rows": 100 * int(n), "backlog": 0 if waiting is None else int(waiting[i])}
        for i, n in enumerate(ops)
    ]  # fmt: skip
    intervals += (more or {}).get("intervals", ())
    looked = [
        {
            "role": role,
            "metric": metric,
            "device": device,
            "t_ns": SECOND + i * SECOND // 10,
            "value": float(v),
        }
        for (role, metric, device), grew in (resources or {}).items()
        for i, v in enumerate(np.concatenate([[0], np.cumsum(grew)]))
    ]
    tables = {
        **base.tables,
        "intervals": synthetic.table("intervals", intervals),
        "resources": synthetic.table("resources", looked),
    }
    return replace(base, tables=tables, _rows={})


def checkpoints(every: int = PERIOD) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Calls of a role that come with the dips: one each so many intervals."""
    calls = [
        {"segment": 2, "role": "checkpoints", "op": "checkpoint", "t_ns": SECOND + i * SECOND // 10,
         "dt_ns": SECOND // 10, "ops": int(i % every == 2)}
        for i in range(N)
    ]  # fmt: skip
    ended = {"segment": 2, "repetition": 0, "role": "checkpoints", "start_ns": SECOND, "end_ns": 31 * SECOND,
             "ops": N // every, "ok": N // every, "sessions": 1}  # fmt: skip
    took = {"segment": 2, "repetition": 0, "role": "checkpoints", "op": "checkpoint", "kind": "latency",
            "t_ns": SECOND, "dt_ns": 30 * SECOND, **synthetic.hist([SECOND // 5] * (N // every))}  # fmt: skip
    return {"intervals": calls, "repetitions": [ended], "hist": [took]}


def noise(seed: int, phi: float = 0.5, sd: float = 20.0) -> np.ndarray:
    return ar1(np.random.default_rng(seed), N, phi, sd)


def only_wave(run: RunRecord) -> RoleWave:
    (found,) = role_waves(run)
    return found


def test_dips_of_a_closed_role_are_a_wave_and_the_device_that_is_busy_in_them_its_cause() -> None:
    busy = 0.01 + 0.08 * DIPS
    run = run_of(
        1000 - 400 * DIPS + noise(1),
        resources={("host", "dev_busy_s", "vda"): busy, ("server", "cpu_s", ""): 0.1 - 0.04 * DIPS},
    )
    found = only_wave(run)
    assert found.claimed and found.period_s == pytest.approx(2.0, rel=0.2)
    assert [c.name for c in found.causes] == ["the time in which vda was busy"], (
        "CPU falls with the work: no cause"
    )
    verdict = no_waves(run, {})
    assert verdict is not None and verdict.outcome is Outcome.NOTE and "vda was busy" in verdict.sentence


def test_a_wave_that_nothing_swings_with_has_no_cause() -> None:
    unrelated = {("host", "dev_busy_s", f"vd{c}"): 1 + noise(10 + i, 0.8, 0.1) for i, c in enumerate("abcd")}
    found = only_wave(run_of(1000 - 400 * DIPS + noise(1), resources=unrelated))
    assert found.claimed and found.causes == () and found.tried == 4
    assert (
        "no cause found"
        in (no_waves(run_of(1000 - 400 * DIPS + noise(1), resources=unrelated), {}) or pytest.fail()).sentence
    )


def test_calls_of_another_role_that_come_with_the_dips_name_the_cause_before_what_they_press_on() -> None:
    run = run_of(
        1000 - 400 * DIPS + noise(1),
        resources={("host", "psi_io_some_s", ""): 0.01 + 0.08 * DIPS},
        more=checkpoints(),
    )
    found = next(w for w in role_waves(run) if w.of.role == "writers")
    assert found.causes[0].name == "calls of checkpoints"


def test_few_calls_are_the_cause_of_a_wave_that_the_bytes_they_write_follow_more_closely() -> None:
    def named(calls: float, written: float) -> str:
        held = [
            WaveCause("device", "bytes", written, 0, True),
            WaveCause("calls", "calls of x", calls, 0, True),
        ]
        return likeliest_first(held)[0].name

    assert named(0.65, 0.95) == "calls of x"
    assert named(0.55, 0.95) == "bytes", "calls that explain little are not"
    assert named(0.52, 0.55) == "calls of x"


def test_arrivals_that_swing_are_an_artefact_of_the_generator_and_an_engine_that_stalls_is_not() -> None:
    rhythm = 1000 - 400 * DIPS + noise(1)
    assert only_wave(run_of(rhythm, paced=True)).artefact == "its calls were due in the same rhythm"
    verdict = no_waves(run_of(rhythm, paced=True), {})
    assert (
        verdict is not None
        and verdict.outcome is Outcome.PASS
        and "artefact of the generator" in verdict.sentence
    )

    due = np.full(N, 1000.0)
    waiting = np.cumsum(due - rhythm.astype(int))
    waiting -= waiting.min()
    stalled = only_wave(run_of(rhythm, paced=True, waiting=waiting))
    assert stalled.artefact is None and stalled.claimed


@pytest.mark.parametrize("phi", [0.0, 0.9])
def test_independent_series_are_coherent_as_often_as_the_level_says(phi: float) -> None:
    rng, p = np.random.default_rng(4), []
    for _ in range(1000):
        x = 1000 + ar1(rng, N, 0.5, 20) + 50 * np.sin(2 * np.pi * (T / PERIOD + rng.uniform()))
        found = coherence(x, ar1(rng, N, phi), N / PERIOD)
        assert found is not None
        p.append(found.p)
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.02)
    assert np.mean(np.array(p) < 0.01) <= 0.01 + 2.6 * np.sqrt(0.01 * 0.99 / 1000)


def test_a_wave_is_claimed_of_a_point_where_two_of_three_runs_agree_on_its_period() -> None:
    def sentence(*periods: int) -> tuple[Outcome, str]:
        runs = [
            run_of(1000 - 400 * (T % p < p // 5) + noise(i) if p else 1000 + noise(i), block=i + 1)
            for i, p in enumerate(periods)
        ]
        verdict = waves_agree(analyse(StudyRecord({"name": "s"}, runs)))
        assert verdict is not None and verdict.guard == NAME
        return verdict.outcome, verdict.sentence

    outcome, said = sentence(20, 20, 0)
    assert outcome is Outcome.NOTE and "every 2 s in 2 of 3 runs" in said
    assert sentence(20, 0, 0)[0] is Outcome.PASS
    assert sentence(20, 10, 0)[0] is Outcome.PASS, "two waves of other periods are no agreement"
    assert "1 role with a wave" in sentence(20, 0, 0)[1]


def test_the_report_draws_the_period_at_its_lows_and_the_threshold_that_a_wave_exceeds() -> None:
    runs = [run_of(1000 - 400 * DIPS + noise(i), block=i) for i in (1, 2, 3)]
    doc = {
        **synthetic.STUDY,
        "answer": {"kind": "comparison", "of": "writers.rows_per_s", "along": "engine", "per": []},
    }
    analysis = analyse(StudyRecord(doc, runs))
    found = answer(analysis)
    assert found is not None
    (figure,) = wave_figures(analysis, found)
    assert "A wave of ±" in figure.caption and "every 2 s" in figure.caption
    above, below = figure.spec["vconcat"]

    def drawn(panel: Mapping[str, Any], layer: int) -> Any:
        return figure.spec["datasets"][panel["layer"][layer]["data"]["name"]]

    rules = [row["t"] for row in drawn(above, 1)]
    assert np.diff(rules) == pytest.approx(2.0, rel=0.02) and len(rules) == 15
    assert all(DIPS[int(10 * at)] for at in rules[:5]), "a rule is where throughput is low"
    powers = {row["period"]: row["power"] for row in drawn(below, 0)}
    (threshold,) = (row["power"] for row in drawn(below, 1))
    assert 8 < threshold < 25
    assert max(power for period, power in powers.items() if abs(period - 2) < 0.1) > threshold
