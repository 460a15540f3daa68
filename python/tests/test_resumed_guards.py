"""What is reported of a run that was killed in its load and went on: what had changed, and what is divided by time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inrush.analysis.verdicts import Outcome
from inrush.engines.base.durability_level import Durability, Survives, weakest
from inrush.guards import gaps, laws, notes, quiet, saturation
from inrush.load.pipeline.joined import differing
from inrush.run.one import survived_by_all
from inrush.stats.measures import measured_windows
from inrush.stats.record import RunRecord
from tests import synthetic

GAPS = [{"step": "load", "from_ns": 1_000, "until_ns": 61_000_001_000}]


def resumed(*later: dict[str, Any], first: dict[str, str], env: dict[str, Any] | None = None) -> RunRecord:
    rows = [{"segment": 1, "t_ns": 0, "name": k, "value": v} for k, v in first.items()]
    stretches = [{"env": {}, "settings": {}, "survives": "POWER_LOSS"}, *later]
    doc = {"gaps": GAPS, "stretches": stretches, "durability": {"because": {"fsync": "on"}}}
    return synthetic.run("postgresql", doc=doc, env=env or {}, more={"settings": rows})


def sentence(run: RunRecord) -> str:
    found = gaps.made_in_one_go(run, {})
    assert found is not None and found.outcome is Outcome.NOTE
    return found.sentence


def test_every_setting_that_changed_is_named_and_the_weakest_durability_said() -> None:
    first = {"version": "17", "fsync": "on", "work_mem": "4MB", "gone": "1"}
    changed = {"fsync": "off", "work_mem": "64MB", "gone": None, "new": "2"}
    run = resumed({"env": {}, "settings": changed, "survives": "PROCESS_CRASH"}, first=first)
    said = sentence(run)
    for part in (
        "setting fsync was on, and later off", "setting work_mem was 4MB, and later 64MB",
        "setting gone was 1, and later none", "setting new was none, and later 2",
        "(fsync) was power loss, then process crash: the run's durability is the weakest of its stretches",
    ):  # fmt: skip
        assert part in said
    assert "durability" not in sentence(
        resumed({"env": {}, "settings": {"work_mem": "64MB"}, "survives": "POWER_LOSS"}, first=first)
    )


def test_facts_of_the_machine_that_changed_are_named_and_what_is_measured_is_not() -> None:
    env = {"kernel": "6", "cpu_logical": 8, "load_1m": 0.5, "packages": {"numpy": "1"}, "disk_probes": [1.0]}
    other = {
        "kernel": "7",
        "cpu_logical": 4,
        "load_1m": 9.5,
        "packages": {"numpy": "2"},
        "disk_probes": [2.0],
    }
    said = sentence(resumed({"env": {**other, "data_free_bytes": 7}, "settings": {}}, first={}, env=env))
    assert "The kernel was 6, and later 7. The machine's cpu_logical was 8, and later 4" in said
    assert "packages.numpy was 1, and later 2" in said
    assert not any(name in said for name in ("load_1m", "disk_probes", "data_free_bytes"))


def test_a_run_recorded_before_stretches_had_a_durability_says_that_it_is_the_first() -> None:
    run = resumed({"env": {}, "settings": {"fsync": "off"}}, first={"fsync": "on"})
    del run.summary["stretches"][0]["survives"]
    assert "(fsync): the run says that of its begin" in sentence(run)


def test_settings_that_differ_are_recorded_also_new_ones_and_those_that_are_gone() -> None:
    assert differing({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"}) == {
        "b": "4",
        "c": None,
        "d": "5",
    }
    assert differing({"a": "1"}, {}) == differing({}, {"a": "1"}) == {}


def test_the_durability_of_a_run_is_that_of_its_weakest_stretch() -> None:
    stretches: list[dict[str, Any]] = [{"settings": {}}, {"settings": {"fsync": "off"}}, {"settings": {}}]

    def durability(settings: dict[str, str], _: Path) -> Durability:
        on = settings["fsync"] == "on"
        return Durability(Survives.POWER_LOSS if on else Survives.NOTHING, because=settings)

    deployment: Any = SimpleNamespace(durability=durability)
    found = survived_by_all(stretches, {"fsync": "on"}, deployment, Path())
    assert (found.survives, found.because) == (Survives.NOTHING, {"fsync": "off"})
    assert [one["survives"] for one in stretches] == ["POWER_LOSS", "NOTHING", "POWER_LOSS"]
    assert survived_by_all([], {"fsync": "on"}, deployment, Path()).survives is Survives.POWER_LOSS
    bounded, unbounded = Durability(Survives.NOTHING, 1.0), Durability(Survives.NOTHING)
    assert (
        weakest([bounded, unbounded]) is unbounded
        and weakest([bounded, Durability(Survives.NOTHING, 2.0)]) is not bounded
    )


def gone_on(per_window: dict[str, float], gap_s: float = 8.0, seconds: float = 10.0) -> RunRecord:
    """A run of 10 s of which 8 in the middle are a gap, and what grew while it worked, by (role, metric)."""
    run = synthetic.run("postgresql", makespan_s=seconds, resources=False)
    (segment,) = [s for s in run.rows("segments") if s["phase"] == "measure"]
    begin, end = segment["start_ns"], segment["end_ns"]
    middle, half = (begin + end) // 2, int(gap_s / 2 * synthetic.SECOND)
    looks = [(begin, 0.0), (middle - half, 0.5), (middle + half, 0.5), (end, 1.0)]
    rows = [
        {"role": name.split()[0], "t_ns": t, "metric": name.split()[1], "device": "", "value": share * grew}
        for name, grew in per_window.items()
        for t, share in looks
    ]
    held = synthetic.run(
        "postgresql", makespan_s=seconds, resources=False, more={"resources": rows},
        doc={"gaps": [{"segment": 2, "step": "load", "from_ns": middle - half, "until_ns": middle + half}],
             "limits": {"memory": {"asked": 1e9}}},
    )  # fmt: skip
    assert sum(end - begin for begin, end in measured_windows(held).values()) == int(
        seconds * synthetic.SECOND
    )
    return held


def test_what_is_given_for_a_second_is_for_one_in_which_it_worked() -> None:
    """2 s of 10: 200 pages are 100 a second, and 1 s under pressure is half of the time."""
    run = gone_on({"server major_faults": 200.0, "host psi_cpu_some_s": 1.0})
    found = notes.program_in_memory(run, {})
    assert found is not None and found.outcome is Outcome.NOTE and "100 pages a second" in found.sentence
    ((_, shares),) = quiet.noise_by_host(run)
    assert shares["CPU pressure"] == pytest.approx(0.5)


def test_sessions_have_no_time_for_calls_in_a_gap() -> None:
    run = gone_on({})
    (sum_s, span_s) = laws.slots(run, {})["writers"]
    assert (sum_s, span_s) == (pytest.approx(2.0), pytest.approx(2.0))
    whole = saturation.session_cpu_shares(gone_on({}, gap_s=0.0))["writers"]
    assert whole > 0 and saturation.session_cpu_shares(run)["writers"] == pytest.approx(5 * whole)
    # 10 s of service in 2 s of work: more than its one session can hold.
    found = laws.little_holds(run, {"writers.latency_p50_s": 1.0})
    assert found is not None and found.outcome is Outcome.INVALID and "5.00 calls under way" in found.sentence


def test_a_sample_at_each_end_is_a_larger_share_of_what_was_worked() -> None:
    """0.2 s of work: CPU of a whole sample is half of it."""
    run = gone_on({}, gap_s=9.8)
    found = laws.nothing_overfull(run, {"writers.busy_cores": 11.0})
    assert found is not None and found.outcome is Outcome.PASS
