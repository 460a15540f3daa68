"""Look-ups by key in a pipeline: inrush against the server's own valkey-benchmark (redis-benchmark), at the same depth.

Both have one connection, draw keys at random from as many hashes of one row each, and leave the answers unread. The rate
of the peer is its own.
"""

from __future__ import annotations

import csv
import io
import resource
import shutil
import time
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from benches import ingest
from benches.floors import Parts
from benches.places import ask, call, host_and_port, url_of
from benches.rounds import Rounds
from inrush.engines import server
from inrush.engines.valkey import script

SECONDS = 2
DEPTHS = (1, 16, 64)
KEYS = 100_000
#: Bytes of a packed row of `job_info`.
ROW_BYTES = 33
#: Keys of the peer have twelve digits; ours too, and are others.
FIRST = 10**11
FILL = (
    "for k = 0, ARGV[1] - 1 do for _, first in ipairs({0, ARGV[2]}) do "
    "redis.call('HSET', string.format('inrush_bench/%012d', first + k), 'f', string.rep('x', ARGV[3])) end end return 1"
)


def comparisons() -> Iterator[Parts]:
    if not url_of("valkey") or program() is None:
        return
    for depth in DEPTHS:
        us, them = Rounds(partial(ours, depth)), Rounds(partial(theirs, depth))
        name, peer = f"valkey look-ups, depth {depth}", f"valkey-benchmark -P {depth}"
        yield name, peer, "ops/s", 0.95, us.figure(0), them.figure(0)
        yield f"{name}, client", peer, "ops/CPU-s", 0.95, us.figure(1), them.figure(1)


def ours(depth: int) -> tuple[float, float]:
    """Look-ups per second, and per second of CPU of this whole process."""
    made()
    key = {"kind": "uniform", "from": FIRST, "to": FIRST + KEYS - 1}
    operation = {
        "name": "look_up", "kind": "query", "text": "HVALS inrush_bench/$1",
        "params": [{"name": "key", "type": "i64", "gen": key}],
    }  # fmt: skip
    until = {"kind": "time", "ns": SECONDS * 10**9}
    role = ingest.role("readers", "look_up", {"kind": "endless"}, until=until, depth=depth)
    plan = ingest.document_of_run("valkey", [ingest.drive([role], limit_s=60)], [operation], [])
    before = time.process_time()
    with ingest.executed("valkey", plan) as tables:
        totals = tables["repetitions"][0]
    cpu_s = time.process_time() - before
    done = float(totals["ok"])
    if totals["errors"] or totals["rows"] != done:
        raise RuntimeError(
            f"valkey: {totals['errors']} of {totals['ops']} failed, {totals['rows']} rows came"
        )
    return done / ((totals["end_ns"] - totals["start_ns"]) / 1e9), done / cpu_s


@cache
def calls(depth: int) -> int:
    """As many as the peer makes in the time of a round."""
    few = 20_000 * depth
    return max(few, round(few * SECONDS / (few / asked(depth, few))))


def theirs(depth: int) -> tuple[float, float]:
    """Operations per second as the peer reports them, and per second of its CPU."""
    made()
    count = calls(depth)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    per_s = asked(depth, count)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return per_s, count / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def asked(depth: int, count: int) -> float:
    host, port = host_and_port("valkey")
    return reported(
        call([
            str(program()), "-3", "-h", host, "-p", str(port), "-c", "1", "-P", str(depth), "-n", str(count),
            "-r", str(KEYS), "--csv", "HVALS", "inrush_bench/__rand_int__",
        ])
    )  # fmt: skip


def reported(shown: str) -> float:
    """Requests per second of the one test that the peer prints as CSV. Raises RuntimeError."""
    rows = list(csv.DictReader(io.StringIO(shown)))
    if len(rows) != 1 or "rps" not in rows[0]:
        raise RuntimeError(f"no rate in what the peer printed: {shown[-400:]}")
    return float(rows[0]["rps"])


@cache
def made() -> None:
    """The hashes of both sides."""
    ask("valkey", script(FILL, str(KEYS), str(FIRST), str(ROW_BYTES)))


@cache
def program() -> Path | None:
    """The peer: beside the server that inrush has fetched, or the system's."""
    own = server("valkey").lifecycle
    assert own is not None
    if release := own.fetched():
        return release.path / "usr/bin/valkey-benchmark"
    found = shutil.which("valkey-benchmark") or shutil.which("redis-benchmark")
    return Path(found) if found else None
