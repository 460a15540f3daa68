"""What can happen to a server while it is measured: each is told as what it was, and no number hides it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from inrush.engines import server
from inrush.engines.base.instance import Stop, Target
from inrush.engines.servers import secret
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study
from inrush.targets.deployment import Deployment

from .border import run
from .servers import AS_ANOTHER, SETTINGS, control, each_kind, need, own_server
from .test_contract import study_of

SECOND = 10**9
SERVERS = ("postgresql", "clickhouse", "influxdb", "mysql", "mariadb", "valkey", "questdb", "ndb")


#: The method that is mistreated: QuestDB's other one is PostgreSQL's, which is mistreated there.
METHODS = {"questdb": "ilp"}


#: Acknowledged by all of its processes, a row lies in the memory of them until the next global checkpoint.
FORGETS = ("ndb",)


def plan_of(engine: str) -> dict[str, Any]:
    overrides = [f'factors.method=["{METHODS.get(engine, "bulk")}"]']
    planned = plan_study(
        load_study(study_of(engine), overrides=overrides, engines=[engine]), {engine: server(engine)}
    )
    return dict(next(iter(planned.block(1))).plan)


def changed(plan: Mapping[str, Any], **roles: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with other schedules, work or ends of its measured roles; roles that are not named are left out."""
    segments = []
    for segment in plan["segments"]:
        if segment["kind"] == "drive":
            of = {r["name"]: r for r in segment["roles"]}
            segment = {
                **segment,
                "roles": [{**of[name], **new} for name, new in roles.items()],
                "repeat": None,
            }
            segment["limit_ns"] = 60 * SECOND
        segments.append(segment)
    return {**plan, "segments": segments}


def paced(rate_per_s: float, seconds: float) -> dict[str, Any]:
    return {
        "schedule": {"kind": "constant", "rate_per_s": rate_per_s},
        "work": {"kind": "endless"},
        "until": {"kind": "time", "ns": round(seconds * SECOND)},
    }


@pytest.fixture(params=each_kind(SERVERS))
def own(request: pytest.FixtureRequest, folder: Path) -> Iterator[Deployment]:
    """A server of the test's own, because it will be mistreated."""
    engine: str = request.param
    need(engine)
    instance = own_server(engine).start(folder / engine, SETTINGS[engine])
    yield Deployment(server(engine), Target(engine, instance.url, {}, instance))
    own_server(engine).stop(instance, Stop.KILL)


def processes(deployment: Deployment) -> list[int]:
    """Each once: one of several is also a part of the role."""
    return list(dict.fromkeys(pid for pids in deployment.target.processes.values() for pid in pids))


def tree(pids: list[int]) -> list[int]:
    found = list(pids)
    for pid in found:
        shown = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
        found += [int(child) for child in shown.split() if int(child) not in found]
    return found


#: A server that stands still is one to the instrument, whichever it is.
@pytest.mark.parametrize("own", each_kind(SERVERS, {*SERVERS} - {"postgresql", "clickhouse"}), indirect=True)
def test_a_server_stopped_for_a_second_shows_in_p99_and_not_in_the_instruments_lag(
    own: Deployment, folder: Path
) -> None:
    def freeze() -> None:
        stopped = tree(processes(own))
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        timer = threading.Timer(1.0, lambda: [os.kill(pid, signal.SIGCONT) for pid in stopped])
        timer.start()

    frozen = False

    def at(event: Mapping[str, Any]) -> None:
        nonlocal frozen
        if not frozen and event["event"] == "progress" and event["label"] == "measure":
            frozen = True
            freeze()

    plan = changed(plan_of(own.target.engine), readers={**paced(200, 5), "sessions": 4})
    ran = run(own, plan, folder / "run", at_event=at)
    readers = ran.totals("readers")
    assert readers["ops"] + readers["unsent"] == 1000
    assert readers["late"] >= 150
    assert ran.quantile_ns("readers", "latency", 0.99) >= 0.85 * SECOND
    assert ran.quantile_ns("readers", "wait", 0.95) > 10 * ran.quantile_ns("readers", "lag", 0.95)


