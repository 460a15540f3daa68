"""The doctor: figures under fixed names, and advice that follows from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inrush.run.doctor import DoctorFigure, examine, findings

CALIBRATED = {
    "clock": {"clock_ns": 11.0},
    "pacer": {"lag_us_p50": 3.0, "lag_us_p99": 40.0},
    "null": {"ops_per_cpu_s": 1.5e7},
    "rows": {"rows_per_cpu_s": 3e7},
    "encode_text": {"rows_per_cpu_s": 7e6},
    "encode_binary": {"rows_per_cpu_s": 2.5e7},
}


def test_every_measurement_lands_under_its_name(tmp_path: Path) -> None:
    asked: list[tuple[str, float]] = []

    def calibrate(what: str, seconds: float) -> str:
        asked.append((what, seconds))
        return json.dumps(CALIBRATED[what])

    found = {f.key: f.value for f in examine(calibrate, "release", tmp_path, 0.1)}
    assert {what for what, _ in asked} == set(CALIBRATED) and {s for _, s in asked} == {0.1}
    assert found["null_ops_per_client_cpu_s"] == 1.5e7
    assert found["rows_per_cpu_s"] == 3e7
    assert (found["encode_text_rows_per_cpu_s"], found["encode_binary_rows_per_cpu_s"]) == (7e6, 2.5e7)
    assert (found["clock_ns"], found["pacer_lag_us_p50"], found["pacer_lag_us_p99"]) == (11.0, 3.0, 40.0)
    assert found["build_profile"] == "release" and float(found["disk_fsync_per_s"]) > 0


def figures(**changed: float | str) -> list[DoctorFigure]:
    values = {
        "build_profile": "release",
        "null_ops_per_client_cpu_s": 1.5e7,
        "pacer_lag_us_p99": 40.0,
        "steal_share": 0.0,
    }
    return [DoctorFigure(k, v, "", "") for k, v in {**values, "psi_cpu_some_share": 0.0, **changed}.items()]


def test_a_quiet_machine_has_no_findings() -> None:
    assert findings(figures()) == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"build_profile": "debug"}, "make build"),
        ({"null_ops_per_client_cpu_s": 1e6}, "client is slow"),
        ({"pacer_lag_us_p99": 5000.0}, "leave late"),
        ({"steal_share": 0.05}, "steal"),
        ({"psi_cpu_some_share": 0.5}, "other processes"),
        ({"data_filesystem": "ext4 without a journal"}, "--data"),
    ],
)
def test_each_trouble_is_one_sentence_with_a_remedy(changed: dict[str, float | str], says: str) -> None:
    (sentence,) = findings(figures(**changed))
    assert says in sentence
