"""What peers print is read right: their own figures, not ours of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benches import extraction
from benches.bench import Comparison, Line, by_verdict, measured
from benches.device import reported as of_fio
from benches.lookups import reported
from benches.rounds import Rounds
from benches.valkey import reported as of_valkey
from benches.verdict import Word, judged
from benches.watching import iostat_figure, pidstat_figures
from inrush.stats.stats import Interval

PIDSTAT = """\
Linux 6.1.0 (vm) \t2026-11-20 \t_x86_64_\t(2 CPU)

15:35:01      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
15:35:31    65534     30011   21.10    3.20    0.00    0.40   24.30     1  influxd

15:35:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
15:35:31    65534     30011      0.00   1899.27      0.00       0  influxd

Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
Average:    65534     30011   21.10    3.20    0.00    0.40   24.30     -  influxd

Average:      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
Average:    65534     30011      0.00   1899.27      0.00       0  influxd
"""
IOSTAT = """\
Linux 6.1.0 (vm) \t2026-11-20 \t_x86_64_\t(2 CPU)

Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
vda            2061.20       119.73     56601.33         0.00       3592    1698040          0

"""
PGBENCH = """\
number of transactions actually processed: 70154
latency average = 0.029 ms
initial connection time = 3.401 ms
tps = 35110.121847 (without initial connection time)
"""
VALKEY_BENCHMARK = """\
"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"HVALS inrush_bench/__rand_int__","53191.49","0.016","0.008","0.015","0.023","0.031","1.023"
"""
SYSBENCH = """\
    transactions:                        37462  (18727.34 per sec.)
    queries:                             37462  (18727.34 per sec.)
