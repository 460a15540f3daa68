"""A study that has its servers started with settings of its own: real ones, each read back, resumed and ended."""

from __future__ import annotations

import json
import os
import signal
import time
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from inrush.engines import server
from inrush.engines.servers import life
from inrush.results.store import Results, Store
from inrush.stats.record import RunRecord
from inrush.targets import instances, leftovers
from tests import killing
from tests.terminal import Inrush
from tests.test_shipped_studies import OF_SERVERS
from tests.test_started_with import TEXT

from .servers import SETTINGS, need

MEMORY = ("factors.memory = ['8MB', '24MB']", 'start.postgresql.shared_buffers = "@memory"')


def study(folder: Path, engine: str, factors: str, settings: str, more: str = "") -> Path:
    path = folder / "started.toml"
    path.write_text(
        TEXT.format(engines=json.dumps([engine]), factors=factors, start=settings, more=more).replace(
            "count = 4", "count = 2"
        )
    )
    return path


def sealed(store: Store) -> list[RunRecord]:
    (found,) = store.studies()
    made = Results(found.path).runs
    by_id = {r.id: r for r in made}
    return [
        RunRecord(r.id, r.plan, r.env, r.doc, r.tables)
        for r in sorted(by_id.values(), key=lambda r: (r.doc["block"], r.doc["order"]))
    ]


def setting(run: RunRecord, name: str) -> str:
    """As the run read it back from its server."""
    return str({row["name"]: row["value"] for row in run.rows("settings")}[name])


def guards(said: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for verdict in said.json["verdicts"]:
        found.setdefault(verdict["guard"], set()).add(verdict["outcome"])
    return found


def test_each_run_is_made_on_a_server_with_the_setting_of_its_point(inrush: Inrush, folder: Path) -> None:
    need("postgresql")
    path = study(folder, "postgresql", *MEMORY)
    said = inrush(
        "run", str(path), "--start", "postgresql,work_mem=5MB", "--data", str(folder / "data"), "--json"
    )
    assert said.code in (0, 3), said.err
    runs = sealed(inrush.store)
    assert len(runs) == 12, "a pilot and two blocks of four points"
    for run in runs:
        asked = run.labels["factors"]["memory"]
        assert setting(run, "shared_buffers") == f"{int(asked.removesuffix('MB')) * 128} 8kB"
        assert (
            run.summary["settings_asked"]["shared_buffers"] == asked == run.labels["start"]["shared_buffers"]
        )
        assert run.summary["settings_asked"]["work_mem"] == "5MB" and setting(run, "work_mem") == "5120 kB"
        place = Path(run.env["data_dir"])
        assert place.parent == folder / "data" and place.name.startswith(
            f"postgresql-with-shared_buffers-{asked[:1]}"
        )
    found = guards(said)
    assert found["settings as asked"] == {"pass"} and found["rows proven"] == {"pass"}
    assert found["same conditions throughout"] == {"pass"}
    starts = [line for line in said.err.splitlines() if "starting postgresql" in line]
    changes = [m for m, _ in groupby(run.labels["factors"]["memory"] for run in runs)]
    assert len(starts) == len(changes) and 4 <= len(changes) <= 6, "as many as a block has servers, at most"
    # Data stay where --data names their folder, and nothing runs there any more.
    places = sorted({Path(run.env["data_dir"]) for run in runs})
    assert len(places) == 2 and all(f"data of postgresql stays in {p}" in said.err for p in places)
    assert life.working_in(folder / "data") == {}


def test_a_study_that_was_killed_names_its_server_and_goes_on(inrush: Inrush, folder: Path) -> None:
    need("postgresql")
    path, data = study(folder, "postgresql", *MEMORY), folder / "data"
    results, words = inrush.store.root, ("--start", "postgresql", "--data", str(data))
    twin = server("postgresql")
    with killing.inrush(results, "run", str(path), *words) as process:
        until = time.monotonic() + killing.LIMIT_S
        while len(list(results.glob("*/b*/run.json"))) < 3:  # both servers have run
            assert process.poll() is None and time.monotonic() < until, process.communicate()[0]
            time.sleep(0.02)
        process.kill()
        process.communicate(timeout=killing.LIMIT_S)
    (left,) = leftovers.leftovers(twin, data)
    assert left.data.name.startswith("postgresql-with-shared_buffers-")
    notes: list[str] = []
    rows = instances.status(["postgresql"], data, notes.append).rows
    assert not any(row["running"] is False and row["data"] for row in rows)
    assert (
        len(notes) == 1
        and f"process {left.pid} at {left.url} was left by an inrush that was killed" in notes[0]
    )
    said = inrush("run", "--resume")
    assert said.code in (0, 3), said.err
    assert life.started_at(left.pid) is None or life.started_at(left.pid) == 0 or not life.working_in(data)
    assert len(sealed(inrush.store)) == 12 and leftovers.leftovers(twin, data) == []


def test_stop_ends_what_a_killed_study_left(folder: Path, inrush: Inrush) -> None:
    need("postgresql")
    path, data = study(folder, "postgresql", *MEMORY), folder / "data"
    with killing.inrush(
        inrush.store.root, "run", str(path), "--start", "postgresql", "--data", str(data)
    ) as process:
        until = time.monotonic() + killing.LIMIT_S
        while not list(inrush.store.root.glob("*/b*/run.json")):
            assert process.poll() is None and time.monotonic() < until, process.communicate()[0]
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=killing.LIMIT_S)
    (row,) = instances.stop([], data, lambda line: None).rows
    assert row["engine"] == "postgresql" and not row["running"]
    assert life.working_in(data) == {}