@pytest.mark.parametrize("own", each_kind(SERVERS, {*AS_ANOTHER, "questdb"}), indirect=True)
def test_a_server_killed_in_a_run_ends_it_with_the_reason_and_half_a_table(
    own: Deployment, folder: Path
) -> None:
    def at(event: Mapping[str, Any]) -> None:
        if (
            event["event"] == "progress"
            and event["label"] == "measure"
            and event["roles"]["writers"]["rows"] > 0
        ):
            for pid in tree(processes(own)):
                os.kill(pid, signal.SIGKILL)

    writers = {
        "work": {"kind": "rows", "table": 0, "first_row": 0, "rows": 10**9, "batch_rows": 700},
        "until": {"kind": "work"},
    }
    ran = run(own, changed(plan_of(own.target.engine), writers=writers), folder / "run", at_event=at)
    assert ran.last["event"] == "failed" and ran.last["kind"] == "target"
    assert "connection lost" in ran.last["message"] and "panicked" not in ran.last["message"]
    assert ran.tables["intervals"], "what was measured before stays"
    assert {f["outcome"] for f in ran.tables["failures"]} == {"lost"}, ran.tables["failures"]
    if own.target.engine in FORGETS:
        return
    # What was acknowledged before the crash is there after it: these servers have written it by then.
    acknowledged = ran.totals("writers")["rows"]
    assert own.target.instance is not None
    again = own_server(own.target.engine).start(own.target.instance.data, SETTINGS[own.target.engine])
    own.target = Target(own.target.engine, again.url, {}, again)
    # The first figure of a screen counts the rows, in every dialect.
    (proof,) = (p for s in ran.plan["segments"] if s["kind"] == "proof" for p in s["proofs"])
    stored = control(again, proof["screen"])[0][0]
    assert int(stored) >= acknowledged > 0
    assert int(stored) <= acknowledged + 700, "one batch was in flight"


