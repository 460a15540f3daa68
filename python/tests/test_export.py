"""Exports: other tools read what we measured, bucket for bucket."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from inrush.errors import UsageError
from inrush.report.export import encode_v2, hdr_log, highest_value, write_csv, zigzag
from inrush.results.schema import SCHEMAS
from inrush.results.store import Results, Store


def bucket_of(value: int, grouping_power: int = 7) -> int:
    """H2's rule: exact up to 2^(g+1), then 2^g buckets in every power of two."""
    if value < 2 << grouping_power:
        return value
    power = value.bit_length() - 1
    return ((power - grouping_power + 1) << grouping_power) + (
        (value - (1 << power)) >> (power - grouping_power)
    )


def sparse(values: list[int]) -> tuple[list[int], list[int]]:
    counts: dict[int, int] = {}
    for value in values:
        counts[bucket_of(value)] = counts.get(bucket_of(value), 0) + 1
    buckets = sorted(counts)
    return buckets, [counts[b] for b in buckets]


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=200))
def test_a_decoder_of_others_reads_every_count_of_our_histograms(values: list[int]) -> None:
    decoded = HdrHistogram.decode(encode_v2(7, *sparse(values)))
    theirs = HdrHistogram(1, 2**41, 2)
    for value in values:
        theirs.record_value(value)
    assert decoded.get_total_count() == len(values)
    for percentile in (0, 50, 90, 99, 99.9, 100):
        assert decoded.get_value_at_percentile(percentile) == theirs.get_value_at_percentile(percentile)


@given(st.integers(0, 2**50))
def test_the_upper_end_of_a_bucket_holds_its_values(value: int) -> None:
    upper = highest_value(7, bucket_of(value))
    assert upper >= value and (value <= 2 or bucket_of(upper) == bucket_of(value))


@pytest.mark.parametrize(
    ("value", "coded"),
    [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (63, "7e"), (64, "8001"), (-65, "8101")],
)
def test_numbers_are_coded_with_their_sign_in_the_last_bit(value: int, coded: str) -> None:
    assert zigzag(value).hex() == coded


def test_a_grouping_that_no_hdr_histogram_has_is_refused() -> None:
    with pytest.raises(UsageError, match="grouping power 8"):
        encode_v2(8, [1], [1])


def sealed(tmp_path: Path) -> Results:
    folder = Store(tmp_path).new_study("x", {})
    run = folder.open_run("b00-000-abc", {}, {})
    buckets, counts = sparse([1_000_000, 2_000_000, 2_000_000])
    row = {
        "segment": 4, "repetition": 0, "role": "writers/ports, all", "op": "insert", "kind": "latency", "t_ns": 500_000_000,
        "dt_ns": 1_000_000_000, "grouping_power": 7, "bucket": buckets, "count": counts, "n": 3, "min_ns": 1_000_000,
        "max_ns": 2_000_000, "sum_ns": 5_000_000,
    }  # fmt: skip
    other = {**row, "kind": "service"}
    batch = pa.RecordBatch.from_pylist([row, other], SCHEMAS["hist"])
    with pa.OSFile(str(run.parts / "hist.arrows"), "wb") as f, pa.ipc.new_stream(f, batch.schema) as writer:
        writer.write_batch(batch)
    run.seal({"status": "done", "begun_unix_ns": 1_700_000_000_000_000_000})
    return Results(folder.path)


def test_the_interval_log_has_the_latencies_and_its_tags_no_comma(tmp_path: Path) -> None:
    header, start, failed, _, line = hdr_log(sealed(tmp_path))
    assert failed.startswith("#[Calls that failed")
    assert header == "#[Histogram log format version 1.3]" and start.startswith(
        "#[StartTime: 1700000000.000 "
    )
    tag, start_s, length_s, max_ms, blob = line.split(",")
    assert tag == "Tag=b00-000-abc/writers/ports__all/insert"
    assert (start_s, length_s, max_ms) == ("0.500", "1.000", "2.000")
    assert HdrHistogram.decode(blob).get_total_count() == 3


def test_csv_has_every_table_with_the_run_in_front(tmp_path: Path) -> None:
    results = sealed(tmp_path)
    write_csv(results, tmp_path / "csv")
    with (tmp_path / "csv" / "hist.csv").open() as f:
        rows = list(csv.DictReader(f))
    assert [r["run"] for r in rows] == ["b00-000-abc"] * 2
    assert json.loads(rows[0]["count"]) == [1, 2] and rows[1]["kind"] == "service"
