"""Waves in the throughput of a simulated cluster, by the tests that runs are judged by. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inrush.model.cluster import SimulatedCluster, SimulatedOutcome
from inrush.stats import series
from inrush.stats.causes import Companion, WaveCause, swinging

CHECKPOINTS, PACKETS, SENDS = "checkpoints", "operations in a packet", "operations in a send"


@dataclass(frozen=True)
class SimulatedWave:
    """The strongest period of a simulation; `wave.found` says whether it is one."""

    wave: series.Wave
    period_s: float
    #: What swings with it, the likeliest cause first; empty without a wave.
    causes: tuple[WaveCause, ...]
    #: Of its period: what would have been seen.
    visible: float | None


def wave_of(cluster: SimulatedCluster, outcome: SimulatedOutcome) -> SimulatedWave | None:
    """None of fewer intervals than the test needs, and of a throughput that never changes."""
    rate = np.asarray(outcome.series, np.float64)
    wave = series.wave(rate)
    if wave is None:
        return None
    causes: tuple[WaveCause, ...] = ()
    if wave.found:
        beside = (
            Companion("counter", CHECKPOINTS, np.asarray(outcome.checkpoint_series)),
            Companion("calls per send", PACKETS, np.asarray(outcome.packet_series)),
            Companion("calls per send", SENDS, np.asarray(outcome.send_series)),
        )
        causes, _ = swinging(rate, beside, wave.period)
    visible = series.least_amplitude(rate, wave.period)
    return SimulatedWave(wave, wave.period * cluster.interval_s, causes, visible)
