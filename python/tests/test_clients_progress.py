"""What several client processes say while they work, as one: counts added up, histograms merged, no call shown twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

from inrush.agent.progress import Together, merged
from inrush.border.events import Progress
from inrush.report.live.usage import Using
from inrush.results.histogram import of_values
from tests.live_events import latencies, progress, role, usage
from tests.test_live import seen

WARM, MEASURE = 1, 2
PHASES = {WARM: "warm", MEASURE: "measure"}


def test_histograms_are_merged_bucket_by_bucket() -> None:
    first, second = [1_000, 2_000_000, 2_000_001], [5, 2_000_000, 9_000_000]
    whole, found = of_values([*first, *second]), merged([latencies(first), latencies(second)])
    assert (found["bucket"], found["count"]) == (whole.bucket.tolist(), whole.count.tolist())
    assert (found["n"], found["min"], found["max"], found["sum"]) == (6, 5, 9_000_000, sum(first + second))
    empty = merged([latencies([]), latencies(first)])
    assert (empty["min"], empty["n"]) == (1_000, 3)


def test_what_other_processes_say_waits_for_the_first_and_is_shown_once() -> None:
    of = Together()
    assert of.heard(1, progress(0.5, {"readers": role(0, 2, [10, 20])})) == []
    assert of.heard(1, progress(1.0, {"readers": role(0, 3, [30])})) == []
    first = role(0, 4, [40], failed={"lost": 1}, errors=1)
    (shown,) = of.heard(0, progress(1.0, {"readers": first}))
    assert (shown["roles"]["readers"]["ops"], shown["roles"]["readers"]["latency"]["n"]) == (7, 4)
    assert shown["roles"]["readers"]["failed"] == {"lost": 1}
    (again,) = of.heard(0, progress(1.5, {"readers": role(0, 5, [50])}))
    assert again["roles"]["readers"]["latency"]["n"] == 1
    assert of.rest() == [], "everything was said"


def test_the_client_is_all_processes_and_the_machine_is_sampled_once() -> None:
    of = Together()
    of.heard(1, progress(1.0, {"readers": role(0, 1)}, resources=[usage("cpu_s", 1.0, 3.0)]))
    first = [usage("cpu_s", 1.0, 2.0), usage("cpu_busy_s", 1.0, 7.0, "host")]
    (shown,) = of.heard(0, progress(1.0, {"readers": role(0, 1)}, resources=first))
    assert [one["value"] for one in shown["resources"]] == [5.0, 7.0]


def worked(first_is_quick: bool) -> tuple[list[Progress], Counter[str]]:
    """A run of two processes: a warm-up and two repetitions, each with a last word of both. What is said of it, and the
    calls that ended by phase. first_is_quick: its last word comes before that of the other one, and its first before the
    other's, too."""
    of, said, calls, at_s = Together(), [], Counter[str](), 0.0
    for segment, repetition in ((WARM, 0), (MEASURE, 0), (MEASURE, 1)):
        began_s = at_s + 1.0
        done = [0, 0]
        for beat, new in enumerate((3, 5, 2), 1):
            at_s = began_s + beat / 2
            for process in (0, 1) if first_is_quick else (1, 0):
                done[process] += new + process
                calls[PHASES[segment]] += new + process
                now = role(10 * done[process], done[process], [1_000 + at for at in range(new + process)])
                # Each process counts what it has used since it began.
                cpu = [usage("cpu_s", at_s, at_s if process == 0 else 60.0 + at_s)]
                more: dict[str, Any] = {"phase": PHASES[segment], "began_s": began_s, "resources": cpu}
                said += of.heard(process, progress(at_s, {"readers": now}, segment, repetition, **more))
    return [*said, *of.rest()], calls


def test_every_call_is_shown_once_and_in_its_own_phase_whoever_speaks_last() -> None:
    for first_is_quick in (True, False):
        said, calls = worked(first_is_quick)
        study = seen()
        parts = [(one["segment"], one["repetition"]) for one in said]
        assert parts == sorted(parts) and len(set(parts)) == 3
        times = [one["t_ns"] for one in said]
        assert times == sorted(times)
        for at, one in enumerate(said):
            study.event(one, 1_000.0 + at)
        found, total = study.roles["readers"], study.totals[("", "readers")]
        assert (total.ops, total.calls.n) == (calls.total(), calls.total()) == (69, 69)
        assert (found.measured_ops, found.measured.n) == (calls["measure"], calls["measure"]) == (46, 46)
        assert (total.rows, found.measured_rows) == (690, 460)


def test_the_client_is_never_busier_than_its_processes_are() -> None:
    """Two of them, each with one core all the time."""
    for first_is_quick in (True, False):
        using = Using()
        for one in worked(first_is_quick)[0]:
            using.look(one["resources"])
            assert using.busy_cores().get("client", 0.0) <= 2.01
        assert using.busy_cores()["client"] > 1.9


def test_what_the_last_process_says_behind_the_first_ones_last_word_is_said_when_the_part_is_over() -> None:
    of = Together()
    of.heard(0, progress(3.5, {"readers": role(0, 4, [10] * 4)}, began_s=3.0))
    # Its clock began later.
    assert of.heard(1, progress(1.7, {"readers": role(0, 6, [20] * 6)}, began_s=1.0)) == []
    (rest,) = of.rest()
    assert (rest["roles"]["readers"]["ops"], rest["roles"]["readers"]["latency"]["n"]) == (10, 6)
    assert (rest["t_ns"], rest["began_ns"]) == (3_700_000_000, 3_000_000_000)
    assert of.rest() == []