"""


def test_pidstat_is_read_by_its_averages() -> None:
    assert pidstat_figures(PIDSTAT) == (24.30, 1899.27)


def test_iostat_is_read_by_its_sum() -> None:
    assert iostat_figure(IOSTAT, "vda") == 1_698_040


def test_a_rate_is_the_peers_own() -> None:
    assert of_valkey(VALKEY_BENCHMARK) == 53191.49
    with pytest.raises(RuntimeError, match="no rate"):
        of_valkey("Could not connect")
    assert reported(PGBENCH) == (70154, 35110.121847)
    assert reported(SYSBENCH) == (37462, 18727.34)


def test_fio_is_read_by_bytes_of_its_run_and_by_the_processor_of_all_its_threads() -> None:
    side = {"io_bytes": 3_000_000, "runtime": 1500, "total_ios": 600, "bw_bytes": 1}
    job = {"error": 0, "read": side, "usr_cpu": 5.0, "sys_cpu": 15.0, "job_runtime": 3000}
    shown = f"note: something\n{json.dumps({'jobs': [job]})}"
    rate, per_cpu_s = of_fio(shown, "read")
    assert rate == 2_000_000 and per_cpu_s == pytest.approx(1000)
    for broken in ("nothing", json.dumps({"jobs": [{**job, "error": 5}]}), json.dumps({"jobs": []})):
        with pytest.raises(RuntimeError, match="fio"):
            of_fio(broken, "read")


def test_what_tells_no_rate_has_none() -> None:
    with pytest.raises(RuntimeError, match="no rate"):
        reported("connection refused")


def test_figures_of_one_measurement_come_from_the_same_rounds() -> None:
    made = iter([(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)])
    rounds = Rounds(lambda: next(made))
    first, second = rounds.figure(0), rounds.figure(1)
    assert [first(), first()] == [1.0, 2.0]
    assert [second(), second(), second()] == [10.0, 20.0, 30.0], (
        "made rounds are lines again, missing ones made"
    )
    assert first() == 3.0


@pytest.mark.parametrize(
    ("value", "low", "high", "bar", "word"),
    [
        (0.85, 0.55, 1.33, 1.0, Word.UNDECIDED),  # noise is no proof of a bar
        (0.91, 0.84, 0.99, 1.0, Word.SHORT),
        (0.91, 0.82, 1.01, 1.0, Word.SHORT),
        (0.91, 0.77, 1.08, 1.0, Word.UNDECIDED),
        (0.99, 0.96, 1.0499, 1.0, Word.SHORT),
        (0.99, 0.96, 1.05, 1.0, Word.UNDECIDED),
        (1.00, 0.95, 1.05, 1.0, Word.MET),
        (1.00, 0.949, 1.06, 1.0, Word.UNDECIDED),
        (1.20, 0.90, 1.60, 1.0, Word.UNDECIDED),
        (1.20, 1.11, 1.29, 1.0, Word.MET),
        (1.86, 1.95 * 0.95, 2.1, 1.95, Word.UNDECIDED),
        (0.50, 0.49, 0.51, 2.0, Word.SHORT),
    ],
)
def test_a_bar_is_met_short_or_undecided(
    value: float, low: float, high: float, bar: float, word: Word
) -> None:
    assert judged(Interval(value, low, high, 0.95, 10), bar) is word


@pytest.mark.parametrize(
    ("value", "low", "high", "word"),
    [
        (1.00, 0.95, 1.05, Word.MET),
        (1.00, 0.949, 1.05, Word.UNDECIDED),
        (1.00, 0.95, 1.051, Word.UNDECIDED),
        (0.99, 0.90, 1.09, Word.UNDECIDED),
        (0.90, 0.85, 0.96, Word.SHORT),
        (0.94, 0.90, 0.999, Word.UNDECIDED),
        (1.10, 1.02, 1.18, Word.SHORT),
        (1.10, 0.99, 1.22, Word.UNDECIDED),
        (1.50, 1.49, 1.51, Word.SHORT),
    ],
)
def test_what_should_agree_does_so_where_the_whole_interval_lies_within(
    value: float, low: float, high: float, word: Word
) -> None:
    assert judged(Interval(value, low, high, 0.95, 10), 0.95, 1.05) is word


def compared(ratio: float, spread: float, seed: int = 1, bar: float = 1.0) -> Comparison:
    rng = np.random.default_rng(seed)
    ours: Callable[[], float] = lambda: ratio * float(np.exp(rng.normal(0, spread)))  # noqa: E731
    return Comparison("a", "a peer", "rows/s", bar, ours, lambda: 1.0)


def test_of_costs_the_smaller_one_is_better() -> None:
    def line(unit: str, ours: float) -> Line:
        return measured(Comparison("a", "a peer", unit, 1.0, lambda: ours, lambda: 1.0), 3, 40)

    assert (line("MB", 0.5).ratio, line("MB", 0.5).verdict) == (pytest.approx(2.0), "met")
    assert (line("MB", 2.0).ratio, line("MB", 2.0).verdict) == (pytest.approx(0.5), "short")
    assert line("rows/s", 2.0).ratio == pytest.approx(2.0)


def test_what_is_undecided_gets_rounds_until_its_interval_is_narrow() -> None:
    line = measured(compared(1.02, 0.15), 5, 40)
    assert 5 < line.rounds <= 40
    assert line.rounds == 40 or (line.hi <= 1.08 * line.ratio and line.lo >= 0.92 * line.ratio)


def test_what_is_decided_gets_no_more_rounds_and_noise_no_more_than_forty() -> None:
    assert measured(compared(2.0, 0.01), 5, 40).rounds == 5
    assert measured(compared(1.0, 1.0), 5, 40).rounds == 40
    assert measured(compared(1.0, 1.0), 5, 40).verdict == "undecided"


def test_a_peer_as_fast_is_rarely_called_faster_and_one_ten_percent_faster_is_never_met() -> None:
    words = [measured(compared(1.0, 0.1, seed), 10, 40).verdict for seed in range(60)]
    slower = [measured(compared(0.9, 0.1, seed), 10, 40).verdict for seed in range(60)]
    assert slower.count("met") <= 1 and slower.count("short") >= 50
    assert words.count("met") >= 10


def test_the_end_names_every_bar_that_is_not_met() -> None:
    lines = [measured(compared(r, 0.001), 5, 40) for r in (2.0, 0.5)] + [measured(compared(1.0, 1.0), 5, 6)]
    shown = list(by_verdict(lines))
    assert (
        shown[:2] == ["met: 1", "short: 1"] and "a, a peer: 0.50 [" in shown[2] and shown[3] == "undecided: 1"
    )


def test_sides_of_an_extraction_follow_each_other_in_an_order_that_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []

    def read(_: extraction.Round, side: str) -> extraction.Read:
        order.append(side)
        return extraction.Read(2.0 if side == "copy" else 4.0, 0.5 if side == "copy" else 1.0, 30.0)

    monkeypatch.setattr(extraction.Round, "read", read)
    monkeypatch.setattr(extraction, "loaded", lambda *_: None)
    monkeypatch.setattr(extraction, "warm", lambda *_: None)
    monkeypatch.setattr(extraction, "READS", {})
    rounds = Rounds(extraction.Round("postgresql", 100, 1000, ("copy",), ("psql",)))
    parts = list(extraction.of_size("postgresql", 100, rounds, ("copy",), ("psql",)))
    assert [(name, unit, ours() / theirs()) for name, _, unit, _, ours, theirs in parts] == [
        ("postgresql extraction, copy, 100 rows", "rows/s", 2.0),
        ("postgresql extraction, copy, 100 rows, client", "rows/CPU-s", 2.0),
        ("postgresql extraction, copy, 100 rows", "rows/s", 50 / extraction.PUBLISHED),
    ]
    assert parts[0][4]() == 50.0
    assert order == ["copy", "psql", "psql", "copy"], "figures of one round come from one round"
    assert (
        extraction.note("postgresql extraction, copy, 100 rows, client")
        == "the whole process 0.00 CPU-s, 30 MB"
    )


def test_a_client_that_wrote_fewer_rows_has_no_rate(tmp_path: Path) -> None:
    two = [sys.executable, "-c", "print('a\\tb'); print('c\\td')"]
    assert extraction.called(two, 2).seconds > 0
    with pytest.raises(RuntimeError, match="wrote 2 rows of 3"):
        extraction.called(two, 3)
    binary = tmp_path / "rows"
    binary.write_bytes(b"PGCOPY\n\xff\r\n\0" + bytes(8) + bytes(44 * 3) + b"\xff\xff")
    assert extraction.rows_in(binary) == 3


def test_both_sides_of_an_extraction_ask_for_the_same_rows() -> None:
    text = extraction.query("postgresql", 10_000)
    assert "time >= timestamptz '2026-01-01 00:00:00.000000+00'" in text
    assert "time < timestamptz '2026-01-01 00:00:10.000000+00'" in text
    assert extraction.operation("mysql", "text", 10_000)["text"].endswith(
        "id = ? AND time >= ? AND time < ? ORDER BY time"
    )
