"""Kill −9 of inrush, its worker and its server in steps of a run: is every row there once, and nothing left behind?

`python -m benches.kills postgresql --times 20`: each kill has a study of its own with a load and a statement that writes
the table anew (CLUSTER, OPTIMIZE). When a kill comes is a seeded fraction of the step as a run without kills took it. A
kill counts where no later step had begun. Then the server is looked at: whatever is there of the table must be as before
the statement or after it. The study is resumed: each row once, by inrush's own proof, and no leftover.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from benches.kill_checks import ROWS, as_before_or_after, ended, left, not_whole, sum_of_values
from inrush.border.events import Event
from inrush.engines import server
from inrush.engines.base.instance import Instance, Stop, Target
from inrush.engines.servers import life
from inrush.engines.servers.own_server import OwnServer
from inrush.plan.plan import plan_study
from inrush.results.store import Store
from inrush.run.listener import Silent
from inrush.run.run import run_study
from inrush.study.reading import load_study
from inrush.targets import deployments
from inrush.targets.deployment import Deployment

#: A step of a tenth of a second on a busy machine is missed more often than hit.
TRIES = 8
VICTIMS = ("inrush", "worker", "server")
STEPS = ("load", "rewrite")
#: Writes the whole table anew.
REWRITE = {
    **dict.fromkeys(("postgresql", "timescaledb"), '["CREATE INDEX by_id ON {table} (id)", "CLUSTER {table} USING by_id"]'),
    **dict.fromkeys(("mysql", "mariadb"), '"OPTIMIZE TABLE {table}"'),
    "clickhouse": '"OPTIMIZE TABLE {table} FINAL"',
}  # fmt: skip
ENGINES = tuple(REWRITE)
SETTINGS: Mapping[str, Mapping[str, str]] = {
    **{engine: {"shared_buffers": "64MB"} for engine in ("postgresql", "timescaledb")},
    "mysql": {"innodb_buffer_pool_size": "128M", "innodb_redo_log_capacity": "32M"},
    "mariadb": {"innodb_buffer_pool_size": "128M", "innodb_log_file_size": "32M"},
    "clickhouse": {},
}
WORKLOAD = """
schema = 1
epoch = "2026-01-01T00:00:00Z"
[tables.events]
series = 100
period_s = 1
identity = ["id", "time"]
columns = [
  {{ name = "id", type = "i32", gen = "cycle", from = 1, to = 100 }},
  {{ name = "time", type = "time_ms", gen = "sweep_time" }},
  {{ name = "value", type = "i64", gen = "uniform", from = 0, to = 99 }},
]
[operations.rewrite]
kind = "maintain"
table = "events"
sql.{engine} = {rewrite}
"""
STUDY = """
schema = 1
title = "Kills"
question = "Is every row there once?"
expect = "Yes."
workload = "work.toml"
kind = "steps"
engines = ["{engine}"]
repeats = {{ count = 1, seed = 1, pilot = false }}
[[steps]]
name = "load"
do = "load"
table = "events"
rows = {{ total = {rows} }}
[[steps]]
name = "rewrite"
do = "statement"
operation = "rewrite"
[[steps]]
name = "rest"
do = "settle"
seconds = 0.5
"""


@dataclass(frozen=True)
class Kill:
    """One kill, and what was there afterwards."""

    engine: str
    victim: str
    step: str
    #: Of the step, as it took without a kill.
    fraction: float
    #: No later step had begun.
    inside: bool
    #: Rows found before the study was resumed; None: no table.
    rows: int | None
    #: What is not as it must be; empty: everything is.
    wrong: tuple[str, ...]


class Steps(Silent):
    """Says each step as it begins, a line each: the parent decides by it when to kill."""

    def event(self, event: Event) -> None:
        if event["event"] == "segment" and event["kind"] != "probe":
            print(f"step {event['label']}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engines", nargs="*", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--times", type=int, default=20, help="kills of each victim in the load step")
    parser.add_argument(
        "--in-statement", type=int, default=2, help="kills of each victim in the statement step"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path("/var/tmp"))
    asked = parser.parse_args()
    found = []
    for engine in asked.engines:
        with tempfile.TemporaryDirectory(prefix="inrush-kills-", dir=asked.data) as name:
            folder = Path(name)
            folder.chmod(0o755)
            for kill in campaign(engine, asked.times, asked.in_statement, asked.seed, folder):
                print(json.dumps(asdict(kill)), flush=True)
                found.append(kill)
    print(table(found))
    return 0 if all(kill.inside and not kill.wrong for kill in found) else 1


def table(kills: Sequence[Kill]) -> str:
    """A line for each engine, victim and step."""
    groups = dict.fromkeys((k.engine, k.victim, k.step) for k in kills)
    lines = [f"{'engine':<12} {'killed':<7} {'step':<8} {'kills':>5} {'inside':>6} {'right':>5}  wrong"]
    for group in groups:
        own = [k for k in kills if (k.engine, k.victim, k.step) == group]
        wrong = Counter(w for k in own for w in k.wrong)
        said = "; ".join(f"{n} × {w}" for w, n in wrong.items())
        inside, right = sum(k.inside for k in own), sum(not k.wrong for k in own)
        lines.append(
            f"{group[0]:<12} {group[1]:<7} {group[2]:<8} {len(own):>5} {inside:>6} {right:>5}  {said}".rstrip()
        )
    return "\n".join(lines)


def campaign(engine: str, times: int, in_statement: int, seed: int, folder: Path) -> Iterator[Kill]:
    """Kills spread over the steps: each in a part of its own, at a seeded place of it."""
    draw = random.Random(f"{seed}/{engine}")
    with own(engine, folder / engine) as data:
        long = rehearsed(engine, folder / "rehearsal", data)
        # Victims take turns, so that a campaign that was ended early has killed each of them.
        for step, count in (("rewrite", in_statement), ("load", times)):
            for n, victim in itertools.product(range(count), VICTIMS):
                # A step ends a little earlier or later than it did: its first and last twentieth are left out.
                fraction = 0.05 + 0.75 * (n + draw.random()) / count
                yield inside(engine, victim, step, fraction, long, folder / f"{victim}-{step}-{n}", data)


def inside(
    engine: str, victim: str, step: str, fraction: float, long: Mapping[str, float], folder: Path, data: Path
) -> Kill:
    """A kill that hit the step: one that came too late shows nothing of it, and an earlier one takes its place."""
    for again in range(TRIES):
        found = killed(engine, victim, step, fraction * 0.7**again, long, folder / str(again), data)
        if found.inside or found.wrong:
            break
    return found


@contextmanager
def own(engine: str, data: Path) -> Iterator[Path]:
    """The folder of a server of inrush's own; whatever works in it is ended."""
    try:
        yield data
    finally:
        for pid in life.working_in(data):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def begun(engine: str, data: Path) -> Deployment:
    """Started, or found at work."""
    return deployments.started(server(engine), data, SETTINGS[engine], lambda _: None)