def cpu_s(deployment: Deployment) -> float:
    """What a server's processes have used, those that they have waited for included; ticks of 10 ms."""
    ticks = 0
    for pid in tree(processes(deployment)):
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, stat[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_a_server_killed_and_started_again_between_two_segments_is_watched_on(
    own: Deployment, folder: Path
) -> None:
    used: dict[str, float] = {}

    def at(event: Mapping[str, Any]) -> None:
        if event.get("action") == "restart":
            used["before"] = cpu_s(own)
            own.restart(Stop.KILL)
            used["started"] = cpu_s(own)
        elif event.get("action") == "look":
            used["after"] = cpu_s(own)

    plan = changed(plan_of(own.target.engine), readers={**paced(400, 2), "sessions": 2})
    at_drive = next(k for k, s in enumerate(plan["segments"]) if s["kind"] == "drive")
    drive = plan["segments"][at_drive]
    restart, look = ({"kind": "pause", "label": name, "action": name} for name in ("restart", "look"))
    segments = [*plan["segments"][: at_drive + 1], restart, drive, look, *plan["segments"][at_drive + 1 :]]
    watch = {**plan["watch"], "every_ns": SECOND // 10}
    ran = run(own, {**plan, "segments": segments, "watch": watch}, folder / "run", at_event=at)
    assert ran.last == {"event": "finished", "ended_by": "work"}, ran.last

    def of(metric: str) -> list[tuple[int, float]]:
        wanted = ("server", metric, "")  # as a whole, not by thread
        rows = (r for r in ran.tables["resources"] if (r["role"], r["metric"], r["device"]) == wanted)
        return [(r["t_ns"], r["value"]) for r in rows]

    for metric in ("cpu_s", "read_bytes", "write_bytes"):
        values = [value for _, value in of(metric)]
        assert values == sorted(values), metric
    windows = {s["segment"]: (s["start_ns"], s["end_ns"]) for s in ran.tables["segments"]}
    again, looked = windows[at_drive + 2], windows[at_drive + 3]
    shown = {name: at_time(of("cpu_s"), ns) for name, ns in (("again", again[0]), ("looked", looked[0]))}
    within = 0.1 + 0.05 * used["after"]
    assert abs(shown["looked"] - (used["before"] + used["after"])) < within, (shown, used)
    # Its start lies before the segment that is measured next, and not in it.
    assert abs(shown["again"] - (used["before"] + used["started"])) < within, (shown, used)
    rss = [value for t_ns, value in of("rss_bytes") if again[0] < t_ns < again[1]]
    assert min(rss) > 1e6, "it is there"


def at_time(series: list[tuple[int, float]], t_ns: int) -> float:
    """The last value until then."""
    return max(value for at, value in series if at <= t_ns)


@pytest.mark.parametrize(
    ("engine", "url", "says"),
    [
        ("postgresql", "postgresql://postgres@127.0.0.1:1/postgres", "nothing listens on port 1"),
        ("postgresql", "postgresql://postgres@127.0.0.1:{port}/nowhere", "nowhere"),
        ("clickhouse", "clickhouse://127.0.0.1:1/default", "nothing listens on port 1"),
        ("clickhouse", "clickhouse://127.0.0.1:{port}/nowhere", "nowhere"),
        ("clickhouse", "clickhouse://nobody:hidden@127.0.0.1:{port}/", "CLICKHOUSE_PASSWORD"),
        ("influxdb", "influxdb://127.0.0.1:1/", "nothing listens on port 1"),
        ("influxdb", "influxdb://127.0.0.1:{port}/nowhere", "nowhere"),
        ("questdb", "questdb://127.0.0.1:1/", "nothing listens on port 1"),
        ("questdb", "questdb://nobody:hidden@127.0.0.1:{port}/", "PGPASSWORD"),
        ("ndb", "ndb://127.0.0.1:1/", "nothing listens on port 1"),
        ("valkey", "valkey://127.0.0.1:1/", "nothing listens on port 1"),
        ("valkey", "valkey://127.0.0.1:{port}/999", "name another database in the URL"),
        ("valkey", "valkey://nobody:hidden@127.0.0.1:{port}/", "REDISCLI_AUTH"),
        *(
            (engine, f"{engine}://{rest}", says)
            for engine in ("mysql", "mariadb")
            for rest, says in (
                ("inrush@127.0.0.1:1/", "nothing listens on port 1"),
                ("inrush@127.0.0.1:{port}/nowhere", "Unknown database 'nowhere'"),
                ("inrush:hidden@127.0.0.1:{port}/", "MYSQL_PWD"),
            )
        ),
    ],
)
def test_a_target_that_cannot_be_used_is_one_clear_line(
    request: pytest.FixtureRequest, folder: Path, engine: str, url: str, says: str
) -> None:
    there: Target = request.getfixturevalue(engine)
    # What the refusal is about is not the password, where it is not that it says.
    file = secret.file_in(there.url)
    of = secret.with_file(url, file) if file and "hidden" not in url else url
    deployment = Deployment(server(engine), Target(engine, of.format(port=urlsplit(there.url).port)))
    ran = run(deployment, plan_of(engine), folder / "run")
    assert "hidden" not in ran.last["message"]
    # Without a user InfluxDB refuses the log-in, whatever the database.
    refused = "hidden" in url or (engine == "influxdb" and "nowhere" in url)
    assert (ran.last["event"], ran.last["kind"]) == ("failed", "login" if refused else "target")
    assert says in ran.last["message"] and "\n" not in ran.last["message"].strip()


def asking(engine: str, text: str, **op: Any) -> dict[str, Any]:
    """A plan whose readers call one statement twice, and nothing else."""
    plan = plan_of(engine)
    plan["operations"] = [
        {**o, "text": text, "params": [], "holds": [], **op} if o["name"] == "how_many" else o
        for o in plan["operations"]
    ]
    calls = {"operations": [{"operation": "how_many", "weight": 1}], "work": {"kind": "calls", "count": 2}}
    plan = changed(plan, readers={**calls, "until": {"kind": "work"}, "sessions": 1})
    plan["segments"] = [s for s in plan["segments"] if s["kind"] not in ("proof", "ask")]
    return plan


def test_a_query_past_its_deadline_is_killed_in_the_server_and_is_a_timeout(
    clickhouse: Target, folder: Path
) -> None:
    endless = "SELECT count() FROM numbers(1000000000000) WHERE number % 3 = sleepEachRow(0)"
    plan = asking("clickhouse", endless, deadline_ns=SECOND // 2)
    ran = run(Deployment(server("clickhouse"), clickhouse), plan, folder / "run")
    assert ran.totals("readers")["ops"] == 2
    assert {f["outcome"] for f in ran.tables["failures"]} == {"timeout"}
    left = control(clickhouse, "SELECT count() FROM system.processes WHERE query LIKE '%sleepEachRow(0)%'")
    assert left == [["1"]], "only the question itself still runs"


def test_a_script_past_its_deadline_is_a_timeout_and_the_session_goes_on_with_another_connection(
    valkey: Target, folder: Path
) -> None:
    """The server cannot be asked to cancel: the connection ends, and what runs is ended by the server's own command."""
    endless = 'EVAL "while true do end" 0'
    plan = asking("valkey", endless, deadline_ns=SECOND // 2)
    try:
        ran = run(Deployment(server("valkey"), valkey), plan, folder / "run")
    finally:
        control(valkey, "SCRIPT KILL")
    assert ran.totals("readers")["ops"] == 2 and ran.totals("readers")["ok"] == 0
    assert {f["outcome"] for f in ran.tables["failures"]} <= {"timeout", "refused"}, ran.tables["failures"]
    assert "timeout" in {f["outcome"] for f in ran.tables["failures"]}


def test_a_failure_behind_the_first_rows_of_an_answer_is_a_failure(clickhouse: Target, folder: Path) -> None:
    late = "SELECT number, throwIf(number = 3000000) FROM system.numbers LIMIT 5000000"
    ran = run(Deployment(server("clickhouse"), clickhouse), asking("clickhouse", late), folder / "run")
    assert ran.totals("readers")["ok"] == 0
    assert {f["outcome"] for f in ran.tables["failures"]} == {"other"}
    assert all("throwIf" in f["first_message"] for f in ran.tables["failures"])


def test_a_statement_that_gives_statements_runs_each_of_them(clickhouse: Target, folder: Path) -> None:
    control(clickhouse, "CREATE TABLE default.each_was_here (n UInt64) ENGINE = TinyLog")
    each = (
        "SELECT concat('INSERT INTO default.each_was_here VALUES (', toString(number), ')') FROM numbers(3)"
    )
    plan = asking("clickhouse", each, kind="execute", method="each")
    ran = run(Deployment(server("clickhouse"), clickhouse), plan, folder / "run")
    assert not ran.tables["failures"], ran.tables["failures"]
    assert control(clickhouse, "SELECT sum(n), count() FROM default.each_was_here") == [["6", "6"]]
    control(clickhouse, "DROP TABLE default.each_was_here")


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 24 MB that is full soon."""
    path = folder / "small"
    path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", path], check=False)
    if made.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_full_disk_is_one_clear_line_and_no_figure(engine: str, small_disk: Path) -> None:
    writers = {"work": {"kind": "rows", "table": 0, "first_row": 0, "rows": 10**7, "batch_rows": 5000}}
    deployment = Deployment(server(engine), Target(engine, ""))
    ran = run(deployment, changed(plan_of(engine), writers=writers), small_disk / "run")
    assert ran.last["event"] == "failed", ran.last
    words = ("full", "space", "Errno 28", "disk")
    assert any(w in ran.last["message"].lower() for w in map(str.lower, words)), ran.last
    assert "panicked" not in ran.last["message"]
