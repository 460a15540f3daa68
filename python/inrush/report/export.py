"""Results for other tools: HdrHistogram interval log, CSV, Bencher Metric Format."""

from __future__ import annotations

import base64
import csv
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from inrush.analysis.claims import COLUMNS, claim_rows, judged_claims
from inrush.analysis.points import Analysis, say
from inrush.errors import UsageError
from inrush.metrics import METRICS, unit_of
from inrush.results.histogram import bucket_of
from inrush.results.store import Results
from inrush.stats.quantity import says_nothing

V2_COOKIE = 0x1C849303 | 0x10
V2_COMPRESSED_COOKIE = 0x1C849304 | 0x10
#: Grouping power of our buckets -> significant digits of an HdrHistogram with the same buckets.
DIGITS = {4: 1, 7: 2, 10: 3, 14: 4, 17: 5}
#: A log of histograms has no place above all values: calls that failed stand at a day, beyond any call's time limit.
FAILED_NS = 86_400_000_000_000
#: Maxima of an interval log are in milliseconds, values in nanoseconds.
NS_PER_MS = 1e6
#: Bencher keeps times in nanoseconds and rates in operations per second.
BENCHER_NS = 1e9


def write_csv(results: Results, folder: Path) -> Path:
    """Every table of every run, `<table>.csv`, with the run's id in front."""
    import pyarrow as pa
    import pyarrow.csv as pc

    folder.mkdir(parents=True, exist_ok=True)
    names = sorted({name for run in results.runs for name in run.doc["tables"]})
    for name in names:
        parts = []
        for run in results.runs:
            table = flat(run.table(name))
            parts.append(table.add_column(0, "run", pa.array([run.id] * table.num_rows, pa.string())))
        pc.write_csv(pa.concat_tables(parts), folder / f"{name}.csv")
    return folder


def flat(table: Any) -> Any:
    """Lists as JSON texts: CSV has none."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            texts = [json.dumps(value) for value in table.column(i).to_pylist()]
            table = table.set_column(i, field.name, pa.array(texts, pa.string()))
    return table


def write_hdr(results: Results, path: Path) -> Path:
    """Latencies of all measured runs, tagged `<run>/<role>/<operation>`, as HistogramLogAnalyzer and others read them.

    How soon rows were seen is tagged `<run>/<role>/<operation>/freshness`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as f:
        for line in hdr_log(results):
            f.write(line + "\n")
    return path


def hdr_log(results: Results) -> Iterator[str]:
    yield "#[Histogram log format version 1.3]"
    begun_s = min((run.doc["begun_unix_ns"] for run in results.runs), default=0) / 1e9
    yield f"#[StartTime: {begun_s:.3f} (seconds since epoch)]"
    yield f"#[Calls that failed count as slower than every other: at {FAILED_NS} ns]"
    yield '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    priced = set((results.study.get("calibrated_by") or {}).values())
    for run in (r for r in results.runs if r.id not in priced):
        after_s = run.doc["begun_unix_ns"] / 1e9 - begun_s
        failed = failed_by_interval(run)
        for row in with_failed_alone(run.table("hist").to_pylist(), failed):
            if row["kind"] not in ("latency", "freshness"):
                continue
            if row["kind"] == "latency" and (count := failed.get(place_of(row), 0)):
                row = with_failed(row, count)
            if not row["n"]:
                continue
            of = "" if row["kind"] == "latency" else "/freshness"
            tag = f"{run.id}/{row['role']}/{row['op']}{of}".replace(",", "_").replace(" ", "_")
            blob = encode_v2(row["grouping_power"], row["bucket"], row["count"])
            start_s, length_s = after_s + row["t_ns"] / 1e9, row["dt_ns"] / 1e9
            yield f"Tag={tag},{start_s:.3f},{length_s:.3f},{row['max_ns'] / NS_PER_MS:.3f},{blob}"


Place = tuple[int, int, str, str, int]


def place_of(row: Mapping[str, Any]) -> Place:
    return (row["segment"], row["repetition"], row["role"], row["op"], row["t_ns"])


def failed_by_interval(run: Any) -> dict[Place, int]:
    """Where calls failed, and how many."""
    table = run.table("intervals")
    return {place_of(row): row["errors"] for row in table.to_pylist() if row["errors"]}


def with_failed_alone(
    rows: Sequence[dict[str, Any]], failed: Mapping[Place, int]
) -> Iterator[dict[str, Any]]:
    """The histograms, and an empty one of latency for each interval in which every call failed."""
    yield from rows
    timed = {place_of(row) for row in rows if row["kind"] == "latency"}
    power = rows[0]["grouping_power"] if rows else 7
    for place in failed.keys() - timed:
        where = dict(zip(("segment", "repetition", "role", "op", "t_ns"), place, strict=True))
        yield {
            **where,
            "kind": "latency",
            "dt_ns": 0,
            "grouping_power": power,
            "bucket": [],
            "count": [],
            "n": 0,
            "max_ns": 0,
        }


