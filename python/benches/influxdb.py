"""What a line of InfluxDB's protocol costs the client: generated, encoded and sent, on the columns of a telemetry table."""

from __future__ import annotations

from collections.abc import Iterator

from benches import ingest
from benches.floors import Parts
from benches.places import url_of
from inrush.study.reading import load_study
from inrush.workload import Table

#: The server takes tens of thousands of lines a second, and the client's cost shows in fewer.
ROWS = 200_000
BATCH_ROWS = 10_000
#: CPU of the client, where the peer's own loader (tsbs_load_influx, 0.99 µs) is not at hand.
BAR_US = 0.35


def comparisons() -> Iterator[Parts]:
    if url_of("influxdb"):
        bar = f"bar of {BAR_US} µs a line"
        yield "influxdb lines, client", bar, "lines/CPU-s", 1.0, lines_per_cpu_s, lambda: 1e6 / BAR_US


def lines_per_cpu_s() -> float:
    totals = ingest.run("influxdb", "bulk", telemetry(), ROWS, BATCH_ROWS)
    return ROWS / (float(totals["cpu_ns"]) / 1e9)


def telemetry() -> Table:
    return load_study("telemetry-batch").workload.tables["port_data_counters"]
