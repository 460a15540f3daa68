"""Debian's Prometheus scrapes a study that runs, and every query of the dashboard has an answer there."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inrush.report.live.metrics import families
from tests.live_events import progress, role, usage
from tests.test_live_server import TOKEN, Study
from tests.test_run import begin

DASHBOARD = Path(__file__).parents[2] / "docs" / "live" / "grafana.json"
REQUIRED = "INRUSH_REQUIRE_PROMETHEUS"
CONFIGURED = """
global: {{ scrape_interval: 500ms, scrape_timeout: 400ms }}
scrape_configs:
  - job_name: inrush
    authorization: {{ credentials: {token} }}
    static_configs: [{{ targets: ["127.0.0.1:{port}"] }}]
"""


def queries() -> list[str]:
    """Of all panels, with what Grafana puts in for its variables."""
    found = [t["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for t in panel["targets"]]
    return [
        q.replace("$__rate_interval", "5s").replace("$instance", ".*").replace("$role", ".*") for q in found
    ]


def test_the_dashboard_asks_for_metrics_that_there_are(tmp_path: Path) -> None:
    study = Study(begin(tmp_path))
    goes_on(study, 1)
    goes_on(study, 3)
    suffixes = {"counter": ("_total",), "info": ("_info",), "histogram": ("_bucket",), "gauge": ("",)}
    there = {f"{f.name}{s}" for f in families(study.view.seen, 0.0) for s in suffixes[f.kind]}
    study.server.end(None)
    asked = {name for q in queries() for name in re.findall(r"inrush_\w+", q)}
    assert asked <= there | {"inrush_runs_ended_total", "inrush_limit_used_ratio"} and len(asked) > 15
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)


def goes_on(study: Study, half: int) -> None:
    late = role(
        500 * half,
        5 * half,
        [2_000_000] * 5,
        due=5 * half,
        lag_p99_ms=1.0,
        failed={"timeout": half},
        errors=half,
    )
    used = [usage(metric, half, 1.0 * half, *of) for metric, *of in (
        ("cpu_s", "client"), ("rss_bytes", "client"), ("cpu_steal_s", "host"), ("cpu_iowait_s", "host"),
        ("dev_read_bytes", "host", "vda"), ("dev_write_bytes", "host", "vda"), ("dev_busy_s", "host", "vda"),
    )]  # fmt: skip
    study.view.event(progress(half / 2, {"writers": late}, resources=used, share=0.5, left_s=9.0))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(params=["text", "native"])
def prometheus(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Study, bool]]:
    """Its address, the study that it scrapes, and whether it takes native histograms."""
    program = shutil.which("prometheus")
    if program is None:
        message = "Prometheus is not installed (Debian: prometheus)"
        if os.environ.get(REQUIRED):
            pytest.fail(message)
        pytest.skip(f"NOT TESTED: {message}; {REQUIRED}=1 makes this a failure")
    native = request.param == "native"
    study = Study(begin(tmp_path))
    study.view.seen.study = {**study.view.seen.study, "accept": {"writers.errors": 5}}
    study.view.seen.ended_runs["done"] += 1
    (tmp_path / "prometheus.yml").write_text(CONFIGURED.format(port=study.port, token=TOKEN))
    port = free_port()
    server = subprocess.Popen(
        [program, f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}",
         f"--web.listen-address=127.0.0.1:{port}", *(["--enable-feature=native-histograms"] if native else [])],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    yield f"http://127.0.0.1:{port}", study, native
    server.terminate()
    server.wait(30)
    study.server.end(None)


def answer(address: str, query: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(
        f"{address}/api/v1/query?query={urllib.parse.quote(query)}", timeout=10
    ) as found:
        result: list[dict[str, Any]] = json.load(found)["data"]["result"]
    return result


@pytest.mark.ci
def test_every_query_of_the_dashboard_has_an_answer(prometheus: tuple[str, Study, bool]) -> None:
    address, study, native = prometheus
    end = time.monotonic() + 60
    half, left = 0, queries()
    if native:  # there are no buckets with a bound there
        left = [re.sub(r"sum by \(le, engine, role\) \(rate\(inrush_latency_seconds_bucket",
                       "sum by (engine, role) (rate(inrush_latency_seconds", q) for q in left]  # fmt: skip
    while left and time.monotonic() < end:
        half += 1
        goes_on(study, half)
        time.sleep(0.5)
        if half > 6:
            try:
                left = [q for q in left if not answer(address, q)]
            except OSError:
                continue
    assert left == []
    name = "inrush_latency_seconds" if native else "inrush_latency_seconds_bucket"
    by = "" if native else "le, "
    p99 = math.nan
    while math.isnan(p99) and time.monotonic() < end:  # no call in the 5 s before
        half += 1
        goes_on(study, half)
        time.sleep(0.5)
        (found,) = answer(address, f"histogram_quantile(0.99, sum by ({by}role) (rate({name}[5s])))")
        p99 = float(found["value"][1])
    # Every call took 2 ms: a native bucket is 2.2 % wide, one of the text 50 %.
    assert p99 == pytest.approx(0.002, rel=0.025 if native else 0.5)
