"""Metrics of a study that runs: three forms of one thing, each read by a parser that is not ours."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as plain_families

from inrush.errors import UsageError
from inrush.report.live import push
from inrush.report.live.calls import Calls
from inrush.report.live.family import Family
from inrush.report.live.metrics import OPEN, TEXT, families, open_text, plain_text, rendered
from inrush.report.live.native import PER_OCTAVE, PROTOBUF, deltas, exponential, spans
from inrush.report.live.seen import StudySeen
from inrush.report.live.view import View
from tests.live_events import latencies, progress, role, usage
from tests.test_live import STUDY, Run, run_for, seen
from tests.test_live_server import until
from tests.test_run import begin

MS = 1_000_000
ACCEPT_OPEN = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
ACCEPT_BINARY = f"{PROTOBUF};q=0.8,{ACCEPT_OPEN}"


def busy() -> StudySeen:
    """A study with every metric that there is."""
    of = seen({**STUDY, "accept": {"writers.errors": 10}})
    run_for(of, 3)
    used = [
        usage("rss_bytes", 4.0, 5e6),
        usage("cpu_s", 4.0, 1.0),
        usage("dev_busy_s", 4.0, 1.0, "host", 'vd"a\\'),
    ]
    late = role(
        3_100, 31, [3 * MS], due=40, backlog=9, late=2, lag_p99_ms=4.0, failed={"timeout": 2}, errors=2
    )
    of.event(progress(4.0, {"writers": late}, resources=used, share=0.5, left_s=3.0), 1_004.0)
    again = [{**one, "t_ns": one["t_ns"] + 10**9, "value": one["value"] + 0.5} for one in used]
    of.event(progress(5.0, {"writers": late}, resources=again, share=0.6, left_s=2.0), 1_005.0)  # type: ignore[arg-type]
    of.ended_runs["done"] += 2
    return of


@pytest.fixture(scope="module")
def found() -> list[Family]:
    return families(busy(), 1_005.0)


# --- text


def test_openmetrics_is_read_by_its_parser(found: list[Family]) -> None:
    read = {family.name: family for family in open_families(open_text(found))}
    assert set(read) == {family.name for family in found}
    assert {f.name: f.unit for f in found} == {name: family.unit for name, family in read.items()}
    assert all(family.name.endswith(f"_{family.unit}") for family in found if family.unit)
    (rows,) = (s for s in read["inrush_rows"].samples if s.name == "inrush_rows_total")
    assert (rows.value, rows.labels["role"]) == (3_100, "writers")
    (failed,) = read["inrush_failed_calls"].samples
    assert (failed.labels["outcome"], failed.value) == ("timeout", 2)
    (disk,) = read["inrush_device_busy_ratio"].samples
    assert (disk.labels["device"], disk.value) == ('vd"a\\', 0.5), "labels are escaped"
    assert open_text(found).endswith("# EOF\n")


def test_the_older_text_is_read_by_its_parser_and_says_the_same(found: list[Family]) -> None:
    def values(of: Iterator[Any]) -> dict[Any, float]:
        return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in of for s in family.samples}

    older, newer = values(plain_families(plain_text(found))), values(open_families(open_text(found)))
    assert older == newer and len(older) > 80


def test_debians_promtool_finds_nothing_to_say(found: list[Family]) -> None:
    if shutil.which("promtool") is None:
        message = "promtool is not installed (Debian: prometheus)"
        if os.environ.get("INRUSH_REQUIRE_PROMETHEUS"):
            pytest.fail(message)
        pytest.skip(f"NOT TESTED: {message}; INRUSH_REQUIRE_PROMETHEUS=1 makes this a failure")
    text = plain_text(found)
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    wrong = text.replace("inrush_rows_total", "inrush_rows_count")
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=wrong, text=True, capture_output=True, check=False
    )
    assert checked.returncode != 0, "it says what is wrong"


def test_buckets_of_the_text_hold_exactly_the_calls_below_their_bound() -> None:
    values = np.random.default_rng(2).lognormal(15, 2, 20_000).astype(int).tolist()
    calls = Calls()
    calls.add(latencies(values))
    family = Family("x_seconds", "histogram", "X.", "seconds", histograms=[({}, calls)])
    (read,) = open_families(open_text([family]))
    counts = {s.labels["le"]: s.value for s in read.samples if s.name.endswith("_bucket")}
    for le, count in counts.items():
        below = sum(value < float(le) * 1e9 for value in values) if float(le) < inf else len(values)
        assert count == below, le
    assert len(counts) < 70


# --- the form that is asked for


@pytest.mark.parametrize(
    ("accept", "kind"),
    [("", TEXT), ("*/*", TEXT), ("text/plain", TEXT), (ACCEPT_OPEN, OPEN), (ACCEPT_BINARY, PROTOBUF),
     ("application/vnd.google.protobuf", TEXT)],
)  # fmt: skip
def test_a_reader_gets_the_newest_form_that_it_knows(accept: str, kind: str, found: list[Family]) -> None:
    assert rendered(accept, found)[0] == kind


# --- native histograms


def fields(data: bytes) -> list[tuple[int, Any]]:
    """Number and value of each field of a message of protocol buffers."""
    found, at = [], 0

    def whole() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while at < len(data):
        key = whole()
        value: Any
        if key & 7 == 0:
            value = whole()
        elif key & 7 == 1:
            (value,) = struct.unpack_from("<d", data, at)
            at += 8
        else:
            length = whole()
            value = data[at : at + length]
            at += length
        found.append((key >> 3, value))
    return found


def messages(body: bytes) -> list[list[tuple[int, Any]]]:
    """Of a stream in which each message is behind its length: as fields of number 0."""
    found, at = [], 0
    while at < len(body):
        length = shift = 0
        while True:
            byte = body[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        found.append(fields(body[at : at + length]))
        at += length
    return found


def unzigzag(value: int) -> int:
    return value >> 1 if value % 2 == 0 else -(value + 1 >> 1)


def test_the_binary_form_has_every_metric_and_the_histogram_as_it_is(found: list[Family]) -> None:
    read = {dict(one)[1].decode(): one for one in messages(rendered(ACCEPT_BINARY, found)[1])}
    assert len(read) == len(found) and "inrush_rows_total" in read and "inrush_run_info" in read
    metric = next(fields(value) for number, value in read["inrush_latency_seconds"] if number == 4)
    histogram = fields(next(value for number, value in metric if number == 7))
    of = dict(histogram)
    assert (of[1], unzigzag(of[5]), of[7]) == (32, 5, 0)
    at, index = 0, []
    for number, value in histogram:
        if number == 12:
            span = dict(fields(value))
            at += unzigzag(span[1])
            index += range(at, at + span[2])
            at += span[2]
    moves, counts, before = fields(b"".join(b"\x08" + bytes([b]) for b in of[13])), [], 0
    for _, move in moves:  # each of them is a byte here
        before += unzigzag(move)
        counts.append(before)
    # 30 calls of 2 ms and two of 3 ms.
    assert dict(zip(index, counts, strict=True)) == {index_of(0.002): 30, index_of(0.003): 2}


def index_of(seconds: float) -> int:
    return next(i for i in range(-400, 100) if 2 ** ((i - 1) / PER_OCTAVE) < seconds <= 2 ** (i / PER_OCTAVE))


def test_exponential_buckets_keep_every_call_within_three_percent() -> None:
    values = np.random.default_rng(3).lognormal(15, 2, 5_000).astype(int).tolist()
    calls = Calls()
    calls.add(latencies([0, *values]))
    zero, counts = exponential(calls)
    assert zero == 1 and sum(counts.values()) == 5_000
    cumulated, whole = 0, sorted(values)
    for index, count in counts.items():
        cumulated += count
        assert whole[cumulated - 1] / 1e9 <= 2 ** (index / PER_OCTAVE) * 1.004
        assert whole[cumulated - count] / 1e9 > 2 ** ((index - 1) / PER_OCTAVE) / 1.004


def test_spans_and_deltas_are_those_of_neighbours() -> None:
    assert spans([-3, -2, 0, 5, 6]) == [(-3, 2), (1, 1), (4, 2)]
    assert deltas([3, 5, 1]) == [3, 2, -4]


# --- pushed


class Gateway(BaseHTTPRequestHandler):
    """Keeps what is put into it."""

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), body.decode()))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def gateway() -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as server:
        server.got = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def viewed(tmp_path: Path) -> View:
    return View(lambda _: None, begin(tmp_path), [Run(0, [])])  # type: ignore[list-item]


def test_metrics_are_pushed_while_the_study_runs_and_when_it_ends(
    tmp_path: Path, gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push, "EVERY_S", 0.05)
    notes: list[str] = []
    view = viewed(tmp_path)
    pusher = push.Pusher(view, f"http://user:secret@127.0.0.1:{gateway.server_port}/", notes.append)
    until(lambda: len(gateway.got) >= 2, "pushed again and again")
    view.finished("done")
    pusher.end()
    path, headers, text = gateway.got[-1]
    assert path.startswith("/metrics/job/inrush/instance/") and path.endswith(
        f"/results/{view.folder.path.name}"
    )
    assert headers["Authorization"] == "Basic dXNlcjpzZWNyZXQ=" and "secret" not in pusher.url
    values = {s.name: s.value for family in plain_families(text) for s in family.samples}
    assert values["inrush_running"] == 0 and notes == []


def test_a_gateway_that_does_not_answer_is_said_once(tmp_path: Path) -> None:
    notes: list[str] = []
    pusher = push.Pusher(viewed(tmp_path), "127.0.0.1:9", notes.append)
    for _ in range(3):
        pusher.push()
    pusher.end()
    assert len(notes) == 1 and "the study goes on" in notes[0]


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(UsageError, match="write the gateway's address"):
        push.push_url("ftp://gateway", "r")


@pytest.mark.parametrize(
    "address", ["http://gw:99999", "http://gw:port", "http://[::1", "ftp://gw", "http://"]
)
def test_an_address_that_cannot_be_is_refused_without_its_secret(address: str) -> None:
    scheme, _, rest = address.partition("://")
    for written in (address, f"{scheme}://user:hunter2@{rest}"):
        with pytest.raises(UsageError, match="write the gateway's address") as refused:
            push.push_url(written, "r")
        assert "hunter2" not in str(refused.value) and "user" not in str(refused.value)


def test_a_gateway_that_speaks_something_else_is_said_once_and_tried_again(tmp_path: Path) -> None:
    notes: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as other:
        asked: list[int] = []

        def answers() -> None:
            for _ in range(3):
                connection, _ = other.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")
                    asked.append(1)

        thread = threading.Thread(target=answers, daemon=True)
        thread.start()
        address = f"http://user:hunter2@127.0.0.1:{other.getsockname()[1]}"
        pusher = push.Pusher(viewed(tmp_path), address, notes.append)
        for _ in range(2):
            pusher.push()
        pusher.end()
        thread.join(20)
    assert len(asked) == 3 and len(notes) == 1
    assert "SSH-2.0" in notes[0] and "hunter2" not in notes[0]


def test_two_limits_of_one_figure_are_two_series() -> None:
    rules = [{"along": "rows", "above": {"writers.errors": limit}} for limit in (10, 20, 20)]
    of = seen({**STUDY, "stop": rules})
    run_for(of, 2)
    text = open_text(families(of, 1_002.0))
    limits = [line for line in text.splitlines() if line.startswith("inrush_limit_used_ratio{")]
    labels = [line.partition("} ")[0] for line in limits]
    assert len(labels) == len(set(labels))
    assert sum('limit="10"' in one or 'limit="20"' in one for one in labels) == 2
