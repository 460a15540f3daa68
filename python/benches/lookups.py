"""Single rows by key, prepared: inrush against each engine's own instrument, on the same table of the same server.

Both sides work for the same time with as many connections and threads. The peer's rate is what it reports itself.
"""

from __future__ import annotations

import re
import resource
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import product
from typing import Any

from benches import ingest, places
from benches.floors import Parts
from benches.places import INSTANCES, ask, call, host_and_port, password_of, socket_of, url_of, user_of
from benches.rounds import Rounds

SECONDS = 2
CONNECTIONS = (1, 2)
KEYS = 100_000
#: Keys of one statement where it asks for a list: what is saved grows with the length, until the rows are the work.
LISTS = (4, 16, 256)
MYSQL_LIKE = ("mysql", "mariadb")
#: Of MySQL and MariaDB: sysbench's point selects, less 5 %.
MYSQL_BAR = 0.95


def comparisons() -> Iterator[Parts]:
    if url_of("postgresql") and shutil.which("pgbench"):
        for c in CONNECTIONS:
            yield from both("postgresql", "pgbench -S", c, 1.0)
            yield from by_socket("postgresql", "pgbench -S", c, 1.0)
    for engine in MYSQL_LIKE:
        if url_of(engine) and shutil.which("sysbench"):
            for c in CONNECTIONS:
                yield from both(engine, "sysbench point_select", c, MYSQL_BAR)
                yield from by_socket(engine, "sysbench point_select", c, MYSQL_BAR)
        elif url_of(engine):
            print(f"no sysbench here: look-ups on {engine} are left out", flush=True)
    for engine, keys in product((*MYSQL_LIKE, "postgresql"), LISTS):
        if url_of(engine):
            name, single = f"{engine} lists of {keys} keys", "one key a statement"
            yield name, single, "keys/s", 1.0, partial(rate, engine, keys), partial(rate, engine)


def both(engine: str, peer: str, connections: int, bar: float) -> Iterator[Parts]:
    """Rate, and operations per second of the client's CPU."""
    name = f"{engine} look-ups, {connections} connection{'s' if connections > 1 else ''}"
    us, them = Rounds(partial(ours, engine, connections)), Rounds(partial(theirs, engine, connections))
    yield name, peer, "ops/s", bar, us.figure(0), them.figure(0)
    yield f"{name}, client", peer, "ops/CPU-s", 1.0, us.figure(1), them.figure(1)


def by_socket(engine: str, peer: str, connections: int, bar: float) -> Iterator[Parts]:
    """The same by the server's Unix socket, for both sides; a server at an address has no other way."""
    if engine not in INSTANCES:
        return
    for name, _, unit, least, us, them in both(engine, peer, connections, bar):
        yield f"{name}, Unix socket", peer, unit, least, at_socket(engine, us), at_socket(engine, them)


def at_socket(engine: str, measure: Callable[[], float]) -> Callable[[], float]:
    def measured() -> float:
        with places.by_socket(engine):
            return measure()

    return measured


def agreements() -> Iterator[Parts]:
    """Rates that both report of the same work."""
    if url_of("postgresql") and shutil.which("pgbench"):
        yield (
            "postgresql select-only, rate", "pgbench -S", "ops/s", 0.95,
            lambda: ours("postgresql", 1)[0], lambda: theirs("postgresql", 1)[0],
        )  # fmt: skip
        yield (
            "postgresql inserts, rate", "pgbench, one INSERT each", "ops/s", 0.95, our_inserts, their_inserts,
        )  # fmt: skip


# --- ours


def ours(engine: str, connections: int, keys: int = 1) -> tuple[float, float]:
    """Keys looked up per second of time, and per second of CPU of this whole process."""
    made(engine)
    numbered = engine == "postgresql"
    marks = ", ".join(f"${k + 1}" if numbered else "?" for k in range(keys))
    where = f"IN ({marks})" if keys > 1 else f"= {marks}"
    text = {
        "postgresql": f"SELECT abalance FROM pgbench_accounts WHERE aid {where}",
        "mysql": f"SELECT c FROM sbtest.sbtest1 WHERE id {where}",
        "mariadb": f"SELECT c FROM sbtest.sbtest1 WHERE id {where}",
    }[engine]
    params = [key_param(f"key{k}") for k in range(keys)]
    operation = {"name": "look_up", "kind": "query", "text": text, "params": params}
    before = time.process_time()
    totals = totals_of(engine, operation, connections)
    cpu_s = time.process_time() - before
    done = float(totals["ok"] * keys)
    if totals["errors"] or not done:
        raise RuntimeError(f"{engine}: {totals['errors']} of {totals['ops']} look-ups failed")
    return done / ((totals["end_ns"] - totals["start_ns"]) / 1e9), done / cpu_s