def with_failed(row: Mapping[str, Any], count: int) -> dict[str, Any]:
    """The histogram with its failed calls at FAILED_NS, or above its own largest value if that is larger."""
    power = row["grouping_power"]
    value = max(FAILED_NS, int(row["max_ns"]))
    bucket, counts = list(row["bucket"]), list(row["count"])
    if bucket and bucket[-1] >= bucket_of(value, power):
        counts[-1] += count
    else:
        bucket.append(bucket_of(value, power))
        counts.append(count)
    return {**row, "bucket": bucket, "count": counts, "n": row["n"] + count, "max_ns": value}


def encode_v2(grouping_power: int, buckets: Sequence[int], counts: Sequence[int]) -> str:
    """A histogram in HdrHistogram's V2 encoding, deflated, in base64.

    buckets: indexes, ascending; they are HdrHistogram's own for the digits of `DIGITS`.
    Raises UsageError for a grouping power that no number of digits has.
    Source: HdrHistogram, AbstractHistogram.encodeIntoByteBuffer.
    """
    if grouping_power not in DIGITS:
        raise UsageError(
            f"grouping power {grouping_power} has no HdrHistogram of the same buckets; it needs one of {sorted(DIGITS)}"
        )
    payload = b"".join(zigzag(n) for n in runs_of_zeros(buckets, counts))
    highest = highest_value(grouping_power, buckets[-1] if buckets else 0)
    header = struct.pack(">iiiiqqd", V2_COOKIE, len(payload), 0, DIGITS[grouping_power], 1, highest, 1.0)
    packed = zlib.compress(header + payload)
    return base64.b64encode(struct.pack(">ii", V2_COMPRESSED_COOKIE, len(packed)) + packed).decode()


def runs_of_zeros(buckets: Sequence[int], counts: Sequence[int]) -> Iterator[int]:
    """Counts from index 0 on; a run of n zeros is -n, and one of 1 is 0."""
    at = 0
    for bucket, count in zip(buckets, counts, strict=True):
        gap = bucket - at
        if gap:
            yield -gap if gap > 1 else 0
        yield count
        at = bucket + 1


def zigzag(value: int) -> bytes:
    """LEB128 of a signed number with its sign in the last bit; nine bytes at most, the ninth whole."""
    n = (value << 1) ^ (value >> 63) if value >= 0 else ((-value) << 1) - 1
    out = bytearray()
    while n >= 0x80 and len(out) < 8:
        out.append((n & 0x7F) | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def highest_value(grouping_power: int, bucket: int) -> int:
    """Upper end of a bucket, and at least twice the lowest value, as the format demands."""
    step = bucket >> grouping_power
    if step == 0:
        upper = bucket
    else:
        width = 1 << (step - 1)
        upper = ((1 << grouping_power) + bucket - (step << grouping_power)) * width + width - 1
    return max(2, upper)


def write_bmf(analysis: Analysis, path: Path) -> Path:
    """Bencher Metric Format: point -> figure -> value with the bounds of its interval."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bmf(analysis), indent=1) + "\n")
    return path


def write_claims(analysis: Analysis, path: Path) -> Path:
    """Published claims with a rule, and what became of each here; of a study without any the header alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        out.writerows(claim_rows(judged_claims(analysis)))
    return path


def bmf(analysis: Analysis) -> dict[str, dict[str, dict[str, float]]]:
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for figure in exported(name for m in analysis.runs for name in m.figures):
        role, metric = figure.rsplit(".", 1)
        measure = METRICS[metric].bencher or metric
        factor = BENCHER_NS if unit_of(metric) == "s" else 1.0
        for s in analysis.summaries(figure):
            if s.failed:  # no number says that: the measure is left out, and `failed-calls` is there
                continue
            value: dict[str, float] = {"value": factor * sum(s.values) / len(s.values)}
            if s.interval is not None:
                value = {"value": factor * s.interval.value}
                if not says_nothing(s.interval):
                    value["lower_value"] = factor * s.interval.low
                    value["upper_value"] = factor * s.interval.high
            figures.setdefault(f"{role}: {say(s.point)}", {})[measure] = value
    return figures


def exported(names: Iterable[str]) -> list[str]:
    return sorted(
        {name for name in names if (m := METRICS.get(name.rsplit(".", 1)[-1])) is not None and m.bencher}
    )
