"""Waves of a simulated cluster: made by checkpoints and by eager sends, found with their period, their cause named, and cured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inrush._core import CoreFailure
from inrush.model.cluster import Checkpoint, simulated
from inrush.model.cluster_waves import CHECKPOINTS, wave_of
from tests.test_cluster import SMALL

EVERY_S = 0.005
CHECKPOINTED = replace(
    SMALL,
    checkpoint=Checkpoint(EVERY_S, lasts_s=0.001, share=0.8, slice_s=0.0001),
    interval_s=0.0005,
    measure_s=0.15,
)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_checkpoints_of_the_nodes_make_a_wave_with_their_period_and_are_its_cause(seed: int) -> None:
    cluster = replace(CHECKPOINTED, seed=seed)
    found = wave_of(cluster, simulated(cluster))
    assert found is not None and found.wave.found
    assert found.period_s == pytest.approx(EVERY_S, rel=0.2)
    assert found.causes[0].name == CHECKPOINTS


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_checkpoints_the_same_cluster_has_no_wave(seed: int) -> None:
    cluster = replace(CHECKPOINTED, checkpoint=Checkpoint(), seed=seed)
    found = wave_of(cluster, simulated(cluster))
    assert found is None or not found.wave.found


def test_checkpoints_take_the_share_of_the_ldm_threads_that_was_asked_for() -> None:
    """A fifth of the time 80 %: 16 % of all. What is left of a full station is what operations get."""
    with_them, without = simulated(CHECKPOINTED), simulated(replace(CHECKPOINTED, checkpoint=Checkpoint()))
    assert np.mean(with_them.checkpoint_series) == pytest.approx(0.16, rel=0.01)
    assert not any(without.checkpoint_series)
    for o in (with_them, without):
        work = SMALL.ldm.per_op_s * o.ops_per_s / (SMALL.nodes * SMALL.ldm.servers)
        assert o.stations["ldm"]["busy"] == pytest.approx(
            work + float(np.mean(o.checkpoint_series)), rel=0.02
        )


def test_what_a_send_and_a_packet_hold_is_known_of_each_interval() -> None:
    o = simulated(CHECKPOINTED)
    series = np.asarray(o.series, np.float64)
    for each, whole in ((o.send_series, o.ops_per_send), (o.packet_series, o.ops_per_packet)):
        counts = series / np.asarray(each)
        assert series.sum() / counts.sum() == pytest.approx(whole, rel=0.02)


@pytest.mark.parametrize(
    "wrong", [{"share": 1.5}, {"lasts_s": 0.01}, {"slice_s": 0.0}, {"slice_s": 0.002}, {"share": 0.0}]
)
def test_a_checkpoint_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(CoreFailure, match="checkpoint takes a share"):
        simulated(replace(CHECKPOINTED, checkpoint=replace(CHECKPOINTED.checkpoint, **wrong)))