def rate(engine: str, keys: int = 1) -> float:
    """Keys per second of one connection."""
    return ours(engine, 1, keys)[0]


def our_inserts() -> float:
    made("postgresql")
    operation = {
        "name": "insert_one",
        "kind": "execute",
        "text": "INSERT INTO inrush_bench_history VALUES ($1, $2, $3)",
        "params": [key_param("tid"), key_param("bid"), key_param("aid")],
    }
    totals = totals_of("postgresql", operation, 1)
    return float(totals["ok"] / ((totals["end_ns"] - totals["start_ns"]) / 1e9))


def key_param(name: str) -> Mapping[str, Any]:
    return {"name": name, "type": "i64", "gen": {"kind": "uniform", "from": 1, "to": KEYS}}


def totals_of(engine: str, operation: Mapping[str, Any], connections: int) -> Mapping[str, Any]:
    until = {"kind": "time", "ns": SECONDS * 10**9}
    role = ingest.role("readers", operation["name"], {"kind": "endless"}, connections, until=until)
    plan = ingest.document_of_run(engine, [ingest.drive([role], limit_s=60)], [operation], [])
    with ingest.executed(engine, plan) as tables:
        found: Mapping[str, Any] = tables["repetitions"][0]
        return found


# --- theirs


@cache
def made(engine: str) -> None:
    """The peer's own table, filled by the peer's own means, once."""
    if engine == "postgresql":
        url = str(url_of(engine))
        call(["pgbench", "-i", "-q", "-s", str(KEYS // 100_000), url])
        ask(engine, "DROP TABLE IF EXISTS inrush_bench_history")
        ask(engine, "CREATE TABLE inrush_bench_history (tid bigint, bid bigint, aid bigint)")
        return
    ask(engine, "DROP DATABASE IF EXISTS sbtest")
    ask(engine, "CREATE DATABASE sbtest")
    sysbench(engine, "prepare", 1)


def theirs(engine: str, connections: int) -> tuple[float, float]:
    """Operations per second as the peer reports them, and per second of its CPU."""
    made(engine)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    postgresql = engine == "postgresql"
    shown = pgbench("-S", connections) if postgresql else sysbench(engine, "run", connections)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    done, per_s = reported(shown)
    return per_s, done / cpu_s


def their_inserts() -> float:
    made("postgresql")
    with ingest.folder() as path:
        script = path / "insert.sql"
        draws = "".join(f"\\set {name} random(1, {KEYS})\n" for name in ("tid", "bid", "aid"))
        script.write_text(f"{draws}INSERT INTO inrush_bench_history VALUES (:tid, :bid, :aid);\n")
        return reported(pgbench(f"-f{script}", 1))[1]


def pgbench(work: str, connections: int) -> str:
    c = str(connections)
    command = ["pgbench", "-n", "-M", "prepared", "-T", str(SECONDS), "-c", c, "-j", c, work]
    return call([*command, str(url_of("postgresql"))])


def sysbench(engine: str, what: str, connections: int) -> str:
    host, port = host_and_port(engine)
    file = socket_of(engine)
    place = [f"--mysql-socket={file}"] if file else [f"--mysql-host={host}", f"--mysql-port={port}"]
    command = [
        "sysbench", "oltp_point_select", "--db-driver=mysql", *place,
        f"--mysql-user={user_of(engine)}", f"--mysql-password={password_of(engine)}", "--mysql-db=sbtest", "--tables=1", f"--table-size={KEYS}", f"--time={SECONDS}",
        f"--threads={connections}", what,
    ]  # fmt: skip
    return call(command)


def reported(shown: str) -> tuple[int, float]:
    """(operations, per second) as pgbench or sysbench prints them."""
    if found := re.search(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", shown):
        return int(found[1]), float(found[2])
    done = re.search(r"transactions actually processed: (\d+)", shown)
    per_s = re.search(r"tps = ([\d.]+) \(without initial", shown)
    if not done or not per_s:
        raise RuntimeError(f"no rate in what the peer printed: {shown[-400:]}")
    return int(done[1]), float(per_s[1])
