"""Rows of MySQL Cluster by their key: inrush against flexAsynch, on the same cluster, thread for thread and call for call.

A round is one run of `cluster.toml` on flexAsynch's own table, as inrush made and filled it: reads, inserts, updates and deletes
by key. Every row that is read is compared in all its columns, and every row is read back after the run. flexAsynch reads
that table in the same run, before inrush or after it. It inserts, updates and deletes as many rows of a table of its own,
with the same columns; it looks at no value. Its rate of reads and updates is corrected for the calls that it counts
twice, one for each batch; a code of an error in what it prints ends the round. CPU is that of each whole process, without
what flexAsynch takes to connect.
"""

from __future__ import annotations

import atexit
import copy
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from benches import ingest
from benches.floors import Parts
from benches.keylookups import race
from benches.places import url_of
from benches.rounds import Rounds
from inrush.engines import server
from inrush.engines.base.instance import Instance, Stop
from inrush.plan.plan import plan_study
from inrush.study.reading import load_study

STUDY = Path(__file__).parent / "cluster.toml"
ENGINE, PEER = "ndb", "flexAsynch"
NAME = f"keylookups {ENGINE}"
#: Data nodes of the clusters that are started; one at an address has as many as it has.
NODES = (2, 4)
#: Of each node. Tables have no redo log, which flexAsynch fills within seconds and does not notice.
SETTINGS = {"DataMemory": "400M"}
#: As in `cluster.toml`.
THREADS, PARALLEL, ROWS, SECONDS = 4, 64, 409_600, 3
ROUNDS_OF_A_THREAD = ROWS // THREADS // PARALLEL
#: Names of its tables begin with these; the second is the one that it makes itself.
DATABASE, OURS, ITS = "TEST_DB", 7, 8
CALLS = ("read", "insert", "update", "delete")
#: Of those, what it does for some seconds and not for each row.
TIMED = ("read", "update")


class Done(NamedTuple):
    per_s: float
    per_cpu_s: float


def comparisons() -> Iterator[Parts]:
    if flexasynch() is None:
        return
    if "," in (url_of(ENGINE) or ""):
        print("flexAsynch is told of one management server: its comparisons are left out", flush=True)
        return
    for nodes in (0,) if url_of(ENGINE) else NODES:
        round_ = Round(nodes)
        rounds = Rounds(round_)
        where = f"{nodes} data nodes, " if nodes else ""
        for at, call in enumerate(CALLS):
            name = f"{NAME}, {where}{call}, {THREADS} threads, {PARALLEL} in flight"
            for what, unit, of in (("", "rows/s", 0), (", client", "rows/CPU-s", 1)):
                us, them = (rounds.figure(4 * at + 2 * side + of) for side in (0, 1))
                yield f"{name}{what}", PEER, unit, 1.0, us, them


class Round:
    """nodes: of a cluster that is started for it; 0: one is at an address."""

    def __init__(self, nodes: int) -> None:
        self.nodes, self.turn = nodes, count()

    def __call__(self) -> tuple[float, ...]:
        url = url_of(ENGINE) or cluster(self.nodes)
        before, os.environ[variable()] = os.environ.get(variable()), url
        try:
            ours, theirs = raced(url, first=next(self.turn) % 2 == 0)
        finally:
            if before is None:
                del os.environ[variable()]
        return tuple(figure for call in CALLS for side in (ours, theirs) for figure in side[call])


def variable() -> str:
    return f"INRUSH_{ENGINE.upper()}_URL"


def raced(url: str, first: bool) -> tuple[Mapping[str, Done], Mapping[str, Done]]:
    """(ours, theirs); first: it reads and writes before us."""
    plan = copy.deepcopy(dict(planned()))
    theirs: dict[str, Done] = {}

    def peer() -> None:
        idle_s = flex(url, ITS, "-create_table")[1]
        for call in ("insert", "read", "update", "delete"):
            table = OURS if call == "read" else ITS
            shown, cpu_s = flex(url, table, f"-{call}", *(timed() if call in TIMED else ()))
            theirs[call] = found(call, shown, cpu_s - idle_s)

    pause = {"kind": "pause", "label": "peer", "action": "peer"}
    at = [k for k, segment in enumerate(plan["segments"]) if race.reads(segment)]
    # The table has all its rows from the load on, and loses them with the last of our steps.
    plan["segments"].insert(at[0] if first else at[0] + 1, pause)
    with ingest.executed(ENGINE, plan, paused=peer) as came:
        steps = race.steps(came)
    return {call: Done(steps[call].per_s, steps[call].per_cpu_s) for call in CALLS}, theirs


