"""Steps by several client processes: the rows of a load are shared out, and later steps know of all of them.

Real cores work here, each on a database file of its own: this test is their coordinator, and carries what each has written
to the files of the others when the load has ended. On one server all see it.
"""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from inrush import _core
from inrush.clients.barriers import Barriers, Opened
from inrush.engines import server
from inrush.errors import StudyInvalid
from inrush.plan.plan import canonical, plan_study
from inrush.results.parts import read
from inrush.study.study import load_study
from tests.steps import WORKLOAD

LIMIT_S = 60.0
COUNTED = """
[operations.count]
kind = "query"
table = "events"
holds = ["count_bounds"]
sql.default = "SELECT count(*) AS n FROM {events}"
[operations.by_id]
kind = "query"
table = "events"
params = { id = { gen = "of_series", column = "id" } }
holds = ["asked"]
returns = ["id", "time", "value"]
sql.default = "SELECT id, time, value FROM {events} WHERE id = :id"
[tables.log]
series = "series"
period_s = 1
identity = ["id", "time"]
columns = [
  { name = "id", type = "i32", gen = "cycle", from = 1, to = 100 },
  { name = "time", type = "time_ms", gen = "sweep_time" },
]
[operations.write_log]
kind = "insert"
table = "log"
[operations.count_log]
kind = "query"
table = "log"
holds = ["count_bounds"]
sql.default = "SELECT count(*) AS n FROM {log}"
"""
STUDY = """
schema = 1
title = "Loads by several"
question = "What do several load?"
expect = "The rows of one."
workload = "work.toml"
kind = "steps"
engines = ["sqlite"]
repeats = { count = 1, seed = 3, pilot = false }
answer = { kind = "comparison", of = "look.latency_p50_s" }
[[steps]]
name = "load"
do = "load"
table = "events"
rows = { total = 1_000 }
sessions = 2
batch_rows = 50
[[steps]]
name = "more"
do = "load"
table = "events"
rows = { total = 300 }
batch_rows = 20
adds = true
[[steps]]
name = "index"
do = "statement"
operation = "index"
[[steps]]
name = "look"
do = "read"
operations = { count = 1, by_id = 2, one = 1 }
calls = 56
sessions = 2
after = "index"
"""
MEANWHILE = """
[[steps]]
name = "mixed"
do = "roles"
[steps.roles.writers]
operation = "write_log"
rows = { total = 400 }
batch_rows = 10
[steps.roles.counters]
operation = "count_log"
until = "writers"
[steps.roles.users]
operation = "one"
until = "writers"
"""


def planned(folder: Path, *overrides: str, study: str = STUDY, engine: str = "sqlite") -> Any:
    (folder / "work.toml").write_text(WORKLOAD + COUNTED)
    path = folder / "several.toml"
    path.write_text(study)
    found = plan_study(load_study(str(path), None, overrides, [engine]), {engine: server(engine)})
    return found.runs[-1].plan


Row = tuple[Any, ...]


