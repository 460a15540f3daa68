"""Metrics in the binary form of Prometheus, which alone has native histograms: exponential buckets, as many as there are
values for. Pure.

Source: `io/prometheus/client/metrics.proto` of prometheus/client_model; numbers of fields stand beside their names here.
Only what inrush has is written: gauges, counters and histograms with labels.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, log2

from inrush.report.live.calls import GROUPING_POWER, Calls
from inrush.report.live.family import Family
from inrush.results.histogram import bucket_upper

PROTOBUF = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
#: Buckets grow by 2^(1/32), which is 2.2 %: those of the core, of 0.8 %, go into one each.
SCHEMA = 5
PER_OCTAVE = 1 << SCHEMA
#: Below it a value is counted as zero, s: no call is as quick.
ZERO_S = 1e-9
COUNTER, GAUGE, HISTOGRAM = 0, 1, 4


def upper_ns(bucket: int) -> int:
    """The largest value of a bucket of the core."""
    return bucket_upper(bucket, GROUPING_POWER)


def middle_ns(bucket: int) -> float:
    below = upper_ns(bucket - 1) if bucket else -1
    return (below + 1 + upper_ns(bucket)) / 2


def exponential(calls: Calls) -> tuple[int, dict[int, int]]:
    """Values of zero; index -> count, ascending. Bucket i holds values above base^(i-1) and up to base^i seconds.

    A bucket of the core goes where its middle is: a value is at most 0.4 % beyond the bounds of where it is counted.
    """
    found, zero = Counter[int](), 0
    for bucket, count in calls.counts.items():
        seconds = middle_ns(bucket) / 1e9
        if seconds <= ZERO_S:
            zero += count
        else:
            found[ceil(log2(seconds) * PER_OCTAVE)] += count
    return zero, dict(sorted(found.items()))


def spans(indices: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of neighbours as (distance from the end of the run before, length); the first one's from index 0."""
    found: list[tuple[int, int]] = []
    end = 0
    for index in indices:
        if found and index == end:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((index - end, 1))
        end = index + 1
    return found


def deltas(counts: Iterable[int]) -> list[int]:
    found, before = [], 0
    for count in counts:
        found.append(count - before)
        before = count
    return found


def encoded(found: Sequence[Family]) -> bytes:
    """Each family behind its length."""
    return b"".join(varint(len(one)) + one for one in map(family, found))


def family(of: Family) -> bytes:
    suffix = {"counter": "_total", "info": "_info"}.get(of.kind, "")
    kind = {"counter": COUNTER, "histogram": HISTOGRAM}.get(of.kind, GAUGE)
    value_at = 3 if kind == COUNTER else 2  # Metric.counter, Metric.gauge
    metrics = [pairs(s.labels) + message(value_at, double(1, s.value)) for s in of.samples]
    metrics += [pairs(labels) + message(7, histogram(calls)) for labels, calls in of.histograms]
    head = text(1, f"{of.name}{suffix}") + text(2, of.help) + unsigned(3, kind)
    return head + b"".join(message(4, metric) for metric in metrics)


def histogram(calls: Calls) -> bytes:
    zero, counts = exponential(calls)
    body = unsigned(1, calls.n) + double(2, calls.sum_ns / 1e9)
    body += signed(5, SCHEMA) + double(6, ZERO_S) + unsigned(7, zero)
    for offset, length in spans(list(counts)):
        body += message(12, signed(1, offset) + unsigned(2, length))
    packed = b"".join(varint(zigzag(delta)) for delta in deltas(counts.values()))
    return body + (message(13, packed) if packed else b"")


def pairs(labels: Mapping[str, str]) -> bytes:
    return b"".join(message(1, text(1, name) + text(2, value)) for name, value in labels.items())


# --- the wire of protocol buffers: a field is its number and its kind, then its value


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def unsigned(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def signed(field: int, value: int) -> bytes:
    return unsigned(field, zigzag(value))


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def message(field: int, body: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(body)) + body


def text(field: int, value: str) -> bytes:
    return message(field, value.encode())