@cache
def planned() -> Mapping[str, Any]:
    """The plan of a run, on a table with flexAsynch's names."""
    study = load_study(str(STUDY), engines=(ENGINE,))
    run = next(run for run in plan_study(study, {ENGINE: server(ENGINE)}).runs if run.block == 1)
    text = json.dumps(run.plan).replace(run.namespace, DATABASE)
    text = text.replace(f"{DATABASE}.record", f"{DATABASE}.{table_of(OURS)}")
    plan: dict[str, Any] = json.loads(re.sub(r'"(distkey|col\d+)"', lambda name: name[0].upper(), text))
    plan["target"]["options"] = {
        **plan["target"].get("options", {}),
        "distribution": "first",
        "logging": "false",
    }
    return plan


def table_of(number: int) -> str:
    return f"TAB{number}_0"


# --- theirs


@cache
def flexasynch() -> Path | None:
    own = server(ENGINE).lifecycle
    release = own.fetched() if own else None
    program = next(release.path.rglob(PEER), None) if release else None
    if program is None:
        print(
            "no flexAsynch here: keylookups on ndb are left out; `inrush engines fetch ndb` gets it",
            flush=True,
        )
    return program


def timed() -> tuple[str, ...]:
    return ("-warmup_time", "0", "-execution_time", str(SECONDS), "-cooldown_time", "0")


def flex(url: str, table: int, *words: str) -> tuple[str, float]:
    """What it prints, and the CPU time of its process."""
    program = flexasynch()
    assert program is not None, "comparisons are not made without it"
    place = url.split("://", 1)[1].split("?")[0].rstrip("/")
    env = {**os.environ, "NDB_CONNECTSTRING": place, "LD_LIBRARY_PATH": str(program.parent)}
    command = [
        str(program), "-ndbrecord", "-temp", "-t", str(THREADS), "-p", str(PARALLEL), "-o", str(ROUNDS_OF_A_THREAD),
        "-c", "1", "-a", "25", "-s", "1", "-table", str(table), *words,
    ]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = done.stdout + done.stderr
    if done.returncode != 0 or "ErrorCode" in shown:
        raise RuntimeError(f"{PEER} {' '.join(words)} failed: {shown.strip()[-400:]}")
    return shown, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def found(call: str, shown: str, cpu_s: float) -> Done:
    """Rows per second, and per second of its CPU, from what it prints."""
    calls, rate = (
        re.search(rf"{words} (\d+)", shown)
        for words in ("Total number of transactions is", "Total transactions per second")
    )
    if not calls or not rate or cpu_s <= 0:
        raise RuntimeError(f"{PEER} printed no rate of {call}: {shown[-400:]}")
    # Of what is timed, one more is counted for each batch.
    true = PARALLEL / (PARALLEL + 1) if call in TIMED else 1.0
    return Done(int(rate[1]) * true, int(calls[1]) * true / cpu_s)


# --- the process

#: What the client library needs before all else: after what benches import, no room is left for its thread-local memory.
FIRST, PRELOAD = "libstdc++.so.6", "LD_PRELOAD"


def begin_anew(only: str) -> None:
    """Starts this bench again with the library in front, where rows of a cluster are to be compared."""
    is_there = FIRST in os.environ.pop(PRELOAD, "")
    if not is_there and NAME.startswith(only[: len(NAME)]) and flexasynch() is not None:
        command = [sys.executable, "-m", "benches.bench", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, PRELOAD: FIRST})


# --- clusters

STARTED: dict[int, tuple[Instance, Path]] = {}


def cluster(nodes: int) -> str:
    """The address of a cluster with so many data nodes: the one that runs, or a new one in its place."""
    if nodes not in STARTED:
        stop_clusters()
        own = server(ENGINE).lifecycle
        assert own is not None, "it has servers of its own"
        folder = Path(tempfile.mkdtemp(prefix="inrush-bench-", dir="/var/tmp"))
        folder.chmod(0o755)
        STARTED[nodes] = (own.start(folder / own.name, {**SETTINGS, "nodes": str(nodes)}), folder)
    return STARTED[nodes][0].url


@atexit.register
def stop_clusters() -> None:
    own = server(ENGINE).lifecycle
    while STARTED:
        _, (instance, folder) = STARTED.popitem()
        assert own is not None, "it was started by it"
        own.stop(instance, Stop.CLEAN)
        shutil.rmtree(folder)