class Coordinated:
    """Cores in this process, each a client process of one run on a file of its own."""

    def __init__(self, folder: Path, plan: Mapping[str, Any], of: int) -> None:
        self.folder, self.of = folder, of
        self.table: str = plan["tables"][0]["name"]
        self.labels = [segment["label"] for segment in plan["segments"]]
        self.barriers = Barriers(of)
        #: Step -> by process: the rows that it has written.
        self.shares: dict[str, list[set[Row]]] = {}
        self.events: list[tuple[int, Mapping[str, Any]]] = []
        self.runs = []
        for process in range(of):
            mine = json.loads(json.dumps(plan))
            mine["version"], mine["share"] = 8, {"index": process, "of": of}
            mine["target"]["url"] = f"sqlite://{self.file(process)}"
            (folder / f"parts-{process}").mkdir()
            self.runs.append(_core.start(json.dumps(mine), str(folder / f"parts-{process}")))

    def file(self, process: int) -> Path:
        return self.folder / f"{process}.db"

    def follow(self, tell: Callable[[Opened, int], Any] = Opened.others) -> None:
        """tell: what a process hears of the others."""
        end = time.monotonic() + LIMIT_S
        done = False
        while not done:
            assert time.monotonic() < end, self.events[-5:]
            done = all(run.done() for run in self.runs)
            for process, run in enumerate(self.runs):
                for event in map(json.loads, run.poll(0.0 if done else 0.01)):
                    self.events.append((process, event))
                    if event["event"] == "barrier" and (opened := self.barriers.came(process, event)):
                        self.meet(opened, tell)
        failed = [event for _, event in self.events if event["event"] == "failed"]
        assert not failed, failed

    def meet(self, opened: Opened, tell: Callable[[Opened, int], Any]) -> None:
        label = self.labels[opened.index]
        if opened.point == "connect" and not self.shares:
            for other in range(1, self.of):  # as the first one has created it
                with sqlite3.connect(self.file(0)) as first, sqlite3.connect(self.file(other)) as to:
                    first.backup(to)
        if opened.point == "end" and label in ("load", "more"):
            self.carry(label)
        at_ns = opened.at_ns(time.monotonic_ns(), 30_000_000)
        for process, run in enumerate(self.runs):
            run.start_at(at_ns, json.dumps(tell(opened, process)))

    def carry(self, label: str) -> None:
        before = set().union(*(rows for shares in self.shares.values() for rows in shares))
        found = [self.rows(process) for process in range(self.of)]
        assert all(len(rows) == len(set(rows)) for rows in found), "each row once"
        self.shares[label] = [set(rows) - before for rows in found]
        everything = sorted(set().union(*found))
        for process in range(self.of):
            missing = [row for row in everything if row not in set(found[process])]
            with sqlite3.connect(self.file(process), timeout=10) as to:
                for row in missing:
                    to.execute(f"INSERT INTO {self.table} VALUES ({','.join('?' * len(row))})", row)

    def rows(self, process: int) -> list[Row]:
        with sqlite3.connect(self.file(process), timeout=10) as of:
            return [tuple(row) for row in of.execute(f"SELECT * FROM {self.table}")]

    def table_of(self, name: str, process: int = 0) -> list[dict[str, Any]]:
        return [row for t in read(name, self.folder / f"parts-{process}") for row in t.to_pylist()]


def coordinated(folder: Path, of: int, *overrides: str) -> Coordinated:
    folder.mkdir()
    return Coordinated(folder, planned(folder, *overrides), of)


