"""What several client processes say while they work, as one: counts added up, histograms merged, no call shown twice."""

from __future__ import annotations

from inrush.clients.progress import Together, merged
from inrush.results.histogram import of_values
from tests.live_events import latencies, progress, role, usage


def test_histograms_are_merged_bucket_by_bucket() -> None:
    first, second = [1_000, 2_000_000, 2_000_001], [5, 2_000_000, 9_000_000]
    whole, found = of_values([*first, *second]), merged([latencies(first), latencies(second)])
    assert (found["bucket"], found["count"]) == (whole.bucket.tolist(), whole.count.tolist())
    assert (found["n"], found["min"], found["max"], found["sum"]) == (6, 5, 9_000_000, sum(first + second))
    empty = merged([latencies([]), latencies(first)])
    assert (empty["min"], empty["n"]) == (1_000, 3)


def test_what_other_processes_say_waits_for_the_first_and_is_shown_once() -> None:
    of = Together()
    assert of.heard(1, progress(0.5, {"readers": role(0, 2, [10, 20])})) is None
    assert of.heard(1, progress(1.0, {"readers": role(0, 3, [30])})) is None
    shown = of.heard(0, progress(1.0, {"readers": role(0, 4, [40], failed={"lost": 1}, errors=1)}))
    assert shown is not None
    assert (shown["roles"]["readers"]["ops"], shown["roles"]["readers"]["latency"]["n"]) == (7, 4)
    assert shown["roles"]["readers"]["failed"] == {"lost": 1}
    again = of.heard(0, progress(1.5, {"readers": role(0, 5, [50])}))
    assert again is not None and again["roles"]["readers"]["latency"]["n"] == 1


def test_the_client_is_all_processes_and_the_machine_is_sampled_once() -> None:
    of = Together()
    of.heard(1, progress(1.0, {"readers": role(0, 1)}, resources=[usage("cpu_s", 1.0, 3.0)]))
    first = [usage("cpu_s", 1.0, 2.0), usage("cpu_busy_s", 1.0, 7.0, "host")]
    shown = of.heard(0, progress(1.0, {"readers": role(0, 1)}, resources=first))
    assert shown is not None and [one["value"] for one in shown["resources"]] == [5.0, 7.0]
