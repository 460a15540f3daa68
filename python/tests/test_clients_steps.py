"""Steps by several client processes: the rows of a load are shared out, and later steps know of all of them.

Real client processes work here, each on a database file of its own. What each has written is carried to the files of the
others when a load has ended: on one server all see it.
"""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from inrush import _core
from inrush.agent.barriers import Opened
from inrush.agent.place import Client, Hear, Here
from inrush.agent.shared_run import SharedRun
from inrush.border.events import Written
from inrush.border.plan import RunPlan
from inrush.engines import server
from inrush.errors import UsageError
from inrush.plan.plan import canonical, plan_study
from inrush.results.parts import read
from inrush.stats.watched import looks, spent
from inrush.study.reading import load_study
from tests.steps import WORKLOAD

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


Tell = Callable[[Opened, int], list[Written]]


class ApartFiles(Here):
    """Client processes of this machine, each on a database file of its own."""

    def start(self, process: int, plan: RunPlan, folder: Path, hear: Hear) -> Client:
        mine: RunPlan = {**plan, "target": {**plan["target"], "url": f"sqlite://{self.file(process)}"}}
        return super().start(process, mine, folder, hear)

    def file(self, process: int) -> Path:
        return self.parts.parent / f"{process}.db"


@dataclass(frozen=True)
class Told(Opened):
    tell: Tell = Opened.others

    def others(self, process: int) -> list[Written]:
        return self.tell(Opened(self.index, self.point, self.needs_ns, self.written), process)


class Coordinated(SharedRun):
    """The run of several processes as ever, but that rows are carried from file to file when a load has ended."""

    def __init__(self, folder: Path, plan: Any, of: int, tell: Tell) -> None:
        """tell: what a process hears of the others."""
        parts = folder / "parts"
        parts.mkdir()
        self.events: list[Mapping[str, Any]] = []
        self.apart = ApartFiles(parts)
        plan = {**plan, "share": {"index": 0, "of": of}}
        super().__init__(plan, parts, list, self.events.append, self.apart)
        self.tell = tell
        self.table: str = plan["tables"][0]["name"]
        self.labels = [segment["label"] for segment in plan["segments"]]
        #: Step -> by process: the rows that it has written.
        self.shares: dict[str, list[set[Row]]] = {}
        #: Process -> what its tables say, as they were before they became those of all.
        self.own: dict[str, list[list[dict[str, Any]]]] = {}

    def go_on(self, release: Opened) -> None:
        if release.point == "connect" and not self.shares:
            for other in range(1, self.of):  # as the first one has created it
                with opened(self.apart.file(0)) as first, opened(self.apart.file(other)) as to:
                    first.backup(to)
        label = self.labels[release.index]
        if release.point == "end" and label in ("load", "more"):
            self.carry(label)
        super().go_on(Told(release.index, release.point, release.needs_ns, release.written, self.tell))

    def carry(self, label: str) -> None:
        before = set().union(*(rows for shares in self.shares.values() for rows in shares))
        found = [self.rows(process) for process in range(self.of)]
        assert all(len(rows) == len(set(rows)) for rows in found), "each row once"
        self.shares[label] = [set(rows) - before for rows in found]
        everything = set().union(*found)
        for process in range(self.of):
            with opened(self.apart.file(process)) as to:
                for row in sorted(everything - set(found[process])):
                    to.execute(f"INSERT INTO {self.table} VALUES ({','.join('?' * len(row))})", row)
                to.commit()

    def rows(self, process: int) -> list[Row]:
        with opened(self.apart.file(process)) as of:
            return [tuple(row) for row in of.execute(f"SELECT * FROM {self.table}")]

    def write(self) -> None:
        for name in ("repetitions", "segments", "proofs", "sizes"):
            self.own[name] = [self.table_of(name, self.folder(process)) for process in range(self.of)]
        super().write()

    def table_of(self, name: str, folder: Path | None = None) -> list[dict[str, Any]]:
        return [row for t in read(name, folder or self.parts) for row in t.to_pylist()]


def opened(file: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(file, timeout=20))


def followed(folder: Path, of: int, *overrides: str, tell: Tell = Opened.others) -> Coordinated:
    folder.mkdir()
    run = Coordinated(folder, planned(folder, *overrides), of, tell)
    try:
        run.start()
        code = run.follow()
    finally:
        run.end()
    assert code == 0, run.events[-3:]
    return run


@pytest.mark.ci
def test_the_union_of_what_w_processes_load_is_the_plan_of_one_row_for_row(tmp_path: Path) -> None:
    draw = random.Random(17)
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
        run = followed(tmp_path / str(of), of, *overrides)
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
    segment = run.labels.index(label)
    return [next(r for r in rows if r["segment"] == segment) for rows in run.own["repetitions"]]