@pytest.mark.parametrize("seed", range(2))
def test_the_union_of_what_w_processes_load_is_the_plan_of_one_row_for_row(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    rows, more = draw.randint(50, 3_000), draw.randint(1, 500)
    overrides = [
        f"steps.load.rows.total={rows}",
        f"steps.more.rows.total={more}",
        f"steps.load.sessions={draw.randint(1, 3)}",
        f"steps.load.batch_rows={draw.randint(1, 40)}",
        f"steps.more.batch_rows={draw.randint(1, max(1, more // 3))}",
        "ends_with=more",
        'answer={kind="comparison",of="load.rows_per_s"}',
    ]
    of_one: dict[str, set[Row]] = {}
    for of in range(1, 8):
        run = coordinated(tmp_path / str(of), of, *overrides)
        run.follow()
        assert set(run.shares) == {"load", "more"}
        for label, shares in run.shares.items():
            together = set().union(*shares)
            assert sum(map(len, shares)) == len(together), "no row is of two processes"
            assert together == of_one.setdefault(label, together), f"{of} processes, step {label}"
            batches = -(-{"load": rows, "more": more}[label] // batch_of(overrides, label))
            assert sum(bool(share) for share in shares) == min(of, batches), (
                "each has its share of the batches"
            )
        assert len(of_one["load"]) == rows and len(of_one["more"]) == more
        assert [p["holds"] for p in run.table_of("proofs")] and all(
            p["holds"] for p in run.table_of("proofs")
        )


def batch_of(overrides: Sequence[str], label: str) -> int:
    found = next(o for o in overrides if o.startswith(f"steps.{label}.batch_rows="))
    return int(found.partition("=")[2])


def outcomes(run: Coordinated, label: str) -> list[dict[str, Any]]:
    """By process: what became of its calls in a step."""
    (segment,) = [n for n, name in enumerate(run.labels) if name == label]
    return [
        next(r for r in run.table_of("repetitions", process) if r["segment"] == segment)
        for process in range(run.of)
    ]


def test_counts_and_rows_of_an_earlier_step_are_judged_by_what_all_have_written(tmp_path: Path) -> None:
    run = coordinated(tmp_path / "run", 3)
    run.follow()
    found = outcomes(run, "look")
    assert all(r["wrong"] == r["errors"] == 0 and r["ok"] == r["ops"] for r in found), found
    assert sum(r["ops"] for r in found) == 56 and min(r["ops"] for r in found) == 18
    assert all(p["holds"] for p in run.table_of("proofs")) and run.table_of("proofs")
    said = {s["label"]: s for s in run.table_of("segments")}
    assert said["load"]["step"] == "load" and "index" in said
    for follower in (1, 2):
        assert [s["label"] for s in run.table_of("segments", follower)] == ["load", "more", "look"]
        assert not run.table_of("proofs", follower) and not run.table_of("sizes", follower)


def test_a_process_that_was_not_told_calls_the_rows_of_the_others_wrong(tmp_path: Path) -> None:
    run = coordinated(tmp_path / "run", 2)
    run.follow(tell=lambda opened, process: [] if process == 1 else opened.others(process))
    told, untold = outcomes(run, "look")
    assert told["wrong"] == 0 and untold["wrong"] > 0


def test_the_first_process_proves_inserts_of_others_that_got_no_answer(tmp_path: Path) -> None:
    """The coordinator says that the second process had no answer to its first batch, whose rows are there all the same."""

    def tell(opened: Opened, process: int) -> Any:
        found = json.loads(json.dumps(opened.others(process)))
        for of in found if process == 0 and opened.index == index else ():
            of["acknowledged"] -= 100
            of["unanswered"] = [[100, 100]]
        return found

    run = coordinated(tmp_path / "run", 2, "steps.load.batch_rows=100")
    index = run.labels.index("load")
    run.follow(tell)
    proofs = {p["item"]: p for p in run.table_of("proofs")}
    assert "unanswered(100..200)" in proofs and all(p["holds"] for p in proofs.values())


def test_several_processes_plan_the_segments_of_one(tmp_path: Path) -> None:
    one = planned(tmp_path, engine="postgresql")
    two = planned(tmp_path, "clients=2", engine="postgresql")
    assert canonical(planned(tmp_path, "clients=1", engine="postgresql")) == canonical(one)
    assert two["share"] == {"index": 0, "of": 2} and "share" not in one
    assert canonical({"segments": one["segments"]}) == canonical({"segments": two["segments"]})


def refused(folder: Path, *overrides: str, study: str = STUDY) -> list[str]:
    with pytest.raises(StudyInvalid) as info:
        planned(folder, *overrides, study=study, engine="postgresql")
    return [f"{p.key}: {p.remedy}" for p in info.value.problems]


def test_counts_of_rows_that_the_same_step_writes_are_refused_and_reads_beside_it_are_not(
    tmp_path: Path,
) -> None:
    assert refused(tmp_path, "clients=2", study=STUDY + MEANWHILE) == [
        "clients: count_log: it promises counts of rows of all processes, which are written meanwhile; take 1, or leave "
        "it out"
    ]
    without = MEANWHILE.replace('operation = "count_log"', 'operation = "count"')
    assert planned(tmp_path, "clients=2", study=STUDY + without, engine="postgresql")["share"]["of"] == 2


def test_a_load_by_client_and_load_server_is_refused(tmp_path: Path) -> None:
    by_loader = STUDY.replace("sessions = 2\nbatch_rows = 50\n", "pipeline = { files = 2 }\n", 1).partition(
        '[[steps]]\nname = "more"'
    )
    rest = '[[steps]]\nname = "look"\ndo = "read"\noperation = "one"\ncalls = 5\n'
    assert refused(tmp_path, "clients=2", study=by_loader[0] + rest) == [
        "clients: load: it is done by client and load server, whose processes are the load's own; take 1, or leave it out"
    ]


def test_the_core_refuses_what_a_plan_of_elsewhere_shares_out_and_cannot_be(tmp_path: Path) -> None:
    plan = planned(tmp_path) | {"version": 8, "share": {"index": 1, "of": 2}}

    def problems(**work: Any) -> list[str]:
        mine = json.loads(json.dumps(plan))
        load = next(s for s in mine["segments"] if s["label"] == "load")
        load["roles"][0]["work"].update(work)
        return list(_core.check_plan(json.dumps(mine)))

    said = "role load: its rows are read from files, one after the other"
    assert problems() == []
    assert said in problems(dump="out")
    files = {
        "table": 0,
        "folder": "/none",
        "name": "t",
        "first_row": 0,
        "rows": 10,
        "files": 2,
        "cold": False,
    }
    assert said in problems(input={**files, "way": "parsed"})
    assert said not in problems(input={**files, "way": "client"})