def rehearsed(engine: str, folder: Path, data: Path) -> Mapping[str, float]:
    """Seconds of each step, nothing being killed. The first run of a new server is slow: the second counts."""
    long: dict[str, float] = {}
    for n in range(2):
        place = written(engine, folder / str(n))
        with inrush(engine, place, data) as process:
            at = dict(steps_of(process))
            if process.wait() != 0:
                raise RuntimeError(f"{engine}: a run without kills failed: {errors_of(place)}")
        long = {"load": at["rewrite"] - at["load"], "rewrite": at["rest"] - at["rewrite"]}
    return long


def written(engine: str, folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "work.toml").write_text(WORKLOAD.format(engine=engine, rewrite=REWRITE[engine]))
    (folder / "kills.toml").write_text(STUDY.format(engine=engine, rows=ROWS))
    return folder


@contextmanager
def inrush(engine: str, place: Path, data: Path) -> Iterator[subprocess.Popen[str]]:
    url = begun(engine, data).target.url
    words = [sys.executable, "-c", "from benches.kills import one; one()", engine, str(place), url]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (
        (place / "errors.txt").open("a") as errors,
        subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def errors_of(place: Path) -> str:
    return (place / "errors.txt").read_text().strip().rpartition("\n")[2]


def one() -> None:
    """The study of a folder, in a process that may be killed; resumed where results of it are there."""
    engine, place, url = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    study = load_study(str(place / "kills.toml"))
    plan = plan_study(study, {name: server(name) for name in study.engines})
    store = Store(place / "results")
    if (place / "results").is_dir():
        results = store.latest()
    else:
        results = store.new_study(study.name, {**plan.document(), "begun_unix_ns": time.time_ns()})
    places = {engine: Deployment(server(engine), Target(engine, url))}
    end = run_study(plan.all_runs, results, places, Steps())
    for message in end.failed.values():
        print(message, file=sys.stderr, flush=True)
    sys.exit(1 if end.failed else 0)


def steps_of(process: subprocess.Popen[str]) -> Iterator[tuple[str, float]]:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step "):
            yield line.split(maxsplit=1)[1].strip(), time.monotonic()


def killed(
    engine: str, victim: str, step: str, fraction: float, long: Mapping[str, float], folder: Path, data: Path
) -> Kill:
    place = written(engine, folder)
    reached, instance = False, running(engine, data)
    with inrush(engine, place, data) as process:
        for name, began in steps_of(process):
            if name == step:
                time.sleep(max(0.0, began + fraction * long[step] - time.monotonic()))
                reached = process.poll() is None
                kill(victim, process.pid, instance)
                break
        later = [name for name, _ in steps_of(process)]
        process.wait()
    wrong = [] if process.returncode != 0 else ["the run that was killed says that it is well"]
    wrong += ended(place)
    deployment = begun(engine, data)
    rows, differs = as_before_or_after(deployment, step, victim, sum_of_values(place))
    wrong += differs
    with inrush(engine, place, data) as process:
        process.communicate(timeout=600)
    if process.returncode != 0:
        wrong.append(f"the resumed study failed: {errors_of(place)}")
    else:
        wrong += not_whole(place)
    wrong += left(deployment, data)
    return Kill(engine, victim, step, round(fraction, 3), reached and not later, rows, tuple(wrong))


def kill(victim: str, pid: int, instance: Instance) -> None:
    if victim == "server":
        lifecycle_of(instance.engine).stop(instance, Stop.KILL)
    else:
        os.kill(pid if victim == "inrush" else worker_of(pid), signal.SIGKILL)


def lifecycle_of(engine: str) -> OwnServer:
    found = server(engine).lifecycle
    assert isinstance(found, OwnServer)
    return found


def running(engine: str, data: Path) -> Instance:
    found = begun(engine, data).target.instance
    assert found is not None
    return found


def worker_of(parent: int) -> int:
    """The process of the run in hand."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = line.read_bytes().split(b"\0")
            if (
                b"inrush.agent.program" in words
                and f"PPid:\t{parent}\n" in (line.parent / "status").read_text()
            ):
                return int(line.parent.name)
    raise RuntimeError("no worker is at work")


if __name__ == "__main__":
    sys.exit(main())