def test_counts_and_rows_of_an_earlier_step_are_judged_by_what_all_have_written(tmp_path: Path) -> None:
    run = followed(tmp_path / "run", 3)
    found = outcomes(run, "look")
    assert all(r["wrong"] == r["errors"] == 0 and r["ok"] == r["ops"] for r in found), found
    assert sum(r["ops"] for r in found) == 56 and min(r["ops"] for r in found) == 18
    assert all(p["holds"] for p in run.table_of("proofs")) and run.table_of("proofs")
    said = {s["label"]: s for s in run.table_of("segments")}
    assert said["load"]["step"] == "load" and "index" in said
    for follower in (1, 2):
        assert [s["label"] for s in run.own["segments"][follower]] == ["load", "more", "look"]
        assert not run.own["proofs"][follower] and not run.own["sizes"][follower]


# Of few calls the bound is narrow: beside other tests on two cores the processes' own work passes it.
@pytest.mark.parametrize("calls", [pytest.param(56, marks=pytest.mark.slow), 3_000])
def test_what_a_short_step_used_is_known_of_each_process_and_of_all(tmp_path: Path, calls: int) -> None:
    """A step may be shorter than the time between looks."""
    run = followed(tmp_path / "run", 3, f"steps.look.calls={calls}")
    window = next((s["start_ns"], s["end_ns"]) for s in run.table_of("segments") if s["label"] == "look")
    held = pa.concat_tables([t for t in read("resources", run.parts) if t.num_rows])
    held = held.filter(pc.and_(pc.equal(held["metric"], "cpu_s"), pc.equal(held["device"], "")))
    used = {role: spent(series, [window]) for role, series in looks(held).items()}
    assert {"client", "client/1", "client/2", "client/3"} <= used.keys()
    known = {role: s for role, s in used.items() if s is not None}
    assert known.keys() == used.keys()
    each = sum(known[f"client/{n}"] for n in range(1, 4))
    # What sessions did is in it. What they did while they got ready is in it too, and next to nothing else.
    sessions_s = sum(r["cpu_ns"] for r in outcomes(run, "look")) / 1e9
    assert 0.99 * sessions_s <= each <= 1.5 * sessions_s + 0.02, (known, sessions_s)
    assert known["client"] == pytest.approx(each, rel=1e-6)


def test_a_process_that_was_not_told_calls_the_rows_of_the_others_wrong(tmp_path: Path) -> None:
    run = followed(tmp_path / "run", 2, tell=lambda of, process: [] if process == 1 else of.others(process))
    told, untold = outcomes(run, "look")
    assert told["wrong"] == 0 and untold["wrong"] > 0


def test_the_first_process_proves_inserts_of_others_that_got_no_answer(tmp_path: Path) -> None:
    """The coordinator says that the second process had no answer to its first batch, whose rows are there all the same."""

    def tell(opened: Opened, process: int) -> list[Written]:
        found: list[Any] = json.loads(json.dumps(opened.others(process)))
        for of in found if process == 0 and [w["issued"] for w in found] == [500] else ():
            of["acknowledged"] -= 100
            of["unanswered"] = [[100, 100]]
        return found

    run = followed(tmp_path / "run", 2, "steps.load.batch_rows=100", tell=tell)
    proofs = {p["item"]: p for p in run.table_of("proofs")}
    assert "unanswered(100..200)" in proofs and all(p["holds"] for p in proofs.values())


def test_several_processes_plan_the_segments_of_one(tmp_path: Path) -> None:
    one = planned(tmp_path, engine="postgresql")
    two = planned(tmp_path, "clients=2", engine="postgresql")
    assert canonical(planned(tmp_path, "clients=1", engine="postgresql")) == canonical(one)
    assert two["share"] == {"index": 0, "of": 2} and "share" not in one
    assert canonical({"segments": one["segments"]}) == canonical({"segments": two["segments"]})


def refused(folder: Path, *overrides: str, study: str = STUDY) -> list[str]:
    with pytest.raises(UsageError) as info:
        planned(folder, *overrides, study=study, engine="postgresql")
    return [f"{p.key}: {p.remedy}" for p in info.value.problems]


def test_counts_of_rows_that_the_same_step_writes_are_refused_and_reads_beside_it_are_not(
    tmp_path: Path,
) -> None:
    assert refused(tmp_path, "clients=2", study=STUDY + MEANWHILE) == [
        "clients: count_log: it promises counts of rows of all processes, which are written meanwhile; take 1 (`-P "
        "clients=1`)"
    ]
    without = MEANWHILE.replace('operation = "count_log"', 'operation = "count"')
    assert planned(tmp_path, "clients=2", study=STUDY + without, engine="postgresql")["share"]["of"] == 2


def test_a_load_by_client_and_load_server_is_refused(tmp_path: Path) -> None:
    by_loader = STUDY.replace("sessions = 2\nbatch_rows = 50\n", "pipeline = { files = 2 }\n", 1).partition(
        '[[steps]]\nname = "more"'
    )
    rest = '[[steps]]\nname = "look"\ndo = "read"\noperation = "one"\ncalls = 5\n'
    assert refused(tmp_path, "clients=2", study=by_loader[0] + rest) == [
        "clients: load: it is done by client and load server, whose processes are the load's own; take 1 (`-P clients=1`)"
    ]


def test_the_core_refuses_what_a_plan_of_elsewhere_shares_out_and_cannot_be(tmp_path: Path) -> None:
    plan = planned(tmp_path) | {"share": {"index": 1, "of": 2}}

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
