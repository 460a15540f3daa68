"""The engines by name: the one list of them in Python. What is true of an engine is a field of its twin."""

from __future__ import annotations

#: Engine -> folder of its twin in `inrush.engines`. `null:<wire>` is `null` behind a wire's encoder.
ENGINES = {
    "null": "null",
    "simulated": "null",
    "device": "device",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "adbc": "adbc",
    "postgresql": "postgresql",
    "timescaledb": "timescaledb",
    "clickhouse": "clickhouse",
    "mysql": "mysql",
    "mariadb": "mysql",
    "influxdb": "influxdb",
    "ndb": "ndb",
    "valkey": "valkey",
    "questdb": "questdb",
}