def test_a_server_that_does_not_start_ends_the_study_and_says_how_to_go_on(
    inrush: Inrush, folder: Path
) -> None:
    need("postgresql")
    wrong = ("factors.memory = ['8MB', 'much']", MEMORY[1])
    said = inrush(
        "run",
        str(study(folder, "postgresql", *wrong)),
        "--start",
        "postgresql",
        "--data",
        str(folder / "data"),
    )
    assert said.code == 1, said.err
    (kept,) = inrush.store.studies()
    assert "much" in said.err and f"next: inrush run --resume {kept.path.name}" in said.err
    assert kept.doc["status"] == "interrupted" and len(Results(kept.path).runs) == 2
    assert life.working_in(folder / "data") == {}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_clusters_of_two_and_four_nodes_take_turns(inrush: Inrush, folder: Path) -> None:
    need("ndb")
    small = ",".join(f"{name}={value}" for name, value in SETTINGS["ndb"].items())
    nodes = ("factors.nodes = [2, 4]", 'start.ndb.nodes = "@nodes"')
    said = inrush(
        "run", str(study(folder, "ndb", *nodes)), "--start", f"ndb,{small}", "--json",
        "-P", "repeats.count=1", "-P", "repeats.pilot=false",
    )  # fmt: skip
    assert said.code in (0, 3), said.err
    runs = sealed(inrush.store)
    assert len(runs) == 4
    for run in runs:
        asked = str(run.labels["factors"]["nodes"])
        assert setting(run, "data_nodes") == asked == run.summary["settings_asked"]["data_nodes"]
        parts = {row["role"] for row in run.rows("resources") if row["role"].startswith("server/node_")}
        assert len(parts) == int(asked), "each node is watched"
    assert guards(said)["settings as asked"] == {"pass"}
    assert not list((inrush.store.root).rglob("ndb-with-*")), "without --data they go with the study"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow if n == "keylookup-senddelay" else [])
        for n in sorted(OF_SERVERS)
    ],
)
def test_a_shipped_study_of_servers_runs_and_every_answer_is_right(
    name: str, inrush: Inrush, folder: Path
) -> None:
    need("ndb")
    small = ",".join(f"{setting}={value}" for setting, value in SETTINGS["ndb"].items())
    words = ("--start", f"ndb,{small}", "--data", str(folder / "data"), "-P", "repeats.pilot=false")
    said = inrush("run", name, *words, "--scale", "xs", "--json")
    assert said.code in (0, 3), said.err
    found = guards(said)
    assert found["rows proven"] == found["ended as planned"] == {"pass"}
    assert found["answers right"] <= {"pass", "not checked"}
    # A cluster reports its nodes, and nothing of its threads and delays: those are in the file that its nodes read.
    assert found["settings as asked"] == ({"pass"} if name == "keylookup-nodes" else {"not checked"})
    runs = sealed(inrush.store)
    assert len({json.dumps(run.labels["start"]) for run in runs}) == len(runs) == 2
    for run in runs:
        asked, config = run.labels["start"], (Path(run.env["data_dir"]) / "config.ini").read_text()
        delay = asked.get("max_send_delay_us", "0")
        assert (f"MaxSendDelay={delay}\n" in config) == (delay != "0") == ("MaxSendDelay" in config)
        types = {kind for kind in ("ldm", "send") if f"{kind}:1" in asked.get("threads", "")}
        assert types <= set(run.plan["watch"].get("threads", {}).values()), "threads of these types ran"
        assert config.count("[ndbd]") == int(asked.get("nodes", "2"))
