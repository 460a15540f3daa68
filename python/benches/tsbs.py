"""The `cpu` table of TSBS: inrush, which generates its rows, against the loader of TSBS, from a ready file.

Same server, rows, batch, one connection, no index but those that the server makes itself. The file is made by
`tsbs_generate_data`; the loader's rate is the one that it prints. Both sides send a time, the host of the row, and ten
measurements a row: to InfluxDB ten tags and ten integers, to the others the number of the host and ten doubles. What a
loader sends besides (ClickHouse: three more columns of times; a table of tags) is part of its cost and named here.

TSBS is looked for in PATH and in the folder that `INRUSH_TSBS` names; CONTRIBUTING says how it is built.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from functools import cache, partial
from pathlib import Path

from benches import ingest
from benches.clickhouse import NATIVE_PORT
from benches.floors import Parts
from benches.places import call, host_and_port, url_of
from benches.rounds import Rounds
from inrush import _core
from inrush.workload import Column, Table

HOSTS, STEP_S, BATCH_ROWS = 1_000, 10, 10_000
#: InfluxDB takes a tenth of what the others take.
ROWS = {"influxdb": 100_000, "timescaledb": 500_000, "clickhouse": 500_000}
DATABASE = "inrush_bench_tsbs"
#: Measurements of a row, 0 to 100.
FIELDS = tuple(
    f"usage_{name}" for name in ("user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
)  # fmt: skip
#: Tag -> how many values it has over the hosts, about as in TSBS.
TAGS = {
    "region": 9, "datacenter": 25, "rack": 100, "os": 3, "arch": 2, "team": 4, "service": 20, "service_version": 2,
    "service_environment": 3,
}  # fmt: skip
SINCE_S = ingest.EPOCH_NS // 10**9


def comparisons() -> Iterator[Parts]:
    for engine in ROWS:
        if url_of(engine) is None:
            continue
        if program(engine) is None or tool("tsbs_generate_data") is None:
            print(f"no TSBS here: loads of its table into {engine} are left out", flush=True)
            continue
        us, them = Rounds(partial(ours, engine)), Rounds(partial(theirs, engine))
        peer = f"tsbs_load_{peer_name(engine)}"
        yield f"{engine} cpu table", peer, "rows/s", 1.0, us.figure(0), them.figure(0)
        yield f"{engine} cpu table, client", peer, "rows/CPU-s", 1.0, us.figure(1), them.figure(1)


# --- ours


def ours(engine: str) -> tuple[float, float]:
    """Rows per second of wall time, and of CPU of the session's thread."""
    totals = ingest.run(engine, "bulk", table(engine), ROWS[engine], BATCH_ROWS)
    rows = ROWS[engine]
    return rows / ((totals["end_ns"] - totals["start_ns"]) / 1e9), rows / (totals["cpu_ns"] / 1e9)


def table(engine: str) -> Table:
    at = Column("time", "time_ms", {"kind": "sweep_time"})
    if engine == "influxdb":
        who = [Column("hostname", "text", named("host_%d", 0, HOSTS - 1))]
        who += [Column(tag, "text", named(f"{tag}-%d", 1, count)) for tag, count in TAGS.items()]
        kind = "i64"
    else:
        who = [Column("tags_id", "i32", {"kind": "cycle", "from": 1, "to": HOSTS})]
        kind = "f64"
    draw = {"kind": "uniform", "from": 0, "to": 100}
    columns = (at, *who, *(Column(name, kind, draw) for name in FIELDS))
    identity = ("time", who[0].name)
    return Table("cpu", columns, series=HOSTS, period_s=STEP_S, identity=identity, layouts={"none": ()})


def named(pattern: str, first: int, last: int) -> dict[str, object]:
    return {
        "kind": "format",
        "pattern": pattern,
        "fields": [{"kind": "cycle", "from": first, "to": last}],
    }


# --- theirs


def theirs(engine: str) -> tuple[float, float]:
    """Rows per second as the loader prints them, and per second of its CPU, start and reading of the file included."""
    if engine == "timescaledb":
        make_hypertable()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = call([str(program(engine)), *arguments(engine)])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    loaded = re.search(r"loaded (\d+) rows in ([\d.]+)sec", shown)
    if not loaded or int(loaded[1]) != ROWS[engine]:
        raise RuntimeError(f"TSBS did not load {ROWS[engine]} rows into {engine}: {shown[-400:]}")
    return ROWS[engine] / float(loaded[2]), ROWS[engine] / cpu_s


def make_hypertable() -> None:
    """The loader's tables, empty, with `cpu` as a hypertable: it would make it with an argument that is gone since 2.14."""
    call([str(program("timescaledb")), *place_of_tables(), "--use-hypertable=false", "--limit=1000"])
    url = str(url_of("timescaledb")).rsplit("/", 1)[0] + f"/{DATABASE}"
    target = json.dumps({"engine": "timescaledb", "url": url, "options": {}})
    for statement in (
        "CREATE EXTENSION IF NOT EXISTS timescaledb",
        "TRUNCATE cpu, tags RESTART IDENTITY",
        "SELECT create_hypertable('cpu', 'time', create_default_indexes => false)",
    ):
        _core.control(target, statement, 60.0)


def place_of_tables() -> list[str]:
    host, port = host_and_port("timescaledb")
    place = [f"--host={host}", f"--port={port}", "--user=postgres", "--admin-db-name=postgres"]
    no_index = ["--time-index=false", "--partition-index=false", "--field-index-count=0"]
    return [*common("timescaledb"), *place, *no_index]


def common(engine: str) -> list[str]:
    work = [f"--file={file(engine)}", "--workers=1", f"--batch-size={BATCH_ROWS}"]
    return [*work, f"--db-name={DATABASE}", "--do-abort-on-exist=false"]


def arguments(engine: str) -> Sequence[str]:
    host, port = host_and_port(engine)
    if engine == "influxdb":
        return [*common(engine), f"--urls=http://{host}:{port}", "--gzip=false"]
    if engine == "timescaledb":
        return [*place_of_tables(), "--do-create-db=false", "--create-metrics-table=false"]
    # It has no option for the port: what follows the first `?` of the address that it writes is left for the driver.
    return [*common(engine), f"--host={host}:{os.environ[NATIVE_PORT]}?read_timeout=60&rest="]


@cache
def file(engine: str) -> Path:
    seconds = ROWS[engine] // HOSTS * STEP_S
    path = ingest.csv_file().with_name(f"tsbs.{engine}")
    since, until = (
        datetime.fromtimestamp(SINCE_S + s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") for s in (0, seconds)
    )
    script = [
        str(tool("tsbs_generate_data")), "--use-case=cpu-only", "--seed=1", f"--scale={HOSTS}", f"--timestamp-start={since}",
        f"--timestamp-end={until}", f"--log-interval={STEP_S}s", f"--format={peer_name(engine)}", f"--file={path}",
    ]  # fmt: skip
    call(script)
    return path


def peer_name(engine: str) -> str:
    return "influx" if engine == "influxdb" else engine


def program(engine: str) -> str | None:
    return tool(f"tsbs_load_{peer_name(engine)}")


def tool(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join((os.environ.get("INRUSH_TSBS", ""), os.environ["PATH"])))
